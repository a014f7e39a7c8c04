"""Every manifest that is written, by where it comes from, as the tests of the API server go through them."""

from collections.abc import Mapping, Sequence
from functools import cache

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.checks.preflight.records import REFERENCE, SECRET, UNKNOWN
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.folder import File
from clusterwright.outputs.launch.example_job import for_fabric
from clusterwright.outputs.project.files import project_files
from clusterwright.outputs.project.stack import for_node, with_quota
from tests.engines.api_server import KEPT, Object, documents, read
from tests.opened import target_files
from tests.outputs.pod_templates import pod_templates
from tests.outputs.test_serving_files import CASES, POOLS
from tests.stacks.projects import Case, recorded

_SLICES = ("targets.onprem.system=dgx-h100", "software.mig.geometry=[3g.40gb, 4g.40gb]", "software.mig.nodes=2")
_TENANTS = "tenants=[{name: research, share: 60 %}, {name: students, share: 0 %, max_gpus: 16}]"
#: Settings of the servers themselves, which kubeadm and the kubelet read.
_OF_MACHINES = "/control-plane/"
#: Folders of targets with Kubernetes: blueprint, target, and what is set.
Folder = tuple[str, str, tuple[str, ...]]
SERVING: Mapping[str, Folder] = {
    **{where: (blueprint, target, tuple(values)) for where, (blueprint, target, *values) in CASES.items()},
    **{f"pools, {where}": (name, target, tuple(values)) for where, (name, target, *values) in POOLS.items()},
    "part of a node": ("serve-gpt-oss-120b", "gcp", ()),
    "an unknown framework": ("serve-llama3-70b", "aws", ("workload.framework=mine",)),
}
TRAINING: Mapping[str, Folder] = {
    "on aws": ("train-gpt3-175b", "aws", ()),
    "on azure": ("train-gpt3-175b", "azure", ()),
    "on gcp": ("train-gpt3-175b", "gcp", ()),
    "on premises": ("train-gpt3-175b", "onprem", ("targets.onprem.system=dgx-h100",)),
    "beside slices": ("train-gpt3-175b", "onprem", _SLICES),
    "shared by tenants": ("train-gpt3-175b", "onprem", ("targets.onprem.system=dgx-h100", _TENANTS)),
    "on shared GPUs": (
        "train-gpt3-175b",
        "onprem",
        ("targets.onprem.system=dgx-h100", "software.sharing={way: mps, parts: 4, nodes: 2}"),
    ),
    "on NVL72": ("train-gpt3-175b", "onprem", ("targets.onprem.system=gb200-nvl72", "site.rack_power=160 kW")),
    "on Ethernet": (
        "train-gpt3-175b",
        "onprem",
        ("targets.onprem.system=dgx-h100", "targets.onprem.fabric.kind=roce"),
    ),
    "on MI300X": ("train-gpt3-175b", "onprem", ("targets.onprem.system=mi300x-8gpu",)),
    "on Gaudi 3": (
        "train-gpt3-175b",
        "onprem",
        ("targets.onprem.system=gaudi3-8gpu", "targets.onprem.node.power=11 kW"),
    ),
}
FINETUNING: Mapping[str, Folder] = {
    "on aws": ("finetune-llama3-70b-full", "aws", ()),
    "on azure": ("finetune-llama3-70b-full", "azure", ()),
    "on gcp": ("finetune-llama3-70b-full", "gcp", ()),
    "one card": ("finetune-llama3-8b-qlora", "aws", ()),
    "on premises": ("finetune-llama3-70b-full", "onprem", ()),
}
#: Folders with a job of a run.
RUNS: Mapping[str, Folder] = {
    **{f"training {where}": folder for where, folder in TRAINING.items()},
    **{f"fine-tuning {where}": folder for where, folder in FINETUNING.items()},
}
#: Where the level "restricted" of Pod Security is enforced.
RESTRICTED = "restricted"
ENFORCED = "pod-security.kubernetes.io/enforce"
#: Namespaces of the tenants above: a dry run makes none, and objects in them are refused without.
TENANTS = ("research", "students")
#: Namespaces that charts make before the objects of a folder or a stack are applied.
OF_CHARTS = ("gke-managed-system", "gpu-operator", "monitoring", "nvidia-network-operator")
_NODES = 4


@cache
def files_of(blueprint: str, target: str, values: tuple[str, ...]) -> Mapping[str, File]:
    """Return the files of a target with Kubernetes."""
    wanted = [f"targets.{target}.scheduler=kubernetes", *values]
    plan = plan_of(assets.root() / "blueprints" / f"{blueprint}.yaml", wanted, target)
    return target_files(plan, plan.options[0], load())


def manifests(files: Mapping[str, File]) -> list[str]:
    """Return the objects of all files as they are written, those first that others need.

    What has no kind is for a program of its own (Helm, Pulumi), a `Kustomization` for kubectl.
    """
    texts = [
        text
        for path, file in files.items()
        if path.endswith(".yaml") and _OF_MACHINES not in path
        for text in documents(file.content.decode())
        if _kind(text) not in ("", "Kustomization")
    ]
    return sorted(texts, key=lambda text: _kind(text) not in KEPT)


def _kind(text: str) -> str:
    entry = read(text)
    return str(entry.get("kind", "")) if isinstance(entry, dict) and "apiVersion" in entry else ""


@cache
def example_texts(instance: str) -> tuple[str, ...]:
    """Return the examples of a project with Kubernetes, as an instance type needs them, on four nodes."""
    facts = load().instances[instance]
    files = project_files(facts.cloud, "kubernetes")
    job, queue = (for_node(files[f"examples/{name}.yaml"].content.decode(), facts) for name in ("all_reduce", "queue"))
    shaped = for_fabric(job, facts, _NODES)
    return (*documents(with_quota(queue, shaped, _NODES)), *documents(shaped))


def project(instance: str, **changes: str | int) -> Case:
    """Return the project of an instance type with Kubernetes."""
    cloud = load().instances[instance].cloud
    return Case(cloud=cloud, instance=instance, nodes=_NODES, scheduler="kubernetes", changes=tuple(changes.items()))


@cache
def installed(case: Case) -> tuple[Object, ...]:
    """Return the objects that a stack's programs put into the cluster, those first that others need.

    What charts bring is not here to be read.
    """
    run = recorded(case)
    assert run.error is None, run.error
    found = [
        plain(dict(one.inputs))
        for record in run.layers.values()
        for one in record.cloud_resources
        if one.type.startswith("kubernetes:") and "helm.sh" not in one.type
    ]
    return tuple(sorted(found, key=lambda entry: entry["kind"] not in KEPT))


def plain(value: object) -> object:
    """Return recorded inputs as the provider sends them: without marks, and with a text for what only `up` knows."""
    if isinstance(value, Mapping):
        if SECRET in value:
            return plain(value[SECRET])
        if UNKNOWN in value or REFERENCE in value:
            return "known-after-up"
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def pods(entries: Sequence[Object], namespace: str) -> list[Object]:
    """Return a pod of each template within objects, in a namespace: what admission sees once a controller makes it."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **template.get("metadata", {}),
                "name": f"{entry['kind'].lower()}-{number}-{entry['metadata']['name']}"[:63],
                "namespace": namespace,
            },
            "spec": template["spec"],
        }
        for entry in entries
        for number, template in enumerate(pod_templates(entry))
    ]
