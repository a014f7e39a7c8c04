"""The pages of the documentation, which are a part of the installation."""

import csv
import re
import sys
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from clusterwright import assets
from clusterwright.errors import InputError

#: Folders in the order of a reader, each with its title.
FOLDERS = {
    "": "Start",
    "start": "Start",
    "tutorials": "Tutorials",
    "howto": "How to",
    "explain": "Explanations",
    "reference": "Reference",
    "evidence": "Evidence",
    "project": "Project",
}
#: Pages that were divided or renamed; messages of earlier versions name them.
_FORMER_NAMES = "former_names.csv"
#: Comments say how pages are made and tested.
_COMMENT = re.compile(r"^<!--.*?-->\n(?:\n(?=\n))?", re.M | re.S)


def show(topic: str | None) -> None:
    """Print a page, with a pager on a terminal; without a topic, what each page is about.

    Args:
        topic: the name of a page, its path, or a name that it had.

    Raises:
        InputError: there is no such page.
    """
    if topic is None:
        print("\n".join(_list()))
        return
    text = _COMMENT.sub("", page(topic).read_text(encoding="utf-8"))
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    terminal = Console()
    with terminal.pager(styles=True):
        terminal.print(Markdown(text, hyperlinks=False))


def page(topic: str) -> Path:
    """Return the file of a page.

    Args:
        topic: its name, its path, either with a place in it behind `#`, or a name that it had.

    Raises:
        InputError: there is no such page.
    """
    known = pages()
    name = Path(topic.partition("#")[0]).name.removesuffix(".md")
    name = name if name in known else former_names().get(name, name)
    if name in known:
        return known[name]
    close = get_close_matches(name, [*known, *former_names()], n=1)
    raise InputError(
        f"there is no page {topic!r}",
        help=f"did you mean {close[0]!r}?" if close else "list them: clusterwright docs",
    )


@cache
def pages() -> dict[str, Path]:
    """Return every page by its name, in the order of `FOLDERS`."""
    root = assets.root() / "docs"
    found = [path for folder in FOLDERS for path in sorted((root / folder).glob("*.md"))]
    return {path.stem: path for path in found}


@cache
def former_names() -> dict[str, str]:
    """Return the name of a page by each name that it had."""
    path = assets.root() / "docs" / _FORMER_NAMES
    with path.open(encoding="utf-8", newline="") as file:
        return {row["former"]: row["now"] for row in csv.DictReader(file)}


def _list() -> list[str]:
    known = pages()
    width = max(map(len, known))
    lines: list[str] = []
    for folder, title in FOLDERS.items():
        inside = {name: path for name, path in known.items() if path.parent.name == (folder or "docs")}
        lines += [] if not inside or title in lines else ["", title]
        lines += [f"  {name:<{width}}  {_title(path)}" for name, path in inside.items()]
    return [*lines[1:], "", "Read one: clusterwright docs NAME"]


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#").strip()
