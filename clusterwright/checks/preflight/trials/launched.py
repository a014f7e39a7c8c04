"""Do jobs start as planned: their scripts run with stand-ins, and what they start is compared with the cluster."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.results import Outcome, Place, Status, passed
from clusterwright.checks.preflight.scripts.capacity import held
from clusterwright.checks.preflight.scripts.manifests import Pods, items, manifests, mapping, pods_of, variables_of
from clusterwright.checks.preflight.scripts.variables import needed
from clusterwright.checks.preflight.subject import Subject
from clusterwright.checks.preflight.trials.boot_rules import minutes
from clusterwright.checks.preflight.trials.launch_rules import (
    Found,
    Job,
    saved_elsewhere,
    serving_problems,
    training_problems,
)
from clusterwright.checks.preflight.trials.launching import (
    IMAGE,
    SOURCED,
    Started,
    directives,
    options,
    started,
    started_pod,
)
from clusterwright.checks.preflight.trials.machine import NOT_HERE, Call
from clusterwright.checks.preflight.trials.retention import retained
from clusterwright.checks.preflight.trials.service_starts import (
    Planned,
    array_problems,
    engine_problems,
    image_problems,
    lasting,
    left_behind,
    memory_bytes,
    planned,
    replica_problems,
)

_SHELL_ERROR = re.compile(r"(?m)^.*(unbound variable|syntax error|bad substitution|unexpected end of file).*$")
_TRAINS, _SERVES = ("torchrun", "accelerate", "tune", "deepspeed", "python", "python3"), ("vllm", "trtllm-serve")
_EVERY = re.compile(r"checkpoint every (\d+) steps")
_RUN = re.compile(r"One run takes ([\d.,]+) (minute|hour|day|week|month|year)s?\b")
_MINUTES = {"minute": 1, "hour": 60, "day": 1440, "week": 10080, "month": 43800, "year": 525600}
#: What starts a job again at the end of its time.
_CONTINUES = re.compile(r"(?m)^#SBATCH\s+--signal\b|\bscontrol\s+requeue\b|--dependency")
_MODEL = "/shared/models/trial"
#: The script of a fine-tuning job; what its user gives beside an image (to a pod through `submit.sh`); and weights.
_TUNES = "finetune.sbatch"
_GIVEN = MappingProxyType(
    {
        "MODEL_PATH": _MODEL,
        "DATA_PATH": "organisation/data",
        "CHECKPOINT_PATH": "/shared/checkpoints/trial",
        "LEARNING_RATE": "1e-4",
        "REWARD": "accuracy_reward",
    }
)
_WEIGHTS = MappingProxyType({f"{_MODEL}/config.json": "{}"})
#: A function of the shell that is exported in the place of `trap`: what a job removes at its end is then left.
_WITHOUT_TRAP = MappingProxyType({"BASH_FUNC_trap%%": "() { :; }"})
#: Of a path, as pods and containers have it.
_KEPT = ("/shared", "/bucket")


def starts_as_planned(subject: Subject) -> Iterator[Outcome]:
    """Start every batch script and every pod's command of the project."""
    tried, good = 0, True
    for trial in (_batch_scripts, _pod_commands, retained):
        for file, outcomes in trial(subject):
            tried += 1
            for status, found in outcomes:
                good = False
                yield Outcome(
                    status=status,
                    message=f"{file} {found.message}",
                    fix=found.fix,
                    place=_place(subject, file, found.about),
                )
    if tried and good:
        yield passed(f"{tried} scripts and pods started with stand-ins")


Judged = tuple[str, list[tuple[Status, Found]]]


