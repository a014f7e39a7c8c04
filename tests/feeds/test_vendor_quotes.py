"""Bills that come back from a vendor: read to the cent, or refused cell by cell; never passed over."""

import csv
import datetime as dt
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.errors import InputError
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.facility.spares import spares_by_length
from clusterwright.feeds.exchange_rates import Rate, parse_rates
from clusterwright.feeds.vendor_quotes import VendorQuotes, read_vendor_quotes
from clusterwright.outputs.onprem.bill.tables import PartPrice, bill_csv
from clusterwright.pricing.quoted import by_part, mean_quote

HEADER = "line,part,item,quantity,unit,quote_unit_price,quote_currency,quote_vendor,quote_lead_time_weeks,quoted_on\n"
EURO = {"EUR": Rate(usd=1.08, day="2026-11-19")}
GOOD = "1,dgx-h100,DGX,36,each,320000.5,USD,Acme,16,2026-11-20\n"


def bill_line(sku: str, quantity: float) -> BillLine:
    """Return a line of a bill on premises."""
    return BillLine(
        sku=sku, item=sku, category="network", quantity=quantity, unit="each", charge="once", scales_with="cluster"
    )


BILL = [bill_line("dgx-h100", 36), bill_line("qm9700", 24), bill_line("qm9700", 6), bill_line("mfp7e10", 820)]
USD: dict[str, float | None] = {"dgx-h100": 329_580.0, "qm9700": 36_000.0, "mfp7e10": None}


@pytest.fixture
def quotes(tmp_path: Path) -> Callable[[str], VendorQuotes]:
    """Return a function that reads lines below the header."""

    def read(lines: str) -> VendorQuotes:
        path = tmp_path / "quotes.csv"
        path.write_text(HEADER + lines)
        return read_vendor_quotes(path, EURO)

    return read


def test_prices_of_a_good_file(quotes: Callable[[str], VendorQuotes]) -> None:
    """Prices, vendor, day and delivery are read; EUR by the dated rate; one line of a part prices all."""
    read = quotes(
        GOOD
        + "2,qm9700,switch,24,each,30000,EUR,Acme,,2026-11-20\n3,qm9700,switch,6,each,,,,,\n4,mfp7e10,,820,each,,,,,\n"
    )
    read.check(BILL, USD)
    node, switch = read.prices
    assert (node.sku, node.usd, node.lead_time_weeks, node.source) == ("dgx-h100", 320000.5, 16, "Acme, quotes.csv:2")
    assert switch.usd == pytest.approx(32_400)
    assert switch.note == "30,000.00 EUR at 1.08 USD per EUR of 2026-11-19"
    assert (len(read.rows), len(read.table.rows)) == (2, 4)


