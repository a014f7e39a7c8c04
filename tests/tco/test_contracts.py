"""How rented nodes are paid: hand-computed months, limiting cases, and identities that hold for any contract."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.renting.mixes import Mix, Part
from clusterwright.tco.terms.contracts import Charge, Contract, SupportPlan, Surcharge, Tier, charge_of_tiers
from clusterwright.tco.terms.records import Candidate, CandidateCost, Economics
from clusterwright.tco.terms.stages import GrowthSchedule

from .examples import bare, bought, candidate, line, p5, stored

HOURS = 730.0


def _node(key: str = "aws/node", *, term: str = "reserved_1y", **changes: object) -> Candidate:
    """Return one node at 10 USD an hour."""
    plain = p5(key=key, term=term, rates=(("aws/p5.48xlarge", 10.0),))
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def _economics(months: float, **changes: object) -> Economics:
    return bare(horizon_months=months, **changes)


def _rows(ledger: Ledger, key: str = "aws/node") -> dict[tuple[float, str], float]:
    return {(row.month, row.item): round(row.usd, 6) for row in ledger.cash_flow_rows(key) if row.usd}


def _cost(ledger: Ledger, key: str = "aws/node") -> CandidateCost:
    return next(cost for cost in ledger.costs() if cost.key == key)


def test_all_upfront_is_paid_at_the_start_of_each_term(book: PriceBook) -> None:
    """12 months x 730 hours x 10 USD at the start of each year, nothing in between."""
    contract = Contract(upfront_fraction=1.0, period_months=12.0)
    ledger = Ledger([_node(contract=contract)], _economics(24.0), book)
    year = 12 * HOURS * 10.0
    assert _rows(ledger) == {
        (0.0, "aws/p5.48xlarge, paid in advance"): year,
        (12.0, "aws/p5.48xlarge, paid in advance"): year,
    }
    assert ledger.audit() == ()


def test_half_upfront(book: PriceBook) -> None:
    """Half of the term's price at its start, half of each month's at its end; the total is the same."""
    ledger = Ledger([_node(contract=Contract(upfront_fraction=0.5, period_months=12.0))], _economics(12.0), book)
    rows = _rows(ledger)
    assert rows[0.0, "aws/p5.48xlarge, paid in advance"] == 12 * HOURS * 5.0
    assert [rows[float(month), "aws/p5.48xlarge"] for month in range(1, 13)] == [HOURS * 5.0] * 12
    assert _cost(ledger).horizon_usd == pytest.approx(12 * HOURS * 10.0)


def test_paying_in_advance_costs_more_in_present_value(book: PriceBook) -> None:
    """A year in advance is worth 87,600; by the month it is the sum of 7,300 / 1.1^(m/12)."""
    economics = _economics(12.0, discount_rate=0.1)
    upfront = Ledger([_node(contract=Contract(upfront_fraction=1.0, period_months=12.0))], economics, book)
    monthly = Ledger([_node()], economics, book)
    assert _cost(upfront).npv_usd == pytest.approx(87_600.0)
    assert _cost(monthly).npv_usd == pytest.approx(sum(7_300.0 / 1.1 ** (month / 12) for month in range(1, 13)))


@pytest.mark.parametrize(
    ("rest", "upfront", "total", "last"),
    [
        # 18 months of a 12-month commitment: the second one has 6 months left.
        ("credited", 1.0, 18.0, -6.0),
        ("credited", 0.5, 18.0, -3.0),
        ("credited", 0.0, 18.0, None),
        ("paid", 1.0, 24.0, None),
        ("paid", 0.5, 24.0, 3.0),
        ("paid", 0.0, 24.0, 6.0),
    ],
)
def test_rest_of_the_last_commitment(
    book: PriceBook, rest: str, upfront: float, total: float, last: float | None
) -> None:
    """Credited, the horizon pays for its own months; paid, for whole terms. The last row is what remains."""
    contract = Contract(upfront_fraction=upfront, period_months=12.0, rest=rest)
    ledger = Ledger([_node(contract=contract)], _economics(18.0), book)
    assert ledger.audit() == ()
    assert _cost(ledger).horizon_usd == pytest.approx(total * HOURS * 10.0)
    ends = [row.usd for row in ledger.cash_flow_rows("aws/node") if "later work" in row.item or "rest of" in row.item]
    assert ends == ([] if last is None else [pytest.approx(last * HOURS * 10.0)])


def test_a_credit_is_no_cash(book: PriceBook) -> None:
    """Until the end of the horizon both terms are paid; the credit comes from the work that follows."""
    contract = Contract(upfront_fraction=1.0, period_months=12.0)
    ledger = Ledger([_node(contract=contract)], _economics(18.0), book)
    assert ledger.cumulative()[-1].usd == pytest.approx(24 * HOURS * 10.0)


@pytest.mark.parametrize("upfront", [0.0, 0.5, 1.0])
def test_a_credit_takes_its_surcharge_along(book: PriceBook, upfront: float) -> None:
    """However a commitment is paid, lost work is a share of what the horizon itself pays, not of what is credited."""
    contract = Contract(upfront_fraction=upfront, period_months=12.0)
    lost = Surcharge(category="goodput_loss", item="Lost work", fraction=0.03, of_categories=("compute",))
    ledger = Ledger([_node(contract=contract, surcharges=(lost,))], _economics(18.0), book)
    assert ledger.audit() == ()
    assert _cost(ledger).horizon_usd == pytest.approx(18 * HOURS * 10.0 * 1.03)
    assert ledger.cumulative()[-1].usd == pytest.approx((18 + 6 * upfront) * HOURS * 10.0 * 1.03)


def test_capacity_block_is_paid_before_the_hours_it_is_for(book: PriceBook) -> None:
    """Blocks of six months, half used: three months' price at the start of each; the last one is shorter."""
    node = _node(term="capacity_block", contract=Contract(upfront_fraction=1.0, period_months=6.0))
    ledger = Ledger([node], _economics(15.0, utilisation=0.5), book)
    name = "aws/p5.48xlarge, paid in advance"
    half = HOURS * 10.0 / 2
    assert _rows(ledger) == {(0.0, name): 6 * half, (6.0, name): 6 * half, (12.0, name): 3 * half}
    assert {row.fixed_or_variable for row in ledger.cash_flow_rows("aws/node")} == {"variable"}


