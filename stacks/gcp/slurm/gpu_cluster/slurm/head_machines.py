"""The machines beside the nodes: Slurm's controller and the login machine. Neither has a public address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import compute, iap, serviceaccount

from gpu_cluster import limits
from gpu_cluster.settings_cluster import HeadMachine
from gpu_cluster.slurm.user_data import metadata_with


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadMachineArgs:
    """What a head machine is made of, and who may log in to it.

    Attributes:
        administrators: IAM members with a login by IAM that may become root.
        tunnel_members: IAM members who reach SSH; their accounts and keys are those of the cluster's list.
    """

    cluster_name: str
    role: str
    project: str
    zone: str
    machine: HeadMachine
    subnetwork_id: pulumi.Input[str]
    account_email: pulumi.Input[str]
    key_id: pulumi.Input[str]
    user_data: pulumi.Input[str]
    administrators: Sequence[str]
    tunnel_members: Sequence[str]
    labels: Mapping[str, str]


class HeadAddress(pulumi.ComponentResource):
    """The controller's private address, reserved apart from the machine so that it outlives it."""

    address: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        *,
        cluster_name: str,
        region: str,
        subnetwork_id: pulumi.Input[str],
        labels: Mapping[str, str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpucluster:gcp:HeadAddress", name, None, opts)
        self.address = compute.Address(
            f"{cluster_name}-controller",
            address_type="INTERNAL",
            region=region,
            subnetwork=subnetwork_id,
            labels=labels,
            opts=pulumi.ResourceOptions(parent=self),
        ).address
        self.register_outputs({"address": self.address})


class Head(pulumi.ComponentResource):
    """One head machine and its administrators, who reach it through Identity-Aware Proxy alone."""

    instance: compute.Instance

    def __init__(
        self,
        name: str,
        args: HeadMachineArgs,
        *,
        address: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpucluster:gcp:Head", name, None, opts)
        labels = {**args.labels, "role": args.role}
        self.instance = compute.Instance(
            f"{args.cluster_name}-{args.role}",
            zone=args.zone,
            machine_type=args.machine.instance_type,
            boot_disk=compute.InstanceBootDiskArgs(
                initialize_params=compute.InstanceBootDiskInitializeParamsArgs(
                    image=args.machine.image,
                    size=args.machine.boot_disk_gb,
                    type=limits.boot_disk_type_for(args.machine.instance_type),
                    labels=labels,
                ),
                kms_key_self_link=args.key_id,
            ),
            # No access_configs: without one the machine has no public address.
            network_interfaces=[
                compute.InstanceNetworkInterfaceArgs(
                    subnetwork=args.subnetwork_id, network_ip=address, nic_type="GVNIC"
                )
            ],
            service_account=compute.InstanceServiceAccountArgs(email=args.account_email, scopes=["cloud-platform"]),
            shielded_instance_config=compute.InstanceShieldedInstanceConfigArgs(
                enable_secure_boot=True, enable_vtpm=True, enable_integrity_monitoring=True
            ),
            scheduling=compute.InstanceSchedulingArgs(on_host_maintenance="MIGRATE", automatic_restart=True),
            metadata=pulumi.Output.from_input(args.user_data).apply(metadata_with),
            allow_stopping_for_update=True,
            labels=labels,
            # A new minor image must not replace a machine that holds Slurm's state, and cloud-init writes the files of
            # user data at a machine's first boot alone.
            opts=pulumi.ResourceOptions(
                parent=self, ignore_changes=["bootDisk.initializeParams.image", 'metadata["user-data"]']
            ),
        )
        for number, member in enumerate(args.administrators, start=1):
            self._let_log_in(f"{args.cluster_name}-{args.role}-operator-{number}", member, args)
        # By address and not by number: whoever leaves the list changes nobody else's right.
        for member in args.tunnel_members:
            self._let_through(f"{args.cluster_name}-{args.role}-{member.partition(':')[2]}", member, args)
        self.register_outputs({"instance": self.instance.name})

    def _let_through(self, name: str, member: str, args: HeadMachineArgs) -> None:
        iap.TunnelInstanceIAMMember(
            f"{name}-tunnel",
            instance=self.instance.name,
            zone=args.zone,
            role="roles/iap.tunnelResourceAccessor",
            member=member,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _let_log_in(self, name: str, member: str, args: HeadMachineArgs) -> None:
        child = pulumi.ResourceOptions(parent=self)
        self._let_through(name, member, args)
        compute.InstanceIAMMember(
            f"{name}-login",
            instance_name=self.instance.name,
            zone=args.zone,
            role="roles/compute.osAdminLogin",
            member=member,
            opts=child,
        )
        # OS Login asks for the right to act as the machine's account, since a shell on the machine has that account.
        serviceaccount.IAMMember(
            f"{name}-account",
            service_account_id=pulumi.Output.concat("projects/", args.project, "/serviceAccounts/", args.account_email),
            role="roles/iam.serviceAccountUser",
            member=member,
            opts=child,
        )
