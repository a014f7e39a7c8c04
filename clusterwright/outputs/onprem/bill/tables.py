"""The bill of materials as CSV and as Markdown, with columns for a vendor's quote."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterwright.catalog.parts.skus import part_numbers
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.hall.racks import Rack
from clusterwright.outputs.markdown import cell
from clusterwright.outputs.onprem.netbox.power import rack_power
from clusterwright.outputs.tables import csv_text
from clusterwright.pricing.quoted import QuotedPrice
from clusterwright.tco.ledger.priced_lines import lines_by_length


@dataclass(frozen=True, kw_only=True, slots=True)
class PartPrice:
    """What one unit costs in USD, how well that is known (`documented`, `assumed`, …), from where and when.

    Attributes:
        quote: of a vendor that the price is from, if it is.
        lengths: quotes of a cable by its length, if it is quoted so.
    """

    unit_usd: float | None
    basis: str
    source: str
    date: str
    quote: QuotedPrice | None = None
    lengths: tuple[QuotedPrice, ...] = ()


#: Title of the column that a bill has where cables are quoted by length, as `feeds` reads it.
LENGTH_TITLE = "Quote length, m"
Prices = Mapping[str, PartPrice]
UNKNOWN_PRICE = PartPrice(unit_usd=None, basis="unknown", source="", date="")
#: Of lines that only a vendor can price, and that money is not counted with.
TO_BE_QUOTED = PartPrice(unit_usd=None, basis="to be quoted", source="", date="")


def priced_lines(bill: Bill, prices: Prices, besides: Sequence[BillLine]) -> list[tuple[BillLine, PartPrice]]:
    """Return every line of the documents with its price: those that money is counted with, then what is to be quoted.

    A cable that is quoted by length has a line for each length.

    Args:
        bill: of materials.
        prices: by price key; a missing key is an unknown price.
        besides: lines without a price that money is not counted with.
    """
    counted = [one for line in bill.lines for one in _by_length(line, prices.get(line.sku, UNKNOWN_PRICE))]
    return counted + [(line, TO_BE_QUOTED) for line in besides]


def _by_length(line: BillLine, price: PartPrice) -> list[tuple[BillLine, PartPrice]]:
    found = [
        (
            of_length,
            PartPrice(unit_usd=quote.usd, basis=quote.basis, source=quote.source, date=quote.quoted_on, quote=quote),
        )
        for of_length, quote in lines_by_length(line, price.lengths)
    ]
    return found or [(line, price)]


def bill_csv(bill: Bill, prices: Prices, besides: Sequence[BillLine] = ()) -> str:
    """Return the bill as CSV, one line each; unknown prices are empty cells marked `unknown`.

    Args:
        bill: of materials.
        prices: by price key; a missing key is an unknown price.
        besides: lines that are to be quoted.
    """
    rows = []
    lines = priced_lines(bill, prices, besides)
    has_lengths = any(length_of(price) is not None for _, price in lines)
    for number, (line, price) in enumerate(lines, start=1):
        total = None if price.unit_usd is None else price.unit_usd * line.quantity
        rows.append(
            (
                number,
                line.sku,
                line.item,
                line.category,
                line.quantity,
                line.unit,
                price.unit_usd,
                total,
                price.basis,
                price.date,
                price.source,
                line.note,
                *quote_cells(price.quote),
                part_numbers().get(line.sku, ""),
                *([length_of(price)] if has_lengths else []),
            )
        )
    header = (
        "line",
        "part",
        "item",
        "category",
        "quantity",
        "unit",
        "usd_each",
        "usd_total",
        "price_basis",
        "price_date",
        "price_source",
        "note",
        "quote_unit_price",
        "quote_currency",
        "quote_vendor",
        "quote_lead_time_weeks",
        "quoted_on",
        "maker_part_number",
        *(["quote_length_m"] if has_lengths else []),
    )
    return csv_text(header, rows)


def length_of(price: PartPrice) -> float | None:
    """Return the length in m that a line is quoted for, None where its quote is for any length."""
    return None if price.quote is None else price.quote.length_m


def quote_cells(quote: QuotedPrice | None) -> tuple[str | float | None, ...]:
    """Return the quote columns of a line, empty where nobody quoted it yet."""
    if quote is None or not quote.vendor:
        return (None,) * 5
    return (quote.price, quote.currency, quote.vendor, quote.lead_time_weeks, quote.quoted_on)


def bill_markdown(bill: Bill, prices: Prices, *, title: str, besides: Sequence[BillLine] = ()) -> str:
    """Return the bill as a page: what is bought, for how much, and how well that is known.

    Args:
        bill: of materials.
        prices: by price key; a missing key is an unknown price.
        title: heading.
        besides: lines that are to be quoted.
    """
    head = (
        (
            "| Line | Part | Item | Quantity | Unit | USD each | USD total | Price is | Lead time, weeks | For | "
            "Maker's number |"
        ),
        "|---:|---|---|---:|---|---:|---:|---|---:|---|---|",
    )
    rows, total, unknown = [], 0.0, 0
    for number, (line, price) in enumerate(priced_lines(bill, prices, besides), start=1):
        usd = None if price.unit_usd is None else price.unit_usd * line.quantity
        total, unknown = total + (usd or 0.0), unknown + (usd is None and price is not TO_BE_QUOTED)
        weeks = price.quote.lead_time_weeks if price.quote else None
        texts = (
            str(number),
            line.sku,
            line.item,
            f"{line.quantity:,g}",
            line.unit,
            _usd(price.unit_usd),
            _usd(usd),
            price.basis,
            "unknown" if weeks is None else f"{weeks:g}",
            line.note,
            part_numbers().get(line.sku, ""),
        )
        rows.append(f"| {' | '.join(map(cell, texts))} |")
    known = f"**{total:,.2f} USD** for the lines whose price is known"
    missing = f"; {unknown} of {len(bill.lines)} have none" if unknown else ""
    page = [f"# Bill of materials of {cell(title)}", "", *head, *rows, "", f"{known}{missing}."]
    if besides:
        page += [
            "",
            (
                f"{len(besides)} lines are to be quoted: no price of them is known, and the sum is without them. "
                "`tco.owner` counts freight, installation, software and support as shares or amounts that you state. "
                "Parts without a maker's number are to be named in the quote."
            ),
        ]
    return "\n".join(page)


def _usd(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.2f}"


CORD = "power-cord"


def quoted_lines(design: OnPremDesign, standing: Sequence[Rack]) -> tuple[BillLine, ...]:
    """Return the lines, in the order of the bill's categories.

    Args:
        design: in counts.
        standing: its racks.
    """
    inventory = design.inventory
    cords = sum(len(rack.cords) for rack in rack_power(standing, design.site.feed) if rack.strips)
    managers = inventory.compute_managers + inventory.storage_managers
    rows = (
        (CORD, "Power cord, supply to PDU", "power", cords, "each", "netbox/7-power-cables.csv; plugs of both ends"),
        (
            "border-firewall",
            "Firewall towards the users' network",
            "network",
            inventory.inband.border,
            "each",
            "one for each border switch, unless the users' network brings them; uplinks.csv has the links",
        ),
        (
            "uplink-far-end",
            "Transceiver of an uplink, far end",
            "network",
            inventory.inband.uplinks,
            "each",
            "fits the users' network's port; uplinks.csv",
        ),
        (
            "nvidia-ai-enterprise",
            "NVIDIA AI Enterprise, if it is wanted",
            "software",
            inventory.gpus,
            "GPU",
            "a licence for each GPU; counted where tco.owner states it",
        ),
        (
            "fabric-manager-licence",
            "Licences and support of the fabric managers",
            "software",
            managers,
            "each",
            "as the vendor sells them; counted where tco.owner states it",
        ),
        ("freight", "Freight, its insurance and duty", "service", 1, "lot", "counted where tco.owner states it"),
        ("installation", "Installation and burn-in", "service", 1, "lot", "counted where tco.owner states it"),
        ("support", "Support of what is in no other line", "service", 1, "lot", "counted where tco.owner states it"),
    )
    return tuple(
        BillLine(
            sku=sku,
            item=item,
            category=category,
            quantity=quantity,
            unit=unit,
            charge="once",
            scales_with="cluster",
            note=note,
        )
        for sku, item, category, quantity, unit, note in rows
        if quantity
    )
