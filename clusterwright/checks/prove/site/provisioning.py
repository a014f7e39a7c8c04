"""Proof of the files that bring machines up: they name the inventory's machines, and their own tools read them."""

import csv
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from clusterwright.checks.prove.papers import CellError, Papers, absent, examined
from clusterwright.checks.prove.records import Result, found, judged
from clusterwright.checks.prove.site import bring_up, inband_switches, services, switches
from clusterwright.errors import Finding

FOLDER = "provisioning"
PART = "provisioning"
_MACHINES, _NODES = f"{FOLDER}/machines.csv", f"{FOLDER}/warewulf/nodes.conf"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_TIMEOUT_S = 120
#: Switches differ in ports and addresses alone: each has a file, and a third of a second each is long for hundreds.
_MOST_READ = 64
_HELP = "write the folder again, or carry the change into the blueprint"
_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", re.IGNORECASE)
_DHCP = "dhcp-hosts.csv"


def has_provisioning(papers: Papers) -> bool:
    """Tell whether the folder has files that bring machines up."""
    return (papers.documents.site / _MACHINES).is_file()


def prove_provisioning(papers: Papers) -> Result:
    """Return what holds between these files and the plan."""
    facts = [
        "each host and server once, with the addresses of dhcp-hosts.csv, in machines.csv and Warewulf's table",
        "names, figures, alerts, clocks, logs and settings of the kernel are those of the machines and their roles",
    ]
    routed = sorted((papers.documents.site / FOLDER / "switches" / "frr").glob("*.conf"))
    if routed:
        facts.append(f"{len(routed)} switches route: a neighbour on every trunk of cables.csv, a number for each leaf")
        facts.append(
            "in-band machines have one bond over their leaves, and the gateways; filters, tried with packets of hosts, "
            "servers, BMCs and the outside, keep all but the servers from BMCs"
        )
    rules = (
        _machines,
        _warewulf,
        _macs,
        switches.routers,
        switches.commands,
        switches.marks,
        switches.managers,
        inband_switches.inband,
        services.names,
        services.figures,
        services.clocks,
        services.images,
        services.roles,
        bring_up.firmware,
        bring_up.enlisting,
        bring_up.bonding,
        bring_up.alerts,
        bring_up.page,
    )
    return examined(PART, papers, (_MACHINES, _NODES), rules, facts)


def _table(papers: Papers) -> list[dict[str, str]]:
    rows = csv.DictReader(papers.text(_MACHINES).splitlines(), restval="", restkey="more")
    return [{key: value for key, value in row.items() if isinstance(value, str)} for row in rows]


def _machines(papers: Papers) -> Iterator[Finding]:
    """Compare `machines.csv` with the inventory and the table for DHCP (`PRV001`)."""
    planned, seen = services.addresses(papers), set[str]()
    for number, row in enumerate(_table(papers), start=2):
        name, place = row.get("machine", ""), f"{_MACHINES}:{number}"
        if name not in planned or name in seen:
            yield absent("PRV001", place, "the machine", name, "a host or server, once", "racks.csv has them")
            continue
        seen.add(name)
        for column, network in (("address", "in-band"), ("bmc_address", "out-of-band")):
            expected = planned[name].get(network, "")
            if row.get(column, "") != expected:
                rule = "DHCP gives it that one"
                yield absent("PRV001", place, f"{column} of {name}", row.get(column), expected, rule)
    for name in sorted(planned.keys() - seen):
        yield absent("PRV001", _MACHINES, f"the line of {name}", None, "one", "every machine is installed")


def _macs(papers: Papers) -> Iterator[Finding]:
    """Find MACs that are none, that two machines have, or that differ by table (`PRV002`); empty ones are to come."""
    seen: dict[str, str] = {}
    given = _given_macs(papers)
    for number, row in enumerate(_table(papers), start=2):
        mac, name = row.get("mac_address", "").lower(), row.get("machine", "")
        if not mac:
            continue
        if _MAC.fullmatch(mac) is None:
            yield absent("PRV002", f"{_MACHINES}:{number}", f"the MAC of {name}", mac, "aa:bb:cc:dd:ee:ff", "its form")
        elif mac in seen:
            rule = f"{seen[mac]} has it"
            yield absent("PRV002", f"{_MACHINES}:{number}", f"the MAC of {name}", mac, "one of its own", rule)
        seen[mac] = name
        for file, other in given.get(name, {}).items():
            if _digits(other) != _digits(mac):
                yield absent("PRV002", f"{_MACHINES}:{number}", f"the MAC of {name}", mac, other, f"{file} has it")


