"""Draws against the engine itself, after tax, along price paths, and the figures over all draws by hand."""

import dataclasses
import math
from collections.abc import Mapping

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.statements import statement
from clusterwright.tco.chance.drawing import Drawn, simulate
from clusterwright.tco.chance.price_paths import MarketHistory, PathDraws, PathRule
from clusterwright.tco.chance.uncertainty import latin_hypercube, uncertain_inputs
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.renting.mixes import Mix, owned_and_rented
from clusterwright.tco.taxes.after_tax import Taxes, after_tax
from clusterwright.tco.terms.records import Candidate, Economics, Surcharge
from clusterwright.tco.terms.stages import GrowthSchedule

from .examples import bought, candidate, line, p5, stored, with_overrides

PLAIN = Economics(horizon_months=40.0, utilisation=0.5, reference_days=30.0)
MACRS5 = (0.2, 0.32, 0.192, 0.1152, 0.1152, 0.0576)
P5_USD, STORAGE_USD, SERVER_USD = 55.04, 0.145, 300_000.0
PRICES = {"aws/p5.48xlarge": P5_USD, "aws/fsx-lustre-ssd-125": STORAGE_USD, "dgx-h100": SERVER_USD}


def _candidates(run_time: float = 1.0) -> tuple[Candidate, ...]:
    storage = stored("aws/fsx-lustre-ssd-125", 1000.0, "us-east-1")
    support = Surcharge(category="support", item="plan", fraction=0.05, of_categories=("compute", "energy"))
    days = 30.0 * run_time
    return (
        candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0, calendar_days=days, surcharges=(support,)),
        candidate(
            "aws/rented",
            line("aws/p5.48xlarge", region="us-east-1"),
            storage,
            calendar_days=days,
            surcharges=(support,),
        ),
        p5(key="aws/reserved", term="reserved_3y", calendar_days=days * 1.5),
    )


#: Everything else that owning may cost, all at once.
OWNER = {
    "demand_usd_per_kw_month": 12.0,
    "building_usd_per_kw": 12_000.0,
    "building_upkeep_fraction_per_year": 0.03,
    "building_value_fraction": 0.6,
    "freight_fraction": 0.02,
    "duty_fraction": 0.03,
    "sales_tax_fraction": 0.05,
    "contingency_fraction": 0.05,
    "gpu_failures_per_year": 0.05,
    "gpu_replacement_usd": 30_000.0,
    "software_usd_per_gpu_year": 4500.0,
    "software_usd_per_gpu": 100.0,
    "insurance_fraction_per_year": 0.005,
    "property_tax_fraction_per_year": 0.01,
    "transit_usd_per_month": 900.0,
    "cross_connect_usd_per_month": 300.0,
    "decommission_usd_per_server": 500.0,
    "decommission_fraction": 0.01,
    "wind_down_months": 2.0,
    "capital_charge_fraction_per_year": 0.04,
}


def _ledger(book: PriceBook, economics: Economics = PLAIN, *, run_time: float = 1.0, **prices: float) -> Ledger:
    given = {sku.replace("-", "__"): usd for sku, usd in (PRICES | prices).items() if sku != "aws/p5.48xlarge"}
    rented = {"aws/p5.48xlarge": (PRICES | prices)["aws/p5.48xlarge"]}
    return Ledger(_candidates(run_time), with_overrides(economics, **given, **rented), book)


def _npv(found: Drawn) -> dict[str, float]:
    return {entry.key: entry.npv_usd for entry in found.costs if entry.number == 0}


def _draw(**factors: float) -> dict[str, np.ndarray]:
    return {"number": np.zeros(1)} | {key: np.array([factor]) for key, factor in factors.items()}


