"""A job script of Slurm, whatever it starts: its directives and options, and what of them plan and fabric decide."""

import csv
import re
from collections.abc import Iterator
from functools import partial

from clusterwright import assets
from clusterwright.blueprint.sections.jobs import SHARED_PATH
from clusterwright.checks.prove.jobs.lines import hosts_of, lines_of
from clusterwright.checks.prove.jobs.scheduler import divided_hosts, node_lines
from clusterwright.checks.prove.jobs.settings import JOB, Said, assigned
from clusterwright.checks.prove.papers import Papers, Rule, absent
from clusterwright.errors import Finding
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK

#: Folders that every host sees.
SHARED_FOLDER = f"{SHARED_PATH}/"
_JOBS_PAGE = "jobs.md"
_EXPORTED_PORTS = re.compile(r"export NCCL_IB_HCA='?([=^\w,:]+)")
_SAID_PORTS = re.compile(r"`NCCL_IB_HCA=([=^\w,:]+)`")
_DIRECTIVE = re.compile(r"#SBATCH\s+--([\w-]+)(?:[= ](\S+))?")
_OPTION = re.compile(r"(?<![\w-])--([a-z][\w-]*)(?:[= ]+((?!--)[^\s)\\]+))?")
_EXPORT = re.compile(r"^\s*export\s+(\w+)=(\S+)")
_ADAPTERS = "NCCL_IB_HCA"
#: A checkpoint may come this many times as rarely or as often as planned before the plan's days do not hold.
_INTERVAL_SLACK = 2.0


def directives(papers: Papers, file: str) -> Said:
    """Return the directives of a script."""
    found = {}
    for number, line in enumerate(papers.text(file).splitlines(), start=1):
        match = _DIRECTIVE.match(line)
        if match:
            found[match[1]] = number, match[2] or ""
    return found


def options(papers: Papers, file: str) -> Said:
    """Return the options of the commands of a script, or of a manifest that holds one; the first of each name."""
    found: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(papers.text(file).splitlines(), start=1):
        if line.lstrip().startswith("#"):
            continue
        for name, value in _OPTION.findall(line):
            found.setdefault(name, (number, value))
    return found


def exports(papers: Papers, file: str) -> Said:
    """Return the variables that a script exports."""
    return {
        match[1]: (number, match[2])
        for number, line in enumerate(papers.text(file).splitlines(), start=1)
        if (match := _EXPORT.match(line))
    }


def host_gpus(papers: Papers) -> int:
    """Return the GPUs of a host."""
    inventory = papers.documents.design.inventory
    return inventory.gpus // len(inventory.hosts())


def interval_fits(steps: int, planned: int) -> bool:
    """Tell whether checkpoints come about as often as the plan counts with."""
    return planned / _INTERVAL_SLACK <= steps <= planned * _INTERVAL_SLACK


def rules_of(file: str, *, several: bool) -> tuple[Rule, ...]:
    """Return what holds of a script whatever it starts.

    Args:
        file: the script.
        several: whether its processes are on several hosts, and talk over the fabric.
    """
    alike = (_partition, _folder, _ports_on_page, _accelerators, _whole_nodes, _adapters)
    return (*(partial(rule, file=file) for rule in alike), partial(_transport, file=file, several=several))


def _differs(file: str, said: Said, key: str, expected: object, rule: str) -> Iterator[Finding]:
    number, value = said.get(key, (1, ""))
    if value != str(expected):
        yield absent("SBT001", f"{file}:{number}", f"--{key}", value, expected, rule)


def _partition(papers: Papers, file: str) -> Iterator[Finding]:
    said, own = directives(papers, file), papers.documents.plan.cluster.partition
    yield from _differs(file, said, "partition", own, "plan.json and slurm.conf name it")
    number, value = said.get("partition", (1, ""))
    names = {line.get("PartitionName") for line in lines_of(papers, "slurm.conf") if line.get("PartitionName")}
    if value not in names:
        rule = "slurm.conf has these"
        yield absent("SBT001", f"{file}:{number}", "--partition", value, ", ".join(sorted(names)), rule)


def _accelerators(papers: Papers, file: str) -> Iterator[Finding]:
    said, gpus = directives(papers, file), host_gpus(papers)
    system = papers.catalogue.systems[papers.documents.design.inventory.system]
    kind = papers.catalogue.accelerators[system.accelerator].gres_type
    if "gpus-per-node" in said and "gres" not in said:
        yield from _differs(file, said, "gpus-per-node", f"{kind}:{gpus}", "each host has these GPUs")
        return
    yield from _differs(file, said, "gres", f"gpu:{kind}:{gpus}", "each host has these GPUs")
    sliced = divided_hosts(papers)
    for line in node_lines(papers):
        if "gres" in said and not set(hosts_of(line.get("NodeName"))) <= sliced:
            # Parts of shared GPUs stand behind the whole ones.
            whole = line.get("Gres").split(",")[0]
            yield from _differs(file, said, "gres", whole, f"slurm.conf:{line.number} gives them")


