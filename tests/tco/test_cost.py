"""What a run and the same work over the horizon cost, by definition."""

import dataclasses
import datetime as dt
import gc
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clusterwright.errors import InputError
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.statements import private_connection
from clusterwright.tco.ledger.engine import EMPTY_WITHOUT, Ledger, cost
from clusterwright.tco.on_demand import run_costs
from clusterwright.tco.terms.records import Candidate, CandidateCost, Economics
from clusterwright.tco.terms.stages import GrowthSchedule

from .examples import bare, bought, candidate, line, p5, stored, with_overrides

GIVEN = Economics(power_price_usd_per_kwh=0.08, pue=1.3)


def _one(book: PriceBook, economics: Economics, asked: Candidate) -> CandidateCost:
    (result,) = cost((asked,), economics, book)
    return result


def test_rented_run(book: PriceBook) -> None:
    """A run on rented nodes is nodes x hours x price, plus the storage while it lasts."""
    storage = stored("aws/fsx-lustre-ssd-125", 72000.0, "us-east-1")
    nodes = line("aws/p5.48xlarge", quantity=16.0, region="us-east-1")
    asked = candidate("aws/16", nodes, storage, nodes=16, gpus=128, calendar_days=20.0)
    result = _one(book, bare(), asked)
    compute = 16 * 55.04 * 20 * 24
    kept = 72000 * 0.145 * 20 * 24 / 730
    assert result.run_usd == pytest.approx(compute + kept)
    assert {part.category: part.usd for part in result.run_breakdown} == {
        "compute": pytest.approx(compute),
        "storage": pytest.approx(kept),
    }
    assert result.usd_per_gpu_hour == pytest.approx((compute + kept) / (128 * 20 * 24))
    assert result.capex_usd == 0
    assert result.priced_share == 1
    assert not result.owned


def test_rented_horizon(book: PriceBook) -> None:
    """Over the horizon nodes are paid for the runs alone, storage for every month."""
    storage = stored("aws/fsx-lustre-ssd-125", 72000.0, "us-east-1")
    nodes = line("aws/p5.48xlarge", quantity=16.0, region="us-east-1")
    asked = candidate("aws/16", nodes, storage, calendar_days=20.0)
    result = _one(book, bare(utilisation=0.5), asked)
    assert result.runs_in_horizon == pytest.approx(0.5 * 36 * 730 / (20 * 24))
    assert result.horizon_usd == pytest.approx(16 * 55.04 * 0.5 * 36 * 730 + 72000 * 0.145 * 36)


def test_the_band_of_days_is_in_every_total_of_what_is_rented(book: PriceBook) -> None:
    """At documented prices the band of the run, the horizon and the present value is that of the days."""
    nodes = line("aws/p5.48xlarge", quantity=16.0, region="us-east-1")
    asked = candidate("aws/16", nodes, run_time_low=0.9, run_time_high=1.25)
    result, plain = (_one(book, bare(), entry) for entry in (asked, candidate("aws/16", nodes)))
    for name in ("run_usd", "horizon_usd", "npv_usd"):
        base = getattr(plain, name)
        found = [getattr(result, f"{name}{end}") for end in ("_low", "", "_high")]
        assert found == pytest.approx([0.9 * base, base, 1.25 * base])
        assert getattr(plain, f"{name}_low") == getattr(plain, f"{name}_high") == pytest.approx(base)


def test_what_stands_between_runs_is_paid_by_the_month_however_long_they_take(book: PriceBook) -> None:
    """Storage of the horizon does not follow the days; the share of it that falls on one run does."""
    asked = candidate("aws/16", stored("aws/fsx-lustre-ssd-125", 72000.0, "us-east-1"), run_time_high=1.25)
    result = _one(book, bare(), asked)
    assert result.horizon_usd_high == pytest.approx(result.horizon_usd)
    assert result.run_usd_high == pytest.approx(1.25 * result.run_usd)


def test_a_committed_node_that_has_no_hours_left_is_rented_for_longer(book: PriceBook) -> None:
    """A commitment pays all its hours, so that only runs beyond them cost more."""
    found = [_one(book, bare(utilisation=share), p5(term="reserved_3y", run_time_high=1.25)) for share in (0.5, 1.0)]
    assert found[0].horizon_usd_high == pytest.approx(found[0].horizon_usd)
    assert found[1].horizon_usd_high == pytest.approx(1.25 * found[1].horizon_usd)


