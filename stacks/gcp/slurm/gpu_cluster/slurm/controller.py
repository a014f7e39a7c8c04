"""The Slurm head node: one small machine without public address, reached through Identity-Aware Proxy."""

from dataclasses import dataclass

import pulumi
from pulumi_gcp import compute, iap, serviceaccount

import limits
from settings import ControllerSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class ControllerArgs:
    """What the controller is made of."""

    cluster_name: str
    region: str
    zone: str
    machine: ControllerSettings
    address: str
    network: pulumi.Output[str]
    subnetwork: pulumi.Output[str]
    account: serviceaccount.Account
    disk_key: pulumi.Output[str]
    disk_encryption: pulumi.Resource
    user_data: pulumi.Output[str]
    operators: tuple[str, ...]
    labels: dict[str, str]


class Controller(pulumi.ComponentResource):
    """Controller machine, its fixed private address and the people who may log in."""

    instance: compute.Instance

    def __init__(self, name: str, args: ControllerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:gcp:Controller", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        address = compute.Address(
            f"{args.cluster_name}-controller",
            address_type="INTERNAL",
            address=args.address,
            region=args.region,
            subnetwork=args.subnetwork,
            labels=args.labels,
            opts=child,
        )
        self.instance = compute.Instance(
            f"{args.cluster_name}-controller",
            zone=args.zone,
            machine_type=args.machine.instance_type,
            boot_disk=compute.InstanceBootDiskArgs(
                initialize_params=compute.InstanceBootDiskInitializeParamsArgs(
                    image=args.machine.image,
                    size=args.machine.boot_disk_gb,
                    type=limits.boot_disk_type_for(args.machine.instance_type),
                    labels=args.labels,
                ),
                kms_key_self_link=args.disk_key,
            ),
            # No access_configs: without one the machine has no public address.
            network_interfaces=[
                compute.InstanceNetworkInterfaceArgs(
                    network=args.network,
                    subnetwork=args.subnetwork,
                    network_ip=address.address,
                    nic_type="GVNIC",
                )
            ],
            service_account=compute.InstanceServiceAccountArgs(email=args.account.email, scopes=["cloud-platform"]),
            shielded_instance_config=compute.InstanceShieldedInstanceConfigArgs(
                enable_secure_boot=True, enable_vtpm=True, enable_integrity_monitoring=True
            ),
            scheduling=compute.InstanceSchedulingArgs(on_host_maintenance="MIGRATE", automatic_restart=True),
            metadata={
                "enable-oslogin": "TRUE",
                "block-project-ssh-keys": "TRUE",
                "serial-port-enable": "FALSE",
                "user-data": args.user_data,
            },
            allow_stopping_for_update=True,
            labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[args.disk_encryption]),
        )
        for number, operator in enumerate(args.operators, start=1):
            self._let_log_in(f"{args.cluster_name}-operator-{number}", operator, args)
        self.register_outputs({"instance": self.instance.name})

    def _let_log_in(self, name: str, operator: str, args: ControllerArgs) -> None:
        child = pulumi.ResourceOptions(parent=self)
        iap.TunnelInstanceIAMMember(
            f"{name}-tunnel",
            instance=self.instance.name,
            zone=args.zone,
            role="roles/iap.tunnelResourceAccessor",
            member=operator,
            opts=child,
        )
        compute.InstanceIAMMember(
            f"{name}-login",
            instance_name=self.instance.name,
            zone=args.zone,
            role="roles/compute.osAdminLogin",
            member=operator,
            opts=child,
        )
        # OS Login asks for the right to act as the machine's account, since a shell on the machine has that account.
        serviceaccount.IAMMember(
            f"{name}-account",
            service_account_id=args.account.name,
            role="roles/iam.serviceAccountUser",
            member=operator,
            opts=child,
        )