def _batch_scripts(subject: Subject) -> Iterator[Judged]:
    files = subject.project.files
    for name, content in files.items():
        if not name.endswith((".sbatch", ".slurm")) or name.startswith(("tests/", ".")):
            continue
        asked = directives(content)
        folder, beside = name.rpartition("/")[0], dict[str, str]()
        there = asked.get("chdir") or f"/shared/launch/{folder.rpartition('/')[2]}"
        for other, text_ in files.items():
            if other.rpartition("/")[0] == folder:
                beside[f"{there}/{other.rpartition('/')[2]}"] = text_
        script = f"{there}/{name.rpartition('/')[2]}"
        values = {"CONTAINER_IMAGE": IMAGE, "MODEL_PATH": _MODEL}
        if name.rpartition("/")[2] == _TUNES:
            values |= _GIVEN
            beside |= _WEIGHTS
        configured = {**_assignments(files.get(f"{folder}/job.env", "")), **values}
        found: list[tuple[Status, Found]] = []
        said: set[str] = set()
        ran: Started | None = None
        for given in (values, configured) if configured != values else (values,):
            ran = started(frozenset(beside.items()), script, tuple(sorted(given.items())), "")
            for status, problem in _of_batch(subject, asked, ran):
                if problem.message not in said:
                    said.add(problem.message)
                    found.append((status, problem))
        found += [("FAIL", one) for one in _of_service(subject, asked, beside, script, values)]
        steps = [dict(options(call.arguments)) for call in _steps(ran)]
        found += [("FAIL", one) for one in image_problems(content, steps, container=_in_containers(subject))]
        failing = started(frozenset(beside.items()), script, tuple(sorted(values.items())), "program")
        found += _failure(failing)
        found += [("FAIL", one) for one in _time(subject, content) if name.startswith("launch/")]
        yield name, found


def _of_batch(subject: Subject, asked: Mapping[str, str], ran: Started | None) -> Iterator[tuple[Status, Found]]:
    if ran is None or ran.program is None:
        yield _not_seen(ran)
        return
    nodes, instance = whole(asked.get("nodes", "1").partition("-")[0]) or 1, subject.instance
    gpus = _asked(asked) or (instance.gpus if instance is not None else 0)
    problems: list[Found] = []
    if ran.program.program in _SERVES:
        problems += serving_problems(ran, gpus)
        problems += engine_problems(dict(options(ran.program.arguments)), _planned(subject))
        problems += _directives(subject, asked)
    elif ran.program.program in _TRAINS and instance is not None:
        job = Job(instance=instance, gpus=gpus, nodes=nodes, first_host="node-1", planned_interval=_interval(subject))
        problems += training_problems(ran, job)
        problems += _directives(subject, asked)
        problems += _step(ran, asked, nodes)
        if nodes > 1 and gpus == instance.gpus:
            problems += _of_fabric(ran, subject)
    problems += _mounts(ran)
    for one in problems:
        yield "FAIL", one


