"""Where each printed number comes from: equation, inputs with their values, sources.

Each entry repeats the arithmetic of one printed number from the Plan's own fields, so that it can be checked by hand.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from clusterwright import units
from clusterwright.errors import InputError
from clusterwright.explain import finetuning, serving, sizing
from clusterwright.explain.breakeven import breakeven_numbers
from clusterwright.explain.finetuning import finetuning_numbers
from clusterwright.explain.money import money_numbers, prices
from clusterwright.explain.records import Explanation, Input, Names, total
from clusterwright.explain.serving import serving_numbers
from clusterwright.explain.sizing import explain_hardware, sizing_numbers
from clusterwright.facility.storage.boxes import BoxRule
from clusterwright.facility.storage.demand import StorageDemand
from clusterwright.facility.storage.design import StorageDesign
from clusterwright.plan.finetuning.record import finetuning_option, finetuning_plan
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.serving.record import serving_option, serving_plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.training.record import training_option, training_plan
from clusterwright.tco.ledger.engine import Ledger

_PROGRAM = "clusterwright/facility/storage/design.py"
_FIELDS = {"capacity": "capacity_bytes", "read": "read_bytes_per_s", "write": "write_bytes_per_s"}


def storage_numbers(option: Option) -> tuple[Explanation, ...]:
    """Return how the storage boxes of a cluster on premises are counted; nothing for clouds."""
    if option.design.facility is None:
        return ()
    storage = option.design.facility.inventory.storage
    boxes = (f"{storage.data_boxes}",) if storage.front is None else (f"{storage.data_boxes}", f"{storage.front_boxes}")
    return (
        Explanation(
            number="storage_boxes",
            title="boxes of shared storage",
            value=f"{storage.boxes:,} ({storage.name})",
            equation=(
                "of each kind the most that a rule asks for: amount / what one box gives, rounded up",
                total(boxes, f"{storage.boxes}"),
            ),
            inputs=(
                *(_demand(demand) for demand in storage.demands),
                *(_rule(storage, rule) for rule in storage.rules),
                Input(name="decided by", value=", ".join(storage.binding), source=_PROGRAM),
            ),
            sources=(f"catalog/storage_systems.csv: {storage.system}", "catalog/storage_levels.csv", _PROGRAM),
        ),
    )


def _demand(demand: StorageDemand) -> Input:
    amounts = (
        None if demand.capacity_bytes is None else units.text(demand.capacity_bytes, units.BYTES),
        None if demand.read_bytes_per_s is None else f"{units.text(demand.read_bytes_per_s, units.BANDWIDTH)} read",
        None if demand.write_bytes_per_s is None else f"{units.text(demand.write_bytes_per_s, units.BANDWIDTH)} write",
    )
    return Input(
        name=demand.origin, value=", ".join(amount for amount in amounts if amount is not None), source=demand.source
    )


def _rule(storage: StorageDesign, rule: BoxRule) -> Input:
    of = storage.data if rule.of == "data" or storage.front is None else storage.front
    named = f"{rule.boxes:,} × {of.name}"
    if rule.needed is None or rule.per_box is None:
        return Input(name=rule.rule, value=named, source="catalog/storage_systems.csv")
    kind = units.BYTES if rule.rule == "capacity" else units.BANDWIDTH
    each = units.text(rule.per_box, kind)
    field = _FIELDS.get(rule.rule, "ports")
    source = "blueprint, targets.onprem.storage" if field in of.given else "catalog/parts.csv, storage_systems.csv"
    return Input(name=f"by {rule.rule}", value=f"{named}: {units.text(rule.needed, kind)} / {each}", source=source)


#: Names that plans of every kind have.
_COMMON = Names(
    also={
        "days": "calendar_days",
        "calendar_days_low": "calendar_days",
        "calendar_days_high": "calendar_days",
        "breakevens": "breakeven",
        "breakeven_months": "breakeven",
        "gpus": "nodes",
        "run_share_usd": "run_usd",
        "run_usd": "run_share_usd",
        "run_usd_low": "run_usd",
        "run_usd_high": "run_usd",
        "horizon_usd_low": "horizon_usd",
        "horizon_usd_high": "horizon_usd",
    },
    absent={"breakeven": "it is of what is owned against what is rented: give targets.onprem beside a cloud"},
)


def names_of(kind: str) -> Names:
    """Return the names by which numbers of a kind of workload are asked for, with those of every kind."""
    own = _OF_KIND.get(kind, _NONE).names
    return Names(also={**_COMMON.also, **own.also}, absent={**_COMMON.absent, **own.absent})


def find(known: tuple[Explanation, ...], number: str, kind: str = "") -> Explanation:
    """Return the explanation of a number.

    Args:
        known: of a target.
        number: its name, or a key of `plan.json`.
        kind: of the plan's workload, whose own names are known too; empty for none.

    Raises:
        InputError: no number has that name; the help names the closest.
    """
    names_known = names_of(kind)
    also, absent = names_known.also, names_known.absent
    by_name = {entry.number: entry for entry in known}
    names = [number]
    while names[-1] not in by_name and (other := also.get(names[-1], number)) not in names:
        names.append(other)
    if names[-1] in by_name:
        return by_name[names[-1]]
    if names[-1] in absent:
        raise InputError(f"this target has no {names[-1]}", help=absent[names[-1]])
    close = get_close_matches(
        number, [name for name in (*by_name, *also) if also.get(name, name) in by_name], n=3, cutoff=0.5
    )
    raise InputError(
        f"there is no number {number!r}",
        help=f"did you mean {' or '.join(close)}?" if close else f"one of {', '.join(by_name)}",
    )


def _training_numbers(plan: Plan, option: Option, money: MoneyFormat) -> tuple[Explanation, ...]:
    return sizing_numbers(training_plan(plan), training_option(option), money)


def _serving_numbers(plan: Plan, option: Option, money: MoneyFormat) -> tuple[Explanation, ...]:
    return (
        *serving_numbers(serving_plan(plan), serving_option(option), money),
        *explain_hardware(option, "month", money=money),
    )


def _finetuning_numbers(plan: Plan, option: Option, money: MoneyFormat) -> tuple[Explanation, ...]:
    return (
        *finetuning_numbers(finetuning_plan(plan), finetuning_option(option), money),
        *explain_hardware(option, money=money),
    )


def _nothing(plan: Plan, option: Option, money: MoneyFormat) -> tuple[Explanation, ...]:  # noqa: ARG001 - of a kind
    return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kind:
    """What the sizing of a kind of workload explains, and the names that it adds."""

    numbers: Callable[[Plan, Option, MoneyFormat], tuple[Explanation, ...]]
    names: Names


_NONE = _Kind(numbers=_nothing, names=Names())
_OF_KIND: Mapping[str, _Kind] = {
    "train": _Kind(numbers=_training_numbers, names=sizing.NAMES),
    "finetune": _Kind(numbers=_finetuning_numbers, names=finetuning.NAMES),
    "serve": _Kind(numbers=_serving_numbers, names=serving.NAMES),
}


def explanations(plan: Plan, target: str, counted: Ledger, money: MoneyFormat) -> tuple[Explanation, ...]:
    """Return every number of one target that can be explained.

    Args:
        plan: the decision.
        target: of one of its options.
        counted: the plan's cash flow.
        money: how amounts are written.

    Raises:
        InputError: the plan has no such target.
    """
    option = plan.option(target)
    if option is None:
        known = ", ".join(entry.target for entry in plan.options)
        raise InputError(f"the plan has no target {target!r}", help=f"one of {known}")
    return (
        *_OF_KIND.get(plan.workload.kind, _NONE).numbers(plan, option, money),
        *storage_numbers(option),
        *money_numbers(plan, option, counted, money),
        *breakeven_numbers(plan, option, counted, money),
        *prices(option, money),
    )
