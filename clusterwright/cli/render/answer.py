"""The answer as text for a terminal: the answer, what limits it, the comparison, assumptions, next commands."""

import datetime as dt
import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from clusterwright.blueprint.rules.hardware import CLOUDS
from clusterwright.catalog.rules import rules
from clusterwright.cli.render.kinds import shown_of
from clusterwright.cli.render.terminal import line_width
from clusterwright.cli.render.text_table import Column, bold, commands, prose, table
from clusterwright.explain.records import Explanation
from clusterwright.plan.alternatives.answer_basis import basis_lines
from clusterwright.plan.findings.near_misses import near_miss_lines
from clusterwright.plan.findings.price_evidence import ASSUMED, age_days, assumed_prices, documented_prices
from clusterwright.plan.record import Alternative, Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import (
    BAND,
    NONE,
    RANKED,
    again_text,
    answers_text,
    cash_band_text,
    cash_text,
    comparable,
    main_reason_text,
    main_ways,
    paper_title,
    paper_ways,
    purchase_text,
    reason_lines,
    share_text,
    span_text,
    time_column,
    time_of,
)
from clusterwright.plan.text.words import (
    NAME_OF_TARGET,
    answer_lines,
    band_text,
    hardware_lines,
    horizon_answer,
    no_unit_answer,
    own_facts_lines,
    term_text,
    unit_answer,
)
from clusterwright.plan.work import work_text
from clusterwright.tco.terms.records import Breakeven
from clusterwright.units import counted, percent

#: Columns before prose, and the fewest that it is readable in.
_INDENT = 15
_NARROWEST = 24
#: Fewest columns of a source beside the name and value of an input.
_LEAST_BESIDE = 20
#: Blanks between the columns of an explanation.
_GAPS = 5


def plan_text(
    plan: Plan,
    path: Path,
    set_values: Sequence[str] = (),
    *,
    money: MoneyFormat,
    written: tuple[str, Collection[str]] | None = None,
    details: bool = False,
) -> str:
    """Return the plan for a terminal (colours only where the terminal shows them): answer, comparison, caveats.

    Args:
        plan: the decision.
        path: of the blueprint, for the next commands.
        set_values: overrides, which the next commands repeat.
        written: the folder of a build and the names of its files, for the next commands; None before a build.
        details: show in place of the first screen the answer in sentences, what it rests on, layout, memory, what
            limits the step, and every assumption and omission.
        money: how amounts are written.
    """
    screen = _whole(plan, money) if details else _first_screen(plan, money)
    return "\n".join(
        [
            *prose(_heading(plan), hanging=2),
            "",
            *screen,
            *_next(plan, path, set_values, written=written, details=details),
        ]
    )


def _first_screen(plan: Plan, money: MoneyFormat) -> list[str]:
    """Return the answer, the table that it is read from, what to beware of, and how sure its money is."""
    shown, compared = shown_of(plan), _comparison(plan, money)
    return [
        *_answers(plan, money),
        *(_block(shown.title, *lines) if (lines := shown.brief(plan, money)) else ()),
        *(_block("Beware", *lines) if (lines := _cheaper(plan, money)) else ()),
        # Titles of two lines leave the first one all but blank.
        *(() if compared.startswith("   ") else ("",)),
        compared,
        "",
        *shown.table(plan, money),
        *(() if plan.ranked else _not_ranked(plan, money)),
        *_own_facts(plan),
        *_no_price(plan),
        *_block("Currency", *money.note[1:]),
        *_findings(plan),
        *_block("Check", _check_line(plan)),
    ]


def _whole(plan: Plan, money: MoneyFormat) -> list[str]:
    """Return the answer in sentences, the comparison, and all that either rests on."""
    return [
        *(_bold_text(line) for line in _block("Answer", *answer_lines(plan, money))),
        "",
        _comparison(plan, money),
        "",
        *((*_block(shown_of(plan).title, *lines), "") if (lines := shown_of(plan).lines(plan, money)) else ()),
        *shown_of(plan).table(plan, money),
        *_not_ranked(plan, money),
        *(_block("Near misses", *lines) if (lines := near_miss_lines(plan)) else ()),
        *_breakevens(plan),
        *_block("Work", work_text(plan)),
        *_block("Basis", *basis_lines(plan, money)),
        *_block("Hardware", *hardware_lines(plan, money)),
        *_own_facts(plan),
        *_no_price(plan),
        *_block("Currency", *money.note[1:]),
        *_findings(plan),
        *_block("Caveats", *_caveats(plan, money)),
        "",
        *_details(plan, money),
    ]


