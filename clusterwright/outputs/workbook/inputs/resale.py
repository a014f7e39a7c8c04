"""What equipment brings by its age, on the sheet Inputs: straight lines between points, or decay with steps."""

from collections.abc import Callable, Mapping

from clusterwright.outputs.workbook.writing.formula import (
    Figure,
    exponential,
    figure,
    rounded_up,
    span,
    stepped,
    when,
    whole,
)
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import Workbook
from clusterwright.tco.terms.assumptions import assumptions, resale_points
from clusterwright.tco.terms.resale import ResaleCurve, ResaleShare

_ROUNDING = 1e-9
#: What is left of the price by age in months.
Resale = Callable[[Figure], Figure]


def curve_of(work: Workbook) -> ResaleCurve:
    """Return the curve of the blueprint, else that of the assumptions."""
    given = work.plan.economics.resale
    points = ((month, ResaleShare(low=base, base=base, high=base)) for month, base in resale_points(assumptions()))
    return given or ResaleCurve(points=tuple(points))


def write_resale(page: Page, row: int, curve: ResaleCurve) -> Resale:
    """Write the curve from a row on; return the formula of a share by age."""
    if curve.decay_per_year is not None:
        return _decay(page, row, curve)
    page.text(row, 0, "Resale by age: straight lines between these points, from 100 % at the purchase", "bold")
    page.head(row + 1, ("age, months", "share of the price", "change of slope"), texts=0)
    ages, shares, steps = [], [], []
    slope, before_age, before = figure(0.0), figure(0.0), figure(1.0)
    for place, (months, share) in enumerate(curve.points, start=row + 3):
        ages.append(page.number(place, 0, months, "input"))
        shares.append(page.number(place, 1, share.base, "share_input"))
    starts = [page.number(row + 2, 0, 0.0, "number"), *ages]
    page.number(row + 2, 1, 1.0, "share_2")
    for place, (age, now) in enumerate(zip(ages, shares, strict=True), start=row + 2):
        next_slope = (now - before) / (age - before_age)
        steps.append(page.put(place, 2, next_slope if place == row + 2 else next_slope - slope, "number"))
        slope, before, before_age = next_slope, now, age
    steps.append(page.put(row + 2 + len(ages), 2, -slope, "number"))
    return lambda age: 1.0 + stepped(age, span(starts), span(steps))


def _decay(page: Page, row: int, curve: ResaleCurve) -> Resale:
    assert curve.decay_per_year is not None  # noqa: S101 - the caller has looked
    page.text(row, 0, "Resale by age: exp(-decay x years), and what is left at each successor", "bold")
    rows = (
        ("decay a year", curve.decay_per_year.base),
        ("left at each successor", curve.step),
        ("months between successors, 0: none", curve.step_months or 0.0),
    )
    cells = []
    for place, (title, value) in enumerate(rows, start=row + 1):
        page.text(place, 0, title)
        cells.append(page.number(place, 1, value, "input"))
    decay, step, every = cells
    return lambda age: (
        exponential(-decay * age / 12.0) * when(every.above(0.0), step ** whole(age / every + _ROUNDING), 1.0)
    )


def newest_age(horizon: Figure, refresh: Figure | None) -> Figure:
    """Return the age at the end of the horizon of what replaced the first purchase last."""
    if refresh is None:
        return horizon
    return when(refresh.above(0.0), horizon - refresh * (rounded_up(horizon / refresh) - 1.0), horizon)


def reference_age(names: Mapping[str, Figure], resale: Resale, *, given: bool) -> Figure:
    """Return the age whose resale the input resale_fraction is, as `GrowthSchedule.reference_age`.

    Args:
        names: of the inputs.
        resale: share of the price by age.
        given: whether the blueprint gives that share, which is then that of the first purchase or its replacement.
    """
    horizon = names["horizon_months"]
    newest = newest_age(horizon, names.get("refresh_months"))
    growth = names.get("growth_fraction_per_year")
    if growth is None or given:
        return newest
    last = horizon - 12.0 * (rounded_up(horizon / 12.0) - 1.0)
    return when(resale(newest).above(_ROUNDING), newest, when(growth.above(0.0), last, newest))
