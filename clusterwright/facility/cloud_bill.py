"""The bill of a cloud target: GPU nodes, controller, file system, bucket, disks and the way out to the network."""

from dataclasses import dataclass

from clusterwright.catalog.lustre import LustreTier, lustre_tiers
from clusterwright.catalog.skus import skus
from clusterwright.errors import Finding, InputError, RuleError
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.sizing.records import SizedPoint, StorageNeed

GIB = 2.0**30
#: System disks as the stacks create them by default.
NODE_DISK_GIB = 200
CONTROLLER_DISK_GIB = 100
#: What a TiB costs apart from its throughput, in units of throughput (see `choose_file_system`).
CAPACITY_WEIGHT_MB_PER_S_PER_TIB = 150


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


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSystem:
    """A managed Lustre file system of a valid size.

    Attributes:
        capacity_gib: as the provider takes it; on_request: larger than it gives without a support request.
    """

    tier: LustreTier
    capacity_gib: int
    on_request: bool

    @property
    def bytes_per_s(self) -> float:
        """Throughput in bytes/s."""
        return self.tier.bytes_per_s(self.capacity_gib)


def choose_file_system(*, cloud: str, need: StorageNeed, efa: bool = False) -> FileSystem:
    """Choose tier and size: the least capacity x (tier + 150) of those that hold the data and move it in time.

    Prices are not known here, so this only orders the valid choices. The 150 MB/s per TiB stand for what capacity costs
    apart from throughput: the list prices of FSx for Lustre PERSISTENT_2 in us-east-1 (0.145, 0.21, 0.34 and 0.60 USD
        per
    GB-month for tiers 125 to 1000) lie on 0.00052 x (tier + 154) within 1 %. The tier prices of the other clouds are
    not public in a readable source; the same order is taken for them. Sizes that need a support request come last.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        need: capacity in bytes; the larger of read and write in bytes/s must be sustained.
        efa: AWS file system with EFA, which comes in larger steps.

    Raises:
        InputError: a cloud without a table of tiers.
        RuleError: no tier is large or fast enough (`STO001`).
    """
    tiers = [tier for tier in lustre_tiers() if tier.cloud == cloud and tier.efa == efa]
    if not tiers:
        raise InputError(f"no file system tiers are known for {cloud!r}", help="known are aws, azure and gcp")
    bytes_per_s = max(need.read_bytes_per_s, need.write_bytes_per_s)
    fitting = [system for tier in tiers if (system := _smallest(tier, need.capacity_bytes, bytes_per_s)) is not None]
    if not fitting:
        raise RuleError((_too_much(cloud, tiers, need, bytes_per_s),))
    return min(fitting, key=lambda system: (system.on_request, _expense(system)))


def _expense(system: FileSystem) -> float:
    return system.capacity_gib * (system.tier.mb_per_s_per_tib + CAPACITY_WEIGHT_MB_PER_S_PER_TIB)


def _smallest(tier: LustreTier, capacity_bytes: float, bytes_per_s: float) -> FileSystem | None:
    for_speed_gib = bytes_per_s / (tier.mb_per_s_per_tib * 1e6) * 1024
    capacity_gib = tier.size_for(max(capacity_bytes / GIB, for_speed_gib))
    if tier.accepts(capacity_gib):
        return FileSystem(tier=tier, capacity_gib=capacity_gib, on_request=False)
    if tier.largest_on_request_gib is not None and capacity_gib <= tier.largest_on_request_gib:
        return FileSystem(tier=tier, capacity_gib=capacity_gib, on_request=True)
    return None


def _too_much(cloud: str, tiers: list[LustreTier], need: StorageNeed, bytes_per_s: float) -> Finding:
    most = max(tiers, key=lambda tier: tier.bytes_per_s(_largest_gib(tier)))
    largest = _largest_gib(most)
    return Finding(
        id="STO001",
        path=("storage",),
        message=(
            f"shared storage of {need.capacity_bytes / 1e12:,.0f} TB at {bytes_per_s / 1e9:,.0f} GB/s is beyond every "
            f"tier of {cloud}'s managed Lustre"
        ),
        help=(
            f"the fastest is {largest:,} GiB at {most.bytes_per_s(largest) / 1e9:,.0f} GB/s; "
            "spread the data over several file systems, or keep fewer checkpoints"
        ),
    )


def _largest_gib(tier: LustreTier) -> int:
    return tier.largest_on_request_gib or tier.largest_gib or 0


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