#: Line below the header, what is said of it, and the text under the caret.
WRONG = [
    (
        "9,qm970,switch,24,each,30000,USD,Acme,,2026-11-20",
        "the bill has no part 'qm970'; did you mean 'qm9700'?",
        "qm970",
    ),
    ("2,qm9700,switch,24,pair,30000,USD,Acme,,2026-11-20", "the price is per 'pair', the bill counts each", "pair"),
    ("2,qm9700,switch,24,each,30'000,USD,Acme,,2026-11-20", '"30\'000" is not a number', "30'000"),
    ('2,qm9700,switch,24,each,"30,000",USD,Acme,,2026-11-20', "'30,000' is not a number", '"30,000"'),
    ("2,qm9700,switch,24,each,$30000,USD,Acme,,2026-11-20", "'$30000' is not a number", "$30000"),
    ("2,qm9700,switch,24,each,on request,USD,Acme,,2026-11-20", "'on request' is not a number", "on request"),
    ("2,qm9700,switch,24,each,-5,USD,Acme,,2026-11-20", "-5 is no price", "-5"),
    ("2,qm9700,switch,24,each,0,USD,Acme,,2026-11-20", "0 is no price", "0"),
    ("2,qm9700,switch,24,each,nan,USD,Acme,,2026-11-20", "'nan' is not a number", "nan"),
    ("2,qm9700,switch,24,each,30000,,Acme,,2026-11-20", "the currency is missing", ""),
    ("2,qm9700,switch,24,each,30000,usd,Acme,,2026-11-20", "'usd' is no currency code", "usd"),
    ("2,qm9700,switch,24,each,30000,GBP,Acme,,2026-11-20", "GBP has no dated rate", "GBP"),
    ("2,qm9700,switch,24,each,30000,USD,,,2026-11-20", "the vendor is missing", ""),
    ("2,qm9700,switch,24,each,30000,USD,Acme,,", "the day of the quote is missing", ""),
    ("2,qm9700,switch,24,each,30000,USD,Acme,,20.11.2026", "'20.11.2026' is no day", "20.11.2026"),
    ("2,qm9700,switch,24,each,30000,USD,Acme,soon,2026-11-20", "'soon' is no number of weeks", "soon"),
    ("2,qm9700,switch,24,each,,USD,Acme,,2026-11-20", "the price is missing", ""),
    ("2,qm9700,switch,25,each,30000,USD,Acme,,2026-11-20", "the quote is for 25 of qm9700, the bill has 24", "25"),
    ("3,qm9700,switch,24,each,30000,USD,Acme,,2026-11-20", "the quote is for 24 of qm9700, the bill has 6", "24"),
    ("1,dgx-h100,DGX,36,each,1,USD,Acme,,2026-11-20", "line 1 of the bill is quoted in line 2 already", "1"),
    ("2,qm9700,switch,24,each,=1+1,USD,Acme,,2026-11-20", "'=1+1' is a formula", "=1+1"),
    ("2,qm9700,switch,24,each,30000,USD,=cmd(),,2026-11-20", "'=cmd()' is a formula", "=cmd()"),
    ("2,qm9700,switch,24,each,30000,USD,Acme", "the line has 8 cells, the header 10", None),
]


@pytest.mark.parametrize(("line", "message", "under"), WRONG)
def test_wrong_lines_are_shown(
    quotes: Callable[[str], VendorQuotes], line: str, message: str, under: str | None
) -> None:
    """Each mistake is reported with file, line, column and a caret below the cell."""
    with pytest.raises(BlueprintError) as error:
        quotes(GOOD + line + "\n").check(BILL, USD)
    (problem,) = error.value.problems
    assert message in problem.message
    assert problem.position is not None
    assert problem.position.line == 3
    if under:
        start = problem.position.column - 1
        assert line[start : start + problem.position.length] == under
    assert f"--> quotes.csv:3:{problem.position.column}\n" in error.value.render()
    assert "^" in error.value.render()


@pytest.mark.parametrize(
    ("part", "typed", "wrong"), [("qm9700", "30000", True), ("mfp7e10", "9", True), ("qm9700", "36000", False)]
)
def test_a_price_in_the_wrong_column(tmp_path: Path, part: str, typed: str, wrong: bool) -> None:
    """A price typed over the one we had is refused: only the quote columns are read."""
    path = tmp_path / "quotes.csv"
    good = GOOD.strip() + ",329580\n"
    path.write_text(HEADER.strip() + f",usd_each\n{good}2,{part},,1,each,,,,,,{typed}\n")
    read = read_vendor_quotes(path, {})
    if not wrong:
        read.check(BILL, USD)
        return
    with pytest.raises(BlueprintError) as error:
        read.check(BILL, USD)
    assert f"{typed} is not the price that the bill has" in error.value.problems[0].message


def test_a_line_to_be_quoted_is_no_price_of_the_bill(tmp_path: Path) -> None:
    """Money is not counted with it, so its price is not taken in silence: the keys that count it are named."""
    path = tmp_path / "quotes.csv"
    good = GOOD.strip() + ",documented\n"
    path.write_text(HEADER.strip() + f",price_basis\n{good}41,freight,,1,lot,90000,USD,Acme,,2026-11-20,to be quoted\n")
    with pytest.raises(BlueprintError) as error:
        read_vendor_quotes(path, {}).check(BILL, USD)
    (problem,) = error.value.problems
    assert problem.message == "money is not counted with 'freight': it is a line to be quoted"
    assert "tco.owner" in problem.help


