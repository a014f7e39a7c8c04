"""Existing networks, keys and buckets: nothing missing, all of one place; and capacity that a type can have."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.resolve import resolve
from clusterwright.blueprint.sections.stack_state import StackState
from clusterwright.catalog.load import load as load_catalogue

GROUP = "/subscriptions/01234567-89ab-cdef-0123-456789abcdef/resourceGroups/team/providers"
VNET = f"{GROUP}/Microsoft.Network/virtualNetworks/vnet"
VAULT = f"{GROUP}/Microsoft.KeyVault/vaults/team-vault"
DNS = f"{GROUP}/Microsoft.Network/privateDnsZones"
KEY = "0123456789abcdef0123456789abcdef"
AWS = {
    "vpc_id": "vpc-0123456789abcdef0",
    "node_subnet_id": "subnet-0123456789abcdef0",
    "service_subnet_ids": "[subnet-0123456789abcdef1, subnet-0123456789abcdef2]",
    "key_arn": "arn:aws:kms:us-east-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef",
    "bucket_name": "team-data",
}
AZURE = {
    "virtual_network_id": VNET,
    "node_subnet_id": f"{VNET}/subnets/nodes",
    "service_subnet_id": f"{VNET}/subnets/services",
    "lustre_subnet_id": f"{VNET}/subnets/lustre",
    "key_vault_id": VAULT,
    "key_url": f"https://team-vault.vault.azure.net/keys/disks/{KEY}",
    "storage_account_id": f"{GROUP}/Microsoft.Storage/storageAccounts/teamdata",
    "container_name": "data",
}
_SUBNETWORK = "projects/my-project/regions/us-central1/subnetworks"
GCP = {
    "network_id": "projects/my-project/global/networks/vpc",
    "subnetwork_id": f"{_SUBNETWORK}/nodes",
    "gpu_subnetwork_ids": f"[{', '.join(f'{_SUBNETWORK}/gpu-{number}' for number in range(4))}]",
    "key_id": "projects/my-project/locations/us-central1/keyRings/ring/cryptoKeys/key",
    "bucket_name": "team-data",
}
ALL = {"aws": AWS, "azure": AZURE, "gcp": GCP}
TARGETS = {
    "aws": "{instance: p5.48xlarge, region: us-east-1}",
    "azure": "{instance: Standard_ND96isr_H100_v5, region: eastus}",
    "gcp": "{instance: a3-highgpu-8g, region: us-central1}",
}


def problems(tmp_path: Path, cloud: str, *overrides: str, **ids: str | None) -> tuple[Problem, ...]:
    """Return the problems of a blueprint with these ids of existing things, and further values of the target."""
    path = tmp_path / "blueprint.yaml"
    path.write_text(
        "name: small\n"
        "workload: {kind: train, model: llama-2-7b, tokens: 1e9, sequence_length: 2048, global_batch: 512}\n"
        f"targets:\n  {cloud}: {TARGETS[cloud]}\n"
    )
    given = [f"targets.{cloud}.network.existing.{name}={value}" for name, value in ids.items() if value]
    found = resolve(
        load(path, (*given, *(f"targets.{cloud}.{entry}" for entry in overrides))).blueprint, load_catalogue()
    )
    return found if isinstance(found, tuple) else ()


@pytest.mark.parametrize("cloud", ALL)
def test_whole_accounts_are_taken(tmp_path: Path, cloud: str) -> None:
    """Everything by id is fine, and so are a key or a bucket alone, with the network left to create."""
    assert problems(tmp_path, cloud, **ALL[cloud]) == ()
    alone = {"aws": ("key_arn",), "azure": ("key_vault_id", "key_url"), "gcp": ("key_id",)}[cloud]
    assert problems(tmp_path, cloud, **{name: ALL[cloud][name] for name in alone}) == ()


@pytest.mark.parametrize(
    ("cloud", "missing"),
    [
        ("aws", "node_subnet_id"),
        ("aws", "service_subnet_ids"),
        ("aws", "vpc_id"),
        ("azure", "lustre_subnet_id"),
        ("azure", "virtual_network_id"),
        ("azure", "key_url"),
        ("azure", "container_name"),
        ("gcp", "subnetwork_id"),
    ],
)
def test_ids_that_are_used_together(tmp_path: Path, cloud: str, missing: str) -> None:
    """One without the others is refused, and those that are missing are named."""
    found = problems(tmp_path, cloud, **(ALL[cloud] | {missing: None}))
    assert [problem.id for problem in found] == ["EXI001"]
    assert f"{missing} missing" in found[0].message


def test_addresses_are_of_a_network_to_create(tmp_path: Path) -> None:
    """A range of addresses beside an existing network is a contradiction; beside an existing key it is not."""
    found = problems(tmp_path, "aws", "network.cidr=10.64.0.0/16", **AWS)
    assert [problem.id for problem in found] == ["EXI002"]
    assert problems(tmp_path, "aws", "network.cidr=10.64.0.0/16", key_arn=AWS["key_arn"]) == ()


@pytest.mark.parametrize(
    ("instance", "networks"), [("a3-highgpu-8g", 4), ("a3-megagpu-8g", 8), ("a3-ultragpu-8g", 9), ("a2-highgpu-8g", 0)]
)
def test_subnetworks_of_gpu_interfaces(tmp_path: Path, instance: str, networks: int) -> None:
    """As many as the instance type has beside the first: four, eight, or one gVNIC and eight RDMA."""
    for count in {networks, networks + 1, max(networks - 1, 0)}:
        listed = ", ".join(f"{_SUBNETWORK}/gpu-{number}" for number in range(count))
        ids = GCP | {"gpu_subnetwork_ids": f"[{listed}]" if count else None}
        found = problems(tmp_path, "gcp", f"instance={instance}", **ids)
        assert [problem.id for problem in found] == ([] if count == networks else ["EXI003"])


@pytest.mark.parametrize(
    ("cloud", "field", "value", "said"),
    [
        ("aws", "key_arn", AWS["key_arn"].replace("us-east-1", "us-west-2"), "the key is of region us-west-2"),
        ("aws", "service_subnet_ids", "[subnet-01234567, subnet-01234567]", "given twice"),
        ("azure", "node_subnet_id", f"{VNET}2/subnets/nodes", "is not in the virtual network vnet"),
        ("azure", "lustre_subnet_id", f"{VNET}/subnets/nodes", "two subnets are the same"),
        ("azure", "blob_zone_id", f"{DNS}/privatelink.vaultcore.azure.net", "not of privatelink.blob.core.windows.net"),
        ("azure", "key_url", f"https://other.vault.azure.net/keys/disks/{KEY}", "is not in the vault team-vault"),
        ("gcp", "subnetwork_id", f"{_SUBNETWORK}/nodes".replace("central1", "east1"), "is in us-east1"),
        ("gcp", "key_id", GCP["key_id"].replace("us-central1", "global"), "is in global"),
        ("gcp", "gpu_subnetwork_ids", f"[{', '.join([f'{_SUBNETWORK}/gpu'] * 4)}]", "given twice"),
    ],
)
def test_ids_of_another_place(tmp_path: Path, cloud: str, field: str, value: str, said: str) -> None:
    """What an id itself says of its region, network or vault must fit."""
    found = problems(tmp_path, cloud, **(ALL[cloud] | {field: value}))
    assert [problem.id for problem in found] == ["EXI004"]
    assert said in found[0].message


@pytest.mark.parametrize(
    ("cloud", "overrides", "said"),
    [
        (
            "aws",
            ("instance=g6e.48xlarge", "capacity=capacity-block", "reservation=cr-0123456789abcdef0"),
            "g6e.48xlarge",
        ),
        (
            "azure",
            ("capacity=reservation", f"reservation={GROUP}/Microsoft.Compute/capacityReservationGroups/mine"),
            "takes no ND size",
        ),
        ("gcp", ("instance=a4x-highgpu-4g", "region=us-central1", "capacity=flex-start"), "as flex-start"),
    ],
)
def test_capacity_that_a_type_cannot_have(tmp_path: Path, cloud: str, overrides: tuple[str, ...], said: str) -> None:
    """The kinds that it can be had by are named."""
    found = [problem for problem in problems(tmp_path, cloud, *overrides) if problem.id == "CAP001"]
    assert len(found) == 1
    assert said in found[0].message
    assert (found[0].help or "").startswith("choose ")


@pytest.mark.parametrize(
    ("cloud", "zone"),
    [("aws", "us-west-2a"), ("aws", "us-east-1"), ("aws", "us-east-1aa"), ("gcp", "us-central1a"), ("azure", "4")],
)
def test_zones_of_another_region(tmp_path: Path, cloud: str, zone: str) -> None:
    """A zone is its region and one letter; on Azure 1, 2 or 3."""
    found = problems(tmp_path, cloud, f'zone="{zone}"')
    assert [problem.id for problem in found] == ["PLC003"]


@pytest.mark.parametrize(
    ("cloud", "region", "ids"),
    [
        ("aws", "us-east-9", ["PLC001"]),
        ("aws", "eu-west-1", ["PLC001"]),
        ("azure", "eastsu", ["PLC001"]),
        ("gcp", "us-centrall1", ["PLC001"]),
        ("azure", "ukwest", ["PLC006"]),
        ("azure", "brazilsouth", []),
        ("gcp", "asia-northeast3", []),
    ],
)
def test_regions_without_the_type(tmp_path: Path, cloud: str, region: str, ids: list[str]) -> None:
    """Refused where two sources agree, and where no source lists any type; else it is a warning of the plan.

    A region of Azure without zones is refused whether or not a zone is named, since a project always names one.
    """
    assert [problem.id for problem in problems(tmp_path, cloud, f"region={region}")] == ids


@pytest.mark.parametrize(
    ("cloud", "region", "said"),
    [
        ("aws", "us-esat-1", "did you mean 'us-west-1' or 'us-east-1'? it is listed in"),
        ("aws", "eastus", "eastus is a region of azure; it is listed in"),
        ("gcp", "US-CENTRAL1", "did you mean 'us-central1'"),
        ("gcp", "us-central4", "did you mean 'us-central1' or 'us-west4'? it is listed in"),
        ("aws", "eu-west-1", "it is listed in"),
    ],
)
def test_what_a_region_was_meant_for(tmp_path: Path, cloud: str, region: str, said: str) -> None:
    """A slip of the pen, or another cloud's region, is reported as such; a region that exists gets no suggestion."""
    (found,) = problems(tmp_path, cloud, f"region={region}")
    assert (found.help or "").startswith(said)


def test_a_private_zone_needs_its_network(tmp_path: Path) -> None:
    """A private DNS zone is of use to a network that exists alone."""
    (found,) = problems(tmp_path, "azure", vault_zone_id=f"{DNS}/privatelink.vaultcore.azure.net")
    assert (found.id, found.message) == ("EXI001", "vault_zone_id given, but virtual_network_id missing")


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("https://somebody:secret@api.pulumi.com", True),
        ("s3://secret@bucket", True),
        ("https://api.pulumi.com/a@b", False),
        ("https://api.pulumi.com", False),
    ],
)
def test_no_login_in_the_address_of_the_state(url: str, *, refused: bool) -> None:
    """It would stand in every project's files in plain text."""
    organization = "team" if url.startswith("https") else None
    if not refused:
        assert StackState(url=url, organization=organization).url == url
        return
    with pytest.raises(ValidationError, match="holds a login"):
        StackState(url=url, organization=organization)