def test_unused_committed_hours_are_paid(book: PriceBook) -> None:
    """A used hour costs rate / min(1, used / committed): 10 / 0.4 at 40 % use, 10 at full use."""
    for used, usd in ((0.4, 25.0), (1.0, 10.0)):
        found = _cost(Ledger([_node()], _economics(36.0, utilisation=used), book))
        assert (found.horizon_usd or 0.0) / (36 * HOURS * used) == pytest.approx(usd)


def test_more_work_than_hours_takes_more_nodes(book: PriceBook) -> None:
    """A cluster that would be busy 150 % of the time commits to half as many nodes again."""
    found = _cost(Ledger([_node(calendar_days=45.0)], _economics(36.0, reference_days=30.0), book))
    assert found.busy_fraction == pytest.approx(1.5)
    assert found.horizon_usd == pytest.approx(1.5 * 36 * HOURS * 10.0)


def test_discount_is_off_its_categories_alone(book: PriceBook) -> None:
    """18 % off nodes; 18 % off everything; storage keeps its price in the first case."""
    disk = stored("disk", 100.0, "us-east-1")
    plain = _node(term="on_demand")
    plain = dataclasses.replace(
        plain,
        bill=dataclasses.replace(plain.bill, lines=(*plain.bill.lines, disk)),
        rates=(("aws/p5.48xlarge", 10.0), ("disk", 2.0)),
    )
    nodes, disks = 12 * HOURS * 10.0, 12 * 200.0
    for categories, expected in ((("compute",), 0.82 * nodes + disks), ((), 0.82 * (nodes + disks))):
        contract = Contract(discount=0.18, categories=categories)
        ledger = Ledger([dataclasses.replace(plain, contract=contract)], _economics(12.0), book)
        assert _cost(ledger).horizon_usd == pytest.approx(expected)
        assert ledger.audit() == ()
    assert _cost(Ledger([dataclasses.replace(plain, contract=Contract())], _economics(12.0), book)).horizon_usd == (
        pytest.approx(nodes + disks)
    )


@pytest.mark.parametrize(("used", "paid"), [(0.5, 100_000.0), (1.0, 100_000.0), (0.0001, 100_000.0)])
def test_commitment_is_paid_at_least(book: PriceBook, used: float, paid: float) -> None:
    """A year of 87,600 USD at full use never reaches 100,000; the rest is paid at the year's end, in every year."""
    node = _node(term="on_demand", contract=Contract(committed_usd_per_year=100_000.0))
    ledger = Ledger([node], _economics(24.0, utilisation=used), book)
    spent = 12 * HOURS * 10.0 * used
    short = {row.month: row.usd for row in ledger.cash_flow_rows("aws/node") if row.category == "commitment"}
    assert short == {12.0: pytest.approx(paid - spent), 24.0: pytest.approx(paid - spent)}
    assert _cost(ledger).horizon_usd == pytest.approx(2 * paid)
    assert ledger.audit() == ()


