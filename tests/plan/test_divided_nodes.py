"""Nodes with divided or shared GPUs: in the cluster beside those of the work, as spare nodes are."""

import json
from dataclasses import replace
from functools import cache

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.deliverables import cloud_files, onprem_files
from clusterwright.outputs.folder import File
from clusterwright.plan.bounds import NodeBounds
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.finetuning.record import finetuning_option
from clusterwright.plan.record import Plan
from clusterwright.plan.serving.record import serving_option
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.words import cluster_text
from clusterwright.plan.training.record import TrainingOption, training_option
from tests.opened import explanations

_BLUEPRINTS = assets.root() / "blueprints"
_TRAIN = ("train-gpt3-175b", "onprem", "targets.onprem.system=dgx-h100", "targets.onprem.scheduler=slurm")
_SERVE = ("serve-llama3-70b", "aws", "targets.aws.scheduler=kubernetes", "targets.aws.allowed_instances=[p5.48xlarge]")
_GKE = ("targets.gcp.scheduler=kubernetes", "targets.gcp.instance=a3-megagpu-8g")
_TUNE = ("finetune-llama3-70b-lora", "aws", "targets.aws.allowed_instances=[p5.48xlarge]")
_DIVIDED = ("software.mig.geometry=[3g.40gb, 4g.40gb]", "software.mig.nodes=2")
_SHARED = ("software.sharing.way=time-slicing", "software.sharing.parts=4", "software.sharing.nodes=2")


@cache
def _planned(name: str, target: str, *values: str) -> Plan:
    return plan_of(_BLUEPRINTS / f"{name}.yaml", list(values), target)


def _ids(plan: Plan) -> set[str]:
    return {entry.id for entry in (*plan.warnings, *plan.findings)}


def _nodes_explained(plan: Plan) -> dict[str, str]:
    (entry,) = [entry for entry in explanations(plan, plan.options[0].target) if entry.number == "nodes"]
    return {one.name: one.value for one in entry.inputs}


def _train_option(*values: str) -> TrainingOption:
    return training_option(_planned(*_TRAIN, *values).options[0])


@pytest.mark.parametrize("values", [_DIVIDED, _SHARED])
def test_a_run_has_its_nodes_beside_those_with_parts_of_gpus(values: tuple[str, ...]) -> None:
    """Two nodes more are bought, powered and placed; layout, days and nodes that train are those without them."""
    alone, plan = _train_option(), _planned(*_TRAIN, *values)
    beside = training_option(plan.options[0])
    assert (beside.cluster.nodes, beside.cluster.divided_nodes) == (alone.cluster.nodes + 2, 2)
    assert beside.cluster.gpus == alone.cluster.gpus + 16
    assert beside.training_nodes == alone.training_nodes
    assert beside.performance.layout == alone.performance.layout
    assert beside.performance.calendar_days == alone.performance.calendar_days
    assert beside.design.facility is not None
    assert len(beside.design.facility.inventory.hosts()) == beside.cluster.nodes
    assert (beside.cluster.it_power_w or 0.0) > (alone.cluster.it_power_w or 0.0)
    assert (beside.money.capex_usd or 0.0) > (alone.money.capex_usd or 0.0)
    assert not {"MIG005", "SHR004"} & _ids(plan)
    assert ", 2 of the nodes for parts of GPUs" in cluster_text(beside)
    assert _nodes_explained(plan)["nodes beside the work"].startswith("2 with")


def test_the_job_of_slurm_asks_for_the_nodes_of_the_work() -> None:
    """`--nodes` is the plan's nodes without the divided ones, and its partition has as many."""
    spared = (*_DIVIDED, "reliability.spare_nodes=1")
    plan = _planned(*_TRAIN, *spared)
    chosen = training_option(plan.options[0])
    files = {name: file.content.decode(errors="replace") for name, file in _written(plan).items()}
    assert f"#SBATCH --nodes={chosen.training_nodes}-{chosen.training_nodes + 1}\n" in files["launch/train.sbatch"]
    assert chosen.cluster.nodes == chosen.training_nodes + 3
    (partition,) = [line for line in files["slurm.conf"].splitlines() if line.startswith("PartitionName=gpu ")]
    assert f"[001-{chosen.training_nodes + 1:03}]" in partition
    (row,) = [line for line in files["acceptance.md"].splitlines() if "kill one node's power" in line]
    assert "1 is spare" in row


def _written(plan: Plan) -> dict[str, File]:
    return dict(onprem_files(plan, plan.options[0], load()))


