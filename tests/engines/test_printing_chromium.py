"""The drawings as a PDF: one A3 page each, the same in two runs, no word too small to read."""

import datetime as dt
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterwright.catalog.load import load
from clusterwright.cli.written import write
from clusterwright.outputs.deliverables import onprem_files, report_files
from clusterwright.outputs.printing import (
    MARGIN_MM,
    PAGE_MM,
    RACKS_PER_PAGE,
    REPORT,
    drawing_pages,
    drawings_pdf,
    missing_browser,
    page_pdf,
    reproducible,
)
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD

pytestmark = pytest.mark.engine

MADE_ON = dt.date(2026, 11, 20)
POINT_MM = 25.4 / 72
#: What is still read at arm's length: the labels of rack units are the smallest words.
SMALLEST_POINTS = 5.0


def pages_of(plan: Plan) -> list[str]:
    """Return the drawings of a plan's cluster on premises."""
    option = plan.option("onprem")
    assert option is not None
    return drawing_pages(plan, option, load(), onprem_files(plan, option, load()))


def test_words_are_legible_at_a3(shipped_plan: Plan) -> None:
    """Fitted to the page, the smallest word of every drawing is at least five points high."""
    pages = pages_of(shipped_plan)
    assert len(pages) >= 1 + 12 // RACKS_PER_PAGE
    for page in pages:
        root = ET.fromstring(page)  # noqa: S314 - our own file
        sides = [float(root.attrib[name]) for name in ("width", "height")]
        scale = min((paper - 2 * MARGIN_MM) / side for paper, side in zip(PAGE_MM, sides, strict=True))
        sizes = [float(mark.attrib["font-size"]) for mark in root.iter("{http://www.w3.org/2000/svg}text")]
        assert min(sizes) * scale / POINT_MM >= SMALLEST_POINTS


def test_a_page_for_every_drawing(shipped_plan: Plan, require_engine: Callable[..., None]) -> None:
    """Chromium prints as many A3 pages as there are drawings, and the same bytes again."""
    require_engine(working=not missing_browser(), reason=missing_browser())
    pages = pages_of(shipped_plan)
    printed = drawings_pdf(pages, made_on=MADE_ON)
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)
    assert len(boxes) == len(pages)
    for width, height in boxes:
        assert [float(width) * POINT_MM, float(height) * POINT_MM] == pytest.approx(PAGE_MM, abs=1)
    assert drawings_pdf(pages, made_on=MADE_ON) == printed
    assert b"(D:20261120000000" in printed


def test_the_report_is_printed(shipped_plan: Plan, require_engine: Callable[..., None]) -> None:
    """The report becomes A4 pages in landscape, with every drawing, and the same bytes again."""
    require_engine(working=not missing_browser(), reason=missing_browser())
    files = report_files(shipped_plan, Facts.open(), pdf=True, money=USD)
    printed = files[REPORT].content
    boxes = {tuple(map(float, box)) for box in re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)}
    assert [[side * POINT_MM for side in box] for box in boxes] == [pytest.approx((297, 210), abs=1)]
    assert f"(D:{shipped_plan.as_of.replace('-', '')}000000".encode() in printed
    assert page_pdf(files["report.html"].content.decode(), made_on=dt.date.fromisoformat(shipped_plan.as_of)) == printed


@pytest.mark.parametrize("skipped", [0, 1, 70])
def test_numbers_that_chromium_goes_on_with_are_in_no_print(skipped: int) -> None:
    """Parts of a page are numbered from one, in their order, whatever was drawn before; nothing else moves."""

    def page(first: int, second: int, day: int) -> bytes:
        return (
            f"<</ID (node{second:08})>> <</ID (node{first:08})>> /Headers [(node{first:08})] (node 7) "
            f"/CreationDate (D:202611{day:02}101112+00'00')"
        ).encode()

    printed = reproducible(page(132 + skipped, 140 + 2 * skipped, 1 + skipped % 28), made_on=MADE_ON)
    assert printed == page(1, 2, 20).replace(b"101112", b"000000")


def test_a_missing_browser_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The documents are written, the missing print is told on stderr."""
    monkeypatch.setattr("clusterwright.outputs.printing.PROGRAMS", ("no-such-browser",))
    blueprint = Path(__file__).parents[2] / "blueprints" / "train-gpt3-175b.yaml"
    assert write.onprem(blueprint, tmp_path / "site", None, pdf=True, force=False) == 0
    assert "PDF files are skipped: not installed: no-such-browser" in capsys.readouterr().err
    assert not (tmp_path / "site" / "drawings.pdf").exists()