@pytest.mark.parametrize("upfront", [0.0, 0.5, 1.0])
def test_nodes_that_come_later_are_paid_by_the_month(book: PriceBook, upfront: float) -> None:
    """80 % busy and half as much again each year: 1, 1.2 and 1.8 nodes, however the three years' term is paid."""
    node = _node(term="reserved_3y", contract=Contract(upfront_fraction=upfront, period_months=36.0))
    ledger = Ledger([node], _economics(36.0, utilisation=0.8, growth=GrowthSchedule(growth_per_year=0.5)), book)
    assert _cost(ledger).horizon_usd == pytest.approx(12 * HOURS * 10.0 * (1.0 + 1.2 + 1.8))
    assert ledger.audit() == ()


def test_committed_spend_counts_committed_nodes_that_grow(book: PriceBook) -> None:
    """80 % busy and half as much again each year: 87,600 USD in the first, 1.2 times that in the second."""
    node = _node(contract=Contract(committed_usd_per_year=110_000.0, period_months=12.0))
    ledger = Ledger([node], _economics(24.0, utilisation=0.8, growth=GrowthSchedule(growth_per_year=0.5)), book)
    year = 12 * HOURS * 10.0
    short = {row.month: row.usd for row in ledger.cash_flow_rows("aws/node") if row.category == "commitment"}
    assert short == {12.0: pytest.approx(110_000.0 - year), 24.0: pytest.approx(110_000.0 - 1.2 * year)}
    assert _cost(ledger).horizon_usd == pytest.approx(2 * 110_000.0)
    assert ledger.audit() == ()


def test_commitment_that_is_used_costs_nothing(book: PriceBook) -> None:
    """Half a year counts half: 43,800 spent of 40,000 committed leaves nothing to pay."""
    node = _node(term="on_demand", contract=Contract(committed_usd_per_year=80_000.0))
    found = _cost(Ledger([node], _economics(6.0), book))
    assert found.horizon_usd == pytest.approx(43_800.0)


def test_charges_and_support(book: PriceBook) -> None:
    """Egress each month, setup once; a support plan of 10 % to 5,000, 5 % above, of rent and charges of the month."""
    tiers = (Tier(from_usd=0.0, fraction=0.1), Tier(from_usd=5_000.0, fraction=0.05))
    support = SupportPlan(item="Support", tiers=tiers)
    node = _node(
        term="on_demand",
        charges=(
            Charge(category="egress", item="Egress", usd=700.0),
            Charge(category="setup", item="Setup", usd=2_000.0, once=True),
        ),
        support=support,
    )
    ledger = Ledger([node], _economics(2.0), book)
    usd = {}
    for row in ledger.cash_flow_rows("aws/node"):
        usd[row.month, row.category] = usd.get((row.month, row.category), 0.0) + row.usd
    assert usd == {
        (0.0, "setup"): 2_000.0,
        (0.0, "support_plan"): pytest.approx(200.0),
        **{
            key: pytest.approx(value)
            for month in (1.0, 2.0)
            for key, value in {
                (month, "compute"): 7_300.0,
                (month, "egress"): 700.0,
                (month, "support_plan"): 500.0 + 0.05 * 3_000.0,
            }.items()
        },
    }
    assert ledger.audit() == ()
    least = dataclasses.replace(node, support=dataclasses.replace(support, minimum_usd=5_000.0), charges=())
    found = _cost(Ledger([least], _economics(2.0), book))
    assert found.horizon_usd == pytest.approx(2 * (7_300.0 + 5_000.0))
    free = dataclasses.replace(
        node, support=SupportPlan(item="plan", tiers=(Tier(from_usd=0, fraction=0.0),)), charges=()
    )
    assert _cost(Ledger([free], _economics(2.0), book)).horizon_usd == pytest.approx(2 * 7_300.0), "no least amount"


@given(
    amount=st.floats(0, 1e9),
    steps=st.lists(st.tuples(st.floats(1, 1e6), st.floats(0, 1)), min_size=1, max_size=5),
)
@settings(max_examples=50, deadline=None)
def test_tiers_are_marginal(amount: float, steps: list[tuple[float, float]]) -> None:
    """The price of an amount is the sum of the prices of its parts, step by step."""
    starts, start = [], 0.0
    for width, price in steps:
        starts.append((start, price))
        start += width
    prices = [price for _, price in starts]
    found = charge_of_tiers(amount, starts)
    assert min(prices) * amount <= found * (1 + 1e-9) + 1e-6
    assert found <= max(prices) * amount * (1 + 1e-9) + 1e-6
    cut = starts[-1][0]
    if amount > cut:
        assert found == pytest.approx(charge_of_tiers(cut, starts) + (amount - cut) * prices[-1])


def _pair(**changes: object) -> tuple[Candidate, Candidate]:
    owned = candidate("onprem", bought("dgx-h100"), it_power_w=10_000.0)
    rented = dataclasses.replace(_node("aws/on_demand", term="on_demand"), **changes)  # type: ignore[arg-type]
    disk = line("disk", quantity=1.0, unit="each", charge="monthly", scales_with="cluster", category="storage")
    rented = dataclasses.replace(
        rented,
        bill=dataclasses.replace(rented.bill, lines=(*rented.bill.lines, disk)),
        rates=(*rented.rates, ("disk", 100.0)),
    )
    return owned, rented


