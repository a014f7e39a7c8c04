"""Do jobs use the nodes as they are: every GPU, a process for each, the fabric's variables, nodes that exist."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from clusterwright.blueprint.reading.document import parsed
from clusterwright.catalog.records import Instance
from clusterwright.checks.preflight.files.shell import Line, is_script, lines
from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.results import Outcome, Place, Status, passed
from clusterwright.checks.preflight.scripts.pods import ACCELERATORS, quotas_below_a_job
from clusterwright.checks.preflight.scripts.variables import needed, problems
from clusterwright.checks.preflight.subject import Subject
from clusterwright.errors import ClusterwrightError

_SKIPPED = re.compile(r"(^|/)(tests?|policy|\.github|\.venv[^/]*)/|(^|/)Pulumi\.[^/]*$")
_OPTION = re.compile(r"--([a-z][a-z_-]*)[= ]+[\"']?([^\s\"'\\]+)")
_SBATCH = re.compile(r"^#SBATCH\s+(.*)")
_SHORT = {"-N": "--nodes", "-n": "--ntasks", "-G": "--gpus"}
_EXPORT = re.compile(
    r"(?:^|[\s;])(?:export\s+|-x\s+|--env[= ])?((?:NCCL|FI|CUDA|NVIDIA)_[A-Z0-9_]+)="
    r"(\"[^\"]*\"|'[^']*'|(?:[^\s;\"']|\"[^\"]*\")*)"
)
#: The kind is a type of GPU, or a profile of slices, which begins with a digit.
_GRES = re.compile(r"\bgpu(?::((?=[\w.+-]*[A-Za-z])[\w.+-]+))?:(\d+)\b")
_ARITHMETIC = re.compile(r"\$\(\([^()]*\)\)")
#: What Slurm says of a node's GPUs, as it is or less than all.
_PART_OF_GPUS = re.compile(
    r"\$(?:\(\()?\{?(?:SLURM_GPUS_(?:ON|PER)_NODE|CLUSTER_GPUS_PER_NODE)\}?(?:([/-])(\d+))?(?:\)\))?"
)
_LAYOUT = ("tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size")
_FUNCTION = re.compile(r"(?ms)^gres_conf\(\)\s*\{\n.*?^\}$")
_SANDBOX_S = 10
#: Kinds whose replicas are pods that know nothing of each other, such as those of a service.
_INDEPENDENT = ("Deployment", "ReplicaSet", "DaemonSet")


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One thing that is wrong with a job: file, line from 1, what it is and what to do."""

    file: str
    line: int
    message: str
    fix: str
    status: Status = "FAIL"


def jobs_fit(subject: Subject) -> Iterator[Outcome]:
    """Look at the scripts in launch/, at every manifest, and at what Slurm is given about its nodes."""
    instance = subject.instance
    if instance is None:
        return
    looked_at, found = 0, list[Found]()
    for name, content in subject.project.files.items():
        if _SKIPPED.search(name):
            continue
        if is_script(name, content):
            looked_at += 1
            found += _script(subject, instance, name, content)
            found += _told_to_slurm(instance, name, content)
        elif name.endswith((".yaml", ".yml")):
            found += _manifest(instance, name, content)
            looked_at += 1
    for file, line, message, fix in quotas_below_a_job(subject):
        looked_at += 1
        place = Place(file=file, line=line, column=1 if line else 0)
        yield Outcome(status="FAIL", message=f"{file.rpartition('/')[2]} {message}", fix=fix, place=place)
    for one in found:
        place = Place(file=subject.project.shown(one.file), line=one.line, column=1 if one.line else 0)
        yield Outcome(status=one.status, message=f"{one.file} {one.message}", fix=one.fix, place=place)
    if looked_at and not found:
        yield passed(f"{looked_at} scripts and manifests use {instance.gpus} GPUs a node")


