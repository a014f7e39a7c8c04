"""What guides and courses print of prices is on file as claims, each with its reckoning, and none is used."""

import csv
import os
import re
from pathlib import Path

import pytest

from clusterwright.assets import root

#: Source of the claims, words that open and end the part of the text with prices, by the start of the file's name.
DOCUMENTS = {
    "000": ("course-2025", "", ""),
    "001": ("guide-2026-06", "#### Time to train", "### 2026 Trends"),
    "003": ("gpu-lesson", "Why This Matters Now", "Understanding"),
    "004": ("educademy", "", "AMD and the Competition"),
}
#: Amounts of the texts that are no price: an investment, a count's product, a phrase.
NO_PRICES = {
    "000": {0.10},  # electricity, an input
    "001": set(),
    "003": {100.0, 100000.0},  # "whether a project needs 100 or 100,000"
    "004": {10.0},  # "exceeding 10 billion"
}


def _claims() -> list[dict[str, str]]:
    found = []
    for path in sorted((root() / "pricing").glob("*.csv")):
        if path.name != "sources.csv":
            with path.open(encoding="utf-8", newline="") as stream:
                found += list(csv.DictReader(stream))
    return found


CLAIMS = _claims()


def _numbers(text: str) -> set[float]:
    return {float(number.replace(",", "")) for number in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text)}


def _known_prices(source: str) -> set[float]:
    """Return every number that claims of a source hold: the price, and the ends and sums in note and locator."""
    known: set[float] = set()
    for claim in CLAIMS:
        if claim["source"] == source:
            usd = float(claim["usd"])
            known |= {usd, usd / 1e6, round(usd / 8, 6)} | _numbers(claim["note"]) | _numbers(claim["locator"])
    return known


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_printed_price_is_a_claim(name: str) -> None:
    """Every dollar amount of a text's tables of prices is in the claims of its source."""
    folder = Path(os.environ.get("CLUSTERWRIGHT_GUIDES", Path(__file__).parents[3] / "shared" / "seeds"))
    texts = sorted(folder.glob(f"{name}_*.txt")) if folder.is_dir() else []
    if not texts:
        pytest.skip("the guides' texts are not at hand: name their folder in CLUSTERWRIGHT_GUIDES")
    source, start, end = DOCUMENTS[name]
    text = texts[0].read_text(encoding="utf-8")
    text = text[text.index(start) if start else 0 :]
    text = text[: text.index(end) if end else len(text)]
    text = re.sub(r"(?<=\$\d) (?=000\b)|(?<=\$\d\d) (?=000\b)|(?<=\$\d\d\d) (?=000\b)", "", text)
    # A range has its second end behind a dash, which some of the texts hold wrongly encoded.
    amounts = re.findall(r"\$(\d[\d,]*(?:\.\d+)?)(?:(?:-|\u2013|\u0e42\u20ac\u201c)\$?(\d[\d,]*(?:\.\d+)?))?", text)
    printed = {float(part.replace(",", "")) for pair in amounts for part in pair if part}
    assert printed
    assert printed - _known_prices(source) - NO_PRICES[name] == set()


def test_no_claim_of_a_guide_is_used() -> None:
    """Guides and courses document nothing: their claims are rejected, with a reason each, but for one server."""
    sources = {source for source, _, _ in DOCUMENTS.values()}
    used = [claim["sku"] for claim in CLAIMS if claim["source"] in sources and claim["status"] == "chosen"]
    assert used == ["dgx-a100-640gb"]
    assert all(claim["note"] for claim in CLAIMS if claim["source"] in sources)


def test_wrong_figures_say_what_is_right() -> None:
    """Divisions in the reasons come to the figure that they name."""
    checked = 0
    for claim in CLAIMS:
        if claim["source"] != "guide-2026-06":
            continue
        for top, first, second, known in re.findall(
            r"([\d,]+(?:\.\d+)?) / ([\d.]+)(?: / ([\d.]+\d))?(?: dense)? = ([\d,]*\.?\d+)", claim["note"]
        ):
            value = float(top.replace(",", "")) / float(first) / float(second or 1)
            assert value == pytest.approx(float(known.replace(",", "")), rel=0.01), claim["note"]
            checked += 1
        for usd, rate, known in re.findall(
            r"([\d.]+) x 1e6 / \(([\d,]+) tokens/s x 3,600\) = ([\d.]+\d)", claim["note"]
        ):
            value = float(usd) * 1e6 / float(rate.replace(",", "")) / 3600
            assert value == pytest.approx(float(known), abs=6e-4), claim["note"]
            checked += 1
    assert checked > 20


def test_what_a_purchase_covers_is_in_its_key() -> None:
    """Modules, baseboards, servers and racks have keys of their own; a module is no eighth of a server."""
    with (root() / "catalog" / "accelerators.csv").open(encoding="utf-8", newline="") as stream:
        chips = {row["entity"] for row in csv.DictReader(stream)}
    for claim in CLAIMS:
        if claim["term"] == "purchase" and claim["unit"] == "each":
            chip, scope = next(
                ((name, claim["sku"][len(name) :]) for name in chips if claim["sku"].startswith(name + "-")), ("", "")
            )
            assert not chip or scope in ("-module", "-module-used", "-baseboard-8"), claim["sku"]
            if scope.startswith("-module"):
                assert float(claim["usd"]) <= 100_000, claim["sku"]
