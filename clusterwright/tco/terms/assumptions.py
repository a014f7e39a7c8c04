"""Assumptions for values without a document (`tco/assumptions.csv`), and the economic parameters derived from them."""

import csv
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from clusterwright.assets import root
from clusterwright.errors import InputError, MissingFactError
from clusterwright.tco.terms.owner_costs import optional_parameters, owner_costs
from clusterwright.tco.terms.records import Assumption, Candidate, Economics, Parameter
from clusterwright.tco.terms.resale import ResaleCurve, line
from clusterwright.tco.terms.stages import GrowthSchedule

#: Parameters of the cash flow with an assumption of the same key; `resale_fraction` is interpolated between three rows.
_PARAMETERS = (
    "power_price_usd_per_kwh",
    "pue",
    "load_power_fraction",
    "idle_power_fraction",
    "colocation_usd_per_kw_month",
    "installation_fraction",
    "spares_fraction",
    "support_fraction_per_year",
    "staff_fte_per_gpu",
    "staff_usd_per_fte_year",
)
_RESALE_POINTS = tuple((float(months), f"resale_fraction_{months}_months") for months in (36, 60, 84))


@cache
def assumptions(path: Path | None = None) -> Mapping[str, Assumption]:
    """Return the assumptions by key.

    Args:
        path: CSV file in the format of `tco/assumptions.csv`, which is the default.

    Raises:
        MissingFactError: a row cannot be parsed, a key appears twice, or values are not in ascending order.
    """
    file = root() / "tco" / "assumptions.csv" if path is None else path
    by_key: dict[str, Assumption] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            assumption = _assumption(row, file)
            if assumption.key in by_key:
                raise MissingFactError(f"{file.name} has two rows for {assumption.key}", help="keep one of the rows")
            by_key[assumption.key] = assumption
    return by_key


