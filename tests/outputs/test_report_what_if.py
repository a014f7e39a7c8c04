"""The sliders of the report: their amounts are those of the cash flow, their data is inert, what lacks one is said."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from clusterwright import assets
from clusterwright.cli.planning import plan_of
from clusterwright.finance.what_if import HORIZON, POWER, RENT, RESALE, WORK, WhatIf, what_if
from clusterwright.outputs.report.what_if import Sliders, sliders
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD
from clusterwright.pricing.book import PriceBook
from tests.opened import report_html
from tests.outputs.test_report import HOSTILE, Page
from tests.recounts import recounted_usd

BLUEPRINTS = assets.root() / "blueprints"
#: Overrides that bring charges on whole bills, commitments, purchases by steps, and places of their own.
MANY = (
    (),
    ("tco.cloud={support: business, egress: 50 TB, nat: 1 TB}",),
    ("tco.growth=30%", "tco.refresh=2 years", "tco.purchase_price_change=-10 %"),
    ("tco.contracts=[{target: aws, discount: 20 %, commitment_per_year: 40 MUSD}]",),
    ("tco.contracts=[{target: aws, term: reserved_3y, payment: partial_upfront}]",),
    (
        "site.power_price=null",
        "tco.owner.tariff=us-va/industrial",
        "tco.owner.resale_decay={per_year: 0.35, step: 0.8, step_every: 24 months}",
    ),
)


def _amounts(found: WhatIf, setting: dict[str, float], key: str) -> tuple[float, float] | None:
    """Return present value and cash of a way as the page adds them up; None where it cannot work so much."""
    places = {name: found.values[name].index(value) for name, value in setting.items() if name in found.values}
    horizon, work = places.get(HORIZON, 0), places.get(WORK, 0)
    amounts = found.amounts[horizon][key]
    if not amounts.fits[work]:
        return None
    share = found.resale_share[horizon]
    factors = {
        RENT: setting[RENT],
        POWER: setting[POWER] / found.base[POWER],
        RESALE: min(setting[RESALE], 1 / share) if share else 1.0,
    }
    sums = []
    for columns, bills in (
        (amounts.present_usd, amounts.bill_present_usd),
        (amounts.paid_usd, amounts.bill_paid_usd),
    ):
        terms = (usd[work] * math.prod(factors[name] for name in moves) for moves, usd in columns.items())
        sums.append(math.fsum(terms) + (bills[work][places[RENT]] if bills else 0.0))
    return sums[0], sums[1]


@pytest.mark.parametrize(
    ("blueprint", "overrides"),
    [*(("train-gpt3-175b", many) for many in MANY), ("serve-llama3-70b", ()), ("finetune-llama3-70b-lora", ())],
)
def test_every_amount_is_that_of_a_cash_flow_of_its_own(blueprint: str, overrides: Sequence[str]) -> None:
    """Present value and cash at other values equal those of a new cash flow with them, to nine digits."""
    plan, book = plan_of(BLUEPRINTS / f"{blueprint}.yaml", list(overrides)), PriceBook.open()
    found = what_if(plan, book)
    assert found is not None
    assert len(found.keys) >= 10
    known = 0
    for months, place, rent, power, resale in (
        (found.base[HORIZON], None, 1.0, found.base[POWER], 1.0),
        (24.0, 0, 0.7, 0.13, 1.3),
        (60.0, -1, 1.25, 0.02, 0.0),
        (48.0, 6, 0.4, 0.3, 2.0),
    ):
        work = found.base[WORK] if place is None or WORK not in found.values else found.values[WORK][place]
        setting = {HORIZON: months, WORK: work, RENT: rent, POWER: power, RESALE: resale}
        usd = recounted_usd(plan, book, found, setting)
        for key in found.keys:
            expected, got = usd[key], _amounts(found, setting, key)
            assert (expected is None) == (got is None), (key, setting)
            if expected is not None:
                assert got == pytest.approx(expected, rel=1e-9), (key, setting)
                known += 1
    assert known >= 3 * len(found.keys)


def _section(plan: Plan) -> Sliders:
    found = sliders(plan, what_if(plan, PriceBook.open()), USD)
    assert found is not None
    return found


def test_what_no_slider_answers_is_listed(shipped_plan: Plan) -> None:
    """Growth and the goal have a command in place of a slider; so have mixes, and the utilisation of a service."""
    section = _section(shipped_plan)
    assert [lever.id for lever in section.levers] == ["utilisation", "rent", "power", "resale", "horizon"]
    assert "tco.growth" in section.left_out[0]
    late = plan_of(BLUEPRINTS / "train-gpt3-175b.yaml", ["tco.delivery=6 months"])
    mixed = _section(replace(late, recommended_horizon_key="onprem/bridged"))
    assert any("on premises, rented until delivery" in line for line in mixed.left_out)
    assert "On premises, rented until delivery" not in json.loads(mixed.data)["ways"]
    assert mixed.note.startswith("The plan's answer for the horizon, on premises, rented until delivery, is not in")
    assert json.loads(mixed.data)["among"] == " of these ways"
    assert _section(late).note == ""
    assert section.note == json.loads(section.data)["among"] == ""
    built = _section(plan_of(BLUEPRINTS / "train-gpt3-175b.yaml", ["tco.owner.building_usd_per_kw=9000 USD"]))
    assert "horizon" not in [lever.id for lever in built.levers]
    assert any("economics.horizon" in line for line in built.left_out)
    served = _section(plan_of(BLUEPRINTS / "serve-llama3-70b.yaml", []))
    assert "utilisation" not in [lever.id for lever in served.levers]
    assert any("always on" in line for line in served.left_out)


def test_names_cannot_leave_the_data(shipped_plan: Plan) -> None:
    """A name that looks like the end of a script is a name; the page has the two scripts that it should."""
    found = what_if(shipped_plan, PriceBook.open())
    assert found is not None
    named = replace(
        found,
        keys=(f"{HOSTILE}</script>", *found.keys[1:]),
        amounts=tuple(
            {(f"{HOSTILE}</script>" if key == found.keys[0] else key): entry for key, entry in amounts.items()}
            for amounts in found.amounts
        ),
    )
    section = sliders(shipped_plan, named, USD)
    assert section is not None
    assert not set("<>&") & set(section.data)
    assert "alert(1)" in json.loads(section.data)["ways"][0]


def test_a_plan_without_a_ranked_way_has_no_sliders(shipped_plan: Plan) -> None:
    """Without anything to add up there is neither section nor script, and the policy allows none."""
    nothing = replace(shipped_plan, alternatives=(), recommended_key="", recommended_horizon_key="")
    assert what_if(nothing, PriceBook.open()) is None
    html = report_html(nothing)
    assert not [tag for tag, _ in Page(html).elements if tag == "script"]
    assert "script-src" not in html


def test_the_report_is_small_enough_to_send(shipped_plan: Plan) -> None:
    """With its sliders it stays below 400 KB."""
    assert len(report_html(shipped_plan).encode()) <= 400_000
