"""Tables and paragraphs keep to a width: what is left out is named, and numbers stay whole."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.cli.render.terminal import columns_of_text
from clusterwright.cli.render.text_table import Column, commands, described, fitted, prose, shortened, table

COLUMNS = (
    Column("Where", "left"),
    Column("nodes", drop=0),
    Column("days (low–high)", drop=0),
    Column("MFU", drop=2),
    Column("this run", drop=0),
    Column("priced", drop=1),
    Column("", "left", drop=0),
)
ROWS = (
    ("Azure Standard_ND96isr_H100_v5", "48", "17.6 (16.3–20.4)", "57 %", "$2.02 M", "99 %", ""),
    ("AWS p5.48xlarge", "48", "17.6 (16.3–20.4)", "57 %", "$1.13 M", "100 %", "◀ one run"),
)


@pytest.mark.parametrize(
    ("width", "left_out"), [(120, []), (90, ["MFU"]), (80, ["MFU", "priced"]), (62, ["MFU", "priced"])]
)
def test_columns_go_by_priority_and_are_named(width: int, left_out: list[str]) -> None:
    """The least important column goes first, a line names what went, and the figures that decide stay whole."""
    lines = table(COLUMNS, ROWS, width=width).splitlines()
    assert all(columns_of_text(line) <= width for line in lines)
    shown = "\n".join(lines)
    assert [title for title in ("MFU", "priced") if title in lines[0] + lines[1]] == [
        title for title in ("MFU", "priced") if title not in left_out
    ]
    assert ("left out at this width: " + ", ".join(left_out) in shown) is bool(left_out)
    assert "$2.02 M" in shown
    assert "17.6 (16.3–20.4)" in shown
    assert "◀ one run" in shown


def test_names_are_shortened_last_and_keep_both_ends() -> None:
    """Where nothing may be left out any more, a name loses its middle."""
    assert "Standard_ND96isr_H100_v5" in table(COLUMNS, ROWS, width=90)
    assert "Azure S…H100_v5" in table(COLUMNS, ROWS, width=62)
    assert shortened("Standard_ND96isr_H100_v5", 16) == "Standard…H100_v5"


def test_a_narrow_column_returns_where_a_wide_one_went() -> None:
    """A column that was left out before a wider one is shown again if there is room for it, in its own place."""
    columns = (Column("Where", "left"), Column("nodes", drop=4), Column("hardware", "left", drop=3), Column("cost"))
    rows = [("AWS, on demand, for the whole run", "48", "an instance of a very long name", "$1.31 M")]
    lines = table(columns, rows, width=60).splitlines()
    assert lines[0].split() == ["Where", "nodes", "cost"]
    assert lines[1].split()[-3:] == ["48", "$1.31", "M"]
    assert lines[2].strip() == "left out at this width: hardware"


def test_prose_beside_cells_is_broken_over_lines() -> None:
    """A column of sentences takes what is left and loses no word."""
    columns = (Column("Check", "left"), Column("Found", "left", prose=True))
    said = "the quota of the account has 96 of the 384 accelerators that this cluster needs in the region"
    lines = table(columns, [("PRE020", said), ("PRE021", "fine")], width=60).splitlines()
    assert all(len(line) <= 60 for line in lines)
    words = " ".join(line[10:].strip() for line in lines[1:-1])
    assert words == said


@given(
    st.lists(
        st.tuples(st.text("abc 漢é", max_size=30), st.integers(0, 10**9), st.text("xyz ", max_size=60)), max_size=5
    ),
    st.integers(60, 140),
)
def test_no_line_is_wider_than_asked(rows: list[tuple[str, int, str]], width: int) -> None:
    """Of any names and sentences, double-width characters too, no line is wider than the terminal."""
    columns = (Column("Name", "left"), Column("dollars", drop=0), Column("remark", "left", prose=True))
    text = table(columns, [(name, f"{number:,}", remark) for name, number, remark in rows], width=width)
    assert all(columns_of_text(line) <= width for line in text.splitlines())
    for _, number, _ in rows:
        assert f"{number:,}" in text


def test_a_paragraph_keeps_numbers_with_their_units() -> None:
    """No line ends between a number and its unit."""
    for width in range(24, 60):
        lines = prose("the run costs $1.03 M, which is 90 % of what the other one costs in 17.6 days", width=width)
        assert not any(line.endswith(("$1.03", "90", "17.6")) for line in lines)


def test_an_arrow_stays_with_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that is longer than the terminal is neither cut nor parted from the arrow before it."""
    monkeypatch.setenv("COLUMNS", "40")
    place = f"    --> /home/ada/{'clusters/' * 6}nodes/Pulumi.small.yaml:3:2"
    assert fitted(f"what to do\n{place}") == f"what to do\n{place}"


