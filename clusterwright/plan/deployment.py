"""What the stacks of a rented cluster need to know beside its size: what exists already, and where state is kept."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsExistingIds:
    """What an AWS account already holds; None for what is to be created. VPC and subnets come together."""

    vpc_id: str | None
    node_subnet_id: str | None
    service_subnet_ids: tuple[str, ...] | None
    key_arn: str | None
    bucket_name: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class AzureExistingIds:
    """What an Azure subscription already holds; None for what is to be created. Network and subnets come together."""

    virtual_network_id: str | None
    node_subnet_id: str | None
    service_subnet_id: str | None
    lustre_subnet_id: str | None
    vault_zone_id: str | None
    blob_zone_id: str | None
    database_zone_id: str | None
    key_vault_id: str | None
    key_url: str | None
    storage_account_id: str | None
    container_name: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class GcpExistingIds:
    """What a Google Cloud project already holds; None for what is to be created. Networks come together."""

    network_id: str | None
    subnetwork_id: str | None
    gpu_subnetwork_ids: tuple[str, ...] | None
    key_id: str | None
    bucket_name: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class StateBackend:
    """Where Pulumi keeps the stacks' state.

    Attributes:
        url: of the backend; organization: in Pulumi Cloud, empty elsewhere; secrets_provider: empty for the backend's
            own.
    """

    url: str
    organization: str
    secrets_provider: str


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSettings:
    """Software and data of the training job; empty for what the blueprint leaves to the user who submits it.

    Attributes:
        environment: `container`, `venv` or `modules`.
        image: reference in a registry, or squash file; venv: folder; modules: in the order in which they are loaded.
        megatron, data, checkpoints: paths on shared storage; tokenizer: such a path, or a name of Hugging Face.
        learning_rate: peak; None for what is given on submission.
        internet: whether the nodes reach the internet.
    """

    environment: str = "container"
    image: str = ""
    venv: str = ""
    modules: tuple[str, ...] = ()
    megatron: str = "/shared/Megatron-LM"
    data: str = ""
    tokenizer: str = ""
    learning_rate: float | None = None
    checkpoints: str = ""
    internet: bool = True


#: Of one cloud.
ExistingIds = AwsExistingIds | AzureExistingIds | GcpExistingIds
