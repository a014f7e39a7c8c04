"""Markdown that others' names cannot break: cells and tables for comments of pull requests."""

import re
from collections.abc import Iterable, Sequence

#: An underscore within a word marks nothing.
_MARKS = re.compile(r"[\\`*{}\[\]<>#!|~@]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def cell(text: str) -> str:
    r"""Return text that stays one cell of a table, and no markup, mention or link.

    >>> print(cell("a|b <img> @all https://x"))
    a\|b \<img\> \@all https\://x
    """
    plain = _MARKS.sub(r"\\\g<0>", text)
    return " ".join(plain.replace("://", "\\://").replace("www.", "www\\.").split())


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> list[str]:
    """Return the lines of a table, its cells escaped; the first `words` columns are words, the others numbers."""
    return [
        f"| {' | '.join(cell(name) for name in header)} |",
        f"|{'---|' * words}{'---:|' * (len(header) - words)}",
        *(f"| {' | '.join(cell(text) for text in row)} |" for row in rows),
    ]
