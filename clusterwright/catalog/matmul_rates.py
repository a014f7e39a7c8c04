"""Measured rates of the fastest matrix multiplications (`catalog/matmul_rates.csv`), as shares of documented peaks.

Accelerators differ in how much of their peak any multiplication reaches: clocks fall under load, and libraries are more
or less tuned. One that was not measured takes the share of a kindred chip where the table names one, else the median of
those that were.
"""

import csv
from functools import cache
from statistics import median
from typing import NamedTuple

from clusterwright import assets
from clusterwright.catalog.precisions import EIGHT_BIT, FOUR_BIT
from clusterwright.errors import ClusterwrightError
from clusterwright.units import FLOP_RATE, parse

_SIXTEEN, _EIGHT = "bf16", "fp8"
#: Source of shares that a kindred chip lends.
_COMPUTED = "computed"


def share_of(accelerator: str, precision: str) -> float:
    """Return what the fastest measured multiplication reaches of an accelerator's dense peak.

    Four-bit rates were published for none, and are taken as the eight-bit ones.

    Args:
        accelerator: its id.
        precision: one of `PRECISIONS`.

    Raises:
        ClusterwrightError: the file cannot be read.
    """
    width = _EIGHT if precision in (*EIGHT_BIT, *FOUR_BIT) else _SIXTEEN
    own = _shares().get((accelerator, width))
    return (
        median(share for (_, each), share in measured_shares().items() if each == width) if own is None else own.share
    )


def measured_shares() -> dict[tuple[str, str], float]:
    """Return the shares that were measured, not taken over from a kindred chip, by accelerator and width.

    Widths are `bf16` and `fp8`.

    Raises:
        ClusterwrightError: the file cannot be read.
    """
    return {key: found.share for key, found in _shares().items() if found.measured}


class _Share(NamedTuple):
    share: float
    measured: bool


@cache
def _shares() -> dict[tuple[str, str], _Share]:
    path = assets.root() / "catalog" / "matmul_rates.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {
                (row["accelerator"], row["precision"]): _Share(
                    share=parse(row["measured_flop_per_s"], FLOP_RATE) / parse(row["peak_flop_per_s"], FLOP_RATE),
                    measured=row["source"] != _COMPUTED,
                )
                for row in csv.DictReader(file)
            }
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error
