"""The watchdog's code in AWS Lambda: stops the GPU groups of one cluster once it has expired or has been idle.

It needs nothing but the Python and the SDK of Lambda. The environment says what to watch: CLUSTER; GROUPS, a JSON list
of `{"kind": "autoscaling", "name": ...}` or `{"kind": "eks", "cluster": ..., "name": ...}`; TIME_TO_LIVE_HOURS and
STOP_WHEN_IDLE_MINUTES, each 0 for never; NAMESPACE and METRIC of the number of busy GPUs; TOPIC_ARN, or nothing.
"""

import importlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

EXPIRES_AT = "expires-at"
# How often a node publishes the number of its busy GPUs.
SAMPLE_MINUTES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """What the environment says."""

    cluster: str
    groups: Sequence[Mapping[str, str]]
    time_to_live: timedelta | None
    idle: timedelta | None
    namespace: str
    metric: str
    topic_arn: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupState:
    """A group as it is: nodes that are asked for, nodes that run, and the tag that says when it expires."""

    desired: int
    running: int
    expires_at: str | None


def watched(environment: Mapping[str, str]) -> Watched:
    """Read the environment."""
    hours, minutes = int(environment["TIME_TO_LIVE_HOURS"]), int(environment["STOP_WHEN_IDLE_MINUTES"])
    return Watched(
        cluster=environment["CLUSTER"],
        groups=json.loads(environment["GROUPS"]),
        time_to_live=timedelta(hours=hours) if hours else None,
        idle=timedelta(minutes=minutes) if minutes else None,
        namespace=environment["NAMESPACE"],
        metric=environment["METRIC"],
        topic_arn=environment.get("TOPIC_ARN", ""),
    )


def expired(expires_at: str | None, now: datetime) -> bool:
    """Tell whether a tag's time (RFC 3339) is over; a tag that cannot be read is not."""
    try:
        moment = datetime.fromisoformat(expires_at) if expires_at else None
    except ValueError:
        return False
    return moment is not None and moment.tzinfo is not None and moment <= now


def has_been_idle(points: Sequence[Mapping[str, Any]], *, running: int, idle: timedelta) -> bool:
    """Tell whether no GPU of any node was busy all the time; missing data is not idleness.

    Args:
        points: periods of the metric within the time, with `Maximum` and `SampleCount`.
        running: nodes that should have published it.
        idle: how long.
    """
    samples = sum(point["SampleCount"] for point in points)
    # One sample of each node may fall out at the edge of the time.
    expected = running * (idle / timedelta(minutes=SAMPLE_MINUTES) - 1)
    return running > 0 and samples >= expected and all(point["Maximum"] == 0 for point in points)


def reason_to_stop(
    states: Sequence[GroupState], points: Sequence[Mapping[str, Any]], wanted: Watched, now: datetime
) -> str | None:
    """Say why all groups are to be stopped now; None lets them run."""
    late = [state.expires_at for state in states if state.desired and expired(state.expires_at, now)]
    if wanted.time_to_live is not None and late:
        return f"expired at {late[0]}"
    running = sum(state.running for state in states)
    if wanted.idle is not None and has_been_idle(points, running=running, idle=wanted.idle):
        return f"no GPU was busy for {int(wanted.idle.total_seconds() // 60)} minutes"
    return None


