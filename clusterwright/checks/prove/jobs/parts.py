"""What slurm.conf starts around jobs, and what parts of GPUs and tenants it gives: programs, prices, times, places."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isclose

from clusterwright.catalog.software import mig
from clusterwright.checks.prove.jobs.blocks import TENANTS
from clusterwright.checks.prove.jobs.lines import SLURM, Line, hosts_of, lines_of, minutes_of
from clusterwright.checks.prove.papers import Papers, absent
from clusterwright.errors import Finding
from clusterwright.plan.tenants import Tenant

#: Where the pages of the folder install the scripts of `node/`.
_INSTALLED = "/opt/gpu-cluster/"
_PAGE, _CONTAINER = "software.md", "job_container.conf"
#: Programs that the controller's file names, and why.
_PROGRAMS = {
    "Prolog": "a node that is not fit takes no job",
    "Epilog": "what a job left on its GPUs is ended before the next one",
    "HealthCheckProgram": "idle nodes are looked at, too",
}
#: Scripts that look at a node when a job begins, when it ends and between jobs, and how.
_PROLOG, _LOOK = "prolog.sh", "node_check.sh"
_DRAINING = (_PROLOG, "epilog.sh", "health_check.sh")
_DRAIN = re.compile(r"node_check\.sh\"? --drain\b")
#: Digits that weights are written with.
_ROUNDED = 5e-4
_WEIGHT = re.compile(r"GRES/gpu:([^=,\"]+)=([\d.]+)")
#: How the second level of a tenant ends, whose jobs use what others leave; no limit in Slurm's accounting.
_BORROWING, _NO_LIMIT = "-spare", "-1"
#: A script in the same folder, as others call it.
_CALLED = re.compile(r"\$here/([\w-]+\.sh)")
_AROUND_JOBS = frozenset({"prolog.sh", "epilog.sh", "health_check.sh", "node_check.sh"})
_PLACED = re.compile(r"mig\.sh (?:--at-boot )?([\w.+:,]+)")
_PLACED_WORDS = re.compile(r"^MIG divides [^`]*`([^`]+)`", re.MULTILINE)


def programs(papers: Papers) -> Iterator[Finding]:
    """Scripts of `node/` run around jobs, from the place where they are installed (`SLM019`).

    Programs of the site's own may stand in their place, wherever they are.
    """
    lines = {key: line for line in lines_of(papers, SLURM) for key in line.values}
    scripts = {path.name for path in (papers.documents.site / "node").glob("*.sh")}
    for key, why in _PROGRAMS.items():
        line = lines.get(key.lower())
        value = line.get(key) if line else ""
        name = value.rpartition("/")[2]
        if not value:
            yield absent("SLM019", SLURM, key, None, f"a script of {_INSTALLED}", why)
        elif line and name in scripts and value != f"{_INSTALLED}{name}":
            rule = "users.md installs it there, beside the scripts that it calls"
            yield absent("SLM019", f"{SLURM}:{line.number}", key, value, f"{_INSTALLED}{name}", rule)
        elif line and value.startswith(_INSTALLED) and name not in scripts:
            rule = f"node/ has {', '.join(sorted(scripts))}"
            yield absent("SLM019", f"{SLURM}:{line.number}", key, value, "a script of node/", rule)
    interval = lines.get("healthcheckinterval")
    if interval and interval.get("HealthCheckInterval") == "0":
        rule = "0 s looks at no node"
        yield absent("SLM019", f"{SLURM}:{interval.number}", "HealthCheckInterval", "0", "more than 0 s", rule)
    yield from _called(papers, scripts)
    yield from _draining(papers)
    yield from _contained(papers, lines)


def _called(papers: Papers, scripts: set[str]) -> Iterator[Finding]:
    """A script that lies beside another one is called by its name."""
    there = ", ".join(sorted(scripts))
    for name in sorted(scripts & _AROUND_JOBS):
        text = (papers.documents.site / "node" / name).read_text(encoding="utf-8")
        for called in sorted(set(_CALLED.findall(text)) - scripts):
            yield absent("SLM019", f"node/{name}", "a script that it calls", called, there, "node/ has these")


def _draining(papers: Papers) -> Iterator[Finding]:
    """Scripts around jobs that look at a node drain it, and a prolog's status is that of the look."""
    for name in _DRAINING:
        path = papers.documents.site / "node" / name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        looks = [line.partition("#")[0] for line in text.splitlines() if _LOOK in line.partition("#")[0]]
        if looks and not any(_DRAIN.search(line) for line in looks):
            yield absent("SLM019", f"node/{name}", _LOOK, "nothing drained", "--drain", "a faulty node takes no job")
        if name == _PROLOG and any("||" in line for line in looks):
            yield absent(
                "SLM019", f"node/{name}", _LOOK, "a status that is lost", "its own", "the job starts elsewhere"
            )


def _contained(papers: Papers, lines: dict[str, Line]) -> Iterator[Finding]:
    """Folders of a job's own need their file, and a prolog that runs before the job's first process."""
    line, there = lines.get("jobcontainertype"), (papers.documents.site / _CONTAINER).is_file()
    kind = line.get("JobContainerType") if line else ""
    if (kind == "job_container/tmpfs") != there and "namespacetype" not in lines:
        said = f"{kind or 'not set'}; {_CONTAINER} is {'there' if there else 'missing'}"
        where = f"{SLURM}:{line.number}" if line else SLURM
        yield absent(
            "SLM019", where, "JobContainerType", said, "job_container/tmpfs with its file", "one needs the other"
        )
    flags = lines.get("prologflags")
    value = flags.get("PrologFlags") if flags else ""
    if there and not {"contain", "x11", "runinjob"} & set(value.lower().split(",")):
        where = f"{SLURM}:{flags.number}" if flags else SLURM
        yield absent("SLM019", where, "PrologFlags", value, "Contain", f"{_CONTAINER} is set up before the job")


