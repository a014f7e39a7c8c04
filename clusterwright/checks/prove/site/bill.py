"""The bill of materials: as many of every part as stand in the racks, lie between them, and are kept in stock."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose

from clusterwright.catalog.parts.rack_contents import rack_contents
from clusterwright.catalog.parts.skus import skus
from clusterwright.checks.prove.papers import Papers, Row, absent, examined, plain, wrong
from clusterwright.checks.prove.records import Documents, Result
from clusterwright.errors import Finding
from clusterwright.facility import inventory as stock
from clusterwright.facility.bill import BillLine
from clusterwright.facility.spares import kind_of_part
from clusterwright.pricing.quoted import by_part
from clusterwright.tco.ledger.priced_lines import lines_by_length, quotes_by_length

FILE, PAGE = "bill_of_materials.csv", "bill_of_materials.md"
_CENT_USD = 0.005
_SPARES = "spares"
#: The price basis of lines that money is not counted with; a cord joins every supply to a strip.
_TO_BE_QUOTED = "to be quoted"
_CORD = "power-cord"
#: Categories of lines that no other document counts.
_NOT_COUNTED = {"software", "service"}


def prove_bill(papers: Papers) -> Result:
    """Return what holds of the bill of materials."""
    facts = [
        f"{len(papers.tables.get(FILE, ())):,} lines: quantities are those of racks, cables, cages, PDUs and spares",
        "amounts are quantity times price, to the cent; the page has the same lines",
    ]
    return examined("bill", papers, (FILE, PAGE), _RULES, facts)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedLine:
    """A line that the bill of materials has to have.

    Attributes:
        line: part and quantity; whole: the line of the plan that it is of, the same unless cables are quoted by length.
        unit_usd: price of one unit, None if unknown; basis: how well it is known, None where the plan has no price.
    """

    line: BillLine
    whole: BillLine
    unit_usd: float | None
    basis: str | None

    @property
    def length_m(self) -> float | None:
        """Length in m of the cables of the line, None where the line is of any length."""
        return None if self.line is self.whole else self.line.lengths[0][0]


def planned_lines(documents: Documents) -> tuple[PlannedLine, ...]:
    """Return the lines of the bill in their order, at the prices of the plan.

    Args:
        documents: the folder, with its plan and quotes.
    """
    quotes = by_part(documents.plan.quotes)
    priced = {line.line.sku: line for line in documents.option.money.lines}
    found = []
    for line in documents.design.bill.lines:
        known = priced.get(line.sku)
        lengths = () if known is None else quotes_by_length(known, quotes.get(line.sku, ()))
        found += [
            PlannedLine(line=own, whole=line, unit_usd=quote.usd, basis=quote.basis)
            for own, quote in lines_by_length(line, lengths)
        ] or [
            PlannedLine(
                line=line,
                whole=line,
                unit_usd=None if known is None else known.unit_usd,
                basis=None if known is None else known.basis,
            )
        ]
    return tuple(found)


def _lines(papers: Papers) -> Iterator[Finding]:
    known, planned = skus(), planned_lines(papers.documents)
    for number, row in enumerate(papers.rows(FILE), start=1):
        if row.count("line") != number:
            yield wrong(
                "BOM001", row, "the line's number", row["line"], number, "lines count from 1, and quotes name them"
            )
        sku = known.get(row["part"])
        of_length = _planned_line(planned, row)
        if of_length is not None and of_length.length_m is not None:
            yield from _length(row, of_length)
        elif sku is not None:
            for column, expected in (("item", sku.item), ("category", sku.category), ("unit", sku.unit)):
                if row[column] != expected and not (column == "unit" and row[column] == "each"):
                    yield wrong(
                        "BOM001", row, f"{column} of {row['part']}", row[column], expected, "a price key is one thing"
                    )


def _length(row: Row, planned: PlannedLine) -> Iterator[Finding]:
    """Compare what names the length of a cable: the item and the column of the quote."""
    line, rule = planned.line, "the cable is quoted by its length"
    for column, expected in (("item", line.item), ("category", line.category), ("unit", line.unit)):
        if row[column] != expected:
            yield wrong("BOM001", row, f"{column} of {row['part']}", row[column], expected, rule)
    if row.known("quote_length_m") != planned.length_m:
        what = f"quote_length_m of {row['part']}"
        yield wrong("BOM001", row, what, row["quote_length_m"], planned.length_m, rule)


def counted(papers: Papers) -> Counter[str]:
    """Return how many of every part the other documents have."""
    inventory = papers.documents.design.inventory
    whole = {row.part for row in rack_contents().get(inventory.system, ())}
    parts: Counter[str] = Counter()
    for row in papers.rows("racks.csv"):
        if row["part"] not in whole:
            parts[row["part"]] += 1
    parts[inventory.system] = inventory.nodes
    cables: dict[str, str] = {}
    optics: dict[tuple[str, str, str], str] = {}
    for row in papers.rows("cables.csv"):
        cables[row["cable"]] = row["part"]
        for side in ("from", "to"):
            if row[f"{side}_transceiver"]:
                cage = row[f"{side}_port"].split("/")[0]
                optics[row[f"{side}_device"], row["network"], cage] = row[f"{side}_transceiver"]
    parts += Counter(cables.values()) + Counter(optics.values())
    # The far end of these is not in this hall, so they are in no list of cables.
    for part in (stock.UPLINK_TRANSCEIVER, stock.UPLINK_FIBRE):
        parts[part] += inventory.inband.uplinks
    return parts


def _strips(papers: Papers) -> int:
    """Return the power strips of all racks."""
    return sum(row["role"] == "power" for row in papers.rows("netbox/5-devices.csv"))


def _is_spare(planned: Sequence[PlannedLine], row: Row) -> bool:
    """Tell whether a line is bought for stock, by the plan's line of that number: its note here is the buyer's."""
    numbered = _numbered(planned, row)
    return (row["note"] if numbered is None else numbered.line.note).startswith(_SPARES)


def _numbered(planned: Sequence[PlannedLine], row: Row) -> PlannedLine | None:
    """Return the plan's line of a row's number, None where that is of another part."""
    number = row.count("line")
    if 1 <= number <= len(planned) and planned[number - 1].line.sku == row["part"]:
        return planned[number - 1]
    return None


def _planned_line(planned: Sequence[PlannedLine], row: Row) -> PlannedLine | None:
    """Return the plan's line of a row: of its number, else of its item, else the first of its part."""
    numbered = _numbered(planned, row)
    if numbered is not None:
        return numbered
    own = [one for one in planned if one.line.sku == row["part"]]
    return next((one for one in own if one.line.item == row["item"]), own[0] if own else None)


