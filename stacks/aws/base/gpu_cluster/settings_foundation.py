"""The foundation's configuration as frozen records, checked as a whole before any resource is registered."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpu_cluster import layer
from gpu_cluster.addresses import AddressPlan, addresses_needed, divide
from gpu_cluster.config_values import ConfigError, Values, collect
from gpu_cluster.endpoints import INTERFACE_ENDPOINTS
from gpu_cluster.existing import Existing, read_existing
from gpu_cluster.lustre_sizes import EFA_STEP_GIB, capacity_problem

#: Keys of the provider's own that the programs make their providers with; others have no effect.
PROVIDER_KEYS = ("aws:region", "aws:profile")
MAX_NODES = 4096
SCALAR_KEYS = (
    *layer.SCALAR_KEYS,
    "availabilityZone",
    "secondAvailabilityZone",
    "vpcCidr",
    "nodeCount",
    "budgetUsdPerMonth",
    "alertEmail",
    "budgetByTag",
)
OBJECT_KEYS = (*layer.OBJECT_KEYS, "sharedStorage", "existingNetwork")
SHARED_STORAGE_KEYS = ("capacityGib", "throughputMbPerSPerTib", "mountPath", "efaEnabled")


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedStorage:
    """Size and mount point of the Lustre file system."""

    capacity_gib: int
    throughput_mb_per_s_per_tib: int
    mount_path: str
    efa_enabled: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertSettings:
    """Monthly budget (None for no budget), who is told, and whether only this cluster's tag counts."""

    budget_usd_per_month: int | None
    email: str | None
    budget_by_tag: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Everything that the foundation's program needs to know.

    Attributes:
        availability_zone: of nodes, machines and file system.
        second_availability_zone: of the second subnet for services; None leaves the choice to a look-up.
        addresses_needed: of the node subnet, by nodes, endpoints and file servers.
    """

    layer: layer.Layer
    node_count: int
    availability_zone: str
    second_availability_zone: str | None
    addresses: AddressPlan
    addresses_needed: int
    existing: Existing
    shared_storage: SharedStorage
    alerts: AlertSettings

    @property
    def other_addresses(self) -> int:
        """Addresses of the node subnet that endpoints and file servers take."""
        return self.addresses_needed - self.node_count


def config_values() -> dict[str, object]:
    """Collect the raw configuration of this stack from Pulumi, `region` among it."""
    return collect(SCALAR_KEYS, OBJECT_KEYS, of_provider=layer.OF_PROVIDER)


def read_settings(raw: Mapping[str, object]) -> Settings:
    """Check the raw configuration and turn it into records.

    Raises:
        ConfigError: with every problem at once.
    """
    values = Values(values=raw)
    common = layer.read_layer(values, "foundation")
    shared_storage = _shared_storage(values.section("sharedStorage"))
    existing = read_existing(values, common.region)
    zone_of_region = rf"{re.escape(common.region) or '[a-z0-9-]+'}[a-z]"
    zone = values.text("availabilityZone", zone_of_region, f"a zone of region {common.region}")
    second = values.optional_text("secondAvailabilityZone", zone_of_region, f"a zone of region {common.region}")
    if second == zone:
        values.fail("secondAvailabilityZone", "is the zone of the nodes; services want another one")
    node_count = values.whole("nodeCount", 0, MAX_NODES)
    addresses = divide(values.private_network("vpcCidr", 16, 25, "10.64.0.0/16"))
    settings = Settings(
        layer=common,
        node_count=node_count,
        availability_zone=zone,
        second_availability_zone=second,
        addresses=addresses,
        addresses_needed=addresses_needed(
            node_count=node_count,
            lustre_capacity_gib=shared_storage.capacity_gib,
            # An existing network has its endpoints, or none.
            interface_endpoints=len(INTERFACE_ENDPOINTS) if existing.vpc is None else 0,
        ),
        existing=existing,
        shared_storage=shared_storage,
        alerts=AlertSettings(
            budget_usd_per_month=values.whole("budgetUsdPerMonth", 0, 10**9, default=0) or None,
            email=values.optional_text("alertEmail", r"[^@\s,;<>]+@[^@\s,;<>]+", "an email address"),
            budget_by_tag=values.flag("budgetByTag", default=False),
        ),
    )
    if existing.vpc is None and settings.addresses_needed > addresses.node_subnet_addresses:
        values.fail(
            "vpcCidr",
            f"PRE032: {addresses.vpc} leaves {addresses.node_subnet_addresses} addresses for nodes, endpoints and "
            f"Lustre, which need {settings.addresses_needed}; before the first `up` take a larger range, afterwards "
            f"{max(0, addresses.node_subnet_addresses - settings.other_addresses)} nodes or fewer",
        )
    values.refuse_unknown((*SCALAR_KEYS, *OBJECT_KEYS))
    if values.problems:
        raise ConfigError(values.problems)
    return settings


def _shared_storage(values: Values) -> SharedStorage:
    read_so_far = len(values.problems)
    storage = SharedStorage(
        capacity_gib=values.whole("capacityGib", 1, 2**31),
        throughput_mb_per_s_per_tib=values.whole("throughputMbPerSPerTib", 1, 10**6),
        mount_path=values.text("mountPath", r"(/[a-z][a-z0-9_-]*)+", "an absolute path such as /shared", "/shared"),
        efa_enabled=values.flag("efaEnabled", default=False),
    )
    values.refuse_unknown(SHARED_STORAGE_KEYS)
    if len(values.problems) > read_so_far:
        return storage
    if storage.throughput_mb_per_s_per_tib not in EFA_STEP_GIB:
        tiers = ", ".join(str(tier) for tier in EFA_STEP_GIB)
        values.fail("throughputMbPerSPerTib", f"needs one of {tiers}, got {storage.throughput_mb_per_s_per_tib}")
    problem = capacity_problem(
        capacity_gib=storage.capacity_gib,
        throughput_mb_per_s_per_tib=storage.throughput_mb_per_s_per_tib,
        efa_enabled=storage.efa_enabled,
    )
    if problem is not None:
        values.fail("capacityGib", problem)
    return storage
