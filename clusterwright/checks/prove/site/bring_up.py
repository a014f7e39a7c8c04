"""What people and MAAS do with the machines by these files: firmware settings, enlisting, and what alerts compare."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from clusterwright import assets
from clusterwright.catalog.software.accelerators import alerts_of
from clusterwright.checks.prove.papers import Papers, absent, read_rows
from clusterwright.checks.prove.site import services
from clusterwright.errors import Finding

_FOLDER = "provisioning"
_FIRMWARE, _ENLIST, _MACHINES = f"{_FOLDER}/firmware.csv", f"{_FOLDER}/maas/enlist.sh", f"{_FOLDER}/machines.csv"
_README, _BOND = f"{_FOLDER}/README.md", f"{_FOLDER}/maas/bond.sh"
_NODES = f"{_FOLDER}/warewulf/nodes.conf"
_ALERTS, _FIGURES = f"{_FOLDER}/services/alerts.yml", f"{_FOLDER}/services/prometheus.yml"
_READ = re.compile(r"\bread -r ([\w ]+); do")
_EMPTY_MAC = re.compile(r"\$(\d+) == \"\"")
_COMPARED = re.compile(r"^(.*\S)\s*(==|!=|>=|<=|>|<)\s*(-?[\d.e+-]+)$")
#: Metrics of an expression: names with an underscore, or `up`, that are neither functions nor labels.
_METRIC = re.compile(r"\b(up|\w+_\w+)\b(?=\s*[\[{)><=!/+*-]|$)(?!\s*=\")")
_JOB = re.compile(r'\bjob="([^"]*)"')
_COUNTED = re.compile(r"^([\d,]+) machines? of ", re.MULTILINE)
_MAC, _BMC = "mac_address", "bmc_address"
#: Of an alert that counts the fabric's ports of a host: the rate from which one counts, and how many there are.
_COUNTED_PORTS = re.compile(r"(?:infiniband_rate_bytes_per_second|network_speed_bytes)\W.*?>= bool (\S+?)\).*< (\d+)$")
#: What a metric may be compared with: the operators, and the least and the greatest figure that still mean something.
_BOUNDS: Mapping[str, tuple[str, float, float, str]] = {
    "count by": ("<", 1.0, 1e3, "it counts what is there"),
    "sum by": ("<", 1.0, 1e3, "it counts what is there"),
    "increase(": (">", 0.0, 1e6, "it counts errors"),
    "node_timex_offset_seconds": (">", 0.001, 1.0, "it is in seconds, and runbook.md looks at tens of milliseconds"),
    "node_filesystem_avail_bytes": ("<", 0.01, 0.5, "it is the share that is free"),
    "up{job": ("==", 0.0, 0.0, "it is 0 where a machine does not answer"),
    "gpu_health": ("==", 0.0, 0.0, "it is 0 where a GPU is not well"),
    "_TEMP": (">", 60.0, 110.0, "it is in degrees"),
    "temperature": (">", 60.0, 110.0, "it is in degrees"),
}


def firmware(papers: Papers) -> Iterator[Finding]:
    """Settings of firmware are those of the table, whose reasons stand beside them (`PRV009`)."""
    if not (papers.documents.site / _FIRMWARE).is_file():
        return
    path = assets.root() / "templates" / "provisioning" / "firmware.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    system = papers.catalogue.systems[papers.documents.design.inventory.system]
    vendor = papers.catalogue.accelerators[system.accelerator].vendor
    wanted = {(row["where"], row["setting"]): row for row in rows if row["vendor"] in {"", vendor}}
    for row in read_rows(papers.documents, _FIRMWARE):
        own = wanted.get((row["where"], row["setting"]))
        # A site may list settings of its own, and say more of one of these.
        if own is not None and not row["value"].startswith(own["value"]):
            what = f"{row['where']} {row['setting']}"
            yield absent("PRV009", row.place, what, row["value"], own["value"], own["why"])


def enlisting(papers: Papers) -> Iterator[Finding]:
    """The script for MAAS reads the columns of its table, and names the processors of the machines (`PRV001`)."""
    if not (papers.documents.site / _ENLIST).is_file():
        return
    text, columns = papers.text(_ENLIST), papers.text(_MACHINES).splitlines()[0].split(",")
    match = _READ.search(text)
    names = {"mac": _MAC, "bmc": _BMC, "name": "machine", "role": "role"}
    for place, word in enumerate(match[1].split() if match else ()):
        expected = columns[place] if place < len(columns) else ""
        if names.get(word, expected) != expected:
            rule = f"{_MACHINES} has its columns in this order"
            yield absent("PRV001", _ENLIST, f"column {place + 1}, read as {word}", expected, names[word], rule)
    asked = _EMPTY_MAC.search(text)
    if asked is not None and _MAC in columns and int(asked[1]) != columns.index(_MAC) + 1:
        expected_place = f"${columns.index(_MAC) + 1}"
        yield absent("PRV001", _ENLIST, "the column of missing MACs", f"${asked[1]}", expected_place, f"of {_MACHINES}")
    yield from _architectures(papers, text)


def _architectures(papers: Papers, text: str) -> Iterator[Finding]:
    documents = papers.documents
    software = documents.plan.software_of(documents.option.target)
    own = None if software is None else software.version("host_architecture")
    expected = {"x86_64": "amd64", "arm64": "arm64"}.get(own or "x86_64", "amd64")
    if f"{expected}/generic" not in text:
        said = ", ".join(sorted(set(re.findall(r"(\w+)/generic", text))))
        yield absent("PRV001", _ENLIST, "architecture", said, f"{expected}/generic", "the hosts have these processors")


#: Settings of the bond that both tools make, as MAAS and Warewulf call them.
_OF_BOND = (
    ("mtu", re.compile(r"\bmtu=(\S+?)\)?\"?$", re.MULTILINE), re.compile(r"^ +mtu: [\"']?(\w+)", re.MULTILINE)),
)


def bonding(papers: Papers) -> Iterator[Finding]:
    """MAAS makes the bond with the packets of Warewulf's: machines of one network have one size (`PRV003`)."""
    site = papers.documents.site
    if not (site / _BOND).is_file() or not (site / _NODES).is_file():
        return
    text, nodes = papers.text(_BOND), papers.text(_NODES)
    for what, of_script, of_table in _OF_BOND:
        usual = Counter(of_table.findall(nodes)).most_common(1)
        match = of_script.search(text)
        said = match[1] if match else None
        if usual and said != usual[0][0]:
            place = f"{_BOND}:{text.count(chr(10), 0, match.start(1)) + 1}" if match else _BOND
            yield absent("PRV003", place, what, said, usual[0][0], f"{_NODES} makes the bond with it")


