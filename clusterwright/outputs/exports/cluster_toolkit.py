"""The Plan as a blueprint of Google's Cluster Toolkit; settings of its modules as of commit 10470803 (2026-06-25)."""

import ipaddress
from typing import Any

from clusterwright.blueprint.sections.jobs import SHARED_PATH
from clusterwright.catalog.records import Catalogue, Instance
from clusterwright.errors import InputError
from clusterwright.facility.cloud_bill import NODE_DISK_GIB, controller_of
from clusterwright.outputs.exports.document import Exported
from clusterwright.plan.record import Option, Plan

_NODESET = "community/modules/compute/schedmd-slurm-gcp-v6-nodeset"
_PARTITION = "community/modules/compute/schedmd-slurm-gcp-v6-partition"
_LOGIN = "community/modules/scheduler/schedmd-slurm-gcp-v6-login"
_CONTROLLER = "community/modules/scheduler/schedmd-slurm-gcp-v6-controller"
_CIDR = "10.64.0.0/16"
#: For the networks of the GPUs: the first of these that the main network leaves free.
_GPU_CIDRS = ("10.128.0.0/12", "172.16.0.0/12")
#: Of each GPU network or RDMA range within the range above.
_GPU_PREFIX = 16
_LUSTRE_NAME = "lustrefs"
_HOST_MAINTENANCE = "TERMINATE"


def cluster_toolkit(plan: Plan, option: Option, catalogue: Catalogue) -> Exported:
    """Return the blueprint: networks of the machine type, Managed Lustre, and Slurm with static nodes.

    Args:
        plan: for names and labels.
        option: on Google Cloud.
        catalogue: for the networks of the machine type.

    Raises:
        InputError: the target is to run Kubernetes, or is a TPU.
    """
    deployment = option.deployment
    instance = catalogue.instances[option.cluster.instance]
    if deployment.scheduler == "kubernetes":
        raise InputError("this export is for Slurm", help="set scheduler: slurm, or leave it out")
    if instance.placement_kind == "tpu-slice":
        raise InputError(
            f"{option.cluster.instance} is a TPU: its node set in the Cluster Toolkit is not expressed here",
            help="choose --to skypilot, or write the Pulumi project with `clusterwright stack`",
        )
    networks, more_of_nodeset, gpu_networks = _networks(option, instance)
    return Exported(
        document={
            "blueprint_name": plan.cluster.name,
            "vars": {
                "deployment_name": plan.cluster.name,
                "project_id": "YOUR-PROJECT",
                "region": deployment.region,
                "zone": _zone(option, instance),
                "labels": dict((("workload", plan.name), *plan.cluster.tags)),
                "instance_image": {"project": "YOUR-PROJECT", "family": "YOUR-SLURM-IMAGE"},
            },
            "deployment_groups": [
                {"group": "network", "modules": networks},
                {
                    "group": "cluster",
                    "modules": [
                        *_storage(option),
                        _nodes(option, instance, gpu_networks, more_of_nodeset),
                        {
                            "id": "partition",
                            "source": _PARTITION,
                            "use": ["nodes"],
                            "settings": {
                                "partition_name": plan.cluster.partition,
                                "is_default": True,
                                "exclusive": False,
                                "partition_conf": {"OverSubscribe": "EXCLUSIVE"},
                            },
                        },
                        {
                            "id": "login",
                            "source": _LOGIN,
                            "use": ["network"],
                            "settings": {
                                "machine_type": controller_of("gcp"),
                                "enable_login_public_ips": False,
                            },
                        },
                        {
                            "id": "controller",
                            "source": _CONTROLLER,
                            "use": ["network", "partition", "login", "shared"],
                            "settings": {
                                "machine_type": controller_of("gcp"),
                                "enable_controller_public_ips": False,
                            },
                        },
                    ],
                },
            ],
        },
        to_set=[
            "project_id",
            (
                "instance_image: an image with Slurm, the driver and the fabric's software, built as the Cluster "
                f"Toolkit's example for {option.cluster.instance.rpartition('-')[0]} machines builds it"
            ),
            *([] if deployment.zone else [f"zone, if your capacity is not in {_zone(option, instance)}"]),
        ],
        left_out=_left_out(option),
    )


def _zone(option: Option, instance: Instance) -> str:
    deployment = option.deployment
    known = next(
        (zone for zone in instance.regions if zone.startswith(f"{deployment.region}-")),
        f"{deployment.region}-a",
    )
    return deployment.zone or known