def _script(subject: Subject, instance: Instance, name: str, content: str) -> Iterator[Found]:
    options, at = _options(content)
    shell = list(lines(content))
    given, places = _variables(shell)
    trains = "nproc-per-node" in options or "SBATCH" in content
    for variable, wrong, fix in problems(instance, given):
        yield Found(file=name, line=places[variable], message=f"{variable} {wrong}", fix=fix)
    if not trains:
        return
    count = whole(options.get("nodes"))
    several = count is None or count > 1
    yield from _gpus(instance, name, options, at, several=several)
    yield from _processes(instance, name, options, at, content)
    have = subject.node_count
    if count is not None and have and count > have:
        yield Found(
            file=name,
            line=at["nodes"],
            message=f"asks for {count} nodes, nodeCount is {have}",
            fix=f"--nodes={have}, or ./cluster.sh set nodeCount {count}: until then the job waits",
            status="WARN",
        )
    ranks = whole(options.get("nnodes"))
    if count is not None and ranks is not None and ranks != count:
        message = f"starts on {ranks} nodes (--nnodes), but asks for {count}"
        yield Found(file=name, line=at["nnodes"], message=message, fix=f"--nnodes={count}")
    yield from _layout(instance, name, options, at, ranks or count)
    # One node talks to none other: what its fabric needs is then not missed.
    for variable, value in needed(instance).items() if several else ():
        if variable not in given and "srun" in content and variable != "NCCL_DEBUG":
            yield Found(
                file=name,
                line=0,
                message=f"does not set {variable}: {instance.id} needs it",
                fix=f"export {variable}={value}",
            )
    shown = _shown(given)
    if shown is not None and shown != instance.gpus:
        yield Found(
            file=name,
            line=places.get("CUDA_VISIBLE_DEVICES", 0),
            message=f"shows {shown} of {instance.gpus} GPUs to its processes",
            fix="leave CUDA_VISIBLE_DEVICES to Slurm",
        )


def _options(content: str) -> tuple[dict[str, str], dict[str, int]]:
    """Return the options of a job and of the commands in it, those of `#SBATCH` first, and the line of each."""
    options: dict[str, str] = {}
    at: dict[str, int] = {}

    def keep(text_: str, number: int) -> None:
        text_ = _ARITHMETIC.sub(lambda found: re.sub(r"\s", "", found[0]), text_)
        for short, long in _SHORT.items():
            text_ = re.sub(rf"(?<!\S){short}\s*(?=\d)", f"{long}=", text_)
        for key, value in _OPTION.findall(text_):
            options.setdefault(key.replace("_", "-"), value)
            at.setdefault(key.replace("_", "-"), number)

    for number, line in enumerate(content.splitlines(), start=1):
        directive = _SBATCH.match(line)
        if directive:
            keep(directive[1], number)
    for one in lines(content):
        if not one.written:
            keep(one.text, one.number)
    return options, at


def _variables(shell: list[Line]) -> tuple[dict[str, str], dict[str, int]]:
    given: dict[str, str] = {}
    places: dict[str, int] = {}
    for line in shell:
        for name, value in _EXPORT.findall(line.text):
            given[name] = value.replace('"', "").strip("'")
            places[name] = line.number
    return given, places


def _gpus(
    instance: Instance, name: str, options: Mapping[str, str], at: Mapping[str, int], *, several: bool
) -> Iterator[Found]:
    """Compare the GPUs that a job asks for with those of a node; a job of one node may take a part of it."""
    asked: list[tuple[str, int]] = []
    kind = re.sub(r"[^a-z0-9]", "", (instance.accelerator or "").lower())
    for key in ("gres", "gpus-per-node"):
        value = options.get(key, "")
        typed = _GRES.search(value if value.startswith("gpu") else f"gpu:{value}")
        if typed:
            asked.append((key, int(typed[2])))
            if typed[1] and kind and typed[1].lower() not in kind and kind not in typed[1].lower():
                message = f"asks for {typed[1]}, {instance.id} has {instance.accelerator}"
                yield Found(file=name, line=at[key], message=message, fix="name the type of nodeType.gpuType")
    for key, count in asked:
        if count > instance.gpus or (several and count != instance.gpus):
            yield Found(
                file=name,
                line=at[key],
                message=f"asks for {count} GPUs a node, {instance.id} has {instance.gpus}",
                fix=f"ask for {instance.gpus}",
            )


