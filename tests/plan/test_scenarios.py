"""Price for performance by scenario: measures by hand, what may win, and the page."""

import csv
import datetime as dt
import json
import re
from pathlib import Path

import pytest

from clusterwright.assets import root
from clusterwright.catalog.load import load
from clusterwright.cli.compare import scenarios as command
from clusterwright.finance.scenario_measures import MEASURES, Market, usd_per_mtoken
from clusterwright.finance.scenarios import COMPARED, TABLE, Scenario, scenarios
from clusterwright.pricing.book import PriceBook

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "scenarios.md"
DAY = dt.date(2026, 10, 16)


@pytest.fixture(scope="module")
def book() -> PriceBook:
    """The shipped price points."""
    return PriceBook.open()


@pytest.fixture(scope="module")
def found(book: PriceBook) -> dict[str, Scenario]:
    """Every scenario at the prices of a day, by the head of its name."""
    return {entry.scenario: entry for entry in scenarios(load(), book, DAY)[1]}


def _one(found: dict[str, Scenario], head: str) -> Scenario:
    (entry,) = (entry for name, entry in found.items() if name.startswith(head))
    return entry


def test_every_line_of_the_table(found: dict[str, Scenario]) -> None:
    """Nine scenarios, each with a measure and a verdict; printed accelerators are compared ones."""
    assert len(found) == 9
    for entry in found.values():
        assert command.verdict(entry).startswith("winner ")
        assert set(entry.printed_accelerators) <= set(COMPARED)


@pytest.mark.parametrize(
    ("head", "winner", "value"),
    [
        ("Absolute", "gb200-186gb", 72 * 5.0),  # 72 GPUs of 5 dense PFLOP/s
        ("Cloud inference, small", "a100-sxm-80gb", 1.39),  # one GPU of RunPod's community cloud
        ("Training, price", "b200-sxm-180gb", 40000 / 2.25),
        ("Training, in", "mi300x-192gb", 2.39 / 1.3074),
        ("Bound by", "mi300x-192gb", 2.39 / 206.15843),
        ("Spot", "l40s-48gb", 7.88 / 8),
    ],
)
def test_winners_by_hand(found: dict[str, Scenario], head: str, winner: str, value: float) -> None:
    """The best of each measure at the documented prices of 2026-10-16, worked out by hand."""
    best = _one(found, head).ranking[0]
    assert best.accelerator == winner
    assert best.value == pytest.approx(value, rel=1e-4)


def test_tokens_lie_between_bounds(found: dict[str, Scenario]) -> None:
    """H100 at 6.88 USD: 70.6 GB at 3.35 TB/s are 47.5 tokens/s, 40 USD a million; the guide's 1.59 is a batch."""
    bounds = usd_per_mtoken(6.88, weights=70.6e9, chip=load().accelerators["h100-sxm-80gb"])
    assert bounds is not None
    most, least = bounds
    assert most == pytest.approx(6.88e6 / (3350 / 70.6 * 3600), rel=1e-12)
    assert least == pytest.approx(6.88e6 / (1978.9e12 / (2 * 70.6e9) * 3600), rel=1e-12)
    assert least < 1.59 < most
    for entry in _one(found, "Cloud inference, on").ranking:
        assert entry.most is not None
        assert entry.value < entry.most


def test_printed_figures_are_judged(found: dict[str, Scenario]) -> None:
    """0.42 USD does not follow from 3.39 USD and 4,000 tokens/s, 0.15 from 2.12 does; 18 PFLOPS are no rack."""
    wrong, right = _one(found, "Cloud inference, on"), _one(found, "Cloud inference, least")
    assert wrong.own_inputs_give == pytest.approx(0.2354, abs=1e-4)
    assert (wrong.misreckoned, right.misreckoned) == (True, False)
    assert "its own inputs give 0.2354" in command.verdict(wrong)
    assert "20 times what is printed" in command.verdict(_one(found, "Absolute"))
    assert _one(found, "Spot").figure_right is True
    assert _one(found, "Training, in").figure_right is False


def test_without_a_price_nobody_wins(found: dict[str, Scenario], book: PriceBook) -> None:
    """Gaudi 3 has no documented price and is told so; before the first price of all, the winner is unknown."""
    bought = _one(found, "Training, price")
    assert "gaudi3-128gb" in bought.unknown
    assert command.verdict(bought).startswith("winner not documented: gaudi3-128gb has no price or fact")
    early = scenarios(load(), book, dt.date(2020, 1, 1))[1]
    rented = [entry for entry in early if entry.term]
    assert all(entry.winner_right is None and entry.figure_right is None for entry in rented)
    assert all("unknown" in command.verdict(entry) for entry in rented)


def test_an_equal_best_is_right(found: dict[str, Scenario]) -> None:
    """A100 and H100 are rented by as many providers: H100 is no wrong winner."""
    safe = _one(found, "Safe")
    assert safe.ranking[0].value == safe.ranking[1].value
    assert safe.winner_right is True


def test_ranked_are_prices_in_force(book: PriceBook) -> None:
    """No measure takes a rejected claim or a price of another term."""
    market = Market.on(DAY, load(), book)
    rejected = {"thunder", "spheron", "tensorwave", "runcrate", "vultr"}
    for measure in MEASURES.values():
        for entry in measure.calculate(market, "on_demand"):
            assert entry.where.partition("/")[0] not in rejected


def test_remarks_reckon_right() -> None:
    """Each division that a remark makes comes to the figure that it names."""
    with (root() / TABLE).open(encoding="utf-8", newline="") as stream:
        remarks = " ".join(row["remark"] for row in csv.DictReader(stream))
    sums = re.findall(r"([\d.,]+) / ([\d.,]+)(?: / ([\d.]+))? = ([\d.,]*\d)", remarks)
    assert len(sums) >= 3
    for top, first, second, told in sums:
        value = float(top.replace(",", "")) / float(first) / float(second or 1)
        assert value == pytest.approx(float(told.replace(",", "")), rel=0.01)


def test_page_and_json(book: PriceBook, capsys: pytest.CaptureFixture[str]) -> None:
    """docs/evidence/scenarios.md holds what the command prints; JSON names every accelerator that is ranked."""
    catalogue = load()
    day, entries = scenarios(catalogue, book)
    assert command.text(day, entries, catalogue) in PAGE.read_text(encoding="utf-8"), "write the page anew"
    assert command.show(DAY, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["as_of"] == "2026-10-16"
    assert {entry["accelerator"] for entry in told["scenarios"][5]["ranking"]} >= {"h100-sxm-80gb", "b200-sxm-180gb"}
