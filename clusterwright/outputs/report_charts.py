"""The charts of the report: what of the plan each of them shows. Drawing is in `charts`."""

import datetime as dt
from collections.abc import Sequence

from clusterwright.outputs.charts import PALETTE, Axis, Bar, Mark, Segment, Series, bar_chart, line_chart, nice_ticks
from clusterwright.plan.record import FrontPoint, Option, Plan
from clusterwright.plan.words import NAME_OF_TARGET, money
from clusterwright.pricing.records import PricePoint
from clusterwright.tco.records import CategoryCost, CumulativePoint

_MEMORY_TERMS = ("weights", "gradients", "optimizer", "activations", "logits", "communication", "reserve")
_MILLION = 1e6


def memory_chart(plan: Plan) -> str:
    """Return a stacked bar of the fullest GPU's memory per target, with the capacity as a line; GB are 1e9 bytes."""
    bars = []
    for option in plan.options:
        memory = option.memory_bytes_per_gpu
        segments = tuple(
            Segment(name=term, size=size / 1e9, text=f"{size / 1e9:.2f} GB", colour=PALETTE[index])
            for index, term in enumerate(_MEMORY_TERMS)
            if (size := getattr(memory, term)) > 0
        )
        bars.append(
            Bar(
                label=NAME_OF_TARGET[option.target],
                segments=segments,
                text=f"{memory.total / 1e9:.1f} of {option.hbm_bytes_per_gpu / 1e9:.1f}",
                limit=option.hbm_bytes_per_gpu / 1e9,
            )
        )
    return bar_chart(title="Memory of the fullest GPU", bars=bars, unit="GB per GPU", limit_name="capacity")


def step_chart(plan: Plan) -> str:
    """Return a stacked bar of one optimizer step's time per target, in seconds."""
    names = {
        "compute_s": "compute",
        "tensor_parallel_s": "tensor-parallel traffic",
        "pipeline_bubble_s": "pipeline bubble",
        "pipeline_transfer_s": "pipeline transfers",
        "data_parallel_s": "data-parallel traffic",
        "optimizer_s": "optimizer",
    }
    bars = [
        Bar(
            label=NAME_OF_TARGET[option.target],
            segments=tuple(
                Segment(name=name, size=seconds, text=f"{seconds:.3f} s", colour=PALETTE[index])
                for index, (field, name) in enumerate(names.items())
                if (seconds := getattr(option.step, field)) > 0
            ),
            text=f"{option.step.total_s:.2f} s",
        )
        for option in plan.options
    ]
    return bar_chart(title="Where the time of a step goes", bars=bars, unit="s per step")


def cost_chart(plan: Plan, *, horizon: bool) -> str:
    """Return a stacked bar of cost by category per target, in million USD; options with unknown totals are left out."""
    breakdowns = {
        option.target: (option.horizon_breakdown if horizon else option.run_breakdown, option)
        for option in plan.options
    }
    names = sorted({entry.category for parts, _ in breakdowns.values() for entry in parts})
    colours = {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(names)}
    bars = [
        Bar(
            label=NAME_OF_TARGET[target],
            segments=_cost_segments(parts, colours),
            text=money(option.horizon_usd if horizon else option.run_usd),
        )
        for target, (parts, option) in breakdowns.items()
        if parts
    ]
    title = f"Cost over {plan.economics.horizon_months:.0f} months" if horizon else "Cost of this run"
    return bar_chart(title=title, bars=bars, unit="million USD")


def _cost_segments(parts: Sequence[CategoryCost], colours: dict[str, str]) -> tuple[Segment, ...]:
    return tuple(
        Segment(
            name=entry.category,
            size=entry.usd / _MILLION,
            text=f"{money(entry.usd)}, {money(entry.priced_usd)} of it from documents",
            colour=colours[entry.category],
        )
        for entry in parts
        if entry.usd > 0
    )


