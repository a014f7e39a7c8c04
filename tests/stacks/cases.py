"""Which projects are proven: every stack × instance type × size, and the ways to buy capacity."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.sampling import EVERY_CASE

from .projects import INSTANCES, SCHEDULERS, Case, declares, has_stack

#: Key, or `section.field`, and value.
Changes = tuple[tuple[str, Any], ...]
_BLOCK: Changes = (("capacity", "capacity-block"), ("reservationId", "cr-0123456789abcdef0"))
_FLEX: Changes = (("capacity", "flex-start"),)
#: Types that are not sold as capacity blocks (EC2 DescribeInstanceTypes).
_NO_BLOCK = ("g6e.48xlarge",)
#: The largest slice of TPU v5p for one job has 6,144 chips, four to a host.
_SLICE_HOSTS = 1536
#: The most that a program takes at all where no object of the cloud has a lower limit.
_PROGRAM_LIMIT = 4096
#: Nodes of AKS, 31 addresses each, in the nodes' half of a /16 network, beside two for system work.
_NODES_IN_A_16 = 1054


def limit_of(cloud: str, instance: str) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return the most nodes of a type, and the configuration in which that limit binds.

    A capacity block holds 64 instances, an InfiniBand scale set 300 machines (288 in whole racks of 18 would be the
    most for GB200, whose next size is 306), a flex-start request on A3 256 nodes; elsewhere the program's own limit.
    """
    if cloud == "aws":
        return (_PROGRAM_LIMIT, ()) if instance in _NO_BLOCK else (64, _BLOCK)
    if cloud == "azure":
        return (288 if "GB200" in instance else 300), ()
    if instance.startswith("ct5p-"):
        return _SLICE_HOSTS, ()
    return (256, _FLEX) if instance.startswith("a3-") else (_PROGRAM_LIMIT, ())


def stacks() -> list[tuple[str, str]]:
    """Return cloud and scheduler of every stack."""
    return [(cloud, scheduler) for cloud in INSTANCES for scheduler in SCHEDULERS if has_stack(cloud, scheduler)]


def compact() -> list[Case]:
    """Return what continuous integration runs: one node, and each type's limit."""
    return [
        Case(cloud=cloud, instance=instance, nodes=nodes, scheduler=scheduler, changes=changes)
        for cloud, scheduler in stacks()
        for instance in INSTANCES[cloud]
        for nodes, changes in ((1, ()), limit_of(cloud, instance))
    ]


#: One type of each cloud for what does not depend on the type.
TYPICAL = {"aws": "p5.48xlarge", "azure": "Standard_ND96isr_H100_v5", "gcp": "a3-ultragpu-8g"}
_AZURE_GROUP = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/theirs/providers"
_AZURE_NETWORK = f"{_AZURE_GROUP}/Microsoft.Network/virtualNetworks/theirs"
_GOOGLE_SUBNETWORK = "projects/host/regions/us-central1/subnetworks"
_WATCHED: Changes = (("timeToLiveHours", 72), ("stopWhenIdleMinutes", 60))
#: Ways to buy capacity, beside on demand, and what an account holds already.
VARIANTS: Mapping[str, Mapping[str, Changes]] = {
    "aws": {
        "spot": (("capacity", "spot"),),
        "reservation": (("capacity", "reservation"), ("reservationId", "cr-0123456789abcdef0")),
        "capacity block": _BLOCK,
        "existing network": (
            ("existingNetwork.vpcId", "vpc-0aaaaaaaaaaaaaaa0"),
            ("existingNetwork.nodeSubnetId", "subnet-0aaaaaaaaaaaaaaa1"),
            ("existingNetwork.serviceSubnetIds", ("subnet-0aaaaaaaaaaaaaaa2", "subnet-0aaaaaaaaaaaaaaa3")),
        ),
        "existing key and bucket": (
            ("existingNetwork.keyArn", "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"),
            ("existingNetwork.bucketName", "their-training-data"),
        ),
        "time to live": _WATCHED,
    },
    "azure": {
        "spot": (("capacity", "spot"),),
        "existing network": (
            ("existingNetwork.virtualNetworkId", _AZURE_NETWORK),
            ("existingNetwork.nodeSubnetId", f"{_AZURE_NETWORK}/subnets/nodes"),
            ("existingNetwork.serviceSubnetId", f"{_AZURE_NETWORK}/subnets/services"),
            ("existingNetwork.lustreSubnetId", f"{_AZURE_NETWORK}/subnets/lustre"),
        ),
        "time to live": _WATCHED,
    },
    "gcp": {
        "spot": (("capacity", "spot"),),
        "reservation": (("capacity", "reservation"), ("reservationId", "dense-1")),
        "flex-start": _FLEX,
        "existing network": (
            ("existingNetwork.network", "projects/host/global/networks/shared"),
            ("existingNetwork.subnetwork", f"{_GOOGLE_SUBNETWORK}/nodes"),
            ("existingNetwork.gpuSubnetworks", tuple(f"{_GOOGLE_SUBNETWORK}/gpu-{number}" for number in range(9))),
        ),
        "existing bucket": (("existingNetwork.bucketName", "their-training-data"),),
        "existing key": (
            ("existingNetwork.keyId", "projects/host/locations/us-central1/keyRings/theirs/cryptoKeys/training"),
            ("grantKeyUse", False),
        ),
        "time to live": _WATCHED,
    },
}


