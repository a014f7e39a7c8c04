"""JSON documents of one page or many, checked before anything reads them."""

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic_core import from_json

from clusterwright.feeds.download import FeedError, Fetcher, Request

#: Times that a page which is no whole JSON is asked for again.
_DAMAGED_ATTEMPTS = 3
#: No page is larger: it is held in memory.
MOST_PAGE_BYTES = 256 * 2**20
#: No price list has more pages; a server that always names a next one never ends.
MOST_PAGES = 20_000
_SHOWN = 60
_BLOCK_BYTES = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """What a page has to be.

    Attributes:
        feed: whose it is, for messages.
        items: name of the list of prices; empty where the page itself is the list or anything goes.
        fields: of items that rules read; a list none of whose items has one of them has changed.
        count: name of the number of items that the page says it has; empty where it says none.
    """

    feed: str
    items: str = ""
    fields: tuple[str, ...] = ()
    count: str = ""


def read_page(path: Path, shape: Shape) -> Any:  # noqa: ANN401 - JSON
    """Return a page of JSON after a look at its shape.

    Args:
        path: of the page.
        shape: what it has to be.

    Raises:
        FeedError: it is truncated, in another encoding, or of another shape; what is wrong is reported.
    """
    try:
        if path.stat().st_size > MOST_PAGE_BYTES:
            raise FeedError(
                f"{path.name} is larger than {MOST_PAGE_BYTES / 2**20:.0f} MiB, so it is no page of {shape.feed}",
                help="nothing was stored; give the pages as they were fetched, each with --from",
            )
        content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise FeedError(f"{path} cannot be read: {error.strerror}", help="give the file of a price list") from None
    page = _parsed(path, content)
    if not shape.items:
        return page
    items = page.get(shape.items) if isinstance(page, dict) else None
    if not isinstance(items, list):
        raise FeedError(
            f"{path.name} has no list {shape.items!r}: it is not what {shape.feed} gives",
            help="nothing was stored; if the provider changed the format, the rule has to follow",
        )
    lost = [name for name in shape.fields if items and not any(isinstance(it, dict) and name in it for it in items)]
    if lost:
        raise FeedError(
            f"{path.name} has {shape.items} without {', '.join(lost)}: it is not what {shape.feed} gives",
            help="nothing was stored; if the provider changed the format, the rule has to follow",
        )
    said = page.get(shape.count) if shape.count else None
    if isinstance(said, int) and said != len(items):
        raise FeedError(
            f"{path.name} says {said} {shape.items} and holds {len(items)}", help="fetch it again; nothing was stored"
        )
    return page


def _parsed(path: Path, content: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the value of JSON text in UTF-8; NaN and infinity are no JSON."""
    try:
        return from_json(content, allow_inf_nan=False)
    except ValueError as error:
        said = str(error)[:_SHOWN]
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    raise FeedError(
        f"{path.name} is no whole JSON, it may be truncated: {said}", help="fetch it again; nothing was stored"
    )


def check_utf8(path: Path) -> None:
    """Refuse a text file in another encoding than UTF-8, with advice.

    Raises:
        FeedError: it is in another encoding, or cannot be read.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except OSError as error:
        raise FeedError(f"{path} cannot be read: {error.strerror}", help="give the file of a price list") from None


def not_utf8(path: Path) -> FeedError:
    """Return what is said of a file in another encoding."""
    return FeedError(
        f"{path.name} is not UTF-8",
        help="save it as UTF-8, for example: iconv -f UTF-16 -t UTF-8 (or -f WINDOWS-1252); nothing was stored",
    )


def fetch_pages(
    fetcher: Fetcher, folder: Path, first: Request, *, shape: Shape, following: Callable[[Any, Request], Request | None]
) -> tuple[Path, ...]:
    """Fetch all pages of a document into a folder.

    Args:
        fetcher: open.
        folder: where pages are written, by number.
        first: page.
        shape: of each page.
        following: gives the request of the page after one, None after the last.

    Raises:
        FeedError: a page cannot be had or is damaged, the pages go round in a circle, lead to another server, or never
            end.
    """
    paths: list[Path] = []
    seen = set()
    request: Request | None = first
    while request is not None:
        if (request.url, request.body) in seen:
            raise FeedError(f"{shape.feed} leads back to a page that was read", help="nothing was stored; try again")
        if _server(request.url) != _server(first.url):
            raise FeedError(
                f"{shape.feed} leads to another server, {_server(request.url)}",
                help="nothing was stored; that is no page of this list",
            )
        if len(paths) == MOST_PAGES:
            raise FeedError(f"{shape.feed} has more than {MOST_PAGES:,} pages", help="nothing was stored")
        seen.add((request.url, request.body))
        path, page = _whole_page(fetcher, folder / f"page-{len(paths) + 1:05d}.json", request, shape)
        paths.append(path)
        request = following(page, request)
    return tuple(paths)


def _server(url: str) -> str:
    try:
        return "://".join(urlsplit(url)[:2])
    except ValueError:
        return "no address"


def _whole_page(fetcher: Fetcher, path: Path, request: Request, shape: Shape) -> tuple[Path, Any]:
    for attempt in range(_DAMAGED_ATTEMPTS):
        fetcher.fetch(request, path)
        try:
            return path, read_page(path, shape)
        except FeedError:
            if attempt + 1 == _DAMAGED_ATTEMPTS:
                raise
    raise AssertionError(path)
