"""What the sheet Checks holds every view against: the engine's own figures, written as numbers beside the formulas."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.outputs.workbook.months.cash import CashSheet, has_all
from clusterwright.outputs.workbook.months.engine_rows import paid_by_month
from clusterwright.outputs.workbook.results.units import unit_figures
from clusterwright.outputs.workbook.tax.sheet import Taxed
from clusterwright.outputs.workbook.writing.formula import Figure
from clusterwright.outputs.workbook.writing.shared import EngineCheck, Workbook
from clusterwright.plan.text.words import NAME_OF_TARGET

CENT = 0.005
#: Floats of large sums are no closer than that.
_SHARE = 1e-9
_MONTHS, _RATE = 1e-6, 1e-7

Cells = Mapping[str, Mapping[str, Figure]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Views:
    """The cells of every view, by option and name.

    Attributes:
        cash: the sheets of the plan's options, by target; summary: their cells on the sheet Summary.
        options, returns, units, profit, financing: as their sheets return them; taxed: every option after tax.
        heat: by the factors on utilisation and on price, in the order of the engine's cells.
    """

    cash: Mapping[str, CashSheet]
    summary: Cells
    options: Cells
    returns: Cells
    units: Cells
    profit: Cells
    financing: Cells
    taxed: Mapping[str, Taxed]
    heat: Mapping[tuple[float, float], Figure]


def add_engine_checks(work: Workbook, views: Views) -> None:
    """Add what every view shows and what the engine found, of options that can do the work."""
    for check in (
        *_summary(work, views),
        *_options(work, views),
        *_returns(work, views),
        *_tax(work, views),
        *_financing(work, views),
        *_units(work, views),
        *_heat(work, views),
    ):
        work.engine_checks.append(check)


def _money(text: str, cell: Figure, usd: float | None) -> EngineCheck:
    return EngineCheck(text=text, cell=cell, engine=usd, within=max(CENT, _SHARE * abs(usd or 0.0)))


def _able(work: Workbook, key: str) -> bool:
    """Return whether an option can do its work: an owned cluster that is too slow shows no figure."""
    flows = work.flows[key]
    return not flows.buys_all or float(flows.busy.value or 0.0) <= 1 + 1e-9


def _summary(work: Workbook, views: Views) -> Iterator[EngineCheck]:
    for target, cells in views.summary.items():
        option = work.plan.option(target)
        if option is None or option.money.busy_fraction > 1 + 1e-9:
            continue
        run = option.money.run_usd if option.money.run_share_usd is None else option.money.run_share_usd
        wanted = (
            ("run", f"{work.plan.workload.unit.each} in cash or its share", run),
            ("horizon", "horizon", option.money.horizon_usd),
            ("npv", "present value", option.money.npv_usd),
            ("bought", "buy now", option.money.capex_usd),
            ("per hour", "USD per GPU-hour", option.money.usd_per_gpu_hour),
        )
        for name, text, usd in wanted:
            yield _money(f"Summary, {NAME_OF_TARGET[target]}: {text}", cells[name], usd)


def _options(work: Workbook, views: Views) -> Iterator[EngineCheck]:
    for key, cells in views.options.items():
        if not _able(work, key):
            continue
        cost, label = work.flows[key].cost, work.flows[key].label
        yield _money(f"Options, {label}: horizon", cells["horizon"], cost.horizon_usd)
        yield _money(f"Options, {label}: present value", cells["npv"], cost.npv_usd)
        paid = paid_by_month(work, key)
        for kind, name in (("bought", "bought"), ("sold", "resale")):
            usd = sum(amount for (of, _), amount in paid.items() if of == kind)
            yield _money(f"Options, {label}: {name}", cells[kind], usd)
    for target, sheet in views.cash.items():
        option = work.plan.option(target)
        if option is not None and has_all(option) and option.money.busy_fraction <= 1 + 1e-9:
            page = work.page(f"Cash {target}").name
            yield _money(f"{page}: total", sheet.sum_figure("total"), option.money.horizon_usd)
            yield _money(f"{page}: present value", sheet.sum_figure("present value"), option.money.npv_usd)


def _returns(work: Workbook, views: Views) -> Iterator[EngineCheck]:
    owned = work.owned
    known = {entry.rented_key: entry for entry in work.found.returns if owned and entry.owned_key == owned.key}
    for key, cells in views.returns.items():
        entry, label = known.get(key), work.flows[key].label
        if entry is None:
            continue
        yield _money(f"Returns, {label}: present value saved", cells["npv"], entry.npv_usd)
        rest = (
            ("irr", "internal rate", entry.irr_per_year, _RATE),
            ("payback", "money back", entry.payback_months, _MONTHS),
            ("discounted_payback", "money back discounted", entry.discounted_payback_months, _MONTHS),
            ("breakeven_months", "breakeven month", entry.breakeven_months, _MONTHS),
            ("utilisation", "breakeven utilisation", entry.breakeven_utilisation, _RATE),
        )
        for name, text, value, within in rest:
            # The internal rate of a spreadsheet needs whole months.
            if name != "irr" or work.plan.economics.horizon_months.is_integer():
                yield EngineCheck(text=f"Returns, {label}: {text}", cell=cells[name], engine=value, within=within)


def _tax(work: Workbook, views: Views) -> Iterator[EngineCheck]:
    for entry in work.found.taxed.options:
        option = views.taxed.get(entry.key)
        if option is None:
            continue
        wanted = (
            ("before", "before tax", entry.before_tax_usd),
            ("npv_before", "present value before tax", entry.npv_before_tax_usd),
            ("after", "after tax", entry.after_tax_usd),
            ("npv_after", "present value after tax", entry.npv_after_tax_usd),
            ("peak", "most cash out", entry.peak_cash_usd),
        )
        for name, text, usd in wanted:
            yield _money(f"Tax, {option.label}: {text}", option.figures[name], usd)
        books = (
            ("running costs", entry.opex_usd),
            ("written off", entry.depreciation_usd),
            ("loss on the sale (gain negative)", entry.loss_on_disposal_usd),
            ("cost before tax", entry.before_tax_usd),
            ("cost after tax", entry.after_tax_usd),
        )
        lines = views.profit[entry.key]
        for name, usd in books:
            if name in lines:
                yield _money(f"P&L, {option.label}: {name}", lines[name], usd)


def _financing(work: Workbook, views: Views) -> Iterator[EngineCheck]:
    paid = work.found.taxed.financed
    if paid is None or paid.kind not in views.financing:
        return
    wanted = (paid.financed_usd, paid.usd_per_month, paid.interest_usd, paid.liability_usd, paid.npv_after_tax_usd)
    for (name, cell), usd in zip(views.financing[paid.kind].items(), wanted, strict=False):
        yield _money(f"Financing, {paid.kind}: {name.removesuffix(', USD')}", cell, usd)


def _units(work: Workbook, views: Views) -> Iterator[EngineCheck]:
    units = {entry.key: entry for entry in work.found.unit_costs}
    for key, cells in views.units.items():
        if not _able(work, key):
            continue
        cost, unit, label = work.flows[key].cost, units[key], work.flows[key].label
        wanted = unit_figures(work.plan.workload, cost, unit)
        for place, ((name, cell), usd) in enumerate(zip(cells.items(), wanted, strict=True)):
            within = CENT if place == 0 else 1e-6
            text = f"Unit costs, {label}: {name.removesuffix(', USD')}"
            yield EngineCheck(text=text, cell=cell, engine=usd, within=max(within, _SHARE * abs(usd or 0.0)))


def _heat(work: Workbook, views: Views) -> Iterator[EngineCheck]:
    for ((used, price), cell), entry in zip(views.heat.items(), work.found.heat, strict=True):
        yield _money(f"Heat map: {used:g} of the utilisation, {price:g} of the price", cell, entry.saving_usd)