FACTOR = st.floats(0.2, 1.9)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    factors=st.lists(FACTOR, min_size=40, max_size=40),
    work=st.floats(0.3, 1.9),
    run_time=st.floats(0.4, 1.05),
    refresh=st.sampled_from([None, 24.0]),
)
def test_a_draw_of_everything_equals_the_engine(
    book: PriceBook, factors: list[float], work: float, run_time: float, refresh: float | None
) -> None:
    """A draw that moves every input at once has the same value as a cash flow computed with these inputs."""
    plain = with_overrides(
        dataclasses.replace(PLAIN, growth=GrowthSchedule(refresh_months=refresh, price_change_per_year=-0.1)), **OWNER
    )
    ledger = _ledger(book, plain)
    keys = [entry.key for entry in uncertain_inputs(ledger.parameters, utilisation=0.5)]
    moved = dict(zip(keys, factors, strict=False)) | {"utilisation": work}
    moved |= {"run_time": run_time, "cloud_price": factors[0], "purchase_price": factors[1]}
    # Load and idle power keep their order, so that both stay shares of the nameplate.
    moved |= {"load_power_fraction": 1.2, "idle_power_fraction": 0.7}
    # What says how the equipment is replaced is no input of a draw.
    values = {
        entry.key: entry.value * moved[entry.key]
        for entry in ledger.parameters
        if entry.key not in ("growth_fraction_per_year", "refresh_months", "purchase_price_change_per_year")
    }
    economics = with_overrides(dataclasses.replace(plain, utilisation=0.5 * work), **values)
    recomputed = _ledger(
        book,
        economics,
        run_time=run_time,
        **{"aws/p5.48xlarge": P5_USD * factors[0], "dgx-h100": SERVER_USD * factors[1]},
    )
    expected = {entry.key: entry.npv_usd for entry in recomputed.costs()}
    found = _npv(simulate(ledger, _draw(**moved)))
    for key in ("onprem/one", "aws/rented"):
        assert found[key] == pytest.approx(expected[key], rel=1e-9)
    assert len(moved) > len(OWNER) + 12
    # The commitment keeps its price until it is renewed after three years; its hours grow with the work alone.
    committed = math.fsum(
        row.usd * 1.08 ** (-row.month / 12.0) * (factors[0] if row.month > 36 else 1.0)
        for row in ledger.cash_flow_rows("aws/reserved")
    )
    hours = max(1.0, 0.75 * work * run_time)
    assert found["aws/reserved"] == pytest.approx(committed * hours, rel=1e-9)


def _taxes(rate: float = 0.21) -> Taxes:
    return Taxes(tax_rate=rate, depreciation=MACRS5)


@pytest.mark.parametrize("rate", [0.0, 0.21, 0.6])
def test_after_tax_draws_equal_the_taxed_cash_flow(book: PriceBook, rate: float) -> None:
    """The base draw after tax is what the cash flow after tax is worth, and so is a draw that moves many inputs."""
    ledger = _ledger(book)
    base = {entry.key: entry.npv_after_tax_usd for entry in simulate(ledger, _draw(), taxes=_taxes(rate)).costs}
    expected, _ = after_tax(ledger, _taxes(rate))
    assert base == {entry.key: pytest.approx(entry.npv_after_tax_usd, rel=1e-9) for entry in expected}
    moved = {"purchase_price": 1.3, "resale_fraction": 0.5, "utilisation": 1.2, "pue": 0.9, "cloud_price": 0.8}
    values = {entry.key: entry.value * moved.get(entry.key, 1.0) for entry in ledger.parameters}
    recomputed = _ledger(
        book,
        with_overrides(dataclasses.replace(PLAIN, utilisation=0.6), **values),
        **{"aws/p5.48xlarge": P5_USD * 0.8, "dgx-h100": SERVER_USD * 1.3},
    )
    found = {entry.key: entry.npv_after_tax_usd for entry in simulate(ledger, _draw(**moved), taxes=_taxes(rate)).costs}
    taxed = {entry.key: entry.npv_after_tax_usd for entry in after_tax(recomputed, _taxes(rate))[0]}
    for key in ("onprem/one", "aws/rented"):
        assert found[key] == pytest.approx(taxed[key], rel=1e-9)


def test_without_taxes_both_are_the_same(book: PriceBook) -> None:
    """Where no tax is counted, and after one was, the figures after tax are those before it."""
    ledger = _ledger(book)
    simulate(ledger, _draw(), taxes=_taxes())
    (cost, *_) = simulate(ledger, _draw()).costs
    assert cost.npv_after_tax_usd == cost.npv_usd


