"""Projects as they are generated pass, and what their owners change is found."""

import json
from functools import cache
from pathlib import Path

import pytest
from pydantic import BaseModel

from clusterwright import assets
from clusterwright.blueprint.sections.clouds import AwsExisting, AzureExisting, GcpExisting
from clusterwright.catalog.load import load
from clusterwright.checks.preflight.files.project import project_of
from clusterwright.checks.preflight.files.reading import read_project
from clusterwright.checks.preflight.offline import offline
from clusterwright.checks.preflight.results import Result
from clusterwright.checks.preflight.subject import Subject
from clusterwright.cli.planning import plan_of
from clusterwright.errors import InputError
from clusterwright.outputs import folder
from clusterwright.outputs.folder import File
from clusterwright.outputs.project.stack import stack_files
from clusterwright.plan.text.money import USD
from clusterwright.pricing.book import PriceBook
from tests.opened import target_files

BLUEPRINT = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
CLOUDS = ("aws", "azure", "gcp")


@cache
def generated(cloud: str, scheduler: str) -> dict[str, File]:
    """Return the files of a cloud's project."""
    plan = plan_of(BLUEPRINT, [f"targets.{cloud}.scheduler={scheduler}"], cloud)
    return stack_files(plan, plan.options[0], load(), USD)


def results(cloud: str, scheduler: str) -> tuple[Result, ...]:
    """Return what the checks find in a project as it is generated."""
    text = {name: file.content.decode() for name, file in generated(cloud, scheduler).items()}
    return offline(Subject(project=project_of("here", text), catalogue=load(), book=PriceBook.open()))


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_generated_project_passes(cloud: str, scheduler: str) -> None:
    """Nothing fails but what only the owner can know and sets."""
    failed = {
        (result.check, result.outcome.message)
        for result in results(cloud, scheduler)
        if result.outcome.status == "FAIL" and result.check != "PRE003"
    }
    assert failed == set()


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
def test_a_generated_service_of_two_pools_passes(scheduler: str) -> None:
    """Workers that prefill and that decode, with part of the fabric each, and their router."""
    values = [f"targets.aws.scheduler={scheduler}", "workload.options={disaggregated: always}"]
    plan = plan_of(assets.root() / "blueprints" / "serve-llama3-70b.yaml", values, "aws")
    files = target_files(plan, plan.options[0], load())
    text = {name: file.content.decode() for name, file in files.items()}
    name = "serving/router.sbatch" if scheduler == "slurm" else "serving/router.yaml"
    assert name in text
    found = offline(Subject(project=project_of("here", text), catalogue=load(), book=PriceBook.open()))
    failed = {one.outcome.message for one in found if one.outcome.status == "FAIL" and one.check != "PRE003"}
    assert failed == set()


_VNET = "/subscriptions/01234567-89ab-cdef-0123-456789abcdef/resourceGroups/team/providers/Microsoft.Network"
_TEAM = _VNET.removesuffix("/Microsoft.Network")
_SUBNETWORK = "projects/my-project/regions/us-central1/subnetworks"
#: An id for every field of an existing network, by cloud.
EXISTING: dict[str, dict[str, str | list[str]]] = {
    "aws": {
        "vpc_id": "vpc-0123456789abcdef0",
        "node_subnet_id": "subnet-0123456789abcdef0",
        "service_subnet_ids": ["subnet-0123456789abcdef1", "subnet-0123456789abcdef2"],
        "key_arn": "arn:aws:kms:us-east-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef",
        "bucket_name": "team-data",
    },
    "azure": {
        "virtual_network_id": f"{_VNET}/virtualNetworks/vnet",
        "node_subnet_id": f"{_VNET}/virtualNetworks/vnet/subnets/nodes",
        "service_subnet_id": f"{_VNET}/virtualNetworks/vnet/subnets/services",
        "lustre_subnet_id": f"{_VNET}/virtualNetworks/vnet/subnets/lustre",
        "vault_zone_id": f"{_VNET}/privateDnsZones/privatelink.vaultcore.azure.net",
        "blob_zone_id": f"{_VNET}/privateDnsZones/privatelink.blob.core.windows.net",
        "database_zone_id": f"{_VNET}/privateDnsZones/privatelink.mysql.database.azure.com",
        "key_vault_id": f"{_TEAM}/Microsoft.KeyVault/vaults/team-vault",
        "key_url": "https://team-vault.vault.azure.net/keys/disks/0123456789abcdef0123456789abcdef",
        "storage_account_id": f"{_TEAM}/Microsoft.Storage/storageAccounts/teamdata",
        "container_name": "data",
    },
    "gcp": {
        "network_id": "projects/my-project/global/networks/vpc",
        "subnetwork_id": f"{_SUBNETWORK}/nodes",
        "gpu_subnetwork_ids": [f"{_SUBNETWORK}/gpu-{number}" for number in range(4)],
        "key_id": "projects/my-project/locations/us-central1/keyRings/ring/cryptoKeys/key",
        "bucket_name": "team-data",
    },
}
_SECTIONS: dict[str, type[BaseModel]] = {"aws": AwsExisting, "azure": AzureExisting, "gcp": GcpExisting}


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_id_of_an_existing_network_reaches_the_project(cloud: str, scheduler: str) -> None:
    """What the blueprint names is in the foundation's configuration, and the checks know each of these ids."""
    assert EXISTING[cloud].keys() == _SECTIONS[cloud].model_fields.keys()
    given = [f"targets.{cloud}.network.existing.{name}={json.dumps(value)}" for name, value in EXISTING[cloud].items()]
    plan = plan_of(BLUEPRINT, [f"targets.{cloud}.scheduler={scheduler}", *given], cloud)
    files = {name: file.content.decode() for name, file in stack_files(plan, plan.options[0], load(), USD).items()}
    project = project_of("here", files)
    setting = project.setting("existingNetwork")
    assert setting is not None
    assert sorted(map(str, setting.value.values())) == sorted(map(str, EXISTING[cloud].values()))
    found = offline(Subject(project=project, catalogue=load(), book=PriceBook.open()), ("PRE014",))
    # An id of AWS names no network, so whose a subnet is cannot be known here.
    assert [result.outcome.status for result in found] == ["UNKNOWN" if cloud == "aws" else "PASS"]


