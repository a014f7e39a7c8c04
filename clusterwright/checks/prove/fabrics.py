"""Proof of the two fabric files: OpenSM routes them, and they join what the plan joins."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from clusterwright.checks.prove.fabric.proof import Budget, Proof, prove_netlist
from clusterwright.checks.prove.fabric.reading import named_wires, read_netlist
from clusterwright.checks.prove.fabric.subnet_manager import NotRoutedError, expected_seconds, missing_engine
from clusterwright.checks.prove.records import NOT_PROVEN, Documents, Result, found, judged, skipped, unknown
from clusterwright.errors import ClusterwrightError, Finding, InputError
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
from clusterwright.units import counted

_ENGINE = "OpenSM over ibsim"
#: Cables that are named in one message.
_SHOWN = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Routing:
    """Which fabrics are routed, and in what time.

    Attributes:
        chosen: names of fabrics, such as `p1` and `storage`; None for all that there are.
        within_s: for all of them together; None for no limit.
    """

    chosen: frozenset[str] | None = None
    within_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Network:
    """One fabric: its file, what the plan says of it, and whose ports send to each other in the shifts."""

    name: str
    part: str
    file: str
    fabric: Fabric
    names: TreeNames
    links: Callable[[Inventory], Iterable[Link]]
    kind: str


def prove_fabrics(
    documents: Documents, routing: Routing | None = None, progress: Callable[[str], None] = lambda _: None
) -> Iterator[Result]:
    """Yield the proof of the compute fabric and of the storage network, where they are InfiniBand, one after the other.

    Args:
        documents: the folder.
        routing: what is routed, and in what time; everything without a limit if None.
        progress: called with what is being done.

    Raises:
        InputError: a fabric was chosen that the folder does not have.
    """
    routing, networks = routing or Routing(), _networks(documents)
    names = [network.name for network in networks]
    foreign = sorted((routing.chosen or frozenset()) - set(names))
    if foreign:
        there = f"the folder has {', '.join(names)}" if names else "the folder has none: its fabrics are Ethernet"
        raise InputError(f"there is no fabric {foreign[0]} to route", help=there)
    until = None if routing.within_s is None else time.monotonic() + routing.within_s
    for number, network in enumerate(networks, start=1):
        of = f" ({number} of {len(networks)})" if len(networks) > 1 else ""
        about = f"{network.part}{of}"
        budget = Budget(until=until, progress=lambda said, about=about: progress(f"{about}: {said}"))  # type: ignore[misc]
        if not missing_engine() and (routing.chosen is None or network.name in routing.chosen):
            progress(f"proving {about}{_about(network)}")
        yield _proven(documents, network, routing, budget)


def _networks(documents: Documents) -> list[_Network]:
    inventory = documents.design.inventory
    if inventory.compute_network != INFINIBAND_NETWORK:
        return []
    found_here = []
    for plane in inventory.each_plane():
        several = plane.count > 1
        found_here.append(
            _Network(
                name=f"p{plane.number + 1}" if several else "compute",
                part=f"compute fabric, plane {plane.number + 1}" if several else "compute fabric",
                file=f"fabric-p{plane.number + 1}.ibnetdiscover" if several else "fabric.ibnetdiscover",
                fabric=inventory.fabric,
                names=compute_names(inventory.fabric, plane),
                links=partial(compute_plane, plane=plane),
                kind="node",
            )
        )
    return [
        *found_here,
        _Network(
            name="storage",
            part="storage network",
            file="storage.ibnetdiscover",
            fabric=inventory.storage_fabric,
            names=storage_names(),
            links=storage_network,
            kind="nic",
        ),
    ]


def _about(network: _Network) -> str:
    """Return how many ports are routed, and about how long that takes, from a minute on."""
    ports = network.fabric.nodes * network.fabric.ports_per_node
    minutes = expected_seconds(ports) / 60
    return f": {ports:,} ports" + (f", about {minutes:,.0f} min of a processor" if minutes >= 1 else "")


def _proven(  # noqa: PLR0911 - one return for each reason
    documents: Documents, network: _Network, routing: Routing, budget: Budget
) -> Result:
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
    left_s = budget.left_s()
    if routing.chosen is not None and network.name not in routing.chosen:
        return _not_routed(network, files, differing, "it is not among the fabrics that were chosen (--route)")
    if left_s is not None and left_s <= 0:
        return _not_routed(network, files, differing, "the time was over before it came (--within)")
    try:
        proof = prove_netlist(
            fabric=network.fabric,
            plan=read,
            names=network.names,
            ends=None if network.kind == "node" else len(planned.adapters),
            kind=network.kind,
            text=path.read_text(encoding="utf-8"),
            budget=budget,
        )
    except NotRoutedError as error:
        return _not_routed(network, files, differing, f"{error.message}, of what the time for all left it (--within)")
    except ClusterwrightError as error:
        return Result(
            part=network.part, files=files, engine=_ENGINE, state=NOT_PROVEN, findings=(*differing, _said(error))
        )
    return judged(network.part, files, f"{proof.engine} over ibsim", facts(proof), [*differing, *proof.findings])


def _not_routed(network: _Network, files: tuple[str, ...], differing: list[Finding], reason: str) -> Result:
    """Return that nobody knows whether a fabric holds; what its cables alone show is not forgotten."""
    if differing:
        return judged(network.part, files, "comparison with the plan", [], differing)
    return unknown(network.part, files, _ENGINE, f"not routed: {reason}")


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
    ways = ", ".join(f"{count:,} through {counted(length, 'switch')}" for length, count in proof.pairs_by_switches)
    counts = (counted(proof.adapters, "port"), counted(proof.switches, "switch"), counted(proof.cables, "cable"))
    lines = [", ".join(counts), f"{pairs:,} pairs of ports: {ways}"]
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
