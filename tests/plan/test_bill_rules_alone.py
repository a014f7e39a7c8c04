"""Rules of bills and charges, each at and beside its limit: what a bill differs by, what its months are made of."""

import datetime as dt
from pathlib import Path

import numpy as np
import pytest

from clusterwright.actual import reconcile
from clusterwright.actual.reconcile import _because, _calendar_months, _count, _Sum, _variance
from clusterwright.blueprint.sections.finances import Housing
from clusterwright.errors import InputError
from clusterwright.finance import charges
from clusterwright.finance.charge_streams import _name_of, _paid_ahead_of
from clusterwright.finance.charges import _by_month, _served, _spread
from clusterwright.pricing.offer_lines import _check_end, _header
from clusterwright.tco.chance.distributions import _lognormal
from clusterwright.tco.taxes import financing
from clusterwright.tco.terms.contracts import Contract
from tests.stand_ins import stand_in as _record


def test_months_of_a_bill_are_counted_by_the_calendar() -> None:
    """Two whole months are two, whatever their days; the last 15 of 31 days are 15/31."""

    def months(start: tuple[int, int], end: tuple[int, int]) -> float:
        begin, finish = (dt.datetime(2027, month, day, tzinfo=dt.UTC) for month, day in (start, end))
        return _calendar_months(_record(start=begin, end=finish))

    assert months((1, 1), (3, 1)) == pytest.approx(2.0)
    assert months((1, 17), (2, 1)) == pytest.approx(15 / 31)
    assert months((1, 17), (2, 15)) == pytest.approx(15 / 31 + 0.5)


def test_a_difference_is_of_quantity_and_of_price() -> None:
    """Two hours more at the planned price, and the rest by the price; nothing billed of a line is all by quantity."""
    found = _variance("x", _Sum(usd=100.0, quantity=10.0), _Sum(usd=150.0, quantity=12.0), {"x": "hours"})
    assert (found.quantity_usd, found.price_usd) == (pytest.approx(20.0), pytest.approx(30.0))
    assert found.because == "quantity +20.0 %, price +25.0 %"
    none = _variance("x", _Sum(usd=100.0, quantity=10.0), _Sum(usd=0.0, quantity=0.0), {})
    assert (none.quantity_usd, none.price_usd) == (pytest.approx(-100.0), pytest.approx(0.0))
    assert _because("both", [], (None, None), (None, None)) == "as planned"


def test_a_quantity_is_counted_only_where_every_row_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """12.5 GPU-hours of nodes with eight GPUs are 1.5625 of a node; one row without a quantity makes it unknown."""
    monkeypatch.setattr(reconcile, "measured", lambda *_: 1.0)
    option, service = _record(gpus_per_node=8), _record(per="gpus", counted_as="")

    def counted(quantity: float | None, *, every: bool) -> _Sum:
        entry = _Sum()
        _count(entry, _record(quantity=quantity, every_quantity_known=every, unit="h"), service, option, "h")
        return entry

    assert counted(12.5, every=True).quantity == pytest.approx(1.5625)
    assert counted(12.0, every=False).unknown == ["rows without a quantity"]
    assert counted(None, every=True).unknown == ["rows without a quantity"]


def test_one_charge_of_a_month_stays_as_it_is() -> None:
    """Only several of one month are put together, at their mean price."""
    one = _record(month_start=0.0, month_end=1.0)
    assert list(_by_month([one])) == [one]


