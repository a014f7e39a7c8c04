"""The data centre's check-list, and the acceptance test: what to run, and the plan's number that must come out."""

from collections import Counter
from collections.abc import Sequence
from math import ceil

from clusterwright import units
from clusterwright.catalog.records import Catalogue, System
from clusterwright.catalog.software.accelerators import AcceleratorSoftware, accelerator_software
from clusterwright.catalog.software.node import Software
from clusterwright.facility.cabling.cables import Cable
from clusterwright.facility.cabling.layout import managed_devices
from clusterwright.facility.checklist.items import Check
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.fabric.counts import Fabric
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK
from clusterwright.facility.hall.floor_load import FAIL, PASS, UNKNOWN
from clusterwright.facility.hall.power_chain import SLOWS, TOO_FEW, loss
from clusterwright.facility.hall.power_cords import worst_load
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.storage_checks import NODE_BYTES_PER_S
from clusterwright.outputs.kind import Step
from clusterwright.outputs.kinds import outputs_of
from clusterwright.outputs.onprem.provisioning.switches import PRIORITY
from clusterwright.plan.record import Option, Plan
from clusterwright.units import counted, percent

#: Bus bandwidth of all_reduce (16 GiB) over nodes of eight H100 and eight ports of 400 Gb/s: usual, look closer below,
#: replace below; GB/s. Source: Azure/ai-infrastructure-on-azure, SKU baselines, commit a01b0731 (2026-04-22).
_MEASURED_GB_PER_S = {"h100-sxm-80gb": (450, 400, 300)}
#: What InfiniBand calls its port rates, in bytes/s one way.
_RATE_NAMES = {25e9: "HDR", 50e9: "NDR", 100e9: "XDR"}
_SPREAD = 0.05


def acceptance(
    plan: Plan, option: Option, catalogue: Catalogue, *, standing: Sequence[Rack], cables: Sequence[Cable]
) -> str:
    """Return the runbook (Markdown): phases with commands, expected values of the plan, and room for results.

    Args:
        plan: for names and the workload.
        option: on premises: its design, storage throughput, predicted speed and the band of that.
        catalogue: for the nodes and their accelerators.
        standing: racks.
        cables: of all networks.

    Raises:
        ValueError: the option has no on-premises design.
    """
    design = option.design.facility
    if design is None:
        raise ValueError(f"{option.target} has no on-premises design")
    system = catalogue.systems[design.inventory.system]
    accelerator = catalogue.accelerators[system.accelerator]
    tools = accelerator_software(accelerator.vendor, accelerator.generation)
    phases = {
        "Racks and cables, before power": _racks(design, standing, cables),
        "Power and cooling": _power(design, standing, system),
        "Management network": _management(design, standing),
        "Compute fabric": _fabric(design, system, tools),
        "Nodes": _nodes(option, system, design, plan.software_of(option.target), tools),
        "Collectives": _collectives(design, system, tools),
        "Storage": _storage(option, design),
        f"{option.deployment.scheduler.capitalize()} and the workload": _workload(plan, option, design, catalogue),
    }
    lines = [
        f"# {plan.name}: acceptance test",
        "",
        "Phases build on each other: start one only when the one before has passed. Write the value that you saw into",
        "the last column; a step without one was not done.",
    ]
    for number, (title, steps) in enumerate(phases.items(), start=1):
        lines += ["", f"## {number}. {title}", "", "| # | do | expected | seen |", "|---|---|---|---|"]
        lines += [f"| {number}.{index} | {step.do} | {step.expect} | |" for index, step in enumerate(steps, start=1)]
    return "\n".join(lines) + "\n"


def _racks(design: OnPremDesign, standing: Sequence[Rack], cables: Sequence[Cable]) -> list[Step]:
    by_network = Counter(cable.network for cable in cables)
    heaviest = max(standing, key=lambda rack: rack.weight_kg)
    counts = ", ".join(f"{count:,} {network}" for network, count in sorted(by_network.items()))
    return [
        Step(do="count racks against `racks.svg`", expect=f"{design.racks:,} racks, {design.pdus:,} PDUs"),
        Step(
            do="ask the building for its floor load",
            expect=f"the heaviest is {heaviest.name}: {heaviest.weight_kg:,.0f} kg of devices whose weight is known, "
            "and the rack itself",
        ),
        Step(do="check every label against `cables.csv`, both ends", expect=f"{len(cables):,} links: {counts}"),
    ]


