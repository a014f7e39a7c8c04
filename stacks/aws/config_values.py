"""Reads single configuration values and collects every problem instead of stopping at the first."""

import ipaddress
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast


class ConfigError(Exception):
    """The stack configuration is wrong; the message lists every problem found."""

    def __init__(self, problems: Collection[str]) -> None:
        self.problems = tuple(problems)
        listing = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"{len(self.problems)} problem(s) in the stack configuration:\n{listing}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Values:
    """One mapping of configuration values.

    Each reader returns a value of the right type even when the input is wrong, so that reading can go on; the caller
    raises ConfigError at the end if `problems` is not empty.
    """

    values: Mapping[str, object]
    problems: list[str]
    path: str = ""

    def fail(self, key: str, message: str) -> None:
        """Note a problem of one key."""
        self.problems.append(f"{self.path}{key}: {message}")

    def text(self, key: str, pattern: str, meaning: str, default: str | None = None) -> str:
        """Read a string that has to match a pattern as a whole."""
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or re.fullmatch(pattern, value) is None:
            self.fail(key, f"needs {meaning}, got {_shown(value)}")
            return default or ""
        return value

    def optional_text(self, key: str, pattern: str, meaning: str) -> str | None:
        """Read a string that may be absent or empty (both give None)."""
        return None if self.values.get(key) in (None, "") else self.text(key, pattern, meaning)

    def choice(self, key: str, choices: Collection[str], default: str | None = None) -> str:
        """Read one of a fixed set of words."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or value not in choices:
            self.fail(key, f"needs one of {', '.join(choices)}, got {_shown(value)}")
            return next(iter(choices))
        return value

    def whole(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """Read a whole number within bounds; Pulumi hands top-level numbers over as text."""
        value = self.values.get(key, default)
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
            value = int(value)
        # bool is a subclass of int in Python; `true` is not a count.
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(key, f"needs a whole number from {low:,} to {high:,}, got {_shown(value)}")
            return low
        return value

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        """Read true or false."""
        value = self.values.get(key, default)
        if isinstance(value, str) and value in ("true", "false"):
            return value == "true"
        if not isinstance(value, bool):
            self.fail(key, f"needs true or false, got {_shown(value)}")
            return False
        return value

    def private_network(self, key: str, shortest: int, longest: int, default: str) -> ipaddress.IPv4Network:
        """Read a private IPv4 range whose prefix length is within bounds."""
        value = self.values.get(key, default)
        try:
            network = ipaddress.IPv4Network(value if isinstance(value, str) else "")
        except ValueError:
            network = None
        if network is None or not network.is_private or not shortest <= network.prefixlen <= longest:
            self.fail(key, f"needs a private IPv4 range from /{shortest} to /{longest}, got {_shown(value)}")
            return ipaddress.IPv4Network(default)
        return network

    def section(self, key: str) -> "Values":
        """Read a nested object; when it is missing, that is the one problem, and not every field in it."""
        value = self.values.get(key)
        if isinstance(value, Mapping):
            nested = cast("Mapping[str, object]", value)
            return Values(values=nested, problems=self.problems, path=f"{self.path}{key}.")
        self.fail(key, f"needs an object, got {_shown(value)}")
        return Values(values={}, problems=[])

    def refuse_unknown(self, known: Collection[str]) -> None:
        """Note keys that nothing reads: a misspelt key must not be ignored silently."""
        for key in self.values:
            if key not in known:
                self.fail(key, f"unknown key; known are {', '.join(known)}")


def _shown(value: object) -> str:
    return "nothing" if value is None else json.dumps(value, default=str)
