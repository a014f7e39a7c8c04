"""Evaluates the part of the workflow language that the watchdogs' conditions use, from Microsoft's description of it."""

import operator
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = "2026-11-21T12:00:00Z"


class Expression:
    """The functions that a condition may call, with the answers of the steps before it."""

    def __init__(self, answers: dict[str, Any], idle_minutes: int) -> None:
        self._functions: dict[str, Callable[..., Any]] = {
            "body": answers.__getitem__,
            "parameters": {"idleMinutes": idle_minutes}.__getitem__,
            "utcNow": _now,
            "coalesce": _first_known,
            "mul": operator.mul,
            "sub": operator.sub,
            "div": operator.floordiv,
        }

    def value(self, text: Any) -> Any:
        """Return what an expression with an @ stands for; anything else stands for itself."""
        if not isinstance(text, str) or not text.startswith("@"):
            return text
        tokens = re.findall(r"'[^']*'|[A-Za-z]+(?=\()|-?\d+|\?\[|[\](),]", text[1:])
        found, rest = self._read(tokens)
        assert rest == []
        return found

    def _read(self, tokens: list[str]) -> tuple[Any, list[str]]:
        head, *rest = tokens
        found: Any
        if head.startswith("'"):
            found = head[1:-1]
        elif re.fullmatch(r"-?\d+", head):
            found = int(head)
        else:
            arguments: list[Any] = []
            rest = rest[1:]
            while rest[0] != ")":
                argument, rest = self._read(rest)
                arguments.append(argument)
                rest = rest[1:] if rest[0] == "," else rest
            found, rest = self._functions[head](*arguments), rest[1:]
        while rest and rest[0] == "?[":
            key, rest = self._read(rest[1:])
            found, rest = _part(found, key), rest[1:]
        return found, rest

    def holds(self, condition: dict[str, Any]) -> bool:
        """Tell whether a condition of the workflow holds."""
        ((name, arguments),) = condition.items()
        if name == "and":
            return all(self.holds(one) for one in arguments)
        if name == "or":
            return any(self.holds(one) for one in arguments)
        one, other = (self.value(argument) for argument in arguments)
        compared: dict[str, bool] = {
            "less": one < other,
            "lessOrEquals": one <= other,
            "greater": one > other,
            "greaterOrEquals": one >= other,
        }
        return compared[name]


def _now(_format: str) -> str:
    return NOW


def _first_known(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _part(value: Any, key: Any) -> Any:
    """Return a part of a value, or None where there is none, as `?[...]` does."""
    if isinstance(value, dict):
        return value.get(key)
    return value[key] if isinstance(value, list) and key < len(value) else None
