"""Energy and carbon of the options of a shipped plan, by hand and against the cash flow."""

from pathlib import Path
from typing import Any

import pytest

from clusterwright.cli.planning import plan_of
from clusterwright.errors import InputError
from clusterwright.finance.carbon import Emissions, cloud_pues, embodied_by_gpu, emissions, grid_intensities
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.training.record import TrainingPlan
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import Ledger
from tests.terms import with_finance

BLUEPRINT = Path(__file__).parents[2] / "blueprints" / "train-gpt3-175b.yaml"


@pytest.fixture(scope="module")
def plan() -> TrainingPlan:
    """The shipped training plan, decided once."""
    return plan_of(BLUEPRINT, None)


def _found(plan: TrainingPlan, **carbon: Any) -> tuple[dict[str, Emissions], Ledger]:  # noqa: ANN401 - of the section
    changed = with_finance(plan, {"carbon": carbon})
    money = ledger(changed, PriceBook.open())
    kinds = {option.target: option.cluster.accelerator for option in plan.options}
    return {entry.key: entry for entry in emissions(changed, money, money.costs(), kinds)}, money


def test_meter_is_that_of_the_energy_bill(plan: TrainingPlan) -> None:
    """KWh of an owner are the cash flow's energy over its price; carbon is kWh x grams, zero by certificates."""
    found, money = _found(plan, grid="us-va", market_grams_per_kwh={"onprem": 0.0})
    mine = found["onprem"]
    paid = sum(row.usd for row in money.cash_flow_rows("onprem") if row.category == "energy")
    price = next(entry.value for entry in money.parameters if entry.key == "power_price_usd_per_kwh")
    assert mine.kwh == pytest.approx(paid / price)
    assert mine.location_kg == pytest.approx(paid / price * 0.34348)
    assert mine.market_kg == 0
    # 164 kg of each GPU's board, 36 of 60 months.
    gpus = next(option.cluster.gpus for option in plan.options if option.target == "onprem")
    assert mine.embodied_kg == pytest.approx(164 * gpus * 0.6)
    runs = next(cost.runs_in_horizon for cost in money.costs())
    assert mine.run_kg == pytest.approx(((mine.location_kg or 0) + (mine.embodied_kg or 0)) / runs)
    assert mine.grams_per_million_tokens == pytest.approx((mine.run_kg or 0) * 1000 / plan.workload.tokens * 1e6)


def test_rented_by_hand(plan: TrainingPlan) -> None:
    """On demand: 1.275 kW for each H100 at 80 % load for the hours worked, by the operator's PUE and the grid."""
    found, money = _found(plan, embodied_kg_per_server=3000.0)
    cost = next(entry for entry in money.costs() if entry.key == "aws")
    kwh = 1.275 * cost.gpus * 0.8 * cost.busy_fraction * 36 * 730 * 1.15
    assert found["aws"].kwh == pytest.approx(kwh)
    assert found["aws"].location_kg == pytest.approx(kwh * 0.34348)
    assert found["aws"].market_kg is None
    assert found["aws"].embodied_kg == pytest.approx(3000 * cost.nodes * cost.busy_fraction * 36 / 60)


def test_unknown_stays_unknown(plan: TrainingPlan) -> None:
    """Without a grid an owner's emissions are unknown and say so; nothing is taken as 0."""
    mine = _found(plan)[0]["onprem"]
    assert (mine.location_kg, mine.run_kg, mine.market_kg) == (None, None, None)
    assert "tco.carbon.grid" in mine.note


@pytest.mark.parametrize(
    ("carbon", "path"),
    [
        ({"grid": "us-virginia"}, ("tco", "carbon", "grid")),
        ({"market_grams_per_kwh": {"ovh": 1.0}}, ("tco", "carbon", "market_grams_per_kwh", "ovh")),
    ],
)
def test_unknown_names_are_reported(plan: TrainingPlan, carbon: dict[str, Any], path: tuple[str, ...]) -> None:
    """A grid or a target that is not known is an error at its place, with what is known."""
    with pytest.raises(InputError) as caught:
        _found(plan, **carbon)
    assert caught.value.path == path
    assert caught.value.help


def test_tables_are_sound() -> None:
    """Every value of the tables is plausible and has a source."""
    for values, most in ((grid_intensities(), 1200.0), (embodied_by_gpu(), 5000.0), (cloud_pues(), 2.0)):
        assert values
        assert all(0 < entry.value <= most and entry.source for entry in values.values())
