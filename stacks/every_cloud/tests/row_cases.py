"""Which rows of the policy pack's tables no case breaks, and which no case is right for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wanted import Wanted, applies, messages, values

Cases = Sequence[tuple[str, Mapping[str, Any]]]


def never_broken(rows: Iterable[Wanted], cases: Cases) -> list[str]:
    """Rows that have nothing against any case; a case is a resource's type and its inputs."""
    return [_shown(row) for row in rows if not any(row.type == kind and messages(row, one) for kind, one in cases)]


def never_met(rows: Iterable[Wanted], cases: Cases) -> list[str]:
    """Rows that no case has a right value for."""
    return [_shown(row) for row in rows if not any(kind == row.type and _is_met(row, one) for kind, one in cases)]


def _is_met(row: Wanted, inputs: Mapping[str, Any]) -> bool:
    return applies(row, inputs) and bool(list(values(inputs, row.path))) and not messages(row, inputs)


def _shown(row: Wanted) -> str:
    return f"{row.name}: {row.path} of {row.type} is {row.pattern}"
