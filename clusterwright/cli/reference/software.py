"""The command that shows the software of a blueprint's nodes, the rules between releases, and slices of a GPU."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clusterwright.blueprint.resolve import resolve
from clusterwright.blueprint.rules.node_software import software_of
from clusterwright.catalog import lookup
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.software import mig
from clusterwright.catalog.software.node import Software
from clusterwright.catalog.software.table import GIVEN
from clusterwright.catalog.software.table import software as tables
from clusterwright.cli.render.text_table import Column, fitted, table
from clusterwright.errors import EXIT_FINE, InputError, MissingFactError
from clusterwright.interface import planning

SCHEMA_VERSION = 1


def software(
    blueprint: Path | None, set_values: Sequence[str] | None, *, slices: str | None, rules: bool, as_json: bool
) -> int:
    """Print the software of each target's nodes, rules, or slices of a GPU; return the exit code.

    Raises:
        InputError: nothing to show was named, or the accelerator is unknown.
        BlueprintError: the blueprint is wrong, or what it pins cannot be had.
        MissingFactError: the accelerator has no MIG that is known.
    """
    if slices is not None:
        document, text = _slices(slices)
    elif rules:
        document, text = _rules()
    elif blueprint is not None:
        document, text = _nodes(blueprint, set_values or ())
    else:
        raise InputError(
            "name a blueprint, or what to show without one",
            help="clusterwright software BLUEPRINT, or with --rules, or with --slices ACCELERATOR",
        )
    print(json.dumps({"schema": SCHEMA_VERSION, **document}, indent=1) if as_json else fitted(text))
    return EXIT_FINE


def _nodes(path: Path, set_values: Sequence[str]) -> tuple[dict[str, Any], str]:
    loaded = planning.load(path, overrides=set_values)
    resolved = resolve(loaded.blueprint, load_catalogue())
    if isinstance(resolved, tuple):
        raise loaded.error(resolved)
    found = [(entry, software_of(entry, loaded.blueprint)) for entry in resolved.targets]
    lines = [_one(f"{entry.node.id} ({entry.target})", set_) for entry, set_ in found]
    document = [
        {"node": entry.node.id, "target": entry.target, "software": None if set_ is None else asdict(set_)}
        for entry, set_ in found
    ]
    return {"nodes": document}, "\n\n".join(lines)


def _one(name: str, found: Software | None) -> str:
    if found is None:
        return f"{name}: no set is known; see clusterwright software --rules"
    known = tables().components
    rows = [
        [
            part.name,
            part.version or "unknown",
            part.origin,
            part.least or "",
            part.ended,
            f"catalog/{part.place}" if part.place else "",
        ]
        for part in found.parts
        if known[part.component].needed_when != GIVEN
    ]
    columns = [Column("software", "left")]
    columns += [Column(title, "left") for title in ("version", "from", "least", "support ends", "fact")]
    lines = [name, table(columns, rows)]
    if any(part.origin == "image" and part.version is None for part in found.parts):
        lines.append(
            "unknown: the cloud's image decides; pin it after a look at the image, or at a node's boot messages"
        )
    if found.geometry:
        gpu = next(part.version for part in found.parts if part.component == "accelerator") or ""
        where = mig.place(mig.profiles_by_gpu()[gpu], found.geometry) or ()
        lines.append(
            f"{found.divided_gpus} GPUs of a node divided: {', '.join(map(str, where))} (profile:memory slice)"
        )
    return "\n".join(lines)


def _rules() -> tuple[dict[str, Any], str]:
    found = tables().rules
    rows = [[rule.id, rule.level, rule.subject, rule.truth, rule.source] for rule in found]
    columns = [
        Column("id", "left"),
        Column("level", "left"),
        Column("subject", "left", 40),
        Column("what is true", "left", 0, prose=True),
        Column("source", "left", 50),
    ]
    return {"rules": [asdict(rule) for rule in found]}, table(columns, rows)


def _slices(name: str) -> tuple[dict[str, Any], str]:
    chip = lookup.accelerator(load_catalogue(), name)
    profiles = mig.profiles_by_gpu().get(chip.id)
    if profiles is None:
        raise MissingFactError(
            f"{chip.name} is not known to be divisible by MIG",
            help="one of " + ", ".join(sorted(mig.profiles_by_gpu())),
        )
    plain = [profile for profile in profiles if "+" not in profile.name]
    full = mig.geometries(plain)
    rows = [
        [
            profile.name,
            str(profile.compute_slices),
            str(profile.memory_slices),
            " ".join(map(str, profile.starts)),
            str(profile.most),
            profile.source,
        ]
        for profile in profiles
    ]
    columns = [Column("profile", "left"), Column("compute slices"), Column("memory slices")]
    columns += [Column("may begin at", "left"), Column("most"), Column("source", "left")]
    lines = [chip.name, table(columns, rows), f"{len(full)} sets fill it, without profiles with media engines:"]
    lines += ["  " + " + ".join(names) for names in full]
    return {
        "accelerator": chip.id,
        "profiles": [asdict(profile) for profile in profiles],
        "full": [list(names) for names in full],
    }, "\n".join(lines)
