"""Ids of what a cloud account already holds, checked by their shape before anything is planned."""

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator
from pydantic.json_schema import WithJsonSchema
from pydantic_core import PydanticCustomError


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """How one kind of id is written.

    Attributes:
        what: the kind, with its article.
        pattern: regular expression of the whole id; example: one that it accepts.
    """

    what: str
    pattern: str
    example: str


_UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_AWS_NUMBER = r"([0-9a-f]{8}|[0-9a-f]{17})"
_AZURE_GROUP = rf"/subscriptions/{_UUID}/resourceGroups/[A-Za-z0-9_.()-]{{1,90}}/providers"
_AZURE_EXAMPLE = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/GROUP/providers"
_GCP_PROJECT = r"projects/([a-z0-9.-]{1,63}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]"
_GCP_NAME = r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?"

SHAPES = {
    "aws-vpc": Shape(what="a VPC's id", pattern=rf"vpc-{_AWS_NUMBER}", example="vpc-0123456789abcdef0"),
    "aws-subnet": Shape(what="a subnet's id", pattern=rf"subnet-{_AWS_NUMBER}", example="subnet-0123456789abcdef0"),
    "aws-key": Shape(
        what="the ARN of a KMS key",
        pattern=rf"arn:aws(-cn|-us-gov)?:kms:[a-z0-9-]+:[0-9]{{12}}:key/({_UUID}|mrk-[0-9a-f]{{32}})",
        example="arn:aws:kms:us-east-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef",
    ),
    "aws-bucket": Shape(
        what="the name of an S3 bucket", pattern=r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", example="my-training-data"
    ),
    "azure-network": Shape(
        what="the id of a virtual network",
        pattern=rf"{_AZURE_GROUP}/Microsoft\.Network/virtualNetworks/[A-Za-z0-9_.-]{{2,64}}",
        example=f"{_AZURE_EXAMPLE}/Microsoft.Network/virtualNetworks/NAME",
    ),
    "azure-subnet": Shape(
        what="the id of a subnet",
        pattern=rf"{_AZURE_GROUP}/Microsoft\.Network/virtualNetworks/[A-Za-z0-9_.-]{{2,64}}/subnets/[A-Za-z0-9_.-]{{1,80}}",
        example=f"{_AZURE_EXAMPLE}/Microsoft.Network/virtualNetworks/NAME/subnets/SUBNET",
    ),
    "azure-zone": Shape(
        what="the id of a private DNS zone",
        pattern=rf"{_AZURE_GROUP}/Microsoft\.Network/privateDnsZones/[A-Za-z0-9_.-]{{1,253}}",
        example=f"{_AZURE_EXAMPLE}/Microsoft.Network/privateDnsZones/privatelink.vaultcore.azure.net",
    ),
    "azure-vault": Shape(
        what="the id of a key vault",
        pattern=rf"{_AZURE_GROUP}/Microsoft\.KeyVault/vaults/[A-Za-z][A-Za-z0-9-]{{2,23}}",
        example=f"{_AZURE_EXAMPLE}/Microsoft.KeyVault/vaults/NAME",
    ),
    "azure-key": Shape(
        what="the URL of a key in a key vault",
        pattern=r"https://[A-Za-z][A-Za-z0-9-]{2,23}\.vault\.azure\.net/keys/[A-Za-z0-9-]{1,127}/[0-9a-f]{32}",
        example="https://VAULT.vault.azure.net/keys/KEY/0123456789abcdef0123456789abcdef",
    ),
    "azure-storage": Shape(
        what="the id of a storage account",
        pattern=rf"{_AZURE_GROUP}/Microsoft\.Storage/storageAccounts/[a-z0-9]{{3,24}}",
        example=f"{_AZURE_EXAMPLE}/Microsoft.Storage/storageAccounts/name",
    ),
    "azure-container": Shape(
        what="the name of a blob container",
        pattern=r"[a-z0-9](-?[a-z0-9]){2,62}",
        example="training-data",
    ),
    "gcp-network": Shape(
        what="the id of a VPC network",
        pattern=rf"{_GCP_PROJECT}/global/networks/{_GCP_NAME}",
        example="projects/my-project/global/networks/my-network",
    ),
    "gcp-subnetwork": Shape(
        what="the id of a subnetwork",
        pattern=rf"{_GCP_PROJECT}/regions/[a-z0-9-]+/subnetworks/{_GCP_NAME}",
        example="projects/my-project/regions/us-central1/subnetworks/my-subnetwork",
    ),
    "gcp-key": Shape(
        what="the id of a Cloud KMS key",
        pattern=rf"{_GCP_PROJECT}/locations/[a-z0-9-]+/keyRings/[A-Za-z0-9_-]{{1,63}}/cryptoKeys/[A-Za-z0-9_-]{{1,63}}",
        example="projects/my-project/locations/us-central1/keyRings/RING/cryptoKeys/KEY",
    ),
    "gcp-bucket": Shape(
        what="the name of a Cloud Storage bucket",
        pattern=r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]",
        example="my-training-data",
    ),
}


def shaped(text: str, shape: Shape) -> str:
    """Return an id that has its shape.

    Raises:
        PydanticCustomError: it has not; the help shows one that has.
    """
    if re.fullmatch(shape.pattern, text) is None:
        raise PydanticCustomError(
            "identifier",
            "{found} is not {what}",
            {"found": repr(text), "what": shape.what, "help": f"for example {shape.example}"},
        )
    return text


def _field(kind: str) -> tuple[AfterValidator, WithJsonSchema]:
    shape = SHAPES[kind]
    return (
        AfterValidator(lambda text: shaped(text, shape)),
        WithJsonSchema({"type": "string", "pattern": f"^({shape.pattern})$", "examples": [shape.example]}),
    )


AwsVpc = Annotated[str, *_field("aws-vpc")]
AwsSubnet = Annotated[str, *_field("aws-subnet")]
AwsKey = Annotated[str, *_field("aws-key")]
AwsBucket = Annotated[str, *_field("aws-bucket")]
AzureNetwork = Annotated[str, *_field("azure-network")]
AzureSubnet = Annotated[str, *_field("azure-subnet")]
AzureZone = Annotated[str, *_field("azure-zone")]
AzureVault = Annotated[str, *_field("azure-vault")]
AzureKey = Annotated[str, *_field("azure-key")]
AzureStorage = Annotated[str, *_field("azure-storage")]
AzureContainer = Annotated[str, *_field("azure-container")]
GcpNetwork = Annotated[str, *_field("gcp-network")]
GcpSubnetwork = Annotated[str, *_field("gcp-subnetwork")]
GcpKey = Annotated[str, *_field("gcp-key")]
GcpBucket = Annotated[str, *_field("gcp-bucket")]
