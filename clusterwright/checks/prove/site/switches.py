"""Settings of switches against cables and addresses: routing of all, lossless RoCE, the subnet manager."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from clusterwright.checks.prove.papers import Papers, absent
from clusterwright.errors import Finding
from clusterwright.facility.fabric.node_ports import ETHERNET

_SWITCHES, _MANAGER = "provisioning/switches", "provisioning/opensm"
FRR, NVUE, ROCE = f"{_SWITCHES}/frr", f"{_SWITCHES}/nvue", f"{_SWITCHES}/roce.md"
_PARTITIONS = f"{_MANAGER}/partitions.conf"
_JOB = "launch/train.sbatch"
_TO_LEAVES = {"node-leaf", "server-leaf", "storage-leaf", "manager-leaf", "host-leaf", "oob-uplink"}
_IN_BAND, _BORDER = "in-band", "border"
_FABRICS = frozenset({"compute", "storage"})
_ROUTED = _FABRICS | {_IN_BAND}
#: Networks that in-band switches announce, by what their names begin with; switches between announce none.
_ANNOUNCED = (("eth-leaf-", _IN_BAND), ("border-", _BORDER))
_ASN = re.compile(r"^router bgp (\d+)$", re.MULTILINE)
_ROUTER = re.compile(r"^ bgp router-id (\S+)$", re.MULTILINE)
_HOST = re.compile(r"^hostname (\S+)$", re.MULTILINE)
_PATHS = re.compile(r"^ *maximum-paths (\d+)$", re.MULTILINE)
_LISTS = re.compile(r"^ip prefix-list (\S+) ", re.MULTILINE)
_USES = re.compile(r"^ *match ip address prefix-list (\S+)$", re.MULTILINE)
_OWN_PREFIX = re.compile(r"^ip prefix-list \S+ (?:seq \d+ )?permit (\S+)$", re.MULTILINE)
_INTERFACE = re.compile(r"^interface (swp\S+)$", re.MULTILINE)
_NEIGHBOUR = re.compile(r"^ neighbor (\S+) interface peer-group fabric$", re.MULTILINE)
#: An RDMA message of 4,096 bytes with its headers, in one packet.
_LEAST_MTU_BYTES = 4200
#: Bits of a traffic class after the DSCP, and the one that asks for marks instead of drops (ECN-capable transport).
_DSCP_SHIFT, _ECN = 2, 2
#: A switch that trusts marks takes the upper three bits of a DSCP for the priority, unless it is set to others.
_PRIORITY_SHIFT = 3
_PRIORITIES = 8
#: OpenSM's code of an MTU of 4,096 bytes.
_IPOIB_MTU = "5"
_TREE = ("ftree", "updn", "dnup")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ports:
    """Ports of a switch as its system names them, by what hangs on them; network: the row of its addresses."""

    network: str
    prefix: str
    machines: set[str] = field(default_factory=set)
    trunks: set[str] = field(default_factory=set)


def _wired(papers: Papers, networks: Collection[str]) -> dict[str, _Ports]:
    """Return the ports of every Ethernet switch of some networks, by `cables.csv`."""
    inventory = papers.documents.design.inventory
    cages = {_IN_BAND: 1}
    if inventory.compute_network == ETHERNET:
        cages |= {
            "compute": inventory.fabric.ports_per_switch_cage,
            "storage": inventory.storage_fabric.ports_per_switch_cage,
        }
    wired: dict[str, _Ports] = {}
    for row in papers.rows("cables.csv"):
        network = row["network"]
        if network not in cages or network not in networks:
            continue
        upper = wired.setdefault(row["to_device"], _ports_of(network, row["to_device"]))
        port = partial(_port, per_cage=cages[network])
        if row["tier"] in _TO_LEAVES:
            upper.machines.add(port(row["to_port"]))
            continue
        upper.trunks.add(port(row["to_port"]))
        lower = wired.setdefault(row["from_device"], _ports_of(network, row["from_device"]))
        lower.trunks.add(port(row["from_port"]))
    return wired


def _ports_of(network: str, name: str) -> _Ports:
    """Return a switch without ports, and the network that it announces: its own on a fabric, else that of its kind."""
    if network != _IN_BAND:
        return _Ports(network=network, prefix=f"{network} {name}")
    announced = next((prefix for stem, prefix in _ANNOUNCED if name.startswith(stem)), "")
    return _Ports(network=network, prefix=announced)


def _port(name: str, per_cage: int) -> str:
    """Return a port of the front panel as Linux on the switch names it: cage, and lane where a cage has several."""
    cage, _, lane = name.partition("/")
    return f"swp{cage}s{int(lane) - 1}" if lane.isdigit() and per_cage > 1 else f"swp{cage}"


def written_text(papers: Papers, file: str) -> str:
    """Return the text of a file of the site, empty where there is none."""
    return papers.text(file) if (papers.documents.site / file).is_file() else ""


def first_match(pattern: re.Pattern[str], text: str) -> str:
    """Return the first group of a pattern's first match, empty without one."""
    match = pattern.search(text)
    return match[1] if match else ""


