"""The bill of materials as a workbook with live formulas, and the page of its spares and lead times."""

import datetime as dt
import io
from collections.abc import Sequence

from clusterwright.catalog.parts.skus import part_numbers
from clusterwright.catalog.records import Catalogue
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.hall.power_summary import PowerSummary
from clusterwright.facility.power import BTU_PER_H_PER_W
from clusterwright.facility.spares import KINDS, WEEK_S, Spares, kind_of_part
from clusterwright.outputs.onprem.bill.tables import LENGTH_TITLE, Prices, length_of, priced_lines, quote_cells
from clusterwright.units import percent

#: How the power sheet's formulas turn W into what people order: also used for its cached values.
POWER_FACTOR = 0.95


_COLUMNS = (
    ("Line", 6),
    ("Part", 22),
    ("Item", 46),
    ("Category", 13),
    ("Quantity", 10),
    ("Unit", 7),
    ("USD each", 14),
    ("USD total", 16),
    ("Price is", 13),
    ("Price date", 12),
    ("Source of the price", 40),
    ("Note", 46),
    ("Quote each", 14),
    ("Quote currency", 10),
    ("Vendor", 22),
    ("Lead time, weeks", 10),
    ("Quoted on", 12),
    ("Maker's number", 18),
)
_QUOTE = 12  # first column of the quote
_QUOTE_NUMBERS = (12, 15)
_NUMBERS = (0, 4, 6, 7)
_HEAD = {"bold": True, "bg_color": "#1f2933", "font_color": "#ffffff"}


def bill_xlsx(design: OnPremDesign, prices: Prices, *, made_on: dt.date, besides: Sequence[BillLine] = ()) -> bytes:
    """Return the bill as a workbook: bill, sums by category, and power, every sum a formula with its value cached.

    A vendor's quote is typed into the yellow columns; sums follow where it is in USD.

    Args:
        design: whose bill it is.
        prices: by price key.
        made_on: written into the file's properties, so that the same plan gives the same bytes.
        besides: lines that are to be quoted.
    """
    import xlsxwriter  # noqa: PLC0415 - kept out of the start-up time

    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    made = dt.datetime(made_on.year, made_on.month, made_on.day, tzinfo=dt.UTC).replace(tzinfo=None)
    book.set_properties({"title": "Bill of materials", "author": "Clusterwright", "created": made})
    formats = {
        "head": book.add_format({**_HEAD, "text_wrap": True}),
        "head text": book.add_format({**_HEAD, "align": "left", "indent": 1, "text_wrap": True}),
        "head number": book.add_format({**_HEAD, "align": "right", "text_wrap": True}),
        "text": book.add_format({"indent": 1}),
        "usd": book.add_format({"num_format": "#,##0.00"}),
        "input text": book.add_format({"bg_color": "#fff7d6", "indent": 1}),
        "input": book.add_format({"num_format": "#,##0.00", "bg_color": "#fff7d6"}),
        "count": book.add_format({"num_format": "#,##0"}),
        "share": book.add_format({"num_format": "0.0%"}),
        "bold": book.add_format({"bold": True}),
        "label": book.add_format({"bold": True, "align": "right"}),
        "total": book.add_format({"bold": True, "num_format": "#,##0.00", "top": 1}),
        "wrap": book.add_format({"text_wrap": True, "valign": "top"}),
    }
    totals = _bill_sheet(book, formats, design.bill, prices, besides)
    _category_sheet(book, formats, [line for line, _ in priced_lines(design.bill, prices, besides)], totals)
    _power_sheet(book, formats, design.power, design.site.pue)
    book.close()
    return buffer.getvalue()


