"""compare without a cluster to size, as a user runs it."""

import json
from pathlib import Path

import pytest

from .conftest import Command


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of its own, which does not exist: the shipped prices answer."""
    monkeypatch.setenv("CLUSTERWRIGHT_STORE", str(tmp_path / "prices.duckdb"))


def test_one_node_as_text_and_json(command: Command) -> None:
    """The table of a day, and the same months in JSON."""
    text = command("compare", "--one-node", "--as-of", "2026-10-16")
    assert text.code == 0
    assert "'6 to 12 months' holds in 6 of 24 cases" in text.out
    told = json.loads(command("compare", "--one-node", "--as-of", "2026-10-16", "--json").out)
    assert [row["name"] for row in told["rows"]][:3] == ["list_100", "azure", "aws"]
    assert told["rows"][2]["months"]["power_only"]["100 %"] == pytest.approx(12.1, abs=0.05)
    assert len(told["claim_holds"]) == 6


def test_the_day_of_a_blueprint_holds(command: Command, small: Path) -> None:
    """With a blueprint its day of prices holds: before its cut AWS asked 98.32."""
    day = ("--set", "economics.as_of=2025-06-04")
    told = json.loads(command("compare", small, "--one-node", *day, "--json").out)
    assert told["as_of"] == "2025-06-04"
    assert told["rows"][2]["usd_per_hour"] == 98.32
    assert json.loads(command("compare", small, "--scenarios", *day, "--json").out)["as_of"] == "2025-06-04"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "compare needs a blueprint"),
        (("--finance",), "compare needs a blueprint"),
        (("--scenarios", "--one-node"), "each stand alone"),
        (("--scenarios", "--finance"), "each stand alone"),
        (("--one-node", "--as-of", "soon"), "'soon' is not a day"),
        (("no-such.yaml", "--scenarios"), "no-such.yaml"),
    ],
)
def test_what_cannot_be_compared(command: Command, arguments: tuple[str, ...], told: str) -> None:
    """Wrong use ends with 2, a reason and nothing printed."""
    ended = command("compare", *arguments)
    assert ended.code == 2
    assert told in ended.err
    assert not ended.out
