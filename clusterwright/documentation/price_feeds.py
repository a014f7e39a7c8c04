"""The page of price feeds: what each reads and needs, what its rule keeps, and the gates that prices pass."""

import re
from collections.abc import Iterator
from pathlib import Path

from clusterwright import assets
from clusterwright.documentation.markdown import code, page, prose, table
from clusterwright.feeds.fetch import FEEDS
from clusterwright.feeds.reading import Feed

_INTRODUCTION = """
`clusterwright prices fetch FEED` reads list prices into your own store. Every feed also reads files that you saved:
`--from FILE`, once for each page. Install what fetching needs with `pip install 'clusterwright[feeds]'`.

Only instance types and accelerators of the catalogue are kept, and of each the one Linux price on shared hardware.
Storage, network and addresses are read by the meters of `catalog/service_meters.csv`: tiers keep where they begin, and
a plan uses the first one. Azure Managed Lustre and Google's Managed Lustre are not read, because the names of their
meters are not known. Google's A4, A3 Ultra and TPU are not read: they have other SKUs. [Keep prices
fresh](../howto/fresh-prices.md) shows the steps.
"""
_HEAD = re.compile(r"\A((?:--.*\n)+)")
#: How the head of a rule begins, which says nothing to a reader.
_ROW = re.compile(r"^One row is (?:one |a |an |every )?")
#: A sentence about a parameter of the statement.
_PARAMETER = re.compile(r" ?\$\w+ [^.]*\.")


def feeds_page() -> str:
    """Return the page."""
    feeds = table(("Feed", "What it reads", "What it needs"), (_feed_row(feed) for feed in FEEDS.values()))
    rules = [part for path in _statements("feeds") for part in (f"### {code(path.stem)}", prose(_head(path)))]
    refusing = table(("Gate", "Holds back"), _gate_rows("gates/refuse"))
    warning = table(("Gate", "Warns of"), _gate_rows("gates/warn"))
    return page(
        "Price feeds",
        _INTRODUCTION,
        feeds,
        "## What each rule keeps",
        "Each is a query in `pricing/feeds`; this is what its head says.",
        *rules,
        "## Gates",
        "A price that a gate holds back waits in quarantine: `clusterwright prices quarantine`.",
        refusing,
        "A price that only raises a warning is stored.",
        warning,
    )


def _feed_row(feed: Feed) -> tuple[str, str, str]:
    needs = [
        *([f"the key {code(feed.key)}"] if feed.key else []),
        *(["`--region`"] if feed.needs_region else []),
        *(["`--from`: it reads files only"] if feed.fetch is None else []),
    ]
    more = "; `--service` reads other services" if feed.has_services and "--service" not in feed.title else ""
    return code(feed.name), prose(f"{feed.title}{more}"), ", ".join(needs) or "–"


def _gate_rows(folder: str) -> Iterator[tuple[str, str]]:
    for path in _statements(folder):
        yield code(path.stem), prose(_head(path))


def _statements(folder: str) -> list[Path]:
    return sorted((assets.root() / "pricing" / folder).glob("*.sql"))


def _head(path: Path) -> str:
    """Return the comment at the top of a statement as sentences."""
    found = _HEAD.match(path.read_text(encoding="utf-8"))
    lines = found[1].splitlines() if found else []
    text = _PARAMETER.sub("", _ROW.sub("", " ".join(line.removeprefix("--").strip() for line in lines)))
    return text[:1].upper() + text[1:].strip()