def _power(design: OnPremDesign, standing: Sequence[Rack], system: System) -> list[Step]:
    feed = design.site.feed
    fullest = max((rack for rack in standing if rack.kind == "compute"), key=lambda rack: rack.power_w)
    most_w = max(rack.power_w for rack in standing)
    what = "power shelf" if fullest.shelves else "PDU"
    load = worst_load(fullest, feed, design.rules)
    lives = {SLOWS: "no node goes down, all go on at lower power", TOO_FEW: "nodes of this rack go down"}
    outcome = lives.get(loss(system, pdus=fullest.feeds, lost=1).outcome, "no node goes down")
    return [
        Step(
            do="measure the draw of every rack under phase 8",
            expect=f"at most {most_w / 1e3:,.1f} kW a rack, {design.power.it_w / 1e3:,.0f} kW in all (nameplate)",
        ),
        Step(
            do=f"under full load open one {what}'s breaker in one compute rack, close it again, go on to the next one",
            expect=f"{outcome}; each of the {max(1, fullest.feeds - 1)} others carries at most "
            f"{load.failed_va / 1e3:.1f} of its {feed.va / 1e3:.1f} kVA, no line more than {load.line_a:.1f} A",
        ),
        Step(
            do="read the inlet temperature of every node after an hour of phase 8",
            expect=f"air warms by no more than {design.site.air_rise_c:g} C from inlet to outlet",
        ),
    ]


def _management(design: OnPremDesign, standing: Sequence[Rack]) -> list[Step]:
    inventory = design.inventory
    managed = sum(1 for _ in managed_devices(inventory, standing))
    return [
        Step(do="ping every management port", expect=f"{managed:,} answer"),
        Step(
            do="`ipmitool -H … chassis status` for every node; change its password",
            expect=f"{len(inventory.hosts()):,} answer, none with the maker's password",
        ),
    ]


#: Share of a port's rate that a write of RDMA over Ethernet has to reach: headers take 3 % of packets of 4,096 bytes,
#: the rest is for what is between two links. An assumption.
_WRITE_SHARE = 0.9
#: Between which nodes the bandwidth of a rail is measured, by how many leaves there are and how many sets of them.
_PAIRS = {
    "one leaf": "two nodes, which are all on one leaf",
    "one set": "two nodes on the rail's leaf, then from the rail to the next one, over the spines",
    "sets": "two nodes of one leaf, then of two leaves",
}
#: Collectives whose ports speak no verbs to programs of others.
_WITHOUT_VERBS = frozenset({"HCCL"})


def _pairs(fabric: Fabric, planes: int) -> str:
    if fabric.leaf * planes == 1:
        return _PAIRS["one leaf"]
    return _PAIRS["one set" if ceil(fabric.nodes / fabric.nodes_per_leaf) == 1 or fabric.levels == 1 else "sets"]


def _lossless(design: OnPremDesign, system: System, *, trunks: int, verbs: bool) -> list[Step]:
    """Return the steps of an Ethernet fabric that must not drop RDMA's packets."""
    inventory = design.inventory
    steps = [
        Step(
            do="before any load, note `nv show interface PORT qos roce counters` of every switch port and "
            "`ethtool -S PORT` of every compute port",
            expect=f"no discards; `prio{PRIORITY}_pause` stands still",
        )
    ]
    if trunks:
        cabled = Step(do="`lldpctl` on every switch against `cables.csv`", expect=f"{trunks:,} links between switches")
        steps.insert(0, cabled)
    if verbs:
        rate = inventory.adapter_bytes_per_s(system) * 8 / 1e9
        steps += [
            Step(
                do=f"for every rail, `ib_write_bw --report_gbits` between {_pairs(inventory.fabric, inventory.planes)}",
                expect=f"at least {rate * _WRITE_SHARE:,.0f} of {rate:,.0f} Gb/s for every pair",
            ),
            Step(
                do="`ib_write_bw` from several nodes to one port at a time",
                expect=f"at least {rate * _WRITE_SHARE:,.0f} Gb/s together; marks of congestion (`np_cnp_sent`) grow",
            ),
        ]
    steps.append(
        Step(
            do="an hour of phase 6 over all nodes, then the counters again",
            expect=f"no discards; `prio{PRIORITY}_pause` grew under load alone, in no port all the time",
        )
    )
    return steps


