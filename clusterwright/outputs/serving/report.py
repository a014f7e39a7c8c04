"""The report's section on a cluster that serves: replicas, latencies, tokens, rates, a day, and what memory holds."""

from collections import defaultdict
from collections.abc import Sequence

from clusterwright.outputs.drawing.bar_chart import bar_chart
from clusterwright.outputs.drawing.charts import (
    GREY,
    PALETTE,
    Axis,
    Bar,
    Limit,
    Mark,
    Segment,
    Series,
    labelled,
    logarithmic_axis,
    nice_ticks,
)
from clusterwright.outputs.drawing.line_chart import line_chart
from clusterwright.outputs.page_parts import Cell, Chart, Table
from clusterwright.plan.record import Plan
from clusterwright.plan.serving.record import ServingOption, ServingPlan, serving_option, serving_plan
from clusterwright.plan.text.hosted import hosted_columns, hosted_notes, hosted_rows
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.serving import replica_text
from clusterwright.plan.text.words import NAME_OF_TARGET, capital
from clusterwright.sizing.serving.sizes import Predicted, RatePoint
from clusterwright.units import latency_text

#: Words of the section, with what they mean.
TERMS = (
    ("First token, time per token", "from a request to the first token of its answer; from one token to the next."),
    (
        "Replica",
        "one copy of the model on its accelerators; all share the traffic, and spare ones stand for those lost.",
    ),
    (
        "TP, PP, EP, DP",
        "how many accelerators share a layer, form a pipeline of layers, share experts, split attention.",
    ),
)
_MEMORY = (
    ("weights", "weights", PALETTE[0]),
    ("keys and values", "cache_pool", PALETTE[3]),
    ("reserve", "reserved", PALETTE[5]),
    ("left to others", "unused", GREY),
)
_UNKNOWN = "unknown"
_HOURS = 24
#: Above the highest line, for its label.
_HEADROOM = 1.15


def cluster_table(plan: Plan, money: MoneyFormat) -> Table:
    """Return how each target serves: replicas, layout, latencies at the goals' percentile, tokens and their price."""
    serves = serving_plan(plan)
    at = f"P{serves.goals.percentile:g}"
    return Table(
        columns=(
            "Where",
            "Replicas",
            "Layout of each",
            "Requests in flight, each",
            f"First token, {at}",
            f"Time per token, {at}",
            "Output tokens/s at the peak",
            f"{money.code} per million output tokens",
            "Limited by",
        ),
        rows=tuple(_row(option, money) for option in serves.options),
        numeric=frozenset({1, 3, 4, 5, 6, 7}),
    )


def elsewhere(plan: Plan, money: MoneyFormat) -> tuple[Table, Sequence[str]]:
    """Return the service on own clusters beside managed endpoints and hosted models, and what is said of the table."""
    serves = serving_plan(plan)
    columns = hosted_columns(money)
    rows = tuple(tuple(Cell(text=text) for text in row) for row in hosted_rows(serves, money))
    return Table(columns=columns, rows=rows, numeric=frozenset({2, 3, 4, 5, 6, 7})), hosted_notes(serves)


def _row(option: ServingOption, money: MoneyFormat) -> tuple[Cell, ...]:
    performance = option.performance
    price = option.money.usd_per_million_tokens
    spare = f"{performance.spare_replicas} spare" if performance.spare_replicas else ""
    band = (
        ""
        if price.output_low is None or price.output_high is None
        else (f"{money.amount(price.output_low):.2f} to {money.amount(price.output_high):.2f}")
    )
    return (
        Cell(text=capital(NAME_OF_TARGET[option.target])),
        Cell(text=f"{performance.replicas:,}", detail=spare),
        Cell(
            text=f"{performance.layout.gpus} × {option.cluster.accelerator_name}",
            detail=replica_text(performance.layout),
        ),
        Cell(text=f"{performance.in_flight:,.0f}", detail=f"{performance.most_in_flight:,} fit"),
        _latency(performance.first_token_s),
        _latency(performance.time_per_token_s),
        Cell(text=f"{performance.output_tokens_per_s.value:,.0f}"),
        Cell(text=_UNKNOWN if price.output is None else f"{money.amount(price.output):.2f}", detail=band),
        Cell(text="; ".join(performance.limited_by)),
    )


def _latency(figure: Predicted) -> Cell:
    return Cell(text=latency_text(figure.value), detail=f"{latency_text(figure.low)} to {latency_text(figure.high)}")


