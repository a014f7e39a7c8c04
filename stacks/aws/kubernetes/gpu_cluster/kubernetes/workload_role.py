"""What jobs may do in AWS: read and write the cluster's bucket, and nothing else."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.kubernetes.managed_add_ons import pod_trust
from gpu_cluster.kubernetes.workload import NAMESPACE, SERVICE_ACCOUNT
from gpu_cluster.permissions import Account, Statement, document


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkloadRoleArgs:
    """What the role is about."""

    account: Account
    cluster_name: pulumi.Input[str]
    bucket_name: pulumi.Input[str]
    key_arn: pulumi.Input[str]


class WorkloadRole(pulumi.ComponentResource):
    """The role of the jobs' service account, by EKS Pod Identity."""

    def __init__(self, name: str, args: WorkloadRoleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:WorkloadRole", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        bucket = pulumi.Output.format("arn:{0}:s3:::{1}", args.account.partition, args.bucket_name)
        role = aws.iam.Role(f"{name}-role", assume_role_policy=pod_trust(args.account), opts=child)
        aws.iam.RolePolicy(
            f"{name}-rights",
            role=role.id,
            policy=document(
                Statement(sid="ListBucket", actions=["s3:GetBucketLocation", "s3:ListBucket"], resources=[bucket]),
                Statement(
                    sid="UseObjects",
                    actions=["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"],
                    resources=[pulumi.Output.concat(bucket, "/*")],
                ),
                Statement(
                    sid="UseKeyThroughTheBucket",
                    actions=["kms:Decrypt", "kms:GenerateDataKey"],
                    resources=[args.key_arn],
                    conditions={"StringEquals": {"kms:ViaService": f"s3.{args.account.region}.amazonaws.com"}},
                ),
            ),
            opts=child,
        )
        aws.eks.PodIdentityAssociation(
            f"{name}-association",
            cluster_name=args.cluster_name,
            namespace=NAMESPACE,
            service_account=SERVICE_ACCOUNT,
            role_arn=role.arn,
            opts=child,
        )
        self.register_outputs({})
