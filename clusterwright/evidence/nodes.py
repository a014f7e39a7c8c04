"""The machines that published runs name: `catalog/measured_nodes.csv` turned into node types."""

import csv
from pathlib import Path

from clusterwright import assets
from clusterwright.catalog.records import Catalogue, NodeType
from clusterwright.errors import ClusterwrightError
from clusterwright.units import BANDWIDTH, parse

COLUMNS = ("gpu", "accelerator", "gpus", "network_bytes_per_s_per_gpu_one_way", "source", "note")


def measured_nodes(catalogue: Catalogue, path: Path | None = None) -> dict[str, NodeType]:
    """Return the node type behind each name that the column `gpu` of a file of runs may hold.

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
        accelerator = catalogue.accelerators.get(row["accelerator"])
        if accelerator is None or accelerator.hbm_bytes is None:
            continue
        nodes[row["gpu"]] = NodeType(
            id=row["gpu"],
            accelerator=accelerator,
            gpus=int(row["gpus"]),
            hbm_bytes_per_gpu=accelerator.hbm_bytes,
            network_kind="infiniband",
            network_bytes_per_s_per_gpu_one_way=parse(row["network_bytes_per_s_per_gpu_one_way"], BANDWIDTH),
        )
    return nodes
