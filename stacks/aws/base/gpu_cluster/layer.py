"""What every layer begins with: the cluster's name, tags and region, and the one provider that carries them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.config_values import Values

CLUSTER_TAG = "gpu-cluster"
LAYER_TAG = "layer"
NAME = r"[a-z][a-z0-9-]{0,30}"
TAG_KEY = r"(?!aws:)[A-Za-z0-9_.:/=+@-]{1,128}"
TAG_VALUE = r"[A-Za-z0-9 _.:/=+@-]{0,256}"
# Keys that every layer's configuration holds with the same values; the region is the provider's own.
SCALAR_KEYS = ("clusterName",)
OBJECT_KEYS = ("tags",)
OF_PROVIDER = {"region": "aws:region"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """One of foundation, cluster and nodes, of one cluster."""

    name: str
    cluster_name: str
    region: str
    tags: Mapping[str, str]


def read_layer(values: Values, name: str) -> Layer:
    """Read what every layer needs; `tags` gets the cluster's name and the layer's."""
    cluster_name = values.text("clusterName", NAME, f"a name like {NAME}")
    region = values.text("region", r"[a-z]{2}(-[a-z]+)+-[0-9]", "an AWS region such as us-east-1 (key aws:region)")
    own = {CLUSTER_TAG: cluster_name, LAYER_TAG: name}
    return Layer(name=name, cluster_name=cluster_name, region=region, tags={**_tags(values, own), **own})


def _tags(values: Values, own: Mapping[str, str]) -> dict[str, str]:
    section = values.optional_section("tags")
    if section is None:
        return {}
    for key in section.values:
        if re.fullmatch(TAG_KEY, key) is None:
            section.fail(key, "is not a valid tag key")
        if key.lower() in own:
            section.fail(key, "is a tag that the program sets itself")
    return {key: section.text(key, TAG_VALUE, "a tag value as text") for key in section.values}


def aws_provider(layer: Layer) -> aws.Provider:
    """Make the provider of a layer: everything that it makes has the layer's tags."""
    return aws.Provider(
        "aws",
        region=layer.region,
        # A provider that a program makes itself does not see `aws:profile`; without one, the environment decides.
        profile=pulumi.Config("aws").get("profile"),
        default_tags=aws.ProviderDefaultTagsArgs(tags=dict(layer.tags)),
    )
