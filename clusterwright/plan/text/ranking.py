"""The ranking as words and rows, the same wherever it is shown: which way is the answer, and why others are not."""

import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from clusterwright.plan.record import Alternative, Option, Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import term_text

NONE = "–"
RANKED = "Ranked"
#: Title of the column with the band of the dollars beside it.
BAND = "low–high"
_NOT_RANKED = "Cheaper on paper, not ranked"
#: The same where there is no answer that they could be cheaper than.
_NONE_RANKED = "Not ranked"
_HOURS_A_DAY = 24.0
#: Runs that take less than these days are shown in hours.
SHORT_DAYS = 2.0


def rule_text(
    plan: Plan,
    left_out: Collection[str] = (),
    beside: Mapping[str, str] | None = None,
    *,
    worth: str = "NPV",
) -> str:
    """Return which column decides what, as it is under every table of the ranking.

    Args:
        plan: with its unit of work.
        left_out: titles of columns that the table does not show.
        beside: words about other columns of the table, by title.
        worth: title of the column of present values.
    """
    unit = plan.workload.unit
    words = {
        unit.asked: f"cash, the least of which is the answer for {unit.asked}",
        f"share of {unit.each}": "of what is bought or committed for the whole horizon",
        worth: f"{'present value ' if worth == 'NPV' else ''}of all that is paid, the least of which is the answer for "
        "the horizon",
    }
    shown = words | dict(beside or {})
    return "; ".join(f"{title}: {meaning}" for title, meaning in shown.items() if title not in left_out)


def paper_title(plan: Plan) -> str:
    """Return the heading of what is not ranked: cheaper on paper only where there is an answer to be cheaper than."""
    return _NOT_RANKED if plan.ranked else _NONE_RANKED


def cash_text(way: Alternative | Option, money: MoneyFormat) -> str:
    """Return the cash that one run takes; a dash where there is only a share of what the horizon takes."""
    return NONE if way.money.run_usd is None and way.money.run_share_usd is not None else money.text(way.money.run_usd)


def cash_band_text(way: Alternative | Option, money: MoneyFormat) -> str:
    """Return the same with its band."""
    return (
        cash_text(way, money)
        if way.money.run_usd is None
        else money.band(way.money.run_usd, way.money.run_usd_low, way.money.run_usd_high)
    )


def span_text(usd: float | None, low: float | None, high: float | None, money: MoneyFormat) -> str:
    """Return the band of an amount for the column beside it; a dash where there is none that three digits show.

    >>> from clusterwright.plan.text.money import USD
    >>> span_text(1_310_000, 1_080_000, 1_810_000, USD), span_text(None, 1.0, 2.0, USD), span_text(5e5, 5e5, 5e5, USD)
    ('$1.08–1.81 M', '–', '–')
    """
    return NONE if usd is None or low is None or high is None else money.span(low, high, between="–") or NONE


def share_text(way: Alternative | Option, money: MoneyFormat) -> str:
    """Return the share of the horizon's cost that one run takes; a dash where a run is paid in cash."""
    return NONE if way.money.run_share_usd is None else money.text(way.money.run_share_usd)


def purchase_text(way: Alternative | Option, money: MoneyFormat) -> str:
    """Return what is bought at the start; a dash where nothing is."""
    return NONE if way.money.capex_usd == 0 else money.text(way.money.capex_usd)


def answers_text(plan: Plan, key: str) -> str:
    """Return what a way is the answer to: the unit asked for (`this run`), `horizon`, both or nothing."""
    answers = ((plan.recommended_key, plan.workload.unit.asked), (plan.recommended_horizon_key, "horizon"))
    return " and ".join(name for answer, name in answers if answer == key)


def days_of(way: Alternative) -> str:
    """Return the days of a run with their band, where it is known."""
    performance = way.performance
    if performance.calendar_days_low is None or performance.calendar_days_high is None:
        return f"{performance.calendar_days:.1f}"
    return f"{performance.calendar_days:.1f} ({performance.calendar_days_low:.1f}–{performance.calendar_days_high:.1f})"


def days_shown(plan: Plan, text: str) -> tuple[str, ...]:
    """Return the title or a cell of a column of days; nothing where the work never stops: every size takes as long."""
    return () if plan.workload.unit.always_on else (text,)


