"""What a blueprint says of owning becomes parameters of the cash flow, with source and band."""

import csv
import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from clusterwright import assets
from clusterwright.blueprint.load import load
from clusterwright.blueprint.sections.finances import TcoSection
from clusterwright.blueprint.sections.owner import Owner
from clusterwright.errors import InputError
from clusterwright.plan.alternatives.recount import not_counted
from clusterwright.plan.owned.cost import housed, parameters_of, resale_of
from clusterwright.plan.without_effect import without_effect
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.terms.assumptions import assumptions
from clusterwright.tco.terms.owner_costs import optional_parameters, owner_costs
from clusterwright.tco.terms.records import Parameter

BLUEPRINT = Path(__file__).parents[2] / "blueprints" / "train-gpt3-175b.yaml"
DAY = dt.date(2026, 10, 16)
#: What follows from other keys of `tco.owner`, or is given by cases of `validate tco` alone.
DERIVED = {"building_value_fraction", "warranty_months", "wind_down_months", "capital_charge_fraction_per_year"}


@pytest.fixture(scope="module")
def book() -> PriceBook:
    """The shipped prices."""
    return PriceBook.open()


def _found(book: PriceBook, *, horizon_months: float = 36.0, **owner: Any) -> dict[str, Parameter]:  # noqa: ANN401
    section = TcoSection.model_validate({"owner": owner})
    found = parameters_of(section, book, as_of=DAY, horizon_months=horizon_months, power_price_given=False)
    return {entry.key: entry for entry in found}


def test_every_parameter_can_be_given() -> None:
    """Every parameter of a cost has an assumption or a key of the blueprint; every table names the same ones."""
    used = {key for term in owner_costs() for key in term.parameters} | {"warranty_months"}
    keys = set(Owner.model_fields)
    optional = set(optional_parameters())
    assert optional - DERIVED <= keys
    assert used <= set(assumptions()) | optional | {"resale_fraction"}
    assert optional <= used


def test_what_is_counted_is_not_called_left_out(book: PriceBook) -> None:
    """Licences, freight and insurance that a blueprint gives leave the list, or stay for what is still left out."""
    given = set(_found(book, ai_enterprise="subscription", freight_fraction=0.02, insurance_fraction_per_year=0.01))
    bare, with_all = (
        [entry.partition(":")[0] for entry in not_counted(kind="train", owned=True, rented=True, given=keys)]
        for keys in ((), given)
    )
    assert "Software licences such as NVIDIA AI Enterprise" in bare
    assert set(with_all) - set(bare) == {
        "Software licences of rented nodes",
        "Taxes, duty and freight beside those given",
        "Insurance, property tax, demand charges, transit and taking the equipment out, beside those given",
    }
    assert not any("licences" in entry for entry in not_counted(kind="train", owned=True, rented=False, given=given))
    rented = not_counted(kind="train", owned=False, rented=True, given=given)
    assert rented == not_counted(kind="train", owned=False, rented=True, given=())


def test_counted_by_names_parameters() -> None:
    """What counts an item is a parameter of the owner's costs."""
    with (assets.root() / "tco" / "not_counted.csv").open(encoding="utf-8", newline="") as lines:
        named = {key for row in csv.DictReader(lines) for key in row["counted_by"].split()}
    assert named
    assert named <= set(optional_parameters())


def test_tariff(book: PriceBook) -> None:
    """A tariff is the documented price of its region, with source and day; the newest in force on the as-of day."""
    found = _found(book, tariff="us-ia/commercial")["power_price_usd_per_kwh"]
    assert (found.value, found.basis) == (0.1026, "documented")
    assert "EIA" in found.source
    assert found.date == "2026-07-23"
    assert _found(book, tariff="us-tx/industrial")["power_price_usd_per_kwh"].value == 0.0633


@pytest.mark.parametrize("name", ["us-va/industral", "mars", "us-va", "/industrial", "us-or/residential"])
def test_unknown_tariff(book: PriceBook, name: str) -> None:
    """A tariff that is not there is reported at its place, with others."""
    with pytest.raises(InputError, match="no tariff") as caught:
        _found(book, tariff=name)
    assert caught.value.path == ("tco", "owner", "tariff")
    assert "us-" in (caught.value.help or "")


@pytest.mark.parametrize(
    ("owner", "at"),
    [
        ({"idle_power_fraction": 0.9, "load_power_fraction": 0.5}, "idle_power_fraction"),
        ({"load_power_fraction": 0.38}, "load_power_fraction"),  # 40 % is the high end of what waits
    ],
)
def test_waiting_draws_no_more_than_work(book: PriceBook, owner: dict[str, float], at: str) -> None:
    """A draw that falls while equipment works is refused at its place, of one place too."""
    with pytest.raises(InputError, match="equipment that waits draws") as caught:
        _found(book, **owner)
    assert caught.value.path == ("tco", "owner", at)
    section = TcoSection.model_validate({"housing": {"room": owner}})
    with pytest.raises(InputError, match="equipment that waits draws") as caught:
        housed(section, book, as_of=DAY, horizon_months=36.0)
    assert caught.value.path == ("tco", "housing", "room", at)


def test_price_given_twice(book: PriceBook) -> None:
    """A tariff beside site.power_price is refused."""
    section = TcoSection.model_validate({"owner": {"tariff": "us-va/industrial"}})
    with pytest.raises(InputError, match="given twice"):
        parameters_of(section, book, as_of=DAY, horizon_months=36.0, power_price_given=True)


