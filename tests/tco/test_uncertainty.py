"""Draws of the assumptions: even, repeatable, and valued as the cash flow would be."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from scipy.stats import qmc

from clusterwright.errors import InputError
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.chance.distributions import OptionBand, UncertainInput, triangular
from clusterwright.tco.chance.drawing import simulate
from clusterwright.tco.chance.uncertainty import (
    OwnBand,
    grid,
    latin_hypercube,
    one_at_a_time,
    ranks,
    slices,
    stream,
    uncertain_inputs,
)
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import Economics

from .examples import bought, candidate, p5, stored, with_overrides

PLAIN = Economics(horizon_months=60.0, utilisation=0.8)


def _ledger(book: PriceBook, economics: Economics = PLAIN) -> Ledger:
    owned = candidate("onprem/one", bought("dgx-h100"), it_power_w=10200.0)
    storage = stored("aws/fsx-lustre-ssd-125", 1000.0, "us-east-1")
    reserved = p5(key="aws/reserved", term="reserved_3y")
    rented = p5(key="aws/rented")
    rented = dataclasses.replace(rented, bill=dataclasses.replace(rented.bill, lines=(*rented.bill.lines, storage)))
    return Ledger((owned, rented, reserved), economics, book)


def _inputs(ledger: Ledger) -> tuple[UncertainInput, ...]:
    return uncertain_inputs(ledger.parameters, utilisation=ledger.economics.utilisation)


def test_base_draw_is_the_cash_flow(book: PriceBook) -> None:
    """With every factor at 1 a draw is worth what the cash flow is worth."""
    ledger = _ledger(book)
    found = {
        entry.key: entry.npv_usd for entry in simulate(ledger, one_at_a_time(_inputs(ledger))).costs if not entry.number
    }
    assert found == {entry.key: pytest.approx(entry.npv_usd, rel=1e-12) for entry in ledger.costs()}


@pytest.mark.parametrize(
    ("key", "factor"),
    [
        ("power_price_usd_per_kwh", 1.3),
        ("pue", 0.9),
        ("load_power_fraction", 1.1),
        ("idle_power_fraction", 0.8),
        ("colocation_usd_per_kw_month", 1.2),
        ("installation_fraction", 2.0),
        ("spares_fraction", 0.5),
        ("support_fraction_per_year", 1.4),
        ("staff_fte_per_gpu", 1.5),
        ("staff_usd_per_fte_year", 0.7),
        ("resale_fraction", 3.0),
    ],
)
def test_a_draw_equals_the_engine_with_that_value(book: PriceBook, key: str, factor: float) -> None:
    """Scaling the categories gives what the engine gives when it runs with the changed value."""
    ledger = _ledger(book)
    value = next(entry.value for entry in ledger.parameters if entry.key == key)
    changed = _ledger(book, with_overrides(PLAIN, **{key: value * factor}))
    draws = one_at_a_time(_inputs(ledger))
    draws[key][0] = factor
    found = {entry.key: entry.npv_usd for entry in simulate(ledger, draws).costs if entry.number == 0}
    assert found == {entry.key: pytest.approx(entry.npv_usd, rel=1e-9) for entry in changed.costs()}


def test_utilisation_and_prices(book: PriceBook) -> None:
    """Half the use halves the hours rented, not the commitment nor the storage; a price scales its own part alone.

    A commitment of three years keeps its price until it is renewed.
    """
    ledger = _ledger(book)
    half = {entry.key: entry.npv_usd for entry in _ledger(book, dataclasses.replace(PLAIN, utilisation=0.4)).costs()}
    draws = one_at_a_time(_inputs(ledger))
    draws["utilisation"][0] = 0.5
    found = {entry.key: entry.npv_usd for entry in simulate(ledger, draws).costs if entry.number == 0}
    assert found == {key: pytest.approx(usd, rel=1e-9) for key, usd in half.items()}
    dear = one_at_a_time(_inputs(ledger))
    dear["cloud_price"][0] = dear["purchase_price"][0] = 2.0
    found = {entry.key: entry.npv_usd for entry in simulate(ledger, dear).costs if entry.number == 0}
    base = {entry.key: entry.npv_usd or 0.0 for entry in ledger.costs()}
    renewed = sum(row.usd / 1.08 ** (row.month / 12) for row in ledger.cash_flow_rows("aws/reserved") if row.month > 36)
    assert found["aws/reserved"] == pytest.approx(base["aws/reserved"] + renewed)
    assert base["aws/rented"] * 1.9 < found["aws/rented"] < base["aws/rented"] * 2


def test_same_seed_same_answer(book: PriceBook) -> None:
    """The same seed gives the same figures; another one others, but close."""
    ledger = _ledger(book)
    inputs = _inputs(ledger)
    first, again, other = (simulate(ledger, latin_hypercube(inputs, 2000, seed=seed)).options for seed in (1, 1, 2))
    assert first == again
    assert first != other
    for one, two in zip(first, other, strict=True):
        assert one.npv_usd_p50 == pytest.approx(two.npv_usd_p50, rel=0.01)
    assert sum(entry.probability_cheapest for entry in first) == pytest.approx(1.0)
    assert all(entry.npv_usd_p10 <= entry.npv_usd_p50 <= entry.npv_usd_p90 for entry in first)
    assert all(entry.regret_usd >= 0 for entry in first)


def test_every_slice_is_drawn_once() -> None:
    """Each of n slices of equal probability of an input holds exactly one of n draws; resale follows the rent."""
    inputs = [
        UncertainInput(key=key, low=0.5, high=1.5, reason="", source="")
        for key in ("cloud_price", "resale_fraction", "pue")
    ]
    found = latin_hypercube(inputs, 1000, seed=7)
    edges = triangular(np.arange(1, 1000) / 1000, 0.5, 1.5)
    for key in ("cloud_price", "pue"):
        assert sorted(np.searchsorted(edges, found[key])) == list(range(1000))
    assert np.corrcoef(found["cloud_price"], found["resale_fraction"])[0, 1] == pytest.approx(0.7, abs=0.05)
    assert np.corrcoef(found["cloud_price"], found["pue"])[0, 1] == pytest.approx(0.0, abs=0.08)
    assert (found["resale_fraction"].min() >= 0.5, found["resale_fraction"].max() <= 1.5) == (True, True)


@pytest.mark.parametrize(("draws", "name", "seed"), [(1, "pue", 0), (7, "pue", 5), (1000, "run_time/aws", 20261121)])
def test_slices_are_those_of_scipy(draws: int, name: str, seed: int) -> None:
    """The hypercube is the one of SciPy to the last bit, whose whole statistics would take longer to load than used."""
    theirs = qmc.LatinHypercube(d=1, rng=stream(name, seed)).random(draws)
    assert (slices(draws, name, seed) == theirs[:, 0]).all()


def test_ranks_are_those_of_scipy() -> None:
    """Equal values share the mean of their places."""
    values = np.random.default_rng(3).integers(0, 50, 1000) / 7
    assert (ranks(values) == stats.rankdata(values)).all()


def test_options_have_their_own_times_of_a_run(book: PriceBook) -> None:
    """Each option is drawn from its own band, P10 to P90 with the base as the median; errors go together as they say.

    Nodes by the hour cost what their own run takes; a tornado moves all options to the same quantile of their own.
    """
    bands = (
        OptionBand(name="aws", keys=("aws/rented",), low=0.9, high=1.3),
        OptionBand(name="onprem", keys=("onprem/one",), low=0.5, high=1.0),
    )
    (entry,) = (entry for entry in uncertain_inputs((), utilisation=0.4, run_times=bands) if entry.key == "run_time")
    assert (entry.low, entry.high, entry.source) == (0.5, 1.3, "plan")
    found = latin_hypercube([entry], 20_000, seed=3)
    rented, owned = found["run_time/aws/rented"], found["run_time/onprem/one"]
    assert np.quantile(rented, (0.1, 0.5, 0.9)) == pytest.approx([0.9, 1.0, 1.3], rel=0.01)
    assert np.quantile(owned, (0.1, 0.5, 0.9)) == pytest.approx([0.5, 1.0, 1.0], rel=0.01)
    together = latin_hypercube(
        [dataclasses.replace(entry, bands=(bands[0], dataclasses.replace(bands[0], name="other", keys=("other",))))],
        20_000,
        seed=3,
    )
    scores = [
        special.ndtri((stats.rankdata(together[f"run_time/{key}"]) - 0.5) / 20_000) for key in ("aws/rented", "other")
    ]
    assert np.corrcoef(*scores)[0, 1] == pytest.approx(entry.correlation, abs=0.02)
    ends = one_at_a_time([entry])
    assert ends["run_time/aws/rented"].tolist() == pytest.approx([1.0, 0.9, 1.3])
    assert ends["run_time/onprem/one"].tolist() == pytest.approx([1.0, 0.5, 1.0])
    ledger = _ledger(book, dataclasses.replace(PLAIN, utilisation=0.4, reference_days=30.0))
    rows = {(cost.number, cost.key): cost.npv_usd for cost in simulate(ledger, ends).costs}
    nodes = sum(
        row.usd / 1.08 ** (row.month / 12) for row in ledger.cash_flow_rows("aws/rented") if row.category == "compute"
    )
    assert rows[2, "aws/rented"] - rows[0, "aws/rented"] == pytest.approx(0.3 * nodes)
    assert rows[2, "onprem/one"] == pytest.approx(rows[0, "onprem/one"])


def test_certain_inputs_do_not_move() -> None:
    """What the user gave has no band; utilisation never passes all hours."""
    inputs = {
        entry.key: entry
        for entry in uncertain_inputs(
            (), utilisation=0.95, run_times=(OptionBand(name="a", keys=("a",), low=0.8, high=1.1),)
        )
    }
    assert inputs["utilisation"].high == pytest.approx(1 / 0.95)
    assert (inputs["run_time"].low, inputs["run_time"].high) == (0.8, 1.1)
    assert triangular(np.array([0.0, 0.3, 1.0]), 1.0, 1.0).tolist() == [1.0, 1.0, 1.0]
    assert triangular(np.array([0.0, 1.0]), 1.0, 2.0).tolist() == [1.0, 2.0]
    assert triangular(np.array([0.0, 1.0]), 0.5, 1.0).tolist() == [0.5, 1.0]


@pytest.mark.parametrize("draws", [0, -1, 1_000_001])
def test_draws_out_of_range(draws: int) -> None:
    """Nothing is drawn without draws, or with more than memory holds."""
    with pytest.raises(InputError):
        latin_hypercube((), draws)


def test_grid() -> None:
    """A heat map holds every pair, the second input fastest."""
    inputs = [UncertainInput(key=key, low=0.5, high=1.5, reason="", source="") for key in ("a", "b", "c")]
    found = grid(inputs, ("a", (1.0, 2.0)), ("c", (3.0, 4.0)))
    assert found["a"].tolist() == [1, 1, 2, 2]
    assert found["b"].tolist() == [1, 1, 1, 1]
    assert found["c"].tolist() == [3, 4, 3, 4]


@pytest.mark.parametrize("draws", [1, 3, 20_001])
def test_blocks_of_draws_are_one_set(book: PriceBook, draws: int) -> None:
    """Draws are valued in blocks; every one of them is there once, also the one after a full block."""
    ledger = _ledger(book)
    columns = latin_hypercube(_inputs(ledger), draws)
    found = simulate(ledger, columns)
    assert [entry.number for entry in found.costs if entry.key == "aws/rented"] == list(range(min(draws, 1000)))
    assert sum(option.probability_cheapest for option in found.options) == pytest.approx(1.0)


UNCERTAIN = (
    *(UncertainInput(key=key, low=0.5, high=1.5, reason="", source="") for key in ("cloud_price", "pue", "rent")),
    UncertainInput(key="resale_fraction", low=0.4, high=1.2, reason="", source="", distribution="beta"),
    UncertainInput(
        key="run_time",
        low=0.5,
        high=1.5,
        reason="",
        source="",
        distribution="two_sided",
        correlation=0.8,
        bands=tuple(OptionBand(name=key, keys=(key,), low=0.8, high=1.3) for key in ("aws", "gcp", "onprem")),
    ),
)


@given(
    kept=st.sets(st.sampled_from(UNCERTAIN), min_size=1).flatmap(lambda kept: st.permutations(sorted(kept, key=str))),
    bands=st.permutations(UNCERTAIN[-1].bands).flatmap(lambda all_of: st.integers(1, 3).map(lambda n: all_of[:n])),
    seed=st.integers(0, 2**64),
)
def test_other_inputs_move_no_draw(kept: list[UncertainInput], bands: list[OptionBand], seed: int) -> None:
    """An input's draws are the same to the last bit whatever other inputs and bands there are, in whatever order."""
    every = latin_hypercube(UNCERTAIN, 20, seed=seed)
    fewer = [dataclasses.replace(entry, bands=tuple(bands)) if entry.bands else entry for entry in kept]
    if "cloud_price" not in {entry.key for entry in kept}:
        # Resale follows the rental price, where there is one: this is one input that it has.
        fewer = [entry for entry in fewer if entry.key != "resale_fraction"]
    found = latin_hypercube(fewer, 20, seed=seed)
    assert all((column == every[name]).all() for name, column in found.items())


