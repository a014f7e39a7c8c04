"""What the nodes and the jobs may do in Google Cloud, beyond what the foundation gave them."""

from dataclasses import dataclass

import pulumi
from pulumi_gcp import projects, storage

from gpu_cluster.kubernetes import busy_reports
from gpu_cluster.kubernetes.workload import NAMESPACE, SERVICE_ACCOUNT

# Google Kubernetes Engine, "Harden your cluster's security": what a node with an account of its own needs, which is to
# write logs and metrics. The right to pull images is on their repository (README.md).
NODE_ROLES = ("roles/container.defaultNodeServiceAccount",)
METRIC_ROLE = "roles/monitoring.metricWriter"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRightsArgs:
    """Whose rights, and on what."""

    cluster_name: str
    project: str
    project_number: pulumi.Input[str]
    account_email: pulumi.Input[str]
    bucket_name: pulumi.Input[str]
    reports_busy_gpus: bool


class NodeRights(pulumi.ComponentResource):
    """Roles of the nodes' account, and what pods may do: jobs with this cluster's bucket, reports with its metric."""

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
        self._name, self._args = args.cluster_name, args
        self.register_outputs({})

    def grant_to_pods(self, cluster: pulumi.Resource) -> pulumi.Resource | None:
        """Give the jobs the bucket and, where there are any, the reporting pods the right to publish; return that one.

        Pods are known by their namespace and service account, without an account of Google Cloud in between. The pool
        of such identities comes with the project's first cluster, and nothing can be granted to them before.
        """
        after = pulumi.ResourceOptions(parent=self, depends_on=[cluster])
        storage.BucketIAMMember(
            f"{self._name}-jobs-bucket",
            bucket=self._args.bucket_name,
            role="roles/storage.objectUser",
            member=_pods(self._args, NAMESPACE, SERVICE_ACCOUNT),
            opts=after,
        )
        if not self._args.reports_busy_gpus:
            return None
        return projects.IAMMember(
            f"{self._name}-reports-metricWriter",
            project=self._args.project,
            role=METRIC_ROLE,
            member=_pods(self._args, busy_reports.NAMESPACE, busy_reports.SERVICE_ACCOUNT),
            opts=after,
        )


def _pods(args: NodeRightsArgs, namespace: str, service_account: str) -> pulumi.Output[str]:
    """Name the pods of a service account as a member."""
    return pulumi.Output.concat(
        "principal://iam.googleapis.com/projects/",
        args.project_number,
        f"/locations/global/workloadIdentityPools/{args.project}.svc.id.goog",
        f"/subject/ns/{namespace}/sa/{service_account}",
    )
