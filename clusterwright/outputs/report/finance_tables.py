"""The tables of finance in the report: returns, unit costs, tax, books and financing."""

from collections.abc import Iterable

from clusterwright.finance.carbon import thousands
from clusterwright.finance.finances import Finances
from clusterwright.finance.returns import Return
from clusterwright.finance.words import several_owned
from clusterwright.outputs.drawing.heat_map import heat_map
from clusterwright.outputs.page_parts import Cell, Table, by_column
from clusterwright.plan.record import Plan
from clusterwright.plan.text.inputs import input_words
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import NONE
from clusterwright.plan.text.words import capital, depreciation_text, month_text, term_text
from clusterwright.tco.taxes.financing import Financed
from clusterwright.units import percent

_NONE = "none"


def returns_table(found: Finances, money: MoneyFormat) -> Table:
    """Return what owning brings against each rented option, as an investment; empty where nothing is owned."""
    mine, several = found.returns, several_owned(found)
    return by_column(
        {
            "Owning against": [capital(term_text(entry.rented_key)) for entry in mine],
            "Present value saved": money.column(entry.npv_usd for entry in mine),
            "Internal rate of return": [
                _NONE if entry.irr_per_year is None else f"{percent(entry.irr_per_year)} a year" for entry in mine
            ],
            "Money back": [month_text(entry.payback_months) for entry in mine],
            "Money back, discounted": [month_text(entry.discounted_payback_months) for entry in mine],
            "Less cash so far, P10 to P90": [
                f"{month_text(entry.breakeven_months_p10)} to {month_text(entry.breakeven_months_p90)}"
                for entry in mine
            ],
            "Never in": [percent(entry.probability_never) for entry in mine],
            "Breakeven utilisation": [
                _NONE if entry.breakeven_utilisation is None else percent(entry.breakeven_utilisation) for entry in mine
            ],
            "Breakeven price of a node": [
                _NONE if entry.breakeven_rent_factor is None else f"{percent(entry.breakeven_rent_factor)} of it"
                for entry in mine
            ],
        },
        details=["; ".join(filter(None, (several * term_text(entry.owned_key), _why_none(entry)))) for entry in mine],
    )


def _why_none(entry: Return) -> str:
    return entry.reason if entry.irr_per_year is None or entry.payback_months is None else ""


def _dashed(amounts: Iterable[float | None], money: MoneyFormat) -> list[str]:
    """Return amounts with a dash for those that there are not: cash has no share, a share no cash."""
    listed = list(amounts)
    return [NONE if usd is None else text for usd, text in zip(listed, money.column(listed), strict=True)]


def unit_cost_table(plan: Plan, found: Finances, money: MoneyFormat) -> Table:
    """Return what work costs on each option: a unit, a useful GPU-hour, a million tokens, an effective PFLOP-hour."""
    units, unit_of_work = found.unit_costs, plan.workload.unit
    work = plan.workload
    of_tokens = {"Million tokens": money.small_column(unit.usd_per_million_tokens for unit in units)}
    of_flop = {"Effective PFLOP-hour": money.small_column(unit.usd_per_effective_pflop_hour for unit in units)}
    return by_column(
        {
            "Where and how": [capital(term_text(cost.key)) for cost in found.costs],
            capital(unit_of_work.asked): _dashed((cost.run_cash_usd for cost in found.costs), money),
            f"Share of {unit_of_work.each}": _dashed((cost.run_share_usd for cost in found.costs), money),
            "GPU-hour": money.small_column(cost.usd_per_gpu_hour for cost in found.costs),
            "Useful GPU-hour, levelised": money.small_column(unit.levelised_usd_per_gpu_hour for unit in units),
        }
        | (of_tokens if work.unit_tokens else {})
        | (of_flop if work.unit_flop else {})
    )


def tax_table(found: Finances, money: MoneyFormat) -> Table:
    """Return every option before and after tax: as cash, and as the books show the same cost."""
    mine = found.taxed.options
    return by_column(
        {
            "Where and how": [capital(term_text(entry.key)) for entry in mine],
            "Present value before tax": money.column(entry.npv_before_tax_usd for entry in mine),
            "Present value after tax": money.column(entry.npv_after_tax_usd for entry in mine),
            "Cash after tax": money.column(entry.after_tax_usd for entry in mine),
            "Most cash out": money.column(entry.peak_cash_usd for entry in mine),
            "Running costs": money.column(entry.opex_usd for entry in mine),
            "Written off": _or_dash((entry.depreciation_usd for entry in mine), money),
            "Loss on sale": _or_dash((entry.loss_on_disposal_usd for entry in mine), money),
        }
    )


