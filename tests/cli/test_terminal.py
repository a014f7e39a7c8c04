"""What others wrote reaches the terminal visibly, and an output in another encoding never ends a command."""

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.cli.render.terminal import BOLD, PLAIN, VisibleStream, visible

PROGRAM = "from clusterwright.cli.main import run; run()"
ESCAPE = "\x1b]0;title\x07\x1b[2J"
TURNED = "\u202egnp.exe"


def command(*arguments: str, environment: dict[str, str] | None = None) -> tuple[int, str]:
    """Return the exit code and all that a command prints, as UTF-8 or with what that cannot read replaced."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


@given(st.text())
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    """Of any text, lines and tabs are the only control characters that stay, and every character keeps its column."""
    shown = visible(text)
    assert len(shown) == len(text)
    assert not any(ord(sign) < 32 and sign not in "\n\t\r" for sign in shown)
    assert not set(shown) & {"\u202e", "\u2066", "\u200b", "\x7f", "\x9b", "\ufeff"}
    assert "\r" not in shown.replace("\r\n", "")


def test_bold_headings_stay() -> None:
    """Our own headings are bold on a terminal; nothing else of theirs passes."""
    stream = io.StringIO()
    VisibleStream(stream).write(f"{BOLD}Where{PLAIN} \x1b[31mred")
    assert stream.getvalue() == f"{BOLD}Where{PLAIN} ␛[31mred"


@pytest.mark.parametrize("hidden", [ESCAPE, TURNED])
def test_file_names_values_and_lines_are_visible(tmp_path: Path, hidden: str) -> None:
    """A blueprint's name, its lines, a value of --set and a missing file are echoed without what they would do."""
    blueprint = tmp_path / f"{hidden}.yaml".replace("/", "")
    blueprint.write_text(f"name: ok\nwörk{TURNED}load: 1\n", encoding="utf-8")
    code, shown = command("check", str(blueprint), "--set", f"a.{hidden}=1")
    assert code == 2
    assert "load: 1" in shown
    for one in (*"\x1b\x07\u202e",):
        assert one not in shown


def test_a_quote_with_escapes_is_visible(tmp_path: Path) -> None:
    """A cell of a vendor's list is shown, not obeyed."""
    quotes = tmp_path / "quotes.csv"
    quotes.write_text(f"line,{ESCAPE}\n1,{ESCAPE}\n", encoding="utf-8")
    blueprint = Path(__file__).parents[2] / "blueprints" / "train-gpt3-175b.yaml"
    code, shown = command("plan", str(blueprint), "--quotes", str(quotes), "--on", "onprem")
    assert code == 2
    assert "\x1b" not in shown


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_another_encoding_of_the_output_degrades(encoding: str) -> None:
    """Where the output cannot hold a character, it is replaced, and the command ends as it would elsewhere."""
    code, shown = command("facts", "h100", environment={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
    assert code == 0
    assert "H100" in shown


def test_a_file_name_that_is_no_text_is_an_error_for_people(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 in a file's name are replaced in the message."""
    code, shown = command("check", cast("str", os.fsdecode(bytes(tmp_path) + b"/\xff.yaml")))
    assert code == 2
    assert "there is no file" in shown