@pytest.mark.parametrize("ends", [{"run_time_low": 1.1}, {"run_time_high": 0.9}, {"run_time_low": 0.0}])
def test_a_band_of_days_that_is_not_around_them_is_refused(book: PriceBook, ends: dict[str, float]) -> None:
    """The ends hold the days between them."""
    with pytest.raises(InputError, match="times its days"):
        _one(book, bare(), p5(**ends))


def test_owned_run_is_its_share_of_the_life(book: PriceBook) -> None:
    """An owned run takes its share of the hours worked of the horizon's cost: half as busy, twice as dear."""
    asked = candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0)
    for utilisation in (1.0, 0.5, 0.25):
        result = _one(book, bare(utilisation=utilisation, power_price_usd_per_kwh=0.0), asked)
        assert result.run_usd == pytest.approx(380000 * 30 * 24 / (36 * 730 * utilisation))
        assert result.capex_usd == 380000
        assert result.horizon_usd == pytest.approx(380000)


def test_a_purchase_price_of_low_confidence_keeps_the_band_of_its_assumption(book: PriceBook) -> None:
    """380,000 USD is the middle of 300,000 to 460,000; a rent of low confidence and an older list price do not move."""
    bare_band = bare(power_price_usd_per_kwh=0.0)
    result = _one(book, bare_band, candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0))
    assert (result.capex_usd_low, result.capex_usd_high) == pytest.approx((300000, 460000))
    before = dataclasses.replace(bare_band, as_of=dt.date(2024, 1, 1))
    older = _one(book, before, candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0))
    assert older.capex_usd_low == older.capex_usd == older.capex_usd_high == 329580
    rented = candidate("aws/16", stored("aws/fsx-lustre-ssd-250", 72000.0, "us-east-1"))
    found = _one(book, bare(), rented)
    assert found.horizon_usd_low == found.horizon_usd == found.horizon_usd_high


def test_owned_extras(book: PriceBook) -> None:
    """Installation, spares, support, staff, space, energy and resale follow their definitions."""
    asked = candidate("onprem/one", bought("dgx-h100"), it_power_w=10000.0)
    economics = dataclasses.replace(
        GIVEN,
        utilisation=0.8,
        overrides=(
            ("installation_fraction", 0.03),
            ("spares_fraction", 0.02),
            ("support_fraction_per_year", 0.06),
            ("staff_fte_per_gpu", 0.01),
            ("staff_usd_per_fte_year", 100000.0),
            ("colocation_usd_per_kw_month", 150.0),
            ("load_power_fraction", 0.9),
            ("idle_power_fraction", 0.3),
            ("resale_fraction", 0.25),
        ),
    )
    result = _one(book, economics, asked)
    usd = {part.category: part.usd for part in result.horizon_breakdown}
    assert usd == {
        "compute": pytest.approx(380000),
        "installation": pytest.approx(380000 * 0.03),
        "spares": pytest.approx(380000 * 0.02),
        "support": pytest.approx(380000 * 0.06 * 3),
        "staff": pytest.approx(8 * 0.01 * 100000 * 3),
        "facility": pytest.approx(10 * 150 * 36),
        "energy": pytest.approx(10 * (0.3 + 0.6 * 0.8) * 1.3 * 0.08 * 36 * 730),
        "resale": pytest.approx(-380000 * 0.25),
    }
    assert result.horizon_usd == pytest.approx(sum(usd.values()))
    assert result.capex_usd == pytest.approx(380000 * 1.05)


def test_skipped_statements_would_return_no_row(book: PriceBook) -> None:
    """Without contracts, charges, surcharges, support plans and mixes; the empty tables have the same columns."""
    owned = candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0, calendar_days=20.0)
    for _ in range(2):
        # The first ledger keeps the columns, which the second one reuses.
        ledger = Ledger((owned, p5(calendar_days=25.0)), bare(utilisation=0.6), book)
        for name in EMPTY_WITHOUT:
            made = ledger._connection.execute(f"describe from {name}").fetchall()
            ledger.create("asked", f"tco/sql/{name}.sql", {})
            assert ledger._connection.execute("from asked").fetchall() == [], name
            assert ledger._connection.execute("describe from asked").fetchall() == made, name
            assert made


