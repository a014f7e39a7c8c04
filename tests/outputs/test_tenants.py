"""Tenants in the files of both schedulers, and in what a plan warns of."""

from functools import cache

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.deliverables import onprem_files
from clusterwright.outputs.onprem.slurm.tenants import duration
from clusterwright.plan.record import Plan

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
FINETUNE = assets.root() / "blueprints" / "finetune-llama3-70b-lora.yaml"
TENANTS = (
    "tenants=[{name: research, share: 60 %, users: [ada], max_gpus_per_user: 64, longest_job: 14 days},"
    "{name: product, share: 30 %, users: [ada], when_free: keep},"
    "{name: students, share: 0 %, max_gpus: 16, weight: 0.1}]"
)
ASKED = (
    "targets.onprem.system=dgx-h100",
    "targets.onprem.min_nodes=32",
    "targets.onprem.max_nodes=32",
    "cluster.users=[{name: ada, uid: 2001, ssh_keys: []}]",
    TENANTS,
)


@cache
def _written(scheduler: str) -> tuple[Plan, dict[str, str]]:
    plan = plan_of(GPT3, [*ASKED, f"targets.onprem.scheduler={scheduler}"], "onprem")
    files = onprem_files(plan, plan.options[0], load())
    return plan, {name: file.content.decode() for name, file in files.items() if not name.endswith(".xlsx")}


def test_slurm_has_a_partition_an_account_and_levels_for_each() -> None:
    """256 GPUs make shares of 153 and 77; a tenant that keeps to its share has no second QOS."""
    _, texts = _written("slurm")
    conf, script = texts["slurm.conf"].splitlines(), texts["node/tenants.sh"].splitlines()
    nodes = "Nodes=node[001-032] Default=NO"
    assert f"PartitionName=research {nodes} AllowAccounts=research MaxTime=14-00:00:00 State=UP" in conf
    assert f"PartitionName=students {nodes} AllowAccounts=students MaxTime=INFINITE State=UP" in conf
    assert "AccountingStorageEnforce=associations,limits,qos,safe" in conf
    assert "PreemptType=preempt/qos" in conf
    gives_way = "Preempt=research-spare,students-spare"
    levels = [line for line in script if line.startswith("level ")]
    assert levels == [
        "level research-spare Priority=0 PreemptMode=requeue MaxTRESPerUser=gres/gpu=64",
        "level students-spare Priority=0 PreemptMode=requeue MaxTRESPerUser=gres/gpu=-1",
        f"level research Priority=1000 GrpTRES=gres/gpu=153 MaxTRESPerUser=gres/gpu=64 {gives_way}",
        f"level product Priority=1000 GrpTRES=gres/gpu=77 MaxTRESPerUser=gres/gpu=-1 {gives_way}",
    ]
    accounts = [line for line in script if line.startswith("account ")]
    assert accounts[2] == (
        "account students Fairshare=100 QOS=students-spare DefaultQOS=students-spare GrpTRES=gres/gpu=16 MaxWall=-1"
    )
    assert [line for line in script if line.startswith("member ")] == ["member ada research", "member ada product"]
    assert "| research | 60 % | 153 | all that is free | 64 | 14-00:00:00 |" in texts["tenants.md"]


def test_without_tenants_nothing_of_them_is_written() -> None:
    """All users share the cluster alike: no accounts are asked for."""
    plan = plan_of(GPT3, ["targets.onprem.system=dgx-h100"], "onprem")
    files = onprem_files(plan, plan.options[0], load())
    assert "tenants.md" not in files
    assert b"Enforce" not in files["slurm.conf"].content


