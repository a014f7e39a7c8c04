"""Text on its way to a terminal: nothing that somebody else wrote can move the cursor, hide a line or fail to print.

Names, cells of files, answers of servers and lines of a blueprint stand in messages and tables. Control characters,
marks that turn the direction of writing and characters without width become visible, each in one column.
"""

import re
import shutil
import sys
import unicodedata
from typing import Any, TextIO, cast

#: Control and format characters of Unicode but for ends of lines and tab; file names bring halves of surrogate pairs.
_HIDDEN = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
#: Our own headings are bold.
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
_OWN = (BOLD, PLAIN)
_PICTURES = 0x2400
_DELETE = 0x7F
_FIRST_PRINTABLE = 0x20
#: Columns of text where the output is no terminal and COLUMNS is not set, and the fewest that are used.
_WIDTH = 120
_LEAST_WIDTH = 40


def visible(text: str) -> str:
    r"""Return a text with every character that a terminal obeys, or does not show, as a picture of it.

    >>> visible("a\x1b[2Jb\u202ec\n")
    'a␛[2Jb�c\n'
    """
    return _HIDDEN.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < _FIRST_PRINTABLE:
        return chr(_PICTURES + code)
    return "␡" if code == _DELETE else "\ufffd"


def line_width() -> int:
    """Return how many columns a line may have: COLUMNS, else the terminal's, else those of a wide page."""
    return max(_LEAST_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns)


def columns_of_text(text: str) -> int:
    """Return how many columns a text takes on a terminal.

    >>> columns_of_text("GPU"), columns_of_text("電力")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )


class VisibleStream:
    """A stream whose text is made visible; bold and plain stay."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; return how many characters it has."""
        shown = visible(text)
        for own in _OWN:
            shown = shown.replace(visible(own), own)
        self._stream.write(shown)
        return len(text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a stream has
        return getattr(self._stream, name)


def protect_streams() -> None:
    """Make what is printed visible from now on; characters that the output cannot hold are replaced, never an error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
        setattr(sys, name, cast("TextIO", VisibleStream(stream)))