@pytest.mark.parametrize(
    ("owner", "fraction"),
    [
        ({"demand_ratchet_fraction": 0.8}, 1.0),
        ({"demand_ratchet_fraction": 0.8, "demand_power_fraction": 0.7}, 0.8),
        ({"demand_ratchet_fraction": 0.6, "demand_power_fraction": 0.7}, 0.7),
    ],
)
def test_ratchet(book: PriceBook, owner: dict[str, float], fraction: float) -> None:
    """Billed is the larger of the month's highest draw and the ratchet's share of the year's."""
    found = _found(book, demand_usd_per_kw_month=12.0, **owner)
    assert found["demand_power_fraction"].value == fraction


def test_building(book: PriceBook) -> None:
    """A building of one's own takes the place of colocation, unless that is given; half of its life leaves half."""
    found = _found(book, building_usd_per_kw=12_000.0, building_life="20 years", horizon_months=120.0)
    assert found["building_value_fraction"].value == pytest.approx(0.5)
    assert found["colocation_usd_per_kw_month"].value == 0
    both = _found(book, building_usd_per_kw=12_000.0, colocation_usd_per_kw_month=20.0, horizon_months=600.0)
    assert (both["building_value_fraction"].value, both["colocation_usd_per_kw_month"].value) == (0.0, 20.0)


@pytest.mark.parametrize(
    ("kind", "key", "usd"),
    [("subscription", "software_usd_per_gpu_year", 4500.0), ("perpetual", "software_usd_per_gpu", 22_500.0)],
)
def test_licence(book: PriceBook, kind: str, key: str, usd: float) -> None:
    """NVIDIA AI Enterprise costs its list price, documented."""
    found = _found(book, ai_enterprise=kind)[key]
    assert (found.value, found.basis) == (usd, "documented")


def test_bands(book: PriceBook) -> None:
    """Ends stay with the value; what lowers the cost is cheap at its high end."""
    found = _found(
        book,
        freight_fraction={"low": "1 %", "base": "2 %", "high": "4 %"},
        resale_fraction={"low": 0.1, "base": 0.3, "high": 0.5},
    )
    assert (found["freight_fraction"].low, found["freight_fraction"].high) == (0.01, 0.04)
    assert (found["resale_fraction"].low, found["resale_fraction"].high) == (0.5, 0.1)


@pytest.mark.parametrize(
    ("owner", "message"),
    [
        ({"freight_fraction": -0.1}, "not from 0 to 1"),
        ({"freight_fraction": "110 %"}, "not from 0 to 1"),
        ({"freight_fraction": float("nan")}, "not from 0 to 1"),
        ({"freight_fraction": True}, "is no number"),
        ({"freight_fraction": {"low": 0.1}}, "a band with base"),
        ({"freight_fraction": {"base": 0.1, "mid": 0.1}}, "a band with base"),
        ({"freight_fraction": {"low": 0.2, "base": 0.1}}, "not in order"),
        ({"gpu_replacement_usd": 30_000}, "gpu_failures_per_year, which is missing"),
        ({"demand_ratchet_fraction": 0.8}, "demand_usd_per_kw_month, which is missing"),
        ({"ai_enterprise": "subscription", "software_usd_per_gpu_year": 1.0}, "say the same thing twice"),
        (
            {"resale_by_age": [{"age": "2 years", "share": 0.5}, {"age": "1 year", "share": 0.6}]},
            "not in order",
        ),
    ],
)
def test_bad_values(owner: dict[str, Any], message: str) -> None:
    """Bad values are refused with what is wrong."""
    with pytest.raises(ValidationError, match=message):
        Owner.model_validate(owner)


def test_resale_curve() -> None:
    """Without a word on resale the assumptions hold; a decay is read with its ends and steps."""
    assert resale_of(TcoSection()) is None
    decay = {"per_year": {"low": 0.15, "base": 0.35, "high": 0.55}, "step": 0.75, "step_every": "2 years"}
    curve = resale_of(TcoSection.model_validate({"owner": {"resale_decay": decay}}))
    assert curve is not None
    assert (curve.step, curve.step_months) == (0.75, pytest.approx(24.0))


@pytest.mark.parametrize(
    ("tco", "message"),
    [
        ({"deposit": 0.3}, "before delivery"),
        ({"refresh": "2 years", "loan": {"rate": 0.08, "term": "36 months"}}, "one purchase"),
        ({"growth": 0.1, "lease": {"rate": 0.08}}, "one purchase"),
    ],
)
def test_what_cannot_be_counted_together(tco: dict[str, Any], message: str) -> None:
    """A deposit without delivery, and financing of more than one purchase, are refused."""
    with pytest.raises(ValidationError, match=message):
        TcoSection.model_validate(tco)


def test_owner_without_an_owned_target_has_no_effect() -> None:
    """What owning costs is not counted where nothing is owned, and that is said."""
    loaded = load(BLUEPRINT, ("tco.owner.freight_fraction=0.02",)).blueprint
    clouds = loaded.model_copy(update={"targets": loaded.targets.model_copy(update={"onprem": None})})
    assert [finding.path for finding in without_effect(clouds, ())] == [("tco", "owner")]
    assert not without_effect(loaded, ())
