"""The acceptance test: what every step expects, as tables, plan and catalogue give it."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from clusterwright import units
from clusterwright.catalog.software.accelerators import accelerator_software
from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.pages.power import cord_load, fullest
from clusterwright.checks.prove.pages.said import Sentence, Table
from clusterwright.checks.prove.papers import absent
from clusterwright.errors import Finding
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK
from clusterwright.facility.hall.power_chain import SLOWS, TOO_FEW, loss
from clusterwright.facility.storage_checks import NODE_BYTES_PER_S
from clusterwright.plan.serving.record import ServingOption
from clusterwright.plan.text.serving import banded_text
from clusterwright.plan.training.record import TrainingOption
from clusterwright.units import counted

FILE = "acceptance.md"
_HEAD = ("#", "do", "expected", "seen")
#: What InfiniBand calls its port rates, in bytes/s one way.
_RATES = {25e9: "HDR", 50e9: "NDR", 100e9: "XDR"}
_LIVES = {SLOWS: "no node goes down, all go on at lower power", TOO_FEW: "nodes of this rack go down"}

Step = tuple[str, str | None]


def _racks(hall: Hall) -> Iterator[Step]:
    heaviest = max(hall.racks, key=lambda rack: rack.weight_kg)
    counts = ", ".join(f"{count:,} {network}" for network, count in sorted(hall.networks.items()))
    strips = sum(rack.pdus for rack in hall.racks)
    yield "count racks against `racks.svg`", f"{len(hall.racks):,} racks, {strips:,} PDUs"
    weight = f"{heaviest.weight_kg:,.0f} kg of devices whose weight is known, and the rack itself"
    yield "ask the building for its floor load", f"the heaviest is {heaviest.name}: {weight}"
    yield "check every label against `cables.csv`, both ends", f"{len(hall.links):,} links: {counts}"


def _power(hall: Hall) -> Iterator[Step]:
    rack, site = fullest(hall, "compute"), hall.design.site
    if rack is None:
        return
    load = cord_load(hall, rack)
    what = "power shelf" if rack.shelves else "PDU"
    outcome = _LIVES.get(loss(hall.system, pdus=rack.feeds, lost=1).outcome, "no node goes down")
    fullest_w = max(one.power_w for one in hall.racks)
    most = f"at most {fullest_w / 1e3:,.1f} kW a rack, {hall.power.it_w / 1e3:,.0f} kW in all (nameplate)"
    yield "measure the draw of every rack under phase 8", most
    yield (
        f"under full load open one {what}'s breaker in one compute rack, close it again, go on to the next one",
        (
            f"{outcome}; each of the {max(1, rack.feeds - 1)} others carries at most {load.failed_va / 1e3:.1f} of its "
            f"{site.feed.va / 1e3:.1f} kVA, no line more than {load.line_a:.1f} A"
        ),
    )
    warm = f"air warms by no more than {site.air_rise_c:g} C from inlet to outlet"
    yield "read the inlet temperature of every node after an hour of phase 8", warm


def _management(hall: Hall) -> Iterator[Step]:
    hosts = len(hall.inventory.hosts())
    yield "ping every management port", f"{hall.managed:,} answer"
    words = "none with the maker's password"
    yield "`ipmitool -H … chassis status` for every node; change its password", f"{hosts:,} answer, {words}"


def _pairs(hall: Hall) -> str:
    """Return between which nodes a rail is measured, by the leaves that the cables of every host end on."""
    leaves: defaultdict[str, set[str]] = defaultdict(set)
    for row, _ in hall.links:
        if (row["network"], row["tier"]) == ("compute", "node-leaf"):
            leaves[row["from_device"]].add(row["to_device"])
    sets = {frozenset(one) for one in leaves.values()}
    if len(sets) > 1:
        return "two nodes of one leaf, then of two leaves"
    if hall.switches("compute", "leaf") == 1:
        return "two nodes, which are all on one leaf"
    return "two nodes on the rail's leaf, then from the rail to the next one, over the spines"


def _lossless(hall: Hall, trunks: int) -> Iterator[Step]:
    """Yield the steps of an Ethernet fabric: its links, counters before and after a load, and the rate of its ports."""
    if trunks:
        yield "`lldpctl` on every switch against `cables.csv`", f"{trunks:,} links between switches"
    counters = "`nv show interface PORT qos roce counters` of every switch port and `ethtool -S PORT`"
    yield f"before any load, note {counters} of every compute port", "no discards; `prio3_pause` stands still"
    accelerator = hall.papers.catalogue.accelerators[hall.system.accelerator]
    if accelerator_software(accelerator.vendor, accelerator.generation).library != "HCCL":
        rate = hall.inventory.adapter_bytes_per_s(hall.system) * 8 / 1e9
        least = f"{rate * 0.9:,.0f}"
        do = f"for every rail, `ib_write_bw --report_gbits` between {_pairs(hall)}"
        yield do, f"at least {least} of {rate:,.0f} Gb/s for every pair"
        marks = "marks of congestion (`np_cnp_sent`) grow"
        yield "`ib_write_bw` from several nodes to one port at a time", f"at least {least} Gb/s together; {marks}"
    after = "no discards; `prio3_pause` grew under load alone, in no port all the time"
    yield "an hour of phase 6 over all nodes, then the counters again", after


def _fabric(hall: Hall) -> Iterator[Step]:
    """Yield switches, ports and links of the compute fabric, counted in the cable list."""
    rows = [row for row, _ in hall.links if row["network"] == "compute"]
    ports = sum(row["tier"] in {"node-leaf", "manager-leaf"} for row in rows)
    if hall.inventory.compute_network != INFINIBAND_NETWORK:
        yield from _lossless(hall, len(rows) - ports)
        return
    switches = sum(hall.switches("compute", level) for level in ("leaf", "spine", "core"))
    planes = " in all planes" if hall.inventory.planes > 1 else ""
    yield (
        "`ibnetdiscover` and compare with `fabric.ibnetdiscover`, port by port; GUIDs differ, names must not",
        f"{switches:,} switch{'es' if switches > 1 else ''}, {ports:,} ports, {len(rows):,} links{planes}",
    )
    rate = _RATES.get(hall.inventory.compute_port_bytes_per_s)
    if rate is not None:
        yield "`iblinkinfo --downports` and `iblinkinfo`", f"all links up at 4x {rate}; none slower"
    errors = "no symbol errors, no link recoveries or link downs"
    yield "`ibqueryerrors -K`, an hour of phase 6 over all nodes, `ibqueryerrors`", errors
    alike = "the same bandwidth; one hop on the same leaf (`ibtracert`)"
    yield f"for every rail, `ib_write_bw` between {_pairs(hall)}", alike


def _nodes(hall: Hall) -> Iterator[Step]:
    option, inventory = hall.papers.documents.option, hall.inventory
    software = hall.papers.documents.plan.software_of(option.target)
    accelerator = hall.papers.catalogue.accelerators[hall.system.accelerator]
    tools = accelerator_software(accelerator.vendor, accelerator.generation)
    gpus, driver = hall.system.gpus // inventory.hosts_per_node, None
    if software is not None:
        driver = software.version("driver")
    version = "one driver version" if driver is None else f"driver {driver}"
    yield f"`{tools.listing}` on every node", f"{gpus} GPUs, {version} on all nodes"
    fabric = None if software is None else software.version("fabricmanager")
    imex = None if software is None else software.version("imex")
    if software is not None and option.deployment.scheduler != "kubernetes":
        words = "status 0: what is pinned is there, nothing below what the set requires"
        linked = (f", Fabric Manager {fabric}" if fabric else "") + (f", IMEX {imex}" if imex else "")
        yield "`node/software_check.sh` on every node", words + linked
    if imex:
        of_racks = f"CONTROL_PLANE_STATE_CONFIGURED on one tray of each of {counted(inventory.nodes, 'rack')}"
        controller = f"`nmx-controller`, which has the Fabric Manager, is ok and {of_racks}"
        yield "`nv show cluster apps` on the NVLink switch trays of every rack", controller
    infiniband = inventory.compute_network == INFINIBAND_NETWORK
    ports = (hall.system.fabric_ports or 0) // inventory.hosts_per_node or "all"
    state = "Active" if infiniband else "ACTIVE"
    command = "ibstat" if infiniband else "rdma link"
    yield f"`{command}` on every node", f"{ports} compute ports {state}, all with one firmware version"


def _collectives(hall: Hall) -> Iterator[Step]:
    gpus = hall.system.gpus // hall.inventory.hosts_per_node
    accelerator = hall.papers.catalogue.accelerators[hall.system.accelerator]
    tools = accelerator_software(accelerator.vendor, accelerator.generation)
    yield f"`{tools.all_reduce} {gpus}` inside every node", "all nodes within 5 % of the median"
    halves = "halves alike; if not, divide further until the slow leaf or node is found"
    yield f"the same over all {counted(len(hall.inventory.hosts()), 'node')}, then over each half", halves


def _rate(bytes_per_s: float) -> str:
    return units.text(bytes_per_s, units.BANDWIDTH)


def _storage(hall: Hall) -> Iterator[Step]:
    storage = hall.inventory.storage
    reads, writes = storage.read_bytes_per_s, storage.write_bytes_per_s
    files = "`fio` or `elbencho`, sequential reads from all nodes, files larger than their memory"
    yield files, f"at least {_rate(reads)} in all"
    written = "new weights" if hall.papers.documents.option.design.storage.weights_only else "a checkpoint"
    yield "the same with writes", f"at least {_rate(writes)} in all: {written} in time"
    yield "`df` of the file system", f"at least {units.text(storage.capacity_bytes, units.BYTES)}"
    alone = min(NODE_BYTES_PER_S, reads)
    yield "the reads again from one node, alone", f"at least {_rate(alone)}"
    if storage.lustre is not None:
        osts = "the number of the offer of" if storage.lustre.osts is None else storage.lustre.osts
        yield "`lfs osts` and `lfs mdts` on a node", f"{storage.lustre.mdts} MDT, {osts} OST, all ACTIVE"


def _scheduler(hall: Hall) -> Iterator[Step]:
    option, hosts = hall.papers.documents.option, len(hall.inventory.hosts())
    gpus = counted(hall.inventory.gpus, "GPU")
    if option.deployment.scheduler == "kubernetes":
        software, every = hall.papers.documents.plan.software_of(option.target), hall.inventory.gpus
        whole = every if software is None else software.whole_gpus(hosts, gpus=every // hosts)
        yield (
            "`kubectl get nodes -l node-kind=gpu`",
            f"{counted(hosts, 'node')} Ready, {counted(whole, 'GPU')} allocatable",
        )
        return
    nodes = option.training_nodes if isinstance(option, TrainingOption) else option.cluster.work_nodes
    working = nodes * hall.inventory.hosts_per_node
    yield "`sinfo -N -l`", f"{counted(hosts, 'node')} idle, {gpus}"
    each = option.cluster.gpus_per_node // hall.inventory.hosts_per_node
    if isinstance(option, TrainingOption):
        yield f"`srun -N {working} --gres=gpu:{each} hostname`", counted(working, "name")


def _work(hall: Hall) -> Iterator[Step]:
    """Yield the speed of a training job with its band, and what is left when a node fails."""
    option, plan = hall.papers.documents.option, hall.papers.documents.plan
    if not isinstance(option, TrainingOption) or plan.workload.kind != "train":
        return
    performance = option.performance
    speed, days = performance.tokens_per_s_per_gpu, performance.calendar_days
    slow, fast = speed * days / performance.calendar_days_high, speed * days / performance.calendar_days_low
    kubernetes = option.deployment.scheduler == "kubernetes"
    tenant = " --account TENANT" if plan.cluster.tenants else ""
    script, asks = ("kubernetes/jobs/submit.sh", "") if kubernetes else ("launch/submit.sh", f" --host LOGIN{tenant}")
    written = (hall.papers.documents.site / script).is_file()
    submit = f"`{script}{asks} --image IMAGE`" if written else "the run's own job in the plan's layout"
    yield (
        f"{submit} without data for 24 h",
        f"{speed:,.0f} tokens/s per GPU ({slow:,.0f} to {fast:,.0f}) for {plan.workload.model_name}; no restart",
    )
    trains, each = option.training_nodes, hall.inventory.hosts_per_node
    software, nodes = plan.software_of(option.target), option.cluster.work_nodes
    if software is not None:
        whole = software.whole_nodes(option.cluster.nodes * each, scheduler=option.deployment.scheduler) // each
        nodes = min(nodes, whole)
    spare = nodes - trains
    if spare > 0:
        kind = "nodes" if nodes == option.cluster.nodes else "nodes with whole GPUs"
        left = f"on {trains:,} of the {nodes:,} {kind}: {spare} {'is' if spare == 1 else 'are'} spare"
        words = f"the job goes on from its last checkpoint within the planned restart, {left}"
    elif performance.failures.elastic:
        words = "the job goes on from its last checkpoint within the planned restart, with one replica less"
    else:
        words = (
            "the job waits in the queue: it needs all nodes, and none is spare (`reliability.spare_nodes`). Give the "
            "node its power back; the job goes on from its last checkpoint within the planned restart"
        )
    yield "kill one node's power during the run", words


def _served(hall: Hall) -> Iterator[Step]:
    """Yield the start of a service, and its load test against what the plan predicts."""
    documents = hall.papers.documents
    option = documents.option
    if not isinstance(option, ServingOption):
        return
    kubernetes = option.deployment.scheduler == "kubernetes"
    folder, starts = ("kubernetes/serving", "deploy.sh") if kubernetes else ("serving", _starter(documents.site))
    if not (documents.site / folder / starts).is_file():
        return
    performance = option.performance
    yield (
        f"`{folder}/{starts}`, as its README says",
        f"{performance.replicas + performance.spare_replicas:,} replicas ready",
    )
    first, each = performance.first_token_s, performance.time_per_token_s
    yield (
        f"`{folder}/loadtest/load.py --url http://ADDRESS --replicas {performance.replicas}`",
        (
            f"first token {banded_text(first)}, per token {banded_text(each)} at the plan's percentile; "
            "`clusterwright actual --serving` compares them"
        ),
    )


def _starter(site: Path) -> str:
    return "serve.sh" if (site / "serving" / "serve.sh").is_file() else "serve.sbatch"


def _steps(hall: Hall) -> Iterator[Sequence[str | None]]:
    for phase in (_racks, _power, _management, _fabric, _nodes, _collectives, _storage, _scheduler, _work, _served):
        for do, expected in phase(hall):
            yield None, do, expected, None


_NUMBERED = re.compile(r"^\| (\d+)\.(\d+) \|")
_BASELINE = re.compile(r"about (\d+) GB/s; look closer below (\d+), replace the node below (\d+);")
#: Least share of the ports' rate that a collective over two sound nodes is seen to reach; an assumption.
_LEAST_SHARE = 0.7


def numbered(hall: Hall) -> Iterator[Finding]:
    """Yield headings and steps that do not follow the one before."""
    phase = step = 0
    for number, line in enumerate(hall.papers.text(FILE).splitlines(), start=1):
        heading, row = re.match(r"## (\d+)\.", line), _NUMBERED.match(line)
        if heading is not None:
            phase, step = phase + 1, 0
        if row is not None:
            step += 1
        said = heading[1] if heading else f"{row[1]}.{row[2]}" if row else ""
        expected = str(phase) if heading else f"{phase}.{step}"
        if said and said != expected:
            rule = "phases and steps are done in their order"
            yield absent("PAG001", f"{FILE}:{number}", "the number", said, expected, rule)


def baseline(hall: Hall) -> Iterator[Finding]:
    """Yield a bandwidth of collectives that ports and links cannot give, or that a sound node is far above."""
    text, system = hall.papers.text(FILE), hall.system
    chip = hall.papers.catalogue.accelerators[system.accelerator]
    most = chip.scale_up_bytes_per_s_per_gpu_one_way
    network = (system.fabric_bytes_per_s_per_gpu_one_way or 0) * system.gpus / hall.inventory.hosts_per_node
    for match in _BASELINE.finditer(text):
        usual, closer, replace = (float(value) for value in match.groups())
        line = text.count("\n", 0, match.start()) + 1
        fits = replace < closer < usual and (not most or usual <= most / 1e9) and usual >= _LEAST_SHARE * network / 1e9
        if not fits or replace < usual / 2:
            bounds = f"{_LEAST_SHARE * network / 1e9:,.0f} to {(most or 0) / 1e9:,.0f}, then less, then half or more"
            rule = "the rate of the ports of a node, and of the links inside it, bounds it"
            yield absent("PAG001", f"{FILE}:{line}", "GB/s that a collective reaches", match[0], bounds, rule)


SAID: tuple[Sentence | Table, ...] = (
    Table(
        file=FILE,
        head=_HEAD,
        rows=_steps,
        rule="tables, plan and catalogue give the value that has to come out",
        key=(1,),
    ),
)
