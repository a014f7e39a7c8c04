"""Words of others that would colour or rewrite the terminal on which they are shown do not get in."""

from pathlib import Path

import pytest

from clusterwright.assets import root
from clusterwright.blueprint.load import load
from clusterwright.blueprint.reading.problems import BlueprintError
from clusterwright.cli.prices import store as price_store
from clusterwright.errors import InputError
from clusterwright.feeds.quotes import read_quotes

_HEADER = "sku,term,charge,unit,amount,effective_from,note\n"
_LINE = "dgx-h100,purchase,once,each,250000,2026-10-01,"


@pytest.mark.parametrize("mark", ["\x1b[31m", "\x07", "\x9b2J", "\u202e"])
def test_control_characters_are_refused(tmp_path: Path, mark: str) -> None:
    """In cells of quotes, with line and column, in sources, and in what a blueprint says."""
    path = tmp_path / "quotes.csv"
    path.write_text(f"{_HEADER}{_LINE}a{mark}b\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"quotes.csv:2: column note: .* control a terminal"):
        read_quotes(path)
    path.write_text(f"{_HEADER}{_LINE}plain\n", encoding="utf-8")
    store = tmp_path / "prices.duckdb"
    with pytest.raises(InputError, match="control a terminal"):
        price_store.rate("EUR", 1.08, day="2026-10-01", source=f"a{mark}", store=store)
    assert not store.exists()
    with pytest.raises(BlueprintError) as caught:
        load(root() / "blueprints" / "train-gpt3-175b.yaml", (f'description="a{_escaped(mark)}"',))
    assert "control a terminal" in caught.value.render()


def _escaped(mark: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in mark)


def test_plain_words_stay(tmp_path: Path) -> None:
    """Letters of any language, and spaces that do not break, are words."""
    path = tmp_path / "quotes.csv"
    path.write_text(f"{_HEADER}{_LINE}Angebot\u00a0Müller \u20ac 东京\n", encoding="utf-8")
    (row,) = read_quotes(path).rows
    assert row["note"] == "Angebot\u00a0Müller \u20ac 东京"