def breakeven_chart(plan: Plan, points: Sequence[CumulativePoint]) -> str:
    """Return cumulative cash per option by month, with the assumptions' band and a dot where lines cross."""
    colours = {option.target: PALETTE[index] for index, option in enumerate(plan.options)}
    by_key = {key: [point for point in points if point.key == key] for key in dict.fromkeys(p.key for p in points)}
    series = [
        Series(
            name=NAME_OF_TARGET[key],
            colour=colours[key],
            points=tuple((point.month, point.usd / _MILLION) for point in own),
            band=tuple((point.month, point.usd_low / _MILLION, point.usd_high / _MILLION) for point in own),
        )
        for key, own in by_key.items()
    ]
    marks = [
        Mark(
            x=entry.months,
            y=_at(by_key[entry.owned_key], entry.months) / _MILLION,
            label=f"month {entry.months:.0f}",
            colour=colours[entry.rented_key],
        )
        for entry in plan.breakevens
        if entry.months is not None
    ]
    top = max((point.usd_high for point in points), default=1.0) / _MILLION
    y_ticks = nice_ticks(0.0, top)
    horizon = plan.economics.horizon_months
    x_ticks = range(0, int(horizon) + 1, 6 if horizon <= 60 else 12)  # noqa: PLR2004 - five years
    return line_chart(
        title="Cash paid so far",
        x=Axis(title="months", ticks=tuple((tick, str(tick)) for tick in x_ticks), low=0.0, high=horizon),
        y=Axis(
            title="million USD, cumulative",
            ticks=tuple((tick, f"{tick:,g}") for tick in y_ticks),
            low=y_ticks[0],
            high=y_ticks[-1],
        ),
        series=series,
        marks=marks,
    )


def _at(points: Sequence[CumulativePoint], month: float) -> float:
    """Return the line's value at a month, joining its points."""
    before = max((point for point in points if point.month <= month), key=lambda point: point.month)
    after = min((point for point in points if point.month >= month), key=lambda point: point.month)
    if after.month == before.month:
        return before.usd
    share = (month - before.month) / (after.month - before.month)
    return before.usd + share * (after.usd - before.usd)


def price_chart(plan: Plan, histories: dict[str, Sequence[PricePoint]]) -> str:
    """Return the price of a GPU-hour of each rented instance over time, as steps (prices are never interpolated).

    Args:
        plan: names the options.
        histories: chosen price points by target, oldest first.
    """
    as_of = dt.date.fromisoformat(plan.as_of)
    series = []
    for index, option in enumerate(plan.options):
        points = histories.get(option.target, ())
        if not points:
            continue
        steps = [(float(point.effective_from.toordinal()), point.usd / option.gpus_per_node) for point in points]
        steps.append((float(as_of.toordinal()), steps[-1][1]))
        series.append(
            Series(
                name=f"{NAME_OF_TARGET[option.target]} {steps[-1][1]:.2f}",
                colour=PALETTE[index],
                points=tuple(steps),
                step=True,
            )
        )
    if not series:
        return ""
    first = min(entry.points[0][0] for entry in series)
    years = range(dt.date.fromordinal(int(first)).year, as_of.year + 2)
    ticks = tuple((float(dt.date(year, 1, 1).toordinal()), str(year)) for year in years)
    y_ticks = nice_ticks(0.0, max(value for entry in series for _, value in entry.points))
    return line_chart(
        title="Price of a GPU-hour",
        x=Axis(title="year", ticks=ticks, low=ticks[0][0], high=ticks[-1][0]),
        y=Axis(
            title="USD per GPU-hour",
            ticks=tuple((tick, f"{tick:,g}") for tick in y_ticks),
            low=0.0,
            high=y_ticks[-1],
        ),
        series=series,
        height=320.0,
    )


def front_chart(plan: Plan) -> str:
    """Return the high end of calendar days against nodes for every size considered, the chosen ones marked."""
    series = [
        Series(
            name=NAME_OF_TARGET[option.target],
            colour=PALETTE[index],
            points=tuple((float(point.nodes), point.calendar_days_high) for point in _sorted(option)),
        )
        for index, option in enumerate(plan.options)
        if len(option.front) > 1
    ]
    if not series:
        return ""
    marks = [
        Mark(x=option.nodes, y=option.calendar_days_high, label="", colour=PALETTE[index])
        for index, option in enumerate(plan.options)
    ]
    x_ticks = nice_ticks(0.0, max(point for entry in series for point, _ in entry.points))
    y_ticks = nice_ticks(0.0, max(day for entry in series for _, day in entry.points))
    return line_chart(
        title="Cluster sizes that meet the goal",
        x=Axis(title="nodes", ticks=tuple((tick, f"{tick:,g}") for tick in x_ticks), low=0.0, high=x_ticks[-1]),
        y=Axis(
            title="calendar days, high end of the band",
            ticks=tuple((tick, f"{tick:,g}") for tick in y_ticks),
            low=0.0,
            high=y_ticks[-1],
        ),
        series=series,
        marks=marks,
        height=320.0,
    )


def _sorted(option: Option) -> list[FrontPoint]:
    return sorted(option.front, key=lambda point: point.nodes)
