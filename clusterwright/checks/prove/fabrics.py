"""Proof of the two fabric files: OpenSM routes them, and they join what the plan joins."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from clusterwright.checks.prove.fabric.proof import Proof, prove_netlist
from clusterwright.checks.prove.fabric.reading import named_wires, read_netlist
from clusterwright.checks.prove.fabric.subnet_manager import expected_seconds, missing_engine
from clusterwright.checks.prove.records import NOT_PROVEN, Documents, Result, found, judged, skipped
from clusterwright.errors import ClusterwrightError, Finding
from clusterwright.facility.cabling.links import (
    Link,
    TreeNames,
    compute_names,
    compute_plane,
    storage_names,
    storage_network,
)
from clusterwright.facility.cabling.netlist import Netlist, netlist
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK
from clusterwright.facility.inventory import Inventory

_ENGINE = "OpenSM over ibsim"
#: Cables that are named in one message.
_SHOWN = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class _Network:
    """One fabric: its file, what the plan says of it, and whose ports send to each other in the shifts."""

    part: str
    file: str
    fabric: Fabric
    names: TreeNames
    links: Callable[[Inventory], Iterable[Link]]
    kind: str


def prove_fabrics(documents: Documents) -> Iterator[Result]:
    """Yield the proof of the compute fabric and of the storage network, where they are InfiniBand."""
    inventory = documents.design.inventory
    if inventory.compute_network != INFINIBAND_NETWORK:
        return
    for plane in inventory.each_plane():
        several = plane.count > 1
        yield _proven(
            documents,
            _Network(
                part=f"compute fabric, plane {plane.number + 1}" if several else "compute fabric",
                file=f"fabric-p{plane.number + 1}.ibnetdiscover" if several else "fabric.ibnetdiscover",
                fabric=inventory.fabric,
                names=compute_names(inventory.fabric, plane),
                links=partial(compute_plane, plane=plane),
                kind="node",
            ),
        )
    yield _proven(
        documents,
        _Network(
            part="storage network",
            file="storage.ibnetdiscover",
            fabric=inventory.storage_fabric,
            names=storage_names(),
            links=storage_network,
            kind="nic",
        ),
    )


def fabrics_words(documents: Documents) -> str:
    """Return what is done and about how long it takes, in minutes from one on."""
    inventory = documents.design.inventory
    if inventory.compute_network != INFINIBAND_NETWORK or missing_engine():
        return "fabrics"
    planes = inventory.each_plane()
    ports = inventory.fabric.nodes * inventory.fabric.ports_per_node
    minutes = len(planes) * expected_seconds(ports) / 60
    several = f"{len(planes)} planes of " if len(planes) > 1 else ""
    about = f", about {minutes:.0f} min" if minutes >= 1 else ""
    return f"fabrics: OpenSM routes {several}{ports:,} ports{about}"


def _proven(documents: Documents, network: _Network) -> Result:
    path = documents.site / network.file
    files = (documents.name(path),)
    planned = netlist(links=network.links(documents.design.inventory), radix=network.fabric.radix)
    try:
        read = _in_planned_order(read_netlist(path, {one.device: one.kind for one in planned.adapters}), planned)
    except ClusterwrightError as error:
        return judged(network.part, files, _ENGINE, [], [_said(error)])
    differing = list(_differing(network, read, planned))
    reason = missing_engine()
    if reason:
        if differing:
            return judged(network.part, files, "comparison with the plan", [], differing)
        return skipped(network.part, files, _ENGINE, reason)
    try:
        proof = prove_netlist(
            fabric=network.fabric,
            plan=read,
            names=network.names,
            ends=None if network.kind == "node" else len(planned.adapters),
            kind=network.kind,
            text=path.read_text(encoding="utf-8"),
        )
    except ClusterwrightError as error:
        return Result(
            part=network.part, files=files, engine=_ENGINE, state=NOT_PROVEN, findings=(*differing, _said(error))
        )
    return judged(network.part, files, f"{proof.engine} over ibsim", facts(proof), [*differing, *proof.findings])


def _said(error: ClusterwrightError) -> Finding:
    return found("FAB010", error.message, error.help or "write the folder again")


def _in_planned_order(read: Netlist, planned: Netlist) -> Netlist:
    """Return the fabric with its ports in the order of the plan, which the proof counts units by."""
    order = {(adapter.device, adapter.port): index for index, adapter in enumerate(planned.adapters)}
    adapters = sorted(read.adapters, key=lambda one: order.get((one.device, one.port), len(order)))
    return Netlist(radix=read.radix, switches=read.switches, adapters=tuple(adapters), wires=read.wires)


def _differing(network: _Network, read: Netlist, planned: Netlist) -> Iterator[Finding]:
    """Compare the cables of the file with those of the plan, by names."""
    in_file, in_plan = named_wires(read), named_wires(planned)
    for cables, words in ((in_file - in_plan, "not in the plan"), (in_plan - in_file, "of the plan missing")):
        if cables:
            shown = ", ".join(sorted(_words(cable) for cable in cables)[:_SHOWN])
            yield found(
                "FAB009",
                f"{network.file}: {len(cables):,} cables {words}, such as {shown}",
                "join the ports as planned, or write the folder again from a blueprint that plans it so",
            )


def _words(cable: frozenset[tuple[str, int]]) -> str:
    return " - ".join(f"{device}:{port}" for device, port in sorted(cable))


def facts(proof: Proof) -> list[str]:
    """Return what was found of a routed fabric, a line each."""
    pairs = sum(count for _, count in proof.pairs_by_switches)
    ways = ", ".join(f"{count:,} through {length}" for length, count in proof.pairs_by_switches)
    lines = [
        f"{proof.adapters:,} ports, {proof.switches:,} switches, {proof.cables:,} cables",
        f"{pairs:,} pairs of ports: {ways} switches",
    ]
    if proof.destinations_per_uplink and proof.destinations_per_downlink:
        up, down = proof.destinations_per_uplink, proof.destinations_per_downlink
        lines.append(f"{_range(up)} destinations per uplink of a leaf, {_range(down)} per link down to one")
    if proof.shifts:
        flows = "flow" if proof.busiest_link == 1 else "flows"
        lines.append(f"{proof.shifts} shifts of all nodes: at most {proof.busiest_link} {flows} on a link")
    if proof.endpoint_shifts:
        flows = "flow" if proof.busiest_of_all == 1 else "flows"
        lines.append(
            f"{proof.endpoint_shifts} shifts of all endpoints: at most {proof.busiest_of_all} {flows} on a link"
        )
    return lines


def _range(bounds: tuple[int, int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]} to {bounds[1]}"
