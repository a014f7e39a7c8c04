"""The untrusted `config.json` of a model: read within limits, its values taken one by one, faults collected."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from clusterwright.errors import InputError
from clusterwright.input_files import read_bytes

#: Published files take 0.5 to 30 kB.
MAX_BYTES = 1_000_000
#: No dimension of a transformer is larger; beyond it a count would only be a slip or an attack.
MAX_COUNT = 2**30
_SHOWN_CHARACTERS = 60


@dataclass(kw_only=True, slots=True)
class ConfigValues:
    """The values of one file, and what was wrong with those that were asked for.

    Attributes:
        name: of the file, as the user gave it.
        values: the JSON object; an entry that is null counts as absent, as it does in Transformers.
        faults: collected by the getters, so that all are shown at once.
    """

    name: str
    values: dict[str, Any]
    faults: list[str] = field(default_factory=list)

    def found(self, keys: str) -> tuple[str, Any]:
        """Return the first of several keys (`n_layer|num_hidden_layers`) that has a value, and the value or None."""
        names = keys.split("|")
        for name in names:
            if self.values.get(name) is not None:
                return name, self.values[name]
        return names[0], None

    def count(self, keys: str, *, default: int | None = None, least: int = 1) -> int:
        """Return a whole number; where it is absent the default, or a fault if there is none.

        Args:
            keys: one or several keys, the first with a value counts.
            default: what an absent key means.
            least: the smallest value that makes sense.

        Returns:
            The number; `least` stands in for one that is missing or wrong, and a fault says so.
        """
        key, value = self.found(keys)
        if value is None:
            if default is None:
                self.faults.append(f"{' or '.join(keys.split('|'))} is missing")
            return max(least, 1) if default is None else default
        # JSON tells true from 1; Python's bool is an int.
        if isinstance(value, bool) or not isinstance(value, int):
            self.faults.append(f"{key} is {shown(value)}, not a whole number")
        elif not least <= value <= MAX_COUNT:
            self.faults.append(f"{key} is {shown(value)}, but must be {least} or more and at most 2^30")
        else:
            return value
        return max(least, 1)

    def flag(self, key: str, *, default: bool) -> bool:
        """Return true or false; the default where the key is absent, a fault where it is neither."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.faults.append(f"{key} is {shown(value)}, neither true nor false")
            return default
        return value

    def items(self, key: str) -> list[Any] | None:
        """Return a list, None where the key is absent, and a fault where it is something else."""
        value = self.values.get(key)
        if value is None or isinstance(value, list):
            return value
        self.faults.append(f"{key} is {shown(value)}, not a list")
        return None

    def refuse(self, message: str) -> None:
        """Note what the file says and the model record cannot."""
        self.faults.append(message)

    def raise_faults(self) -> None:
        """Raise everything that was wrong so far.

        Raises:
            InputError: names the file and each key.
        """
        if self.faults:
            unique = list(dict.fromkeys(self.faults))
            raise InputError(f"{self.name}: {'; '.join(unique)}", help="correct the file, or name a catalogue's model")


def shown(value: Any) -> str:  # noqa: ANN401 - JSON
    """Return a value as it is in the file, cut where it is long."""
    if isinstance(value, int) and abs(value) > MAX_COUNT:
        return "a number beyond 2^30"
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def read(path: Path) -> ConfigValues:
    """Read a `config.json`.

    Raises:
        InputError: it is not a regular file, too large, not UTF-8, not JSON, or not one JSON object; keys that are
            twice and NaN are not JSON here.
    """
    name = str(path)
    advice = "name the model's config.json; the path is relative to the blueprint's folder"
    raw = read_bytes(path, most_bytes=MAX_BYTES, what="a model's configuration", advice=advice)
    try:
        values = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{name} is nested too deeply for a model's configuration") from None
    except ValueError as error:
        raise InputError(f"{name} is not JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(values, dict):
        raise InputError(f"{name} holds a {type(values).__name__}, not a model's configuration")
    return ConfigValues(name=name, values=values)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key {shown(key)} stands twice")
        result[key] = value
    return result


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")
