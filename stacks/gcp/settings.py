"""Reads the stack's configuration into frozen records and checks all of it before any resource is made."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, ip_network

import pulumi

import limits
import rules
from config_values import Reader

NAME = r"[a-z][a-z0-9-]{0,30}"
PROJECT = r"[a-z][a-z0-9-]{4,28}[a-z0-9]"
REGION = r"[a-z]+-[a-z]+[0-9]+"
MACHINE_TYPE = r"[a-z][a-z0-9]*(-[a-z0-9]+)+"
RESERVATION = r"[a-z][a-z0-9-]*|projects/[a-z0-9-]+/reservations/[a-z0-9-]+(/reservationBlocks/[a-z0-9-]+)?"
MEMBER = r"(user|group|serviceAccount):[^@\s,]+@[^@\s,]+"
RESERVATION_MODELS = ("auto", "bound", "standard")
CAPACITIES = ("on-demand", "spot", "reservation", "flex-start")
MAX_NODES = 4096
MAX_DISK_GB = 65_536
SCALAR_KEYS = (
    "clusterName", "zone", "networkCidr", "nodeCount", "nodeBootDiskGb", "capacity", "reservationId",
    "reservationModel", "flexStartRunHours", "placementMaxDistance", "controllerInstanceType", "controllerImage",
    "controllerBootDiskGb", "partition", "billingAccount", "budgetUsdPerMonth", "protectData",
)  # fmt: skip
ORDINARY_NETWORK = "gvnic"
STACK_LABELS = ("cluster", "managed-by", "role")
OBJECT_KEYS = ("nodeType", "sharedStorage", "operators", "tags")
# 16 subnets: one primary, up to eight GPU networks, or one more gVNIC network and eight RDMA subnets.
SUBNET_BITS = 4
CONTROLLER_HOST_NUMBER = 10


class ConfigError(ValueError):
    """The configuration cannot be used; the message lists every problem found."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("the configuration of this stack cannot be used:\n" + "\n".join(f"  - {p}" for p in problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeType:
    """The machine type of the compute nodes and the network pattern that it needs."""

    instance_type: str
    gpus_per_node: int
    gpu_type: str
    cpus: int
    memory_mib: int
    fabric: str
    image: str
    nic_type: str
    gpu_networks: int
    mtu_bytes: int
    rdma: bool
    rdma_subnets: int
    placement_max_nodes: int | None

    @property
    def fabric_interfaces(self) -> int:
        """Interfaces per node that carry traffic between GPUs."""
        return self.rdma_subnets if self.rdma else self.gpu_networks


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """How the compute nodes are bought; exactly one model, and placement only where the model leaves it open."""

    model: str
    reservation_id: str | None
    reservation_bound: bool
    flex_start_run_s: int | None
    placement_max_distance: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedStorage:
    """Size and tier of the Managed Lustre file system."""

    capacity_gib: int
    throughput_mb_per_s_per_tib: int
    mount_path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ControllerSettings:
    """The machine of the Slurm controller."""

    instance_type: str
    image: str
    boot_disk_gb: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Spending:
    """A monthly budget on one billing account."""

    billing_account: str
    usd_per_month: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Everything the components need to know."""

    cluster_name: str
    project: str
    region: str
    zone: str
    node_count: int
    node_type: NodeType
    capacity: Capacity
    shared_storage: SharedStorage | None
    controller: ControllerSettings
    node_boot_disk_gb: int
    partition: str
    network_cidr: IPv4Network
    operators: tuple[str, ...]
    spending: Spending | None
    protect_data: bool
    labels: Mapping[str, str]
    warnings: tuple[str, ...]

    @property
    def subnets(self) -> tuple[IPv4Network, ...]:
        """Equal parts of the address range: the first is the primary subnet, then one per further interface."""
        return tuple(self.network_cidr.subnets(prefixlen_diff=SUBNET_BITS))

    @property
    def controller_address(self) -> IPv4Address:
        """Private address of the Slurm controller, known before anything exists."""
        return self.subnets[0][CONTROLLER_HOST_NUMBER]


def config_values() -> dict[str, object]:
    """Collect the raw configuration of the selected Pulumi stack, `project` and `region` of Google Cloud among it."""
    config = pulumi.Config()
    values: dict[str, object] = {key: config.get(key) for key in SCALAR_KEYS}
    values.update({key: config.get_object(key) for key in OBJECT_KEYS})
    cloud = pulumi.Config("gcp")
    values.update(project=cloud.get("project"), region=cloud.get("region"))
    return {key: value for key, value in values.items() if value is not None}


def read_settings(raw: Mapping[str, object]) -> Settings:
    """Check the raw configuration and turn it into records. Raises ConfigError with every problem at once."""
    problems: list[str] = []
    warnings: list[str] = []
    reader = Reader(raw, problems=problems)
    node_type = _read_node_type(reader)
    settings = Settings(
        cluster_name=reader.text("clusterName", pattern=NAME, expected="a name like 'gpt3-175b'"),
        project=reader.text("project", pattern=PROJECT, expected="a project id (key gcp:project)"),
        region=reader.text("region", pattern=REGION, expected="a region like us-central1 (key gcp:region)"),
        zone=reader.text("zone", pattern=f"{REGION}-[a-z]", expected="a zone like us-central1-a"),
        node_count=reader.integer("nodeCount", maximum=MAX_NODES),
        node_type=node_type,
        capacity=_read_capacity(reader, node_type),
        shared_storage=_read_shared_storage(reader),
        controller=ControllerSettings(
            instance_type=reader.text(
                "controllerInstanceType", default="n2-standard-16", pattern=MACHINE_TYPE, expected="a machine type"
            ),
            image=reader.text("controllerImage", default="ubuntu-os-cloud/ubuntu-2404-lts-amd64"),
            boot_disk_gb=reader.integer("controllerBootDiskGb", default=100, minimum=50, maximum=MAX_DISK_GB),
        ),
        node_boot_disk_gb=reader.integer("nodeBootDiskGb", default=200, minimum=50, maximum=MAX_DISK_GB),
        partition=reader.text("partition", default="gpu", pattern=NAME, expected="a name like 'gpu'"),
        network_cidr=_read_network(reader),
        operators=_read_operators(reader),
        spending=_read_spending(reader, warnings),
        protect_data=reader.flag("protectData", default=True),
        labels=_read_labels(reader),
        warnings=(),
    )
    reader.refuse_unknown_keys()
    problems += rules.problems_of(settings)
    if problems:
        raise ConfigError(problems)
    return replace(settings, warnings=(*warnings, *rules.warnings_of(settings)))


def _read_node_type(reader: Reader) -> NodeType:
    section = reader.section("nodeType", required=True) or Reader({}, problems=[])
    fabric = section.choice("fabric", (*limits.FABRICS, ORDINARY_NETWORK))
    # Traffic between GPUs over the one ordinary interface is no fabric of its own, for the nodes' checks neither.
    fabric = "none" if fabric == ORDINARY_NETWORK else fabric
    pattern = limits.FABRICS.get(fabric, limits.FABRICS["none"])
    node_type = NodeType(
        instance_type=section.text("instanceType", pattern=MACHINE_TYPE, expected="a machine type"),
        gpus_per_node=section.integer("gpusPerNode", minimum=1),
        gpu_type=section.text("gpuType", pattern=r"[a-z][a-z0-9_-]{0,30}", expected="a Slurm GRES type like 'h100'"),
        cpus=section.integer("cpus", minimum=1),
        memory_mib=section.integer("memoryMib", minimum=1),
        fabric=fabric,
        # A missing image gets its message from the rules, which know what kind of image the fabric needs.
        image=section.optional_text("image") or "",
        nic_type=section.choice("nicType", ("GVNIC", "MRDMA"), default="GVNIC"),
        gpu_networks=section.integer("gpuNetworks", default=0),
        mtu_bytes=section.integer(
            "mtu",
            default=pattern.mtu_bytes or limits.MTU_MAX_BYTES,
            minimum=limits.MTU_MIN_BYTES,
            maximum=limits.MTU_MAX_BYTES,
        ),
        rdma=section.flag("rdma", default=False),
        rdma_subnets=section.integer("rdmaSubnets", default=0),
        placement_max_nodes=section.integer("placementMaxNodes", minimum=1)
        if section.has("placementMaxNodes")
        else None,
    )
    section.refuse_unknown_keys()
    return node_type


def _read_capacity(reader: Reader, node_type: NodeType) -> Capacity:
    model = reader.choice("capacity", CAPACITIES, default="on-demand")
    run_hours = reader.integer(
        "flexStartRunHours",
        default=limits.FLEX_START_MAX_HOURS,
        minimum=1,
        maximum=limits.FLEX_START_MAX_HOURS,
    )
    reservation_model = reader.choice("reservationModel", RESERVATION_MODELS, default="auto")
    bound_by_family = limits.family_of(node_type.instance_type) in limits.BOUND_RESERVATION_FAMILIES
    return Capacity(
        model=model,
        reservation_id=reader.optional_text(
            "reservationId", pattern=RESERVATION, expected="a reservation name or projects/PROJECT/reservations/NAME"
        ),
        reservation_bound=bound_by_family if reservation_model == "auto" else reservation_model == "bound",
        flex_start_run_s=run_hours * 3600 if model == "flex-start" else None,
        placement_max_distance=reader.integer("placementMaxDistance", default=0, maximum=limits.MAX_DISTANCE_MAX)
        or None,
    )


def _read_shared_storage(reader: Reader) -> SharedStorage | None:
    section = reader.section("sharedStorage", required=False)
    if section is None:
        return None
    storage = SharedStorage(
        capacity_gib=section.integer("capacityGib"),
        throughput_mb_per_s_per_tib=section.integer("throughputMbPerSPerTib", default=1000),
        mount_path=section.text("mountPath", default="/shared", pattern=r"(/[A-Za-z0-9._-]+)+", expected="a path"),
    )
    section.refuse_unknown_keys()
    return storage if storage.capacity_gib else None


def _read_network(reader: Reader) -> IPv4Network:
    text = reader.text("networkCidr", default="10.0.0.0/12")
    try:
        network = ip_network(text)
    except ValueError:
        network = None
    if isinstance(network, IPv4Network) and network.is_private and network.prefixlen <= 24:  # noqa: PLR2004
        return network
    reader.problem("networkCidr", f"expected a private IPv4 range of /24 or larger such as 10.0.0.0/12, got {text!r}")
    return IPv4Network("10.0.0.0/12")


def _read_operators(reader: Reader) -> tuple[str, ...]:
    operators = reader.text_list("operators")
    for operator in operators:
        if re.fullmatch(MEMBER, operator) is None:
            reader.problem("operators", f"expected an IAM member like group:hpc@example.com, got {operator!r}")
    return operators


def _read_spending(reader: Reader, warnings: list[str]) -> Spending | None:
    usd_per_month = reader.integer("budgetUsdPerMonth", default=0)
    account = reader.optional_text(
        "billingAccount", pattern=r"[0-9A-F]{6}(-[0-9A-F]{6}){2}", expected="an id like 012345-6789AB-CDEF01"
    )
    if account is not None and usd_per_month:
        return Spending(billing_account=account, usd_per_month=usd_per_month)
    if account is not None or usd_per_month:
        warnings.append("no budget is made: it needs both billingAccount and budgetUsdPerMonth")
    return None


def _read_labels(reader: Reader) -> dict[str, str]:
    tags = reader.text_map("tags")
    for key, value in tags.items():
        if re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", key) is None or re.fullmatch(r"[a-z0-9_-]{0,63}", value) is None:
            reader.problem(f"tags.{key}", f"a label has lower-case letters, digits, - and _ only, got {value!r}")
        if key in STACK_LABELS:
            reader.problem(f"tags.{key}", "is a label that the stack sets itself")
    return {**tags, "cluster": reader.text("clusterName", default="-"), "managed-by": "pulumi"}
