"""The service over HTTP: who may ask, how much and how long, and the planner's page.

It listens for this machine alone by default, and then wants a token. Requests of pages of other sites are
refused: by their origin, by a type of content that browsers send abroad only when asked to, and by the name of the host
(against names that are pointed to this machine).
"""

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from clusterwright import assets
from clusterwright.blueprint.reading.document import parse_bounded
from clusterwright.plan.text.words import NAME_OF_TARGET, capital
from clusterwright.web import openapi
from clusterwright.web.answer_page import environment
from clusterwright.web.form import KINDS, steps
from clusterwright.web.operations import FIRST, Reply
from clusterwright.web.refusal import (
    BAD_REQUEST,
    FORBIDDEN,
    NOT_FOUND,
    TIMEOUT,
    TOO_LARGE,
    UNAUTHORIZED,
    UNSUPPORTED,
    RefusalError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from clusterwright.web.workers import Workers

#: Two blueprints of the largest size, as JSON.
MOST_BYTES = 400_000
#: In which a body has to arrive.
BODY_S = 10.0
LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
_PUBLIC = {"planner.css": "text/css", "planner.js": "text/javascript"}
_POSTED = ("plan", "compare", "build", "explain", "diff", "answer", "read", "write", "names")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: What a target starts with when it is ticked.
_TARGETS = {
    "targets.aws": {"instance": "p5.48xlarge", "region": "us-east-1"},
    "targets.azure": {"instance": "Standard_ND96isr_H100_v5", "region": "eastus"},
    "targets.gcp": {"instance": "a3-highgpu-8g", "region": "us-central1"},
    "targets.onprem": {"system": "dgx-h100"},
}


_Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """Who may ask.

    Attributes:
        hosts: names by which requests may call this machine; every name if empty.
        token: that requests carry; none is wanted if empty.
    """

    hosts: frozenset[str] = LOOPBACK
    token: str = ""

    def check(self, request: Request, *, page: bool) -> None:
        """Refuse a request that may not be asked; the page itself holds nothing and needs no token.

        Raises:
            RefusalError: host, origin or token are wrong.
        """
        host = request.headers.get("host", "")
        name = urlsplit(f"//{host}").hostname or ""
        if self.hosts and name not in self.hosts:
            raise RefusalError(
                FORBIDDEN, f"this planner is not called {name!r}", help="use the address that it printed"
            )
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            raise RefusalError(FORBIDDEN, "the request came from a page of another site", help="ask from the planner")
        if self.token and not page:
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode(), self.token.encode()):
                raise RefusalError(
                    UNAUTHORIZED,
                    "the token is missing or wrong",
                    help="open the planner with the address that it printed",
                )


def application(workers: "Workers", access: Access, *, body_s: float = BODY_S) -> Starlette:
    """Return the service.

    Args:
        workers: that answer; ended with the service.
        access: who may ask.
        body_s: in which the body of a request has to arrive.
    """

    @asynccontextmanager
    async def running(app: Starlette) -> "AsyncIterator[None]":
        del app
        yield
        workers.end()

    def route(path: str, inner: _Handler, *, page: bool = False, method: str = "GET") -> Route:
        return Route(path, _guarded(inner, access, page=page), methods=[method])

    return Starlette(
        routes=[
            route("/", _page, page=True),
            *(route(f"/{name}", _file, page=True) for name in _PUBLIC),
            route("/openapi.json", _description, page=True),
            route("/examples/{name}", _example, page=True),
            route("/prices", _prices(workers)),
            *(route(f"/{name}", _posted(workers, name, body_s), method="POST") for name in _POSTED),
        ],
        lifespan=running,
    )


