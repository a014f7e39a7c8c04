"""What `prices fetch` does and prints."""

import datetime as dt
import json
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from clusterwright.cli.prices.store import SCHEMA_VERSION, ingested_text
from clusterwright.cli.render.terminal import visible
from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED, InputError
from clusterwright.units import day_of


def fetch(
    name: str,
    *,
    regions: list[str],
    services: list[str],
    files: list[Path],
    url: str,
    redirect_hosts: list[str],
    seen_on: str | None,
    store: str | Path | None,
    as_json: bool,
) -> int:
    """Read a feed into the store and print what came of it; return 1 if a price is in quarantine.

    Raises:
        InputError: the feed, a region or a day is missing or wrong; FeedError: a document cannot be had or read.
    """
    from clusterwright.feeds.download import Fetcher
    from clusterwright.feeds.fetch import feed_named, fetch_feed, read_files
    from clusterwright.pricing.store import PriceStore

    feed = feed_named(name)
    if files and (regions or services or url or redirect_hosts):
        raise InputError(
            "files are read whole", help="leave out --region, --service, --url and --redirect-to where --from is given"
        )
    if seen_on is not None and not files:
        raise InputError("what is fetched is seen today", help="give --seen-on with --from only")
    now = dt.datetime.now(dt.UTC)
    at = now if seen_on is None else dt.datetime.combine(day_of(seen_on), dt.time(), tzinfo=dt.UTC)
    if at > now:
        raise InputError(f"{seen_on} is yet to come", help="give the day on which the prices were seen")
    with ExitStack() as stack:
        if files:
            opened = stack.enter_context(PriceStore.open(store))
            found = read_files(opened, feed, files, at=at)
        else:
            told = stack.enter_context(_Progress())
            fetcher = stack.enter_context(Fetcher(redirect_hosts=redirect_hosts, told=told, noted=told.note))
            opened = stack.enter_context(PriceStore.open(store))
            found = fetch_feed(opened, feed, fetcher, regions=regions, services=services, url=url)
        place = opened.path
    if as_json:
        shown = {"schema": SCHEMA_VERSION, "fetched": [asdict(entry) for entry in found]}
        print(json.dumps(shown, indent=1, allow_nan=False, default=str))
    else:
        for entry in found:
            count = "1 file" if entry.files == 1 else f"{entry.files:,} files"
            print(f"{entry.feed}: {count} from {entry.url}")
            print(ingested_text(entry.ingested, place))
    return EXIT_RULE_FAILED if any(entry.ingested.quarantined for entry in found) else EXIT_FINE


class _Progress:
    """On stderr: a bar on a terminal, elsewhere a line for each place that is asked; and why it waits."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._url = ""
        self._documents = 0
        self._places: set[str] = set()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
            self._bar = Progress(*columns, console=Console(file=sys.__stderr__), transient=True)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, url: str, done: int, total: int | None) -> None:
        from rich.markup import escape

        place = url.partition("?")[0]
        if self._bar is None:
            if place not in self._places:
                self._places.add(place)
                size = "" if total is None else f", {total / 1e6:,.1f} MB"
                print(f"fetching {place}{size}", file=sys.stderr)
            return
        if url != self._url:
            self._url, self._documents = url, self._documents + 1
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task("", total=total)
        name = f"{self._documents}: {visible(place.rpartition('/')[2] or place)}"
        # What has arrived is searched before the next document is asked for.
        self._bar.update(
            self._task,
            completed=done,
            total=total,
            description=escape(f"{name}, reading" if done == total else name),
        )

    def note(self, line: str) -> None:
        """Show a line that stays."""
        if self._bar is None:
            print(line, file=sys.stderr)
        else:
            self._bar.console.print(visible(line), markup=False, highlight=False)
