"""The sheets with charts: Breakeven (cash so far), Uncertainty (drawn numbers, tornado) and Heat map (live)."""

from collections.abc import Mapping, Sequence
from typing import Any

from clusterwright.finance.sensitivities import HEAT_FACTORS
from clusterwright.finance.words import owning_text
from clusterwright.outputs.workbook.months.cash import CashSheet
from clusterwright.outputs.workbook.months.engine_rows import LEAST_USD
from clusterwright.outputs.workbook.writing.formula import Figure, largest, span, when
from clusterwright.outputs.workbook.writing.page import Page
from clusterwright.outputs.workbook.writing.shared import CAPITAL, Workbook, label_of
from clusterwright.plan.text.inputs import input_words
from clusterwright.plan.text.words import NAME_OF_TARGET

_FIRST = 4
_PALE = {"min_color": "#F4B6A6", "mid_color": "#FFFFFF", "max_color": "#A9D3B5", "mid_type": "num", "mid_value": 0}
_LINES = ("#1F4E79", "#C55A11", "#548235", "#7F6000", "#7030A0", "#767171")
_MOST_SWINGS = 12
#: What the chart of cash covers at the usual heights of rows and widths of columns.
_CHART_ROWS, _CHART_COLUMNS = 22, 5


def write_breakeven(
    work: Workbook, sheets: Mapping[str, CashSheet], returns: Mapping[str, Mapping[str, Figure]]
) -> tuple[int, int]:
    """Write cash paid so far by month for the plan's options, its chart, and where owning becomes cheaper.

    Returns row and column of the cell that says what the chart's axis is in.
    """
    page = work.page("Breakeven")
    page.title(
        "Breakeven: cash paid so far, resale left out, USD", "Owning has paid off where its line crosses a rented one."
    )
    page.widths(10, rest=18, columns=1 + len(sheets))
    page.sheet.freeze_panes(_FIRST, 1)
    page.head(_FIRST - 1, ("month", *(_name(target) for target in sheets)), texts=0)
    for row, month in enumerate(work.months):
        page.put(_FIRST + row, 0, month, "number")
        for column, sheet in enumerate(sheets.values(), start=1):
            page.put(_FIRST + row, column, sheet.totals["cumulative before resale"][row])
    side = len(sheets) + 2
    page.widths_at(side, 34, 16, 16)
    page.head(_FIRST - 1, ("owning against", "breakeven, month", "breakeven utilisation"), column=side)
    for row, (key, figures) in enumerate(returns.items(), start=_FIRST):
        page.text(row, side, label_of(key))
        page.put(row, side + 1, figures["breakeven_months"], "month")
        page.put(row, side + 2, figures["utilisation"], "share_1")
    at = (_FIRST + len(returns) + 2, side)
    if sheets:
        page.label(at[0] + 1, at[1], "million USD")  # below the chart, which takes its axis' name from there
        page.sheet.insert_chart(*at, cash_chart(work, list(sheets), (at[0] + 1, at[1]), size=(760, 420)))
        page.sheet.fit_to_pages(1, 1)
        page.sheet.print_area(0, 0, max(_FIRST + work.rows, at[0] + _CHART_ROWS), side + _CHART_COLUMNS)
    return at[0] + 1, at[1]


def _name(target: str) -> str:
    name = NAME_OF_TARGET[target]
    return name[:1].upper() + name[1:]


def cash_chart(work: Workbook, targets: Sequence[str], unit: tuple[int, int], *, size: tuple[int, int]) -> Any:  # noqa: ANN401 - XlsxWriter is untyped
    """Return the chart of the sheet Breakeven: cash paid so far by month.

    Args:
        work: the workbook.
        targets: a column each of that sheet, in its order.
        unit: row and column of the cell of that sheet that says what the axis is in.
        size: width and height in pixels.
    """
    page, chart = work.page("Breakeven"), work.book.add_chart({"type": "scatter", "subtype": "straight"})
    last = _FIRST + work.rows - 1
    for column, target in enumerate(targets, start=1):
        chart.add_series(
            {
                "name": [page.name, _FIRST - 1, column],
                "categories": [page.name, _FIRST, 0, last, 0],
                "values": [page.name, _FIRST, column, last, column],
                "line": {"color": _LINES[(column - 1) % len(_LINES)], "width": 2.25 if target == "onprem" else 1.5},
            }
        )
    chart.set_title({"name": "Cash paid so far, resale left out", "name_font": {"size": 12}})
    chart.set_x_axis({"name": "month", "min": 0, "max": work.rows - 1, "major_gridlines": {"visible": False}})
    told: Any = [page.name, *unit] if page.told else "million USD"
    chart.set_y_axis({"name": told, "num_format": "#,##0.0,,", "min": 0})
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": size[0], "height": size[1]})
    return chart


