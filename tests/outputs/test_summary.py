"""`README.md` of an output folder: decision, reasons, what failed, what is assumed and not counted, what to do next."""

from dataclasses import replace
from functools import cache

import pytest

from clusterwright import assets
from clusterwright.blueprint.load import load
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import Finding
from clusterwright.outputs.deliverables import everything
from clusterwright.outputs.markdown import cell
from clusterwright.outputs.summary import readme
from clusterwright.plan.decide import decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.ranking import main_ways
from clusterwright.plan.text.words import term_text


@cache
def plan_of(*overrides: str) -> Plan:
    """Return the shipped blueprint's plan."""
    blueprint = load(assets.root() / "blueprints" / "train-gpt3-175b.yaml", overrides).blueprint
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved)
    return decide(blueprint, resolved, Facts.open())


def section(text: str, title: str) -> str:
    """Return the text below a heading."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_sections_stand_in_the_order_of_questions() -> None:
    """What was decided, why, what to look at, on what, what is left out, what is here, what to do."""
    headings = [line[3:] for line in readme(plan_of(), USD).splitlines() if line.startswith("## ")]
    assert headings == [
        "Decision",
        "Why",
        "What to look at",
        "What it rests on",
        "Not counted",
        "What is here",
        "Next",
    ]
    fresh = readme(plan_of("economics.max_price_age=10 years"), USD)
    assert "## What to look at" not in fresh


def test_decision_holds_every_option() -> None:
    """The table has every ranked way's cluster and totals, and marks both answers."""
    plan = plan_of()
    decision = section(readme(plan, USD), "Decision")
    rows = [line for line in decision.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(main_ways(plan))
    for way, row in zip(main_ways(plan), rows, strict=True):
        assert row.startswith(f"| {term_text(way.key)} |")
        assert cell(f"{way.cluster.nodes:,} × {way.cluster.instance}") in row
        assert (USD.text(way.money.run_share_usd) if way.money.run_usd is None else USD.text(way.money.run_usd)) in row
        assert USD.text(way.money.npv_usd) in row
        assert ("this run" in row) == (way.key == plan.recommended_key)
        assert ("horizon" in row) == (way.key == plan.recommended_horizon_key)
    assert "Cheaper on paper, not ranked:" in decision
    block = "--set targets.aws.capacity=capacity-block" in decision
    assert block == (plan.recommended_key == "aws/capacity_block")


def test_assumptions_are_all_named() -> None:
    """Every assumed price and economic value stands in the text, with the reason of the latter."""
    plan = plan_of()
    basis = section(readme(plan, USD), "What it rests on")
    for option in plan.options:
        assert all(cell(line.line.item) in basis for line in option.money.lines if line.basis == "assumed")
    assert all(entry.key in basis and entry.reason in basis for entry in plan.parameters if entry.basis == "assumed")


def test_omissions_are_stated() -> None:
    """The plan's own list of what is not counted is repeated, and so are lines without a price."""
    plan = plan_of("economics.as_of=2015-01-01")
    left_out = section(readme(plan, USD), "Not counted")
    assert all(item in left_out for item in plan.not_counted)
    assert "GPU node p5.48xlarge" in left_out
    assert "totals are unknown" in left_out
    decision = section(readme(plan, USD), "Decision")
    assert "No way can be ranked." in decision
    assert "AWS, on demand: no price of GPU node p5.48xlarge" in decision
    assert "Cheaper on paper" not in decision
    assert "|" not in decision


def test_failed_rules_have_a_section() -> None:
    """A plan that misses something says which rule, and what would help."""
    finding = Finding(id="GOAL001", path=("goals",), message="too slow", help="allow more days")
    text = section(readme(replace(plan_of(), findings=(finding,)), USD), "What failed")
    assert "`GOAL001` too slow. Allow more days." in text


def test_a_description_is_text() -> None:
    """A description brings neither headings nor markup, links or mentions of its own."""
    description = "first\n\n## Decision\nsecond <script>x</script> ![a](https://a.example) `b` @all | <!--"
    text = readme(replace(plan_of(), description=description), USD)
    assert text.count("\n## Decision\n") == 1
    assert (
        "first \\#\\# Decision second \\<script\\>x\\</script\\> "
        "\\!\\[a\\](https\\://a.example) \\`b\\` \\@all \\| \\<\\!--\n"
    ) in text


@pytest.mark.parametrize("overrides", [(), ("targets.onprem=null",), ("targets.aws=null", "targets.gcp=null")])
def test_files_that_it_names_are_written(overrides: tuple[str, ...]) -> None:
    """What the README points to is in the folder, for any set of targets."""
    plan = plan_of(*overrides)
    files = everything(plan, Facts.open(), money=USD)
    text = files["README.md"].content.decode()
    listed = {line.partition("`")[2].partition("`")[0] for line in section(text, "What is here").splitlines()}
    for name in listed:
        assert name in files or any(path.startswith(name) for path in files), name
    top = {path.partition("/")[0] for path in files}
    assert top == {"plan.json", "README.md", "tco", *(option.target for option in plan.options)}
    assert "bill_of_materials.xlsx" not in text or "onprem/bill_of_materials.xlsx" in files
