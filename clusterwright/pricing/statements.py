"""SQL statements, which stand in files of their own."""

import re
from functools import cache
from pathlib import Path

from clusterwright.assets import root

#: Steps that statements share, in the order in which they build on each other.
RULES = ("gpu_product", "price_on", "chosen_price", "price_point", "known_point")


@cache
def statement(path: str) -> str:
    """Return the text of a statement, for example `pricing/sql/price_in_force.sql`."""
    return (root() / path).read_text(encoding="utf-8")


def with_rules(path: str) -> str:
    """Return a statement, and below it the rules of its own (`RULES`) that it reads, each under its name."""
    text = statement(path).rstrip()
    parts = [text]
    for rule in RULES:
        if re.search(rf"\b{rule}\b", "\n".join(parts)):
            parts.append(f"-- {rule}:\n{statement(f'pricing/sql/{rule}.sql').rstrip()}")
    return "\n\n".join(parts)


def files(folder: str, pattern: str = "*.sql") -> tuple[Path, ...]:
    """Return the statements of a folder, for example `pricing/audits`, or other files of it, by name."""
    return tuple(sorted((root() / folder).glob(pattern)))
