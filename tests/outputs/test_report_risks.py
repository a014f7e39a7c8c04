"""The memo of the report: risks that the plan knows, the largest first, and what is still needed, by name."""

from dataclasses import replace

import pytest

from clusterwright.finance.finances import Finances, finances
from clusterwright.outputs.report.risks import needs, risks
from clusterwright.plan.alternatives.answer_basis import basis_lines
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.chance.uncertainty import SEED
from clusterwright.units import percent
from tests.opened import report_html
from tests.terms import with_finance


@pytest.fixture(scope="module")
def found(shipped_plan: Plan) -> Finances:
    """Return the shipped plan in the terms of finance."""
    return finances(shipped_plan, PriceBook.open(), draws=200, seed=SEED)


def test_three_risks_the_largest_first_in_figures_of_the_plan(shipped_plan: Plan, found: Finances) -> None:
    """At most three, by their share of the answer's dollars; the largest says the share that is estimated."""
    said = risks(shipped_plan, found, USD)
    assert [risk.title for risk in said] == ["Estimated prices", "Less work than planned", "Waiting for nodes"]
    assert [risk.weight for risk in said] == sorted((risk.weight for risk in said), reverse=True)
    kept = shipped_plan.alternative(shipped_plan.recommended_horizon_key)
    assert kept is not None
    assert kept.money.basis is not None
    assert kept.money.npv_usd is not None
    assert kept.money.npv_usd_high is not None
    assert said[0].text.startswith(f"{percent(kept.money.basis.estimated_share)} of the dollars")
    assert USD.text(kept.money.npv_usd_high) in said[0].text
    assert said[0].weight == pytest.approx(kept.money.npv_usd_high / kept.money.npv_usd - 1)
    half = min(way.money.basis.half_npv_usd or 0.0 for way in shipped_plan.ranked if way.money.basis is not None)
    assert USD.text(half) in said[1].text
    assert half < (kept.money.basis.half_npv_usd or 0.0)


@pytest.mark.parametrize(("goal", "words"), [(6.5, "leaves"), (6.0, "does not keep it")])
def test_a_goal_that_is_close_comes_first(shipped_plan: Plan, found: Finances, goal: float, words: str) -> None:
    """The high end of the band of days is set against the goal; the wait for nodes takes what is left of it."""
    close = replace(shipped_plan, goals=replace(shipped_plan.goals, finish_within_days=goal))
    first = risks(close, found, USD)[0]
    assert first.title == "The goal is close"
    assert words in first.text
    assert "The goal is close" not in [risk.title for risk in risks(shipped_plan, found, USD)]


def test_what_is_needed_is_named_until_it_is_given(shipped_plan: Plan, found: Finances) -> None:
    """Quotes by name with the dearest first, what is paid, tax and delivery as long as the blueprint gives none."""
    said = {need.title.partition(",")[0]: need.text for need in needs(shipped_plan, found, USD)}
    kept = shipped_plan.alternative(shipped_plan.recommended_horizon_key)
    assert kept is not None
    assert said["Approvals"].startswith(f"{USD.text(kept.money.capex_usd)} to be paid at the start; quota of ")
    assert said["Quotes"].index("Managed Lustre") < said["Quotes"].index("transceiver")
    assert "tco.tax_rate" in said["Inputs"]
    assert "tco.delivery" in said["Inputs"]
    assert "workload.framework" in said["Software"]
    assert "TCO002" in said["Newer prices"]
    taxed_plan = with_finance(shipped_plan, {"tax_rate": "21 %"})
    taxed = finances(taxed_plan, PriceBook.open(), draws=10, seed=SEED)
    inputs = next(need.text for need in needs(taxed_plan, taxed, USD) if need.title == "Inputs")
    assert "tco.tax_rate" not in inputs


def test_a_plan_without_an_answer_has_neither(unpriced_plan: Plan) -> None:
    """Nothing is at risk and nothing is to be signed where nothing is ranked, and the page is whole all the same."""
    plan = replace(unpriced_plan, recommended_key="", recommended_horizon_key="")
    nothing = finances(plan, PriceBook.open(), draws=10, seed=SEED)
    assert risks(plan, nothing, USD) == ()
    assert needs(plan, nothing, USD) == ()
    assert 'id="risks"' not in report_html(plan, nothing)


def test_the_basis_is_in_the_section_on_certainty(shipped_plan: Plan, found: Finances) -> None:
    """The first page keeps the memo; every line of the basis stands below it, under its own heading."""
    html = report_html(shipped_plan, found).replace("\xa0", " ")
    first, _, below = html.partition('<h2 id="basis">')
    section = below.partition("<h2")[0]
    for line in basis_lines(shipped_plan, USD):
        assert line[1:] in section
        assert line[1:] not in first
    assert first.index("<nav") < first.index('class="figures"') < first.index("<figure>") < first.index('id="risks"')
    assert "GPT-3 175B, 300 B tokens, bf16; the goal of 30 days at 90 % confidence." in first