def _quantities(papers: Papers) -> Iterator[Finding]:
    expected = counted(papers)
    expected[papers.documents.design.site.feed.pdu] += _strips(papers)
    expected[stock.RACK] = _racks_to_buy(papers)
    planned = planned_lines(papers.documents)
    lines: defaultdict[str, list[Row]] = defaultdict(list)
    for row in papers.rows(FILE):
        if not _is_spare(planned, row):
            lines[row["part"]].append(row)
    if lines.get(_CORD):
        expected[_CORD] = len(papers.rows("netbox/7-power-cables.csv"))
    for part, count in expected.items():
        own = lines.get(part, [])
        listed = sum(row.number("quantity") for row in own)
        if listed != count:
            what, rule = f"the quantity of {part}", "racks.csv, cables.csv and NetBox's devices count as many"
            yield (
                wrong("BOM002", own[0], what, listed, count, rule)
                if own
                else absent("BOM002", FILE, what, listed, count, rule)
            )
    for part, own in lines.items():
        if part not in expected and part in papers.catalogue.parts and own[0]["category"] not in _NOT_COUNTED:
            what, rule = f"the quantity of {part}", "no other document has one"
            yield wrong("BOM002", own[0], what, own[0]["quantity"], 0, rule)


def _stocked(papers: Papers) -> Iterator[Finding]:
    """Spares are the share of a part's lines that the plan asks for."""
    spares = papers.documents.design.rules.spares
    kept: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    # Cables of all lengths of a line of the plan have their spares together.
    bought: Counter[tuple[str, BillLine | int]] = Counter()
    planned = planned_lines(papers.documents)
    last: dict[str, Row] = {}
    for row in papers.rows(FILE):
        part = row["part"]
        if row["price_basis"] == _TO_BE_QUOTED:
            continue
        if _is_spare(planned, row):
            kept[part] += int(row.number("quantity"))
            last[part] = row
        else:
            numbered = _numbered(planned, row)
            whole = row.line if numbered is None else numbered.whole
            bought[part, whole] += int(row.number("quantity"))
            last.setdefault(part, row)
    for (part, _), count in bought.items():
        asked[part] += spares.count(kind_of_part(part, papers.catalogue), count)
    for part, row in last.items():
        if kept[part] != asked[part]:
            rule = "the share of spares asks for them"
            yield wrong("BOM003", row, f"the spares of {part}", kept[part], asked[part], rule)