def test_threads_count_the_same_money(book: PriceBook) -> None:
    """Cash flows that begin at once, in a process that has counted none, do not hinder each other."""
    left = private_connection()
    for (name,) in left.execute(
        "select table_name from duckdb_tables() where starts_with(table_name, 'columns_of_')"
    ).fetchall():
        left.execute(f"drop table memory.main.{name}")
    with ThreadPoolExecutor(6) as threads:
        counted = [threads.submit(cost, (p5(),), bare(), PriceBook.open()) for _ in range(6)]
    assert {one.result() for one in counted} == {cost((p5(),), bare(), book)}


def test_same_work_on_all(book: PriceBook) -> None:
    """The owned cluster sets the pace: it is busy the stated share, and a slower cloud rents for more hours per run."""
    owned = candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0, calendar_days=20.0)
    slow = p5(calendar_days=25.0)
    mine, theirs = cost((owned, slow), bare(utilisation=0.6), book)
    assert mine.busy_fraction == pytest.approx(0.6)
    assert theirs.busy_fraction == pytest.approx(0.75)
    assert mine.runs_in_horizon == theirs.runs_in_horizon
    assert theirs.horizon_usd == pytest.approx(55.04 * 0.75 * 36 * 730)
    alone, private_connection = (
        cost((dataclasses.replace(owned, utilisation=own),), bare(utilisation=shared, reference_days=20.0), book)[0]
        for shared, own in ((0.3, None), (0.6, 0.3))
    )
    assert private_connection == alone
    assert private_connection.run_usd != mine.run_usd


def test_owned_cluster_that_cannot_do_the_work(book: PriceBook) -> None:
    """An owned cluster that would be busy more than all the time has no horizon cost, but its run has one."""
    owned = candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0, calendar_days=40.0)
    result = _one(book, bare(reference_days=30.0), owned)
    assert result.busy_fraction == pytest.approx(40 / 30)
    assert result.horizon_usd is None
    assert result.npv_usd is None
    assert result.run_usd is not None


def test_run_does_not_depend_on_the_others(book: PriceBook) -> None:
    """The cost of a run is the same whoever is compared with it, so that choosing can come before comparing."""
    owned = candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0, calendar_days=20.0)
    slow = candidate("onprem/two", bought("dgx-h100"), it_power_w=10200.0, calendar_days=70.0)
    rented = p5(calendar_days=25.0)
    alone = [_one(book, GIVEN, asked).run_usd for asked in (owned, slow, rented)]
    together = [result.run_usd for result in cost((owned, slow, rented), GIVEN, book)]
    assert together == pytest.approx(alone)


def test_committed_hours_are_paid_used_or_not(book: PriceBook) -> None:
    """A commitment pays every hour of the horizon; a run takes its share of the hours worked."""
    economics = bare(utilisation=0.5, term="reserved_3y")
    result = _one(book, economics, p5())
    assert result.horizon_usd == pytest.approx(23.776 * 36 * 730)
    assert result.run_usd == pytest.approx(23.776 * 30 * 24 / 0.5)
    assert result.term == "reserved_3y"


def test_term_of_a_candidate_wins(book: PriceBook) -> None:
    """Each candidate may have its own term; storage stays at list price."""
    storage = stored("aws/fsx-lustre-ssd-125", 1000.0, "us-east-1")
    nodes = line("aws/p5.48xlarge", region="us-east-1")
    block = candidate("aws/block", nodes, storage, term="capacity_block")
    plain = candidate("aws/plain", nodes, storage)
    first, second = cost((block, plain), bare(), book)
    assert [priced.unit_usd for priced in first.lines] == [41.528, 0.145]
    assert [priced.unit_usd for priced in second.lines] == [55.04, 0.145]


def test_unknown_price_is_none_not_zero(book: PriceBook) -> None:
    """A line without any price makes every total unknown, and is named with the reason."""
    odd = line("aws/odd-service", quantity=1.0, unit="each", region="us-east-1", category="network")
    nodes = line("aws/p5.48xlarge", region="us-east-1")
    known = p5()
    result, other = cost((candidate("aws/odd", nodes, odd), known), bare(), book)
    totals = (result.run_usd, result.horizon_usd, result.npv_usd, result.capex_usd, result.usd_per_gpu_hour)
    assert totals == (None,) * 5
    assert result.priced_share is None
    assert result.run_breakdown == ()
    (missing,) = result.missing
    assert missing.sku == "aws/odd-service"
    assert "no documented on-demand price in us-east-1" in missing.reason
    assert other.run_usd is not None


