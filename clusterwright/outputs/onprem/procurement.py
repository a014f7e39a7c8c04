"""Spares and lead times by kind of part, as a page of Markdown."""

from clusterwright.catalog.records import Catalogue
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.spares import KINDS, WEEK_S, Spares, kind_of_part
from clusterwright.units import percent


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
