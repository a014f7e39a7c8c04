"""What each kind of workload adds to the answer on a terminal: its goals, its lines, its details."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.cli.render.finetuning import run_brief, run_details, run_lines
from clusterwright.cli.render.serving import hosted_lines, service_brief, service_details, service_lines
from clusterwright.cli.render.training import training_assumed, training_caveats, training_details
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.serving.record import serving_plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.serving import goal_text
from clusterwright.units import duration_text, percent


def _within(plan: Plan) -> str:
    days = plan.goals.finish_within_days
    if days is None:
        return ""
    return f"within {duration_text(days)} at {percent(plan.goals.confidence)}"


def _nothing(_: Plan) -> Sequence[str]:
    return ()


def _no_lines(_: Plan, __: MoneyFormat) -> Sequence[str]:
    return ()


def _no_details(_: Option) -> Sequence[tuple[str, Sequence[str]]]:
    return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """The parts of a kind; the defaults are those of a kind without any.

    Attributes:
        goal: what the work must meet, in a line; title, brief: a block of its own on the first screen; lines: the same
            block among the details; table: lines below it, to the width of the terminal; details: blocks with their
            titles.
        caveats: lines of what to beware of on the first screen; assumed: names of what is assumed beside prices and
            values.
    """

    goal: Callable[[Plan], str] = _within
    title: str = ""
    brief: Callable[[Plan, MoneyFormat], Sequence[str]] = _no_lines
    lines: Callable[[Plan, MoneyFormat], Sequence[str]] = _no_lines
    table: Callable[[Plan, MoneyFormat], Sequence[str]] = _no_lines
    details: Callable[[Option], Sequence[tuple[str, Sequence[str]]]] = _no_details
    caveats: Callable[[Plan], Sequence[str]] = _nothing
    assumed: Callable[[Plan], Sequence[str]] = _nothing


_COMMON = Shown()
_SHOWN: Mapping[str, Shown] = {
    "train": Shown(details=training_details, caveats=training_caveats, assumed=training_assumed),
    "finetune": Shown(title="Layout", brief=run_brief, lines=run_lines, details=run_details),
    "serve": Shown(
        goal=lambda plan: goal_text(serving_plan(plan)),
        title="Service",
        brief=service_brief,
        lines=service_lines,
        table=hosted_lines,
        details=service_details,
    ),
}


def shown_of(plan: Plan) -> Shown:
    """Return what a plan's kind of workload adds."""
    return _SHOWN.get(plan.workload.kind, _COMMON)