def test_a_service_has_its_replicas_beside_divided_nodes() -> None:
    """On a cloud's Kubernetes the pool has two nodes more; replicas, confidence and the scaler's bounds stay."""
    plain, plan = _planned(*_SERVE), _planned(*_SERVE, *_DIVIDED)
    alone, beside = serving_option(plain.options[0]), serving_option(plan.options[0])
    assert (beside.cluster.nodes, beside.cluster.divided_nodes) == (alone.cluster.nodes + 2, 2)
    for name in ("replicas", "spare_replicas", "idle_gpus", "confidence", "layout"):
        assert getattr(beside.performance, name) == getattr(alone.performance, name), name
    # What a confidence takes counts the whole cluster, as the nodes of the answer do.
    for name in ("sure_nodes", "even_odds_nodes"):
        nodes = getattr(alone.performance, name)
        assert getattr(beside.performance, name) == (None if nodes is None else nodes + 2), name
    assert (beside.money.run_usd or 0.0) > (alone.money.run_usd or 0.0)
    assert "MIG006" in _ids(plan)
    before, after = (
        {
            name: file.content.decode(errors="replace")
            for name, file in cloud_files(of, of.options[0], load(), USD).items()
        }
        for of in (plain, plan)
    )
    (layer,) = [name for name in after if name.startswith("nodes/Pulumi.serve-")]
    assert f"nodeCount: {beside.cluster.nodes}\n" in after[layer]
    replicas = [name for name in after if name.startswith("serving/") and "maxReplicaCount" in after[name]]
    assert replicas
    assert all(after[name] == before[name] for name in replicas)
    assert _nodes_explained(plan)["nodes beside the work"].startswith("2 with")


def test_a_fine_tuning_run_has_its_nodes_beside_shared_ones() -> None:
    """Its layout and its time are those without them, and the bill has two nodes more; a cloud shares no GPU."""
    alone = finetuning_option(_planned(*_TUNE, "targets.aws.max_nodes=2").options[0])
    plan = _planned(*_TUNE, *_SHARED, f"targets.aws.max_nodes={alone.cluster.nodes + 2}")
    beside = finetuning_option(plan.options[0])
    assert (beside.cluster.nodes, beside.cluster.divided_nodes) == (alone.cluster.nodes + 2, 2)
    assert beside.training_nodes == alone.training_nodes
    assert beside.performance.layout == alone.performance.layout
    assert beside.performance.calendar_days == alone.performance.calendar_days
    assert beside.performance.idle_gpus == alone.performance.idle_gpus
    assert beside.bill.lines[0].quantity == alone.bill.lines[0].quantity + 2
    assert "SHR005" in _ids(plan)


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (("software.mig.geometry=[3g.40gb, 3g.40gb]", "software.mig.nodes=2"), {"nodes": 2, "partition": "3g.40gb"}),
        (_SHARED, {"nodes": 2, "way": "time-slicing", "clients": 4}),
        (_DIVIDED, {}),
    ],
)
def test_node_pools_of_gke_divide_and_share(values: tuple[str, ...], parts: dict[str, object]) -> None:
    """The project's nodes layer has what its pools can do; the plan warns of what they cannot."""
    plan = _planned("serve-llama3-70b", "gcp", *_GKE, *values)
    files = cloud_files(plan, plan.options[0], load(), USD)
    (layer,) = [name for name in files if name.startswith("nodes/Pulumi.serve-")]
    config = YAML(typ="safe").load(files[layer].content)["config"]
    assert config["gcp-gpu-nodes:gpuParts"] == parts
    assert bool({"MIG006", "SHR005"} & _ids(plan)) is not bool(parts)
    software = plan.software_of("gcp")
    assert software is not None
    # GKE divides all GPUs of a pool into one size, as often as it fits, and knows no other way.
    for geometry in (("3g.40gb",), ("4g.40gb",), ("3g.40gb", "4g.40gb"), ("1g.10gb+me",)):
        assert replace(software, geometry=geometry, divided_gpus=8, sharing="").pool_parts(8) == {}
    fitting = replace(software, geometry=("2g.20gb",) * 3, divided_gpus=8, sharing="")
    assert fitting.pool_parts(8) == {"partition": "2g.20gb"}
    assert replace(fitting, divided_gpus=4).pool_parts(8) == {}
    assert replace(software, geometry=(), sharing="hami", shared_parts=4).pool_parts(8) == {}