def _networks(option: Option, instance: Instance) -> tuple[list[dict[str, Any]], dict[str, Any], list[str]]:
    """Return the network modules, what the node set says of its networks, and which of the modules it uses."""
    cidr = ipaddress.ip_network(option.deployment.network_cidr or _CIDR)
    mtu = {"mtu": int(instance.mtu_bytes)} if instance.mtu_bytes else {}
    gpu_cidr = next(free for free in _GPU_CIDRS if not cidr.overlaps(ipaddress.ip_network(free)))
    halves = [str(half) for half in cidr.subnets(prefixlen_diff=1)]
    roce = instance.fabric_kind == "roce"
    main = _vpc("network", halves[0] if roce else str(cidr), mtu)
    if roce:
        subnets = {
            "name_prefix": "$(vars.deployment_name)-rdma",
            "count": instance.rdma_subnets,
            "ip_range": gpu_cidr,
            "region": "$(vars.region)",
        }
        profile = "$(vars.project_id)/global/networkProfiles/$(vars.zone)-vpc-roce"
        rdma = {
            "id": "rdma",
            "source": "modules/network/gpu-rdma-vpc",
            "settings": {
                "network_name": "$(vars.deployment_name)-rdma",
                "network_profile": f"https://www.googleapis.com/compute/beta/projects/{profile}",
                "network_routing_mode": "REGIONAL",
                "subnetworks_template": subnets,
            },
        }
        second = (
            "{network=null, subnetwork=network-2.subnetwork_self_link, subnetwork_project=vars.project_id, "
            'nic_type="GVNIC", queue_count=null, network_ip="", stack_type=null, access_config=[], '
            "ipv6_access_config=[], alias_ip_range=[]}"
        )
        listed = {"additional_networks": f"$(concat([{second}], rdma.subnetwork_interfaces))"}
        return [main, _vpc("network-2", halves[1], mtu), rdma], listed, []
    if instance.gpu_networks:
        gpu = {
            "id": "gpu-networks",
            "source": "modules/network/multivpc",
            "settings": {
                "network_name_prefix": "$(vars.deployment_name)-gpu",
                "network_count": instance.gpu_networks,
                "global_ip_address_range": gpu_cidr,
                "subnetwork_cidr_suffix": _GPU_PREFIX,
                **mtu,
            },
        }
        return [main, gpu], {}, ["gpu-networks"]
    return [main], {}, []


def _vpc(name: str, cidr: str, mtu: dict[str, int]) -> dict[str, Any]:
    suffix = f"-{name}"
    subnet = {
        "subnet_name": f"$(vars.deployment_name){suffix}",
        "subnet_region": "$(vars.region)",
        "subnet_ip": cidr,
        "subnet_private_access": True,
        "subnet_flow_logs": True,
    }
    return {
        "id": name,
        "source": "modules/network/vpc",
        "settings": {"network_name": f"$(vars.deployment_name){suffix}", "subnetworks": [subnet], **mtu},
    }


def _storage(option: Option) -> list[dict[str, Any]]:
    file_system = option.design.file_system
    assert file_system is not None  # noqa: S101 - every cloud's option has one
    return [
        {
            "id": "private-access",
            "source": "community/modules/network/private-service-access",
            "use": ["network"],
        },
        {
            "id": "shared",
            "source": "modules/file-system/managed-lustre",
            "use": ["network", "private-access"],
            "settings": {
                "name": "$(vars.deployment_name)-shared",
                "size_gib": file_system.capacity_gib,
                "local_mount": SHARED_PATH,
                "remote_mount": _LUSTRE_NAME,
            },
        },
    ]


def _nodes(option: Option, instance: Instance, used: list[str], more: dict[str, Any]) -> dict[str, Any]:
    # A reservation and flex-start bring their own placement; a policy on top of either is refused.
    deployment = option.deployment
    placed = deployment.capacity in ("on-demand", "spot") and instance.placement_kind == "compact-policy"
    ways: dict[str, dict[str, Any]] = {
        "on-demand": {},
        "spot": {"enable_spot_vm": True},
        "reservation": {"reservation_name": deployment.reservation},
        "flex-start": {"dws_flex": {"enabled": True}},
    }
    return {
        "id": "nodes",
        "source": _NODESET,
        "use": ["network", *used],
        "settings": {
            "machine_type": option.cluster.instance,
            "node_count_static": option.cluster.nodes,
            "node_count_dynamic_max": 0,
            "bandwidth_tier": "gvnic_enabled",
            "enable_public_ips": False,
            "enable_placement": placed,
            "on_host_maintenance": _HOST_MAINTENANCE,
            "disk_type": "hyperdisk-balanced" if instance.fabric_kind == "roce" else "pd-balanced",
            "disk_size_gb": NODE_DISK_GIB,
            "instance_image": "$(vars.instance_image)",
            "instance_image_custom": True,
            **ways[deployment.capacity],
            **more,
        },
    }


def _left_out(option: Option) -> list[str]:
    deployment = option.deployment
    stops = (
        ["stopping nodes when idle or expired"]
        if deployment.time_to_live_hours or deployment.stop_when_idle_minutes
        else []
    )
    existing = ["the existing network: replace the modules of group network"] if deployment.existing_network else []
    tier = option.design.file_system.tier.mb_per_s_per_tib if option.design.file_system else 0
    return [
        f"the Lustre tier of {tier} MB/s per TiB: the module takes the size alone, so check the throughput you get",
        "customer keys, bucket, budget and alerts",
        *existing,
        *stops,
    ]