def _planned(papers: Papers) -> Iterator[Finding]:
    """Every line is the one that money was counted with, by its number."""
    rows = [row for row in papers.rows(FILE) if row["price_basis"] != _TO_BE_QUOTED]
    lines = [planned.line for planned in planned_lines(papers.documents)]
    if len(rows) != len(lines):
        yield absent(
            "BOM006", FILE, "the number of lines", len(rows), len(lines), "plan.json counts money with as many"
        )
    for row, line in zip(rows, lines, strict=False):
        if row["part"] != line.sku:
            yield wrong("BOM006", row, "the part", row["part"], line.sku, "plan.json counts money with it")
        elif row.number("quantity") != line.quantity:
            what, rule = f"the quantity of {line.sku}", "plan.json counts money with it"
            yield wrong("BOM006", row, what, row.number("quantity"), float(line.quantity), rule)


def _to_be_quoted(papers: Papers) -> Iterator[Finding]:
    """Lines that only a vendor can price have a quantity and no amount; an unknown is no zero."""
    fixed = _fixed(papers)
    for row in papers.rows(FILE):
        if row["price_basis"] != _TO_BE_QUOTED:
            continue
        category, unit, count = fixed.get(row["part"], (row["category"], row["unit"], 0))
        for column, expected in (("category", category), ("unit", unit)):
            if row[column] != expected:
                yield wrong("BOM001", row, f"{column} of {row['part']}", row[column], expected, "a part is one thing")
        if count and row.number("quantity") != count:
            rule = "the inventory has as many of what it is for"
            yield wrong("BOM002", row, f"the quantity of {row['part']}", row["quantity"], count, rule)
        if row.number("quantity") <= 0:
            yield wrong("BOM007", row, f"the quantity of {row['part']}", row["quantity"], "1 or more", "it is bought")
        for column in ("usd_each", "usd_total"):
            if row[column]:
                rule = "nobody has quoted it, and the sum is without it"
                yield wrong("BOM007", row, f"{column} of {row['part']}", row[column], "nothing", rule)


def _racks_to_buy(papers: Papers) -> int:
    """Return the empty racks: all but those that are delivered whole with what is in them."""
    whole = {row.part for row in rack_contents().get(papers.documents.design.inventory.system, ())}
    racks = {row["rack"] for row in papers.rows("racks.csv")}
    return len(racks - {row["rack"] for row in papers.rows("racks.csv") if row["part"] in whole})


def _amounts(papers: Papers) -> Iterator[Finding]:
    lines = planned_lines(papers.documents)
    for row in papers.rows(FILE):
        price, total = row.known("usd_each"), row.known("usd_total")
        if (price is None) != (total is None):
            yield wrong(
                "BOM004",
                row,
                "usd_total",
                row["usd_total"],
                "a number with a price, nothing without",
                "an unknown stays unknown",
            )
        elif (
            price is not None
            and total is not None
            and not isclose(total, price * row.number("quantity"), rel_tol=1e-9, abs_tol=_CENT_USD)
        ):
            yield wrong(
                "BOM004",
                row,
                f"usd_total of {row['part']}",
                total,
                price * row.number("quantity"),
                "quantity times usd_each",
            )
        known = _planned_line(lines, row)
        if known is None or known.basis is None:
            continue
        planned = known.unit_usd
        if (price is None) != (planned is None) or (
            price is not None and planned is not None and not isclose(price, planned, rel_tol=1e-9, abs_tol=_CENT_USD)
        ):
            yield wrong(
                "BOM004",
                row,
                f"usd_each of {row['part']}",
                price,
                planned,
                "plan.json counts money with it; quotes have columns of their own",
            )
        if row["price_basis"] != known.basis:
            yield wrong(
                "BOM004",
                row,
                f"price_basis of {row['part']}",
                row["price_basis"],
                known.basis,
                "plan.json knows the price so well",
            )


_CELLS = re.compile(r"(?<!\\)\|")
_MAKERS = "maker's number"


