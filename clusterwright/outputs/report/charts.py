"""The charts of money in the report: what of the plan each shows. Drawing is in `line_chart` and `bar_chart`."""

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence

from clusterwright.outputs.drawing.bar_chart import bar_chart, range_chart
from clusterwright.outputs.drawing.charts import (
    GREY,
    PALETTE,
    Axis,
    Bar,
    Mark,
    Range,
    Segment,
    Series,
    labelled,
    nice_ticks,
)
from clusterwright.outputs.drawing.line_chart import line_chart
from clusterwright.outputs.report.sensitivity import Sensitivity
from clusterwright.plan.record import Plan, WorkUnit
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import NAME_OF_TARGET
from clusterwright.pricing.records import PricePoint
from clusterwright.tco.terms.records import CategoryCost, CumulativePoint

_MILLION, _THOUSAND = 1e6, 1e3
_OTHER = "other"


def cost_chart(plan: Plan, *, money: MoneyFormat, horizon: bool) -> str:
    """Return a stacked bar of cost by category per target, in million USD; empty if no total is known.

    Categories beyond as many as there are colours are drawn as `other`; income (resale) is to the left of zero, and
    a diamond marks what remains.
    """
    parts = {
        option.target: option.money.horizon_breakdown if horizon else option.money.run_breakdown
        for option in plan.options
    }
    if not any(parts.values()):
        return ""
    colours = _category_colours([entry for option in plan.options for entry in option.money.run_breakdown])
    bars = []
    for option in plan.options:
        entries, total = parts[option.target], option.money.horizon_usd if horizon else option.money.run_cost_usd
        income = any(entry.usd < 0 for entry in entries)
        bars.append(
            Bar(
                label=NAME_OF_TARGET[option.target]
                + ("" if horizon or option.money.run_usd is not None else ", share"),
                segments=_cost_segments(entries, colours, money),
                text=money.text(total),
                net=money.amount(total) / _MILLION if income and total is not None else None,
            )
        )
    title = (
        f"Cost over {plan.economics.horizon_months:.0f} months" if horizon else f"Cost of {plan.workload.unit.asked}"
    )
    return bar_chart(title=title, bars=bars, unit=f"million {money.code}")


def _category_colours(entries: Sequence[CategoryCost]) -> dict[str, str]:
    """Return a colour for each of the largest categories, the largest first; the same for a run and the horizon."""
    sizes: dict[str, float] = defaultdict(float)
    for entry in entries:
        sizes[entry.category] += abs(entry.usd)
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))
    return dict(zip(largest, PALETTE, strict=False))


def _cost_segments(
    entries: Sequence[CategoryCost], colours: Mapping[str, str], money: MoneyFormat
) -> tuple[Segment, ...]:
    by_name = {entry.category: entry for entry in entries}
    named = [
        Segment(
            name=name,
            size=money.amount(entry.usd) / _MILLION,
            text=f"{money.text(entry.usd)}, {money.text(entry.priced_usd)} of it at documented or given prices",
            colour=colour,
            inside=money.text(entry.usd),
        )
        for name, colour in colours.items()
        if (entry := by_name.get(name)) is not None and entry.usd != 0
    ]
    rest = [entry for entry in entries if entry.category not in colours and entry.usd != 0]
    if not rest:
        return tuple(named)
    listed = ", ".join(f"{entry.category} {money.text(entry.usd)}" for entry in rest)
    size = sum(entry.usd for entry in rest)
    return (
        *named,
        Segment(name=_OTHER, size=money.amount(size) / _MILLION, text=listed, colour=GREY, inside=money.text(size)),
    )


