"""An Ethernet fabric, cabled or planned: ways of equal cost by the structure of the tree, and what loads they make.

No switch software routes here: the tables are those that every shortest-path protocol computes, and a flow is dealt out
evenly over all ways of equal cost. What hashes of real switches do to single flows is not modelled.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from clusterwright.checks.prove.papers import CellError, Papers
from clusterwright.checks.prove.records import NOT_PROVEN, Result, found, judged
from clusterwright.errors import Finding
from clusterwright.facility.cabling.links import Link
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.units import counted

CABLES = "cables.csv"
ENGINE = f"ways of equal cost over {CABLES}"
#: Where the cables of a plan are, in its findings.
PLANNED = "the planned cables"
#: Shifts of all endpoints that are walked, beside those by whole units.
_SHIFTS = (1, 2, 3, 5, 7, 11, 13, 17, 31)
#: Of larger fabrics only this many shifts are walked.
_MANY_LEAVES, _FEW_SHIFTS = 256, 4
#: Leaves whose distances are sought together: as many as keep the matrices of the largest fabrics below 100 MB.
_LEAVES_AT_ONCE = 512
_ROUNDING = 1e-6

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class EthernetFabric:
    """One fabric as it is cabled; switches and ends count from 0.

    Attributes:
        plan: the fabric in counts.
        switches: names; ends: device and port of each, in the order of the plan.
        home: switch of each end; -1 for none.
        links: (cables, 2) switches that a cable between two of them joins.
        cables: links of all tiers.
        order: group of hosts that share leaves, for each end, -1 for ends that are no hosts; rail: of each end.
        source: where the cables are, as findings name it.
    """

    plan: Fabric
    switches: tuple[str, ...]
    ends: tuple[tuple[str, str], ...]
    home: Integers
    links: Integers
    cables: int
    order: Integers
    rail: Integers
    source: str = CABLES


@dataclass(frozen=True, kw_only=True, slots=True)
class EthernetProof:
    """What was measured of a fabric.

    Attributes:
        ends, switches, cables: as they are joined.
        equal_ways: fewest and most ways of equal cost from a leaf to another one; None where there is one leaf.
        busiest_cable: most flows on a cable in any of the shifts of all endpoints, which were dealt out over the ways.
        shifts: how many of these were walked.
        findings: what does not hold; empty for a proven fabric.
    """

    ends: int
    switches: int
    cables: int
    equal_ways: tuple[int, int] | None
    busiest_cable: float
    shifts: int
    findings: tuple[Finding, ...]

    def facts(self) -> list[str]:
        """Return what was found, a line each."""
        counts = (counted(self.ends, "port"), counted(self.switches, "switch"), counted(self.cables, "cable"))
        lines = [", ".join(counts)]
        if self.equal_ways is not None:
            flows = "flow" if self.busiest_cable == 1 else "flows"
            lines += [
                f"{self.equal_ways[0]} ways of equal cost from every leaf to every other one",
                (
                    f"{self.shifts} shifts of all endpoints, dealt out over them: at most {self.busiest_cable:.3g} "
                    f"{flows} on a cable"
                ),
            ]
        return lines


def planned(links: Iterable[Link], plan: Fabric) -> EthernetFabric:
    """Return a network as it is planned.

    Args:
        links: of one plane of it.
        plan: in counts.
    """
    switch_at: dict[str, int] = {}
    homes: dict[tuple[str, int], int] = {}
    joined, hosts, cables = [], dict[str, int](), 0
    for link in links:
        cables += 1
        for end in (link.a, link.b):
            if end.kind == "switch":
                switch_at.setdefault(end.device, len(switch_at))
            elif end.kind == "node":
                hosts.setdefault(end.device, len(hosts))
        if link.a.kind == link.b.kind == "switch":
            joined.append((switch_at[link.a.device], switch_at[link.b.device]))
        else:
            end, switch = (link.b, link.a) if link.a.kind == "switch" else (link.a, link.b)
            homes[end.device, end.port] = switch_at[switch.device]
    ends = sorted(homes, key=lambda end: (hosts.get(end[0], len(hosts)), *end))
    return _fabric(plan, switch_at, {end: homes[end] for end in ends}, joined, hosts, cables=cables, source=PLANNED)


def cabled(papers: Papers, network: str, plan: Fabric, *, plane: str = "") -> EthernetFabric:
    """Return a network as the cable list has it.

    Args:
        papers: of the folder.
        network: `compute` or `storage`.
        plan: in counts.
        plane: that names of switches begin with, where there are several.
    """
    rows = [row for row in papers.rows(CABLES) if row["network"] == network]
    own = [row for row in rows if not plane or row["to_device"].startswith(plane)]
    inventory = papers.documents.design.inventory
    index = {host: number for number, host in enumerate(inventory.hosts())}
    switch_at: dict[str, int] = {}
    homes: dict[tuple[str, str], int] = {}
    links = []

    def is_switch(device: str) -> bool:
        place = papers.place(device)
        return place is not None and place["role"] == "network"

    for row in own:
        a, b = row["from_device"], row["to_device"]
        for device in (a, b):
            if is_switch(device):
                switch_at.setdefault(device, len(switch_at))
        if is_switch(a) and is_switch(b):
            links.append((switch_at[a], switch_at[b]))
        elif is_switch(b):
            homes[a, row["from_port"]] = switch_at[b]
        elif is_switch(a):
            homes[b, row["to_port"]] = switch_at[a]
    ends = sorted(homes, key=lambda end: (index.get(end[0], len(index)), end[0], _natural(end[1])))
    return _fabric(plan, switch_at, {end: homes[end] for end in ends}, links, index, cables=len(own), source=CABLES)


def _fabric(
    plan: Fabric,
    switch_at: Mapping[str, int],
    homes: Mapping[tuple[str, str | int], int],
    links: Sequence[tuple[int, int]],
    hosts: Mapping[str, int],
    *,
    cables: int,
    source: str,
) -> EthernetFabric:
    """Return a fabric from its switches, the switch of each end in the order of the plan, and the numbers of hosts."""
    place_of: defaultdict[str, int] = defaultdict(int)
    rails = []
    for device, _ in homes:
        rails.append(place_of[device] // plan.links_per_rail)
        place_of[device] += 1
    groups = [hosts[device] // plan.nodes_per_leaf if device in hosts else -1 for device, _ in homes]
    return EthernetFabric(
        plan=plan,
        switches=tuple(switch_at),
        ends=tuple((device, str(port)) for device, port in homes),
        home=np.array(list(homes.values()), dtype=np.int64),
        links=np.array(links, dtype=np.int64).reshape(-1, 2),
        cables=cables,
        order=np.array(groups, dtype=np.int64),
        rail=np.array(rails, dtype=np.int64),
        source=source,
    )


def _natural(port: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in port.split("/"))


def distances(fabric: EthernetFabric, leaves: Integers) -> Numbers:
    """Return the fewest links from every leaf to every switch; infinite where there is no way.

    Breadth first from many leaves at once, as products of matrices: one leaf after the other took minutes at 3,072.
    """
    from scipy.sparse import coo_array  # noqa: PLC0415 - kept out of the start-up time

    count = len(fabric.switches)
    near, far = _directed(fabric)
    graph = coo_array((np.ones(near.size, dtype=np.float32), (near, far)), shape=(count, count)).tocsr()
    found_at = np.full((leaves.size, count), np.inf)
    for first in range(0, leaves.size, _LEAVES_AT_ONCE):
        distance = found_at[first : first + _LEAVES_AT_ONCE].T
        frontier = np.zeros(distance.shape, dtype=np.float32)
        frontier[leaves[first : first + _LEAVES_AT_ONCE], np.arange(distance.shape[1])] = 1
        step = 0
        while frontier.any():
            distance[frontier > 0] = step
            step += 1
            frontier = ((graph @ frontier > 0) & np.isinf(distance)).astype(np.float32)
    return found_at


def _directed(fabric: EthernetFabric) -> tuple[Integers, Integers]:
    """Return the ends of every cable in both directions: as listed, then turned round."""
    a, b = fabric.links.T
    return np.concatenate([a, b]), np.concatenate([b, a])


def loads(fabric: EthernetFabric, leaves: Integers, distance: Numbers, flows: Numbers) -> tuple[Numbers, Integers]:
    """Return the load of every cable in both directions by shift, and the fewest and most first ways between leaves.

    Only switches that flows pass are looked at: towards one leaf they are few, of all that a large fabric has.

    Args:
        fabric: as cabled.
        leaves: switches that ends hang on.
        distance: from each leaf to each switch.
        flows: (shifts, leaves, leaves) flows from leaf to leaf.

    Returns:
        loads: (2 cables, shifts); widths: (fewest, most) ways of equal cost that a flow has at its first leaf.
    """
    near, far = _directed(fabric)
    by_near = np.argsort(near, kind="stable")
    near, far = near[by_near], far[by_near]
    start = np.searchsorted(near, np.arange(len(fabric.switches) + 1))
    number_of = np.full(len(fabric.switches), -1)
    number_of[leaves] = np.arange(leaves.size)
    uplinks = np.flatnonzero(number_of[near] >= 0)
    total = np.zeros((near.size, flows.shape[0]))
    widths = [np.iinfo(np.int64).max, 0]
    for number, leaf in enumerate(leaves):
        away = distance[number]
        first = uplinks[away[far[uplinks]] == away[near[uplinks]] - 1]
        others = np.delete(np.bincount(number_of[near[first]], minlength=leaves.size), number)
        if others.size:
            widths = [min(widths[0], int(others.min())), max(widths[1], int(others.max()))]
        here = np.zeros((len(fabric.switches), flows.shape[0]))
        here[leaves] = flows[:, :, number].T
        here[leaf] = 0
        sources = leaves[here[leaves].any(axis=1)]
        passed = np.empty(0, dtype=np.int64)
        for step in range(int(away[sources].max(initial=0)), 0, -1):
            at = np.union1d(passed, sources[away[sources] == step])
            taken = _cables_of(start, at)
            taken = taken[away[far[taken]] == step - 1]
            width = np.bincount(near[taken], minlength=len(fabric.switches))
            share = here[near[taken]] / width[near[taken], None]
            total[taken] += share
            np.add.at(here, far[taken], share)
            passed = np.unique(far[taken])
    as_listed = np.empty_like(total)
    as_listed[by_near] = total
    return as_listed, np.array(widths)


def _cables_of(start: Integers, switches: Integers) -> Integers:
    """Return the numbers of all cables that leave some switches, where those of a switch follow each other.

    >>> _cables_of(np.array([0, 2, 5]), np.array([1])).tolist()
    [2, 3, 4]
    """
    counts = start[switches + 1] - start[switches]
    before = np.repeat(start[switches] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    return before + np.arange(int(counts.sum()))


def prove_ethernet(
    papers: Papers, part: str, network: str, plan: Fabric, *, plane: str = "", ends: int | None = None
) -> Result:
    """Return what holds of an Ethernet fabric as it is cabled, see `walk_ethernet`.

    Args:
        papers: of the folder.
        part: its name in the proof.
        network: `compute` or `storage`.
        plan: in counts.
        plane: that names of switches begin with, where there are several.
        ends: ports on leaves where the tree has slots that stay empty; None if the counts say it.
    """
    try:
        fabric = cabled(papers, network, plan, plane=plane)
    except CellError as error:
        return Result(
            part=part,
            files=(CABLES,),
            engine=ENGINE,
            state=NOT_PROVEN,
            findings=(found("FAB010", error.message, error.help or ""),),
        )
    walked = walk_ethernet(fabric, ends=ends)
    return judged(part, (CABLES,), ENGINE, walked.facts(), list(walked.findings))


def walk_ethernet(fabric: EthernetFabric, *, ends: int | None = None) -> EthernetProof:
    """Return what holds of a fabric.

    The assertions are those of the walk over OpenSM's tables: counts (`FAB001`, `FAB002`), every end is reached from
    every leaf (`FAB003`), no cable within a level (`FAB004`), one switch between hosts of one unit on a rail
    (`FAB005`), every leaf has as many ways of equal cost to each other one (`FAB006`), and no shift of all endpoints
    loads a cable beyond the planned oversubscription (`FAB007`).

    Args:
        fabric: as cabled, or as planned.
        ends: ports on leaves where the tree has slots that stay empty; None if the counts say it.
    """
    plan = fabric.plan
    findings = list(_counts(fabric, plan.nodes * plan.ports_per_node + plan.management_ports if ends is None else ends))
    leaves = np.unique(fabric.home)
    equal_ways, busiest, walked = None, 0.0, 0
    if leaves.size > 1 and fabric.links.size:
        distance = distances(fabric, leaves)
        findings += _reached(fabric, leaves, distance)
        findings += _levels(fabric, np.min(distance, axis=0))
        if ends is None:
            findings += _rails(fabric)
        if np.isfinite(distance).all():
            shifts, names = _flows(fabric, leaves)
            load, widths = loads(fabric, leaves, distance, shifts)
            findings += _widths(fabric, widths)
            findings += _busy(fabric, load, names)
            equal_ways, busiest, walked = (int(widths[0]), int(widths[1])), float(load.max()), len(names)
    return EthernetProof(
        ends=len(fabric.ends),
        switches=len(fabric.switches),
        cables=fabric.cables,
        equal_ways=equal_ways,
        busiest_cable=busiest,
        shifts=walked,
        findings=tuple(findings),
    )


def _busy(fabric: EthernetFabric, load: Numbers, shifts: Sequence[int]) -> Iterator[Finding]:
    allowed, busiest = _allowed(fabric), float(load.max())
    if busiest > allowed * (1 + _ROUNDING):
        cable = int(load.max(axis=1).argmax()) % len(fabric.links)
        joined = " - ".join(fabric.switches[end] for end in fabric.links[cable])
        shift = shifts[int(load.max(axis=0).argmax())]
        yield found(
            "FAB007",
            f"{fabric.source}: the load of a cable {joined} in a shift of all endpoints by {shift:,} is "
            f"{busiest:.3g} flows, expected at most {allowed:.3g}: equal ways share the flows of a leaf",
            "look for a missing or misplaced cable between switches",
        )


def _counts(fabric: EthernetFabric, planned: int) -> Iterator[Finding]:
    plan = fabric.plan
    if len(fabric.ends) != planned or len(fabric.switches) != plan.switches:
        yield found(
            "FAB001",
            f"{fabric.source}: ports and switches are {len(fabric.ends):,} and {len(fabric.switches):,}, expected "
            f"{planned:,} and {plan.switches:,}: the inventory counts them",
            "look for a device without a cable",
        )
    cables = planned + plan.leaf_spine_cables + plan.spine_core_cables
    if fabric.cables != cables:
        yield found(
            "FAB002",
            f"{fabric.source}: cables are {fabric.cables:,}, expected {cables:,}: ports and trunks of the inventory",
            "look for a missing cable",
        )


def _reached(fabric: EthernetFabric, leaves: Integers, distance: Numbers) -> Iterator[Finding]:
    lost = np.argwhere(~np.isfinite(distance[:, leaves]))
    if lost.size:
        one, other = (fabric.switches[leaves[int(number)]] for number in lost[0])
        yield found(
            "FAB003",
            f"{fabric.source}: the way from {one} to {other} is none, expected one: every leaf reaches every other",
            "look for a missing cable",
        )


def _levels(fabric: EthernetFabric, level: Numbers) -> Iterator[Finding]:
    a, b = fabric.links.T
    same = np.flatnonzero(level[a] == level[b])
    if same.size:
        one, other = (fabric.switches[int(end)] for end in fabric.links[int(same[0])])
        yield found(
            "FAB004",
            f"{fabric.source}: {same.size:,} cables join switches of one level, the first {one} - {other}, expected "
            "none: ways go up, then down",
            "look for a cable between two switches of one level",
        )


def _rails(fabric: EthernetFabric) -> Iterator[Finding]:
    if fabric.plan.levels == 1:
        return
    homes: defaultdict[tuple[int, int], defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for group, rail, home in zip(fabric.order, fabric.rail, fabric.home, strict=True):
        if group >= 0:
            homes[int(group), int(rail)][int(home)] += 1
    for (group, rail), found_homes in homes.items():
        if len(found_homes) > 1:
            usual = max(found_homes, key=lambda home: found_homes[home])
            odd = next(
                fabric.ends[number]
                for number, home in enumerate(fabric.home)
                if (fabric.order[number], fabric.rail[number]) == (group, rail) and home != usual
            )
            yield found(
                "FAB005",
                f"{fabric.source}: the leaf of {odd[0]}:{odd[1]} is another one, expected {fabric.switches[usual]}: "
                f"hosts of one unit are one switch apart on rail {rail + 1}",
                "look for swapped cables between a node and its leaves",
            )


def _widths(fabric: EthernetFabric, widths: Integers) -> Iterator[Finding]:
    plan = fabric.plan
    # In three levels leaves of other groups are reached through all uplinks too.
    if plan.levels > 1 and (widths[0] != plan.uplinks_per_leaf or widths[1] != plan.uplinks_per_leaf):
        yield found(
            "FAB006",
            f"{fabric.source}: ways of equal cost from a leaf to another one are {widths[0]} to {widths[1]}, expected "
            f"{plan.uplinks_per_leaf}: every uplink leads to every leaf",
            "look for a missing or misplaced cable between switches",
        )


def _allowed(fabric: EthernetFabric) -> float:
    """Return the flows that the fullest leaf's endpoints put on each of its uplinks when all of them leave it."""
    plan = fabric.plan
    if not plan.uplinks_per_leaf:
        return 1.0
    most = float(np.bincount(fabric.home).max()) / plan.uplinks_per_leaf
    if plan.core and plan.uplinks_per_spine:
        down = plan.leaf_per_group * plan.uplinks_per_leaf / plan.spine_per_group
        # Where cores do not divide the uplinks of a group, some have one cable less to it, for as many flows.
        trunk = plan.spine_per_group * plan.uplinks_per_spine / plan.core
        uneven = ceil(trunk) / floor(trunk) if trunk >= 1 else 1.0
        return max(1.0, most, most * down / plan.uplinks_per_spine * uneven)
    return max(1.0, most) if most > 1 else 1.0


def _flows(fabric: EthernetFabric, leaves: Integers) -> tuple[Numbers, Sequence[int]]:
    """Return flows from leaf to leaf when every endpoint sends to the one s further, and the shifts s."""
    index = np.full(len(fabric.switches), -1)
    index[leaves] = np.arange(leaves.size)
    order = np.lexsort((np.arange(len(fabric.ends)), index[fabric.home]))
    homes = index[fabric.home][order]
    count = homes.size
    by_leaf = max(1, count // leaves.size)
    wanted = sorted({s for s in (*_SHIFTS, by_leaf, 2 * by_leaf, count // 2) if 0 < s < count})
    if leaves.size > _MANY_LEAVES:
        wanted = [1, by_leaf, 2 * by_leaf, count // 2][:_FEW_SHIFTS]
    flows = np.zeros((len(wanted), leaves.size, leaves.size))
    for number, shift in enumerate(wanted):
        np.add.at(flows[number], (homes, np.roll(homes, -shift)), 1.0)
    return flows, wanted
