"""The own bill: FOCUS exports, of which the contracted price of every machine is kept, apart from list prices."""

from collections.abc import Sequence
from pathlib import Path

from clusterwright.errors import InputError
from clusterwright.feeds.download import FeedError
from clusterwright.feeds.reading import Feed, Reading, wanted_instances
from clusterwright.tco.focus_prices import write_own_prices

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
