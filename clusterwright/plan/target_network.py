"""What a blueprint says of a target's network and power, completed by the fabric that will be built."""

from dataclasses import replace

from clusterwright.blueprint.hardware import speaks_of
from clusterwright.blueprint.networks import node_with_choices
from clusterwright.blueprint.onprem_fabric import fabric_kind
from clusterwright.blueprint.problems import Problem
from clusterwright.blueprint.schema import Blueprint, OnPremTarget
from clusterwright.catalog.records import Catalogue, NodeType
from clusterwright.errors import InputError
from clusterwright.facility.compute_fabric import rail_levels
from clusterwright.facility.fabric_choice import FabricChoice
from clusterwright.facility.site import DesignRules


def fabric_choice(blueprint: Blueprint, node_type: str) -> FabricChoice:
    """Return what the blueprint asks of the compute fabric of a node type to buy, if it speaks of that."""
    asked = blueprint.targets.onprem
    if asked is None or not speaks_of(asked, node_type):
        return FabricChoice()
    return FabricChoice(**asked.fabric.model_dump())


def design_rules(blueprint: Blueprint, node: NodeType) -> DesignRules:
    """Return the rules of an on-premises design: the fabric that is asked for, and what a node was sized with."""
    return DesignRules(
        fabric=fabric_choice(blueprint, node.id),
        leaf_oversubscription=node.network.leaf_oversubscription,
        spine_oversubscription=node.network.spine_oversubscription,
        power_cap_w=node.power_cap_w,
    )


def with_levels(blueprint: Blueprint, node: NodeType, catalogue: Catalogue) -> NodeType:
    """Return a node to buy with the accelerators below a leaf and below spines, where its network makes them matter.

    Without oversubscription, and with collectives that do not care for leaves, levels change nothing and stay unknown.

    Raises:
        InputError, MissingFactError: the fabric of the system cannot be designed.
    """
    network = node.network
    narrow = max(network.leaf_oversubscription, network.spine_oversubscription) > 1
    if node.id not in catalogue.systems or not (narrow or network.leafwise or network.in_network):
        return node
    leaf, spine = rail_levels(catalogue.systems[node.id], rules=design_rules(blueprint, node), catalogue=catalogue)
    return replace(
        node, network=replace(network, leaf_gpus=float(leaf * node.gpus), spine_gpus=float(spine * node.gpus))
    )


def node_as_asked(blueprint: Blueprint, target: str, node: NodeType, catalogue: Catalogue) -> NodeType:
    """Return a node type with what the blueprint asks of a target, if that target speaks of it, else as it is.

    Raises:
        InputError: the node type cannot do what is asked.
    """
    asked = getattr(blueprint.targets, target)
    if asked is None or not speaks_of(asked, node.id):
        return node
    problems: list[Problem] = []
    path = ("targets", target)
    if isinstance(asked, OnPremTarget):
        kind = fabric_kind(problems, (*path, "fabric"), asked.fabric, catalogue)
        node = replace(node, network_kind=kind or node.network_kind)
    chosen = node_with_choices(problems, path, node, network=asked.network, power_cap_w=asked.power_cap)
    if problems:
        raise InputError(problems[0].message, help=problems[0].help)
    return with_levels(blueprint, chosen, catalogue)
