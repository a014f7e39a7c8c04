"""What a sweep is asked about: scenarios from blueprints and varied values, node types from the catalogue."""

import datetime as dt
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from clusterwright.blueprint.load import LoadedBlueprint, load, load_values
from clusterwright.blueprint.rules.contradictions import contradictions, contradictions_of_model
from clusterwright.blueprint.rules.hardware import speaks_of
from clusterwright.blueprint.rules.models import model_of
from clusterwright.blueprint.rules.node_software import divided_nodes
from clusterwright.blueprint.schema import Blueprint, OnPremTarget
from clusterwright.blueprint.sections.clouds import CloudTarget
from clusterwright.catalog import lookup
from clusterwright.catalog.records import Catalogue, Instance, System
from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.plan.bounds import NodeBounds
from clusterwright.plan.target_network import node_as_asked
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.records import PriceRequest
from clusterwright.sweep.records import TERM, NotSized, Place, Question, Scenario

#: Largest cluster where no range of nodes is given.
MOST_GPUS = 16_384
MOST_NODES = 100_000
MOST_SCENARIOS = 10_000
SWEPT_KINDS = ("train", "serve")
#: Region to price in where the blueprint names none of the cloud: the first with list prices of each.
REFERENCE_REGIONS = {"aws": "us-east-1", "azure": "eastus", "gcp": "us-central1"}
#: A file, or what a file would hold.
Source: TypeAlias = str | Path | Mapping[str, Any]
NO_NODE_TYPE = "no instance type or system of the catalogue has it"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRange:
    """Cluster sizes to look at; `most` is None for as many as give 16,384 accelerators."""

    least: int = 1
    most: int | None = None


def node_range(text: str) -> NodeRange:
    """Read `A..B`, for example `8..512`.

    >>> node_range("8..512")
    NodeRange(least=8, most=512)

    Raises:
        InputError: it is not a range, it is empty, or a size is out of reason.
    """
    match = re.fullmatch(r"(\d{1,9})\.\.(\d{1,9})", text.strip())
    if match is None:
        raise InputError(f"--nodes {text!r} is not a range", help="for example --nodes 8..512")
    least, most = int(match[1]), int(match[2])
    if not 1 <= least <= most <= MOST_NODES:
        raise InputError(
            f"--nodes {text!r} is an empty range or beyond {MOST_NODES:,} nodes", help="for example --nodes 8..512"
        )
    return NodeRange(least=least, most=most)


def variations(given: Sequence[str]) -> list[tuple[tuple[str, str], ...]]:
    """Return every combination of the values that `path=v1,v2` options name, the first path slowest.

    Raises:
        InputError: an option is not `path=v1,v2`, has no value, or names a path or value twice.
    """
    axes: dict[str, list[str]] = {}
    for option in given:
        path, equals, text = option.partition("=")
        values = [value.strip() for value in text.split(",")]
        if not equals or not path or not all(values):
            raise InputError(
                f"--vary {option!r} is not path=v1,v2 with a value between commas",
                help="for example --vary workload.precision=bf16,fp8",
            )
        if path in axes:
            raise InputError(f"--vary {path} is given twice", help="give all its values in one option")
        if len(set(values)) < len(values):
            raise InputError(f"--vary {option!r} names a value twice", help="name each once")
        axes[path] = values
    combined = [[(path, value) for value in values] for path, values in axes.items()]
    return list(itertools.product(*combined))


def scenarios(
    sources: Sequence[Source], vary: Sequence[str], set_values: Sequence[str], catalogue: Catalogue
) -> tuple[Scenario, ...]:
    """Return every blueprint with every combination of the varied values, all of them checked.

    Raises:
        InputError: an option is wrong, two blueprints share a name, or a model is unknown.
        BlueprintError: a blueprint or a varied path or value is wrong, shown at its place.
    """
    combinations = variations(vary)
    count = len(sources) * len(combinations)
    if count > MOST_SCENARIOS:
        raise InputError(f"{count:,} scenarios are more than {MOST_SCENARIOS:,}", help="vary fewer values")
    found = []
    for source in sources:
        for varied in combinations:
            loaded = _read(source, (*set_values, *(f"{key}={value}" for key, value in varied)))
            found.append(_scenario(loaded, varied, catalogue))
    names = [_read(one, tuple(set_values)).blueprint.name for one in sources] if len(sources) > 1 else []
    if len(set(names)) < len(names):
        raise InputError(
            "two blueprints have the same name", help="give each its own, so that rows can be distinguished"
        )
    return tuple(found)


