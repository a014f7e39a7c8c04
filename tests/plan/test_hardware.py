"""Targets that leave the hardware open: the cheapest is chosen, the others are reported with the reason."""

import itertools
from dataclasses import replace

import pytest

from clusterwright.errors import RuleError
from clusterwright.explain.explanation import find
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.words import hardware_lines
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from tests.opened import explanations

from .examples import shipped

ALONE = ("targets.azure=null", "targets.gcp=null", "targets.onprem=null")


def aws(*allowed: str, more: tuple[str, ...] = ()) -> TrainingPlan:
    """Return the shipped plan with these instance types to choose from on AWS alone."""
    names = ", ".join(allowed)
    return shipped(f"targets.aws={{allowed_instances: [{names}], region: us-east-1}}", *ALONE, *more)


def named(instance: str) -> TrainingOption:
    """Return the option of one instance type named by the blueprint."""
    return shipped(f"targets.aws.instance={instance}", *ALONE).options[0]


def test_the_cheapest_is_chosen_and_the_rest_ordered_by_cost() -> None:
    """The chosen one is the cheapest of the plans for each alone, and each has the cost it has alone."""
    names = ("p4d.24xlarge", "p5en.48xlarge", "p5.48xlarge")
    option = aws(*names).options[0]
    alone = {name: named(name) for name in names}
    assert option.cluster.instance == min(names, key=lambda name: alone[name].money.run_usd or float("inf"))
    assert option.design.considered[0].name == option.cluster.instance
    assert [entry.reason for entry in option.design.considered] == ["", "costs more", "costs more"]
    for entry in option.design.considered:
        assert entry.usd == pytest.approx(alone[entry.name].money.run_usd)
        assert (entry.nodes, entry.calendar_days) == (
            alone[entry.name].cluster.nodes,
            alone[entry.name].performance.calendar_days,
        )
    costs = [entry.usd or 0.0 for entry in option.design.considered]
    assert all(before <= after for before, after in itertools.pairwise(costs))


def test_the_rest_of_the_plan_is_that_of_the_chosen_one() -> None:
    """A choice gives the option that naming the chosen instance type gives, front and bill included."""
    option, alone = aws("p4d.24xlarge", "p5.48xlarge").options[0], named("p5.48xlarge")
    assert option.cluster == alone.cluster
    assert (option.performance.layout, option.performance.calendar_days) == (
        alone.performance.layout,
        alone.performance.calendar_days,
    )
    for name in ("run_usd", "horizon_usd", "lines"):
        assert getattr(option.money, name) == getattr(alone.money, name), name
    # The last digits of the sums of a front depend on what else is summed in the same query.
    assert [replace(point, run_usd=None) for point in option.performance.front] == [
        replace(point, run_usd=None) for point in alone.performance.front
    ]
    assert [point.run_usd for point in option.performance.front] == pytest.approx(
        [point.run_usd for point in alone.performance.front], rel=1e-12
    )


def test_the_order_of_names_changes_nothing() -> None:
    """The allowed names in every order give the same plan to the last byte."""
    names = ("g6.xlarge", "p5.48xlarge", "g5.xlarge")
    plans = {dumps(aws(*order)) for order in itertools.permutations(names)}
    assert len({loads(text).options[0].cluster.instance for text in plans}) == 1
    assert len(plans) == 1


#: Its first price is of 2026-01-20.
_BEFORE_G7E = ("economics.as_of=2025-12-31",)


def test_what_is_not_chosen_has_a_reason() -> None:
    """Missing prices, missing memory and missed goals are told apart."""
    plan = aws("p5.48xlarge", "g7e.48xlarge", "g6.xlarge", "g6.16xlarge", more=_BEFORE_G7E)
    option = plan.options[0]
    reasons = {entry.name: entry.reason for entry in option.design.considered}
    assert reasons["p5.48xlarge"] == ""
    assert "no price of GPU node g7e.48xlarge" in reasons["g7e.48xlarge"]
    assert "no bandwidth between several g6.xlarge is known, so one is sized" in reasons["g6.xlarge"]
    assert reasons["g6.16xlarge"] == "misses the goal"
    assert "3 without a price, a fact or enough speed" in hardware_lines(plan, USD)[0]


def test_where_none_meets_the_goal_the_fastest_is_shown() -> None:
    """The goal's finding speaks of the fastest of all that were allowed."""
    plan = aws("p4d.24xlarge", "p5.48xlarge", more=("goals.finish_within=5 hours",))
    option = plan.options[0]
    assert not option.performance.meets_goal
    days = [entry.calendar_days_high or 0.0 for entry in option.design.considered]
    assert option.performance.calendar_days_high == min(days)
    assert {finding.id for finding in plan.findings} == {"GOAL001"}


def test_where_nothing_fits_every_reason_is_a_finding() -> None:
    """Each allowed instance type says why it does not fit."""
    with pytest.raises(RuleError) as caught:
        aws("p4d.24xlarge", "p5.48xlarge", more=("targets.aws.max_nodes=1",))
    assert [finding.id for finding in caught.value.findings] == ["MEM001", "MEM001"]
    assert {"p4d.24xlarge" in finding.message for finding in caught.value.findings} == {True, False}


def test_systems_are_chosen_by_the_cost_of_the_horizon() -> None:
    """On premises the horizon's work decides; a rack that the rules do not fit is reported, not an error."""
    plan = shipped(
        "targets.onprem={allowed_systems: [dgx-h100, gb300-nvl72, dgx-b200]}",
        "targets.aws=null",
        "targets.azure=null",
        "targets.gcp=null",
        "workload.global_batch=1728",
    )
    option = plan.options[0]
    entries = {entry.name: entry for entry in option.design.considered}
    assert option.cluster.instance == min(("dgx-h100", "dgx-b200"), key=lambda name: entries[name].usd or float("inf"))
    assert "whole rack" in entries["gb300-nvl72"].reason


def test_constraints_and_choices_can_be_explained() -> None:
    """What the blueprint holds stands among the inputs of nodes and step time, the choice has its own entry."""
    plan = aws(
        "p4d.24xlarge",
        "p5.48xlarge",
        more=("targets.aws.nodes_must_be=multiple of 4", "workload.parallelism.max_tensor=4"),
    )
    known = explanations(plan, "aws")
    assert {entry.name for entry in find(known, "hardware").inputs} == {"p4d.24xlarge", "p5.48xlarge"}
    assert ("nodes_must_be", "multiple of 4") in {(entry.name, entry.value) for entry in find(known, "nodes").inputs}
    assert ("max_tensor", "4") in {(entry.name, entry.value) for entry in find(known, "step_time").inputs}
    assert plan.options[0].cluster.nodes % 4 == 0
    assert plan.options[0].performance.layout.tp <= 4
    assert not [entry for entry in explanations(shipped(), "aws") if entry.number == "hardware"]


def test_spare_nodes_count_towards_the_rule() -> None:
    """With three spares, multiples of eight are those of the whole cluster."""
    option = shipped("targets.aws.nodes_must_be=multiple of 8", "reliability.spare_nodes=3", *ALONE).options[0]
    assert option.cluster.nodes % 8 == 0
    assert option.training_nodes == option.cluster.nodes - 3


def test_a_size_that_no_layout_has_names_the_targets_key() -> None:
    """The finding stands at the very key of the target."""
    with pytest.raises(RuleError) as caught:
        shipped("targets.aws.min_nodes=47", "targets.aws.max_nodes=47", *ALONE)
    (finding,) = caught.value.findings
    assert finding.path == ("targets", "aws", "min_nodes")
    assert "targets.aws.min_nodes" in finding.help
