"""Fills the boot environment of a machine from settings and from what the other components made."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from settings import Settings
from user_data import NodeEnvironment, user_data_base64


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineBoot:
    """What controller and compute nodes have in common at boot."""

    settings: Settings
    scripts: Mapping[str, str]
    secret_arn: pulumi.Output[str]
    mount_source: pulumi.Output[str]
    bucket_name: pulumi.Output[str]

    def user_data_base64(self, role: str) -> pulumi.Output[str]:
        """Build the user-data of one role, once the names it carries are known."""
        settings = self.settings

        def build(secret_id: str, shared_source: str, bucket: str) -> str:
            environment = NodeEnvironment(
                role=role,
                cluster_name=settings.cluster_name,
                partition=settings.partition,
                controller_address=str(settings.addresses.controller),
                region=settings.region,
                secret_id=secret_id,
                node_count=settings.node_count,
                gpus_per_node=settings.node_type.gpus_per_node,
                gpu_type=settings.node_type.gpu_type,
                fabric=settings.node_type.fabric,
                fabric_interfaces=settings.node_type.fabric_interfaces,
                shared_source=shared_source,
                shared_path=settings.shared_storage.mount_path,
                bucket=bucket,
            )
            return user_data_base64(environment, self.scripts)

        return pulumi.Output.all(self.secret_arn, self.mount_source, self.bucket_name).apply(
            lambda known: build(known[0], known[1], known[2])
        )