def test_the_width_is_the_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    """COLUMNS decides; without a terminal a line has 120 columns."""
    monkeypatch.setenv("COLUMNS", "70")
    assert "left out at this width" in table(COLUMNS, ROWS)
    monkeypatch.delenv("COLUMNS")
    assert "left out at this width" not in table(COLUMNS, ROWS)


def test_commands_stand_above_what_they_do_where_it_is_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command is never broken: it is to be copied."""
    entries = [("clusterwright prices aws/p5.48xlarge", "every price of one product, with day and source")]
    monkeypatch.setenv("COLUMNS", "120")
    assert len(commands(entries)) == 1
    monkeypatch.setenv("COLUMNS", "60")
    assert commands(entries)[0] == "  clusterwright prices aws/p5.48xlarge"


@pytest.mark.parametrize("cells", [1, len(COLUMNS) - 1, len(COLUMNS) + 1])
def test_a_row_has_a_cell_for_every_column(cells: int) -> None:
    """No amount slips under the title of another."""
    with pytest.raises(ValueError, match=rf"{cells} cells in a row of {len(COLUMNS)} columns"):
        table(COLUMNS, [("x",) * cells])


def test_a_command_can_be_copied_over_its_line_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell reads the words of a long command over several lines; a sentence has no backslash."""
    monkeypatch.setenv("COLUMNS", "60")
    command = "clusterwright build a/long/folder/blueprint.yaml --set targets.gcp.capacity=flex-start -o out"
    for label in ("  Next         ", "               ", ""):
        shown = fitted(label + command)
        assert max(map(len, shown.splitlines())) <= 60
        assert shlex.split(shown.removeprefix("  Next ").replace("\\\n", "")) == shlex.split(command)
    long = "clusterwright build small.yaml --set targets.aws.reservation=cr-0123456789abcdef0 -o out"
    assert max(map(len, fitted("  Next         " + long).splitlines())) <= 60
    sentence = "  Check        assumed prices are old; clusterwright prices --help says how newer ones are fetched"
    assert len(fitted(sentence).splitlines()) == 2
    assert "\\" not in fitted(sentence)


@pytest.mark.parametrize(
    ("width", "line", "indent"),
    [
        (60, "  name   a sentence that is longer than the terminal is wide by far", 9),
        (80, "  proven   cables and ports   every end of a cable stands where the racks have its device", 30),
        (60, "  proven   cables and ports of the site   every end of a cable stands where racks have it", 11),
        (60, "one column of words that goes on beyond the width of the terminal, at once", 2),
        (60, f"  key   {'x' * 54} and words", 4),
    ],
)
def test_a_long_line_goes_on_below_the_text_that_it_continues(
    monkeypatch: pytest.MonkeyPatch, width: int, line: str, indent: int
) -> None:
    """A line goes on in its last column with room for words, one without columns two blanks further in."""
    monkeypatch.setenv("COLUMNS", str(width))
    first, *more = fitted(line).splitlines()
    assert all(len(part) <= width for part in (first, *more))
    assert {len(part) - len(part.lstrip()) for part in more} == {indent}
    assert " ".join([first, *more]).split() == line.split()


def test_what_a_row_is_of_is_not_left_out() -> None:
    """Of rows that have their target in a column of its own, that column goes after the figures."""
    columns = (("change, alone", "left"), ("where", "left"), *(Column(f"figure {number}") for number in range(8)))
    lines = table(columns, [("together, beyond each alone", "on premises", *["-$862,000"] * 8)], width=60).splitlines()
    assert any("on premises" in line for line in lines)
    assert "where" not in lines[-1]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_texts_stand_beside_their_label_or_below_it(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """All texts of a label begin in one column; where prose would have no room beside it, below the label."""
    monkeypatch.setenv("COLUMNS", str(width))
    long = "a text of many words that no terminal of these widths holds in a line, so that it goes on below itself"
    label = "a label that takes 38 columns or more"
    lines = described([(label, (long, "short", long)), ("b", (long,)), ("c", ())], indent=2)
    assert all(len(line) <= width for line in lines)
    start = 4 if width == 60 else 2 + len(label) + 2
    begun = [line.find(word) for line in lines for word in ("a text", "short") if word in line]
    assert begun == [start] * 4
    went_on = [len(line) - len(line.lstrip()) for line in lines if "a text" not in line and line.startswith("     ")]
    assert set(went_on) <= {start, start + 2}
    assert lines[-1] == "  c"
    assert (lines[0] == f"  {label}") == (width == 60)
