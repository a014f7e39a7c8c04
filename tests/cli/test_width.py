"""No command that answers prints a line that is wider than the terminal: each at every other width of the list."""

from itertools import product
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.checks.prove.records import NOT_PROVEN, PROVEN, SKIPPED, Result, found
from clusterwright.cli.render.terminal import columns_of_text
from clusterwright.cli.render.text_table import fitted
from clusterwright.cli.written.prove import folder_text
from tests.sampling import sampled

from .conftest import SMALL, Command

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
    ("facts",),
    ("facts", "h100"),
    ("facts", "p5.48xlarge"),
    ("fabric", "--system", "dgx-h100", "--switch", "qm9700", "--nodes", "64"),
    ("compare", "--one-node"),
    ("compare", "--scenarios"),
    ("validate", "training", "tests/published/independent_runs.csv"),
    ("validate", "tco", "tests/published/tco/lenovo_lp2225.yaml", "--all"),
)
#: What answers about a blueprint, whose name stands in place of {}.
ANSWERS = (
    ("plan", "{}"),
    ("plan", "{}", "--details"),
    ("compare", "{}"),
    ("compare", "{}", "--details"),
    ("compare", "{}", "--finance", "--draws", "200"),
    ("sweep", "{}", "--instances", "p5.48xlarge,dgx-h100", "--jobs", "1"),
    ("explain", "{}"),
    ("explain", "{}", "mfu"),
    ("explain", "{}", "horizon_usd", "--on", "onprem"),
    ("diff", "{}", "other.yaml"),
    ("preflight", "{}"),
    ("check", "{}"),
)


def _name(value: tuple[str, ...] | int) -> str:
    return str(value) if isinstance(value, int) else " ".join(value)


def too_wide(text: str, width: int) -> list[str]:
    """Return the lines of a text that are wider than a terminal; a path or key alone in its line is not broken."""
    return [line for line in text.splitlines() if columns_of_text(line) > width and " " in line.strip()]


@pytest.mark.parametrize(("arguments", "width"), sampled(product(LOOKUPS, WIDTHS), 2), ids=_name)
def test_lookups_fit(command: Command, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], width: int) -> None:
    """Prices and facts keep to 60, 80 and 120 columns."""
    monkeypatch.chdir(assets.root())
    monkeypatch.setenv("COLUMNS", str(width))
    ended = command(*arguments)
    assert ended.code == 0
    assert too_wide(ended.out, width) == []


@pytest.mark.parametrize(("arguments", "width"), sampled(product(ANSWERS, WIDTHS), 2), ids=_name)
def test_answers_fit(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...], width: int
) -> None:
    """Answers, warnings and errors about a blueprint keep to 60, 80 and 120 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(width))
    Path("small.yaml").write_text(SMALL)
    Path("other.yaml").write_text(SMALL.replace("tokens: 100e9", "tokens: 120e9"))
    ended = command(*(word.format("small.yaml") for word in arguments))
    assert ended.code in (0, 1)
    assert ended.out
    assert too_wide(ended.out + ended.err, width) == []


@pytest.mark.parametrize(("name", "width"), [("contracts", 60), ("contracts", 120), ("experts", 80)])
def test_answers_with_contracts_taxes_and_much_hardware_fit(
    command: Command, monkeypatch: pytest.MonkeyPatch, name: str, width: int
) -> None:
    """Long names of contracts, three accelerators and ways to pay keep to the width; reasons stand whole."""
    monkeypatch.setenv("COLUMNS", str(width))
    blueprint = str(Path(__file__).parents[1] / "records" / f"{name}.yaml")
    for arguments in (
        ("plan", blueprint),
        ("compare", blueprint),
        ("compare", blueprint, "--finance", "--draws", "200"),
    ):
        ended = command(*arguments)
        assert ended.code in (0, 1)
        assert too_wide(ended.out.partition("  Next")[0], width) == []
    if name == "contracts":
        words = " ".join(ended.out.split())
        assert "the purchase is not paid back within 48 months; renting costs less even at full utilisation" in words
        assert "CoreWeave, spot; RunPod community, on demand; Hyperstack, on demand" in words


@pytest.mark.parametrize("width", WIDTHS)
def test_the_shipped_answer_is_a_screen(
    command: Command, monkeypatch: pytest.MonkeyPatch, shipped: Path, width: int
) -> None:
    """The answer stands above the comparison, whole, and what it costs is never left out."""
    monkeypatch.setenv("COLUMNS", str(width))
    ended = command("plan", shipped)
    lines = ended.out.splitlines()
    assert too_wide(ended.out.partition("  Next")[0], width) == []
    assert lines[lines.index("") + 1].startswith("  One run")
    table = next(number for number, line in enumerate(lines) if "days (low–high)" in line)
    assert all("$" in line for line in lines[table + 1 : table + 4])
    assert not any(line.strip().startswith(("Memory", "Layout")) for line in lines)
    assert len(ended.err.splitlines()) <= (1 if width > 60 else 2)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("blanks", [(10, 200), (90, 90), (200, 0)])
def test_a_long_line_of_the_blueprint_is_shown_around_the_caret(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int, blanks: tuple[int, int]
) -> None:
    """Of a line that is wider than the terminal the part that is meant is shown, with the caret below it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(width))
    workload = SMALL.partition("workload:\n")[2].partition("goals:")[0]
    before, after = blanks
    entries = ", ".join(line.strip() for line in workload.splitlines())
    given = f"workload: {{{' ' * before}colour: red,{' ' * after}{entries}}}\n"
    Path("long.yaml").write_text(SMALL.replace(f"workload:\n{workload}", given))
    ended = command("check", "long.yaml")
    assert ended.code == 2
    assert too_wide(ended.err, width) == []
    lines = ended.err.splitlines()
    caret = next(number for number, line in enumerate(lines) if line.strip(" |") and not line.strip(" |^"))
    start = lines[caret].index("^")
    assert lines[caret - 1][start : start + len("colour")] == "colour"
    assert lines[caret].count("^") == len("colour")


def test_an_error_in_a_log_is_one_line(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no terminal says how wide it is, a message is not broken: logs are searched."""
    monkeypatch.delenv("COLUMNS", raising=False)
    assert len(command("compare").err.splitlines()) == 2
    monkeypatch.setenv("COLUMNS", "60")
    assert too_wide(command("compare").err, 60) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_proof_is_read_column_by_column(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """What was found of a part begins in one column, and no line of it goes on to the left of that."""
    monkeypatch.setenv("COLUMNS", str(width))
    fact = "66 cords, each between a supply and an outlet of its own, in one rack, and none in two of them"
    named = {"part": "provisioning, by its tools", "files": (), "engine": "comparison"}
    results = (
        Result(**named, state=PROVEN, facts=(fact, fact)),
        Result(**named, state=SKIPPED, reason=fact),
        Result(**named, state=NOT_PROVEN, findings=(found("PAG001", fact, fact),)),
    )
    text = fitted(folder_text(results, said=NOT_PROVEN, page=Path("proof.md")))
    assert too_wide(text, width) == []
    assert " ".join(text.split()).count(fact) == 5
    shown = text.partition("not proven")[0].splitlines()[2:]
    start = 4 if width == 60 else 42
    begun = [line.find(word) for line in shown for word in ("66 cords", "by comparison") if word in line]
    assert begun == [start] * 4
    assert all(line[:start].isspace() for line in shown if not line.startswith(("  proven", "  skipped")))
    assert "1 finding\n" in text