def drawn_inputs_table(found: Finances) -> Table:
    """Return what the draws take at random: the ends of each input as shares of its base, and where they come from."""
    mine = [entry for entry in found.inputs if not entry.certain]
    return Table(
        columns=("Input", "Low", "High", "Distribution", "Reason", "Source"),
        rows=tuple(
            tuple(
                Cell(text=text)
                for text in (
                    capital(input_words(entry.key)),
                    percent(entry.low),
                    percent(entry.high),
                    entry.distribution.replace("_", " "),
                    entry.reason,
                    entry.source,
                )
            )
            for entry in mine
        ),
        numeric=frozenset({1, 2}),
    )


def book_table(found: Finances, money: MoneyFormat) -> Table:
    """Return what is written off in each year after the purchase, and the value left in the books."""
    return Table(
        columns=("Year", f"Written off, {money.code}", f"Left in the books, {money.code}"),
        rows=tuple(
            (
                Cell(text=str(year.year)),
                Cell(text=f"{money.amount(year.depreciation_usd):,.0f}"),
                Cell(text=f"{money.amount(year.book_value_usd):,.0f}"),
            )
            for year in found.taxed.books
        ),
        numeric=frozenset({1, 2}),
    )


def carbon_table(plan: Plan, found: Finances) -> Table:
    """Return energy and carbon of every option; what is not known is said to be."""
    tokens = plan.workload.unit_tokens
    return Table(
        columns=(
            "Where and how",
            "MWh",
            "t CO2e by the grid",
            "t CO2e by contracts",
            "Embodied, t CO2e",
            f"{capital(plan.workload.unit.asked)}, t CO2e",
            *(["g CO2e per million tokens"] if tokens else []),
        ),
        rows=tuple(
            (
                Cell(text=capital(term_text(entry.key))),
                *(
                    Cell(text=thousands(value))
                    for value in (entry.kwh, entry.location_kg, entry.market_kg, entry.embodied_kg, entry.run_kg)
                ),
                *([_grams(entry.grams_per_million_tokens)] if tokens else []),
            )
            for entry in found.carbon
        ),
        numeric=frozenset(range(1, 7 if tokens else 6)),
    )


def _grams(grams: float | None) -> Cell:
    return Cell(text="unknown" if grams is None else f"{grams:,.4g}")


def carbon_remarks(found: Finances) -> tuple[str, ...]:
    """Return what the figures of carbon rest on and leave out, each remark once."""
    return tuple(dict.fromkeys(part for entry in found.carbon for part in entry.note.split("; ") if part))


def financing_sentence(paid: Financed | None, money: MoneyFormat) -> str:
    """Return the loan or the lease in a sentence; empty where there is none."""
    if paid is None:
        return ""
    return (
        f"With a {paid.kind} of {money.text(paid.financed_usd)}: {money.text(paid.usd_per_month)} a month, "
        f"{money.text(paid.interest_usd)} of interest, a liability of {money.text(paid.liability_usd)}; "
        f"present value after tax {money.text(paid.npv_after_tax_usd)}."
    )


def tax_sentence(found: Finances) -> str:
    """Return what tax, depreciation and delivery were counted with, in a sentence or two."""
    taxed = found.taxed
    at_once = f", {percent(taxed.bonus_fraction)} of it at once" if taxed.bonus_fraction else ""
    written_off = depreciation_text(taxed.depreciation) + at_once
    words = f"Tax of {percent(taxed.tax_rate)} on income; purchases are written off {written_off}."
    if taxed.delivery_months:
        words += (
            f" Paid at order, at work after {taxed.delivery_months} months; until then "
            f"{term_text(taxed.bridged_by)} is rented."
        )
    return words


def saving_map(found: Finances, money: MoneyFormat) -> str:
    """Return what owning saves by utilisation and by the price of the rented nodes; empty if nothing is compared."""
    if not found.heat:
        return ""
    prices = sorted({cell.cloud_price for cell in found.heat})
    used = sorted({cell.utilisation for cell in found.heat}, reverse=True)
    saving = {(cell.utilisation, cell.cloud_price): cell.saving_usd for cell in found.heat}
    words = dict(zip(saving, money.column(saving.values()), strict=True))
    return heat_map(
        title="What owning saves by utilisation and rental price",
        rows=[percent(share) for share in used],
        columns=[percent(price) for price in prices],
        cells=[[(saving[share, price], words[share, price]) for price in prices] for share in used],
        row_title="utilisation",
        column_title="price of the rented nodes, of today's",
    )


def _or_dash(amounts: Iterable[float], money: MoneyFormat) -> list[str]:
    """Return a column of money in which nothing is a dash."""
    listed = list(amounts)
    return [words if usd else "–" for usd, words in zip(listed, money.column(listed), strict=True)]