def variants() -> list[Case]:
    """Return each stack's typical type at 4 nodes: on demand, and in every other way."""
    return [
        Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4, scheduler=scheduler, changes=changes)
        for cloud, scheduler in stacks()
        for changes in ((), *VARIANTS[cloud].values())
        if all(declares(cloud, scheduler, key) for key, _ in changes)
    ]


def beyond() -> list[Case]:
    """Return the same types with one node too many (for GB200 one rack)."""
    return [
        Case(
            cloud=cloud,
            instance=instance,
            nodes=nodes + (18 if "GB200" in instance else 1),
            scheduler=scheduler,
            changes=changes,
        )
        for cloud, scheduler in stacks()
        for instance in INSTANCES[cloud]
        for nodes, changes in (limit_of(cloud, instance),)
    ]


def full() -> list[Case]:
    """Return the long matrix: sizes up to 2,048 nodes and every way to buy capacity."""
    sizes = (2, 8, 64, 65, 128, 256, 300, 512, 1024, 2048)
    cases: list[Case] = []
    for cloud, scheduler in stacks():
        for instance in INSTANCES[cloud]:
            one = Case(cloud=cloud, instance=instance, nodes=8, scheduler=scheduler)
            for nodes in (size for size in sizes if _fits(instance, size)):
                racks = -(-nodes // 18) * 18 if "GB200" in instance and nodes > 18 else nodes
                split = (
                    (("allowSplitFabric", True),) if cloud == "azure" and racks > limit_of(cloud, instance)[0] else ()
                )
                # On AKS a node takes 31 addresses with its pods: more nodes fill their half of a /16 network.
                wide: Changes = (
                    (("vnetAddressSpace", "10.64.0.0/14"),)
                    if (cloud, scheduler) == ("azure", "kubernetes") and racks > _NODES_IN_A_16
                    else ()
                )
                cases.append(replace(one, nodes=racks, changes=(*split, *wide)))
            cases += [replace(one, changes=changes) for changes in VARIANTS[cloud].values()]
    return [case for case in cases if _sold(case)]


def _fits(instance: str, nodes: int) -> bool:
    """Tell whether a type comes in a size: TPU slices have a power of two of hosts, up to the limit."""
    return not instance.startswith("ct5p-") or (nodes <= _SLICE_HOSTS and nodes & (nodes - 1) == 0)


def _sold(case: Case) -> bool:
    """Tell whether a type is sold in a case's way, and whether its stack has what the case sets."""
    changes = dict(case.changes)
    # The listed subnetworks are those of types with nine networks beside the primary one.
    if "existingNetwork.network" in changes and case.instance not in ("a3-ultragpu-8g", "a4-highgpu-8g"):
        return False
    # A slice is not scaled to 0 by a watchdog, and flex-start takes no account.
    is_tpu = case.instance.startswith("ct5p-")
    if is_tpu and (
        "timeToLiveHours" in changes or (changes.get("capacity") == "flex-start" and case.scheduler == "slurm")
    ):
        return False
    # Of managed Kubernetes, NVIDIA's nodes report busy GPUs.
    if (
        case.scheduler == "kubernetes"
        and "stopWhenIdleMinutes" in changes
        and case.instance.startswith(("trn", "Standard_ND96isr_MI"))
    ):
        return False
    if case.cloud == "aws" and case.changes == _BLOCK and case.instance in _NO_BLOCK:
        return False
    return all(declares(case.cloud, case.scheduler, key) for key, _ in case.changes)


def chosen() -> list[Case]:
    """Return the compact matrix and the variants, or with `CLUSTERWRIGHT_FULL_MATRIX=1` the full one after them."""
    return compact() + variants() + (full() if EVERY_CASE else [])
