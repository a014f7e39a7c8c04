"""Small projects that every offline check passes, one per cloud, to be broken by the tests."""

import io
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from ruamel.yaml import YAML

from clusterwright.catalog.load import load
from clusterwright.checks.preflight.configuration.quotas import Ask
from clusterwright.checks.preflight.files.project import project_of
from clusterwright.checks.preflight.offline import offline
from clusterwright.checks.preflight.results import Result
from clusterwright.checks.preflight.subject import Subject
from clusterwright.pricing.book import PriceBook

STACK = "small"

_AWS_NODE = {
    "instanceType": "p5.48xlarge",
    "gpusPerNode": 8,
    "gpuType": "h100",
    "cpus": 192,
    "memoryMib": 2000000,
    "fabric": "efa",
    "image": "ami-0123456789abcdef0",
    "networkCards": 32,
    "fabricInterfaces": 32,
    "cardZeroHasFabric": True,
    "maxInterfacesPerCard": 2,
}
_AZURE_NODE = {
    "instanceType": "Standard_ND96isr_H100_v5",
    "gpusPerNode": 8,
    "gpuType": "h100",
    "cpus": 96,
    "memoryMib": 1900000,
    "fabric": "infiniband",
    "fabricInterfaces": 8,
    "maxNodesPerScaleSet": 100,
    "image": "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901",
}
_GCP_NODE = {
    "instanceType": "a3-megagpu-8g",
    "gpusPerNode": 8,
    "gpuType": "h100",
    "cpus": 208,
    "memoryMib": 1900000,
    "fabric": "tcpxo",
    "image": "ubuntu-os-accelerator-images/ubuntu-accelerator-2404-amd64-with-nvidia-580-v20260522",
    "nicType": "GVNIC",
    "gpuNetworks": 8,
    "mtu": 8244,
    "rdma": False,
    "rdmaSubnets": 0,
}
_EVERY_LAYER: dict[str, dict[str, Any]] = {
    "aws": {"aws:region": "us-east-1", "availabilityZone": "us-east-1a"},
    "azure": {"location": "eastus", "zone": "1"},
    "gcp": {"gcp:project": "my-gpu-project", "gcp:region": "us-central1", "zone": "us-central1-a"},
}
_FOUNDATION: dict[str, dict[str, Any]] = {
    "aws": {
        "vpcCidr": "10.64.0.0/16",
        "sharedStorage": {"capacityGib": 96000, "throughputMbPerSPerTib": 250, "mountPath": "/shared"},
    },
    "azure": {
        "vnetAddressSpace": "10.40.0.0/16",
        "sharedStorage": {"capacityTib": 96, "throughputMbPerSPerTib": 250, "mountPath": "/shared"},
    },
    "gcp": {
        "networkCidr": "10.0.0.0/12",
        "billingAccount": "012345-6789AB-CDEF01",
        "sharedStorage": {"capacityGib": 108000, "throughputMbPerSPerTib": 500, "mountPath": "/shared"},
    },
}
_NODE = {"aws": _AWS_NODE, "azure": _AZURE_NODE, "gcp": _GCP_NODE}

_PROGRAM = {
    "aws": """\
PORTS = ((988, 988), (1018, 1023))
aws.vpc.SecurityGroupIngressRule("in", referenced_security_group_id=group.id, ip_protocol="-1")
aws.vpc.SecurityGroupEgressRule("out", referenced_security_group_id=group.id, ip_protocol="-1")
aws.ec2.LaunchTemplateMetadataOptionsArgs(http_tokens="required")
""",
    "azure": 'PORTS = ("988", "1019-1023")\nnetwork.SecurityRuleArgs(source_address_prefix=nodes)\n',
    "gcp": 'PORT = "988"\ncompute.Firewall("internal", direction="INGRESS", source_ranges=[str(subnet)])\n',
}
_WORKFLOW = """\
on: pull_request
permissions:
  contents: read
  id-token: write
jobs:
  preview:
    runs-on: ubuntu-24.04
    steps:
      - run: ./cluster.sh preview --policy-pack policy
"""