def routers(papers: Papers) -> Iterator[Finding]:
    """Compare routing with the cables: a neighbour on every trunk, and numbers that leaves do not share (`PRV004`)."""
    if not (papers.documents.site / FRR).is_dir():
        return
    prefixes = {row["network"]: row for row in papers.tables.get("ip-networks.csv", ())}
    numbers: dict[str, str] = {}
    routers: dict[str, str] = {}
    for name, ports in sorted(_wired(papers, _ROUTED).items()):
        file = f"{FRR}/{name}.conf"
        text = written_text(papers, file)
        neighbours = set(_NEIGHBOUR.findall(text))
        if neighbours != ports.trunks:
            differing = ", ".join(sorted(neighbours ^ ports.trunks)[:3])
            said, expected = f"{len(neighbours)}, with {differing} more or less", f"{len(ports.trunks)}"
            yield absent("PRV004", file, "the neighbours", said, expected, "cables.csv has these trunks")
        enabled = set(_INTERFACE.findall(text))
        if enabled and neighbours == ports.trunks and not ports.trunks <= enabled:
            missing = min(ports.trunks - enabled)
            rule = "a neighbour without an address is found by router advertisements"
            yield absent("PRV004", file, f"interface {missing}", None, "one with router advertisements", rule)
        if first_match(_HOST, text) != name:
            yield absent("PRV004", file, "hostname", first_match(_HOST, text), name, "racks.csv names the switch")
        own, router = first_match(_ASN, text), first_match(_ROUTER, text)
        if not own or (ports.machines and own in numbers):
            said = f"{own}, which {numbers[own]} has" if own else ""
            rule = "routes of a leaf are known by it"
            yield absent("PRV004", file, "the number of the system", said, "one of its own", rule)
        numbers[own] = name
        if not router or router in routers:
            said = f"{router}, which {routers[router]} has" if router else ""
            yield absent("PRV004", file, "bgp router-id", said, "one of its own", "routers are known by it")
        routers[router] = name
        # A leaf reaches others over all its trunks, a spine each leaf over those between the two.
        yield from _ways(file, text, len(ports.trunks) if ports.machines else 1)
        network = prefixes.get(ports.prefix)
        if network is not None and network["prefix"] not in _OWN_PREFIX.findall(text):
            said = ", ".join(_OWN_PREFIX.findall(text))
            rule = f"{network.place} has the network of its machines"
            yield absent("PRV004", file, "the prefixes that it announces", said, network["prefix"], rule)


def _ways(file: str, text: str, trunks: int) -> Iterator[Finding]:
    """A switch spreads packets over all its trunks, and announces by a list that it has."""
    paths = first_match(_PATHS, text)
    if paths and int(paths) < trunks:
        yield absent("PRV004", file, "maximum-paths", paths, f"at least {trunks}", "packets take every trunk")
    defined = set(_LISTS.findall(text))
    for used in sorted(set(_USES.findall(text)) - defined):
        rule = "a list that is not there lets nothing through"
        yield absent("PRV004", file, "prefix-list", used, ", ".join(sorted(defined)), rule)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Settings:
    """A switch as its commands set it: values by key, and values of ports by key and port."""

    file: str
    values: Mapping[str, str]
    ports: Mapping[str, Mapping[str, str]]
    adaptive: tuple[str, ...] = ()
    unnumbered: tuple[str, ...] = ()


