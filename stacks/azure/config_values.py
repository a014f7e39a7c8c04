"""Read untyped configuration values; collect every mistake instead of stopping at the first.

Pulumi hands a program strings for scalars and JSON for objects; a nested value may have its own type already, so both
forms are accepted everywhere.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import cast

_MISSING = "is missing"


def decoded(value: object) -> object:
    """Return the value that a JSON text stands for, or the value itself when it is not JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """One level of the configuration with the path that leads to it; `errors` is shared by all levels."""

    values: Mapping[str, object]
    path: str = ""
    errors: list[str] = field(default_factory=list)

    def _key(self, key: str) -> str:
        return f"{self.path}{key}"

    def refuse(self, key: str, reason: str) -> None:
        """Note that the value of `key` cannot be used, and why."""
        self.errors.append(f"{self._key(key)}: {reason}")

    def has(self, key: str) -> bool:
        """Tell whether the key is set to something that is not null."""
        return self.values.get(key) is not None

    def only(self, known: Collection[str]) -> None:
        """Refuse keys that nothing reads: a misspelt key must not be dropped in silence."""
        for key in self.values:
            if key not in known:
                self.refuse(key, f"is not a known key; known are {', '.join(sorted(known))}")

    def text(self, key: str, *, pattern: str, meaning: str, default: str | None = None) -> str:
        """Return a string that matches the whole pattern; `meaning` says in words what is expected."""
        value = self.values.get(key, default)
        if value is None:
            self.refuse(key, f"{_MISSING}; it must be {meaning}")
            return ""
        if isinstance(value, bool | float | Mapping | list) or not re.fullmatch(pattern, str(value)):
            self.refuse(key, f"must be {meaning}, not {value!r}")
            return ""
        return str(value)

    def choice(self, key: str, *, among: Collection[str], default: str | None = None) -> str:
        """Return one of the allowed strings."""
        value = self.values.get(key, default)
        if value is None or str(value) not in among:
            found = _MISSING if value is None else f"{value!r} is not possible"
            self.refuse(key, f"{found}; choose one of {', '.join(among)}")
            return ""
        return str(value)

    def integer(self, key: str, *, least: int, most: int, default: int | None = None) -> int:
        """Return a whole number between `least` and `most`, both included."""
        value = decoded(self.values.get(key, default))
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is None:
            self.refuse(key, f"{_MISSING}; it must be a whole number from {least} to {most}")
            return least
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.refuse(key, f"must be a whole number from {least} to {most}, not {value!r}")
            return least if default is None else default
        return value

    def amount(self, key: str) -> float:
        """Return a number above zero."""
        value = decoded(self.values.get(key))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            self.refuse(key, f"must be a number above 0, not {value!r}")
            return 0.0
        return float(value)

    def flag(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        value = decoded(self.values.get(key, default))
        if not isinstance(value, bool):
            self.refuse(key, f"must be true or false, not {value!r}")
            return default
        return value

    def section(self, key: str, *, required: bool = True) -> "Fields":
        """Return the object under `key` as a level of its own; an empty level when it cannot be read."""
        value = decoded(self.values.get(key))
        if value is None and not required:
            return Fields(values={}, path=f"{self._key(key)}.", errors=self.errors)
        if not isinstance(value, Mapping):
            self.refuse(
                key, f"{_MISSING}; it must be an object" if value is None else f"must be an object, not {value!r}"
            )
            value = {}
        entries = cast("Mapping[object, object]", value)
        return Fields(
            values={str(name): item for name, item in entries.items()}, path=f"{self._key(key)}.", errors=self.errors
        )
