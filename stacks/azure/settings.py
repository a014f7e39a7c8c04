"""The configuration of one cluster as frozen records; `rules` fills them from checked values."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from addresses import AddressPlan


class SettingsError(pulumi.RunError):
    """The configuration cannot be used; Pulumi prints the message without a traceback and registers nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A marketplace image with a fixed version."""

    publisher: str
    offer: str
    sku: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeType:
    """What one GPU node is."""

    instance_type: str
    gpus_per_node: int
    gpu_type: str
    fabric: str
    fabric_interfaces: int
    max_nodes_per_scale_set: int
    image: Image


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStorage:
    """The Azure Managed Lustre file system."""

    capacity_tib: int
    throughput_mb_per_s_per_tib: int
    mount_path: str
    maintenance_day: str
    maintenance_time_utc: str
    hydrate_from_bucket: bool
    import_prefix: str
    hpc_cache_principal_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSettings:
    """Monthly budget; `start_month` (YYYY-MM) is None for the month of the first deployment.

    Without an `email` the alerts go to the owners of the subscription.
    """

    amount_per_month: float
    email: str | None
    start_month: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The whole configuration of one cluster."""

    cluster_name: str
    location: str
    zone: str
    node_count: int
    node_type: NodeType
    capacity: str
    reservation_id: str
    allow_split_fabric: bool
    spot_eviction_policy: str
    encryption_at_host: bool
    shared_storage: SharedStorage
    controller_instance_type: str
    controller_image: Image
    partition: str
    admin_username: str
    admin_ssh_public_key: str
    addresses: AddressPlan
    bastion_enabled: bool
    storage_sku: str
    budget: BudgetSettings | None
    tags: Mapping[str, str]

    @property
    def scale_set_sizes(self) -> tuple[int, ...]:
        """Nodes per scale set, as even as possible. One scale set is one InfiniBand domain."""
        return even_split(self.node_count, self.node_type.max_nodes_per_scale_set)

    @property
    def node_ceiling(self) -> int:
        """Nodes that the scale sets can grow to.

        The controller is told this number and not `node_count`, because Azure cannot change the user-data of a virtual
        machine: resizing a scale set must not replace the controller.
        """
        return len(self.scale_set_sizes) * self.node_type.max_nodes_per_scale_set


def even_split(nodes: int, most: int) -> tuple[int, ...]:
    """Split `nodes` over as few sets of at most `most` as possible, none more than one larger than another.

    >>> even_split(101, 100)
    (51, 50)
    >>> even_split(0, 100)
    (0,)
    """
    sets = max(1, -(-nodes // most))
    return tuple(nodes // sets + (1 if index < nodes % sets else 0) for index in range(sets))
