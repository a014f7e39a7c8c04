"""The comparison of renting and owning as Markdown for a pull request: answer, table, assumptions, what to mind."""

from clusterwright.outputs.markdown import cell, markdown_table
from clusterwright.plan.alternatives.answer_basis import basis_lines
from clusterwright.plan.findings.price_evidence import assumed_prices
from clusterwright.plan.record import Alternative, Plan
from clusterwright.plan.text.inputs import input_words
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import (
    RANKED,
    again_text,
    answers_text,
    cash_band_text,
    days_shown,
    main_ways,
    median_of,
    paper_title,
    paper_ways,
    purchase_text,
    reason_lines,
    rule_text,
    share_text,
    time_column,
)
from clusterwright.plan.text.words import (
    NAME_OF_TARGET,
    answer_lines,
    band_text,
    capital,
    term_text,
    uncapital,
)
from clusterwright.plan.work import work_text
from clusterwright.tco.terms.records import Parameter, PricedLine
from clusterwright.units import duration_text, percent

#: This many of the dearest assumed prices are named; the report has all.
_MOST = 6
_SHARE = "share "


def comparison_markdown(plan: Plan, money: MoneyFormat) -> str:
    """Return the comparison; every name is escaped, since anybody's blueprint may hold it."""
    months, unit, ways = f"{plan.economics.horizon_months:g} months", plan.workload.unit, main_ways(plan)
    lines = [
        f"### {cell(plan.name)}: renting and owning",
        "",
        *(f"- {cell(line[:1].upper() + line[1:])}" for line in answer_lines(plan, money)),
        "",
        *markdown_table(
            (
                RANKED,
                "cluster",
                *days_shown(plan, time_column(ways)),
                unit.asked,
                f"share of {unit.each}",
                months,
                "NPV",
                "buy now",
                "priced from documents",
                "answer",
            ),
            [_row(plan, way, money, time_column(ways)) for way in ways],
            words=2,
        ),
        "",
        f"{capital(rule_text(plan))}.",
        "",
        f"The same work for all: {work_text(plan)}. Prices as of {plan.as_of}.",
        "",
        f"{capital(band_text(plan))}.",
        *_breakevens(plan),
        *_section("Basis", [cell(capital(line)) for line in basis_lines(plan, money)]),
        *_section("To plan a row again", [_again(way) for way in plan.ranked]),
        *_section(paper_title(plan), [cell(line) for line in reason_lines(paper_ways(plan), money)]),
        *_section("Assumptions that matter", _assumptions(plan, money)),
        *_section("To mind", _caveats(plan)),
    ]
    return "\n".join(lines)


def _row(plan: Plan, way: Alternative, money: MoneyFormat, unit: str) -> list[str]:
    cluster = way.cluster
    return [
        term_text(way.key),
        f"{cluster.nodes:,} × {cluster.instance}" if cluster.instance else f"{cluster.nodes:,} nodes",
        *days_shown(plan, median_of(way, unit)),
        cash_band_text(way, money),
        share_text(way, money),
        money.band(way.money.horizon_usd, way.money.horizon_usd_low, way.money.horizon_usd_high),
        money.band(way.money.npv_usd, way.money.npv_usd_low, way.money.npv_usd_high),
        purchase_text(way, money),
        percent(way.money.horizon_priced_share),
        answers_text(plan, way.key),
    ]


def _again(way: Alternative) -> str:
    """Return how a ranked way is planned."""
    return cell(f"{term_text(way.key)}: {again_text(way)}")


def _breakevens(plan: Plan) -> list[str]:
    lines = []
    for pair in plan.breakevens:
        against = NAME_OF_TARGET[pair.rented_key.partition("/")[0]]
        when = f"month {pair.months:.1f}" if pair.months is not None else f"none ({pair.reason})"
        above = f", above {percent(pair.utilisation)} utilisation" if pair.utilisation is not None else ""
        lines.append(f"- Breakeven against {cell(against)}: {cell(when)}{above}")
    return ["", *lines] if lines else []


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"**{title}**", "", *(f"- {line}" for line in lines)] if lines else []


def _assumptions(plan: Plan, money: MoneyFormat) -> list[str]:
    prices = [
        f"{cell(entry.line.line.item)} ({cell(NAME_OF_TARGET[entry.option.target])}): "
        f"{cell(money.bill(entry.line.unit_usd))} {_per(entry.line)}, {money.text(entry.horizon_usd)} of the horizon"
        for entry in assumed_prices(plan)[:_MOST]
        if entry.horizon_usd
    ]
    values = [
        f"{cell(input_words(entry.key))}: {_value(entry, entry.value, money)} {cell(_unit(entry, money))} "
        f"({_value(entry, entry.low, money)} to {_value(entry, entry.high, money)})"
        for entry in plan.parameters
        if entry.basis == "assumed"
    ]
    return prices + values


def _value(entry: Parameter, value: float, money: MoneyFormat) -> str:
    """Return a value as people write it: shares as percent, money in the currency that is reported."""
    return percent(value, digits=None) if entry.unit.startswith(_SHARE) else f"{money.value(value, entry.unit):,.6g}"


def _unit(entry: Parameter, money: MoneyFormat) -> str:
    return money.unit(entry.unit.removeprefix(_SHARE))


def _per(line: PricedLine) -> str:
    unit = "each" if line.line.unit == "each" else f"per {cell(line.line.unit)}"
    return unit if line.line.charge == "once" else f"{unit} and {line.line.charge.removesuffix('ly')}"


def _caveats(plan: Plan) -> list[str]:
    late = [
        f"{cell(NAME_OF_TARGET[option.target])} misses the goal of {duration_text(plan.goals.finish_within_days)}"
        for option in plan.options
        if not option.performance.meets_goal and plan.goals.finish_within_days is not None
    ]
    unpriced = [
        f"{cell(NAME_OF_TARGET[option.target])} is unknown: no price of "
        f"{cell(', '.join(entry.sku for entry in option.money.missing))}"
        for option in plan.options
        if option.money.missing
    ]
    warned = [f"`{entry.id}` {cell(entry.message)}" for entry in (*plan.findings, *plan.warnings)]
    left_out = ", ".join(uncapital(entry.partition(":")[0]) for entry in plan.not_counted)
    return [*late, *unpriced, *warned, *([f"Not counted: {cell(left_out)}"] if left_out else [])]
