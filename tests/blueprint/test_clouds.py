"""What a blueprint may say of a cloud account: ids by their shape, networks, state, capacity."""

import json
import re
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.blueprint.resolve import resolve
from clusterwright.blueprint.sections.cloud_ids import SHAPES
from clusterwright.blueprint.sections.clouds import AwsTarget, AzureTarget, CloudTarget, GcpTarget
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.offerings import listed_regions

GROUP = "/subscriptions/01234567-89ab-cdef-0123-456789abcdef/resourceGroups/network/providers"
TARGETS = {
    "aws": "{instance: p5.48xlarge, region: us-east-1}",
    "azure": "{instance: Standard_ND96isr_H100_v5, region: eastus}",
    "gcp": "{instance: a3-highgpu-8g, region: us-central1}",
}


def _path(tmp_path: Path, cloud: str) -> Path:
    path = tmp_path / "blueprint.yaml"
    path.write_text(
        "name: small\n"
        "workload: {kind: train, model: llama-2-7b, tokens: 1e9, sequence_length: 2048, global_batch: 512}\n"
        f"targets:\n  {cloud}: {TARGETS[cloud]}\n"
    )
    return path


def _target(tmp_path: Path, cloud: str, *overrides: str) -> CloudTarget:
    path = _path(tmp_path, cloud)
    found = getattr(load(path, tuple(f"targets.{cloud}.{entry}" for entry in overrides)).blueprint.targets, cloud)
    assert isinstance(found, CloudTarget)
    return found


def _wrong(tmp_path: Path, cloud: str, *overrides: str) -> str:
    with pytest.raises(BlueprintError) as caught:
        _target(tmp_path, cloud, *overrides)
    assert caught.value.exit_code == 2
    return caught.value.render()


def test_every_example_has_its_shape() -> None:
    """Whoever writes what the help shows with own names is understood."""
    for kind, shape in SHAPES.items():
        example = re.sub("GROUP", "my-group", shape.example)
        assert re.fullmatch(shape.pattern, example), kind


@pytest.mark.parametrize(
    ("cloud", "field", "value", "said"),
    [
        ("aws", "vpc_id", "subnet-0123456789abcdef0", "is not a VPC's id"),
        ("aws", "vpc_id", "vpc-0123", "is not a VPC's id"),
        ("aws", "node_subnet_id", "vpc-0123456789abcdef0", "is not a subnet's id"),
        ("aws", "key_arn", "alias/training", "is not the ARN of a KMS key"),
        ("aws", "key_arn", "arn:aws:s3:::bucket", "is not the ARN of a KMS key"),
        ("aws", "bucket_name", "s3://bucket", "is not the name of an S3 bucket"),
        ("azure", "virtual_network_id", "my-network", "is not the id of a virtual network"),
        ("azure", "node_subnet_id", f"{GROUP}/Microsoft.Network/virtualNetworks/vnet", "is not the id of a subnet"),
        ("azure", "key_url", "https://evil.example/keys/a/0", "is not the URL of a key"),
        ("azure", "storage_account_id", f"{GROUP}/Microsoft.Storage/storageAccounts/No", "of a storage account"),
        ("gcp", "network_id", "default", "is not the id of a VPC network"),
        ("gcp", "subnetwork_id", "projects/my-project/global/networks/vpc", "is not the id of a subnetwork"),
        ("gcp", "key_id", "projects/my-project/keyRings/a/cryptoKeys/b", "is not the id of a Cloud KMS key"),
    ],
)
def test_ids_of_another_shape(tmp_path: Path, cloud: str, field: str, value: str, said: str) -> None:
    """An id of another kind, a name in the place of an id, or another cloud's id is refused with an example."""
    text = _wrong(tmp_path, cloud, f"network.existing.{field}={value}")
    assert said in text
    assert "help: for example" in text