def test_figures_over_all_draws(book: PriceBook) -> None:
    """Quantiles, the dearest tenth, shares and regret of 20 draws are those that NumPy counts."""
    ledger = _ledger(book)
    prices = np.linspace(0.2, 2.1, 20)
    found = simulate(ledger, {"number": np.arange(20.0), "cloud_price": prices})
    usd = {key: [cost.npv_usd for cost in found.costs if cost.key == key] for key in ("onprem/one", "aws/rented")}
    option = {entry.key: entry for entry in found.options}["aws/rented"]
    assert option.npv_usd_p10 == pytest.approx(np.quantile(usd["aws/rented"], 0.1))
    assert option.npv_usd_dearest_tenth == pytest.approx(sum(sorted(usd["aws/rented"])[-2:]) / 2)
    reserved = np.array([cost.npv_usd for cost in found.costs if cost.key == "aws/reserved"])
    cheapest = np.minimum(np.minimum(usd["onprem/one"], usd["aws/rented"]), reserved)
    assert option.regret_usd == pytest.approx((np.array(usd["aws/rented"]) - cheapest).mean())
    rented_wins = np.array(usd["aws/rented"]) == cheapest
    assert 0 < rented_wins.sum() < 20
    assert option.probability_cheapest == pytest.approx(rented_wins.mean())
    regret = {(entry.key, entry.right_key): entry for entry in found.regrets}
    wrong = regret["onprem/one", "aws/rented"]
    assert wrong.probability == pytest.approx(rented_wins.mean())
    assert wrong.regret_usd == pytest.approx((np.array(usd["onprem/one"]) - cheapest)[rented_wins].mean())
    assert regret["aws/rented", "aws/rented"].regret_usd == 0.0
    for entry in found.options:
        given_right = [each for each in found.regrets if each.key == entry.key]
        mean = math.fsum(each.probability * (each.regret_usd or 0.0) for each in given_right)
        assert mean == pytest.approx(entry.regret_usd)


def test_work_that_an_owner_cannot_do(book: PriceBook) -> None:
    """Draws with more work than hours leave the owner out, are counted, and go to the cheapest of the others."""
    ledger = _ledger(book)
    found = simulate(ledger, {"number": np.arange(4.0), "utilisation": np.array([1.0, 1.9, 2.1, 3.0])})
    by_key = {entry.key: entry for entry in found.options}
    assert by_key["onprem/one"].probability_too_slow == 0.5
    assert by_key["aws/rented"].probability_too_slow == 0.0
    assert by_key["onprem/one"].probability_cheapest <= 0.5
    assert sum(entry.probability_cheapest for entry in found.options) == 1.0
    never = simulate(ledger, {"number": np.arange(2.0), "utilisation": np.array([2.1, 3.0])})
    owner = {entry.key: entry for entry in never.options}["onprem/one"]
    assert (owner.npv_usd_p50, owner.npv_usd_dearest_tenth, owner.probability_too_slow) == (None, None, 1.0)
    assert {entry.key: entry.regret_usd for entry in never.regrets}["onprem/one"] is None


def test_one_draw(book: PriceBook) -> None:
    """A single draw is all of its quantiles."""
    option = simulate(_ledger(book), _draw(cloud_price=1.5)).options[0]
    assert option.npv_usd_p10 == option.npv_usd_p90 == option.npv_usd_dearest_tenth


def _doubling(book: PriceBook) -> tuple[Ledger, Mapping[str, float]]:
    """Return the options with a rental price that grows by a tenth every month, and what each then costs."""
    ledger = _ledger(book, dataclasses.replace(PLAIN, discount_rate=0.0))
    growth = MarketHistory(
        accelerators=("h100",),
        named=True,
        first_month=ledger.as_of,
        last_month=ledger.as_of,
        log_changes=((math.log(1.1),),),
    )
    paths = PathDraws(
        markets={"h100": growth},
        accelerators=dict.fromkeys(("aws/rented", "aws/reserved"), "h100"),
        rule=PathRule(drift="historic"),
        months=40,
        draws=1,
        seed=1,
    )
    return ledger, _npv(simulate(ledger, _draw(), paths=paths))


