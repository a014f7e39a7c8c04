"""compare --finance: every target and term, returns, and how sure the ranking is, for a terminal and as JSON."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clusterwright.cli.answer import exit_code
from clusterwright.cli.planning import planned, say_quotes
from clusterwright.cli.render import finance
from clusterwright.cli.render.finance import carbon_lines
from clusterwright.cli.render.ranked import scenario_line
from clusterwright.cli.render.text_table import Column, fitted, table
from clusterwright.errors import InputError
from clusterwright.finance.finances import Finances
from clusterwright.finance.returns import Return
from clusterwright.finance.taxed import Taxed
from clusterwright.finance.words import owning_text, price_note, several_owned
from clusterwright.interface.documents import economics_document, scenario
from clusterwright.interface.places import placing
from clusterwright.plan.record import Plan
from clusterwright.plan.text.currency import money_as_asked, with_currency
from clusterwright.plan.text.inputs import input_words
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import NONE, RANKED, paper_title
from clusterwright.plan.text.words import month_text, term_text
from clusterwright.plan.work import work_text
from clusterwright.units import percent

_SHOWN_SWINGS = 8
#: Of the record of costs, what is printed of each option as JSON.
OPTION = (
    "key",
    "target",
    "owned",
    "term",
    "nodes",
    "gpus",
    "horizon_usd",
    "npv_usd",
    "capex_usd",
    "usd_per_gpu_hour",
    "calendar_days",
    "horizon_usd_low",
    "horizon_usd_high",
    "busy_fraction",
    "mixed",
    "competes",
)


def compare(
    path: Path,
    set_values: list[str] | None,
    *,
    quotes: Path | None = None,
    rates: list[str] | None = None,
    draws: int,
    seed: int,
    as_json: bool,
) -> int:
    """Print a plan in the terms of finance; return the exit code.

    Raises:
        InputError: draws or seed are out of range.
    """
    if seed < 0:
        raise InputError(f"a seed of {seed} cannot be used", help="give a whole number from 0")
    made = planned(path, set_values, "all", quotes, rates)
    loaded, plan = made.blueprint, made.plan
    with placing(loaded):
        money = money_as_asked(plan)
        found = made.compare(draws=draws, seed=seed).finances
        if as_json:
            document = _document(plan, found) | {"scenario": scenario(loaded, plan)}
            print(json.dumps(with_currency(document, money.currency), indent=1, allow_nan=False))
        else:
            print(fitted("\n".join((finance_text(plan, found, money), scenario_line(loaded, plan), *money.note))))
            say_quotes(made)
    return exit_code(made)


def _document(plan: Plan, found: Finances) -> dict[str, Any]:
    return {
        "schema": 1,
        "name": plan.name,
        "as_of": plan.as_of,
        "economics": economics_document(plan.economics),
        "options": [
            {name: getattr(cost, name) for name in OPTION}
            | {"run_usd": cost.run_cash_usd, "run_share_usd": cost.run_share_usd}
            | asdict(unit)
            | _described(found, cost.key)
            for cost, unit in zip(found.costs, found.unit_costs, strict=True)
        ],
        "carbon": [asdict(entry) for entry in found.carbon],
        "returns": [asdict(entry) for entry in found.returns],
        "hybrid_returns": [asdict(entry) for entry in found.hybrid_returns],
        "after_tax": asdict(found.taxed),
        "uncertainty": {
            "draws": found.draws,
            "seed": found.seed,
            "inputs": [asdict(entry) for entry in found.inputs],
            "price_paths": asdict(found.price_paths),
            "options": [asdict(entry) for entry in found.drawn],
            "regrets": [asdict(entry) for entry in found.regrets],
            "compared_with": found.compared_with,
            "mapped_with": found.mapped_with,
            "base_saving_usd": found.base_saving_usd,
            "tornado": [asdict(entry) for entry in found.swings],
            "heat_map": [asdict(entry) for entry in found.heat],
        },
    }


def _described(found: Finances, key: str) -> dict[str, Any]:
    """Return the hardware of an option and what is assumed of it; a mix has no hardware of its own."""
    way = found.ways.get(key)
    if way is None:
        return {"instance": "", "accelerator": "", "note": "", "reason": ""}
    return {
        "instance": way.cluster.instance,
        "accelerator": way.cluster.accelerator,
        "note": way.note,
        "reason": way.reason,
    }


def finance_text(plan: Plan, found: Finances, money: MoneyFormat) -> str:
    """Return every target and term, returns, and how sure the ranking is, for a terminal."""
    months = f"{plan.economics.horizon_months:g} months"
    lines = [
        f"{plan.name}: every target and term with a documented price, the same work for all in {months}",
        (
            f"({percent(plan.economics.discount_rate)} discount rate, {plan.economics.hours_per_month:g} hours a "
            f"month, prices as of {plan.as_of})"
        ),
        f"  {work_text(plan)}",
        "",
        *(
            line
            for ranked in (True, False)
            if (shown := _options(plan, found, ranked=ranked, money=money))
            for line in (shown, "")
        ),
        *(
            line
            for ranked in (True, False)
            if (shown := _work(plan, found, ranked=ranked, money=money))
            for line in (shown, "")
        ),
        *carbon_lines(found.carbon, plan.workload),
        "",
        *finance.method(found),
        f"  Commitments and blocks are taken as if they could be had for all {months}.",
        *_notes(found),
    ]
    if found.taxed.tax_rate or found.taxed.delivery_months or found.taxed.financed:
        lines += ["", *_taxed(found, found.taxed, money)]
    lines += finance.wrong_choices(found, money)
    for key in dict.fromkeys(entry.owned_key for entry in found.returns):
        mine = [entry for entry in found.returns if entry.owned_key == key]
        where = f": {term_text(key)}" if several_owned(found) else ""
        lines += ["", f"Owning as an investment{where}, against", _returns(mine, money)]
    for key in dict.fromkeys(entry.owned_key for entry in found.hybrid_returns):
        mixed = [entry for entry in found.hybrid_returns if entry.owned_key == key]
        lines += ["", f"{term_text(key)}: as an investment, against", _returns(mixed, money)]
    if found.swings:
        lines += ["", *_sensitivity(found, money)]
    return "\n".join(lines)


def _options(plan: Plan, found: Finances, *, money: MoneyFormat, ranked: bool) -> str:
    """Return a table of the ways that are ranked, or of those that are not; empty where there is none."""
    drawn = {entry.key: entry for entry in found.drawn}
    columns = [
        (f"{plan.economics.horizon_months:g} months", ""),
        ("NPV", ""),
        ("P10", ""),
        ("P50", ""),
        ("P90", ""),
        ("dearest tenth", ""),
        ("cheapest in", ""),
        ("regret", ""),
    ]
    rows = [
        [
            term_text(cost.key),
            money.text(cost.horizon_usd),
            money.text(cost.npv_usd),
            money.text(drawn[cost.key].npv_usd_p10),
            money.text(drawn[cost.key].npv_usd_p50),
            money.text(drawn[cost.key].npv_usd_p90),
            money.text(drawn[cost.key].npv_usd_dearest_tenth),
            percent(drawn[cost.key].probability_cheapest) if cost.competes else "–",
            money.text(drawn[cost.key].regret_usd) if cost.competes else "–",
        ]
        for cost in found.costs
        if cost.competes is ranked
    ]
    return table([(RANKED if ranked else paper_title(plan), "left"), *columns], rows) if rows else ""


def _notes(found: Finances) -> list[str]:
    """Return what is assumed of options, each sentence once, with the options that it is of."""
    ways = ((cost.key, found.ways.get(cost.key)) for cost in found.costs)
    return [f"{line}." for line in _each_once((key, way.note) for key, way in ways if way is not None)]


def _each_once(remarks: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each remark, with the options (by key) that it is of; empty remarks have none."""
    of_remark: dict[str, list[str]] = {}
    for key, remark in remarks:
        if remark:
            of_remark.setdefault(remark, []).append(term_text(key))
    return [f"  {'; '.join(names)}: {remark}" for remark, names in of_remark.items()]