def _whole_nodes(papers: Papers, file: str) -> Iterator[Finding]:
    said, script = directives(papers, file), papers.text(file)
    once = any(program in script for program in ("torchrun", "accelerate launch", "tune run"))
    tasks = 1 if once else host_gpus(papers)
    said_tasks = {"ntasks-per-node": (1, "1")} | dict(said)
    yield from _differs(file, said_tasks, "ntasks-per-node", tasks, "a process for each GPU")
    for key, rule in (("exclusive", "the layout has whole nodes"), ("requeue", "a failed node ends no run")):
        if key not in said:
            yield absent("SBT001", file, f"--{key}", None, "set", rule)
    if "mem" in said:
        yield from _differs(file, said, "mem", "0", "a whole node's memory")
    number, value = said.get("time", (1, "UNLIMITED"))
    days = papers.documents.option.performance.calendar_days
    if value.upper() not in {"UNLIMITED", "INFINITE"} and _days(value) < days:
        wanted = f"at least {days:.1f} days, or UNLIMITED"
        yield absent("SBT001", f"{file}:{number}", "--time", value, wanted, "the run takes as long")


def _folder(papers: Papers, file: str) -> Iterator[Finding]:
    """The job starts, and writes, in the folder that job.env names; without that file the one for the plan's name."""
    said = directives(papers, file)
    number, folder = assigned(papers, JOB).get("LAUNCH_PATH", (1, ""))
    rule = f"{JOB}:{number} has LAUNCH_PATH"
    if not folder:
        folder = f"{SHARED_PATH}/launch/{papers.documents.plan.name}"
        rule = "launch/README.md has the files copied there"
    if "chdir" in said:
        yield from _differs(file, said, "chdir", folder, rule)
    number, value = said.get("output", (1, folder))
    if value.startswith("/") and not value.startswith(f"{folder}/") and value != folder:
        yield absent("SBT001", f"{file}:{number}", "--output", value, f"a file of {folder}", rule)


def _ports_on_page(papers: Papers, file: str) -> Iterator[Finding]:
    """The page of jobs names the ports that the script exports."""
    exported = _EXPORTED_PORTS.search(papers.text(file))
    path = papers.documents.site / _JOBS_PAGE
    if exported is None or not path.is_file():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        said = _SAID_PORTS.search(line)
        if said is not None and said[1] != exported[1]:
            rule = f"{file} exports it"
            yield absent("SBT001", f"{_JOBS_PAGE}:{number}", "NCCL_IB_HCA", said[1], exported[1], rule)


def _days(text: str) -> float:
    form = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if form is None:
        return 0.0
    days, first, second = (int(part or 0) for part in form.groups()[:3])
    if form[1]:
        return days + first / 24 + second / 1440
    return (first / 24 + second / 1440) if form[4] else first / 1440


def _transport(papers: Papers, file: str, *, several: bool) -> Iterator[Finding]:
    """Collectives take the fabric between hosts, and NVLink in one."""
    set_to, network = exports(papers, file), papers.documents.design.inventory.compute_network
    number, value = set_to.get("NCCL_NET", (1, ""))
    if value and value != "IB":
        rule = f"the compute fabric is {network} with RDMA"
        yield absent("SBT005", f"{file}:{number}", "NCCL_NET", value, "IB", rule)
    for key in ("NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"):
        at, switched = set_to.get(key, (1, "0"))
        if switched.strip('"') not in {"0", ""}:
            rule = "collectives take the fabric and NVLink"
            yield absent("SBT005", f"{file}:{at}", key, switched, "0", rule)
    # GPUs of one host talk over its own links, and such a job starts without the fabric.
    if not value and network == INFINIBAND_NETWORK and several:
        yield absent("SBT005", file, "NCCL_NET", None, "IB", "without it collectives may fall back to sockets")
    number, value = set_to.get("NCCL_IB_GID_INDEX", (1, ""))
    if value and network == INFINIBAND_NETWORK:
        yield absent("SBT005", f"{file}:{number}", "NCCL_IB_GID_INDEX", value, None, "InfiniBand needs none")


def _known_adapters(papers: Papers) -> str:
    """Return the adapters of the compute fabric that a document names for the system; empty where none does."""
    inventory = papers.documents.design.inventory
    fabric = "infiniband" if inventory.compute_network == INFINIBAND_NETWORK else "roce"
    with (assets.root() / "templates" / "launch" / "nccl.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            own = row["cloud"] in {"any", "onprem"} and row["instance"] in {"any", inventory.system}
            if row["name"] == _ADAPTERS and row["fabric"] in {"any", fabric} and own:
                return row["value"]
    return ""


def _adapters(papers: Papers, file: str) -> Iterator[Finding]:
    """A job uses the adapters of the compute fabric: those that are documented, or as many as are wired."""
    known, system = _known_adapters(papers), papers.catalogue.systems[papers.documents.design.inventory.system]
    count = (system.fabric_ports or 0) // papers.documents.design.inventory.hosts_per_node
    for number, line in enumerate(papers.text(file).splitlines(), start=1):
        match = re.match(rf"\s*export\s+{_ADAPTERS}=(['\"]?)(=?[\w,:]+)\1\s*$", line)
        if match is None:
            continue
        named = [name for name in match[2].lstrip("=").split(",") if name]
        if known and match[2] != known:
            rule = "the maker's manual has these on the compute fabric, others are storage's"
            yield absent("SBT005", f"{file}:{number}", _ADAPTERS, match[2], known, rule)
        elif len(named) != count or len(set(named)) != len(named):
            rule = "as many ports are wired to the compute fabric"
            yield absent("SBT005", f"{file}:{number}", _ADAPTERS, match[2], f"{count} adapters", rule)
