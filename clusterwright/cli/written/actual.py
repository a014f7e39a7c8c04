"""actual: the bill of the running cluster, or a load test of its service, against the plan: text, JSON or CSV."""

import csv
import json
import sys
from dataclasses import asdict, fields
from pathlib import Path

from clusterwright.actual.reconcile import compare
from clusterwright.actual.records import Actual, Comparison, Variance
from clusterwright.actual.serving import Compared, ServingComparison, calibration_row, compare_serving, read_results
from clusterwright.cli.render.text_table import fitted, table
from clusterwright.cli.written.diff import plan_of_file
from clusterwright.errors import EXIT_FINE, InputError
from clusterwright.feeds.exchange_rates import parse_rates
from clusterwright.feeds.object_storage import reach
from clusterwright.finance.charges import charges
from clusterwright.outputs.tables import csv_text
from clusterwright.plan.alternatives.recount import ledger
from clusterwright.plan.serving.record import ServingOption, ServingPlan, serving_plan
from clusterwright.plan.text.currency import money_as_asked
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import on_target
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.focus.export import COSTS, read_focus
from clusterwright.units import latency_text, percent

TAG = "gpu-cluster"
#: Smaller lines are one row of the text; JSON and CSV have them all.
_SHOWN = 20


def actual(
    path: Path,
    exports: list[Path],
    *,
    tag: str | None,
    cost: str,
    rates: list[str],
    count_repeated: bool,
    as_json: bool,
    as_csv: bool,
) -> int:
    """Print a bill against its plan; return the exit code.

    Raises:
        InputError: the plan or an export cannot be read, or options contradict each other.
    """
    if not exports:
        raise InputError("no export is given", help="name FOCUS exports, or --serving RESULTS.json of a load test")
    if as_json and as_csv:
        raise InputError("--json and --csv exclude each other", help="ask for one of them")
    if cost not in COSTS:
        raise InputError(f"there is no cost {cost!r}", help=f"one of {', '.join(COSTS)}")
    plan = plan_of_file(path)
    key, equals, value = (tag or f"{TAG}={plan.cluster.name}").partition("=")
    if not (key and equals and value):
        raise InputError(f"--tag {tag!r} is not KEY=VALUE", help=f"for example --tag {TAG}={plan.cluster.name}")
    if any(mark in key for mark in "\"\\'$"):
        raise InputError(f"{key!r} cannot be the key of a tag", help=f"for example --tag {TAG}={plan.cluster.name}")
    known = {name: rate.usd for name, rate in parse_rates(rates).items()}
    export = read_focus(exports, tag=key, value=value, cost=cost, count_repeated=count_repeated)
    book = PriceBook.open(reach=reach)
    found = compare(plan, charges(plan, ledger(plan, book)), export, cost=cost, rates=known)
    if as_json:
        told = {"schema": 1, "name": plan.name, "tag": f"{key}={value}", **asdict(found)}
        print(json.dumps(told, indent=1, allow_nan=False, default=str))
    elif as_csv:
        print(_csv(found), end="")
    else:
        print(fitted(_text(plan.name, found, money_as_asked(plan))))
    return EXIT_FINE


def _csv(found: Comparison) -> str:
    names = tuple(field.name for field in fields(Variance))
    rows = [
        (option.target, str(option.start), str(option.end), *(getattr(line, name) for name in names))
        for option in found.options
        for line in option.lines
    ]
    return csv_text(("target", "start", "end", *names), rows)


def _text(name: str, found: Comparison, money: MoneyFormat) -> str:
    lines: list[str] = []
    for option in found.options:
        lines += ["", *_option(name, found, option, money)]
    return "\n".join([*lines[1:], *_notes(found), *money.note])


def _option(name: str, found: Comparison, option: Actual, money: MoneyFormat) -> list[str]:
    shown, rest = option.lines[:_SHOWN], option.lines[_SHOWN:]
    rows = [_row(line, money) for line in shown]
    if rest:
        rows.append(
            [
                f"{len(rest)} smaller lines",
                money.bill(sum(line.planned_usd for line in rest)),
                money.bill(sum(line.actual_usd for line in rest)),
                _signed(sum(line.difference_usd for line in rest), money),
                "",
                "",
                "",
            ]
        )
    total = option.actual_usd - option.planned_usd
    share = f" ({percent(total / option.planned_usd, digits=1, signed=True)})" if option.planned_usd else ""
    rows.append(
        [
            "all lines",
            money.bill(option.planned_usd),
            money.bill(option.actual_usd),
            _signed(total, money) + share,
            "",
            "",
            "",
        ]
    )
    columns = [
        ("Line", "left"),
        ("planned", ""),
        ("billed", ""),
        ("difference", ""),
        ("by quantity", ""),
        ("by price", ""),
        ("", "left"),
    ]
    beside = [
        f"  {title}: {_signed(usd, money)}"
        for title, usd in (
            ("credits, not in the lines", option.credits_usd),
            ("adjustments, not in the lines", option.adjustments_usd),
            ("tax, not in the lines nor in the plan", option.tax_usd),
            ("corrections of earlier bills, within the lines", option.corrections_usd),
        )
        if usd
    ]
    return [
        (
            f"{name} {on_target(option.target)}: {found.cost} cost of {option.start:%Y-%m-%d %H:%M} to "
            f"{option.end:%Y-%m-%d %H:%M} UTC, {option.hours:,.0f} hours billed"
        ),
        (
            f"  (planned: the horizon's average, {option.planned_months:.3f} months of the plan by hours, "
            f"{option.months:.3f} by the calendar)"
        ),
        "",
        table(columns, rows),
        *([""] if beside else []),
        *beside,
    ]


