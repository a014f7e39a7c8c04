"""Ranges of versions: `>=580.65.06`, `>=12 <14`, `6.8|6.11`, `open`, and what of them a version is in.

A version of numbers is compared by its parts. A bound of fewer parts stands for all that begin with it: 6.17.3 is in
`<=6.17`, and 595.71.05 is in `595`. Words (`open`, `ubuntu-24.04`) are in a range that names them.
"""

import re
from dataclasses import dataclass
from functools import cache

_NUMBERS = re.compile(r"\d+(\.\d+)*")
_TERM = re.compile(r"(>=|<=|>|<|=)?(\S+)")
ANY, SAME = "*", "same"


def numbers(version: str) -> tuple[int, ...] | None:
    """Return the parts of a version of numbers; None for a word.

    >>> numbers("595.71.05"), numbers("open")
    ((595, 71, 5), None)
    """
    return tuple(int(part) for part in version.split(".")) if _NUMBERS.fullmatch(version) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """Which versions of a component are allowed.

    Attributes:
        text: as written; `*` for all. Terms apart by blanks all hold; of alternatives apart by `|` one.
    """

    text: str

    def __contains__(self, version: str) -> bool:
        """Tell whether a version is in the range.

        >>> "13.0" in Range(text=">=12 <14"), "6.17" in Range(text="6.8|6.11")
        (True, False)
        """
        return _contains(self.text, version)


@cache
def _contains(text: str, version: str) -> bool:
    return text == ANY or all(_meets(term, version) for term in text.split())


def _meets(term: str, version: str) -> bool:
    found = _TERM.fullmatch(term)
    assert found is not None  # noqa: S101 - a term has no blank
    sign, bound = found[1], found[2]
    if sign in (None, "="):
        return any(_begins(version, other) for other in bound.split("|"))
    have, limit = numbers(version), numbers(bound)
    if have is None or limit is None:
        return False
    short = have[: len(limit)]
    return {">=": have >= limit, ">": short > limit, "<=": short <= limit, "<": short < limit}[sign]


def _begins(version: str, other: str) -> bool:
    have, wanted = numbers(version), numbers(other)
    return version == other if have is None or wanted is None else have[: len(wanted)] == wanted