def _bill_sheet(book, formats, bill: Bill, prices: Prices, besides: Sequence[BillLine]) -> list[float | None]:  # type: ignore[no-untyped-def]  # noqa: ANN001 - XlsxWriter has no types
    sheet = book.add_worksheet("Bill of materials")
    for column, (title, width) in enumerate(_COLUMNS):
        sheet.set_column(column, column, width)
        right = column in (*_NUMBERS, *_QUOTE_NUMBERS)
        sheet.write_string(0, column, title, formats["head number" if right else "head text"])
    totals: list[float | None] = []
    lines = priced_lines(bill, prices, besides)
    for row, (line, price) in enumerate(lines, start=1):
        total = None if price.unit_usd is None else price.unit_usd * line.quantity
        totals.append(total)
        sheet.write_number(row, 0, row)
        for column, words in ((1, line.sku), (2, line.item), (3, line.category), (5, line.unit)):
            sheet.write_string(row, column, words, formats["text"])
        sheet.write_number(row, 4, line.quantity, formats["count"])
        if price.unit_usd is None:
            sheet.write_blank(row, 6, None, formats["usd"])
        else:
            sheet.write_number(row, 6, price.unit_usd, formats["usd"])
        sheet.write_formula(
            row,
            7,
            # A quote in another currency needs a rate: --quotes converts it into the column USD each.
            f'=IF(AND(ISNUMBER(M{row + 1}),N{row + 1}="USD"),E{row + 1}*M{row + 1},'
            f'IF(ISNUMBER(G{row + 1}),E{row + 1}*G{row + 1},"unknown"))',
            formats["usd"],
            "unknown" if total is None else total,
        )
        for column, words in ((8, price.basis), (9, price.date), (10, price.source), (11, line.note)):
            sheet.write_string(row, column, words, formats["text"])
        for column, value in enumerate(quote_cells(price.quote), start=_QUOTE):
            if value is None:
                sheet.write_blank(row, column, None, formats["input"])
            elif isinstance(value, str):
                sheet.write_string(row, column, value, formats["input text"])
            else:
                sheet.write_number(row, column, value, formats["input"])
        if (length := length_of(price)) is not None:
            sheet.write_string(0, len(_COLUMNS), LENGTH_TITLE, formats["head number"])
            sheet.write_number(row, len(_COLUMNS), length, formats["input"])
        sheet.write_string(row, len(_COLUMNS) - 1, part_numbers().get(line.sku, ""), formats["text"])
    last = len(lines)
    known = [total for total in totals if total is not None]
    documented = sum(
        total
        for (_, price), total in zip(lines, totals, strict=True)
        if total is not None and price.basis == "documented"
    )
    sheet.write_string(last + 1, 6, "Sum of known prices", formats["label"])
    sheet.write_formula(last + 1, 7, f"=SUM(H2:H{last + 1})", formats["total"], sum(known))
    sheet.write_string(last + 2, 6, "Lines without a price", formats["label"])
    unknown = len(totals) - len(known)
    sheet.write_formula(last + 2, 7, f'=COUNTIF(H2:H{last + 1},"unknown")', formats["count"], unknown)
    sheet.write_string(last + 3, 6, "Share from documents", formats["label"])
    share = documented / sum(known) if sum(known) else 0.0
    sheet.write_formula(
        last + 3,
        7,
        # Lines whose price is from a document, and others that somebody quoted in USD.
        f'=IF(H{last + 2}=0,0,(SUMIF(I2:I{last + 1},"documented",H2:H{last + 1})'
        f'+SUMIFS(H2:H{last + 1},I2:I{last + 1},"<>documented",N2:N{last + 1},"USD"))/H{last + 2})',
        formats["share"],
        share,
    )
    sheet.write_string(last + 5, 2, "Type quotes into the yellow columns and read them back with --quotes.")
    sheet.freeze_panes(1, 3)
    sheet.autofilter(0, 0, last, len(_COLUMNS) - 1)
    _for_print(sheet)
    sheet.set_paper(8)  # A3: wide
    sheet.set_row(0, 30)
    return totals


def _category_sheet(book, formats, lines: Sequence[BillLine], totals: list[float | None]) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - as above
    sheet = book.add_worksheet("By category")
    columns = (("Category", 16), ("Lines", 8), ("USD of known prices", 22), ("Share", 10))
    for column, (title, width) in enumerate(columns):
        sheet.set_column(column, column, width)
        sheet.write_string(0, column, title, formats["head"])
    last = len(lines) + 1
    categories = sorted({line.category for line in lines})
    grand = sum(total for total in totals if total is not None)
    for row, category in enumerate(categories, start=1):
        own = [total for line, total in zip(lines, totals, strict=True) if line.category == category]
        usd = sum(total for total in own if total is not None)
        sheet.write_string(row, 0, category)
        sheet.write_formula(row, 1, f"=COUNTIF('Bill of materials'!D2:D{last},A{row + 1})", formats["count"], len(own))
        sheet.write_formula(
            row,
            2,
            f"=SUMIF('Bill of materials'!D2:D{last},A{row + 1},'Bill of materials'!H2:H{last})",
            formats["usd"],
            usd,
        )
        total_cell = f"C${len(categories) + 2}"
        sheet.write_formula(
            row, 3, f"=IF({total_cell}=0,0,C{row + 1}/{total_cell})", formats["share"], usd / grand if grand else 0.0
        )
    end = len(categories) + 1
    sheet.write_string(end, 0, "Sum", formats["bold"])
    sheet.write_formula(end, 2, f"=SUM(C2:C{end})", formats["total"], grand)
    _for_print(sheet)


