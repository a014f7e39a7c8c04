"""The sheet Cash by option: every option's cash by month side by side, which all views of finance read."""

from collections.abc import Mapping
from dataclasses import replace

from clusterwright.outputs.workbook.inputs.contracts import Terms
from clusterwright.outputs.workbook.months.cash import CashSheet
from clusterwright.outputs.workbook.months.contract_months import under_contract
from clusterwright.outputs.workbook.months.engine_rows import by_class, left_to_the_engine, told
from clusterwright.outputs.workbook.months.mixed import Mixed, mixed_options, write_mixes
from clusterwright.outputs.workbook.months.rent_case import Case, Rented, Rents
from clusterwright.outputs.workbook.writing.formula import Figure, figure, largest, rounded_up, smallest
from clusterwright.outputs.workbook.writing.shared import Class, Flows, Rows, Workbook, bill_label, label_of, option_of
from clusterwright.plan.alternatives.hybrids import BASE
from clusterwright.tco.terms.records import CandidateCost


def rent_of(work: Workbook, rents: Rents, cost: CandidateCost, busy: Figure) -> Rented:
    """Return what a rented option costs by month.

    Args:
        work: the workbook.
        rents: what it is counted with.
        cost: the option.
        busy: share of the first year's hours at work.
    """
    case = Case(
        work=work,
        bill=rents.bill,
        key=bill_label(work, cost),
        busy=busy,
        terms=rents.terms.get(cost.key, Terms()),
        done=rents.stages.factors["work"] if rents.stages else None,
    )
    if cost.key in rents.terms:
        return under_contract(case)
    found: dict[Class, Rows] = {}
    rows, lengths = range(work.rows), work.lengths
    usd = case.usd_per_month("while working", "")
    if usd is not None:
        found["used"] = tuple(usd * busy * case.work_in(max(0, row - 1)) * lengths[row] for row in rows)
    usd = case.usd_per_month("committed", "")
    if usd is not None:
        found["committed"] = tuple(usd * case.nodes_in(max(0, row - 1)) * lengths[row] for row in rows)
    usd = case.usd_per_month("always", "")
    if usd is not None:
        found["standing"] = tuple(usd * length for length in lengths)
    return Rented(flows=found)


_FIRST = 6  # row of month 0
_TITLES: Mapping[Class, str] = {
    "used": "running costs by use, USD",
    "committed": "committed nodes, USD",
    "standing": "rent of what stands, USD",
    "kept": "other running costs, USD",
    "bought": "bought, USD",
    "sold": "sold, USD",
    "financed": "borrowed (negative) and paid back, USD",
}


def write_calendar(work: Workbook) -> None:
    """Write the sheet's months: their end and length, the factor of present value, the year."""
    page = work.page("Cash by option")
    page.title(
        "Cash of every option by month", "Paid is positive; month 0 is the purchase; months are paid at their end."
    )
    page.widths(9, 9, 11, 7)
    page.sheet.freeze_panes(_FIRST, 4)
    page.sheet.repeat_columns(0)
    page.sheet.fit_to_pages(0, 1)
    page.head(_FIRST - 1, ("month", "months", "present value of 1 USD", "year"), texts=0)
    months: list[Figure] = []
    lengths, factors, years = [], [], []
    for row in range(work.rows):
        at = _FIRST + row
        months.append(page.put(at, 0, smallest(float(row), work.names["horizon_months"]), "number"))
        lengths.append(page.put(at, 1, months[row] - months[row - 1] if row else figure(0.0), "number"))
        factors.append(page.put(at, 2, (1.0 + work.names["discount_rate"]) ** (-months[row] / 12.0), "number"))
        years.append(page.put(at, 3, largest(1.0, rounded_up(months[row] / 12.0)), "number"))
    work.months, work.lengths = tuple(months), tuple(lengths)
    work.factors, work.years = tuple(factors), tuple(years)


def write_by_option(
    work: Workbook, rents: Rents, sheets: Mapping[str, CashSheet], base: CashSheet | None
) -> dict[str, Mixed]:
    """Write every option's cash beside the calendar and fill the workbook's flows; return the mixes by key.

    Args:
        work: the workbook.
        rents: what rented options are counted with.
        sheets: of the plan's options, by target.
        base: of the owned cluster as it is where it keeps its size; None where no mix needs it.
    """
    page = work.page("Cash by option")
    facts = (f"days of {work.plan.workload.unit.each}", "GPUs", "busy share of the horizon")
    for row, title in enumerate(facts, start=2):
        page.text(row, 0, title)
    column = 4
    mixes: dict[str, Mixed] = {}
    for cost in sorted(work.found.costs, key=lambda cost: cost.mixed):
        if cost.mixed and not mixes and mixed_options(work):  # they read the options that they are made of
            mixes = write_mixes(work, _base(work, base), rents.stages)
        option = option_of(work.plan, cost)
        sheet = sheets.get(option.target) if option else None
        flows = _one(work, rents, mixes.get(cost.key) if cost.mixed else sheet, cost, column)
        work.flows[cost.key] = flows
        column += len(flows.amounts)
    work.flows = {cost.key: work.flows[cost.key] for cost in work.found.costs}
    return mixes


def _base(work: Workbook, sheet: CashSheet | None) -> Flows | None:
    """Return the owned cluster that keeps its size, as a part of mixes."""
    if sheet is None or work.owned is None:
        return None
    amounts = {kind: cells for kind in _TITLES if (cells := sheet.of(kind))}
    return replace(work.owned, key=work.owned.key + BASE, amounts=amounts, assets=sheet.assets)


def _one(work: Workbook, rents: Rents, known: CashSheet | Mixed | None, cost: CandidateCost, column: int) -> Flows:
    page = work.page("Cash by option")
    page.text(1, column, label_of(cost.key), "bold")
    days, gpus, busy = _facts(work, known, cost, column)
    rents_it = cost.key in rents.terms or (known is None and not cost.mixed)
    rented = rent_of(work, rents, cost, busy) if rents_it else None
    formulas: Mapping[Class, Rows] = {}
    if rented is not None:
        formulas = rented.flows
    elif isinstance(known, CashSheet):
        formulas = {kind: known.of(kind) for kind in _TITLES}
    elif known is not None:
        formulas = known.flows
    formulas = _with_rest(work, cost.key, {kind: cells for kind, cells in formulas.items() if cells})
    kinds = [kind for kind in _TITLES if kind in formulas]
    page.widths_at(column, *(16.0 for _ in kinds))
    page.head(_FIRST - 1, [_TITLES[kind] for kind in kinds], texts=0, column=column)
    amounts = {
        kind: tuple(page.put(_FIRST + row, column + place, usd) for row, usd in enumerate(formulas[kind]))
        for place, kind in enumerate(kinds)
    }
    return Flows(
        key=cost.key,
        label=label_of(cost.key),
        cost=cost,
        amounts=amounts,
        days=days,
        gpus=gpus,
        busy=busy,
        assets=known.assets if known else {},
        following=rented.following if rented else None,
    )


def _facts(
    work: Workbook, known: CashSheet | Mixed | None, cost: CandidateCost, column: int
) -> tuple[Figure, Figure, Figure]:
    """Write the days of a run, the GPUs and the share of the horizon at work."""
    page = work.page("Cash by option")
    if known is not None:
        facts = ((2, known.days), (3, known.gpus), (4, known.busy))
        days, gpus, busy = (page.put(row, column, cell, "number") for row, cell in facts)
        return days, gpus, busy
    names = work.names
    if cost.mixed:
        amounts = ((2, cost.calendar_days), (3, float(cost.gpus)), (4, cost.busy_fraction))
        days, gpus, busy = (page.number(row, column, value) for row, value in amounts)
        return days, gpus, busy
    days = page.number(2, column, cost.calendar_days, "input")
    runs = names["runs_in_horizon"] / names.get("mean_work", figure(1.0))
    share = runs * days * 24.0 / (names["horizon_months"] * names["hours_per_month"])
    gpus = page.number(3, column, float(cost.gpus), "input")
    return days, gpus, page.put(4, column, share, "number")


def _with_rest(work: Workbook, key: str, formulas: Mapping[Class, Rows]) -> dict[Class, Rows]:
    """Return the formulas with what the engine pays besides them added as numbers."""
    kinds = list(formulas)
    rows = [[formulas[kind][row] for kind in kinds] for row in range(work.rows)]
    rest = by_class(work, key, [month.value for month in work.months], kinds, rows)
    left_to_the_engine(work, label_of(key), rest, {told(kind) for kind in kinds})
    if rest:
        work.not_live[key] = sum(sum(abs(usd) for usd in amounts) for amounts in rest.values())
    found = dict(formulas)
    for kind, amounts in rest.items():
        before = formulas.get(kind, (figure(0.0),) * work.rows)
        found[kind] = tuple(cell + round(usd, 6) if usd else cell for cell, usd in zip(before, amounts, strict=True))
    return found


def sums(flows: Flows) -> dict[str, Figure]:
    """Return the sums of an option's cash by the columns people read: bought, by use, otherwise, sold."""
    return {
        "bought": flows.sum_of("bought"),
        "used": flows.sum_of("used"),
        "kept": flows.sum_of("committed", "standing", "kept"),
        "sold": flows.sum_of("sold"),
    }
