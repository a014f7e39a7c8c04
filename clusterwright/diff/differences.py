"""What changed between two plans, in nodes, days, dollars and breakeven, and which inputs and lines it came from."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from clusterwright.plan.record import Option, Plan
from clusterwright.pricing.quoted import QuotedPrice

#: Figures of an option that are compared, as (record, field, unit): those before what its kind adds, and after.
_SIZE = (
    ("cluster", "instance", ""),
    ("money", "term", ""),
    ("cluster", "nodes", ""),
    ("cluster", "gpus", ""),
    ("performance", "calendar_days", "days"),
)
_COST = (
    ("performance", "goodput", "share"),
    ("money", "busy_fraction", "share"),
    ("money", "run_usd", "USD"),
    ("money", "run_share_usd", "USD"),
    ("money", "capex_usd", "USD"),
    ("money", "horizon_usd", "USD"),
    ("money", "npv_usd", "USD"),
    ("money", "usd_per_gpu_hour", "USD"),
    ("money", "priced_share", "share"),
)
_INPUTS = ("workload", "goals", "finance")
#: Of what money is counted with, what is compared in other groups.
_ELSEWHERE = ("as_of", "given", "quotes")
#: What a provider charges beside the bill, and what mixes are made of.
_BESIDE = ("charges", "support", "surcharges")
_OF_MIXES = ("nodes", "deposit", "delivery_months", "most_work", "utilisation", "financing")
_VERSIONS = ("clusterwright", "catalogue", "as_of", "recommended_key", "recommended_horizon_key")
#: Differences below this share of the value are the rounding of floats.
_SAME = 1e-9

Value = float | int | str | bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One value that changed: its name, its unit (`USD`, `days`, `months`, `share` or empty), before and after.

    None is unknown or absent.
    """

    name: str
    unit: str
    before: Value
    after: Value

    @property
    def delta(self) -> float | None:
        """After less before, None where one of them is no number."""
        numbers = [value for value in (self.before, self.after) if _is_number(value)]
        return float(self.after) - float(self.before) if len(numbers) == 2 else None  # type: ignore[arg-type]  # noqa: PLR2004


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetChange:
    """What changed on one target.

    Attributes:
        target: its name; presence: `both`, `added` or `removed`.
        figures: that changed; categories: of the horizon's dollars, largest difference first; lines: of the bill, as
            quantity and unit price.
    """

    target: str
    presence: str
    figures: tuple[Change, ...]
    categories: tuple[Change, ...]
    lines: tuple[Change, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Differences:
    """What changed between two plans.

    Attributes:
        before, after: names of the two.
        inputs: of the blueprint, the catalogue and the day that changed: why the rest did.
        work: runs of the horizon, which every figure of the horizon is of, where they changed.
        assumptions: economic parameters that changed.
        targets: with anything that changed.
        breakevens: months and utilisation of each pair that changed.
    """

    before: str
    after: str
    inputs: tuple[Change, ...]
    work: tuple[Change, ...]
    assumptions: tuple[Change, ...]
    targets: tuple[TargetChange, ...]
    breakevens: tuple[Change, ...]

    @property
    def same(self) -> bool:
        """Whether nothing changed."""
        return not (self.inputs or self.work or self.assumptions or self.targets or self.breakevens)


def differences(before: Plan, after: Plan, names: tuple[str, str]) -> Differences:
    """Return what changed from one plan to another.

    Args:
        before: the plan to start from.
        after: the plan it became.
        names: of the two, for people.
    """
    mine = {option.target: option for option in before.options}
    theirs = {option.target: option for option in after.options}
    found = (_target(name, mine.get(name), theirs.get(name)) for name in dict.fromkeys((*mine, *theirs)))
    return Differences(
        before=names[0],
        after=names[1],
        inputs=tuple(_changes(_inputs(before), _inputs(after))),
        work=tuple(_changes(_work(before), _work(after), "runs")),
        assumptions=tuple(
            _changes(
                {parameter.key: parameter.value for parameter in before.parameters},
                {parameter.key: parameter.value for parameter in after.parameters},
            )
        ),
        targets=tuple(entry for entry in found if entry is not None),
        breakevens=tuple(_breakevens(before, after)),
    )


def _inputs(plan: Plan) -> dict[str, Value]:
    found: dict[str, Value] = {name: getattr(plan, name) for name in _VERSIONS}
    for name in _INPUTS:
        found |= dict(_flat(asdict(getattr(plan, name)), name))
    # Values that are given are among the assumptions; quotes are known by their part.
    economics = {name: value for name, value in asdict(plan.economics).items() if name not in _ELSEWHERE}
    found |= dict(_flat(economics, "economics"))
    for option in plan.options:
        found |= dict(_flat({name: _record(getattr(option.money, name)) for name in _BESIDE}, option.target))
    for way in plan.alternatives:
        if way.candidate is not None and way.candidate.contract is not None:
            found |= dict(_flat({"contract": asdict(way.candidate.contract), "rates": way.candidate.rates}, way.key))
        if way.mix is not None:
            found |= dict(_flat({name: _record(getattr(way.mix, name)) for name in _OF_MIXES}, way.key))
    return found | {_quote_key(quote): quote.usd for quote in plan.quotes}


def _record(value: Any) -> Any:  # noqa: ANN401 - a record, several, or one value
    if isinstance(value, tuple):
        return [_record(entry) for entry in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _quote_key(quote: QuotedPrice) -> str:
    return f"quote.{quote.sku}" + ("" if quote.length_m is None else f".{quote.length_m:g} m")


def _work(plan: Plan) -> dict[str, Value]:
    return {"runs_in_horizon": plan.options[0].money.runs_in_horizon}


def _flat(value: Any, path: str) -> Iterator[tuple[str, Value]]:  # noqa: ANN401 - nested records
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from _flat(child, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for number, child in enumerate(value):
            yield from _flat(child, f"{path}.{number}")
    else:
        yield path, value if value is None or isinstance(value, float | int | str | bool) else str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(before: Value, after: Value) -> bool:
    if _is_number(before) and _is_number(after):
        return abs(float(after) - float(before)) <= _SAME * max(abs(float(before)), abs(float(after)))  # type: ignore[arg-type]
    return before == after


def _changes(before: Mapping[str, Value], after: Mapping[str, Value], unit: str = "") -> Iterator[Change]:
    for name in dict.fromkeys((*before, *after)):
        if not _equal(before.get(name), after.get(name)):
            yield Change(name=name, unit=unit, before=before.get(name), after=after.get(name))


def _target(name: str, before: Option | None, after: Option | None) -> TargetChange | None:
    mine, theirs = ({name: (unit, value) for name, unit, value in _figures(option)} for option in (before, after))
    units = {name: unit for name, (unit, _) in (mine | theirs).items()}
    figures = tuple(
        Change(name=change.name, unit=units[change.name], before=change.before, after=change.after)
        for change in _changes(_values(mine), _values(theirs))
    )
    categories = sorted(
        _changes(_categories(before), _categories(after), "USD"),
        key=lambda change: -abs((change.after or 0.0) - (change.before or 0.0)),  # type: ignore[operator]
    )
    lines = (
        *_changes(_quantities(before), _quantities(after)),
        *_changes(*_common(_prices(before), _prices(after)), "USD"),
    )
    presence = "added" if before is None else "removed" if after is None else "both"
    if presence == "both" and not (figures or categories or lines):
        return None
    return TargetChange(
        target=name,
        presence=presence,
        figures=figures,
        categories=tuple(categories),
        lines=lines if presence == "both" else (),
    )


def _figures(option: Option | None) -> Iterator[tuple[str, str, Value]]:
    """Yield the name, unit and value of what options are compared by."""
    if option is None:
        return
    yield from ((name, unit, getattr(getattr(option, record), name)) for record, name, unit in _SIZE)
    yield from ((figure.name, figure.unit, figure.value) for figure in option.own_figures)
    yield from ((name, unit, getattr(getattr(option, record), name)) for record, name, unit in _COST)


def _values(figures: Mapping[str, tuple[str, Value]]) -> dict[str, Value]:
    return {name: value for name, (_, value) in figures.items()}


def _categories(option: Option | None) -> dict[str, Value]:
    return {} if option is None else {entry.category: entry.usd for entry in option.money.horizon_breakdown}


def _quantities(option: Option | None) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for priced in option.money.lines if option is not None else ():
        name = f"quantity of {priced.line.sku}"
        found[name] = float(found.get(name) or 0.0) + priced.line.quantity
    return found


def _prices(option: Option | None) -> dict[str, Value]:
    """Return the unit prices of a bill by part."""
    return {} if option is None else {f"price of {priced.line.sku}": priced.unit_usd for priced in option.money.lines}


def _common(before: dict[str, Value], after: dict[str, Value]) -> tuple[dict[str, Value], dict[str, Value]]:
    """Return the parts of two mappings that both have."""
    return (
        {name: value for name, value in before.items() if name in after},
        {name: value for name, value in after.items() if name in before},
    )


def _breakevens(before: Plan, after: Plan) -> Iterator[Change]:
    for field, unit in (("months", "months"), ("utilisation", "share")):
        values = [
            {f"{pair.owned_key} against {pair.rented_key}, {field}": getattr(pair, field) for pair in plan.breakevens}
            for plan in (before, after)
        ]
        yield from _changes(values[0], values[1], unit)
