"""Stack projects: what is written fits the program that reads it, and the README tells what is left to do."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load
from clusterwright.errors import InputError
from clusterwright.outputs.folder import File
from clusterwright.outputs.stack import configuration, monthly_budget_usd, stack_files
from clusterwright.outputs.stack_readme import to_fill_in
from clusterwright.plan.decide import decide
from clusterwright.plan.record import Plan

ROOT = assets.root()
STACKS_PYTHON = ROOT / ".venv-stacks" / "bin" / "python"
READER = Path(__file__).parent / "read_stack_settings.py"

INSTANCES = {
    "aws": ("p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge"),
    "azure": (
        "Standard_ND96amsr_A100_v4",
        "Standard_ND96isr_H100_v5",
        "Standard_ND96isr_H200_v5",
        "Standard_ND96isr_MI300X_v5",
        "Standard_ND96asr_v4",
    ),
    "gcp": ("a2-ultragpu-8g", "a3-highgpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g", "a4-highgpu-8g"),
}
CASES = [(cloud, instance) for cloud, instances in INSTANCES.items() for instance in instances]
#: What a user would type for the keys that the README asks for.
TYPED: dict[str, Any] = {
    "adminSshPublicKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEexampleEXAMPLEexample0000 me@example",
    "gcp:project": "my-training-project",
    "controllerImage": "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901",
    "alertEmail": "me@example.com",
    "operators": ["user:me@example.com"],
    "billingAccount": "012345-6789AB-CDEF01",
}
IMAGES = {
    "aws": "ami-0123456789abcdef0",
    "azure": "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901",
    "gcp": "projects/my-training-project/global/images/gpu-nodes",
}


@cache
def plan_for(cloud: str, instance: str, *, tags: tuple[tuple[str, str], ...] = ()) -> Plan:
    """Plan a small model on one instance type, in the usual region or the first one that lists it."""
    catalogue = load()
    places = catalogue.instances[instance].regions
    regions = [place.rpartition("-")[0] if re.fullmatch(r".*-[a-z]", place) else place for place in places]
    usual = {"aws": "us-east-1", "azure": "eastus", "gcp": "us-central1"}[cloud]
    region = usual if usual in regions or not regions else regions[0]
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
            "targets": {cloud: {"instance": instance, "region": region, "max_nodes": 16}},
            "cluster": {"tags": dict(tags)},
        }
    )
    resolved = resolve(blueprint, catalogue)
    assert isinstance(resolved, Resolved), resolved
    return decide(blueprint, resolved, catalogue)


def written(cloud: str, instance: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - configuration values
    """Return the configuration as written."""
    plan = plan_for(cloud, instance, **more)
    return configuration(plan, plan.options[0], load())


def declared(cloud: str) -> dict[str, dict[str, Any]]:
    """Return the keys that a stack's `Pulumi.yaml` declares."""
    keys: dict[str, dict[str, Any]] = YAML(typ="safe").load(ROOT / "stacks" / cloud / "Pulumi.yaml")["config"]
    return keys


