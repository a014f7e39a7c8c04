"""Tells what the layers' programs would refuse in the configuration, before `cluster.sh` writes or makes anything.

    python -m gpu_cluster.settings_check STACK LAYER... [-- KEY VALUE]

Without a key, everything that is wrong in the layers is listed. With a key and its new value, what would be wrong with
that key is listed, and other keys are left for later: several values may have to be set one after the other. Nothing is
changed. Secrets are encrypted in the configuration, and no word is said about them.
"""

import difflib
import importlib
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pulumi
import yaml
from pulumi.runtime.settings import Settings, configure

from gpu_cluster.config_values import ConfigError

#: A name or the place in a list, as Pulumi's --path takes them.
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([0-9]{1,4})\]")
_WHOLE_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})")


def refused_value(layer: Path, stack: str, key: str, value: str) -> list[str]:
    """Return what a layer's program would say of a key if it had this value.

    Args:
        layer: its folder.
        stack: whose configuration it is.
        key: without the project's prefix, with a provider's; `section.field` and `list[0]` lead into objects.
        value: as it is typed.
    """
    if ":" in key:
        unknown = _unknown_of_provider(key)
        if unknown:
            return [unknown]
    steps = _steps(key)
    if not steps:
        return []
    name, config = _project(layer), _config(layer, stack)
    head = str(steps[0])
    config[head if ":" in head else f"{name}:{head}"] = _with(
        config.get(head if ":" in head else f"{name}:{head}"), steps[1:], value
    )
    # The program knows a provider's value by its last name alone.
    place = ".".join([head.rpartition(":")[2], *map(str, steps[1:])])
    return [one for one in _problems(layer, name, config) if re.match(rf"{re.escape(place)}[.:]", one)]


def refused_settings(layer: Path, stack: str) -> list[str]:
    """Return what a layer's program would say of the whole configuration, secrets aside."""
    name, config = _project(layer), _config(layer, stack)
    secrets = {key.rpartition(":")[2] for key, value in config.items() if _is_secret(value)}
    return [one for one in _problems(layer, name, config) if re.split(r"[.:]", one)[0] not in secrets]


def unknown_key(layers: Iterable[Path], key: str) -> str | None:
    """Return why no layer has a key; None if one declares its first name."""
    head = re.split(r"[.\[]", key)[0]
    if ":" in head:
        return None
    declared = {known for layer in layers for known in _mapping(_read(layer / "Pulumi.yaml").get("config"))}
    return None if head in declared else f"no layer's Pulumi.yaml declares the key {key}{_nearest(head, declared)}"


def _problems(layer: Path, name: str, config: Mapping[str, object]) -> tuple[str, ...]:
    configure(Settings(project=name, stack="stack", organization="organization", root_directory=str(layer)))
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    pulumi.runtime.set_all_config({key: text for key, text in texts.items() if not _is_secret(config[key])})
    reader: Any = importlib.import_module(f"gpu_cluster.settings_{layer.name}")
    try:
        reader.read_settings(reader.config_values())
    except ConfigError as error:
        return error.problems
    return ()


def _unknown_of_provider(key: str) -> str | None:
    """Return why a provider's key has no effect: the programs make their providers with some keys alone."""
    reader: Any = importlib.import_module("gpu_cluster.settings_foundation")
    known: Collection[str] = reader.PROVIDER_KEYS
    return None if key in known else f"{key}: the programs read no such key of a provider{_nearest(key, known)}"


def _steps(key: str) -> list[str | int]:
    """Return the names and places of a path; none where it is not one that is understood here."""
    steps: list[str | int] = []
    position = 0
    while position < len(key):
        found = _STEP.match(key, position)
        if found is None:
            return []
        steps.append(found[1] or int(found[2]))
        position = found.end()
    return steps


def _with(value: object, steps: list[str | int], text: str) -> object:
    """Return a value with another one inside; Pulumi makes numbers, true and false of texts inside objects alone."""
    if not steps:
        return text
    step, inner = steps[0], _typed(text) if len(steps) == 1 else text
    if isinstance(step, int):
        entries = list(cast("list[object]", value)) if isinstance(value, list) else []
        entries += [None] * (step + 1 - len(entries))
        entries[step] = inner if len(steps) == 1 else _with(entries[step], steps[1:], text)
        return entries
    fields = dict(_mapping(value))
    return fields | {step: inner if len(steps) == 1 else _with(fields.get(step), steps[1:], text)}


def _typed(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else text


def _nearest(name: str, among: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, sorted(among), n=1)
    return f"; did you mean {found[0]}?" if found else ""


def _project(layer: Path) -> str:
    return str(_read(layer / "Pulumi.yaml")["name"])


def _config(layer: Path, stack: str) -> dict[str, object]:
    return dict(_mapping(_read(layer / f"Pulumi.{stack}.yaml").get("config")))


def _read(path: Path) -> Mapping[str, object]:
    return _mapping(yaml.safe_load(path.read_text()))


def _is_secret(value: object) -> bool:
    return isinstance(value, Mapping) and list(cast("Mapping[str, object]", value)) == ["secure"]


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _said(stack: str, layers: list[Path], given: list[str]) -> Iterator[str]:
    if not given:
        for layer in layers:
            for problem in refused_settings(layer, stack):
                yield f"PRE002: {layer.name}/Pulumi.{stack}.yaml, {problem}"
        return
    key, value = given
    unknown = unknown_key(layers, key)
    if unknown:
        yield f"PRE002: {unknown}"
        return
    for problem in dict.fromkeys(one for layer in layers for one in refused_value(layer, stack, key, value)):
        yield f"PRE002: {problem}"


def main() -> int:
    """Print what is refused; 1 if anything is."""
    _, stack, *rest = sys.argv
    names, given = (rest[: rest.index("--")], rest[rest.index("--") + 1 :]) if "--" in rest else (rest, [])
    said = list(_said(stack, [Path(name) for name in names], given))
    sys.stderr.write("".join(f"{line}\n" for line in said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
