"""The sheet Unit costs: what a unit of work, a GPU-hour, a million tokens and a PFLOP-hour cost on every option."""

from collections.abc import Mapping

from clusterwright.finance.unit_costs import UnitCost
from clusterwright.outputs.workbook.months.cash import CashSheet
from clusterwright.outputs.workbook.months.mixed import Mixed, gpu_hours_of, run_of
from clusterwright.outputs.workbook.writing.annuity import payment
from clusterwright.outputs.workbook.writing.formula import Figure, added, figure, span
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import CAPITAL, RUNNING, Class, Flows, Workbook, option_of
from clusterwright.plan.alternatives.hybrids import BASE
from clusterwright.plan.record import WorkloadSummary, WorkUnit
from clusterwright.tco.terms.records import CandidateCost

_FIRST = 9
#: After what a unit of the work costs; the last ones where its tokens and its FLOPs are counted.
_COLUMNS = ("USD per GPU-hour", "levelised, USD per useful GPU-hour")
_TOKENS, _FLOPS = "USD per million tokens", "USD per effective PFLOP-hour"
#: What is paid whether the nodes work or not.
_HELD: tuple[Class, ...] = ("committed", "kept", "bought", "sold")


def unit_column(unit: WorkUnit) -> str:
    """Return the name of the cells with the cost of a unit of the work."""
    return f"{unit.each} in cash or its share, USD"


def _counted(work: WorkloadSummary) -> tuple[str, ...]:
    return (*((_TOKENS,) if work.unit_tokens else ()), *((_FLOPS,) if work.unit_flop else ()))


def unit_figures(work: WorkloadSummary, cost: CandidateCost, unit: UnitCost) -> tuple[float | None, ...]:
    """Return the engine's figures of an option, USD, in the order of the columns."""
    return (
        cost.run_usd,
        cost.usd_per_gpu_hour,
        unit.levelised_usd_per_gpu_hour,
        *((unit.usd_per_million_tokens,) if work.unit_tokens else ()),
        *((unit.usd_per_effective_pflop_hour,) if work.unit_flop else ()),
    )


def _amounts(page: Page, work: WorkloadSummary) -> tuple[tuple[Figure, float], ...]:
    """Write tokens and FLOPs of a unit of work, as far as they are counted; return each with what a price is of."""
    found = []
    tokens = figure(1.0)
    if work.unit_tokens:
        page.text(3, 0, f"tokens of {work.unit.each}")
        tokens = page.number(3, 1, work.unit_tokens, "input")
        found.append((tokens, 1e6))
    if work.unit_flop:
        page.text(4, 0, "model FLOP per token" if work.unit_tokens else f"model FLOP of {work.unit.each}")
        flop = page.number(4, 1, work.unit_flop / (work.unit_tokens or 1.0), "input")
        found.append((tokens * flop / 1e15 / 3600.0, 1.0))
    return tuple(found)


