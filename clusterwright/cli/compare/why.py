"""`clusterwright compare --why NAME`: why an instance type or system is not the hardware of its target."""

from functools import partial
from pathlib import Path

from clusterwright import interface
from clusterwright.blueprint.fields import ANY
from clusterwright.blueprint.load import LoadedBlueprint, load_text
from clusterwright.blueprint.shared import lists_workloads
from clusterwright.catalog import lookup
from clusterwright.catalog.records import Catalogue
from clusterwright.cli.answer import exit_code, say_explanation
from clusterwright.cli.planning import STANDARD_INPUT, STANDARD_INPUT_NAME, say_quotes, standard_input_text
from clusterwright.errors import InputError
from clusterwright.explain.explanation import find
from clusterwright.plan.text.words import NAME_OF_TARGET

_ONPREM = "onprem"


def why(
    path: Path,
    set_values: list[str] | None,
    name: str,
    *,
    quotes: Path | None = None,
    rates: list[str] | None = None,
    as_json: bool,
) -> int:
    """Plan a target with its hardware and the one asked for to choose from; print how it chose; return the exit code.

    Args:
        path: the blueprint; `-` is standard input.
        set_values: `path=value` overrides.
        name: instance type or system, as people write it.
        quotes: a file of a vendor's quotes.
        rates: exchange rates of the quotes.
        as_json: print JSON.

    Raises:
        InputError: no hardware has this name, the blueprint lacks its target, or has that hardware alone.
    """
    if path != STANDARD_INPUT and lists_workloads(path):
        raise InputError(f"{path} lists several workloads, and --why is about one", help=f"name one as {path}#NAME")
    read = partial(interface.load, path)
    if path == STANDARD_INPUT:
        text = standard_input_text()
        read = partial(load_text, text, name=STANDARD_INPUT_NAME)
    given = tuple(set_values or ())
    loaded = read(overrides=given)
    facts = interface.open_facts()
    target, hardware = _meant(facts.catalogue, name)
    more = _choice(facts.catalogue, loaded, target, hardware)
    made = interface.plan(read(overrides=(*given, *more)), quotes=quotes, rates=rates or (), facts=facts)
    say_explanation(find(made.explanations(target), "hardware", made.plan.workload.kind), target, as_json=as_json)
    if not as_json:
        say_quotes(made)
    return exit_code(made)


def _meant(catalogue: Catalogue, name: str) -> tuple[str, str]:
    """Return the target and the id of the hardware that a name means."""
    try:
        instance = lookup.instance(catalogue, name)
    except InputError as no_instance:
        try:
            return _ONPREM, lookup.system(catalogue, name).id
        except InputError:
            raise no_instance from None
    return instance.cloud, instance.id


def _choice(catalogue: Catalogue, loaded: LoadedBlueprint, target: str, hardware: str) -> tuple[str, ...]:
    """Return overrides with which a target chooses between the hardware that it has and another one."""
    asked = getattr(loaded.blueprint.targets, target)
    if asked is None:
        raise InputError(
            f"{hardware} is hardware of {NAME_OF_TARGET[target]}, and the blueprint has no target {target}",
            help=f"add targets.{target}, for example with --set",
        )
    alone, choice = ("system", "allowed_systems") if target == _ONPREM else ("instance", "allowed_instances")
    look_up = lookup.system if target == _ONPREM else partial(lookup.instance, cloud=target)
    allowed = getattr(asked, choice)
    if allowed == [ANY]:
        return ()
    named = [look_up(catalogue, each).id for each in (allowed or [getattr(asked, alone)])]
    if named == [hardware]:
        raise InputError(f"{hardware} is the hardware of {NAME_OF_TARGET[target]}", help="name another one with --why")
    if hardware in named:
        return ()
    return f"targets.{target}.{alone}=null", f"targets.{target}.{choice}=[{', '.join((*named, hardware))}]"
