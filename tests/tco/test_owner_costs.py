"""The costs of owning are data: what the table may say, and what becomes of it."""

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.errors import MissingFactError
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.chance.drawing import simulate
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.owner_costs import owner_costs
from clusterwright.tco.terms.records import Economics, Parameter
from clusterwright.tco.terms.stages import CONSTANT, GrowthSchedule, capacity_schedule

from .examples import BARE, bare, bought, candidate, p5

HEAD = "category,item,capex_or_opex,fixed_or_variable,paid,driver,multiplier,parameters\n"
GOOD = "staff,Staff,opex,fixed,year,gpus,1,staff_fte_per_gpu staff_usd_per_fte_year\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("year", "decade", "'decade'"),
        ("gpus", "cpus", "'cpus'"),
        ("opex", "cost", "'cost'"),
        ("fixed", "often", "'often'"),
        (",1,", ",many,", "many"),
        ("staff_fte_per_gpu staff_usd_per_fte_year", "", "names no"),
    ],
)
def test_bad_row_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """A row that says something else than the columns allow is refused with its number."""
    path = tmp_path / "owner_costs.csv"
    path.write_text(HEAD + GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(MissingFactError, match=message):
        owner_costs(path)


def test_good_row(tmp_path: Path) -> None:
    """A row becomes a term with its parameters in order."""
    path = tmp_path / "owner_costs.csv"
    path.write_text(HEAD + GOOD, encoding="utf-8")
    (term,) = owner_costs(path)
    assert (term.number, term.multiplier, term.parameters) == (0, 1.0, ("staff_fte_per_gpu", "staff_usd_per_fte_year"))


HORIZON = 24.0


def _given(**values: float) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(key=key, value=value, low=value, high=value, unit="", basis="given", reason="", source="test")
        for key, value in values.items()
    )


def _flow(book: PriceBook, *, growth: GrowthSchedule = CONSTANT, **values: float) -> dict[tuple[str, float], float]:
    """Return the USD of an owner of 2 nodes and 16 GPUs, 1,000,000 USD and 20 kW, by item and month."""
    overrides = {key: value for key, value in BARE if key not in values} | {"dgx-h100": 500_000.0}
    economics = bare(
        horizon_months=HORIZON, pue=1.5, given=_given(**values), growth=growth, overrides=tuple(overrides.items())
    )
    own = candidate("onprem/two", bought("dgx-h100", 2.0), it_power_w=20_000.0, nodes=2, gpus=16)
    ledger = Ledger((own,), economics, book)
    assert not ledger.audit()
    return {(row.item, row.month): row.usd for row in ledger.cash_flow_rows()}


@cache
def _without(book: PriceBook) -> dict[tuple[str, float], float]:
    return _flow(book)


@pytest.mark.parametrize(
    ("values", "item", "usd", "month"),
    [
        # 12 USD x 20 kW x PUE 1.5 x 90 %
        ({"demand_usd_per_kw_month": 12.0, "demand_power_fraction": 0.9}, "Charge for the highest draw", 324.0, 1.0),
        ({"demand_usd_per_kw_month": 12.0}, "Charge for the highest draw", 360.0, 24.0),
        ({"demand_usd_per_kw_month": 12.0, "demand_reserved_kw": 50.0}, "Charge for the power reserved", 600.0, 1.0),
        ({"building_usd_per_kw": 12_000.0}, "Building of one's own", 240_000.0, 0.0),
        (
            {"building_usd_per_kw": 12_000.0, "building_value_fraction": 0.9},
            "Value left in the building",
            -216_000.0,
            24.0,
        ),
        (
            {"building_usd_per_kw": 12_000.0, "building_upkeep_fraction_per_year": 0.03},
            "Upkeep of the building",
            600.0,
            2.0,
        ),
        ({"freight_fraction": 0.02}, "Freight and its insurance", 20_000.0, 0.0),
        ({"duty_fraction": 0.025}, "Customs duty", 25_000.0, 0.0),
        ({"sales_tax_fraction": 0.08}, "Tax on the purchase", 80_000.0, 0.0),
        ({"contingency_fraction": 0.05}, "Reserve for the unforeseen", 50_000.0, 0.0),
        ({"software_usd_per_gpu_year": 4500.0}, "Software licences by the year", 6000.0, 7.0),
        ({"software_usd_per_gpu": 22_500.0}, "Perpetual software licences", 360_000.0, 0.0),
        ({"insurance_fraction_per_year": 0.006}, "Insurance of the equipment", 500.0, 3.0),
        ({"property_tax_fraction_per_year": 0.012}, "Property tax", 1000.0, 3.0),
        ({"transit_usd_per_month": 2500.0}, "Network transit", 2500.0, 3.0),
        ({"cross_connect_usd_per_month": 300.0}, "Cross connects", 300.0, 3.0),
        ({"decommission_usd_per_server": 750.0}, "Taking servers out", 1500.0, 24.0),
        ({"decommission_fraction": 0.01}, "Taking equipment out", 10_000.0, 24.0),
        # 2 months x 20 kW x 150 USD
        (
            {"wind_down_months": 2.0, "colocation_usd_per_kw_month": 150.0},
            "Space after the horizon",
            6000.0,
            24.0,
        ),
        # AFR x GPUs x price x (1 - share covered), a twelfth each month: 6 % x 16 x 30,000 x 25 % / 12
        (
            {"gpu_failures_per_year": 0.06, "gpu_replacement_usd": 30_000.0, "gpu_replacement_paid_fraction": 0.25},
            "GPUs replaced after failures",
            600.0,
            1.0,
        ),
    ],
)
def test_each_cost_by_hand(book: PriceBook, values: dict[str, float], item: str, usd: float, month: float) -> None:
    """A cost that is given is its product, in its month; without it the rest of the cash flow is the same."""
    found, without = _flow(book, **values), _without(book)
    assert found[item, month] == pytest.approx(usd, rel=1e-12)
    more = {name for name, _ in found} - {name for name, _ in without}
    assert item in more
    assert {key: value for key, value in found.items() if key[0] not in more and "Space" not in key[0]} == {
        key: pytest.approx(value) for key, value in without.items() if "Space" not in key[0]
    }


