"""What the layers `cluster` and `nodes` take from the layer `foundation`."""

from dataclasses import dataclass

import pulumi

from gpu_cluster.other_layer import OtherLayer


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """Outputs of the foundation, by their names there."""

    network_resource_group_name: pulumi.Output[str]
    node_subnet_id: pulumi.Output[str]
    service_subnet_id: pulumi.Output[str]
    controller_address: pulumi.Output[str]
    database_zone_id: pulumi.Output[str]
    key_vault_id: pulumi.Output[str]
    key_id: pulumi.Output[str]
    key_url: pulumi.Output[str]
    disk_encryption_set_id: pulumi.Output[str]
    secret_vault_id: pulumi.Output[str]
    secret_id: pulumi.Output[str]
    container_id: pulumi.Output[str]
    bucket_url: pulumi.Output[str]
    file_system_mount_source: pulumi.Output[str]
    file_system_mount_path: pulumi.Output[str]
    controller_identity_id: pulumi.Output[str]
    controller_identity_client_id: pulumi.Output[str]
    controller_identity_principal_id: pulumi.Output[str]
    login_identity_id: pulumi.Output[str]
    login_identity_client_id: pulumi.Output[str]
    compute_identity_id: pulumi.Output[str]
    compute_identity_client_id: pulumi.Output[str]
    compute_identity_principal_id: pulumi.Output[str]
    log_workspace_id: pulumi.Output[str]
    action_group_id: pulumi.Output[str]
    bastion_name: pulumi.Output[str]


def foundation_outputs(stack: str, *, node_count: int = 0) -> Foundation:
    """Refer to the stack of the foundation; an output that it lacks is an error.

    Args:
        stack: full name of the foundation's stack.
        node_count: nodes that its network must have addresses for.
    """
    layer = OtherLayer(stack)
    # The slots of a frozen record are its fields in order.
    outputs = {field: layer.text(field) for field in Foundation.__slots__ if field != "node_subnet_id"}
    return Foundation(node_subnet_id=layer.text_for_nodes("node_subnet_id", node_count), **outputs)
