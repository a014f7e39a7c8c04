"""NVLink domains in Slurm's files, and tenants: what follows from the racks and from the plan, line by line."""

import csv
import re
from collections.abc import Iterator, Sequence

from clusterwright.checks.prove.jobs.lines import SLURM, TOPOLOGY, Line, hosts_of, lines_of
from clusterwright.checks.prove.papers import Papers, absent
from clusterwright.errors import Finding
from clusterwright.plan.tenants import Tenant, gpus_of

DOMAINS, TENANTS = "node/nvlink_domains.csv", "node/tenants.sh"
_LEVEL = re.compile(r"^level (\S+) .*?GrpTRES=gres/gpu=(\d+)", re.MULTILINE)
_TAKES = re.compile(r"^level (\S+) .*?\bPreempt=(\S+)", re.MULTILINE)
_PRIORITY = re.compile(r"^level (\S+) .*?\bPriority=(\d+)", re.MULTILINE)
_MODE = re.compile(r"^level (\S+) .*?\bPreemptMode=(\S+)", re.MULTILINE)
_ACCOUNT = re.compile(r"^account (\S+) ", re.MULTILINE)
_FAIR = re.compile(r"^account (\S+) .*?Fairshare=(\d+)", re.MULTILINE)
_MEMBER = re.compile(r"^member (\S+) (\S+)$", re.MULTILINE)


def has_blocks(papers: Papers) -> bool:
    """Tell whether topology.conf is of blocks."""
    return any("blockname" in line.values for line in lines_of(papers, TOPOLOGY))


def _domains(papers: Papers) -> list[tuple[str, ...]]:
    inventory = papers.documents.design.inventory
    hosts, each = inventory.hosts(), inventory.hosts_per_node
    return [tuple(hosts[start : start + each]) for start in range(0, len(hosts), each)]


def blocks(papers: Papers) -> Iterator[Finding]:
    """Compare the blocks with the racks that are one NVLink domain each (`SLM017`)."""
    planned = {domain: number for number, domain in enumerate(_domains(papers), start=1)}
    seen: set[tuple[str, ...]] = set()
    lines = lines_of(papers, TOPOLOGY)
    for line in lines:
        if "blockname" not in line.values:
            continue
        found = tuple(hosts_of(line.get("Nodes")))
        if found not in planned or found in seen:
            expected = "the trays of one rack, once"
            yield _said(line, line.get("BlockName"), f"{len(found)} nodes from {found[0]}", expected)
        seen.add(found)
    for domain in planned.keys() - seen:
        yield absent("SLM017", TOPOLOGY, f"the block of {domain[0]}", None, "one", "each rack is an NVLink domain")
    sizes = [line.get("BlockSizes") for line in lines if "blocksizes" in line.values]
    each = papers.documents.design.inventory.hosts_per_node
    wanted = [each << level for level in range(len(planned).bit_length())]
    if sizes != [",".join(map(str, wanted))]:
        rule = "a block is a rack, and sizes double up to what there is"
        yield absent("SLM017", TOPOLOGY, "BlockSizes", ", ".join(sizes) or None, ",".join(map(str, wanted)), rule)


def domain_table(papers: Papers) -> Iterator[Finding]:
    """Compare the table that the prolog reads with the racks (`SLM017`)."""
    if not (papers.documents.site / DOMAINS).is_file():
        return
    written: dict[str, list[str]] = {}
    for row in csv.DictReader(papers.text(DOMAINS).splitlines()):
        written.setdefault(str(row.get("domain")), []).append(str(row.get("host")))
    if sorted(map(tuple, written.values())) != sorted(_domains(papers)):
        rule = "the prolog lets the trays of a job reach each other's memory by it"
        yield absent("SLM017", DOMAINS, "the domains", f"{len(written)}", "one for the trays of each rack", rule)


