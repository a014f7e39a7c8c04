"""What the dollars of a way to do the work rest on: the record; `answer_basis` counts it and says it."""

from dataclasses import dataclass

#: Share of the dollars that documents, quotes or the blueprint must give, below which an answer is indicative.
DOCUMENTED = 0.8
#: Age in days, a year, above which the dollars of a price are reported as old.
OLD_DAYS = 365


@dataclass(frozen=True, kw_only=True, slots=True)
class Basis:
    """What the dollars of a way rest on. Shares are of the absolute USD of the horizon, from 0 to 1.

    Attributes:
        quoted_share: quoted by a vendor or given in the blueprint; list_share: listed in a document;
            estimated_share: assumed. None where a price is missing.
        indicative: less than `DOCUMENTED` is quoted or listed.
        oldest_price: day on which the price that was seen longest ago was last seen (ISO 8601), and oldest_sku whose;
            empty where no document is used.
        valid_until: last day on which none of the documents is older than economics.max_price_age; empty likewise.
        tax: the totals are before it.
        counted, not_counted: freight, licences, support and border network, as far as they apply.
        old_share: share whose documents were last seen more than `OLD_DAYS` before the plan's day; None where a price
            is missing, and in plans of versions before it.
        half_runs: runs of the horizon at half the utilisation; half_horizon_usd, half_npv_usd: their cost, None where
            it is unknown.
        half_run_usd: cash of one of them; None where it is bought or committed, then half_run_share_usd: its share of
            the horizon's cost.
    """

    quoted_share: float | None
    list_share: float | None
    estimated_share: float | None
    indicative: bool
    oldest_price: str
    oldest_sku: str
    valid_until: str
    tax: str
    counted: tuple[str, ...]
    not_counted: tuple[str, ...]
    half_runs: float
    half_horizon_usd: float | None
    half_run_usd: float | None
    half_npv_usd: float | None = None
    half_run_share_usd: float | None = None
    old_share: float | None = None

    @property
    def documented_share(self) -> float | None:
        """Share that is quoted, given or listed."""
        if self.quoted_share is None or self.list_share is None:
            return None
        return self.quoted_share + self.list_share
