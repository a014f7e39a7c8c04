"""Services of the site against its machines: names, figures, alerts, clocks, logs, and what each role is set to."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Any

from clusterwright.checks.prove.papers import CellError, Papers, absent, read_rows
from clusterwright.checks.prove.yaml_text import YamlTextError, yaml_document
from clusterwright.errors import Finding
from clusterwright.facility.server_roles import LOGIN, server_roles

_FOLDER = "provisioning"
_HOSTS, _CLOCKS = f"{_FOLDER}/services/hosts", f"{_FOLDER}/services/chrony.conf"
_FIGURES, _ALERTS = f"{_FOLDER}/services/prometheus.yml", f"{_FOLDER}/services/alerts.yml"
_KERNEL, _MACHINES = f"{_FOLDER}/kernel.csv", f"{_FOLDER}/machines.csv"
_COMPUTE, _CONTROL = "compute", "control"
_SYSCTL = "/etc/sysctl.d/"
_ALLOW = re.compile(r"^allow (\S+)$", re.MULTILINE)
_SENT_TO = re.compile(r"@@?([\w.-]+):\d+")
_PINNED = re.compile(r"^\* (soft|hard|-) memlock (\S+)$", re.MULTILINE)
#: Fewer series than a host has GPUs: one is lost.
_LOST = re.compile(r"^count by \([^)]*\) \([^)]*\) < (\d+)$")
#: Jobs of the monitoring and the machines that each asks.
_ASKED = {"gpu": (_COMPUTE,), "machine": (_COMPUTE, _CONTROL, LOGIN)}

Roles = Mapping[str, str]


def roles_of(papers: Papers) -> dict[str, str]:
    """Return the role of every host and server: `compute`, `control` or `login`."""
    inventory = papers.documents.design.inventory
    roles = dict.fromkeys(inventory.hosts(), _COMPUTE)
    scheduler = papers.documents.option.deployment.scheduler
    for role in server_roles(inventory.servers(), scheduler=scheduler):
        roles |= dict.fromkeys(role.servers, LOGIN if role.role == LOGIN else _CONTROL)
    return roles


def _text(papers: Papers, file: str) -> str:
    return papers.text(file) if (papers.documents.site / file).is_file() else ""


def yaml_of(papers: Papers, file: str) -> Any:  # noqa: ANN401 - YAML holds anything
    """Return the content of a YAML file of the site; None where there is none.

    Raises:
        CellError: it is no YAML.
    """
    try:
        return yaml_document(_text(papers, file))
    except YamlTextError as error:
        raise CellError(f"{file}: {str(error)[:120]}") from None


def addresses(papers: Papers) -> dict[str, dict[str, str]]:
    """Return the addresses of hosts and servers by network, from the table for DHCP."""
    found: dict[str, dict[str, str]] = {name: {} for name in roles_of(papers)}
    for row in papers.rows("dhcp-hosts.csv"):
        if row["device"] in found:
            found[row["device"]][row["network"]] = row["address"]
    return found


def names(papers: Papers) -> Iterator[Finding]:
    """Compare the names of the site with the table for DHCP; further names are the site's own (`PRV008`)."""
    text = _text(papers, _HOSTS)
    listed: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        address, *named = line.partition("#")[0].split() or [""]
        listed |= dict.fromkeys(named, (number, address))
    for name, own in addresses(papers).items() if text else ():
        for key, network in ((name, "in-band"), (f"{name}-bmc", "out-of-band")):
            expected, (number, said) = own.get(network), listed.get(key, (1, ""))
            if expected and said != expected:
                rule = "dhcp-hosts.csv gives it that one"
                yield absent("PRV008", f"{_HOSTS}:{number}", f"the address of {key}", said, expected, rule)


def figures(papers: Papers) -> Iterator[Finding]:
    """Every machine is asked for its figures, and an alert counts the GPUs that a host has (`PRV008`)."""
    roles, document = roles_of(papers), yaml_of(papers, _FIGURES)
    jobs = {job.get("job_name"): job for job in (document or {}).get("scrape_configs") or []}
    for job, wanted in _ASKED.items() if document else ():
        listed = {
            str(target).partition(":")[0]
            for config in (jobs.get(job) or {}).get("static_configs") or []
            for target in config.get("targets") or []
        }
        missing = sorted(name for name, role in roles.items() if role in wanted and name not in listed)
        # A site may find its machines by another way than a list.
        if missing and (job not in jobs or "static_configs" in jobs[job]):
            rule = f"job {job} watches every one of {', '.join(wanted)}"
            yield absent("PRV008", _FIGURES, f"the target {missing[0]}", None, f"{len(missing)} more", rule)
    yield from _exporters(jobs)
    inventory = papers.documents.design.inventory
    gpus = inventory.gpus // len(inventory.hosts())
    for group in (yaml_of(papers, _ALERTS) or {}).get("groups") or []:
        for rule_ in group.get("rules") or []:
            counted = _LOST.match(str(rule_.get("expr", "")))
            if counted and int(counted[1]) != gpus:
                what = f"the GPUs below which {rule_.get('alert')} calls"
                yield absent("PRV008", _ALERTS, what, counted[1], gpus, "each host has these GPUs")


