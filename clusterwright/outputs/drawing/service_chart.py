"""The chart of a sweep of services: tokens per second of an accelerator against those of a user."""

from collections.abc import Sequence

from clusterwright.errors import InputError
from clusterwright.outputs.drawing.charts import PALETTE, Series
from clusterwright.outputs.drawing.sweep_chart import scenario_name, swept_chart
from clusterwright.sweep.services import SweptService


def service_chart(points: Sequence[SweptService]) -> str:
    """Return an SVG with both axes logarithmic: a line per scenario and accelerator.

    Node types with the same accelerator share a line: what no layout or load on any of them beats. A node type whose
    front has one rate alone is a line of one point.

    Raises:
        InputError: there is no point, more lines than a chart can hold, or answers of one pass over the input, which
            have no tokens per second.
    """
    if any(point.tokens_per_s_per_user is None for point in points):
        raise InputError(
            "there is nothing to draw: one pass over the input answers, at no rate of tokens", help="leave out --chart"
        )
    names = ", ".join(dict.fromkeys(point.blueprint for point in points))
    return swept_chart(
        _lines(points),
        title=f"{names}: output tokens per second of an accelerator against those of a user",
        x="output tokens/s a user sees",
        y="output tokens/s of an accelerator",
    )


def _lines(points: Sequence[SweptService]) -> list[Series]:
    scenarios = list(dict.fromkeys((point.blueprint, point.varied) for point in points))
    one_name = len({name for name, _ in scenarios}) == 1
    groups: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for point in points:
        rates = [(rate.tokens_per_s_per_user, rate.tokens_per_s_per_gpu) for rate in point.rate_front]
        here = groups.setdefault((point.accelerator, scenarios.index((point.blueprint, point.varied))), [])
        here += rates or [(point.tokens_per_s_per_user or 0.0, point.tokens_per_s_per_gpu or 0.0)]
    lines = []
    for order, ((chip, scenario), rates) in enumerate(sorted(groups.items())):
        name = scenario_name(*scenarios[scenario], one_name=one_name) if len(scenarios) > 1 else ""
        lines.append(
            Series(
                name=", ".join(part for part in (chip, name) if part),
                points=tuple(unbeaten(rates)),
                colour=PALETTE[order % len(PALETTE)],
            )
        )
    return lines


def unbeaten(rates: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the rates that no other beats for the user and for the accelerator, slowest for the user first.

    >>> unbeaten([(10.0, 100.0), (20.0, 50.0), (15.0, 40.0)])
    [(10.0, 100.0), (20.0, 50.0)]
    """
    kept: list[tuple[float, float]] = []
    for user, gpu in sorted(rates, reverse=True):
        if not kept or gpu > kept[-1][1]:
            kept.append((user, gpu))
    return kept[::-1]