def _answers(plan: Plan, money: MoneyFormat) -> list[str]:
    """Return the answer for a unit of work and for the horizon, each under its title."""
    alone, kept = plan.alternative(plan.recommended_key), plan.alternative(plan.recommended_horizon_key)
    if alone is None and kept is None:
        return [_bold_text(line) for line in _block("Answer", *answer_lines(plan, money))]
    what, *parts = (no_unit_answer(plan, money),) if alone is None else unit_answer(plan, alone, money)
    shown = [(f"One {plan.workload.unit.name}", what, parts)]
    if kept is not None:
        what, *parts = horizon_answer(plan, kept, money)
        shown.append((_months(plan), what, [*parts, *_pays_back(plan, kept)]))
    said = ((title, f"{what}: {'; '.join(parts)}" if parts else what) for title, what, parts in shown)
    return [_bold_text(line) for title, text in said for line in _block(title, text)]


def _pays_back(plan: Plan, kept: Alternative) -> tuple[str, ...]:
    """Return when the recommended purchase has paid off against every rented target; nothing where it does not."""
    months = [(entry.months, index) for index, entry in enumerate(plan.breakevens) if entry.months is not None]
    if kept.key not in {entry.owned_key for entry in plan.breakevens} or len(months) < len(plan.breakevens):
        return ()
    last = plan.breakevens[max(months)[1]]
    return (f"pays back against {_rented_name(last)} in {_month_text(last)}",)


def _cheaper(plan: Plan, money: MoneyFormat) -> tuple[str, ...]:
    """Return how many ways are cheaper on paper alone, from which amount, and why; nothing without an answer."""
    ways = [way for way in paper_ways(plan) if way.money.run_usd is not None]
    if not plan.ranked or not ways:
        return ()
    usd, key = min((way.money.run_usd or 0.0, way.key) for way in ways)
    least = f"{'at' if len(ways) == 1 else 'from'} {money.text(usd)} ({term_text(key)})"
    return (f"{counted(len(ways), 'cheaper offer')}, {least}, not ranked: {main_reason_text(ways)}",)


def _own_facts(plan: Plan) -> list[str]:
    return _block("Own facts", *own_facts_lines(plan)) if plan.own_facts else []


def _check_line(plan: Plan) -> str:
    """Return how much of the answer is assumed or not counted, in a line."""
    prices = len({entry.line.line.sku for entry in assumed_prices(plan)})
    values = sum(entry.basis == ASSUMED for entry in plan.parameters)
    assumed = [
        *([counted(prices, "price")] if prices else []),
        *([counted(values, "value")] if values else []),
        *shown_of(plan).assumed(plan),
    ]
    said = [f"assumed: {', '.join(assumed)}"] if assumed else []
    said.append(f"not counted: {counted(len(plan.not_counted), 'thing')}; prices as of {plan.as_of}: plan --details")
    return "; ".join(said)


def caveats_line(plan: Plan, money: MoneyFormat) -> str:
    """Return how many prices are assumed and what they cost, how much is not counted, and the day of the prices."""
    assumed = assumed_prices(plan)
    values = sum(entry.basis == ASSUMED for entry in plan.parameters)
    said = []
    if assumed:
        largest = assumed[0]
        count = len({entry.line.line.sku for entry in assumed})
        said.append(
            f"{count} assumed price{'' if count == 1 else 's'}, the largest {largest.line.line.item} "
            f"({NAME_OF_TARGET[largest.option.target]}, {money.text(largest.horizon_usd)})"
        )
    if values:
        said.append(f"{values} assumed values")
    said.append(f"{len(plan.not_counted)} things not counted")
    return f"{', '.join(said)}; prices as of {plan.as_of}: plan --details"


