"""Names of what a bill can hold, by price key, and makers' numbers of parts where a document states one."""

import csv
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError


@dataclass(frozen=True, kw_only=True, slots=True)
class Sku:
    """One price key: what people call it, its category, the unit it is sold in, and how it is charged."""

    sku: str
    item: str
    category: str
    unit: str
    charge: str
    note: str


@cache
def skus() -> dict[str, Sku]:
    """Return the rows of `catalog/skus.csv` by price key.

    Raises:
        ClusterwrightError: the file is missing or a row cannot be read.
    """
    path = assets.root() / "catalog" / "skus.csv"
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return {row["sku"]: Sku(**row) for row in csv.DictReader(stream)}
    except (OSError, KeyError, TypeError) as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error


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
