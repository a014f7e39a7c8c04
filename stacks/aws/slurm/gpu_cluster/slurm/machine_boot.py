"""Fills the boot environment of a machine from settings and from what the layers made."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from gpu_cluster.foundation_stack import Foundation
from gpu_cluster.node_type import NodeType
from gpu_cluster.slurm.accounting_database import DatabaseAccess
from gpu_cluster.slurm.user_data import NodeEnvironment, user_data_base64


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineBoot:
    """What controller, login machine and compute nodes have in common at boot."""

    cluster_name: str
    region: str
    node_type: NodeType
    scripts: Mapping[str, str]
    foundation: Foundation
    partition: pulumi.Input[str]
    secret_id: pulumi.Input[str]
    users_id: pulumi.Input[str]
    directory_places: pulumi.Input[str] = ""
    login_role: str = "login"
    job_environment: str

    def user_data_base64(
        self,
        role: str,
        controller_address: pulumi.Input[str],
        *,
        database: DatabaseAccess | None = None,
        spot: bool = False,
        busy_metric: bool = False,
    ) -> pulumi.Output[str]:
        """Build the user-data of one role, once the names it carries are known.

        With a database, Slurm's commands on the login machine have to know of it; its password is the controller's.
        """
        keeper = database if role == "controller" else None

        def build(known: Mapping[str, str]) -> str:
            environment = NodeEnvironment(
                role=role,
                cluster_name=self.cluster_name,
                partition=known["partition"],
                controller_address=known["controller_address"],
                region=self.region,
                secret_id=known["secret_id"],
                users_id=known["users_id"],
                directory_places=known["directory_places"],
                login_role=self.login_role,
                gpus_per_node=self.node_type.gpus_per_node,
                gpu_type=self.node_type.gpu_type,
                # The drivers name their device files as the software is named: /dev/nvidia0, /dev/neuron0.
                accelerator_device=self.node_type.software,
                fabric=self.node_type.fabric,
                fabric_interfaces=self.node_type.fabric_interfaces,
                shared_source=known["shared_source"],
                shared_path=known["shared_path"],
                bucket=known["bucket"],
                database_host=known["database_host"],
                database_user=keeper.user if keeper else "",
                database_secret_id=known["database_secret_id"],
                database_authority=keeper.authority if keeper else "",
                spot=spot,
                busy_metric=busy_metric,
                job_environment=self.job_environment,
            )
            return user_data_base64(environment, self.scripts)

        names: dict[str, pulumi.Input[str]] = {
            "partition": self.partition,
            "controller_address": controller_address,
            "secret_id": self.secret_id,
            "users_id": self.users_id,
            "directory_places": self.directory_places,
            "shared_source": self.foundation.file_system_mount_source,
            "shared_path": self.foundation.file_system_mount_path,
            "bucket": self.foundation.bucket_name,
            "database_host": database.host if database else "",
            "database_secret_id": keeper.secret_arn if keeper else "",
        }
        return pulumi.Output.all(**names).apply(build)