def test_ids_of_every_cloud(tmp_path: Path) -> None:
    """Networks, keys and buckets by id."""
    aws = _target(
        tmp_path,
        "aws",
        "network.existing.vpc_id=vpc-0123456789abcdef0",
        "network.existing.node_subnet_id=subnet-01234567",
        "network.existing.service_subnet_ids=[subnet-0123456789abcdef0, subnet-0123456789abcdef1]",
        "network.existing.key_arn=arn:aws:kms:us-east-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef",
    )
    assert isinstance(aws, AwsTarget)
    assert aws.network.existing is not None
    assert aws.network.existing.vpc_id == "vpc-0123456789abcdef0"
    azure = _target(
        tmp_path,
        "azure",
        f"network.existing.virtual_network_id={GROUP}/Microsoft.Network/virtualNetworks/vnet",
        f"network.existing.node_subnet_id={GROUP}/Microsoft.Network/virtualNetworks/vnet/subnets/nodes",
    )
    assert isinstance(azure, AzureTarget)
    gcp = _target(
        tmp_path,
        "gcp",
        "network.existing.network_id=projects/my-project/global/networks/vpc",
        "network.existing.gpu_subnetwork_ids=[projects/my-project/regions/us-central1/subnetworks/gpu-0]",
    )
    assert isinstance(gcp, GcpTarget)


def test_ids_of_another_cloud_are_unknown_keys(tmp_path: Path) -> None:
    """Each cloud has keys of its own; a close one is suggested."""
    assert "did you mean 'subnetwork_id'?" in _wrong(tmp_path, "gcp", "network.existing.subnet_id=x")
    assert "there is no key 'vpc_id' here" in _wrong(tmp_path, "azure", "network.existing.vpc_id=x")


@pytest.mark.parametrize("cidr", ["8.8.8.0/24", "10.64.0.1/16", "fd00::/48", "10.64.0.0/33", "ten"])
def test_networks_that_cannot_be(tmp_path: Path, cidr: str) -> None:
    """Public ranges, host bits, IPv6 and words are refused."""
    assert "for example 10.64.0.0/16" in _wrong(tmp_path, "aws", f'network.cidr="{cidr}"')


def test_state_backends(tmp_path: Path) -> None:
    """A folder, a bucket of each cloud, or Pulumi Cloud with its organization."""
    for url in ("file://~/state", "s3://state?region=us-east-1", "azblob://state", "gs://state"):
        found = _target(tmp_path, "aws", f'state.url="{url}"')
        assert found.state is not None
        assert found.state.url == url
    text = _wrong(tmp_path, "aws", 'state.url="https://api.pulumi.com"')
    assert "organization is missing" in text
    assert "is not Pulumi Cloud" in _wrong(tmp_path, "aws", 'state.url="gs://state"', "state.organization=mine")
    assert "is not a state backend's address" in _wrong(tmp_path, "aws", 'state.url="ftp://state"')
    assert "is not a secrets provider" in _wrong(tmp_path, "aws", 'state.url="gs://s"', "state.secrets_provider=$(id)")


@pytest.mark.parametrize(
    ("cloud", "capacity", "reservation", "said"),
    [
        ("azure", "capacity-block", "cr-0123456789abcdef0", "capacity blocks are an offer of AWS, not of azure"),
        ("aws", "flex-start", None, "flex-start is an offer of Google Cloud, not of aws"),
        ("gcp", "block-reservation", "mine", "block capacity reservations are an offer of Azure, not of gcp"),
        # Without an id too: nobody is asked for one that would be of no use.
        ("azure", "capacity-block", None, "capacity blocks are an offer of AWS, not of azure"),
        ("gcp", "capacity-block", None, "capacity blocks are an offer of AWS, not of gcp"),
    ],
)
def test_capacity_of_another_cloud(
    tmp_path: Path, cloud: str, capacity: str, reservation: str | None, said: str
) -> None:
    """The cloud that has it is named."""
    overrides = [f"targets.{cloud}.capacity={capacity}"]
    overrides += [f"targets.{cloud}.reservation={reservation}"] if reservation else []
    problems = resolve(load(_path(tmp_path, cloud), tuple(overrides)).blueprint, load_catalogue())
    assert isinstance(problems, tuple)
    assert [problem.message for problem in problems] == [said]
    own = {"aws": "capacity-block", "azure": "block-reservation", "gcp": "flex-start"}[cloud]
    assert [problem.help for problem in problems] == [f"{cloud} has on-demand, spot, reservation and {own}"]


def test_reservations_are_named_where_they_are_needed(tmp_path: Path) -> None:
    """What is reserved needs its id, and what is not reserved has none: nothing is ever bought."""
    for cloud, capacity in (("aws", "reservation"), ("aws", "capacity-block"), ("azure", "block-reservation")):
        assert "nothing is bought for you" in _wrong(tmp_path, cloud, f"capacity={capacity}")
    for capacity in ("on-demand", "spot", "flex-start"):
        assert "a reservation is named" in _wrong(tmp_path, "gcp", f"capacity={capacity}", "reservation=mine")


