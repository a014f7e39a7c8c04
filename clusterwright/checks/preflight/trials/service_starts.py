"""What has to hold of replicas of a service that Slurm starts: an array of jobs, each with a port and an address."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from clusterwright.checks.preflight.files.values import whole
from clusterwright.checks.preflight.trials.launch_rules import Found
from clusterwright.checks.preflight.trials.launching import Started, options

#: Addresses at which an engine hears its own machine alone.
_OWN = ("localhost", "127.0.0.1", "::1")
#: Where every machine reads and writes the same.
_KEPT = ("/shared", "/bucket")
_MOVES = re.compile(r"(latest|main|master|stable|nightly|edge|dev)$")
_IMAGE_BY_DEFAULT = re.compile(r"CONTAINER_IMAGE:?[=-]([^}\"'\s]+)")
_SIZES = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_TIMELESS = ("", "UNLIMITED", "INFINITE", "0")


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """What a service is planned for, of `serving/loadtest/plan.json`; nothing of what is not there.

    Attributes:
        model: name by which requests ask for it.
        replicas: that the load takes, without spare ones.
        longest_tokens: of a request with its answer.
        at_once: requests that a replica answers at a time, in the mean of the busiest hour.
    """

    model: str = ""
    replicas: int = 0
    longest_tokens: int = 0
    at_once: float = 0.0


def planned(written: str) -> Planned:
    """Read what a service is planned for; text of another form says nothing.

    >>> planned('{"model": "m", "replicas": 2, "longest_tokens": 100}').replicas, planned("-") == Planned()
    (2, True)
    """
    with suppress(ValueError, TypeError, AttributeError, KeyError):
        plan = json.loads(written)
        answers_s = plan.get("first_token_s", {}).get("value", 0.0) + plan.get("output_tokens", {}).get(
            "mean", 0.0
        ) * plan.get("time_per_token_s", {}).get("value", 0.0)
        return Planned(
            model=str(plan.get("model", "")),
            replicas=int(plan.get("replicas", 0)),
            longest_tokens=int(plan.get("longest_tokens", 0)),
            # By Little's law.
            at_once=float(plan.get("requests_per_s_per_replica", 0.0)) * answers_s,
        )
    return Planned()


def engine_problems(given: Mapping[str, str], plan: Planned) -> Iterator[Found]:
    """Compare an engine's flags with what its service is planned for.

    Args:
        given: name and value of every option.
        plan: of the service.
    """
    name = given.get("served-model-name", "")
    if name and plan.model and name != plan.model:
        yield Found(
            message=f"answers as {name}, and requests ask for {plan.model}",
            fix=f"--served-model-name {plan.model}",
            about="served-model-name",
        )
    longest = whole(given.get("max-model-len"))
    if longest is not None and longest < plan.longest_tokens:
        yield Found(
            message=f"takes {longest} tokens, and the plan has requests of {plan.longest_tokens}: they are refused",
            fix=f"--max-model-len {plan.longest_tokens}",
            about="max-model-len",
        )
    most = whole(given.get("max-num-seqs"))
    if most is not None and most < plan.at_once:
        yield Found(
            message=f"answers {most} requests at once, and the plan has {plan.at_once:.0f}: the others queue",
            fix=f"--max-num-seqs of {math.ceil(plan.at_once)} or more",
            about="max-num-seqs",
        )
    if given.get("host") in _OWN:
        yield Found(message="answers its own machine alone", fix="--host 0.0.0.0", about="--host")
    if "enforce-eager" in given:
        yield Found(
            message="starts each kernel by itself: --enforce-eager, which the plan's times are without",
            fix="leave it out",
            about="enforce-eager",
        )


def replica_problems(first: Started, second: Started | None, *, alone: bool) -> Iterator[Found]:
    """Yield what is wrong with two replicas of an array as they start, without the trap that clears up behind them.

    Args:
        first: an element of the array.
        second: another one.
        alone: whether a replica has its node for itself.
    """
    if first.program is None:
        return
    yield from _model(first)
    ports = [_port(one) for one in (first, second) if one is not None and one.program is not None]
    if len(ports) > 1 and len(set(ports)) == 1 and not alone:
        yield Found(
            message=f"has two replicas of one node listen at port {ports[0]}: the second one ends",
            fix="PORT=$((8000 + SLURM_ARRAY_TASK_ID))",
            about="ort",
        )
    addresses = {path: file.content.strip() for path, file in first.ran.files.items() if "/endpoints/" in path}
    for path, address in addresses.items():
        host, _, port = address.rpartition(":")
        if not path.startswith(tuple(f"{kept}/" for kept in _KEPT)):
            yield Found(
                message=f"writes its address into {path}, which other machines do not see",
                fix="a folder of the shared file system",
                about="SERVING_FOLDER",
            )
        if port != ports[0]:
            yield Found(
                message=f"says that it answers at port {port}, and listens at {ports[0]}",
                fix='--port "$PORT"',
                about="--port",
            )
        if host in _OWN:
            yield Found(
                message=f"says that it answers at {host}, where everybody finds himself",
                fix="$(hostname)",
                about="host",
            )


def _port(started: Started) -> str:
    words = started.program.arguments if started.program is not None else ()
    return dict(options(words)).get("port", "8000")


def _model(started: Started) -> Iterator[Found]:
    """The model is where every machine reads it, seen from within a container."""
    words = started.program.arguments if started.program is not None else ()
    model = next((word for word in words[1:2] if not word.startswith("-")), dict(options(words)).get("model", ""))
    source = model
    for call in started.steps:
        for mount in dict(options(call.arguments)).get("container-mounts", "").split(","):
            outside, _, inside = mount.partition(":")
            inside = inside.partition(":")[0] or outside
            if inside and (model == inside or model.startswith(f"{inside.rstrip('/')}/")):
                source = outside + model.removeprefix(inside)
    if source.startswith("/") and not source.startswith(tuple(f"{kept}/" for kept in _KEPT)):
        yield Found(
            message=f"reads its model from {source}, which other machines do not have",
            fix="MODEL_PATH: a folder of the shared file system",
            about="MODEL_PATH",
        )


def left_behind(ran: Started) -> Iterator[Found]:
    """Yield the address of a replica that is there after it."""
    if ran.program is not None and any("/endpoints/" in path for path in ran.ran.files):
        yield Found(
            message="leaves its address behind: requests go on to a replica that has ended",
            fix="trap 'rm -f \"$endpoint\"' EXIT",
            about="endpoint",
        )


def image_problems(script: str, steps: Sequence[Mapping[str, str]], *, container: bool) -> Iterator[Found]:
    """Check that a job starts in a container of one release, where jobs run in containers.

    Args:
        script: of the job.
        steps: options of each call of `srun`.
        container: whether nodes have Enroot and Pyxis.
    """
    images = [one["container-image"] for one in steps if "container-image" in one]
    if container and steps and not images:
        yield Found(
            message="starts on the node itself, which has no framework: no --container-image",
            fix='srun --container-image="$CONTAINER_IMAGE"',
            about="srun",
        )
    for image in dict.fromkeys([*images, *_IMAGE_BY_DEFAULT.findall(script)]):
        last = image.rpartition("/")[2]
        if image.startswith(("/", "$")) or "@sha256:" in image:
            continue
        if ":" not in last or _MOVES.search(last.rpartition(":")[2]):
            yield Found(
                message=f"runs {image}, which changes by itself",
                fix="a tag of one release, or a squash file on /shared",
                about="CONTAINER_IMAGE",
            )


def lasting(asked: Mapping[str, str], script: str) -> Iterator[Found]:
    """Check that nothing ends a service."""
    limit = asked.get("time", "")
    if limit.upper() not in _TIMELESS and not re.search(r"\bscontrol\s+requeue\b|--dependency", script):
        yield Found(message=f"ends after {limit}: a service has no end", fix="#SBATCH --time=UNLIMITED", about="--time")


def elements(array: str) -> int | None:
    """Return how many jobs an array has, None where it is none.

    >>> elements("0-54"), elements("0-7:2,9%4"), elements("")
    (55, 5, None)
    """
    count = 0
    for part in array.partition("%")[0].split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
        if found is None:
            return None
        count += (int(found[2] or found[1]) - int(found[1])) // int(found[3] or 1) + 1
    return count


def memory_bytes(value: str) -> float | None:
    """Return memory as `--mem` has it, of megabytes without a unit.

    >>> memory_bytes("435G") == 435 * 2**30, memory_bytes("1000") == 1000 * 2**20, memory_bytes("all")
    (True, True, None)
    """
    found = re.fullmatch(r"(\d+)([KMGT]?)B?", value.upper())
    return int(found[1]) * _SIZES[found[2] or "M"] if found else None


def array_problems(asked: Mapping[str, str], plan: Planned, room: tuple[int, str] | None) -> Iterator[Found]:
    """Compare the elements of an array with the replicas that are planned, and with those that the nodes hold.

    Args:
        asked: directives of the job.
        plan: of the service.
        room: elements that all nodes hold, and what ends first; None where that is not known.
    """
    count, limit = elements(asked.get("array", "")), whole(asked.get("array", "").partition("%")[2])
    if count is None:
        return
    at_once = min(count, limit) if limit else count
    if at_once < plan.replicas:
        yield Found(
            message=f"starts {at_once} replicas, and the plan has {plan.replicas}",
            fix=f"#SBATCH --array=0-{plan.replicas - 1}, and spare ones",
            about="--array",
        )
    if room is not None and at_once > room[0]:
        yield Found(
            message=f"starts {at_once} replicas, and the nodes hold {room[0]} by their {room[1]}: the others wait",
            fix="fewer of them, less for each, or ./cluster.sh set nodeCount",
            about={"processors": "cpus-per-task", "memory": "--mem"}.get(room[1], "--array"),
        )
