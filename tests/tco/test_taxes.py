"""A cash flow after tax: hand-made numbers, identities, limiting cases, and faults that the audits catch."""

import dataclasses
import datetime as dt

import duckdb
import numpy_financial
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterwright.errors import InputError
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.statements import statement
from clusterwright.tco.formulas.finance import depreciation_fractions
from clusterwright.tco.formulas.payments import Financing, schedule
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.renting.mixes import Mix, owned_and_rented
from clusterwright.tco.taxes.after_tax import AfterTax, Taxes, after_tax, bonus_fraction
from clusterwright.tco.taxes.financing import with_lease, with_loan
from clusterwright.tco.terms.records import Economics
from clusterwright.tco.terms.stages import GrowthSchedule

from .examples import bare, bought, candidate, line, with_overrides


def _late(months: float, deposit: float = 1.0) -> Mix:
    """Return the owned cluster, rented until it is delivered."""
    parts = owned_and_rented(
        "onprem/one",
        "cloud/one",
        nodes_share=1.0,
        most_work=1.0,
        expands=True,
        growth=GrowthSchedule(),
        horizon_months=36.0,
        delivery_months=months,
    )
    return Mix(
        key="onprem/one/bridged", target="onprem", nodes=1, gpus=8, parts=parts, delivery_months=months, deposit=deposit
    )


def _ledger(
    book: PriceBook, economics: Economics | None = None, mixes: tuple[Mix, ...] = (), **overrides: float
) -> Ledger:
    owned = candidate("onprem/one", bought("server"), it_power_w=0.0)
    rented = candidate("cloud/one", line("node"))
    plain = with_overrides(economics or bare(horizon_months=36.0), server=1000.0, node=1.0)
    return Ledger((owned, rented), with_overrides(plain, **overrides), book, mixes)


def _taxes(rate: float, method: str = "macrs_5", **changes: object) -> Taxes:
    return Taxes(tax_rate=rate, depreciation=depreciation_fractions(method), **changes)  # type: ignore[arg-type]


def _of(found: tuple[AfterTax, ...], key: str) -> AfterTax:
    return next(entry for entry in found if entry.key == key)


def test_hand_made_numbers(book: PriceBook) -> None:
    """1,000 USD, MACRS over 36 months, sold for 300 with 288 left in the books: a gain of 12, 320 written off twice."""
    ledger = _ledger(book, bare(horizon_months=36.0, discount_rate=0.1), resale_fraction=0.3)
    found, books = after_tax(ledger, _taxes(0.25))
    mine = _of(found, "onprem/one")
    assert [(year.depreciation_usd, year.book_value_usd) for year in books] == [
        (pytest.approx(200), pytest.approx(800)),
        (pytest.approx(320), pytest.approx(480)),
        (pytest.approx(192), pytest.approx(288)),
    ]
    assert mine.loss_on_disposal_usd == pytest.approx(-12)
    assert mine.after_tax_usd == pytest.approx(0.75 * 700)
    assert mine.peak_cash_usd == pytest.approx(1000)
    flows = [1000.0, -50.0, -80.0, -48.0 - 300.0 + 3.0]
    assert mine.npv_after_tax_usd == pytest.approx(numpy_financial.npv(0.1, flows))
    theirs = _of(found, "cloud/one")
    assert theirs.after_tax_usd == pytest.approx(0.75 * 36 * 730)
    assert (theirs.depreciation_usd, theirs.loss_on_disposal_usd) == (0, 0)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.floats(0.0, 0.9),
    st.sampled_from(["macrs_3", "macrs_5", "macrs_7", "macrs_15", "straight_line_4"]),
    st.floats(0.0, 1.0),
    st.integers(1, 130),
    st.floats(0.0, 1.0),
)
def test_identities(  # noqa: PLR0917 - hypothesis draws
    book: PriceBook, rate: float, method: str, bonus: float, months: int, resale: float
) -> None:
    """Cash, books and tax tell the same cost whatever the rate, the table, the bonus, the horizon and the resale."""
    ledger = _ledger(book, bare(horizon_months=float(months)), resale_fraction=resale, support_fraction_per_year=0.1)
    fractions = depreciation_fractions(method, bonus_fraction=bonus)
    found, books = after_tax(ledger, Taxes(tax_rate=rate, depreciation=fractions))
    for entry in found:
        booked = entry.opex_usd + entry.depreciation_usd + entry.loss_on_disposal_usd
        assert booked == pytest.approx(entry.before_tax_usd, abs=0.005)
        assert entry.after_tax_usd == pytest.approx((1 - rate) * entry.before_tax_usd, abs=0.01)
    if books:
        assert sum(year.depreciation_usd for year in books) + books[-1].book_value_usd == pytest.approx(1000)


