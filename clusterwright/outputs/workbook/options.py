"""The sheet Options: every target and term side by side, in formulas over their cash by month."""

from clusterwright.outputs.workbook.by_option import sums
from clusterwright.outputs.workbook.formula import Figure, added, either, figure, smallest, span, when
from clusterwright.outputs.workbook.shared import ALL, Flows, Workbook
from clusterwright.units import percent

_FIRST = 4
#: After the name, the GPUs and the days of a unit of work.
_COLUMNS = (
    "busy share of the horizon", "bought, USD", "running costs by use, USD", "other running costs, USD", "resale, USD",
    "horizon, USD", "present value, USD", "above the cheapest, USD", "cheapest in (drawn)",
)  # fmt: skip


def write_options(work: Workbook) -> dict[str, dict[str, Figure]]:
    """Write the sheet; return the cells of every option's figures, by key and name."""
    page = work.page("Options")
    economics = work.plan.economics
    page.title(
        "Every target and term with a documented price, the same work for all",
        f"Prices as of {work.plan.as_of}; {economics.horizon_months:g} months, {percent(economics.utilisation)} "
        f"utilisation, {percent(economics.discount_rate)} discount rate when written; live from the sheet Inputs.",
    )
    columns = ("where and how", "GPUs", f"days of {work.plan.workload.unit.each}", *_COLUMNS)
    page.widths(34, 10, 11, 12, rest=18, columns=len(columns))
    page.sheet.freeze_panes(_FIRST, 1)
    page.head(_FIRST - 1, columns)
    drawn = {entry.key: entry.probability_cheapest for entry in work.found.drawn}
    found: dict[str, dict[str, Figure]] = {}
    for row, flows in enumerate(work.flows.values(), start=_FIRST):
        page.text(row, 0, flows.label)
        page.put(row, 1, flows.gpus, "count")
        page.put(row, 2, flows.days, "days")
        page.put(row, 3, flows.busy, "share_1")
        parts = {kind: page.put(row, 4 + place, usd) for place, (kind, usd) in enumerate(_parts(flows).items())}
        horizon = page.put(row, 8, _guarded(work, flows, added(list(parts.values()))))
        worth = page.put(row, 9, _guarded(work, flows, _present_value(work, flows)))
        if flows.key in drawn:
            page.number(row, 11, drawn[flows.key], "share")
        found[flows.key] = parts | {"horizon": horizon, "npv": worth}
    cells = [entry["npv"] for entry in found.values()]
    for row, cell in enumerate(cells, start=_FIRST):
        page.put(row, 10, (cell - smallest(span(cells))).or_else("unknown"))
    # The plan's own cluster has a sheet of its own also where only its places are options.
    not_live = {key: usd for key, usd in work.not_live.items() if key in work.flows}
    for row, (key, usd) in enumerate(not_live.items(), start=_FIRST + len(cells) + 1):
        page.text(
            row, 0,
            f"{work.flows[key].label}: {usd:,.2f} USD are numbers of the engine and follow no input.",
            "note",
        )  # fmt: skip
    return found


def _parts(flows: Flows) -> dict[str, Figure]:
    parts = sums(flows)
    return {kind: parts[kind] for kind in ("bought", "used", "kept", "sold")}


def _present_value(work: Workbook, flows: Flows) -> Figure:
    return flows.worth(ALL, span(work.factors))


def _guarded(work: Workbook, flows: Flows, counted: Figure) -> Figure:
    """Return `unknown` where the sheets have too few rows, or an owned cluster cannot do the work."""
    unable = work.names["horizon_months"].above(figure(float(work.rows - 1)))
    if flows.buys_all:
        unable = either(unable, flows.busy.above(1 + 1e-9))
    return when(unable, "unknown", counted)