def _fabric(design: OnPremDesign, system: System, tools: AcceleratorSoftware) -> list[Step]:
    fabric, planes = design.inventory.fabric, design.inventory.planes
    ports = planes * (fabric.nodes * fabric.ports_per_node + fabric.management_ports)
    trunks = planes * (fabric.leaf_spine_cables + fabric.spine_core_cables)
    if design.inventory.compute_network != INFINIBAND_NETWORK:
        return _lossless(design, system, trunks=trunks, verbs=tools.library not in _WITHOUT_VERBS)
    switches = design.inventory.compute_switches
    return [
        Step(
            do="`ibnetdiscover` and compare with `fabric.ibnetdiscover`, port by port; GUIDs differ, names must not",
            expect=f"{switches:,} switch{'es' if switches > 1 else ''}, {ports:,} ports, "
            f"{planes * fabric.node_leaf_cables + trunks:,} links{' in all planes' if planes > 1 else ''}",
        ),
        Step(
            do="`iblinkinfo --downports` and `iblinkinfo`",
            expect=f"all links up at 4x {_RATE_NAMES[design.inventory.compute_port_bytes_per_s]}; none slower",
        ),
        Step(
            do="`ibqueryerrors -K`, an hour of phase 6 over all nodes, `ibqueryerrors`",
            expect="no symbol errors, no link recoveries or link downs",
        ),
        Step(
            do=f"for every rail, `ib_write_bw` between {_pairs(fabric, planes)}",
            expect="the same bandwidth; one hop on the same leaf (`ibtracert`)",
        ),
    ]


def _nodes(
    option: Option, system: System, design: OnPremDesign, software: Software | None, tools: AcceleratorSoftware
) -> list[Step]:
    hosts = design.inventory.hosts_per_node
    infiniband = design.inventory.compute_network == INFINIBAND_NETWORK
    ports = (system.fabric_ports or 0) // hosts or "all"
    version = None if software is None else software.version("driver")
    driver = "one driver version" if version is None else f"driver {version}"
    steps = [
        Step(
            do=f"`{tools.listing}` on every node",
            expect=f"{system.gpus // hosts} GPUs, {driver} on all nodes",
        ),
        *_versions(option, software),
        *_nvlink_racks(design, software),
        Step(do=f"`{tools.memory}`", expect="no uncorrectable error, no row waiting to be remapped"),
        Step(do=f"`{tools.diagnosis}` on every node", expect="every test passes"),
        Step(
            do=f"`{'ibstat' if infiniband else 'rdma link'}` on every node",
            expect=f"{ports} compute ports {'Active' if infiniband else 'ACTIVE'}, all with one firmware version",
        ),
    ]
    if option.cluster.power_cap_w is not None:
        steps.append(
            Step(
                do=f"`{tools.power}` on every node",
                expect=f"{option.cluster.power_cap_w:g} W on every GPU, also after a reboot",
            )
        )
    return steps


def _versions(option: Option, software: Software | None) -> list[Step]:
    """Return the comparison of every node with the versions of the plan, where a script does it."""
    if software is None or option.deployment.scheduler == "kubernetes":
        return []
    linked = {"Fabric Manager": software.version("fabricmanager"), "IMEX": software.version("imex")}
    return [
        Step(
            do="`node/software_check.sh` on every node",
            expect="status 0: what is pinned is there, nothing below what the set requires"
            + "".join(f", {name} {version}" for name, version in linked.items() if version),
        )
    ]


def _nvlink_racks(design: OnPremDesign, software: Software | None) -> list[Step]:
    """Return what is seen of NVLink domains of several hosts, whose switches are trays with NVOS."""
    if software is None or software.version("imex") is None:
        return []
    return [
        Step(
            do="`nv show cluster apps` on the NVLink switch trays of every rack",
            expect=f"`nmx-controller`, which has the Fabric Manager, is ok and CONTROL_PLANE_STATE_CONFIGURED on one "
            f"tray of each of {counted(design.inventory.nodes, 'rack')}",
        ),
        Step(
            do="`nvidia-smi -q` on every node, section Fabric of each GPU",
            expect="State Completed, Status Success, one cluster UUID in a rack",
        ),
    ]


