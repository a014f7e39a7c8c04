"""What the answer rests on is counted once, adds up, and is said alike in every output."""

import datetime as dt
from dataclasses import replace

import pytest

from clusterwright.cli.render.answer import comparison_text, plan_text
from clusterwright.errors import ClusterwrightError
from clusterwright.finance.finances import finances
from clusterwright.interface.documents import comparison_document, ranking_document
from clusterwright.interface.planning import decided, load
from clusterwright.outputs.report.comparison import comparison_markdown
from clusterwright.outputs.summary import readme
from clusterwright.plan.alternatives.answer_basis import basis_lines
from clusterwright.plan.basis import Basis
from clusterwright.plan.document import dumps, loads
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.money import USD
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.quoted import QuotedPrice
from clusterwright.tco.ledger.engine import Ledger

from .examples import SHIPPED, plan_of, shipped

QUOTE = QuotedPrice(
    sku="dgx-h100",
    unit="each",
    usd=300_000.0,
    price=300_000.0,
    currency="USD",
    usd_per_currency=1.0,
    rate_on="",
    vendor="Acme",
    quoted_on="2026-10-01",
    lead_time_weeks=None,
    file="quotes.csv",
    line=2,
)


def of(plan: Plan, target: str) -> tuple[Option, Basis]:
    """Return an option with its basis."""
    option = plan.option(target)
    assert option is not None
    assert option.money.basis is not None
    return option, option.money.basis


def test_shares_add_up_and_are_those_of_the_cash_flow() -> None:
    """Quoted, listed and estimated dollars are all dollars; documented ones are those of the priced share."""
    for entry in shipped().options:
        option, basis = of(shipped(), entry.target)
        assert basis.quoted_share is not None
        assert basis.quoted_share + basis.list_share + basis.estimated_share == pytest.approx(1.0)  # type: ignore[operator]
        assert basis.documented_share == pytest.approx(option.money.horizon_priced_share)
        assert basis.indicative == (option.money.horizon_priced_share < 0.8)  # type: ignore[operator]


def test_owning_at_half_documented_is_called_indicative() -> None:
    """Where the recommended way is priced by half, the answer says so; where it is priced whole, nothing is said."""
    for details in (False, True):
        text = " ".join(plan_text(shipped(), SHIPPED, details=details, money=USD).split())
        assert f"{'a run' if details else '37 runs'}, indicative (52 % documented)" in text
        assert text.count(", indicative (") == 1


def test_a_quote_is_no_list_price() -> None:
    """What a vendor quoted moves from listed to quoted dollars, and its day counts."""
    loaded = load(SHIPPED, overrides=["targets.azure=null", "targets.gcp=null"])
    plan = decided(loaded, loaded, Facts.open(), quotes=(QUOTE,)).plan
    quoted, listed = of(plan, "onprem")[1], of(shipped(), "onprem")[1]
    assert quoted.quoted_share > 0.3 > listed.quoted_share  # type: ignore[operator]
    assert quoted.list_share < 0.2 < listed.list_share  # type: ignore[operator]
    (server,) = (line for line in of(plan, "onprem")[0].money.lines if line.line.sku == "dgx-h100")
    assert server.last_seen == dt.date(2026, 10, 1)


