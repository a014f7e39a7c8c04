"""From a blueprint to its plan: own facts and quotes read, mistakes shown at their place."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.blueprint import load as blueprints
from clusterwright.blueprint.load import LoadedBlueprint, checked
from clusterwright.blueprint.reading.parts_file import OwnParts, read_parts
from clusterwright.blueprint.reading.problems import BlueprintError, Problem
from clusterwright.blueprint.resolve import resolve
from clusterwright.blueprint.schema import TARGETS, Blueprint
from clusterwright.blueprint.shared import lists_workloads, load_shared, member_of
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import InputError, RuleError
from clusterwright.feeds.object_storage import reach
from clusterwright.interface.places import placed, placing
from clusterwright.interface.results import PlanResult
from clusterwright.plan.decide import Progress, decide
from clusterwright.plan.facts import Facts
from clusterwright.pricing.quoted import QuotedPrice

if TYPE_CHECKING:
    from clusterwright.feeds.vendor_quotes import VendorQuotes

#: A file, or what a file would hold.
Source = str | Path | Mapping[str, Any]
#: `path=value` as on the command line, or values by path.
Overrides = Sequence[str] | Mapping[str, Any]
#: What errors call a blueprint that is no file.
_NAME = "blueprint"


def load(source: Source, *, overrides: Overrides = ()) -> LoadedBlueprint:
    """Return a blueprint, its form checked.

    Args:
        source: the path of a YAML file, or a mapping that holds what a file would.
        overrides: values by path, such as `{"workload.precision": "fp8"}`, or a list of `path=value`.

    Raises:
        InputError: the file cannot be read, or an override is not `path=value`.
        BlueprintError: keys or values are wrong; holds every problem with its place.
    """
    given = override_texts(overrides)
    if isinstance(source, Mapping):
        return blueprints.load_values(source, given, name=_NAME)
    path = Path(source)
    named = member_of(path)
    if named is not None:
        return _member(*named, given)
    if lists_workloads(path):
        raise InputError(
            f"{path} lists several workloads, and this is about one",
            help=f"name one as {path}#NAME; clusterwright plan, compare and check take all of them",
        )
    return blueprints.load(path, given)


def _member(path: Path, name: str, given: tuple[str, ...]) -> LoadedBlueprint:
    """Return one of several workloads of a file, on a cluster of its own; values given are of that workload."""
    found = next((member for member in load_shared(path).members if member.name == name), None)
    if found is None:
        names = ", ".join(member.name for member in load_shared(path).members)
        raise InputError(f"{path} has no workload {name!r}", help=f"one of {names}")
    return checked(found.loaded.document, given, folder=path.parent)


def override_texts(overrides: Overrides) -> tuple[str, ...]:
    """Return overrides as the `path=value` texts of the command line.

    Raises:
        InputError: a value is of a kind that no blueprint holds.
    """
    if isinstance(overrides, Mapping):
        return tuple(_override(path, value) for path, value in overrides.items())
    return tuple(overrides)


def _override(path: str, value: Any) -> str:  # noqa: ANN401 - a blueprint holds anything
    try:
        return f"{path}={value if isinstance(value, str) else json.dumps(value)}"
    except (TypeError, ValueError):
        raise InputError(
            f"{path}: a blueprint holds no {type(value).__name__}", help="use text, a number, a list or a dict"
        ) from None


def open_facts(*, store: Path | str | None = None) -> Facts:
    """Return the shipped facts and prices with those of the price store, to be used for several plans.

    Args:
        store: another price store, or folder of an export, than the usual one.

    Raises:
        ClusterwrightError: facts, prices or the calibration cannot be read.
    """
    return Facts.open(store=store, reach=reach)


def plan(
    source: Source | LoadedBlueprint,
    *,
    on: str = "all",
    overrides: Overrides = (),
    quotes: Path | str | None = None,
    rates: Sequence[str] = (),
    facts: Facts | None = None,
    progress: Progress = lambda _: None,
) -> PlanResult:
    """Return the plan of a blueprint: the cluster for each target, and what it costs.

    Args:
        source: a blueprint, the path of its file, or a mapping that holds what a file would.
        on: one target, such as `aws`, or `all`.
        overrides: as in `load`; a loaded blueprint has its own.
        quotes: a file of a vendor's quotes for parts on premises.
        rates: exchange rates of the quotes, such as `EUR=1.08`.
        facts: from `open_facts`; opened for this plan if None.
        progress: called with a few words before each longer piece of work.

    Raises:
        InputError, BlueprintError: the blueprint, a name in it, or the quotes are wrong, or the job fits nowhere.
        MissingFactError: a fact or a price is missing without which there is no answer.
    """
    if isinstance(source, LoadedBlueprint) and overrides:
        raise InputError("a loaded blueprint takes no overrides", help="give them to load")
    if rates and quotes is None:
        raise InputError("--rate is for quotes", help="add --quotes FILE, or leave out --rate")
    read = None if quotes is None else _quotes(Path(quotes), rates)
    whole = source if isinstance(source, LoadedBlueprint) else load(source, overrides=overrides)
    loaded = _only(whole, on)
    result = decided(
        loaded, whole, facts or open_facts(), quotes=() if read is None else read.prices, progress=progress
    )
    if read is None:
        return result
    option = result.plan.option("onprem")
    if option is None or option.design.facility is None:
        raise InputError("quotes price a cluster on premises, the plan has none", help="add targets.onprem")
    read.check(option.design.facility.bill.lines, {priced.line.sku: priced.unit_usd for priced in option.money.lines})
    return replace(result, quotes=read)


def _quotes(path: Path, rates: Sequence[str]) -> "VendorQuotes":
    from clusterwright.feeds.exchange_rates import parse_rates  # noqa: PLC0415 - only plans with quotes load it
    from clusterwright.feeds.vendor_quotes import read_vendor_quotes  # noqa: PLC0415

    return read_vendor_quotes(path, parse_rates(rates))


def validate(
    source: Source | LoadedBlueprint, *, overrides: Overrides = (), facts: Facts | None = None
) -> tuple[Problem, ...]:
    """Return every problem of a blueprint with its place: of its form, of its names, and rules that fail.

    Args:
        source: as for `plan`.
        overrides: as for `plan`.
        facts: as for `plan`.

    Raises:
        InputError: the file cannot be read, or is no text; MissingFactError: a fact or a price is missing.
    """
    try:
        result = plan(source, overrides=overrides, facts=facts)
    except BlueprintError as error:
        return error.problems
    return placed(result.blueprint, result.findings).problems


def decide_values(loaded: LoadedBlueprint, values: dict[str, Any], facts: Facts) -> PlanResult:
    """Return the plan of a blueprint with other values, of which nothing is in a file.

    Args:
        loaded: the blueprint, whose files (models, parts) the values may name too.
        values: as its document would hold them.
        facts: to plan with.

    Raises:
        InputError: the values are no blueprint; RuleError: the job fits nowhere.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - only where values change

    try:
        blueprint = Blueprint.model_validate(values, context={"folder": Path(loaded.document.name).parent})
    except ValidationError as error:
        raise InputError(error.errors(include_url=False)[0]["msg"]) from None
    changed = LoadedBlueprint(blueprint=blueprint, document=loaded.document)
    return decided(changed, changed, facts)


