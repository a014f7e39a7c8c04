"""Fetching prices into the store: which feeds there are, and one run of one of them."""

import datetime as dt
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clusterwright.errors import InputError
from clusterwright.feeds import aws, azure, gcp, markets
from clusterwright.feeds.download import FeedError, Fetcher
from clusterwright.feeds.reading import Asked, Feed, Reading, wanted_instances
from clusterwright.pricing.ingest import Document, Ingested, ingest
from clusterwright.pricing.store import PriceStore
from clusterwright.tco.focus.files import write_own_prices

_CLOUDS = ("aws", "azure")


def read(paths: Sequence[Path], folder: Path) -> Sequence[Reading]:
    """Return exports as one document.

    Raises:
        FeedError: one is no FOCUS export.
    """
    table = folder / "own-prices.csv"
    try:
        write_own_prices(paths, table)
    except InputError as error:
        raise FeedError(error.message, help=error.help) from error
    wanted = [{"cloud": cloud, **entry} for cloud in _CLOUDS for entry in wanted_instances(cloud)]
    return (
        Reading(
            paths=tuple(paths),
            feed="focus",
            url=f"file:{paths[0].name}",
            rule="pricing/feeds/focus.sql",
            parameters={"wanted": wanted, "extract": str(table)},
        ),
    )


FEED = Feed(
    name="focus", title="an own bill in FOCUS form: contracted prices of machines", url="", fetch=None, read=read
)

FEEDS: dict[str, Feed] = {feed.name: feed for feed in (*aws.FEEDS, azure.FEED, gcp.FEED, *markets.FEEDS, FEED)}

_FOLDER = "clusterwright-prices-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetched:
    """What came of one document of a feed."""

    feed: str
    url: str
    files: int
    ingested: Ingested


def feed_named(name: str) -> Feed:
    """Return a feed.

    Raises:
        InputError: there is no such feed.
    """
    if name not in FEEDS:
        listed = "\n".join(f"  {feed.name:20} {feed.title}" for feed in FEEDS.values())
        raise InputError(f"there is no feed {name!r}", help=f"feeds:\n{listed}")
    return FEEDS[name]


def read_files(store: PriceStore, feed: Feed, paths: Sequence[Path], *, at: dt.datetime) -> tuple[Fetched, ...]:
    """Read documents that people saved into the store.

    Args:
        store: open for writing.
        feed: whose they are.
        paths: of the files.
        at: when they were fetched.

    Raises:
        FeedError: a file is not what the feed gives.
        InputError: a file cannot be read.
        StoreError: the store cannot be written.
    """
    with _folder() as folder:
        return tuple(_stored(store, reading, at=at) for reading in feed.read(paths, folder))


def fetch_feed(
    store: PriceStore,
    feed: Feed,
    fetcher: Fetcher,
    *,
    regions: Sequence[str] = (),
    services: Sequence[str] = (),
    url: str = "",
) -> tuple[Fetched, ...]:
    """Fetch a feed's documents and read them into the store, each as one transaction once it is complete.

    Args:
        store: open for writing.
        feed: to fetch.
        fetcher: open.
        regions: whose prices are asked for; none for all, where the feed can.
        services: beside machines, by the provider's names; none for machines.
        url: another address than the provider's own; empty for that.

    Raises:
        FeedError: a document cannot be had, or is not what the feed gives.
        InputError: the feed needs a region or a key.
        StoreError: the store cannot be written.
    """
    if feed.fetch is None:
        raise InputError(
            f"{feed.name} is read from files only", help=f"clusterwright prices fetch {feed.name} --from FILE"
        )
    if services and not feed.has_services:
        raise InputError(f"{feed.name} has no services to choose from", help="leave out --service")
    if feed.needs_region and not regions:
        raise InputError(
            f"{feed.name} has one large document per region", help="name regions, for example --region us-east-1"
        )
    keys = {feed.key: os.environ[feed.key]} if feed.key and os.environ.get(feed.key) else {}
    if feed.key and not keys:
        raise InputError(f"{feed.name} needs a key", help=f"set the environment variable {feed.key}")
    with _folder() as folder:
        asked = Asked(regions=tuple(regions), services=tuple(services), url=url or feed.url, keys=keys, folder=folder)
        readings = feed.fetch(fetcher, asked)
        now = dt.datetime.now(dt.UTC)
        return tuple(_stored(store, reading, at=now) for reading in readings)


@contextmanager
def _folder() -> Iterator[Path]:
    """Give a folder that is gone afterwards; a disk that is full is reported."""
    try:
        with tempfile.TemporaryDirectory(prefix=_FOLDER) as folder:
            yield Path(folder)
    except OSError as error:
        raise FeedError(
            f"{error.filename or tempfile.gettempdir()}: {error.strerror or error}",
            help="nothing was stored; make room, or name another folder for temporary files with TMPDIR",
        ) from None


def _stored(store: PriceStore, reading: Reading, *, at: dt.datetime) -> Fetched:
    document = Document(
        paths=reading.paths,
        feed=reading.feed,
        source=reading.feed,
        url=reading.url,
        fetched_at=at,
        published_on=reading.published_on,
        digest=reading.digest,
    )
    try:
        found = ingest(store, document, rule=reading.rule, parameters=reading.parameters)
    except InputError as error:
        raise FeedError(error.message, help=error.help) from error
    return Fetched(feed=reading.feed, url=reading.url, files=len(reading.paths), ingested=found)
