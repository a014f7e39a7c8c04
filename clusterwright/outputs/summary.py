"""`README.md` of an output folder: what was decided and why, what was not counted, what to run next."""

from clusterwright.outputs.kinds import outputs_of
from clusterwright.outputs.markdown import cell, markdown_table
from clusterwright.plan.alternatives.answer_basis import basis_lines
from clusterwright.plan.findings.near_misses import near_miss_lines
from clusterwright.plan.findings.price_evidence import assumed_prices
from clusterwright.plan.record import Alternative, Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import (
    RANKED,
    again_text,
    answers_text,
    cash_text,
    days_of,
    days_shown,
    main_ways,
    paper_title,
    paper_ways,
    purchase_text,
    reason_lines,
    rule_text,
    share_text,
)
from clusterwright.plan.text.words import (
    NAME_OF_TARGET,
    answer_lines,
    band_text,
    capital,
    term_text,
)
from clusterwright.plan.work import work_text
from clusterwright.units import percent


def readme(plan: Plan, money: MoneyFormat) -> str:
    """Return the Markdown text."""
    sections = [
        [f"# {plan.name}", "", cell(plan.description)] if plan.description else [f"# {plan.name}"],
        [
            "## Decision",
            "",
            *(f"- {capital(line)}." for line in answer_lines(plan, money)),
            "",
            *_comparison(plan, money),
        ],
        ["## Why", "", *_reasons(plan)],
        *([["## What failed", "", *_failed(plan)]] if plan.findings else []),
        *([["## What to look at", "", *_warned(plan)]] if plan.warnings else []),
        ["## What it rests on", "", *_basis(plan, money)],
        ["## Not counted", "", *(f"- {item}" for item in plan.not_counted), *_missing(plan)],
        ["## What is here", "", *_contents(plan)],
        ["## Next", "", *_next(plan)],
    ]
    return "\n\n".join("\n".join(section) for section in sections)


def _comparison(plan: Plan, money: MoneyFormat) -> list[str]:
    months, unit = f"{plan.economics.horizon_months:.0f} months", plan.workload.unit
    titles = (
        RANKED,
        "Cluster",
        *days_shown(plan, "Days (low to high)"),
        capital(unit.asked),
        f"Share of {unit.each}",
        f"{months}, NPV",
        "Buy now",
        f"{money.code} per GPU-hour",
        "Priced",
        "Answer",
    )
    ways = main_ways(plan)
    lines = (
        [*markdown_table(titles, [_row(plan, way, money) for way in ways], words=2), "", f"{capital(rule_text(plan))}."]
        if ways
        else ["No way can be ranked."]
    )
    paper = [cell(line) for line in reason_lines(paper_ways(plan), money)]
    if paper:
        lines += ["", f"{paper_title(plan)}:", "", *(f"- {line}" for line in paper)]
    return [*lines, *_asked(plan), *map(cell, money.note)]


def _row(plan: Plan, way: Alternative, money: MoneyFormat) -> list[str]:
    cluster = way.cluster
    return [
        term_text(way.key),
        f"{cluster.nodes:,} × {cluster.instance} ({cluster.gpus:,} GPUs)"
        if cluster.instance
        else f"{cluster.nodes:,} nodes",
        *days_shown(plan, days_of(way)),
        cash_text(way, money),
        share_text(way, money),
        money.band(way.money.npv_usd, way.money.npv_usd_low, way.money.npv_usd_high),
        purchase_text(way, money),
        "unknown" if way.money.usd_per_gpu_hour is None else f"{money.amount(way.money.usd_per_gpu_hour):.2f}",
        percent(way.money.priced_share),
        answers_text(plan, way.key),
    ]


def _asked(plan: Plan) -> list[str]:
    """Return what to do where the answer is another capacity than the one that the files here are for."""
    answer = plan.alternative(plan.recommended_key)
    if answer is None or not answer.set_values:
        return []
    return [
        "",
        (
            f"The files here are for what the blueprint asks for; `{term_text(answer.key)}` is built with "
            f"`{again_text(answer)}` and the id of your own reservation, where one is named."
        ),
    ]


