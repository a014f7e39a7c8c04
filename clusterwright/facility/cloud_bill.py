"""The bill of a cloud target: GPU nodes, file system, and what the stacks create around them."""

from clusterwright.catalog.cloud_parts import cloud_parts
from clusterwright.catalog.skus import skus
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.facility.storage.file_system import GIB, FileSystem
from clusterwright.sizing.records.point import SizedPoint

#: System disks of exported configurations: of a GPU node, and of a Slurm controller.
NODE_DISK_GIB = 200
CONTROLLER_DISK_GIB = 100


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
        f"{cloud}/{instance}", point.nodes, region=region, note=f"{point.gpus:,} GPUs", scales_with="nodes"
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
