"""What diff prints: changes by group and their causes, as text and as Markdown."""

from collections.abc import Sequence

from clusterwright.cli.render.text_table import table
from clusterwright.diff.causes import Cause, Causes, Effect
from clusterwright.diff.differences import Change, Differences, TargetChange
from clusterwright.outputs.markdown import cell, markdown_table
from clusterwright.plan.record import Alternative, Plan, WorkUnit
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import NAME_OF_TARGET, capital, term_text
from clusterwright.units import percent

_MOST = 8
#: Figures in words, as the comparison calls them; in braces what the unit of work is called.
_NAMES = {
    "calendar_days": "days",
    "run_usd": "{asked}",
    "run_share_usd": "share of {each}",
    "capex_usd": "buy now",
    "horizon_usd": "horizon",
    "npv_usd": "NPV",
    "usd_per_gpu_hour": "GPU-hour",
    "mfu": "MFU",
    "gpus": "GPUs",
    "priced_share": "priced",
    "replica_gpus": "GPUs of a replica",
    "first_token_ms": "first token",
    "ms_per_token": "per token",
    "output_tokens_per_s_at_peak": "output at the peak",
    "probability": "goals met",
    "usd_per_million_output_tokens": "a million output tokens",
    "usd_per_million_tokens_in_and_out": "a million tokens in and out",
}
#: Days that one decimal shows.
_SHOWN_DAYS = 0.05
#: Share of an amount below which a difference in it is left to the JSON.
_SHOWN_SHARE = 0.001
_WHY = ("change, alone", "where", "nodes", "days", "{asked}", "horizon", "NPV")
_EMPTY = ("",) * (len(_WHY) - 2)


def _value(change: Change, which: str, money: MoneyFormat) -> str:
    value = getattr(change, which)
    if value is None or isinstance(value, str | bool):
        return "none" if value is None else str(value)
    if change.unit == "USD":
        return money.text(value) if abs(value) >= 100 else money.small(value)  # noqa: PLR2004 - unit prices keep their digits
    if change.unit in ("days", "months"):
        return f"{value:,.2f}"
    if change.unit == "share":
        return percent(value, digits=1)
    if change.unit in ("ms", "tokens/s"):
        return f"{value:,.0f} {change.unit}" if abs(value) >= 100 else f"{value:,.3g} {change.unit}"  # noqa: PLR2004
    return f"{value:,.6g}"


def _delta(change: Change, money: MoneyFormat) -> str:
    if change.delta is None:
        return ""
    before = float(change.before or 0.0)
    signed = Change(name="", unit=change.unit, before=0.0, after=abs(change.delta))
    share = (
        f" ({percent(change.delta / abs(before), digits=1, signed=True)})" if before and change.unit != "share" else ""
    )
    amount = _value(signed, "after", money)
    # The difference of two shares is in points of percent, not a share of either.
    shown = amount.replace("%", "points") if change.unit == "share" else amount
    return f"{'+' if change.delta > 0 else '-'}{shown}{share}"


def _named_by(unit: WorkUnit, words: str) -> str:
    return words.format(asked=unit.asked, each=unit.each)


def _name(change: Change, unit: WorkUnit) -> str:
    known = _NAMES.get(change.name)
    return _named_by(unit, known) if known else change.name.replace("_", " ")


def _line(change: Change, unit: WorkUnit, money: MoneyFormat) -> str:
    before, after, delta = _value(change, "before", money), _value(change, "after", money), _delta(change, money)
    return f"{_name(change, unit)}: {before} → {after}{'  ' + delta if delta else ''}"


def _groups(found: Differences, money: MoneyFormat) -> list[tuple[str, list[Change]]]:
    """Return what changed by group; what looks the same as before is left to the JSON."""
    groups = [("Work of the horizon", found.work), ("Inputs", found.inputs), ("Assumptions", found.assumptions)]
    for entry in found.targets:
        groups.append((_title(entry), entry.figures))
        groups += [(f"{NAME_OF_TARGET[entry.target]}: cost of the horizon by category", entry.categories[:_MOST])]
        groups += [(f"{NAME_OF_TARGET[entry.target]}: bill, first {_MOST}", entry.lines[:_MOST])]
    groups.append(("Breakeven", found.breakevens))
    told = ((title, [change for change in changes if _is_visible(change, money)]) for title, changes in groups)
    return [(title, changes) for title, changes in told if changes]


