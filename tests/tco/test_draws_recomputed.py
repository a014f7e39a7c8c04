"""Draws against a cash flow computed again with the values of each, with everything at once that is not linear."""

import dataclasses

import numpy as np
import pytest

from clusterwright.pricing.book import PriceBook
from clusterwright.tco.chance.distributions import OptionBand
from clusterwright.tco.chance.drawing import simulate
from clusterwright.tco.chance.drawn_breakevens import NodePrices
from clusterwright.tco.chance.uncertainty import latin_hypercube, uncertain_inputs
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.renting.mixes import Mix, owned_and_rented
from clusterwright.tco.taxes.after_tax import Taxes, after_tax
from clusterwright.tco.terms.contracts import Charge, Contract, SupportPlan, Tier
from clusterwright.tco.terms.records import Candidate, Economics, Surcharge
from clusterwright.tco.terms.stages import GrowthSchedule

from .examples import bought, candidate, line, stored, with_overrides

DRAWS = 10
SCHEDULE = GrowthSchedule(growth_per_year=0.35, refresh_months=30.0, price_change_per_year=-0.15)
#: Reference days are those of the base, so that a longer run is more hours of the same work.
ECONOMICS = Economics(horizon_months=44.0, utilisation=0.55, reference_days=30.0, growth=SCHEDULE)
TIERS = SupportPlan(
    item="plan",
    minimum_usd=9000.0,
    tiers=(Tier(from_usd=0, fraction=0.1), Tier(from_usd=60_000, fraction=0.05), Tier(from_usd=110_000, fraction=0.02)),
)
SPEND = 900_000.0
TAXES = Taxes(tax_rate=0.21, depreciation=(0.2, 0.32, 0.192, 0.1152, 0.1152, 0.0576))
#: How the owned base of the mix is sized: it does at most so much of the first year's work.
MOST_WORK = 0.6
OWNED = {
    "insurance_fraction_per_year": 0.01,
    "building_usd_per_kw": 9000.0,
    "warranty_months": 12.0,
    "building_value_fraction": 0.5,
    "decommission_usd_per_server": 900.0,
}


def _candidates(times: dict[str, float]) -> tuple[Candidate, ...]:
    storage = stored("aws/fsx-lustre-ssd-125", 40_000.0, "us-east-1")
    nodes = line("aws/p5.48xlarge", quantity=4.0, region="us-east-1")
    owned = candidate("onprem/one", bought("dgx-h100", 4.0), it_power_w=40_800.0, nodes=4, gpus=32)
    lost = Surcharge(category="goodput_loss", item="lost", fraction=0.04, of_categories=("compute",))
    moving = Charge(category="setup", item="moving in", usd=30_000.0, once=True)
    every = (
        owned,
        dataclasses.replace(owned, key="onprem/base", expands=False, listed=False),
        candidate("aws/rented", nodes, storage, nodes=4, gpus=32, support=TIERS, surcharges=(lost,), charges=(moving,)),
        candidate(
            "aws/committed",
            nodes,
            storage,
            nodes=4,
            gpus=32,
            support=TIERS,
            contract=Contract(committed_usd_per_year=SPEND, discount=0.1),
        ),
        candidate(
            "aws/reserved",
            nodes,
            term="reserved_1y",
            nodes=4,
            gpus=32,
            support=TIERS,
            surcharges=(lost,),
            contract=Contract(upfront_fraction=0.5, period_months=12.0, committed_usd_per_year=SPEND, rest="paid"),
        ),
        candidate(
            "aws/block",
            nodes,
            term="on_demand",
            nodes=4,
            gpus=32,
            contract=Contract(upfront_fraction=1.0, period_months=6.0),
        ),
    )
    return tuple(
        dataclasses.replace(entry, calendar_days=entry.calendar_days * times.get(entry.key, 1.0)) for entry in every
    )


def _mix(work: float = 1.0) -> Mix:
    """Return a mix whose owned base does what it can of a first year's work that is so many times the base's."""
    most = MOST_WORK / work
    return Mix(
        key="mix",
        target="hybrid",
        nodes=2,
        gpus=16,
        rented_key="aws/rented",
        most_work=most,
        deposit=0.4,
        delivery_months=3.0,
        parts=owned_and_rented(
            "onprem/base",
            "aws/rented",
            nodes_share=0.75,
            most_work=most,
            growth=SCHEDULE,
            horizon_months=44.0,
            delivery_months=3.0,
        ),
    )


def _ledger(book: PriceBook, draw: dict[str, float] | None = None, plain: Ledger | None = None) -> Ledger:
    """Return the cash flow of the base, or with the values of a draw put into its inputs."""
    factors = draw or {}
    values = (
        {entry.key: entry.value * factors[entry.key] for entry in plain.parameters if entry.key in factors}
        if plain
        else {}
    )
    nodes = 55.04 * factors.get("cloud_price", 1.0)
    economics = with_overrides(
        dataclasses.replace(ECONOMICS, utilisation=ECONOMICS.utilisation * factors.get("utilisation", 1.0)),
        **(OWNED | values),
    )
    economics = dataclasses.replace(
        economics,
        overrides=(
            *economics.overrides,
            ("aws/p5.48xlarge", nodes),
            ("aws/fsx-lustre-ssd-125", 0.145),
            ("dgx-h100", 300_000.0 * factors.get("purchase_price", 1.0)),
        ),
    )
    times = {key.removeprefix("run_time/"): factor for key, factor in factors.items() if key.startswith("run_time/")}
    work = factors.get("utilisation", 1.0) * times.get("onprem/base", 1.0)
    return Ledger(_candidates(times), economics, book, (_mix(work),))


