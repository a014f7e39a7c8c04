"""The cost report: one HTML file that opens anywhere, without network requests, and prints.

Every number is computed here or before; the template only loops and prints, and escapes every text. Amounts stay on one
line, and addresses in the words of a source are links.
"""

import re
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from clusterwright import assets
from clusterwright.explain.explanation import explanations
from clusterwright.finance.accounts import asked_keys
from clusterwright.finance.chance_words import chance_sentences
from clusterwright.finance.finances import Finances
from clusterwright.finance.what_if import what_if as possible
from clusterwright.finance.words import owning_text, price_note
from clusterwright.outputs.kinds import outputs_of
from clusterwright.outputs.page_parts import Chart
from clusterwright.outputs.report import charts as report_charts
from clusterwright.outputs.report import cluster_charts, finance_tables, ranking
from clusterwright.outputs.report import memo as report_memo
from clusterwright.outputs.report import risks as report_risks
from clusterwright.outputs.report import tables as report_tables
from clusterwright.outputs.report import what_if as report_what_if
from clusterwright.outputs.report.sensitivity import sensitivities
from clusterwright.outputs.report.tables import heading
from clusterwright.plan.alternatives.answer_basis import basis_lines
from clusterwright.plan.findings.near_misses import near_miss_lines
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import paper_title, rule_text
from clusterwright.plan.text.words import NAME_OF_TARGET, answer_lines, band_text, capital, term_text
from clusterwright.plan.work import work_text
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import PricePoint
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import Breakeven, CumulativePoint
from clusterwright.units import percent

#: The parts of the report, by their places in it; a screen shows one at a time.
TABS = ("decision", "money", "certainty", "bill", "cluster", "method")
#: Of tables with a row for each way, this many rows are printed, so that eight sheets of A4 hold the report.
MOST_PRINTED = 6
#: The blank between a number and what it counts: `$1.24 M`, `54 %`.
_WITHIN_AN_AMOUNT = re.compile(r"(?<=\d) (?=(?:M|%)(?!\w))")
#: A host with or without a path, as sources are written down; names of files and instances end in none of these.
_ADDRESS = re.compile(
    r"(?<![\w@.-])(?:https?://)?(?P<place>(?:[a-z0-9-]+\.)+(?:ai|co|com|dev|fm|gov|io|jp|net|org)\b(?:/[\w./?=&%~+-]*\w)?)",
    re.ASCII | re.IGNORECASE,
)