def _exporters(jobs: Mapping[str, Any]) -> Iterator[Finding]:
    """Machines of a job answer at the port of most of them: an exporter is installed alike everywhere."""
    for name, job in jobs.items():
        targets = [str(target) for config in job.get("static_configs") or [] for target in config.get("targets") or []]
        ports = Counter(target.rpartition(":")[2] for target in targets)
        for target in targets if name in _ASKED else ():
            usual = ports.most_common(1)[0][0]
            if target.rpartition(":")[2] != usual and ports[usual] > len(targets) // 2:
                rule = "the others of its job answer there"
                yield absent(
                    "PRV008", _FIGURES, f"the port of {target} in {name}", target.rpartition(":")[2], usual, rule
                )


def clocks(papers: Papers) -> Iterator[Finding]:
    """The site's clocks answer the machines' network, and machines ask those that run one (`PRV009`)."""
    networks = {row["network"]: row for row in papers.rows("ip-networks.csv")}
    in_band = IPv4Network(networks["in-band"]["prefix"])
    text = _text(papers, _CLOCKS)
    allowed = [_network(word) for word in _ALLOW.findall(text)]
    if text and not any(one is not None and in_band.subnet_of(one) for one in allowed):
        said = ", ".join(_ALLOW.findall(text))
        yield absent("PRV009", _CLOCKS, "allow", said, in_band, "machines ask from that network")
    site = IPv4Network(papers.documents.design.rules.network.range)
    controls = {
        own.get("in-band"): name for name, own in addresses(papers).items() if roles_of(papers)[name] == _CONTROL
    }
    for role in (_COMPUTE, _CONTROL, LOGIN):
        file = _user_data(role)
        for server in ((yaml_of(papers, file) or {}).get("ntp") or {}).get("servers") or []:
            address = _address(str(server))
            # Another server of the site's own choice may stand anywhere else.
            if address is not None and address in site and str(address) not in controls:
                rule = f"{_CLOCKS} runs on these"
                yield absent("PRV009", file, "a time server", server, " or ".join(map(str, controls)), rule)


def _network(word: str) -> IPv4Network | None:
    try:
        return IPv4Network(word, strict=False)
    except ValueError:
        return None


def _address(word: str) -> IPv4Address | None:
    try:
        return IPv4Address(word)
    except AddressValueError:
        return None


def _user_data(role: str) -> str:
    return f"{_FOLDER}/cloud-init/{role}.yaml"


def images(papers: Papers) -> Iterator[Finding]:
    """User data of a role sets what the table of its kernel settings has, and logs go to a machine (`PRV009`)."""
    roles = roles_of(papers)
    rows = read_rows(papers.documents, _KERNEL) if (papers.documents.site / _KERNEL).is_file() else ()
    for role in (_COMPUTE, _CONTROL, LOGIN):
        file = _user_data(role)
        document = yaml_of(papers, file)
        if not document:
            continue
        written = [one for one in document.get("write_files") or [] if isinstance(one, dict)]
        for target in {host for one in written for host in _SENT_TO.findall(str(one.get("content")))}:
            # A full name, or an address, is a machine of the site's own.
            if "." not in target and roles.get(target) != _CONTROL:
                expected = ", ".join(name for name, own in roles.items() if own == _CONTROL)
                yield absent("PRV009", file, "where logs go", target, expected, "racks.csv has the servers")
        limits = [limit for one in written for limit in _PINNED.findall(str(one.get("content")))]
        for kind, limit in limits if role == _COMPUTE else ():
            if limit != "unlimited":
                yield absent("PRV009", file, f"{kind} memlock", limit, "unlimited", "RDMA pins memory")
        said = {
            key.strip(): " ".join(value.split())
            for one in written
            if str(one.get("path", "")).startswith(_SYSCTL)
            for key, found, value in (line.partition("=") for line in str(one.get("content")).splitlines())
            if found
        }
        for row in rows if said else ():
            if row["role"] == role and said.get(row["setting"]) != " ".join(row["value"].split()):
                rule = f"{row.place} gives it with its reason"
                yield absent("PRV009", file, row["setting"], said.get(row["setting"]), row["value"], rule)


def roles(papers: Papers) -> Iterator[Finding]:
    """Every machine has its role of the plan, in the table and as a profile of its image (`PRV009`)."""
    planned = roles_of(papers)
    for row in read_rows(papers.documents, _MACHINES):
        expected = planned.get(row["machine"], row["role"])
        if row["role"] != expected:
            yield absent("PRV009", row.place, f"role of {row['machine']}", row["role"], expected, "the plan has it so")
    file = f"{_FOLDER}/warewulf/nodes.conf"
    document = yaml_of(papers, file) or {}
    for name, node in (document.get("nodes") or {}).items():
        own = set(node.get("profiles") or [])
        others = own & (set(planned.values()) - {planned.get(name)})
        if name in planned and (planned[name] not in own or others):
            profiles = ", ".join(sorted(own))
            yield absent("PRV009", file, f"the profiles of {name}", profiles, planned[name], "the plan has it so")
    networks = {row["network"]: row for row in papers.rows("ip-networks.csv")}
    default = (document.get("nodeprofiles") or {}).get("default") or {}
    for network, said in (
        ("in-band", ((default.get("network devices") or {}).get("default") or {})),
        ("out-of-band", default.get("ipmi") or {}),
    ):
        for key in ("netmask", "gateway"):
            expected = networks[network][key]
            if key in said and str(said[key]) != expected:
                rule = f"{networks[network].place} has it"
                yield absent("PRV009", file, f"{key} of {network}", said[key], expected, rule)
