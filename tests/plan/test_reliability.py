"""The blueprint's section `reliability` from the file to the plan."""

import math
import re

import pytest

from clusterwright import assets
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli.planning import plan_of
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from tests.opened import explanations

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"


def planned(*values: str, on: str = "aws") -> TrainingPlan:
    """Return the plan of the shipped blueprint with values replaced, on one target."""
    return plan_of(GPT3, list(values), on)


def option(*values: str, on: str = "aws") -> TrainingOption:
    """Return its only option."""
    return planned(*values, on=on).options[0]


def test_spares_are_counted_and_paid_for() -> None:
    """Two spare nodes are part of the cluster, the bill and the design, and not of the layout."""
    spared = option("reliability.spare_nodes=2", "reliability.repair=24 h", on="onprem")
    layout = spared.performance.layout
    assert spared.cluster.nodes - spared.training_nodes == 2
    assert layout.tp * layout.pp * layout.cp * layout.dp == spared.training_nodes * 8
    assert spared.cluster.gpus == spared.cluster.nodes * 8
    assert spared.design.facility is not None
    assert len([unit for nodes in spared.design.facility.fabric.unit_nodes() for unit in nodes]) == spared.cluster.nodes
    waiting = option("reliability.repair=24 h", on="onprem")
    assert spared.performance.failures.wait_for_node_s < waiting.performance.failures.wait_for_node_s
    assert spared.performance.goodput > waiting.performance.goodput


def test_spares_stay_within_the_limit_of_nodes() -> None:
    """The largest cluster that is looked at leaves room for the spares; no room at all is a rule that fails."""
    assert option("reliability.spare_nodes=4", "targets.aws.max_nodes=52").cluster.nodes <= 52
    with pytest.raises(BlueprintError) as caught:
        planned("reliability.spare_nodes=52", "targets.aws.max_nodes=52")
    assert caught.value.exit_code == 1
    assert "REL001" in caught.value.render()
    assert "leave none that train" in caught.value.render()


def test_a_job_that_is_interrupted_before_it_saves_never_finishes() -> None:
    """A productive share that underflows to 0 is an infinite time: refused, and nothing is divided by zero."""
    with pytest.raises(BlueprintError) as caught:
        planned(
            "reliability.interruptions_per_1000_node_days=1e5",
            "targets.aws.min_nodes=1000",
            "targets.aws.max_nodes=2000",
        )
    assert caught.value.exit_code == 1
    assert "REL002" in caught.value.render()
    assert "never finishes on p5.48xlarge" in caught.value.render()


def test_spot_is_slower_and_flagged_as_an_assumption() -> None:
    """The same blueprint on the spot market takes longer, and its rate stands first among the assumptions."""
    spot = planned("targets.aws.capacity=spot", "goals.finish_within=200 days", "targets.aws.max_nodes=48")
    steady = planned("goals.finish_within=200 days", "targets.aws.max_nodes=48")
    first = spot.parameters[0]
    assert (first.key, first.basis) == ("spot_interruptions_per_1000_node_days", "assumed")
    assert first.value == pytest.approx(7.3)
    assert all(entry.key != first.key for entry in steady.parameters)
    known = {point.nodes: point.calendar_days for point in steady.options[0].performance.front}
    slower = [
        point.calendar_days > known[point.nodes] for point in spot.options[0].performance.front if point.nodes in known
    ]
    assert slower
    assert all(slower)


def test_a_given_spot_rate_is_not_an_assumption() -> None:
    """What the user writes is used and marked as given."""
    rate = "reliability.spot_interruptions_per_1000_node_days=50"
    plan = planned("targets.aws.capacity=spot", rate)
    assert (plan.parameters[0].value, plan.parameters[0].basis) == (50, "given")
    assert plan.options[0].performance.failures.spot_interruptions_per_node_day == 0.05


