"""What was drawn, in sentences: for the terminal and for the report."""

from clusterwright.finance.drawn_plan import MarketPath, PricePaths
from clusterwright.finance.finances import Finances
from clusterwright.plan.text.words import term_text
from clusterwright.units import percent

_FEW, _PERCENT = 2, 0.01


def chance_sentences(found: Finances) -> list[str]:
    """Return sentences that say what was drawn, where rental prices go, and which options fell out of some draws."""
    return [
        f"{found.draws:,} draws of the assumptions (Latin hypercube, seed {found.seed}).",
        "Dearest tenth: the mean of the dearest 10 % of them (conditional value at risk).",
        *_price_paths(found),
        *_too_slow(found),
        *([f"– is not called the cheapest: {why}."] if (why := not_called(found)) else []),
    ]


def not_called(found: Finances) -> str:
    """Return why options with a dash are never called the cheapest; empty where every option may be."""
    owned = [cost.owned and not cost.mixed for cost in found.costs if not cost.competes]
    of_rented, of_owned = (
        "only a part of it is priced, or nobody can count on it all the time",
        "it cannot be there before its delivery",
    )
    return ", or ".join((of_rented,) * (False in owned) + (of_owned,) * (True in owned))


def _too_slow(found: Finances) -> list[str]:
    """Return a sentence for each share of the draws that left options out, whose names stand together."""
    by_share: dict[str, list[str]] = {}
    for entry in found.drawn:
        if entry.probability_too_slow:
            by_share.setdefault(_share(entry.probability_too_slow), []).append(term_text(entry.key))
    return [
        f"{'; '.join(names)} cannot do the work of {share} of the draws, which "
        f"{'its' if len(names) == 1 else 'their'} figures leave out."
        for share, names in by_share.items()
    ]


def _share(share: float) -> str:
    return percent(share) if share >= _PERCENT else "under 1 %"


def _price_paths(found: Finances) -> list[str]:
    paths = found.price_paths
    if paths.source == "band":
        return [f"Rental prices stay on one drawn level for the whole horizon: {paths.reason}."]
    return [
        *(_market(paths, market, alone=len(paths.markets) == 1) for market in paths.markets),
        "Commitments keep their price until they are renewed.",
        *([f"{paths.reason}: others stand in."] if paths.reason else []),
    ]


def _market(paths: PricePaths, market: MarketPath, *, alone: bool) -> str:
    several = len(market.histories) > _FEW
    whose = f"{len(market.histories)} accelerators" if several else ", ".join(market.histories)
    drift = (
        "without drift"
        if paths.drift == "none"
        else f"with its drift of {percent(market.drift_per_year, signed=True)} a year"
    )
    mean = f"{percent(market.mean_level_p10)} to {percent(market.mean_level_p90)} of today's price"
    blocks = f"{paths.block_months}-month blocks of the price history of {whose}"
    years = f"{market.first_month} to {market.last_month}, {drift}, {percent(market.volatility_per_year)} volatility"
    rented = "Rental prices" if alone else f"Rental prices of {market.accelerator}"
    return f"{rented} follow paths made of {blocks}, {years}; mean of the horizon {mean} (P10 to P90)."