def test_path_by_hand(book: PriceBook) -> None:
    """Rent of month n follows the price at its start; a 3-year commitment keeps its price for 36 months, then renews.

    The price grows by a tenth a month. Rented nodes are paid for half the hours of 40 months: the sum of 1.1^n for n
    from 0 to 39 in place of 40 months; so is the support on them, and storage stays. The commitment pays 36 months at
    today's price and the last 4 at 1.1^36.
    """
    ledger, found = _doubling(book)
    sum_of_growth = (1.1**40 - 1) / 0.1
    rent = P5_USD * 730 * 0.5 * sum_of_growth * 1.05
    assert found["aws/rented"] == pytest.approx(rent + 1000 * STORAGE_USD * 40, rel=1e-9)
    base = {entry.key: entry.npv_usd or 0.0 for entry in ledger.costs()}
    assert found["aws/reserved"] == pytest.approx(base["aws/reserved"] / 40 * (36 + 4 * 1.1**36), rel=1e-9)
    assert found["onprem/one"] == pytest.approx(base["onprem/one"])


def _drawn_with(book: PriceBook, others: tuple[str, ...], *, backwards: bool = False) -> Drawn:
    """Return the options over 300 draws along paths, with rented ones of other accelerators that are not ranked."""
    accelerators = {"onprem/one": "h100", "aws/rented": "h100", "aws/reserved": "h100"} | {
        f"aws/{name}": name for name in others
    }
    rented = (dataclasses.replace(_candidates()[1], key=f"aws/{name}", competes=False) for name in others)
    candidates = (*_candidates(), *rented)
    ledger = Ledger(
        candidates[::-1] if backwards else candidates,
        with_overrides(PLAIN, dgx__h100=SERVER_USD, **{"aws/p5.48xlarge": P5_USD}),
        book,
    )
    day = ledger.as_of
    markets = {
        name: MarketHistory(
            accelerators=(name,),
            named=True,
            first_month=day,
            last_month=day,
            log_changes=(tuple(np.sin(np.arange(30) * len(name)) / 9),),
        )
        for name in set(accelerators.values())
    }
    paths = PathDraws(markets=markets, accelerators=accelerators, rule=PathRule(), months=40, draws=300, seed=1)
    ends = paths.end_levels()["h100"]
    columns = latin_hypercube(
        uncertain_inputs(ledger.parameters, utilisation=0.5), 300, rent_levels={"onprem/one": ends}
    )
    columns["cloud_price"] = columns["number"] * 0.0 + 1.0
    return simulate(ledger, columns, taxes=_taxes(), paths=paths, breakevens=True)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("others", [(), ("a100",), ("tpu", "h200", "a100")], ids=len)
def test_other_accelerators_move_no_figure(book: PriceBook, others: tuple[str, ...], *, backwards: bool) -> None:
    """Rented options of another accelerator, and the order of options, leave all figures as they were to the last bit.

    They are not ranked here: what ranks changes what regret is measured against.
    """
    before, after = _drawn_with(book, ()), _drawn_with(book, others, backwards=backwards)
    keys = {entry.key for entry in before.options}
    costs = {(entry.number, entry.key): entry for entry in after.costs}
    assert {(entry.number, entry.key): entry for entry in before.costs} == {
        place: entry for place, entry in costs.items() if place[1] in keys
    }
    assert sorted(before.options, key=str) == sorted((entry for entry in after.options if entry.key in keys), key=str)
    assert set(before.breakevens) == {entry for entry in after.breakevens if entry.rented_key in keys}
    for name in others:
        assert any(costs[number, f"aws/{name}"].npv_usd != costs[number, "aws/rented"].npv_usd for number in range(300))