def test_strategy_and_retention_reach_storage() -> None:
    """Fewer kept checkpoints need less capacity, milestones more, and a slower write less bandwidth."""
    base = option().design.storage
    few = option("reliability.checkpoint.keep=2").design.storage
    assert few.checkpoint_bytes_kept == pytest.approx(base.checkpoint_bytes_kept * 2 / 5)
    milestones = option("reliability.checkpoint.milestone_every=2 days").design.storage
    assert milestones.milestones > 0
    assert milestones.checkpoint_bytes_kept > base.checkpoint_bytes_kept
    slow = option("reliability.checkpoint.write_within=5 min").design.storage
    assert slow.write_bytes_per_s == pytest.approx(base.write_bytes_per_s / 5)
    assert option("reliability.checkpoint.strategy=distributed").performance.failures.checkpoint_write_s == 60


def test_given_times_and_rates_replace_the_shipped_ones() -> None:
    """Detection, restart and rate are those of the blueprint; no failures leave almost all time."""
    asked = option("reliability.detection=1 min", "reliability.restart=2 min")
    assert (asked.performance.failures.detection_s, asked.performance.failures.restart_s) == (60, 180)
    worse = option("reliability.interruptions_per_1000_node_days=50")
    assert (
        worse.performance.failures.mean_time_between_interruptions_s
        < asked.performance.failures.mean_time_between_interruptions_s / 2
    )
    assert worse.performance.goodput < asked.performance.goodput


def test_elastic_jobs_say_how_far_they_shrink() -> None:
    """An elastic job names the nodes it goes on with, fewer than it has, and loses less while one is away."""
    roomy = "workload.parallelism.recompute=full"
    elastic = option("reliability.elastic=true", "reliability.repair=24 h", roomy)
    stopped = option("reliability.repair=24 h", roomy)
    assert elastic.performance.failures.elastic_nodes is not None
    assert 0 < elastic.performance.failures.elastic_nodes < elastic.training_nodes
    assert stopped.performance.failures.elastic_nodes is None
    assert elastic.performance.failures.wait_for_node_s < stopped.performance.failures.wait_for_node_s


def calculated(line: str) -> tuple[float, float]:
    """Return both sides of the last line of an explanation, the left one calculated."""
    left, right = line.rsplit(" = ", 1)
    words = re.sub(r"\s(GB|s)\b", "", left.replace("×", "*").replace(",", ""))
    assert re.fullmatch(r"[-+*/().\d\s]|(?:[-+*/().\d\s]|exp)+", words), words
    return eval(words, {"exp": math.exp}), float(right.split()[0].replace(",", ""))  # noqa: S307 - checked above


@pytest.mark.parametrize("strategy", ["async", "distributed", "full", "memory", "incremental"])
def test_every_number_is_explained_and_survives_the_file(strategy: str) -> None:
    """Goodput, checkpoints and retention can be calculated again with all options on; plan.json keeps all."""
    plan = planned(
        "reliability.elastic=true",
        "reliability.repair=24 h",
        "reliability.spare_nodes=1",
        "reliability.checkpoint.milestone_every=5 days",
        f"reliability.checkpoint.strategy={strategy}",
        "targets.aws.capacity=spot",
    )
    known = {entry.number: entry for entry in explanations(plan, "aws")}
    names = [entry.name for entry in known["goodput"].inputs]
    assert names[-3:] == ["wait", "elastic", "spot"]
    assert ("second factor" in names) == (strategy == "memory")
    assert known["checkpoint"].value.startswith("2.27 TB every ")
    for number in ("goodput", "checkpoint", "checkpoints_kept"):
        left, right = calculated(known[number].equation[-1])
        assert left == pytest.approx(right, rel=2e-4), number
    assert loads(dumps(plan)) == plan


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("reliability.checkpoint.strategy=sometimes", "async"),
        ("reliability.checkpoint.keep=0", "keep"),
        ("reliability.spare_nodes=-1", "spare_nodes"),
        ("reliability.repair=soon", "duration"),
        ("reliability.spares=2", "spare_nodes"),
    ],
)
def test_wrong_values_are_refused_with_what_to_do(value: str, says: str) -> None:
    """A strategy that does not exist, a count below its least, a time that is none: each named."""
    with pytest.raises(BlueprintError) as caught:
        planned(value)
    assert caught.value.exit_code == 2
    assert says in caught.value.render()
