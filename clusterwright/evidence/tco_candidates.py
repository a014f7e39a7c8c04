"""The options of a case become the engine's candidates: bills whose every price is given."""

import math
from collections.abc import Iterator

from clusterwright.evidence.tco_case import BILLED, Cost, Option, TcoCase
from clusterwright.evidence.tco_fields import units_of
from clusterwright.facility.bill import Bill, BillLine
from clusterwright.tco.contracts import Surcharge
from clusterwright.tco.finance import loan_payment
from clusterwright.tco.records import Candidate, Economics

#: Calendar days of a run by which utilisation is told: a cluster works utilisation x horizon hours.
_DAYS = 30.0
_HOURLY = {"hour": "cluster", "used_hour": "nodes"}


def servers(option: Option) -> float | None:
    """Return how many servers an option consists of, whole ones unless it says otherwise; None if not counted."""
    if option.gpus_per_server is None:
        return None
    exact = option.gpus / option.gpus_per_server
    return math.ceil(exact - 1e-9) if option.whole_servers else exact


def gpus_had(option: Option) -> float:
    """Return the GPUs that are paid for: those of whole servers."""
    count = servers(option)
    return option.gpus if count is None or option.gpus_per_server is None else count * option.gpus_per_server


def nameplate_kw(option: Option) -> float:
    """Return the nameplate load of an option in kW, 0 if it has none."""
    power = option.power
    if power is None:
        return 0.0
    return (
        (power.kw_per_gpu or 0.0) * gpus_had(option)
        + (power.kw_per_server or 0.0) * (servers(option) or 0.0)
        + (power.kw or 0.0)
    )


def utilisation(case: TcoCase, option: Option) -> float:
    """Return the share of the hours in which an option works."""
    return case.utilisation if option.utilisation is None else option.utilisation


def candidates(case: TcoCase, horizon_months: float) -> tuple[tuple[Candidate, ...], Economics]:
    """Return the candidates of one horizon, and the economics that hold their prices.

    Args:
        case: with the options.
        horizon_months: options of another horizon are left out.
    """
    found, prices = [], {}
    for name, option in case.options.items():
        if (option.horizon_months or case.horizon_months) != horizon_months:
            continue
        lines = []
        for number, (line, usd) in enumerate(_lines(option)):
            sku = f"case/{name}/{number}"
            prices[sku] = usd
            lines.append(
                BillLine(
                    sku=sku,
                    item=line[0],
                    category=line[1],
                    quantity=line[2],
                    unit="each",
                    charge=line[3],
                    scales_with=line[4],
                )
            )
        found.append(
            Candidate(
                key=name,
                target="onprem" if option.owned else "cloud",
                bill=Bill(
                    target="onprem" if option.owned else "cloud",
                    lines=tuple(lines),
                    it_power_w=nameplate_kw(option) * 1000.0 if option.owned else None,
                ),
                nodes=math.ceil(servers(option) or 1),
                gpus=math.ceil(option.gpus),
                calendar_days=_DAYS * utilisation(case, option) / case.utilisation,
                overrides=_owner(option) if option.owned else (),
                surcharges=tuple(_surcharges(option)),
            )
        )
    economics = Economics(
        horizon_months=horizon_months,
        utilisation=case.utilisation,
        discount_rate=case.discount_rate,
        hours_per_month=case.hours_per_month,
        reference_days=_DAYS,
        overrides=tuple(prices.items()),
    )
    return tuple(found), economics


#: Name, category, quantity, charge and what it scales with.
_Line = tuple[str, str, float, str, str]


def _lines(option: Option) -> Iterator[tuple[_Line, float]]:
    yield from _bought(option)
    yield from _rented(option)
    for category, usd in option.monthly.items():
        yield (category, category, 1.0, "monthly", "cluster"), usd
    for item, usd in option.one_time.items():
        yield (item, "one_time", 1.0, "once", "cluster"), usd
    yield from _more(option)


def _bought(option: Option) -> Iterator[tuple[_Line, float]]:
    bought = option.purchase
    if bought is None:
        return
    for item, quantity, usd in (
        ("GPUs", gpus_had(option), bought.usd_per_gpu),
        ("Servers", servers(option) or 0.0, bought.usd_per_server),
        ("Equipment", 1.0, bought.usd),
    ):
        if usd is not None:
            yield (item, "purchase", quantity, "once", "cluster"), usd


