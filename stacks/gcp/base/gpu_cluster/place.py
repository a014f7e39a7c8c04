"""Where the cluster is and what it is called: the part of the configuration that all layers share."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_cluster.config_values import Values

NAME = r"[a-z][a-z0-9-]{0,30}"
PROJECT = r"[a-z][a-z0-9-]{4,28}[a-z0-9]"
REGION = r"[a-z]+-[a-z]+[0-9]+"
STACK = r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+"
LABEL_KEY = r"[a-z][a-z0-9_-]{0,62}"
LABEL_VALUE = r"[a-z0-9_-]{0,63}"
CLUSTER_LABEL = "gpu-cluster"
#: Labels that the program sets itself.
OWN_LABELS = (CLUSTER_LABEL, "layer", "managed-by", "role")
#: Keys of every layer, and values of the provider that every layer reads.
PLACE_KEYS = ("clusterName", "zone")
PLACE_OBJECTS = ("tags",)
PROVIDER_VALUES = {"project": "gcp:project", "region": "gcp:region"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Project, region and the one zone of nodes, RDMA network and file system; labels of everything in a layer."""

    cluster_name: str
    project: str
    region: str
    zone: str
    labels: Mapping[str, str]


def read_place(values: Values, layer: str) -> Place:
    """Read name, project, region, zone and labels of a layer; problems are noted in `values`."""
    name = values.text("clusterName", NAME, "a name like 'gpt3-175b'")
    region = values.text("region", REGION, "a region like us-central1 (key gcp:region)")
    zone = values.text("zone", f"{REGION}-[a-z]", "a zone like us-central1-a")
    if zone and region and zone[:-2] != region:
        values.fail("zone", f"{zone} is not in gcp:region {region}; nodes and Lustre share one zone")
    tags = values.text_map(
        "tags",
        keys=LABEL_KEY,
        values=LABEL_VALUE,
        meaning="a label of lower-case letters, digits, hyphens and underscores",
    )
    for key in tags.keys() & set(OWN_LABELS):
        values.fail(f"tags.{key}", "is a label that the program sets itself")
    return Place(
        cluster_name=name,
        project=values.text("project", PROJECT, "a project id (key gcp:project)"),
        region=region,
        zone=zone,
        labels={**tags, CLUSTER_LABEL: name, "layer": layer, "managed-by": "pulumi"},
    )


def read_stack(values: Values, layer: str) -> str:
    """Read the full name of the stack of an earlier layer."""
    return values.text(
        f"{layer}Stack", STACK, f"the full name of the {layer}'s stack, like organization/gcp-gpu-{layer}/dev"
    )