def _said(line: Line, what: str, value: object, expected: object) -> Finding:
    return absent("SLM017", f"{line.file}:{line.number}", what, value, expected, "each rack is an NVLink domain")


def tenants(papers: Papers) -> Iterator[Finding]:
    """Compare partitions, limits and members with the tenants of the plan (`SLM018`)."""
    plan = papers.documents.plan
    listed, site = plan.cluster.tenants, papers.documents.site
    written = (site / TENANTS).is_file()
    if not listed:
        if written:
            yield absent("SLM018", TENANTS, "the file", "there", "none", "the plan has no tenants")
        return
    text = papers.text(TENANTS) if written else ""
    lines = lines_of(papers, SLURM)
    partitions = {line.get("PartitionName"): line for line in lines if line.get("PartitionName")}
    counted = counted_gpus(papers)
    quotas = {name: int(gpus) for name, gpus in _LEVEL.findall(text)}
    own = {name: gpus for name, gpus in gpus_of(listed, counted).items() if _has_share(papers, name)}
    if quotas != own:
        wrong = min(name for name in quotas.keys() | own.keys() if quotas.get(name) != own.get(name))
        rule = f"shares of {counted:,} GPUs, whole ones by largest remainder"
        yield absent("SLM018", TENANTS, f"the GPUs of {wrong}", quotas.get(wrong), own.get(wrong), rule)
    yield from _taken_back(listed, text)
    yield from _before_others(listed, text)
    accounts = set(_ACCOUNT.findall(text))
    members = sorted(_MEMBER.findall(text))
    planned = sorted((user, tenant.name) for tenant in listed for user in tenant.users)
    if members != planned:
        wrong_member = min(set(members) ^ set(planned))
        said = "there" if wrong_member in members else None
        expected = "there" if wrong_member in planned else "none"
        yield absent("SLM018", TENANTS, " in ".join(wrong_member), said, expected, "the plan lists the members")
    shared = partitions.get(plan.cluster.partition)
    own_nodes = set(_nodes(shared, papers)) if shared else set()
    yield from _fair_shares(listed, text)
    for tenant in listed:
        line = partitions.get(tenant.name)
        allowed = line.get("AllowAccounts") if line else None
        if line is None or allowed != tenant.name:
            where = f"{SLURM}:{line.number}" if line else SLURM
            rule = "nobody else submits there"
            yield absent("SLM018", where, f"AllowAccounts of {tenant.name}", allowed, tenant.name, rule)
        if line is not None and set(_nodes(line, papers)) != own_nodes:
            there, expected = len(_nodes(line, papers)), f"{len(own_nodes):,} nodes"
            rule = f"tenants share those of {plan.cluster.partition}"
            yield absent("SLM018", f"{SLURM}:{line.number}", f"Nodes of {tenant.name}", there, expected, rule)
        if tenant.name not in accounts:
            yield absent("SLM018", TENANTS, f"the account {tenant.name}", None, "one", "its jobs name it")
    yield from _enforced(listed, lines)


def _enforced(tenants: Sequence[Tenant], lines: Sequence[Line]) -> Iterator[Finding]:
    """Slurm takes back what tenants borrowed, and refuses jobs above their limits."""
    if any(tenant.borrows for tenant in tenants):
        preempts = {line.get("PreemptType").lower() for line in lines if "preempttype" in line.values}
        if preempts != {"preempt/qos"}:
            said, rule = ", ".join(sorted(preempts)) or None, "without it no job gives way to another"
            yield absent("SLM018", SLURM, "PreemptType", said, "preempt/qos", rule)
    enforced = {line.get("AccountingStorageEnforce") for line in lines if "accountingstorageenforce" in line.values}
    if not any({"associations", "limits", "qos"} <= set(value.split(",")) for value in enforced):
        said = ", ".join(enforced) or None
        expected, rule = "associations,limits,qos", "without it nothing of the tenants is asked for"
        yield absent("SLM018", SLURM, "AccountingStorageEnforce", said, expected, rule)


