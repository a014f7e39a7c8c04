"""Machines do not use the containers of blobs: whoever is root on one, or asks its metadata service, would."""

from collections.abc import Sequence

from rule import Registered, StackRule

GRANT = "azure-native:authorization:RoleAssignment"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
MACHINES = ("azure-native:compute:VirtualMachine", "azure-native:compute:VirtualMachineScaleSet")
# Definition ids of Azure's own roles (Microsoft, "Azure built-in roles").
DATA_ROLES = {
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": "Storage Blob Data Contributor",
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
    "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1": "Storage Blob Data Reader",
    "81a9662b-bebf-436f-a333-f67b29880f12": "Storage Account Key Operator Service Role",
}
# In the URN of what comes from another layer.
LAYER = "::pulumi:pulumi:StackReference::"
# What an identity has that machines boot with: the secret of Slurm.
SECRET_ROLES = ("b86a8fe4-44ce-4948-aee5-eccb2c155cd7", "4633458b-17de-408a-b874-0445c86b69e6")


def _role(grant: Registered) -> str:
    return str(grant.inputs.get("roleDefinitionId")).rpartition("/")[2].lower()


def no_data_for_machines(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """No identity of machines has a data role; in a layer without theirs, an identity of another layer is one."""
    grants = [one for one in resources if one.type == GRANT]
    secret = {urn for one in grants if _role(one) in SECRET_ROLES for urn in one.behind.get("principalId", ())}
    machines = {one.urn for one in resources if one.type in MACHINES} | secret
    own = {one.urn for one in resources if one.type == IDENTITY}

    def to_machines(grant: Registered) -> bool:
        behind = set(grant.behind.get("principalId", ()))
        if behind & (machines | own) or grant.inputs.get("principalType") != "ServicePrincipal":
            return bool(behind & machines)
        # The identities that a layer hands on are those of machines; one that is written down may be Azure's own, which
        # the foundation serves.
        return any(LAYER in urn for urn in behind) or (not behind and not own & secret)

    return [
        (one.urn, f"gives {DATA_ROLES[_role(one)]} to machines: jobs use the folder that the data identity mounts")
        for one in grants
        if _role(one) in DATA_ROLES and to_machines(one)
    ]


STACK_RULES: Sequence[StackRule] = (
    StackRule(
        name="no-data-for-machines", description="Machines do not use the containers.", check=no_data_for_machines
    ),
)
