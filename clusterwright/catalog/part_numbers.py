"""Makers' numbers of parts, where a document of the maker states one; others are to be named in the quote."""

import csv
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError


@cache
def part_numbers() -> dict[str, str]:
    """Return the rows of `catalog/part_numbers.csv`: the maker's number by price key.

    Raises:
        ClusterwrightError: the file is missing or a row cannot be read.
    """
    path = assets.root() / "catalog" / "part_numbers.csv"
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return {row["part"]: row["number"] for row in csv.DictReader(stream)}
    except (OSError, KeyError) as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error
