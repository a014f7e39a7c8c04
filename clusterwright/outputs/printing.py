"""PDF files, printed by Chromium where it is installed: the drawings on A3 pages, and the cost report."""

import datetime as dt
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from clusterwright.catalog.records import Catalogue
from clusterwright.errors import ClusterwrightError
from clusterwright.facility.cabling.layout import lay_out
from clusterwright.outputs.drawing.title_block import TitleBlock
from clusterwright.outputs.folder import File
from clusterwright.outputs.onprem.drawings.racks import FOLDER, INDEX, SCALE, racks_svg
from clusterwright.plan.record import Option, Plan

FILE = "drawings.pdf"
REPORT = "report.pdf"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: Paper in mm, and what is left of it inside the margins.
PAGE_MM, MARGIN_MM = (420, 297), 10
#: Elevations on a page: so many that the smallest words are still read at A3.
RACKS_PER_PAGE = 6
_SECONDS = 300
#: Dates of the file's making, which would make two prints of the same drawings differ.
_MADE = re.compile(rb"/(CreationDate|ModDate) \(D:\d{14}")
#: Names of the tagged parts of a page. Chromium numbers them on from whatever it drew before.
_PARTS = re.compile(rb"\(node(\d{8})\)")


def missing_browser() -> str:
    """Return why drawings cannot be printed here, empty if they can."""
    return "" if _browser() else f"not installed: {PROGRAMS[0]} or another Chromium"


def _browser() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


def drawing_pages(plan: Plan, option: Option, catalogue: Catalogue, files: Mapping[str, File]) -> list[str]:
    """Return the drawings of a cluster on premises as SVG, one for each page: elevations a few racks at a time.

    Args:
        plan: for its name.
        option: on premises, with its design.
        catalogue: for sizes and power of devices.
        files: of the cluster on premises, by name.

    Raises:
        ValueError: the option has no on-premises design.
    """
    design = option.design.facility
    if design is None:
        raise ValueError(f"{option.target} has no on-premises design")
    others = [name for name in sorted(files) if name.endswith(".svg") and not name.startswith(f"{FOLDER}/")]
    pages = [files[name].content.decode() for name in others if name != INDEX]
    inventory = replace(design.inventory, host_prefix=plan.cluster.host_prefix)
    standing = lay_out(inventory, site=design.site, rules=design.rules, catalogue=catalogue)
    made_on = dt.date.fromisoformat(plan.as_of)
    sheets = TitleBlock(project=plan.name, drawing="racks", made_on=made_on, scale=SCALE)
    for start in range(0, len(standing), RACKS_PER_PAGE):
        some = standing[start : start + RACKS_PER_PAGE]
        one = f"rack {some[0].name}"
        title = f"{plan.name}: {one if len(some) == 1 else f'racks {some[0].name} to {some[-1].name}'}"
        block = sheets.on(start // RACKS_PER_PAGE + 1, -(-len(standing) // RACKS_PER_PAGE))
        pages.append(racks_svg(some, title=title, unknown_items=design.bill.unknown_power_items, block=block))
    return pages


def drawings_pdf(pages: Sequence[str], *, made_on: dt.date) -> bytes:
    """Return drawings as a PDF, each as large as an A3 page in landscape takes it.

    Args:
        pages: SVG documents.
        made_on: written into the file's properties, so that the same drawings give the same bytes.

    Raises:
        ClusterwrightError: no browser is installed, or it failed.
    """
    width, height = (side - 2 * MARGIN_MM for side in PAGE_MM)
    style = (
        f"@page {{ size: {PAGE_MM[0]}mm {PAGE_MM[1]}mm; margin: {MARGIN_MM}mm }} body {{ margin: 0 }} "
        f"div {{ width: {width}mm; height: {height - 1}mm; break-after: page; overflow: hidden }} "
        "div:last-child { break-after: avoid } svg { display: block } "
        "svg { width: 100%; height: 100% }"
    )
    sheets = "".join(f"<div>{page}</div>" for page in pages)
    return page_pdf(f"<!doctype html><meta charset=utf-8><style>{style}</style>{sheets}", made_on=made_on)


def page_pdf(html: str, *, made_on: dt.date) -> bytes:
    """Return an HTML page as a PDF, on the paper that its style asks for.

    Args:
        html: a whole document that needs no other file.
        made_on: written into the file's properties, so that the same page gives the same bytes.

    Raises:
        ClusterwrightError: no browser is installed, or it failed.
    """
    browser = _browser()
    if browser is None:
        raise ClusterwrightError("there is no browser to print with", help=missing_browser())
    with tempfile.TemporaryDirectory(prefix="printing-") as name:
        folder = Path(name)
        source, made = folder / "page.html", folder / "page.pdf"
        source.write_text(html, encoding="utf-8")
        # The browser's own sandbox does not work for root; the page is ours and asks for nothing.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [
            browser,
            "--headless",
            *sandbox,
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-extensions",
            "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={made}",
            source.as_uri(),
        ]
        try:
            done = subprocess.run(  # noqa: S603 - a program by its full path, with files of ours
                command,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
                env=os.environ | {"HOME": name},
            )
        except subprocess.TimeoutExpired:
            raise ClusterwrightError(f"{browser} did not print within {_SECONDS} s") from None
        if done.returncode or not made.is_file():
            raise ClusterwrightError(f"{browser} did not print", help=done.stderr[-300:] or None)
        return reproducible(made.read_bytes(), made_on=made_on)


def reproducible(printed: bytes, *, made_on: dt.date) -> bytes:
    """Return a print of Chromium without what differs between two prints of the same page, in as many bytes.

    The parts of a page keep their order, by which the tree of their names is searched.

    Args:
        printed: a PDF.
        made_on: the day that it says it was made on.
    """
    numbers = {found: rank for rank, found in enumerate(sorted(set(_PARTS.findall(printed))), start=1)}
    named = _PARTS.sub(lambda found: f"(node{numbers[found[1]]:08})".encode(), printed)
    return _MADE.sub(rb"/\1 (D:" + f"{made_on:%Y%m%d}000000".encode(), named)
