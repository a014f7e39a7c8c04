"""Settings of the layer `foundation`; all mistakes are reported at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi

from gpu_cluster import cluster_identity
from gpu_cluster.addresses import LARGEST_PREFIX, RDMA_NETWORK, AddressPlan, address_plan
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.existing import Existing, existing
from gpu_cluster.shared_storage import MOST_TIB, SharedStorage, shared_storage

SCALARS = (
    "clusterName",
    "location",
    "zone",
    "nodeCount",
    "vnetAddressSpace",
    "storageRedundancy",
    "bastionEnabled",
    "networkWatcher",
    "logRetentionDays",
    "budgetUsdPerMonth",
    "budgetStartMonth",
    "alertEmail",
)
OBJECTS = ("existingNetwork", "sharedStorage", "tags")
#: Keys of the provider's own that the programs make their providers with; others have no effect.
PROVIDER_KEYS = tuple(
    f"azure-native:{name}"
    for name in ("environment", "subscriptionId", "tenantId", "clientId", "clientSecret", "useMsi", "useOidc")
)
_NETWORK = "10.40.0.0/16"
_MOST_NODES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSettings:
    """Monthly budget; `start_month` (YYYY-MM) is None for the month of the first deployment."""

    amount_per_month: float
    start_month: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundationSettings:
    """What outlives the cluster and its nodes.

    Attributes:
        addresses: of the network to create; of no meaning where one exists.
        alert_email: who hears of alerts; None for the owners of the subscription.
    """

    cluster_name: str
    location: str
    zone: str
    addresses: AddressPlan
    existing: Existing
    shared_storage: SharedStorage
    storage_sku: str
    bastion_enabled: bool
    network_watcher: str
    log_retention_days: int
    budget: BudgetSettings | None
    alert_email: str | None
    tags: Mapping[str, str]


def load_settings() -> FoundationSettings:
    """Read the stack's configuration.

    Raises:
        RunError: naming every value that cannot be used; Pulumi prints it without a traceback.
    """
    try:
        return read_settings(config_values())
    except ConfigError as error:
        raise pulumi.RunError(str(error)) from None


def config_values() -> dict[str, object]:
    """Collect the raw configuration of this stack from Pulumi."""
    return collect(SCALARS, OBJECTS)


def read_settings(given: Mapping[str, object]) -> FoundationSettings:
    """Turn configuration values into checked settings.

    Raises:
        ConfigError: naming every value that cannot be used.
    """
    # Pulumi.yaml declares optional texts with the default "", because a key without a default is required there.
    values = Values(values={key: value for key, value in given.items() if value not in (None, "")})
    values.refuse_unknown((*SCALARS, *OBJECTS))
    storage = shared_storage(values)
    place = cluster_identity.location(values)
    theirs = existing(values)
    settings = FoundationSettings(
        cluster_name=cluster_identity.cluster_name(values),
        location=place,
        zone=cluster_identity.zone(values),
        addresses=_addresses(values, storage.capacity_tib, is_made=theirs.network is None),
        existing=theirs,
        shared_storage=storage,
        storage_sku="Standard_" + values.choice("storageRedundancy", ("LRS", "ZRS"), "LRS"),
        bastion_enabled=values.flag("bastionEnabled", default=True),
        network_watcher=values.text(
            "networkWatcher",
            r"[A-Za-z0-9_.()-]+/[A-Za-z0-9_.-]+",
            "resource group/name of the location's network watcher",
            f"NetworkWatcherRG/NetworkWatcher_{place}",
        ),
        log_retention_days=values.whole("logRetentionDays", 30, 730, 90),
        budget=_budget(values),
        alert_email=values.optional_text("alertEmail", r"[^@\s,]+@[^@\s,]+\.[^@\s,]+", "one e-mail address"),
        tags=cluster_identity.tags(values, "foundation"),
    )
    if values.problems:
        raise ConfigError(values.problems)
    return settings


def _addresses(values: Values, capacity_tib: int, *, is_made: bool) -> AddressPlan:
    network = values.private_network("vnetAddressSpace", 8, LARGEST_PREFIX, _NETWORK)
    if network.overlaps(RDMA_NETWORK):
        values.fail("vnetAddressSpace", f"{network} overlaps {RDMA_NETWORK}, which the InfiniBand network reserves")
        network = IPv4Network(_NETWORK)
    plan = address_plan(network, min(capacity_tib, MOST_TIB))
    nodes = values.whole("nodeCount", 0, _MOST_NODES)
    if is_made and nodes > plan.node_addresses:
        values.fail(
            "vnetAddressSpace",
            f"PRE032: {network} leaves {plan.node_addresses} addresses for {nodes} nodes; before the first `up` take a "
            f"larger network, afterwards {plan.node_addresses} nodes or fewer",
        )
    return plan


def _budget(values: Values) -> BudgetSettings | None:
    month = values.optional_text("budgetStartMonth", r"20\d\d-(0[1-9]|1[0-2])", "a month such as 2026-11")
    if values.values.get("budgetUsdPerMonth") in (None, "0", 0):
        return None
    return BudgetSettings(amount_per_month=values.amount("budgetUsdPerMonth"), start_month=month)
