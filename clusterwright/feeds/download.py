"""Fetching documents politely: retries with growing waits, resume where the server can, limits, and no page of HTML.

What a server answers is not trusted: it can neither send the request and its key to another host, nor fill the disk,
nor keep the program waiting for ever.
"""

import email.utils
import ipaddress
import shutil
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from clusterwright.errors import EXIT_BAD_INPUT, EXIT_FACT_MISSING, ClusterwrightError

if TYPE_CHECKING:
    import httpx

#: Answers that may be better the next time.
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_OK, _PARTIAL, _BEYOND, _REFUSED = 200, 206, 416, (401, 403)
_REDIRECTS = (301, 302, 303, 307, 308)
#: After these a document is asked for again as it was asked for first; after the others it is got.
_SAME_METHOD = (307, 308)
_GIB = 2**30
#: Between two looks at the room on the disk.
_LOOK_BYTES = 64 * 2**20


class FeedError(ClusterwrightError):
    """A provider's document cannot be had, or is not what it should be; nothing was stored."""

    exit_code = EXIT_FACT_MISSING


class RedirectError(FeedError):
    """A redirect that is not followed, or one of too many: the address is wrong, or the server means harm."""

    exit_code = EXIT_BAD_INPUT


@dataclass(frozen=True, kw_only=True, slots=True)
class Manners:
    """How a provider is asked.

    Attributes:
        attempts: for one document, each of which may resume the one before.
        first_wait_s: before the second attempt; doubled each time, up to `most_wait_s`.
        pause_s: least time between two requests.
        timeout_s: without a byte.
        deadline_s: for one document, with all attempts and waits.
        least_bytes_per_s: mean of each `rate_window_s`; a slower answer is broken off.
        most_bytes: of one document; more is no price list (the largest, Amazon's for all regions, has about 4 GiB).
        least_free_bytes: left on the disk.
        redirects: followed for one document.
    """

    attempts: int = 6
    first_wait_s: float = 1.0
    most_wait_s: float = 60.0
    pause_s: float = 0.1
    timeout_s: float = 60.0
    deadline_s: float = 7200.0
    least_bytes_per_s: float = 1024.0
    rate_window_s: float = 30.0
    most_bytes: int = 8 * _GIB
    least_free_bytes: int = _GIB
    redirects: int = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What to ask for.

    Attributes:
        url: of the document; it holds no key.
        kind: `json` or `csv`, what the answer has to be.
        headers: such as an API key, never shown.
        body: JSON text to post; empty to get.
    """

    url: str
    kind: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: str = ""


@dataclass(kw_only=True, slots=True)
class _Part:
    """What has arrived of a document: bytes in the file, and what names the version they are of."""

    path: Path
    validator: str = ""

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0


class _AgainError(Exception):
    """An attempt failed in a way that another one may not."""

    def __init__(self, said: str, wait_s: float | None = None) -> None:
        super().__init__(said)
        self.wait_s = wait_s


class Fetcher:
    """A client of one run. Use it in a `with` block.

    Args:
        manners: how providers are asked.
        redirect_hosts: hosts that a redirect may lead to besides the one that was asked.
        sleep: waits; tests put their own.
        clock: seconds that only grow.
        told: is called with (URL, bytes so far, bytes in all or None) while a document arrives.
        noted: is called with a line for people before each wait.
    """

    def __init__(
        self,
        *,
        manners: Manners | None = None,
        redirect_hosts: Collection[str] = (),
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        told: Callable[[str, int, int | None], None] = lambda _url, _done, _all: None,
        noted: Callable[[str], None] = lambda _line: None,
    ) -> None:
        try:
            import httpx  # noqa: PLC0415 - an extra
        except ImportError:
            raise FeedError(
                "fetching prices needs the extra feeds", help="pip install 'clusterwright[feeds]', or give --from FILE"
            ) from None
        self._manners = manners or Manners()
        self._redirect_hosts = frozenset(host.lower() for host in redirect_hosts)
        self._sleep = sleep
        self._clock = clock
        self._told = told
        self._noted = noted
        self._client = httpx.Client(
            timeout=self._manners.timeout_s,
            # A redirect is looked at first.
            follow_redirects=False,
            # Bytes of the file itself, so that a range means the same the next time.
            headers={"accept-encoding": "identity", "user-agent": "clusterwright prices"},
        )
        self._last = float("-inf")

    def __enter__(self) -> Self:
        """Return the fetcher itself."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        """Close its connections."""
        self._client.close()

    def fetch(self, request: Request, path: Path) -> Path:
        """Write a document to a file and return the file; it exists only if all of the document is in it.

        An attempt that breaks off is resumed where the server names a version of the document and takes ranges, else
        begun again.

        Raises:
            FeedError: the document cannot be had after all attempts, is refused, too large, or of another kind.
        """
        import httpx  # noqa: PLC0415

        part = _Part(path=path.with_name(path.name + ".part"))
        part.path.unlink(missing_ok=True)
        said = ""
        with self._deadline() as left_s:
            for attempt in range(self._manners.attempts):
                try:
                    self._once(request, part)
                except _AgainError as error:
                    said, wait_s = str(error), error.wait_s
                except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                    raise FeedError(f"{request.url!r} is no address: {error}", help="correct --url") from None
                except FeedError:
                    part.path.unlink(missing_ok=True)
                    raise
                except httpx.TransportError as error:
                    said, wait_s = str(error) or type(error).__name__, None
                else:
                    _refuse_other_kinds(request, part.path)
                    part.path.replace(path)
                    return path
                if attempt + 1 < self._manners.attempts:
                    usual = min(self._manners.first_wait_s * 2**attempt, self._manners.most_wait_s)
                    pause_s = usual if wait_s is None else min(wait_s, self._manners.most_wait_s)
                    if left_s() <= pause_s:
                        break
                    self._noted(f"{_place(request.url)}: {said}; again in {pause_s:g} s")
                    self._sleep(pause_s)
            if left_s() <= 0:
                part.path.unlink(missing_ok=True)
                raise FeedError(
                    f"{_place(request.url)} has not answered in full within {self._manners.deadline_s:g} s",
                    help="nothing was stored; try again later, or give a downloaded file with --from",
                )
        raise FeedError(
            f"{_place(request.url)} cannot be had after {attempt + 1} attempts: {said}",
            help="nothing was stored; try again later, or give a downloaded file with --from",
        )

    @contextmanager
    def _deadline(self) -> Iterator[Callable[[], float]]:
        """Give a function that returns the seconds left for a document; close all connections when there are none.

        A check between blocks is not enough: a server can send the head of its answer byte by byte.
        """
        end = self._clock() + self._manners.deadline_s
        watch = threading.Timer(self._manners.deadline_s, self._client.close)
        watch.daemon = True
        watch.start()
        try:
            yield lambda: end - self._clock()
        finally:
            watch.cancel()

    def _once(self, request: Request, part: _Part) -> None:
        since = time.monotonic() - self._last
        if since < self._manners.pause_s:
            self._sleep(self._manners.pause_s - since)
        self._last = time.monotonic()
        have = part.size if part.validator else 0
        wanted = {"range": f"bytes={have}-", "if-range": part.validator} if have else {}
        method, url, body, keys = "POST" if request.body else "GET", request.url, request.body, request.headers
        peer = ""
        for _ in range(self._manners.redirects + 1):
            headers = {**keys, **wanted} | ({"content-type": "application/json"} if body else {})
            with self._client.stream(method, url, headers=headers, content=body or None) as answer:
                peer = _same_kind_of_peer(request, answer, peer)
                if answer.status_code in _REDIRECTS and "location" in answer.headers:
                    url = self._redirected(request, answer)
                    # Whoever is asked next was not given the key.
                    keys = {}
                    if answer.status_code not in _SAME_METHOD:
                        method, body = "GET", ""
                    continue
                have = _begin(request, answer, have)
                part.validator = _validator(answer)
                length = _length(answer)
                self._receive(request, answer, part, have, length)
                return
        raise RedirectError(
            f"{_place(request.url)} redirects more than {self._manners.redirects} times",
            help="nothing was stored; check --url",
        )

    def _redirected(self, request: Request, answer: "httpx.Response") -> str:
        """Return where an answer sends us, if we may go there.

        Raises:
            RedirectError: it is another scheme, a host that nobody allowed, or a private address from a public one.
        """
        target = answer.url.join(answer.headers["location"])
        where = f"{_place(request.url)} redirects to {_place(str(target))!r}"
        if target.scheme != answer.url.scheme or target.userinfo:
            raise RedirectError(f"{where}, another scheme or login", help="nothing was asked there; check --url")
        if (target.host, target.port) != (answer.url.host, answer.url.port):
            if target.host.lower() not in self._redirect_hosts:
                raise RedirectError(
                    f"{where}, another host",
                    help=f"nothing was asked there; if it belongs to the provider, add --redirect-to {target.host!r}",
                )
            if _is_public(answer.url.host) and not _is_public(target.host):
                raise RedirectError(f"{where}, a private address", help="nothing was asked there; check --url")
        return str(target)

    def _receive(self, request: Request, answer: "httpx.Response", part: _Part, have: int, length: int | None) -> None:
        total = None if length is None else have + length
        if total is not None and total > self._manners.most_bytes:
            raise _too_large(request, self._manners.most_bytes)
        done = have
        since, before, looked = self._clock(), have, have - _LOOK_BYTES
        with part.path.open("ab" if have else "wb") as file:
            try:
                for block in answer.iter_raw():
                    done += len(block)
                    if done > self._manners.most_bytes:
                        raise _too_large(request, self._manners.most_bytes)
                    if done - looked >= _LOOK_BYTES:
                        looked = done
                        if shutil.disk_usage(part.path.parent).free < self._manners.least_free_bytes:
                            raise FeedError(f"{part.path.parent} has too little room left", help="make room")
                    file.write(block)
                    now = self._clock()
                    if now - since >= self._manners.rate_window_s:
                        rate = (done - before) / (now - since)
                        if rate < self._manners.least_bytes_per_s:
                            raise _AgainError(f"{rate:.0f} bytes a second arrive")
                        since, before = now, done
                    self._told(request.url, done, total)
            except OSError as error:
                raise FeedError(f"{part.path.parent} cannot be written: {error.strerror}", help="make room") from None
        if total is not None and done != total:
            raise _AgainError(f"{done:,} of {total:,} bytes arrived")


def _is_public(host: str) -> bool:
    """Tell whether every address of a host is public; one that cannot be resolved is not."""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(_is_global(address) for address in found)


def _is_global(address: str) -> bool:
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(known, "ipv4_mapped", None)
    return bool((mapped or known).is_global)


def _same_kind_of_peer(request: Request, answer: "httpx.Response", before: str) -> str:
    """Return the address that answered.

    A name can lead to another address from one look-up to the next, so who really answered is checked too.

    Raises:
        FeedError: it is a private one, and the one before was public.
    """
    stream = answer.extensions.get("network_stream")
    peer = stream.get_extra_info("server_addr") if stream is not None else None
    address = str(peer[0]) if peer else ""
    if _is_global(before) and not _is_global(address):
        raise FeedError(
            f"{_place(request.url)} led from the public address {before} to {address or 'an unknown one'}",
            help="nothing was stored; check --url",
        )
    return address


def _begin(request: Request, answer: "httpx.Response", have: int) -> int:
    """Return how many bytes of the part stay; raise where the answer is none."""
    status = answer.status_code
    if status == _PARTIAL and answer.headers.get("content-range", "").startswith(f"bytes {have}-"):
        return have
    if status in (_PARTIAL, _BEYOND):
        raise _AgainError(f"the server gave another range than asked for (HTTP {status})", 0.0)
    if status in _PASSING:
        raise _AgainError(f"HTTP {status}", _retry_after(answer.headers.get("retry-after", "")))
    if status in _REFUSED:
        raise FeedError(
            f"{_place(request.url)} refuses (HTTP {status})", help="check the key; see clusterwright docs feeds"
        )
    if status != _OK:
        raise FeedError(
            f"{_place(request.url)} answers HTTP {status}", help="nothing was stored; check --region and --url"
        )
    said = answer.headers.get("content-type", "")
    if said.startswith(("text/html", "image/", "video/", "audio/")):
        raise _AgainError(f"{said.partition(';')[0]} instead of {request.kind.upper()}")
    if answer.headers.get("content-encoding", "identity") not in ("", "identity"):
        raise FeedError(f"{_place(request.url)} answers in {answer.headers['content-encoding']}, not in plain bytes")
    return 0


def _validator(answer: "httpx.Response") -> str:
    """Return what names this version of a document, empty where ranges cannot be trusted; weak tags cannot."""
    tag = str(answer.headers.get("etag", ""))
    named = tag if tag and not tag.startswith("W/") else str(answer.headers.get("last-modified", ""))
    # It is sent back, and only ASCII can be.
    return named if named.isascii() else ""


def _length(answer: "httpx.Response") -> int | None:
    said = answer.headers.get("content-length", "")
    return int(said) if said.isdecimal() else None


def _retry_after(said: str) -> float | None:
    """Return the seconds that a server asks to wait: a number, or a day and time."""
    if said.isdecimal():
        return float(said)
    try:
        return max(email.utils.parsedate_to_datetime(said).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError):
        return None


def _refuse_other_kinds(request: Request, path: Path) -> None:
    """Look at the first bytes: pages of HTML come with code 200 and any type."""
    with path.open("rb") as file:
        start = file.read(512).removeprefix(b"\xef\xbb\xbf").lstrip()
    wrong = ""
    if not start:
        wrong = "nothing"
    elif start.startswith(b"<"):
        wrong = "HTML or XML"
    elif b"\0" in start:
        wrong = "binary data"
    elif request.kind == "json" and not start.startswith((b"{", b"[")):
        wrong = "no JSON"
    if wrong:
        path.unlink()
        raise FeedError(
            f"{_place(request.url)} answers with {wrong} instead of {request.kind.upper()}",
            help="nothing was stored; try again later, or give a downloaded file with --from",
        )


def _too_large(request: Request, most_bytes: int) -> FeedError:
    return FeedError(
        f"{_place(request.url)} is larger than {most_bytes / _GIB:,.1f} GiB, so it is no price list",
        help="nothing was stored; check --url",
    )


def _place(url: str) -> str:
    """Return an address without its query, which may be long."""
    return url.partition("?")[0]


def json_request(url: str, *, headers: Mapping[str, str] | None = None, body: Any = None) -> Request:  # noqa: ANN401 - JSON
    """Return a request for JSON; a body is posted.

    Args:
        url: of the document.
        headers: such as an API key.
        body: what is posted as JSON; None to get.
    """
    import json  # noqa: PLC0415

    return Request(url=url, kind="json", headers=headers or {}, body="" if body is None else json.dumps(body))
