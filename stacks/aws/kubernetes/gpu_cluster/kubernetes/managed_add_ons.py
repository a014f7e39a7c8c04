"""Add-ons that EKS keeps, each with no more rights than its own; they need no access to the API server."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_aws as aws

from gpu_cluster.kubernetes.control_plane import managed_policy
from gpu_cluster.permissions import Account, Statement, document


@dataclass(frozen=True, kw_only=True, slots=True)
class AddOn:
    """One add-on: what it is configured with, and the service account that gets a role of its own."""

    name: str
    before_nodes: bool
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    service_account: str | None = None


ADD_ONS = (
    # Every pod takes an address of the network; without these, a node holds two interfaces full of them in reserve.
    AddOn(
        name="vpc-cni",
        before_nodes=True,
        # Without the agent of network policies they are stored and never enforced.
        values={"enableNetworkPolicy": "true", "env": {"MINIMUM_IP_TARGET": "12", "WARM_IP_TARGET": "4"}},
        service_account="aws-node",
    ),
    AddOn(name="kube-proxy", before_nodes=True),
    AddOn(name="eks-pod-identity-agent", before_nodes=True),
    AddOn(name="coredns", before_nodes=False),
    AddOn(name="metrics-server", before_nodes=False),
    # Tells EKS of failed GPUs and EFA interfaces, so that node repair sees more than a lost heartbeat.
    AddOn(name="eks-node-monitoring-agent", before_nodes=False),
    AddOn(name="aws-fsx-csi-driver", before_nodes=False, service_account="fsx-csi-controller-sa"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ManagedAddOnsArgs:
    """What the add-ons need.

    Attributes:
        before_nodes: whether to install what nodes need to become ready, or what needs nodes to run on.
        versions: by name of the add-on; EKS chooses where none is named.
    """

    account: Account
    cluster: aws.eks.Cluster
    before_nodes: bool
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    after: Sequence[pulumi.Resource] = ()


class ManagedAddOns(pulumi.ComponentResource):
    """The add-ons of one step, with the roles that their service accounts assume."""

    def __init__(self, name: str, args: ManagedAddOnsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:ManagedAddOns", name, None, opts)
        self._name = name
        made = {one.name: self._add_on(one, args) for one in ADD_ONS if one.before_nodes == args.before_nodes}
        self.add_ons = list(made.values())
        # Where none is named, EKS says which fits the cluster's own, once, when the add-on is made; it is kept then.
        self.versions: pulumi.Output[dict[str, str]] = pulumi.Output.all(
            **{name: add_on.addon_version for name, add_on in made.items()}
        )
        self.register_outputs({})

    def _add_on(self, one: AddOn, args: ManagedAddOnsArgs) -> aws.eks.Addon:
        rights: list[pulumi.Resource] = []
        identities = None
        if one.service_account is not None:
            role, given = self._role(one.name, args.account)
            rights.append(given)
            identities = [
                aws.eks.AddonPodIdentityAssociationArgs(role_arn=role.arn, service_account=one.service_account)
            ]
        return aws.eks.Addon(
            f"{self._name}-{one.name}",
            cluster_name=args.cluster.name,
            addon_name=one.name,
            addon_version=args.versions.get(one.name),
            configuration_values=json.dumps(one.values, sort_keys=True) if one.values else None,
            pod_identity_associations=identities,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="PRESERVE",
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*rights, *args.after]),
        )

    def _role(self, add_on: str, account: Account) -> tuple[aws.iam.Role, pulumi.Resource]:
        child = pulumi.ResourceOptions(parent=self)
        role = aws.iam.Role(f"{self._name}-{add_on}-role", assume_role_policy=pod_trust(account), opts=child)
        if add_on == "vpc-cni":
            return role, aws.iam.RolePolicyAttachment(
                f"{self._name}-{add_on}-rights",
                role=role.name,
                policy_arn=managed_policy(account, "AmazonEKS_CNI_Policy"),
                opts=child,
            )
        # The volumes are made by hand, so the driver only has to find them; AWS's own policy would let it make more.
        # The action knows no resource: limited to one it would allow nothing.
        look = Statement(
            sid="FindFileSystems",
            actions=["fsx:DescribeFileSystems"],
            resources=["*"],
            conditions={"StringEquals": {"aws:RequestedRegion": account.region}},
        )
        return role, aws.iam.RolePolicy(
            f"{self._name}-{add_on}-rights", role=role.id, policy=document(look), opts=child
        )


def pod_trust(account: Account) -> pulumi.Output[str]:
    """Write the trust policy of a role that pods of this account's clusters assume (EKS Pod Identity)."""
    return document(
        Statement(
            sid="Assume",
            actions=["sts:AssumeRole", "sts:TagSession"],
            principal={"Service": "pods.eks.amazonaws.com"},
            conditions={"StringEquals": {"aws:SourceAccount": account.account_id}},
        )
    )
