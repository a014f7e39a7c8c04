"""The watchdog takes nodes down when it should, and never when it does not know."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpu_cluster.watchdog import definition, expires_at
from recording import Program
from workflow import NOW, Expression

Run = Callable[..., Program]


def deletes(scale_set: dict[str, Any], metric: Any, idle_minutes: int = 60) -> bool:
    """Tell whether the workflow deletes the machines of a scale set with these answers from Azure."""
    workflow: Any = definition()
    step = workflow["actions"]["each-scale-set"]["actions"]["expired-or-idle"]
    return Expression({"read": scale_set, "busy-gpus": metric}, idle_minutes).holds(step["expression"])


def answered(**data: Any) -> dict[str, Any]:
    """Return Azure's answer to the question for the metric over the whole time."""
    return {"value": [{"timeseries": [{"data": [{"timeStamp": NOW, **data}]}]}]}


NODES: dict[str, Any] = {"sku": {"capacity": 4}, "tags": {"gpu-cluster": "x"}}
# Each of four nodes says every five minutes of an hour how many of its GPUs are busy; one time may be missing.
IDLE = answered(maximum=0, count=44)


@pytest.mark.parametrize(
    ("tag", "expired"),
    [("2026-11-21T11:59:59Z", True), ("2026-11-21T12:00:01Z", False), ("2027-01-01T00:00:00Z", False)],
)
def test_expiry(tag: str, *, expired: bool) -> None:
    """Nodes go when the time of their tag is over, busy or not."""
    nodes = {**NODES, "tags": {"expires-at": tag}}
    assert deletes(nodes, answered(maximum=8, count=48)) is expired
    assert deletes(nodes, {}, idle_minutes=0) is expired


def test_idle_nodes_go() -> None:
    """Nodes go when all of them have said all the time that no GPU is busy."""
    assert deletes(NODES, IDLE)


@pytest.mark.parametrize(
    ("metric", "idle_minutes"),
    [
        (answered(maximum=1, count=48), 60),
        (answered(maximum=0, count=43), 60),
        (answered(), 60),
        ({"value": [{"timeseries": []}]}, 60),
        ({"value": []}, 60),
        ({"error": {"code": "BadRequest"}}, 60),
        ({}, 60),
        (IDLE, 0),
    ],
    ids=["busy", "some say nothing", "no value", "no series", "no metric", "refused", "nothing", "not asked for"],
)
def test_what_is_not_known_is_not_idle(metric: dict[str, Any], idle_minutes: int) -> None:
    """Nodes stay when one GPU was busy, when nodes say nothing, when Azure says nothing, and when nobody asked."""
    assert not deletes(NODES, metric, idle_minutes)


def test_nodes_without_tags_stay() -> None:
    """A scale set without any tag never expires."""
    assert not deletes({"sku": {"capacity": 4}}, {})


def test_no_machine_nothing_to_delete() -> None:
    """An empty scale set is left alone."""
    assert not deletes({**NODES, "sku": {"capacity": 0}, "tags": {"expires-at": "2026-01-01T00:00:00Z"}}, IDLE)


def test_a_failed_metric_does_not_hide_the_expiry() -> None:
    """The condition is looked at also when the metric could not be read."""
    workflow: Any = definition()
    step = workflow["actions"]["each-scale-set"]["actions"]["expired-or-idle"]
    assert {"Succeeded", "Failed"} <= set(step["runAfter"]["busy-gpus"])


def test_expiry_is_whole_hours_away() -> None:
    """The tag is RFC 3339 in UTC, at least the asked hours away and less than one more."""
    now = datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)
    text = expires_at(now, 24)
    assert text == "2026-11-23T00:00:00Z"
    assert timedelta(hours=24) <= datetime.fromisoformat(text) - now < timedelta(hours=25)


def test_watchdog_of_the_nodes(run: Run) -> None:
    """The workflow knows the scale sets, and its own role lets it look at them and delete their machines, no more."""
    program = run(nodeCount=101, allowSplitFabric=True, timeToLiveHours=24, stopWhenIdleMinutes=60)
    scale_sets = program.of("VirtualMachineScaleSet")
    (workflow,) = program.of("Workflow")
    parameters = {name: one["value"] for name, one in workflow.inputs["parameters"].items()}
    assert [one.rpartition("/")[2] for one in parameters["scaleSetIds"]] == [one.name for one in scale_sets]
    assert parameters["idleMinutes"] == 60
    assert workflow.inputs["identity"] == {"type": "SystemAssigned"}
    (role,) = program.of("RoleDefinition")
    assert role.inputs["permissions"][0]["actions"] == [
        "Microsoft.Compute/virtualMachineScaleSets/read",
        "Microsoft.Compute/virtualMachineScaleSets/delete/action",
        "Microsoft.Insights/metrics/read",
    ]
    grants = [one for one in program.of("RoleAssignment") if "watchdog" in one.name]
    assert {one.inputs["scope"].rpartition("/")[2] for one in grants} == {one.name for one in scale_sets}
    for one in scale_sets:
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:00:00Z", one.inputs["tags"]["expires-at"])
        assert one.ignore_changes == ('tags["expires-at"]',)


def test_no_watchdog_unless_asked_for(run: Run) -> None:
    """Without time to live and idle time there is nothing that could delete nodes."""
    program = run()
    assert program.of("Workflow") == program.of("RoleDefinition") == []
    assert "expires-at" not in program.one("VirtualMachineScaleSet").inputs["tags"]
