"""The sliders of the report: what they may be set to, the amounts as JSON, and the script with its hash."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright import assets
from clusterwright.finance.what_if import HORIZON, POWER, RENT, RESALE, WORK, Amounts, WhatIf
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import capital, term_text
from clusterwright.units import percent

_BITS = {RENT: 1, POWER: 2, RESALE: 4}
#: Relative difference up to which an amount is a straight line in the work; JSON has as many digits.
_ROUNDING, _DIGITS = 1e-10, 13


@dataclass(frozen=True, kw_only=True, slots=True)
class Lever:
    """One slider.

    Attributes:
        id: of its field, and its name in links; label, help: what it is.
        values, texts: what it can be set to; base: place of the plan's own value.
        sets: overrides of the blueprint that say the same: of each value, or those that a number follows.
    """

    id: str
    label: str
    help: str
    values: tuple[float, ...]
    texts: tuple[str, ...]
    base: int
    sets: tuple[tuple[str, ...], ...] | tuple[str, ...]

    @property
    def last(self) -> int:
        """Place of the last value."""
        return len(self.values) - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Sliders:
    """The section of the report.

    Attributes:
        levers: its sliders; left_out: what none of them answers; note: that the plan's answer is no row, else empty.
        columns: titles of its table; data: for the script, as JSON; script: the program; policy: which allows it alone.
    """

    levers: tuple[Lever, ...]
    left_out: tuple[str, ...]
    note: str
    columns: tuple[str, ...]
    data: str
    script: str
    policy: str


def sliders(plan: Plan, found: WhatIf | None, money: MoneyFormat) -> Sliders | None:
    """Return the sliders of a plan; None where no way is ranked by itself.

    Args:
        plan: the decision.
        found: what its ways cost at other values.
        money: how amounts are written.
    """
    if found is None:
        return None
    levers = tuple(
        lever
        for name in (WORK, RENT, POWER, RESALE, HORIZON)
        if name in found.values and (lever := _lever(name, plan, found, money)) is not None
    )
    script = (assets.root() / "templates" / "report" / "what_if.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    columns = ("Where and how", "Present value", "Against the plan", "Paid")
    return Sliders(
        levers=levers,
        left_out=_left_out(plan, found),
        note=_note(plan, found),
        columns=columns,
        data=_as_json(_data(plan, found, levers, columns, money)),
        script=script,
        policy=f" script-src 'sha256-{digest}';",
    )


def _work(found: WhatIf) -> str:
    return "runs" if found.runs_given else "utilisation"


def _lever(name: str, plan: Plan, found: WhatIf, money: MoneyFormat) -> Lever:
    values, unit = found.values[name], plan.workload.unit
    texts: Sequence[str]
    sets: tuple[tuple[str, ...], ...] | tuple[str, ...] = ()
    if name == WORK and found.runs_given:
        label, help_ = f"{capital(unit.plural)} a month", "all ways do the same work"
        texts = [f"{value:,.4g}" for value in values]
        sets = ("economics.utilisation=null", "economics.runs_per_month=null")
    elif name == WORK:
        label, help_ = "Utilisation", "share of the horizon that the cluster works; all ways do the same work"
        texts = [percent(value, digits=None) for value in values]
        sets = tuple((f"economics.utilisation={value:.10g}",) for value in values)
    elif name == RENT:
        label, help_ = "Rent", "price of rented GPU nodes, on demand and committed, as a share of the plan's"
        texts = [percent(value, digits=None) for value in values]
    elif name == POWER:
        label, help_ = "Price of power", "paid by who owns; places with a price of their own keep it"
        code = money.unit("USD/kWh")
        texts = [f"{money.value(value, 'USD/kWh'):.3g} {code}" for value in values]
        tariff = any(entry.key == "power_price_usd_per_kwh" for entry in plan.economics.given)
        also = ("tco.owner.tariff=null",) if tariff else ()
        sets = tuple((*also, f"site.power_price={value:.10g} USD/kWh") for value in values)
    elif name == RESALE:
        label, help_ = "Resale value", "as a share of the plan's for that age; at most what was paid"
        texts = [percent(value, digits=None) for value in values]
        curve = plan.economics.resale is not None
        sets = ("tco.owner.resale_by_age=null", "tco.owner.resale_decay=null") if curve else ()
    else:
        label, help_ = "Horizon", "as much work in each month; what is bought is sold at its end"
        texts = [f"{value:g} months" for value in values]
        sets = tuple((f"economics.horizon={value:g} months",) for value in values)
    return Lever(
        id=_work(found) if name == WORK else name,
        label=label,
        help=help_,
        values=values,
        texts=tuple(texts),
        base=values.index(found.base[name]),
        sets=sets,
    )


def _left_out(plan: Plan, found: WhatIf) -> tuple[str, ...]:
    """Return what no slider answers, with the command that does."""
    always_on = plan.workload.unit.always_on
    lines = ["growth of the work, for which whole nodes are bought (compare --set tco.growth=20%)"]
    if always_on:
        lines.append("the utilisation, since the service is always on")
    sized_for = "traffic and latency" if always_on else "the goal"
    lines.append(f"the model and {sized_for}, by which clusters are sized again (plan --set)")
    if HORIZON not in found.values:
        lines.append("the horizon, since a building loses value over it (compare --set economics.horizon='48 months')")
    if found.left_out:
        names = ", ".join(map(term_text, found.left_out))
        lines.append(f"what mixes owning and renting or is financed (compare --set): {names}")
    return tuple(lines)


def _note(plan: Plan, found: WhatIf) -> str:
    """Return that the answer for the horizon is none of the ways that are added up; empty where it is one."""
    if plan.recommended_horizon_key not in found.left_out:
        return ""
    return (
        f"The plan's answer for the horizon, {term_text(plan.recommended_horizon_key)}, is not in this table: it mixes "
        "owning and renting or is financed, and only compare --set answers for it."
    )


def _runs(plan: Plan, found: WhatIf) -> list[float]:
    """Return the units of work of each horizon at the plan's rate, growth included."""
    economics, rate = plan.economics, found.base[WORK]
    return [
        rate * months * economics.growth.mean_work(months) / economics.growth_factor
        for months in found.values.get(HORIZON, (found.base[HORIZON],))
    ]