def test_units_that_serve_a_month_are_those_bought(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred nodes serve half a month as fifty months of a node; hours of a commitment are its USD by its price."""
    bought = _record(line=_record(unit_usd=10.0, line=_record(charge="once", unit="node")))
    assert _served(bought, 1000.0, 500.0, 0.5) == (pytest.approx(50.0), "Node-Months")
    monkeypatch.setattr(charges, "_unit", lambda _: "Hours")
    paid = _record(line=_record(unit_usd=10.0, line=_record(charge="hourly", unit="node")))
    assert _served(paid, 1000.0, 500.0, 0.5) == (pytest.approx(50.0), "Hours")
    assert _served(_record(line=None), 1000.0, 500.0, 0.5) == (0.5, "Months")


def test_what_is_paid_at_once_is_spread_by_the_length_of_months(monkeypatch: pytest.MonkeyPatch) -> None:
    """From month 1 to 2.5, two thirds fall on the whole month and one on its half."""
    monkeypatch.setattr(charges, "_charge", lambda *_, **told: (told["period"], told["effective_usd"]))
    stream = _record(line=None, agreed_usd=None)
    found = list(_spread(stream, _record(), 90.0, 1.0, _record(busy_fraction=0.5), 2.5))
    assert found == [((1.0, 2.0), pytest.approx(60.0)), ((2.0, 2.5), pytest.approx(30.0))]


def test_rows_of_a_line_are_known_by_what_they_are_called() -> None:
    """A purchase is capital; what is paid in advance belongs to the line whose name it begins with."""
    line = _record(category="compute", item="GPU node", charge="once", scales_with="nodes")
    owned, rented = _record(owned=True), _record(owned=False)
    assert _name_of(_record(line=line, term="purchase"), owned) == ("compute", "GPU node", "capex", "fixed")
    line.charge = "hourly"
    assert _name_of(_record(line=line, term="on_demand"), rented) == ("compute", "GPU node", "opex", "variable")
    named = [("compute", "GPU", "opex", "fixed"), ("compute", "GPU node", "opex", "fixed")]
    ahead = _record(capex_or_opex="opex", item="GPU node, paid in advance")
    assert _paid_ahead_of(ahead, named) == named[1]
    assert _paid_ahead_of(_record(capex_or_opex="capex", item="GPU node, paid in advance"), named) is None
    assert _paid_ahead_of(_record(capex_or_opex="opex", item="compute, more"), named) is None


def test_the_median_of_a_lognormal_is_the_geometric_mean_of_its_ends() -> None:
    """Between 1 and 4 it is 2, and its tenths are the ends."""
    drawn = _lognormal(_record(low=1.0, high=4.0), np.array([0.1, 0.5, 0.9]))
    assert drawn == pytest.approx([1.0, 2.0, 4.0], rel=1e-6)


def test_a_loan_is_paid_back_by_the_same_amount_each_month(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 USD at 6 % over 36 months are 30.42 a month, by the formula of the annuity."""
    monkeypatch.setattr(financing, "_capital", lambda *_: ())
    monkeypatch.setattr(financing, "_flows_of", lambda *_: [(0.0, 1000.0)])
    ledger = _record(economics=_record(horizon_months=36.0, discount_rate=0.08))
    found = financing.with_loan(
        ledger, "onprem", npv_after_tax_usd=0.0, share=1.0, rate_per_year=0.06, months=36, tax_rate=0.0
    )
    assert found.usd_per_month == pytest.approx(1000 * 0.005 / (1 - 1.005**-36))
    assert found.interest_usd == pytest.approx(36 * found.usd_per_month - 1000)


def test_what_equipment_brings_is_the_same_in_every_place() -> None:
    """A place says what differs there; resale does not."""
    assert Housing.model_validate({"pue": 1.6}).pue is not None
    with pytest.raises(ValueError, match="resale_fraction is the same in every place"):
        Housing.model_validate({"resale_fraction": 0.2})


def test_a_contract_without_a_commitment_commits_to_nothing() -> None:
    """What is not spent of a commitment is paid too, so that none is 0 USD."""
    assert Contract().committed_usd_per_year == 0.0


def test_a_list_of_one_line_is_read_from_its_first_character(tmp_path: Path) -> None:
    """A quoted cell with a comma is one cell; a header in another encoding cannot be read."""
    whole = tmp_path / "prices.csv"
    whole.write_bytes(b'"a,x","b"')
    _check_end(whole, ["a,x", "b"], is_quoted=True)
    whole.write_bytes(b"sku,\xff\n1,2\n")
    with pytest.raises(InputError, match="its header cannot be read"):
        _header(whole, 0)
