"""One GPU node as the catalogue of instance types describes it: what is rented, what is in it, and how it is wired."""

import difflib
import re
from dataclasses import dataclass

from pulumi_aws import ec2

from gpu_cluster.config_values import Values
from gpu_cluster.interfaces import FabricFacts, InterfaceSlot, fabric_problems, interface_slots

INSTANCE_TYPE = r"[a-z][a-z0-9-]*\.[a-z0-9-]+"
IMAGE = r"ami-[0-9a-f]{8,17}|/aws/service/[A-Za-z0-9/._-]+"
# Graviton and Grace have a g behind the number of the generation: c8g, g5g, p6e-gb200.
ARM_TYPES = r"[a-z]+[0-9]+[a-z]*(g[a-z]*|e-gb[0-9]+)\..*"
CAPACITIES = ("on-demand", "spot", "reservation", "capacity-block")
NODE_TYPE_KEYS = (
    "instanceType",
    "gpusPerNode",
    "gpuType",
    "cpus",
    "memoryMib",
    "fabric",
    "image",
    "networkCards",
    "fabricInterfaces",
    "cardZeroHasFabric",
    "maxInterfacesPerCard",
    "software",
    "capacities",
    "capacityBlockMaxNodes",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeType:
    """Facts of one instance type.

    Attributes:
        software: what drives its accelerators.
        capacities: the ways in which it is sold.
        capacity_block_max_nodes: the most of it that one capacity block holds.
    """

    instance_type: str
    gpus_per_node: int
    gpu_type: str
    cpus: int
    memory_mib: int
    fabric: str
    image: str
    fabric_interfaces: int
    interfaces: tuple[InterfaceSlot, ...]
    software: str
    capacities: tuple[str, ...]
    capacity_block_max_nodes: int


def read_node_type(values: Values) -> NodeType:
    """Read the section `nodeType` and hold its facts against each other."""
    read_so_far = len(values.problems)
    fabric = values.choice("fabric", ("efa", "none"))
    facts = FabricFacts(
        network_cards=values.whole("networkCards", 1, 64),
        fabric_interfaces=values.whole("fabricInterfaces", 0, 64),
        card_zero_has_fabric=values.flag("cardZeroHasFabric"),
        max_interfaces_per_card=values.whole("maxInterfacesPerCard", 1, 64),
    )
    # Values that could not be read would only make the rules between them complain too.
    if len(values.problems) == read_so_far:
        for problem in fabric_problems(facts):
            values.fail("fabricInterfaces", problem)
        if (fabric == "efa") != (facts.fabric_interfaces > 0):
            values.fail("fabric", f"is {fabric}, which contradicts fabricInterfaces {facts.fabric_interfaces}")
    node_type = NodeType(
        instance_type=read_instance_type(values, "instanceType"),
        gpus_per_node=values.whole("gpusPerNode", 0, 16),
        gpu_type=values.text("gpuType", r"[a-z][a-z0-9_-]{0,30}", "a Slurm gres type such as h100"),
        cpus=values.whole("cpus", 1, 4096),
        memory_mib=values.whole("memoryMib", 1024, 2**31),
        fabric=fabric,
        image=values.text("image", IMAGE, "ami-... or an SSM parameter path"),
        fabric_interfaces=facts.fabric_interfaces,
        interfaces=interface_slots(facts),
        software=values.choice("software", ("nvidia", "neuron"), "nvidia"),
        capacities=values.texts("capacities", "|".join(CAPACITIES), f"one of {', '.join(CAPACITIES)}") or CAPACITIES,
        capacity_block_max_nodes=values.whole("capacityBlockMaxNodes", 1, 4096, default=64),
    )
    # Images by id are looked at by AWS alone; the name of a parameter says what processor they are for.
    named = re.search(r"\b(arm64|aarch64|x86_64|amd64)\b", node_type.image)
    is_arm = re.fullmatch(ARM_TYPES, node_type.instance_type) is not None
    if named is not None and (named[1] in ("arm64", "aarch64")) != is_arm:
        right = "arm64" if is_arm else "x86_64"
        values.fail("image", f"is for {named[1]} processors, but those of {node_type.instance_type} are {right}")
    values.refuse_unknown(NODE_TYPE_KEYS)
    return node_type


def read_instance_type(values: Values, key: str, default: str | None = None) -> str:
    """Read the name of an instance type that the installed SDK knows."""
    instance_type = values.text(key, INSTANCE_TYPE, "an EC2 instance type", default)
    if instance_type and instance_type not in {known.value for known in ec2.InstanceType}:
        nearest = difflib.get_close_matches(instance_type, [known.value for known in ec2.InstanceType], n=1)
        hint = f"did you mean {nearest[0]}? " if nearest else ""
        values.fail(key, f"EC2 has no {instance_type} that this pulumi-aws knows; {hint}Else upgrade it")
    return instance_type
