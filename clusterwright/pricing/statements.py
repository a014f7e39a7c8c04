"""SQL statements, which are in files of their own."""

import re
from functools import cache
from pathlib import Path

from clusterwright.assets import root


@cache
def statement(path: str) -> str:
    """Return the text of a statement, for example `pricing/sql/price_in_force.sql`."""
    return (root() / path).read_text(encoding="utf-8")


@cache
def words(path: str) -> frozenset[str]:
    """Return the words of a statement, its parameters with their dollar sign."""
    return frozenset(re.findall(r"\$?\w+", statement(path)))


def files(folder: str, pattern: str = "*.sql") -> tuple[Path, ...]:
    """Return the statements of a folder, for example `pricing/audits`, or other files of it, by name."""
    return tuple(sorted((root() / folder).glob(pattern)))
