"""Tables and bold lines for a terminal."""

import os
import sys
from collections.abc import Iterable, Sequence

from clusterwright.cli.terminal import BOLD, PLAIN


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """Return aligned columns; `left` or right per column. Nothing is cut: a terminal can scroll, a number cannot."""
    lines = [tuple(title for title, _ in columns), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
    aligned = [
        "  ".join(
            f"{cell:<{width}}" if justify == "left" else f"{cell:>{width}}"
            for cell, width, (_, justify) in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join(f"  {line}" for line in (bold(aligned[0]), *aligned[1:]))


def bold(text: str) -> str:
    """Return text in bold where the terminal shows it and the user has not asked for plain text."""
    return f"{BOLD}{text}{PLAIN}" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text
