"""Markdown of the generated pages: tables whose cells may hold code, and the head that says how a page is made."""

import re
from collections.abc import Iterable, Sequence

#: What has a meaning in a cell besides code.
_MARKS = re.compile(r"[\\|<>*\[\]]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_CODE = re.compile(r"(`[^`]*`)")


def page(title: str, introduction: str, *parts: str) -> str:
    """Return a page: its title, who wrote it, the introduction, and its parts with a blank line between them."""
    notice = "<!-- Generated: python -m clusterwright.documentation. Do not edit. -->"
    return "\n\n".join((f"# {title}", notice, introduction.strip(), *(part.strip() for part in parts if part))) + "\n"


def prose(text: str) -> str:
    r"""Return text of one line that Markdown prints as it is; code in backticks stays code.

    >>> print(prose("a|b `c|d` <img>"))
    a\|b `c\|d` \<img\>
    """
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        part.replace("|", "\\|") if index % 2 else _MARKS.sub(r"\\\g<0>", part) for index, part in enumerate(parts)
    )


def code(text: str) -> str:
    r"""Return a cell of code; nothing for no text.

    >>> print(code("a|b")), code("")
    `a\|b`
    (None, '')
    """
    return f"`{' '.join(text.split())}`".replace("|", "\\|") if text else ""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return "\n".join((*lines, *(f"| {' | '.join(row)} |" for row in rows)))