def _data(
    plan: Plan, found: WhatIf, levers: Sequence[Lever], columns: Sequence[str], money: MoneyFormat
) -> dict[str, Any]:
    """Return what the script reads. An amount is a number, a straight line in the work, or a list by work."""
    base = found.base
    shown = {lever.id for lever in levers}
    work = found.values.get(WORK, (base[WORK],))
    over_base = [value / base[WORK] for value in work]
    return {
        "levers": [
            {name: getattr(lever, name) for name in ("id", "values", "texts", "base", "sets")} for lever in levers
        ],
        "places": {lever.id: lever.base for lever in levers},
        "base": {(_work(found) if name == WORK else name): value for name, value in base.items()},
        "work": _work(found),
        "runs": _runs(plan, found),
        "shares": [share if RESALE in shown else 0.0 for share in found.resale_share],
        "money": {"sign": money.sign, "usd": 1.0 if money.currency is None else money.currency.usd},
        "columns": columns,
        "among": " of these ways" if found.left_out else "",
        "ways": [capital(term_text(key)) for key in found.keys],
        "amounts": [[_way(amounts[key], over_base) for key in found.keys] for amounts in found.amounts],
    }


def _way(amounts: Amounts, work: Sequence[float]) -> list[Any]:
    terms = [
        [sum(_BITS[name] for name in moves), _column(present, work), _column(amounts.paid_usd[moves], work)]
        for moves, present in amounts.present_usd.items()
    ]
    bills = [[list(map(_digits, row)) for row in table] for table in (amounts.bill_present_usd, amounts.bill_paid_usd)]
    fits = "".join("1" if fit else "0" for fit in amounts.fits)
    return [terms, bills if any(bills) else None, None if "0" not in fits else fits]


def _column(usd: Sequence[float], work: Sequence[float]) -> float | list[float]:
    """Return an amount by work as a number, as a straight line (at no work, and per work of the plan), or as a list."""
    slope = (usd[-1] - usd[0]) / (work[-1] - work[0]) if len(work) > 1 else 0.0
    start = usd[0] - slope * work[0]
    size = max(map(abs, usd)) or 1.0
    if any(abs(start + slope * share - value) > _ROUNDING * size for share, value in zip(work, usd, strict=True)):
        return [_digits(value) for value in usd]
    if abs(slope) * max(work) <= _ROUNDING * size:
        return _digits(usd[0])
    return [_digits(0.0 if abs(start) <= _ROUNDING * size else start), _digits(slope)]


def _digits(usd: float) -> float:
    return float(f"{usd:.{_DIGITS}g}")


def _as_json(data: Mapping[str, Any]) -> str:
    """Return data as JSON that no markup can be read in: as text of a script, nothing in it ends the script."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
