"""Formulas with a name, an equation and a source: the function that sizes is the function that explains.

A marked function is called as any other. Recording it keeps equation, inputs and result of one call, so that an
explanation prints what was calculated instead of calculating it a second time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Term:
    """One argument of a formula in words.

    Attributes:
        words: its name in the equation.
        digits: format of its value, in Python's notation.
        unit: behind the value where it is listed.
        scale: by which the value is multiplied before it is written, such as 1e3 for milliseconds.
    """

    words: str
    digits: str = ",.6g"
    unit: str = ""
    scale: float = 1.0

    def number(self, value: float) -> str:
        """Return a value as the equation holds it."""
        return format(value * self.scale, self.digits)

    def text(self, value: float) -> str:
        """Return a value with its unit."""
        return f"{self.number(value)} {self.unit}".rstrip()


def _in_words(equation: str, terms: Mapping[str, Term]) -> str:
    return equation.format_map({name: term.words for name, term in terms.items()})


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call of a formula.

    Attributes:
        name, equation, source: of the formula.
        terms: of its inputs; inputs: values by argument; result: what the function returned.
    """

    name: str
    equation: str
    source: str
    terms: Mapping[str, Term]
    inputs: Mapping[str, float]
    result: float

    @property
    def rule(self) -> str:
        """The equation in words."""
        return _in_words(self.equation, self.terms)

    @property
    def filled(self) -> str:
        """The left side of the equation with the values of this call."""
        return self.equation.format_map({name: self.number(name) for name in self.terms})

    def number(self, argument: str) -> str:
        """Return the value of an argument as the equation holds it."""
        return self.terms[argument].number(self.inputs[argument])

    def text(self, argument: str) -> str:
        """Return the value of an argument with its unit."""
        return self.terms[argument].text(self.inputs[argument])


class Formula(Generic[P, R]):
    """A function with its equation.

    Attributes:
        name: of the function.
        equation: over its arguments in braces, with ×, /, +, -, ^, √(), exp() and max().
        source: document behind it.
        terms: of its arguments.
        function: itself, of numbers or columns.
    """

    def __init__(self, function: Callable[P, R], *, equation: str, source: str, terms: Mapping[str, Term]) -> None:
        """Mark a function; see `formula`."""
        self.name = function.__name__
        self.equation = equation
        self.source = source
        self.terms = terms
        self.function = function
        self.__doc__ = function.__doc__

    @property
    def rule(self) -> str:
        """The equation in words."""
        return _in_words(self.equation, self.terms)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what the function returns."""
        return self.function(*args, **kwargs)

    def record(self, *args: P.args, **kwargs: P.kwargs) -> Recorded:
        """Return a call of the function with keyword arguments that are numbers, and its result."""
        result: Any = self.function(*args, **kwargs)
        inputs = {name: float(np.asarray(kwargs[name])) for name in self.terms}
        return Recorded(
            name=self.name,
            equation=self.equation,
            source=self.source,
            terms=self.terms,
            inputs=inputs,
            result=float(np.asarray(result)),
        )


def formula(equation: str, *, source: str, **terms: Term) -> Callable[[Callable[P, R]], Formula[P, R]]:
    """Mark a function of keyword arguments as a formula.

    Args:
        equation: its arguments in braces.
        source: document behind it.
        terms: words of each argument; none may be left out.

    Raises:
        ValueError: equation and terms do not name the same arguments.

    >>> @formula("{distance} / {time}", source="definition", distance=Term("metres"), time=Term("seconds"))
    ... def speed(*, distance: float, time: float) -> float:
    ...     return distance / time
    >>> recorded = speed.record(distance=9.0, time=3.0)
    >>> recorded.rule, recorded.filled, recorded.result
    ('metres / seconds', '9 / 3', 3.0)
    """

    def mark(function: Callable[P, R]) -> Formula[P, R]:
        return Formula(function, equation=equation, source=source, terms=terms)

    equation.format_map(dict.fromkeys(terms, ""))
    unused = [name for name in terms if f"{{{name}}}" not in equation]
    if unused:
        raise ValueError(f"the equation {equation!r} is without {', '.join(unused)}")
    return mark
