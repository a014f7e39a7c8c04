"""Network, key and bucket that somebody else made: taken by id, never changed.

What has to hold of them is written down in README.md; what can be read from their ids is checked here.
"""

import re
from dataclasses import dataclass

from gpu_cluster.config_values import Values
from gpu_cluster.node_type import NodeType
from gpu_cluster.place import Place

NETWORK = r"projects/[a-z0-9.:-]+/global/networks/[a-z0-9-]+"
SUBNETWORK = r"projects/[a-z0-9.:-]+/regions/[a-z0-9-]+/subnetworks/[a-z0-9-]+"
KEY = r"projects/[a-z0-9.:-]+/locations/[a-z0-9-]+/keyRings/[A-Za-z0-9_-]+/cryptoKeys/[A-Za-z0-9_-]+"
BUCKET = r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExistingNetwork:
    """Networks that are taken instead of being made."""

    network: str
    subnetwork: str
    gpu_subnetworks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Existing:
    """What exists already; None for what the program makes."""

    network: ExistingNetwork | None
    key_id: str | None
    bucket_name: str | None


def read_existing(values: Values, place: Place, node_type: NodeType) -> Existing:
    """Read the section `existingNetwork`, in which everything is optional."""
    section = values.optional_section("existingNetwork") or Values(values={})
    existing = Existing(
        network=_read_network(section, place, node_type),
        key_id=section.optional_text("keyId", KEY, "projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY"),
        bucket_name=section.optional_text("bucketName", BUCKET, "the name of a bucket, without gs://"),
    )
    found = re.search(r"/locations/([^/]+)/", existing.key_id or "")
    if found and found[1] != place.region:
        section.fail("keyId", f"is in {found[1]}; disks and file system need a key in {place.region}")
    section.refuse_unknown()
    return existing


def _read_network(section: Values, place: Place, node_type: NodeType) -> ExistingNetwork | None:
    meaning = "projects/PROJECT/regions/REGION/subnetworks/NAME"
    gpu_subnetworks = section.texts("gpuSubnetworks", SUBNETWORK, meaning)
    if not section.has("network") and not section.has("subnetwork"):
        if gpu_subnetworks:
            section.fail("gpuSubnetworks", "needs network and subnetwork beside it: all networks exist, or none")
        return None
    network = ExistingNetwork(
        network=section.text("network", NETWORK, "projects/PROJECT/global/networks/NAME"),
        subnetwork=section.text("subnetwork", SUBNETWORK, meaning),
        gpu_subnetworks=gpu_subnetworks,
    )
    _check(section, network, place, node_type)
    return network


def _check(section: Values, existing: ExistingNetwork, place: Place, node_type: NodeType) -> None:
    wanted = len(node_type.further_nic_types)
    if len(existing.gpu_subnetworks) != wanted:
        section.fail(
            "gpuSubnetworks",
            f"{node_type.instance_type} needs {wanted} beside the primary one "
            f"({node_type.gpu_networks} with gVNIC, then {wanted - node_type.gpu_networks} of the RDMA network), "
            f"got {len(existing.gpu_subnetworks)}",
        )
    subnetworks = (existing.subnetwork, *existing.gpu_subnetworks)
    if len(set(subnetworks)) != len(subnetworks):
        section.fail("gpuSubnetworks", "every interface needs a subnetwork of its own, and one is listed twice")
    for key, subnetwork in (
        ("subnetwork", existing.subnetwork),
        *((f"gpuSubnetworks.{index}", one) for index, one in enumerate(existing.gpu_subnetworks)),
    ):
        found = re.search(r"/regions/([^/]+)/", subnetwork)
        if found and found[1] != place.region:
            section.fail(key, f"is in {found[1]}, not in {place.region}")
