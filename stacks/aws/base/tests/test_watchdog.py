"""Checks when the watchdog stops nodes, with stand-ins for the SDK of Lambda."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpu_cluster.watchdog_function import GroupState, Watched, expired, has_been_idle, reason_to_stop, watch, watched

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


class _Cloud:
    """Auto Scaling groups, node groups, a metric and a topic, as far as the watchdog uses them."""

    def __init__(self, *, desired: int, running: int, points: list[dict[str, Any]], tags: dict[str, str]) -> None:
        self.desired, self.running, self.points, self.tags = desired, running, points, tags
        self.asked: list[dict[str, Any]] = []
        self.told: list[dict[str, Any]] = []

    def client(self, service: str) -> "_Cloud":
        assert service in ("autoscaling", "eks", "cloudwatch", "sns")
        return self

    def describe_auto_scaling_groups(self, **names: Any) -> dict[str, Any]:
        assert names == {"AutoScalingGroupNames": ["group"]}
        instances = [{"LifecycleState": "InService"}] * self.running + [{"LifecycleState": "Pending"}]
        tags = [{"Key": key, "Value": value} for key, value in self.tags.items()]
        return {"AutoScalingGroups": [{"DesiredCapacity": self.desired, "Instances": instances, "Tags": tags}]}

    def create_or_update_tags(self, **arguments: Any) -> None:
        (tag,) = arguments["Tags"]
        assert (tag["ResourceId"], tag["ResourceType"]) == ("group", "auto-scaling-group")
        self.tags[tag["Key"]] = tag["Value"]

    def delete_tags(self, **arguments: Any) -> None:
        (tag,) = arguments["Tags"]
        del self.tags[tag["Key"]]

    def update_auto_scaling_group(self, **arguments: Any) -> None:
        assert arguments == {"AutoScalingGroupName": "group", "MinSize": 0, "DesiredCapacity": 0}
        self.desired = 0

    def describe_nodegroup(self, **names: Any) -> dict[str, Any]:
        assert names == {"clusterName": "kubernetes", "nodegroupName": "group"}
        return {"nodegroup": {"scalingConfig": {"desiredSize": self.desired}, "tags": self.tags}}

    def tag_resource(self, **arguments: Any) -> None:
        assert arguments["resourceArn"] == "arn:group"
        self.tags.update(arguments["tags"])

    def untag_resource(self, **arguments: Any) -> None:
        for key in arguments["tagKeys"]:
            del self.tags[key]

    def update_nodegroup_config(self, **arguments: Any) -> None:
        assert arguments["scalingConfig"] == {"minSize": 0, "desiredSize": 0}
        self.desired = 0

    def get_metric_statistics(self, **arguments: Any) -> dict[str, Any]:
        self.asked.append(arguments)
        return {"Datapoints": self.points}

    def publish(self, **arguments: Any) -> None:
        self.told.append(arguments)


def quiet(nodes: int, periods: int = 12, busy: int = 0) -> list[dict[str, Any]]:
    """Periods in which every node reported, and the most GPUs that were busy on one of them."""
    return [{"Maximum": float(busy), "SampleCount": float(nodes)} for _ in range(periods)]


def wanted(kind: str = "autoscaling", *, hours: int = 0, minutes: int = 0) -> Watched:
    """What one group is watched for."""
    group = {"kind": kind, "name": "group", "cluster": "kubernetes", "arn": "arn:group"}
    return watched(
        {
            "CLUSTER": "gpt3",
            "GROUPS": json.dumps([group]),
            "TIME_TO_LIVE_HOURS": str(hours),
            "STOP_WHEN_IDLE_MINUTES": str(minutes),
            "NAMESPACE": "gpu-cluster",
            "METRIC": "BusyGpus",
            "TOPIC_ARN": "arn:topic",
        }
    )


@pytest.mark.parametrize("kind", ["autoscaling", "eks"])
def test_time_starts_with_the_nodes_and_ends_them(kind: str) -> None:
    """The first look writes when a running group expires; the first one after that stops it and tells people."""
    cloud = _Cloud(desired=4, running=4, points=[], tags={})
    assert watch(wanted(kind, hours=72), cloud.client, NOW) is None
    assert cloud.tags == {"expires-at": "2026-11-24T12:00:00+00:00"}
    assert watch(wanted(kind, hours=72), cloud.client, NOW + timedelta(hours=71, minutes=59)) is None
    assert cloud.desired == 4
    assert watch(wanted(kind, hours=72), cloud.client, NOW + timedelta(hours=72)) == (
        "expired at 2026-11-24T12:00:00+00:00"
    )
    assert cloud.desired == 0
    assert len(cloud.told) == 1
    assert "gpt3" in cloud.told[0]["Message"]
    assert cloud.told[0]["TopicArn"] == "arn:topic"
    # Later looks find nothing to stop, and take the mark away, so that the time starts anew with the next nodes.
    assert watch(wanted(kind, hours=72), cloud.client, NOW + timedelta(hours=73)) is None
    assert cloud.tags == {}


def test_people_may_move_the_end() -> None:
    """A later time in the tag is kept."""
    cloud = _Cloud(desired=4, running=4, points=[], tags={"expires-at": "2026-12-31T00:00:00Z"})
    assert watch(wanted(hours=1), cloud.client, NOW + timedelta(days=5)) is None
    assert cloud.tags == {"expires-at": "2026-12-31T00:00:00Z"}


def test_idle_nodes_are_stopped() -> None:
    """An hour in which every node reported no busy GPU stops them; the metric is that of this cluster."""
    cloud = _Cloud(desired=4, running=4, points=quiet(4), tags={})
    assert watch(wanted(minutes=60), cloud.client, NOW) == "no GPU was busy for 60 minutes"
    assert cloud.desired == 0
    (asked,) = cloud.asked
    assert asked["Dimensions"] == [{"Name": "Cluster", "Value": "gpt3"}]
    assert (asked["Namespace"], asked["MetricName"]) == ("gpu-cluster", "BusyGpus")
    assert asked["EndTime"] - asked["StartTime"] == HOUR


@pytest.mark.parametrize(
    ("points", "running"),
    [
        pytest.param(quiet(4, busy=1), 4, id="one GPU busy"),
        pytest.param([*quiet(4, 11), *quiet(4, 1, busy=8)], 4, id="busy once"),
        pytest.param([], 4, id="no data"),
        pytest.param(quiet(3), 4, id="one node silent"),
        pytest.param(quiet(4, 10), 4, id="data of a part of the time"),
        pytest.param([], 0, id="no node"),
    ],
)
def test_anything_else_is_not_idle(points: list[dict[str, Any]], running: int) -> None:
    """Missing data is not idleness."""
    assert not has_been_idle(points, running=running, idle=HOUR)
    cloud = _Cloud(desired=4, running=running, points=points, tags={})
    assert watch(wanted(minutes=60), cloud.client, NOW) is None
    assert cloud.desired == 4
    assert cloud.told == []


def test_without_limits_nothing_is_asked_or_stopped() -> None:
    """A watchdog for time alone does not look at the metric, and one for idleness does not mark groups."""
    cloud = _Cloud(desired=4, running=4, points=quiet(4), tags={})
    assert watch(wanted(hours=72), cloud.client, NOW) is None
    assert cloud.asked == []
    cloud = _Cloud(desired=4, running=4, points=quiet(4, busy=1), tags={"expires-at": "2020-01-01T00:00:00Z"})
    assert watch(wanted(minutes=60), cloud.client, NOW) is None


@pytest.mark.parametrize("tag", [None, "", "soon", "2026-11-21T11:59:59", "2026-11-21T12:00:01+00:00"])
def test_no_time_and_later_times_have_not_come(tag: str | None) -> None:
    """A tag that is missing, not a time, without a zone, or later, stops nothing."""
    assert not expired(tag, NOW)


def test_time_of_a_stopped_group_is_over_for_nobody() -> None:
    """A group without nodes that kept its tag does not stop the others."""
    states = [
        GroupState(desired=0, running=0, expires_at="2020-01-01T00:00:00Z"),
        GroupState(desired=4, running=4, expires_at="2030-01-01T00:00:00Z"),
    ]
    assert reason_to_stop(states, [], wanted(hours=1), NOW) is None
