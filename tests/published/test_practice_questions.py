"""The practice questions of a public course on AI infrastructure that have a number, answered with corrected figures.

The course prints 18 bytes per parameter with terms that sum to 8, a 175B model on 40 A100 without activations, energy
without PUE, and a breakeven of 6 to 12 months without assumptions.
"""

import dataclasses
import datetime as dt

import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.errors import RuleError
from clusterwright.facility import power
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.pricing.book import PriceBook
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training.memory import state_bytes_per_parameter
from clusterwright.sizing.training.search import search
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import Candidate, Economics


def test_adam_takes_18_bytes_per_parameter() -> None:
    """Question 3: a 7B model with Adam in mixed precision needs 126 GB of states (2 + 4 + 12 bytes), not 56 GB."""
    weights, gradients, optimizer = (float(term) for term in state_bytes_per_parameter(shards=1, zero_stage=0))
    assert (weights, gradients, optimizer) == (2, 4, 12)
    assert 7e9 * (weights + gradients + optimizer) == 126e9


def _job(nodes: int | None) -> TrainingJob:
    return TrainingJob(
        model=lookup.model(load(), "gpt3-175b"),
        tokens=300e9,
        sequence_length=2048,
        global_batch_sequences=1536,
        precision="bf16",
        finish_within_s=None,
        max_nodes=nodes,
    )


def test_a_175b_model_does_not_train_on_40_a100() -> None:
    """Question 8: five DGX A100 hold the states (3.14 of 3.4 TB) but not activations and buffers; more nodes train."""
    catalogue = load()
    node = lookup.node_type_of_system(catalogue, "dgx-a100-640gb")
    assert 40 * node.hbm_bytes_per_gpu > 18 * 174.6e9
    with pytest.raises(RuleError) as refused:
        search(job=_job(5), node=node, calibration=load_calibration())
    assert [finding.id for finding in refused.value.findings] == ["MEM001"]
    front = search(job=_job(None), node=node, calibration=load_calibration())
    assert front.points[0].nodes > 5


def test_a_175b_model_trains_on_dgx_h100_within_a_month() -> None:
    """Question 8: 300 B tokens in 30 days at 90 % confidence take 200 to 500 H100 (35 to 60 % of peak)."""
    node = lookup.node_type_of_system(load(), "dgx-h100")
    front = search(job=_job(None), node=node, calibration=load_calibration())
    enough = [point for point in front.points if point.calendar_days_high <= 30]
    fewest = enough[0]
    # 6 x 174.6e9 x 300e9 FLOPs at 35 and 60 % of 989.4 TFLOP/s for 30 days, before failures and attention.
    assert 204 * 0.98 <= fewest.gpus <= 350 * 1.4
    assert 0.35 <= fewest.mfu <= 0.60
    assert fewest.memory.total <= node.hbm_bytes_per_gpu


def test_a_year_of_32_dgx_h100_takes_2_86_gwh() -> None:
    """Question 10: 32 systems of 10.2 kW at 0.10 USD/kWh cost 285,926 USD a year, and 371,704 USD at PUE 1.3."""
    system = load().systems["dgx-h100"]
    assert system.power_max_w == 10_200
    it_kwh = power.annual_energy_kwh(it_power_w=32 * system.power_max_w)
    assert round(it_kwh * 0.10) == 285_926
    assert round(power.annual_energy_kwh(it_power_w=32 * system.power_max_w, pue=1.3) * 0.10) == 371_704


def _candidates() -> tuple[Candidate, Candidate]:
    bought = BillLine(
        sku="dgx-h100",
        item="DGX H100",
        category="compute",
        quantity=1,
        unit="each",
        charge="once",
        scales_with="cluster",
    )
    rented = dataclasses.replace(
        bought, sku="aws/p5.48xlarge", item="p5", unit="node", charge="hourly", scales_with="nodes", region="us-east-1"
    )
    plain = {"nodes": 1, "gpus": 8, "calendar_days": 30.0}
    return (
        Candidate(
            key="onprem", target="onprem", bill=Bill(target="onprem", lines=(bought,), it_power_w=10_200.0), **plain
        ),
        Candidate(key="aws", target="aws", bill=Bill(target="aws", lines=(rented,)), **plain),
    )


def _breakeven_months(as_of: dt.date, utilisation: float) -> float:
    bare = (
        ("load_power_fraction", 1.0),
        ("idle_power_fraction", 1.0),
        ("colocation_usd_per_kw_month", 0.0),
        ("installation_fraction", 0.0),
        ("spares_fraction", 0.0),
        ("support_fraction_per_year", 0.0),
        ("staff_fte_per_gpu", 0.0),
        ("resale_fraction", 0.0),
        ("dgx-h100", 475_000.0),
    )
    economics = Economics(
        horizon_months=60,
        utilisation=utilisation,
        discount_rate=0.0,
        as_of=as_of,
        power_price_usd_per_kwh=0.10,
        pue=1.3,
        overrides=bare,
    )
    (breakeven,) = Ledger(_candidates(), economics, PriceBook.open()).breakevens()
    assert breakeven.months is not None
    return breakeven.months


def test_owning_against_renting_depends_on_the_price_of_the_day() -> None:
    """Question 9: at 475,000 USD a node, breakeven is 6.7 months against 98.32 USD/h of 2024 but 12.1 against 55.04."""
    assert _breakeven_months(dt.date(2024, 6, 1), 1.0) == pytest.approx(6.7, abs=0.05)
    assert _breakeven_months(dt.date(2026, 9, 29), 1.0) == pytest.approx(12.1, abs=0.05)
    # At 60 % use the rent falls and the purchase does not.
    assert _breakeven_months(dt.date(2026, 9, 29), 0.6) == pytest.approx(20.5, abs=0.5)


def test_a_longer_horizon_favours_owning() -> None:
    """Question 9: the owner's share of the cost of the same work falls as the horizon grows, with resale left out."""
    shares = []
    for months in (12.0, 36.0, 60.0):
        economics = Economics(
            horizon_months=months,
            utilisation=0.8,
            power_price_usd_per_kwh=0.10,
            pue=1.3,
            overrides=(("resale_fraction", 0.0), ("dgx-h100", 475_000.0)),
        )
        owned, rented = Ledger(_candidates(), economics, PriceBook.open()).costs()
        assert owned.horizon_usd is not None
        assert rented.horizon_usd is not None
        shares.append(owned.horizon_usd / rented.horizon_usd)
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 1 > shares[-1]