def write_units(
    work: Workbook, sheets: Mapping[str, CashSheet], mixes: Mapping[str, Mixed]
) -> dict[str, dict[str, Figure]]:
    """Write the sheet; return the cells of every option whose cash has formulas, by key and name.

    Args:
        work: the workbook.
        sheets: of the plan's options, by target.
        mixes: by key.
    """
    page, plan = work.page("Unit costs"), work.plan
    page.title(
        "What work costs",
        "Levelised: (purchases less the present value of resale) x annuity over the horizon + running costs of a year, "
        "over GPU-hours worked x goodput.",
    )
    columns = ("where and how", "goodput", unit_column(plan.workload.unit), *_COLUMNS, *_counted(plan.workload))
    page.widths(34, rest=18, columns=len(columns))
    page.sheet.freeze_panes(_FIRST, 1)
    amounts = _amounts(page, plan.workload)
    page.text(5, 0, "annuity a year")
    years = work.names["horizon_months"] / 12.0
    annuity = page.put(5, 1, payment(work.names["discount_rate"], years, figure(1.0)), "number")
    page.head(_FIRST - 1, columns)
    rows = {key: row for row, key in enumerate(work.flows, start=_FIRST)}
    counted_by_engine = {
        key for key, flows in work.flows.items() if key in work.not_live or (flows.cost.mixed and key not in mixes)
    }
    # Only what the row's formulas read is an input: a cell that is written again would count as changed.
    goodputs = {
        key: figure(goodput)
        if key in counted_by_engine or key in mixes
        else page.number(rows[key], 1, goodput, "share_input")
        for key, way in work.found.ways.items()
        if key in rows and (goodput := way.performance.goodput) is not None
    }
    found: dict[str, dict[str, Figure]] = {}
    for row, flows in enumerate(work.flows.values(), start=_FIRST):
        page.text(row, 0, flows.label)
        mixed = mixes.get(flows.key)
        if flows.key in counted_by_engine:
            _from_engine(work, row, flows)
            continue
        hours = flows.gpus * flows.days * 24.0
        option = option_of(plan, flows.cost)
        planned = option and option.target in sheets and flows.following is None
        counted = sheets[option.target].run_figure() if option and planned else _run(work, flows)
        if mixed is not None:
            hours, counted = gpu_hours_of(mixed), run_of(work, mixed, flows)
            shares = [
                share * goodputs[part.key.removesuffix(BASE)]
                for part, share in zip(mixed.parts, mixed.work_shares, strict=True)
            ]
            goodputs[flows.key] = page.put(row, 1, added(shares), "share_2")
        run = page.put(row, 2, counted)
        levelised = Figure('"unknown"', "unknown")
        if flows.key in goodputs:
            levelised = _levelised(work, flows, annuity, hours * goodputs[flows.key]).or_else("none")
        figures = (run / hours, levelised, *(run / amount * scale for amount, scale in amounts))
        cells = [
            page.put(row, column, usd.or_else("unknown"), "unit_usd") for column, usd in enumerate(figures, start=3)
        ]
        found[flows.key] = dict(zip(columns[2:], (run, *cells), strict=True))
    return found


def _from_engine(work: Workbook, row: int, flows: Flows) -> None:
    """Write the engine's numbers of an option whose cash has amounts that no formula counts."""
    page = work.page("Unit costs")
    unit = next(entry for entry in work.found.unit_costs if entry.key == flows.key)
    page.text(row, 1, "engine", "text_right")
    values = unit_figures(work.plan.workload, flows.cost, unit)
    for column, usd in enumerate(values, start=2):
        page.number(row, column, usd, "unit_usd" if column > 2 else "usd")  # noqa: PLR2004 - the first is of a run


def _run(work: Workbook, flows: Flows) -> Figure:
    """Return the cost of one run of a rented option: by use over the runs, the rest by its share of the hours.

    What is committed or charged is paid while the nodes wait for work, too: a run takes its share of the hours worked.
    """
    names = work.names
    share = flows.days * 24.0 / (names["horizon_months"] * names["hours_per_month"])
    held = share / names["utilisation"] / names.get("mean_work", figure(1.0))
    parts = [flows.sum_of("used") / names["runs_in_horizon"]]
    parts += [flows.sum_of("standing") * share] if flows.of("standing") else []
    kept = [kind for kind in _HELD if flows.of(kind)]
    parts += [flows.sum_of(*kept) * held] if kept else []
    return added(parts)


def _levelised(work: Workbook, flows: Flows, annuity: Figure, useful: Figure) -> Figure:
    """Return the levelised cost of a useful GPU-hour, of which a run has a number."""
    names = work.names
    capital = flows.worth(CAPITAL, span(work.factors))
    yearly = flows.sum_of(*RUNNING) / (names["horizon_months"] / 12.0)
    years = names["horizon_months"] / 12.0
    return (capital * annuity + yearly) / (useful * names["runs_in_horizon"] / years)
