"""Growth, late delivery and every way of holding capacity, held against a model of a few lines in NumPy."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.renting.mixes import Mix, owned_and_rented, owned_share
from clusterwright.tco.terms.contracts import Contract
from clusterwright.tco.terms.records import Candidate, Economics
from clusterwright.tco.terms.stages import GrowthSchedule

from .examples import bare, bought, candidate, line, p5, with_overrides

HOURS = 730.0
NODE_USD = 10.0
SERVER_USD = 1000.0
DISK_USD = 5.0


def _economics(months: int, schedule: GrowthSchedule, utilisation: float = 0.6) -> Economics:
    plain = bare(horizon_months=float(months), growth=schedule, utilisation=utilisation)
    # Half of the power is drawn at all times, the other half while it works.
    return with_overrides(plain, server=SERVER_USD, disk=DISK_USD, idle_power_fraction=0.5)


def _owned(nodes: int = 10) -> Candidate:
    return candidate("own", bought("server", float(nodes)), it_power_w=10_000.0, nodes=nodes)


def _rented(term: str = "on_demand", contract: Contract | None = None, key: str = "rent") -> Candidate:
    node = p5(key=key, term=term, rates=(("aws/p5.48xlarge", NODE_USD),), contract=contract)
    disk = line("disk", charge="monthly", scales_with="cluster", category="storage")
    return dataclasses.replace(node, bill=dataclasses.replace(node.bill, lines=(*node.bill.lines, disk)))


def _by_month(ledger: Ledger, key: str, months: int) -> np.ndarray:
    found = np.zeros(months + 1)
    for row in ledger.cash_flow_rows(key):
        found[round(row.month)] += row.usd
    return found


@settings(max_examples=8, deadline=None)
@given(
    growth=st.sampled_from([-0.4, -0.1, 0.0, 0.15, 0.7]),
    nodes=st.integers(0, 10),
    busy=st.floats(0.3, 1.0),
    months=st.integers(9, 50),
    late=st.integers(0, 8),
    deposit=st.floats(0.1, 1.0),
)
def test_an_owned_base_does_what_it_can_and_the_rest_is_rented(  # noqa: PLR0917 - hypothesis draws
    book: PriceBook, growth: float, nodes: int, busy: float, months: int, late: int, deposit: float
) -> None:
    """Month by month: rented = max(0, work - what is owned can do), all of it before delivery."""
    utilisation, schedule = 0.6, GrowthSchedule(growth_per_year=growth)
    share = nodes / 10
    most = min(1.0, share * busy / utilisation)
    parts = owned_and_rented(
        "own/base",
        "rent",
        nodes_share=share,
        most_work=most,
        growth=schedule,
        horizon_months=months,
        delivery_months=float(late),
    )
    mix = Mix(
        key="mix",
        target="hybrid",
        nodes=nodes,
        gpus=8,
        parts=parts,
        delivery_months=float(late),
        deposit=deposit if late else 1.0,
    )
    base = dataclasses.replace(_owned(), key="own/base", expands=False, listed=False)
    ledger = Ledger([_owned(), base, _rented()], _economics(months, schedule, utilisation), book, [mix])
    assert ledger.audit() == ()
    assert "own/base" not in {cost.key for cost in ledger.costs()}

    month = np.arange(1, months + 1)
    work = (1 + growth) ** ((month - 1) // 12)
    there = month > late
    rented = np.where(there, np.maximum(0.0, work - most), work)
    expected = np.zeros(months + 1)
    expected[1:] += rented * utilisation * NODE_USD * HOURS
    expected[1:] += np.where(there, 1 - share, 1.0) * DISK_USD
    kwh = 10.0 * HOURS * (0.5 * share * there + 0.5 * utilisation * (work - rented))
    expected[1:] += 0.1 * kwh
    expected[0] += share * 10 * SERVER_USD * (deposit if late else 1.0)
    expected[late] += share * 10 * SERVER_USD * (1 - deposit if late else 0.0)
    assert _by_month(ledger, "mix", months) == pytest.approx(expected, rel=1e-9, abs=1e-6)
    shares = ledger.work_shares["mix"]
    assert shares.get("rent", 0.0) == pytest.approx(rented.sum() / work.sum(), abs=1e-12)
    assert sum(shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("growth", [-0.3, 0.25, 1.0])
def test_blocks_are_paid_for_the_work_of_their_own_months(book: PriceBook, growth: float) -> None:
    """At the start of each block: its months' work, which grows within it."""
    blocks = {
        period: _rented("capacity_block", Contract(upfront_fraction=1.0, period_months=float(period)), f"rent/{period}")
        for period in (6, 18, 30)
    }
    ledger = Ledger([_owned(), *blocks.values()], _economics(40, GrowthSchedule(growth_per_year=growth)), book)
    work = 0.6 * NODE_USD * HOURS * (1 + growth) ** (np.arange(40) // 12)
    for period, block in blocks.items():
        expected = np.zeros(41)
        expected[1:] = DISK_USD
        for start in range(0, 40, period):
            expected[start] += work[start : start + period].sum()
        assert _by_month(ledger, block.key, 40) == pytest.approx(expected)


@pytest.mark.parametrize("growth", [-0.3, 0.25, 1.0])
def test_each_committed_node_is_a_term_of_its_own(book: PriceBook, growth: float) -> None:
    """Nodes that the work needs later begin a year of their own; what the horizon cuts off is of each of them."""
    months, period, busy = 40, 12, 0.9
    contracts = {
        f"rent/{rest}/{upfront}": Contract(upfront_fraction=upfront, period_months=float(period), rest=rest)
        for rest in ("credited", "paid")
        for upfront in (0.0, 0.4, 1.0)
    }
    committed = [_rented("reserved_1y", contract, key) for key, contract in contracts.items()]
    ledger = Ledger([_owned(), *committed], _economics(months, GrowthSchedule(growth_per_year=growth), busy), book)
    assert ledger.audit() == ()
    for key, contract in contracts.items():
        upfront = contract.upfront_fraction
        expected = np.zeros(months + 1)
        expected[1:] = DISK_USD
        ends: dict[int, float] = {}
        for month in range(months):
            ends = {end: nodes for end, nodes in ends.items() if end > month}
            new = max(1.0, busy * (1 + growth) ** (month // 12)) - sum(ends.values())
            if new > 1e-9:
                ends[month + period] = new
                usd = new * NODE_USD * HOURS
                expected[month] += upfront * usd * period
                paid = min(period, months - month)
                expected[month + 1 : month + 1 + paid] += (1 - upfront) * usd
                left = (1 - upfront) if contract.rest == "paid" else -upfront
                expected[months] += (period - paid) * usd * left
        assert _by_month(ledger, key, months) == pytest.approx(expected), key


@settings(max_examples=5, deadline=None)
@given(
    growth=st.floats(-0.5, 0.8),
    refresh=st.none() | st.integers(6, 30),
    change=st.floats(-0.3, 0.2),
    late=st.integers(0, 9),
    months=st.integers(10, 60),
)
def test_growth_refresh_and_delivery_together(  # noqa: PLR0917 - hypothesis draws
    book: PriceBook, growth: float, refresh: int | None, change: float, late: int, months: int
) -> None:
    """Categories sum to the total, cash only rises, dearer servers never cost less, refresh at the end is none."""
    schedule = GrowthSchedule(growth_per_year=growth, refresh_months=refresh, price_change_per_year=change)
    economics = _economics(months, schedule)
    parts = owned_and_rented(
        "own",
        "rent",
        nodes_share=1.0,
        most_work=1.0,
        expands=True,
        growth=schedule,
        horizon_months=months,
        delivery_months=float(late),
    )
    mix = Mix(key="mix", target="onprem", nodes=10, gpus=8, parts=parts, delivery_months=float(late))

    def ledger(used: Economics) -> Ledger:
        return Ledger([_owned(), _rented()], used, book, [mix])

    found = ledger(economics)
    assert found.audit() == ()
    totals = {cost.key: cost.horizon_usd or 0.0 for cost in found.costs()}
    for cost in found.costs():
        assert sum(part.usd for part in cost.horizon_breakdown) == pytest.approx(cost.horizon_usd)
    paid = np.array([point.usd for point in found.cumulative() if point.key == "mix"])
    assert len(paid) == months + 1
    assert (np.diff(paid) > -1e-6).all()
    dearer = {cost.key: cost.horizon_usd or 0.0 for cost in ledger(with_overrides(economics, server=1100.0)).costs()}
    assert all(dearer[key] >= usd - 1e-6 for key, usd in totals.items())
    never = dataclasses.replace(economics, growth=dataclasses.replace(schedule, refresh_months=float(months)))
    none = dataclasses.replace(economics, growth=dataclasses.replace(schedule, refresh_months=None))
    for one, other in zip(ledger(never).costs(), ledger(none).costs(), strict=True):
        assert one.horizon_usd == pytest.approx(other.horizon_usd)


@pytest.mark.parametrize(("most_work", "share"), [(None, 1.0), (0.6, 0.5), (1.2, 1.0), (2.4, 1.0)])
def test_the_owned_share_of_the_work(most_work: float | None, share: float) -> None:
    """What owned nodes can do, never more than there is; all of it without a limit. Draws as the single month."""
    assert owned_share(most_work, 1.2) == share
    assert np.array_equal(owned_share(most_work, np.array([1.2, 1.2])), [share, share])
