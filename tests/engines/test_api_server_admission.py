"""Who a real API server admits: jobs where the stacks' own rules are enforced, replicas where "restricted" is."""

import copy
import json
import time
from typing import Any

import pytest

from clusterwright.catalog.load import load
from tests.engines.api_server import KEPT, ApiServer, Object, read
from tests.engines.written_manifests import (
    ENFORCED,
    RESTRICTED,
    RUNS,
    SERVING,
    example_texts,
    files_of,
    installed,
    manifests,
    pods,
    project,
)
from tests.stacks.projects import INSTANCES

CLOUDS = {"aws": "p5.48xlarge", "azure": "Standard_ND96isr_H100_v5", "gcp": "a3-megagpu-8g"}
_OWNED = "training on premises"
_PATIENCE_S = 60
#: The namespace of jobs, as stacks and folders on premises select it.
_NAME = "kubernetes.io/metadata.name"
_SELECTORS = (
    {"matchLabels": {_NAME: "workload"}},
    {"matchExpressions": [{"key": _NAME, "operator": "In", "values": ["workload"]}]},
)
_PRIVILEGED = {"containers": [{"name": "job", "image": "x", "securityContext": {"privileged": True}}]}


def pod(namespace: str, spec: Object, name: str = "trial") -> Object:
    """Return a pod."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


class Guarded(dict[str, str]):
    """For each cloud, and on premises, a namespace with labels, accounts and rules, made when it is asked for."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__()
        self._server = server

    def __missing__(self, cloud: str) -> str:
        """Return its name once the rules are enforced."""
        return self.setdefault(cloud, _guarded(self._server, cloud))


@pytest.fixture(scope="module")
def guarded(api_server: ApiServer) -> Guarded:
    """Return the namespaces."""
    return Guarded(api_server)


def _guarded(server: ApiServer, cloud: str) -> str:
    entries = (
        [read(text) for text in manifests(files_of(*RUNS[_OWNED]))]
        if cloud == "onprem"
        else installed(project(CLOUDS[cloud]))
    )
    (labels,) = [one["metadata"]["labels"] for one in entries if one["kind"] == "Namespace"]
    # A name of its own: other tests put their jobs into the stacks' namespace.
    name = f"workload-{cloud}"
    server.keep_namespace(name, labels)
    for account in [one["metadata"]["name"] for one in entries if one["kind"] == "ServiceAccount"]:
        server.keep_account(account, name)
    server.keep_account("another", name)
    for entry in copy.deepcopy([one for one in entries if one["kind"].startswith("ValidatingAdmissionPolicy")]):
        entry["metadata"]["name"] = name
        if entry["kind"].endswith("Binding"):
            entry["spec"]["policyName"] = name
            selector = entry["spec"]["matchResources"]["namespaceSelector"]
            assert selector in _SELECTORS
            entry["spec"]["matchResources"]["namespaceSelector"] = {"matchLabels": {_NAME: name}}
        assert server.refusal(entry, keep=True) == ""
    # The server looks at new rules a moment after it has taken them.
    give_up_at = time.monotonic() + _PATIENCE_S
    while "privileged container" not in server.refusal(pod(name, _PRIVILEGED)):
        assert time.monotonic() < give_up_at, "the rules are not enforced"
        time.sleep(0.2)
    return name


@pytest.mark.parametrize(
    "where", [where for where, (_, target, _) in RUNS.items() if target in CLOUDS or where == _OWNED]
)
def test_the_job_of_a_run_is_admitted(where: str, guarded: Guarded, api_server: ApiServer) -> None:
    """Its pods keep to the rules of its project."""
    blueprint, target, values = RUNS[where]
    made = pods([read(text) for text in manifests(files_of(blueprint, target, values))], guarded[target])
    assert {one["metadata"]["name"] for one in made} == {"job-0-all-reduce", f"job-0-{blueprint}"}
    assert api_server.refusals(made) == []


@pytest.mark.parametrize("where", ["aws", "pools, aws", "pools, gcp", "pools, on premises"])
def test_the_pods_of_a_service_are_admitted_beside_jobs(where: str, guarded: Guarded, api_server: ApiServer) -> None:
    """Replicas, and what chooses one of them with an account of its own, where the rules of the project hold."""
    blueprint, target, values = SERVING[where]
    entries = [read(text) for text in manifests(files_of(blueprint, target, values))]
    served = [one for one in entries if one["kind"] in ("Deployment", "LeaderWorkerSet")]
    accounts = {one["metadata"]["name"] for one in entries if one["kind"] == "ServiceAccount"}
    assert accounts == {f"{blueprint}-{'router' if 'pools' in where else 'picker'}"}
    made = pods(served, guarded[target])
    assert accounts <= {one["spec"].get("serviceAccountName") for one in made}
    for account in accounts:
        api_server.keep_account(account, guarded[target])
    assert api_server.refusals(made) == []


@pytest.mark.parametrize("instance", [name for names in INSTANCES.values() for name in names])
def test_the_example_job_is_admitted(instance: str, guarded: Guarded, api_server: ApiServer) -> None:
    """With the devices, folders of the node and capabilities that each type of node needs."""
    made = pods([read(text) for text in example_texts(instance)], guarded[load().instances[instance].cloud])
    assert len(made) == 1
    assert api_server.refusals(made) == []


