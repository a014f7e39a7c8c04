"""Nodes as labelled: unit and rack of every host, the kind that pods select, and how many parts share a GPU.

Time-slicing is right where parts are as planned, and nodes, operator and configuration name each other.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from clusterwright.checks.prove.kubernetes.objects import Cluster, Object, wrong
from clusterwright.checks.prove.papers import CellError, absent
from clusterwright.checks.prove.site.services import yaml_of
from clusterwright.checks.prove.yaml_text import YamlTextError, yaml_document
from clusterwright.errors import Finding

UNIT, RACK, KIND = "topology.gpu-cluster/unit", "topology.gpu-cluster/rack", "node-kind"
_TAINTS = ("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi")
_OPERATOR = "kubernetes/values/gpu-operator.yaml"
_CHOICE = "nvidia.com/device-plugin.config"


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


def shared(cluster: Cluster) -> Iterator[Finding]:
    """Yield parts of a GPU, and names of their configuration, that are not the plan's or not there (`K8S005`)."""
    operator = yaml_of(cluster.papers, _OPERATOR) or {}
    chosen = (operator.get("devicePlugin") or {}).get("config") or {}
    maps = {one.name: one for one in cluster.of("ConfigMap") if _configurations(one)}
    if not chosen:
        return
    if chosen.get("name") not in maps:
        yield absent(
            "K8S005",
            _OPERATOR,
            "devicePlugin.config.name",
            chosen.get("name"),
            ", ".join(sorted(maps)),
            "the folder has that configuration",
        )
        return
    own = maps[chosen["name"]]
    known = _configurations(own)
    whole = [name for name, parts in known.items() if parts == 1]
    if chosen.get("default") not in whole:
        rule = "nodes without a label of their own have whole GPUs"
        yield absent("K8S005", _OPERATOR, "devicePlugin.config.default", chosen.get("default"), ", ".join(whole), rule)
    for node in cluster.of("Node"):
        label = (node.at("metadata.labels") or {}).get(_CHOICE)
        if label is not None and label not in known:
            yield wrong("K8S005", node.place, _CHOICE, label, ", ".join(sorted(known)), f"{own.place} has these")
    yield from _planned(cluster, own, known)


def _planned(cluster: Cluster, own: Object, known: Mapping[str, int]) -> Iterator[Finding]:
    documents = cluster.papers.documents
    software = documents.plan.software_of(documents.option.target)
    parts = software.shared_parts if software is not None and software.sharing else 1
    for name, said in known.items():
        if said not in {1, parts}:
            yield wrong("K8S005", own.place, f"replicas of {name}", said, parts, "the plan shares a GPU by as many")


def _configurations(one: Object) -> dict[str, int]:
    """Return the parts of a GPU by the name of each configuration of the device plugin in a map; empty for others."""
    found: dict[str, int] = {}
    for name, text in (one.at("data") or {}).items():
        document = _document(text)
        if isinstance(document, dict) and "sharing" in document:
            resources = ((document["sharing"] or {}).get("timeSlicing") or {}).get("resources") or []
            found[name] = max((int(resource.get("replicas", 1)) for resource in resources), default=1)
    return found


def _document(text: object) -> object:
    try:
        return yaml_document(str(text))
    except (YamlTextError, CellError):
        return None
