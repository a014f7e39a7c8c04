"""What compare --finance says of chance, and of energy and carbon, as tables for a terminal."""

from collections.abc import Sequence

from clusterwright.cli.render.text_table import prose, table
from clusterwright.finance.carbon import UNKNOWN, Emissions, thousands
from clusterwright.finance.chance_words import chance_sentences
from clusterwright.finance.finances import Finances
from clusterwright.outputs.report.ranking import LEAST_RIGHT
from clusterwright.plan.record import WorkloadSummary
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import term_text
from clusterwright.units import percent


def method(found: Finances) -> list[str]:
    """Return lines that say what was drawn, where rental prices go, and which options fell out of some draws."""
    return [line for said in chance_sentences(found) for line in prose(said, indent=2)]


def after_tax(found: Finances, money: MoneyFormat) -> list[str]:
    """Return a table of the bands after tax, cheapest first."""
    columns = [
        ("After tax, over the draws", "left"),
        ("P10", ""),
        ("P50", ""),
        ("P90", ""),
        ("dearest tenth", ""),
        ("cheapest in", ""),
        ("regret", ""),
    ]
    ordered = sorted(found.drawn, key=lambda entry: (entry.npv_after_tax_usd_p50 or 0.0, entry.key))
    competing = {cost.key for cost in found.costs if cost.competes}
    rows = [
        [
            term_text(entry.key),
            money.text(entry.npv_after_tax_usd_p10),
            money.text(entry.npv_after_tax_usd_p50),
            money.text(entry.npv_after_tax_usd_p90),
            money.text(entry.npv_after_tax_usd_dearest_tenth),
            percent(entry.probability_cheapest_after_tax) if entry.key in competing else "–",
            money.text(entry.regret_after_tax_usd) if entry.key in competing else "–",
        ]
        for entry in ordered
    ]
    return ["", table(columns, rows)]


def wrong_choices(found: Finances, money: MoneyFormat) -> list[str]:
    """Return a table of what each option costs more where another one was right; nothing where one always is."""
    right = {entry.right_key: entry.probability for entry in found.regrets if entry.probability >= LEAST_RIGHT}
    if len(right) < 2:  # noqa: PLR2004 - a choice
        return []
    ordered = sorted(right, key=lambda key: (-right[key], key))
    regret = {(entry.key, entry.right_key): entry.regret_usd for entry in found.regrets}
    columns = [("", "left"), *((f"{term_text(key)} ({percent(right[key])})", "") for key in ordered)]
    rows = [
        [term_text(key), *("right" if key == other else _cost(regret[key, other], money) for other in ordered)]
        for key in ordered
    ]
    title = "What a choice (rows) costs more on average where another one turns out right (columns)"
    return ["", title, table(columns, rows)]


def _cost(usd: float | None, money: MoneyFormat) -> str:
    return "cannot do it" if usd is None else money.text(usd)


def carbon_lines(found: Sequence[Emissions], work: WorkloadSummary) -> list[str]:
    """Return the lines of the table and what its figures leave out, each remark once."""
    unit = work.unit
    columns = [
        ("Energy and carbon", "left"),
        ("MWh", ""),
        ("t CO2e, grid", ""),
        ("t CO2e, market", ""),
        ("embodied", ""),
        (f"t CO2e of {unit.asked}", ""),
        *([("g per million tokens", "")] if work.unit_tokens else []),
    ]
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