def test_kubernetes_shares_every_resource_out() -> None:
    """Quotas of all queues add up to the cluster, in one cohort; a limit is what may be borrowed."""
    _, texts = _written("kubernetes")
    yaml = YAML(typ="safe")
    queues = {
        entry["metadata"]["name"]: entry["spec"]
        for entry in yaml.load_all(texts["kubernetes/queues.yaml"])
        if entry["kind"] == "ClusterQueue"
    }
    resources = {
        name: {one["name"]: one for one in spec["resourceGroups"][0]["flavors"][0]["resources"]}
        for name, spec in queues.items()
    }
    gpus = {name: int(found["nvidia.com/gpu"]["nominalQuota"]) for name, found in resources.items()}
    assert gpus == {"gpu": 26, "research": 153, "product": 77, "students": 0}
    assert {spec["cohort"] for spec in queues.values()} == {"cluster"}
    assert {one["borrowingLimit"] for one in resources["product"].values()} == {"0"}
    assert resources["students"]["nvidia.com/gpu"]["borrowingLimit"] == "16"
    assert all(spec["preemption"]["reclaimWithinCohort"] == "Any" for spec in queues.values())
    objects = list(yaml.load_all(texts["kubernetes/tenants.yaml"]))
    kinds = ["Namespace", "LocalQueue", "ResourceQuota", "RoleBinding", "NetworkPolicy"]
    assert [entry["kind"] for entry in objects] == kinds * 3
    ceilings = [entry["spec"]["hard"]["requests.nvidia.com/gpu"] for entry in objects if entry["kind"] == kinds[2]]
    assert ceilings == ["256", "256", "16"]
    assert "tenants.yaml" in yaml.load(texts["kubernetes/kustomization.yaml"])["resources"]
    # The rules for pods of jobs are those of tenants' pods, too.
    (bound,) = [
        one for one in yaml.load_all(texts["kubernetes/namespace.yaml"]) if one["kind"].endswith("PolicyBinding")
    ]
    (selected,) = bound["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    assert selected["values"] == ["workload", *(one["metadata"]["name"] for one in objects if one["kind"] == kinds[0])]


@pytest.mark.parametrize(
    ("tenants", "rules"),
    [
        ("{name: a, share: 0.1 %}", ["TEN005"]),
        ("{name: a, share: 50 %, max_gpus: 8}", ["TEN008", "TEN006"]),
        ("{name: a, share: 50 %, when_free: keep}", ["TEN008"]),
        ("{name: a, share: 50 %, max_gpus_per_user: 64}", ["TEN008"]),
        ("{name: a, share: 100 %, when_free: keep}", []),
        ("{name: a, share: 50 %, max_gpus_per_user: 8}, {name: b, share: 0 %, when_free: borrow}", []),
    ],
)
def test_shares_that_come_to_nothing_are_warned_of(tenants: str, rules: list[str]) -> None:
    """What depends on the size of the cluster is said when it is known."""
    plan = plan_of(GPT3, [*ASKED[:-1], f"tenants=[{tenants}]"], "onprem")
    assert [found.id for found in plan.warnings if (found.id or "").startswith("TEN")] == rules


@pytest.mark.parametrize(("most", "rules"), [(8, ["TEN008"]), (16, [])])
def test_a_fine_tuning_run_is_some_tenant_s(most: int, rules: list[str]) -> None:
    """Two nodes of eight GPUs work at once; a page of tenants names no script that the folder does not have."""
    asked = [
        "targets.onprem.allowed_systems=[dgx-h100]",
        "targets.onprem.min_nodes=2",
        "targets.onprem.max_nodes=2",
        "targets.onprem.scheduler=slurm",
        f"tenants=[{{name: a, share: 60 %, max_gpus_per_user: {most}}}]",
    ]
    plan = plan_of(FINETUNE, asked, "onprem")
    assert [found.id for found in plan.warnings if (found.id or "").startswith("TEN")] == rules
    files = onprem_files(plan, plan.options[0], load())
    assert not [name for name in ("tenants.md", "jobs.md") if b"launch/submit.sh" in files[name].content]


def test_a_cloud_divides_nothing() -> None:
    """A plan for a cloud says that its project makes no queues of tenants."""
    plan = plan_of(GPT3, ["tenants=[{name: a, share: 50 %}]"], "aws")
    assert [found.id for found in plan.warnings if (found.id or "").startswith("TEN")] == ["TEN007"]


@pytest.mark.parametrize(("seconds", "form"), [(60, "0-00:01:00"), (90_061, "1-01:01:01"), (864_000, "10-00:00:00")])
def test_time_limits_are_in_slurm_s_form(seconds: float, form: str) -> None:
    """Days, hours, minutes and seconds."""
    assert duration(seconds) == form