def _is_visible(change: Change, money: MoneyFormat) -> bool:
    """Tell whether a change shows: other words, or a difference that is a tenth of a percent of the value or more.

    Totals have three digits, so that a change that matters may leave both looking the same beside its difference.
    """
    if change.unit != "USD" or change.delta is None:
        return _value(change, "before", money) != _value(change, "after", money)
    return abs(change.delta) >= _SHOWN_SHARE * max(abs(float(change.before or 0.0)), abs(float(change.after or 0.0)))


def _title(entry: TargetChange) -> str:
    name = NAME_OF_TARGET[entry.target]
    return name if entry.presence == "both" else f"{name} ({entry.presence})"


def plain_text(found: Differences, why: Causes, unit: WorkUnit, money: MoneyFormat) -> str:
    """Return what changed, and why, for a terminal; the unit is that of the work."""
    lines = [f"{found.before} → {found.after}"]
    if found.same:
        return f"{lines[0]}: nothing changed"
    lines += _why_text(why, unit, money)
    for title, changes in _groups(found, money):
        lines += ["", f"  {title}", *(f"    {_line(change, unit, money)}" for change in changes)]
    return "\n".join((*lines, *money.note))


def verdict(before: Plan, after: Plan, money: MoneyFormat) -> str:
    """Return in one line what became of the two answers: of one run in cash, and of the horizon in present value."""
    unit, months = after.workload.unit, f"{after.economics.horizon_months:g} months"
    mine, theirs = (plan.alternative(plan.recommended_key) for plan in (before, after))
    kept, keeping = (plan.alternative(plan.recommended_horizon_key) for plan in (before, after))
    run = _became(mine, theirs, "run_usd", money)
    horizon = _became(kept, keeping, "npv_usd", money)
    named = ((unit.asked, run), (f"present value of {months}", horizon))
    return "; ".join(f"{name} {words}" for name, words in named if words)


def _became(mine: Alternative | None, theirs: Alternative | None, figure: str, money: MoneyFormat) -> str:
    """Return what a figure of one answer became: its change, both amounts, and whether it is still the same way."""
    if mine is None or theirs is None:
        return ""
    usd_before, usd_after = (getattr(way.money, figure) for way in (mine, theirs))
    same = mine.key == theirs.key
    way = f"still {term_text(mine.key)}" if same else f"{term_text(mine.key)} → {term_text(theirs.key)}"
    if usd_before is None or usd_after is None:
        return f"of unknown cost, {way}"
    change = Change(name="", unit="USD", before=usd_before, after=usd_after)
    if not _is_visible(change, money):
        return f"unchanged at {money.text(usd_after)}, {way}"
    return f"{_delta(change, money)}: {money.text(usd_before)} → {money.text(usd_after)}, {way}"


def markdown_text(found: Differences, why: Causes, unit: WorkUnit, money: MoneyFormat, *, answers: str = "") -> str:
    """Return what changed, and why, for a comment of a pull request: names of anyone's blueprint are no markup.

    The line of the answers and one table are read at once; causes and everything else are folded.

    Args:
        found: what changed.
        why: what it comes from.
        unit: that of the work.
        money: how amounts are written.
        answers: what became of them (`verdict`).
    """
    lines = [f"### Cost of {cell(found.before)} → {cell(found.after)}"]
    if found.same:
        return f"{lines[0]}\n\nNothing changed."
    lines += ["", f"**{cell(capital(answers))}**"] if answers else []
    lines += [*_headline(found, unit, money)]
    lines += ["", "<details><summary>Why, and everything that changed</summary>", *_why_markdown(why, unit, money)]
    for title, changes in _groups(found, money):
        lines += ["", f"**{cell(title)}**", "", "| what | before | after | change |", "|---|---:|---:|---:|"]
        lines += [
            f"| {cell(_name(change, unit))} | {cell(_value(change, 'before', money))} "
            f"| {cell(_value(change, 'after', money))} | {cell(_delta(change, money))} |"
            for change in changes
        ]
    return "\n".join((*lines, "", "</details>", *map(cell, money.note)))