def _spared(**of_key: bool) -> tuple[Candidate, ...]:
    """Return the candidates, some of them not ranked, and one whose short run undercuts the others."""
    spot = p5(key="aws/spot", calendar_days=1.0)
    return tuple(
        dataclasses.replace(entry, competes=of_key.get(entry.key.rpartition("/")[2], True))
        for entry in (*_candidates(), spot)
    )


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ranked=st.fixed_dictionaries({key: st.booleans() for key in ("one", "rented", "reserved", "spot", "mix")}))
def test_regret_is_above_the_cheapest_ranked_option(book: PriceBook, ranked: dict[str, bool]) -> None:
    """Regret is never below 0, is 0 for one ranked option of every draw, and none for what is not ranked."""
    mix = Mix(
        key="mix",
        target="hybrid",
        nodes=1,
        gpus=8,
        rented_key="aws/rented",
        parts=owned_and_rented(
            "onprem/one", "aws/rented", nodes_share=1.0, most_work=0.6, growth=PLAIN.growth, horizon_months=40.0
        ),
    )
    candidates = tuple(entry for entry in _spared(**ranked))
    ledger = Ledger(
        candidates, with_overrides(PLAIN, dgx__h100=SERVER_USD, **{"aws/p5.48xlarge": P5_USD}), book, (mix,)
    )
    competing = {cost.key for cost in ledger.costs() if cost.competes}
    for work, price in ((0.5, 1.7), (1.9, 0.3), (2.1, 1.0)):
        found = simulate(ledger, _draw(utilisation=work, cloud_price=price), taxes=_taxes())
        regret = {entry.key: entry for entry in found.options}
        able = {key for key, entry in regret.items() if entry.probability_too_slow == 0.0}
        for name in ("regret_usd", "regret_after_tax_usd"):
            known = {key: getattr(entry, name) for key, entry in regret.items() if getattr(entry, name) is not None}
            assert set(known) == competing & able
            assert not known or min(known.values()) == 0.0
        usd = _npv(found)
        cheapest = min((usd[key] for key in competing & able), default=0.0)
        assert {key: entry.regret_usd for key, entry in regret.items() if entry.regret_usd is not None} == {
            key: pytest.approx(usd[key] - cheapest) for key in competing & able
        }


def _reconciled(options: list[dict[str, object]], regrets: list[dict[str, object]]) -> bool:
    """Return whether the audit of regrets finds nothing; option `a` and `b` are ranked, `spot` is not."""
    connection = duckdb.connect()
    work = [{"key": "a", "competes": True}, {"key": "b", "competes": True}, {"key": "spot", "competes": False}]
    for table, rows in {"drawn_option": options, "drawn_regret": regrets, "option_work": work}.items():
        connection.execute(f"create table {table} as select unnest($rows, recursive := true)", {"rows": rows})
    return not connection.execute(statement("tco/chance_audits/regret_disagrees.sql")).fetchall()


@pytest.mark.parametrize(
    ("where", "changes"),
    [
        ((), {}),
        (("options", 0), {"regret_usd": 4.0}),
        (("options", 0), {"regret_usd": None}),
        (("options", 0), {"regret_after_tax_usd": -0.01}),
        (("options", 2), {"regret_usd": -5.0}),
        (("options", 2), {"regret_after_tax_usd": 1.0}),
        (("regrets", 0), {"regret_usd": 1.0}),
        (("regrets", 1), {"regret_usd": 9.0}),
        (("regrets", 1), {"fitting_draws": 2}),
    ],
)
def test_audit_of_regret(where: tuple[str, int] | tuple[()], changes: dict[str, object]) -> None:
    """A regret below 0, of an option that is not ranked, or unlike what the right choices say, is a fault."""
    tables: dict[str, list[dict[str, object]]] = {
        "options": [
            {"key": key, "regret_usd": usd, "regret_after_tax_usd": usd, "probability_too_slow": 0.0}
            for key, usd in (("a", 5.0), ("b", 2.5), ("spot", None))
        ],
        "regrets": [
            {"key": key, "right_key": right, "fitting_draws": 4, "regret_usd": usd}
            for key, right, usd in (("a", "a", 0.0), ("a", "b", 10.0), ("b", "a", 5.0), ("b", "b", 0.0))
        ],
    }
    if where:
        tables[where[0]][where[1]] |= changes
    assert _reconciled(**tables) == (not where)