def test_inputs_are_drawn_apart() -> None:
    """Names give streams of their own: no two inputs, nor the same one under another seed, go together."""
    names = [f"input {number}" for number in range(12)]
    scores = np.array([slices(5_000, name, seed) for seed in (1, 2) for name in names])
    assert np.abs(np.corrcoef(scores) - np.eye(len(scores))).max() < 0.06


@pytest.mark.parametrize(
    "owned",
    [("transit_usd_per_month",), ("contingency_fraction",), ("transit_usd_per_month", "insurance_fraction_per_year")],
    ids=len,
)
def test_an_input_of_owning_moves_no_rented_option(book: PriceBook, owned: tuple[str, ...]) -> None:
    """Given to the owner alone, certain or not, it leaves every draw of a rented option as it was, to the last bit."""
    plain = _ledger(book)
    more = _ledger(book, with_overrides(PLAIN, **dict.fromkeys(owned, 0.01)))
    bands = [OwnBand(key=key, spread=0.5) for key in owned]
    before, certain, uncertain = (
        {
            (cost.number, cost.key): cost.npv_usd
            for cost in simulate(
                ledger, latin_hypercube(uncertain_inputs(ledger.parameters, utilisation=0.8, own=own), 50)
            ).costs
        }
        for ledger, own in ((plain, ()), (more, ()), (more, bands))
    )
    for number in range(50):
        for rented in ("aws/rented", "aws/reserved"):
            assert before[number, rented] == certain[number, rented] == uncertain[number, rented]
        assert before[number, "onprem/one"] < certain[number, "onprem/one"] != uncertain[number, "onprem/one"]