def test_no_tax_changes_nothing(book: PriceBook) -> None:
    """At a rate of 0 the present value after tax is the one before, which is the engine's."""
    ledger = _ledger(book, bare(horizon_months=30.5, discount_rate=0.07), resale_fraction=0.2)
    found, _ = after_tax(ledger, _taxes(0.0))
    for cost in ledger.costs():
        entry = _of(found, cost.key)
        assert entry.npv_after_tax_usd == pytest.approx(entry.npv_before_tax_usd)
        assert entry.npv_before_tax_usd == pytest.approx(cost.npv_usd)


def test_delivery(book: PriceBook) -> None:
    """Until delivery the work is rented and nothing of one's own runs; equipment is paid at the start all the same."""
    ledger = _ledger(book, mixes=(_late(5.0),), support_fraction_per_year=0.12)
    found, _ = after_tax(ledger, _taxes(0.0))
    late = _of(found, "onprem/one/bridged")
    assert late.before_tax_usd == pytest.approx(1000 + 31 * 10 + 5 * 730)
    assert _of(found, "onprem/one").before_tax_usd == pytest.approx(1000 + 36 * 10)


@pytest.mark.parametrize("rate", [1.0, -0.1, 1.5])
def test_tax_rate_out_of_range(book: PriceBook, rate: float) -> None:
    """A tax of everything, or a negative one, is refused."""
    with pytest.raises(InputError, match="tax rate"):
        after_tax(_ledger(book), _taxes(rate))


def test_bonus_depends_on_the_day() -> None:
    """The bonus of the law is dated; before the first row it is unknown, not 0."""
    assert bonus_fraction(dt.date(2025, 1, 20)) == 1.0
    with pytest.raises(InputError, match="unknown"):
        bonus_fraction(dt.date(2020, 1, 1))


