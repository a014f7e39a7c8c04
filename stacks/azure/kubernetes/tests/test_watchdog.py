"""The watchdog deletes the machines of GPU pools when it should, and never when it does not know."""

import re
from typing import Any

import pytest

from gpu_cluster.watchdog import definition
from test_aks import KUBERNETES, POOL, layer
from workflow import NOW, Expression

ROLE = "azure-native:authorization:RoleDefinition"
GRANT = "azure-native:authorization:RoleAssignment"


def each_pool() -> Any:
    """Return what the workflow does with a pool, by step."""
    workflow: Any = definition()
    return workflow["actions"]["each-pool"]["actions"]


def deletes(pool: dict[str, Any], metric: Any, idle_minutes: int = 60) -> bool:
    """Tell whether the workflow deletes the machines of a pool with these answers from Azure."""
    condition = each_pool()["expired-or-idle"]["expression"]
    return Expression({"read": pool, "busy-gpus": metric}, idle_minutes).holds(condition)


def pool_of(nodes: int, **tags: str) -> dict[str, Any]:
    """Return Azure's answer to the question for a pool."""
    return {"properties": {"count": nodes, "tags": tags}}


def answered(**data: Any) -> dict[str, Any]:
    """Return Azure's answer to the question for the metric over the whole time."""
    return {"value": [{"timeseries": [{"data": [{"timeStamp": NOW, **data}]}]}]}


# Each of four nodes says every five minutes of an hour how many of its GPUs are busy; one time may be missing.
IDLE = answered(maximum=0, count=44)


@pytest.mark.parametrize(
    ("tag", "expired"),
    [("2026-11-21T11:59:59Z", True), ("2026-11-21T12:00:01Z", False), ("2027-01-01T00:00:00Z", False)],
)
def test_expiry(tag: str, *, expired: bool) -> None:
    """Nodes go when the time of their pool's tag is over, busy or not, and whether or not the metric can be read."""
    pool = pool_of(4, **{"expires-at": tag})
    assert deletes(pool, answered(maximum=8, count=48)) is expired
    assert deletes(pool, {}, idle_minutes=0) is expired
    assert {"Succeeded", "Failed"} <= set(each_pool()["expired-or-idle"]["runAfter"]["busy-gpus"])


def test_idle_nodes_go() -> None:
    """Nodes go when all of them have said all the time that no GPU is busy."""
    assert deletes(pool_of(4), IDLE)


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
    assert not deletes(pool_of(4), metric, idle_minutes)


@pytest.mark.parametrize("pool", [pool_of(0, **{"expires-at": "2026-01-01T00:00:00Z"}), {"properties": {}}, {}])
def test_no_machine_nothing_to_delete(pool: dict[str, Any]) -> None:
    """A pool without nodes, or one that says nothing of them, is left alone."""
    assert not deletes(pool, IDLE)


def test_a_pool_without_tags_stays() -> None:
    """It never expires."""
    assert not deletes({"properties": {"count": 4, "tags": None}}, {})


def test_the_machines_that_it_lists_are_those_it_deletes() -> None:
    """By their names, all of this pool's; and the question for busy GPUs is about this pool."""
    steps = each_pool()["expired-or-idle"]["actions"]
    assert list(steps) == ["list-machines", "names-of-machines", "delete-all-machines"]
    assert steps["list-machines"]["inputs"]["uri"].startswith("@{parameters('management')}@{item()}/machines?")
    assert steps["names-of-machines"]["inputs"] == {
        "from": "@body('list-machines')?['value']",
        "select": "@item()?['name']",
    }
    assert steps["delete-all-machines"]["inputs"]["uri"].startswith(
        "@{parameters('management')}@{item()}/deleteMachines?"
    )
    assert steps["delete-all-machines"]["inputs"]["body"] == {"machineNames": "@body('names-of-machines')"}
    assert "Pool eq ''', last(split(item(), '/'))" in each_pool()["busy-gpus"]["inputs"]["uri"]


def test_it_may_delete_machines_of_these_pools_alone() -> None:
    """One role on the pools, one that reads metrics on the cluster; the system's pool is in neither's reach."""
    run = layer("nodes", {"nodeCount": 150, "allowSplitFabric": True, "timeToLiveHours": 24, "stopWhenIdleMinutes": 60})
    pools = run.of(POOL)
    parameters = run.one("azure-native:logic:Workflow").inputs["parameters"]
    assert parameters["poolIds"]["value"] == [f"{pool.name}-id" for pool in pools]
    assert (parameters["clusterId"]["value"], parameters["idleMinutes"]["value"]) == (KUBERNETES, 60)
    assert set(definition()["parameters"]) == set(parameters)  # type: ignore[call-overload]
    actions = {one.name: one.inputs["permissions"][0]["actions"] for one in run.of(ROLE)}
    assert actions == {
        "gpt3-watchdog-metrics": ["Microsoft.Insights/metrics/read"],
        "gpt3-watchdog-pools": [
            "Microsoft.ContainerService/managedClusters/agentPools/read",
            "Microsoft.ContainerService/managedClusters/agentPools/machines/read",
            "Microsoft.ContainerService/managedClusters/agentPools/deleteMachines/action",
        ],
    }
    scopes = {one.name: one.inputs["scope"] for one in run.of(GRANT)}
    assert scopes == {
        "gpt3-watchdog-metrics-0": KUBERNETES,
        "gpt3-watchdog-pools-0": "gpt3-gpu0-id",
        "gpt3-watchdog-pools-1": "gpt3-gpu1-id",
    }
    for pool in pools:
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:00:00Z", pool.inputs["tags"]["expires-at"])
        assert pool.ignored_changes == ('tags["expires-at"]',)


@pytest.mark.parametrize("limit", [{"timeToLiveHours": 24}, {"stopWhenIdleMinutes": 60}])
def test_one_limit_is_enough(limit: dict[str, Any]) -> None:
    """Either makes the watchdog."""
    assert layer("nodes", limit).one("azure-native:logic:Workflow")


def test_no_watchdog_unless_asked_for() -> None:
    """Without time to live and idle time there is nothing that could delete nodes."""
    run = layer("nodes", {})
    assert run.of("azure-native:logic:Workflow") == run.of(ROLE) == []
    assert "expires-at" not in run.one(POOL).inputs["tags"]
