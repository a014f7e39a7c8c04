"""Explanations of the dollars: totals as sums of what the cash flow holds, and every price with source and day."""

from collections import defaultdict

from clusterwright.explain.records import Explanation, Input, exact, explained, total
from clusterwright.formulas import Formula
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import amount_text
from clusterwright.plan.work import run_hours
from clusterwright.tco.formulas.unit_cost import RunPart, cost_of_run, priced_share, usd_per_gpu_hour
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import CashFlowRow, CategoryCost, PresentYear, PricedLine
from clusterwright.units import percent

_SOURCES = ("clusterwright docs money; tco/sql",)
_UNKNOWN = "unknown: a price is missing"


def money_numbers(plan: Plan, option: Option, counted: Ledger, money: MoneyFormat) -> tuple[Explanation, ...]:
    """Return the explanations of one target's totals; `counted` is the plan's cash flow."""
    rows: tuple[CashFlowRow, ...] = ()
    years: tuple[PresentYear, ...] = ()
    if option.money.horizon_usd is not None or option.money.capex_usd is not None:
        rows = counted.cash_flow_rows(option.target)
        years = counted.present_years(option.target)
    parts = counted.run_parts(option.target)
    return (
        _runs(plan, option),
        _run(plan, option, parts, money),
        _horizon(plan, option, money),
        _capex(option, rows, money),
        _npv(plan, option, years, money),
        _per_gpu_hour(plan, option, money),
        _priced_share(plan, option, parts, money),
    )


def _entry(
    number: str, title: str, *, value: str, rule: str, numbers: str | None, inputs: tuple[Input, ...]
) -> Explanation:
    return Explanation(
        number=number,
        title=title,
        value=value,
        equation=(rule, numbers or _UNKNOWN),
        inputs=inputs,
        sources=_SOURCES,
    )


def _categories(entries: tuple[CategoryCost, ...], money: MoneyFormat) -> tuple[Input, ...]:
    return tuple(
        Input(
            name=entry.category,
            value=f"{exact(entry.usd, money)} {money.code}",
            source=f"{exact(entry.priced_usd, money)} {money.code} of it priced from documents",
        )
        for entry in entries
    )


def _sum(usd: float | None, amounts: list[float], money: MoneyFormat) -> str | None:
    return (
        None
        if usd is None
        else total(tuple(exact(amount, money) for amount in amounts), f"{exact(usd, money)} {money.code}")
    )


def _economics(plan: Plan) -> tuple[Input, ...]:
    economics = plan.economics
    horizon = f"{economics.horizon_months:.0f} months of {economics.hours_per_month:.0f} h"
    return tuple(
        Input(name=name, value=value, source="blueprint, economics")
        for name, value in (
            ("horizon", horizon),
            ("utilisation", percent(economics.utilisation)),
            ("discount rate", percent(economics.discount_rate)),
        )
    )


def _runs(plan: Plan, option: Option) -> Explanation:
    money = option.money
    economics, unit = plan.economics, plan.workload.unit
    if economics.runs is not None:
        rule, numbers = (
            "economics.runs of the blueprint",
            f"{economics.runs:.10g} = {money.runs_in_horizon:.10g}",
        )
        given = Input(name=unit.plural, value=f"{economics.runs:,.10g}", source="blueprint, economics.runs")
    else:
        rule = f"utilisation × horizon months × hours a month × growth / hours of the reference {unit.name}"
        factors = (
            economics.utilisation,
            economics.horizon_months,
            economics.hours_per_month,
            economics.growth_factor,
        )
        product = " × ".join(f"{factor:.10g}" for factor in factors)
        numbers = f"{product} / {run_hours(plan):.4f} = {money.runs_in_horizon:.4f}"
        given = Input(
            name="utilisation", value=f"{economics.utilisation:.10g}", source="blueprint, economics.utilisation"
        )
    return _entry(
        "runs_in_horizon",
        f"{unit.plural} of this workload in the horizon, the same for every target",
        value=amount_text(money.runs_in_horizon, unit),
        rule=rule,
        numbers=numbers,
        inputs=(
            given,
            Input(
                name="horizon",
                value=f"{economics.horizon_months:g} months of {economics.hours_per_month:g} h",
                source="blueprint, economics",
            ),
            Input(
                name="growth",
                value=f"{economics.growth_factor:.10g}",
                source="blueprint, tco.growth: mean over first year",
            ),
            Input(
                name=f"reference {unit.name}",
                value=f"{run_hours(plan):,.4f} h on {plan.economics.reference_target}",
                source="explain calendar_days of the slowest owned option, or of the slowest where none is owned",
            ),
        ),
    )


