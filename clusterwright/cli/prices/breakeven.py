"""What `prices breakeven` asks and prints."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import asdict, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from clusterwright.cli.prices.queries import More, answer
from clusterwright.errors import InputError, MissingFactError
from clusterwright.units import percent

if TYPE_CHECKING:
    from clusterwright.pricing.book import PriceBook

#: Least and largest value of each term of owning that the command line takes.
_BOUNDS = {
    "usd_per_kwh": (0.0, 10.0),
    "pue": (1.0, 5.0),
    "load_fraction": (0.0, 1.0),
    "usd_per_kw_month": (0.0, 1e5),
    "yearly_share": (0.0, 1.0),
    "hours_per_month": (600.0, 744.0),
    "purchase_usd": (1.0, 1e9),
}


def breakeven(  # noqa: D417 - the usual options
    *,
    about: str | None,
    utilisation: float,
    server: str,
    given: dict[str, float | None],
    as_of: str | None,
    term: str,
    region: str,
    most: int,
    store: str | None,
    as_json: bool,
    show_sql: bool,
) -> int:
    """Print after how many months buying is cheaper than renting; return the exit code.

    What is not described is as for every question.

    Args:
        about: an accelerator or a product, None for all.
        utilisation: share of the hours that are used, of (0, 1]; rent is paid for them, or for committed hours.
        server: what is bought; the cheapest one with a documented price if empty.
        given: fields of `OwningTerms` that differ from the assumptions; None for those that do not.

    Raises:
        InputError: a value is impossible, or a name unknown.
        MissingFactError: no server has a documented price, or nothing to rent has one.
    """
    if not 0 < utilisation <= 1:
        raise InputError(f"a utilisation of {utilisation:g} is impossible", help="write a share such as 0.6")
    for name, value in given.items():
        low, high = _BOUNDS[name]
        if value is not None and not (isfinite(value) and low <= value <= high):
            raise InputError(f"{name} = {value:g} is impossible", help=f"it lies between {low:g} and {high:g}")
    return answer(
        "breakeven",
        about=about,
        as_of=as_of,
        term=term,
        region=region,
        most=most,
        store=store,
        as_json=as_json,
        show_sql=show_sql,
        more=_owning(server, given, utilisation),
    )


def _owning(server: str, given: dict[str, float | None], utilisation: float) -> More:
    from clusterwright.catalog import lookup
    from clusterwright.catalog.load import load
    from clusterwright.pricing.records import COMMITTED_TERMS
    from clusterwright.tco.terms.owning import default_terms, owned_servers

    catalogue = load()
    system = lookup.system(catalogue, server).id if server else ""
    terms = replace(default_terms(), **{name: value for name, value in given.items() if value is not None})

    def more(book: "PriceBook", day: dt.date, accelerators: Sequence[str]) -> dict[str, Any]:
        owned = owned_servers(book, catalogue, accelerators=accelerators, system=system, terms=terms, as_of=day)
        if not owned:
            raise MissingFactError(
                f"no server with {' or '.join(accelerators[:3]) or 'these accelerators'} has a documented purchase"
                f" price and power on {day}",
                help="give one: --server NAME --purchase USD, or import a quote: clusterwright prices import --help",
            )
        rows = [
            asdict(entry)
            | {
                "purchase_usd_per_gpu": entry.purchase_usd_per_gpu,
                "running_usd_per_gpu_hour": entry.running_usd_per_gpu_hour,
            }
            for entry in owned
        ]
        told = [
            f"{entry.system}: {entry.purchase_usd:,.0f} USD ({entry.source}) for {entry.gpus} GPUs, then"
            f" {entry.running_usd_per_hour:,.2f} USD an hour"
            for entry in owned
        ]
        told.append(
            f"running: {terms.load_fraction:g} of nameplate at PUE {terms.pue:g} and {terms.usd_per_kwh:g} USD/kWh,"
            f" room {terms.usd_per_kw_month:g} USD per kW-month, {percent(terms.yearly_share, digits=None)} of the"
            f" price a year; {terms.hours_per_month:g} hours a month, {percent(utilisation, digits=None)} used"
        )
        told.append("not counted: network and storage beside the server, staff, tax, resale; see plan and report")
        return {
            "owned": rows,
            "utilisation": utilisation,
            "hours_per_month": terms.hours_per_month,
            "committed_terms": list(COMMITTED_TERMS),
            "told": told,
            "shown": {"owned": rows, "terms": asdict(terms), "utilisation": utilisation},
        }

    return more