def overlapping(papers: Papers, parted: frozenset[str]) -> Iterator[Finding]:
    """A partition with divided or shared GPUs has no other hosts: a job for a whole GPU would wait there (`SLM011`)."""
    for line in lines_of(papers, SLURM):
        nodes = line.get("Nodes")
        if not line.get("PartitionName") or nodes in {"", "ALL"} or not parted:
            continue
        names = set(hosts_of(nodes))
        if names & parted and names - parted:
            said = f"{len(names)} nodes, with {min(names - parted)}"
            rule = "hosts with whole GPUs and with parts of them are in partitions of their own"
            expected = f"{len(parted)}, from {min(parted)} on"
            yield absent("SLM011", f"{SLURM}:{line.number}", "Nodes", said, expected, rule)


def weights(papers: Papers) -> Iterator[Finding]:
    """A slice is billed with the larger of its shares of compute and memory (`SLM020`)."""
    documents = papers.documents
    software = documents.plan.software_of(documents.option.target)
    if software is None or not software.divided_of(len(documents.design.inventory.hosts())):
        return
    shares = {name: mig.share_of(name, software.profiles) for name in software.instances}
    for line in lines_of(papers, SLURM):
        said = dict(_WEIGHT.findall(line.get("TRESBillingWeights")))
        for name, share in shares.items() if said else ():
            if not isclose(float(said.get(name, 0)), share, abs_tol=_ROUNDED):
                rule = "the larger of its shares of compute and memory, as software.md has it"
                what = f"the weight of a {name}"
                yield absent("SLM020", f"{SLURM}:{line.number}", what, said.get(name), f"{share:.4g}", rule)


def places(papers: Papers) -> Iterator[Finding]:
    """The page divides GPUs into the profiles of the plan, each where the driver lets it begin (`SLM020`)."""
    documents = papers.documents
    software = documents.plan.software_of(documents.option.target)
    if software is None or not software.divided_of(len(documents.design.inventory.hosts())):
        return
    if not (documents.site / _PAGE).is_file():
        return
    known = {profile.name: profile for profile in software.profiles}
    placed = mig.place(software.profiles, software.geometry) or ()
    wanted = ",".join(str(entry) for entry in sorted(placed, key=lambda entry: entry.start))
    text = papers.text(_PAGE)
    for pattern in (_PLACED, _PLACED_WORDS):
        for match in pattern.finditer(text):
            if not _fits(match[1], software.geometry, known):
                number = text.count("\n", 0, match.start(1)) + 1
                rule = "profiles of the plan, where the catalogue has that they may begin"
                yield absent("SLM020", f"{_PAGE}:{number}", "the slices of a GPU", match[1], wanted, rule)


def _fits(said: str, geometry: Sequence[str], known: Mapping[str, mig.Profile]) -> bool:
    """Tell whether slices with their places are those of a geometry, and may stand there together."""
    entries = [(name, int(start) if start.isdigit() else -1) for name, _, start in map(_split, said.split(","))]
    if sorted(name for name, _ in entries) != sorted(geometry):
        return False
    taken = [slice_ for name, start in entries for slice_ in range(start, start + known[name].memory_slices)]
    return len(taken) == len(set(taken)) and all(start in known[name].starts for name, start in entries)


def _split(entry: str) -> tuple[str, str, str]:
    return entry.partition(":")


def limits(papers: Papers) -> Iterator[Finding]:
    """A tenant's jobs, GPUs and those of its users are limited as the plan says (`SLM018`)."""
    tenants = {tenant.name: tenant for tenant in papers.documents.plan.cluster.tenants}
    for line in lines_of(papers, SLURM):
        tenant = tenants.get(line.get("PartitionName"))
        if tenant is not None:
            place = f"{SLURM}:{line.number}"
            yield from _longest(place, "MaxTime", tenant, line.get("MaxTime"))
    if not tenants or not (papers.documents.site / TENANTS).is_file():
        return
    for number, text in enumerate(papers.text(TENANTS).splitlines(), start=1):
        kind, name, *words = text.split() or [""] * 2 if text.startswith(("account ", "level ")) else ("", "")
        tenant = tenants.get(name.removesuffix(_BORROWING) if kind == "level" else name)
        if tenant is None:
            continue
        said = dict(word.split("=", 1) for word in words if "=" in word)
        place = f"{TENANTS}:{number}"
        if kind == "account":
            yield from _longest(place, "MaxWall", tenant, said.get("MaxWall", ""))
            yield from _most(place, "GrpTRES", tenant.name, said, tenant.most_gpus)
        else:
            yield from _most(place, "MaxTRESPerUser", name, said, tenant.most_gpus_per_user)


def _longest(place: str, key: str, tenant: Tenant, said: str) -> Iterator[Finding]:
    limit = None if said == _NO_LIMIT else minutes_of(said)
    wanted = None if tenant.longest_job_s is None else tenant.longest_job_s / 60
    if limit != wanted:
        expected = "no limit" if wanted is None else f"{wanted:,.0f} minutes"
        yield absent("SLM018", place, f"{key} of {tenant.name}", said, expected, "the plan gives the tenant as long")


def _most(place: str, key: str, name: str, said: Mapping[str, str], wanted: int | None) -> Iterator[Finding]:
    expected = f"gres/gpu={_NO_LIMIT if wanted is None else wanted}"
    if said.get(key, "") != expected:
        yield absent("SLM018", place, f"{key} of {name}", said.get(key), expected, "the plan gives it as many GPUs")
