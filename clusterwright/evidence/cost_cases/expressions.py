"""Figures that a case derives from others: plain arithmetic over names, nothing else."""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from clusterwright.errors import InputError

_OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "max": max,
    "min": min,
    "round": round,
}
#: Names of figures; words that Python keeps for itself (`lambda`) may be names of options. Functions are called.
_FIGURE = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?![\w.]*\s*\()")
_MOST_NODES = 200
_MOST_POWER = 1000.0


def calculate(text: str, figures: Mapping[str, float | None]) -> float | None:
    """Return the value of an expression such as `own.total_usd / rent.total_usd - 1`.

    Numbers, names of figures, + - * / ** and parentheses, and abs, ceil, floor, max, min, round.

    Args:
        text: the expression.
        figures: by name; an expression over one that is None is None.

    Raises:
        InputError: it is no such expression, names no figure, or has no value.

    >>> calculate("(own.usd - 2) ** 2 / 4", {"own.usd": 6.0})
    4.0
    """
    names = list(dict.fromkeys(names_in(text)))
    try:
        tree = ast.parse(_FIGURE.sub(lambda match: f"_{names.index(match[0])}", text.strip()), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{text!r} is not an expression", help="for example own.total_usd / rent.total_usd") from None
    if sum(1 for _ in ast.walk(tree)) > _MOST_NODES:
        raise InputError(f"an expression of more than {_MOST_NODES} parts is too long", help="split it in two")
    try:
        value = _value(tree.body, names, figures)
    except ZeroDivisionError:
        raise InputError(f"{text!r} has no value: it divides by zero", help="check what it divides by") from None
    except (ArithmeticError, ValueError, TypeError) as error:
        raise InputError(f"{text!r} has no value: {error}", help="check what it divides by") from None
    if value is None:
        return None
    if isinstance(value, complex) or not math.isfinite(value):
        raise InputError(f"{text!r} has no finite value", help="check what it divides by")
    return float(value)


def _value(node: ast.AST, names: list[str], figures: Mapping[str, float | None]) -> Any:  # noqa: ANN401 - or None
    if isinstance(node, ast.Name):
        return known(names[int(node.id[1:])], figures)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    parts: list[ast.AST]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        call, parts = _OPERATORS[type(node.op)], [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        call, parts = _OPERATORS[type(node.op)], [node.operand]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id not in _FUNCTIONS:
            raise InputError(f"there is no function {node.func.id!r}", help=f"known: {', '.join(_FUNCTIONS)}")
        call, parts = _FUNCTIONS[node.func.id], list(node.args)
    else:
        raise InputError(
            "this is not arithmetic over figures", help=f"use numbers, names, + - * / ** and {', '.join(_FUNCTIONS)}"
        )
    values = [_value(part, names, figures) for part in parts]
    if any(value is None for value in values):
        return None
    if call is operator.pow and abs(values[1]) > _MOST_POWER:
        raise InputError(f"a power of {values[1]:g} is too large", help=f"at most {_MOST_POWER:g}")
    return call(*(float(value) for value in values)) if call is not round else round(values[0], *map(int, values[1:]))


def names_in(text: str) -> Iterator[str]:
    """Yield the names of figures that an expression reads.

    >>> list(names_in("max(a.b, lambda.x) / 2e3"))
    ['a.b', 'lambda.x']
    """
    return (match[0] for match in _FIGURE.finditer(text))


def known(name: str, figures: Mapping[str, float | None]) -> float | None:
    """Return a figure by name.

    Raises:
        InputError: there is none of that name.
    """
    if name in figures:
        return figures[name]
    raise InputError(f"there is no figure {name!r}", help=_nearest(name, figures))


def _nearest(name: str, figures: Mapping[str, float | None]) -> str:
    within = name.rpartition(".")[0]
    if within in figures:
        return "a figure is a number, null, or {value: …, absolute: …, relative: …}"
    if f"{within}.saving_usd" in figures and f"{within}.breakeven_months" not in figures:
        return "two options of different horizons have saving_usd and saving_fraction alone"
    close = get_close_matches(name, figures, n=1)
    return f"did you mean {close[0]!r}?" if close else "clusterwright validate tco CASE --all lists them"
