"""What has to hold of a job as it starts: processes, rendezvous, checkpoints, the model's layout and the fabric."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.catalog.records import Instance
from clusterwright.checks.preflight.files.values import whole
from clusterwright.checks.preflight.scripts.variables import needed, problems
from clusterwright.checks.preflight.trials.launching import Started, options

#: Names of a machine that each machine calls itself.
_OWN = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "")  # noqa: S104 - what is looked for
#: Everywhere else a checkpoint is lost with its machine or pod.
_KEPT = ("/shared", "/bucket")
_PARALLEL = ("tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size")
#: Of the size of the plan's own interval: a job that saves less often than this loses days.
_SAVES_AT_LEAST = 20
#: A collective waits for the slowest: for one that reads data, compiles a kernel or writes a checkpoint.
_PATIENCE_MINUTES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What a launch is compared with.

    Attributes:
        instance: type of the nodes.
        gpus: that each of the job's machines or pods has; nodes: how many of them.
        first_host: name of the first one, where all others find it.
        kept: folders that outlive a machine and that every one of them sees.
        planned_interval: steps between checkpoints as the project's README has them, None where it says nothing.
        in_pod: whether it runs in pods.
    """

    instance: Instance
    gpus: int
    nodes: int
    first_host: str
    kept: tuple[str, ...] = _KEPT
    planned_interval: int | None = None
    in_pod: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One thing that is wrong: what, what to do, and a word of the line that says so."""

    message: str
    fix: str
    about: str = ""


def training_problems(started: Started, job: Job) -> Iterator[Found]:
    """Yield what is wrong with a training job as it starts."""
    if started.program is None:
        return
    words = list(started.program.arguments)
    program = next((place for place, word in enumerate(words) if word.endswith(".py")), len(words))
    launcher, given = dict(options(words[:program])), dict(options(words[program:]))
    if started.program.program == "torchrun":
        yield from _processes(launcher, job)
        if job.nodes > 1:
            yield from _meeting(launcher, started.environment, job)
    yield from _shown(started, job.gpus)
    yield from _fabric(started, job)
    if any("megatron" in word.lower() for word in words[: program + 1]) or "tensor-model-parallel-size" in given:
        yield from _checkpoints(given, job)
        yield from _layout(given, job)
        yield from _patience(given, job)


def _shown(started: Started, gpus: int) -> Iterator[Found]:
    shown = started.environment.get("CUDA_VISIBLE_DEVICES", "")
    if re.fullmatch(r"\d+(,\d+)*", shown) and len(shown.split(",")) != gpus:
        yield Found(
            message=f"shows {len(shown.split(','))} of {gpus} GPUs to its processes",
            fix="leave CUDA_VISIBLE_DEVICES out",
            about="CUDA_VISIBLE_DEVICES",
        )


def _patience(given: Mapping[str, str], job: Job) -> Iterator[Found]:
    limit = whole(given.get("distributed-timeout-minutes"))
    if job.nodes > 1 and limit is not None and limit < _PATIENCE_MINUTES:
        yield Found(
            message=f"ends when one rank waits {limit} min for another: a checkpoint or a cold start takes longer",
            fix="--distributed-timeout-minutes 30",
            about="distributed-timeout-minutes",
        )


def _processes(launcher: Mapping[str, str], job: Job) -> Iterator[Found]:
    each = launcher.get("nproc-per-node", "1")
    if each not in ("gpu", "auto") and whole(each) != job.gpus:
        yield Found(
            message=f"starts {each} processes on {job.gpus} GPUs", fix=f"--nproc-per-node={job.gpus}", about="nproc"
        )
    nodes = launcher.get("nnodes", "1").rpartition(":")[2]
    if whole(nodes) is not None and whole(nodes) != job.nodes:
        yield Found(
            message=f"waits for {nodes} launchers, and {job.nodes} start", fix=f"--nnodes={job.nodes}", about="nnodes"
        )


def _meeting(launcher: Mapping[str, str], environment: Mapping[str, str], job: Job) -> Iterator[Found]:
    """All launchers find each other at one of them."""
    endpoint = launcher.get("rdzv-endpoint") or launcher.get("master-addr") or environment.get("MASTER_ADDR", "")
    host = re.sub(r":\d+$", "", endpoint).strip("[]")
    if "standalone" in launcher:
        yield Found(message="starts each machine by itself: --standalone", fix="leave it out", about="standalone")
    elif host in _OWN:
        yield Found(
            message=f"has each machine wait for the others at {host or 'no address'}: its own",
            fix=f"--rdzv-endpoint={job.first_host}:29400",
            about="rdzv-endpoint",
        )
    elif host != job.first_host:
        yield Found(
            message=f"has the machines meet at {host}, which is not the first one ({job.first_host})",
            fix=f"--rdzv-endpoint={job.first_host}:29400",
            about="rdzv-endpoint",
        )
    if (
        launcher.get("rdzv-backend", "c10d" if "rdzv-endpoint" not in launcher else "") == ""
        and "rdzv-endpoint" in launcher
    ):
        yield Found(message="names a rendezvous and no backend for it", fix="--rdzv-backend=c10d", about="rdzv-backend")
    restarts = launcher.get("max-restarts")
    if restarts is not None and restarts == "0":
        yield Found(message="ends with the first process that fails", fix="--max-restarts", about="max-restarts")


def _fabric(started: Started, job: Job) -> Iterator[Found]:
    environment = started.environment
    for name, wrong, fix in problems(job.instance, dict(environment), in_pod=job.in_pod):
        yield Found(message=f"starts with {name}, which {wrong}", fix=fix, about=name)
    for name, value in {} if job.in_pod else needed(job.instance).items():
        wanted = value.replace("${SLURM_JOB_ID}", environment.get("SLURM_JOB_ID", ""))
        if wanted != value and environment.get(name, wanted) != wanted:
            yield Found(
                message=f"starts with {name}={environment[name]}, and the fabric's manager is at {wanted}",
                fix=f"export {name}={value}",
                about=name,
            )
    if job.nodes > 1 and job.gpus == job.instance.gpus and not job.in_pod:
        for name, value in needed(job.instance).items():
            if name not in environment and name != "NCCL_DEBUG":
                yield Found(
                    message=f"starts without {name}: {job.instance.id} needs it",
                    fix=f"export {name}={value}",
                    about=name,
                )


def saved_elsewhere(words: Sequence[str], kept: tuple[str, ...]) -> Found | None:
    """Return what is wrong with where a job saves, by its arguments alone; None for nothing."""
    save = dict(options(list(words))).get("save", "")
    if not save.startswith("/") or any(save == path or save.startswith(f"{path}/") for path in kept):
        return None
    return Found(
        message=f"saves checkpoints in {save}, which goes with its machine, and no other one reads",
        fix="a folder of the shared file system",
        about="--save",
    )


def _checkpoints(given: Mapping[str, str], job: Job) -> Iterator[Found]:
    save, load = given.get("save", ""), given.get("load", "")
    if not save:
        yield Found(message="saves no checkpoint", fix="--save", about="--save")
    elif not any(save == path or save.startswith(f"{path}/") for path in job.kept):
        yield Found(
            message=f"saves checkpoints in {save}, which goes with its machine, and no other one reads",
            fix="a folder of the shared file system",
            about="CHECKPOINT_PATH",
        )
    if save and not load:
        yield Found(
            message="begins anew after each restart: it loads no checkpoint", fix=f"--load {save}", about="--save"
        )
    elif save and load != save and "finetune" not in given:
        yield Found(
            message=f"loads from {load}, and saves in {save}: a restart begins anew",
            fix=f"--load {save}",
            about="--load",
        )
    interval = whole(given.get("save-interval"))
    if save and not interval:
        yield Found(message="saves at its end only", fix="--save-interval", about="--save")
    elif interval and job.planned_interval and interval > job.planned_interval * _SAVES_AT_LEAST:
        yield Found(
            message=f"saves every {interval} steps, the plan has {job.planned_interval}: a lost node costs as much",
            fix=f"--save-interval {job.planned_interval}",
            about="save-interval",
        )
    if save and "exit-signal-handler" not in given:
        yield Found(
            message="does not save when it is told to end: what is done since the last checkpoint is lost",
            fix="--exit-signal-handler",
            about="--save",
        )
    data = given.get("data-path", "")
    if data.startswith("/") and not any(data.startswith(f"{path}/") for path in job.kept):
        yield Found(
            message=f"reads data from {data}, which other machines do not have",
            fix="the shared file system",
            about="data-path",
        )


def _layout(given: Mapping[str, str], job: Job) -> Iterator[Found]:
    tensor, pipeline, context = (whole(given.get(name, "1")) or 1 for name in _PARALLEL)
    gpus, model = job.gpus * job.nodes, tensor * pipeline * context
    if tensor > job.instance.gpus and job.instance.gpus * job.nodes != tensor:
        yield Found(
            message=f"splits layers over {tensor} GPUs of nodes with {job.instance.gpus}: the fabric carries it",
            fix=f"--tensor-model-parallel-size {job.instance.gpus} or less",
            about="tensor-model-parallel-size",
        )
    if gpus % model:
        yield Found(
            message=f"splits the model over {model} GPUs, of which {gpus} is no multiple",
            fix="choose a layout that divides them",
            about="pipeline-model-parallel-size",
        )
        return
    replicas, batch, micro = gpus // model, whole(given.get("global-batch-size")), whole(given.get("micro-batch-size"))
    if batch and micro and batch % (replicas * micro):
        yield Found(
            message=f"divides a batch of {batch} among {replicas} replicas with {micro} at once, unevenly",
            fix=f"a multiple of {replicas * micro}",
            about="global-batch-size",
        )
    heads, experts = whole(given.get("num-attention-heads")), whole(given.get("expert-model-parallel-size")) or 1
    if heads and heads % tensor:
        yield Found(
            message=f"splits {heads} attention heads over {tensor} GPUs",
            fix="a divisor",
            about="tensor-model-parallel-size",
        )
    if experts > 1 and whole(given.get("num-experts")) and (whole(given.get("num-experts")) or 0) % experts:
        yield Found(message=f"splits the experts over {experts} GPUs, unevenly", fix="a divisor", about="expert-model")
    uneven = any(
        "pipeline-split" in name
        or "first-pipeline" in name
        or "last-pipeline" in name
        or "pipeline-model-parallel-layout" in name
        for name in given
    )
    layers = whole(given.get("num-layers"))
    if layers and not uneven and layers % pipeline:
        yield Found(
            message=f"splits {layers} layers over {pipeline} stages, unevenly",
            fix="a divisor",
            about="pipeline-model-parallel-size",
        )
    if "sequence-parallel" in given and tensor == 1:
        yield Found(
            message="asks for sequence parallelism without tensor parallelism",
            fix="leave it out",
            about="sequence-parallel",
        )


def serving_problems(started: Started, gpus: int) -> Iterator[Found]:
    """Yield what is wrong with a replica as it starts on a number of GPUs."""
    if started.program is None:
        return
    given = dict(options(started.program.arguments))
    yield from _shown(started, gpus)
    tensor, pipeline = (
        whole(given.get("tensor-parallel-size", "1")) or 1,
        whole(given.get("pipeline-parallel-size", "1")) or 1,
    )
    data = whole(given.get("data-parallel-size", "1")) or 1
    used = tensor * pipeline * data
    if gpus and used > gpus:
        yield Found(
            message=f"spreads over {used} GPUs, and has {gpus}",
            fix=f"--tensor-parallel-size {gpus}",
            about="tensor-parallel-size",
        )
    elif gpus and used < gpus:
        yield Found(
            message=f"uses {used} of the {gpus} GPUs that it takes", fix=f"ask for {used}", about="tensor-parallel-size"
        )
    if "trust-remote-code" in given:
        yield Found(
            message="runs code that comes with the model: --trust-remote-code",
            fix="leave it out, or read that code",
            about="trust-remote-code",
        )
    share = given.get("gpu-memory-utilization", "")
    if re.fullmatch(r"[0-9.]+", share) and not 0.1 <= float(share) <= 0.98:  # noqa: PLR2004 - engines need a rest
        yield Found(message=f"takes {share} of each GPU's memory", fix="0.9", about="gpu-memory-utilization")
