"""What differs between the clouds: instance types, and what only a cloud can give its machines."""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright.checks.preflight.records import SECRET, Resource

#: Keys of resources that hold what a machine reads at boot.
_USER_DATA = ("userData", "userDataBase64", "customData", "user-data")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A cloud.

    Attributes:
        given: what stands in a record for a value that the cloud makes, to such a value.
        names: host names in the boot data, and of services, to `controller` or `services`.
        users: where the list of users is, for a record that does not say it.
        fabric: path below the kernel's device tree to text, or to where a link goes.
        image: files of the image that the cloud's nodes start from.
        boot: the program that the boot data names.
        nccl: variables that the plan's job has to set.
    """

    cloud: str
    instance: str
    given: Mapping[str, str]
    names: Mapping[str, str]
    users: str
    fabric: Mapping[str, str]
    boot: str
    nccl: Mapping[str, str]
    image: Mapping[str, str] = field(default_factory=dict)


def _efa(count: int) -> dict[str, str]:
    return {f"class/infiniband/rdmap{index}/device/driver": "-> ../../../../bus/efa" for index in range(count)}


def _infiniband(count: int) -> dict[str, str]:
    ports = [f"class/infiniband/mlx5_{index}/ports/1" for index in range(count)]
    facts = {"link_layer": "InfiniBand", "state": "4: ACTIVE", "rate": "400 Gb/sec (4X NDR)"}
    return {f"{port}/{name}": text for port in ports for name, text in facts.items()}


def _tcpxo(count: int) -> dict[str, str]:
    adapters = {f"class/net/enp{index}s0/device/driver": "-> ../../../../bus/gve" for index in range(count + 1)}
    apertures = [f"bus/pci/devices/0000:0{index}:00.1" for index in range(count)]
    facts = {"vendor": "0x1ae0", "device": "0x0084", "resource0": ""}
    return adapters | {f"{aperture}/{name}": text for aperture in apertures for name, text in facts.items()}


PLACES = (
    Place(
        cloud="aws",
        instance="p5.48xlarge",
        given={},
        names={
            "small-controller-address-privateIp": "controller",
            "small-accounting-cluster-endpoint": "services",
            "truststore.pki.rds.amazonaws.com": "services",
        },
        users="arn:aws:secretsmanager:us-east-1:123456789012:secret/small-users",
        fabric=_efa(32),
        boot="/opt/gpu-cluster/bootstrap.sh",
        nccl={"FI_EFA_USE_HUGE_PAGE": "0"},
    ),
    Place(
        cloud="azure",
        instance="Standard_ND96isr_H100_v5",
        given={
            "small-data-clientId": "11111111-2222-3333-4444-555555555555",
            "svsmall-properties-vaultUri": "https://svsmall.vault.azure.net/",
            "small-accounting-properties-secretUri": "https://svsmall.vault.azure.net/secrets/accounting",
            "small-users-properties-secretUri": "https://svsmall.vault.azure.net/secrets/users",
        },
        names={
            "10.40.0.4": "controller",
            "small-accounting-fullyQualifiedDomainName": "services",
            "svsmall.vault.azure.net": "services",
        },
        users="https://svsmall.vault.azure.net/secrets/users",
        fabric=_infiniband(8),
        boot="/opt/gpu-cluster/bootstrap.sh",
        nccl={"NCCL_NET": "IB", "NCCL_SOCKET_IFNAME": "eth0", "NCCL_TOPO_FILE": "/opt/microsoft/ndv5-topo.xml"},
        image={"/opt/microsoft/ndv5-topo.xml": "<system/>"},
    ),
    Place(
        cloud="gcp",
        instance="a3-megagpu-8g",
        given={
            "small-lustre-mountPoint": "10.40.0.9@tcp:/lustrefs",
            "small-data-email": "small-data@my-gpu-project.iam.gserviceaccount.com",
        },
        names={
            "small-controller-address": "controller",
            "small-accounting-privateIpAddress": "services",
            "metadata.google.internal": "metadata",
            "iamcredentials.googleapis.com": "services",
            "secretmanager.googleapis.com": "services",
            "us-docker.pkg.dev": "services",
        },
        users="projects/my-gpu-project/secrets/small-users",
        fabric=_tcpxo(8),
        boot="/var/lib/cloud/scripts/per-boot/gpu-cluster.sh",
        nccl={"NCCL_FASTRAK_CTRL_DEV": "enp0s12", "NCCL_FASTRAK_USE_SNAP": "1"},
    ),
)


def boot_files(resources: tuple[Resource, ...], given: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the files that each role's boot data writes, by path.

    Args:
        resources: as recorded.
        given: values for what only the cloud knows.
    """
    found: dict[str, dict[str, str]] = {}
    for resource in resources:
        for packed in _packed(dict(resource.inputs)):
            text = packed
            if not text.startswith("#cloud-config"):
                text = gzip.decompress(base64.b64decode(packed)).decode()
            files = {one["path"]: one["content"] for one in json.loads(text.split("\n", 1)[1])["write_files"]}
            environment = files["/etc/gpu-cluster/node.env"]
            for recorded, value in given.items():
                environment = environment.replace(recorded, value)
            files["/etc/gpu-cluster/node.env"] = environment
            role = next(role for role in ("controller", "login", "compute") if f"CLUSTER_ROLE='{role}'" in environment)
            found[role] = files
    return found


def _packed(value: Any, name: str = "") -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _packed(inner, name if key == SECRET else key)
    elif isinstance(value, list):
        for inner in value:
            yield from _packed(inner, name)
    elif isinstance(value, str) and name in _USER_DATA and value:
        yield value
