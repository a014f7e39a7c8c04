"""Lets pods ask for the interfaces that carry traffic between GPUs: one pair of objects per network."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from gpu_cluster.kubernetes.accelerators import PodNetwork

API = "networking.gke.io/v1"


@dataclass(frozen=True, kw_only=True, slots=True)
class PodNetworksArgs:
    """Names for pods, and the VPC networks behind them in the same order."""

    networks: Sequence[PodNetwork]
    gpu_networks: pulumi.Output[Sequence[dict[str, str]]]
    after: Sequence[pulumi.Resource]


class PodNetworks(pulumi.ComponentResource):
    """`GKENetworkParamSet` says where an interface is, `Network` is what a pod's annotation names."""

    def __init__(self, name: str, args: PodNetworksArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:PodNetworks", name, None, opts)
        for place, network in enumerate(args.networks):
            parameters = kubernetes.apiextensions.CustomResource(
                f"{name}-{network.name}-parameters",
                api_version=API,
                kind="GKENetworkParamSet",
                metadata=kubernetes.meta.v1.ObjectMetaArgs(name=network.name),
                spec={
                    "vpc": _last_part(args.gpu_networks, place, "network"),
                    "vpcSubnet": _last_part(args.gpu_networks, place, "subnetwork"),
                    "deviceMode": network.device_mode,
                },
                opts=pulumi.ResourceOptions(parent=self, depends_on=args.after),
            )
            kubernetes.apiextensions.CustomResource(
                f"{name}-{network.name}",
                api_version=API,
                kind="Network",
                metadata=kubernetes.meta.v1.ObjectMetaArgs(name=network.name),
                spec={
                    "type": "Device",
                    "parametersRef": {
                        "group": "networking.gke.io",
                        "kind": "GKENetworkParamSet",
                        "name": network.name,
                    },
                },
                opts=pulumi.ResourceOptions(parent=self, depends_on=[parameters]),
            )
        self.register_outputs({})


def _last_part(networks: pulumi.Output[Sequence[dict[str, str]]], place: int, key: str) -> pulumi.Output[str]:
    """Return the bare name, which these objects want, of the id that everything else wants."""
    return networks.apply(lambda found: found[place][key].rpartition("/")[2])
