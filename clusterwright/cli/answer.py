"""The commands that answer: plan, compare, explain."""

import json
import sys
from pathlib import Path

from clusterwright.blueprint.load import LoadedBlueprint
from clusterwright.blueprint.reading.problems import BlueprintError, Problem
from clusterwright.blueprint.shared import lists_workloads
from clusterwright.cli.planning import planned, progress_display, say_quotes
from clusterwright.cli.render.text_table import described, fitted
from clusterwright.errors import (
    EXIT_FACT_MISSING,
    EXIT_FINE,
    EXIT_RULE_FAILED,
    Finding,
    InputError,
    MissingFactError,
)
from clusterwright.explain.records import Explanation
from clusterwright.interface.places import placed, placing
from clusterwright.interface.results import DRAWS, PlanResult
from clusterwright.plan.document import dumps
from clusterwright.plan.record import Plan


def plan(
    path: Path,
    on: str,
    set_values: list[str] | None,
    *,
    quotes: Path | None = None,
    rates: list[str] | None = None,
    as_json: bool,
    quiet: bool,
    details: bool = False,
    simulate: bool = False,
) -> int:
    """Print the plan, and what a simulation of it sees; return the exit code."""
    if lists_workloads(path):
        from clusterwright.cli import sharing

        sharing.refuse({"--on": on != "all", "--quotes": quotes, "--details": details, "--simulate": simulate})
        return sharing.plan(path, set_values, as_json=as_json, quiet=quiet)
    if simulate and as_json:
        raise InputError("--simulate prints text, --json a plan", help="give either")
    with progress_display(quiet=quiet or as_json) as progress:
        made = planned(path, set_values, on, quotes, rates, progress=progress)
    if as_json:
        print(dumps(made.plan))
    else:
        from clusterwright.cli.render.answer import plan_text
        from clusterwright.plan.text.currency import money_as_asked

        with placing(made.blueprint):
            money = money_as_asked(made.plan)
            print(fitted(plan_text(made.plan, path, set_values or (), details=details, money=money)))
        if simulate:
            from clusterwright.cli.render.serving import simulated_lines
            from clusterwright.plan.serving.simulated import simulated

            for line in simulated_lines(simulated(made.blueprint.blueprint, made.facts, made.plan)):
                print(fitted("\n" + line))
        say_quotes(made)
    return exit_code(made, details=details)


def warned(loaded: LoadedBlueprint, warnings: tuple[Finding, ...]) -> BlueprintError:
    """Return what shows warnings where they are in the blueprint; it is not raised."""
    return loaded.error(
        tuple(
            Problem(path=item.path, message=item.message, help=item.help, id=item.id, warning=True) for item in warnings
        ),
        exit_code=EXIT_FINE,
    )


def show_warnings(loaded: LoadedBlueprint, result: Plan, *, details: bool = False) -> None:
    """Show on stderr what a plan warns of, in the blueprint's text; what is about prices alone in one line each."""
    if not result.warnings:
        return
    from clusterwright.cli.ending import show_error, show_line
    from clusterwright.plan.findings.price_evidence import OLD_PRICES

    sys.stdout.flush()
    short = [] if details else [warning for warning in result.warnings if warning.id == OLD_PRICES]
    others = tuple(warning for warning in result.warnings if warning not in short)
    if others:
        show_error(warned(loaded, others))
    for warning in short:
        show_line(f"warning[{warning.id}]: {warning.message}")


def exit_code(result: PlanResult, *, details: bool = False, money: bool = True) -> int:
    """Show on stderr what a plan warns of and where it falls short, in the blueprint's text; return the exit code.

    Args:
        result: the plan.
        details: every warning whole.
        money: whether what the command gives is about money, which needs one way that has all its prices.

    Returns:
        1 if a rule failed, 3 if a price is missing without which no way can be the answer, else 0.
    """
    show_warnings(result.blueprint, result.plan, details=details)
    from clusterwright.cli.ending import show_error

    sys.stdout.flush()
    if result.findings:
        show_error(placed(result.blueprint, result.findings))
        return EXIT_RULE_FAILED
    missing = unpriced(result.plan) if money else ()
    if missing:
        show_error(
            MissingFactError(
                f"no way has all its prices on {result.plan.as_of}: no price of {', '.join(missing)}",
                help="give a vendor's with --quotes, fetch prices (clusterwright prices), or set economics.as_of",
            )
        )
        return EXIT_FACT_MISSING
    return EXIT_FINE


