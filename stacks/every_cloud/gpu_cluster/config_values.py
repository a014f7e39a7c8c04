"""Reads configuration values and collects every problem instead of stopping at the first.

Pulumi hands top-level scalars over as text and objects as JSON, in which a value has its own type already; both forms
are accepted.
"""

import difflib
import ipaddress
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

import pulumi


class ConfigError(Exception):
    """The stack's configuration is wrong; the message lists every problem found."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        listing = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"{len(self.problems)} problem(s) in the stack's configuration:\n{listing}")


def collect(
    scalars: Collection[str], objects: Collection[str] = (), *, of_provider: Mapping[str, str] | None = None
) -> dict[str, object]:
    """Collect the raw configuration of the selected stack.

    Args:
        scalars: keys of text, whole numbers, and true or false.
        objects: keys of objects and lists.
        of_provider: further values: name to key with the provider's prefix, such as `{"region": "aws:region"}`.

    Returns:
        The values that are set, by name.
    """
    config = pulumi.Config()
    values: dict[str, object] = {key: config.get(key) for key in scalars}
    values |= {key: _object(config, key) for key in objects}
    for name, full_key in (of_provider or {}).items():
        provider, _, key = full_key.partition(":")
        values[name] = pulumi.Config(provider).get(key)
    return {key: value for key, value in values.items() if value is not None}


def _object(config: pulumi.Config, key: str) -> object:
    """Return an object or list; text that is neither stays as it is, and whoever reads it says what is needed."""
    try:
        return cast("object", config.get_object(key))
    except pulumi.ConfigTypeError:
        return config.get(key)


@dataclass(frozen=True, kw_only=True, slots=True)
class Values:
    """One mapping of configuration values.

    Each reader returns a value of the right type even when the input is wrong, so that reading can go on; whoever made
    the outermost mapping raises ConfigError at the end if `problems` is not empty.

    Attributes:
        values: by key.
        problems: what is wrong, shared with all sections.
        path: of the section, for messages; empty or ending in a dot.
        asked: keys that were read, so that the others can be refused.
    """

    values: Mapping[str, object]
    problems: list[str] = field(default_factory=list[str])
    path: str = ""
    asked: set[str] = field(default_factory=set[str])

    def fail(self, key: str, message: str) -> None:
        """Note a problem of one key."""
        self.problems.append(f"{self.path}{key}: {message}")

    def has(self, key: str) -> bool:
        """Tell whether a value is set; null and the empty string are not."""
        return self._value(key) not in (None, "")

    def text(self, key: str, pattern: str = r".*\S.*", meaning: str = "text", default: str | None = None) -> str:
        """Read a string that has to match a pattern as a whole; `meaning` says in words what is expected."""
        value = self._value(key)
        if value is None and default is not None:
            return default
        # Pulumi turns text that looks like a number into one inside objects.
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or re.fullmatch(pattern, value) is None:
            self._refuse(key, f"needs {meaning}", value)
            return default or ""
        return value

    def optional_text(self, key: str, pattern: str = r".*\S.*", meaning: str = "text") -> str | None:
        """Read a string that may be absent or empty (both give None)."""
        return self.text(key, pattern, meaning) if self.has(key) else None

    def choice(self, key: str, among: Collection[str], default: str | None = None) -> str:
        """Read one of a fixed set of words; the first one after a problem."""
        value = self._value(key)
        value = default if value is None else value
        if not isinstance(value, str) or value not in among:
            self._refuse(key, f"needs one of {', '.join(among)}", value, _nearest(value, among))
            return next(iter(among))
        return value

    def whole(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """Read a whole number between `least` and `most`, both included; `least` after a problem."""
        value = self._value(key)
        value = default if value is None else value
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        # bool is a subclass of int in Python; `true` is not a count.
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self._refuse(key, f"needs a whole number from {least:,} to {most:,}", value)
            return least
        return value

    def optional_whole(self, key: str, least: int, most: int) -> int | None:
        """Read a whole number that may be absent."""
        return self.whole(key, least, most) if self.has(key) else None

    def amount(self, key: str, default: float | None = None) -> float:
        """Read a number above zero; 1 after a problem."""
        value = self._value(key)
        value = default if value is None else value
        if isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            self._refuse(key, "needs a number above 0", value)
            return 1.0
        return float(value)

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        """Read true or false; false after a problem."""
        value = self._value(key)
        value = default if value is None else value
        if isinstance(value, str) and value in ("true", "false"):
            return value == "true"
        if not isinstance(value, bool):
            self._refuse(key, "needs true or false", value)
            return False
        return value

    def private_network(self, key: str, shortest: int, longest: int, default: str) -> ipaddress.IPv4Network:
        """Read a private IPv4 range whose prefix length is within bounds; the default after a problem."""
        value = self._value(key)
        value = default if value is None else value
        try:
            network = ipaddress.IPv4Network(value if isinstance(value, str) else "")
        except ValueError:
            network = None
        if network is None or not network.is_private or not shortest <= network.prefixlen <= longest:
            self._refuse(key, f"needs a private IPv4 range from /{shortest} to /{longest}", value)
            return ipaddress.IPv4Network(default)
        return network

    def section(self, key: str) -> "Values":
        """Read a nested object; when it is missing, that is the one problem, and not every field in it."""
        return self._section(key, self._value(key))

    def optional_section(self, key: str) -> "Values | None":
        """Read a nested object that may be absent or null."""
        value = self._value(key)
        return None if value is None else self._section(key, value)

    def texts(self, key: str, pattern: str = r".*\S.*", meaning: str = "text") -> tuple[str, ...]:
        """Read a list of strings, each of which has to match a pattern; empty when there is none."""
        value = self._value(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self._refuse(key, "needs a list", value)
            return ()
        entries = {str(place): entry for place, entry in enumerate(cast("list[object]", value))}
        nested = Values(values=entries, problems=self.problems, path=f"{self.path}{key}.")
        return tuple(nested.text(place, pattern, meaning) for place in entries)

    def text_map(self, key: str, *, keys: str = r".+", values: str = r".*", meaning: str = "text") -> dict[str, str]:
        """Read an object of strings whose keys and values have to match patterns; empty when there is none."""
        section = self.optional_section(key)
        if section is None:
            return {}
        found: dict[str, str] = {}
        for name in section.values:
            if re.fullmatch(keys, name) is None:
                section.fail(name, f"needs {meaning} as key")
            found[name] = section.text(name, values, meaning)
        return found

    def refuse_unknown(self, known: Collection[str] = ()) -> None:
        """Note keys that nothing has read and that are not `known`: a misspelt key must not be ignored silently."""
        expected = {*self.asked, *known}
        for key in self.values:
            if key not in expected:
                self.fail(key, f"unknown key{_nearest(key, expected)}; known are {', '.join(sorted(expected))}")

    def _value(self, key: str) -> object:
        self.asked.add(key)
        return self.values.get(key)

    def _section(self, key: str, value: object) -> "Values":
        if isinstance(value, Mapping):
            nested = cast("Mapping[str, object]", value)
            return Values(values=nested, problems=self.problems, path=f"{self.path}{key}.")
        self._refuse(key, "needs an object", value)
        return Values(values={})

    def _refuse(self, key: str, wanted: str, value: object, hint: str = "") -> None:
        shown = "nothing" if value is None else json.dumps(value, default=str)
        self.fail(key, f"{wanted}, got {shown}{hint}")


def _nearest(value: object, among: Iterable[str]) -> str:
    found = difflib.get_close_matches(str(value), list(among), n=1) if value is not None else []
    return f"; did you mean {found[0]!r}?" if found else ""
