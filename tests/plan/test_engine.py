"""A kind of workload that the program does not know goes from blueprint to answer by its engine alone."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.hardware import ResolvedTarget
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.render.answer import comparison_text, plan_text
from clusterwright.cli.render.ranked import ranking_lines
from clusterwright.errors import Finding
from clusterwright.explain.explanation import explanations
from clusterwright.finance.finances import finances
from clusterwright.interface.documents import comparison_document, ranking_document
from clusterwright.plan.bounds import NodeBounds
from clusterwright.plan.decide import decide
from clusterwright.plan.document import dumps
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import FrontPoint, Option, OtherOption, Plan, WorkloadSummary, WorkUnit
from clusterwright.pricing.book import PriceBook
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sizing.records.run import StorageNeed

#: Words of training, but in the name of a source.
_OF_TRAINING = re.compile(r"(?i)\b(?:train\w*(?!-cost)\b|mfu\b|steps?\b)|_step\b|\bstep_s\b")
_MODEL = load_catalogue().models["llama-2-7b"]


class Draw(Section):
    """Drawing an image."""

    kind: Literal["draw"] = "draw"
    model: str = _MODEL.id


class DrawBlueprint(Blueprint):
    """A blueprint whose workload is an image."""

    workload: Draw  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnImage(WorkloadSummary):
    """The image as it was sized."""

    unit: ClassVar[WorkUnit] = WorkUnit(name="image", plural="images")


@dataclass(frozen=True)
class _Images:
    """An engine whose unit of work is an image, which n nodes draw in an nth of a day."""

    most_days: float

    def front(self, blueprint: Blueprint, target: ResolvedTarget, bounds: NodeBounds) -> list[SizedPoint]:
        need = StorageNeed(
            dataset_bytes=1e12,
            checkpoint_bytes_kept=0.0,
            capacity_bytes=2e12,
            read_bytes_per_s=1e9,
            write_bytes_per_s=1e8,
        )
        return [
            SizedPoint(
                node=target.node,
                nodes=nodes,
                gpus=nodes * target.node.gpus,
                storage=need,
                calendar_days=1.0 / nodes,
                calendar_days_low=0.9 / nodes,
                calendar_days_high=1.2 / nodes,
                limited_by=("decoding",),
            )
            for nodes in range(1, 1 + (bounds.most or 4))
        ]

    def meets_goals(self, blueprint: Blueprint, point: SizedPoint) -> bool:
        return point.calendar_days_high <= self.most_days

    def shortfall(self, point: SizedPoint) -> float:
        return point.calendar_days_high

    def goal_findings(self, blueprint: Blueprint, option: Option, target: ResolvedTarget) -> list[Finding]:
        return [Finding(id="IMG001", path=("goals",), message="an image takes too long", help="allow more nodes")]

    def findings(self, blueprint: Blueprint, option: Option) -> list[Finding]:
        return []

    def warnings(self, blueprint: Blueprint, options: object) -> list[Finding]:
        return []

    def useful_share(self, point: SizedPoint) -> float:
        return 1.0

    def useful_shares_by_capacity(self, blueprint: Blueprint, point: SizedPoint) -> tuple[float, float]:
        return 1.0, 0.9

    def assumptions(self, blueprint: Blueprint, options: object) -> list[Any]:
        return []

    def constraints(self, blueprint: Blueprint) -> list[Any]:
        return []

    def workload(self, blueprint: Blueprint) -> WorkloadSummary:
        return DrawnImage(
            kind="draw",
            model=_MODEL.id,
            model_name=_MODEL.name,
            parameters=1,
            precision="bf16",
            architecture=_MODEL,
            model_file="",
        )

    def option(self, target: ResolvedTarget, point: SizedPoint, common: Mapping[str, Any]) -> Option:
        return Option(**common)

    def front_point(self, point: SizedPoint, common: Mapping[str, Any]) -> FrontPoint:
        return FrontPoint(**common)

    def other_option(self, common: Mapping[str, Any]) -> OtherOption:
        return OtherOption(**common)

    def plan(self, common: Mapping[str, Any]) -> Plan:
        return Plan(**common)


def _plan(*, most_days: float) -> Plan:
    blueprint = DrawBlueprint.model_validate(
        {
            "name": "pictures",
            "workload": {"kind": "draw"},
            "targets": {
                "aws": {"instance": "p5.48xlarge", "region": "us-east-1", "max_nodes": 4},
                "onprem": {"system": "dgx-h100", "max_nodes": 4},
            },
        }
    )
    facts = Facts.open()
    resolved = resolve(blueprint, facts.catalogue)
    assert isinstance(resolved, Resolved), resolved
    return decide(blueprint, resolved, facts, engine=_Images(most_days=most_days))


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A plan of images that are to be drawn within 0.7 days, with its high end."""
    return _plan(most_days=0.7)


def test_the_engine_alone_says_which_sizes_meet_the_goal(plan: Plan) -> None:
    """Two nodes take 0.6 days at the high end; among two to four, renting takes least cash with some of them."""
    assert {option.target for option in plan.options} == {"aws", "onprem"}
    assert all(option.meets_goal and option.nodes >= 2 for option in plan.options)
    assert plan.recommended == "aws"
    assert plan.findings == ()


def test_where_no_size_meets_the_goal_the_nearest_stands_with_what_the_engine_says() -> None:
    """Four nodes take 0.3 days at the high end: for 0.1 days they are the nearest, and the finding is the engine's."""
    missed = _plan(most_days=0.1)
    assert [option.nodes for option in missed.options] == [4, 4]
    assert [finding.id for finding in missed.findings] == ["IMG001", "IMG001"]


def test_nothing_of_training_is_in_plan_comparison_and_explanations(plan: Plan) -> None:
    """What is written for a kind without steps or training says nothing of either, but in texts of tables of facts."""
    money = finances(plan, PriceBook.open(), draws=100, seed=1, everything=True)
    written = {
        "plan.json": dumps(plan),
        "plan": plan_text(plan, Path("pictures.yaml")),
        "compare.json": f"{comparison_document(plan)} {ranking_document(plan, money)}",
        "compare": "\n".join([comparison_text(plan), *ranking_lines(plan, money)]),
        "explain": str([explanations(plan, option.target) for option in plan.options]),
    }
    facts = [*plan.not_counted, *(text for entry in plan.parameters for text in (entry.reason, entry.source))]
    for name, text in written.items():
        for fact in facts:
            text = text.replace(json.dumps(fact, ensure_ascii=True)[1:-1], "").replace(fact, "")  # noqa: PLW2901
        assert _OF_TRAINING.findall(text) == [], name


def test_the_unit_of_work_is_what_the_kind_calls_it(plan: Plan) -> None:
    """Tables, sentences and explanations say image where those of training say run."""
    money = finances(plan, PriceBook.open(), draws=100, seed=1, everything=True)
    told = [plan_text(plan, Path("pictures.yaml")), comparison_text(plan), "\n".join(ranking_lines(plan, money))]
    explained = {entry.number: entry for entry in explanations(plan, "aws")}
    for text in told:
        assert "this image" in text.replace("\n", " "), text
    assert explained["run_usd"].title == "cost of this image"
    assert explained["runs_in_horizon"].value.endswith(" images")
    for text in (*told, str(list(explained.values()))):
        assert re.findall(r"(?<![-.])\bruns?\b(?!_)", text.replace("economics.runs", "")) == [], text
