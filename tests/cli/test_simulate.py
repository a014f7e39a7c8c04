"""`plan --simulate`: what single requests see of a planned service."""

from pathlib import Path

from clusterwright import assets

from .conftest import Command

SERVICE = assets.root() / "blueprints" / "serve-llama3-70b.yaml"


def test_a_planned_service_is_simulated_at_its_peak(command: Command) -> None:
    """A planned service is simulated at its peak."""
    ended = command("plan", SERVICE, "--on", "aws", "--simulate")
    assert ended.code == 0
    told = " ".join(ended.out.split())
    assert "first token" in told.split("AWS, simulated at the peak")[1]


def test_a_plan_in_json_is_not_simulated(command: Command) -> None:
    """A plan in JSON is not simulated: exit 2 with the reason."""
    ended = command("plan", SERVICE, "--simulate", "--json")
    assert ended.code == 2
    assert "--simulate prints text" in " ".join(ended.err.split())


def test_a_plan_that_trains_is_not_simulated(command: Command, shipped: Path) -> None:
    """A plan that trains is not simulated: exit 2 with the reason."""
    ended = command("plan", shipped, "--on", "aws", "--simulate")
    assert ended.code == 2
    assert "do not serve" in " ".join(ended.err.split())