def decided(
    loaded: LoadedBlueprint,
    whole: LoadedBlueprint,
    facts: Facts,
    *,
    quotes: tuple[QuotedPrice, ...] = (),
    progress: Progress = lambda _: None,
) -> PlanResult:
    """Return the plan of a loaded blueprint.

    Args:
        loaded: with the targets to plan.
        whole: the same with all its targets.
        facts: without those of its file of parts.
        quotes: prices of vendors.
        progress: called with a few words before each longer piece of work.

    Raises:
        BlueprintError: a name or a rule fails; MissingFactError: a fact or a price is missing.
    """
    own = _own_parts(loaded, facts.catalogue)
    facts = facts.with_own(own.facts)
    resolved = resolve(loaded.blueprint, facts.catalogue)
    if isinstance(resolved, tuple):
        raise loaded.error(resolved)
    try:
        with placing(loaded):
            made = decide(
                loaded.blueprint,
                resolved,
                facts,
                whole=whole.blueprint,
                quotes=(*own.prices, *quotes),
                progress=progress,
            )
    except RuleError as error:
        raise placed(loaded, error.findings) from None
    return PlanResult(blueprint=loaded, plan=replace(made, own_facts=own.facts), facts=facts)


def _own_parts(loaded: LoadedBlueprint, catalogue: Catalogue) -> OwnParts:
    """Return what the blueprint's file of parts says; nothing without one."""
    target = loaded.blueprint.targets.onprem
    if target is None or target.parts is None:
        return OwnParts(facts=(), prices=())
    return read_parts(Path(target.parts), catalogue)


def _only(loaded: LoadedBlueprint, on: str) -> LoadedBlueprint:
    if on == "all":
        return loaded
    if on not in TARGETS:
        raise InputError(f"there is no target {on!r}", help=f"one of {', '.join(TARGETS)} or all")
    if getattr(loaded.blueprint.targets, on) is None:
        raise InputError(f"the blueprint has no target {on!r}", help=f"add targets.{on} to {loaded.document.name}")
    targets = loaded.blueprint.targets.model_copy(update={name: None for name in TARGETS if name != on})
    return LoadedBlueprint(blueprint=loaded.blueprint.model_copy(update={"targets": targets}), document=loaded.document)
