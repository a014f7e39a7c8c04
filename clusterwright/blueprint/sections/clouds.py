"""A cloud to rent from: hardware, place, capacity, network, file system, scheduler, and where the stacks keep state."""

from ipaddress import IPv4Network, ip_network
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.json_schema import WithJsonSchema
from pydantic_core import PydanticCustomError

from clusterwright.blueprint.fields import Allowed, Identifier, Section
from clusterwright.blueprint.names import IDENTIFIER
from clusterwright.blueprint.quantities import Size
from clusterwright.blueprint.sections import cloud_ids as ids
from clusterwright.blueprint.sections.networks import CloudNetwork, PowerCap
from clusterwright.blueprint.sections.stack_state import StackState
from clusterwright.blueprint.sizes import Sizes, name_once

Capacity = Literal["on-demand", "spot", "reservation", "capacity-block", "block-reservation", "flex-start"]
#: What RFC 1918 sets aside; Python's `is_private` also has loopback, link-local and documentation, no cloud's networks.
_PRIVATE = tuple(IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
#: Kinds that one cloud alone has.
OFFERED_BY = {"capacity-block": "aws", "block-reservation": "azure", "flex-start": "gcp"}
#: Kinds that are launched into something that exists already; nothing is ever bought.
RESERVED = ("reservation", "capacity-block", "block-reservation")


def _private_network(text: str) -> str:
    try:
        network = ip_network(text)
    except ValueError as error:
        raise PydanticCustomError(
            "identifier", "{text}", {"text": f"{error}", "help": "for example 10.64.0.0/16"}
        ) from None
    private = isinstance(network, IPv4Network) and any(network.subnet_of(one) for one in _PRIVATE)
    if not private:
        raise PydanticCustomError(
            "identifier",
            "{found} is not a private IPv4 network",
            {
                "found": repr(text),
                "help": "for example 10.64.0.0/16; these are 10.0.0.0/8, 172.16.0.0/12 and 192.168.0.0/16",
            },
        )
    return text


PrivateNetwork = Annotated[
    str,
    AfterValidator(_private_network),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$"}),
]


#: Azure numbers its zones, and YAML reads `zone: 1` as a number.
Zone = Annotated[
    Identifier,
    BeforeValidator(lambda value: str(value) if isinstance(value, int) and not isinstance(value, bool) else value),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": f"^{IDENTIFIER}$"}, {"enum": [1, 2, 3]}]}),
]


class AwsExisting(Section):
    """What the AWS account already holds; what is not given is created."""

    vpc_id: ids.AwsVpc | None = Field(None, description="VPC; needs node_subnet_id and service_subnet_ids too")
    node_subnet_id: ids.AwsSubnet | None = Field(None, description="private subnet of the GPU nodes and file system")
    service_subnet_ids: Annotated[list[ids.AwsSubnet], Field(min_length=2, max_length=6)] | None = Field(
        None, description="private subnets in two zones, for the database or the Kubernetes control plane"
    )
    key_arn: ids.AwsKey | None = Field(None, description="KMS key that encrypts disks, file system and bucket")
    bucket_name: ids.AwsBucket | None = Field(None, description="S3 bucket of datasets and checkpoints")


class AzureExisting(Section):
    """What the Azure subscription already holds; what is not given is created."""

    virtual_network_id: ids.AzureNetwork | None = Field(None, description="virtual network; needs its subnets too")
    node_subnet_id: ids.AzureSubnet | None = Field(None, description="subnet of the GPU nodes")
    service_subnet_id: ids.AzureSubnet | None = Field(None, description="subnet of controller and private endpoints")
    lustre_subnet_id: ids.AzureSubnet | None = Field(None, description="subnet of the file system alone")
    vault_zone_id: ids.AzureZone | None = Field(None, description="zone privatelink.vaultcore.azure.net, if linked")
    blob_zone_id: ids.AzureZone | None = Field(None, description="zone privatelink.blob.core.windows.net, if linked")
    database_zone_id: ids.AzureZone | None = Field(
        None, description="zone privatelink.mysql.database.azure.com, if linked"
    )
    key_vault_id: ids.AzureVault | None = Field(None, description="key vault; needs key_url too")
    key_url: ids.AzureKey | None = Field(None, description="key that encrypts disks, file system and storage")
    storage_account_id: ids.AzureStorage | None = Field(None, description="storage account; needs container_name too")
    container_name: ids.AzureContainer | None = Field(None, description="container of datasets and checkpoints")


class GcpExisting(Section):
    """What the Google Cloud project already holds; what is not given is created."""

    network_id: ids.GcpNetwork | None = Field(None, description="VPC network; needs subnetwork_id too")
    subnetwork_id: ids.GcpSubnetwork | None = Field(None, description="subnetwork of nodes and controller")
    gpu_subnetwork_ids: Annotated[list[ids.GcpSubnetwork], Field(min_length=1, max_length=16)] | None = Field(
        None,
        description="subnetworks of the GPU interfaces, in their order",
        examples=["[projects/my-project/regions/us-central1/subnetworks/gpu-0]"],
    )
    key_id: ids.GcpKey | None = Field(None, description="Cloud KMS key that encrypts disks, file system and bucket")
    bucket_name: ids.GcpBucket | None = Field(None, description="bucket of datasets and checkpoints")


class StackNetwork(CloudNetwork):
    """How collectives may use the network, and which network the stacks use or create."""

    cidr: PrivateNetwork | None = Field(
        None, description="addresses of the network to create, for example 10.64.0.0/16; the stack's own by default"
    )


class AwsNetwork(StackNetwork):
    """The network of an AWS target."""

    existing: AwsExisting | None = Field(None, description="network, key and bucket that exist, by id")


class AzureNetwork(StackNetwork):
    """The network of an Azure target."""

    existing: AzureExisting | None = Field(None, description="network, key and storage that exist, by id")
    service_cidr: PrivateNetwork | None = Field(
        None,
        description="addresses of Kubernetes services, outside the network; 10.132.0.0/20 by default",
        examples=["10.140.0.0/20"],
    )


class GcpNetwork(StackNetwork):
    """The network of a Google Cloud target."""

    existing: GcpExisting | None = Field(None, description="networks, key and bucket that exist, by id")


class FileSystemSection(Section):
    """The parallel file system, where the one that the plan chooses does not suit."""

    capacity: Annotated[Size, Field(gt=0)] | None = Field(
        None,
        description="usable size, one of the tier, for example 19200 GiB; the smallest that suffices by default",
    )
    mb_per_s_per_tib: Annotated[int, Field(gt=0)] | None = Field(
        None, description="tier: 1e6 bytes/s for each TiB, for example 250; the cheapest that suffices by default"
    )


class CloudTarget(Sizes):
    """A cloud to rent from."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["instance"]}, {"required": ["allowed_instances"]}]}
    )

    cloud: ClassVar[str]

    instance: Identifier | None = Field(None, description="instance type, for example p5.48xlarge")
    allowed_instances: Allowed | None = Field(
        None, description="instance types to choose the cheapest from, or any for every type of the region"
    )
    region: Identifier = Field(description="where the nodes are, for example us-east-1")
    zone: Zone | None = Field(None, description="availability zone of the GPU nodes; all share one")
    scheduler: Literal["slurm", "kubernetes"] = Field("slurm", description="what places jobs on the nodes")
    capacity: Capacity = Field(
        "on-demand",
        description="how the GPU nodes are obtained: all clouds have on-demand, spot and reservation; AWS "
        "capacity-block, Azure block-reservation, Google Cloud flex-start",
    )
    reservation: Identifier | None = Field(None, description="id of an existing reservation or capacity block")
    power_cap: PowerCap = None
    network: StackNetwork = Field(default_factory=StackNetwork, description="the network and how it is used")
    file_system: FileSystemSection = Field(
        default_factory=FileSystemSection, description="size and tier of the parallel file system"
    )
    state: StackState | None = Field(
        None, description="where Pulumi keeps the stacks' state; a local folder by default"
    )

    @model_validator(mode="after")
    def _instance_named(self) -> "CloudTarget":
        name_once(self)
        return self

    @model_validator(mode="after")
    def _reservation_named(self) -> "CloudTarget":
        # What another cloud offers is refused as such: an id of it would be of no use here.
        if OFFERED_BY.get(self.capacity, self.cloud) != self.cloud:
            return self
        if self.capacity in RESERVED and self.reservation is None:
            raise PydanticCustomError(
                "reservation",
                "capacity {capacity} needs the id of an existing one",
                {"capacity": repr(self.capacity), "help": "add reservation: <id>; nothing is bought for you"},
            )
        if self.capacity not in RESERVED and self.reservation is not None:
            raise PydanticCustomError(
                "reservation",
                "a reservation is named, but capacity is {capacity}",
                {"capacity": repr(self.capacity), "help": "set capacity: reservation, or remove reservation"},
            )
        return self


class AwsTarget(CloudTarget):
    """Amazon Web Services."""

    cloud: ClassVar[str] = "aws"
    hardware: ClassVar[tuple[str, str, str]] = ("instance", "allowed_instances", "p5.48xlarge")

    network: AwsNetwork = Field(default_factory=AwsNetwork, description="the network and how it is used")


def _region_of_azure(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """Return a region by its name, also where it is written as the portal shows it: `East US 2`."""
    return value.replace(" ", "").lower() if isinstance(value, str) else value


class AzureTarget(CloudTarget):
    """Microsoft Azure."""

    cloud: ClassVar[str] = "azure"
    hardware: ClassVar[tuple[str, str, str]] = ("instance", "allowed_instances", "Standard_ND96isr_H100_v5")

    instance: Identifier | None = Field(None, description="instance type, for example Standard_ND96isr_H100_v5")
    region: Annotated[Identifier, BeforeValidator(_region_of_azure)] = Field(
        description="where the nodes are, for example eastus"
    )

    network: AzureNetwork = Field(default_factory=AzureNetwork, description="the network and how it is used")


class GcpTarget(CloudTarget):
    """Google Cloud."""

    cloud: ClassVar[str] = "gcp"
    hardware: ClassVar[tuple[str, str, str]] = ("instance", "allowed_instances", "a3-megagpu-8g")

    instance: Identifier | None = Field(None, description="instance type, for example a3-megagpu-8g")
    region: Identifier = Field(description="where the nodes are, for example us-central1")

    network: GcpNetwork = Field(default_factory=GcpNetwork, description="the network and how it is used")
