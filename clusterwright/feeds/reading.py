"""What a feed hands to the store: files, the rule that reads them, and where they come from."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterwright.catalog.load import load
from clusterwright.feeds.download import Fetcher


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One document of a feed, complete and on disk.

    Attributes:
        paths: its files.
        feed: what it is; url: where it came from, without a key.
        rule: extraction rule; parameters: of the rule beside `files`.
        published_on: day by its own words, None where it says none.
        digest: SHA-256 and bytes of the files, where they were found out while the document was read.
    """

    paths: tuple[Path, ...]
    feed: str
    url: str
    rule: str
    parameters: dict[str, Any] = field(default_factory=dict)
    published_on: dt.date | None = None
    digest: tuple[str, int] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What is asked of a feed.

    Attributes:
        regions: that prices are asked for; none for all, where the feed can.
        services: beside machines, by the provider's names; none for what the feed reads first.
        url: another address than the provider's own, for example of a mirror.
        keys: secrets by the name of their environment variable.
        folder: where documents are written.
    """

    regions: tuple[str, ...]
    url: str
    keys: dict[str, str] = field(repr=False)
    folder: Path
    services: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Feed:
    """One source of prices.

    Attributes:
        name: as people type it; title: what it is.
        url: the provider's own address.
        key: environment variable of the API key, empty where none is needed.
        needs_region: whether regions have to be named, because a document is large.
        has_services: whether prices of other services than machines can be asked for.
        fetch: gets the documents; None where the feed only reads files.
        read: turns files that people give into documents; tables it makes of them go into the folder that is given.
    """

    name: str
    title: str
    url: str
    fetch: Callable[[Fetcher, Asked], Sequence[Reading]] | None
    read: Callable[[Sequence[Path], Path], Sequence[Reading]]
    key: str = ""
    needs_region: bool = False
    has_services: bool = False


def wanted_instances(cloud: str) -> list[dict[str, Any]]:
    """Return the instance types of a cloud whose prices are kept, as rules take them."""
    return [
        {"instance_type": instance.id, "gpu": instance.accelerator, "gpu_count": float(instance.gpus)}
        for instance in load().instances.values()
        if instance.cloud == cloud
    ]