def test_all_wrong_lines_at_once(quotes: Callable[[str], VendorQuotes]) -> None:
    """Every mistake of a file is named at once, in the order of the lines; of a file of another kind, the first 20."""
    lines = "".join(f"{line}\n" for line, _, _ in WRONG[:10])
    with pytest.raises(BlueprintError) as error:
        quotes(lines).check(BILL, USD)
    told = [problem.position.line for problem in error.value.problems if problem.position]
    assert told == sorted(told)
    assert set(range(2, 12)) <= set(told)
    with pytest.raises(BlueprintError, match="21 problems"):
        quotes("2,x,,1,each,a,USD,V,,2026-11-20\n" * 30).check(BILL, USD)


def test_two_prices_of_one_part(quotes: Callable[[str], VendorQuotes]) -> None:
    """A part cannot cost 30,000 in one line and 31,000 in another."""
    read = quotes("2,qm9700,,24,each,30000,USD,Acme,,2026-11-20\n3,qm9700,,6,each,31000,USD,Acme,,2026-11-20\n")
    with pytest.raises(BlueprintError) as error:
        read.check(BILL, USD)
    assert error.value.problems[0].message.startswith("qm9700 is quoted at 31,000.00 USD here and at 30,000.00 USD in")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (HEADER, "has no quote"),
        (HEADER + "1,dgx-h100,DGX,36,each,,,,,\n", "has no quote"),
    ],
)
def test_files_without_a_quote(tmp_path: Path, text: str, said: str) -> None:
    """A file that quotes nothing is an error, since somebody meant it to."""
    path = tmp_path / "quotes.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_vendor_quotes(path, {})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "quote_unit_price",
            "quote_unitprice",
            "there is no column 'quote_unitprice'; did you mean 'quote_unit_price'?",
        ),
        ("quote_currency,", "", "the column quote_currency is missing"),
        ("item", "part", "the column part stands twice"),
    ],
)
def test_columns(tmp_path: Path, old: str, new: str, said: str) -> None:
    """A column that nobody reads could be a quote, so it is refused."""
    path = tmp_path / "quotes.csv"
    path.write_text((HEADER + GOOD).replace(old, new))
    with pytest.raises(BlueprintError) as error:
        read_vendor_quotes(path, {})
    assert said in [problem.message for problem in error.value.problems]


@pytest.mark.parametrize(
    "text", ["EUR", "EUR=1.1", "EUR=-1@2026-11-20", "EUR=x@2026-11-20", "EUR=1@2026-13-01", "e=1@2026-11-20"]
)
def test_rates_without_a_day(text: str) -> None:
    """A rate needs a currency, a number above zero and a day."""
    with pytest.raises(InputError, match="no dated exchange rate"):
        parse_rates([text])
    with pytest.raises(InputError, match="two rates"):
        parse_rates(["EUR=1.08@2026-11-20", "EUR=1.09@2026-11-20"])


def sheet(path: Path, **cells: object) -> Path:
    """Write a workbook as people send it back: titles, two lines, sums and a remark below."""
    book = openpyxl.Workbook()
    own = book.active
    own.title = "Bill of materials"
    titles = ("Line", "Part", "Quantity", "Unit", "USD total", "Quote each", "Quote currency", "Vendor")
    own.append([*titles, "Lead time, weeks", "Quoted on"])
    own.append([1, "dgx-h100", 36, "each", "=C2*F2", 310000.25, "USD", "Acme", 12, "2026-11-20"])
    own.append([2, "qm9700", 24, "each", "=C3*F3"])
    own.append([None, None, None, "Sum", "=SUM(E2:E3)"])
    for place, value in cells.items():
        own[place] = value
    book.create_sheet("Power")
    book.save(path)
    return path


