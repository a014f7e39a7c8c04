"""Ends what nobody uses: a workflow that looks every ten minutes whether the nodes are past their time or idle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pulumi
from pulumi_gcp import cloudscheduler, projects, serviceaccount, workflows

from gpu_cluster.place import Place
from gpu_cluster.roles import account_id

SERVICES = ("cloudscheduler", "workflowexecutions", "workflows")
PROGRAM = Path(__file__).with_name("watchdog.yaml")
EVERY_TEN_MINUTES = "*/10 * * * *"
# Resizing needs no right on machines: the group's own service agent makes and removes them.
SCALER_PERMISSIONS = ("compute.instanceGroupManagers.get", "compute.instanceGroupManagers.update")
# Neither monitoring, workflows nor operations take a condition on a resource's name, so these stand alone.
READER_PERMISSIONS = (
    "compute.zoneOperations.get",
    "logging.logEntries.create",
    "monitoring.timeSeries.list",
    "workflows.executions.create",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchdogArgs:
    """Which groups are watched, and what ends them; 0 for never."""

    place: Place
    group_names: Sequence[pulumi.Output[str]]
    time_to_live_hours: int
    stop_when_idle_minutes: int
    labels: Mapping[str, str]
    services: Sequence[pulumi.Resource]


class Watchdog(pulumi.ComponentResource):
    """Scheduler, workflow, and an account that may resize this cluster's groups and no others."""

    workflow: workflows.Workflow

    def __init__(self, name: str, args: WatchdogArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:Watchdog", name, None, opts)
        place, child = args.place, pulumi.ResourceOptions(parent=self)
        self._args = args
        account = serviceaccount.Account(
            f"{place.cluster_name}-watchdog",
            account_id=account_id(place.cluster_name, "watchdog"),
            display_name=f"{place.cluster_name} watchdog",
            opts=child,
        )
        granted = [
            self._grant("scaler", SCALER_PERMISSIONS, account, self._only_own_groups()),
            self._grant("reader", READER_PERMISSIONS, account, None),
        ]
        self.workflow = workflows.Workflow(
            f"{place.cluster_name}-watchdog",
            region=place.region,
            description="Scales idle or expired GPU nodes to 0",
            service_account=account.id,
            source_contents=PROGRAM.read_text(encoding="utf-8"),
            user_env_vars={
                "PROJECT": place.project,
                "ZONE": place.zone,
                "CLUSTER_NAME": place.cluster_name,
                "GROUPS": pulumi.Output.all(*args.group_names).apply(",".join),
                "TIME_TO_LIVE_S": str(args.time_to_live_hours * 3600),
                "IDLE_S": str(args.stop_when_idle_minutes * 60),
            },
            call_log_level="LOG_ERRORS_ONLY",
            deletion_protection=False,
            labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*granted, *args.services]),
        )
        cloudscheduler.Job(
            f"{place.cluster_name}-watchdog",
            region=place.region,
            description="Starts the watchdog of the GPU nodes",
            schedule=EVERY_TEN_MINUTES,
            time_zone="Etc/UTC",
            attempt_deadline="60s",
            http_target=cloudscheduler.JobHttpTargetArgs(
                http_method="POST",
                uri=pulumi.Output.concat(
                    "https://workflowexecutions.googleapis.com/v1/", self.workflow.id, "/executions"
                ),
                oauth_token=cloudscheduler.JobHttpTargetOauthTokenArgs(service_account_email=account.email),
            ),
            opts=child,
        )
        self.register_outputs({"workflow": self.workflow.name})

    def _only_own_groups(self) -> projects.IAMMemberConditionArgs:
        zone = f"projects/{self._args.place.project}/zones/{self._args.place.zone}/instanceGroupManagers"
        expression = pulumi.Output.all(*self._args.group_names).apply(
            lambda names: " || ".join(f'resource.name == "{zone}/{name}"' for name in names)
        )
        return projects.IAMMemberConditionArgs(title="own-groups", expression=expression)

    def _grant(
        self,
        what: str,
        permissions: Sequence[str],
        account: serviceaccount.Account,
        condition: projects.IAMMemberConditionArgs | None,
    ) -> pulumi.Resource:
        place = self._args.place
        role = projects.IAMCustomRole(
            f"{place.cluster_name}-watchdog-{what}",
            role_id=f"{place.cluster_name.replace('-', '_')}_watchdog_{what}",
            title=f"{place.cluster_name} watchdog {what}",
            permissions=list(permissions),
            opts=pulumi.ResourceOptions(parent=self),
        )
        return projects.IAMMember(
            f"{place.cluster_name}-watchdog-{what}",
            project=place.project,
            role=role.name,
            member=account.member,
            condition=condition,
            opts=pulumi.ResourceOptions(parent=self),
        )
