"""What services besides machines are called in providers' price lists: `catalog/service_meters.csv`."""

import csv
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from clusterwright import assets
from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.pricing.offer_lines import REGION_PREFIX

_PREFIX = re.compile(f"^{REGION_PREFIX}")


@cache
def _rows() -> tuple[dict[str, str], ...]:
    path = assets.root() / "catalog" / "service_meters.csv"
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return tuple(csv.DictReader(lines))
    except OSError as error:
        raise ClusterwrightError(f"cannot read {path}: {error}", help="install Clusterwright again") from error


def meters(provider: str) -> list[dict[str, Any]]:
    """Return the meters of a provider's services, as rules take them.

    Each has the price key (`sku`), `charge` and `unit` of our price, `provider_unit`, how many of our units are in one
    of the provider's (`units_in_one`), and `conditions`: texts such as `productfamily=Storage` that a row of the price
    list has all of, the first of them the one that most other rows lack.

    Raises:
        ClusterwrightError: the table cannot be read.
    """
    return [
        {
            "sku": row["sku"],
            "charge": row["charge"],
            "unit": row["unit"],
            "provider_unit": row["provider_unit"],
            "units_in_one": float(row["units_in_one"]),
            "conditions": _conditions(row),
        }
        for row in _rows()
        if row["provider"] == provider
    ]


def services(provider: str) -> tuple[str, ...]:
    """Return the services of a provider whose prices can be read, by the provider's name for them."""
    return tuple(dict.fromkeys(row["service"] for row in _rows() if row["provider"] == provider))


def chosen_services(provider: str, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the services that are asked for, each once.

    Raises:
        InputError: no rule reads one of them.
    """
    known = services(provider)
    unknown = [service for service in asked if service not in known]
    if unknown:
        raise InputError(
            f"there is no rule for the service {', '.join(map(repr, unknown))}",
            help=f"services: {', '.join(map(repr, known))}",
        )
    return tuple(dict.fromkeys(asked))


def first_values(provider: str, service: str = "") -> tuple[str, ...]:
    """Return the value of each meter's first condition, of one service or of all: a row without one is of no meter."""
    found = (
        _conditions(row)[0].partition("=")[2]
        for row in _rows()
        if row["provider"] == provider and service in ("", row["service"])
    )
    return tuple(dict.fromkeys(found))


def is_metered(provider: str, attributes: dict[str, str]) -> bool:
    """Return whether a product of a price list is one of the meters.

    Args:
        provider: whose list it is.
        attributes: of the product, by plain name (`offer_lines.plain_name`).
    """
    said = {f"{name}={_PREFIX.sub('', value) if name == 'usagetype' else value}" for name, value in attributes.items()}
    return any(said.issuperset(_conditions(row)) for row in _rows() if row["provider"] == provider)


def _conditions(row: dict[str, str]) -> list[str]:
    return row["conditions"].split("; ")
