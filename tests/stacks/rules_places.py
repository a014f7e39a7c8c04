"""Everything of a cluster is in one region, and what nodes share is in their zone and subnet."""

from collections.abc import Iterator
from typing import Any

from clusterwright.checks.preflight.records import Record, Resource

from .kubernetes_nodes import EKS_GROUP, is_gpu_group
from .rules import Problem

#: Inputs that say where something is.
_PLACES = ("region", "zone", "location", "availabilityZone", "nodeLocations")
#: Where what belongs to no region is.
_EVERYWHERE = ("global", "")
GROUP = "aws:autoscaling/group:Group"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
SUBNET = "aws:ec2/subnet:Subnet"


def place_problems(record: Record) -> list[Problem]:
    """Return everything that is elsewhere than the cluster."""
    return [*_regions(record), *_node_subnet(record)]


def _regions(record: Record) -> Iterator[Problem]:
    regions = {
        str(one.inputs.get("region")).lower()
        for one in record.resources
        if one.type in ("pulumi:providers:gcp", "pulumi:providers:aws")
    }
    if len(regions) != 1:
        return
    (region,) = regions
    for one in record.cloud_resources:
        for place in _places(one):
            if place not in _EVERYWHERE and not place.startswith(region):
                yield Problem(id="PLA001", resource=one.name, message=f"is in {place}, the cluster in {region}")


def _places(one: Resource) -> Iterator[str]:
    for name in _PLACES:
        # A zone that was looked up is the provider's.
        if name in one.ignore_changes or one.type.split(":", maxsplit=1)[0] not in ("gcp", "aws"):
            continue
        found: Any = one.inputs.get(name)
        yield from (each.lower() for each in (found if isinstance(found, list) else [found]) if isinstance(each, str))


def _node_subnet(record: Record) -> Iterator[Problem]:
    """Hold nodes and file system on AWS to one subnet, and to the one that is made for them."""
    groups = [one for one in record.of(EKS_GROUP) if is_gpu_group(one)]
    found = [(one.name, each) for one in record.of(GROUP) for each in one.inputs.get("vpcZoneIdentifiers") or []]
    found += [(one.name, each) for one in groups for each in one.inputs.get("subnetIds") or []]
    subnets = {str(each) for _, each in found}
    for one in record.of(LUSTRE):
        subnet = str(one.inputs.get("subnetIds"))
        if subnets and subnet not in subnets:
            yield Problem(
                id="AWS131", resource=one.name, message=f"the file system is in {subnet}, away from the nodes"
            )
    own = {text for one in record.of(SUBNET) if one.name.endswith("-nodes") for text in one.identities}
    for name, subnet in found:
        if own and str(subnet) not in own:
            yield Problem(id="AWS131", resource=name, message=f"is in {subnet}, which is not the node subnet")
