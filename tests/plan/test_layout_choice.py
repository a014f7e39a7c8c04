"""Why a plan's layout is the one it is, where another one is faster."""

import pytest

from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli.render.answer import plan_text
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.record import TrainingOption, TrainingPlan
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.words import choice_text, layout_text

from .examples import SHIPPED, plan_of

_SIZE = ("targets.aws.min_nodes=48", "targets.aws.max_nodes=48")


def _option(plan: TrainingPlan) -> TrainingOption:
    """Return what is planned on AWS."""
    return next(option for option in plan.options if option.target == "aws")


def test_a_plan_says_which_layout_is_faster_and_why_it_is_not_taken() -> None:
    """With 2 % the 48 nodes get no recomputed layers; details and plan.json name the faster layout and its share."""
    plan = plan_of(SHIPPED, *_SIZE, "workload.parallelism.tolerance=2 %")
    option = _option(plan)
    assert option.faster is not None
    assert 0 < option.faster.slower_share <= 0.02
    assert option.layout.recompute != "full"
    assert option.faster.layout.recompute == "full"
    said = " ".join(choice_text(option).split())
    assert said.startswith("taken since it recomputes fewer layers: ")
    assert layout_text(option.faster.layout) in said
    read = loads(dumps(plan))
    assert isinstance(read, TrainingPlan)
    assert _option(read).faster == option.faster
    assert "taken since it recomputes fewer layers" in " ".join(
        plan_text(plan, SHIPPED, money=USD, details=True).split()
    )


def test_the_fastest_layout_needs_no_reason() -> None:
    """Without a tolerance nothing is faster, and nothing is said."""
    option = _option(plan_of(SHIPPED, *_SIZE))
    assert option.faster is None
    assert choice_text(option) == ""


@pytest.mark.parametrize("wrong", ["-1 %", "11 %", "much"])
def test_a_tolerance_is_a_share_of_a_tenth_at_most(wrong: str) -> None:
    """A negative share, one above a tenth and a word are refused at their key."""
    with pytest.raises(BlueprintError, match=r"workload\.parallelism\.tolerance") as refused:
        plan_of(SHIPPED, f"workload.parallelism.tolerance={wrong}")
    assert len(refused.value.problems) == 1