def alerts(papers: Papers) -> Iterator[Finding]:
    """Alerts name jobs that are asked, and compare a figure in its unit and direction (`PRV008`)."""
    document = services.yaml_of(papers, _FIGURES) or {}
    jobs = {str(job.get("job_name")) for job in document.get("scrape_configs") or []}
    for group in (services.yaml_of(papers, _ALERTS) or {}).get("groups") or []:
        for rule in group.get("rules") or []:
            said, name = " ".join(str(rule.get("expr", "")).split()), str(rule.get("alert"))
            for job in _JOB.findall(said) if jobs else ():
                if job not in jobs:
                    expected = ", ".join(sorted(jobs))
                    yield absent("PRV008", _ALERTS, f"the job of {name}", job, expected, f"{_FIGURES} asks these")
            yield from _compared(name, said)
            yield from _ports(papers, name, said)
            yield from _exported(papers, name, said)


def _ports(papers: Papers, name: str, said: str) -> Iterator[Finding]:
    """An alert that counts the fabric's ports of a host waits for all of them, at the rate of the design."""
    counted, inventory = _COUNTED_PORTS.search(said), papers.documents.design.inventory
    if counted is None:
        return
    system = papers.catalogue.systems[inventory.system]
    rate, ports = inventory.adapter_bytes_per_s(system), inventory.fabric_ports_seen(system)
    if abs(float(counted[1]) - rate) > 1:
        rule = "a port of a host has this rate"
        yield absent("PRV008", _ALERTS, f"the rate of {name}", counted[1], f"{rate:.0f}", rule)
    if int(counted[2]) != ports:
        rule = "a host has as many fabric ports of that rate or a higher one"
        yield absent("PRV008", _ALERTS, f"the ports of {name}", counted[2], ports, rule)


def _exported(papers: Papers, name: str, said: str) -> Iterator[Finding]:
    """An alert about accelerators reads the metrics that their exporter has (`catalog/accelerator_alerts.csv`)."""
    inventory = papers.documents.design.inventory
    vendor = papers.catalogue.accelerators[papers.catalogue.systems[inventory.system].accelerator].vendor
    known = {alert.name: alert.expression for alert in alerts_of(vendor, gpus=inventory.gpus // len(inventory.hosts()))}
    if name not in known:
        return
    read, exported = set(_METRIC.findall(said)), set(_METRIC.findall(known[name]))
    if read != exported:
        what, expected = f"what {name} reads", ", ".join(sorted(exported))
        yield absent("PRV008", _ALERTS, what, ", ".join(sorted(read)), expected, "the exporter calls it so")


def _compared(name: str, said: str) -> Iterator[Finding]:
    match = _COMPARED.match(said)
    if match is None:
        return
    for words, (operator, least, greatest, rule) in _BOUNDS.items():
        if words not in match[1]:
            continue
        figure = float(match[3])
        within = least <= figure <= greatest
        if match[2].rstrip("=") != operator.rstrip("=") or not within:
            bounds = f"{operator} {least:g}" + (f" to {greatest:g}" if greatest > least else "")
            yield absent("PRV008", _ALERTS, f"what {name} compares", f"{match[2]} {match[3]}", bounds, rule)
        return


def page(papers: Papers) -> Iterator[Finding]:
    """The page of the folder counts the machines of its table (`PRV001`)."""
    if not (papers.documents.site / _README).is_file():
        return
    match, rows = _COUNTED.search(papers.text(_README)), read_rows(papers.documents, _MACHINES)
    if match is not None and int(match[1].replace(",", "")) != len(rows):
        yield absent("PRV001", _README, "the machines", match[1], f"{len(rows):,}", f"{_MACHINES} has them")