def write_uncertainty(work: Workbook) -> None:
    """Write what the draws found: numbers of the engine, said to be so, with the tornado as a chart."""
    page, found = work.page("Uncertainty"), work.found
    page.title(
        "How sure the ranking is",
        f"Numbers of the engine: {found.draws:,} draws of the assumptions (Latin hypercube, seed {found.seed}), "
        "present value before tax at the values this workbook was written with. They do not follow the sheet Inputs.",
    )
    page.widths(34, rest=18, columns=7)
    page.head(_FIRST - 1, ("where and how", "P10, USD", "P50, USD", "P90, USD", "mean regret, USD", "cheapest in"))
    row = _FIRST
    for entry in found.drawn:
        page.text(row, 0, label_of(entry.key))
        for column, usd in enumerate((entry.npv_usd_p10, entry.npv_usd_p50, entry.npv_usd_p90), start=1):
            page.number(row, column, usd, "usd")
        if entry.regret_usd is None:
            page.text(row, 4, "–", "text_right")
        else:
            page.number(row, 4, entry.regret_usd, "usd")
        page.number(row, 5, entry.probability_cheapest, "share_1")
        row += 1
    swings = [entry for entry in found.swings if entry.width_usd][:_MOST_SWINGS]
    if not swings or found.base_saving_usd is None:
        return
    row += 2
    page.text(
        row,
        0,
        f"What {owning_text(found)} saves against {label_of(found.compared_with)} with one input at its P10 or P90",
        "bold",
    )
    page.head(
        row + 1, ("input", "at its P10, USD", "at its P90, USD", "P10 less base, USD", "P90 less base, USD", "source")
    )
    base = page.number(row, 6, found.base_saving_usd, "usd")
    page.label(row, 5, "base, USD", "text_right")
    for place, swing in enumerate(swings, start=row + 2):
        page.text(place, 0, input_words(swing.key))
        ends = [
            page.number(place, column, usd, "usd")
            for column, usd in ((1, swing.saving_usd_low), (2, swing.saving_usd_high))
        ]
        for column, end in enumerate(ends, start=3):
            page.put(place, column, end - base)
        page.text(place, 5, swing.source, "text")
    _tornado(work, page, (row + 2, row + 1 + len(swings)))


def _tornado(work: Workbook, page: Page, rows: tuple[int, int]) -> None:
    chart = work.book.add_chart({"type": "bar", "subtype": "stacked"})
    for column, name, color in ((3, "at its P10", "#5B84B1"), (4, "at its P90", "#E08E45")):
        chart.add_series(
            {
                "name": name,
                "categories": [page.name, rows[0], 0, rows[1], 0],
                "values": [page.name, rows[0], column, rows[1], column],
                "fill": {"color": color},
                "gap": 40,
            }
        )
    title = "What moves the saving of owning, million USD from the base"
    page.label(rows[1] + 3, 0, title)  # below the chart, which takes its title from there
    told: Any = [page.name, rows[1] + 3, 0] if page.told else title
    chart.set_title({"name": told, "name_font": {"size": 12}})
    chart.set_x_axis({"num_format": "#,##0.0,,"})
    chart.set_y_axis({"reverse": True, "label_position": "low"})
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": 900, "height": 120 + 26 * (rows[1] - rows[0] + 1)})
    page.sheet.insert_chart(rows[1] + 2, 0, chart)
    page.sheet.fit_to_pages(1, 1)


def write_heat_map(work: Workbook) -> dict[tuple[float, float], Figure]:
    """Write what owning saves by utilisation and rental price, in formulas; return the cells by the two factors.

    What is paid by use follows utilisation, and the rented part the price too. Commitments pay all their hours, and
    more nodes are committed to where the work takes more than these.
    """
    page = work.page("Heat map")
    own, rented = work.owned, work.flows.get(work.found.mapped_with)
    if own is None or rented is None:
        page.title("Heat map: nothing is owned, or nothing rented, in this plan")
        return {}
    page.title(
        f"What {owning_text(work.found)} saves in present value against {rented.label}, USD",
        "Rows: utilisation, of the input's. Columns: price of what is rented by use, of today's. Live: "
        "change the inputs, or the yellow factors.",
    )
    page.widths(26, rest=18, columns=2 + len(HEAT_FACTORS))
    highest = 1.0 / work.plan.economics.utilisation
    used = [factor for factor in HEAT_FACTORS if factor <= highest + 1e-9]
    page.text(_FIRST - 1, 0, "factor on utilisation", "head")
    page.text(_FIRST - 1, 1, "utilisation", "right")
    prices = [page.number(_FIRST - 1, 2 + column, factor, "factor_input") for column, factor in enumerate(HEAT_FACTORS)]
    factors = span(work.factors)
    parts = {
        name: (flows.worth(("used",), factors), flows.worth(("committed", "standing", "kept", *CAPITAL), factors))
        for name, flows in (("own", own), ("rented", rented))
    }
    committed = rented.worth(("committed",), factors) if rented.of("committed") else None
    pairs = [(factor, price) for factor in used for price in HEAT_FACTORS]
    engine = {pair: cell.saving_usd for pair, cell in zip(pairs, work.found.heat, strict=True)}
    found, fixed = {}, 0
    for row, factor in enumerate(used, start=_FIRST):
        share = page.number(row, 0, factor, "factor_input")
        busy = page.put(row, 1, work.names["utilisation"] * share, "share_1")
        more = largest(1.0, rented.busy * share) / largest(1.0, rented.busy)
        for column, price in enumerate(prices):
            rent = parts["rented"][0] * share * price + parts["rented"][1]
            saved = rent - parts["own"][0] * share - parts["own"][1]
            if committed is not None:
                saved += committed * (more - 1.0)
            saved = when(busy.above(1.0 + 1e-9), "unknown", saved)
            usd = engine[factor, HEAT_FACTORS[column]]
            live = isinstance(saved.value, float) and abs(saved.value - usd) < LEAST_USD
            place = (row, 2 + column)
            found[factor, HEAT_FACTORS[column]] = (
                page.put(*place, saved) if live else page.number(*place, usd, "engine")
            )
            fixed += not live
    last = (_FIRST + len(used) - 1, 1 + len(HEAT_FACTORS))
    if fixed:
        page.text(
            last[0] + 2,
            0,
            "In italics: numbers of the engine, which follow no input: at that utilisation other nodes are bought or "
            "committed to while the work grows.",
            "note",
        )
    page.sheet.conditional_format(_FIRST, 2, *last, {"type": "3_color_scale"} | _PALE)
    return found