def test_the_share_of_old_dollars_is_that_of_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dollars by documents seen more than a year ago: of one part none, of every documented part all that is listed."""
    plan = shipped()
    for entry in plan.options:
        old = [line for line in entry.money.lines if line.last_seen and line.last_seen < dt.date(2025, 10, 16)]
        share = of(plan, entry.target)[1].old_share
        assert share is not None
        assert bool(old) == (share > 0)
    share = of(plan, "onprem")[1].old_share
    said = f"{share:.0%}".replace("%", " %") + " by documents last seen more than a year before 2026-10-16"
    assert said in " ".join(basis_lines(plan, USD))
    monkeypatch.setattr("clusterwright.plan.alternatives.answer_basis.OLD_DAYS", -1)
    loaded = load(SHIPPED)
    anew = decided(loaded, loaded, Facts.open()).plan
    for entry in anew.options:
        basis = of(anew, entry.target)[1]
        assert basis.old_share == pytest.approx(basis.list_share)


def test_half_the_utilisation_is_counted_by_the_engine() -> None:
    """What stands beside the answer is what a plan at half the utilisation comes to."""
    basis = of(shipped(), "aws")[1]
    half = of(shipped("economics.utilisation=40 %"), "aws")[0]
    assert basis.half_runs == pytest.approx(half.money.runs_in_horizon)
    assert basis.half_horizon_usd == pytest.approx(half.money.horizon_usd)
    assert basis.half_run_usd == pytest.approx(half.money.run_usd)
    owned, owned_basis = of(shipped(), "onprem")
    assert owned_basis.half_run_usd is None
    assert owned_basis.half_run_share_usd > 1.9 * owned.money.run_share_usd  # type: ignore[operator]


def test_the_basis_is_that_of_the_recommended_way() -> None:
    """The answer for this run is a capacity block, and no sentence is of the price on demand."""
    plan = shipped("goals.confidence=60 %", "targets.gcp=null")
    block = plan.alternative(plan.recommended_key)
    assert block is not None
    assert block.key == "aws/capacity_block"
    first, second, half = basis_lines(plan, USD)
    assert first.startswith("dollars of AWS, capacity block: 100 % list price; ")
    assert second.startswith("dollars of on premises: ")
    assert "AWS, capacity block $17.4 M; " in half
    answered = plan_of(SHIPPED, "goals.confidence=60 %", *block.set_values, "economics.utilisation=40 %").alternative(
        block.key
    )
    assert answered is not None
    assert answered.money.npv_usd == pytest.approx(block.money.basis.half_npv_usd)  # type: ignore[union-attr]


@pytest.mark.parametrize("values", [(), ("tco.hybrid=[{owned: 50 %}]", "tco.delivery=6 months")])
def test_every_way_of_a_known_cost_has_its_basis(values: tuple[str, ...]) -> None:
    """In JSON every ranked row has one, whose shares are of its own dollars, commitments and mixes too."""
    plan = shipped(*values)
    for way in plan.ranking:
        assert (way.money.basis is None) == (way.money.npv_usd is None), way.key
        if way.money.basis is None:
            continue
        assert way.money.basis.documented_share == pytest.approx(way.money.horizon_priced_share), way.key
        half = way.money.basis.half_run_usd, way.money.basis.half_run_share_usd
        known = way.money.run_usd, way.money.run_share_usd
        hybrid = way.target == "hybrid"
        assert [usd is None for usd in half] == [hybrid or usd is None for usd in known], way.key
    document = ranking_document(plan, finances(plan, PriceBook.open(), draws=10, seed=1))
    assert all(row["basis"]["list_share"] is not None for row in document["ranked"])
    for option in plan.other_options:
        way = plan.alternative(option.key)
        assert way is None or option.money.basis == way.money.basis
    assert loads(dumps(plan)).ranking == plan.ranking


def test_what_the_blueprint_adds_to_the_bill_of_a_cloud_is_counted() -> None:
    """Support and egress that are given are named as counted, of the way that pays them."""
    way = shipped("tco.cloud.support=3 %", "tco.cloud.egress=10 TB").alternative("aws/on_demand")
    assert way is not None
    assert way.money.basis is not None
    assert way.money.basis.counted == ("support plan", "egress")
    assert way.money.basis.not_counted == ("licences", "border network")


def test_other_capacities_are_counted_by_an_audited_cash_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view of theirs that does not reconcile stops the plan, and none of its figures differs from the ranking's."""
    audit = Ledger.audit
    shipped()

    def broken(ledger: Ledger) -> tuple[dict[str, object], ...]:
        keys = {candidate.key for candidate in ledger.candidates}
        # The ledger of the capacities beside the plan's options: without the options themselves.
        return (
            ({"audit": "planted"},) if "aws/capacity_block" in keys and "aws/on_demand" not in keys else audit(ledger)
        )

    monkeypatch.setattr(Ledger, "audit", broken)
    with pytest.raises(ClusterwrightError, match="do not reconcile"):
        plan_of(SHIPPED, "targets.azure=null", "targets.gcp=null")
    for option in shipped().other_options:
        way = shipped().alternative(option.key)
        if way is None:
            continue
        for name in (
            "run_usd",
            "run_usd_low",
            "run_usd_high",
            "run_share_usd",
            "horizon_usd",
            "npv_usd",
            "npv_usd_low",
        ):
            usd = getattr(way.money, name)
            assert getattr(option.money, name) == (None if usd is None else pytest.approx(usd)), (way.key, name)


