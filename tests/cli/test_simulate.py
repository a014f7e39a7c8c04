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


def test_answers_of_one_pass_are_not_simulated(command: Command, tmp_path: Path) -> None:
    """Embeddings are refused for what they are, and not for a batching that the blueprint does not set."""
    blueprint = tmp_path / "search.yaml"
    blueprint.write_text(
        "name: search\nworkload: {kind: serve, model: qwen3-0.6b, task: embed}\n"
        "traffic: {requests_per_s: 50, input_tokens: 200}\ngoals: {first_token: 300 ms}\n"
        "targets: {aws: {instance: p5.48xlarge, region: us-east-1}}\n"
    )
    ended = command("plan", blueprint, "--simulate")
    assert ended.code == 2
    told = " ".join(ended.err.split())
    assert "one pass over the input answers" in told
    assert "batching" not in told


def test_one_replica_on_one_node_is_said_in_the_singular(command: Command, tmp_path: Path) -> None:
    """A small service of a framework without measurements: `1 node`, `1 replica`."""
    blueprint = tmp_path / "chat.yaml"
    blueprint.write_text(
        "name: chat\nworkload: {kind: serve, model: llama-3.1-8b, framework: my-engine}\n"
        "traffic: {requests_per_s: 0.5, input_tokens: 1000, output_tokens: 300}\n"
        "goals: {first_token: 1 s, time_per_token: 30 ms}\n"
        "targets: {aws: {instance: p5.48xlarge, region: us-east-1}}\n"
    )
    ended = command("plan", blueprint, "--simulate")
    assert ended.code == 0
    assert "/s on 1 replica," in " ".join(ended.out.split())
    assert "1 nodes" not in " ".join((ended.out + ended.err).split())
