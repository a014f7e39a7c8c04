"""The service as a program: an address, workers, and a token where others than this machine may ask."""

import secrets
import socket
import sys
import threading
import webbrowser
from dataclasses import dataclass

import uvicorn

from clusterwright.errors import InputError
from clusterwright.web.application import LOOPBACK, Access, application, page_html
from clusterwright.web.workers import Workers

_MOST_WAITING = 128
_TOKEN_BYTES, _LEAST_TOKEN = 24, 16
_HIGHEST_PORT = 65_535
_OPEN_AFTER_S = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """Where and how the planner answers.

    Attributes:
        host: address or name; port: 0 for a free one.
        token: that requests carry; made where others than this machine may ask and none is given.
        workers: processes that answer; limit_s: of one request.
        open_page: in the browser of this machine.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    token: str = ""
    workers: int = 2
    limit_s: float = 60.0
    open_page: bool = False


def serve(asked: Service) -> None:
    """Answer until the process is ended.

    Raises:
        InputError: the address cannot be used, or the token is too short.
    """
    loopback = asked.host in LOOPBACK
    if asked.token and len(asked.token) < _LEAST_TOKEN:
        raise InputError(f"the token has {len(asked.token)} characters", help=f"use at least {_LEAST_TOKEN}, or none")
    token = asked.token or ("" if loopback else secrets.token_urlsafe(_TOKEN_BYTES))
    listening = _listening(asked.host, asked.port)
    port = listening.getsockname()[1]
    shown = f"[{asked.host}]" if ":" in asked.host else asked.host
    address = f"http://{shown}:{port}/" + (f"#token={token}" if token else "")
    print(f"the planner answers at {address}\nstop it with Ctrl-C", file=sys.stderr, flush=True)  # noqa: T201
    if asked.open_page:
        timer = threading.Timer(_OPEN_AFTER_S, webbrowser.open, (address,))
        timer.daemon = True
        timer.start()
    workers = Workers(asked.workers, limit_s=asked.limit_s)
    page_html()  # made once, before the first visitor
    access = Access(hosts=LOOPBACK if loopback else frozenset(), token=token)
    try:
        uvicorn.Server(
            uvicorn.Config(
                application(workers, access),
                log_level="warning",
                server_header=False,
                limit_concurrency=_MOST_WAITING,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=2,
            )
        ).run(sockets=[listening])
    finally:
        workers.end()
        listening.close()


def _listening(host: str, port: int) -> socket.socket:
    if not 0 <= port <= _HIGHEST_PORT:
        raise InputError(f"{port} is no port", help=f"0 to {_HIGHEST_PORT}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_MOST_WAITING)  # who comes before the service runs waits for it
    except OSError as error:
        raise InputError(
            f"{host}:{port} cannot be used: {error.strerror or error}", help="choose another --port, or --host"
        ) from None
    return listening
