"""Prices of bill lines: documented ones first, then assumptions, else unknown."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace

from clusterwright.facility.bill import BillLine
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.quoted import QuotedPrice, by_part, mean_quote, quote_of
from clusterwright.pricing.records import PriceInForce, PricePoint, PriceRequest
from clusterwright.tco.terms.records import Assumption, Candidate, Economics, PricedLine

_GIB_BYTES = 2.0**30
_GB_BYTES = 1e9
#: Terms with assumptions for missing prices: the list price and the purchase. Other terms have no assumptions.
_ASSUMABLE_TERMS = ("on_demand", "purchase")


def term_of(line: BillLine, candidate: Candidate, economics: Economics) -> str:
    """Return the payment term of a line: the chosen term for rented GPU nodes, the list price for everything else."""
    if line.charge == "once":
        return "purchase"
    if is_by_term(line):
        return candidate.term or economics.term
    return "on_demand"


def is_by_term(line: BillLine) -> bool:
    """Return whether a line is for rented GPU nodes, which the candidate's term and contract apply to."""
    return line.category == "compute" and line.scales_with == "nodes" and line.charge == "hourly"


def price_lines(
    candidates: Sequence[Candidate],
    economics: Economics,
    book: PriceBook,
    known: Mapping[str, Assumption],
    as_of: dt.date,
) -> tuple[tuple[PricedLine, ...], ...]:
    """Return the priced bill of each candidate, in order.

    The order of precedence is: a price given by the user, a vendor's quote, a documented price in force on the day, and
    the assumption for the sku, which is never used for spot prices or commitments. Otherwise the price is unknown and
    the line states the reason. A documented purchase price of low confidence gets the relative band of the assumption.
    """
    terms = [[term_of(line, candidate, economics) for line in candidate.bill.lines] for candidate in candidates]
    requests = tuple(
        dict.fromkeys(
            PriceRequest(sku=line.sku, region=line.region, term=term)
            for candidate, line_terms in zip(candidates, terms, strict=True)
            for line, term in zip(candidate.bill.lines, line_terms, strict=True)
        )
    )
    prices = dict(zip(requests, book.in_force(requests, as_of), strict=True))
    overrides = dict(economics.overrides)
    quotes = by_part(economics.quotes)
    return tuple(
        tuple(
            _priced(
                line,
                term,
                price=prices[PriceRequest(sku=line.sku, region=line.region, term=term)],
                assumption=known.get(line.sku) if term in _ASSUMABLE_TERMS else None,
                override=dict(candidate.rates).get(line.sku, overrides.get(line.sku)),
                quote=mean_quote(quotes.get(line.sku, ()), line.lengths),
                hours_per_month=economics.hours_per_month,
            )
            for line, term in zip(candidate.bill.lines, line_terms, strict=True)
        )
        for candidate, line_terms in zip(candidates, terms, strict=True)
    )


def quotes_by_length(priced: PricedLine, quotes: Sequence[QuotedPrice]) -> tuple[QuotedPrice, ...]:
    """Return the quotes that a line's price is the mean of; none if the price is another one or not by length.

    Args:
        priced: the line with its price.
        quotes: quotes for the line's part.
    """
    mean = mean_quote(quotes, priced.line.lengths)
    is_quoted = mean is not None and mean.length_m is not None and mean.source == priced.source
    return tuple(quotes) if is_quoted else ()


def lines_by_length(line: BillLine, quotes: Sequence[QuotedPrice]) -> tuple[tuple[BillLine, QuotedPrice], ...]:
    """Return one line per cable length with its quote; none if the part has no quotes by length.

    Args:
        line: cables of one part, with the number of each length.
        quotes: quotes for the part by length, shortest first.
    """
    if mean_quote(quotes, line.lengths) is None:
        return ()
    quoted_lengths = [(length, number, quote_of(quotes, length)) for length, number in line.lengths]
    return tuple(
        (replace(line, item=f"{line.item}, {length:g} m", quantity=number, lengths=((length, number),)), quote)
        for length, number, quote in quoted_lengths
        if quote is not None
    )


