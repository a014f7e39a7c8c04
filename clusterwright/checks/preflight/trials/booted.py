"""Do machines of a Slurm cluster boot as they should: tried in folders that stand for them, and with faults."""

import re
from collections.abc import Iterator

from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject
from clusterwright.checks.preflight.trials.boot_rules import Found, leavers, problems, sockets, starts
from clusterwright.checks.preflight.trials.booting import COMPUTE, FAULTS, Boots, Node, boots
from clusterwright.checks.preflight.trials.machine import NOT_HERE
from clusterwright.clouds import CLOUDS

#: Errors of the shell itself, which no stand-in makes.
_SHELL_ERROR = re.compile(r"(?m)^.*(unbound variable|syntax error|bad substitution|unexpected end of file).*$")

#: What the scripts say of fabric devices, GPUs and the file system, all of which the trial has.
_NOTHING_IS_MISSING = re.compile(r"error: .*(\b\d+ of \d+ (\w+ devices|GPUs)\b|/shared is not mounted)")


def boots_as_it_should(subject: Subject) -> Iterator[Outcome]:
    """Boot a machine of each role, and a node with one thing after another out of order."""
    scripts = frozenset(
        (name.removeprefix("node/"), content)
        for name, content in subject.project.files.items()
        if re.fullmatch(r"node/[^/]+\.(sh|csv)", name)
    )
    node = _node(subject)
    if subject.project.scheduler != "slurm" or node is None or not any(name == "bootstrap.sh" for name, _ in scripts):
        return
    place = Place(file=subject.project.shown("node/bootstrap.sh"))
    found = boots(scripts, node)
    if found is None:
        yield Outcome(status="UNKNOWN", message="no machine was booted", fix=NOT_HERE, place=place)
        return
    good = True
    for one in _outcomes(subject, node, found):
        good = False
        yield one
    if good:
        yield passed(f"{len(found.roles)} machines booted with stand-ins, and a node with {len(found.faulty)} faults")


def _outcomes(subject: Subject, node: Node, found: Boots) -> Iterator[Outcome]:
    yield from _in_order(subject, node, found)
    later = () if found.left is None else tuple(leavers(found.left))
    for problem in (*_with_faults(found), *(one for ran in found.served for one in sockets(ran)), *later):
        yield _outcome(subject, COMPUTE, problem)


def _in_order(subject: Subject, node: Node, found: Boots) -> Iterator[Outcome]:
    said: set[str] = set()
    for role, ran in found.roles.items():
        if ran.status != 0:
            yield _stopped(subject, role, ran.status, ran.said)
        for problem in problems(role, ran, node, subject.node_count, _longest(subject)):
            # What comes after the end of a boot is not known, and what it did until then is.
            if problem.message not in said and (ran.status == 0 or not problem.absent):
                said.add(problem.message)
                yield _outcome(subject, role, problem)


def _with_faults(found: Boots) -> Iterator[Found]:
    for fault, ran in found.faulty.items():
        if ran.status is None:
            yield Found(message=f"with a fault ({fault}) its boot does not end here", fix="", known=False)
        elif ran.status == 0 or starts(ran, "slurmd") is not None:
            yield Found(message=FAULTS[fault], fix="stop with an error, before slurmd starts", about="bootstrap.sh")
    for fault in found.untried:
        yield Found(
            message=f"was not tried with a fault ({fault}): its boot calls nothing that meets it",
            fix="put the step back",
            known=False,
        )
    health = found.health
    if health is None:
        return
    drains = any("drain" in str(call) for call in health.of("scontrol"))
    if health.status in (0, None) or not drains:
        yield Found(message="drains no node whose fabric is broken", fix="fabric_check.sh --drain", about="--drain")


def _stopped(subject: Subject, role: str, status: int | None, said: str) -> Outcome:
    wrong = _SHELL_ERROR.search(said)
    last = said.strip().splitlines()[-1] if said.strip() else "nothing was said"
    place = Place(file=subject.project.shown("node/bootstrap.sh"))
    if wrong:
        return Outcome(
            status="FAIL", message=f"{role}: the boot ends with {wrong[0].strip()}", fix="correct the line", place=place
        )
    if status is not None and _NOTHING_IS_MISSING.search(last):
        return Outcome(
            status="FAIL",
            message=f"{role}: the boot ends with an error where everything is there: {last}",
            fix="correct what counts, or the order of the steps",
            place=place,
        )
    ends = "did not end" if status is None else f"ended with {status}"
    return Outcome(
        status="UNKNOWN",
        message=f"{role}: with stand-ins the boot {ends}: {last}",
        fix="read node/README.md",
        place=place,
    )


def _outcome(subject: Subject, role: str, problem: Found) -> Outcome:
    file, line = _where(subject, problem.about)
    return Outcome(
        status="FAIL" if problem.known else "UNKNOWN",
        message=f"{role}: {problem.message}",
        fix=problem.fix,
        place=Place(file=subject.project.shown(file), line=line, column=1 if line else 0),
    )


def _where(subject: Subject, about: str) -> tuple[str, int]:
    """Return the script with a word, and its line: the last part of a path where the whole of it is nowhere."""
    for word in (about, about.rpartition("/")[2]):
        for name, content in subject.project.files.items():
            if word and re.fullmatch(r"node/[^/]+\.sh", name):
                for number, line in enumerate(content.splitlines(), start=1):
                    if word in line and not line.lstrip().startswith("#"):
                        return name, number
    return "node/bootstrap.sh", 0


def _longest(subject: Subject) -> str:
    """Return the time that the project's job asks for, empty for as long as the partition lets it."""
    for name, content in subject.project.files.items():
        found = re.search(r"(?m)^#SBATCH\s+(?:--time[= ]|-t\s*)(\S+)", content) if name.endswith(".sbatch") else None
        if found:
            return found[1]
    return ""


def _node(subject: Subject) -> Node | None:
    def setting(name: str) -> str:
        found = subject.project.setting(f"nodeType.{name}")
        return text(found.value) if found else ""

    gpus, instance = whole(setting("gpusPerNode")), subject.instance
    if subject.cloud not in CLOUDS:
        return None
    if gpus is None:
        gpus = instance.gpus if instance is not None else None
    kind = setting("gpuType") or "gpu"
    device = (
        "dri/renderD"
        if re.match(r"mi\d", kind)
        else "neuron"
        if "trainium" in kind or "inferentia" in kind
        else "nvidia"
    )
    fabric = setting("fabric") or "none"
    partition = subject.project.setting("partition")
    if gpus is None or not re.fullmatch(r"[a-z][a-z0-9_-]{0,30}", kind):
        return None
    return Node(
        cloud=subject.cloud,
        gpus=gpus,
        gpu_type=kind,
        fabric=fabric if fabric in ("efa", "infiniband", "tcpx", "tcpxo", "roce") else "none",
        interfaces=whole(setting("fabricInterfaces")) or max(gpus, 1),
        device=device,
        partition=text(partition.value) if partition else "gpu",
        directory="node/users_directory.sh" in subject.project.files,
    )
