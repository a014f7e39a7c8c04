"""Values that resources have to have, as rows of a table: a new one is a row, not a function."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rule import PLACEMENT, UNKNOWN, Rule

#: Rules that several clouds have rows of: what each is about for people, and under which subject it is reported.
COMMON: Mapping[str, tuple[str, str]] = {
    "audit-log": ("Who did what in Kubernetes is written down.", ""),
    "compact-placement": ("Nodes stand close to each other.", PLACEMENT),
    "database-over-tls": ("Connections to the database are encrypted.", ""),
    "gpu-nodes-are-tainted": ("Only jobs with GPUs run on GPU nodes.", ""),
    "images-have-a-driver": ("Nodes boot with their accelerators' driver.", ""),
    "nodes-stay-under-jobs": ("Nothing but a failure takes a node from a job.", ""),
    "pods-have-addresses": ("The number of pods of a node is chosen.", ""),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """One value that every resource of a type has to have.

    Attributes:
        name, description, about: as those of a rule; rows of one name are one rule, which the first of them
            describes, or `COMMON` where several clouds have it.
        type: the resource's token.
        path: of the input, by dots; a list on the way stands for each of its entries.
        pattern: what the value, as text, has to match as a whole; truth values are `true` and `false`.
        absent: whether an input that is left out will do.
        some: whether one value that matches is enough; else each of them has to.
        when: paths to patterns; the row applies to resources that match them all.
        message: what is wrong, `{value}` in it the value that was found.
    """

    name: str
    type: str
    path: str
    pattern: str
    message: str
    description: str = ""
    absent: bool = False
    some: bool = False
    when: tuple[tuple[str, str], ...] = ()
    about: str = ""


def values(inputs: object, path: str) -> Iterator[object]:
    """Yield the values at a path; none where it leads nowhere."""
    head, _, rest = path.partition(".")
    if isinstance(inputs, Sequence) and not isinstance(inputs, str):
        for one in cast("Sequence[object]", inputs):
            yield from values(one, path)
        return
    if not isinstance(inputs, Mapping):
        return
    value = cast("Mapping[str, object]", inputs).get(head)
    if value is None:
        return
    if value == UNKNOWN or not rest:
        whole = isinstance(value, str) or not isinstance(value, Sequence)
        yield from (value,) if whole else cast("Sequence[object]", value)
    else:
        yield from values(value, rest)


def text_of(value: object) -> str:
    """A value as patterns see it: truth values as in JSON, whole numbers without a fraction."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def applies(row: Wanted, inputs: Mapping[str, Any]) -> bool:
    """Whether a resource is one of those that a row is about; a value that is not known yet does not make it one."""
    return all(
        any(value != UNKNOWN and re.fullmatch(pattern, text_of(value)) for value in values(inputs, path))
        for path, pattern in row.when
    )


def messages(row: Wanted, inputs: Mapping[str, Any]) -> list[str]:
    """What a row has against the inputs of a resource of its type."""
    if not applies(row, inputs):
        return []
    found = list(values(inputs, row.path))
    if not found:
        return [] if row.absent else [row.message.format(value="left out")]
    wrong = [text_of(value) for value in found if value != UNKNOWN and not re.fullmatch(row.pattern, text_of(value))]
    if row.some and len(wrong) < len(found):
        return []
    return [row.message.format(value=value) for value in dict.fromkeys(wrong)]


def rules_of(rows: Sequence[Wanted]) -> tuple[Rule, ...]:
    """The rules that rows stand for, one for each name."""
    return tuple(
        Rule(name=name, description=description, check=_checking(of_name), about=about)
        for name, of_name in _by_name(rows).items()
        for description, about in [COMMON.get(name) or (of_name[0].description, of_name[0].about)]
    )


def _by_name(rows: Sequence[Wanted]) -> dict[str, list[Wanted]]:
    found: dict[str, list[Wanted]] = {}
    for row in rows:
        found.setdefault(row.name, []).append(row)
    return found


def _checking(rows: Sequence[Wanted]) -> Callable[[str, Mapping[str, Any]], Sequence[str]]:
    def check(type_: str, inputs: Mapping[str, Any]) -> Sequence[str]:
        return [message for row in rows if row.type == type_ for message in messages(row, inputs)]

    return check
