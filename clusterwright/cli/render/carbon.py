"""Energy and carbon of every option as a table for a terminal."""

from collections.abc import Sequence

from clusterwright.cli.render.text_table import table
from clusterwright.finance.carbon import UNKNOWN, Emissions, thousands
from clusterwright.plan.record import WorkloadSummary
from clusterwright.plan.text.words import term_text


def carbon_lines(found: Sequence[Emissions], work: WorkloadSummary) -> list[str]:
    """Return the lines of the table and what its figures leave out, each remark once."""
    unit = work.unit
    columns = [
        ("Energy and carbon", "left"), ("MWh", ""), ("t CO2e, grid", ""), ("t CO2e, market", ""), ("embodied", ""),
        (f"t CO2e of {unit.asked}", ""), *([("g per million tokens", "")] if work.unit_tokens else []),
    ]  # fmt: skip
    rows = [
        [
            term_text(entry.key),
            thousands(entry.kwh),
            thousands(entry.location_kg),
            thousands(entry.market_kg),
            thousands(entry.embodied_kg),
            thousands(entry.run_kg),
            *([_grams(entry.grams_per_million_tokens)] if work.unit_tokens else []),
        ]
        for entry in found
    ]
    remarks = dict.fromkeys(part for entry in found for part in entry.note.split("; ") if part)
    return [
        table(columns, rows),
        f"  grid: mean of the grid; market: by contracts and certificates; {unit.each} bears grid and embodied share",
        "  rented: GPU nodes alone, at the nameplate of a system with that accelerator",
        "  (what controllers and storage draw is unknown); owned: everything in the racks",
        *(f"  {remark}" for remark in remarks),
    ]


def _grams(grams: float | None) -> str:
    return UNKNOWN if grams is None else f"{grams:,.4g}"