def test_unknown_owned_line(book: PriceBook) -> None:
    """An owned cluster with an unknown part shows no energy or staff as if that were its cost."""
    asked = candidate("onprem/odd", bought("dgx-h100"), bought("odd-part"), it_power_w=10200.0)
    ledger = Ledger((asked, p5()), GIVEN, book)
    assert ledger.costs()[0].run_usd is None
    assert ledger.costs()[1].run_usd is not None
    assert ledger.cash_flow_rows("onprem/odd") == ()
    assert ledger.breakevens() == ()


def test_no_assumption_for_a_commitment(book: PriceBook) -> None:
    """A missing commitment price is unknown: no list price and no assumption stands in for it."""
    node = line("aws/p5en.48xlarge", region="us-east-1")
    result = _one(book, bare(term="reserved_1y"), candidate("aws/p5en", node))
    assert result.run_usd is None
    assert "reserved-1y" in result.missing[0].reason


def test_assumed_price_is_marked(book: PriceBook) -> None:
    """An assumed line has its reason, source and band, and lowers the share priced from documents."""
    storage = stored("azure/amlfs-125", 10000.0, "eastus")
    node = line("azure/Standard_ND96isr_H100_v5", region="eastus")
    result = _one(book, bare(), candidate("azure/one", node, storage))
    assumed = result.lines[1]
    assert (assumed.basis, assumed.confidence) == ("assumed", "low")
    assert (assumed.unit_usd_low, assumed.unit_usd, assumed.unit_usd_high) == (0.116, 0.145, 0.203)
    assert assumed.note
    assert assumed.source
    assert result.run_usd is not None
    kept = 10000 * 30 * 24 / 730
    assert result.priced_share == pytest.approx(1 - 0.145 * kept / result.run_usd)
    assert result.run_usd_low == pytest.approx(result.run_usd - 0.029 * kept)
    assert result.run_usd_high == pytest.approx(result.run_usd + 0.058 * kept)
    (alone,) = cost((candidate("azure/one", node, storage),), bare(), book, scenarios=("base",))
    assert (alone.run_usd, alone.horizon_usd, alone.npv_usd) == (result.run_usd, result.horizon_usd, result.npv_usd)
    assert (alone.run_usd_low, alone.horizon_usd_high) == (None, None)


def test_resale_counts_against_the_priced_share(book: PriceBook) -> None:
    """Resale is assumed: it lowers the cost and the priced share."""
    asked = candidate("onprem/one", bought("dgx-h100"), it_power_w=0.0)
    economics = with_overrides(bare(), resale_fraction=0.0)
    without = _one(book, economics, asked)
    kept = tuple(pair for pair in economics.overrides if pair[0] != "resale_fraction")
    with_resale = _one(book, dataclasses.replace(economics, overrides=kept), asked)
    assert without.priced_share == 1
    assert with_resale.priced_share == pytest.approx(1 / 1.3)
    assert with_resale.horizon_usd == pytest.approx(380000 * 0.7)


def test_units_that_do_not_fit_are_unknown(book: PriceBook) -> None:
    """A bill that counts what the price is not per is unknown, and the reason names both units."""
    wrong = line("aws/p5.48xlarge", region="us-east-1", unit="GPU")
    result = _one(book, bare(), candidate("aws/wrong", wrong))
    assert result.run_usd is None
    assert "per node" in result.missing[0].reason
    assert "counts GPU" in result.missing[0].reason


def test_gb_and_gib_are_told_apart(book: PriceBook) -> None:
    """A price per GiB is brought to GB by 1e9 / 2**30."""
    in_gib = stored("aws/s3-standard", 1000.0, "us-east-1")
    in_gb = dataclasses.replace(in_gib, unit="GB")
    first, second = cost((candidate("aws/gib", in_gib), candidate("aws/gb", in_gb)), bare(), book)
    assert first.run_usd is not None
    assert second.run_usd == pytest.approx(first.run_usd * 1e9 / 2**30, rel=1e-12)


