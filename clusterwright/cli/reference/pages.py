"""The pages of the documentation, which are a part of the installation."""

import pydoc
import sys
from difflib import get_close_matches
from pathlib import Path

from clusterwright import assets
from clusterwright.errors import InputError


def show(topic: str | None) -> None:
    """Print a page, with a pager on a terminal; without a topic, what each page is about.

    Args:
        topic: the name of a page, or its path as messages print it.

    Raises:
        InputError: there is no such page.
    """
    known = pages()
    if topic is None:
        width = max(map(len, known))
        print("\n".join(f"{name:<{width}}  {_title(path)}" for name, path in known.items()))
        return
    name = Path(topic.partition("#")[0]).name.removesuffix(".md")
    if name not in known:
        close = get_close_matches(name, known, n=1)
        raise InputError(
            f"there is no page {topic!r}",
            help=f"did you mean {close[0]!r}?" if close else "list them: clusterwright docs",
        )
    text = known[name].read_text(encoding="utf-8")
    if sys.stdout.isatty():
        pydoc.pager(text)
    else:
        sys.stdout.write(text)


def pages() -> dict[str, Path]:
    """Return every page by its name."""
    return {path.stem: path for path in sorted((assets.root() / "docs").glob("*.md"))}


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#").strip()
