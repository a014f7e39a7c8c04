"""The TPU nodes: one slice, which Google makes and removes as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_gcp import storage, tpu

from gpu_cluster.capacity import Capacity
from gpu_cluster.tpu_slices import TpuSlice

# The word of the API for the generation (cloud.google.com/tpu/docs/reference/rest/v2/AcceleratorConfig).
GENERATION = {"v5p": "V5P"}


@dataclass(frozen=True, kw_only=True, slots=True)
class TpuNodesArgs:
    """What the slice is made of."""

    cluster_name: str
    zone: str
    slice: TpuSlice
    capacity: Capacity
    network_id: pulumi.Input[str]
    subnetwork_id: pulumi.Input[str]
    account_email: pulumi.Input[str]
    bucket_name: pulumi.Input[str]
    labels: Mapping[str, str]


class TpuNodes(pulumi.ComponentResource):
    """A slice on private addresses. Its disks take no key of ours: the service has no field for one."""

    vm: tpu.V2Vm

    def __init__(self, name: str, args: TpuNodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:TpuNodes", name, None, opts)
        # On a slice no script mounts the bucket: its jobs use it as the machine.
        storage.BucketIAMMember(
            f"{args.cluster_name}-tpu-bucket",
            bucket=args.bucket_name,
            role="roles/storage.objectUser",
            member=pulumi.Output.concat("serviceAccount:", args.account_email),
            opts=pulumi.ResourceOptions(parent=self),
        )
        prefix = args.slice.accelerator_type.partition("-")[0]
        self.vm = tpu.V2Vm(
            f"{args.cluster_name}-tpu",
            zone=args.zone,
            description=f"{args.slice.accelerator_type}: {args.slice.chips} chips on {args.slice.hosts} hosts",
            accelerator_config=tpu.V2VmAcceleratorConfigArgs(type=GENERATION[prefix], topology=args.slice.topology),
            runtime_version=args.slice.runtime_version,
            network_config=tpu.V2VmNetworkConfigArgs(
                network=args.network_id, subnetwork=args.subnetwork_id, enable_external_ips=False
            ),
            scheduling_config=tpu.V2VmSchedulingConfigArgs(
                spot=args.capacity.model == "spot", reserved=args.capacity.model == "reservation"
            ),
            service_account=tpu.V2VmServiceAccountArgs(email=args.account_email, scopes=["cloud-platform"]),
            shielded_instance_config=tpu.V2VmShieldedInstanceConfigArgs(enable_secure_boot=True),
            metadata={
                "enable-oslogin": "TRUE",
                "block-project-ssh-keys": "TRUE",
                "startup-script": pulumi.Output.from_input(args.bucket_name).apply(
                    lambda bucket: start_up_script(args.cluster_name, bucket)
                ),
            },
            labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"name": self.vm.name})


def start_up_script(cluster_name: str, bucket_name: str) -> str:
    """Tells jobs on every host which cluster they are in and where its data is."""
    return (
        "#!/bin/sh\n"
        "cat >/etc/profile.d/gpu-cluster.sh <<'END'\n"
        f"export CLUSTER_NAME='{cluster_name}'\n"
        f"export CLUSTER_BUCKET='gs://{bucket_name}'\n"
        "END\n"
    )