def _power_sheet(book, formats, power: PowerSummary, pue: float | None) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - as above
    sheet = book.add_worksheet("Power")
    sheet.set_column(0, 0, 44)
    sheet.set_column(1, 1, 18)
    sheet.set_column(2, 2, 60)
    for column, title in enumerate(("Quantity", "Value", "How")):
        sheet.write_string(0, column, title, formats["head"])
    inputs = (
        ("Compute, W", power.compute_w, "nameplate, see racks.svg"),
        ("Network, W", power.network_w, "most where published, else typical"),
        ("Storage, W", power.storage_w, "most"),
        ("Management, W", power.management_w, "known devices only"),
    )
    for row, (name, watts, how) in enumerate(inputs, start=1):
        sheet.write_string(row, 0, name)
        sheet.write_number(row, 1, watts, formats["count"])
        sheet.write_string(row, 2, how)
    it_w = power.it_w
    rows: list[tuple[str, str, float | str, str]] = [
        ("IT load, W", "=SUM(B2:B5)", it_w, "sum"),
        ("PUE", "", "unknown" if pue is None else pue, "facility over IT energy, from the blueprint"),
        (
            "Facility load, W",
            '=IF(ISNUMBER(B7),B6*B7,"unknown")',
            "unknown" if pue is None else it_w * pue,
            "IT load x PUE",
        ),
        ("Apparent power, VA", f"=B6/{POWER_FACTOR}", it_w / POWER_FACTOR, f"power factor {POWER_FACTOR} (assumed)"),
        ("Heat, BTU/h", f"={BTU_PER_H_PER_W}*B6", BTU_PER_H_PER_W * it_w, "3.412 x W"),
        ("IT energy of a year, kWh", "=B6/1000*8760", it_w / 1000 * 8760, "full load for 8,760 h"),
        (
            "Facility energy of a year, kWh",
            '=IF(ISNUMBER(B7),B11*B7,"unknown")',
            "unknown" if pue is None else it_w / 1000 * 8760 * pue,
            "IT energy x PUE",
        ),
    ]
    for row, (name, formula, value, how) in enumerate(rows, start=len(inputs) + 1):
        sheet.write_string(row, 0, name)
        if formula:
            sheet.write_formula(row, 1, formula, formats["count"], value)
        elif isinstance(value, str):
            sheet.write_string(row, 1, value, formats["input"])
        else:
            sheet.write_number(row, 1, value, formats["input"])
        sheet.write_string(row, 2, how)
    _for_print(sheet)


def _for_print(sheet) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - as above
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)


def procurement(design: OnPremDesign, catalogue: Catalogue, *, title: str) -> str:
    """Return how many of each kind are bought, how many of them lie in stock, and how long each takes to come.

    Args:
        design: with its bill, spares and lead times.
        catalogue: tells which kind a part is.
        title: name of the cluster.
    """
    spares, leads = design.rules.spares, design.rules.lead_times
    bought = dict.fromkeys(KINDS, 0)
    for line in design.bill.lines:
        bought[kind_of_part(line.sku, catalogue)] += int(line.quantity)
    spare = dict.fromkeys(KINDS, 0)
    for line in design.bill.lines:
        if line.note.startswith("spares"):
            spare[kind_of_part(line.sku, catalogue)] += int(line.quantity)
    known = {kind: leads.seconds(kind) for kind in KINDS if bought[kind]}
    longest = max((seconds for seconds in known.values() if seconds is not None), default=None)
    unknown = [kind for kind, seconds in known.items() if seconds is None]
    lines = [
        f"# {title}: spares and lead times",
        "",
        "| kind | in use | spares | share | basis | lead time |",
        "|---|---:|---:|---:|---|---:|",
        *(
            f"| {kind} | {bought[kind] - spare[kind]:,} | {spare[kind]:,} | "
            f"{percent(spares.share(kind), digits=None)} | {_basis(spares, kind)} | {_weeks(leads.seconds(kind))} |"
            for kind in KINDS
            if bought[kind]
        ),
        "",
        (
            "No reference architecture states how many spares to keep. The shares are the buyer's "
            "(`targets.onprem.spares`); spares are counted for each type of part and rounded up."
        ),
        "",
        _delivery(longest, unknown),
    ]
    return "\n".join(lines)


def spares_in_words(spares: Spares) -> str:
    """Return such as `2 % of transceivers, 2 % of cables`, or that there are none."""
    kept = [f"{percent(spares.share(kind), digits=None)} of {kind}" for kind in KINDS if spares.share(kind)]
    return ", ".join(kept) if kept else "none"


def _basis(spares: Spares, kind: str) -> str:
    if spares.share(kind) != Spares().share(kind):
        return "given"
    return "assumed" if spares.share(kind) else "none kept"


def _weeks(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds / WEEK_S:.3g} weeks"


def _delivery(longest_s: float | None, unknown: list[str]) -> str:
    asked = f"Ask the vendors for: {', '.join(unknown)} (`targets.onprem.lead_times`)."
    if longest_s is None:
        return f"Lead times are unknown. {asked}"
    known = f"The last of what is known comes after {_weeks(longest_s)}."
    return f"{known} {asked}" if unknown else known