def test_reserved_power_is_charged_alone(book: PriceBook) -> None:
    """Reserved kW stand in the place of the highest draw, not beside it."""
    found = _flow(book, demand_usd_per_kw_month=12.0, demand_reserved_kw=50.0)
    assert not any(item == "Charge for the highest draw" for item, _ in found)


def test_warranty(book: PriceBook) -> None:
    """Support and replaced GPUs cost nothing in the warranty, and a part of the month in which it ends."""
    values = {"gpu_failures_per_year": 0.06, "gpu_replacement_usd": 30_000.0, "support_fraction_per_year": 0.12}
    found = _flow(book, warranty_months=12.5, **values)
    assert [found["Hardware support", month] for month in (12.0, 13.0, 14.0)] == pytest.approx([0.0, 5000.0, 10_000.0])
    assert [found["GPUs replaced after failures", month] for month in (12.0, 14.0)] == pytest.approx([0.0, 2400.0])


def test_refresh(book: PriceBook) -> None:
    """After a year everything is sold at the share of its age and bought again, a tenth cheaper."""
    schedule = GrowthSchedule(refresh_months=12.0, price_change_per_year=-0.1)
    found = _flow(book, growth=schedule, resale_fraction=0.4, support_fraction_per_year=0.12, freight_fraction=0.02)
    assert found["dgx-h100", 12.0] == pytest.approx(900_000.0)
    assert found["Resale at the end of the horizon", 12.0] == pytest.approx(-400_000.0)
    assert found["Resale at the end of the horizon", 24.0] == pytest.approx(-360_000.0)
    assert found["Freight and its insurance", 12.0] == pytest.approx(18_000.0)
    assert found["Hardware support", 12.0] == pytest.approx(10_000.0)
    assert found["Hardware support", 13.0] == pytest.approx(9000.0)


def test_growth(book: PriceBook) -> None:
    """Full use that grows by 30 % needs 3 nodes in the second year; energy follows the work, staff the GPUs."""
    found = _flow(
        book,
        growth=GrowthSchedule(growth_per_year=0.3),
        staff_fte_per_gpu=0.01,
        staff_usd_per_fte_year=120_000.0,
        idle_power_fraction=0.5,
    )
    assert found["dgx-h100", 12.0] == pytest.approx(500_000.0)
    assert found["Hardware operations staff", 12.0] == pytest.approx(1600.0)
    assert found["Hardware operations staff", 13.0] == pytest.approx(2400.0)
    kwh = 20 * 1.5 * 730 * 0.1
    assert found["Energy drawn at all times", 13.0] == pytest.approx(0.5 * 1.5 * kwh)
    assert found["Energy drawn more while it works", 13.0] == pytest.approx(0.5 * 1.3 * kwh)


def test_rent_grows_with_the_work(book: PriceBook) -> None:
    """What is paid by the hour worked grows by the year; runs are those of the whole horizon."""
    plain = Ledger((p5(),), bare(horizon_months=HORIZON), book)
    grown = Ledger((p5(),), bare(horizon_months=HORIZON, growth=GrowthSchedule(growth_per_year=0.5)), book)
    (one,), (other,) = plain.costs(), grown.costs()
    assert other.runs_in_horizon == pytest.approx(1.25 * one.runs_in_horizon)
    assert other.horizon_usd == pytest.approx(1.25 * (one.horizon_usd or 0.0))
    assert other.run_usd == pytest.approx(one.run_usd)


