"""The bill of a cloud target: GPU nodes, controller, file system, bucket, disks and the way out to the network."""

from dataclasses import dataclass

from clusterwright.catalog.skus import skus
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.facility.file_system import GIB, FileSystem
from clusterwright.sizing.records import SizedPoint

#: System disks as the stacks create them by default.
NODE_DISK_GIB = 200
CONTROLLER_DISK_GIB = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class CloudParts:
    """What a cloud calls the parts around the GPU nodes.

    Attributes:
        controller: instance type of the Slurm controller, as the stack's default.
        bucket, disk, nat: price keys.
    """

    controller: str
    bucket: str
    disk: str
    nat: str


CLOUDS = {
    "aws": CloudParts(controller="m7i.2xlarge", bucket="aws/s3-standard", disk="aws/ebs-gp3", nat="aws/nat-gateway"),
    "azure": CloudParts(
        controller="Standard_D8s_v5", bucket="azure/blob-hot-lrs", disk="azure/premium-ssd", nat="azure/nat-gateway"
    ),
    "gcp": CloudParts(
        controller="n2-standard-8", bucket="gcp/storage-standard", disk="gcp/pd-balanced", nat="gcp/cloud-nat"
    ),
}


def cloud_bill(*, cloud: str, region: str, point: SizedPoint, file_system: FileSystem) -> Bill:
    """Return the bill of a cloud target.

    GPU nodes and their disks exist for the run (`scales_with` is `nodes`); controller, file system, bucket and NAT
    gateway stay (`cluster`). Traffic is not counted: neither egress nor data through the NAT gateway, which carries
    only package downloads.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        region: that the lines are priced in.
        point: the sized cluster; its node id is the instance type.
        file_system: from `choose_file_system`.
    """
    parts = CLOUDS[cloud]
    instance = point.node.id
    stored_gib = (point.storage.dataset_bytes + point.storage.checkpoint_bytes_kept) / GIB

    def line(sku: str, quantity: float, note: str, *, scales_with: str = "cluster") -> BillLine:
        known = skus().get(sku)
        return BillLine(
            sku=sku,
            item=known.item if known else f"GPU node {instance}",
            category=known.category if known else "compute",
            quantity=quantity,
            unit=known.unit if known else "node",
            charge=known.charge if known else "hourly",
            scales_with=scales_with,
            region=region,
            note=note,
        )

    size = f"{file_system.capacity_gib:,} GiB at {file_system.bytes_per_s / 1e9:,.1f} GB/s"
    asked = (
        f"for {point.storage.capacity_bytes / GIB:,.0f} GiB at "
        f"{max(point.storage.read_bytes_per_s, point.storage.write_bytes_per_s) / 1e9:,.1f} GB/s"
    )
    request = "; above the size given without a support request" if file_system.on_request else ""
    return Bill(
        target=cloud,
        lines=(
            line(f"{cloud}/{instance}", point.nodes, f"{point.gpus:,} GPUs", scales_with="nodes"),
            line(
                parts.disk,
                point.nodes * NODE_DISK_GIB,
                f"{NODE_DISK_GIB} GiB for each GPU node",
                scales_with="nodes",
            ),
            line(f"{cloud}/{parts.controller}", 1, "Slurm head node"),
            line(parts.disk, CONTROLLER_DISK_GIB, "system disk of the controller"),
            line(file_system.tier.sku, file_system.capacity_gib, f"{size}, {asked}{request}"),
            line(parts.bucket, stored_gib, "dataset and checkpoints that are kept"),
            line(parts.nat, 1, "hours only; traffic through it is not counted"),
            line(f"{cloud}/public-ipv4", 1, "address of the NAT gateway"),
        ),
    )
