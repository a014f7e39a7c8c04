"""The bill as the plan counts money with it: a line for each part, and for each length where cables are quoted so."""

from dataclasses import dataclass

from clusterwright.checks.prove.records import Documents
from clusterwright.facility.bill import BillLine
from clusterwright.pricing.quoted import by_part
from clusterwright.tco.priced_lines import lines_by_length, quotes_by_length


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
    priced = {line.line.sku: line for line in documents.option.lines}
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