def test_a_share_of_a_run_is_named_so_on_the_front() -> None:
    """Sizes to rent have the cash of a run, sizes to own its share, as the options have."""
    for option in shipped().options:
        owned = option.design.facility is not None
        for point in option.performance.front:
            assert point.run_usd is None or not owned
            assert point.run_share_usd is None or owned
        chosen = next(point for point in option.performance.front if point.nodes == option.cluster.nodes)
        assert (chosen.run_share_usd if owned else chosen.run_usd) is not None


def test_prices_are_valid_as_long_as_the_blueprint_says() -> None:
    """The oldest price sets the day; a blueprint that trusts older prices moves it."""
    basis = of(shipped(), "onprem")[1]
    oldest = dt.date.fromisoformat(basis.oldest_price)
    assert basis.valid_until == (oldest + dt.timedelta(days=180)).isoformat()
    assert f"out of date since {basis.valid_until}" in " ".join(basis_lines(shipped(), USD))
    trusted = shipped("economics.max_price_age=6 years")
    assert "out of date" not in " ".join(basis_lines(trusted, USD))
    assert f"valid until {of(trusted, 'onprem')[1].valid_until}" in " ".join(basis_lines(trusted, USD))


def test_freight_and_the_like_are_counted_or_named() -> None:
    """Each of the four is on one of the two lists; what the blueprint gives is counted."""
    given = {
        "freight": "tco.owner.freight_fraction=2 %",
        "licences": "tco.owner.software_usd_per_gpu_year=500",
        "border network": "tco.owner.transit_usd_per_month=9000",
    }
    plain, full = of(shipped(), "onprem")[1], of(shipped(*given.values()), "onprem")[1]
    assert set(plain.counted) == {"support"}
    assert set(plain.not_counted) == set(given)
    assert set(full.counted) == {"support", *given}
    assert not full.not_counted
    assert "support plan" in of(shipped(), "aws")[1].not_counted


def test_every_output_says_the_same() -> None:
    """Plan, comparison, Markdown and the folder's README have the same sentences, JSON the same record."""
    plan = shipped()
    lines = basis_lines(plan, USD)
    assert len(lines) == 3
    details = plan_text(plan, SHIPPED, details=True, money=USD)
    plain = [" ".join(text.split()) for text in (details, comparison_text(plan, USD))]
    marked = [text.replace("\\", "") for text in (comparison_markdown(plan, USD), readme(plan, USD))]
    for line in lines:
        assert all(line.replace(" ", "") in text.replace(" ", "") for text in plain), line
        assert all(line[1:] in text for text in marked), line
    document = comparison_document(plan)
    for option in document["options"]:
        assert option["basis"]["list_share"] == of(plan, option["target"])[1].list_share
    assert loads(dumps(plan)).options[0].money.basis == plan.options[0].money.basis


def test_a_plan_of_an_older_version_says_nothing_of_it() -> None:
    """No basis is known of a plan that was written without."""
    ways = tuple(replace(way, money=replace(way.money, basis=None)) for way in shipped().alternatives)
    old = replace(shipped(), alternatives=ways)
    assert basis_lines(old, USD) == ()
    assert "Basis" not in plan_text(old, SHIPPED, details=True, money=USD)
