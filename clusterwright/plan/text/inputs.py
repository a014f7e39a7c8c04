"""What the inputs of the cash flow are called where people read."""

import csv
from functools import cache

from clusterwright.assets import root
from clusterwright.plan.text.words import term_text


def input_words(key: str) -> str:
    """Return the name of an input in words (`tco/input_words.csv`), its key as words where it has none.

    An input of one option alone (`key@option`) names the option.

    >>> input_words("colocation_usd_per_kw_month"), input_words("of_tomorrow")
    ('colocation space', 'of tomorrow')
    >>> input_words("pue_of_tomorrow@onprem/own_building")
    'pue of tomorrow (on premises, own building)'
    """
    name, _, option = key.partition("@")
    words = _words().get(name, name.replace("_", " "))
    return f"{words} ({term_text(option)})" if option else words


@cache
def _words() -> dict[str, str]:
    with (root() / "tco" / "input_words.csv").open(encoding="utf-8", newline="") as lines:
        return {row["key"]: row["words"] for row in csv.DictReader(lines)}