def test_draws_of_everything_equal_recomputed_cash_flows(book: PriceBook) -> None:
    """Steps of capacity, refresh, tiers of support, shortfalls, commitments, blocks, late delivery, a mix, taxes."""
    plain = _ledger(book)
    assert plain.audit() == ()
    bands = (
        OptionBand(name="onprem", keys=("onprem/one", "onprem/base"), low=0.8, high=1.2),
        OptionBand(name="aws", keys=("aws/rented", "aws/committed", "aws/reserved", "aws/block"), low=0.7, high=1.5),
    )
    inputs = [
        entry
        for entry in uncertain_inputs(plain.parameters, utilisation=0.55, run_times=bands)
        # What says how equipment is replaced, and when a warranty ends, is no input of a draw.
        if entry.key not in ("growth_fraction_per_year", "refresh_months", "purchase_price_change_per_year")
    ]
    columns = latin_hypercube(inputs, DRAWS, seed=1)
    found = simulate(plain, columns, taxes=TAXES, breakevens=True)
    usd = {(cost.number, cost.key): cost for cost in found.costs}
    steps, short, months = set(), set(), []
    for number in range(DRAWS):
        draw = {key: float(column[number]) for key, column in columns.items() if key != "number"}
        anew = _ledger(book, draw, plain)
        taxed = {entry.key: entry for entry in after_tax(anew, TAXES)[0]}
        assert len(taxed) == 6
        for key, entry in taxed.items():
            if key in ("aws/reserved", "aws/block"):
                continue  # keep the price of their start: the next test
            assert usd[number, key].npv_usd == pytest.approx(entry.npv_before_tax_usd, rel=1e-9), (number, key)
            assert usd[number, key].npv_after_tax_usd == pytest.approx(entry.npv_after_tax_usd, rel=1e-9), (number, key)
        breakeven = {(pair.owned_key, pair.rented_key): pair.months for pair in anew.breakevens()}
        months.append(breakeven["onprem/one", "aws/committed"])
        rows = anew.cash_flow_rows("onprem/one")
        steps.add(tuple(row.month for row in rows if row.category == "compute" and row.usd > 0))
        short.add(sum(row.usd > 0 for row in anew.cash_flow_rows("aws/committed") if row.category == "commitment"))
    assert len(steps) > 2, "the draws buy at other times"
    assert len(short) > 2, "the draws fall short in other years"
    band = next(
        pair for pair in found.breakevens if (pair.owned_key, pair.rented_key) == ("onprem/one", "aws/committed")
    )
    assert {(pair.owned_key, pair.rented_key) for pair in found.breakevens} == set(breakeven), "owned against rented"
    never = [month for month in months if month is None]
    assert band.probability_never == len(never) / DRAWS
    reached = sorted(month for month in months if month is not None)
    assert band.months_p10 == pytest.approx(_quantile(reached, 0.1))


def _quantile(reached: list[float], share: float) -> float:
    """Return a quantile of all draws, of which those that never get there are the last."""
    return float(np.interp(share * (DRAWS - 1), np.arange(len(reached)), reached))


@pytest.mark.parametrize("key", ["aws/rented", "aws/committed"])
def test_price_of_nodes_that_breaks_even(book: PriceBook, key: str) -> None:
    """At that price a fresh cash flow costs the same on both sides, with tiers of support and a committed spend."""
    plain = _ledger(book)
    usd = {cost.key: cost.horizon_usd for cost in plain.costs()}
    # More than what is committed, so that the price matters.
    wanted = max(usd["onprem/one"], 1.2 * SPEND * 44 / 12)
    factor = NodePrices(plain).breakeven(key, wanted)
    assert factor is not None
    anew = {cost.key: cost.horizon_usd for cost in _ledger(book, {"cloud_price": factor}, plain).costs()}
    assert anew[key] == pytest.approx(wanted, rel=1e-9)
    assert NodePrices(plain).breakeven("aws/committed", 0.9 * SPEND * 44 / 12) is None, "the commitment alone is more"


def test_commitments_of_a_draw(book: PriceBook) -> None:
    """At today's price, what is committed and paid in advance follows the work of a draw as a fresh cash flow does."""
    plain = _ledger(book)
    work = np.array([0.5, 1.3, 2.4])
    columns = {"number": np.arange(3.0), "utilisation": work}
    usd = {(cost.number, cost.key): cost.npv_usd for cost in simulate(plain, columns).costs}
    for number, factor in enumerate(work):
        anew = _ledger(
            book,
            {
                "utilisation": min(factor, 1 / 0.55),
                "run_time/aws/reserved": max(1.0, factor * 0.55),
                "run_time/aws/block": max(1.0, factor * 0.55),
            },
        )
        expected = {cost.key: cost.npv_usd for cost in anew.costs()}
        for key in ("aws/reserved", "aws/block"):
            assert usd[number, key] == pytest.approx(expected[key], rel=1e-9), (factor, key)