def _run_number(option: Option) -> str:
    """Return the name in the plan of what a run costs: cash, or a share where the cluster is bought."""
    return "run_usd" if option.design.facility is None else "run_share_usd"


def _run(plan: Plan, option: Option, parts: tuple[RunPart, ...], money: MoneyFormat) -> Explanation:
    unit, economics = plan.workload.unit, plan.economics
    hours = f"{option.performance.calendar_days * 24:,.2f} h (explain calendar_days)"
    horizon = f"{economics.horizon_months:g} months of {economics.hours_per_month:g} h"
    held = option.money.run_cost_usd
    entry = Explanation(
        number=_run_number(option),
        title=f"cost of {unit.asked}"
        if option.design.facility is None
        else f"share of {unit.each} in the cost of the horizon",
        value=money.text(held),
        equation=(cost_of_run.rule, _UNKNOWN),
        inputs=(
            *_categories(option.money.run_breakdown, money),
            *(() if option.design.facility is not None else (_line(line, money) for line in option.money.lines)),
        ),
        sources=(cost_of_run.source,),
    )
    if held is None or not parts:
        return entry
    (part,) = parts
    return explained(
        cost_of_run.record(**part.arguments(part.paid, money.amount(1.0))),
        number=entry.number,
        title=entry.title,
        value=entry.value,
        result="{:,.2f} " + money.code,
        currency=money.code,
        held=money.amount(held),
        origins={
            "variable_usd": f"cash flow of {horizon}, its variable rows",
            "runs": "explain runs_in_horizon",
            "held_usd": "cash flow, rows of what is held for the work",
            "share_while_held": f"{hours} over {horizon} × {percent(economics.utilisation)} utilisation × growth",
            "running_usd": "cash flow, all other rows",
            "share_while_running": f"{hours} over {horizon}",
        },
        more=entry.inputs,
    )


def _line(line: PricedLine, money: MoneyFormat) -> Input:
    per_period = "unknown" if line.usd_per_period is None else f"{exact(line.usd_per_period, money)} {money.code}"
    return Input(name=line.line.item, value=f"{per_period} {line.line.charge}", source=f"explain {line.line.sku}")


def _horizon(plan: Plan, option: Option, money: MoneyFormat) -> Explanation:
    return _entry(
        "horizon_usd",
        f"cost of {option.money.runs_in_horizon:.1f} {plan.workload.unit.plural} over the horizon, after resale",
        value=money.text(option.money.horizon_usd),
        rule="sum of the monthly cash flow by category",
        numbers=_sum(option.money.horizon_usd, [entry.usd for entry in option.money.horizon_breakdown], money),
        inputs=(*_economics(plan), *_categories(option.money.horizon_breakdown, money)),
    )


def _capex(option: Option, rows: tuple[CashFlowRow, ...], money: MoneyFormat) -> Explanation:
    paid: dict[str, float] = defaultdict(float)
    for row in rows:
        if row.capex_or_opex == "capex" and row.month == 0:
            paid[row.category] += row.usd
    lines = tuple(
        Input(
            name=line.line.item,
            value="unknown" if line.usd_per_period is None else f"{exact(line.usd_per_period, money)} {money.code}",
            source=f"{line.basis}, {line.price_date}; explain {line.line.sku}",
        )
        for line in option.money.lines
        if line.line.charge == "once"
    )
    return _entry(
        "capex_usd",
        "cash paid at the start for what is bought",
        value=money.text(option.money.capex_usd),
        rule="sum of " + (", ".join(paid) or "nothing (0): all is rented"),
        numbers=_sum(option.money.capex_usd, list(paid.values()), money),
        inputs=(
            *(
                Input(name=category, value=f"{exact(usd, money)} {money.code}", source="cash flow of month 0")
                for category, usd in paid.items()
            ),
            *lines,
        ),
    )


def _npv(plan: Plan, option: Option, years: tuple[PresentYear, ...], money: MoneyFormat) -> Explanation:
    shown = tuple(
        Input(
            name=f"year {entry.horizon_year}" if entry.horizon_year else "at the start",
            value=f"{exact(entry.present_usd, money)} {money.code}",
            source=f"of {exact(entry.usd, money)} {money.code} paid, each month discounted",
        )
        for entry in years
    )
    return _entry(
        "npv_usd",
        "present value of the horizon's cash flow",
        value=money.text(option.money.npv_usd),
        rule="sum over months of cash / (1 + discount rate)^(month / 12)",
        numbers=_sum(option.money.npv_usd, [entry.present_usd for entry in years], money),
        inputs=(*_economics(plan), *shown),
    )


