"""A kind of workload that the program does not know goes from blueprint to answer by its engine alone."""

import json
import re
from pathlib import Path

import pytest

from clusterwright.cli.compare.finance import finance_text
from clusterwright.cli.render.answer import comparison_text, plan_text
from clusterwright.cli.render.diff import markdown_text, plain_text
from clusterwright.cli.render.ranked import ranking_lines
from clusterwright.diff.causes import Causes
from clusterwright.diff.differences import differences
from clusterwright.errors import InputError
from clusterwright.explain.explanation import find
from clusterwright.finance.finances import finances
from clusterwright.interface.documents import comparison_document, ranking_document
from clusterwright.plan.document import dumps
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD
from clusterwright.pricing.book import PriceBook
from tests.opened import explanations
from tests.plan.drawing import plan_of_images

#: Words of training, but in the name of a source.
_OF_TRAINING = re.compile(r"(?i)\b(?:train\w*(?!-cost)\b|mfu\b|steps?\b)|_step\b|\bstep_s\b")


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A plan of images that are to be drawn within 0.7 days, with its high end."""
    return plan_of_images(most_days=0.7)


def test_the_engine_alone_says_which_sizes_meet_the_goal(plan: Plan) -> None:
    """Two nodes take 0.6 days at the high end; among two to four, renting takes least cash with some of them."""
    assert {option.target for option in plan.options} == {"aws", "onprem"}
    assert all(option.performance.meets_goal and option.cluster.nodes >= 2 for option in plan.options)
    assert plan.recommended == "aws"
    assert plan.findings == ()


def test_where_no_size_meets_the_goal_the_nearest_stands_with_what_the_engine_says() -> None:
    """Four nodes take 0.3 days at the high end: for 0.1 days they are the nearest, and the finding is the engine's."""
    missed = plan_of_images(most_days=0.1)
    assert [option.cluster.nodes for option in missed.options] == [4, 4]
    assert [finding.id for finding in missed.findings] == ["IMG001", "IMG001"]


def test_nothing_of_training_is_in_plan_comparison_and_explanations(plan: Plan) -> None:
    """What is written for a kind without steps or training says nothing of either, but in texts of tables of facts."""
    money = finances(plan, PriceBook.open(), draws=100, seed=1, everything=True)
    written = {
        "plan.json": dumps(plan),
        "plan": plan_text(plan, Path("pictures.yaml"), money=USD),
        "details": plan_text(plan, Path("pictures.yaml"), details=True, money=USD),
        "compare.json": f"{comparison_document(plan)} {ranking_document(plan, money)}",
        "compare": "\n".join([comparison_text(plan, USD), *ranking_lines(plan, money, money=USD)]),
        "explain": str([explanations(plan, option.target) for option in plan.options]),
    }
    facts = [text for entry in plan.parameters for text in (entry.reason, entry.source)]
    for name, text in written.items():
        for fact in facts:
            text = text.replace(json.dumps(fact, ensure_ascii=True)[1:-1], "").replace(fact, "")  # noqa: PLW2901
        assert _OF_TRAINING.findall(text) == [], name


def test_the_unit_of_work_is_what_the_kind_calls_it(plan: Plan) -> None:
    """Tables, sentences and explanations say image where those of training say run."""
    money = finances(plan, PriceBook.open(), draws=100, seed=1, everything=True)
    told = [
        plan_text(plan, Path("pictures.yaml"), money=USD),
        comparison_text(plan, USD),
        "\n".join(ranking_lines(plan, money, money=USD)),
    ]
    explained = {entry.number: entry for entry in explanations(plan, "aws")}
    for text in told:
        assert "this image" in text.replace("\n", " "), text
    assert explained["run_usd"].title == "cost of this image"
    assert explained["runs_in_horizon"].value.endswith(" images")
    for text in (*told, str(list(explained.values()))):
        assert re.findall(r"(?<![-.])\bruns?\b(?!_)", text.replace("economics.runs", "")) == [], text


def test_finance_and_differences_call_it_so_too(plan: Plan) -> None:
    """Costs of work, carbon and differences are of an image; there is none of tokens and FLOPs, which nobody counts."""
    money = finances(plan, PriceBook.open(), draws=100, seed=1, everything=True)
    other = plan_of_images(most_days=1.3)
    found = differences(plan, other, ("before", "after"))
    unit = plan.workload.unit
    told = [
        finance_text(plan, money, USD),
        plain_text(found, Causes(), unit, USD),
        markdown_text(found, Causes(), unit, USD),
    ]
    for text in told:
        assert re.findall(r"(?i)\b(?:this|a|of) runs?\b|training|\bmfu\b|PFLOP|tokens", text) == []
    assert "this image" in told[2]


def test_names_of_numbers_are_those_of_the_kind(plan: Plan) -> None:
    """A name that only training has is no name of an image's number; those of all kinds are."""
    known = explanations(plan, "aws")
    assert find(known, "run_usd_low", "draw").number == "run_usd"
    for name in ("layout", "host_memory", "optimizer"):
        with pytest.raises(InputError, match="there is no number"):
            find(known, name, "draw")
    with pytest.raises(InputError) as caught:
        find(known, "host_memory", "train")
    assert "workload.offload" in (caught.value.help or "")