@given(st.floats(1.0, 1e7), st.floats(0.001, 0.5), st.integers(1, 120))
def test_schedule(usd: float, rate: float, months: int) -> None:
    """Interest and principal of each payment are numpy-financial's; the residual is what is owed last."""
    found = schedule(usd, rate, months)
    assert found[-1].owed_usd == pytest.approx(0.0, abs=1e-6 * usd)
    middle = found[months // 2]
    expected = -numpy_financial.ipmt(rate / 12, middle.month, months, usd)
    assert middle.interest_usd == pytest.approx(float(expected), rel=1e-6, abs=1e-6 * usd)
    assert schedule(usd, rate, months, 0.3 * usd)[-1].owed_usd == pytest.approx(0.3 * usd, rel=1e-6)


def test_financing_at_the_discount_rate_is_worth_nothing(book: PriceBook) -> None:
    """Without tax, a loan or a lease at the discount rate neither adds nor takes value."""
    yearly = (1 + 0.12 / 12) ** 12 - 1
    ledger = _ledger(book, bare(horizon_months=36.0, discount_rate=yearly), resale_fraction=0.3)
    found, _ = after_tax(ledger, _taxes(0.0))
    mine = _of(found, "onprem/one")
    for months in (12, 36, 60):
        loan = with_loan(
            ledger, mine.key, mine.npv_after_tax_usd, share=0.8, rate_per_year=0.12, months=months, tax_rate=0.0
        )
        assert loan.npv_after_tax_usd == pytest.approx(mine.npv_after_tax_usd)
        assert loan.financed_usd == pytest.approx(800)
    for kind in ("operating", "finance"):
        lease = with_lease(
            ledger, mine.key, mine.npv_after_tax_usd, kind=kind, rate_per_year=0.12, residual=0.3, tax_rate=0.0
        )
        assert lease.npv_after_tax_usd == pytest.approx(mine.npv_after_tax_usd)
        assert lease.liability_usd == pytest.approx(1000 - 300 * 1.01**-36 if kind == "operating" else 1000)


def test_dear_financing_costs(book: PriceBook) -> None:
    """A rate above the discount rate costs value, one below brings some."""
    ledger = _ledger(book, bare(horizon_months=36.0, discount_rate=0.08))
    mine = _of(after_tax(ledger, _taxes(0.21))[0], "onprem/one")
    cheap, dear = (
        with_loan(ledger, mine.key, mine.npv_after_tax_usd, share=1.0, rate_per_year=rate, months=36, tax_rate=0.21)
        for rate in (0.02, 0.2)
    )
    assert cheap.npv_after_tax_usd < mine.npv_after_tax_usd < dear.npv_after_tax_usd


@pytest.mark.parametrize(
    "financing",
    [
        Financing(kind="loan", rate_per_year=0.09, share=0.7, months=24),
        Financing(kind="loan", rate_per_year=0.0, share=1.0, months=60),
        Financing(kind="operating_lease", rate_per_year=0.07, residual=0.2),
        Financing(kind="finance_lease", rate_per_year=0.07, residual=0.2),
    ],
)
def test_a_financed_option_is_what_financing_beside_the_cash_flow_says(book: PriceBook, financing: Financing) -> None:
    """Its rows give the present value after tax that the formulas of loans and leases give on their own."""
    late = _late(6.0, 0.4)
    paid = dataclasses.replace(late, key="onprem/one/paid", financing=financing)
    ledger = _ledger(book, bare(horizon_months=36.0, discount_rate=0.08), (late, paid), resale_fraction=0.3)
    assert ledger.audit() == ()
    found, _ = after_tax(ledger, _taxes(0.21))
    cash, mine = (_of(found, key) for key in (late.key, paid.key))
    if financing.kind == "loan":
        wanted = with_loan(
            ledger,
            late.key,
            cash.npv_after_tax_usd,
            share=financing.share,
            rate_per_year=financing.rate_per_year,
            months=financing.months or 36,
            tax_rate=0.21,
        )
    else:
        wanted = with_lease(
            ledger,
            late.key,
            cash.npv_after_tax_usd,
            kind=financing.kind.removesuffix("_lease"),
            rate_per_year=financing.rate_per_year,
            residual=financing.residual,
            tax_rate=0.21,
        )
    assert mine.npv_after_tax_usd == pytest.approx(wanted.npv_after_tax_usd)
    if financing.kind == "operating_lease":
        assert mine.opex_usd == pytest.approx(cash.opex_usd + 36 * wanted.usd_per_month)
        assert mine.depreciation_usd == 0
    else:
        assert mine.before_tax_usd == pytest.approx(cash.before_tax_usd + wanted.interest_usd)
    assert mine.after_tax_usd == pytest.approx(0.79 * mine.before_tax_usd)


def _audit(name: str, tables: dict[str, list[dict[str, object]]]) -> int:
    connection = duckdb.connect()
    for table, rows in tables.items():
        connection.execute(f"create table {table} as select unnest($rows, recursive := true)", {"rows": rows})
    text = statement(f"tco/finance_audits/{name}.sql")
    return len(connection.execute(text, {"tax_rate": 0.5} if "$tax_rate" in text else {}).fetchall())


@pytest.mark.parametrize(("book_usd", "written", "caught"), [(40.0, 60.0, 0), (41.0, 60.0, 1), (40.0, 59.0, 1)])
def test_books_audit(book_usd: float, written: float, caught: int) -> None:
    """Depreciation and the value left that are not the purchase are caught."""
    tables: dict[str, list[dict[str, object]]] = {
        "financed_flow": [
            {"key": "a", "month_end": 0.0, "category": "compute", "capex_or_opex": "capex", "usd": 100.0},
            {"key": "a", "month_end": 12.0, "category": "resale", "capex_or_opex": "capex", "usd": -10.0},
        ],
        "asset_lot": [{"key": "a", "category": "compute", "bought_month": 0.0, "usd": 100.0, "gone_month": 12.0}],
        "written_off": [
            {
                "key": "a",
                "category": "compute",
                "bought_month": 0.0,
                "year": 1.0,
                "month_end": 12.0,
                "usd": written,
                "book_usd": book_usd,
            }
        ],
    }
    assert _audit("books_not_purchase", tables) == caught


@pytest.mark.parametrize(("tax_usd", "caught"), [(-50.0, 0), (-50.01, 1), (-49.0, 1)])
def test_views_audit(tax_usd: float, caught: int) -> None:
    """Tax that is not the rate on all of the cost is caught."""
    tables: dict[str, list[dict[str, object]]] = {
        "financed_flow": [{"key": "a", "usd": 100.0}],
        "taxed_flow": [{"key": "a", "kind": "cash", "usd": 100.0}, {"key": "a", "kind": "tax", "usd": tax_usd}],
    }
    assert _audit("views_disagree", tables) == caught


def test_classes_of_assets(book: PriceBook) -> None:
    """A building over 20 years beside equipment over 5: each year writes off its share of both."""
    racks = candidate("onprem/one", bought("server"), bought("rack", category="rack"), it_power_w=0.0)
    economics = with_overrides(bare(horizon_months=36.0), server=1000.0, rack=400.0, resale_fraction=0.3)
    ledger = Ledger((racks,), economics, book)
    straight = {"rack": depreciation_fractions("straight_line_20")}
    found, books = after_tax(ledger, _taxes(0.25, depreciation_of=straight))
    assert [year.depreciation_usd for year in books] == pytest.approx([200 + 20, 320 + 20, 192 + 20])
    assert books[-1].book_value_usd == pytest.approx(288 + 340)
    (mine,) = found
    assert mine.loss_on_disposal_usd == pytest.approx(288 + 340 - 0.3 * 1400)
    with pytest.raises(InputError, match="nothing of the category 'racks'") as caught:
        after_tax(ledger, _taxes(0.25, depreciation_of={"racks": straight["rack"]}))
    assert caught.value.path == ("tco", "depreciation_of", "racks")


def test_replaced_equipment_is_written_off_from_its_own_month(book: PriceBook) -> None:
    """Bought for 1,000, sold after 24 months for 400, bought again for 900: two tables, two disposals."""
    schedule = GrowthSchedule(refresh_months=24.0, price_change_per_year=0.9**0.5 - 1)
    ledger = _ledger(book, bare(horizon_months=48.0, growth=schedule), resale_fraction=0.4)
    found, books = after_tax(ledger, _taxes(0.5))
    mine = _of(found, "onprem/one")
    assert [year.depreciation_usd for year in books] == pytest.approx([200, 320, 180, 288])
    assert [year.book_value_usd for year in books] == pytest.approx([800, 900, 720, 432])
    assert mine.before_tax_usd == pytest.approx(1000 - 400 + 900 - 360)
    assert mine.after_tax_usd == pytest.approx(0.5 * mine.before_tax_usd)
    assert mine.loss_on_disposal_usd == pytest.approx(480 - 400 + 432 - 360)
    # 1,000 - shields of 100 and 160 - sale of 400 - shield of its loss, 40 + 900.
    assert mine.peak_cash_usd == pytest.approx(1200.0)


def test_deposit(book: PriceBook) -> None:
    """Three tenths at the order, the rest after 6 months: later money, the same sum."""
    economics = bare(horizon_months=36.0, discount_rate=0.1)
    ledgers = [_ledger(book, economics, (_late(6.0, deposit),)) for deposit in (1.0, 0.3)]
    whole, part = (_of(after_tax(ledger, _taxes(0.0))[0], "onprem/one/bridged") for ledger in ledgers)
    assert [ledger.audit() for ledger in ledgers] == [(), ()]
    assert part.before_tax_usd == pytest.approx(whole.before_tax_usd)
    assert whole.npv_before_tax_usd - part.npv_before_tax_usd == pytest.approx(700 * (1 - 1.1**-0.5))


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.floats(0.0, 0.9), st.integers(3, 90), st.none() | st.integers(6, 40), st.floats(0.0, 1.0), st.floats(-0.3, 0.3)
)
def test_identities_with_growth_and_refresh(  # noqa: PLR0917 - hypothesis draws
    book: PriceBook, rate: float, months: int, refresh: int | None, growth: float, change: float
) -> None:
    """However often is bought and sold, books, cash and tax tell the same cost."""
    schedule = GrowthSchedule(refresh_months=refresh, growth_per_year=growth, price_change_per_year=change)
    ledger = _ledger(book, bare(horizon_months=float(months), growth=schedule), resale_fraction=0.3)
    assert not ledger.audit()
    found, _ = after_tax(ledger, _taxes(rate))
    for entry in found:
        booked = entry.opex_usd + entry.depreciation_usd + entry.loss_on_disposal_usd
        assert booked == pytest.approx(entry.before_tax_usd, abs=0.005)
        assert entry.after_tax_usd == pytest.approx((1 - rate) * entry.before_tax_usd, abs=0.01)
