"""A number that knows its spreadsheet formula: arithmetic on it gives the formula's text and its value at once.

The text goes into the workbook, the value becomes the cached result. Division by zero and the like give no value, as
they give an error in a spreadsheet; `or_else` replaces it there as here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Value = float | str | bool | None

#: How tightly a formula holds together, tightest first.
_ATOM, _POWER, _PRODUCT, _SUM, _COMPARISON = range(5)


@dataclass(frozen=True, slots=True)
class Figure:
    """A formula without its equals sign, and its value; None where a spreadsheet would show an error."""

    text: str
    value: Value
    level: int = _ATOM

    def __add__(self, other: Operand) -> Figure:
        return _binary(self, "+", other, _SUM, lambda one, two: one + two)

    def __radd__(self, other: float) -> Figure:
        return figure(other) + self

    def __sub__(self, other: Operand) -> Figure:
        return _binary(self, "-", other, _SUM, lambda one, two: one - two)

    def __rsub__(self, other: float) -> Figure:
        return figure(other) - self

    def __mul__(self, other: Operand) -> Figure:
        return _binary(self, "*", other, _PRODUCT, lambda one, two: one * two)

    def __rmul__(self, other: float) -> Figure:
        return figure(other) * self

    def __truediv__(self, other: Operand) -> Figure:
        return _binary(self, "/", other, _PRODUCT, lambda one, two: one / two)

    def __rtruediv__(self, other: float) -> Figure:
        return figure(other) / self

    def __pow__(self, other: Operand) -> Figure:
        return _binary(self, "^", other, _POWER, lambda one, two: one**two)

    def __neg__(self) -> Figure:
        return Figure(f"-{_held(self, _ATOM)}", _with(lambda one: -one, self), _SUM)

    def at_most(self, other: Operand) -> Figure:
        """Return whether this is at most the other."""
        return _binary(self, "<=", other, _COMPARISON, lambda one, two: one <= two)

    def above(self, other: Operand) -> Figure:
        """Return whether this is more than the other."""
        return _binary(self, ">", other, _COMPARISON, lambda one, two: one > two)

    def equals(self, other: Operand) -> Figure:
        """Return whether this is exactly the other."""
        return _binary(self, "=", other, _COMPARISON, lambda one, two: one == two)

    def says(self, text: str) -> Figure:
        """Return whether this is a text."""
        return Figure(f'{self.text}="{text}"', self.value == text, _COMPARISON)

    def or_else(self, instead: str) -> Figure:
        """Return this, or a text where it is an error."""
        return Figure(f'IFERROR({self.text},"{instead}")', instead if self.value is None else self.value)

    def or_number(self, instead: float) -> Figure:
        """Return this, or a number where it is an error."""
        return Figure(f"IFERROR({self.text},{instead:g})", instead if self.value is None else self.value)


Operand = Figure | float


@dataclass(frozen=True, slots=True)
class Span:
    """Cells of one column or row, first to last."""

    text: str
    values: tuple[Value, ...]
    #: What each cell is multiplied with to give its value, empty for nothing.
    factor: str = ""


def figure(value: Operand) -> Figure:
    """Return a constant as a formula; a figure as it is."""
    if isinstance(value, Figure):
        return value
    return Figure(f"{value:.15g}", value, _ATOM if value >= 0 else _SUM)


def span(cells: Sequence[Figure]) -> Span:
    """Return the range from the first to the last of cells that were written side by side."""
    first, _, factor = cells[0].text.partition("*")
    last = cells[-1].text.partition("*")[0].rpartition("!")[2]
    return Span(f"{first}:{last}", tuple(cell.value for cell in cells), factor)


def added(terms: Sequence[Figure]) -> Figure:
    """Return the sum of single cells, 0 for none."""
    found = terms[0] if terms else figure(0.0)
    for term in terms[1:]:
        found += term
    return found


def total(cells: Span) -> Figure:
    """Return SUM of a range; texts count as nothing."""
    return times(Figure(f"SUM({cells.text})", math.fsum(numbers(cells))), cells.factor)


def times(found: Figure, factor: str) -> Figure:
    """Return what a formula gives, the named factor included in its value already; empty for none."""
    return Figure(f"{_held(found, _PRODUCT)}*{factor}", found.value, _PRODUCT) if factor else found


def total_where(cells: Span, labels: Span, label: Figure) -> Figure:
    """Return the sum of the cells beside which a label is."""
    chosen = (float(cell or 0.0) for cell, of in zip(cells.values, labels.values, strict=True) if of == label.value)
    return Figure(f"SUMIFS({cells.text},{labels.text},{label.text})", math.fsum(chosen))


def total_between(cells: Span, labels: Span, above: Figure, up_to: Figure | None = None) -> Figure:
    """Return the sum of the cells beside which a number above a limit is, and up to another one if it is given."""
    end = math.inf if up_to is None else up_to.value
    most = "" if up_to is None else f',{labels.text},"<="&{up_to.text}'

    def add(least: float) -> float:
        pairs = zip(cells.values, labels.values, strict=True)
        return math.fsum(float(usd or 0.0) for usd, label in pairs if least < float(label or 0.0) <= float(end or 0.0))

    return Figure(f'SUMIFS({cells.text},{labels.text},">"&{above.text}{most})', calculated(add, (above.value,)))


def beyond(cells: Span, limit: Figure, weights: Span) -> Figure:
    """Return the sum of how far each cell is above a limit, times its weight."""
    pairs = list(zip(numbers(cells), numbers(weights), strict=True))
    value = calculated(lambda least: math.fsum(max(0.0, one - least) * weight for one, weight in pairs), (limit.value,))
    text = f"({limit.text})"
    return Figure(f"SUMPRODUCT(({cells.text}>{text})*({cells.text}-{text})*{weights.text})", value)


def product_sum(one: Span, other: Span) -> Figure:
    """Return SUMPRODUCT of two ranges."""
    pairs = zip(numbers(one), numbers(other), strict=True)
    return Figure(f"SUMPRODUCT({one.text},{other.text})", math.fsum(a * b for a, b in pairs))


def stepped(amount: Figure, starts: Span, steps: Span) -> Figure:
    """Return the sum of steps x what an amount has above their starts: a price by tiers, or a line with bends."""
    above = f"({amount.text}>{starts.text})*({amount.text}-{starts.text})*{steps.text}"
    pairs = list(zip(numbers(starts), numbers(steps), strict=True))
    value = calculated(lambda one: math.fsum(max(0.0, one - start) * step for start, step in pairs), (amount.value,))
    return Figure(f"SUMPRODUCT({above})", value)


def largest(*parts: Span | Operand) -> Figure:
    """Return MAX of ranges and numbers."""
    return _extreme("MAX", max, parts)


def smallest(*parts: Span | Operand) -> Figure:
    """Return MIN of ranges and numbers."""
    return _extreme("MIN", min, parts)


def item(cells: Span, place: Operand) -> Figure:
    """Return INDEX: the cell at a place counted from one."""
    wanted = figure(place)
    at = wanted.value
    inside = isinstance(at, int | float) and 1 <= at <= len(cells.values)
    return Figure(f"INDEX({cells.text},{wanted.text})", cells.values[int(at) - 1] if inside else None)  # type: ignore[arg-type]


def looked_up(cells: Span, labels: Span, label: Figure) -> Figure:
    """Return INDEX and MATCH: the cell beside or below the first label that is the wanted one."""
    place = labels.values.index(label.value) if label.value in labels.values else None
    text = f"INDEX({cells.text},MATCH({label.text},{labels.text},0))"
    return Figure(text, None if place is None else cells.values[place])


def remainder(of: Figure, by: Figure) -> Figure:
    """Return MOD of numbers that are not negative."""
    value = calculated(math.fmod, (of.value, by.value))
    return Figure(f"MOD({of.text},{by.text})", value)


def when(condition: Figure, then: Operand | str, otherwise: Operand | str) -> Figure:
    """Return IF; texts stand for themselves."""
    branches = [
        Figure(f'"{branch}"', branch) if isinstance(branch, str) else figure(branch) for branch in (then, otherwise)
    ]
    chosen = None if condition.value is None else branches[0 if condition.value else 1].value
    return Figure(f"IF({condition.text},{branches[0].text},{branches[1].text})", chosen)


def both(*conditions: Figure) -> Figure:
    """Return AND."""
    values = [condition.value for condition in conditions]
    return Figure(
        f"AND({','.join(condition.text for condition in conditions)})", None if None in values else all(values)
    )


def either(*conditions: Figure) -> Figure:
    """Return OR."""
    values = [condition.value for condition in conditions]
    return Figure(
        f"OR({','.join(condition.text for condition in conditions)})", None if None in values else any(values)
    )


def is_formula(of: Figure) -> Figure:
    """Return whether a cell that was written as a formula still is one."""
    return Figure(f"_xlfn.ISFORMULA({of.text})", True)


def is_number(of: Figure) -> Figure:
    """Return whether a single cell holds a number."""
    return Figure(f"ISNUMBER({of.text.partition('*')[0]})", isinstance(of.value, int | float))


def size(of: Figure) -> Figure:
    """Return ABS."""
    return Figure(f"ABS({of.text})", _with(abs, of))


def whole(of: Figure) -> Figure:
    """Return INT: the whole number below."""
    return Figure(f"INT({of.text})", _with(lambda one: float(math.floor(one)), of))


def exponential(of: Figure) -> Figure:
    """Return EXP."""
    return Figure(f"EXP({of.text})", _with(math.exp, of))


def to_millionths(of: Figure) -> Figure:
    """Return ROUND to six digits: what is only the rounding of sums becomes nothing."""
    return Figure(f"ROUND({of.text},6)", _with(lambda one: round(one, 6) + 0.0, of))


def rounded_up(of: Figure) -> Figure:
    """Return ROUNDUP to a whole number, of a number that is not negative."""
    return Figure(f"ROUNDUP({of.text},0)", _with(lambda one: float(math.ceil(one - 1e-12)), of))


def numbers(cells: Span) -> list[float]:
    """Return the numbers of a range; texts count as nothing."""
    return [float(value) for value in cells.values if isinstance(value, int | float)]


def _extreme(name: str, choose: Callable[[list[float]], float], parts: Sequence[Span | Operand]) -> Figure:
    values: list[float] = []
    texts = []
    for part in parts:
        if isinstance(part, Span):
            values += numbers(part)
            texts.append(part.text)
        else:
            one = figure(part)
            values += [float(one.value)] if isinstance(one.value, int | float) else []
            texts.append(one.text)
    factor = next((part.factor for part in parts if isinstance(part, Span)), "")
    return times(Figure(f"{name}({','.join(texts)})", choose(values) if values else 0.0), factor)


def _binary(one: Figure, sign: str, other: Operand, level: int, calculate: Callable[[float, float], Value]) -> Figure:
    two = figure(other)
    if two.text == "1" and sign in "*/^":
        return one
    strict = sign in "-/^"
    left = _held(one, _ATOM if sign == "^" else level)
    right = _held(two, level - 1 if strict or level == _COMPARISON else level)
    return Figure(f"{left}{sign}{right}", calculated(calculate, (one.value, two.value)), level)


def _with(calculate: Callable[[float], float], one: Figure) -> Value:
    return calculated(calculate, (one.value,))


def calculated(calculate: Callable[..., Value], values: Sequence[Value]) -> Value:
    """Return what a function makes of some values; None where one is no number, or the result is none."""
    if not all(isinstance(value, int | float) for value in values):
        return None
    try:
        found = calculate(*(float(value) for value in values))  # type: ignore[arg-type]
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    if isinstance(found, complex) or (isinstance(found, float) and not math.isfinite(found)):
        return None
    return found


def _held(one: Figure, level: int) -> str:
    """Return a formula's text, in brackets where it holds together less tightly than what is around it."""
    return f"({one.text})" if one.level > level else one.text
