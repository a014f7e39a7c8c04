"""How far the cost of one run on owned hardware moves with each assumption, counted again by the engine."""

from dataclasses import dataclass, replace

from clusterwright.plan.words import percent
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.engine import Ledger
from clusterwright.tco.records import Parameter

_NAMES = {
    "power_price_usd_per_kwh": "power, USD per kWh",
    "pue": "PUE",
    "load_power_fraction": "power drawn at work",
    "idle_power_fraction": "power drawn while idle",
    "colocation_usd_per_kw_month": "space, USD per kW and month",
    "installation_fraction": "installation",
    "spares_fraction": "spare parts",
    "support_fraction_per_year": "support per year",
    "staff_fte_per_gpu": "staff posts per GPU",
    "staff_usd_per_fte_year": "USD per post and year",
    "resale_fraction": "resale",
}
_LARGEST = 10
_UTILISATION_STEP = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivity:
    """Cost of one run, USD, with one input at its cheap and at its dear end; all others stay at their base.

    Attributes:
        name: the input; low_text, high_text: its cheap and its dear end.
    """

    name: str
    low_usd: float
    high_usd: float
    low_text: str
    high_text: str


def sensitivities(money_of: Ledger, book: PriceBook, key: str) -> tuple[Sensitivity, ...]:
    """Return the inputs that move the cost of one run most, at most ten, the widest first; empty if it is unknown.

    Args:
        money_of: the cash flow with every input at its base.
        book: the price book.
        key: the candidate, an owned one.
    """
    candidate = next(entry for entry in money_of.candidates if entry.key == key)
    base = money_of.economics

    def run_usd(overrides: tuple[tuple[str, float], ...] = (), utilisation: float = base.utilisation) -> float | None:
        changed = replace(
            base,
            overrides=(*base.overrides, *overrides),
            utilisation=utilisation,
            reference_days=base.reference_days or candidate.calendar_days,
        )
        return Ledger([candidate], changed, book).costs()[0].run_usd

    found = []
    for parameter in money_of.parameters:
        if parameter.low != parameter.high:
            ends = _words(parameter, parameter.low), _words(parameter, parameter.high)
            low, high = (run_usd(((parameter.key, value),)) for value in (parameter.low, parameter.high))
            found.append((_NAMES.get(parameter.key, parameter.key), low, high, *ends))
    assumed = [line for line in money_of.lines[key] if line.basis == "assumed"]
    cheap = tuple((line.line.sku, line.unit_usd_low) for line in assumed if line.unit_usd_low is not None)
    dear = tuple((line.line.sku, line.unit_usd_high) for line in assumed if line.unit_usd_high is not None)
    if cheap and dear:
        found.append(("assumed unit prices together", run_usd(cheap), run_usd(dear), "all cheap", "all dear"))
    more, less = min(base.utilisation + _UTILISATION_STEP, 1.0), base.utilisation - _UTILISATION_STEP
    if less > 0:
        ends = percent(more), percent(less)
        found.append(("utilisation", run_usd(utilisation=more), run_usd(utilisation=less), *ends))
    known = [
        Sensitivity(name=name, low_usd=low, high_usd=high, low_text=low_text, high_text=high_text)
        for name, low, high, low_text, high_text in found
        if low is not None and high is not None
    ]
    return tuple(sorted(known, key=lambda entry: (-abs(entry.high_usd - entry.low_usd), entry.name))[:_LARGEST])


def _words(parameter: Parameter, value: float) -> str:
    return percent(value) if "share" in parameter.unit else f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"  # noqa: PLR2004