def _headline(found: Differences, unit: WorkUnit, money: MoneyFormat) -> list[str]:
    """Return the figures that decide, for every target at once."""
    names = ("nodes", "calendar_days", "run_usd", "horizon_usd", "npv_usd")
    rows = [
        [_title(entry), *(_told({change.name: change for change in entry.figures}.get(name), money) for name in names)]
        for entry in found.targets
        if entry.presence == "both"
    ]
    # Where the horizon holds other work, its totals are no change of price alone.
    rows += [
        [_name(change, unit), "", "", "", " → ".join(f"{value:,.1f}" for value in (change.before, change.after)), ""]
        for change in found.work
        if change.delta is not None
    ]
    if not rows:
        return []
    return ["", *markdown_table(("", "nodes", "days", unit.asked, "horizon", "NPV"), rows)]


def _told(change: Change | None, money: MoneyFormat) -> str:
    if change is None:
        return "unchanged"
    delta = _delta(change, money)
    return f"{_value(change, 'before', money)} → {_value(change, 'after', money)}{f', {delta}' if delta else ''}"


def _why_text(why: Causes, unit: WorkUnit, money: MoneyFormat) -> list[str]:
    if why.reason:
        return ["", f"  Why: {why.reason}"]
    rows = _why_rows(why, money)
    columns = [(_named_by(unit, name), "left" if place < 2 else "") for place, name in enumerate(_WHY)]  # noqa: PLR2004 - two of words
    return ["", "  Why", table(columns, rows)] if rows else []


def _why_markdown(why: Causes, unit: WorkUnit, money: MoneyFormat) -> list[str]:
    if why.reason:
        return ["", f"**Why**: {cell(why.reason)}"]
    rows = _why_rows(why, money)
    return ["", "**Why**", "", *markdown_table([_named_by(unit, name) for name in _WHY], rows, words=2)] if rows else []


def _why_rows(why: Causes, money: MoneyFormat) -> list[list[str]]:
    rows = [row for cause in why.alone for row in _cause_rows(cause, money)]
    left = [effect for effect in why.left if _is_told(effect)]
    return rows + [[name, *row] for name, row in _named("together, beyond each alone", left, money)]


def _cause_rows(cause: Cause, money: MoneyFormat) -> list[list[str]]:
    values = f": {cause.before or 'none'} → {cause.after or 'none'}" if cause.before or cause.after else ""
    name = f"{cause.path}{values}"
    if cause.reason:
        return [[name, cause.reason, *_EMPTY]]
    told = [effect for effect in cause.effects if _is_told(effect)]
    return [[first, *row] for first, row in _named(name, told, money)] if told else [[name, "nothing", *_EMPTY]]


def _named(name: str, effects: Sequence[Effect], money: MoneyFormat) -> list[tuple[str, list[str]]]:
    return [(name if place == 0 else "", _effect_row(effect, money)) for place, effect in enumerate(effects)]


def _is_told(effect: Effect) -> bool:
    dollars = (effect.run_usd, effect.horizon_usd, effect.npv_usd)
    amounts = (effect.nodes, effect.calendar_days, *(usd or 0.0 for usd in dollars))
    return any(abs(amount) > 1e-6 for amount in amounts)  # noqa: PLR2004 - rounding


def _effect_row(effect: Effect, money: MoneyFormat) -> list[str]:
    return [
        NAME_OF_TARGET[effect.target],
        f"{effect.nodes:+,}" if effect.nodes else "–",
        f"{effect.calendar_days:+.1f}" if abs(effect.calendar_days) >= _SHOWN_DAYS else "–",
        _signed(effect.run_usd, money),
        _signed(effect.horizon_usd, money),
        _signed(effect.npv_usd, money),
    ]


def _signed(usd: float | None, money: MoneyFormat) -> str:
    if usd is None or abs(usd) < 0.005:  # noqa: PLR2004 - half a cent
        return "–"
    return f"+{money.text(usd)}" if usd > 0 else money.text(usd)