def unpriced(plan: Plan) -> tuple[str, ...]:
    """Return what has no price where no way can be the answer for want of one; empty where one way is ranked."""
    if plan.ranked:
        return ()
    return tuple(dict.fromkeys(entry.item for option in plan.options for entry in option.money.missing))


def compare(
    path: Path,
    set_values: list[str] | None,
    *,
    quotes: Path | None = None,
    rates: list[str] | None = None,
    as_json: bool,
    as_csv: bool = False,
    markdown: bool = False,
    details: bool = False,
) -> int:
    """Print renting against owning; return the exit code.

    Raises:
        InputError: more than one of JSON, CSV and Markdown is asked for.
    """
    from clusterwright.cli.render import answer as show
    from clusterwright.cli.render import ranked
    from clusterwright.outputs.markdown import cell
    from clusterwright.outputs.report.comparison import comparison_markdown
    from clusterwright.outputs.tables import csv_text
    from clusterwright.plan.text.currency import money_as_asked

    if lists_workloads(path):
        from clusterwright.cli import sharing

        sharing.refuse({"--quotes": quotes, "--markdown": markdown, "--csv": as_csv, "--details": details})
        return sharing.plan(path, set_values, as_json=as_json, quiet=True)
    forms = [name for name, asked in (("--json", as_json), ("--csv", as_csv), ("--markdown", markdown)) if asked]
    if len(forms) > 1:
        raise InputError(f"{' and '.join(forms)} exclude each other", help="ask for one of them")

    made = planned(path, set_values, "all", quotes, rates)
    with placing(made.blueprint):
        money = money_as_asked(made.plan)
        compared = made.compare(draws=DRAWS)
        result, found = made.plan, compared.finances
        if as_json:
            print(json.dumps(compared.to_dict(), indent=1, allow_nan=False))
        elif as_csv:
            ways = compared.table("ranking")
            print(csv_text(ways.columns, ways.fetchall()), end="")
        elif markdown:
            more = ranked.ranking_markdown(result, found, money)
            # The source of the rate is anybody's words, and Markdown is shown as a page.
            print("\n".join((comparison_markdown(result, money), *more, *map(cell, money.note))))
        else:
            more = [
                "",
                *ranked.ranking_lines(result, found, details=details, money=money),
                ranked.scenario_line(made.blueprint, result),
            ]
            print(fitted("\n".join((show.comparison_text(result, money), *more, *money.note))))
    return exit_code(made, details=details)


def explain(path: Path, number: str | None, on: str | None, set_values: list[str] | None, *, as_json: bool) -> int:
    """Print where a number comes from; return the exit code.

    All targets are planned even if one is asked for: what the horizon costs depends on what all of them do.
    """
    from clusterwright.explain.explanation import find

    result = planned(path, set_values)
    target = on or (result.recommended or result.options[0]).target
    known = result.explanations(target)
    if number is None:
        listed = {entry.number: entry.title for entry in known}
        if as_json:
            print(json.dumps({"schema": 1, "target": target, "numbers": listed}, indent=1))
        else:
            print("\n".join(described([(name, (title,)) for name, title in listed.items()])))
        return EXIT_FINE
    say_explanation(find(known, number, result.plan.workload.kind), target, as_json=as_json)
    return EXIT_FINE


def say_explanation(entry: Explanation, target: str, *, as_json: bool) -> None:
    """Print where one number of a target comes from."""
    from clusterwright.cli.render.answer import explanation_text

    if as_json:
        print(json.dumps({"schema": 1, "target": target, **entry.to_dict()}, indent=1, allow_nan=False))
    else:
        print(fitted(explanation_text(entry, target)))
