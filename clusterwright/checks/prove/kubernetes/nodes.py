"""Labels and taints of the nodes: unit and rack of every host, and the kind that pods select."""

from collections import Counter
from collections.abc import Iterator

from clusterwright.checks.prove.kubernetes.objects import Cluster, Object, wrong
from clusterwright.errors import Finding

UNIT, RACK, KIND = "topology.gpu-cluster/unit", "topology.gpu-cluster/rack", "node-kind"
_TAINTS = ("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi")


def labels(cluster: Cluster) -> Iterator[Finding]:
    """Yield hosts whose unit is not that of the fabric, or whose rack is not that of racks.csv."""
    documents = cluster.papers.documents
    unit_of = {host: unit for unit, hosts in documents.design.inventory.node_groups() for host in hosts}
    written: dict[str, Object] = {}
    for node in cluster.of("Node"):
        if node.name in written:
            yield wrong("K8S002", node.place, "the objects of the host", "a second one", "one", "labels are set once")
        written[node.name] = node
    for host in cluster.hosts:
        own, place = written.pop(host, None), cluster.papers.place(host)
        if own is None:
            yield wrong(
                "K8S002", "kubernetes/node-labels.yaml", f"the labels of {host}", None, "one object", "it joins"
            )
            continue
        for label, expected, rule in (
            (UNIT, unit_of.get(host), "the leaves that it hangs on"),
            (RACK, None if place is None else place["rack"].lower(), "racks.csv has it there"),
        ):
            found = _labels(own).get(label)
            if found != expected:
                yield wrong("K8S002", own.place, label, found, expected, rule)
    for host, own in written.items():
        yield wrong("K8S002", own.place, "a host", host, "one of the inventory", "racks.csv has no other")


def _labels(node: Object) -> dict[str, str]:
    found = node.at("metadata.labels")
    return found if isinstance(found, dict) else {}


def kinds(cluster: Cluster) -> Iterator[Finding]:
    """Yield hosts that pods with GPUs do not select, or that other pods may start on."""
    for node in cluster.of("Node"):
        kind = _labels(node).get(KIND)
        if kind != "gpu":
            yield wrong("K8S002", node.place, KIND, kind, "gpu", "pods and the queue select their nodes by it")
        taints = node.at("spec.taints") or []
        held = Counter(taint.get("effect") for taint in taints if taint.get("key") in _TAINTS)
        if held["NoSchedule"] != 1:
            said = ", ".join(f"{taint.get('key')}:{taint.get('effect')}" for taint in taints)
            rule = "the taint keeps other pods off nodes with GPUs"
            yield wrong("K8S002", node.place, "the taint of its GPUs", said, "one, NoSchedule", rule)
