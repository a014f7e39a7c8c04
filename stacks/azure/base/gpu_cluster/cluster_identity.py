"""What every layer says about the cluster in the same words: its name, its place, its tags."""

import re
from collections.abc import Mapping

from gpu_cluster.config_values import Values

CLUSTER_TAG = "gpu-cluster"
LAYER_TAG = "layer"
NAME = r"[a-z][a-z0-9-]{0,30}"
NAME_MEANING = "a lower-case name of at most 31 letters, digits and hyphens that starts with a letter"

# Azure's limits: Microsoft, "Use tags to organize your Azure resources"; private DNS zones take the fewest tags.
MOST_TAGS = 15
LONGEST_TAG_VALUE = 256
TAG_NAME = r"[^<>%&\\?/\x00-\x1f]{1,128}"


def cluster_name(values: Values) -> str:
    """Read the name of the cluster, which is the prefix of every resource."""
    return values.text("clusterName", NAME, NAME_MEANING)


def location(values: Values) -> str:
    """Read the Azure location."""
    return values.text("location", r"[a-z][a-z0-9]+", "an Azure location such as eastus")


def zone(values: Values) -> str:
    """Read the one availability zone of nodes and file system."""
    return values.choice("zone", ("1", "2", "3"))


def stack_name(values: Values, key: str) -> str:
    """Read the full name of the stack of another layer."""
    return values.text(
        key, r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+", "a full stack name such as organization/project/stack"
    )


def tags(values: Values, layer: str) -> Mapping[str, str]:
    """Read the user's tags and add those of the cluster and of the layer."""
    found = {CLUSTER_TAG: str(values.values.get("clusterName", "")), LAYER_TAG: layer}
    for key, value in (values.optional_section("tags") or Values(values={})).values.items():
        if not isinstance(value, str) or len(value) > LONGEST_TAG_VALUE or re.fullmatch(TAG_NAME, key) is None:
            values.fail(
                f"tags.{key}",
                "is not a tag that Azure takes: name up to 128 characters without <>%&\\?/, text value up to 256",
            )
        elif key in (CLUSTER_TAG, LAYER_TAG):
            values.fail(f"tags.{key}", "is set by the stack itself")
        else:
            found[key] = value
    if len(found) > MOST_TAGS:
        values.fail("tags", f"too many tags: private DNS zones take {MOST_TAGS}, two of which the stack sets")
    return found