def _guarded(inner: _Handler, access: Access, *, page: bool) -> _Handler:
    """Return a handler that checks who asks, shows refusals as JSON, and sets the headers."""

    async def outer(request: Request) -> Response:
        try:
            access.check(request, page=page)
            response = await inner(request)
        except RefusalError as error:
            # What is left of a body that was refused is not read.
            closing = {"Connection": "close"} if error.status in {TIMEOUT, TOO_LARGE} else {}
            response = Response(json.dumps(error.to_dict()), error.status, closing, "application/json")
        response.headers.update(HEADERS)
        return response

    return outer


def _posted(workers: "Workers", operation: str, body_s: float) -> _Handler:
    async def run(request: Request) -> Response:
        return _response(await workers.do(operation, await _asked(request, body_s)))

    return run


def _prices(workers: "Workers") -> _Handler:
    async def run(request: Request) -> Response:
        return _response(await workers.do("prices", dict(request.query_params)))

    return run


async def _page(request: Request) -> Response:
    del request
    return Response(page_html(), media_type="text/html")


async def _file(request: Request) -> Response:
    name = request.url.path.rpartition("/")[2]
    return Response(_public(name), media_type=_PUBLIC[name])


async def _example(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in examples():
        raise RefusalError(NOT_FOUND, f"there is no example {name!r}", help=f"one of {', '.join(examples())}")
    return Response(examples()[name], media_type="application/yaml")


async def _description(request: Request) -> Response:
    del request
    return Response(_described(), media_type="application/json")


@cache
def page_html() -> str:
    """Return the planner's page; it holds the form and the blueprints to start from, and no answer."""
    return (
        environment()
        .get_template("planner.html.j2")
        .render(
            steps=steps(),
            kinds=KINDS,
            target_names={name: capital(words) for name, words in NAME_OF_TARGET.items()},
            examples=list(examples()),
            start={"kinds": _starts(), "targets": _TARGETS},
        )
    )


@cache
def examples() -> Mapping[str, str]:
    """Return the shipped blueprints of one workload by name; several are of the command line."""
    folder = assets.root() / "blueprints"
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.yaml"))}
    return {name: text for name, text in texts.items() if "workload" in parse_bounded(text, name=name).value}


def _starts() -> dict[str, Any]:
    """Return the values to start from for each kind of workload."""
    return {kind: parse_bounded(examples()[name], name=name).value for kind, name in FIRST.items()}


@cache
def _public(name: str) -> bytes:
    return (assets.root() / "templates" / "web" / name).read_bytes()


@cache
def _described() -> str:
    return json.dumps(openapi.document())


async def _asked(request: Request, body_s: float) -> dict[str, Any]:
    """Return what a request asks.

    Raises:
        RefusalError: the body is too large or slow, or cannot be read.
    """
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in {"application/json", "application/yaml"}:
        raise RefusalError(
            UNSUPPORTED,
            f"a body of type {media or 'none'} is not read",
            help="send application/json or application/yaml",
        )
    body = bytearray()
    try:
        with anyio.fail_after(body_s):
            async for part in request.stream():
                body += part
                if len(body) > MOST_BYTES:
                    raise RefusalError(
                        TOO_LARGE, f"the request has more than {MOST_BYTES:,} bytes", help="send the blueprint alone"
                    )
    except TimeoutError:
        raise RefusalError(TIMEOUT, f"the request did not arrive within {body_s:g} s", help="send it again") from None
    except ClientDisconnect:
        raise RefusalError(BAD_REQUEST, "the request ended early", help="send it again") from None
    try:
        text = body.decode()
        asked = {**request.query_params, "blueprint": text} if media == "application/yaml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefusalError(BAD_REQUEST, f"the body is no {media}: {error}", help="send UTF-8") from None
    if not isinstance(asked, dict):
        raise RefusalError(BAD_REQUEST, "the body is no object", help='send {"blueprint": …}')
    return asked


def _response(reply: Reply) -> Response:
    named = {"Content-Disposition": f'attachment; filename="{reply.file_name}"'} if reply.file_name else {}
    return Response(reply.content, headers=named, media_type=reply.media)
