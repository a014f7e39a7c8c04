"""What compare --finance says of chance: how it was drawn, bands after tax, and what a wrong choice costs."""

from clusterwright.cli.show import table
from clusterwright.plan.finances import Finances
from clusterwright.plan.words import money, percent, term_text

#: An option that is right more rarely is left out of the table of wrong choices.
_LEAST_RIGHT = 0.005


def method(found: Finances) -> list[str]:
    """Return lines that say what was drawn, where rental prices go, and which options fell out of some draws."""
    lines = [
        f"  {found.draws:,} draws of the assumptions (Latin hypercube, seed {found.seed}).",
        "  Dearest tenth: the mean of the dearest 10 % of them (conditional value at risk).",
        *_price_paths(found),
    ]
    for entry in found.drawn:
        if entry.probability_too_slow:
            share = entry.probability_too_slow
            lines.append(
                f"  {term_text(entry.key)} cannot do the work of {percent(share) if share >= 0.01 else 'under 1 %'}"  # noqa: PLR2004
                " of the draws, which its figures leave out."
            )
    return lines


def _price_paths(found: Finances) -> list[str]:
    paths = found.price_paths
    if paths.source == "band":
        return [f"  Rental prices stay on one drawn level for the whole horizon: {paths.reason}."]
    whose = ", ".join(paths.accelerators) if len(paths.accelerators) <= 2 else f"{len(paths.accelerators)} accelerators"  # noqa: PLR2004
    drift = (
        "without drift"
        if paths.drift == "none"
        else f"with its drift of {100 * (paths.drift_per_year or 0):+.0f} % a year"
    )
    mean = f"{percent(paths.mean_level_p10)} to {percent(paths.mean_level_p90)} of today's price"
    return [
        f"  Rental prices follow paths made of {paths.block_months}-month blocks of the price history of {whose},",
        f"  {paths.first_month} to {paths.last_month}, {drift}, {percent(paths.volatility_per_year)} volatility;",
        f"  mean of the horizon {mean} (P10 to P90).",
        "  Commitments keep their price until they are renewed.",
        *([f"  {paths.reason}: others stand in."] if paths.reason else []),
    ]


def after_tax(found: Finances) -> list[str]:
    """Return a table of the bands after tax, cheapest first."""
    columns = [
        ("After tax, over the draws", "left"), ("P10", ""), ("P50", ""), ("P90", ""), ("dearest tenth", ""),
        ("cheapest in", ""), ("regret", ""),
    ]  # fmt: skip
    ordered = sorted(found.drawn, key=lambda entry: (entry.npv_after_tax_usd_p50 or 0.0, entry.key))
    rows = [
        [
            term_text(entry.key),
            money(entry.npv_after_tax_usd_p10),
            money(entry.npv_after_tax_usd_p50),
            money(entry.npv_after_tax_usd_p90),
            money(entry.npv_after_tax_usd_dearest_tenth),
            percent(entry.probability_cheapest_after_tax),
            money(entry.regret_after_tax_usd),
        ]
        for entry in ordered
    ]
    return ["", table(columns, rows)]


def wrong_choices(found: Finances) -> list[str]:
    """Return a table of what each option costs more where another one was right; nothing where one always is."""
    right = {entry.right_key: entry.probability for entry in found.regrets if entry.probability >= _LEAST_RIGHT}
    if len(right) < 2:  # noqa: PLR2004 - a choice
        return []
    ordered = sorted(right, key=lambda key: (-right[key], key))
    regret = {(entry.key, entry.right_key): entry.regret_usd for entry in found.regrets}
    columns = [("", "left"), *((f"{term_text(key)} ({percent(right[key])})", "") for key in ordered)]
    rows = [
        [term_text(key), *("right" if key == other else money(regret[key, other]) for other in ordered)]
        for key in ordered
    ]
    title = "What a choice (rows) costs more on average where another one turns out right (columns)"
    return ["", title, table(columns, rows)]