def _of_service(
    subject: Subject, asked: Mapping[str, str], beside: Mapping[str, str], script: str, values: Mapping[str, str]
) -> Iterator[Found]:
    """Start two elements of a service's array, as it ends and without the trap by which it clears up."""
    if "array" not in asked:
        return
    files = frozenset(beside.items())
    ended = started(files, script, tuple(sorted(values.items())), "")
    if ended is None or ended.program is None or ended.program.program not in _SERVES:
        return
    kept = {**values, **_WITHOUT_TRAP}
    first, second = (
        started(files, script, tuple(sorted({**kept, "SLURM_ARRAY_TASK_ID": number}.items())), "")
        for number in ("0", "1")
    )
    gpus, instance = _asked(asked), subject.instance
    yield from lasting(asked, beside[script])
    yield from left_behind(ended)
    if first is not None:
        alone = instance is not None and (gpus or 0) >= instance.gpus
        yield from replica_problems(first, second, alone=alone)
    nodes = subject.node_count
    wanted = {"gpus": float(gpus or 0), "cpu": float(whole(asked.get("cpus-per-task")) or 0)}
    wanted["memory"] = memory_bytes(asked.get("mem", "")) or 0.0
    each = held(subject, wanted)
    spread = whole(asked.get("nodes", "1").partition("-")[0]) or 1
    room = None if nodes is None or each is None else (nodes * each[0] // spread, each[1])
    yield from array_problems(asked, _planned(subject), room)


def _steps(ran: Started | None) -> tuple[Call, ...]:
    return tuple(call for call in ran.steps if "--help" not in call.arguments) if ran is not None else ()


def _planned(subject: Subject) -> Planned:
    plan = planned(subject.project.files.get("serving/loadtest/plan.json", ""))
    # Behind a router are pools of several kinds, and what is written is about all of them together.
    pools = any(name.startswith("serving/router.") for name in subject.project.files)
    return replace(plan, replicas=0, at_once=0.0) if pools else plan


def _in_containers(subject: Subject) -> bool:
    kind = subject.project.setting("jobEnvironment.kind")
    return kind is not None and text(kind.value) == "container"


def _time(subject: Subject, script: str) -> Iterator[Found]:
    """Compare the time of a job with that of the run; Slurm queues nothing again whose time is over."""
    run, limit = _RUN.search(subject.project.files.get("README.md", "")), directives(script).get("time", "UNLIMITED")
    if run is None or limit.upper() in ("UNLIMITED", "INFINITE", "0") or _CONTINUES.search(script):
        return
    if minutes(limit) < float(run[1].replace(",", "")) * _MINUTES[run[2]]:
        yield Found(
            message=f"ends after {limit}, and one run takes {run[1]} {run[2]}s: Slurm does not start it again",
            fix="#SBATCH --time=UNLIMITED, or a job that queues itself again",
            about="--time",
        )


def _failure(ran: Started | None) -> Iterator[tuple[Status, Found]]:
    if ran is not None and ran.program is not None and ran.ran.status == 0:
        yield (
            "FAIL",
            Found(
                message="ends well although its program failed: nobody is told, and nothing starts again",
                fix="let the script end with the program's status",
                about="srun",
            ),
        )


def _not_seen(ran: Started | None) -> tuple[Status, Found]:
    if ran is None:
        return "UNKNOWN", Found(message="was not started", fix=NOT_HERE)
    wrong = _SHELL_ERROR.search(ran.ran.said)
    if wrong:
        return "FAIL", Found(message=f"ends with {wrong[0].strip()}", fix="correct the line")
    last = ran.ran.said.strip().splitlines()[-1] if ran.ran.said.strip() else "nothing was said"
    return "UNKNOWN", Found(
        message=f"starts no program with stand-ins: {last}", fix="start it on the cluster with --check"
    )


def _assignments(content: str) -> dict[str, str]:
    """Return the plain values of a file of assignments."""
    found: dict[str, str] = {}
    for line in content.splitlines():
        name = re.match(r"(?:export\s+)?([A-Z_][A-Z0-9_]*)=(.*)", line.strip())
        if name and "$" not in name[2] and "`" not in name[2]:
            with suppress(ValueError):
                found[name[1]] = "".join(shlex.split(name[2], comments=True)[:1])
    return {key: value for key, value in found.items() if value}


def _asked(asked: Mapping[str, str]) -> int | None:
    for name in ("gres", "gpus-per-node"):
        count = re.search(r"(?:^|:)(\d+)(?:$|\()", asked.get(name, ""))
        if count:
            return int(count[1])
    return None


def _interval(subject: Subject) -> int | None:
    """Return the steps between checkpoints as the plan has them, from what was written about it."""
    found = _EVERY.search(subject.project.files.get("launch/README.md", ""))
    return int(found[1]) if found else None


def _directives(subject: Subject, asked: Mapping[str, str]) -> Iterator[Found]:
    if "no-requeue" in asked or "requeue" not in asked:
        yield Found(
            message="ends with the first node that is lost: it is not queued again",
            fix="#SBATCH --requeue",
            about="requeue",
        )
    partition = subject.project.setting("partition")
    if partition is not None and asked.get("partition", text(partition.value)) != text(partition.value):
        yield Found(
            message=f"goes to the partition {asked['partition']}, and the cluster has {text(partition.value)}",
            fix=f"#SBATCH --partition={text(partition.value)}",
            about="--partition",
        )
    output = asked.get("output", "")
    if output.startswith("/") and not output.startswith((*(f"{path}/" for path in _KEPT), "/dev/null")):
        yield Found(
            message=f"writes its log to {output}, on the disk of one node",
            fix="the shared file system",
            about="--output",
        )
    held = set(asked) & {"hold", "begin", "dependency", "nodelist", "reservation", "test-only"}
    for name in sorted(held - {"reservation", "dependency"}):
        yield Found(message=f"does not start: --{name}", fix="leave it out", about=f"--{name}")


def _step(ran: Started, asked: Mapping[str, str], nodes: int) -> Iterator[Found]:
    step = next((call for call in ran.steps if call.program == "srun" and "--help" not in call.arguments), None)
    if step is None:
        if nodes > 1:
            yield Found(message="starts on the first of its nodes only: no srun", fix="srun", about="srun")
        return
    given = dict(options(step.arguments))
    cores = given.get("cpus-per-task") or asked.get("cpus-per-task")
    if cores is None and "exclusive" not in given and given.get("cpu-bind") != "none":
        yield Found(
            message="leaves one core to all processes of a node",
            fix='srun --cpus-per-task="$SLURM_CPUS_ON_NODE"',
            about="srun",
        )
    elif cores is not None and (whole(cores) or 0) < (_asked(asked) or 1):
        yield Found(
            message=f"leaves {cores} cores to all processes of a node",
            fix='srun --cpus-per-task="$SLURM_CPUS_ON_NODE"',
            about="cpus-per-task",
        )
    some = whole(given.get("nodes"))
    if some is not None and some != nodes:
        yield Found(message=f"starts on {some} of its {nodes} nodes", fix="leave --nodes to the job", about="srun")
    tasks = whole(given.get("ntasks-per-node") or asked.get("ntasks-per-node") or "1")
    if ran.program is not None and ran.program.program == "torchrun" and tasks not in (1, None):
        yield Found(
            message=f"starts {tasks} launchers on each node", fix="--ntasks-per-node=1", about="ntasks-per-node"
        )


def _of_fabric(ran: Started, subject: Subject) -> Iterator[Found]:
    instance = subject.instance
    if instance is None:
        return
    for name, value in needed(instance, "prepend").items():
        if value not in ran.environment.get(name, "").split(":"):
            yield Found(
                message=f"starts without {value} in {name}: {instance.id} needs it", fix=f"{name}={value}", about=name
            )
    for name, path in needed(instance, "source").items():
        if SOURCED not in ran.environment:
            yield Found(
                message=f"does not read {name}: the fabric's plugin needs its settings", fix=f". {path}", about=name
            )
    for target in needed(instance, "mount").values():
        if not any(path == target for path in _mounted(ran)) and _in_container(ran):
            yield Found(
                message=f"does not show {target} to its container", fix=f"{target}:{target}", about="CONTAINER_MOUNTS"
            )


def _in_container(ran: Started) -> bool:
    return any("container-image" in dict(options(call.arguments)) for call in ran.steps)


def _mounted(ran: Started) -> list[str]:
    """Return the folders that a container sees."""
    found = [dict(options(call.arguments)).get("container-mounts", "") for call in ran.steps]
    return [[*one.split(":"), ""][1] or one.split(":")[0] for text_ in found for one in text_.split(",") if one]


def _mounts(ran: Started) -> Iterator[Found]:
    """What a program reads and writes has to be in its container."""
    if not _in_container(ran) or ran.program is None:
        return
    seen = _mounted(ran)
    words = [word for word in ran.program.arguments if word.startswith(("/shared/", "/bucket/"))]
    for word in dict.fromkeys(words):
        if not any(word == path or word.startswith(f"{path.rstrip('/')}/") for path in seen):
            yield Found(
                message=f"does not show {word} to its container: it sees {', '.join(seen) or 'nothing of the node'}",
                fix="--container-mounts=/shared:/shared",
                about="ONTAINER_MOUNTS",
            )
            return


def _pod_commands(subject: Subject) -> Iterator[Judged]:
    found_ = tuple(manifests(subject))
    held = {one.name: mapping(one.value.get("data")) for one in found_ if one.kind == "ConfigMap"}
    for one in found_:
        for pods in pods_of(one):
            if pods.accelerators is None:
                continue
            found: list[tuple[Status, Found]] = []
            for container in pods.containers:
                if any(
                    name in mapping(mapping(container.get("resources")).get("limits"))
                    for name in (pods.accelerators[0],)
                ):
                    found += _of_container(subject, pods, container, held)
            yield one.file, found


def _of_container(
    subject: Subject, pods: Pods, container: Mapping[str, object], held: Mapping[str, Mapping[str, object]]
) -> Iterator[tuple[Status, Found]]:
    command = [text(word) for key in ("command", "args") for word in items(container.get(key))]
    if not command:
        return
    environment = variables_of(container, held)
    # What submit.sh asks for is in no file; jobs of other kinds have defaults.
    asked = {
        name: value
        for name, value in _GIVEN.items()
        if any(f"${name}" in word and f"${{{name}:-" not in word for word in command)
    }
    later = [mapping(mapping(entry).get("configMapRef")).get("name") for entry in items(container.get("envFrom"))]
    if any(name is not None and text(name) not in held for name in later):
        environment = {**asked, **environment}
    mounts = {
        text(mapping(entry).get("mountPath")): text(mapping(entry).get("name"))
        for entry in items(container.get("volumeMounts"))
    }
    given = tuple(sorted(environment.items()))
    configured = dict(_configured(pods, container, held))
    folders = tuple(sorted(path for path in mounts if path.startswith("/") and path not in configured))
    files = (*configured.items(), *(_WEIGHTS.items() if "MODEL_PATH" in environment else ()))
    ran = started_pod(tuple(command), given, folders, files, "")
    if ran is None or ran.program is None:
        elsewhere = saved_elsewhere(command, _claimed(pods, mounts))
        yield ("FAIL", elsewhere) if elsewhere is not None else _not_seen(ran)
        return
    count = pods.accelerators[1] if pods.accelerators is not None else 0
    problems: list[Found] = []
    if ran.program.program in _SERVES or any("vllm" in word or "trtllm" in word for word in command[:3]):
        problems += serving_problems(ran, count)
        problems += engine_problems(dict(options(ran.program.arguments)), _planned(subject))
    elif ran.program.program in _TRAINS and subject.instance is not None:
        job = Job(
            instance=subject.instance,
            gpus=count,
            nodes=pods.count,
            first_host=_first_host(ran, pods),
            kept=_claimed(pods, mounts),
            planned_interval=_interval(subject),
            in_pod=True,
        )
        problems += training_problems(ran, job)
    for one in problems:
        yield "FAIL", one
    yield from _failure(started_pod(tuple(command), given, folders, files, "program"))


def _configured(
    pods: Pods, container: Mapping[str, object], held: Mapping[str, Mapping[str, object]]
) -> Iterator[tuple[str, str]]:
    """Yield path and content of what a pod's volumes hold of the project's own configuration."""
    volumes = {
        text(one.get("name")): mapping(one.get("configMap")) for one in map(mapping, items(pods.spec.get("volumes")))
    }
    for mount in map(mapping, items(container.get("volumeMounts"))):
        path, volume = text(mount.get("mountPath")).rstrip("/"), volumes.get(text(mount.get("name")), {})
        chosen = {text(mapping(one).get("key")): text(mapping(one).get("path")) for one in items(volume.get("items"))}
        for key, content in held.get(text(volume.get("name")), {}).items():
            file = chosen.get(key, "" if chosen else key)
            part = text(mount.get("subPath"))
            if file and part in ("", file):
                yield path if part else f"{path}/{file}", text(content)


def _first_host(ran: Started, pods: Pods) -> str:
    """Return the name of a job's first pod; one with its namespace behind it is the same."""
    own = f"{pods.owner.name}-0.{text(pods.spec.get('subdomain'))}"
    if pods.owner.kind != "Job" and ran.program is not None:
        return re.sub(r":\d+$", "", dict(options(ran.program.arguments)).get("rdzv-endpoint", ""))
    endings: Callable[[str], str] = lambda tail: f"{own}.{pods.owner.namespace}{tail}"  # noqa: E731
    words = ran.program.arguments if ran.program is not None else ()
    named = re.sub(r":\d+$", "", dict(options(words)).get("rdzv-endpoint", ""))
    return named if named in [endings(tail) for tail in ("", ".svc", ".svc.cluster.local")] else own


def _claimed(pods: Pods, mounts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders of a pod that every other one sees, and that are there after it."""
    kept = {
        text(mapping(volume).get("name"))
        for volume in items(pods.spec.get("volumes"))
        if {"persistentVolumeClaim", "nfs", "csi"} & set(mapping(volume))
    }
    return tuple(path.rstrip("/") for path, name in mounts.items() if name in kept)


def _place(subject: Subject, file: str, about: str) -> Place:
    for number, line in enumerate(subject.project.files.get(file, "").splitlines(), start=1):
        if about and about in line and not re.match(r"\s*#(?!SBATCH)", line):
            return Place(file=subject.project.shown(file), line=number, column=1)
    return Place(file=subject.project.shown(file))
