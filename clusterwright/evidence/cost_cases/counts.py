"""What an option of a case consists of: servers, GPUs, kW, purchase, and how much of the time it works."""

import math
from collections.abc import Iterator

from clusterwright.evidence.cost_cases.case import Option, TcoCase

_YEAR = 12.0


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


def bought(option: Option) -> Iterator[tuple[str, float, float]]:
    """Yield what is bought at the start: its name, how many, and USD of each."""
    if option.purchase is None:
        return
    for item, quantity, usd in (
        ("GPUs", gpus_had(option), option.purchase.usd_per_gpu),
        ("Servers", servers(option) or 0.0, option.purchase.usd_per_server),
        ("Equipment", 1.0, option.purchase.usd),
    ):
        if usd is not None:
            yield item, quantity, usd


def purchase_usd(option: Option) -> float:
    """Return what is paid for GPUs, servers and equipment at the start, in USD; 0 without a purchase."""
    return sum(quantity * usd for _, quantity, usd in bought(option))


def used_by_year(case: TcoCase, option: Option | None = None) -> tuple[float, ...]:
    """Return the share of the hours in which an option works (or the case), of each year; the last one holds on."""
    given = case.utilisation if option is None or option.utilisation is None else option.utilisation
    return tuple(given) if isinstance(given, list) else (given,)


def of_year(values: tuple[float, ...], month: float) -> float:
    """Return the value of the year that a month (0 is the start) lies in; the last one holds on.

    >>> of_year((0.4, 0.6), 12), of_year((0.4, 0.6), 48)
    (0.6, 0.6)
    """
    return values[min(int(month // _YEAR), len(values) - 1)]


def mean_use(values: tuple[float, ...], horizon_months: float) -> float:
    """Return the mean over the horizon of a share of the hours that is given year by year.

    >>> mean_use((0.4, 0.6), 18)
    0.4666666666666667
    """
    if len(values) == 1:
        return values[0]
    years = range(math.ceil(horizon_months / _YEAR))
    worked = sum(of_year(values, _YEAR * year) * min(_YEAR, horizon_months - _YEAR * year) for year in years)
    return worked / horizon_months


def utilisation(case: TcoCase, option: Option) -> float:
    """Return the share of the hours of its horizon in which an option works."""
    return mean_use(used_by_year(case, option), option.horizon_months or case.horizon_months)
