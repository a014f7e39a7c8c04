"""The comparison as Markdown: the plan's own figures, and names that are no markup."""

import dataclasses

from clusterwright import assets
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.report.comparison import comparison_markdown
from clusterwright.plan.text.money import USD
from clusterwright.plan.text.ranking import main_ways
from clusterwright.plan.text.words import term_text


def test_comparison() -> None:
    """Answer, a row per target, breakeven, the dearest assumptions, what to mind; a name is not markup."""
    path = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
    plan = plan_of(path, ["targets.azure=null", "targets.gcp=null", "goals.finish_within=20 days"])
    text = comparison_markdown(dataclasses.replace(plan, name="a|b<img>@all https://x"), USD)
    assert text.splitlines()[0] == "### a\\|b\\<img\\>\\@all https\\://x: renting and owning"
    for way in main_ways(plan):
        (row,) = (line for line in text.splitlines() if line.startswith(f"| {term_text(way.key)} |"))
        assert (USD.text(way.money.run_share_usd) if way.money.run_usd is None else USD.text(way.money.run_usd)) in row
        assert USD.text(way.money.horizon_usd) in row
        assert USD.text(way.money.npv_usd) in row
        assert row.count("|") == 11
    assert "**Cheaper on paper, not ranked**" in text
    assert "Breakeven against AWS: month" in text
    assert "- All-flash data box VAST DF-3015V2, 338 TB raw (on premises): $250,000.00 each" in text
    assert "resale value: 30 % of purchase (50 % to 10 %)" in text
    assert "`TCO002`" in text
    assert "Not counted: egress" in text


def test_unknown_and_late() -> None:
    """A target without a price, and one that misses the goal, are reported."""
    path = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
    spot = ["targets.aws.capacity=spot", "targets.aws.region=us-west-2"]
    plan = plan_of(path, ["targets.azure=null", "targets.gcp=null", *spot])
    late = tuple(
        dataclasses.replace(option, performance=dataclasses.replace(option.performance, meets_goal=False))
        for option in plan.options
    )
    text = comparison_markdown(dataclasses.replace(plan, options=late), USD)
    assert "AWS, spot: no price of" in text
    assert "AWS is unknown: no price of aws/p5.48xlarge" in text
    assert "on premises misses the goal of 30 days" in text