def test_hourly_price_of_a_monthly_line(book: PriceBook) -> None:
    """An hourly price of a line that is charged by the month is taken 730 times."""
    monthly = line(
        "aws/nat-gateway", unit="each", charge="monthly", scales_with="cluster", region="us-east-1", category="network"
    )
    result = _one(book, bare(), candidate("aws/nat", monthly))
    assert result.lines[0].unit_usd == pytest.approx(0.045 * 730)


def test_part_of_a_month(book: PriceBook) -> None:
    """A horizon that ends within a month pays that part of it."""
    ledger = Ledger((p5(),), bare(horizon_months=2.5), book)
    rows = ledger.cash_flow_rows()
    assert [(row.month, row.usd) for row in rows] == [
        (1.0, pytest.approx(55.04 * 730)),
        (2.0, pytest.approx(55.04 * 730)),
        (2.5, pytest.approx(55.04 * 365)),
    ]
    assert ledger.audit() == ()


def test_cumulative_leaves_resale_out(book: PriceBook) -> None:
    """The curve starts with the purchase, rises to all cash paid, and does not fall by the resale."""
    asked = candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0)
    ledger = Ledger((asked, p5()), GIVEN, book)
    result = ledger.costs()[0]
    curve = [point for point in ledger.cumulative() if point.key == "onprem/one"]
    resale = next(part.usd for part in result.horizon_breakdown if part.category == "resale")
    assert [point.month for point in curve] == [float(month) for month in range(37)]
    assert curve[0].usd == result.capex_usd
    assert result.horizon_usd is not None
    assert curve[-1].usd == pytest.approx(result.horizon_usd - resale)
    assert all(point.usd_low <= point.usd <= point.usd_high for point in curve)


def test_default_day_is_the_newest_price(book: PriceBook) -> None:
    """Without an as-of day the newest day on which a shipped price was seen is used, never today."""
    assert Ledger((p5(),), bare(), book).as_of == book.newest_day
    assert Ledger((p5(),), bare(as_of=dt.date(2024, 1, 1)), book).as_of == dt.date(2024, 1, 1)


def test_every_parameter_says_where_it_comes_from(book: PriceBook) -> None:
    """Values of the blueprint are given, all others are assumed with reason, source and date."""
    found = {parameter.key: parameter for parameter in Ledger((p5(),), GIVEN, book).parameters}
    assert found["pue"].basis == found["power_price_usd_per_kwh"].basis == "given"
    others = [parameter for parameter in found.values() if parameter.basis != "given"]
    assert all(parameter.basis == "assumed" and parameter.reason and parameter.source for parameter in others)
    assert found["resale_fraction"].value == pytest.approx(0.3)
    assert found["resale_fraction"].low == pytest.approx(0.5), "the cheap end is the high resale"


@pytest.mark.parametrize(
    "wrong",
    [
        {"utilisation": 0.0},
        {"utilisation": 1.01},
        {"utilisation": float("nan")},
        {"horizon_months": 0.0},
        {"horizon_months": 1000.0},
        {"discount_rate": -0.1},
        {"hours_per_month": 0.0},
        {"reference_days": 0.0},
        {"term": "whenever"},
        {"overrides": (("pued", 1.2),)},
    ],
)
def test_wrong_economics(book: PriceBook, wrong: dict[str, object]) -> None:
    """Economic values out of range and unknown names are refused with what is allowed."""
    with pytest.raises(InputError) as caught:
        cost((p5(),), dataclasses.replace(Economics(), **wrong), book)  # type: ignore[arg-type]
    assert caught.value.help


@pytest.mark.parametrize("wrong", [{"calendar_days": 0.0}, {"term": "whenever"}, {"utilisation": 1.2}])
def test_wrong_candidate(book: PriceBook, wrong: dict[str, object]) -> None:
    """A run without days, an unknown term and more than all hours are refused."""
    with pytest.raises(InputError):
        cost((p5(**wrong),), Economics(), book)


def test_same_key_twice(book: PriceBook) -> None:
    """Two candidates with one key are refused."""
    with pytest.raises(InputError, match="same key"):
        cost((p5(), p5()), Economics(), book)


