"""compare --scenarios: a guide's winners beside what prices in force say, for a terminal and as JSON."""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import asdict

from clusterwright.catalog.load import load
from clusterwright.catalog.records import Catalogue
from clusterwright.cli.render.text_table import fitted
from clusterwright.errors import EXIT_FINE
from clusterwright.feeds.object_storage import reach
from clusterwright.finance.scenario_measures import Entry
from clusterwright.finance.scenarios import TABLE, TOLERANCE, Scenario, scenarios
from clusterwright.pricing.book import PriceBook
from clusterwright.units import percent

_SHOWN = 3
_GUIDE = "the guide of 2026-06-18"
#: Below it figures have four digits, from the second on no decimals.
_PLAIN, _WHOLE = 10.0, 1000.0


def show(as_of: dt.date | None, *, as_json: bool) -> int:
    """Print every scenario, calculated again; return the exit code.

    Args:
        as_of: day whose prices hold; the newest of the price book if None.
        as_json: print JSON, with every accelerator ranked.
    """
    catalogue, book = load(), PriceBook.open(reach=reach)
    try:
        day, found = scenarios(catalogue, book, as_of)
    finally:
        book.close()
    print(_document(day, found) if as_json else fitted(text(day, found, catalogue)))
    return EXIT_FINE


def _document(day: dt.date, found: Sequence[Scenario]) -> str:
    rows = [asdict(entry) | {"verdict": verdict(entry)} for entry in found]
    return json.dumps({"schema": 1, "as_of": day.isoformat(), "scenarios": rows}, indent=1, allow_nan=False)


def text(day: dt.date, found: Sequence[Scenario], catalogue: Catalogue) -> str:
    """Return the scenarios as lines of text: what was printed, what comes out, and the verdict."""
    right = sum(entry.winner_right is True for entry in found)
    figures = [entry for entry in found if entry.figure_right is not None]
    sound = sum(entry.figure_right is True and not entry.misreckoned for entry in figures)
    lines = [
        f"Price for performance by scenario, as {_GUIDE} prints it and at documented prices of {day}:",
        f"{right} of {len(found)} winners are right; {sound} of the {len(figures)} figures that can be calculated are",
    ]
    for number, entry in enumerate(found, 1):
        lines += ["", f"{number}. {entry.scenario}", f"   measure  {entry.measure}"]
        lines += [f"   printed  {entry.printed_winner}: {entry.printed_figure}"]
        best = [_ranked(place, catalogue) for place in entry.ranking[:_SHOWN]]
        lines += [f"   {'now' if index == 0 else '':<7}  {line}" for index, line in enumerate(best)]
        if best:
            lines[-len(best)] += f"   [{entry.unit}{', ' + entry.term.replace('_', ' ') if entry.term else ''}]"
        if entry.better_elsewhere:
            lines += [f"   also     not compared there: {_ranked(entry.better_elsewhere, catalogue)}"]
        lines += [f"   verdict  {verdict(entry)}"]
        if entry.remark:
            lines += [f"   because  {entry.remark}"]
    lines += [
        "",
        (
            f"printed winners and figures: {TABLE}; none goes into a calculation. "
            "Each measure: clusterwright docs scenarios"
        ),
    ]
    return "\n".join(lines)


def _ranked(entry: Entry, catalogue: Catalogue) -> str:
    words = [f"{_figure(entry.value)} {catalogue.accelerators[entry.accelerator].name}", entry.where, entry.detail]
    words += [f"seen {entry.last_seen}" if entry.last_seen else ""]
    return ", ".join(word for word in words if word)


def verdict(entry: Scenario) -> str:
    """Return what to think of the printed winner and figure, in words."""
    if entry.winner_right is None:
        winner = "winner unknown: no price of any accelerator that is compared"
    elif entry.winner_right:
        winner = "winner right"
    else:
        missing = [name for name in entry.unknown if name in entry.printed_accelerators]
        winner = f"winner wrong: {entry.ranking[0].accelerator}"
        if len(missing) == len(entry.printed_accelerators):
            winner = f"winner not documented: {', '.join(missing)} has no price or fact; of the others {winner[14:]}"
    if entry.figure_right is None or entry.printed_low is None or entry.printed_high is None:
        return winner
    if entry.misreckoned:
        return f"{winner}; figure wrong: its own inputs give {_figure(entry.own_inputs_give or 0.0)}"
    bounds = entry.printed_now.values()
    if entry.figure_right:
        if any(least != most for least, most in bounds):
            least, most = min(bound[0] for bound in bounds), max(bound[1] for bound in bounds)
            return f"{winner}; figure possible: the bounds are {_figure(least)} and {_figure(most)}"
        return f"{winner}; figure right within {percent(TOLERANCE)}"
    told = min(bound[0] for bound in bounds) if entry.lower_is_better else max(bound[1] for bound in bounds)
    nearest = min(max(told, entry.printed_low), entry.printed_high)
    return f"{winner}; figure wrong: {_figure(told)} now, {told / nearest:.2g} times what is printed"


def _figure(value: float) -> str:
    if value == round(value) or value >= _WHOLE:
        return f"{value:,.0f}"
    return f"{value:.4g}" if value < _PLAIN else f"{value:.1f}"