Config = dict[str, dict[str, Any]]


def configuration(cloud: str) -> Config:
    """Return keys and values of each layer, without the projects' namespaces."""
    shared = {**_EVERY_LAYER[cloud], "clusterName": "small", "tags": {"team": "ml"}}
    layers: Config = {
        "foundation": {
            **shared,
            **_FOUNDATION[cloud],
            "budgetUsdPerMonth": 50_000_000,
            "alertEmail": "ml@example.com",
        },
        "cluster": {
            **shared,
            "foundationStack": f"organization/{cloud}-gpu-foundation/{STACK}",
            "users": [
                {
                    "name": "alice",
                    "uid": 20001,
                    "ssh_keys": [
                        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBr5qlV/mQcbXat+Wt5+JqXeQsb6kpNLOodxKE1v4+8N alice"
                    ],
                }
            ],
        },
        "nodes": {
            **shared,
            "foundationStack": f"organization/{cloud}-gpu-foundation/{STACK}",
            "clusterStack": f"organization/{cloud}-gpu-cluster/{STACK}",
            "nodeCount": 8,
            "nodeType": dict(_NODE[cloud]),
            "capacity": "on-demand",
            "timeToLiveHours": 168,
        },
    }
    return deepcopy(layers)


def files(cloud: str, config: Config | None = None, *, more: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """Return the files of a project.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        config: keys and values of each layer.
        more: files to add or replace; None removes one.
    """
    found: dict[str, str | None] = {
        "README.md": "# small\n",
        "cluster.sh": "#!/usr/bin/env bash\npulumi preview --policy-pack policy\n",
        "cloud.sh": "#!/usr/bin/env bash\n",
        "pyproject.toml": "",
        "requirements.txt": "",
        "gpu_cluster/__init__.py": "",
        "gpu_cluster/security.py": _PROGRAM[cloud],
        "policy/PulumiPolicy.yaml": "runtime: python\n",
        "policy/__main__.py": "",
        "policy/requirements.txt": "pulumi-policy==1.21.0\n",
        ".github/workflows/infrastructure.yml": _WORKFLOW,
    }
    for layer, values in (config or configuration(cloud)).items():
        project = f"{cloud}-gpu-{layer}"
        sound = {**configuration(cloud)[layer], "reservationId": "", "existingNetwork": {}}
        declared = {key: {"type": _kind(value), "default": ""} for key, value in sound.items() if ":" not in key}
        found[f"{layer}/Pulumi.yaml"] = _yaml({"name": project, "runtime": "python", "config": declared})
        full = {key if ":" in key else f"{project}:{key}": value for key, value in values.items()}
        found[f"{layer}/Pulumi.{STACK}.yaml"] = _yaml({"config": full})
        found[f"{layer}/__main__.py"] = ""
    found |= more or {}
    return {name: text for name, text in found.items() if text is not None}


def _kind(value: object) -> str:
    return {dict: "object", list: "array", int: "integer", bool: "boolean"}.get(type(value), "string")


def _yaml(value: object) -> str:
    stream = io.StringIO()
    yaml = YAML()
    yaml.width = 400
    yaml.dump(value, stream)
    return stream.getvalue()


def subject(cloud: str, config: Config | None = None, *, more: Mapping[str, str | None] | None = None) -> Subject:
    """Return a project as checks see it."""
    return Subject(project=project_of("here", files(cloud, config, more=more)), catalogue=load(), book=PriceBook.open())


def found(
    cloud: str, config: Config | None = None, *, more: Mapping[str, str | None] | None = None, only: str = ""
) -> dict[str, list[Result]]:
    """Return the results of a project's checks by id: of all, or of one alone."""
    results: dict[str, list[Result]] = {}
    for result in offline(subject(cloud, config, more=more), (only,) if only else ()):
        results.setdefault(result.check, []).append(result)
    return results


def asked(name: str, code: str) -> Ask:
    """Return a quota to ask a provider for."""
    return Ask(name=name, code=code, verified=True, amount=1, unit="", show="", more="")
