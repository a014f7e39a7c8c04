"""Two charts of a service: tokens per second of an accelerator against those of a user, and a day against capacity."""

from collections import defaultdict

from clusterwright.outputs.drawing.charts import (
    PALETTE,
    Axis,
    Limit,
    Mark,
    Series,
    labelled,
    logarithmic_axis,
    nice_ticks,
)
from clusterwright.outputs.drawing.line_chart import line_chart
from clusterwright.plan.serving.record import ServingOption, ServingPlan, serving_option
from clusterwright.plan.text.words import NAME_OF_TARGET
from clusterwright.sizing.serving.sizes import RatePoint

_HOURS = 24
#: Above the highest line, for its label.
_HEADROOM = 1.15


def rate_chart(plan: ServingPlan) -> str:
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


def day_chart(plan: ServingPlan) -> str:
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