def caveat_details(plan: Plan, money: MoneyFormat) -> list[str]:
    """Return every assumed price, the age of every documented one, assumed values, and all that is not counted."""
    lines = []
    if assumed := assumed_prices(plan):
        columns = [
            Column("Assumed price", "left"),
            Column("of", "left", drop=1),
            Column(_months(plan), drop=0),
            Column("low", drop=3),
            Column("high", drop=2),
        ]
        rows = []
        for entry in assumed:
            unit = entry.line.unit_usd or 0.0
            ends = (entry.line.unit_usd_low, entry.line.unit_usd_high)
            shares = ["–" if end is None or not unit else percent(end / unit - 1, signed=True) for end in ends]
            rows.append(
                [entry.line.line.item, NAME_OF_TARGET[entry.option.target], money.text(entry.horizon_usd), *shares]
            )
        lines += [table(columns, rows), ""]
    if documented := documented_prices(plan):
        columns = [
            Column("Documented price", "left"),
            Column("of", "left", drop=1),
            Column(_months(plan), drop=0),
            Column("last seen", drop=3),
            Column("age, days", drop=2),
        ]
        as_of = dt.date.fromisoformat(plan.as_of)
        rows = []
        for entry in documented:
            age = age_days(entry.line, as_of)
            aged = ["–", "–"] if age is None else [str(entry.line.last_seen), f"{age:,}"]
            rows.append(
                [entry.line.line.item, NAME_OF_TARGET[entry.option.target], money.text(entry.horizon_usd), *aged]
            )
        lines += [table(columns, rows), ""]
    values = [entry for entry in plan.parameters if entry.basis == ASSUMED]
    if values:
        columns = [Column("Assumed value", "left"), Column("", drop=0), Column("low"), Column("high")]
        rows = [[entry.key, *(f"{end:g}" for end in (entry.value, entry.low, entry.high))] for entry in values]
        lines += [table(columns, rows), ""]
    lines += ["  Not counted"]
    lines += [line for item in plan.not_counted for line in prose(item, indent=4, hanging=6)]
    lines += prose(
        f"Prices as of {plan.as_of}; catalogue {plan.catalogue}; "
        "day band from published runs: clusterwright docs trust",
        indent=2,
    )
    return lines


def _months(plan: Plan) -> str:
    return f"{plan.economics.horizon_months:.0f} months"


def _caveats(plan: Plan, money: MoneyFormat) -> tuple[str, ...]:
    lines = (caveats_line(plan, money), *shown_of(plan).caveats(plan), band_text(plan))
    return tuple(line for line in lines if line)


def _details(plan: Plan, money: MoneyFormat) -> list[str]:
    shown = plan.planned(plan.recommended_key) or plan.options[0]
    run = [row for title, lines in shown_of(plan).details(shown) for row in _block(title, *lines)]
    return [
        *run,
        *([""] if run else []),
        *caveat_details(plan, money),
        "",
    ]


def _heading(plan: Plan) -> str:
    work = plan.workload
    goal = f" · {goals}" if (goals := shown_of(plan).goal(plan)) else ""
    parts = (plan.name, work.model_name, work.amount_text, work.precision)
    return f"{' · '.join(part for part in parts if part)}{goal}"


def _next(
    plan: Plan,
    path: Path,
    set_values: Sequence[str],
    *,
    written: tuple[str, Collection[str]] | None,
    details: bool,
) -> list[str]:
    answer = plan.alternative(plan.recommended_key)
    own = answer is not None and bool(answer.set_values)
    chosen = again_text(answer) if answer is not None and own else ""
    of = shlex.join([str(path), *(word for value in set_values for word in ("--set", value))])
    answered = f"{of} {chosen}" if own else of
    if written is None:
        # What is built is what the first line answers.
        said = "every file: stacks, documents, report" if details else ""
        entries = [(f"clusterwright build {answered} -o out", said)]
    else:
        folder, names = written
        instead = f"{_the_answer(plan)} in place of what was built"
        entries = [
            *([(f"clusterwright build {answered} -o {shlex.quote(folder)}", instead)] if own else []),
            *_checks_of(plan, folder, names),
        ]
    if details or not entries:
        entries += [
            (f"clusterwright explain {of}", "where each number comes from"),
            (f"clusterwright compare {of}", "renting against owning"),
        ]
    lines = commands(entries, indent=_INDENT)
    return [f"  {'Next':<{_INDENT - 2}}{lines[0].lstrip()}", *lines[1:]]


