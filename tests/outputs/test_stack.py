"""Stack projects: what is written fits the programs that read it, and the README tells what is left to do."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load
from clusterwright.catalog.offerings import zone_verdict
from clusterwright.errors import InputError
from clusterwright.outputs.deliverables import cloud_files
from clusterwright.outputs.folder import File
from clusterwright.outputs.project.configuration import LAYERS, configuration
from clusterwright.outputs.project.configuration.shared import monthly_budget_usd, stack_name
from clusterwright.outputs.project.example import example_files, write_example
from clusterwright.outputs.project.files import SCHEDULERS
from clusterwright.outputs.project.fill_ins import FillIn, fill_ins
from clusterwright.outputs.project.stack import declared_keys, stack_files, without
from clusterwright.plan.decide import decide
from clusterwright.plan.deployment import AzureExistingIds, StateBackend
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.money import USD
from clusterwright.user_list import User

ROOT = assets.root()
STACKS_PYTHON = Path(os.environ.get("CLUSTERWRIGHT_STACKS_VENV", ROOT / ".venv-stacks")) / "bin" / "python"
READER = Path(__file__).parent / "read_stack_settings.py"
needs_stacks = pytest.mark.skipif(
    not STACKS_PYTHON.exists(), reason="the stacks' environment is not installed (make test does it)"
)

INSTANCES = {
    "aws": (
        "p4d.24xlarge",
        "p4de.24xlarge",
        "p5.48xlarge",
        "p5en.48xlarge",
        "p6-b200.48xlarge",
        "p6-b300.48xlarge",
        "trn2.48xlarge",
    ),
    "azure": (
        "Standard_ND96amsr_A100_v4",
        "Standard_ND96isr_H100_v5",
        "Standard_ND96isr_H200_v5",
        "Standard_ND96isr_MI300X_v5",
        "Standard_ND96asr_v4",
    ),
    "gcp": ("a2-ultragpu-8g", "a3-highgpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g", "a4-highgpu-8g"),
}
PROJECTS = [(cloud, scheduler) for cloud in INSTANCES for scheduler in SCHEDULERS]
CASES = [(cloud, scheduler, instance) for cloud, scheduler in PROJECTS for instance in INSTANCES[cloud]]
#: What a user would type for the keys that the README asks for.
TYPED: dict[str, Any] = {
    "adminSshPublicKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEexampleEXAMPLEexample0000 me@example",
    "accountingPassword": "a-password-of-the-tests-1",
    "gcp:project": "my-gpu-project",
    "controllerImage": "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901",
    "alertEmail": "me@example.com",
    "operators": ["user:me@example.com"],
    "operatorCidrs": ["203.0.113.7/32"],
    "billingAccount": "012345-6789AB-CDEF01",
}
#: What stands in an image's name for what the user chooses.
PLACEHOLDERS = {
    ":VERSION": ":24.04.2026072901",
    "ami-YOUR-IMAGE": "ami-0123456789abcdef0",
    "projects/YOUR-PROJECT/global/images/YOUR-IMAGE": "projects/my-gpu-project/global/images/gpu-nodes",
}
OWN_KEYS = ("aws:region", "gcp:region", "gcp:project")


@cache
def plan_for(cloud: str, scheduler: str, instance: str, *, tags: tuple[tuple[str, str], ...] = ()) -> Plan:
    """Plan a small model on one instance type, in the usual region or the first one that lists it and has zones."""
    catalogue = load()
    places = catalogue.instances[instance].regions
    regions = [place.rpartition("-")[0] if re.fullmatch(r".*-[a-z]", place) else place for place in places]
    usual = {"aws": "us-east-1", "azure": "eastus", "gcp": "us-central1"}[cloud]
    zoned = [region for region in regions if cloud != "azure" or zone_verdict(catalogue, cloud, region, "").known]
    region = usual if usual in regions or not regions else zoned[0]
    blueprint = Blueprint.model_validate(
        {
            "name": "small",
            "workload": {
                "kind": "train",
                "model": "llama-2-7b",
                "tokens": 100e9,
                "sequence_length": 2048,
                "global_batch": 512,
            },
            "targets": {cloud: {"instance": instance, "region": region, "max_nodes": 16, "scheduler": scheduler}},
            "cluster": {"tags": dict(tags)},
        }
    )
    resolved = resolve(blueprint, catalogue)
    assert isinstance(resolved, Resolved), resolved
    return decide(blueprint, resolved, Facts.open())


def option_for(cloud: str, scheduler: str, instance: str) -> Option:
    """Return the only option of a plan."""
    return plan_for(cloud, scheduler, instance).options[0]


def written(cloud: str, scheduler: str, instance: str, **more: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401
    """Return the configuration as written: layer to full key to value."""
    plan = plan_for(cloud, scheduler, instance, **more)
    return configuration(plan, plan.options[0], load())


@cache
def example(cloud: str, scheduler: str) -> Mapping[str, File]:
    """Return a project's files."""
    return example_files(cloud, scheduler)


