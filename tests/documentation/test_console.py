"""Console blocks of the pages show what the commands print; `CLUSTERWRIGHT_WRITE_GOLDEN=1` writes them again."""

import difflib
import os
from pathlib import Path

import pytest

from tests.documentation.console import ROOT, Block, Ran, Shell, blocks, current, missing, same, shown_part, steps

#: Outputs of this session, so that pages share plans.
_KNOWN: dict[str, Ran] = {}
_PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
#: The blueprint that pages go on from where they write none.
_TRAIN = ROOT / "docs" / "start" / "first-plan.md"


def _runs(path: Path) -> bool:
    return any(block.language == "console" and not block.not_run for block in blocks(path.read_text(encoding="utf-8")))


def _train() -> Block:
    """Return the blueprint `train.yaml` of the first tutorial."""
    return next(block for block in blocks(_TRAIN.read_text(encoding="utf-8")) if block.title == "train.yaml")


@pytest.mark.parametrize(
    "path", [path for path in _PAGES if _runs(path)], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_blocks_show_what_commands_print(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reader copies from a page gives what stands below it, in a folder with the page's files alone."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "page"
    folder.mkdir()
    shell = Shell(folder=folder, known=_KNOWN)
    shell.write(_train())
    text = path.read_text(encoding="utf-8")
    today, wrong = current(text, shell)
    if os.environ.get("CLUSTERWRIGHT_WRITE_GOLDEN"):
        path.write_text(today, encoding="utf-8")
    else:
        assert not wrong, f"{path.name} shows other output of:\n" + "\n".join(wrong) + _difference(text, today)
    absent = sorted({program for block in blocks(text) for program in missing(block)})
    if absent and os.environ.get("CLUSTERWRIGHT_REQUIRE_ENGINES") == "1":
        pytest.fail(f"not installed: {', '.join(absent)}")


def _difference(one: str, other: str) -> str:
    lines = difflib.unified_diff(one.splitlines(), other.splitlines(), "page", "today", n=1, lineterm="")
    return "\n\n" + "\n".join(list(lines)[:80])


def test_a_block_says_what_it_shows_and_what_may_differ() -> None:
    """Ranges cut an output with a mark, commands may go over lines, and what varies is compared without its value."""
    said = '<!-- show "two".."four"; vary \\d+ s -->'
    text = f"A\n\n{said}\n```console\n$ clusterwright plan \\\n    x.yaml\n…\ntwo 3 s\n…\n```\n"
    (block,) = blocks(text)
    assert (block.language, block.ranges, block.vary) == ("console", (("two", "four"),), "\\d+ s")
    (step,) = steps(block)
    assert step.command == "clusterwright plan x.yaml"
    output = shown_part("one\ntwo 14 s\n\nfour\n", block.ranges)
    assert output == ("…", "two 14 s", "…")
    assert same(output, step.shown, block.vary)
    assert not same(output, ("…", "three 3 s", "…"), block.vary)


def test_a_range_that_the_output_does_not_have_is_an_error() -> None:
    """A page cannot go on showing lines that no longer exist."""
    (block,) = blocks('<!-- show "Answer".. -->\n```console\n$ clusterwright --help\n```\n')
    with pytest.raises(AssertionError, match="no line after 0 holds 'Answer'"):
        shown_part("one\ntwo\n", block.ranges)
