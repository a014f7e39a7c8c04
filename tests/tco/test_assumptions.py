"""Assumptions are complete, ordered, and cover every sku without a document."""

import csv
import dataclasses
import datetime as dt
from pathlib import Path

import pytest

from clusterwright.assets import root
from clusterwright.errors import MissingFactError
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.ledger.engine import cost
from clusterwright.tco.terms.assumptions import assumptions, parameters, resale_fraction
from clusterwright.tco.terms.records import Economics

from .examples import bare, candidate, line, stored

#: Parts whose price no one publishes: unknown until a quotation is read, as the document on storage says.
QUOTED_ONLY = {
    "ddn-ai400x2-turbo",
    "ddn-sfa400x3",
    "ibm-sss6000",
    "lustre-mds",
    "lustre-oss",
    "minio-nvme-server",
    "netapp-aff-a90",
    "netapp-aff-a900",
    "pdu-208v-60a",
    "pure-flashblade-s",
    "rack-pdu",
    "vast-df-3060v2",
    "wekapod-nitro",
}
_HEADER = "key,low,base,high,unit,charge,cost_rises_with,reason,source,date\n"


def test_shipped_assumptions() -> None:
    """Every shipped assumption has an ordered band, a reason, a source and a date."""
    known = assumptions()
    assert known["resale_fraction_36_months"].base == 0.3
    assert (known["idle_power_fraction"].low, known["idle_power_fraction"].high) == (0.3, 0.4)
    assert {assumption.cost_rises_with for assumption in known.values()} == {"value", "inverse"}


def test_every_sku_has_a_price_or_an_assumption(book: PriceBook) -> None:
    """What a bill may hold besides GPU nodes is priced, assumed in its unit, or known to need a quotation."""
    known = assumptions()
    priced = {product.sku for product in book.products()}
    with (root() / "catalog" / "skus.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if not (row["category"] == "compute" and "/" in row["sku"])]
    assert {row["sku"] for row in rows if row["sku"] not in priced and row["sku"] not in known} == QUOTED_ONLY
    for row in rows:
        if row["sku"] in known:
            assumption = known[row["sku"]]
            assert (assumption.unit, assumption.charge) == (row["unit"], row["charge"]), row["sku"]


def test_no_assumption_beside_a_document(book: PriceBook) -> None:
    """An assumption for what has a documented price everywhere serves as the band of a purchase of low confidence."""
    everywhere = {product.sku for product in book.products() if not product.region}
    for sku in everywhere & set(assumptions()):
        price = book.price(sku, region="", term="purchase", as_of=book.newest_day)
        assert price is not None
        assert price.point.confidence == "low"
        entry = assumptions()[sku]
        assert (entry.base, entry.date) == (price.point.usd, price.point.last_seen.isoformat())


@pytest.mark.parametrize(
    ("months", "fraction"), [(0, 1.0), (18, 0.65), (36, 0.3), (48, 0.2), (60, 0.1), (84, 0.0), (200, 0.0)]
)
def test_resale_fraction(months: float, fraction: float) -> None:
    """Resale falls by straight lines from the full price through the points, then stays."""
    assert resale_fraction(months, {36: 0.3, 60: 0.1, 84: 0.0}) == pytest.approx(fraction)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("pue,1,2\n", "cannot be read"),
        ("pue,1,x,2,ratio,,value,why,book,2025\n", "cannot be read"),
        ("pue,2,1.5,3,ratio,,value,why,book,2025\n", "low <= base <= high"),
        ("pue,1,1.5,2,ratio,,value,,book,2025\n", "a reason"),
        ("pue,1,1.5,2,ratio,,value,why,book,2025\n" * 2, "two rows for pue"),
    ],
)
def test_broken_assumptions(tmp_path: Path, rows: str, message: str) -> None:
    """A row that cannot be used is an error that names it."""
    place = tmp_path / "assumptions.csv"
    place.write_text(_HEADER + rows, encoding="utf-8")
    with pytest.raises(MissingFactError, match=message):
        assumptions(place)


def test_old_days_and_other_regions_fall_back_marked(book: PriceBook) -> None:
    """Where only newer prices or other regions are documented, storage is assumed and marked, nodes unknown."""
    storage = stored("aws/fsx-lustre-ssd-1000", 1200.0, "us-east-1")
    node = line("aws/p5.48xlarge", region="us-east-1")
    (old,) = cost((candidate("aws/old", node, storage),), bare(as_of=dt.date(2025, 6, 4)), book)
    assert [priced.basis for priced in old.lines] == ["documented", "assumed"]
    assert old.run_usd is not None
    west = candidate("aws/west", *(dataclasses.replace(bill_line, region="us-west-2") for bill_line in (node, storage)))
    (elsewhere,) = cost((west,), bare(), book)
    assert [priced.basis for priced in elsewhere.lines] == ["unknown", "assumed"]
    assert elsewhere.run_usd is None


@pytest.mark.parametrize(("key", "of_key"), [("pue", "pue"), ("resale_fraction", "resale_fraction_36_months")])
def test_low_is_the_value_that_makes_the_cost_lowest(key: str, of_key: str) -> None:
    """A higher PUE costs more; a higher resale costs less, and so is the low end of the cost."""
    known = assumptions()[of_key]
    (found,) = (entry for entry in parameters(Economics(horizon_months=36.0), assumptions()) if entry.key == key)
    cheap, dear = (known.low, known.high) if known.cost_rises_with == "value" else (known.high, known.low)
    assert known.low < known.high
    assert known.cost_rises_with == ("value" if key == "pue" else "inverse")
    assert (found.value, found.low, found.high) == pytest.approx((known.base, cheap, dear))
