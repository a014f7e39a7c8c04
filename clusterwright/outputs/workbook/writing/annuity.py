"""Functions of finance as spreadsheets have them, each with its value: PMT, IPMT, IRR."""

import math
from collections.abc import Sequence

from clusterwright.outputs.workbook.writing.formula import Figure, Operand, Span, calculated, figure, numbers

_STEPS, _CLOSE = 60, 1e-13


def payment(rate: Figure, periods: Figure, principal: Figure, left: Operand = 0.0) -> Figure:
    """Return PMT as a positive payment: principal less the present value of what is left, as an annuity."""
    rest = figure(left)
    after = f",{rest.text}" if rest.text != "0" else ""
    text = f"PMT({rate.text},{periods.text},{(-principal).text}{after})"
    values = (rate.value, periods.value, principal.value, rest.value)
    return Figure(text, calculated(_payment, values))


def interest_part(rate: Figure, period: Figure, periods: Figure, principal: Figure, left: Operand = 0.0) -> Figure:
    """Return IPMT as a positive amount: the interest in one of the payments; no value outside of them."""
    rest = figure(left)
    after = f",{rest.text}" if rest.text != "0" else ""
    text = f"IPMT({rate.text},{period.text},{periods.text},{(-principal).text}{after})"
    values = (rate.value, period.value, periods.value, principal.value, rest.value)
    return Figure(text, calculated(_interest, values))


def rate_of_return(flows: Span, guess: float) -> Figure:
    """Return IRR per period, searched from a guess."""
    return Figure(f"IRR({flows.text},{guess:.15g})", _internal_rate(numbers(flows), guess))


def _payment(rate: float, periods: float, principal: float, left: float) -> float:
    if rate == 0:
        return (principal - left) / periods
    growth: float = (1 + rate) ** periods
    return (principal * growth - left) * rate / (growth - 1)


def _interest(rate: float, period: float, periods: float, principal: float, left: float) -> float | None:
    if not 1 <= period <= periods:
        return None
    paid = _payment(rate, periods, principal, left)
    owed = principal if rate == 0 else (principal - paid / rate) * (1 + rate) ** (period - 1) + paid / rate
    return owed * rate


def _internal_rate(flows: Sequence[float], guess: float) -> float | None:
    """Return the root of the net present value near a guess, by Newton's steps."""
    growth = 1.0 + guess
    for _ in range(_STEPS):
        worth = math.fsum(usd * growth**-month for month, usd in enumerate(flows))
        slope = math.fsum(-month * usd * growth ** (-month - 1) for month, usd in enumerate(flows))
        if not slope:
            return None
        step = worth / slope
        growth -= step
        if growth <= 0:
            return None
        if abs(step) <= _CLOSE * growth:
            return growth - 1.0
    return None
