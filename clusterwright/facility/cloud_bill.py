"""The bill of a cloud target: GPU nodes, file system, and what the stacks create around them."""

import csv
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.catalog.parts.skus import skus
from clusterwright.errors import ClusterwrightError
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.facility.storage.file_system import GIB, FileSystem
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.units import counted

#: System disks of exported configurations: of a GPU node, and of a Slurm controller.
NODE_DISK_GIB = 200
CONTROLLER_DISK_GIB = 100


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


def controller_of(cloud: str) -> str:
    """Return the instance type of a cloud's Slurm controller, as the stack's default."""
    found = next(part for part in cloud_parts(cloud=cloud, scheduler="slurm") if part.role == "controller")
    return found.sku.partition("/")[2]


def bill_line(sku: str, quantity: float, *, region: str, note: str = "", scales_with: str = "cluster") -> BillLine:
    """Return a line of a cloud's bill, described as `catalog/skus.csv` does; a key without a row is a GPU node.

    Args:
        sku: price key.
        quantity: in the unit of the key.
        region: that it is priced in.
        note: how the quantity was found.
        scales_with: `nodes` or `cluster`, as in `BillLine`.
    """
    known = skus().get(sku)
    return BillLine(
        sku=sku,
        item=known.item if known else f"GPU node {sku.partition('/')[2]}",
        category=known.category if known else "compute",
        quantity=quantity,
        unit=known.unit if known else "node",
        charge=known.charge if known else "hourly",
        scales_with=scales_with,
        region=region,
        note=note,
    )


def standing_lines(
    *, cloud: str, scheduler: str, region: str, instance: str, nodes: int, stored_gib: float = 0.0
) -> tuple[BillLine, ...]:
    """Return the lines of what the stacks create around GPU nodes and file system, by their defaults.

    Disks of GPU nodes exist for the run (`scales_with` is `nodes`), the rest stays (`cluster`).

    Args:
        cloud: `aws`, `azure` or `gcp`.
        scheduler: `slurm` or `kubernetes`.
        region: that they are priced in.
        instance: type of the GPU nodes.
        nodes: how many.
        stored_gib: data kept in the bucket in GiB; 0 leaves the bucket out.
    """
    amounts = {"cluster": 1.0, "node": float(nodes)}
    lines = []
    for part in cloud_parts(cloud=cloud, scheduler=scheduler, instance=instance):
        quantity = stored_gib if part.per == "stored" else part.quantity * amounts[part.per]
        if quantity:
            scales_with = "nodes" if part.per == "node" else "cluster"
            lines.append(bill_line(part.sku, quantity, region=region, note=part.note, scales_with=scales_with))
    return tuple(lines)


def cloud_bill(*, cloud: str, region: str, scheduler: str, point: SizedPoint, file_system: FileSystem) -> Bill:
    """Return the bill of a cloud target.

    GPU nodes and their disks exist for the run (`scales_with` is `nodes`); what serves them stays (`cluster`): login
    and controller, or the control plane and its system nodes, file system, bucket, database and ways in and out.
    Traffic is not counted: neither egress nor data through the NAT gateway, which carries only package downloads.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        region: that the lines are priced in.
        scheduler: `slurm` or `kubernetes`.
        point: the sized cluster; its node id is the instance type.
        file_system: from `choose_file_system`.
    """
    instance = point.node.id
    size = f"{file_system.capacity_gib:,} GiB at {file_system.bytes_per_s / 1e9:,.1f} GB/s"
    asked = (
        f"for {point.storage.capacity_bytes / GIB:,.0f} GiB at "
        f"{max(point.storage.read_bytes_per_s, point.storage.write_bytes_per_s) / 1e9:,.1f} GB/s"
    )
    request = "; above the size given without a support request" if file_system.on_request else ""
    nodes = bill_line(
        f"{cloud}/{instance}", point.nodes, region=region, note=counted(point.gpus, "GPU"), scales_with="nodes"
    )
    files = bill_line(file_system.tier.sku, file_system.capacity_gib, region=region, note=f"{size}, {asked}{request}")
    around = standing_lines(
        cloud=cloud,
        scheduler=scheduler,
        region=region,
        instance=instance,
        nodes=point.nodes,
        stored_gib=(point.storage.dataset_bytes + point.storage.checkpoint_bytes_kept) / GIB,
    )
    disks = tuple(line for line in around if line.scales_with == "nodes")
    return Bill(target=cloud, lines=(nodes, *disks, files, *(line for line in around if line not in disks)))