def _rented(option: Option) -> Iterator[tuple[_Line, float]]:
    rent = option.rent
    if rent is None:
        return
    gpus = gpus_had(option)
    for item, quantity, charge, usd in (
        ("GPU-hours", gpus, "hourly", rent.usd_per_gpu_hour),
        ("Server-hours", servers(option) or 0.0, "hourly", rent.usd_per_server_hour),
        ("Hours", 1.0, "hourly", rent.usd_per_hour),
        ("GPU-months", gpus, "monthly", rent.usd_per_gpu_month),
        ("Months", 1.0, "monthly", rent.usd_per_month),
    ):
        if usd is not None:
            scales = "nodes" if charge == "hourly" and rent.pays == "used_hours" else "cluster"
            yield (item, "gpu", quantity, charge, scales), usd * (1.0 - rent.discount)


def _more(option: Option) -> Iterator[tuple[_Line, float]]:
    for cost in option.costs:
        period = units_of(cost.per)[1]
        quantity = _quantity(option, cost)
        if cost.annuity is not None:
            payment = loan_payment(cost.usd, cost.annuity.rate_per_year, cost.annuity.months)
            yield (cost.name, cost.category, quantity, "monthly", "cluster"), payment
        elif period == "once":
            yield (cost.name, "one_time", quantity, "once", "cluster"), cost.usd
        elif period in _HOURLY:
            yield (cost.name, cost.category, quantity, "hourly", _HOURLY[period]), cost.usd
        else:
            months = 12.0 if period == "year" else 1.0
            yield (cost.name, cost.category, quantity, "monthly", "cluster"), cost.usd / months


def _quantity(option: Option, cost: Cost) -> float:
    """Return how many of what a cost is counted by the option has."""
    amounts = {
        "": 1.0,
        "gpu": gpus_had(option),
        "server": servers(option) or 0.0,
        "kw": nameplate_kw(option),
        "purchase": purchase_usd(option),
    }
    return amounts[units_of(cost.per)[0]]


def paid_once(option: Option) -> Iterator[tuple[Cost, float]]:
    """Yield each of the further costs that is paid at the start, with its USD."""
    for cost in option.costs:
        if cost.annuity is None and units_of(cost.per)[1] == "once":
            yield cost, cost.usd * _quantity(option, cost)


def purchase_usd(option: Option) -> float:
    """Return what is paid for GPUs, servers and equipment at the start, in USD; 0 without a purchase."""
    return sum(quantity * usd for (_, _, quantity, _, _), usd in _bought(option))


def _owner(option: Option) -> tuple[tuple[str, float], ...]:
    """Return the parameters of an owner, every one of them: nothing is assumed in a case."""
    bought, power = option.purchase, option.power
    found = {
        "power_price_usd_per_kwh": power.usd_per_kwh if power else 0.0,
        "pue": power.pue if power else 1.0,
        "load_power_fraction": power.load_fraction if power else 1.0,
        "idle_power_fraction": power.idle if power else 1.0,
        "colocation_usd_per_kw_month": power.usd_per_kw_month if power else 0.0,
        "installation_fraction": bought.installation_fraction if bought else 0.0,
        "spares_fraction": bought.spares_fraction if bought else 0.0,
        "support_fraction_per_year": bought.support_fraction_per_year if bought else 0.0,
        "staff_fte_per_gpu": 0.0,
        "staff_usd_per_fte_year": 0.0,
        "resale_fraction": bought.resale_fraction if bought else 0.0,
    }
    if bought and bought.capital_charge_per_year:
        found["capital_charge_fraction_per_year"] = bought.capital_charge_per_year
    return tuple(found.items())


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


def _surcharges(option: Option) -> Iterator[Surcharge]:
    names = {"support": "Support plan", "goodput_loss": "Work that failures lose"}
    for category, (fraction, of) in shares(option).items():
        yield Surcharge(category=category, item=names[category], fraction=fraction, of_categories=of, source="case")
