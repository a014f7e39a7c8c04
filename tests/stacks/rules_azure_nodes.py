"""What must hold on Azure of nodes and subnets beside their shape: notices, prices, order, ways out."""

import re
from collections.abc import Iterator, Mapping

from clusterwright.checks.preflight.records import Record, Resource

from .rules import Problem
from .rules_azure_values import at

SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
SUBNET = "azure-native:network:Subnet"
NAT = "azure-native:network:NatGateway"
ENDPOINT = "azure-native:network:PrivateEndpoint"
#: Microsoft, "Terminate notification for virtual machine scale sets": 5 to 15 minutes.
_NOTICE_MINUTES = range(5, 16)


def node_problems(record: Record) -> list[Problem]:
    """Return everything that is wrong with how nodes end, and with what their subnets lack."""
    return [*_sets(record), *_chain(record), *_ways(record)]


def _sets(record: Record) -> Iterator[Problem]:
    for one in record.of(SCALE_SET):
        profile = one.inputs["virtualMachineProfile"]
        notice = str(at(profile, "scheduledEventsProfile.terminateNotificationProfile.notBeforeTimeout"))
        minutes = re.fullmatch(r"PT(\d+)M", notice)
        if minutes is None or int(minutes[1]) not in _NOTICE_MINUTES:
            yield Problem(id="AZ090", resource=one.name, message=f"a notice of {notice}; 5 to 15 minutes are possible")
        security = at(profile, "securityProfile.securityType")
        if security and "_ND" in str(at(one.inputs, "sku.name")):
            yield Problem(id="AZ091", resource=one.name, message=f"{security}: no page of an ND size lists it")
        price = at(profile, "billingProfile.maxPrice")
        if profile.get("priority") == "Spot" and price != -1:
            yield Problem(
                id="AZ092", resource=one.name, message=f"ends when the price passes {price}, not for capacity"
            )


def _chain(record: Record) -> Iterator[Problem]:
    """Hold subnets to an order: Azure changes one subnet of a network at a time, and refuses the others."""
    by_urn = {one.urn: one for one in record.resources}
    subnets = sorted(record.of(SUBNET), key=lambda one: one.urn)
    before = {one.urn: _before(one, by_urn) for one in subnets}
    for place, one in enumerate(subnets):
        for other in subnets[place + 1 :]:
            together = one.urn.split("::")[1] == other.urn.split("::")[1]
            if together and one.urn not in before[other.urn] and other.urn not in before[one.urn]:
                yield Problem(id="AZ093", resource=one.name, message=f"is made at once with {other.name}")


def _before(one: Resource, by_urn: Mapping[str, Resource]) -> set[str]:
    """Return everything that a resource waits for, near and far; a component stands for what is in it."""
    found: set[str] = set()
    ahead = list(one.dependencies)
    while ahead:
        urn = ahead.pop()
        if urn in found:
            continue
        found.add(urn)
        each = by_urn.get(urn)
        if each is not None:
            ahead += each.dependencies
            if not each.custom:
                ahead += [child.urn for child in by_urn.values() if child.parent == urn]
    return found


def _ways(record: Record) -> Iterator[Problem]:
    hosting = {str(at(one.inputs, "subnet.id")) for one in record.of(ENDPOINT)}
    for one in record.of(SUBNET):
        if set(one.identities) & hosting and one.inputs.get("privateEndpointNetworkPolicies") != "Enabled":
            yield Problem(id="AZ094", resource=one.name, message="its rules do not apply to private endpoints")
        needs_way = record.of(NAT) and one.name.endswith(("-nodes", "-lustre"))
        if needs_way and not at(one.inputs, "natGateway.id"):
            yield Problem(id="AZ095", resource=one.name, message="has no way out")