@pytest.mark.parametrize(
    ("horizon", "refresh", "age"), [(36.0, None, 36.0), (60.0, 36.0, 24.0), (72.0, 36.0, 36.0), (30.5, 12.0, 6.5)]
)
def test_newest_age(horizon: float, refresh: float | None, age: float) -> None:
    """The last purchase is as old as the time since the last replacement, which is not at the end itself."""
    assert GrowthSchedule(refresh_months=refresh).newest_age(horizon) == pytest.approx(age)


@settings(max_examples=60, deadline=None)
@given(
    growth=st.floats(0, 2),
    refresh=st.none() | st.integers(6, 60),
    change=st.floats(-0.5, 0.5),
    horizon=st.floats(1, 120),
    busy=st.floats(0.01, 1),
    nodes=st.integers(1, 500),
)
def test_what_is_bought_leaves(  # noqa: PLR0917 - one per dimension
    growth: float, refresh: int | None, change: float, horizon: float, busy: float, nodes: int
) -> None:
    """All that is bought leaves by the end, at its price; capacity never falls and holds the work."""
    schedule = GrowthSchedule(growth_per_year=growth, refresh_months=refresh, price_change_per_year=change)
    months, events = capacity_schedule(
        "a", schedule, horizon_months=horizon, busy_fraction=busy, nodes=nodes, resale=lambda age: 1 / (1 + age)
    )
    assert sum(event.bought for event in events) == pytest.approx(sum(event.removed_bought for event in events))
    assert sum(event.added for event in events) == pytest.approx(months[-1].capacity)
    assert [month.capacity for month in months] == sorted(month.capacity for month in months)
    assert all(month.work * busy <= month.capacity + 1e-6 for month in months)
    assert all(event.removed >= 0 for event in events)
    assert events[0].removed == 0, "nothing leaves when the first is bought"
    assert months[-1].month_end == horizon


ALL = {
    "demand_usd_per_kw_month": 12.0,
    "demand_power_fraction": 0.9,
    "building_usd_per_kw": 12_000.0,
    "building_upkeep_fraction_per_year": 0.03,
    "building_value_fraction": 0.8,
    "freight_fraction": 0.02,
    "duty_fraction": 0.025,
    "sales_tax_fraction": 0.08,
    "contingency_fraction": 0.05,
    "warranty_months": 6.0,
    "gpu_failures_per_year": 0.06,
    "gpu_replacement_usd": 30_000.0,
    "gpu_replacement_paid_fraction": 0.5,
    "software_usd_per_gpu_year": 4500.0,
    "software_usd_per_gpu": 100.0,
    "insurance_fraction_per_year": 0.006,
    "property_tax_fraction_per_year": 0.012,
    "transit_usd_per_month": 2500.0,
    "cross_connect_usd_per_month": 300.0,
    "decommission_usd_per_server": 750.0,
    "decommission_fraction": 0.01,
    "wind_down_months": 2.0,
    "resale_fraction": 0.3,
}


def _ledger_of_all(book: PriceBook, **changes: float) -> Ledger:
    economics = dataclasses.replace(
        Economics(horizon_months=30.0, growth=GrowthSchedule(refresh_months=12.0, growth_per_year=0.4)),
        given=_given(**(ALL | changes)),
        overrides=(("dgx-h100", 500_000.0),),
    )
    own = candidate("onprem/two", bought("dgx-h100", 2.0), it_power_w=20_000.0, nodes=2, gpus=16)
    return Ledger((own,), economics, book)


def test_draws_of_every_cost_equal_a_fresh_cash_flow(book: PriceBook) -> None:
    """Scaling one input of the terms gives what the engine gives with that value, also with growth and refresh."""
    keys = [key for key in ALL if key != "warranty_months"]
    ledger = _ledger_of_all(book)
    assert not ledger.audit()
    columns = {key: np.array([1.3 if key == changed else 1.0 for changed in keys]) for key in keys}
    found = simulate(ledger, {"number": np.arange(len(keys), dtype=float), **columns}).costs
    usd = {entry.number: entry.npv_usd for entry in found}
    # One of each driver and time; the rest go the same way.
    for key in (
        "demand_usd_per_kw_month",
        "contingency_fraction",
        "gpu_replacement_usd",
        "wind_down_months",
        "resale_fraction",
    ):
        number = keys.index(key)
        (fresh,) = _ledger_of_all(book, **{key: 1.3 * ALL[key]}).costs()
        assert usd[number] == pytest.approx(fresh.npv_usd, rel=1e-9), key
