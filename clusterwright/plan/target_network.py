"""What a blueprint says of a target's network and power, completed by the fabric that will be built."""

from dataclasses import replace

from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.rules.hardware import speaks_of
from clusterwright.blueprint.schema import Blueprint, OnPremTarget
from clusterwright.blueprint.sections.networks import node_with_choices
from clusterwright.blueprint.sections.onprem_fabric import OnPremNode, fabric_kind
from clusterwright.catalog import lookup
from clusterwright.catalog.records import Catalogue, NodeType
from clusterwright.errors import InputError
from clusterwright.facility.fabric.compute import rail_levels
from clusterwright.facility.site import DesignRules, FabricChoice, NodeFacts


def asked_of(blueprint: Blueprint, node_type: str, catalogue: Catalogue) -> OnPremTarget | None:
    """Return the on-premises section if it speaks of a node type, by whatever name; else None."""
    asked = blueprint.targets.onprem
    if asked is None:
        return None
    by_name = asked.system is not None and lookup.system(catalogue, asked.system).id == node_type
    return asked if by_name or speaks_of(asked, node_type) else None


def design_rules(blueprint: Blueprint, node: NodeType, catalogue: Catalogue) -> DesignRules:
    """Return the rules of an on-premises design: the fabric that is asked for, and what a node was sized with."""
    asked = asked_of(blueprint, node.id, catalogue)
    return DesignRules(
        fabric=FabricChoice() if asked is None else FabricChoice(**asked.fabric.model_dump()),
        node=_node_facts(None if asked is None else asked.node),
        leaf_oversubscription=node.network.leaf_oversubscription,
        spine_oversubscription=node.network.spine_oversubscription,
        power_cap_w=node.power_cap_w,
    )


def _node_facts(told: OnPremNode | None) -> NodeFacts:
    if told is None:
        return NodeFacts()
    return NodeFacts(power_w=told.power, height_u=told.height, weight_kg=told.weight)


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
    leaf, spine = rail_levels(
        catalogue.systems[node.id], rules=design_rules(blueprint, node, catalogue), catalogue=catalogue
    )
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