def breakeven_chart(plan: Plan, points: Sequence[CumulativePoint], money: MoneyFormat) -> str:
    """Return cumulative cash per option by month, with the assumptions' band and a dot where lines cross."""
    colours = {option.target: PALETTE[index] for index, option in enumerate(plan.options)}
    points = [point for point in points if point.key in colours]
    if not points:
        return ""
    by_key = {
        option.target: own
        for option in plan.options
        if (own := [point for point in points if point.key == option.target])
    }
    series = [
        Series(
            name=f"{NAME_OF_TARGET[key]} {money.text(own[-1].usd)}",
            colour=colours[key],
            points=tuple((point.month, money.amount(point.usd) / _MILLION) for point in own),
            band=tuple(
                (point.month, money.amount(point.usd_low) / _MILLION, money.amount(point.usd_high) / _MILLION)
                for point in own
            ),
        )
        for key, own in by_key.items()
    ]
    marks = [
        Mark(
            x=entry.months,
            y=money.amount(_at(by_key[entry.owned_key], entry.months)) / _MILLION,
            label=f"{NAME_OF_TARGET[entry.rented_key]}: month {entry.months:.1f}",
            colour=colours[entry.rented_key],
        )
        for entry in plan.breakevens
        if entry.months is not None
    ]
    y_ticks = nice_ticks(0.0, money.amount(max(point.usd_high for point in points)) / _MILLION)
    horizon = plan.economics.horizon_months
    x_ticks = range(0, int(horizon) + 1, 6 if horizon <= 60 else 12)  # noqa: PLR2004 - five years
    return line_chart(
        title="Cash paid so far",
        x=Axis(title="months", ticks=tuple((tick, str(tick)) for tick in x_ticks), low=0.0, high=horizon),
        y=_upright(f"million {money.code}, cumulative", y_ticks),
        series=series,
        marks=marks,
        height=400.0,
    )


def _at(points: Sequence[CumulativePoint], month: float) -> float:
    """Return the line's value at a month, joining its points."""
    before = max((point for point in points if point.month <= month), key=lambda point: point.month)
    after = min((point for point in points if point.month >= month), key=lambda point: point.month)
    if after.month == before.month:
        return before.usd
    share = (month - before.month) / (after.month - before.month)
    return before.usd + share * (after.usd - before.usd)


def sensitivity_chart(entries: Sequence[Sensitivity], run_usd: float, unit: WorkUnit, money: MoneyFormat) -> str:
    """Return how far the cost of one unit of work moves with each input, in thousand USD; empty if nothing moves it."""
    if not entries:
        return ""
    ranges = [
        Range(
            label=entry.name,
            low=money.amount(entry.low_usd) / _THOUSAND,
            high=money.amount(entry.high_usd) / _THOUSAND,
            low_text=entry.low_text,
            high_text=entry.high_text,
        )
        for entry in entries
    ]
    return range_chart(
        title="What moves the cost",
        ranges=ranges,
        base=money.amount(run_usd) / _THOUSAND,
        unit=f"thousand {money.code} {unit.each}",
    )


def price_chart(plan: Plan, histories: Mapping[str, Sequence[PricePoint]], money: MoneyFormat) -> str:
    """Return the price of a GPU-hour of each rented instance over time, as steps (prices are never interpolated).

    Args:
        plan: names the options.
        histories: chosen price points by target, oldest first.
        money: how amounts are written.
    """
    as_of = float(dt.date.fromisoformat(plan.as_of).toordinal())
    series = []
    for index, option in enumerate(plan.options):
        points = histories.get(option.target, ())
        if not points:
            continue
        steps = [
            (float(point.effective_from.toordinal()), money.amount(point.usd) / option.cluster.gpus_per_node)
            for point in points
        ]
        steps.append((as_of, steps[-1][1]))
        series.append(
            Series(
                name=f"{NAME_OF_TARGET[option.target]} {money.text(points[-1].usd / option.cluster.gpus_per_node)}",
                colour=PALETTE[index],
                points=tuple(steps),
                step=True,
            )
        )
    if not series:
        return ""
    first = dt.date.fromordinal(int(min(entry.points[0][0] for entry in series))).year
    last = dt.date.fromordinal(int(as_of)).year
    ticks = tuple((float(dt.date(year, 1, 1).toordinal()), str(year)) for year in range(first, last + 1))
    return line_chart(
        title="Price of a GPU-hour",
        x=Axis(
            title="year (labels stand at 1 January)", ticks=ticks, low=ticks[0][0], high=max(as_of, ticks[0][0] + 1)
        ),
        y=_upright(
            f"{money.code} per GPU-hour", nice_ticks(0.0, max(value for entry in series for _, value in entry.points))
        ),
        series=series,
        height=330.0,
    )


def _upright(title: str, ticks: Sequence[float]) -> Axis:
    return Axis(title=title, ticks=labelled(ticks), low=ticks[0], high=ticks[-1])