def _read(source: Source, set_values: tuple[str, ...]) -> LoadedBlueprint:
    return (
        load_values(source, set_values, name="blueprint")
        if isinstance(source, Mapping)
        else load(Path(source), set_values)
    )


def _scenario(loaded: LoadedBlueprint, varied: tuple[tuple[str, str], ...], catalogue: Catalogue) -> Scenario:
    blueprint = loaded.blueprint
    if blueprint.workload.kind not in SWEPT_KINDS:
        raise InputError(
            f"{blueprint.name}: workloads of kind {blueprint.workload.kind!r} cannot be swept",
            help=f"kinds {' and '.join(SWEPT_KINDS)} can",
        )
    if blueprint.targets.onprem is not None and blueprint.targets.onprem.parts is not None:
        raise InputError(
            f"{blueprint.name}: a sweep does not read the file of targets.onprem.parts",
            help="leave it out; plan and build read it",
        )
    model = model_of(catalogue, blueprint.workload.model)
    problems = (*contradictions(blueprint), *contradictions_of_model(blueprint.workload, model))
    if problems:
        raise loaded.error(problems)
    return Scenario(name=blueprint.name, varied=varied, blueprint=blueprint, model=model)


def chosen_ids(
    catalogue: Catalogue, *, accelerators: Sequence[str] = (), instances: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Return the node types asked for, in the catalogue's order, and the accelerators asked for that none has.

    Args:
        catalogue: the facts; all its node types without a selection.
        accelerators: names of accelerators.
        instances: names of instance types or systems.

    Raises:
        InputError: a name is unknown, or both kinds of names are given.
    """
    if accelerators and instances:
        raise InputError("--accelerators and --instances are both given", help="give one of them")
    everything: dict[str, Instance | System] = {**catalogue.instances, **catalogue.systems}
    if instances:
        wanted = {_node_type_id(catalogue, name) for name in instances}
        return [key for key in everything if key in wanted], []
    chips = [lookup.accelerator(catalogue, name).id for name in accelerators] or list(catalogue.accelerators)
    ids = [key for key, entry in everything.items() if entry.accelerator in chips]
    had = {everything[key].accelerator for key in ids}
    return ids, [chip for chip in dict.fromkeys(chips) if chip not in had]


def _node_type_id(catalogue: Catalogue, name: str) -> str:
    try:
        return lookup.instance(catalogue, name).id
    except InputError as error:
        try:
            return lookup.system(catalogue, name).id
        except InputError:
            raise InputError(f"no instance type or system is called {name!r}", help=error.help) from None


def questions(
    scenario: Scenario, catalogue: Catalogue, ids: Sequence[str], sizes: NodeRange, book: PriceBook
) -> tuple[list[Question], list[NotSized]]:
    """Return what to ask for one scenario, and the node types of which a fact is missing.

    Args:
        scenario: to ask about.
        catalogue: the facts.
        ids: of node types.
        sizes: clusters to look at.
        book: prices, which say in which region a node type is priced.
    """
    asked, missing = [], []
    rented = tuple(catalogue.instances[key] for key in ids if key in catalogue.instances)
    as_of = scenario.blueprint.economics.as_of or book.newest_day
    regions = _regions(_wished(scenario.blueprint), rented, as_of, book)
    for key in ids:
        instance = catalogue.instances.get(key)
        chip = (instance or catalogue.systems[key]).accelerator
        try:
            if instance is None:
                node = lookup.node_type_of_system(catalogue, key)
                node = node_as_asked(scenario.blueprint, "onprem", node, catalogue)
                place = Place(node=node, target="onprem")
            else:
                node = lookup.node_type_of_instance(catalogue, key)
                node = node_as_asked(scenario.blueprint, instance.cloud, node, catalogue)
                place = Place(node=node, target=instance.cloud, region=regions[key])
        except ClusterwrightError as error:
            missing.append(_not_sized(scenario, key, chip, error.message))
            continue
        bounds, limit = _bounds(scenario.blueprint, place, sizes)
        if bounds.most is not None and (bounds.least or 1) > bounds.most:
            missing.append(_not_sized(scenario, key, chip, f"{bounds.least} nodes are more than {limit}"))
            continue
        asked.append(Question(scenario=scenario, place=place, bounds=bounds))
    return asked, missing


def without_node_type(scenario: Scenario, accelerators: Sequence[str]) -> list[NotSized]:
    """Return the accelerators that no node type has, so that they are not missed."""
    return [_not_sized(scenario, "", chip, NO_NODE_TYPE) for chip in accelerators]


def _not_sized(scenario: Scenario, key: str, chip: str, reason: str) -> NotSized:
    return NotSized(blueprint=scenario.name, varied=scenario.varied, node_type=key, accelerator=chip, reason=reason)


def _bounds(blueprint: Blueprint, place: Place, sizes: NodeRange) -> tuple[NodeBounds, str]:
    """Return the clusters to look at on a node type, and what sets their largest size."""
    limits = [
        (MOST_GPUS // place.node.gpus, f"{MOST_GPUS:,} accelerators") if sizes.most is None else (sizes.most, "asked")
    ]
    if place.node.placement_max_nodes is not None:
        limits.append((place.node.placement_max_nodes, "one placement holds"))
    target: CloudTarget | OnPremTarget | None = getattr(blueprint.targets, place.target)
    divided = divided_nodes(blueprint, place.node)
    if target is None or not speaks_of(target, place.node.id):
        most, limit = min(limits)
        return NodeBounds(least=sizes.least, most=most, divided=divided), limit
    if target.max_nodes is not None:
        limits.append((target.max_nodes, f"targets.{place.target}.max_nodes"))
    most, limit = min(limits)
    least = max(sizes.least or 1, target.min_nodes or 1)
    return NodeBounds(least=least, most=most, must_be=target.nodes_must_be, divided=divided), limit


@cache
def _regions(
    wished: tuple[tuple[str, tuple[str, ...]], ...], instances: tuple[Instance, ...], as_of: dt.date, book: PriceBook
) -> dict[str, str]:
    """Return the region to price each instance type in.

    The first wished one of its cloud that has an on-demand price, else the cheapest region with one, else the first
    wished one.
    """
    of_cloud = dict(wished)
    listed: dict[str, list[str]] = {}
    for product in book.products():
        if product.term == TERM:
            listed.setdefault(product.sku, []).append(product.region)
    asked = [
        (entry, PriceRequest(sku=sku, region=region, term=TERM))
        for entry in instances
        for sku in [f"{entry.cloud}/{entry.id}"]
        for region in sorted({*of_cloud[entry.cloud], *listed.get(sku, [])})
    ]
    usd: dict[str, dict[str, float]] = {entry.id: {} for entry in instances}
    for (entry, request), price in zip(asked, book.in_force([request for _, request in asked], as_of), strict=True):
        if price is not None:
            usd[entry.id][request.region] = price.point.usd
    return {entry.id: _first_priced(of_cloud[entry.cloud], usd[entry.id]) for entry in instances}


def _wished(blueprint: Blueprint) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the regions to price each cloud in: the blueprint's if it names one, then the reference region."""
    targets = {cloud: getattr(blueprint.targets, cloud) for cloud in REFERENCE_REGIONS}
    return tuple(
        (cloud, (*([target.region] if target is not None else []), REFERENCE_REGIONS[cloud]))
        for cloud, target in targets.items()
    )


def _first_priced(wished: Sequence[str], usd: dict[str, float]) -> str:
    known = next((region for region in wished if region in usd), None)
    if known is not None:
        return known
    return min(usd, key=lambda region: (usd[region], region)) if usd else wished[0]
