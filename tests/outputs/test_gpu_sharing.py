"""GPUs that jobs share without slices: refused where it cannot be, and in the files of both schedulers."""

from functools import cache

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.blueprint.load import load as load_blueprint
from clusterwright.blueprint.resolve import resolve
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.deliverables import onprem_files

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"


@cache
def _files(scheduler: str, way: str) -> dict[str, str]:
    asked = [
        "targets.onprem.system=dgx-h100",
        "targets.onprem.min_nodes=34",
        "targets.onprem.max_nodes=34",
        f"targets.onprem.scheduler={scheduler}",
        f"software.sharing={{way: {way}, parts: 4, nodes: 2}}",
    ]
    plan = plan_of(GPT3, asked, "onprem")
    files = onprem_files(plan, plan.options[0], load())
    return {name: file.content.decode() for name, file in files.items() if not name.endswith(".xlsx")}


@pytest.mark.parametrize(("way", "kind", "count"), [("mps", "mps", 800), ("time-slicing", "shard", 32)])
def test_slurm_counts_parts_of_gpus(way: str, kind: str, count: int) -> None:
    """A GPU is 100 by MPS and a part each by turns, in a partition of its own, billed by the part."""
    texts = _files("slurm", way)
    conf = texts["slurm.conf"].splitlines()
    assert f"GresTypes=gpu,{kind}" in conf
    described = [line for line in conf if line.startswith("NodeName=")]
    assert [line.split()[0] for line in described] == ["NodeName=node[001-032]", "NodeName=node[033-034]"]
    assert f"Gres=gpu:h100:8,{kind}:{count} " in described[1]
    assert "PartitionName=slices Nodes=node[033-034] Default=NO MaxTime=INFINITE State=UP" in conf
    assert f"NodeName=node[033-034] Name={kind} Count={count}" in texts["gres.conf"].splitlines()
    assert "A part is\n1/4 of a GPU" in texts["software.md"]


@pytest.mark.parametrize(("way", "plugin"), [("mps", "mps"), ("time-slicing", "timeSlicing")])
def test_the_device_plugin_offers_parts(way: str, plugin: str) -> None:
    """Two nodes offer 64 parts under a name of their own, and the quota of whole GPUs is without them."""
    texts, yaml = _files("kubernetes", way), YAML(typ="safe")
    _, config = yaml.load_all(texts["kubernetes/sharing/device-plugin.yaml"])
    shared = yaml.load(config["data"]["shared"])["sharing"][plugin]
    assert shared["renameByDefault"] is True
    assert shared["resources"] == [{"name": "nvidia.com/gpu", "replicas": 4}]
    assert yaml.load(texts["kubernetes/values/gpu-operator.yaml"])["devicePlugin"]["config"]["name"] == "gpu-sharing"
    labels = texts["kubernetes/node-labels.yaml"]
    assert labels.count('nvidia.com/device-plugin.config: "shared"') == 2
    queue = next(one for one in yaml.load_all(texts["kubernetes/queues.yaml"]) if one["kind"] == "ClusterQueue")
    quota = {one["name"]: one["nominalQuota"] for one in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]}
    assert (quota["nvidia.com/gpu"], quota["nvidia.com/gpu.shared"]) == ("256", "64")


def test_hami_and_virtual_gpus_have_programs_of_their_own() -> None:
    """HAMi splits GPUs of labelled nodes; the operator brings virtual ones, with an image that is named by hand."""
    yaml = YAML(typ="safe")
    hami, virtual = _files("kubernetes", "hami"), _files("kubernetes", "vgpu")
    assert yaml.load(hami["kubernetes/values/hami.yaml"])["devicePlugin"]["deviceSplitCount"] == 4
    assert "project-hami.github.io" in hami["kubernetes/README.md"]
    assert "project-hami.github.io" not in virtual["kubernetes/README.md"]
    values = yaml.load(virtual["kubernetes/values/gpu-operator.yaml"])
    assert values["sandboxWorkloads"]["enabled"] is True
    assert values["vgpuManager"]["repository"] == "YOUR-REGISTRY"


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        (("software.sharing={way: hami, parts: 2}",), "SHR002"),
        (("software.sharing={way: mps, parts: 2}", "software.mig.geometry=[3g.40gb]"), "SHR001"),
        (("software.sharing={way: mps, parts: 2}", "targets.onprem.system=mi300x-8gpu"), "SHR003"),
    ],
)
def test_what_cannot_be_is_refused(values: tuple[str, ...], rule: str) -> None:
    """Each has its rule, at the section."""
    loaded = load_blueprint(GPT3, ("targets={onprem: {system: dgx-h100}}", *values))
    problems = resolve(loaded.blueprint, load())
    assert isinstance(problems, tuple)
    assert rule in {problem.id for problem in problems}
    assert all(problem.path[:2] == ("software", "sharing") for problem in problems if problem.id == rule)
