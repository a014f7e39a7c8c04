"""Reads the foundation's configuration into frozen records and checks all of it before any resource is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

from gpu_cluster import limits
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.existing_network import Existing, read_existing
from gpu_cluster.lustre_sizes import FileSystemSize, read_file_system, size_warnings
from gpu_cluster.node_type import MAX_NODES, NodeType, read_node_type
from gpu_cluster.place import PLACE_KEYS, PLACE_OBJECTS, PROVIDER_VALUES, Place, read_place

#: Keys of the provider's own that the programs make their providers with; others have no effect.
PROVIDER_KEYS = (
    *PROVIDER_VALUES.values(),
    "gcp:credentials",
    "gcp:impersonateServiceAccount",
    "gcp:billingProject",
    "gcp:userProjectOverride",
)
BILLING_ACCOUNT = r"[0-9A-F]{6}(-[0-9A-F]{6}){2}"
EMAIL = r"[^@\s]+@[^@\s]+\.[^@\s]+"
SCALAR_KEYS = (
    *PLACE_KEYS,
    "networkCidr",
    "nodeCount",
    "billingAccount",
    "budgetUsdPerMonth",
    "alertEmail",
    "protectData",
)
OBJECT_KEYS = (*PLACE_OBJECTS, "nodeType", "sharedStorage", "existingNetwork")
# 16 subnets: one primary, up to eight GPU networks, or one more gVNIC network and eight RDMA subnets.
SUBNET_BITS = 4
SMALLEST_PREFIX = 24
DEFAULT_NETWORK = "10.0.0.0/12"


@dataclass(frozen=True, kw_only=True, slots=True)
class Spending:
    """A monthly budget on one billing account."""

    billing_account: str
    usd_per_month: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundationSettings:
    """Everything that the foundation's components need to know."""

    place: Place
    node_count: int
    node_type: NodeType
    network_cidr: IPv4Network
    existing: Existing
    file_system: FileSystemSize | None
    spending: Spending | None
    alert_email: str | None
    protect_data: bool
    warnings: tuple[str, ...]

    @property
    def subnets(self) -> tuple[IPv4Network, ...]:
        """Equal parts of the address range: the first is the primary subnet, then one per further interface."""
        return tuple(self.network_cidr.subnets(prefixlen_diff=SUBNET_BITS))


def config_values() -> dict[str, object]:
    """Collect the raw configuration of the selected stack, `project` and `region` of Google Cloud among it."""
    return collect(SCALAR_KEYS, OBJECT_KEYS, of_provider=PROVIDER_VALUES)


def read_settings(raw: Mapping[str, object]) -> FoundationSettings:
    """Check the raw configuration and turn it into records. Raises ConfigError with every problem at once."""
    values = Values(values=raw)
    place = read_place(values, "foundation")
    node_type = read_node_type(values, with_image=False)
    node_count = values.whole("nodeCount", 0, MAX_NODES)
    network_cidr = values.private_network("networkCidr", 1, SMALLEST_PREFIX, DEFAULT_NETWORK)
    existing = read_existing(values, place, node_type)
    if existing.network is None:
        _check_addresses(values, network_cidr, node_count)
    file_system = read_file_system(values)
    spending = _read_spending(values)
    alert_email = values.optional_text("alertEmail", EMAIL, "an address like ml-platform@example.com")
    protect_data = values.flag("protectData", default=True)
    values.refuse_unknown((*SCALAR_KEYS, *OBJECT_KEYS, *PROVIDER_VALUES))
    if values.problems:
        raise ConfigError(values.problems)
    half = "no budget is made: it needs both billingAccount and budgetUsdPerMonth"
    half_a_budget = [half] if spending is None and (values.has("billingAccount") or _has_amount(raw)) else []
    return FoundationSettings(
        place=place,
        node_count=node_count,
        node_type=node_type,
        network_cidr=network_cidr,
        existing=existing,
        file_system=file_system,
        spending=spending,
        alert_email=alert_email,
        protect_data=protect_data,
        warnings=(*half_a_budget, *size_warnings(file_system)),
    )


def _check_addresses(values: Values, network_cidr: IPv4Network, node_count: int) -> None:
    # One address of the primary subnet each for the controller and the login machine.
    reserved = limits.RESERVED_ADDRESSES_PER_SUBNET + limits.HEAD_MACHINES
    available = network_cidr.num_addresses // 2**SUBNET_BITS - reserved
    if node_count > available:
        smallest = next(
            prefix
            for prefix in range(network_cidr.prefixlen, 0, -1)
            if 2 ** (32 - prefix - SUBNET_BITS) - reserved >= node_count
        )
        values.fail(
            "networkCidr",
            f"PRE032: {network_cidr} gives every network {available} addresses for nodes, got nodeCount {node_count}; "
            f"before the first `up` use a larger range: /{smallest}, afterwards {max(0, available)} nodes or fewer",
        )


def _has_amount(raw: Mapping[str, object]) -> bool:
    return raw.get("budgetUsdPerMonth") not in (None, "", 0, "0")


def _read_spending(values: Values) -> Spending | None:
    usd_per_month = values.whole("budgetUsdPerMonth", 0, 1_000_000_000, default=0)
    account = values.optional_text("billingAccount", BILLING_ACCOUNT, "an id like 012345-6789AB-CDEF01")
    if account is None or not usd_per_month:
        return None
    return Spending(billing_account=account, usd_per_month=usd_per_month)
