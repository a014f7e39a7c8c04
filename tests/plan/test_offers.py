"""Every way to do a plan's work: terms, contracts, spot, priced providers, other hardware, mixes."""

import datetime as dt
import json
import math
from pathlib import Path
from typing import Any

import pytest

from clusterwright.errors import InputError
from clusterwright.finance.finances import Finances, finances
from clusterwright.finance.words import price_note
from clusterwright.plan.record import Alternative, Plan
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.store import PriceStore
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import Candidate, CandidateCost
from tests.commitments import only_commitments
from tests.plan.examples import shipped
from tests.pricing.quotes import quote, read
from tests.terms import recounted


def _ways(plan: Plan) -> dict[str, Alternative]:
    return {way.key: way for way in plan.alternatives}


def _candidate(way: Alternative) -> Candidate:
    assert way.candidate is not None
    return way.candidate


def _found(plan: Plan) -> Finances:
    return finances(plan, PriceBook.open(), draws=5, seed=1, everything=True)


def _cost(found: Finances, key: str) -> CandidateCost:
    return next(cost for cost in found.costs if cost.key == key)


def test_spot_takes_longer_by_its_lost_work(shipped_plan: Plan) -> None:
    """Days on spot nodes are those on kept ones times the ratio of their goodputs; so is what a run costs an hour."""
    option = shipped_plan.option("azure")
    assert option is not None
    assert option.performance.spot_goodput is not None
    assert option.performance.kept_goodput == pytest.approx(option.performance.goodput, rel=1e-12)
    assert option.performance.spot_goodput < option.performance.goodput
    found = _ways(shipped_plan)["azure/spot"]
    assert found.performance.calendar_days == pytest.approx(
        option.performance.calendar_days * option.performance.goodput / option.performance.spot_goodput
    )
    assert not _candidate(found).competes
    assert not found.ranked
    assert "taken back" in found.note


def test_priced_providers_do_the_same_work(shipped_plan: Plan) -> None:
    """A provider without a stack has the GPUs and days of the nearest cloud, and a bill of GPUs alone."""
    aws = shipped_plan.option("aws")
    assert aws is not None
    found = _ways(shipped_plan)
    lambda_ = _candidate(found["lambda/on_demand"])
    assert (lambda_.gpus, lambda_.calendar_days) == (aws.cluster.gpus, aws.performance.calendar_days)
    (line,) = lambda_.bill.lines
    assert line.quantity * 8 == aws.cluster.gpus
    assert _candidate(found["oci/on_demand"]).bill.lines[0].quantity == aws.cluster.gpus
    assert not lambda_.competes
    assert "no storage" in found["lambda/on_demand"].note
    asked = _ways(shipped("tco.other_providers=[lambda]"))
    assert asked["lambda/on_demand"].ranked
    assert "oci/on_demand" not in asked
    assert not any(key.startswith("lambda") for key in _ways(shipped("tco.other_providers=none")))


def test_what_nobody_asked_for_moves_no_other_figure(shipped_plan: Plan) -> None:
    """Ranking more options changes neither the cost of the others nor how often they are the cheapest."""
    book = PriceBook.open()
    few = finances(shipped_plan, book, draws=50, seed=3)
    many = finances(shipped_plan, book, draws=50, seed=3, everything=True)
    assert len(many.costs) > len(few.costs)
    drawn = {entry.key: entry.probability_cheapest for entry in many.drawn}
    for cost in few.costs:
        assert _cost(many, cost.key).npv_usd == pytest.approx(cost.npv_usd, rel=1e-12)
    assert {entry.key: entry.probability_cheapest for entry in few.drawn} == {
        entry.key: pytest.approx(drawn[entry.key]) for entry in few.drawn
    }
    assert few.compared_with == many.compared_with


def test_contracts_and_extras_by_hand() -> None:
    """No discount is the list price; 18 % is off the nodes; paid in advance is the same money, sooner."""
    contracts = (
        "{target: azure}",
        "{target: azure, discount: 18 %}",
        "{target: aws, term: reserved_3y, payment: all_upfront}",
        "{target: aws, term: savings_plan_3y, rate: 3 USD}",
        "{target: coreweave, rate: 2 USD}",
    )
    found = _found(shipped(f"tco.contracts=[{', '.join(contracts)}]"))
    listed, same = _cost(found, "azure/on_demand"), _cost(found, "azure/on_demand/contract")
    less = _cost(found, "azure/on_demand/contract_2")
    assert same.npv_usd == pytest.approx(listed.npv_usd)
    nodes = next(part.usd for part in listed.horizon_breakdown if part.category == "compute")
    assert (listed.horizon_usd or 0.0) - (less.horizon_usd or 0.0) == pytest.approx(0.18 * nodes)
    monthly, upfront = _cost(found, "aws/reserved_3y"), _cost(found, "aws/reserved_3y/all_upfront")
    assert upfront.horizon_usd == pytest.approx(monthly.horizon_usd)
    assert (upfront.npv_usd or 0.0) > (monthly.npv_usd or 0.0)
    saving = _cost(found, "aws/savings_plan_3y/contract")
    hours = 36 * 730
    assert (saving.horizon_usd or 0.0) - (monthly.horizon_usd or 0.0) == pytest.approx(
        (3.0 - 23.776 / 8) * saving.gpus * hours
    )
    agreed = _cost(found, "coreweave/on_demand/contract")
    assert agreed.usd_per_gpu_hour == pytest.approx(2.0)
    assert agreed.competes


