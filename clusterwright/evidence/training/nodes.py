"""The machines that published runs name: `catalog/measured_nodes.csv` turned into node types."""

import csv
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from clusterwright import assets
from clusterwright.catalog.records import Accelerator, Catalogue, NodeType
from clusterwright.errors import ClusterwrightError
from clusterwright.units import BANDWIDTH, parse

COLUMNS = (
    "gpu",
    "accelerator",
    "devices_per_accelerator",
    "gpus",
    "network_bytes_per_s_per_gpu_one_way",
    "source",
    "note",
)
_SEPARATORS, _VENDOR = re.compile(r"[^a-z0-9]+"), re.compile(r"\b(nvidia|geforce|amd|instinct|google|aws|intel)\b")
#: Of a module of several dies that software sees as devices, each has its share of these.
_SHARED = (
    "hbm_bytes",
    "hbm_bytes_per_s",
    "scale_up_bytes_per_s_per_gpu_one_way",
    "host_link_bytes_per_s_one_way",
    "power_w",
    *(entry.name for entry in fields(Accelerator) if entry.name.startswith("dense_")),
)


def measured_nodes(catalogue: Catalogue, path: Path | None = None) -> dict[str, NodeType]:
    """Return the node type behind each name that the column `gpu` of a file of runs may hold.

    Ids and other names of the catalogue stand for the first node of their accelerator.

    Args:
        catalogue: accelerators; a row whose accelerator it does not hold is left out.
        path: a file with the columns of `COLUMNS`; the shipped `catalog/measured_nodes.csv` if None.

    Raises:
        ClusterwrightError: the file cannot be read.
    """
    path = path or assets.root() / "catalog" / "measured_nodes.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error.strerror}") from error
    nodes = {}
    for row in rows:
        module = catalogue.accelerators.get(row["accelerator"])
        accelerator = module and device_of_module(module, int(row["devices_per_accelerator"]))
        if accelerator is None or accelerator.hbm_bytes is None:
            continue
        hbm_bytes, gpus = accelerator.hbm_bytes, int(row["gpus"])
        if accelerator.scale_up_topology == "switch" and (accelerator.scale_up_domain_gpus or 0) < gpus:
            accelerator = replace(accelerator, scale_up_domain_gpus=gpus)  # a DGX-2 joins 16 of what boards join 8 of
        nodes[row["gpu"]] = NodeType(
            id=row["gpu"],
            accelerator=accelerator,
            gpus=gpus,
            hbm_bytes_per_gpu=hbm_bytes,
            network_kind="infiniband",
            network_bytes_per_s_per_gpu_one_way=parse(row["network_bytes_per_s_per_gpu_one_way"], BANDWIDTH),
        )
    first: dict[str, NodeType] = {}
    for row in rows:
        if row["gpu"] in nodes and row["devices_per_accelerator"] == "1":
            first.setdefault(row["accelerator"], nodes[row["gpu"]])
    names = {name: name for name in first} | catalogue.aliases
    return {name: first[entity] for name, entity in names.items() if entity in first} | nodes


def node_named(nodes: Mapping[str, NodeType], name: str) -> NodeType | None:
    """Return the node type that a name means, whatever its case, separators and vendor; None where it means none."""
    if name in nodes:
        return nodes[name]
    plain = _plain(name)
    return next((node for known, node in nodes.items() if _plain(known) == plain), None)


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", _VENDOR.sub("", name.lower()))


def device_of_module(module: Accelerator, devices: int) -> Accelerator:
    """Return one of the equal devices that software sees in a module; the links between modules are shared out."""
    if devices == 1:
        return module
    shares: dict[str, Any] = {
        name: value / devices for name in _SHARED if isinstance(value := getattr(module, name), int | float)
    }
    domain = module.scale_up_domain_gpus
    return replace(module, **shares, scale_up_domain_gpus=None if domain is None else domain * devices)
