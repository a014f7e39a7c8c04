"""What the pods that report busy GPUs may do in AWS: publish to one name space of CloudWatch, and nothing else."""

from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_aws as aws

from gpu_cluster.kubernetes.busy_reports import NAMESPACE, SERVICE_ACCOUNT
from gpu_cluster.kubernetes.managed_add_ons import pod_trust
from gpu_cluster.permissions import Account, document
from gpu_cluster.roles import publish_busy_gpus

# bash, curl and the AWS command line, as pinned in public by whoever pulled it.
IMAGE: Final = (
    "public.ecr.aws/aws-cli/aws-cli:2.36.15@sha256:310813a7eae8fd88da1cc9c37970e3500b0ff3984479e1012f0a6fd44e453f63"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportsRoleArgs:
    """Whose role it is.

    Attributes:
        cluster_name: of the Kubernetes cluster.
        metric_cluster: name of the cluster whose metrics the pods publish.
    """

    account: Account
    cluster_name: pulumi.Input[str]
    metric_cluster: str


class ReportsRole(pulumi.ComponentResource):
    """The role of the reporting pods' service account, by EKS Pod Identity."""

    association: pulumi.Resource

    def __init__(self, name: str, args: ReportsRoleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:ReportsRole", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        role = aws.iam.Role(f"{name}-role", assume_role_policy=pod_trust(args.account), opts=child)
        rights = aws.iam.RolePolicy(
            f"{name}-rights", role=role.id, policy=document(publish_busy_gpus(args.metric_cluster)), opts=child
        )
        # A pod that starts before the association exists never gets the role.
        self.association = aws.eks.PodIdentityAssociation(
            f"{name}-association",
            cluster_name=args.cluster_name,
            namespace=NAMESPACE,
            service_account=SERVICE_ACCOUNT,
            role_arn=role.arn,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[rights]),
        )
        self.register_outputs({})