class AutoScaling:
    """Auto Scaling groups."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - the SDK of Lambda has no types
        self._client = client

    def state(self, group: Mapping[str, str]) -> GroupState:
        """Look a group up."""
        answer = self._client.describe_auto_scaling_groups(AutoScalingGroupNames=[group["name"]])
        found = answer["AutoScalingGroups"][0]
        tags = {tag["Key"]: tag["Value"] for tag in found["Tags"]}
        running = [one for one in found["Instances"] if one["LifecycleState"] == "InService"]
        return GroupState(desired=found["DesiredCapacity"], running=len(running), expires_at=tags.get(EXPIRES_AT))

    def mark(self, group: Mapping[str, str], expires_at: str) -> None:
        """Write when a group expires."""
        self._client.create_or_update_tags(Tags=[self._tag(group) | {"Value": expires_at, "PropagateAtLaunch": False}])

    def unmark(self, group: Mapping[str, str]) -> None:
        """Take the tag away, so that the time starts anew when nodes do."""
        self._client.delete_tags(Tags=[self._tag(group)])

    def stop(self, group: Mapping[str, str]) -> None:
        """Ask for no node; the largest size stays, for `up` to go back to."""
        self._client.update_auto_scaling_group(AutoScalingGroupName=group["name"], MinSize=0, DesiredCapacity=0)

    @staticmethod
    def _tag(group: Mapping[str, str]) -> dict[str, Any]:
        return {"ResourceId": group["name"], "ResourceType": "auto-scaling-group", "Key": EXPIRES_AT}


class NodeGroups:
    """Managed node groups of Amazon EKS."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401
        self._client = client

    def state(self, group: Mapping[str, str]) -> GroupState:
        """Look a group up; EKS says how many nodes are asked for, not how many run."""
        found = self._client.describe_nodegroup(clusterName=group["cluster"], nodegroupName=group["name"])["nodegroup"]
        desired = found["scalingConfig"]["desiredSize"]
        return GroupState(desired=desired, running=desired, expires_at=found.get("tags", {}).get(EXPIRES_AT))

    def mark(self, group: Mapping[str, str], expires_at: str) -> None:
        """Write when a group expires."""
        self._client.tag_resource(resourceArn=group["arn"], tags={EXPIRES_AT: expires_at})

    def unmark(self, group: Mapping[str, str]) -> None:
        """Take the tag away, so that the time starts anew when nodes do."""
        self._client.untag_resource(resourceArn=group["arn"], tagKeys=[EXPIRES_AT])

    def stop(self, group: Mapping[str, str]) -> None:
        """Ask for no node."""
        self._client.update_nodegroup_config(
            clusterName=group["cluster"],
            nodegroupName=group["name"],
            scalingConfig={"minSize": 0, "desiredSize": 0},
        )


def watch(wanted: Watched, client: Callable[[str], Any], now: datetime) -> str | None:
    """Look at all groups once, mark or stop them, and return why they were stopped.

    Args:
        wanted: what to watch.
        client: makes the SDK's client of a service.
        now: the time, with its zone.
    """
    kinds = {"autoscaling": AutoScaling, "eks": NodeGroups}
    groups = [(group, kinds[group["kind"]](client(group["kind"]))) for group in wanted.groups]
    states = [kind.state(group) for group, kind in groups]
    if wanted.time_to_live is not None:
        for (group, kind), state in zip(groups, states, strict=True):
            if state.desired and state.expires_at is None:
                kind.mark(group, (now + wanted.time_to_live).isoformat(timespec="seconds"))
            elif not state.desired and state.expires_at is not None:
                kind.unmark(group)
    reason = reason_to_stop(states, _points(wanted, client, now), wanted, now)
    if reason is None:
        return None
    for (group, kind), state in zip(groups, states, strict=True):
        if state.desired:
            kind.stop(group)
    if wanted.topic_arn:
        text = f"The GPU nodes of {wanted.cluster} were stopped: {reason}. Data, controller and network are untouched."
        client("sns").publish(TopicArn=wanted.topic_arn, Subject=f"{wanted.cluster}: GPU nodes stopped", Message=text)
    return reason


def _points(wanted: Watched, client: Callable[[str], Any], now: datetime) -> Sequence[Mapping[str, Any]]:
    if wanted.idle is None:
        return []
    answer = client("cloudwatch").get_metric_statistics(
        Namespace=wanted.namespace,
        MetricName=wanted.metric,
        Dimensions=[{"Name": "Cluster", "Value": wanted.cluster}],
        StartTime=now - wanted.idle,
        EndTime=now,
        Period=SAMPLE_MINUTES * 60,
        Statistics=["Maximum", "SampleCount"],
    )
    points: Sequence[Mapping[str, Any]] = answer["Datapoints"]
    return points


def handler(event: object, context: object) -> dict[str, str | None]:
    """Lambda's entry point."""
    del event, context
    sdk = importlib.import_module("boto3")
    return {"stopped": watch(watched(os.environ), sdk.client, datetime.now(UTC))}