def _row(line: Variance, money: MoneyFormat) -> list[str]:
    return [
        line.line,
        money.bill(line.planned_usd) if line.kind != "unplanned" else "–",
        money.bill(line.actual_usd) if line.kind != "not_billed" else "–",
        _signed(line.difference_usd, money),
        "" if line.quantity_usd is None else _signed(line.quantity_usd, money),
        "" if line.price_usd is None else _signed(line.price_usd, money),
        line.because,
    ]


def _signed(usd: float, money: MoneyFormat) -> str:
    rounded = 0.0 if abs(usd) < 0.005 else usd  # noqa: PLR2004 - half a cent
    return f"+{money.bill(rounded)}" if rounded > 0 else money.bill(rounded)


def _notes(found: Comparison) -> list[str]:
    notes = []
    if found.untagged_share:
        notes.append(
            f"{percent(found.untagged_share, digits=1)} of the cost in the cluster's accounts has no tag: it is in no"
            " line"
        )
    if found.other_share:
        notes.append(f"{percent(found.other_share, digits=1)} belongs to other values of the tag")
    if found.repeated:
        notes.append(
            f"{found.repeated:,} rows repeat another in every column and are counted once (--count-repeated: each)"
        )
    if len(found.billing_periods) > 1:
        notes.append(f"{len(found.billing_periods)} billing periods: begins {', '.join(found.billing_periods[:6])}")
    return ["", *(f"  {note}" for note in notes)] if notes else []


_NAMES = {
    "first_token": "first token",
    "time_per_token": "time per token",
    "output_tokens_per_s": "output tokens/s",
}


def serving(path: Path, results: Path, *, on: str | None, replicas: int | None, as_json: bool, as_csv: bool) -> int:
    """Print a load test against a plan; return the exit code.

    Args:
        path: the blueprint, or its plan.json.
        results: of the load test.
        on: the target that was tested; None where the plan has one alone.
        replicas: that answered, where the results do not say so.
        as_json: print JSON.
        as_csv: print the row of measurements that `calibrate` reads.

    Raises:
        InputError: a file cannot be read, or target or replicas are not known.
    """
    plan = serving_plan(plan_of_file(path))
    option = _serving_option(plan, on)
    measured = read_results(results, percentile=plan.goals.percentile)
    found = compare_serving(plan, option, measured, replicas=replicas)
    if as_json:
        print(json.dumps({"schema": 1, "name": plan.name, **asdict(found)}, indent=1, allow_nan=False))
    elif as_csv:
        row = calibration_row(plan, option, found)
        writer = csv.DictWriter(sys.stdout, list(row), lineterminator="\n")
        writer.writeheader()
        writer.writerow(row)
    else:
        print(fitted(_serving_text(plan, path, results, found)))
    return EXIT_FINE


def _serving_option(plan: ServingPlan, on: str | None) -> ServingOption:
    targets = ", ".join(option.target for option in plan.options)
    if on is None and len(plan.options) > 1:
        raise InputError("which target was tested is not said", help=f"add --on TARGET, one of {targets}")
    found = next((option for option in plan.options if on in (None, option.target)), None)
    if found is None:
        raise InputError(f"the plan has no target {on!r}", help=f"one of {targets}")
    return found


def _serving_text(plan: ServingPlan, path: Path, results: Path, found: ServingComparison) -> str:
    columns = [
        ("", "left"),
        ("planned", ""),
        ("low", ""),
        ("high", ""),
        ("measured", ""),
        ("", "left"),
    ]
    rows = [
        [
            f"{_NAMES[one.name]}{f' P{found.percentile:g}' if one.unit == 's' else ''}",
            *(_shown(one, value) for value in (one.planned, one.low, one.high, one.measured)),
            one.verdict,
        ]
        for one in found.figures
    ]
    measured = found.measured
    outside = [one for one in found.figures if one.because]
    lines = [
        (
            f"{plan.name} {on_target(found.target)}: {measured.completed:,} of {measured.requests:,} requests answered "
            f"by {found.replicas:,} replica{'s' if found.replicas > 1 else ''} ({measured.tool})"
        ),
        "",
        table(columns, rows),
        *(["", *(f"  {_NAMES[one.name]}: {one.because}" for one in outside)] if outside else []),
        *(["", *(f"  {note}" for note in found.notes)] if found.notes else []),
    ]
    if outside:
        on = f" --on {found.target}" if len(plan.options) > 1 else ""
        lines += [
            "",
            f"  Fit again: clusterwright actual {path} --serving {results}{on} --csv > measured.csv",
            "             clusterwright calibrate measured.csv -o mine",
        ]
    return "\n".join(lines)


def _shown(one: Compared, value: float | None) -> str:
    if value is None:
        return "–"
    return latency_text(value) if one.unit == "s" else f"{value:,.0f}"
