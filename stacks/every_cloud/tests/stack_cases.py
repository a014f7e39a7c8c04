"""Small stacks for the policy pack's rules of a whole stack: what has to pass, and what each rule has to notice."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rule import Registered, StackRule


def resource(
    urn: str, kind: str, inputs: Mapping[str, Any] | None = None, *, protect: bool = False, **behind: str
) -> Registered:
    """A resource; `behind` is the input's name to the URN of the resource whose output is in it."""
    made_of = {key: (found,) for key, found in behind.items()}
    return Registered(urn=urn, type=kind, inputs=inputs or {}, behind=made_of, protect=protect)


def with_inputs(stack: Iterable[Registered], urn: str, **inputs: object) -> list[Registered]:
    """The stack with other inputs of one resource; None takes one away."""
    return [
        replace(one, inputs={key: value for key, value in {**one.inputs, **inputs}.items() if value is not None})
        if one.urn == urn
        else one
        for one in stack
    ]


def without(stack: Iterable[Registered], *urns: str) -> list[Registered]:
    """The stack without some resources."""
    return [one for one in stack if one.urn not in urns]


def said(rules: Sequence[StackRule], stack: Sequence[Registered]) -> set[tuple[str, str]]:
    """Rule and resource of everything that rules have against a stack."""
    return {(rule.name, urn) for rule in rules for urn, _ in rule.check(stack)}
