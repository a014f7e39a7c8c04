"""A bill whose cables are quoted by length is proven line by line, and a wrong amount of one length is found."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from clusterwright.checks.prove.folder import read_folder
from clusterwright.checks.prove.papers import read_papers
from clusterwright.checks.prove.proof import prove_documents, prove_site
from clusterwright.checks.prove.records import PROVEN, Result
from clusterwright.checks.prove.workbooks import prove_workbooks
from clusterwright.cli.written import write
from clusterwright.errors import Finding
from tests.checks.prove.faults import Edit
from tests.checks.prove.planting import BLUEPRINT, copy_of, planted

pytestmark = pytest.mark.engine

SETTINGS = [
    "targets.aws=null",
    "targets.azure=null",
    "targets.gcp=null",
    "goals.finish_within=400 days",
    "targets.onprem.min_nodes=8",
    "targets.onprem.max_nodes=8",
]
BILL, WORKBOOK = "bill_of_materials.csv", "bill_of_materials.xlsx"
FIBRE, COPPER = "mfp7e10", "mcp4y10"
HEADER = "part,quantity,unit,quote_unit_price,quote_currency,quote_vendor,quoted_on,quote_length_m"


def bill(folder: Path) -> list[dict[str, str]]:
    """Return the rows of a folder's bill."""
    with (folder / BILL).open(newline="") as stream:
        return list(csv.DictReader(stream))


def usd_of(metres: str) -> float:
    """Return what a vendor asks for a cable: 80 USD, and 7 USD for each metre."""
    return 80 + 7 * float(metres)


@pytest.fixture(scope="module")
def quoted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder at the quotes of a vendor who prices fibre and copper by length."""
    place = tmp_path_factory.mktemp("quoted")
    assert write.onprem(BLUEPRINT, place / "plain", SETTINGS, force=False) == 0
    lines = [
        f"{row['part']},{count},each,{usd_of(metres)},USD,Acme,2026-11-20,{metres}"
        for row in bill(place / "plain")
        if row["part"] in {FIBRE, COPPER}
        for count, metres in re.findall(r"(\d+) of ([\d.]+) m", row["note"])
    ]
    quotes = place / "quotes.csv"
    quotes.write_text("\n".join([HEADER, *lines]) + "\n")
    assert write.onprem(BLUEPRINT, place / "site", SETTINGS, quotes=quotes, force=False) == 0
    return place / "site"


def found(folder: Path) -> list[Finding]:
    """Return what the relations between the documents say."""
    return [finding for result in prove_site(read_papers(read_folder(folder))) for finding in result.findings]


def workbook_result(folder: Path) -> Result:
    """Return the proof of the bill's workbook."""
    (result,) = prove_workbooks(read_folder(folder))
    return result


def test_every_part_is_proven(quoted: Path, require_engine: Callable[..., None]) -> None:
    """A line for each length, at its own price, in bill and workbook: all parts of the proof hold."""
    require_engine("opensm", "soffice", "slurmctld")
    fibres = [row for row in bill(quoted) if row["part"] == FIBRE]
    assert len({row["quote_length_m"] for row in fibres}) > 1
    assert {float(row["usd_each"]) for row in fibres} == {usd_of(row["quote_length_m"]) for row in fibres}
    results = prove_documents(read_folder(quoted))
    assert [finding.message for result in results for finding in result.findings] == []
    assert {result.state for result in results} == {PROVEN}


def longest(folder: Path) -> tuple[int, dict[str, str]]:
    """Return the place in the file and the row of the longest fibre that is laid."""
    own = [(line, row) for line, row in enumerate(bill(folder), start=2) if row["part"] == FIBRE]
    return max((one for one in own if "spares" not in one[1]["note"]), key=lambda one: float(one[1]["quote_length_m"]))


@pytest.mark.parametrize(
    ("rule", "column", "wrong"),
    [
        ("BOM004", "usd_total", "1"),
        ("BOM004", "usd_each", "99"),
        ("BOM004", "price_basis", "assumed"),
        ("BOM006", "quantity", "3"),
        ("BOM001", "quote_length_m", "2"),
        ("BOM001", "item", "Multimode fibre MPO-12/APC"),
    ],
)
def test_a_wrong_cell_of_one_length_is_found(quoted: Path, rule: str, column: str, wrong: str) -> None:
    """The finding names the row, the value found and the value expected."""
    line, row = longest(quoted)
    where = {"line": row["line"]}
    with planted(quoted, [Edit(file=BILL, where=where, cells={column: wrong})]):
        said = [finding.message for finding in found(quoted) if finding.id == rule]
    expected = f"{float(row[column]):,.10g}" if column not in {"price_basis", "item"} else row[column]
    assert any(f"{BILL}:{line}: " in one and f"is {wrong}, expected {expected}: " in one for one in said), said


def test_a_wrong_price_of_one_length_in_the_workbook(
    quoted: Path, tmp_path: Path, require_engine: Callable[..., None]
) -> None:
    """A price typed over in the line of one length: its amount is not the plan's; the other lengths' lines are."""
    require_engine("soffice")
    folder = copy_of(quoted, tmp_path / "site")
    line, row = longest(folder)
    book = openpyxl.load_workbook(folder / WORKBOOK)
    book["Bill of materials"][f"M{line}"] = 1.0
    book.save(folder / WORKBOOK)
    said = next(finding.message for finding in workbook_result(folder).findings if finding.id == "WBK002")
    count = float(row["quantity"])
    assert f"the amount of line {row['line']} ({row['item']}) is {count:,.2f}, the plan has " in said
    assert f"{count * usd_of(row['quote_length_m']):,.2f}" in said
    assert said.startswith(f"{WORKBOOK}: 2 amounts; ")