_OF_PORT = {
    "mtu": re.compile(r"^nv set interface (swp\S+) link mtu (\S+)$", re.MULTILINE),
    "vlan": re.compile(r"^nv set interface (swp\S+) bridge domain \S+ access (\S+)$", re.MULTILINE),
    "neighbour": re.compile(r"^nv set vrf \S+ router bgp neighbor (\S+) (?:peer-group|remote-as) (\S+)$", re.MULTILINE),
}
_VALUE = re.compile(r"^nv set (.+) (\S+)$", re.MULTILINE)
_UNNUMBERED = re.compile(r"^nv set vrf \S+ router bgp neighbor (\S+) type unnumbered$", re.MULTILINE)
_ADAPTIVE = re.compile(r"^nv set interface (swp\S+) router adaptive-routing enable on$", re.MULTILINE)


def _settings(papers: Papers, name: str) -> _Settings | None:
    file = f"{NVUE}/{name}.txt"
    text = written_text(papers, file)
    if not text:
        return None
    return _Settings(
        file=file,
        values=dict(_VALUE.findall(text)),
        ports={key: dict(pattern.findall(text)) for key, pattern in _OF_PORT.items()},
        adaptive=tuple(_ADAPTIVE.findall(text)),
        unnumbered=tuple(_UNNUMBERED.findall(text)),
    )


def commands(papers: Papers) -> Iterator[Finding]:
    """Compare the commands of whole switches with cables, addresses and routing; RoCE is alike on all (`PRV006`)."""
    if not (papers.documents.site / NVUE).is_dir():
        return
    wired = _wired(papers, _FABRICS)
    if not wired:
        return
    written = {name: _settings(papers, name) for name in sorted(wired)}
    mtus = Counter(mtu for one in written.values() if one for mtu in one.ports["mtu"].values())
    usual = mtus.most_common(1)[0][0] if mtus else ""
    if not (usual.isdigit() and int(usual) >= _LEAST_MTU_BYTES):
        rule = "RDMA messages of 4,096 bytes pass in one packet"
        yield absent("PRV006", NVUE, "link mtu", usual, f"{_LEAST_MTU_BYTES} or more", rule)
    for name, own in written.items():
        if own is None:
            yield absent("PRV006", f"{NVUE}/{name}.txt", "the file", None, "one", "every switch is set up")
            continue
        ports = wired[name]
        yield from _ports(own, ports, usual)
        yield from _values(papers, own, name, ports)


def _ports(own: _Settings, ports: _Ports, mtu: str) -> Iterator[Finding]:
    every = ports.machines | ports.trunks
    differing: dict[tuple[str, str], list[str]] = defaultdict(list)
    for port in sorted(every):
        said = own.ports["mtu"].get(port, "")
        if said != mtu:
            differing[said, mtu].append(port)
    for (said, expected), named in differing.items():
        what = f"link mtu of {named[0]}" + (f" and {len(named) - 1} more" if len(named) > 1 else "")
        rule = "a path is as wide as its narrowest port, and larger packets are lost there"
        yield absent("PRV006", own.file, what, said, expected, rule)
    for what, said_of, wanted in (
        ("the neighbours", set(own.ports["neighbour"]), ports.trunks),
        ("the neighbours that are found by their port", set(own.unnumbered), ports.trunks),
        ("the access ports", set(own.ports["vlan"]), ports.machines),
        ("the ports with adaptive routing", set(own.adaptive), ports.trunks if own.adaptive else set()),
    ):
        if said_of != wanted:
            said = f"{len(said_of)}, with {', '.join(sorted(said_of ^ wanted)[:3])} more or less"
            yield absent("PRV006", own.file, what, said, f"{len(wanted)}", "cables.csv has these ports")


