"""A sweep of services as text: of each scenario three answers and a table, then what cannot serve and why."""

from collections.abc import Sequence
from itertools import groupby
from math import inf

from clusterwright.cli.render.text_table import Column, prose, table
from clusterwright.plan.serving.record import Outcome, probability_text
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.sweep.records import NotSized, Scenario
from clusterwright.sweep.services import SweptService
from clusterwright.units import counted, latency_text

_COLUMNS = (
    Column("Node type", "left"),
    Column("where", "left", drop=2),
    Column("nodes", drop=0),
    Column("GPUs", drop=0),
    Column("replicas", drop=4),
    Column("first token", drop=3),
    Column("per token", drop=3),
    Column("tok/s user", drop=1),
    Column("tok/s GPU", drop=1),
    Column("goals met", drop=1.5),
    Column("a month", drop=0),
    Column("to buy", drop=5),
    Column("", "left", drop=0),
)
#: Of the columns, those of answers that are generated, which one pass over the input has not.
_OF_TOKENS = ("per token", "tok/s user", "tok/s GPU")
#: What stands for the first token where one pass answers.
_ANSWER = "answer"


def services_text(
    scenarios: Sequence[Scenario],
    points: Sequence[SweptService],
    missing: Sequence[NotSized],
    *,
    money: MoneyFormat,
    as_of: Sequence[str],
    every: bool,
) -> str:
    """Return the sweep for a terminal; node types that miss the goals only where `every` is asked for."""
    blocks = []
    for scenario, day in zip(scenarios, as_of, strict=True):
        own = [point for point in points if (point.blueprint, point.varied) == (scenario.name, scenario.varied)]
        without = [entry for entry in missing if (entry.blueprint, entry.varied) == (scenario.name, scenario.varied)]
        good = [point for point in own if point.outcome is Outcome.MET]
        shown = sorted(own if every else good, key=_cost)
        lines = [f"{scenario.label} · {scenario.model.name}", *_answers(good, money)]
        if shown:
            lines += ["", _table(shown, money)]
        notes = [f"{len(shown):,} of {len(own):,} node types; prices on demand as of {day}"]
        if len(shown) < len(own):
            rest = [f"{point.node_type} ({point.outcome})" for point in own if point.outcome is not Outcome.MET]
            notes[0] += f"; --all shows those that miss the goals or may: {', '.join(rest)}"
        if any(point.unbeaten for point in shown):
            notes.append("◀ no other answers a user as fast for less; rented and bought ones apart")
        if any(point.confidence <= 1 / 2 for point in shown):
            notes.append(
                "goals met near 50 %: sized at even odds, since the usual confidence would cost much; load-test one "
                "replica first"
            )
        for reason, group in groupby(sorted(without, key=lambda entry: entry.reason), key=lambda entry: entry.reason):
            notes.append(
                f"cannot serve: {', '.join(entry.node_type or entry.accelerator for entry in group)}: {reason}"
            )
        blocks.append("\n".join([*lines, *(line for note in notes for line in prose(note, indent=2))]))
    return "\n\n".join([*blocks, *money.note[1:]])


def _answers(good: Sequence[SweptService], money: MoneyFormat) -> list[str]:
    if not good:
        return ["", *prose("No node type meets the goals.", indent=2)]
    rented = [point for point in good if point.month_usd is not None and point.region]
    answers = (
        ("Cheapest to rent", min(rented, key=_cost, default=None)),
        ("Fastest", max(good, key=lambda point: (point.speed, -point.gpus))),
        ("Fewest GPUs", min(good, key=lambda point: (point.gpus, _cost(point)))),
    )
    width = max(len(title) for title, _ in answers)
    lines = [""]
    for title, point in answers:
        said = "no rented node type has a known price" if point is None else _answer(point, money)
        lines += prose(f"{title:<{width}}  {said}", indent=2, hanging=width + 4)
    return lines


def _answer(point: SweptService, money: MoneyFormat) -> str:
    cost = f", {money.text(point.month_usd)} a month" if point.month_usd is not None and point.region else ""
    cost = f", {money.text(point.capex_usd)} to buy" if point.capex_usd is not None else cost
    speed = (
        f"{_ANSWER} in {latency_text(point.first_token_s)}"
        if point.tokens_per_s_per_user is None
        else f"{_rate(point.tokens_per_s_per_user)} tokens/s a user, {_rate(point.tokens_per_s_per_gpu)} of a GPU"
    )
    return (
        f"{point.nodes:,} × {point.node_type} ({counted(point.gpus, 'GPU')}) {point.region or 'on premises'}: "
        f"{speed}, goals met {probability_text(point.probability)}{cost}"
    )


def _cost(point: SweptService) -> tuple[float, int]:
    return (inf if point.month_usd is None else point.month_usd, point.gpus)


def _table(shown: Sequence[SweptService], money: MoneyFormat) -> str:
    """Return the rows of one scenario below the titles that its answers have."""
    rows = [_row(point, money) for point in shown]
    if shown[0].tokens_per_s_per_user is not None:
        return table(_COLUMNS, rows)
    kept = [place for place, column in enumerate(_COLUMNS) if column.title not in _OF_TOKENS]
    columns = [one._replace(title=_ANSWER) if one.title == "first token" else one for one in _COLUMNS]
    return table([columns[place] for place in kept], [[row[place] for place in kept] for row in rows])


def _rate(tokens_per_s: float | None) -> str:
    return "" if tokens_per_s is None else f"{tokens_per_s:,.0f}"


def _row(point: SweptService, money: MoneyFormat) -> list[str]:
    note = "◀" if point.unbeaten else ""
    return [
        point.node_type,
        point.region or "on premises",
        f"{point.nodes:,}",
        f"{point.gpus:,}",
        f"{point.replicas:,} × {point.replica_gpus}",
        latency_text(point.first_token_s),
        latency_text(point.time_per_token_s),
        _rate(point.tokens_per_s_per_user),
        _rate(point.tokens_per_s_per_gpu),
        probability_text(point.probability),
        money.text(point.month_usd),
        money.text(point.capex_usd) if point.capex_usd is not None else "",
        note if point.outcome is Outcome.MET else str(point.outcome),
    ]
