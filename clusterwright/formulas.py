"""Formulas with a name, an equation and a source: the function that sizes is the function that explains.

A function marked as a formula is called like any other. Recording it keeps the equation, the inputs and the result of
one call, so that an explanation prints what was calculated instead of calculating it a second time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Term:
    """Description of one argument of a formula.

    Attributes:
        words: name of the argument in the equation.
        digits: Python format specification of its value.
        unit: unit written after the value in a list of inputs.
        scale: factor applied to the value before it is written, such as 1e3 for milliseconds.
    """

    words: str
    digits: str = ",.6g"
    unit: str = ""
    scale: float = 1.0

    def number(self, value: float) -> str:
        """Return a value as the equation shows it."""
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
        name, equation, source: those of the formula.
        terms: descriptions of the arguments, by argument.
        inputs: values of the arguments, by argument.
        result: value that the function returned.
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
        """Return the value of an argument as the equation shows it."""
        return self.terms[argument].number(self.inputs[argument])

    def text(self, argument: str) -> str:
        """Return the value of an argument with its unit."""
        return self.terms[argument].text(self.inputs[argument])


class Formula(Generic[P, R]):
    """A function with its equation.

    Attributes:
        name: name of the function.
        equation: text with the arguments in braces, and with ×, /, +, -, ^, √(), ⌈⌉, ⌊⌋, exp() and max().
        source: document that the equation comes from.
        terms: descriptions of the arguments, by argument.
        function: the marked function, of numbers or columns.
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
        """Call the function and return its result."""
        return self.function(*args, **kwargs)

    def record(self, *args: P.args, **kwargs: P.kwargs) -> Recorded:
        """Call the function with keyword arguments that are numbers; return the call with its result."""
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
        equation: text with the arguments in braces.
        source: document that the equation comes from.
        terms: description of every argument.

    Raises:
        ValueError: the equation does not use an argument that `terms` describes.
        KeyError: the equation uses an argument that `terms` does not describe.

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