def _checks_of(plan: Plan, folder: str, names: Collection[str]) -> list[tuple[str, str]]:
    """Return the commands that check what a build wrote: the project of a cloud, the documents on premises."""
    parts = {name.partition("/")[0] for name in names}
    clouds = [option.target for option in plan.options if option.target in parts & set(CLOUDS)]
    owned = [option.target for option in plan.options if option.target in parts - set(CLOUDS)]
    return [
        *([(f"clusterwright preflight {shlex.quote(folder)}/{clouds[0]}", "before ./cluster.sh up")] if clouds else []),
        *([(f"clusterwright prove {shlex.quote(folder)}/{owned[0]}", "before anything is bought")] if owned else []),
    ]


def _block(title: str, *lines: str) -> list[str]:
    """Return prose under a title, within the width of the terminal."""
    room = max(_NARROWEST, line_width() - _INDENT)
    return _rows(title, *(part for line in lines for part in prose(line, width=room) or [""]))


def _rows(title: str, *lines: str) -> list[str]:
    return [f"  {title if index == 0 else '':<12} {line}" for index, line in enumerate(lines)]


def _the_answer(plan: Plan) -> str:
    return f"the answer for {plan.workload.unit.asked}"


def _bold_text(line: str) -> str:
    """Return a row with what is after the title's column in bold."""
    return line[:_INDENT] + bold(line[_INDENT:])


def _comparison(plan: Plan, money: MoneyFormat) -> str:
    """Return the ranked ways that a run can be done on, what is owned, and both answers."""
    unit, ranked = plan.workload.unit, main_ways(plan)
    # Without an answer the sizes are shown.
    title, ways = (RANKED, ranked) if ranked else (paper_title(plan), paper_ways(plan))
    times, figures = time_column(ways), _key_figures(plan)
    columns = [
        Column(title, "left"),
        Column("hardware", "left", drop=3),
        Column("nodes", drop=4),
        Column("GPUs", drop=8),
        *([] if unit.always_on else [Column(f"{times} (low–high)", drop=0)]),
        *(Column(name, drop=6) for name in figures),
        Column(unit.asked, drop=0),
        Column(BAND, drop=4.4),
        Column(f"share of {unit.each}", drop=4.1),
        Column("NPV", drop=0),
        Column(BAND, drop=4.2),
        Column("buy now", drop=5),
        Column(f"{money.code}/GPU-h", drop=7),
        Column("priced", drop=9),
        Column("", "left", drop=0),
    ]
    return table(columns, (_row(plan, way, times, figures, money) for way in ways))


def _key_figures(plan: Plan) -> list[str]:
    """Return the names of the figures that options have, in the order of the option that has most."""
    each = sorted((option.key_figures for option in (*plan.options, *plan.other_options)), key=len, reverse=True)
    return list(dict.fromkeys(name for figures in each for name, _ in figures))


def _row(plan: Plan, way: Alternative, times: str, figures: Sequence[str], money: MoneyFormat) -> list[str]:
    option = plan.planned(way.key)
    shown = {} if option is None else dict(option.key_figures)
    answers = answers_text(plan, way.key)
    return [
        term_text(way.key),
        (way.cluster.instance if option is None else option.cluster.instance) or NONE,
        f"{way.cluster.nodes:,}",
        f"{way.cluster.gpus:,}",
        *([] if plan.workload.unit.always_on else [time_of(way, times)]),
        *(shown.get(name, NONE) for name in figures),
        cash_text(way, money),
        span_text(way.money.run_usd, way.money.run_usd_low, way.money.run_usd_high, money),
        share_text(way, money),
        money.text(way.money.npv_usd),
        span_text(way.money.npv_usd, way.money.npv_usd_low, way.money.npv_usd_high, money),
        purchase_text(way, money),
        "unknown" if way.money.usd_per_gpu_hour is None else f"{money.amount(way.money.usd_per_gpu_hour):.2f}",
        percent(way.money.priced_share),
        f"◀ {answers}" if answers else "",
    ]


def _not_ranked(plan: Plan, money: MoneyFormat) -> list[str]:
    ways = paper_ways(plan)
    return [f"  {bold(paper_title(plan))}", *_block("", *reason_lines(ways, money)), ""] if ways else []


def _breakevens(plan: Plan) -> list[str]:
    lines = [breakeven_text(plan, index) for index in range(len(plan.breakevens))]
    return _block("Breakeven", *lines) if lines else []