def _digits(mac: str) -> str:
    return re.sub("[^0-9a-f]", "", mac.lower())


def _given_macs(papers: Papers) -> dict[str, dict[str, str]]:
    """Return the MACs of machines that the table for DHCP and Warewulf's have, by machine and file."""
    given: dict[str, dict[str, str]] = {}
    for row in papers.rows(_DHCP):
        if row["network"] == "in-band" and row["mac_address"]:
            given.setdefault(row["device"], {})[row.place] = row["mac_address"]
    document = services.yaml_of(papers, _NODES) or {}
    for name, node in (document.get("nodes") or {}).items():
        mac = ((node.get("network devices") or {}).get("port1") or {}).get("hwaddr")
        if mac:
            given.setdefault(name, {})[_NODES] = str(mac)
    return given


def _warewulf(papers: Papers) -> Iterator[Finding]:
    """Compare Warewulf's table with the same addresses (`PRV003`)."""
    planned = services.addresses(papers)
    try:
        document = services.yaml_of(papers, _NODES)
        nodes, profiles = document["nodes"], document["nodeprofiles"]
        written = {
            name: (node["network devices"]["default"]["ipaddr"], node["ipmi"]["ipaddr"], tuple(node["profiles"]))
            for name, node in nodes.items()
        }
    except (CellError, KeyError, TypeError, AttributeError) as error:
        why = " ".join(str(error).split())[:120]
        yield absent("PRV003", _NODES, "the table", why, "nodes and nodeprofiles", "Warewulf reads it")
        return
    for name in sorted(planned.keys() | written.keys()):
        wanted = (planned.get(name, {}).get("in-band"), planned.get(name, {}).get("out-of-band"))
        if name not in planned or name not in written or written[name][:2] != wanted:
            said = None if name not in written else " and ".join(map(str, written[name][:2]))
            expected = "no line" if name not in planned else " and ".join(map(str, wanted))
            yield absent("PRV003", _NODES, f"the addresses of {name}", said, expected, "dhcp-hosts.csv has them")
        elif unknown := set(written[name][2]) - set(profiles):
            yield absent("PRV003", _NODES, f"the profile of {name}", min(unknown), "one of the table", "it lists them")


def prove_tools(papers: Papers) -> Result | None:
    """Return what the tools of these files say that are installed here; None where there is no file or no tool."""
    site = papers.documents.site / FOLDER
    user_data = sorted((site / "cloud-init").glob("*.yaml"))
    figures = site / "services" / "prometheus.yml"
    routers = sorted((site / "switches" / "frr").glob("*.conf"))
    asked: list[tuple[str, Sequence[Path], list[str]]] = [
        ("cloud-init", user_data, ["schema", "--config-file"]),
        ("promtool", [figures] if figures.is_file() else [], ["check", "config"]),
        ("vtysh", routers, ["-C", "-f"]),
    ]
    engines, facts, findings = [], [], []
    for program, paths, options in asked:
        binary = shutil.which(program, path=_PATH)
        if binary is None or not paths:
            continue
        engines.append(program)
        read = paths[:_MOST_READ]
        of_all = "" if len(read) == len(paths) else f" of {len(paths):,}"
        facts.append(f"{program} reads {len(read)}{of_all} file{'' if len(paths) == 1 else 's'}")
        for path in read:
            said = _refusal([binary, *options, str(path)])
            if said:
                name = papers.documents.name(path)
                findings.append(found("PRV005", f"{name}: {program} refuses it: {said}", _HELP))
    names = tuple(papers.documents.name(path) for _, paths, _ in asked for path in paths[:1])
    return judged(f"{PART}, by its tools", names, ", ".join(engines), facts, findings) if engines else None


def _refusal(command: list[str]) -> str:
    """Return why a tool refuses a file, empty if it takes it."""
    try:
        done = subprocess.run(  # noqa: S603 - reads a file, asks no server
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env={"PATH": _PATH, "LC_ALL": "C"}
        )
    except subprocess.SubprocessError as error:
        return type(error).__name__
    said = " ".join(f"{done.stdout} {done.stderr}".split())[-200:]
    # FRR's shell says what it does not know, and ends with 0.
    wrong = done.returncode != 0 or "Unknown command" in said or "% Can't" in said
    return said or "without a word" if wrong else ""
