"""The options of a case become the engine's candidates: bills whose every price is given.

Where prices or hours differ from year to year, or a cost is not charged all the time, an option is a mix of candidates,
each of which stands for some of the months.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from clusterwright.evidence.cost_cases.case import Option, TcoCase
from clusterwright.evidence.cost_cases.counts import (
    mean_use,
    nameplate_kw,
    of_year,
    purchase_usd,
    servers,
    used_by_year,
)
from clusterwright.evidence.cost_cases.lines import Line, factor, lines
from clusterwright.evidence.cost_cases.sections import BILLED
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.tco.renting.mixes import Mix, Part
from clusterwright.tco.terms.contracts import Surcharge
from clusterwright.tco.terms.records import Candidate, Economics

#: Calendar days of a run by which utilisation is reported: a cluster works utilisation x horizon hours.
_DAYS = 30.0
_YEAR = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Entered:
    """What the options of one horizon become for the engine: `Ledger(candidates, economics, book, mixes)`."""

    candidates: tuple[Candidate, ...]
    mixes: tuple[Mix, ...]
    economics: Economics


def candidates(case: TcoCase, horizon_months: float) -> Entered:
    """Return the candidates and mixes of one horizon, and the economics that hold their prices.

    Args:
        case: with the options.
        horizon_months: options of another horizon are left out.
    """
    found: list[Candidate] = []
    mixes: list[Mix] = []
    prices: dict[str, float] = {}
    of_horizon = {
        name: option
        for name, option in case.options.items()
        if (option.horizon_months or case.horizon_months) == horizon_months
    }
    for name, option in of_horizon.items():
        charged = tuple(lines(option, horizon_months))
        spans = _spans(case, option, charged, horizon_months)
        parts = []
        for start, _ in spans:
            part, its_prices = _candidate(
                case, option, name if len(spans) == 1 else f"{name}@{start:g}", charged, start
            )
            parts.append(part)
            prices |= its_prices
        found += parts
        if len(spans) > 1:
            mixes.append(_joined(name, parts, spans))
    economics = Economics(
        horizon_months=horizon_months,
        utilisation=mean_use(used_by_year(case), horizon_months),
        discount_rate=case.rate,
        hours_per_month=case.hours_per_month,
        reference_days=_DAYS,
        overrides=tuple(prices.items()),
    )
    return Entered(candidates=tuple(found), mixes=tuple(mixes), economics=economics)


def _spans(case: TcoCase, option: Option, charged: tuple[Line, ...], horizon: float) -> list[tuple[float, float]]:
    """Return the months, as (after, up to), between which nothing of an option changes."""
    ends = {0.0, horizon}
    for line in charged:
        ends |= {line.from_month, horizon if line.to_month is None else line.to_month}
    if option.by_year or len(used_by_year(case, option)) > 1:
        ends |= {float(month) for month in range(0, math.ceil(horizon), _YEAR)}
    ordered = sorted(end for end in ends if end <= horizon)
    return list(pairwise(ordered))


def _joined(name: str, parts: list[Candidate], spans: list[tuple[float, float]]) -> Mix:
    first = parts[0]
    return Mix(
        key=name,
        target=first.target,
        nodes=first.nodes,
        gpus=first.gpus,
        parts=tuple(
            Part(key=part.key, fixed_share=1.0, variable_share=1.0, from_month=start, to_month=end)
            for part, (start, end) in zip(parts, spans, strict=True)
        ),
    )


def _candidate(
    case: TcoCase, option: Option, key: str, charged: tuple[Line, ...], month: float
) -> tuple[Candidate, dict[str, float]]:
    """Return an option as it is from a month on, and the prices of its lines by sku."""
    bill, prices = [], {}
    for number, line in enumerate(charged):
        sku = f"case/{key}/{number}"
        # What the months of the candidate are not charged stays on its bill, at nothing.
        due = line.from_month <= month and (line.to_month is None or month < line.to_month)
        held = (0.0 if month else 1.0) if line.charge == "once" else factor(option, line.category, month)
        prices[sku] = line.usd * held * due
        bill.append(
            BillLine(
                sku=sku,
                item=line.item,
                category=line.category,
                quantity=line.quantity,
                unit="each",
                charge=line.charge,
                scales_with=line.scales_with,
            )
        )
    target = "onprem" if option.owned else "cloud"
    mean = mean_use(used_by_year(case), option.horizon_months or case.horizon_months)
    candidate = Candidate(
        key=key,
        target=target,
        bill=Bill(
            target=target,
            lines=tuple(bill),
            it_power_w=nameplate_kw(option) * 1000.0 if option.owned else None,
        ),
        nodes=math.ceil(servers(option) or 1),
        gpus=math.ceil(option.gpus),
        calendar_days=_DAYS * of_year(used_by_year(case, option), month) / mean,
        overrides=_owner(option, month) if option.owned else (),
        surcharges=tuple(_surcharges(option, month)),
    )
    return candidate, prices


def _owner(option: Option, month: float) -> tuple[tuple[str, float], ...]:
    """Return the parameters of an owner, every one of them: nothing is assumed in a case."""
    bought, power = option.purchase, option.power
    paid = purchase_usd(option)
    resale = bought.resale_fraction + (bought.resale_usd / paid if paid else 0.0) if bought else 0.0
    return (
        ("power_price_usd_per_kwh", power.usd_per_kwh * factor(option, "energy", month) if power else 0.0),
        ("pue", power.pue if power else 1.0),
        ("load_power_fraction", power.load_fraction if power else 1.0),
        ("idle_power_fraction", power.idle if power else 1.0),
        ("colocation_usd_per_kw_month", power.usd_per_kw_month * factor(option, "facility", month) if power else 0.0),
        ("installation_fraction", bought.installation_fraction if bought else 0.0),
        ("spares_fraction", bought.spares_fraction if bought else 0.0),
        ("support_fraction_per_year", 0.0),
        ("staff_fte_per_gpu", 0.0),
        ("staff_usd_per_fte_year", 0.0),
        ("resale_fraction", resale),
    )


def shares(option: Option) -> dict[str, tuple[float, tuple[str, ...]]]:
    """Return the shares of other costs that an option pays, by category: the share, and the categories it is of."""
    found: dict[str, tuple[float, tuple[str, ...]]] = {}
    for category, given, usual in (
        ("support", option.support, BILLED),
        ("goodput_loss", option.goodput_loss, ("gpu",)),
    ):
        if isinstance(given, float):
            found[category] = (given, usual)
        elif given is not None:
            found[category] = (given.fraction, tuple(given.of))
    return found


def _surcharges(option: Option, month: float) -> Iterator[Surcharge]:
    names = {"support": "Support plan", "goodput_loss": "Work that failures lose"}
    for category, (fraction, of) in shares(option).items():
        yield Surcharge(
            category=category,
            item=names[category],
            fraction=fraction * factor(option, category, month),
            of_categories=of,
            source="case",
        )