def time_column(ways: Sequence[Alternative]) -> str:
    """Return the unit that a table has the times of its ways in: hours where every run takes less than two days."""
    longest = (
        way.performance.calendar_days
        if way.performance.calendar_days_high is None
        else way.performance.calendar_days_high
        for way in ways
    )
    return "hours" if all(days < SHORT_DAYS for days in longest) else "days"


def median_of(way: Alternative, unit: str) -> str:
    """Return the median time of a run as a number in the unit of its column, `days` or `hours`."""
    return f"{way.performance.calendar_days * (1.0 if unit == 'days' else _HOURS_A_DAY):.1f}"


def time_of(way: Alternative, unit: str) -> str:
    """Return the time of a run with its band, in the unit of its column."""
    performance = way.performance
    if unit == "days":
        return days_of(way)
    hours = [
        f"{days * _HOURS_A_DAY:.1f}"
        for days in (
            performance.calendar_days,
            performance.calendar_days_low,
            performance.calendar_days_high,
        )
        if days is not None
    ]
    return hours[0] if len(hours) == 1 else f"{hours[0]} ({'–'.join(hours[1:])})"


def main_ways(plan: Plan) -> tuple[Alternative, ...]:
    """Return the ranked ways of a short table: what a run can be done on, what is owned, and both answers.

    Commitments, other hardware, contracts and mixes are among all ways (`Plan.ranked`) and here only as an answer, or
    as the way that may be cheaper than it. The ways that take cash come first, the least of it first; the others
    follow by present value.
    """
    near = plan.contender
    answers = (plan.recommended_key, plan.recommended_horizon_key, "" if near is None else near.key)
    shown = [
        way
        for way in plan.ranked
        if way.key in answers
        or (plan.planned(way.key) is not None and ":" not in way.key and (way.money.run_usd is not None or way.owned))
    ]
    return tuple(
        sorted(
            shown, key=lambda way: (way.money.run_usd is None, way.money.run_usd or way.money.npv_usd or 0.0, way.key)
        )
    )


def paper_ways(plan: Plan) -> tuple[Alternative, ...]:
    """Return what is not ranked and would be the answer by its price alone, and the plan's options that are no answer.

    Without an answer these are all ways.
    """
    alone, kept = plan.alternative(plan.recommended_key), plan.alternative(plan.recommended_horizon_key)

    def cheaper(way: Alternative) -> bool:
        return _undercuts(way.money.run_usd, None if alone is None else alone.money.run_usd) or _undercuts(
            way.money.npv_usd, None if kept is None else kept.money.npv_usd
        )

    return tuple(
        way
        for way in plan.ranking
        if not way.ranked and (cheaper(way) or any(plan.planned(way.key) is option for option in plan.options))
    )


def comparable(plan: Plan) -> tuple[Option, ...]:
    """Return the plan's options that are ranked; all of them where none is, or where money of none is known."""
    ranked = [plan.planned(way.key) for way in plan.ranked]
    shown = tuple(option for option in plan.options if any(option is entry for entry in ranked))
    return shown or plan.options


def again_text(way: Alternative) -> str:
    """Return how a ranked way becomes the plan's option: its overrides, or that there are none to make."""
    return " ".join(f"--set {shlex.quote(value)}" for value in way.set_values) or "the blueprint as it is"


def _undercuts(usd: float | None, of_answer: float | None) -> bool:
    return usd is not None and (of_answer is None or usd < of_answer)


def reason_lines(ways: Sequence[Alternative], money: MoneyFormat) -> list[str]:
    """Return why ways are not ranked, each reason once, with their names and what a run would take."""
    by_reason: dict[str, list[str]] = {}
    for way in ways:
        usd = way.money.npv_usd if way.money.run_usd is None else way.money.run_usd
        what = "" if usd is None else f" {money.text(usd)}{' NPV' if way.money.run_usd is None else ''}"
        by_reason.setdefault(way.reason, []).append(f"{term_text(way.key)}{what}")
    return [f"{'; '.join(names)}: {reason}" for reason, names in by_reason.items()]


def main_reason_text(ways: Sequence[Alternative]) -> str:
    """Return why most of some ways are not ranked, up to the first semicolon, with their number where others differ."""
    reasons = Counter(way.reason.partition(";")[0] for way in ways)
    (reason, count), *others = reasons.most_common()
    return f"{reason} ({count} of {len(ways)})" if others else reason
