"""Charts by vendor of the GPUs, and the operator of the InfiniBand adapters."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from gpu_cluster.kubernetes.charts import Chart, Installed, nvidia_charts, queue
from gpu_cluster.kubernetes.vendor import NVIDIA, vendor_of
from gpu_cluster.node_type import NodeType

# The policy is that of Azure/aks-rdma-infiniband configs/nicclusterpolicy @20f39990, which names a release past its
# support; images are those that the operator's release names (Mellanox/network-operator v26.4.1, hack/release.yaml).
NETWORK_OPERATOR = Chart(name="network-operator", version="26.4.1", repository="https://helm.ngc.nvidia.com/nvidia")
RDMA_PLUGIN_TAG = "network-operator-v26.4.1"
DRIVER_TAG = "doca3.4.1-26.04-1.1.0.0-1"
# AMD's operator wants it (README of ROCm/gpu-operator, which names this version).
CERT_MANAGER = Chart(name="cert-manager", version="v1.15.1", repository="https://charts.jetstack.io")
# ROCm/gpu-operator pull request 614 (2026-07-21).
AMD_OPERATOR = Chart(name="gpu-operator-charts", version="v1.5.1", repository="https://rocm.github.io/gpu-operator")
# What pods ask for to see the adapters: rdma/shared_ib.
RDMA_RESOURCE = "shared_ib"
MELLANOX_CARD = "feature.node.kubernetes.io/pci-15b3.present"


def charts(node_type: NodeType) -> list[Installed]:
    """Return the charts for one type of node."""
    vendor = vendor_of(node_type.instance_type)
    tolerations = [{"key": vendor.resource, "operator": "Exists", "effect": "NoSchedule"}]
    found = [queue()]
    if vendor is NVIDIA:
        found += nvidia_charts({"node-kind": "gpu"}, tolerations)
    else:
        found += [
            Installed(chart=CERT_MANAGER, namespace="cert-manager", values={"crds": {"enabled": True}}),
            Installed(chart=AMD_OPERATOR, namespace="kube-amd-gpu"),
        ]
    if node_type.fabric_interfaces:
        detector = {"worker": {"tolerations": tolerations, "nodeSelector": {"node-kind": "gpu"}}}
        found.append(
            Installed(chart=NETWORK_OPERATOR, namespace="network-operator", values={"node-feature-discovery": detector})
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class InfinibandArgs:
    """What the adapters' driver waits for, and the taint that it tolerates."""

    node_type: NodeType
    after: list[pulumi.Resource]


class Infiniband(pulumi.ComponentResource):
    """Driver of the adapters, and the plugin that hands all of a node's to every pod that asks for one."""

    def __init__(self, name: str, args: InfinibandArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:Infiniband", name, {}, opts)
        kubernetes.apiextensions.CustomResource(
            f"{name}-policy",
            api_version="mellanox.com/v1alpha1",
            kind="NicClusterPolicy",
            # The operator obeys this name and no other.
            metadata=kubernetes.meta.v1.ObjectMetaArgs(name="nic-cluster-policy"),
            spec={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": MELLANOX_CARD, "operator": "In", "values": ["true"]}]}
                        ]
                    }
                },
                "tolerations": [
                    {
                        "key": vendor_of(args.node_type.instance_type).resource,
                        "operator": "Exists",
                        "effect": "NoSchedule",
                    }
                ],
                "ofedDriver": {
                    "repository": "nvcr.io/nvidia/mellanox",
                    "image": "doca-driver",
                    "version": DRIVER_TAG,
                    "upgradePolicy": {"autoUpgrade": False},
                },
                "rdmaSharedDevicePlugin": {
                    "repository": "nvcr.io/nvidia/mellanox",
                    "image": "k8s-rdma-shared-dev-plugin",
                    "version": RDMA_PLUGIN_TAG,
                    "config": pulumi.Output.json_dumps(
                        {
                            "configList": [
                                {
                                    "resourceName": RDMA_RESOURCE,
                                    "rdmaHcaMax": 63,
                                    "selectors": {"vendors": ["15b3"], "linkTypes": ["infiniband"]},
                                }
                            ]
                        }
                    ),
                },
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.after),
        )
        self.register_outputs({})
