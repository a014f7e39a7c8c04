"""Why a plan's layout is the one it is, where another one is faster."""

import pytest

from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli.render.answer import plan_text
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.training import choice_text, layout_text
from clusterwright.plan.training.record import TrainingOption, TrainingPlan

from .examples import SHIPPED, plan_of

_FASTEST = "workload.parallelism.tolerance=0"
#: A size at which the fastest layout recomputes some layers, rented on demand.
_SIZE = (
    "workload.model=llama-3.1-70b",
    "workload.sequence_length=8192",
    "workload.global_batch=512",
    "goals.finish_within=200d",
    "targets.aws.min_nodes=5",
    "targets.aws.max_nodes=5",
    "targets.aws.capacity=on-demand",
    "targets.gcp.capacity=on-demand",
)


def _option(plan: TrainingPlan) -> TrainingOption:
    """Return what is planned on AWS."""
    return next(option for option in plan.options if option.target == "aws")


def test_a_plan_says_which_layout_is_faster_and_why_it_is_not_taken() -> None:
    """Five nodes get no recomputed layers; details and plan.json name the faster layout and its share."""
    plan = plan_of(SHIPPED, *_SIZE)
    option = _option(plan)
    assert option.performance.faster is not None
    assert 0 < option.performance.faster.slower_share <= 0.02
    assert option.performance.layout.recompute != "full"
    assert option.performance.faster.layout.recompute == "full"
    said = " ".join(choice_text(option).split())
    assert said.startswith("taken since it recomputes fewer layers: ")
    assert layout_text(option.performance.faster.layout) in said
    read = loads(dumps(plan))
    assert isinstance(read, TrainingPlan)
    assert _option(read).performance.faster == option.performance.faster
    assert "taken since it recomputes fewer layers" in " ".join(
        plan_text(plan, SHIPPED, money=USD, details=True).split()
    )


def test_the_fastest_layout_needs_no_reason() -> None:
    """Without a tolerance nothing is faster, and nothing is said."""
    plan = plan_of(SHIPPED, *_SIZE, _FASTEST)
    option = _option(plan)
    assert option.performance.faster is None
    assert choice_text(option) == ""
    assert "layout taken since" not in " ".join(plan_text(plan, SHIPPED, details=True, money=USD).split())


def test_the_answer_says_what_the_usual_layout_costs_in_one_line() -> None:
    """The share of days in the line is that between the plans with and without a tolerance."""
    usual, fastest = plan_of(SHIPPED, *_SIZE), plan_of(SHIPPED, *_SIZE, _FASTEST)
    share = _option(usual).performance.calendar_days / _option(fastest).performance.calendar_days - 1
    said = plan_text(usual, SHIPPED, details=True, money=USD)
    assert f"for {100 * share:.1f} % more days than the fastest" in " ".join(said.split())


@pytest.mark.parametrize("days", ["30d", "60d"])
def test_a_tolerance_moves_no_cluster_to_another_size(days: str) -> None:
    """Every ranked way has the same nodes with the default as without a tolerance."""
    within = f"goals.finish_within={days}"
    usual, fastest = plan_of(SHIPPED, within), plan_of(SHIPPED, within, _FASTEST)
    assert {way.key: way.cluster.nodes for way in usual.ranking} == {
        way.key: way.cluster.nodes for way in fastest.ranking
    }
    assert usual.recommended_key == fastest.recommended_key


def test_sizes_are_compared_by_their_fastest_layouts() -> None:
    """On AWS the size is chosen of which the fastest layout costs least, whichever layout it then gets."""
    fastest = _option(plan_of(SHIPPED, _FASTEST))
    assert (
        _option(plan_of(SHIPPED)).cluster.nodes
        == min(fastest.performance.front, key=lambda point: point.run_usd or 0.0).nodes
    )


@pytest.mark.parametrize("wrong", ["-1 %", "11 %", "much"])
def test_a_tolerance_is_a_share_of_a_tenth_at_most(wrong: str) -> None:
    """A negative share, one above a tenth and a word are refused at their key."""
    with pytest.raises(BlueprintError, match=r"workload\.parallelism\.tolerance") as refused:
        plan_of(SHIPPED, f"workload.parallelism.tolerance={wrong}")
    assert len(refused.value.problems) == 1