def test_what_clouds_charge_beside_the_bill(shipped_plan: Plan) -> None:
    """Egress each month, setup once, 2 % of the nodes as lost work, and 5 % support on all of it but the last."""
    without = _found(shipped_plan)
    plain = _cost(without, "aws/on_demand")
    charged = _found(shipped("tco.cloud={support: 5 %, egress: 10 TiB, goodput_loss: 2 %, setup: 100 kUSD}"))
    more = _cost(charged, "aws/on_demand")
    by = {part.category: part.usd for part in more.horizon_breakdown}
    nodes = next(part.usd for part in plain.horizon_breakdown if part.category == "compute")
    assert by["traffic"] == pytest.approx(36 * 921.6)
    assert by["setup"] == pytest.approx(100_000.0)
    assert by["goodput_loss"] == pytest.approx(0.02 * nodes)
    assert by["support_plan"] == pytest.approx(0.05 * ((plain.horizon_usd or 0.0) + 36 * 921.6 + 100_000.0))
    assert _cost(charged, "onprem").npv_usd == pytest.approx(_cost(without, "onprem").npv_usd)


def test_places_and_ways_to_pay_are_options_side_by_side() -> None:
    """Each place costs what a plan whose tco.owner says so costs; loans and leases of each stand beside it."""
    building = {"building_usd_per_kw": 12_000, "building_tax_fraction_per_year": 0.01, "building_staff_fte": 2}
    places: dict[str, dict[str, Any]] = {
        "own_building": building | {"pue": 1.2},
        "room": {"colocation_usd_per_kw_month": {"low": 5, "base": 9}, "demand_ratchet_fraction": 0.95},
        "meter": {"demand_reserved_kw": 300, "warranty": "0 days", "wind_down": "0 days", "ai_enterprise": "perpetual"},
    }
    owner: dict[str, Any] = {
        "insurance_fraction_per_year": 0.01,
        "demand_usd_per_kw_month": 12,
        "demand_power_fraction": 0.9,
        "warranty": "3 years",
        "wind_down": "2 months",
        "ai_enterprise": "subscription",
    }
    section = {
        "owner": owner,
        "housing": places,
        "financing": [{"kind": "buy"}, {"kind": "finance_lease", "rate": 0.08}],
    }
    planned = shipped(f"tco={json.dumps(section)}")
    found = finances(planned, PriceBook.open(), draws=5, seed=1)
    keys = {cost.key for cost in found.costs if cost.owned}
    assert keys == {f"onprem/{place}{way}" for place in places for way in ("", "/finance_lease")}
    assert "colocation_usd_per_kw_month@onprem/room" in {entry.key for entry in found.inputs}
    kwh = {entry.key: entry.kwh for entry in found.carbon}
    assert kwh["onprem/room"] == kwh["onprem/room/finance_lease"]
    assert (kwh["onprem/own_building"] or 0.0) * 1.3 == pytest.approx((kwh["onprem/room"] or 0.0) * 1.2)
    bought = planned.option("onprem")
    assert bought is not None
    for name, pue, gone in (("own_building", 1.2, ""), ("room", 1.3, ""), ("meter", 1.3, "demand_power_fraction")):
        values = {key: value for key, value in (owner | places[name]).items() if key not in ("pue", gone)}
        alone = recounted(planned, {"owner": values}, pue=pue)
        (wanted,) = Ledger([bought.candidate], alone.economics, PriceBook.open()).costs()
        cost = _cost(found, f"onprem/{name}")
        for figure in ("horizon_usd", "npv_usd", "npv_usd_low", "npv_usd_high", "capex_usd", "run_usd"):
            assert getattr(cost, figure) == pytest.approx(getattr(wanted, figure)), (name, figure)