def test_times_after_which_nodes_stop(tmp_path: Path) -> None:
    """In seconds; too short ones are refused, since the number of busy GPUs comes every five minutes."""
    path = _path(tmp_path, "aws")
    cluster = load(path, ("cluster.time_to_live=7 days", "cluster.stop_when_idle=2 h")).blueprint.cluster
    assert (cluster.time_to_live, cluster.stop_when_idle) == (7 * 86400, 7200)
    for wrong in ("cluster.time_to_live=1 min", "cluster.stop_when_idle=5 min"):
        with pytest.raises(BlueprintError):
            load(path, (wrong,))


def test_editors_see_the_ids_of_each_cloud() -> None:
    """The shipped JSON Schema holds each cloud's section with its own ids."""
    schema = json.loads((assets.root() / "blueprints" / "blueprint.schema.json").read_text())
    definitions = schema["definitions"]
    assert "vpc_id" in definitions["AwsExisting"]["properties"]
    assert "virtual_network_id" in definitions["AzureExisting"]["properties"]
    assert "network_id" in definitions["GcpExisting"]["properties"]


@pytest.mark.parametrize("cidr", ["127.0.0.0/16", "169.254.0.0/16", "192.0.2.0/24", "100.64.0.0/16", "172.32.0.0/16"])
def test_only_addresses_that_a_network_may_have(tmp_path: Path, cidr: str) -> None:
    """Loopback, link-local and documentation are not for networks, though Python calls some of them private."""
    assert "is not a private IPv4 network" in _wrong(tmp_path, "aws", f"network.cidr={cidr}")


def test_zones_of_azure_may_be_numbers(tmp_path: Path) -> None:
    """YAML reads `zone: 2` as a number; that there is no zone 4 is found later."""
    assert _target(tmp_path, "azure", "zone=2").zone == "2"
    assert "valid string" in _wrong(tmp_path, "azure", "zone=true")


@pytest.mark.parametrize("target", [AwsTarget, AzureTarget, GcpTarget])
def test_examples_in_messages_are_of_the_cloud(target: type[CloudTarget]) -> None:
    """What a message offers in the place of a missing instance or region exists in that cloud, and there together."""
    catalogue = load_catalogue()
    example = target.hardware[2]
    assert catalogue.instances[example].cloud == target.cloud
    region = (target.model_fields["region"].description or "").rpartition(" ")[2]
    places = listed_regions(catalogue, catalogue.instances[example])
    assert any(place.startswith(region) for place in places)
    with pytest.raises(ValueError, match="instance is missing") as raised:
        target.model_validate({"region": region})
    assert example in str(raised.value.errors()[0]["ctx"]["help"])  # type: ignore[attr-defined]


def test_a_target_without_hardware_is_reported_with_the_other_mistakes(tmp_path: Path) -> None:
    """A missing region and a number that is none hide no missing instance or system; nothing is said twice."""
    path = tmp_path / "small.yaml"
    text = (Path(__file__).parents[1] / "small.yaml").read_text(encoding="utf-8").partition("targets:")[0]
    sections = (
        "azure: {}",
        "aws: {region: us-east-1}",
        "onprem: {max_nodes: few}",
        "gcp: {gpu: H100, region: us-central1}",
    )
    path.write_text("\n  ".join((f"{text}targets:", *sections, "")))
    with pytest.raises(BlueprintError) as raised:
        load(path)
    said = [(problem.path[1:], problem.message) for problem in raised.value.problems]
    assert sorted(one for one in said if "missing" in one[1]) == [
        (("aws",), "instance is missing"),
        (("azure",), "instance is missing"),
        (("azure", "region"), "targets.azure.region is missing"),
        (("onprem",), "system is missing"),
    ]


@pytest.mark.parametrize(
    ("written", "region"), [("East US 2", "eastus2"), ("Sweden Central", "swedencentral"), ("eastus", "eastus")]
)
def test_regions_of_azure_are_known_as_the_portal_shows_them(written: str, region: str) -> None:
    """The portal shows names with spaces and capitals; commands and prices take the others."""
    target = AzureTarget.model_validate({"instance": "Standard_ND96isr_H100_v5", "region": written})
    assert target.region == region