def _mix(owned_nodes: float, work: float) -> Mix:
    return Mix(
        key="hybrid",
        target="hybrid",
        nodes=1,
        gpus=8,
        parts=(
            Part(key="onprem", fixed_share=owned_nodes, variable_share=work),
            Part(key="aws/on_demand", fixed_share=1 - owned_nodes, variable_share=1 - work),
        ),
    )


@pytest.mark.parametrize(("share", "same_as"), [(0.0, "aws/on_demand"), (1.0, "onprem")])
def test_hybrid_ends_are_its_parts(book: PriceBook, share: float, same_as: str) -> None:
    """Nothing owned is renting, all owned is owning: every figure, to the last digits."""
    ledger = Ledger(_pair(), _economics(36.0, utilisation=0.7, discount_rate=0.08), book, [_mix(share, share)])
    mixed, alone = _cost(ledger, "hybrid"), _cost(ledger, same_as)
    for name in (
        "run_usd",
        "horizon_usd",
        "npv_usd",
        "capex_usd",
        "usd_per_gpu_hour",
        "busy_fraction",
        "horizon_usd_low",
        "horizon_usd_high",
        "runs_in_horizon",
    ):
        assert getattr(mixed, name) == pytest.approx(getattr(alone, name)), name
    assert ledger.audit() == ()


def test_hybrid_by_hand(book: PriceBook) -> None:
    """Half the nodes do three quarters of the work: half of what owning costs at all times, a quarter of the rent."""
    economics = _economics(36.0, utilisation=0.6)
    ledger = Ledger(_pair(), economics, book, [_mix(0.5, 0.75)])
    owned, rented, mixed = (_cost(ledger, key) for key in ("onprem", "aws/on_demand", "hybrid"))
    assert mixed.capex_usd == pytest.approx((owned.capex_usd or 0) / 2)
    standing, nodes = 36 * 100.0, 36 * HOURS * 10.0 * 0.6
    assert rented.horizon_usd == pytest.approx(standing + nodes)
    assert mixed.horizon_usd == pytest.approx((owned.horizon_usd or 0) / 2 + standing / 2 + nodes / 4)
    assert mixed.mixed
    assert mixed.owned
    assert {pair.owned_key for pair in ledger.breakevens()} == {"onprem", "hybrid"}


def test_delivery_is_a_mix(book: PriceBook) -> None:
    """Six months of rent, then the owner's own costs; the purchase is paid at the start."""
    bridged = Mix(
        key="late",
        target="onprem",
        nodes=1,
        gpus=8,
        parts=(
            Part(key="onprem", fixed_share=1.0, variable_share=1.0, from_month=6.0),
            Part(key="aws/on_demand", fixed_share=1.0, variable_share=1.0, to_month=6.0),
        ),
    )
    ledger = Ledger(_pair(), _economics(36.0), book, [bridged])
    months = {key: {} for key in ("late", "onprem", "aws/on_demand")}  # type: dict[str, dict[float, float]]
    for key, by_month in months.items():
        for row in ledger.cash_flow_rows(key):
            by_month[row.month] = by_month.get(row.month, 0.0) + row.usd
    assert months["late"] == {
        month: pytest.approx(months["aws/on_demand" if 0 < month <= 6 else "onprem"][month]) for month in months["late"]
    }
    assert len(months["late"]) == 37


@given(share=st.floats(0, 1), work=st.floats(0, 1), upfront=st.floats(0, 1), months=st.integers(1, 60))
@settings(max_examples=8, deadline=None)
def test_views_reconcile_for_any_contract(
    book: PriceBook, share: float, work: float, upfront: float, months: int
) -> None:
    """Audits hold, and a mix costs the weighted sum of its parts, whatever the shares."""
    owned, rented = _pair(
        term="reserved_1y",
        contract=Contract(upfront_fraction=upfront, period_months=12.0, discount=0.1, committed_usd_per_year=5e4),
    )
    mix = _mix(share, work)
    ledger = Ledger([owned, rented], _economics(float(months)), book, [mix])
    assert ledger.audit() == ()
    rows = {key: ledger.cash_flow_rows(key) for key in ("onprem", "aws/on_demand", "hybrid")}
    expected = sum(
        row.usd * (part.fixed_share if row.fixed_or_variable == "fixed" else part.variable_share)
        for part in mix.parts
        for row in rows[part.key]
    )
    assert sum(row.usd for row in rows["hybrid"]) == pytest.approx(expected, rel=1e-9, abs=1e-6)