def _page(papers: Papers) -> Iterator[Finding]:
    """Compare the page with the list: part, quantity and amount of every line."""
    lines = papers.text(PAGE).splitlines()
    listed = [
        (number, [cell.strip() for cell in _CELLS.split(line)[1:-1]])
        for number, line in enumerate(lines, start=1)
        if re.match(r"\| \d+ \|", line)
    ]
    rows = papers.rows(FILE)
    if len(listed) != len(rows):
        yield absent("BOM005", PAGE, "the number of lines", len(listed), len(rows), f"{FILE} has as many")
    for (number, cells), row in zip(listed, rows, strict=False):
        expected = (
            row["line"],
            row["part"],
            f"{row.number('quantity'):,g}",
            row["unit"],
            _usd(row, "usd_each"),
            _usd(row, "usd_total"),
            row["price_basis"],
            row["item"],
            row["maker_part_number"],
        )
        found = (cells[0], cells[1], *cells[3:8], plain(cells[2]), plain(cells[10]))
        for what, value, wanted in zip(
            ("line", "part", "quantity", "unit", "USD each", "USD total", "price", "item", _MAKERS),
            found,
            expected,
            strict=True,
        ):
            # A buyer may fill in the number of a maker in the list, which the page then has not.
            filled = what == _MAKERS and not value
            if value != wanted and not filled:
                yield absent("BOM005", f"{PAGE}:{number}", what, value, wanted, f"{row.place} has it so")
        if not row["quote_lead_time_weeks"] and cells[8] != "unknown":
            yield absent("BOM005", f"{PAGE}:{number}", "lead time, weeks", cells[8], "unknown", f"{row.place} has none")
        # A note may be the buyer's on one of the two: the figures of equal words are compared.
        if _words(plain(cells[9])) == _words(row["note"]) and plain(cells[9]) != row["note"]:
            yield absent(
                "BOM005", f"{PAGE}:{number}", "the note", plain(cells[9]), row["note"], f"{row.place} has it so"
            )
    known = sum(row.known("usd_total") or 0.0 for row in rows)
    said = re.search(r"\*\*([\d,.]+) USD\*\*", papers.text(PAGE))
    if said is None or not isclose(float(said[1].replace(",", "")), known, rel_tol=1e-9, abs_tol=_CENT_USD * len(rows)):
        yield absent(
            "BOM005", PAGE, "the sum", said[1] if said else None, f"{known:,.2f}", "the known amounts together"
        )


def _words(text: str) -> str:
    """Return a note with its figures masked."""
    return re.sub(r"\d[\d,.]*", "#", text)


def _notes(papers: Papers) -> Iterator[Finding]:
    """A note that is still the plan's has its figures, and a price its source and day."""
    lines, priced = planned_lines(papers.documents), {one.line.sku: one for one in papers.documents.option.money.lines}
    for row in papers.rows(FILE):
        known = _planned_line(lines, row)
        if known is None or row["price_basis"] == _TO_BE_QUOTED:
            continue
        said, note = row["note"], known.line.note
        if (
            _words(said.partition(":")[0]) == _words(note.partition(":")[0])
            and _words(said) == _words(note)
            and said != note
        ):
            yield wrong("BOM008", row, f"the note of {row['part']}", said, note, "plan.json has it so")
        price = priced.get(row["part"])
        if price is None or known.length_m is not None or known.basis == "unknown":
            continue
        for column, value in (("price_date", str(price.price_date)), ("price_source", price.source)):
            # Spreadsheets write days in forms of their own.
            if row[column] != value and (column == "price_source" or _DAY.fullmatch(row[column] or value)):
                yield wrong("BOM004", row, f"{column} of {row['part']}", row[column], value, "plan.json has this price")


_DAY = re.compile(r"\d{4}(-\d{2}){0,2}")


def _fixed(papers: Papers) -> Mapping[str, tuple[str, str, int]]:
    """Return category, unit and number of what is to be quoted; 0 where another rule counts it."""
    inventory = papers.documents.design.inventory
    managers = inventory.compute_managers + inventory.storage_managers
    return {
        _CORD: ("power", "each", 0),
        "border-firewall": ("network", "each", inventory.inband.border),
        "uplink-far-end": ("network", "each", inventory.inband.uplinks),
        "nvidia-ai-enterprise": ("software", "GPU", inventory.gpus),
        "fabric-manager-licence": ("software", "each", managers),
        "freight": ("service", "lot", 1),
        "installation": ("service", "lot", 1),
        "support": ("service", "lot", 1),
    }


def _usd(row: Row, column: str) -> str:
    value = row.known(column)
    return "unknown" if value is None else f"{value:,.2f}"


_RULES = (_lines, _quantities, _stocked, _planned, _to_be_quoted, _amounts, _notes, _page)
