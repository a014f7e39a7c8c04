"""Energy and carbon of every option: kWh x intensity of the grid, and the share of making the equipment."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache

from clusterwright.assets import root
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import InputError
from clusterwright.plan.record import Plan
from clusterwright.tco.finance_terms import CarbonTerms
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import CandidateCost

_OWNED = "onprem"


UNKNOWN = "unknown"
_WHOLE = 1000  # from here on without decimals


@dataclass(frozen=True, kw_only=True, slots=True)
class Emissions:
    """Energy and carbon of one option over the horizon; None is unknown, and `note` says why, or what is left out.

    Attributes:
        key: of the option.
        kwh: at the meter, cooling included.
        location_kg, market_kg: CO2e of that electricity by the grid's mean, and by contracts and certificates.
        embodied_kg: CO2e of making the equipment, by the share of its life that it works here.
        run_kg, grams_per_million_tokens: of one run, location based with the embodied share (without where unknown).
        source: of the grid's intensity.
    """

    key: str
    kwh: float | None
    location_kg: float | None
    market_kg: float | None
    embodied_kg: float | None
    run_kg: float | None
    grams_per_million_tokens: float | None
    source: str
    note: str


def emissions(
    plan: Plan, ledger: Ledger, costs: Sequence[CandidateCost], accelerators: Mapping[str, str]
) -> tuple[Emissions, ...]:
    """Return energy and carbon of every option, in their order.

    An owner's meter: as the cash flow's energy. Rented nodes draw their load while they work, and commitments their
    idle share in all other hours, at the nameplate of a system with the same accelerator and the operator's PUE.

    Args:
        plan: with its options, and the terms of carbon.
        ledger: their cash flow.
        costs: of the options.
        accelerators: catalogue ids, by key of the option.

    Raises:
        InputError: the grid or a target of `tco.carbon` is unknown.
    """
    _check(plan.finance.carbon, plan)
    owned = {row["key"]: row["kwh"] for row in ledger.query("tco/sql/owner_energy.sql", {})}
    regions = {option.target: option.deployment.region for option in plan.options}
    plain = {
        cost.key: _emissions(
            plan,
            ledger,
            cost,
            _Place(
                target=cost.target,
                region=regions.get(cost.target, ""),
                accelerator=accelerators.get(cost.key, ""),
                owned_kwh=owned.get(cost.key),
            ),
        )
        for cost in costs
        if not cost.mixed
    }
    return tuple(plain.get(cost.key) or _of_mix(ledger, cost.key, plain) for cost in costs)


def _of_mix(ledger: Ledger, key: str, plain: Mapping[str, Emissions]) -> Emissions:
    """Return what a mix emits: what its only part does, such as what is bought with a loan."""
    part, *others = ledger.work_shares[key]
    if others or part not in plain:
        return _unknown(key, "of mixes: see their parts")
    return replace(plain[part], key=key)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """Where and on what an option runs; the kWh of its own meter, if it is owned."""

    target: str
    region: str
    accelerator: str
    owned_kwh: float | None


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


def _check(carbon: CarbonTerms, plan: Plan) -> None:
    known = grid_intensities()
    if carbon.grid is not None and carbon.grid not in known:
        close = get_close_matches(carbon.grid, known, n=3, cutoff=0.4)
        raise InputError(
            f"the carbon of the grid {carbon.grid!r} is unknown",
            help=f"did you mean {', '.join(close)}?" if close else "give grid_grams_per_kwh in its place",
            path=("tco", "carbon", "grid"),
        )
    targets = sorted(option.target for option in plan.options)
    for target in carbon.market_grams_per_kwh:
        if target not in targets:
            raise InputError(
                f"there is no target {target!r} to buy certificates for",
                help=f"targets of the plan: {', '.join(targets)}",
                path=("tco", "carbon", "market_grams_per_kwh", target),
            )


def _emissions(plan: Plan, ledger: Ledger, cost: CandidateCost, option: _Place) -> Emissions:
    carbon, notes = plan.finance.carbon, []
    kwh = option.owned_kwh if cost.owned else _rented_kwh(ledger, cost, option)
    if kwh is None:
        known = option.target in cloud_pues()
        notes.append(
            f"no power is known of systems with {option.accelerator}"
            if known
            else "providers other than the three clouds: neither PUE nor grid known"
        )
    grams, source = _intensity(carbon, option)
    if grams is None:
        notes += ["grid unknown: give tco.carbon.grid"] if cost.owned else []
        notes += [f"grid of {option.region} unknown"] if option.region and not cost.owned else []
    location = None if kwh is None or grams is None else operational_kg(kwh, grams)
    market_grams = carbon.market_grams_per_kwh.get(option.target)
    market = None if kwh is None or market_grams is None else operational_kg(kwh, market_grams)
    embodied, covers = _embodied(carbon, ledger, cost, option)
    notes += [covers] if covers else []
    run, tokens = None, plan.workload.unit_tokens
    if location is not None:
        run = (location + (embodied or 0.0)) / cost.runs_in_horizon
    return Emissions(
        key=cost.key,
        kwh=kwh,
        location_kg=location,
        market_kg=market,
        embodied_kg=embodied,
        run_kg=run,
        grams_per_million_tokens=None if run is None or tokens is None else run * 1000.0 / tokens * 1e6,
        source=source,
        note="; ".join(notes),
    )


def _unknown(key: str, note: str) -> Emissions:
    return Emissions(
        key=key,
        kwh=None,
        location_kg=None,
        market_kg=None,
        embodied_kg=None,
        run_kg=None,
        grams_per_million_tokens=None,
        source="",
        note=note,
    )


def _hours(ledger: Ledger) -> float:
    return ledger.economics.horizon_months * ledger.economics.hours_per_month


def _worked(ledger: Ledger, cost: CandidateCost) -> float:
    """Return the share of the hours of the horizon that one cluster works; above 1 where the work outgrows it."""
    return cost.busy_fraction * ledger.economics.growth.mean_work(ledger.economics.horizon_months)


def _rented_kwh(ledger: Ledger, cost: CandidateCost, option: _Place) -> float | None:
    kilowatts = _kw_per_gpu().get(option.accelerator)
    pue = cloud_pues().get(option.target)
    if kilowatts is None or pue is None:
        return None
    values = _base(ledger)
    worked = _worked(ledger, cost)
    idle = max(0.0, 1.0 - worked) if cost.term.startswith("reserved") else 0.0
    drawn = worked * values["load_power_fraction"] + idle * values["idle_power_fraction"]
    return kilowatts * cost.gpus * drawn * _hours(ledger) * pue.value


def _base(ledger: Ledger) -> Mapping[str, float]:
    return {entry.key: entry.value for entry in ledger.parameters}


def _kw_per_gpu() -> dict[str, float]:
    """Return nameplate kW per GPU of the first system of the catalogue with each accelerator and a known power."""
    found: dict[str, float] = {}
    for system in load_catalogue().systems.values():
        if system.power_max_w is not None:
            found.setdefault(system.accelerator, system.power_max_w / system.gpus / 1000.0)
    return found


def _intensity(carbon: CarbonTerms, option: _Place) -> tuple[float | None, str]:
    place = option.region
    if option.target == _OWNED:
        if carbon.grid_grams_per_kwh is not None:
            return carbon.grid_grams_per_kwh, "blueprint"
        place = carbon.grid or carbon.tariff_grid
    found = grid_intensities().get(place)
    return (None, "") if found is None else (found.value, f"{found.source}: {found.note}")


def _embodied(carbon: CarbonTerms, ledger: Ledger, cost: CandidateCost, option: _Place) -> tuple[float | None, str]:
    life_months = carbon.life_months
    published = embodied_by_gpu().get(option.accelerator)
    if carbon.embodied_kg_per_server is not None:
        making, covers = carbon.embodied_kg_per_server * cost.nodes, ""
    elif published is not None:
        making, covers = published.value * cost.gpus, f"embodied: {published.note}"
    else:
        return None, f"embodied carbon of {option.accelerator} unknown"
    if cost.owned:
        held = next(row for row in ledger.query("tco/sql/owner_held.sql", {}) if row["key"] == cost.key)
        return making * min(held["held_months"] / life_months, held["made"]), covers
    used = 1.0 if cost.term.startswith("reserved") else _worked(ledger, cost)
    return making * used * ledger.economics.horizon_months / life_months, covers


def thousands(value: float | None) -> str:
    """Return kWh as MWh, or kg as t: whole ones, small amounts to four digits; `unknown` for None.

    >>> thousands(10_316_000.0), thousands(28_340.0), thousands(None)
    ('10,316', '28.34', 'unknown')
    """
    if value is None:
        return UNKNOWN
    shown = value / 1000.0
    return f"{shown:,.0f}" if shown >= _WHOLE else f"{shown:,.4g}"