def report_html(plan: Plan, found: Finances, counted: Ledger, money: MoneyFormat) -> str:
    """Return the report as one HTML document, its money as `money` writes it.

    Args:
        plan: the decision.
        found: the plan in the terms of finance (`ranking.ranked`).
        counted: the plan's cash flow (`ranking.counted`).
        money: how amounts are written.
    """
    environment = Environment(
        loader=FileSystemLoader(assets.root() / "templates" / "report"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_unbroken,
    )
    environment.filters["linked"] = _linked
    return environment.get_template("report.html.j2").render(**_context(plan, counted, counted.book, found, money))


def _context(plan: Plan, money_of: Ledger, book: PriceBook, found: Finances, money: MoneyFormat) -> dict[str, Any]:
    sources = report_tables.Sources()
    explained = plan.option(plan.recommended) or plan.options[0]
    what_if = report_what_if.sliders(plan, possible(plan, book), money)
    rule, kind = f"{capital(rule_text(plan, worth='present value'))}.", outputs_of(plan)
    return {
        "tabs": TABS,
        "most_printed": MOST_PRINTED,
        "name": plan.name,
        "description": plan.description,
        "answer": [capital(line) for line in answer_lines(plan, money)],
        "ask": report_memo.ask(plan),
        "risks": report_risks.risks(plan, found, money),
        "needs": report_risks.needs(plan, found, money),
        "figures": report_memo.figures(plan, found, money),
        "what_if": what_if,
        "policy": "" if what_if is None else what_if.policy,
        "as_of": plan.as_of,
        "currency": " ".join(money.note).strip(),
        "versions": f"Clusterwright {plan.clusterwright}, catalogue {plan.catalogue}",
        "findings": [(finding.id, finding.message, finding.help) for finding in plan.findings],
        "warnings": [(warning.id, warning.message, warning.help) for warning in plan.warnings],
        "comparison": report_tables.comparison(plan, sources, money),
        "rule": rule,
        "unknown": _unknown(plan),
        "again": ranking.again_table(plan, money),
        "beside_title": paper_title(plan),
        "beside": ranking.paper_table(plan, money),
        "breakevens": [_breakeven(plan, entry) for entry in plan.breakevens],
        "ranking": ranking.ranking_table(found, money),
        "chance": chance_sentences(found),
        "drawn_inputs": finance_tables.drawn_inputs_table(found),
        "wrong_choices": ranking.wrong_choice_table(found, money),
        "ranking_after_tax": ranking.after_tax_table(found, money),
        "carbon": finance_tables.carbon_table(plan, found),
        "carbon_remarks": finance_tables.carbon_remarks(found),
        "returns": finance_tables.returns_table(found, money),
        "unit_costs": finance_tables.unit_cost_table(plan, found, money),
        "tax": finance_tables.tax_table(found, money) if _is_taxed(found) else None,
        "tax_told": finance_tables.tax_sentence(found),
        "books": finance_tables.book_table(found, money),
        "financing": finance_tables.financing_sentence(found.taxed.financed, money),
        "price_changes": report_tables.price_changes(plan, _histories(plan, book), money),
        "charts": {
            "tornado": _tornado(plan, found, money),
            "heat": _heat(plan, found, money),
            **_money_charts(plan, money_of, book, money),
        },
        "cash_flow": [
            *(
                (heading(entry), report_tables.cash_flow(money_of.cash_flow_rows(entry.target), money))
                for entry in plan.options
            ),
            *((capital(term_text(key)), report_tables.cash_flow(found.rows[key], money)) for key in asked_keys(found)),
        ],
        "basis": [capital(line) for line in (*basis_lines(plan, money), *near_miss_lines(plan))],
        "unit": plan.workload.unit,
        "horizon": f"{plan.economics.horizon_months:.0f} months",
        "band": band_text(plan),
        "parameters": report_tables.parameters(plan, money),
        "prices": [
            (heading(option), report_tables.prices(option, sources, plan.as_of, money)) for option in plan.options
        ],
        "sources": sources.texts,
        "cluster": kind.cluster_table(plan, money),
        "cluster_charts": (*kind.cluster_charts(plan), _front_chart(plan)),
        "elsewhere": kind.elsewhere(plan, money),
        "terms": kind.terms,
        "counts_flop": plan.workload.unit_flop is not None,
        "useful_hour": kind.useful_hour,
        "not_counted": plan.not_counted,
        "explained": f"{explained.cluster.instance}, {NAME_OF_TARGET[explained.target]}",
        "formulas": [
            {
                "title": capital(entry.title),
                "value": entry.value,
                "equation": entry.equation,
                "sources": entry.sources,
            }
            for entry in explanations(plan, explained.target, money_of, money)
            if "/" not in entry.number and entry.number.islower()
        ],
    }


def _is_taxed(found: Finances) -> bool:
    """Return whether anything differs after tax; else every row would say the same twice."""
    taxed = found.taxed
    return bool(taxed.tax_rate or taxed.delivery_months or taxed.financed) or not taxed.options


def _unknown(plan: Plan) -> list[tuple[str, list[str]]]:
    """Return, for each option whose totals are unknown, the lines without a price."""
    return [
        (heading(option), [f"{entry.item}: {entry.reason}" for entry in option.money.missing])
        for option in plan.options
        if option.money.missing
    ]


def _money_charts(plan: Plan, money_of: Ledger, book: PriceBook, money: MoneyFormat) -> dict[str, Chart]:
    dated, unit = f"Prices as of {plan.as_of}.", plan.workload.unit
    paid = money_of.cumulative()
    return {
        "run": Chart(
            svg=report_charts.cost_chart(plan, horizon=False, money=money),
            caption=(
                f"Cost of {unit.asked} by category: cash where it is rented, of what is bought the share of the "
                f"horizon's cost that falls on {unit.each} (no cash of {unit.asked}). {_INCOME} {dated}"
            ),
        ),
        "work": Chart(
            svg=report_charts.cost_chart(plan, horizon=True, money=money),
            caption=f"Cost of the same work by category: {work_text(plan)}. {_INCOME} {dated}",
        ),
        "breakeven": Chart(
            svg=report_charts.breakeven_chart(plan, paid, money),
            caption=(
                f"Cash paid so far, before resale; at the right the sum at the end. {_end_of_lines(plan, paid, money)}"
                "Bands as of the totals. Circles: from here on, owning has cost less. "
                f"{percent(plan.economics.utilisation)} utilisation. {dated}"
            ),
        ),
        "sensitivity": _sensitivity_chart(plan, money_of, book, money),
        "price": Chart(
            svg=report_charts.price_chart(plan, _histories(plan, book), money),
            caption=(
                "Documented on-demand price of one GPU-hour (price of the node over its GPUs), held until the "
                f"next documented change; as of {plan.as_of}. Sources: see the first line of each bill."
            ),
        ),
    }


_INCOME = "Resale is income, left of zero; the diamond and the figure are what remains."


def _end_of_lines(plan: Plan, paid: Sequence[CumulativePoint], money: MoneyFormat) -> str:
    """Return how the ends of the lines lead to the totals, which count what comes back at the end; empty if they do."""
    ends = {point.key: point.usd for point in paid}
    sentences = []
    for option in plan.options:
        if option.money.horizon_usd is None or option.target not in ends:
            continue
        back = ends[option.target] - option.money.horizon_usd
        if money.text(back) == money.text(0.0) or back <= 0:
            continue
        source = "the sale of the equipment" if option.design.facility else "the unused part of the last term"
        sentences.append(
            f"{heading(option)}: {money.text(ends[option.target])} paid, less {money.text(back)} for {source}, are the "
            f"{money.text(option.money.horizon_usd)} of the totals. "
        )
    return "".join(sentences)


def _front_chart(plan: Plan) -> Chart:
    return Chart(
        svg=cluster_charts.front_chart(plan),
        caption=(
            "Cluster sizes that no other size beats in both nodes and days, with the chosen ones marked; days are "
            f"the high end of the band ({percent(plan.goals.confidence)} of {plan.workload.unit.plural} take less). "
            "Both axes are logarithmic."
        ),
    )


def _sensitivity_chart(plan: Plan, money_of: Ledger, book: PriceBook, money: MoneyFormat) -> Chart:
    owned = [
        option
        for option in plan.options
        if option.cluster.it_power_w is not None and option.money.run_share_usd is not None
    ]
    if not owned or owned[0].money.run_share_usd is None:
        return Chart(svg="", caption="")
    entries = sensitivities(money_of, book, owned[0].target, money)
    return Chart(
        svg=report_charts.sensitivity_chart(entries, owned[0].money.run_share_usd, plan.workload.unit, money),
        caption=(
            f"Share of one {plan.workload.unit.name} in what owning costs {NAME_OF_TARGET[owned[0].target]}, with one "
            "input at a time at its cheap (blue) or dear (orange) end and all others at their base; the upright line "
            f"is {money.text(owned[0].money.run_share_usd)}. Utilisation is moved by ten points. "
            f"Prices as of {plan.as_of}."
        ),
    )


def _tornado(plan: Plan, found: Finances, money: MoneyFormat) -> Chart:
    svg = ranking.tornado_chart(found, money)
    if not svg or found.base_saving_usd is None:
        return Chart(svg="", caption="")
    return Chart(
        svg=svg,
        caption=(
            f"What {owning_text(found)} saves in present value against {term_text(found.compared_with)}, with one "
            "input at a time at its P10 and its P90 and all others at their base; blue is the end that saves more, "
            f"orange the one that saves less; the upright line is {money.text(found.base_saving_usd)}. "
            f"Prices as of {plan.as_of}."
        ),
    )


def _heat(plan: Plan, found: Finances, money: MoneyFormat) -> Chart:
    svg = finance_tables.saving_map(found, money)
    if not svg:
        return Chart(svg="", caption="")
    note = price_note(found)
    return Chart(
        svg=svg,
        caption=(
            f"What {owning_text(found)} saves in present value against {term_text(found.mapped_with)} by the share "
            "of the horizon that the cluster works and by the price of the rented nodes; blue: owning costs less; "
            f"orange: renting does. All other inputs at their base, prices as of {plan.as_of}."
            + (f" Note: {note}." if note else "")
        ),
    )


def _breakeven(plan: Plan, entry: Breakeven) -> str:
    rented = NAME_OF_TARGET[entry.rented_key]
    share = (
        ""
        if entry.utilisation is None or plan.workload.unit.always_on
        else f" Over the whole horizon, after resale, owning costs less above {percent(entry.utilisation)} utilisation."
    )
    if entry.months is None:
        return f"Against {rented}: no breakeven within the horizon; {entry.reason}.{share}"
    low = "the start" if entry.months_low is None else f"month {entry.months_low:.1f}"
    high = (
        f"after month {plan.economics.horizon_months:.0f}" if entry.months_high is None else f"{entry.months_high:.1f}"
    )
    return (
        f"Against {rented}: from month {entry.months:.1f} on, owning has cost less cash than renting "
        f"({low} to {high} with every assumption at its cheap or dear end).{share}"
    )


def _histories(plan: Plan, book: PriceBook) -> dict[str, tuple[PricePoint, ...]]:
    return {
        option.target: tuple(
            point
            for point in book.history(
                f"{option.target}/{option.cluster.instance}", region=option.deployment.region, term="on_demand"
            )
            if point.effective_from.isoformat() <= plan.as_of
        )
        for option in plan.options
        if option.design.facility is None
    }


def _unbroken(value: object) -> object:
    r"""Return a text whose amounts stay on one line; what is no plain text is returned as it is.

    >>> _unbroken("$1.06 to 1.47 M, 54 % of 3 Mbit")
    '$1.06 to 1.47\xa0M, 54\xa0% of 3 Mbit'
    """
    return _WITHIN_AN_AMOUNT.sub("\N{NO-BREAK SPACE}", value) if type(value) is str else value


def _linked(text: str) -> Markup:
    """Return a text as HTML, its addresses as links; everything else is escaped.

    >>> _linked("A tracker (github.com/a/b), 00a")
    Markup('A tracker (<a href="https://github.com/a/b" rel="noreferrer">github.com/a/b</a>), 00a')
    >>> _linked("<b> p5.48xlarge pricing.yml")
    Markup('&lt;b&gt; p5.48xlarge pricing.yml')
    """
    parts, at = [], 0
    for found in _ADDRESS.finditer(text):
        link = Markup('<a href="https://{place}" rel="noreferrer">{words}</a>')
        parts += [escape(text[at : found.start()]), link.format(place=found["place"], words=found[0])]
        at = found.end()
    return Markup("").join([*parts, escape(text[at:])])