def _per_gpu_hour(plan: Plan, option: Option, money: MoneyFormat) -> Explanation:
    cluster = option.cluster
    unit = plan.workload.unit
    hours = option.performance.calendar_days * 24
    run_usd, held = option.money.run_cost_usd, option.money.usd_per_gpu_hour
    title = f"cost of a GPU-hour of the {unit.name}"
    if run_usd is None or held is None:
        return _unknown("usd_per_gpu_hour", title, usd_per_gpu_hour)
    return explained(
        usd_per_gpu_hour.record(run_usd=money.amount(run_usd), gpu_hours=cluster.gpus * hours),
        number="usd_per_gpu_hour",
        title=title,
        value=money.text(held),
        result="{:.4f} " + money.code,
        currency=money.code,
        held=money.amount(held),
        origins={
            "run_usd": f"explain {_run_number(option)}",
            "gpu_hours": f"{cluster.gpus:,} GPUs × {hours:,.3f} h",
        },
        more=(
            Input(name="GPUs", value=f"{cluster.gpus:,}", source="explain nodes"),
            Input(name="hours", value=f"{hours:,.3f}", source="explain calendar_days"),
        ),
    )


def _priced_share(plan: Plan, option: Option, parts: tuple[RunPart, ...], money: MoneyFormat) -> Explanation:
    held = option.money.priced_share
    title = f"share of the {plan.workload.unit.name}'s cost that is priced from documents"
    if held is None or not parts:
        return _unknown("priced_share", title, priced_share)
    (part,) = parts
    per_usd = money.amount(1.0)
    counted = "explain of the cost; rows of the cash flow without their signs"
    return explained(
        priced_share.record(
            documented_usd=cost_of_run(**part.arguments(part.priced, per_usd)),
            all_usd=cost_of_run(**part.arguments(part.absolute, per_usd)),
        ),
        number="priced_share",
        title=title,
        value=percent(held),
        result="{:.4f}",
        currency=money.code,
        held=held,
        origins={"documented_usd": f"{counted}, of which the price is documented or given", "all_usd": counted},
        more=_categories(option.money.run_breakdown, money),
    )


def _unknown(number: str, title: str, of: Formula[..., float]) -> Explanation:
    return Explanation(
        number=number,
        title=title,
        value="unknown",
        equation=(of.rule, _UNKNOWN),
        inputs=(),
        sources=(of.source,),
    )


def prices(option: Option, money: MoneyFormat) -> tuple[Explanation, ...]:
    """Return one explanation per price key: every line that it is charged on, its source and its day."""
    by_sku: dict[str, list[PricedLine]] = defaultdict(list)
    for line in option.money.lines:
        by_sku[line.line.sku].append(line)
    return tuple(_price(sku, lines, money) for sku, lines in by_sku.items())


def _amount(usd: float, money: MoneyFormat) -> str:
    """Return USD to the cent, or amounts of cents to four digits."""
    return exact(usd, money) if abs(money.amount(usd)) >= 1 else f"{money.amount(usd):.4g}"


def _price(sku: str, lines: list[PricedLine], money: MoneyFormat) -> Explanation:
    first = lines[0]
    unit, charge = first.line.unit, first.line.charge
    quantity = sum(line.line.quantity for line in lines)
    counted = " + ".join(f"{line.line.quantity:,.6g}" for line in lines)
    counted = f"({counted})" if len(lines) > 1 else counted
    numbers = "unknown: no price"
    if first.unit_usd is not None:
        product = _amount(quantity * first.unit_usd, money)
        numbers = f"{counted} × {money.amount(first.unit_usd):,.6g} = {product} {money.code} {charge}"
    seen = f", seen until {first.last_seen}" if first.last_seen else ""
    return Explanation(
        number=sku,
        title=f"price of {first.line.item}",
        value="unknown"
        if first.unit_usd is None
        else f"{money.amount(first.unit_usd):,.4g} {money.code} per {unit}, {charge}",
        equation=("quantity × price", numbers),
        inputs=(
            *(
                Input(
                    name="quantity",
                    value=f"{line.line.quantity:,.6g} {line.line.unit}",
                    source=line.line.note or "bill",
                )
                for line in lines
            ),
            Input(
                name="price",
                value=first.basis
                if first.unit_usd is None
                else f"{money.amount(first.unit_usd):,.6g} {money.code}, {first.basis}, {first.price_date}{seen}",
                source=first.source or first.note,
            ),
        ),
        sources=tuple(dict.fromkeys(part for part in (first.source, first.note) if part)),
    )
