"""What the inputs of the cash flow are called where people read."""

import csv
from functools import cache

from clusterwright.assets import root


def input_words(key: str) -> str:
    """Return the name of an input in words (`tco/input_words.csv`), its key as words where it has none.

    >>> input_words("colocation_usd_per_kw_month"), input_words("of_tomorrow")
    ('colocation space', 'of tomorrow')
    """
    return _words().get(key, key.replace("_", " "))


@cache
def _words() -> dict[str, str]:
    with (root() / "tco" / "input_words.csv").open(encoding="utf-8", newline="") as lines:
        return {row["key"]: row["words"] for row in csv.DictReader(lines)}
