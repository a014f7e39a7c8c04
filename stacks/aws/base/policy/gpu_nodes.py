"""GPU nodes get every interface of their fabric, in one place, and carry the cluster's tags."""

from collections import Counter
from collections.abc import Sequence

from reading import Inputs, objects, texts
from rule import UNKNOWN, Rule

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"
CLUSTER_TAG = "gpu-cluster"
# EFA interfaces of an instance type, and whether its card 0 carries one of them (EC2 DescribeInstanceTypes, 2026-11).
EFA_INTERFACES = {
    "p4d.24xlarge": (4, True),
    "p4de.24xlarge": (4, True),
    "p5.48xlarge": (32, True),
    "p5e.48xlarge": (32, True),
    "p5en.48xlarge": (16, True),
    "p6-b200.48xlarge": (8, True),
    "p6-b300.48xlarge": (16, False),
    "g6e.48xlarge": (4, True),
    "trn1.32xlarge": (8, True),
    "trn2.48xlarge": (16, True),
}


def fabric_interfaces(type_: str, inputs: Inputs) -> Sequence[str]:
    """The template has the interfaces of its type: card 0 plain, EFA beside it and on every other card."""
    instance_type = str(inputs.get("instanceType"))
    if type_ != TEMPLATE or instance_type not in EFA_INTERFACES:
        return []
    count, on_card_zero = EFA_INTERFACES[instance_type]
    extra = [(0, 1, "efa-only")] if on_card_zero else []
    others = range(1, count + 1 - len(extra))
    expected = [(0, 0, "interface"), *extra, *((card, 0, "efa-only") for card in others)]
    found = [
        (one.get("networkCardIndex"), one.get("deviceIndex"), one.get("interfaceType"))
        for one in objects(inputs, "networkInterfaces")
    ]
    # Numbers come as floats from the engine, which are equal to whole ones; so are their hashes.
    if Counter(found) == Counter(expected):
        return []
    wrong = [one for one in found if one not in expected]
    return [f"{instance_type} has {count} EFA interfaces and a plain one; {len(found)} are given, wrong: {wrong[:3]}"]


def interface_settings(type_: str, inputs: Inputs) -> Sequence[str]:
    """Security groups are on each interface and nowhere else, and interfaces go with their node."""
    if type_ != TEMPLATE:
        return []
    interfaces = objects(inputs, "networkInterfaces")
    messages: list[str] = []
    if interfaces and inputs.get("vpcSecurityGroupIds"):
        messages.append("vpcSecurityGroupIds clashes with interfaces: name the groups on each interface")
    if any(not one.get("securityGroups") for one in interfaces):
        messages.append("an interface has no security group")
    if any(str(one.get("deleteOnTermination")).lower() == "false" for one in interfaces):
        messages.append("an interface outlives its node")
    return messages


def placement(type_: str, inputs: Inputs) -> Sequence[str]:
    """A reservation or a placement group decides where nodes are; both together end in InsufficientInstanceCapacity."""
    if type_ == "aws:ec2/capacityBlockReservation:CapacityBlockReservation":
        return ["buys a capacity block: buy it by hand, and name it in reservationId"]
    if type_ != TEMPLATE:
        return []
    placed = any(one.get("groupName") for one in objects(inputs, "placement"))
    targets = [
        target
        for one in objects(inputs, "capacityReservationSpecification")
        for target in objects(one, "capacityReservationTarget")
    ]
    reserved = any(one.get("capacityReservationId") for one in targets)
    market = next((one.get("marketType") for one in objects(inputs, "instanceMarketOptions")), None)
    messages = ["a placement group on top of a reservation"] if placed and reserved else []
    if market == "capacity-block" and not reserved:
        messages.append("a capacity block needs its reservation's id")
    return messages


def one_subnet(type_: str, inputs: Inputs) -> Sequence[str]:
    """A group of nodes stays in one subnet, at the size that was asked for."""
    if type_ != GROUP:
        return []
    messages = ["nodes are in several subnets: EFA does not cross zones"] if len(subnets(inputs)) > 1 else []
    if inputs.get("minSize") != inputs.get("maxSize"):
        messages.append("the group changes its size by itself")
    return messages


def subnets(inputs: Inputs) -> list[str]:
    """The subnets of a group."""
    return texts(inputs, "vpcZoneIdentifiers")


def tags(type_: str, inputs: Inputs) -> Sequence[str]:
    """What nodes are launched from hands the cluster's tag on; the provider tags everything else."""
    if type_ == GROUP:
        handed_on = {one.get("key") for one in objects(inputs, "tags") if one.get("propagateAtLaunch") is True}
        return [] if CLUSTER_TAG in handed_on else [f"does not hand the tag {CLUSTER_TAG} on"]
    if type_ == TEMPLATE:
        tagged = {
            str(one.get("resourceType"))
            for one in objects(inputs, "tagSpecifications")
            for given in objects(one, "tags")
            if CLUSTER_TAG in given or one.get("tags") == UNKNOWN
        }
        return [
            f"launches {kind}s without the tag {CLUSTER_TAG}" for kind in ("instance", "volume") if kind not in tagged
        ]
    return []


RULES = (
    Rule(name="every-fabric-interface", description="Nodes have all EFA interfaces.", check=fabric_interfaces),
    Rule(name="interfaces-with-groups", description="Interfaces have their groups.", check=interface_settings),
    Rule(name="placed-or-reserved", description="Placement and reservation never meet.", check=placement),
    Rule(name="one-place", description="Nodes stay in one subnet, as many as asked for.", check=one_subnet),
    Rule(name="tagged-nodes", description="Nodes carry the cluster's tag.", check=tags),
)
