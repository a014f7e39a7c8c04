"""The watchdog: what it may do, what it is told, and that its program never takes silence for idleness."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from recording import Recording, scenario

WATCHED = {"timeToLiveHours": 48, "stopWhenIdleMinutes": 30}


def watched(project: Path, **changes: Any) -> Recording:
    """A cluster with both limits."""
    return scenario(project, **{**WATCHED, **changes})


def program(recording: Recording) -> dict[str, dict[str, Any]]:
    """Steps of the workflow by name."""
    source = recording.one("gcp:workflows/workflow:Workflow").inputs["sourceContents"]
    return {name: step for one in yaml.safe_load(source)["main"]["steps"] for name, step in one.items()}


def test_it_may_resize_this_clusters_groups_alone(project: Path) -> None:
    """The right to resize depends on the group's name; the other right changes nothing."""
    recording = watched(project, nodeCount=1500)
    roles = {one.name: one.inputs["permissions"] for one in recording.of("gcp:projects/iAMCustomRole:IAMCustomRole")}
    assert roles == {
        "gpt3-watchdog-scaler": ["compute.instanceGroupManagers.get", "compute.instanceGroupManagers.update"],
        "gpt3-watchdog-reader": [
            "compute.zoneOperations.get",
            "logging.logEntries.create",
            "monitoring.timeSeries.list",
            "workflows.executions.create",
        ],
    }
    zone = "projects/my-gpu-project/zones/us-central1-a/instanceGroupManagers"
    grant = recording.one("gcp:projects/iAMMember:IAMMember", "watchdog-scaler").inputs
    assert grant["condition"]["expression"] == (
        f'resource.name == "{zone}/gpt3-gpu" || resource.name == "{zone}/gpt3-gpu-2"'
    )


def test_it_is_told_what_to_watch(project: Path) -> None:
    """The workflow knows the groups and both limits, and nodes report how busy they are."""
    recording = watched(project)
    told = recording.one("gcp:workflows/workflow:Workflow").inputs["userEnvVars"]
    assert told == {
        "PROJECT": "my-gpu-project",
        "ZONE": "us-central1-a",
        "CLUSTER_NAME": "gpt3",
        "GROUPS": "gpt3-gpu",
        "TIME_TO_LIVE_S": "172800",
        "IDLE_S": "1800",
    }
    template = recording.one("gcp:compute/instanceTemplate:InstanceTemplate").inputs
    assert "CLUSTER_BUSY_METRIC='yes'" in template["metadata"]["user-data"]
    job = recording.one("gcp:cloudscheduler/job:Job").inputs
    assert job["schedule"] == "*/10 * * * *"
    assert job["httpTarget"]["oauthToken"]["serviceAccountEmail"].startswith("gpt3-watchdog@")


@pytest.mark.parametrize("limit", WATCHED)
def test_one_limit_is_enough(project: Path, limit: str) -> None:
    """Either limit makes the watchdog; the other is then 0, which is never."""
    changes: dict[str, Any] = {**dict.fromkeys(WATCHED, 0), limit: WATCHED[limit]}
    told = scenario(project, **changes).one("gcp:workflows/workflow:Workflow").inputs["userEnvVars"]
    assert (told["TIME_TO_LIVE_S"] == "0") is (limit != "timeToLiveHours")
    assert (told["IDLE_S"] == "0") is (limit != "stopWhenIdleMinutes")


def test_without_a_limit_there_is_no_watchdog(project: Path) -> None:
    """Nothing may end the nodes unless somebody asked for it."""
    kinds = {one.type.split(":")[1].partition("/")[0] for one in scenario(project).in_layer("nodes")}
    assert not kinds & {"workflows", "cloudscheduler", "serviceaccount"}


def test_silence_is_not_idleness(project: Path) -> None:
    """Before anything is stopped for being idle, every running node must have reported all the time."""
    steps = program(watched(project))
    order = list(steps)
    assert order.index("decide") < order.index("stop_nodes")
    first, second = steps["decide"]["switch"]
    assert first["condition"] == "${steady < running}"
    assert first["return"].startswith('${"not stopped')
    assert second == {"condition": "${busy > 0}", "return": "not stopped - GPUs were busy"}
    for asked in ("ask_for_busy_gpus", "ask_for_reports"):
        (handler,) = steps[asked]["except"]["steps"]
        ((_, answer),) = handler.items()
        assert answer["return"].startswith('${"not stopped')


def test_steps_go_where_there_is_a_step(project: Path) -> None:
    """Every jump has its target, and machines are resized to 0 and nothing else."""
    steps = program(watched(project))
    jumps = [case["next"] for step in steps.values() for case in step.get("switch", []) if "next" in case]
    assert jumps == ["stop_nodes"]
    assert set(jumps) <= set(steps)
    (resize,) = steps["stop_nodes"]["for"]["steps"]
    assert resize["scale_to_zero"]["args"]["size"] == 0