def _values(papers: Papers, own: _Settings, name: str, ports: _Ports) -> Iterator[Finding]:
    routing = written_text(papers, f"{FRR}/{name}.conf")
    asn, router = first_match(_ASN, routing), first_match(_ROUTER, routing)
    wanted = {
        "system hostname": (name, "racks.csv names the switch"),
        "qos roce enable": ("on", "without it RoCE loses packets"),
        "qos roce mode": ("lossless", "one switch that drops undoes what the others pause for"),
    }
    if routing:
        wanted |= {
            "router bgp autonomous-system": (asn, f"{FRR}/{name}.conf has it"),
            "router bgp router-id": (router, f"{FRR}/{name}.conf has it"),
            "interface lo ip address": (f"{router}/32", "it is the router's number"),
        }
    network = next((row for row in papers.tables.get("ip-networks.csv", ()) if row["network"] == ports.prefix), None)
    if network is not None:
        vlan, length = network["vlan"], network["prefix"].partition("/")[2]
        rule = f"{network.place} has it"
        wanted |= {
            "bridge domain br_default vlan": (vlan, rule),
            f"interface vlan{vlan} vlan": (vlan, rule),
        }
        key, gateway = f"interface vlan{vlan} ip address", f"{network['gateway']}/{length}"
        if f"nv set {key} {gateway}" not in written_text(papers, own.file).splitlines():
            yield absent("PRV006", own.file, key, own.values.get(key), gateway, rule)
        for port, said in sorted(own.ports["vlan"].items()):
            if said != vlan:
                yield absent("PRV006", own.file, f"the VLAN of {port}", said, vlan, rule)
    for key, (expected, rule) in wanted.items():
        if own.values.get(key, "") != expected:
            yield absent("PRV006", own.file, key, own.values.get(key), expected, rule)


#: Places of the page that say the priority of RoCE, its mark, and the traffic class that sets it.
_PRIORITY_SAID = (
    r"\| (\d+) for RoCE,",
    r"\| on for priority (\d+) alone",
    r"marks on the queue of priority (\d+),",
    r"drops on priority (\d+)",
    r"prio(\d+)_pause",
)
_MARK_SAID = (r"\| DSCP of RoCE \| (\d+) \|", r": DSCP (\d+) and the bit")
_CLASS_SAID = (r"cma_roce_tos -d \S+ -t (\d+)", r"NCCL_IB_TC=(\d+)")
_PAUSED = re.compile(r"--pfc=([\d,]+)")
_JOB_CLASS = re.compile(r"^\s*export NCCL_IB_TC=['\"]?(\d+)", re.MULTILINE)
_PAGE_MTU = re.compile(r"\| MTU \| ([\d,]+) on switches")


def traffic_class_of(papers: Papers) -> int | None:
    """Return the traffic class by which jobs mark their packets; None where no page has a mark of RoCE."""
    mark = first_match(re.compile(_MARK_SAID[0]), written_text(papers, ROCE))
    return int(mark) << _DSCP_SHIFT | _ECN if mark else None


def marks(papers: Papers) -> Iterator[Finding]:
    """Find marks, priorities and traffic classes of RoCE that do not follow from one another (`PRV006`)."""
    text = written_text(papers, ROCE)
    if not text:
        return
    mark = first_match(re.compile(_MARK_SAID[0]), text)
    dscp = int(mark) if mark else 0
    priority, traffic_class = dscp >> _PRIORITY_SHIFT, traffic_class_of(papers) or 0
    for patterns, expected, rule in (
        (_MARK_SAID, dscp, "switches and hosts have one mark"),
        (_PRIORITY_SAID, priority, f"DSCP {dscp} is of priority {priority}"),
        (_CLASS_SAID, traffic_class, f"DSCP {dscp} and the bit for marks make it"),
    ):
        for pattern in patterns:
            for match in re.finditer(pattern, text):
                if int(match[1]) != expected:
                    yield _on_page(text, match, expected, rule)
    paused = ",".join(str(int(number == priority)) for number in range(_PRIORITIES))
    for match in _PAUSED.finditer(text):
        if match[1] != paused:
            yield _on_page(text, match, paused, f"priority {priority} alone is paused")
    yield from _job_class(papers, traffic_class)
    yield from _page_mtu(papers, text)


def _job_class(papers: Papers, traffic_class: int) -> Iterator[Finding]:
    """Packets of the job have the mark of RoCE."""
    job = written_text(papers, _JOB)
    rule = f"{ROCE} has the mark of RoCE; packets without it are dropped, not held back"
    for match in _JOB_CLASS.finditer(job):
        if int(match[1]) != traffic_class:
            line = job.count("\n", 0, match.start()) + 1
            yield absent("PRV006", f"{_JOB}:{line}", "NCCL_IB_TC", match[1], traffic_class, rule)
    if "NCCL_NET=IB" in job and not _JOB_CLASS.search(job):
        yield absent("PRV006", _JOB, "NCCL_IB_TC", None, traffic_class, rule)


