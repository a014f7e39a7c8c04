"""Mistakes in each kind of manifest are refused by a real API server, which says where they are."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from tests.engines.api_server import ApiServer, Object, read
from tests.engines.written_manifests import (
    ENFORCED,
    OF_CHARTS,
    SERVING,
    TENANTS,
    TRAINING,
    example_texts,
    files_of,
    installed,
    manifests,
    project,
)

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mistakes:
    """What is done to an object of a kind.

    Attributes:
        added: where a key is put that is not there.
        wrong, value: what gets a value that cannot be there.
        missing: what is taken away that has to be there; None where the kind asks for nothing.
        beside: what an object has whose key is taken away.
    """

    added: Place
    wrong: Place
    value: object
    missing: Place | None
    beside: Place = ()


MISTAKES: Mapping[str, Mistakes] = {
    "CIDRPool": Mistakes(("spec",), ("spec", "perNodeNetworkPrefix"), "31", ("spec", "cidr")),
    "ClusterQueue": Mistakes(
        ("spec", "resourceGroups", 0),
        ("spec", "resourceGroups", 0, "coveredResources"),
        "cpu",
        ("spec", "resourceGroups", 0, "flavors", 0, "name"),
    ),
    "ConfigMap": Mistakes((), ("data", "serve.sh"), 1, None),
    "DaemonSet": Mistakes(
        ("spec", "template", "spec", "containers", 0),
        ("spec", "template", "spec", "terminationGracePeriodSeconds"),
        "soon",
        ("spec", "selector"),
    ),
    "Deployment": Mistakes(
        ("spec", "template", "spec", "containers", 0, "startupProbe"),
        ("spec", "replicas"),
        "two",
        ("spec", "template", "spec", "containers", 0, "name"),
    ),
    "GKENetworkParamSet": Mistakes(("spec",), ("spec", "deviceMode"), "Fast", None),
    "Gateway": Mistakes(("spec",), ("spec", "listeners", 0, "port"), "http", ("spec", "gatewayClassName")),
    "HTTPRoute": Mistakes(
        ("spec", "rules", 0), ("spec", "rules", 0, "timeouts", "request"), "0", ("spec", "parentRefs", 0, "name")
    ),
    "HostDeviceNetwork": Mistakes(("spec",), ("spec", "resourceName"), 8, None),
    "IPPool": Mistakes(("spec",), ("spec", "perNodeBlockSize"), "16", ("spec", "subnet")),
    "InferencePool": Mistakes(("spec",), ("spec", "targetPorts", 0, "number"), "http", ("spec", "selector")),
    "Job": Mistakes(("spec",), ("spec", "completions"), "many", ("spec", "template", "spec", "restartPolicy")),
    "LeaderWorkerSet": Mistakes(
        ("spec", "leaderWorkerTemplate"),
        ("spec", "leaderWorkerTemplate", "size"),
        "two",
        ("spec", "leaderWorkerTemplate", "workerTemplate"),
    ),
    "LocalQueue": Mistakes(("spec",), ("spec", "clusterQueue"), 1, None),
    "Namespace": Mistakes(("spec",), ("metadata", "labels"), "privileged", None),
    "Network": Mistakes(("spec",), ("spec", "type"), "Fast", ("spec", "type")),
    "NetworkAttachmentDefinition": Mistakes(("spec",), ("spec", "config"), 8, None),
    "NetworkPolicy": Mistakes(
        ("spec",), ("spec", "podSelector"), "all", ("spec", "egress", 0, "to", 0, "ipBlock", "cidr")
    ),
    "NicClusterPolicy": Mistakes(("spec",), ("spec", "tolerations"), "all", ("spec", "nvIpam", "version")),
    "Node": Mistakes(("spec",), ("spec", "taints"), "gpu", ("spec", "taints", 0, "effect")),
    "PersistentVolume": Mistakes(("spec",), ("spec", "accessModes"), "ReadWriteMany", ("spec", "capacity")),
    "PersistentVolumeClaim": Mistakes(("spec",), ("spec", "accessModes"), "ReadWriteMany", ("spec", "resources")),
    "PodDisruptionBudget": Mistakes(("spec",), ("spec", "maxUnavailable"), [1], None),
    "PodMonitor": Mistakes(("spec",), ("spec", "podMetricsEndpoints", 0, "interval"), 15, ("spec", "selector")),
    "PrometheusRule": Mistakes(
        ("spec", "groups", 0, "rules", 0),
        ("spec", "groups", 0, "rules"),
        "none",
        ("spec", "groups", 0, "rules", 0, "expr"),
    ),
    "ResourceFlavor": Mistakes(
        ("spec",), ("spec", "nodeLabels"), "gpu", ("spec", "nodeLabels"), ("spec", "topologyName")
    ),
    "Role": Mistakes(("rules", 0), ("rules", 0, "verbs"), "get", ("rules", 0, "verbs")),
    "ResourceQuota": Mistakes(("spec",), ("spec", "hard", "requests.nvidia.com/gpu"), "many", None),
    "RoleBinding": Mistakes(("roleRef",), ("subjects",), "picker", ("roleRef", "name")),
    "ScaledObject": Mistakes(
        ("spec",), ("spec", "triggers", 0, "metadata", "threshold"), 40, ("spec", "scaleTargetRef")
    ),
    "Service": Mistakes(("spec",), ("spec", "ports", 0, "port"), "http", ("spec", "ports", 0, "port")),
    "ServiceAccount": Mistakes((), ("automountServiceAccountToken",), "no", None),
    "Topology": Mistakes(("spec",), ("spec", "levels"), "units", ("spec", "levels")),
    "ValidatingAdmissionPolicy": Mistakes(
        ("spec",),
        ("spec", "validations", 0, "expression"),
        "object.spec.containers.all(",
        ("spec", "validations", 0, "expression"),
    ),
    "ValidatingAdmissionPolicyBinding": Mistakes(
        ("spec",), ("spec", "validationActions"), "Deny", ("spec", "policyName")
    ),
}
ADDED = "notAKey"


@cache
def everything() -> tuple[Object, ...]:
    """Return objects of every kind that is written."""
    folders = [
        SERVING["aws"],
        SERVING["two nodes"],
        *map(TRAINING.__getitem__, ("on premises", "on Ethernet", "shared by tenants")),
    ]
    written = [read(text) for one in folders for text in manifests(files_of(*one))]
    stacks = [
        *installed(project("p5.48xlarge", stopWhenIdleMinutes=60)),
        *installed(project("Standard_ND96isr_H100_v5")),
        *installed(project("a3-megagpu-8g")),
    ]
    return (*written, *stacks, *map(read, example_texts("p5.48xlarge")))


def with_places(kind: str, *places: Sequence[str | int]) -> Object:
    """Return an object of a kind that has a key at each place."""
    for entry in everything():
        if entry["kind"] == kind and all(_has(entry, place) for place in places):
            return copy.deepcopy(entry)
    raise LookupError(f"no {kind} has {places}")


def _has(entry: Any, place: Sequence[str | int]) -> bool:  # noqa: ANN401 - JSON
    for part in place:
        try:
            entry = entry[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def at(entry: Any, place: Sequence[str | int]) -> Any:  # noqa: ANN401 - JSON
    """Return what is at a place, which is made where it is missing."""
    for part in place:
        entry = entry.setdefault(part, {}) if isinstance(entry, dict) else entry[part]
    return entry


@pytest.fixture(scope="module", autouse=True)
def _namespaces(api_server: ApiServer) -> None:
    for name in (*OF_CHARTS, *TENANTS, "workload", "gpu-reports"):
        api_server.keep_namespace(name, {ENFORCED: "privileged"})


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_key_that_is_not_there_is_refused(kind: str, api_server: ApiServer) -> None:
    """The answer names it."""
    place = MISTAKES[kind].added
    entry = with_places(kind, () if place == ("spec",) else place)
    at(entry, place)[ADDED] = "x"
    assert ADDED in api_server.refusal(entry)


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_value_that_cannot_be_there_is_refused(kind: str, api_server: ApiServer) -> None:
    """It is of another type, or none of those that the kind has; without it the same object is taken."""
    mistakes = MISTAKES[kind]
    *parents, last = mistakes.wrong
    entry = with_places(kind, parents)
    assert api_server.refusal(entry) == ""
    at(entry, parents)[last] = mistakes.value
    assert api_server.refusal(entry)


@pytest.mark.parametrize("kind", [kind for kind, mistakes in MISTAKES.items() if mistakes.missing])
def test_a_key_that_is_missing_is_refused(kind: str, api_server: ApiServer) -> None:
    """The answer names it."""
    mistakes = MISTAKES[kind]
    assert mistakes.missing is not None
    *parents, last = mistakes.missing
    entry = with_places(kind, mistakes.missing, mistakes.beside)
    del at(entry, parents)[last]
    assert str(last) in api_server.refusal(entry)
