"""Carbon: intensity of grids, PUE of clouds and embodied emissions as data, and the formulas over them."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright.assets import root


@dataclass(frozen=True, kw_only=True, slots=True)
class Sourced:
    """A value with where it comes from; `note` says what it stands for."""

    value: float
    source: str
    note: str = ""


@cache
def _table(name: str, key: str, value: str, note: str) -> Mapping[str, Sourced]:
    with (root() / "tco" / name).open(encoding="utf-8", newline="") as lines:
        return {
            row[key]: Sourced(
                value=float(row[value]), source=f"{row['source']}, {row.get('year') or row.get('date')}", note=row[note]
            )
            for row in csv.DictReader(lines)
        }


def grid_intensities() -> Mapping[str, Sourced]:
    """Return grams of CO2e per kWh by cloud region or place (US state, country), location based, mean of a year."""
    return _table("grid_carbon.csv", "region", "grams_per_kwh", "locator")


def cloud_pues() -> Mapping[str, Sourced]:
    """Return facility over IT energy by cloud, as its operator states it for all its data centres."""
    return _table("cloud_pue.csv", "provider", "pue", "source")


def embodied_by_gpu() -> Mapping[str, Sourced]:
    """Return kg of CO2e of making one accelerator's share of its board, by catalogue id."""
    return _table("embodied_carbon.csv", "accelerator", "kg_per_gpu", "covers")


def operational_kg(kwh: float, grams_per_kwh: float) -> float:
    """Return kg of CO2e of electricity: kWh at the meter x grams per kWh / 1000.

    >>> operational_kg(1_000_000, 350)
    350000.0
    """
    return kwh * grams_per_kwh / 1000.0
