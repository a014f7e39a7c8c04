"""Do all replicas of a service start: how many of them the nodes hold by accelerators, processors and memory."""

from collections.abc import Iterator

from clusterwright.checks.preflight.files.values import text
from clusterwright.checks.preflight.programs.pod_rules import Found, bytes_of, cores_of
from clusterwright.checks.preflight.scripts.capacity import held
from clusterwright.checks.preflight.scripts.manifests import Pods, items, mapping
from clusterwright.checks.preflight.subject import Subject

#: Kinds whose pods start one by one, and wait one by one.
_SERVES = ("Deployment", "StatefulSet")


def all_start(subject: Subject, pods: Pods) -> Iterator[Found]:
    """Compare the replicas of a service with those that the nodes hold."""
    nodes, asked = subject.node_count, pods.accelerators
    if nodes is None or asked is None or pods.owner.kind not in _SERVES:
        return
    wanted: dict[str, float] = {asked[0]: asked[1]}
    for container in map(mapping, items(pods.spec.get("containers"))):
        resources = mapping(container.get("resources"))
        requests = {**mapping(resources.get("limits")), **mapping(resources.get("requests"))}
        wanted["cpu"] = wanted.get("cpu", 0) + (cores_of(text(requests.get("cpu"))) or 0)
        wanted["memory"] = wanted.get("memory", 0) + (bytes_of(text(requests.get("memory"))) or 0)
    each = held(subject, wanted)
    if each is not None and pods.count > nodes * each[0]:
        yield Found(
            message=f"has {pods.count} replicas, and {nodes} nodes hold {nodes * each[0]} of them by their {each[1]}: "
            "the others stay pending",
            fix="fewer replicas, less for each, or more nodes",
            about="cpu:" if each[1] == "processors" else "replicas:" if each[1] == asked[0] else "memory:",
        )
