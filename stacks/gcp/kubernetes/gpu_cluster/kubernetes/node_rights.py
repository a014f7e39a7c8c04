"""What the nodes and the jobs may do in Google Cloud, beyond what the foundation gave them."""

from dataclasses import dataclass

import pulumi
from pulumi_gcp import projects, storage

from gpu_cluster.kubernetes.training import NAMESPACE, SERVICE_ACCOUNT

# Google Kubernetes Engine, "Harden your cluster's security": what a node with an account of its own needs, which is to
# write logs and metrics. The right to pull images is on their repository (README.md).
NODE_ROLES = ("roles/container.defaultNodeServiceAccount",)


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRightsArgs:
    """Whose rights, and on what."""

    cluster_name: str
    project: str
    project_number: pulumi.Input[str]
    account_email: pulumi.Input[str]
    bucket_name: pulumi.Input[str]


class NodeRights(pulumi.ComponentResource):
    """Roles of the nodes' account, and access of the jobs' service account to this cluster's bucket."""

    given: list[pulumi.Resource]

    def __init__(self, name: str, args: NodeRightsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:NodeRights", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.given = [
            projects.IAMMember(
                f"{args.cluster_name}-nodes-{role.rpartition('/')[2]}",
                project=args.project,
                role=role,
                member=pulumi.Output.concat("serviceAccount:", args.account_email),
                opts=child,
            )
            for role in NODE_ROLES
        ]
        # Jobs are known by their namespace and service account, without an account of Google Cloud in between.
        storage.BucketIAMMember(
            f"{args.cluster_name}-jobs-bucket",
            bucket=args.bucket_name,
            role="roles/storage.objectUser",
            member=pulumi.Output.concat(
                "principal://iam.googleapis.com/projects/",
                args.project_number,
                f"/locations/global/workloadIdentityPools/{args.project}.svc.id.goog",
                f"/subject/ns/{NAMESPACE}/sa/{SERVICE_ACCOUNT}",
            ),
            opts=child,
        )
        self.register_outputs({})
