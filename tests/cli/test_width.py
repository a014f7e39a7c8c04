"""No command that answers prints a line that is wider than the terminal."""

import pytest

from clusterwright.cli.terminal import columns_of_text

from .conftest import Command

WIDTHS = (60, 80, 120)
#: What needs no blueprint.
LOOKUPS = (
    ("prices",),
    ("prices", "--all"),
    ("prices", "h100"),
    ("prices", "h100", "--history"),
    ("prices", "tpu"),
    ("prices", "dgx-h100", "--rejected"),
    ("prices", "cheapest", "h100"),
    ("prices", "discounts", "h100"),
    ("prices", "history", "p5.48xlarge"),
    ("prices", "history", "p5.48xlarge", "--chart"),
    ("prices", "volatility", "h100"),
    ("prices", "index", "h100"),
    ("prices", "months", "h100"),
    ("prices", "services", "storage"),
    ("prices", "breakeven", "h100"),
    ("prices", "coverage"),
)


def too_wide(text: str, width: int) -> list[str]:
    """Return the lines of a text that are wider than a terminal."""
    return [line for line in text.splitlines() if columns_of_text(line) > width]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("arguments", LOOKUPS, ids=" ".join)
def test_lookups_fit(command: Command, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], width: int) -> None:
    """Prices and facts keep to 60, 80 and 120 columns."""
    monkeypatch.setenv("COLUMNS", str(width))
    ended = command(*arguments)
    assert ended.code == 0
    assert too_wide(ended.out, width) == []
