"""Reads configuration values and collects every problem instead of stopping at the first."""

import difflib
import re
from collections.abc import Mapping
from typing import cast


class Reader:
    """One mapping of configuration values; `path` names it in messages, `problems` is shared with its sections."""

    def __init__(self, values: Mapping[str, object], *, problems: list[str], path: str = "") -> None:
        self._values = values
        self._problems = problems
        self._path = path
        self._asked: set[str] = set()

    def problem(self, key: str, message: str) -> None:
        """Record a problem with the value of `key`."""
        self._problems.append(f"{self._path}{key}: {message}")

    def names(self) -> tuple[str, ...]:
        """Names of the values that were given."""
        return tuple(self._values)

    def has(self, key: str) -> bool:
        """Whether a value was given."""
        self._asked.add(key)
        return self._values.get(key) is not None

    def text(
        self,
        key: str,
        *,
        default: str | None = None,
        pattern: str | None = None,
        expected: str = "text",
        allow_empty: bool = False,
    ) -> str:
        """A string; empty after a problem. `pattern` has to match all of it."""
        value = self._value(key, default)
        if value is None:
            return ""
        if not isinstance(value, str) or not (value.strip() or allow_empty):
            self.problem(key, f"expected {expected}, got {value!r}")
            return ""
        if pattern is not None and re.fullmatch(pattern, value) is None:
            self.problem(key, f"expected {expected}, got {value!r}")
            return ""
        return value

    def choice(self, key: str, allowed: tuple[str, ...], *, default: str | None = None) -> str:
        """One of a few words; empty after a problem, which names the nearest one."""
        value = self.text(key, default=default)
        if value and value not in allowed:
            nearest = difflib.get_close_matches(value, allowed, n=1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            self.problem(key, f"expected one of {', '.join(allowed)}, got {value!r}{hint}")
            return ""
        return value

    def integer(self, key: str, *, default: int | None = None, minimum: int = 0, maximum: int | None = None) -> int:
        """A whole number within its limits; 0 after a problem. Digits in a string count as a number."""
        value = self._value(key, default)
        if value is None:
            return 0
        if isinstance(value, str) and re.fullmatch(r"\d+", value):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem(key, f"expected a whole number, got {value!r}")
            return 0
        if value < minimum or (maximum is not None and value > maximum):
            limits = f"at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
            self.problem(key, f"expected a whole number {limits}, got {value}")
            return 0
        return value

    def optional_text(self, key: str, *, pattern: str | None = None, expected: str = "text") -> str | None:
        """A string, or None when it is missing or empty."""
        return (
            None if not self.has(key) or self._values[key] == "" else self.text(key, pattern=pattern, expected=expected)
        )

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false, also as the words that Pulumi stores."""
        value = self._value(key, default)
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        self.problem(key, f"expected true or false, got {value!r}")
        return default

    def section(self, key: str, *, required: bool) -> "Reader | None":
        """A nested object, or None when there is none or it is not an object."""
        value = self._value(key, None) if required else (self._values.get(key) if self.has(key) else None)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.problem(key, f"expected an object, got {value!r}")
            return None
        return Reader(cast("Mapping[str, object]", value), problems=self._problems, path=f"{self._path}{key}.")

    def text_map(self, key: str) -> dict[str, str]:
        """An object of strings; empty when there is none."""
        section = self.section(key, required=False)
        if section is None:
            return {}
        return {name: section.text(name, allow_empty=True) for name in section.names()}

    def text_list(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty when there is none."""
        if not self.has(key):
            return ()
        value = self._values[key]
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in cast("list[object]", value)):
            self.problem(key, f"expected a list of strings, got {value!r}")
            return ()
        return tuple(cast("list[str]", value))

    def refuse_unknown_keys(self) -> None:
        """Record a problem for every key that nobody asked for."""
        for key in self._values:
            if key not in self._asked:
                nearest = difflib.get_close_matches(key, self._asked, n=1)
                hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
                self.problem(key, f"unknown key{hint}")

    def _value(self, key: str, default: object) -> object:
        self._asked.add(key)
        value = self._values.get(key)
        if value is None:
            value = default
        if value is None:
            self.problem(key, "is required")
        return value