def _taken_back(tenants: Sequence[Tenant], text: str) -> Iterator[Finding]:
    """Jobs within a share end those of every tenant that borrows, or the share is not the tenant's."""
    gives_way = {f"{tenant.name}-spare" for tenant in tenants if tenant.borrows}
    taken = {name: set(value.split(",")) for name, value in _TAKES.findall(text)}
    for tenant in tenants:
        said, expected = taken.get(tenant.name, set()), gives_way if tenant.share else set()
        if expected and said != expected:
            shown, rule = ",".join(sorted(said)) or None, "a share is taken back from those who borrow it"
            yield absent("SLM018", TENANTS, f"Preempt of {tenant.name}", shown, ",".join(sorted(expected)), rule)


def _before_others(tenants: Sequence[Tenant], text: str) -> Iterator[Finding]:
    """Jobs within a share come before those that borrow, of every tenant, and those that give way start again."""
    priorities = {match[1]: match for match in _PRIORITY.finditer(text)}
    within = [tenant.name for tenant in tenants if tenant.share and tenant.name in priorities]
    least = min((int(priorities[name][2]) for name in within), default=None)
    modes = {match[1]: match for match in _MODE.finditer(text)}
    for spare in (f"{tenant.name}-spare" for tenant in tenants if tenant.borrows):
        match, mode = priorities.get(spare), modes.get(spare)
        said = int(match[2]) if match else 0
        if match and least is not None and said >= least:
            rule = "jobs within a share come before those that borrow"
            yield absent("SLM018", _at(text, match), f"Priority of {spare}", said, f"below {least:,}", rule)
        if mode and mode[2].lower() not in {"requeue", "cluster"}:
            rule = "a job that gives way is not lost: it starts again"
            yield absent("SLM018", _at(text, mode), f"PreemptMode of {spare}", mode[2], "requeue", rule)
    for name in within:
        said, most = int(priorities[name][2]), max(int(priorities[other][2]) for other in within)
        if said != most:
            rule = "shares are by GPUs, none comes before another"
            yield absent("SLM018", _at(text, priorities[name]), f"Priority of {name}", said, most, rule)


def _at(text: str, match: re.Match[str]) -> str:
    return f"{TENANTS}:{text.count(chr(10), 0, match.start()) + 1}"


def _nodes(line: Line, papers: Papers) -> list[str]:
    nodes = line.get("Nodes")
    return papers.documents.design.inventory.hosts() if nodes == "ALL" else hosts_of(nodes)


def _fair_shares(tenants: Sequence[Tenant], text: str) -> Iterator[Finding]:
    """Fair shares of accounts are to each other as the weights of the tenants."""
    written = {name: int(share) for name, share in _FAIR.findall(text)}
    total, weights = sum(written.values()), sum(tenant.weight for tenant in tenants)
    for tenant in tenants:
        said, expected = written.get(tenant.name), total * tenant.weight / weights if weights else 0
        # Whole numbers, of which each may be rounded.
        if said is not None and weights and abs(said - expected) > len(tenants):
            rule = "shares are to each other as the weights of the plan"
            yield absent("SLM018", TENANTS, f"Fairshare of {tenant.name}", said, f"{expected:.0f}", rule)


def _has_share(papers: Papers, name: str) -> bool:
    return any(tenant.name == name and tenant.share > 0 for tenant in papers.documents.plan.cluster.tenants)


def counted_gpus(papers: Papers) -> int:
    """Return the GPUs as Slurm counts them: whole ones, and each slice of a divided one."""
    inventory, plan = papers.documents.design.inventory, papers.documents.plan
    hosts = len(inventory.hosts())
    software = plan.software_of(papers.documents.option.target)
    divided = 0 if software is None else software.divided_of(hosts)
    slices = 0 if software is None else divided * sum(software.instances.values())
    return (hosts - divided) * (inventory.gpus // hosts) + slices
