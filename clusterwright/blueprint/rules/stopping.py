"""When a blueprint's GPU nodes are to be stopped, compared with what the watchdogs of the stacks can do."""

from dataclasses import dataclass

from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.schema import Cluster
from clusterwright.blueprint.sections.clouds import CloudTarget
from clusterwright.catalog.records import Instance

_HOUR_S, _MINUTE_S = 3600, 60
#: Hours that flex-start nodes have at most (`catalog/capacity_objects.csv`).
_FLEX_START_HOURS = 168


@dataclass(frozen=True, kw_only=True, slots=True)
class Watchdog:
    """What a stack can stop nodes for.

    Attributes:
        most_hours: longest time to live.
        idle_minutes: shortest and longest time without a busy GPU.
    """

    most_hours: int
    idle_minutes: tuple[int, int]


#: Software whose nodes report how many accelerators are busy: by the tools of the machine's image with Slurm
#: (`templates/node/utilisation.sh`), by the exporter that the stack brings with Kubernetes (`stacks/kubernetes/node/`).
_REPORTING = {"slurm": ("nvidia", "rocm", "neuron"), "kubernetes": ("nvidia",)}
#: What to do instead.
_SLICE = "leave it out, and end the slice with `nodeCount 0`: a slice is not scaled, only deleted"
_FLEX_START = "leave it out: flex-start nodes end by themselves"
#: As the settings of the stacks accept it (`stacks/<cloud>/<scheduler>/gpu_cluster/settings_nodes.py`).
WATCHDOGS = {
    ("aws", "slurm"): Watchdog(most_hours=8760, idle_minutes=(15, 1440)),
    ("aws", "kubernetes"): Watchdog(most_hours=8760, idle_minutes=(15, 1440)),
    ("azure", "slurm"): Watchdog(most_hours=8760, idle_minutes=(30, 1440)),
    ("azure", "kubernetes"): Watchdog(most_hours=8760, idle_minutes=(30, 1440)),
    ("gcp", "slurm"): Watchdog(most_hours=8784, idle_minutes=(15, 1440)),
    ("gcp", "kubernetes"): Watchdog(most_hours=8784, idle_minutes=(15, 1440)),
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
    # With Kubernetes GKE takes flex-start nodes away; with Slurm they can be stopped before their own end.
    leaves_by_itself = asked.capacity == "flex-start" and asked.scheduler == "kubernetes"
    problems = []
    if cluster.time_to_live is not None:
        hours = cluster.time_to_live / _HOUR_S
        most = _FLEX_START_HOURS if asked.capacity == "flex-start" else dog.most_hours
        if tpu or leaves_by_itself:
            said = f"nothing would stop {nodes} after a time to live"
            problems.append(_problem("time_to_live", said, _SLICE if tpu else _FLEX_START))
        elif hours > most:
            said = f"{nodes} can live for {most:,} hours at most, not {hours:,.0f}"
            problems.append(_problem("time_to_live", said, f"set {most} h or less, or leave it out"))
    if cluster.stop_when_idle is not None:
        minutes = cluster.stop_when_idle / _MINUTE_S
        least, longest = dog.idle_minutes
        if instance.vendor_software not in _REPORTING[asked.scheduler]:
            said = f"{nodes} does not report how many accelerators are busy"
            problems.append(_problem("stop_when_idle", said, _SLICE if tpu else "use time_to_live, or leave it out"))
        elif leaves_by_itself:
            said = f"nothing would stop {nodes} when idle but GKE itself"
            problems.append(_problem("stop_when_idle", said, _FLEX_START))
        elif not least <= minutes <= longest:
            said = f"{nodes} can be stopped after {least} min to {longest // 60} h without work, not {minutes:,.0f} min"
            problems.append(_problem("stop_when_idle", said, f"set a time from {least} min to {longest // 60} h"))
    return problems


def _problem(field: str, message: str, advice: str) -> Problem:
    return Problem(id="CAP010", path=("cluster", field), message=message, help=advice)