def _taxed(of: Finances, found: Taxed, money: MoneyFormat) -> list[str]:
    written_off = found.depreciation.replace("_", " ") + (
        f" with {percent(found.bonus_fraction)} at once" if found.bonus_fraction else ""
    )
    columns = [
        ("", "left"),
        ("NPV before", ""),
        ("after tax", ""),
        ("cash after tax", ""),
        ("peak cash", ""),
        ("running costs", ""),
        ("written off", ""),
        ("loss on sale", ""),
    ]
    rows = [
        [
            term_text(entry.key),
            money.text(entry.npv_before_tax_usd),
            money.text(entry.npv_after_tax_usd),
            money.text(entry.after_tax_usd),
            money.text(entry.peak_cash_usd),
            money.text(entry.opex_usd),
            money.text(entry.depreciation_usd),
            money.text(entry.loss_on_disposal_usd),
        ]
        for entry in found.options
    ]
    lines = [f"After tax of {percent(found.tax_rate)} ({written_off})", table(columns, rows)]
    lines += finance.after_tax(of, money) if found.tax_rate else []
    if found.delivery_months:
        lines.append(
            f"  {'' if found.deposit == 1 else percent(found.deposit) + ' '}paid at order, at work after "
            f"{found.delivery_months} months{'' if found.deposit == 1 else ', when the rest is paid'}; "
            f"until then {term_text(found.bridged_by)} is rented"
        )
    if found.books:
        years = ", ".join(
            f"{year.year}: {money.text(year.depreciation_usd)} ({money.text(year.book_value_usd)} left)"
            for year in found.books
        )
        lines.append(f"  written off by year {years}")
    if found.financed is not None:
        paid = found.financed
        lines.append(
            f"  {paid.kind} of {money.text(paid.financed_usd)}: {money.text(paid.usd_per_month)} a month, "
            f"{money.text(paid.interest_usd)} interest, liability {money.text(paid.liability_usd)}; "
            f"NPV after tax {money.text(paid.npv_after_tax_usd)}"
        )
    return lines