def completed(cloud: str, instance: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the configuration with what the user types, keys without prefix, as the program collects them."""
    plan = plan_for(cloud, instance, **more)
    values = {key.rpartition(":")[2]: value for key, value in configuration(plan, plan.options[0], load()).items()}
    for entry in to_fill_in(plan.options[0], load().instances[instance]):
        if entry.key == "nodeType.image":
            values["nodeType"] = {**values["nodeType"], "image": IMAGES[cloud]}
        else:
            values[entry.key.rpartition(":")[2]] = TYPED[entry.key]
    return values


def refusals(cloud: str, configurations: list[dict[str, Any]]) -> Iterator[str | None]:
    """Yield what the stack's program says against each configuration."""
    done = subprocess.run(
        [STACKS_PYTHON, READER, ROOT / "stacks" / cloud],
        input=json.dumps(configurations),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    yield from json.loads(done.stdout)


@pytest.mark.parametrize(("cloud", "instance"), CASES)
def test_every_key_without_default_is_written_or_asked_for(cloud: str, instance: str) -> None:
    """Pulumi refuses a declared key that has neither a value nor a default."""
    plan = plan_for(cloud, instance)
    have = {key.rpartition(":")[2] for key in written(cloud, instance)}
    asked = {entry.key for entry in to_fill_in(plan.options[0], load().instances[instance])}
    without_default = {key for key, entry in declared(cloud).items() if "default" not in entry}
    assert without_default <= have | asked


@pytest.mark.parametrize(("cloud", "instance"), CASES)
def test_every_written_key_is_declared_with_its_type(cloud: str, instance: str) -> None:
    """No key is invented, and every value has the type that `Pulumi.yaml` declares."""
    types = {"string": str, "integer": int, "object": dict, "boolean": bool, "array": list}
    keys = declared(cloud)
    for key, value in written(cloud, instance).items():
        project, _, name = key.partition(":")
        if project == f"clusterwright-{cloud}":
            assert name in keys
            assert type(value) is types[keys[name]["type"]], key
        else:
            assert key in ("aws:region", "gcp:region")


@pytest.mark.skipif(not STACKS_PYTHON.exists(), reason="the stacks' environment is not installed (make test does it)")
@pytest.mark.parametrize("cloud", INSTANCES)
def test_the_program_accepts_the_configuration(cloud: str) -> None:
    """Each stack's own checks accept what is written for it, once the user has set what the README asks for."""
    tags = (("Cost-Center", "Research 7"), ("owner", "research@example.com"))
    configurations = [completed(cloud, instance, tags=tags) for instance in INSTANCES[cloud]]
    found = dict(zip(INSTANCES[cloud], refusals(cloud, configurations), strict=True))
    assert found == dict.fromkeys(INSTANCES[cloud])


@pytest.mark.skipif(not STACKS_PYTHON.exists(), reason="the stacks' environment is not installed (make test does it)")
@pytest.mark.parametrize("cloud", INSTANCES)
def test_what_the_readme_asks_for_is_needed(cloud: str) -> None:
    """Without any one of the required values the program refuses, so the README asks for nothing in vain."""
    for instance in INSTANCES[cloud]:
        option = plan_for(cloud, instance).options[0]
        plain = written(cloud, instance)
        raw = {key.rpartition(":")[2]: value for key, value in plain.items()}
        cases = []
        for entry in to_fill_in(option, load().instances[instance]):
            # The controller's image has a default, which is wrong for these nodes only when it runs.
            if not entry.required or entry.key == "controllerImage":
                continue
            values = completed(cloud, instance)
            if entry.key == "nodeType.image":
                values["nodeType"] = raw["nodeType"]
            else:
                values.pop(entry.key.rpartition(":")[2])
            cases.append(values)
        assert all(refusal is not None for refusal in refusals(cloud, cases))


def test_labels_of_google_are_lower_case() -> None:
    """Tags become labels that Google takes; the other clouds get them as they are written."""
    tags = (("Cost_Center", "Research Lab 7"), ("owner", "me@example.com"))
    google = written("gcp", "a3-megagpu-8g", tags=tags)["clusterwright-gcp:tags"]
    amazon = written("aws", "p5.48xlarge", tags=tags)["clusterwright-aws:tags"]
    assert google == {"workload": "small", "cost_center": "research-lab-7", "owner": "me-example-com"}
    assert amazon == {"workload": "small", **dict(tags)}


def test_own_image_is_asked_for_where_google_has_none() -> None:
    """The TCPX kernel is in no public image; Mega machines start from Google's."""
    assert "image" not in written("gcp", "a3-highgpu-8g")["clusterwright-gcp:nodeType"]
    asked = {
        entry.key
        for entry in to_fill_in(plan_for("gcp", "a3-highgpu-8g").options[0], load().instances["a3-highgpu-8g"])
    }
    assert "nodeType.image" in asked
    assert "image" in written("gcp", "a3-megagpu-8g")["clusterwright-gcp:nodeType"]


def test_zone_is_one_that_a_source_lists() -> None:
    """Without a zone in the blueprint, one is taken in which the machine type is listed."""
    for instance in INSTANCES["gcp"]:
        zones = load().instances[instance].regions
        assert not zones or written("gcp", instance)["clusterwright-gcp:zone"] in zones


def test_budget_is_the_monthly_bill_with_a_margin() -> None:
    """The budget is a whole number of USD, a tenth above a month of every line; unknown prices make none."""
    option = plan_for("aws", "p5.48xlarge").options[0]
    month = sum((line.usd_per_period or 0) * (730 if line.line.charge == "hourly" else 1) for line in option.lines)
    budget = monthly_budget_usd(option)
    assert budget is not None
    assert month * 1.1 <= budget < month * 1.1 + 1
    unpriced = replace(option, lines=(*option.lines, replace(option.lines[0], unit_usd=None)))
    assert monthly_budget_usd(unpriced) is None


def test_project_is_complete(tmp_path: Path) -> None:
    """The project holds the program, the node scripts (executable) and the configuration that YAML reads back."""
    plan = plan_for("aws", "p5.48xlarge")
    files = stack_files(plan, plan.options[0], load())
    assert {"Pulumi.yaml", "__main__.py", "requirements.txt", "Pulumi.small.yaml", "README.md"} <= files.keys()
    scripts = {path.name for path in (ROOT / "templates" / "node").glob("*.sh")}
    assert scripts <= {name.removeprefix("node/") for name in files if name.startswith("node/")}
    assert not [name for name in files if "__pycache__" in name or name.endswith(".pyc")]
    target = tmp_path / "config.yaml"
    target.write_bytes(files["Pulumi.small.yaml"].content)
    assert YAML(typ="safe").load(target)["config"] == written("aws", "p5.48xlarge")


@pytest.mark.parametrize(("cloud", "instance"), CASES)
def test_readme_says_what_to_do(cloud: str, instance: str) -> None:
    """The README names counts and prices, asks for what is missing, and cleans up as the stack's own page does."""
    plan = plan_for(cloud, instance)
    option = plan.options[0]
    readme = _text(stack_files(plan, option, load())["README.md"])
    assert f"{option.nodes:,} × {instance}" in readme
    assert all(line.line.item in readme for line in option.lines)
    assert all(entry.command in readme for entry in to_fill_in(option, load().instances[instance]))
    own_page = (ROOT / "stacks" / cloud / "README.md").read_text()
    for command in ("pulumi config set nodeCount 0 && pulumi up", "pulumi destroy"):
        assert command in readme
        assert command in own_page
    unprotect = "pulumi config set protectData false" if cloud == "gcp" else "pulumi state unprotect --all"
    assert unprotect in readme.partition(f"# {cloud}")[0]
    assert unprotect in own_page


@pytest.mark.parametrize("cloud", INSTANCES)
def test_readme_uses_outputs_that_the_program_has(cloud: str) -> None:
    """Every `pulumi stack output` of the README is exported by the program."""
    plan = plan_for(cloud, INSTANCES[cloud][1])
    readme = _text(stack_files(plan, plan.options[0], load())["README.md"])
    program = (ROOT / "stacks" / cloud / "__main__.py").read_text()
    exported = set(re.findall(r'pulumi\.export\(\s*"(\w+)"', program))
    used = set(re.findall(r"pulumi stack output (\w+)", readme))
    assert used
    assert used <= exported


def test_comments_in_code_are_not_made_headings() -> None:
    """The stack's own page follows one heading deeper, and its shell comments stay comments."""
    plan = plan_for("aws", "p5.48xlarge")
    readme = _text(stack_files(plan, plan.options[0], load())["README.md"])
    assert "\n## GPU training cluster on AWS\n" in readme
    code = False
    for line in readme.splitlines():
        code ^= line.startswith("```")
        assert not (code and line.startswith("##"))


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
    plan = decide(blueprint, resolved, catalogue)
    with pytest.raises(InputError, match="no Pulumi project"):
        stack_files(plan, plan.options[0], catalogue)


def _text(file: File) -> str:
    return file.content.decode()