def cluster_charts(plan: Plan) -> Sequence[Chart]:
    """Return rates, a day against capacity, and what the memory of an accelerator holds, of every target."""
    serves = serving_plan(plan)
    front = _rate_chart(serves)
    return (
        *(
            [
                Chart(
                    svg=front,
                    caption=(
                        "Output tokens per second of an accelerator against those that a user sees, on average: what "
                        "no other layout and load of the hardware beats, whatever the goals; the dots are the "
                        "replicas of the plan at the peak."
                    ),
                )
            ]
            if front
            else []
        ),
        Chart(
            svg=_day_chart(serves),
            caption=(
                "Requests per second of a day, and what the replicas without the spare ones carry within the goals, "
                "with the confidence that they are sized with."
            ),
        ),
        Chart(
            svg=memory_chart(serves),
            caption=(
                "Memory of one accelerator of a replica, GB (1e9 bytes): weights, the pool of keys and values that "
                "requests share, what the framework keeps, and what it leaves to others."
            ),
        ),
    )


def memory_chart(plan: ServingPlan) -> str:
    """Return a stacked bar of one accelerator's memory per target; GB are 1e9 bytes."""
    bars = []
    for option in plan.options:
        sizes = [
            (name, getattr(option.performance.replica_memory, field) / 1e9, colour) for name, field, colour in _MEMORY
        ]
        held = sum(size for _, size, _ in sizes)
        segments = tuple(
            Segment(name=name, size=size, text=f"{size:.2f} GB", colour=colour, inside=f"{size:.1f}")
            for name, size, colour in sizes
            if size > 0
        )
        bars.append(
            Bar(
                label=NAME_OF_TARGET[option.target],
                segments=segments,
                text=f"{option.performance.replica_memory.cache_pool / 1e9:.1f} of {held:.1f} GB for keys and values",
            )
        )
    return bar_chart(title="Memory of an accelerator", bars=bars, unit="GB per accelerator")


def _rate_chart(plan: ServingPlan) -> str:
    """Return the front of every target's hardware with its replicas at the peak marked; targets alike share a line.

    Both axes are logarithmic. Empty where no front has two points.
    """
    fronts: dict[tuple[RatePoint, ...], list[tuple[int, ServingOption]]] = defaultdict(list)
    for index, option in enumerate(plan.options):
        if len(option.performance.rate_front) > 1:
            fronts[option.performance.rate_front].append((index, option))
    if not fronts:
        return ""
    series = [
        Series(
            name=", ".join(NAME_OF_TARGET[option.target] for _, option in options),
            colour=PALETTE[options[0][0]],
            points=tuple((point.tokens_per_s_per_user, point.tokens_per_s_per_gpu) for point in reversed(front)),
        )
        for front, options in fronts.items()
    ]
    marks = [
        Mark(
            x=option.performance.output_tokens_per_s_per_user,
            y=option.performance.tokens_per_s_per_gpu,
            label=f"{', '.join(NAME_OF_TARGET[entry.target] for _, entry in options)}: "
            f"{option.performance.replicas:,} replicas",
            colour=PALETTE[index],
        )
        for options in fronts.values()
        for index, option in options[:1]
    ]
    users = [x for entry in series for x, _ in entry.points] + [mark.x for mark in marks]
    gpus = [y for entry in series for _, y in entry.points] + [mark.y for mark in marks]
    return line_chart(
        title="Output tokens per second of an accelerator against those of a user",
        x=logarithmic_axis("output tokens/s a user sees", users),
        y=logarithmic_axis("output tokens/s of an accelerator", gpus),
        series=series,
        marks=marks,
    )


def _day_chart(plan: ServingPlan) -> str:
    """Return the requests per second of a day, today and at the end of the horizon, against what the answer carries."""
    answer = plan.planned(plan.recommended_key)
    option = plan.options[0] if answer is None else serving_option(answer)
    today = option.performance.day.hourly_requests_per_s
    grown = tuple(rate * plan.workload.growth_factor for rate in today)
    lines = [Series(name="today", points=_steps(today), colour=PALETTE[0], step=True)]
    if plan.workload.growth_factor > 1:
        lines.append(Series(name="end of the horizon", points=_steps(grown), colour=PALETTE[1], step=True))
    capacity = option.performance.replicas * option.performance.capacity_requests_per_s
    limits = [
        Limit(
            y=capacity, label=f"{option.performance.replicas:,} replicas of {NAME_OF_TARGET[option.target]} carry this"
        )
    ]
    y_ticks = nice_ticks(0.0, max(*grown, capacity) * _HEADROOM)
    hours = tuple(float(hour) for hour in range(0, _HOURS + 1, 3))
    return line_chart(
        title="Requests per second of a day against what the replicas carry",
        x=Axis(title="hour of the day", ticks=tuple((hour, f"{hour:.0f}") for hour in hours), low=0.0, high=_HOURS),
        y=Axis(title="requests/s", ticks=labelled(y_ticks), low=y_ticks[0], high=y_ticks[-1]),
        series=lines,
        limits=limits,
    )


def _steps(rates: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
    return (*((float(hour), rate) for hour, rate in enumerate(rates)), (float(_HOURS), rates[-1]))