def _reasons(plan: Plan) -> list[str]:
    kind = outputs_of(plan)
    least = "" if plan.workload.unit.always_on else " and that no other beats in both nodes and calendar days"
    lines = [
        (
            f"Per target, of the cluster sizes that meet {kind.goal(plan)}{least}, the cheapest was taken: by the cash "
            f"of one {plan.workload.unit.name} where it is rented, by the present value of the horizon's work where it "
            "is owned or committed."
        ),
        "",
    ]
    lines += [f"- **{NAME_OF_TARGET[option.target]}:** {kind.reason(plan, option)}" for option in plan.options]
    for entry in plan.breakevens:
        owned, rented = (NAME_OF_TARGET[key.split("/")[0]] for key in (entry.owned_key, entry.rented_key))
        when = f"month {entry.months:.0f}" if entry.months is not None else f"no breakeven ({entry.reason})"
        lines.append(f"- Owning ({owned}) against renting from {rented}: {when}.")
    return lines


def _failed(plan: Plan) -> list[str]:
    return [f"- `{finding.id}` {finding.message}. {capital(finding.help)}." for finding in plan.findings]


def _warned(plan: Plan) -> list[str]:
    return [f"- `{warning.id}` {capital(warning.message)}. {capital(warning.help)}." for warning in plan.warnings]


def _basis(plan: Plan, money: MoneyFormat) -> list[str]:
    assumed = dict.fromkeys(entry.line.line.item for entry in assumed_prices(plan))
    horizon = (
        f"{percent(plan.economics.discount_rate)} discount rate, {plan.economics.horizon_months:.0f} months of "
        f"{plan.economics.hours_per_month:.0f} hours"
    )
    lines = [
        *(f"- {cell(capital(line))}." for line in basis_lines(plan, money)),
        *(f"- Near misses: {cell(line)}." for line in near_miss_lines(plan)),
        f"- Prices as of {plan.as_of}, catalogue `{plan.catalogue}`, Clusterwright {plan.clusterwright}.",
        *([f"- {source}."] if (source := outputs_of(plan).band_source) else []),
        f"- {capital(band_text(plan))}.",
        f"- {capital(work_text(plan))}.",
        f"- {horizon}.",
    ]
    lines += [
        f"- {entry.key} = {entry.value:g} {entry.unit} ({entry.basis}: {entry.reason})"
        for entry in plan.parameters
        if entry.basis == "assumed"
    ]
    if assumed:
        lines.append(f"- Assumed prices, no document: {'; '.join(map(cell, assumed))}.")
    return lines


def _missing(plan: Plan) -> list[str]:
    lines = [
        f"- {NAME_OF_TARGET[option.target]}: {cell(entry.item)} has no price ({cell(entry.reason)}), so its "
        "totals are unknown"
        for option in plan.options
        for entry in option.money.missing
    ]
    power = [item for option in plan.options for item in option.cluster.unknown_power_items]
    if power:
        lines.append(f"- Power of parts whose rating no source gives: {', '.join(map(cell, sorted(set(power))))}")
    return lines


def _contents(plan: Plan) -> list[str]:
    lines = ["- `plan.json`: every number above, versioned; its JSON Schema: `clusterwright schema plan`"]
    for option in plan.options:
        if option.target == "onprem":
            files = f"{option.deployment.scheduler.capitalize()} files"
            lines.append(f"- `onprem/`: bill of materials, racks, fabric, cables, power and cooling, storage, {files}")
        else:
            lines.append(
                f"- `{option.target}/`: Pulumi project in three layers (foundation, cluster, nodes); "
                "its README says how to bring it up and clean up"
            )
        if started := outputs_of(plan).contents(option):
            lines.append(started)
    lines.append(
        "- `tco/report.html`: comparison with charts, one file without network requests; `tco/tco.xlsx`: the same"
    )
    lines.append("- `tco/focus.csv`: what each option will be billed by month and line, as FOCUS rows of finance")
    return lines


def _next(plan: Plan) -> list[str]:
    option = plan.option(plan.recommended)
    lines = ["- open `tco/report.html`"]
    if option is not None and option.target != "onprem":
        lines.append(f"- follow *Bring it up* in `{option.target}/README.md`: what to set, then `./cluster.sh up`")
    if plan.option("onprem") is not None:
        lines.append("- send `onprem/bill_of_materials.xlsx` to a vendor; items marked assumed need a quote")
    lines.append("- `clusterwright explain BLUEPRINT run_usd` shows where a number comes from")
    return lines
