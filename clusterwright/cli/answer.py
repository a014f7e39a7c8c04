"""The commands that answer: plan, compare, explain."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from clusterwright.blueprint.load import LoadedBlueprint, load
from clusterwright.blueprint.parts_file import OwnParts, read_parts
from clusterwright.blueprint.problems import LOOK_IT_UP, BlueprintError, Problem
from clusterwright.blueprint.resolve import resolve
from clusterwright.blueprint.schema import TARGETS, Blueprint
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.own_facts import with_facts
from clusterwright.catalog.records import Catalogue
from clusterwright.cli.render.text_table import fitted
from clusterwright.errors import EXIT_FINE, EXIT_RULE_FAILED, ClusterwrightError, Finding, InputError, RuleError
from clusterwright.plan.decide import Progress, decide
from clusterwright.plan.document import dumps
from clusterwright.plan.record import Plan
from clusterwright.pricing.quoted import QuotedPrice

#: Draws behind the share of `compare`, as many as with --finance.
_DRAWS = 10_000


def plan_of(path: Path, set_values: list[str] | None, on: str = "all", *, progress: Progress = lambda _: None) -> Plan:
    """Load, check and decide.

    Args:
        path: the blueprint.
        set_values: `path=value` overrides.
        on: one target, or `all`.
        progress: told what is being done.

    Raises:
        InputError: the file or a name in it is wrong; RuleError: the job fits nowhere.
    """
    return load_and_decide(path, set_values, on, progress=progress)[1]


def load_and_decide(
    path: Path,
    set_values: list[str] | None,
    on: str = "all",
    *,
    quotes: tuple[QuotedPrice, ...] = (),
    progress: Progress = lambda _: None,
) -> tuple[LoadedBlueprint, Plan]:
    """Return the plan with the blueprint it came from, so that findings can be shown in its text; see `plan_of`."""
    whole = load(path, tuple(set_values or ()))
    loaded = _only(whole, on)
    return loaded, _decided(loaded, whole, quotes=quotes, progress=progress)


def decide_values(loaded: LoadedBlueprint, values: dict[str, Any]) -> Plan:
    """Return the plan of a blueprint with other values, of which nothing stands in a file.

    Args:
        loaded: the blueprint, whose files (models, parts) the values may name too.
        values: as its document would hold them.

    Raises:
        InputError: the values are no blueprint; RuleError: the job fits nowhere.
    """
    from pydantic import ValidationError

    try:
        blueprint = Blueprint.model_validate(values, context={"folder": Path(loaded.document.name).parent})
    except ValidationError as error:
        raise InputError(error.errors(include_url=False)[0]["msg"]) from None
    changed = LoadedBlueprint(blueprint=blueprint, document=loaded.document)
    return _decided(changed, changed)


def _decided(
    loaded: LoadedBlueprint,
    whole: LoadedBlueprint,
    *,
    quotes: tuple[QuotedPrice, ...] = (),
    progress: Progress = lambda _: None,
) -> Plan:
    own = _own_parts(loaded)
    catalogue = with_facts(load_catalogue(), own.facts)
    resolved = resolve(loaded.blueprint, catalogue)
    if isinstance(resolved, tuple):
        raise loaded.error(resolved)
    try:
        with placing(loaded):
            plan = decide(
                loaded.blueprint,
                resolved,
                catalogue,
                whole=whole.blueprint,
                quotes=(*own.prices, *quotes),
                progress=progress,
            )
    except RuleError as error:
        raise placed(loaded, error.findings) from None
    return replace(plan, own_facts=own.facts)


@contextmanager
def placing(loaded: LoadedBlueprint) -> Iterator[None]:
    """Show an error that names a path of the blueprint at its place in the file.

    Raises:
        BlueprintError: the error, with its place.
    """
    try:
        yield
    except ClusterwrightError as error:
        if not error.path:
            raise
        what_to_do = error.help or LOOK_IT_UP
        problem = Problem(path=error.path, message=error.message, help=what_to_do, exit_code=error.exit_code)
        raise loaded.error((problem,)) from None


def _own_parts(loaded: LoadedBlueprint) -> OwnParts:
    """Return what the blueprint's file of parts says; nothing without one."""
    target = loaded.blueprint.targets.onprem
    if target is None or target.parts is None:
        return OwnParts(facts=(), prices=())
    return read_parts(Path(target.parts), load_catalogue())


def planned_catalogue(plan: Plan) -> Catalogue:
    """Return the catalogue as the plan used it, with the user's own facts."""
    return with_facts(load_catalogue(), plan.own_facts)


def placed(loaded: LoadedBlueprint, findings: tuple[Finding, ...]) -> BlueprintError:
    """Return the error that shows failed rules where they stand in the blueprint."""
    return loaded.error(
        tuple(Problem(path=item.path, message=item.message, help=item.help, id=item.id) for item in findings),
        exit_code=EXIT_RULE_FAILED,
    )


def _only(loaded: LoadedBlueprint, on: str) -> LoadedBlueprint:
    if on == "all":
        return loaded
    if on not in TARGETS:
        raise InputError(f"there is no target {on!r}", help=f"one of {', '.join(TARGETS)} or all")
    if getattr(loaded.blueprint.targets, on) is None:
        raise InputError(f"the blueprint has no target {on!r}", help=f"add targets.{on} to {loaded.document.name}")
    targets = loaded.blueprint.targets.model_copy(update={name: None for name in TARGETS if name != on})
    return LoadedBlueprint(blueprint=loaded.blueprint.model_copy(update={"targets": targets}), document=loaded.document)


