"""The page of the catalogue: names that a blueprint may use, with the facts that decide most."""

from collections.abc import Iterable

from clusterwright.catalog.load import load
from clusterwright.catalog.records import Accelerator, Catalogue, Instance, Part
from clusterwright.catalog.storage import StorageSystem, storage_levels
from clusterwright.documentation.markdown import code, page, prose, table

_UNKNOWN = "unknown"
_INTRODUCTION = """
The names that a blueprint may use. `clusterwright facts NAME` shows every fact of an entry with its source and day,
and `clusterwright facts NAME --conflicts` what sources dispute and why one claim was chosen. FLOP/s are dense, GB is
10⁹ bytes, and bandwidth counts one direction. `unknown` means that no readable source states the figure.
"""
_CLOUDS = {"aws": "AWS", "azure": "Azure", "gcp": "Google Cloud"}


def catalog_page() -> str:
    """Return the page."""
    known = load()
    return page(
        "Catalogue",
        _INTRODUCTION,
        "## Accelerators",
        _accelerators(known.accelerators.values()),
        "## Instance types",
        *(part for cloud in _CLOUDS for part in _instances(known, cloud)),
        "## Systems to buy",
        _systems(known),
        "## Models",
        _models(known),
        "## Switches",
        _switches(known),
        "## Storage systems",
        "Throughput is of one box: the one that serves clients, where there are two kinds.",
        _storage(known),
        "## Storage levels",
        "Values of `storage.level`: what each node gets at most, and each started unit of GPUs. "
        "[How storage is sized](../explain/fabrics-and-halls.md#shared-storage) says how they are used.",
        _levels(),
    )


def _number(value: float | None, scale: float = 1.0, digits: str = ",.4g") -> str:
    return _UNKNOWN if value is None else format(value / scale, digits)


def _accelerators(entries: Iterable[Accelerator]) -> str:
    return table(
        ("Name", "Accelerator", "Memory, GB", "Bandwidth, GB/s", "bf16, TFLOP/s", "fp8, TFLOP/s"),
        (
            (
                code(chip.id),
                prose(chip.name),
                _number(chip.hbm_bytes, 1e9),
                _number(chip.hbm_bytes_per_s, 1e9),
                _number(chip.dense_bf16_flop_per_s, 1e12),
                _number(chip.dense_fp8_flop_per_s, 1e12),
            )
            for chip in sorted(entries, key=lambda chip: chip.id)
        ),
    )


def _fabric(instance: Instance) -> str:
    rate = instance.fabric_bytes_per_s_per_interface_one_way
    if instance.fabric_kind == "none" or not instance.fabric_interfaces or rate is None:
        return "–" if instance.fabric_kind == "none" else instance.fabric_kind
    return f"{instance.fabric_kind}, {instance.fabric_interfaces} × {rate * 8 / 1e9:,.4g} Gb/s"


def _instances(known: Catalogue, cloud: str) -> tuple[str, str]:
    mine = [entry for entry in known.instances.values() if entry.cloud == cloud]
    return f"### {_CLOUDS[cloud]}", table(
        ("Type", "Accelerators", "Fabric", "Capacity"),
        (
            (
                code(entry.id),
                f"{entry.gpus} × {code(entry.accelerator)}",
                prose(_fabric(entry)),
                prose(", ".join(key.removeprefix(f"{cloud}-") for key in entry.capacity_objects) or _UNKNOWN),
            )
            for entry in sorted(mine, key=lambda entry: entry.id)
        ),
    )


def _systems(known: Catalogue) -> str:
    return table(
        ("Name", "System", "Accelerators", "Power, kW", "Height, U"),
        (
            (
                code(system.id),
                prose(system.name),
                f"{system.gpus} × {code(system.accelerator)}",
                _number(system.power_max_w, 1e3),
                _number(system.height_u),
            )
            for system in sorted(known.systems.values(), key=lambda system: system.id)
        ),
    )


def _models(known: Catalogue) -> str:
    return table(
        ("Name", "Model", "Parameters, billion", "Active, billion", "Layers"),
        (
            (
                code(model.id),
                prose(model.name),
                _number(model.parameters or model.published_parameters, 1e9),
                _number(model.active_parameters, 1e9) if model.experts else "all",
                f"{model.layers}",
            )
            for model in sorted(known.models.values(), key=lambda model: model.id)
        ),
    )


def _switches(known: Catalogue) -> str:
    return table(
        ("Name", "Switch", "Network", "Ports"),
        (
            (
                code(switch.id),
                prose(switch.name),
                prose(switch.network),
                f"{switch.ports} × {switch.port_bytes_per_s_one_way * 8 / 1e9:,.4g} Gb/s",
            )
            for switch in sorted(known.switches.values(), key=lambda switch: switch.id)
        ),
    )


def _storage(known: Catalogue) -> str:
    return table(
        ("Name", "System", "Kind", "Raw capacity of a box, TB", "Read, GB/s", "Write, GB/s", "Height, U"),
        (
            (
                code(system.id),
                prose(system.name),
                prose(system.kind),
                _number(known.parts[system.data_box].capacity_bytes, 1e12),
                _number(_rated(known, system).read_bytes_per_s, 1e9),
                _number(_rated(known, system).write_bytes_per_s, 1e9),
                _number(known.parts[system.data_box].height_u),
            )
            for system in sorted(known.storage_systems.values(), key=lambda system: system.id)
        ),
    )


def _levels() -> str:
    return table(
        ("Level", "Read and write of a node, GB/s", "Of a unit, GB/s", "GPUs of a unit", "Recommended for", "Source"),
        (
            (
                code(level.id),
                _both(level.read_bytes_per_s_per_node, level.write_bytes_per_s_per_node),
                _both(
                    level.read_bytes_per_s_per_unit or level.read_bytes_per_s_per_gpu,
                    level.write_bytes_per_s_per_unit or level.write_bytes_per_s_per_gpu,
                ),
                _number(level.gpus_per_unit),
                prose(level.suits),
                prose(level.source),
            )
            for level in storage_levels().values()
        ),
    )


def _both(read: float | None, write: float | None) -> str:
    return "–" if read is None else f"{_number(read, 1e9)} / {_number(write, 1e9)}"


def _rated(known: Catalogue, system: StorageSystem) -> Part:
    """Return the box that the throughput of a system is of."""
    front = system.front_box if system.throughput_box == "front" else None
    return known.parts[front or system.data_box]
