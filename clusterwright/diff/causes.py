"""Which change of a blueprint causes how much: the plan made again with one change at a time.

What the changes do together and not alone (a larger model on dearer nodes) is left over, and reported as such.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from clusterwright.errors import ClusterwrightError
from clusterwright.plan.record import Option, Plan

#: This many changes are tried alone; with more, the changes of a section are tried together.
MOST = 6
#: Keys that no number depends on.
_WORDS = ("name", "description")
_ABSENT = object()

Path = tuple[str, ...]
Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """What a change alone does to one target: the difference of each figure, None where one of both is unknown."""

    target: str
    nodes: int
    calendar_days: float
    run_usd: float | None
    horizon_usd: float | None
    npv_usd: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """One change of the blueprint, alone.

    Attributes:
        path: dotted, of the key, or of the section whose changes were tried together.
        before, after: values as text, empty for a section; None where the key is absent.
        effects: by target that both plans have; empty where `reason` says why the change cannot be alone.
    """

    path: str
    before: str | None
    after: str | None
    effects: tuple[Effect, ...]
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Causes:
    """Why two plans differ.

    Attributes:
        alone: each change on the blueprint before.
        left: of the whole difference, what no change causes alone: their interaction.
        reason: why nothing could be distinguished, else empty.
    """

    alone: tuple[Cause, ...] = ()
    left: tuple[Effect, ...] = ()
    reason: str = ""


def causes(before: tuple[Values, Plan], after: tuple[Values, Plan], replan: Callable[[dict[str, Any]], Plan]) -> Causes:
    """Return which change causes how much.

    Args:
        before: values of the blueprint to start from, and its plan.
        after: the same of what it became.
        replan: makes the plan of values; raises `ClusterwrightError` where they have none.
    """
    paths = tuple(_changed(before[0], after[0], ()))
    if len(paths) > MOST:
        paths = tuple(dict.fromkeys(path[:1] for path in paths))
    if not paths:
        return Causes(reason="the blueprints hold the same values")
    if len(paths) == 1:
        (path,) = paths
        effects = _effects(before[1], after[1])
        return Causes(alone=(_cause(path, before[0], after[0], effects),))
    alone = tuple(_tried(path, before, after[0], replan) for path in paths)
    whole = _effects(before[1], after[1])
    return Causes(alone=alone, left=tuple(_left(effect, alone) for effect in whole))


def _changed(before: Any, after: Any, path: Path) -> Iterator[Path]:  # noqa: ANN401 - YAML holds anything
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            if path or key not in _WORDS:
                yield from _changed(before.get(key, _ABSENT), after.get(key, _ABSENT), (*path, str(key)))
    elif before is _ABSENT or after is _ABSENT or before != after:
        yield path


def _tried(path: Path, before: tuple[Values, Plan], after: Values, replan: Callable[[dict[str, Any]], Plan]) -> Cause:
    values = deepcopy(dict(before[0]))
    _put(values, path, _at(after, path))
    try:
        changed = replan(values)
    except ClusterwrightError as error:
        return _cause(path, before[0], after, (), f"not without the other changes: {error.message.splitlines()[0]}")
    return _cause(path, before[0], after, _effects(before[1], changed))


def _at(values: Any, path: Path) -> Any:  # noqa: ANN401
    for part in path:
        if not isinstance(values, Mapping) or part not in values:
            return _ABSENT
        values = values[part]
    return values


def _put(values: dict[str, Any], path: Path, value: Any) -> None:  # noqa: ANN401
    node = values
    for part in path[:-1]:
        node = node[part]
    if value is _ABSENT:
        del node[path[-1]]
    else:
        node[path[-1]] = deepcopy(value)


def _cause(path: Path, before: Values, after: Values, effects: tuple[Effect, ...], reason: str = "") -> Cause:
    return Cause(
        path=".".join(path),
        before=_text(_at(before, path)),
        after=_text(_at(after, path)),
        effects=effects,
        reason=reason,
    )


def _text(value: Any) -> str | None:  # noqa: ANN401
    if value is _ABSENT:
        return None
    if isinstance(value, float):
        return f"{value:.10g}"
    return "" if isinstance(value, Mapping | list) else str(value)


def _effects(before: Plan, after: Plan) -> tuple[Effect, ...]:
    pairs = ((option, after.option(option.target)) for option in before.options)
    return tuple(_effect(mine, theirs) for mine, theirs in pairs if theirs is not None)


def _effect(before: Option, after: Option) -> Effect:
    return Effect(
        target=before.target,
        nodes=after.cluster.nodes - before.cluster.nodes,
        calendar_days=after.performance.calendar_days - before.performance.calendar_days,
        run_usd=_less(after.money.run_usd, before.money.run_usd),
        horizon_usd=_less(after.money.horizon_usd, before.money.horizon_usd),
        npv_usd=_less(after.money.npv_usd, before.money.npv_usd),
    )


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _left(whole: Effect, alone: tuple[Cause, ...]) -> Effect:
    """Return what the changes do together beyond what each does alone; a change that cannot be alone is in it."""
    mine = [effect for cause in alone for effect in cause.effects if effect.target == whole.target]
    return Effect(
        target=whole.target,
        nodes=whole.nodes - sum(effect.nodes for effect in mine),
        calendar_days=whole.calendar_days - sum(effect.calendar_days for effect in mine),
        run_usd=_rest(whole.run_usd, [effect.run_usd for effect in mine]),
        horizon_usd=_rest(whole.horizon_usd, [effect.horizon_usd for effect in mine]),
        npv_usd=_rest(whole.npv_usd, [effect.npv_usd for effect in mine]),
    )


def _rest(whole: float | None, parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return None if whole is None or len(known) < len(parts) else whole - sum(known)
