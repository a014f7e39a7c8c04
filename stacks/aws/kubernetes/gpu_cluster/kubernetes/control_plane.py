"""The control plane: private, with secrets under the cluster's own key and an audit log that is kept."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.kubernetes.api_access import server_of
from gpu_cluster.permissions import Account, Statement, document, service_trust

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlPlaneArgs:
    """What the control plane needs; see `ClusterSettings` for what is configured."""

    account: Account
    cluster_name: str
    kubernetes_version: str
    subnet_ids: pulumi.Input[Sequence[str]]
    key_arn: pulumi.Input[str]
    operator_cidrs: Sequence[str]
    admin_role_arns: Sequence[str]
    log_retention_days: int
    deletion_protection: bool


class ControlPlane(pulumi.ComponentResource):
    """EKS cluster with its role, log group, OIDC provider and administrators."""

    def __init__(self, name: str, args: ControlPlaneArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:ControlPlane", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        role = aws.iam.Role(
            f"{name}-role", assume_role_policy=service_trust("eks.amazonaws.com", args.account), opts=child
        )
        rights: list[pulumi.Resource] = [
            aws.iam.RolePolicyAttachment(
                f"{name}-rights",
                role=role.name,
                policy_arn=managed_policy(args.account, "AmazonEKSClusterPolicy"),
                opts=child,
            ),
            aws.iam.RolePolicy(
                f"{name}-key-use",
                role=role.id,
                policy=document(
                    Statement(
                        sid="EncryptKubernetesSecrets",
                        actions=["kms:Encrypt", "kms:Decrypt", "kms:DescribeKey", "kms:ListGrants"],
                        resources=[args.key_arn],
                    )
                ),
                opts=child,
            ),
        ]
        # EKS makes this group itself where it is missing: unencrypted and without an end.
        logs = aws.cloudwatch.LogGroup(
            f"{name}-logs",
            name=f"/aws/eks/{args.cluster_name}/cluster",
            retention_in_days=args.log_retention_days,
            kms_key_id=args.key_arn,
            opts=child,
        )
        self.cluster = aws.eks.Cluster(
            f"{name}-cluster",
            name=args.cluster_name,
            version=args.kubernetes_version,
            role_arn=role.arn,
            vpc_config=aws.eks.ClusterVpcConfigArgs(
                subnet_ids=args.subnet_ids,
                endpoint_private_access=True,
                endpoint_public_access=bool(args.operator_cidrs),
                public_access_cidrs=list(args.operator_cidrs) or None,
            ),
            access_config=aws.eks.ClusterAccessConfigArgs(
                authentication_mode="API",
                # The add-ons of this layer are installed by whoever makes the cluster.
                bootstrap_cluster_creator_admin_permissions=True,
            ),
            # The add-ons are managed ones, so that EKS keeps and updates them; these would be in their way.
            bootstrap_self_managed_addons=False,
            encryption_config=aws.eks.ClusterEncryptionConfigArgs(
                provider=aws.eks.ClusterEncryptionConfigProviderArgs(key_arn=args.key_arn), resources=["secrets"]
            ),
            enabled_cluster_log_types=list(LOG_TYPES),
            # Past its time, a version is a decision and not a surcharge: extended support costs six times as much.
            upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),
            deletion_protection=args.deletion_protection,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*rights, logs]),
        )
        issuer = self.cluster.identities.apply(lambda found: found[0].oidcs or []).apply(lambda found: found[0].issuer)
        aws.iam.OpenIdConnectProvider(
            f"{name}-identities",
            url=issuer.apply(lambda address: address or ""),
            client_id_lists=["sts.amazonaws.com"],
            opts=child,
        )
        for place, arn in enumerate(args.admin_role_arns):
            entry = aws.eks.AccessEntry(
                f"{name}-admin-{place}", cluster_name=self.cluster.name, principal_arn=arn, opts=child
            )
            aws.eks.AccessPolicyAssociation(
                f"{name}-admin-{place}-rights",
                cluster_name=self.cluster.name,
                principal_arn=entry.principal_arn,
                policy_arn=pulumi.Output.format(
                    "arn:{0}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy", args.account.partition
                ),
                access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
                opts=child,
            )
        self.name: pulumi.Output[str] = self.cluster.name
        self.arn: pulumi.Output[str] = self.cluster.arn
        self.endpoint: pulumi.Output[str] = self.cluster.endpoint
        self.security_group_id: pulumi.Output[str] = self.cluster.vpc_config.apply(
            lambda found: found.cluster_security_group_id or ""
        )
        self.register_outputs({"endpoint": self.endpoint})

    def kubeconfig(self, region: str, *, tunnel: bool) -> pulumi.Output[str]:
        """Return how Pulumi's Kubernetes provider reaches the cluster: by the AWS command line's token, no password."""
        certificate = self.cluster.certificate_authority.apply(lambda found: found.data)
        server = self.endpoint.apply(lambda address: server_of(address, tunnel=tunnel))
        return pulumi.Output.json_dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "cluster",
                "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "operator"}}],
                "clusters": [
                    {
                        "name": "cluster",
                        "cluster": pulumi.Output.all(server, certificate).apply(
                            lambda found: {**found[0], "certificate-authority-data": found[1]}
                        ),
                    }
                ],
                "users": [
                    {
                        "name": "operator",
                        "user": {
                            "exec": {
                                "apiVersion": "client.authentication.k8s.io/v1beta1",
                                "command": "aws",
                                "args": ["eks", "get-token", "--region", region, "--cluster-name", self.name],
                                "interactiveMode": "Never",
                            }
                        },
                    }
                ],
            }
        )


def managed_policy(account: Account, name: str) -> pulumi.Output[str]:
    """Return the ARN of a policy that AWS keeps."""
    return pulumi.Output.format("arn:{0}:iam::aws:policy/{1}", account.partition, name)
