"""When a blueprint's GPU nodes are to be stopped, held against what the watchdogs of the stacks can do."""

from dataclasses import dataclass

from clusterwright.blueprint.clouds import CloudTarget
from clusterwright.blueprint.problems import Problem
from clusterwright.blueprint.schema import Cluster
from clusterwright.catalog.records import Instance

_HOUR_S, _MINUTE_S = 3600, 60
#: Hours that flex-start nodes have at most (`catalog/capacity_objects.csv`).
_FLEX_START_HOURS = 168


@dataclass(frozen=True, kw_only=True, slots=True)
class Watchdog:
    """What a stack can stop nodes for; None for what it cannot.

    Attributes:
        most_hours: longest time to live.
        idle_minutes: shortest and longest time without a busy GPU.
        instead: what to do where it cannot.
    """

    most_hours: int | None
    idle_minutes: tuple[int, int] | None
    instead: str = "use time_to_live"


#: Software whose nodes report how many accelerators are busy (`templates/node/busy_gpus.sh`).
_REPORTING = ("nvidia", "rocm")
#: As the settings of the stacks accept it (`stacks/<cloud>/<scheduler>/gpu_cluster/settings_nodes.py`).
WATCHDOGS = {
    ("aws", "slurm"): Watchdog(most_hours=8760, idle_minutes=(15, 1440)),
    ("aws", "kubernetes"): Watchdog(most_hours=8760, idle_minutes=None),
    ("azure", "slurm"): Watchdog(most_hours=8760, idle_minutes=(30, 1440)),
    ("azure", "kubernetes"): Watchdog(
        most_hours=None, idle_minutes=None, instead="choose scheduler: slurm, or stop pools with `az aks nodepool stop`"
    ),
    ("gcp", "slurm"): Watchdog(most_hours=8784, idle_minutes=(15, 1440)),
    ("gcp", "kubernetes"): Watchdog(most_hours=8784, idle_minutes=None),
}


def stopping_problems(cluster: Cluster, cloud: str, asked: CloudTarget, instance: Instance) -> list[Problem]:
    """Return `CAP010` for a time to live or an idle time that nothing would keep.

    Args:
        cluster: the section of the blueprint.
        cloud: `aws`, `azure` or `gcp`.
        asked: the target.
        instance: its type.
    """
    dog = WATCHDOGS[cloud, asked.scheduler]
    nodes = f"{instance.id} with {asked.scheduler} on {cloud}"
    tpu = instance.vendor_software == "tpu"
    problems = []
    if cluster.time_to_live is not None:
        hours = cluster.time_to_live / _HOUR_S
        most = dog.most_hours
        if asked.capacity == "flex-start" and most is not None:
            most = _FLEX_START_HOURS if asked.scheduler == "slurm" else None
        if tpu or most is None:
            instead = _without_end(dog, asked, tpu=tpu)
            problems.append(_problem("time_to_live", f"nothing would stop {nodes} after a time to live", instead))
        elif hours > most:
            said = f"{nodes} can live for {most:,} hours at most, not {hours:,.0f}"
            problems.append(_problem("time_to_live", said, f"set {most} h or less, or leave it out"))
    if cluster.stop_when_idle is not None:
        minutes = cluster.stop_when_idle / _MINUTE_S
        if dog.idle_minutes is None or instance.vendor_software not in _REPORTING:
            instead = _without_end(dog, asked, tpu=tpu)
            problems.append(
                _problem("stop_when_idle", f"{nodes} does not report how many accelerators are busy", instead)
            )
        elif not dog.idle_minutes[0] <= minutes <= dog.idle_minutes[1]:
            least, most = dog.idle_minutes
            said = f"{nodes} can be stopped after {least} min to {most // 60} h without work, not {minutes:,.0f} min"
            problems.append(_problem("stop_when_idle", said, f"set a time from {least} min to {most // 60} h"))
    return problems


def _without_end(dog: Watchdog, asked: CloudTarget, *, tpu: bool) -> str:
    if tpu:
        return "leave it out, and end the slice with `nodeCount 0`: a slice is not scaled, only deleted"
    if asked.capacity == "flex-start" and dog.most_hours is not None:
        return "leave it out: flex-start nodes end by themselves"
    return f"{dog.instead}, or leave it out"


def _problem(field: str, message: str, advice: str) -> Problem:
    return Problem(id="CAP010", path=("cluster", field), message=message, help=advice)