def test_nothing_to_cost(book: PriceBook) -> None:
    """No candidates, no costs."""
    assert cost((), Economics(), book) == ()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    nodes=st.integers(1, 2000),
    days=st.floats(0.5, 400),
    utilisation=st.floats(0.05, 1),
    horizon=st.floats(1, 120),
    discount=st.floats(0, 0.5),
    power_kw=st.floats(0, 1e5),
)
@example(nodes=1, days=1.0, utilisation=1.0, horizon=84.0, discount=0.0, power_kw=0.0)
def test_views_reconcile(  # noqa: PLR0917
    book: PriceBook, nodes: int, days: float, utilisation: float, horizon: float, discount: float, power_kw: float
) -> None:
    """For any cluster categories add up to totals, audits pass, and at the stated use the runs cost the horizon."""
    owned = candidate(
        "onprem/any",
        bought("dgx-h100", nodes),
        bought("qm9700", nodes),
        it_power_w=power_kw * 1e3,
        gpus=8 * nodes,
        calendar_days=days,
    )
    rented = p5(nodes, calendar_days=days)
    economics = Economics(horizon_months=horizon, utilisation=utilisation, discount_rate=discount)
    ledger = Ledger((owned, rented), economics, book)
    assert ledger.audit() == ()
    for result in ledger.costs():
        assert result.horizon_usd is not None
        assert result.run_usd is not None
        assert sum(part.usd for part in result.horizon_breakdown) == pytest.approx(result.horizon_usd)
        assert sum(part.usd for part in result.run_breakdown) == pytest.approx(result.run_usd)
        assert result.run_usd * result.runs_in_horizon == pytest.approx(result.horizon_usd)
        assert result.npv_usd is not None
        assert result.priced_share is not None
        assert 0 <= result.priced_share <= 1


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(usd=st.floats(1, 1e6), more=st.floats(1.001, 10))
def test_dearer_parts_cost_more(book: PriceBook, usd: float, more: float) -> None:
    """A dearer part never makes the run, the horizon or the purchase cheaper."""
    asked = candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0)
    cheap, dear = (_one(book, with_overrides(GIVEN, dgx__h100=price), asked) for price in (usd, usd * more))
    for name in ("run_usd", "horizon_usd", "capex_usd", "npv_usd", "run_usd_low", "run_usd_high"):
        assert getattr(dear, name) > getattr(cheap, name)


def test_on_demand_in_closed_form(book: PriceBook) -> None:
    """A run on demand costs what the cash flow says, whatever the horizon, its growth and the use of other clusters."""
    storage = stored("aws/fsx-lustre-ssd-125", 72000.0, "us-east-1")
    lines = p5().bill.lines
    asked = tuple(
        candidate(f"aws/{days}", *lines, storage, calendar_days=days, nodes=nodes, gpus=8 * nodes)
        for days, nodes in ((7.0, 64), (25.0, 16), (90.0, 4))
    )
    unknown = candidate("aws/odd", *lines, line("aws/no-such-thing"), calendar_days=3.0)
    for economics in (bare(), bare(utilisation=0.3, growth=GrowthSchedule(growth_per_year=0.4))):
        flows = cost((*asked, unknown), economics, book)
        for flow, closed in zip(flows, run_costs((*asked, unknown), economics, book), strict=True):
            for name in ("run_usd", "run_usd_low", "run_usd_high", "usd_per_gpu_hour", "priced_share"):
                told = getattr(flow, name)
                assert getattr(closed, name) == (told if told is None else pytest.approx(told, rel=1e-12))
            assert closed.missing == flow.missing
    with pytest.raises(InputError, match="not rented on demand alone"):
        run_costs((p5(term="reserved_3y"),), bare(), book)


def test_ledgers_leave_nothing_in_the_database_they_share(book: PriceBook) -> None:
    """The tables of an answer are gone with it: a process that plans all day holds those of one answer at a time."""
    probe = private_connection()

    def held_bytes() -> int:
        row = probe.execute("select sum(memory_usage_bytes) from duckdb_memory() where tag = 'IN_MEMORY_TABLE'")
        return int((row.fetchone() or (0,))[0])

    gc.collect()
    before = held_bytes()
    ledger = Ledger((p5(),), bare(), book)
    assert held_bytes() > before
    del ledger
    for _ in range(3):
        cost((p5(),), bare(), book)
        assert held_bytes() == before
    left = probe.execute("select table_name, estimated_size from duckdb_tables()").fetchall()
    assert all(name.startswith("columns_of_") for name, _ in left)
    assert {rows for _, rows in left} <= {0}