def test_workbooks_are_read(tmp_path: Path) -> None:
    """Prices and days of cells are read; sums below the table are no lines."""
    path = sheet(tmp_path / "back.xlsx", J2=dt.datetime(2026, 11, 20, tzinfo=None))  # noqa: DTZ001 - cells have no zone
    read = read_vendor_quotes(path, {})
    read.check(BILL, USD)
    (price,) = read.prices
    assert (price.usd, price.quoted_on, price.source) == (310000.25, "2026-11-20", "Acme, back.xlsx:2")
    assert len(read.table.rows) == 2


@pytest.mark.parametrize(
    ("cells", "said", "place"),
    [
        ({"F2": "=300000+1"}, "'=300000+1' is a formula", "back.xlsx:2:"),
        ({"F3": "ask us"}, "'ask us' is not a number", "back.xlsx:3:"),
        ({"F4": 5}, "a quote without a part", "back.xlsx:4:"),
    ],
)
def test_wrong_cells_of_a_workbook(tmp_path: Path, cells: dict[str, object], said: str, place: str) -> None:
    """A formula is not run, and a price beside the sums is not passed over."""
    read = read_vendor_quotes(sheet(tmp_path / "back.xlsx", **cells), {})
    with pytest.raises(BlueprintError) as error:
        read.check(BILL, USD)
    assert said in [problem.message for problem in error.value.problems]
    assert place in error.value.render()


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    """Damaged workbooks, other encodings and missing files end in a sentence."""
    (tmp_path / "a.xlsx").write_bytes(b"PK nothing")
    (tmp_path / "a.csv").write_bytes(b"line,part\n\xff\xfe")
    for name, said in (
        ("a.xlsx", "no workbook"),
        ("a.csv", "not UTF-8"),
        ("b.csv", "there is no file"),
        ("b.xlsx", "there is no file"),
    ):
        with pytest.raises(InputError, match=said):
            read_vendor_quotes(tmp_path / name, {})


