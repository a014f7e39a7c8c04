"""A plan that is priced with a vendor's quotes: a bill of materials that came back with prices."""

from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.cli.answer import load_and_decide
from clusterwright.errors import InputError
from clusterwright.plan.decide import Progress
from clusterwright.plan.record import Plan

if TYPE_CHECKING:
    from clusterwright.feeds.vendor_quotes import VendorQuotes


def quoted_plan(
    path: Path,
    set_values: list[str] | None,
    on: str,
    quotes: Path | None,
    rates: list[str] | None,
    *,
    progress: Progress = lambda _: None,
) -> tuple[LoadedBlueprint, Plan, "VendorQuotes | None"]:
    """Return the plan that is priced with a vendor's quotes, and those; without a file the plan as it is.

    Raises:
        InputError: the file or a rate cannot be read; BlueprintError: a line of it is wrong, or prices another bill.
    """
    if quotes is None:
        if rates:
            raise InputError("--rate is for quotes", help="add --quotes FILE, or leave out --rate")
        return *load_and_decide(path, set_values, on, progress=progress), None
    from clusterwright.feeds.exchange_rates import parse_rates
    from clusterwright.feeds.vendor_quotes import read_vendor_quotes

    read = read_vendor_quotes(quotes, parse_rates(rates or ()))
    loaded, plan = load_and_decide(path, set_values, on, quotes=read.prices, progress=progress)
    option = plan.option("onprem")
    if option is None or option.facility is None:
        raise InputError("quotes price a cluster on premises, the plan has none", help="add targets.onprem")
    read.check(option.facility.bill.lines, {priced.line.sku: priced.unit_usd for priced in option.lines})
    return loaded, plan, read


def say_quotes(quoted: "VendorQuotes | None") -> None:
    """Say how many lines of the bill were quoted, and by whom; nothing without quotes."""
    if quoted is not None:
        vendors = ", ".join(dict.fromkeys(price.vendor for price in quoted.prices))
        lines = f"{len(quoted.rows)} of {len(quoted.table.rows)} lines"
        print(f"{quoted.table.name}: {lines} quoted by {vendors}; the others keep their prices")  # noqa: T201
