"""Names of the catalogue in a blueprint with mistakes of form, so that all its problems are shown at once."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from clusterwright.blueprint import names
from clusterwright.blueprint.fields import ANY
from clusterwright.blueprint.reading.problems import Path, Problem
from clusterwright.blueprint.rules.hardware import attempt, entry_of
from clusterwright.blueprint.rules.kinds import not_of_text
from clusterwright.blueprint.rules.models import model_of
from clusterwright.blueprint.schema import TARGET_SECTIONS
from clusterwright.catalog import lookup
from clusterwright.catalog.records import Catalogue


def unknown_names(value: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Yield a problem for each name that the catalogue does not have, where the value could be a name.

    Args:
        value: what the document holds, of any form.
        catalogue: the facts, without those of a file of own parts; where one is named, no system counts as unknown.
    """
    yield from _model(value, catalogue)
    targets = _section(value, "targets")
    for target in TARGET_SECTIONS:
        section = _section(targets, target)
        if "parts" in section:
            continue
        for key in ("instance", "system"):
            yield from _unknown(section, ("targets", target, key), partial(entry_of, catalogue, target))
        for key in ("allowed_instances", "allowed_systems"):
            listed = section.get(key)
            for index, name in enumerate(listed if isinstance(listed, list) else ()):
                if name != ANY:
                    path = ("targets", target, key, index)
                    yield from _unknown({index: name}, path, partial(entry_of, catalogue, target))
    bought = _section(targets, "onprem")
    storage, fabric = ("targets", "onprem", "storage"), ("targets", "onprem", "fabric")
    yield from _unknown(_section(bought, "storage"), (*storage, "system"), partial(lookup.storage_system, catalogue))
    yield from _unknown(_section(bought, "fabric"), (*fabric, "switch"), partial(lookup.switch, catalogue))


def _model(value: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    workload = _section(value, "workload")
    name = _name(workload.get("model"))
    if name is None:
        return
    images = "images" in _section(value, "traffic")
    refused = not_of_text(name, task=str(workload.get("task", "generate")), images=images)
    if refused is not None:
        yield refused
    else:
        yield from _unknown(workload, ("workload", "model"), partial(model_of, catalogue))


def _section(value: Mapping[Any, Any], key: str) -> Mapping[Any, Any]:
    """Return a section; an empty one if there is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _name(value: object) -> str | None:
    """Return what could be a name of the catalogue; None for all else, which the form refuses."""
    try:
        return names.identifier(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _unknown(section: Mapping[Any, Any], path: Path, look_up: Callable[[str], object]) -> Iterator[Problem]:
    """Yield what is wrong with the name at the end of a path, if anything."""
    problems: list[Problem] = []
    name = _name(section.get(path[-1]))
    if name is not None:
        attempt(problems, path, partial(look_up, name))
    yield from problems
