"""Cost of a run on clusters rented on demand: the cash flow of `tco/sql` in closed form, for many clusters at once.

Without commitments, contracts, charges and support plans every line is paid for the hours of the run, so that the
months of the horizon, its growth and its utilisation cancel out: USD = sum of quantity x USD per unit and hour x hours
of a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.errors import InputError
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import COMMITTED_TERMS
from clusterwright.tco.formulas.unit_cost import priced_share, usd_per_gpu_hour
from clusterwright.tco.ledger.priced_lines import price_lines
from clusterwright.tco.terms.assumptions import assumptions
from clusterwright.tco.terms.records import Candidate, Economics, MissingPrice, PricedLine


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCost:
    """Cost of one run, with fields as in `CandidateCost`; amounts are None where a price is unknown."""

    run_usd: float | None
    run_usd_low: float | None
    run_usd_high: float | None
    usd_per_gpu_hour: float | None
    priced_share: float | None
    missing: tuple[MissingPrice, ...]


def run_costs(candidates: Sequence[Candidate], economics: Economics, book: PriceBook) -> tuple[RunCost, ...]:
    """Return the cost of a run on each candidate, in order; the results equal those of `engine.cost`.

    Args:
        candidates: rented candidates with hourly or monthly lines and no costs besides the bill.
        economics: source of the prices' day and overrides, and of the hours per month.
        book: documented prices.

    Raises:
        InputError: a candidate is bought or committed, or has costs besides its bill.
    """
    for candidate in candidates:
        if (
            candidate.owned
            or (candidate.term or economics.term) in COMMITTED_TERMS
            or candidate.contract is not None
            or candidate.support is not None
            or candidate.charges
            or candidate.surcharges
            or any(line.charge == "once" for line in candidate.bill.lines)
        ):
            raise InputError(f"{candidate.key} is not rented on demand alone", help="use engine.cost for its cash flow")
    priced = price_lines(candidates, economics, book, assumptions(), economics.as_of or book.newest_day)
    return tuple(
        _run_cost(candidate, lines, economics.hours_per_month)
        for candidate, lines in zip(candidates, priced, strict=True)
    )


def _run_cost(candidate: Candidate, lines: Sequence[PricedLine], hours_per_month: float) -> RunCost:
    missing = tuple(
        MissingPrice(sku=entry.line.sku, item=entry.line.item, region=entry.line.region, reason=entry.note)
        for entry in lines
        if entry.unit_usd is None
    )
    run_hours = candidate.calendar_days * 24.0
    units = [
        entry.line.quantity * (run_hours if entry.line.charge == "hourly" else run_hours / hours_per_month)
        for entry in lines
    ]

    def total(prices: Sequence[float | None], time: float = 1.0) -> float | None:
        known = [price * unit * time for price, unit in zip(prices, units, strict=True) if price is not None]
        return None if missing else sum(known)

    usd = total([entry.unit_usd for entry in lines])
    documented = total([entry.unit_usd if entry.basis in {"documented", "given"} else 0.0 for entry in lines])
    return RunCost(
        run_usd=usd,
        run_usd_low=total([entry.unit_usd_low for entry in lines], candidate.run_time_low),
        run_usd_high=total([entry.unit_usd_high for entry in lines], candidate.run_time_high),
        usd_per_gpu_hour=None if usd is None else usd_per_gpu_hour(run_usd=usd, gpu_hours=candidate.gpus * run_hours),
        priced_share=None if not usd or documented is None else priced_share(documented_usd=documented, all_usd=usd),
        missing=missing,
    )