def _work(plan: Plan, found: Finances, *, money: MoneyFormat, ranked: bool) -> str:
    """Return what work costs on the ways that are ranked, or on the others; of tokens and FLOPs where they are counted.

    Empty where there is none.
    """
    work = plan.workload
    title = "What work costs" + ("" if ranked else f", {paper_title(plan).lower()}")
    columns = [
        Column(title, "left"),
        Column(work.unit.asked, drop=0),
        Column(f"share of {work.unit.each}", drop=0.4),
        Column("GPU-hour"),
        Column("useful GPU-hour, levelised"),
        *([Column("million tokens")] if work.unit_tokens else []),
        *([Column("effective PFLOP-hour")] if work.unit_flop else []),
    ]
    pairs = [(cost, unit) for cost, unit in zip(found.costs, found.unit_costs, strict=True) if cost.competes is ranked]
    rows = zip(
        [term_text(cost.key) for cost, _ in pairs],
        [NONE if cost.shared else money.text(cost.run_usd) for cost, _ in pairs],
        [money.text(cost.run_usd) if cost.shared else NONE for cost, _ in pairs],
        money.small_column(cost.usd_per_gpu_hour for cost, _ in pairs),
        money.small_column(unit.levelised_usd_per_gpu_hour for _, unit in pairs),
        *([money.small_column(unit.usd_per_million_tokens for _, unit in pairs)] if work.unit_tokens else []),
        *([money.small_column(unit.usd_per_effective_pflop_hour for _, unit in pairs)] if work.unit_flop else []),
        strict=True,
    )
    return table(columns, list(rows)) if pairs else ""


def _returns(found: Sequence[Return], money: MoneyFormat) -> str:
    columns = [
        ("", "left"),
        ("NPV saved", ""),
        ("IRR", ""),
        ("money back", ""),
        ("discounted", ""),
        ("less so far, P10 to P90", ""),
        ("never in", ""),
        ("utilisation", ""),
        ("node price", ""),
        ("per GPU-hour", ""),
    ]
    prices = money.small_column(entry.breakeven_usd_per_gpu_hour for entry in found)
    rows = [
        [
            term_text(entry.rented_key),
            money.text(entry.npv_usd),
            "none" if entry.irr_per_year is None else percent(entry.irr_per_year),
            month_text(entry.payback_months),
            month_text(entry.discounted_payback_months),
            _band(entry),
            percent(entry.probability_never),
            "none" if entry.breakeven_utilisation is None else percent(entry.breakeven_utilisation),
            "none" if entry.breakeven_rent_factor is None else percent(entry.breakeven_rent_factor),
            "none" if entry.breakeven_usd_per_gpu_hour is None else price,
        ]
        for entry, price in zip(found, prices, strict=True)
    ]
    lines = [
        table(columns, rows),
        *_each_once((entry.rented_key, entry.reason) for entry in found),
        "  less so far: the month from which owning has cost less, resale left out; never in: share of the draws",
        "  utilisation: above it owning costs less (0 %: at any)",
        "  node price: share of the rented nodes' price at which both cost the same, and what a GPU-hour then costs",
    ]
    return "\n".join(lines)


def _band(entry: Return) -> str:
    low, high = (
        "never" if months is None else f"{months:.1f}"
        for months in (entry.breakeven_months_p10, entry.breakeven_months_p90)
    )
    return low if low == high else f"{low} to {high}"


def _sensitivity(found: Finances, money: MoneyFormat) -> list[str]:
    saves = f"What {owning_text(found)} saves against {term_text(found.compared_with)}"
    swings = [
        [input_words(entry.key), money.text(entry.saving_usd_low), money.text(entry.saving_usd_high), entry.source]
        for entry in found.swings[:_SHOWN_SWINGS]
        if entry.width_usd
    ]
    prices = sorted({cell.cloud_price for cell in found.heat})
    used = sorted({cell.utilisation for cell in found.heat})
    saving = {(cell.utilisation, cell.cloud_price): cell.saving_usd for cell in found.heat}
    heat = [[percent(share), *(money.text(saving[share, price]) for price in prices)] for share in used]
    return [
        f"{saves} in present value: {money.text(found.base_saving_usd)}; one input at a time:",
        table([("", "left"), ("at its P10", ""), ("at its P90", ""), ("from", "left")], swings),
        "",
        f"Against {term_text(found.mapped_with)} by utilisation (rows) and price of nodes rented by use (columns, of "
        "today's)" + (f"; {note}" if (note := price_note(found)) else ""),
        table([("", "left"), *((percent(price), "") for price in prices)], heat),
    ]