@given(st.floats(min_value=0.01, max_value=1e9), st.sampled_from(["USD", "EUR"]), st.text(max_size=12))
def test_any_price_comes_back(price: float, currency: str, vendor: str) -> None:
    """What was written is what is read, whatever the vendor's name holds; a name that is a formula is refused."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["2", "qm9700", "", "24", "each", repr(price), currency, vendor, "", "2026-11-20"])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "quotes.csv"
        path.write_text(HEADER + buffer.getvalue(), encoding="utf-8", newline="")
        try:
            read = read_vendor_quotes(path, EURO)
            read.check(BILL, USD)
        except InputError:
            return
        except BlueprintError as error:
            assert error.problems  # noqa: PT017 - told, not passed over
            return
    (found,) = read.prices
    assert (found.price, found.currency, found.vendor) == (price, currency, " ".join(vendor.split()))
    assert found.usd == pytest.approx(price * (1.08 if currency == "EUR" else 1))


WITH_LENGTH = HEADER.strip() + ",quote_length_m\n"
FIBRE = replace(bill_line("mfp7e10", 100), lengths=((5.0, 60), (10.0, 40)))
SPARES = replace(bill_line("mfp7e10", 2), lengths=((5.0, 1), (10.0, 1)))


def by_length(tmp_path: Path, *lines: str) -> VendorQuotes:
    """Return what is read of lines that quote 100 cables and 2 spares of two lengths."""
    path = tmp_path / "quotes.csv"
    path.write_text(WITH_LENGTH + "".join(f"{line}\n" for line in lines))
    read = read_vendor_quotes(path, {})
    read.check([FIBRE, SPARES], {})
    return read


def fibre(quantity: str, price: str, length: str) -> str:
    """Return a line that quotes the fibre."""
    return f"1,mfp7e10,,{quantity},each,{price},USD,Acme,,2026-11-20,{length}"


def test_a_length_has_its_own_price(tmp_path: Path) -> None:
    """60 of 5 m at 100 and 40 of 10 m at 150 USD are 12,000 USD; one spare of each is 250 USD."""
    quotes = by_part(by_length(tmp_path, fibre("60", "100", "5"), fibre("40", "150", "10")).prices)["mfp7e10"]
    laid, kept = mean_quote(quotes, FIBRE.lengths), mean_quote(quotes, SPARES.lengths)
    assert laid is not None
    assert kept is not None
    assert laid.usd * FIBRE.quantity == pytest.approx(12_000)
    assert kept.usd * SPARES.quantity == pytest.approx(250)
    prices = {"mfp7e10": PartPrice(unit_usd=laid.usd, basis="documented", source="", date="", lengths=quotes)}
    rows = list(csv.DictReader(io.StringIO(bill_csv(Bill(target="onprem", lines=(FIBRE, SPARES)), prices))))
    assert [(row["quantity"], row["quote_length_m"], row["usd_total"]) for row in rows] == [
        ("60", "5", "6000"),
        ("40", "10", "6000"),
        ("1", "5", "100"),
        ("1", "10", "150"),
    ]


def test_without_lengths_a_part_keeps_one_price(tmp_path: Path) -> None:
    """A quote without a length, in the same columns, is for cables of any length, and the bill has one line."""
    quotes = by_part(by_length(tmp_path, fibre("100", "120", "")).prices)["mfp7e10"]
    mean = mean_quote(quotes, FIBRE.lengths)
    assert mean is not None
    assert mean.usd == 120
    prices = {"mfp7e10": PartPrice(unit_usd=120, basis="documented", source="", date="", quote=mean)}
    rows = list(csv.DictReader(io.StringIO(bill_csv(Bill(target="onprem", lines=(FIBRE,)), prices))))
    assert [row["usd_total"] for row in rows] == ["12000"]
    assert "quote_length_m" not in rows[0]


def test_another_size_takes_the_next_longer_cable(tmp_path: Path) -> None:
    """A cable of 7 m is priced as one of 10 m; of one that is longer than all quotes nothing is known."""
    quotes = by_part(by_length(tmp_path, fibre("60", "100", "5"), fibre("40", "150", "10")).prices)["mfp7e10"]
    mean = mean_quote(quotes, ((3.0, 1), (7.0, 1)))
    assert mean is not None
    assert mean.usd == 125
    assert mean_quote(quotes, ((5.0, 1), (15.0, 1))) is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([fibre("60", "100", "5")], "mfp7e10 is quoted by length, and 10 m of the bill is not"),
        ([fibre("60", "100", "5"), fibre("41", "1", "10")], "the quote is for 41 of 10 m, the bill has 1 or 40"),
        ([fibre("60", "100", "5"), fibre("40", "1", "10"), fibre("1", "1", "20")], "the bill has mfp7e10 of 5, 10 m, "),
        ([fibre("60", "100", "long")], "'long' is no length"),
        ([fibre("60", "100", "-5")], "'-5' is no length"),
        ([fibre("60", "1", "5"), fibre("40", "1", "10"), fibre("100", "1", "")], "this one names none"),
        ([fibre("60", "1", "5"), fibre("60", "2", "5"), fibre("40", "1", "10")], "quoted in line 2 already"),
    ],
)
def test_wrong_lengths_are_reported(tmp_path: Path, lines: list[str], said: str) -> None:
    """A length that is left out, unknown, miscounted, twice or no number is refused with its place."""
    with pytest.raises(BlueprintError) as error:
        by_length(tmp_path, *lines)
    assert said in error.value.render()
    assert "quotes.csv:" in error.value.render()


@given(st.integers(0, 500), st.dictionaries(st.sampled_from([1.0, 1.5, 3.0, 7.0, 30.0]), st.integers(1, 999)))
def test_spares_by_length_add_up(count: int, lengths: dict[float, int]) -> None:
    """No spare is lost or made, and each length has its share to within one cable."""
    found = spares_by_length(count, sorted(lengths.items()))
    assert sum(number for _, number in found) == (count if lengths else 0)
    total = sum(lengths.values())
    assert all(abs(number - count * lengths[length] / total) < 1 for length, number in found)