def _assumption(row: dict[str, str], file: Path) -> Assumption:
    try:
        low, base, high = (float(row[name]) for name in ("low", "base", "high"))
        assumption = Assumption(
            key=row["key"],
            low=low,
            base=base,
            high=high,
            unit=row["unit"],
            charge=row["charge"],
            cost_rises_with=row["cost_rises_with"],
            reason=row["reason"],
            source=row["source"],
            date=row["date"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise MissingFactError(
            f"{file.name}: the row of {row.get('key')!r} cannot be read: {error}", help="correct the row"
        ) from error
    if not 0 <= low <= base <= high or not all((assumption.reason, assumption.source, assumption.date)):
        raise MissingFactError(
            f"{file.name}: {assumption.key} needs 0 <= low <= base <= high, a reason, a source and a date",
            help="correct the row",
        )
    return assumption


def parameters(
    economics: Economics, known: Mapping[str, Assumption], skus: Collection[str] = ()
) -> tuple[Parameter, ...]:
    """Return the economic parameters of the cash flow: given in the blueprint, overridden, or assumed.

    `low` is the value that makes the cost lowest, `high` the one that makes it highest.

    Args:
        economics: economic inputs, which may override any assumption and the price of any sku.
        known: assumptions by key.
        skus: skus of all bills.

    Raises:
        InputError: an override names neither an assumption nor a sku.
    """
    given = dict(economics.overrides)
    optional = optional_parameters()
    _check_names(given, {*known, *skus, *optional, "resale_fraction"})
    _check_names((entry.key for entry in economics.given), {*known, *optional, "resale_fraction"})
    if economics.power_price_usd_per_kwh is not None:
        given["power_price_usd_per_kwh"] = economics.power_price_usd_per_kwh
    if economics.pue is not None:
        given["pue"] = economics.pue
    explicit = {entry.key: entry for entry in economics.given}
    explicit |= {key: _given(key, given[key], entry.unit) for key, entry in optional.items() if key in given}
    neutral = _neutral({*explicit, *_PARAMETERS, "resale_fraction"})
    return (
        *_growth_parameters(economics.growth),
        *(
            explicit.pop(key) if key in explicit and key not in given else _parameter(key, given, known)
            for key in _PARAMETERS
        ),
        *(entry for key, entry in explicit.items() if key not in (*_PARAMETERS, "resale_fraction")),
        *(_given(key, value, optional[key].unit) for key, value in neutral.items()),
        explicit["resale_fraction"]
        if "resale_fraction" in explicit and "resale_fraction" not in given
        else _resale(_sale_age(economics, known), given, known, economics.resale),
    )


def _sale_age(economics: Economics, known: Mapping[str, Assumption]) -> float:
    return economics.growth.reference_age(economics.horizon_months, resale_curve(economics, known))


def _growth_parameters(growth: GrowthSchedule) -> tuple[Parameter, ...]:
    """Return growth, refresh and price change as parameters for the list of assumptions, without those that are 0."""
    return tuple(
        _given(key, value, unit)
        for key, value, unit in (
            ("growth_fraction_per_year", growth.growth_per_year, "share of the work and year"),
            ("refresh_months", growth.refresh_months or 0.0, "months"),
            ("purchase_price_change_per_year", growth.price_change_per_year, "share of the price and year"),
        )
        if value
    )


def _neutral(available: Collection[str]) -> dict[str, float]:
    """Return neutral values of missing parameters that only modify a cost whose other parameters are available."""
    optional = optional_parameters()
    neutral: dict[str, float] = {}
    for term in owner_costs():
        missing = [key for key in term.parameters if key not in available]
        requested = any(key in optional for key in term.parameters if key in available)
        values = {
            key: optional[key].neutral for key in missing if key in optional and optional[key].not_with not in available
        }
        if requested and len(values) == len(missing):
            neutral |= {key: value for key, value in values.items() if value is not None}
    return neutral


def own_parameters(
    candidate: Candidate, known: Mapping[str, Assumption], common: Collection[str] = ()
) -> tuple[Parameter, ...]:
    """Return the parameters that apply to one candidate alone.

    Args:
        candidate: candidate with its overrides and given parameters.
        known: assumptions by key.
        common: keys of the parameters that apply to all candidates.

    Raises:
        InputError: an override names no parameter of the cash flow.
    """
    optional = {key: entry.unit for key, entry in optional_parameters().items()}
    units = {key: known[key].unit for key in _PARAMETERS} | optional | {"resale_fraction": "share of purchase"}
    given = dict(candidate.overrides)
    _check_names(given, units)
    own = {key: _given(key, value, units[key]) for key, value in given.items()}
    own |= {entry.key: entry for entry in candidate.given}
    neutral = _neutral({*common, *own}) if candidate.given else {}
    return (
        *own.values(),
        *(_given(key, value, optional[key]) for key, value in neutral.items() if key not in common),
    )


def resale_curve(economics: Economics, known: Mapping[str, Assumption]) -> Callable[[float], float]:
    """Return the resale value by age in months, as a share of the price at base values.

    The curve is the given one, else the assumed one. If the share at the end of the horizon is given and the curve is 0
    there, no proportion can be formed and every age has the same resale value.
    """
    curve = economics.resale
    points = dict(resale_points(known))

    def share(months: float) -> float:
        return resale_fraction(months, points) if curve is None else curve.at(months).base

    given = "resale_fraction" in {*dict(economics.overrides), *(entry.key for entry in economics.given)}
    if given and not share(economics.growth.newest_age(economics.horizon_months)):
        return lambda _: 1.0
    return share


def resale_points(known: Mapping[str, Assumption]) -> tuple[tuple[float, float], ...]:
    """Return the points of the assumed resale curve at base values, as (age in months, share of the price)."""
    return tuple((month, known[key].base) for month, key in _RESALE_POINTS)


def _check_names(given: Iterable[str], names: Collection[str]) -> None:
    for key in given:
        if key not in names:
            close = get_close_matches(key, sorted(names), n=1)
            raise InputError(
                f"there is no assumption {key!r}",
                help=f"did you mean {close[0]!r}?" if close else "tco/assumptions.csv lists the names",
            )


def _parameter(key: str, given: Mapping[str, float], known: Mapping[str, Assumption]) -> Parameter:
    assumption = known[key]
    if key in given:
        return _given(key, given[key], assumption.unit)
    rises_with_value = assumption.cost_rises_with == "value"
    return Parameter(
        key=key,
        value=assumption.base,
        low=assumption.low if rises_with_value else assumption.high,
        high=assumption.high if rises_with_value else assumption.low,
        unit=assumption.unit,
        basis="assumed",
        reason=assumption.reason,
        source=assumption.source,
        date=assumption.date,
    )


def _given(key: str, value: float, unit: str) -> Parameter:
    return Parameter(
        key=key,
        value=value,
        low=value,
        high=value,
        unit=unit,
        basis="given",
        reason="given by the user",
        source="blueprint",
    )


def _resale(
    age_months: float, given: Mapping[str, float], known: Mapping[str, Assumption], curve: ResaleCurve | None
) -> Parameter:
    """Return the resale value of equipment of an age at the end of the horizon, as a share of the purchase."""
    if "resale_fraction" in given:
        return _given("resale_fraction", given["resale_fraction"], "share of purchase")
    if curve is not None:
        share = curve.at(age_months)
        return Parameter(
            key="resale_fraction",
            value=share.base,
            low=share.high,
            high=share.low,
            unit="share of purchase",
            basis="given",
            reason=f"after {age_months:g} months, on the given curve",
            source="blueprint",
        )
    points = {month: _parameter(key, given, known) for month, key in _RESALE_POINTS}
    at_age = {
        end: resale_fraction(age_months, {month: getattr(point, end) for month, point in points.items()})
        for end in ("value", "low", "high")
    }
    nearest = points[min(points, key=lambda month: abs(month - age_months))]
    return Parameter(
        key="resale_fraction",
        **at_age,
        unit="share of purchase",
        basis=nearest.basis,
        reason=f"after {age_months:g} months, interpolated between the points; {nearest.reason}",
        source=nearest.source,
        date=nearest.date,
    )


def resale_fraction(months: float, fraction_by_month: Mapping[float, float]) -> float:
    """Return the resale value of equipment of an age, as a share of the purchase price (0 to 1).

    The value is interpolated linearly between the points, from 1 at the purchase, and constant after the last point.

    Args:
        months: age of the equipment, in months.
        fraction_by_month: share by age in months.

    >>> resale_fraction(36, {36: 0.3, 60: 0.1})
    0.3
    >>> resale_fraction(48, {36: 0.3, 60: 0.1})
    0.2
    """
    return line(dict(fraction_by_month), months)