def test_hybrids() -> None:
    """Whole nodes are bought; nothing owned is renting, all owned is owning; the rest goes where it is said."""
    found = _found(
        shipped("tco.hybrid=[{owned: 0 %}, {owned: 100 %}, {owned: 60 %, utilisation: 95 %, burst: azure/spot}]")
    )
    owned = _cost(found, "onprem")
    none, every = (next(c for c in found.costs if c.key.startswith(f"hybrid-{n}-")) for n in (0, owned.nodes))
    rented = _cost(found, none.key.partition("/")[2])
    for name in ("npv_usd", "horizon_usd", "run_usd", "capex_usd", "usd_per_gpu_hour"):
        assert getattr(none, name) == pytest.approx(getattr(rented, name)), name
        assert getattr(every, name) == pytest.approx(getattr(owned, name)), name
    part = next(cost for cost in found.costs if cost.key.endswith("azure/spot") and cost.mixed)
    bought = math.ceil(0.6 * owned.nodes)
    assert 0.6 * owned.nodes != bought, "the share is no whole number of nodes, so rounding shows"
    assert part.nodes == bought
    assert part.capex_usd == pytest.approx((owned.capex_usd or 0.0) * bought / owned.nodes)
    drawn = {entry.key for entry in found.drawn}
    taxed = {entry.key: entry.peak_cash_usd for entry in found.taxed.options}
    levelised = {entry.key: entry.levelised_usd_per_gpu_hour for entry in found.unit_costs}
    for cost in found.costs:
        assert cost.key in drawn
        assert taxed[cost.key] > 0
        assert (levelised[cost.key] or 0.0) > 0
    assert {entry.owned_key for entry in found.hybrid_returns} == {c.key for c in found.costs if c.mixed and c.owned}
    for entry in found.returns:
        cost = _cost(found, entry.rented_key)
        assert entry.npv_usd == pytest.approx((cost.npv_usd or 0.0) - (owned.npv_usd or 0.0))


@pytest.mark.parametrize("extras", ["{}", "{support: 10 %, goodput_loss: 5 %, egress: 50 TB, setup: 10 kUSD}"])
def test_price_at_which_owning_and_renting_cost_the_same(extras: str) -> None:
    """Renting at the breakeven price per GPU-hour costs over the horizon what owning costs, shares of it included."""
    book = PriceBook.open()
    found = finances(shipped(f"tco.cloud={extras}"), book, draws=1, seed=1)
    entry = next(entry for entry in found.returns if entry.rented_key == "aws/on_demand")
    assert entry.breakeven_usd_per_gpu_hour is not None
    contract = f"tco.contracts=[{{target: aws, rate: {entry.breakeven_usd_per_gpu_hour!r} USD}}]"
    again = finances(shipped(f"tco.cloud={extras}", contract), book, draws=1, seed=1)
    even, owned = _cost(again, "aws/on_demand/contract"), _cost(again, "onprem")
    assert even.horizon_usd == pytest.approx(owned.horizon_usd, rel=1e-9)


@pytest.mark.parametrize(
    ("override", "path", "message"),
    [
        ("tco.contracts=[{target: nebius, term: reserved_1y}]", "contracts", "cannot be compared"),
        ("tco.hybrid=[{owned: 50 %, burst: aws/on_deman}]", "hybrid", "no rented option"),
        ("tco.hybrid=[{owned: 50 %, burst: aws/reserved_3y}]", "hybrid", "whether it is used or not"),
    ],
)
def test_wrong_offers_are_reported(override: str, path: str, message: str) -> None:
    """What cannot be compared is reported with its place in the blueprint."""
    with pytest.raises(InputError, match=message) as caught:
        shipped(override)
    assert caught.value.path[:2] == ("tco", path)


def test_later_prices_change_nothing(shipped_plan: Plan, tmp_path: Path) -> None:
    """A price that comes into force after the as-of day leaves every figure of a frozen scenario as it is."""
    store = PriceStore.open(tmp_path / "prices.duckdb")
    later = dt.datetime.fromisoformat(f"{shipped_plan.as_of}T12:00:00+00:00") + dt.timedelta(days=30)
    assert read(store, tmp_path, quote(amount="50.00", effective_from=f"{later.date()}"), at=later).stored == 1
    store.close()
    before = finances(shipped_plan, PriceBook.open(), draws=5, seed=1)
    after_book = PriceBook.open(store=tmp_path / "prices.duckdb")
    assert len(after_book.history("aws/p5.48xlarge", region="us-east-1", term="on_demand")) > len(
        PriceBook.open().history("aws/p5.48xlarge", region="us-east-1", term="on_demand")
    )
    after = finances(shipped_plan, after_book, draws=5, seed=1)
    assert after.costs == before.costs


def test_map_of_prices_says_when_a_commitment_keeps_its_own(shipped_plan: Plan) -> None:
    """The map is of what is rented by use; where there are only commitments, prices move it by under a hundredth."""
    by_use = _found(shipped_plan)
    committed = _found(only_commitments(shipped_plan))

    def moved(found: Finances) -> float:
        savings = [cell.saving_usd for cell in found.heat if cell.utilisation == found.heat[-1].utilisation]
        rented = _cost(found, found.mapped_with).npv_usd
        assert rented is not None
        return (max(savings) - min(savings)) / rented

    assert committed.mapped_with == committed.compared_with == by_use.compared_with == "aws/reserved_3y"
    assert by_use.mapped_with == shipped_plan.recommended_key
    assert "keep the price" in price_note(committed)
    assert moved(committed) < 0.01
    assert price_note(by_use) == ""
    assert moved(by_use) > 0.5
