"""The plan's own sums: what `plan.json` counts is in the racks and between them, and multiplies out."""

from collections.abc import Iterator
from dataclasses import fields
from math import isclose

from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.papers import absent
from clusterwright.errors import Finding
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.hall.power_summary import PowerSummary
from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningPlan
from clusterwright.plan.training.record import TrainingOption, TrainingPlan

FILE = "plan.json"
_ID = "PLN001"
#: Relative difference that rounding in a table may make.
_ROUNDING = 1e-6


def _same(found: object, expected: object) -> bool:
    if isinstance(found, int | float) and isinstance(expected, int | float):
        return isclose(found, expected, rel_tol=_ROUNDING, abs_tol=1e-9)
    return found == expected


def _compared(what: str, found: object, expected: object, rule: str) -> Iterator[Finding]:
    if not _same(found, expected):
        yield absent(_ID, FILE, what, found, expected, rule)


def summed(hall: Hall) -> Iterator[Finding]:
    """Yield sums of the plan that tables and products do not have."""
    design, option = hall.papers.documents.design, hall.papers.documents.option
    inventory = design.inventory
    for field in fields(PowerSummary):
        found, expected = getattr(design.power, field.name), getattr(hall.power, field.name)
        yield from _compared(f"power.{field.name}", found, expected, "racks.csv adds up to it")
    yield from _compared("it_power_w", option.cluster.it_power_w, hall.power.it_w, "racks.csv adds up to it")
    kinds = [rack.kind for rack in hall.racks]
    for name, kind in (("compute_racks", "compute"), ("network_racks", "network"), ("service_racks", "services")):
        yield from _compared(name, getattr(design, name), kinds.count(kind), "racks.csv has them")
    strips = sum(rack.pdus for rack in hall.racks)
    yield from _compared("pdus", design.pdus, strips, "netbox/5-devices.csv has them")
    for network, count in sorted(hall.networks.items()):
        yield from _compared(f"cables.{network}", design.cables.get(network), count, "cables.csv has them")
    gpus = inventory.nodes * hall.system.gpus
    yield from _compared("inventory.gpus", inventory.gpus, gpus, "nodes times the GPUs of one")
    yield from _compared("nodes", option.cluster.nodes, inventory.nodes, "the inventory has them")
    yield from _compared("gpus", option.cluster.gpus, gpus, "nodes times the GPUs of one")
    hosts = sum(place["part"] == _host_part(hall) for place in hall.papers.standing.values())
    yield from _compared("the hosts", inventory.nodes * inventory.hosts_per_node, hosts, "racks.csv has them")


def _host_part(hall: Hall) -> str:
    first = hall.papers.standing.get(hall.inventory.hosts()[0])
    return hall.inventory.system if first is None else first["part"]


def multiplied(hall: Hall) -> Iterator[Finding]:
    """Yield what of the layout of a run does not multiply out to GPUs and batch."""
    option, plan = hall.papers.documents.option, hall.papers.documents.plan
    if isinstance(option, FinetuningOption) and isinstance(plan, FinetuningPlan):
        yield from _tuned(option, plan)
    if not isinstance(option, TrainingOption) or not isinstance(plan, TrainingPlan):
        return
    layout, work = option.performance.layout, plan.workload
    ranks = layout.tp * layout.pp * layout.cp * layout.dp
    gpus = option.training_nodes * option.cluster.gpus_per_node
    yield from _compared("tp × pp × cp × dp of the layout", ranks, gpus, "nodes that train times the GPUs of one")
    batch = layout.micro_batch * layout.micro_batches * layout.dp
    rule = "micro-batch × micro-batches × replicas"
    yield from _compared("the layout's sequences of a step", batch, work.global_batch_sequences, rule)


def _tuned(option: FinetuningOption, plan: FinetuningPlan) -> Iterator[Finding]:
    performance, work = option.performance, plan.workload
    layout = performance.layout
    gpus = option.training_nodes * option.cluster.gpus_per_node
    working = layout.gpus + performance.idle_gpus
    yield from _compared(
        "accelerators that work and idle ones", working, gpus, "nodes that train times the GPUs of one"
    )
    rule = "groups of the layout times the accelerators of each"
    yield from _compared("the layout's accelerators", layout.gpus, layout.data * layout.tensor, rule)
    batch = layout.micro_batch * layout.data * layout.accumulation // (2 if work.objective == "dpo" else 1)
    rule = "sequences of a pass × groups × passes"
    yield from _compared("the workload's samples of an update", work.global_batch_sequences, batch, rule)


def fabrics(hall: Hall) -> Iterator[Finding]:
    """Yield counts of a fabric that its own switches, ports and ratios do not give."""
    inventory, rules = hall.inventory, hall.design.rules
    for name, fabric in (("fabric", inventory.fabric), ("storage_fabric", inventory.storage_fabric)):
        if fabric.levels == 1:
            continue
        yield from _trunks(name, fabric)
        most = {
            "leaf_ports_used": fabric.leaf * fabric.radix,
            "spine_ports_used": fabric.spine * fabric.radix,
            "core_ports_used": fabric.core * fabric.radix,
        }
        for key, ports in most.items():
            if getattr(fabric, key) > ports:
                what, rule = f"inventory.{name}.{key}", "switches times ports"
                yield absent(_ID, FILE, what, getattr(fabric, key), f"at most {ports:,}", rule)
    fabric = inventory.fabric
    if fabric.levels > 1:
        down = max((fabric.down_ports(leaf) for leaf in range(fabric.leaf)), default=0)
        ratio = down / max(1, fabric.uplinks_per_leaf)
        if ratio > rules.leaf_oversubscription * (1 + _ROUNDING):
            what, rule = (
                "downlinks over uplinks of a leaf",
                "rules.leaf_oversubscription: the plan's speed counts on it",
            )
            yield absent(_ID, FILE, what, round(ratio, 3), f"at most {rules.leaf_oversubscription:g}", rule)


def _trunks(name: str, fabric: Fabric) -> Iterator[Finding]:
    uplinks = fabric.leaf * fabric.uplinks_per_leaf
    rule = "leaves times their uplinks"
    yield from _compared(f"inventory.{name}.leaf_spine_cables", fabric.leaf_spine_cables, uplinks, rule)
    if fabric.core:
        above = fabric.spine * fabric.uplinks_per_spine
        rule = "spines times their uplinks"
        yield from _compared(f"inventory.{name}.spine_core_cables", fabric.spine_core_cables, above, rule)
