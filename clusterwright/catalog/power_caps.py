"""Measured speed under a power cap (`catalog/power_caps.csv`), and the caps that an accelerator may be given."""

import csv
from dataclasses import dataclass
from functools import cache
from math import log
from statistics import median

from clusterwright import assets
from clusterwright.catalog.records import Accelerator
from clusterwright.errors import ClusterwrightError, InputError, MissingFactError

#: Lowest cap over the design power: an H100 or H200 takes 200 to 700 W (source helma-power-caps); taken for all.
LOWEST_SHARE = 200 / 700


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerCapMeasurement:
    """One published comparison: speed under a cap over the speed at full power."""

    device: str
    work: str
    cap_w: float
    full_w: float
    speed: float
    source: str
    note: str

    @property
    def exponent(self) -> float:
        """The `x` of `speed = (cap/full)^x`: 0 where the cap does not bind, 1/3 where power is the cube of the clock.

        1 where clock and power fall together.
        """
        return log(self.speed) / log(self.cap_w / self.full_w)


@dataclass(frozen=True, kw_only=True, slots=True)
class Exponents:
    """Exponents of `speed = (cap/full)^x`: the median of what is published, and the least and most of it."""

    least: float
    median: float
    most: float


@cache
def measurements() -> tuple[PowerCapMeasurement, ...]:
    """Return the published comparisons.

    Raises:
        ClusterwrightError: the file cannot be read.
    """
    path = assets.root() / "catalog" / "power_caps.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(
                PowerCapMeasurement(
                    device=row["device"],
                    work=row["work"],
                    cap_w=float(row["cap_w"]),
                    full_w=float(row["full_w"]),
                    speed=float(row["speed"]),
                    source=row["source"],
                    note=row["note"],
                )
                for row in csv.DictReader(file)
            )
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error


@cache
def exponents() -> Exponents:
    """Return the median, the least and the most of the published exponents; they differ much with work and device."""
    found = [entry.exponent for entry in measurements()]
    return Exponents(least=min(found), median=median(found), most=max(found))


def check_cap(accelerator: Accelerator, cap_w: float) -> None:
    """Refuse a cap that an accelerator cannot be given.

    Raises:
        MissingFactError: its design power is not known.
        InputError: the cap is above it, or below the lowest share of it that is known to work.
    """
    full = accelerator.power_w
    if full is None:
        raise MissingFactError(
            f"the design power of {accelerator.name} is unknown, so a cap has no effect that could be told",
            help="leave out power_cap, or choose another accelerator",
        )
    if cap_w > full:
        raise InputError(
            f"a power cap of {cap_w:g} W is above the {full:g} W that {accelerator.name} is designed for",
            help=f"give at most {full:g} W, or leave out power_cap",
        )
    lowest = LOWEST_SHARE * full
    if cap_w < lowest:
        raise InputError(
            f"a power cap of {cap_w:g} W is too low for {accelerator.name}, which is designed for {full:g} W",
            help=f"give at least {lowest:.0f} W: drivers refuse less (an H100 takes 200 to 700 W)",
        )
