"""The Plan as a configuration of AWS ParallelCluster 3 (docs.aws.amazon.com/parallelcluster, configuration file)."""

from typing import Any

from clusterwright.blueprint.sections.jobs import SHARED_PATH
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import InputError
from clusterwright.facility.cloud_bill import CONTROLLER_DISK_GIB, NODE_DISK_GIB, controller_of
from clusterwright.outputs.exports.document import Exported
from clusterwright.plan.deployment import AwsExistingIds
from clusterwright.plan.record import Option, Plan

SUBNET_TO_SET = "subnet-00000000000000000"
KEY_TO_SET = "YOUR-KEY-PAIR"
_LOG_DAYS = 90
_LOGIN_GRACE_MINUTES = 60
#: ParallelCluster's word for each way to have the nodes.
_CAPACITY_TYPE = {
    "on-demand": "ONDEMAND",
    "spot": "SPOT",
    "reservation": "ONDEMAND",
    "capacity-block": "CAPACITY_BLOCK",
}


def parallelcluster(plan: Plan, option: Option, catalogue: Catalogue) -> Exported:
    """Return the configuration: one queue of static nodes with EFA, a login machine, FSx for Lustre.

    A placement group is asked for only where there is no reservation: on top of one it makes launches fail.

    Args:
        plan: for names and tags.
        option: on AWS.
        catalogue: for the fabric and placement of the instance type.

    Raises:
        InputError: the target is to run Kubernetes.
    """
    deployment = option.deployment
    if deployment.scheduler == "kubernetes":
        raise InputError("AWS ParallelCluster runs Slurm", help="set scheduler: slurm, or leave it out")
    existing = deployment.existing_network if isinstance(deployment.existing_network, AwsExistingIds) else None
    subnet = existing.node_subnet_id if existing and existing.node_subnet_id else SUBNET_TO_SET
    encrypted = {"RootVolume": {"Size": CONTROLLER_DISK_GIB, "Encrypted": True}}
    controller = controller_of("aws")
    return Exported(
        document={
            "Region": deployment.region,
            "Image": {"Os": "ubuntu2404"},
            "Imds": {"ImdsSupport": "v2.0"},
            "HeadNode": {
                "InstanceType": controller,
                "Networking": {"SubnetId": subnet},
                "LocalStorage": encrypted,
                "Imds": {"Secured": True},
                # By a key, and not by AWS's policy of the Session Manager, whose holder reads every parameter of the
                # account. Login nodes take the head node's key.
                "Ssh": {"KeyName": KEY_TO_SET},
            },
            "LoginNodes": {
                "Pools": [
                    {
                        "Name": "login",
                        "InstanceType": controller,
                        "Count": 1,
                        "Networking": {"SubnetIds": [subnet]},
                        "GracetimePeriod": _LOGIN_GRACE_MINUTES,
                    }
                ]
            },
            "Scheduling": {
                "Scheduler": "slurm",
                # A change of the queue drains nodes before it replaces them.
                "SlurmSettings": {"QueueUpdateStrategy": "DRAIN"},
                "SlurmQueues": [_queue(plan, option, catalogue, subnet=subnet)],
            },
            "SharedStorage": _shared_storage(option, existing),
            "Monitoring": {"Logs": {"CloudWatch": {"Enabled": True, "RetentionInDays": _LOG_DAYS}}},
            "Tags": [{"Key": key, "Value": value} for key, value in (("workload", plan.name), *plan.cluster.tags)],
        },
        to_set=_to_set(option, subnet),
        left_out=_left_out(option),
    )


def _queue(plan: Plan, option: Option, catalogue: Catalogue, *, subnet: str) -> dict[str, Any]:
    deployment = option.deployment
    instance = catalogue.instances[option.cluster.instance]
    reserved = (
        {"CapacityReservationTarget": {"CapacityReservationId": deployment.reservation}}
        if deployment.reservation
        else {}
    )
    placed = instance.placement_kind == "cluster-placement-group" and not deployment.reservation
    return {
        "Name": plan.cluster.partition,
        "CapacityType": _CAPACITY_TYPE[deployment.capacity],
        **reserved,
        "JobExclusiveAllocation": True,
        "Networking": {"SubnetIds": [subnet], **({"PlacementGroup": {"Enabled": True}} if placed else {})},
        "ComputeSettings": {
            "LocalStorage": {
                "RootVolume": {"Size": NODE_DISK_GIB, "Encrypted": True},
                **({"EphemeralVolume": {"MountDir": "/scratch"}} if instance.local_nvme_bytes else {}),
            }
        },
        "HealthChecks": {"Gpu": {"Enabled": catalogue.accelerators[option.cluster.accelerator].vendor == "NVIDIA"}},
        "ComputeResources": [
            {
                "Name": plan.cluster.host_prefix,
                "InstanceType": option.cluster.instance,
                # As many as planned, always: a fabric that scales to zero loses its placement.
                "MinCount": option.cluster.nodes,
                "MaxCount": option.cluster.nodes,
                "Efa": {"Enabled": instance.fabric_kind == "efa"},
            }
        ],
    }


def _shared_storage(option: Option, existing: AwsExistingIds | None) -> list[dict[str, Any]]:
    file_system = option.design.file_system
    assert file_system is not None  # noqa: S101 - every cloud's option has one
    key = {"KmsKeyId": existing.key_arn} if existing and existing.key_arn else {}
    repositories = (
        [
            {
                "Name": folder,
                "FileSystemPath": f"/{folder}",
                "DataRepositoryPath": f"s3://{existing.bucket_name}/{folder}",
                "BatchImportMetaDataOnCreate": True,
                **policy,
            }
            for folder, policy in (
                ("datasets", {"AutoImportPolicy": ["NEW", "CHANGED", "DELETED"]}),
                ("checkpoints", {"AutoExportPolicy": ["NEW", "CHANGED"]}),
            )
        ]
        if existing and existing.bucket_name
        else []
    )
    return [
        {
            "Name": "shared",
            "StorageType": "FsxLustre",
            "MountDir": SHARED_PATH,
            "FsxLustreSettings": {
                "StorageCapacity": file_system.capacity_gib,
                "DeploymentType": "PERSISTENT_2",
                "PerUnitStorageThroughput": file_system.tier.mb_per_s_per_tib,
                "DataCompressionType": "LZ4",
                "DeletionPolicy": "Retain",
                **key,
                **({"DataRepositoryAssociations": repositories} if repositories else {}),
            },
        }
    ]


def _to_set(option: Option, subnet: str) -> list[str]:
    deployment = option.deployment
    zone = deployment.zone or f"the zone of {deployment.region} where your capacity is"
    key = (
        f"an EC2 key pair of {deployment.region} for {KEY_TO_SET}: the way in is SSH, into a private subnet by a "
        "network of yours or an EC2 Instance Connect endpoint"
    )
    private_subnet = f"a private subnet in {zone}, with a way out, for {SUBNET_TO_SET}"
    return [private_subnet, key] if subnet == SUBNET_TO_SET else [key]


def _left_out(option: Option) -> list[str]:
    design, deployment = option.design, option.deployment
    lustre_efa = ["EFA to the Lustre file system"] if design.file_system and design.file_system.tier.efa else []
    stops = (
        ["stopping nodes when idle or expired"]
        if deployment.time_to_live_hours or deployment.stop_when_idle_minutes
        else []
    )
    return ["network, customer keys, budget and alerts: they are the account's", *lustre_efa, *stops]