def _number(value: str | None, content: str, gpus: int) -> int | None:
    """Return a number, also one that a variable of the script holds, or a part of the node's GPUs."""
    found = whole(value)
    part = _PART_OF_GPUS.fullmatch(value or "")
    if part is not None:
        return gpus if not part[1] else (gpus // int(part[2]) if part[1] == "/" else gpus - int(part[2]))
    named = re.fullmatch(r"\$\{?(\w+)(?::-(\d+))?\}?", value or "")
    if found is not None or named is None:
        return found
    assigned = re.search(rf"(?m)^\s*(?:export\s+|readonly\s+)?{named[1]}=[\"']?(\d+)", content)
    return int(assigned[1]) if assigned else whole(named[2])


def _processes(
    instance: Instance, name: str, options: Mapping[str, str], at: Mapping[str, int], content: str
) -> Iterator[Found]:
    each = _number(options.get("nproc-per-node"), content, instance.gpus)
    tasks = _number(options.get("ntasks-per-node"), content, instance.gpus)
    if each is None and (tasks in (None, 1) or "nproc-per-node" in options):
        return
    key = "nproc-per-node" if each is not None else "ntasks-per-node"
    started = (each or 1) * (tasks or 1)
    wanted = _number(options.get("gpus-per-node"), content, instance.gpus) or instance.gpus
    if started != wanted:
        yield Found(
            file=name,
            line=at[key],
            message=f"starts {started} processes on {wanted} GPUs a node",
            fix=f"--nproc-per-node={wanted} with one task a node, or --ntasks-per-node={wanted}",
        )


def _layout(
    instance: Instance, name: str, options: Mapping[str, str], at: Mapping[str, int], nodes: int | None
) -> Iterator[Found]:
    sizes = [whole(options[key]) for key in _LAYOUT if key in options]
    if nodes is None or not sizes or None in sizes:
        return
    ranks = 1
    for size in sizes:
        ranks *= size or 1
    if (nodes * instance.gpus) % ranks:
        key = next(key for key in _LAYOUT if key in options)
        message = f"splits the model over {ranks} GPUs, of which {nodes * instance.gpus} is no multiple"
        yield Found(file=name, line=at[key], message=message, fix="choose a layout that divides them")


def _told_to_slurm(instance: Instance, name: str, content: str) -> Iterator[Found]:
    """Find numbers of GPUs that are not the node's, in what is written for Slurm."""
    if not name.startswith("node/"):
        return
    for line in lines(content):
        counts = [int(one) for one in re.findall(r"\bGres=gpu(?::[\w${}-]+)?:(\d+)\b", line.text)]
        counts += [int(one) for one in re.findall(r"GPUS_PER_NODE[\"']?(?::?=)[\"']?(\d+)", line.text) if one != "0"]
        counts += [int(b) - int(a) + 1 for a, b in re.findall(r"File=\S*?\[(\d+)-(\d+)\]", line.text)]
        changed = re.search(r"GPUS_PER_NODE\s*[-+*/]\s*[1-9]", line.text) and "first" not in line.text
        wrong = next((count for count in counts if count != instance.gpus), None)
        if wrong is not None or changed:
            told = f"{wrong} GPUs" if wrong is not None else "another number of GPUs than the node has"
            yield Found(
                file=name,
                line=line.number,
                message=f"tells Slurm of {told}, {instance.id} has {instance.gpus}",
                fix="take the number of CLUSTER_GPUS_PER_NODE",
            )
    function = _FUNCTION.search(content)
    if function is not None and not shutil.which("bash"):
        return
    if function is not None:
        yield from _gres_conf(instance, name, content[: function.start()].count("\n") + 1, function[0])


def _gres_conf(instance: Instance, name: str, line: int, function: str) -> Iterator[Found]:
    """Let the shell say what gres.conf a node of this type gets: restricted, without any program, without a file."""
    kind = (instance.accelerator or "").lower()
    amd, step = kind.startswith("mi"), 8 if kind.startswith("mi3") else 1
    environment = {
        "CLUSTER_GPUS_PER_NODE": str(instance.gpus),
        "CLUSTER_GPU_TYPE": "gpu",
        "CLUSTER_DEVICES": "/dev",
        "CLUSTER_ACCELERATOR_DEVICE": "dri/renderD" if amd else "nvidia",
        "CLUSTER_FIRST_ACCELERATOR": "128" if amd else "0",
        "CLUSTER_ACCELERATOR_STEP": str(step),
        "PATH": "",
    }
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(  # noqa: S603 - one function of the project in a restricted shell
            [str(shutil.which("bash")), "--norc", "--noprofile", "-r", "-c", f"{function}\ngres_conf"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SANDBOX_S,
        )
        files = re.findall(r"(?m)^Name=gpu\b.*\bFile=(\S+)", done.stdout)
        devices = [device for file in files for device in _devices(file)]
        counts = [int(one) for one in re.findall(r"(?m)^Name=gpu\b.*Count=(\d+)", done.stdout)]
        counts = list(dict.fromkeys([*([len(devices)] if files else []), *counts]))
        fix = "first to first + CLUSTER_GPUS_PER_NODE - 1"
        for count in counts:
            if count != instance.gpus:
                message = f"writes a gres.conf of {count} GPUs, {instance.id} has {instance.gpus}"
                yield Found(file=name, line=line, message=message, fix=fix)
        first = int(environment["CLUSTER_FIRST_ACCELERATOR"])
        path = f"/dev/{environment['CLUSTER_ACCELERATOR_DEVICE']}"
        absent = sorted(set(devices) - {f"{path}{first + step * one}" for one in range(instance.gpus)})
        if absent and counts == [instance.gpus]:
            message = f"writes a gres.conf with {absent[0]}, which {instance.id} does not have"
            yield Found(file=name, line=line, message=message, fix=fix)


def _devices(file: str) -> list[str]:
    """Return the device files that a value of `File` in gres.conf stands for.

    >>> _devices("/dev/nvidia[0-1,7]"), _devices("/dev/nvidia8")
    (['/dev/nvidia0', '/dev/nvidia1', '/dev/nvidia7'], ['/dev/nvidia8'])
    """
    bracket = re.fullmatch(r"(.*)\[([^\]]*)\](.*)", file)
    if bracket is None:
        return file.split(",")
    numbers: list[str] = []
    for part in bracket[2].split(","):
        ends = re.fullmatch(r"(\d+)-(\d+)", part)
        numbers += [str(one) for one in range(int(ends[1]), int(ends[2]) + 1)] if ends else [part]
    return [f"{bracket[1]}{number}{bracket[3]}" for number in numbers]


def _manifest(instance: Instance, name: str, content: str) -> Iterator[Found]:
    line = 0
    for part in re.split(r"(?m)^---\s*$", content):
        with suppress(ClusterwrightError):
            yield from _pods(instance, name, line, parsed(part, name=name).value, several=False)
        line += part.count("\n")


def _pods(instance: Instance, name: str, line: int, value: Any, *, several: bool) -> Iterator[Found]:  # noqa: ANN401
    """Walk through a manifest; what is above a container says how many of it there are."""
    if isinstance(value, list):
        for one in value:
            yield from _pods(instance, name, line, one, several=several)
    if not isinstance(value, dict):
        return
    at_once, all_ = (whole(value.get(key)) for key in ("parallelism", "completions"))
    if value.get("completionMode") == "Indexed" and at_once is not None and all_ is not None and at_once != all_:
        message = f"has parallelism {at_once} and {all_} completions: pods that talk to each other wait for the rest"
        yield Found(file=name, line=line, message=message, fix=f"parallelism: {all_}")
    if value.get("kind") in _INDEPENDENT:
        value = {**value, "spec": {key: one for key, one in _mapping(value.get("spec")).items() if key != "replicas"}}
    counts = (whole(value.get(key)) for key in ("parallelism", "completions", "replicas", "numNodes", "minMember"))
    several = several or any(count is not None and count > 1 for count in counts)
    limits = value["resources"].get("limits") if isinstance(value.get("resources"), dict) else None
    if isinstance(limits, dict):
        yield from _container(instance, name, line, value, limits, several=several)
    for one in value.values():
        yield from _pods(instance, name, line, one, several=several)


def _container(
    instance: Instance, name: str, line: int, value: Mapping[str, Any], limits: Mapping[str, Any], *, several: bool
) -> Iterator[Found]:
    asked = next((whole(limits[key]) for key in ACCELERATORS if key in limits), None)
    if asked is None:
        return
    if several and asked < instance.gpus:
        message = f"asks for {asked} of {instance.gpus} GPUs in each of several pods: the fabric is for whole nodes"
        yield Found(file=name, line=line, message=message, fix=f"ask for {instance.gpus}")
    words = " ".join(str(one) for key in ("command", "args") for one in _items(value.get(key)))
    started = re.search(r"--?nproc[-_]per[-_]node[= ](\d+)", words)
    if started and int(started[1]) != asked:
        message = f"starts {started[1]} processes on {asked} GPUs"
        yield Found(file=name, line=line, message=message, fix=f"--nproc-per-node={asked}")
    given = {
        text(one.get("name")): text(one.get("value"))
        for one in _items(value.get("env"))
        if isinstance(one, dict) and "value" in one
    }
    for variable, wrong, fix in problems(instance, given, in_pod=True):
        yield Found(file=name, line=line, message=f"{variable} {wrong}", fix=fix)
    shown = _shown(given)
    if shown is not None and shown != asked:
        message = f"shows {shown} of {asked} GPUs to its processes"
        yield Found(file=name, line=line, message=message, fix="leave the devices to Kubernetes")


def _mapping(value: Any) -> dict[str, Any]:  # noqa: ANN401 - a manifest
    return value if isinstance(value, dict) else {}


def _shown(given: Mapping[str, str]) -> int | None:
    """Return how many devices variables leave to processes; None where they name none by number."""
    devices = given.get("CUDA_VISIBLE_DEVICES") or given.get("NVIDIA_VISIBLE_DEVICES") or ""
    return devices.count(",") + 1 if re.fullmatch(r"\d+(,\d+)*", devices) else None


def _items(value: Any) -> list[Any]:  # noqa: ANN401 - a manifest
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []
