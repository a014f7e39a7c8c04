"""The sheet Cash by option: every option's cash by month side by side, which all views of finance read."""

from collections.abc import Mapping, Sequence

from clusterwright.outputs.sheets.bill import Bill
from clusterwright.outputs.sheets.cash import CashSheet
from clusterwright.outputs.sheets.engine_rows import Class, by_class
from clusterwright.outputs.sheets.formula import Figure, figure, largest, rounded_up, smallest, span, total, when
from clusterwright.outputs.sheets.page import Page
from clusterwright.outputs.sheets.shared import Flows, Workbook, label_of, option_of
from clusterwright.outputs.sheets.stages import Stages
from clusterwright.plan.hybrids import BRIDGED
from clusterwright.tco.records import CandidateCost

_FIRST = 6  # row of month 0
_FACTS = (("days of a run", 2), ("GPUs", 3), ("busy share of the horizon", 4))
_TITLES: Mapping[Class, str] = {
    "used": "running costs by use, USD", "kept": "other running costs, USD", "bought": "bought, USD",
    "sold": "sold, USD",
}  # fmt: skip


def write_by_option(work: Workbook, bill: Bill, sheets: Mapping[str, CashSheet], stages: Stages | None) -> None:
    """Write the sheet and fill the workbook's calendar and flows.

    Args:
        work: the workbook.
        bill: the bill's lines.
        sheets: of the plan's options, by target.
        stages: what is done in each month; None where nothing grows.
    """
    page = work.page("Cash by option")
    page.title(
        "Cash of every option by month", "Paid is positive; month 0 is the purchase; months are paid at their end."
    )
    page.widths(9, 9, 11, 7, rest=16, columns=4 + 4 * len(work.found.costs))
    page.sheet.freeze_panes(_FIRST, 4)
    page.sheet.repeat_columns(0)
    page.sheet.fit_to_pages(0, 1)
    page.head(_FIRST - 1, ("month", "months", "present value of 1 USD", "year"), texts=0)
    _calendar(work, page)
    column = 4
    for title, row in _FACTS:
        page.text(row, 0, title)
    # Mixes read the options that they are made of.
    for cost in sorted(work.found.costs, key=lambda cost: cost.mixed):
        option = option_of(work.plan, cost)
        flows = _one(work, (bill, stages), sheets.get(option.target) if option else None, cost, column)
        work.flows[cost.key] = flows
        column += 2 + 2 * bool(flows.bought or flows.sold)
    work.flows = {cost.key: work.flows[cost.key] for cost in work.found.costs}


def _calendar(work: Workbook, page: Page) -> None:
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


def _one(
    work: Workbook, rules: tuple[Bill, Stages | None], sheet: CashSheet | None, cost: CandidateCost, column: int
) -> Flows:
    page = work.page("Cash by option")
    page.text(1, column, label_of(cost.key), "bold")
    names = work.names
    if sheet is not None:
        days, gpus, busy = (
            page.put(row, column, cell, "number") for row, cell in ((2, sheet.days), (3, sheet.gpus), (4, sheet.busy))
        )
        formulas = {kind: sheet.of(kind) for kind in _TITLES}
    elif (bridged := _bridged(work, cost.key)) is not None:
        formulas = bridged
        days = page.number(2, column, cost.calendar_days, "input")
        gpus = page.number(3, column, float(cost.gpus), "input")
        busy = page.number(4, column, cost.busy_fraction, "input")
    else:
        days = page.number(2, column, cost.calendar_days, "input")
        gpus = page.number(3, column, float(cost.gpus), "input")
        share = (
            names["runs_in_horizon"]
            / names.get("mean_work", figure(1.0))
            * days
            * 24.0
            / (names["horizon_months"] * names["hours_per_month"])
        )
        busy = page.put(4, column, share, "number")
        formulas = _rented(work, *rules, cost.key, busy)
    formulas = _with_rest(work, cost.key, formulas)
    kinds: list[Class] = ["used", "kept"]
    kinds += ["bought", "sold"] if formulas["bought"] or formulas["sold"] else []
    page.head(_FIRST - 1, [_TITLES[kind] for kind in kinds], texts=0, column=column)
    cells = {
        kind: tuple(
            page.put(_FIRST + row, column + place, formulas[kind][row] if formulas[kind] else figure(0.0))
            for row in range(work.rows)
        )
        for place, kind in enumerate(kinds)
    }
    return Flows(
        key=cost.key,
        label=label_of(cost.key),
        cost=cost,
        used=cells["used"],
        kept=cells["kept"],
        bought=cells.get("bought", ()),
        sold=cells.get("sold", ()),
        days=days,
        gpus=gpus,
        busy=busy,
    )


def _bridged(work: Workbook, key: str) -> dict[Class, tuple[Figure, ...]] | None:
    """Return the owner's months, rented until delivery, and what is bought paid in two parts; None of other options."""
    taxed = work.found.taxed
    owned, bridge = work.owned, work.flows.get(taxed.bridged_by)
    if owned is None or bridge is None or key != owned.key + BRIDGED:
        return None
    names = work.names
    until, deposit = names["delivery_months"], names.get("deposit")

    def until_then(rented: Sequence[Figure], own: Sequence[Figure]) -> tuple[Figure, ...]:
        pairs = zip(work.months, rented, own, strict=True)
        return tuple(when(month.at_most(until), before, after) for month, before, after in pairs)

    bought = owned.bought
    if deposit is not None:
        rest = (1.0 - deposit) * owned.bought[0]
        bought = tuple(
            usd * deposit if row == 0 else usd + when(work.months[row].equals(until), rest, 0.0)
            for row, usd in enumerate(owned.bought)
        )
    return {
        "used": until_then(bridge.used, owned.used),
        "kept": until_then(bridge.kept, owned.kept),
        "bought": bought,
        "sold": owned.sold,
    }


def _rented(
    work: Workbook, bill: Bill, stages: Stages | None, label: str, busy: Figure
) -> dict[Class, tuple[Figure, ...]]:
    used = bill.usd_per_month(work, label, paid="while working") * busy
    always = bill.usd_per_month(work, label, paid="always")
    committed = bill.usd_per_month(work, label, paid="committed")
    done = stages.factors["work"] if stages else (figure(1.0),) * work.rows
    return {
        "used": tuple(used * factor * length for factor, length in zip(done, work.lengths, strict=True)),
        "kept": tuple(
            (always + committed * largest(1.0, busy * factor)) * length
            for factor, length in zip(done, work.lengths, strict=True)
        ),
        "bought": (),
        "sold": (),
    }


def _with_rest(work: Workbook, key: str, formulas: dict[Class, tuple[Figure, ...]]) -> dict[Class, tuple[Figure, ...]]:
    """Return the formulas with what the engine pays besides them added as numbers."""
    kinds = [kind for kind in formulas if formulas[kind]]
    rows = [[formulas[kind][row] for kind in kinds] for row in range(work.rows)]
    rest = by_class(work, key, [month.value for month in work.months], kinds, rows)
    if rest:
        work.not_live[key] = sum(sum(abs(usd) for usd in amounts) for amounts in rest.values())
    found = dict(formulas)
    for kind, amounts in rest.items():
        before: Sequence[Figure] = formulas[kind] or (figure(0.0),) * work.rows
        found[kind] = tuple(cell + round(usd, 6) if usd else cell for cell, usd in zip(before, amounts, strict=True))
    return found


def sums(flows: Flows) -> dict[str, Figure]:
    """Return the sums of an option's columns, by name of the class; 0 where there is no column."""
    parts = {"used": flows.used, "kept": flows.kept, "bought": flows.bought, "sold": flows.sold}
    return {kind: total(span(cells)) if cells else figure(0.0) for kind, cells in parts.items()}