def breakeven_text(plan: Plan, index: int) -> str:
    """Return one breakeven as a sentence: month with its band, and utilisation."""
    entry = plan.breakevens[index]
    if entry.months is None:
        return f"against {_rented_name(entry)}: none within the horizon ({entry.reason})"
    above = (
        ""
        if entry.utilisation is None or plan.workload.unit.always_on
        else f"; owning costs less above {percent(entry.utilisation)} utilisation"
    )
    return f"against {_rented_name(entry)}: {_month_text(entry)}{above}"


def _rented_name(entry: Breakeven) -> str:
    return NAME_OF_TARGET[entry.rented_key.split("/")[0]]


def _month_text(entry: Breakeven) -> str:
    low = "?" if entry.months_low is None else f"{entry.months_low:.0f}"
    high = "later" if entry.months_high is None else f"{entry.months_high:.0f}"
    return f"month {entry.months:.0f} ({low}–{high})"


def _findings(plan: Plan) -> list[str]:
    """Return what rules failed, each once; values, places and what to do are with the blueprint's text, on stderr."""
    what = {rule.id: rule.what for rule in reversed(rules())}
    times = Counter((finding.id, what.get(finding.id, finding.message)) for finding in plan.findings)
    lines = [f"[{name}] {said}" + (f" ({count} times)" if count > 1 else "") for (name, said), count in times.items()]
    return _block("Failed", *lines) if lines else []


def comparison_text(plan: Plan, money: MoneyFormat) -> str:
    """Return renting against owning for a terminal: totals, what they consist of, breakeven."""
    rows = []
    for option in comparable(plan):
        parts = ", ".join(f"{entry.category} {money.text(entry.usd)}" for entry in option.money.horizon_breakdown[:5])
        rows.append(
            [
                f"{NAME_OF_TARGET[option.target]} {option.cluster.instance}",
                cash_band_text(option, money),
                share_text(option, money),
                money.band(option.money.horizon_usd, option.money.horizon_usd_low, option.money.horizon_usd_high),
                money.band(option.money.npv_usd, option.money.npv_usd_low, option.money.npv_usd_high),
                purchase_text(option, money),
                percent(option.money.busy_fraction),
                percent(option.money.horizon_priced_share),
                parts,
            ]
        )
    months, unit = f"{plan.economics.horizon_months:.0f} months", plan.workload.unit
    columns: list[tuple[str, str] | Column] = [
        ("Where", "left"),
        Column(unit.asked, drop=0),
        Column(f"share of {unit.each}", drop=0.4),
        (months, ""),
        ("NPV", ""),
        ("buy now", ""),
        ("busy", ""),
        ("priced", ""),
        ("horizon consists of", "left"),
    ]
    lines = [
        (
            f"{plan.name}: the same work for all ({percent(plan.economics.discount_rate)} discount rate, "
            f"prices as of {plan.as_of})"
        ),
        *_block("Work", work_text(plan)),
        "",
        table(columns, rows),
        *_block("", band_text(plan)),
        *_block("Basis", *basis_lines(plan, money)),
        "",
        *_breakevens(plan),
        *_findings(plan),
    ]
    lines += _no_price(plan)
    return "\n".join(lines)


def _no_price(plan: Plan) -> list[str]:
    lines = dict.fromkeys(
        f"{NAME_OF_TARGET[option.target]}: {entry.item}: {entry.reason}"
        for option in plan.options
        for entry in option.money.missing
    )
    return _block("No price", *lines) if lines else []


def explanation_text(entry: Explanation, target: str) -> str:
    """Return one number's derivation for a terminal."""
    lines = [f"{entry.title} ({NAME_OF_TARGET[target]}): {entry.value}", "", *_block("Equation", *entry.equation)]
    width = max((len(item.name) for item in entry.inputs), default=0)
    values = max((len(item.value) for item in entry.inputs), default=0)
    beside = line_width() - _INDENT - width - values - _GAPS
    if beside >= _LEAST_BESIDE:
        inputs = [f"{item.name:<{width}}  {item.value:<{values}}   {item.source}" for item in entry.inputs]
    else:
        inputs = [line for item in entry.inputs for line in (f"{item.name}  {item.value}", f"  {item.source}")]
    lines += _rows("Inputs", *inputs)
    lines += _block("Sources", *entry.sources)
    return "\n".join(lines)