def _on_page(text: str, match: re.Match[str], expected: object, rule: str) -> Finding:
    line = text.count("\n", 0, match.start()) + 1
    return absent("PRV006", f"{ROCE}:{line}", f"“{match[0]}”", match[1], expected, rule)


def _page_mtu(papers: Papers, text: str) -> Iterator[Finding]:
    """The page and the commands have one MTU."""
    said = _PAGE_MTU.search(text)
    mtus = Counter(
        mtu
        for name in _wired(papers, _FABRICS)
        if (own := _settings(papers, name))
        for mtu in own.ports["mtu"].values()
    )
    if said and mtus and said[1].replace(",", "") != mtus.most_common(1)[0][0]:
        yield _on_page(text, said, mtus.most_common(1)[0][0], f"{NVUE} sets it")


#: OpenSM takes four bits.
_MOST_PRIORITY = 15


def _at(papers: Papers, file: str, key: str) -> str:
    """Return file and line of a setting of OpenSM; the file alone where it does not have it."""
    lines = written_text(papers, file).splitlines()
    return next((f"{file}:{number}" for number, line in enumerate(lines, start=1) if line.split()[:1] == [key]), file)


def _of_manager(papers: Papers, file: str, said: Mapping[str, str]) -> Iterator[Finding]:
    """Find a priority by which another manager may lead, and addresses that the routing does not take."""
    priority, several = said.get("sm_priority", "0"), said.get("lmc", "0")
    if not (priority.isdigit() and 1 <= int(priority) <= _MOST_PRIORITY):
        rule = "the manager of the highest priority is the master, and those of switches start with 0"
        place, expected = _at(papers, file, "sm_priority"), f"1 to {_MOST_PRIORITY}"
        yield absent("PRV007", place, "sm_priority", priority, expected, rule)
    if "ftree" in said.get("routing_engine", "").split(",") and several != "0":
        rule = "OpenSM leaves ftree for another engine where a port has several addresses"
        yield absent("PRV007", _at(papers, file, "lmc"), "lmc", several, "0", rule)


def managers(papers: Papers) -> Iterator[Finding]:
    """Find settings of subnet managers that the fabric, or its hosts, do not go with (`PRV007`)."""
    inventory = papers.documents.design.inventory
    levels = {"compute": inventory.fabric.levels, "storage": inventory.storage_fabric.levels}
    for network, count in levels.items():
        file = f"{_MANAGER}/{network}.conf"
        said = {
            words[0]: words[1].strip()
            for line in written_text(papers, file).splitlines()
            if not line.startswith("#") and len(words := line.split(maxsplit=1)) > 1
        }
        engine = said.get("routing_engine", "")
        if said and count > 1 and engine.split(",")[0] not in _TREE:
            rule = f"of {count} levels, other ways may close a circle in which packets wait for each other"
            yield absent("PRV007", file, "routing_engine", engine, ", ".join(_TREE[:2]), rule)
        if said:
            yield from _of_manager(papers, file, said)
        if said and said.get("partition_config_file", "").rpartition("/")[2] != "partitions.conf":
            value = said.get("partition_config_file")
            yield absent("PRV007", file, "partition_config_file", value, "partitions.conf", "the folder has it")
    for number, line in enumerate(written_text(papers, _PARTITIONS).splitlines(), start=1):
        if not line.startswith("Default="):
            continue
        flags, _, members = line.partition(":")
        set_to = dict(pair.strip().split("=") for pair in flags.split(",") if "=" in pair)
        for key, expected, rule in (
            ("mtu", _IPOIB_MTU, "4,096 bytes, as all ports take them"),
            ("defmember", "full", "limited members do not reach each other"),
        ):
            if set_to.get(key, "") != expected:
                yield absent("PRV007", f"{_PARTITIONS}:{number}", key, set_to.get(key), expected, rule)
        if "ALL" not in {member.strip(" ;").partition("=")[0] for member in members.split(",")}:
            yield absent(
                "PRV007", f"{_PARTITIONS}:{number}", "the members", members.strip(), "ALL", "every port is one"
            )