def _collectives(design: OnPremDesign, system: System, tools: AcceleratorSoftware) -> list[Step]:
    usual, look, replace = _MEASURED_GB_PER_S.get(system.accelerator, (None, None, None))
    alike = f"all nodes within {percent(_SPREAD)} of the median"
    gpus = system.gpus // design.inventory.hosts_per_node
    known = (
        f"about {usual} GB/s; look closer below {look}, replace the node below {replace}; {alike}"
        if usual
        else f"unknown for this accelerator: write down the first value; {alike}"
    )
    return [
        Step(do=f"`{tools.all_reduce} {gpus}` inside every node", expect=alike),
        Step(do="the same over every pair of neighbours (2 nodes)", expect=known),
        Step(
            do=f"the same over all {counted(len(design.inventory.hosts()), 'node')}, then over each half",
            expect="halves alike; if not, divide further until the slow leaf or node is found",
        ),
    ]


def _rate(bytes_per_s: float) -> str:
    return units.text(bytes_per_s, units.BANDWIDTH)


def _storage(option: Option, design: OnPremDesign) -> list[Step]:
    storage = design.inventory.storage
    written = "new weights" if option.design.storage.weights_only else "a checkpoint"
    steps = [
        Step(
            do="`fio` or `elbencho`, sequential reads from all nodes, files larger than their memory",
            expect=f"at least {_rate(storage.read_bytes_per_s)} in all",
        ),
        Step(
            do="the same with writes",
            expect=f"at least {_rate(storage.write_bytes_per_s)} in all: {written} in time",
        ),
        Step(do="`df` of the file system", expect=f"at least {units.text(storage.capacity_bytes, units.BYTES)}"),
        Step(
            do="the reads again from one node, alone",
            expect=f"at least {_rate(min(NODE_BYTES_PER_S, storage.read_bytes_per_s))}",
        ),
    ]
    if storage.lustre is not None:
        osts = storage.lustre.osts
        expect = f"{storage.lustre.mdts} MDT, {'the number of the offer of' if osts is None else osts} OST, all ACTIVE"
        steps.append(Step(do="`lfs osts` and `lfs mdts` on a node", expect=expect))
    return steps


def _workload(plan: Plan, option: Option, design: OnPremDesign, catalogue: Catalogue) -> list[Step]:
    kind, hosts = outputs_of(plan), design.inventory.hosts_per_node
    nodes, gpus = counted(len(design.inventory.hosts()), "node"), counted(design.inventory.gpus, "GPU")
    if option.deployment.scheduler == "kubernetes":
        software, count = plan.software_of(option.target), len(design.inventory.hosts())
        all_ = design.inventory.gpus
        # Nodes with slices or parts offer these, under names of their own.
        whole = all_ if software is None else software.whole_gpus(count, gpus=all_ // count)
        asked = [
            Step(
                do="`kubectl get nodes -l node-kind=gpu`", expect=f"{nodes} Ready, {counted(whole, 'GPU')} allocatable"
            ),
            Step(do="`kubectl apply -f kubernetes/jobs/all_reduce.yaml`", expect="admitted by the queue, completed"),
        ]
    else:
        working = kind.working_nodes(option) * hosts
        asked = [
            Step(do="`sinfo -N -l`", expect=f"{nodes} idle, {gpus}"),
            Step(
                do=f"`srun -N {working} --gres=gpu:{option.cluster.gpus_per_node // hosts} hostname`",
                expect=counted(working, "name"),
            ),
        ]
    return [*asked, *kind.acceptance(plan, option, design, catalogue)]


def checklist(checks: Sequence[Check], *, title: str) -> str:
    """Return every item with its number, its limit and its verdict, what fails first said above.

    Args:
        checks: in the order of the list.
        title: name of the cluster.
    """
    counts = Counter(check.verdict for check in checks)
    failed = [check for check in checks if check.verdict == FAIL]
    lines = [
        f"# {title}: check-list of the data centre",
        "",
        (
            f"{counts[PASS]} items pass, {counts[FAIL]} fail, {counts[UNKNOWN]} are unknown: the blueprint does not "
            "say, or nobody publishes it."
        ),
        "",
        *(f"- **Fails:** {check.item}: {check.found}, limit {check.limit}." for check in failed),
        *([""] if failed else []),
        "| area | item | found | limit | verdict | remark |",
        "|---|---|---|---|---|---|",
        *(
            f"| {check.area} | {check.item} | {check.found} | {check.limit} | {_shown(check.verdict)} | {check.note} |"
            for check in checks
        ),
        "",
        (
            "What is not given belongs under `site` of the blueprint: `hall`, `rack`, `feed`, `ups`, `cdu`, `cooling`, "
            "`power_limit`."
        ),
    ]
    return "\n".join(lines)


def _shown(verdict: str) -> str:
    return f"**{verdict}**" if verdict == FAIL else verdict
