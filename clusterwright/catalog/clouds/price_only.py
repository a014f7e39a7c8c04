"""Rented GPUs of providers that only prices are known of: compared and ranked, never deployed to."""

import csv
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceOnlyProduct:
    """What a provider rents: its price key, what people call it, and the accelerators in one unit of it."""

    sku: str
    provider: str
    item: str
    accelerator: str
    gpus: int


@cache
def price_only_products() -> dict[str, PriceOnlyProduct]:
    """Return the rows of `catalog/price_only_products.csv` by price key.

    Raises:
        ClusterwrightError: the file is missing or a row cannot be read.
    """
    path = assets.root() / "catalog" / "price_only_products.csv"
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return {
                row["sku"]: PriceOnlyProduct(
                    sku=row["sku"],
                    provider=row["provider"],
                    item=row["item"],
                    accelerator=row["accelerator"],
                    gpus=int(row["gpus"]),
                )
                for row in csv.DictReader(stream)
            }
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error