def test_the_queue_of_kubernetes_admits_the_whole_run() -> None:
    """On premises the quota of whole GPUs is that of the nodes of the work, which the job asks for at once."""
    values = ("targets.onprem.scheduler=kubernetes", *_SHARED)
    plan = _planned(*_TRAIN, *values)
    chosen = training_option(plan.options[0])
    text = onprem_files(plan, chosen, load())["kubernetes/queues.yaml"].content.decode()
    (queue,) = [one for one in YAML(typ="safe").load_all(text) if one["kind"] == "ClusterQueue"]
    quota = {one["name"]: one["nominalQuota"] for one in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]}
    assert int(quota["nvidia.com/gpu"]) == chosen.training_nodes * 8
    assert "SHR004" not in _ids(plan)


def test_one_tenant_may_run_the_job_beside_divided_nodes() -> None:
    """Shares are of the nodes of the work: who has all of them may run the job."""
    tenants = ("tenants=[{name: all-of-it, share: 100 %, users: []}]",)
    assert "TEN008" not in _ids(_planned(*_TRAIN, *_DIVIDED, *tenants))


@pytest.mark.parametrize(
    ("planned", "most", "rule"),
    [
        ((*_TRAIN, *_DIVIDED), 2, "MIG007"),
        ((*_TRAIN, *_SHARED), 1, "SHR006"),
        ((*_TRAIN, *_DIVIDED, "reliability.spare_nodes=1"), 3, "REL001"),
        ((*_TUNE, *_DIVIDED), 2, "MIG007"),
    ],
)
def test_a_bound_that_leaves_no_node_for_the_work_is_refused(planned: tuple[str, ...], most: int, rule: str) -> None:
    """Divided, shared and spare nodes count for `max_nodes`: what is left has to be one node at least."""
    name, target, *values = planned
    with pytest.raises(BlueprintError) as caught:
        _planned(name, target, *values, f"targets.{target}.max_nodes={most}")
    assert rule in caught.value.render()


def test_a_service_that_has_no_room_beside_divided_nodes_is_refused() -> None:
    """The nodes of the replicas alone would be allowed; with the divided ones they are too many."""
    sure = (*_SERVE, "goals.confidence=0.9")
    needed = _planned(*sure).options[0].cluster.nodes
    within = f"targets.aws.max_nodes={needed}"
    assert _planned(*sure, within).options[0].cluster.nodes == needed
    with pytest.raises(BlueprintError) as caught:
        _planned(*sure, *_DIVIDED, within)
    assert "SRV011" in caught.value.render()
    assert "beside 2 with divided or shared GPUs" in caught.value.render()
    enough = _planned(*sure, *_DIVIDED, f"targets.aws.max_nodes={needed + 2}")
    assert enough.options[0].cluster.nodes == needed + 2


def test_rules_for_the_size_count_divided_nodes() -> None:
    """A multiple of eight is one of all nodes; the work has two fewer."""
    cluster = _train_option(*_DIVIDED, "targets.onprem.nodes_must_be=multiple of 8").cluster
    assert cluster.nodes % 8 == 0
    assert cluster.work_nodes == cluster.nodes - 2
    assert NodeBounds(least=3, divided=2).allow(1)
    assert not NodeBounds(most=3, divided=2).allow(2)
    assert not NodeBounds(counts=(4,), divided=2).allow(4)


def test_racks_are_divided_whole() -> None:
    """One compute tray that is divided takes a rack beside those of the work."""
    path = assets.root() / "tests" / "records" / "gb200.yaml"
    values = ["software.mig.geometry=[3g.95gb, 4g.95gb]", "software.mig.nodes=1"]
    alone, beside = plan_of(path, [], "onprem").options[0], plan_of(path, values, "onprem").options[0]
    assert (beside.cluster.nodes, beside.cluster.divided_nodes) == (alone.cluster.nodes + 1, 1)


def test_without_a_count_all_nodes_are_the_plans_and_stated() -> None:
    """Every node is divided: none is added, and the plan warns as it says what to do."""
    plan = _planned(*_TRAIN, _DIVIDED[0])
    (warning,) = [entry for entry in plan.warnings if entry.id == "MIG005"]
    nodes = plan.options[0].cluster.nodes
    assert nodes == _train_option().cluster.nodes
    assert f"{nodes} of {nodes} nodes are divided" in warning.message
    assert "software.mig.nodes" in warning.help


def test_a_plan_keeps_the_count_in_its_json_form() -> None:
    """It is read back as it was; a plan without such nodes does not have the key."""
    plan = _planned(*_TRAIN, *_DIVIDED)
    assert json.loads(dumps(plan))["options"][0]["cluster"]["divided_nodes"] == 2
    assert loads(dumps(plan)) == plan
    plain = _planned(*_TRAIN)
    assert "divided_nodes" not in json.loads(dumps(plain))["options"][0]["cluster"]
    assert loads(dumps(plain)) == plain
