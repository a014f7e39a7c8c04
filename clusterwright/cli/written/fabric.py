"""The command that sizes a compute fabric without a blueprint."""

import json
from dataclasses import asdict
from typing import Any

from clusterwright.cli.render.text_table import fitted
from clusterwright.errors import EXIT_FINE

SCHEMA_VERSION = 1


def fabric(
    *,
    system: str,
    switch: str,
    units: int | None,
    nodes: int | None,
    rail_groups: str | None,
    management_ports: int | None,
    oversubscription: float,
    spine_oversubscription: float,
    topology: str,
    planes: int,
    as_needed: bool,
    as_json: bool,
    proven: bool = False,
) -> int:
    """Print the counts of a fabric, or its proof; return the exit code.

    Raises:
        InputError: an unknown name.
        FabricLimitError: a request that no fabric meets.
        MissingFactError: a fact of the system is unknown.
    """
    from clusterwright.catalog import lookup
    from clusterwright.catalog.load import load
    from clusterwright.facility.fabric.counts import AS_NEEDED, FULL_UNITS
    from clusterwright.facility.fabric.system import fabric_of_system

    catalogue = load()
    sized = fabric_of_system(
        system=lookup.system(catalogue, system),
        switch=lookup.switch(catalogue, switch),
        units=units,
        nodes=nodes,
        rail_groups=rail_groups,
        management_ports=management_ports,
        oversubscription=oversubscription,
        spine_oversubscription=spine_oversubscription,
        topology=topology,
        planes=planes,
        purchase=AS_NEEDED if as_needed else FULL_UNITS,
    )
    if proven:
        from clusterwright.cli.written.prove import prove_fabric

        name = catalogue.systems[sized.system].name
        return prove_fabric(sized, title=f"{sized.nodes:,} × {name}", as_json=as_json)
    print(_json(sized) if as_json else fitted(_text(sized, catalogue)))
    return EXIT_FINE


def _json(sized: Any) -> str:  # noqa: ANN401 - SystemFabric, loaded lazily
    shown = {
        "schema": SCHEMA_VERSION,
        "system": sized.system,
        "switch": sized.switch,
        "nodes": sized.nodes,
        "gpus": sized.gpus,
        "units": sized.fabric.units,
        "levels": sized.fabric.levels,
        **sized.counts(),
        "radix": sized.radix,
        "port_bytes_per_s_one_way": sized.port_bytes_per_s_one_way,
        "planes": sized.planes,
        "planes_split": sized.planes_split,
        "topology": sized.topology,
        "oversubscription": sized.oversubscription,
        "notes": list(sized.notes),
        "fabric_of_one_plane": asdict(sized.fabric),
    }
    return json.dumps(shown, indent=1, allow_nan=False)


def _text(sized: Any, catalogue: Any) -> str:  # noqa: ANN401
    one, counts = sized.fabric, sized.counts()
    name = catalogue.systems[sized.system].name
    units = f"{one.units} scalable unit{'s' if one.units != 1 else ''}"
    planes = f", {sized.planes} planes" if sized.planes > 1 else ""
    levels = f"{one.levels} level{'s' if one.levels > 1 else ''} of {catalogue.switches[sized.switch].name}"
    lines = [
        f"{sized.nodes:,} x {name} ({sized.gpus:,} GPUs) in {units}, {levels}{planes}",
        "",
        f"{'switches':<14}{'leaf':>10}{'spine':>14}{'core':>14}",
        f"{'':<14}{counts['leaf']:>10,}{counts['spine']:>14,}{counts['core']:>14,}",
        f"{'cables':<14}{'node-leaf':>10}{'leaf-spine':>14}{'spine-core':>14}",
        f"{'':<14}{counts['node_leaf_cables']:>10,}{counts['leaf_spine_cables']:>14,}{counts['spine_core_cables']:>14,}",
        f"{'transceivers':<14}{counts['switch_optics']:>10,} on switches, {counts['node_optics']:,} on nodes",
    ]
    if one.levels > 1:
        trunk = one.uplinks_per_leaf // one.spine_per_group
        lines += [
            "",
            f"a leaf: {one.ports_per_leaf} downlinks, {one.uplinks_per_leaf} uplinks",
            f"  {trunk} of them to each of {one.spine_per_group} spines",
        ]
        today = -(-sized.nodes // (one.nodes_per_unit // sized.end_systems))
        if today < one.units:
            words = f"{today} of {one.units} units have nodes today"
            lines += ["", f"{words}; leaves, spines and their cables of all {one.units} are counted"]
    return "\n".join([*lines, *(f"note: {note}" for note in sized.notes)])