#: For each rule: what breaks it in a pod, or in a container of it, and what is said.
BROKEN: dict[str, tuple[Object, Object, str]] = {
    "processes of the node": ({"hostPID": True}, {}, "hostPID and hostIPC"),
    "memory of the node": ({"hostIPC": True}, {}, "hostPID and hostIPC"),
    "network of the node": ({"hostNetwork": True}, {}, "hostNetwork"),
    "another account": ({"serviceAccountName": "another"}, {}, "service account workload"),
    "files of the node": ({"volumes": [{"name": "etc", "hostPath": {"path": "/etc"}}]}, {}, "host's files"),
    "files beside the folders": ({"volumes": [{"name": "a", "hostPath": {"path": "/sysroot"}}]}, {}, "host's files"),
    "all rights": ({}, {"securityContext": {"privileged": True}}, "privileged container"),
    "rights of an administrator": ({}, {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}, "capabilities"),
}


@pytest.mark.parametrize(
    ("cloud", "broken"),
    [
        (cloud, broken)
        for cloud in (*CLOUDS, "onprem")
        for broken in BROKEN
        # On premises accounts of the namespace have the rights that their owner gives them.
        if (cloud, broken) != ("onprem", "another account")
    ],
)
def test_what_opens_the_node_is_refused(cloud: str, broken: str, guarded: Guarded, api_server: ApiServer) -> None:
    """Each rule of stacks and folders refuses what it is for, and says so; without it the pod is admitted."""
    spec, container, said = BROKEN[broken]
    plain = {"containers": [{"name": "job", "image": "x"}]}
    assert api_server.refusal(pod(guarded[cloud], plain)) == ""
    for kind in ("containers", "initContainers") if container else ("containers",):
        changed = plain | {kind: [{"name": "other", "image": "x", **container}]} | spec
        refused = api_server.refusal(pod(guarded[cloud], changed))
        assert f"ValidatingAdmissionPolicy '{guarded[cloud]}'" in refused
        assert said in refused


def test_a_debugging_container_is_held_to_the_rules(guarded: Guarded, api_server: ApiServer) -> None:
    """One that is put into a pod which was admitted gets no more than the pod did."""
    namespace = guarded["aws"]
    kept = pod(namespace, {"containers": [{"name": "job", "image": "x"}]}, "debugged")
    assert api_server.refusal(kept, keep=True) == ""
    path = f"/api/v1/namespaces/{namespace}/pods/debugged/ephemeralcontainers?dryRun=All"
    for security, status in (({}, 200), ({"privileged": True}, 422)):
        body = {"spec": {"ephemeralContainers": [{"name": "look", "image": "x", "securityContext": security}]}}
        kind = "application/strategic-merge-patch+json"
        assert api_server.ask("PATCH", path, json.dumps(body), content=kind)[0] == status
    assert api_server.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods/debugged?gracePeriodSeconds=0")[0] == 200


#: What pods of the level "restricted" must not have, and how Pod Security calls it.
RIGHTS: dict[str, tuple[tuple[str | int, ...], object]] = {
    "runAsNonRoot": (("securityContext", "runAsNonRoot"), False),
    "runAsUser=0": (("securityContext", "runAsUser"), 0),
    "seccompProfile": (("securityContext", "seccompProfile"), {"type": "Unconfined"}),
    "unrestricted capabilities": (
        ("containers", 0, "securityContext", "capabilities"),
        {"add": ["IPC_LOCK"], "drop": ["ALL"]},
    ),
    "allowPrivilegeEscalation": (("containers", 0, "securityContext", "allowPrivilegeEscalation"), True),
    "privileged": (("containers", 0, "securityContext"), {"privileged": True}),
    "hostPath": (("volumes", 0), {"name": "model", "hostPath": {"path": "/mnt"}}),
    "host namespaces": (("hostNetwork",), True),
}


@pytest.mark.parametrize("where", ["aws", "two nodes"])
@pytest.mark.parametrize("right", RIGHTS)
def test_a_replica_with_more_rights_is_refused(right: str, where: str, api_server: ApiServer) -> None:
    """Where "restricted" is enforced, each right more is refused by its name, in leaders and in workers."""
    api_server.keep_namespace(RESTRICTED, {ENFORCED: "restricted"})
    api_server.keep_account("workload", RESTRICTED)
    texts = manifests(files_of(*SERVING[where]))
    served = [
        entry for entry in map(read, texts) if entry["metadata"]["name"] in ("serve-llama3-70b", "serve-deepseek-v3")
    ]
    made = pods(served, RESTRICTED)
    assert made
    place, value = RIGHTS[right]
    for one in made:
        assert api_server.refusal(one) == ""
        changed: Any = one["spec"]
        for part in place[:-1]:
            changed = changed[part]
        changed[place[-1]] = value
        refused = api_server.refusal(one)
        assert 'violates PodSecurity "restricted' in refused
        assert right in refused


def test_pods_that_report_busy_nodes_get_no_more_rights(api_server: ApiServer) -> None:
    """The stack labels their namespace "restricted", which refuses one in the network of its node."""
    entries = installed(project(CLOUDS["aws"], stopWhenIdleMinutes=60))
    (reports,) = [entry for entry in entries if entry["kind"] == "DaemonSet"]
    assert api_server.refusals(entry for entry in entries if entry["kind"] in KEPT) == []
    (made,) = pods([reports], reports["metadata"]["namespace"])
    assert api_server.refusal(made) == ""
    made["spec"] = made["spec"] | {"hostNetwork": True}
    assert "host namespaces" in api_server.refusal(made)