def test_a_slice_of_tpus_boots_from_its_runtime_version() -> None:
    """It has no image; the check asks for the version that Cloud TPU knows, and no broken command shows its quota."""
    plan = plan_of(
        BLUEPRINT,
        [
            "workload.model=llama-2-7b",
            "workload.tokens=1e9",
            "workload.global_batch=512",
            "targets.gcp.instance=ct5p-hightpu-4t",
            "targets.gcp.region=us-east5",
        ],
        "gcp",
    )
    files = {name: file.content.decode() for name, file in stack_files(plan, plan.options[0], load(), USD).items()}
    of_slice = Subject(project=project_of("here", files), catalogue=load(), book=PriceBook.open())
    (image,) = offline(of_slice, ("PRE019",))
    assert (image.outcome.status, image.outcome.message) == ("PASS", "runtime version v2-alpha-tpuv5")
    (quota,) = offline(of_slice, ("PRE029",))
    assert "gcloud" not in (quota.outcome.fix or "")
    without = {
        name: "".join(line for line in text.splitlines(keepends=True) if "tpuRuntimeVersion" not in line)
        if name.endswith("Pulumi.train-gpt3-175b-us-east5.yaml")
        else text
        for name, text in files.items()
    }
    (image,) = offline(
        Subject(project=project_of("here", without), catalogue=load(), book=PriceBook.open()), ("PRE019",)
    )
    assert image.outcome.status == "FAIL"
    assert image.outcome.fix == "./cluster.sh set tpuRuntimeVersion v2-alpha-tpuv5"


def test_a_written_project_is_read_with_what_was_changed(tmp_path: Path) -> None:
    """Files that differ from what was written are named; the rest of the folder is looked at too."""
    target = tmp_path / "aws"
    folder.write(target, generated("aws", "slurm"))
    assert read_project(target, manifest=folder.MANIFEST).changed == frozenset()
    command = target / "cluster.sh"
    command.write_text(command.read_text() + "# mine\n")
    (target / "notes.txt").write_text("AKIAIOSFODNN7EXAMPLE")
    project = read_project(target, manifest=folder.MANIFEST)
    assert project.changed == frozenset({"cluster.sh"})
    found = {
        (result.check, result.outcome.status): result.outcome
        for result in offline(Subject(project=project, catalogue=load(), book=PriceBook.open()))
    }
    assert found["PRE006", "FAIL"].place is not None
    assert found["PRE006", "FAIL"].place.file.endswith("notes.txt")


def test_a_project_built_for_all_clouds_knows_its_changes(tmp_path: Path) -> None:
    """The record of a build lies above the cloud's folder."""
    files = {f"aws/{name}": file for name, file in generated("aws", "slurm").items()}
    folder.write(tmp_path / "out", files)
    (tmp_path / "out" / "aws" / "cluster.sh").write_text("")
    assert read_project(tmp_path / "out" / "aws", manifest=folder.MANIFEST).changed == frozenset({"cluster.sh"})


def test_a_folder_that_is_no_project(tmp_path: Path) -> None:
    """Another folder is bad input."""
    (tmp_path / "plan.json").write_text(json.dumps({}))
    with pytest.raises(InputError, match="no generated project"):
        read_project(tmp_path, manifest=folder.MANIFEST)