@cache
def declared(cloud: str, scheduler: str, layer: str) -> dict[str, dict[str, Any]]:
    """Return the keys that a layer's `Pulumi.yaml` declares."""
    keys: dict[str, dict[str, Any]] = YAML(typ="safe").load(example(cloud, scheduler)[f"{layer}/Pulumi.yaml"].content)[
        "config"
    ]
    return keys


def asked(cloud: str, scheduler: str, instance: str) -> tuple[FillIn, ...]:
    """Return what a project's README asks for."""
    option = option_for(cloud, scheduler, instance)
    return fill_ins(option, load().instances[instance], declared_keys(example(cloud, scheduler)))


def filled(value: str) -> str:
    """Return a value with its placeholder filled in."""
    for placeholder, real in PLACEHOLDERS.items():
        value = value.replace(placeholder, real)
    return value


def completed(cloud: str, scheduler: str, instance: str, **more: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401
    """Return each layer's configuration with what the user types, keys without prefix, as its program collects them."""
    layers = {
        layer: {key.rpartition(":")[2]: value for key, value in values.items()}
        for layer, values in written(cloud, scheduler, instance, **more).items()
    }
    for entry in asked(cloud, scheduler, instance):
        for layer in entry.layers:
            if entry.key == "nodeType.image":
                layers[layer]["nodeType"] = {**layers[layer]["nodeType"], "image": filled(entry.value)}
            else:
                key = entry.key.partition("[")[0]
                layers[layer][key.rpartition(":")[2]] = TYPED[key]
    return layers


def refusals(project: Path, configurations: list[tuple[str, dict[str, Any]]]) -> Iterator[str | None]:
    """Yield what a project's settings say against each layer's configuration."""
    done = subprocess.run(
        [STACKS_PYTHON, READER, project], input=json.dumps(configurations), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    yield from json.loads(done.stdout)


@pytest.mark.parametrize(("cloud", "scheduler", "instance"), CASES)
def test_every_key_without_default_is_written_or_asked_for(cloud: str, scheduler: str, instance: str) -> None:
    """Pulumi refuses a declared key that has neither a value nor a default."""
    for layer, values in written(cloud, scheduler, instance).items():
        have = {key.rpartition(":")[2] for key in values}
        entries = {entry.key for entry in asked(cloud, scheduler, instance) if layer in entry.layers}
        without_default = {key for key, entry in declared(cloud, scheduler, layer).items() if "default" not in entry}
        assert without_default <= have | entries, layer


@pytest.mark.parametrize(("cloud", "scheduler", "instance"), CASES)
def test_every_written_key_is_declared_with_its_type(cloud: str, scheduler: str, instance: str) -> None:
    """No key is invented, and every value has the type that `Pulumi.yaml` declares."""
    types = {"string": str, "integer": int, "object": dict, "boolean": bool, "array": list}
    for layer, values in written(cloud, scheduler, instance).items():
        keys = declared(cloud, scheduler, layer)
        for key, value in values.items():
            project, _, name = key.partition(":")
            if project == f"{cloud}-gpu-{layer}":
                assert name in keys, layer
                assert type(value) is types[keys[name]["type"]], key
            else:
                assert key in OWN_KEYS


@needs_stacks
@pytest.mark.parametrize(("cloud", "scheduler"), PROJECTS)
def test_the_programs_accept_the_configuration(cloud: str, scheduler: str, tmp_path: Path) -> None:
    """Each layer's own checks accept what is written for it, once the user has set what the README asks for."""
    write_example(cloud, scheduler, tmp_path)
    tags = (("Cost-Center", "Research 7"), ("owner", "research@example.com"))
    cases = [
        (instance, layer, values)
        for instance in INSTANCES[cloud]
        for layer, values in completed(cloud, scheduler, instance, tags=tags).items()
    ]
    found = refusals(tmp_path, [(layer, values) for _, layer, values in cases])
    assert {(instance, layer): said for (instance, layer, _), said in zip(cases, found, strict=True) if said} == {}


@needs_stacks
@pytest.mark.parametrize(("cloud", "scheduler"), PROJECTS)
def test_what_the_readme_asks_for_is_needed(cloud: str, scheduler: str, tmp_path: Path) -> None:
    """Without any one of the required values the program refuses, so the README asks for nothing in vain."""
    write_example(cloud, scheduler, tmp_path)
    cases: list[tuple[str, dict[str, Any]]] = []
    for instance in INSTANCES[cloud]:
        plain = written(cloud, scheduler, instance)
        for entry in asked(cloud, scheduler, instance):
            # The controller's image has a default, which is wrong for these nodes only when it runs.
            if not entry.required or entry.key == "controllerImage":
                continue
            for layer in entry.layers:
                values = completed(cloud, scheduler, instance)[layer]
                if entry.key == "nodeType.image":
                    values["nodeType"] = plain[layer][f"{cloud}-gpu-{layer}:nodeType"]
                else:
                    values.pop(entry.key.rpartition(":")[2])
                cases.append((layer, values))
    assert [layer for (layer, _), said in zip(cases, refusals(tmp_path, cases), strict=True) if said is None] == []


def test_what_the_owner_has_to_choose_is_left_out() -> None:
    """A version that moves is not written beside the line that asks for a fixed one."""
    values = {"gcp:project": "p", "gcp-gpu-nodes:nodeType": {"image": "x:latest", "cpus": 8}, "a:zone": "z"}
    assert without(values, ["nodeType.image", "gcp:project"]) == {"gcp-gpu-nodes:nodeType": {"cpus": 8}, "a:zone": "z"}
    plan = plan_for("azure", "slurm", "Standard_ND96isr_H100_v5")
    files = stack_files(plan, plan.options[0], load(), USD)
    assert not [name for name, file in files.items() if name.endswith("small.yaml") and b":latest" in file.content]


def test_labels_of_google_are_lower_case() -> None:
    """Tags become labels that Google takes; the other clouds get them as they are written."""
    tags = (("Cost_Center", "Research Lab 7"), ("owner", "me@example.com"))
    google = written("gcp", "slurm", "a3-megagpu-8g", tags=tags)
    amazon = written("aws", "slurm", "p5.48xlarge", tags=tags)
    for layer in LAYERS:
        assert google[layer][f"gcp-gpu-{layer}:tags"] == {
            "workload": "small",
            "cost_center": "research-lab-7",
            "owner": "me-example-com",
        }
        assert amazon[layer][f"aws-gpu-{layer}:tags"] == {"workload": "small", **dict(tags)}


@pytest.mark.parametrize(("cloud", "field"), [("aws", None), ("azure", "entra_object_id"), ("gcp", "google_account")])
def test_users_have_the_account_of_their_cloud(cloud: str, field: str | None) -> None:
    """Each project gets the account that its own cloud asks for, and not those of the others."""
    accounts = {"google_account": "alice@example.com", "entra_object_id": "11111111-2222-3333-4444-555555555555"}
    plan = plan_for(cloud, "slurm", INSTANCES[cloud][1])
    both = (User(name="alice", uid=20001, **accounts), User(name="bob", uid=20002))
    listed = replace(plan, cluster=replace(plan.cluster, users=both))
    alice, bob = configuration(listed, listed.options[0], load())["cluster"][f"{cloud}-gpu-cluster:users"]
    assert {key: alice[key] for key in alice if key in accounts} == ({field: accounts[field]} if field else {})
    assert not set(bob) & set(accounts)


def test_an_existing_network_on_azure_leaves_charts_to_a_machine_inside() -> None:
    """No Bastion is made in it, through which charts would come from outside; other parts that exist change nothing."""
    group = "/subscriptions/s/resourceGroups/g/providers"
    plan = plan_for("azure", "kubernetes", INSTANCES["azure"][1])
    none = dict.fromkeys((field.name for field in fields(AzureExistingIds)), None)
    network = {"virtual_network_id": f"{group}/Microsoft.Network/virtualNetworks/n"}
    vault = {"key_vault_id": f"{group}/Microsoft.KeyVault/vaults/v"}
    for ids, expected in (
        (AzureExistingIds(**(none | network)), False),
        (AzureExistingIds(**(none | vault)), None),
        (None, None),
    ):
        option = replace(plan.options[0], deployment=replace(plan.options[0].deployment, existing_network=ids))
        assert configuration(plan, option, load())["cluster"].get("azure-gpu-cluster:apiFromOutside") is expected


def test_own_image_is_asked_for_where_google_has_none() -> None:
    """The TCPX kernel is in no public image; Mega machines start from Google's."""
    plain = written("gcp", "slurm", "a3-highgpu-8g")["nodes"]["gcp-gpu-nodes:nodeType"]
    assert "image" not in plain
    entries = {entry.key: entry.layers for entry in asked("gcp", "slurm", "a3-highgpu-8g")}
    assert "nodes" in entries["nodeType.image"]
    assert "image" in written("gcp", "slurm", "a3-megagpu-8g")["nodes"]["gcp-gpu-nodes:nodeType"]


def test_zone_is_one_that_a_source_lists() -> None:
    """Without a zone in the blueprint, one is taken in which the machine type is listed; all layers have the same."""
    for instance in INSTANCES["gcp"]:
        listed = load().instances[instance].regions
        layers = written("gcp", "slurm", instance)
        zones = {
            value for values in layers.values() for key, value in values.items() if key.endswith((":zone", ":gcp:zone"))
        }
        assert len(zones) == 1
        assert not listed or zones <= set(listed)


def test_budget_is_the_monthly_bill_with_a_margin() -> None:
    """The budget is a whole number of USD, a tenth above a month of every line; unknown prices make none."""
    option = option_for("aws", "slurm", "p5.48xlarge")
    month = sum(
        (line.usd_per_period or 0) * (730 if line.line.charge == "hourly" else 1) for line in option.money.lines
    )
    budget = monthly_budget_usd(option)
    assert budget is not None
    assert month * 1.1 <= budget < month * 1.1 + 1
    unpriced = replace(
        option, money=replace(option.money, lines=(*option.money.lines, replace(option.money.lines[0], unit_usd=None)))
    )
    assert monthly_budget_usd(unpriced) is None


@pytest.mark.parametrize(("cloud", "scheduler"), PROJECTS)
def test_project_is_complete(cloud: str, scheduler: str, tmp_path: Path) -> None:
    """The project holds three layers with their configuration, and the node scripts, which are programs."""
    plan = plan_for(cloud, scheduler, INSTANCES[cloud][2])
    files = stack_files(plan, plan.options[0], load(), USD)
    entries = asked(cloud, scheduler, INSTANCES[cloud][2])
    for layer, values in written(cloud, scheduler, INSTANCES[cloud][2]).items():
        assert {f"{layer}/Pulumi.yaml", f"{layer}/__main__.py"} <= files.keys()
        target = tmp_path / "config.yaml"
        target.write_bytes(files[f"{layer}/Pulumi.{stack_name(plan, plan.options[0])}.yaml"].content)
        chosen = [entry.key for entry in entries if entry.required and layer in entry.layers]
        jobs = {f"{cloud}-gpu-{layer}:jobEnvironment": {"kind": "container"}}
        prepares = scheduler == "slurm" and layer != "foundation"
        assert YAML(typ="safe").load(target)["config"] == without(values | (jobs if prepares else {}), chosen)
    assert {
        "README.md",
        "cluster.sh",
        "cloud.sh",
        "pyproject.toml",
        "requirements.txt",
        "constraints.txt",
        "constraints-dev.txt",
    } <= files.keys()
    assert {"policy/PulumiPolicy.yaml", "policy/rules.py", ".github/workflows/infrastructure.yml"} <= files.keys()
    assert files["cluster.sh"].executable
    assert not [name for name in files if "__pycache__" in name or name.endswith((".pyc", "Pulumi.example.yaml"))]
    scripts = {path.name for path in (ROOT / "templates" / "node").glob("*.sh")}
    of_directory = {name for name in scripts if name.startswith("users_directory")}
    kinds, others = ("bucket", "metric", "secret", "transport"), {*INSTANCES, "local"} - {cloud}
    foreign = {f"{kind}_{other}.sh" for kind in kinds for other in others}
    found = {name.removeprefix("node/") for name in files if name.startswith("node/") and name.endswith(".sh")}
    # Pods of Kubernetes report busy GPUs by the scripts of machines, in surroundings of their own.
    of_pods = {"busy_gpus.sh", "environment.sh", "http.sh", f"metric_{cloud}.sh"}
    assert found == (scripts - foreign - of_directory if scheduler == "slurm" else of_pods)


@pytest.mark.parametrize(("cloud", "scheduler"), PROJECTS)
def test_nothing_of_the_project_names_its_maker(cloud: str, scheduler: str) -> None:
    """A project is the user's: its README says who wrote it, its workflow runs it on changes; nothing else does."""
    plan = plan_for(cloud, scheduler, INSTANCES[cloud][2])
    files = cloud_files(plan, plan.options[0], load(), USD)
    naming = {
        name
        for name, file in files.items()
        if b"clusterwright" in file.content.lower() or "clusterwright" in name.lower()
    }
    assert naming == {"README.md", ".github/workflows/infrastructure.yml"}


@pytest.mark.parametrize(("cloud", "scheduler", "instance"), CASES)
def test_readme_says_what_to_do(cloud: str, scheduler: str, instance: str) -> None:
    """The README names counts and prices, asks for what is missing, and says how to stop paying."""
    plan = plan_for(cloud, scheduler, instance)
    option = plan.options[0]
    files = stack_files(plan, option, load(), USD)
    readme = _text(files["README.md"])
    assert f"{option.cluster.nodes:,} × {instance}" in readme
    assert all(line.line.item in readme for line in option.money.lines)
    if "./cluster.sh submit" in readme:
        # Only where Slurm is there are users of the cluster, who have to be named before one of them submits.
        assert ("--user NAME" in readme) == ("[Users](#users)" in readme) == (scheduler == "slurm")
        assert ("## Users" in readme) == (scheduler == "slurm")
    for entry in asked(cloud, scheduler, instance):
        assert entry.command in readme
        for layer in entry.layers:
            still = f"# Still to set: {entry.command}\n" in _text(
                files[f"{layer}/Pulumi.{stack_name(plan, option)}.yaml"]
            )
            assert still == entry.required
    for command in ("up", "down", "destroy", "destroy --with-data", "reimage", "preview --policy-pack policy"):
        assert f"./cluster.sh {command}" in readme
    (zone_key,) = re.findall(r"`\./cluster\.sh set (\w+) ZONE`", readme)
    assert any(zone_key in declared(cloud, scheduler, layer) for layer in LAYERS)


@pytest.mark.parametrize(("cloud", "scheduler"), PROJECTS)
def test_machines_of_slurm_learn_what_jobs_run_in(cloud: str, scheduler: str) -> None:
    """The layers with machines get the blueprint's environment; Kubernetes, whose pods bring their own, gets none."""
    plan = plan_for(cloud, scheduler, INSTANCES[cloud][1])
    jobs = replace(plan.cluster.jobs, environment="modules", modules=("cuda/12.8", "torch/2.8"))
    files = stack_files(replace(plan, cluster=replace(plan.cluster, jobs=jobs)), plan.options[0], load(), USD)
    found = {}
    for name, file in files.items():
        layer = name.partition("/")[0]
        if re.fullmatch(rf"{layer}/Pulumi\..+\.yaml", name):
            config = YAML(typ="safe").load(file.content)["config"]
            given = [value for key, value in config.items() if key.endswith(":jobEnvironment")]
            if given:
                found[layer] = given[0]
    wanted = {"kind": "modules", "modules": ["cuda/12.8", "torch/2.8"]}
    assert found == ({"cluster": wanted, "nodes": wanted} if scheduler == "slurm" else {})


@pytest.mark.parametrize(("cloud", "scheduler"), PROJECTS)
def test_readme_uses_outputs_that_the_programs_have(cloud: str, scheduler: str) -> None:
    """Every `pulumi stack output` of the README and of the shell programs is exported by its layer."""
    plan = plan_for(cloud, scheduler, INSTANCES[cloud][1])
    files = stack_files(plan, plan.options[0], load(), USD)
    exported = {
        layer: set(re.findall(r'pulumi\.export\(\s*"(\w+)"', _text(files[f"{layer}/__main__.py"]))) for layer in LAYERS
    }
    used = set(re.findall(r"pulumi -C (\w+) stack output (\w+)", _text(files["README.md"])))
    for name in {"cloud.sh", "reimage.sh", "login.sh"} & set(files):
        used |= set(re.findall(r"[$<]\(outputs? (\w+) (\w+)\b", _text(files[name])))
    assert {("cluster", "connect")} < used
    assert {(layer, name) for layer, name in used if name not in exported[layer]} == set()


@pytest.mark.parametrize(("cloud", "scheduler"), PROJECTS)
def test_readme_says_first_what_a_later_line_needs(cloud: str, scheduler: str) -> None:
    """The passphrase before the first `set`, which stores a secret; the environment before pip is called in it."""
    plan = plan_for(cloud, scheduler, INSTANCES[cloud][1])
    readme = _text(stack_files(plan, plan.options[0], load(), USD)["README.md"])
    assert readme.index("`PULUMI_CONFIG_PASSPHRASE`") < readme.index("```sh") < readme.index("./cluster.sh preview")
    assert readme.index("python3 -m venv .venv") < readme.index(".venv/bin/pip install")


def test_comments_in_code_are_not_made_headings() -> None:
    """The stacks' own pages follow one heading deeper, and their shell comments stay comments."""
    plan = plan_for("aws", "slurm", "p5.48xlarge")
    readme = _text(stack_files(plan, plan.options[0], load(), USD)["README.md"])
    own_page = (ROOT / "stacks" / "aws" / "base" / "README.md").read_text()
    title, _, _ = own_page.partition("\n")
    assert f"\n#{title}\n" in readme
    code = False
    for number, line in enumerate(readme.splitlines()):
        code ^= line.startswith("```")
        assert not (code and line.startswith("##"))
        assert code or not line.startswith("# ") or number == 0


@pytest.mark.parametrize("cloud", INSTANCES)
def test_state_is_kept_where_the_blueprint_says(cloud: str) -> None:
    """Backend, key of the secrets and organization are in every layer, so that references between them resolve."""
    plan = plan_for(cloud, "slurm", INSTANCES[cloud][2])
    backend = StateBackend(
        url="https://api.pulumi.com", organization="my-company", secrets_provider="awskms://alias/state"
    )
    files = stack_files(
        plan, replace(plan.options[0], deployment=replace(plan.options[0].deployment, state=backend)), load(), USD
    )
    plain = stack_files(plan, plan.options[0], load(), USD)
    name = f"small-{plan.options[0].deployment.region}"
    for layer in LAYERS:
        project = YAML(typ="safe").load(files[f"{layer}/Pulumi.yaml"].content)
        stack = YAML(typ="safe").load(files[f"{layer}/Pulumi.{name}.yaml"].content)
        assert project["backend"] == {"url": "https://api.pulumi.com"}
        assert project["name"] == f"{cloud}-gpu-{layer}"
        assert stack["secretsprovider"] == "awskms://alias/state"
        references = {value for key, value in stack["config"].items() if key.endswith("Stack")}
        before = LAYERS[: LAYERS.index(layer)]
        assert references == {f"my-company/{cloud}-gpu-{other}/{name}" for other in before}
        local = YAML(typ="safe").load(plain[f"{layer}/Pulumi.yaml"].content)["backend"]
        assert local == {"url": "file://~"}
        assert b"organization/" in plain[f"{layer}/Pulumi.{name}.yaml"].content or layer == "foundation"


def test_owned_hardware_has_no_project() -> None:
    """A project is only written for clouds."""
    catalogue = load()
    blueprint = Blueprint.model_validate(
        {
            "name": "owned",
            "workload": {
                "kind": "train",
                "model": "llama-2-7b",
                "tokens": 100e9,
                "sequence_length": 2048,
                "global_batch": 512,
            },
            "targets": {"onprem": {"system": "dgx-h100", "max_nodes": 4}},
        }
    )
    resolved = resolve(blueprint, catalogue)
    assert isinstance(resolved, Resolved)
    plan = decide(blueprint, resolved, Facts.open())
    with pytest.raises(InputError, match="no Pulumi project"):
        stack_files(plan, plan.options[0], catalogue, USD)


def _text(file: File) -> str:
    return file.content.decode()
