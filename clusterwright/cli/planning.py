"""From the file of a blueprint to its plan: own facts and quotes read, mistakes shown at their place."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.blueprint.load import LoadedBlueprint, load
from clusterwright.blueprint.parts_file import OwnParts, read_parts
from clusterwright.blueprint.problems import LOOK_IT_UP, BlueprintError, Problem
from clusterwright.blueprint.resolve import resolve
from clusterwright.blueprint.schema import TARGETS, Blueprint
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.own_facts import with_facts
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import EXIT_RULE_FAILED, ClusterwrightError, Finding, InputError, RuleError
from clusterwright.plan.decide import Progress, decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Plan
from clusterwright.pricing.quoted import QuotedPrice

if TYPE_CHECKING:
    from clusterwright.feeds.vendor_quotes import VendorQuotes


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


def quoted_plan(
    path: Path,
    set_values: list[str] | None,
    on: str,
    quotes: Path | None,
    rates: list[str] | None,
    *,
    progress: Progress = lambda _: None,
) -> tuple[LoadedBlueprint, Plan, "VendorQuotes | None"]:
    """Return the plan that is priced with a vendor's quotes, and those; without a file the plan as it is.

    Raises:
        InputError: the file or a rate cannot be read; BlueprintError: a line of it is wrong, or prices another bill.
    """
    if quotes is None:
        if rates:
            raise InputError("--rate is for quotes", help="add --quotes FILE, or leave out --rate")
        return *load_and_decide(path, set_values, on, progress=progress), None
    from clusterwright.feeds.exchange_rates import parse_rates
    from clusterwright.feeds.vendor_quotes import read_vendor_quotes

    read = read_vendor_quotes(quotes, parse_rates(rates or ()))
    loaded, plan = load_and_decide(path, set_values, on, quotes=read.prices, progress=progress)
    option = plan.option("onprem")
    if option is None or option.facility is None:
        raise InputError("quotes price a cluster on premises, the plan has none", help="add targets.onprem")
    read.check(option.facility.bill.lines, {priced.line.sku: priced.unit_usd for priced in option.lines})
    return loaded, plan, read


def say_quotes(quoted: "VendorQuotes | None") -> None:
    """Say how many lines of the bill were quoted, and by whom; nothing without quotes."""
    if quoted is not None:
        vendors = ", ".join(dict.fromkeys(price.vendor for price in quoted.prices))
        lines = f"{len(quoted.rows)} of {len(quoted.table.rows)} lines"
        print(f"{quoted.table.name}: {lines} quoted by {vendors}; the others keep their prices")  # noqa: T201


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
    facts = Facts.open()
    own = _own_parts(loaded, facts.catalogue)
    facts = facts.with_own(own.facts)
    resolved = resolve(loaded.blueprint, facts.catalogue)
    if isinstance(resolved, tuple):
        raise loaded.error(resolved)
    try:
        with placing(loaded):
            plan = decide(
                loaded.blueprint,
                resolved,
                facts,
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


def _own_parts(loaded: LoadedBlueprint, catalogue: Catalogue) -> OwnParts:
    """Return what the blueprint's file of parts says; nothing without one."""
    target = loaded.blueprint.targets.onprem
    if target is None or target.parts is None:
        return OwnParts(facts=(), prices=())
    return read_parts(Path(target.parts), catalogue)


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