def _priced(
    line: BillLine,
    term: str,
    *,
    price: PriceInForce | None,
    assumption: Assumption | None,
    override: float | None,
    quote: QuotedPrice | None,
    hours_per_month: float,
) -> PricedLine:
    if override is not None:
        return _line(line, term, (override, override, override), "given", note="given by the user", source="blueprint")
    if quote is not None and (line.charge, line.unit) == ("once", quote.unit):
        return PricedLine(
            line=line,
            term=term,
            unit_usd=quote.usd,
            unit_usd_low=quote.usd,
            unit_usd_high=quote.usd,
            basis=quote.basis,
            price_date=quote.quoted_on,
            last_seen=dt.date.fromisoformat(quote.quoted_on) if quote.basis == "documented" else None,
            source=quote.source,
            confidence="high",
            note=quote.note,
        )
    if price is not None:
        point = price.point
        factor = _factor(line, point.charge, point.unit, hours_per_month)
        if factor is not None:
            usd = point.usd * factor
            low, high = _ends(point, term, assumption)
            return PricedLine(
                line=line,
                term=term,
                unit_usd=usd,
                unit_usd_low=usd * low,
                unit_usd_high=usd * high,
                basis="documented",
                price_date=point.effective_from.isoformat(),
                last_seen=point.last_seen,
                source=f"{price.source_title}, {point.locator}" if point.locator else price.source_title,
                confidence=point.confidence,
                note=point.note,
            )
    if assumption is not None:
        factor = _factor(line, assumption.charge, assumption.unit, hours_per_month)
        if factor is not None:
            band = (assumption.base * factor, assumption.low * factor, assumption.high * factor)
            return _line(
                line,
                term,
                band,
                "assumed",
                note=assumption.reason,
                source=assumption.source,
                price_date=assumption.date,
            )
    return _line(line, term, None, "unknown", note=_reason(line, term, price, assumption))


def _ends(point: PricePoint, term: str, assumption: Assumption | None) -> tuple[float, float]:
    """Return the low and the high end of a documented price as multiples of the price.

    A purchase price from one secondary source of low confidence is the middle of a range or the price of one shop, so
    it keeps the relative band of the assumption for that part. Rents are list prices that hold for every customer.
    """
    if term != "purchase" or point.confidence != "low" or assumption is None or not assumption.base:
        return 1.0, 1.0
    return assumption.low / assumption.base, assumption.high / assumption.base


def _line(
    line: BillLine,
    term: str,
    band: tuple[float, float, float] | None,
    basis: str,
    *,
    note: str,
    source: str = "",
    price_date: str = "",
) -> PricedLine:
    base, low, high = band or (None, None, None)
    return PricedLine(
        line=line,
        term=term,
        unit_usd=base,
        unit_usd_low=low,
        unit_usd_high=high,
        basis=basis,
        price_date=price_date,
        last_seen=None,
        source=source,
        confidence={"given": "high", "assumed": "low"}.get(basis, ""),
        note=note,
    )


def _factor(line: BillLine, charge: str, unit: str, hours_per_month: float) -> float | None:
    """Return the factor from a price per (charge, unit) to the line's charge and unit; None if they do not match."""
    periods = {
        ("hourly", "hourly"): 1.0,
        ("monthly", "monthly"): 1.0,
        ("once", "once"): 1.0,
        ("hourly", "monthly"): 1.0 / hours_per_month,
        ("monthly", "hourly"): hours_per_month,
    }
    units = {("GB", "GiB"): _GB_BYTES / _GIB_BYTES, ("GiB", "GB"): _GIB_BYTES / _GB_BYTES}
    period = periods.get((line.charge, charge))
    amount = 1.0 if line.unit == unit else units.get((line.unit, unit))
    return None if period is None or amount is None else period * amount


def _reason(line: BillLine, term: str, price: PriceInForce | None, assumption: Assumption | None) -> str:
    if price is not None:
        return f"the price is per {price.point.unit}, {price.point.charge}; the bill counts {line.unit}, {line.charge}"
    if assumption is not None:
        return (
            f"the assumption is per {assumption.unit}, {assumption.charge}; the bill counts {line.unit}, {line.charge}"
        )
    place = f" in {line.region}" if line.region else ""
    return f"no documented {term.replace('_', '-')} price{place}, and no row in tco/assumptions.csv"
