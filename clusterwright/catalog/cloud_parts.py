"""What the stacks create around the GPU nodes by default, by cloud and scheduler."""

import csv
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError


@dataclass(frozen=True, kw_only=True, slots=True)
class CloudPart:
    """One thing that a cloud charges beside the GPU nodes and the file system.

    Attributes:
        scheduler: `slurm` or `kubernetes`; empty where both have it.
        role: what it is for, for example `controller`.
        sku: price key; quantity: in its unit.
        per: `cluster` once, `node` for each GPU node, `stored` where the quantity is the data that is kept.
        families: of instance types (the part before the first hyphen) that have it; empty for all.
        resource: type of the stack's resource that it pays.
    """

    cloud: str
    scheduler: str
    role: str
    sku: str
    quantity: float
    per: str
    families: tuple[str, ...]
    resource: str
    note: str


@cache
def _all_parts() -> tuple[CloudPart, ...]:
    path = assets.root() / "catalog" / "cloud_parts.csv"
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return tuple(_part(row) for row in csv.DictReader(stream))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error


def _part(row: dict[str, str]) -> CloudPart:
    quantity, families = float(row.pop("quantity")), tuple(row.pop("families").split())
    return CloudPart(quantity=quantity, families=families, **row)  # the rest is text


def cloud_parts(*, cloud: str, scheduler: str, instance: str = "") -> tuple[CloudPart, ...]:
    """Return what a stack creates around the GPU nodes, in the order of `catalog/cloud_parts.csv`.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        scheduler: `slurm` or `kubernetes`.
        instance: type of the GPU nodes; empty leaves out what depends on it.

    Raises:
        ClusterwrightError: the table cannot be read.
    """
    family = instance.partition("-")[0]
    return tuple(
        part
        for part in _all_parts()
        if part.cloud == cloud and part.scheduler in ("", scheduler) and (not part.families or family in part.families)
    )
