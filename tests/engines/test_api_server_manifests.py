"""Every manifest goes through a real API server: server-side apply, dry run, strict validation, admission."""

from collections import Counter
from collections.abc import Sequence

import pytest

from clusterwright.catalog.software.table import software
from clusterwright.outputs.serving.files import RELEASES
from tests.engines.api_server import ApiServer, definitions, read
from tests.engines.test_api_server_mistakes import MISTAKES
from tests.engines.written_manifests import (
    ENFORCED,
    OF_CHARTS,
    RESTRICTED,
    RUNS,
    SERVING,
    TENANTS,
    example_texts,
    files_of,
    installed,
    manifests,
    pods,
    project,
)
from tests.stacks.projects import INSTANCES

JOBS = "workload"
#: One type of node for each cloud, maker and fabric.
DIFFERENT = (
    "p5.48xlarge",
    "trn2.48xlarge",
    "Standard_ND96isr_MI300X_v5",
    "Standard_ND128isr_NDR_GB200_v6",
    "a2-highgpu-8g",
    "a3-highgpu-8g",
    "a3-ultragpu-8g",
    "ct5p-hightpu-4t",
)
#: One for each cloud, whose nodes report how many of their GPUs are busy.
REPORTING = ("p5.48xlarge", "Standard_ND96isr_H100_v5", "a3-megagpu-8g")


@pytest.fixture(scope="module", autouse=True)
def _namespaces(api_server: ApiServer) -> None:
    """Make what charts make, the namespace of jobs, and one whose pods have to pass "restricted"."""
    for name in (*OF_CHARTS, *TENANTS, JOBS):
        api_server.keep_namespace(name, {ENFORCED: "privileged"})
    api_server.keep_namespace(RESTRICTED, {ENFORCED: "restricted"})
    api_server.keep_account("workload", JOBS)
    api_server.keep_account("workload", RESTRICTED)


def doubles(texts: Sequence[str]) -> list[object]:
    """Return what two objects of a folder are called alike: the later one would take the place of the earlier."""
    names = Counter(
        (entry["kind"], entry["metadata"].get("namespace"), entry["metadata"]["name"]) for entry in map(read, texts)
    )
    return [name for name, count in names.items() if count > 1]


def test_the_server_is_the_release_that_is_pinned(api_server: ApiServer) -> None:
    """Kubernetes 1.34, where claims of devices are of version 1, knows all kinds of the releases that are installed."""
    assert api_server.ask("GET", "/version")[1]["gitVersion"] == "v1.34.1"
    assert api_server.ask("GET", "/apis/resource.k8s.io/v1")[0] == 200
    versions = {one.module: one.version.removeprefix("v") for one in definitions()}
    assert versions["sigs.k8s.io/kueue"] == software().newest("kueue")
    assert {
        "lws": versions["sigs.k8s.io/lws"],
        "keda": versions["github.com/kedacore/keda/v2"],
        "gateway": versions["sigs.k8s.io/gateway-api"],
        "extension": versions["sigs.k8s.io/gateway-api-inference-extension"],
    } == RELEASES


@pytest.mark.parametrize("where", SERVING)
def test_the_server_takes_every_manifest_of_a_service(where: str, api_server: ApiServer) -> None:
    """Each object is taken as it is written, and each pod of the service where "restricted" is enforced."""
    texts = manifests(files_of(*SERVING[where]))
    assert {read(text)["kind"] for text in texts} <= MISTAKES.keys()
    assert api_server.refusals(texts) == []
    assert doubles(texts) == []
    served = [entry for entry in map(read, texts) if entry["kind"] in ("Deployment", "LeaderWorkerSet")]
    made = pods(served, RESTRICTED)
    assert made
    for one in made:
        api_server.keep_account(one["spec"].get("serviceAccountName", "default"), RESTRICTED)
    assert api_server.refusals(made) == []


@pytest.mark.parametrize("where", RUNS)
def test_the_server_takes_every_manifest_of_a_job(where: str, api_server: ApiServer) -> None:
    """Jobs, queues, storage, network and nodes are taken as they are written, and the jobs' pods in their namespace."""
    texts = manifests(files_of(*RUNS[where]))
    assert {read(text)["kind"] for text in texts} <= MISTAKES.keys()
    assert api_server.refusals(texts) == []
    assert doubles(texts) == []
    made = pods([read(text) for text in texts], JOBS)
    assert made
    assert api_server.refusals(made) == []


@pytest.mark.parametrize("instance", [name for names in INSTANCES.values() for name in names])
def test_the_server_takes_the_examples_of_a_project(instance: str, api_server: ApiServer) -> None:
    """Queue, job, script and service, as each type of node needs them."""
    texts = example_texts(instance)
    assert {read(text)["kind"] for text in texts} == {
        "ClusterQueue",
        "ConfigMap",
        "Job",
        "LocalQueue",
        "ResourceFlavor",
        "Service",
    }
    assert api_server.refusals(texts) == []


@pytest.mark.parametrize("instance", DIFFERENT)
def test_the_server_takes_what_a_project_installs(instance: str, api_server: ApiServer) -> None:
    """Every object that the programs put into the cluster, but what charts bring, for each maker and fabric."""
    entries = installed(project(instance))
    kinds = {entry["kind"] for entry in entries}
    assert {"Namespace", "NetworkPolicy", "ValidatingAdmissionPolicy"} <= kinds <= MISTAKES.keys()
    assert api_server.refusals(entries) == []


@pytest.mark.parametrize("instance", REPORTING)
def test_the_server_takes_the_reports_of_busy_nodes(instance: str, api_server: ApiServer) -> None:
    """The pods that report busy GPUs are admitted to their own namespace, which the stack labels "restricted"."""
    entries = installed(project(instance, stopWhenIdleMinutes=60))
    (reports,) = [entry for entry in entries if entry["kind"] == "DaemonSet"]
    namespace = reports["metadata"]["namespace"]
    (own,) = [entry for entry in entries if entry["kind"] == "Namespace" and entry["metadata"]["name"] == namespace]
    assert own["metadata"]["labels"][ENFORCED] == "restricted"
    assert api_server.refusals(entries) == []
    assert api_server.refusals(pods([reports], namespace)) == []
