"""The record of how a printed number was found."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    """A value that an equation used: its name, value as text, and where it comes from."""

    name: str
    value: str
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """How one number was found.

    Attributes:
        number: the name users ask for; title: what it is; value: as printed.
        equation: lines, the last with the numbers filled in.
        inputs: what went in; sources: documents behind the equation.
    """

    number: str
    title: str
    value: str
    equation: tuple[str, ...]
    inputs: tuple[Input, ...]
    sources: tuple[str, ...]