@contextmanager
def progress_display(*, quiet: bool) -> Iterator[Progress]:
    """Show on stderr what is being done, while it takes time; nothing if quiet or not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(file=sys.__stderr__).status("reading the blueprint") as status:
        yield status.update


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
) -> int:
    """Print the plan; return the exit code."""
    from clusterwright.cli.quoted import quoted_plan, say_quotes

    with progress_display(quiet=quiet or as_json) as progress:
        loaded, result, quoted = quoted_plan(path, set_values, on, quotes, rates, progress=progress)
    if as_json:
        print(dumps(result))  # noqa: T201 - the result
    else:
        from clusterwright.cli.render.answer import plan_text
        from clusterwright.plan.text.currency import told_as_asked

        with placing(loaded), told_as_asked(result):
            print(fitted(plan_text(result, path, set_values or (), details=details)))  # noqa: T201
        say_quotes(quoted)
    return exit_code(loaded, result, details=details)


def warned(loaded: LoadedBlueprint, warnings: tuple[Finding, ...]) -> BlueprintError:
    """Return what shows warnings where they stand in the blueprint; it is not raised."""
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
    from clusterwright.plan.price_age import OLD_PRICES

    sys.stdout.flush()
    short = [] if details else [warning for warning in result.warnings if warning.id == OLD_PRICES]
    others = tuple(warning for warning in result.warnings if warning not in short)
    if others:
        show_error(warned(loaded, others))
    for warning in short:
        show_line(f"warning[{warning.id}]: {warning.message}")


def exit_code(loaded: LoadedBlueprint, result: Plan, *, details: bool = False) -> int:
    """Show on stderr warnings and which rules failed, in the blueprint's text; return 1 if a rule failed, else 0."""
    show_warnings(loaded, result, details=details)
    if not result.findings:
        return EXIT_FINE
    from clusterwright.cli.ending import show_error

    sys.stdout.flush()
    show_error(placed(loaded, result.findings))
    return EXIT_RULE_FAILED


def compare(
    path: Path,
    set_values: list[str] | None,
    *,
    quotes: Path | None = None,
    rates: list[str] | None = None,
    as_json: bool,
    markdown: bool = False,
    details: bool = False,
) -> int:
    """Print renting against owning; return the exit code.

    Raises:
        InputError: both JSON and Markdown are asked for.
    """
    from clusterwright.cli.quoted import quoted_plan
    from clusterwright.cli.render import answer as show
    from clusterwright.cli.render import ranked
    from clusterwright.finance.finances import finances
    from clusterwright.outputs.markdown import cell
    from clusterwright.outputs.report.comparison import comparison_markdown
    from clusterwright.plan.text.currency import told_as_asked, with_currency
    from clusterwright.plan.text.money import told_lines
    from clusterwright.pricing.book import PriceBook
    from clusterwright.tco.chance.uncertainty import SEED

    if as_json and markdown:
        raise InputError("--json and --markdown exclude each other", help="ask for one of them")

    loaded, result, _ = quoted_plan(path, set_values, "all", quotes, rates)
    with placing(loaded), told_as_asked(result) as currency:
        found = finances(result, PriceBook.open(), draws=_DRAWS, seed=SEED, everything=True)
        if as_json:
            told = show.comparison_json(result) | {
                "scenario": ranked.scenario(loaded, result),
                "ranking": ranked.ranking_document(result, found),
            }
            print(json.dumps(with_currency(told, currency), indent=1, allow_nan=False))  # noqa: T201
        elif markdown:
            more = ranked.ranking_markdown(result, found)
            # The source of the rate is anybody's words, and Markdown is shown as a page.
            print("\n".join((comparison_markdown(result), *more, *map(cell, told_lines()))))  # noqa: T201
        else:
            more = ["", *ranked.ranking_lines(result, found, details=details), ranked.scenario_line(loaded, result)]
            print(fitted("\n".join((show.comparison_text(result), *more, *told_lines()))))  # noqa: T201
    return exit_code(loaded, result, details=details)


def explain(path: Path, number: str | None, on: str | None, set_values: list[str] | None, *, as_json: bool) -> int:
    """Print where a number comes from; return the exit code.

    All targets are planned even if one is asked for: what the horizon costs depends on what all of them do.
    """
    from dataclasses import asdict

    from clusterwright.cli.render.answer import explanation_text
    from clusterwright.explain.explanation import explanations, find
    from clusterwright.plan.text.currency import told_as_asked

    loaded, result = load_and_decide(path, set_values)
    target = on or (result.option(result.recommended) or result.options[0]).target
    with placing(loaded), told_as_asked(result):
        known = explanations(result, target)
    if number is None:
        listed = {entry.number: entry.title for entry in known}
        if as_json:
            print(json.dumps({"schema": 1, "target": target, "numbers": listed}, indent=1))  # noqa: T201
        else:
            width = max(len(name) for name in listed)
            print(fitted("\n".join(f"{name:<{width}}  {title}" for name, title in listed.items())))  # noqa: T201
        return EXIT_FINE
    entry = find(known, number)
    if as_json:
        print(json.dumps({"schema": 1, "target": target, **asdict(entry)}, indent=1, allow_nan=False))  # noqa: T201
    else:
        print(fitted(explanation_text(entry, target)))  # noqa: T201
    return EXIT_FINE
