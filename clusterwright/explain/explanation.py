"""Where each printed number comes from: equation, inputs with their values, sources.

Each entry repeats the arithmetic of one printed number from the Plan's own fields, so that it can be checked by hand.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from clusterwright import units
from clusterwright.errors import InputError
from clusterwright.explain.breakeven import breakeven_numbers
from clusterwright.explain.money import money_numbers, prices
from clusterwright.explain.records import Explanation, Input, total
from clusterwright.explain.serving import serving_numbers
from clusterwright.explain.sizing import explain_hardware, sizing_numbers
from clusterwright.facility.storage.boxes import BoxRule
from clusterwright.facility.storage.demand import StorageDemand
from clusterwright.facility.storage.design import StorageDesign
from clusterwright.plan.record import Option, Plan, training_option, training_plan
from clusterwright.plan.recount import ledger
from clusterwright.plan.serving.record import serving_option, serving_plan
from clusterwright.pricing.book import PriceBook
from clusterwright.tco.engine import Ledger

_PROGRAM = "clusterwright/facility/storage/design.py"
_FIELDS = {"capacity": "capacity_bytes", "read": "read_bytes_per_s", "write": "write_bytes_per_s"}


def storage_numbers(option: Option) -> tuple[Explanation, ...]:
    """Return how the storage boxes of a cluster on premises are counted; nothing for clouds."""
    if option.facility is None:
        return ()
    storage = option.facility.inventory.storage
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


#: Keys of `plan.json` that are explained under another name.
ALSO = {
    "memory_bytes_per_gpu": "memory",
    "layout": "memory_by_stage",
    "memory_allocated_bytes_per_gpu": "memory_allocated",
    "memory_reserved_bytes_per_gpu": "memory_reserved",
    "optimizer": "optimizer_state",
    "offload": "host_memory",
    "offload_s": "offload_time",
    "days": "calendar_days",
    "calendar_days_low": "calendar_days",
    "calendar_days_high": "calendar_days",
    "compute": "compute_s",
    "breakevens": "breakeven",
    "breakeven_months": "breakeven",
    "tokens_per_s_per_gpu": "mfu",
    "peak_flop_per_s": "mfu",
    "step": "step_time",
    "network": "traffic",
    "failures": "goodput",
    "data": "data_loading",
    "gpus": "nodes",
    "run_share_usd": "run_usd",
    "run_usd": "run_share_usd",
    "run_usd_low": "run_usd",
    "run_usd_high": "run_usd",
    "horizon_usd_low": "horizon_usd",
    "horizon_usd_high": "horizon_usd",
}

#: What only some targets have, and when.
ABSENT = {
    "breakeven": "it is of what is owned against what is rented: give targets.onprem beside a cloud",
    "host_memory": "nothing lies outside the accelerators: set workload.offload",
    "offload_time": "nothing lies outside the accelerators: set workload.offload",
}


def find(known: tuple[Explanation, ...], number: str) -> Explanation:
    """Return the explanation of a number.

    Raises:
        InputError: no number has that name; the help names the closest.
    """
    by_name = {entry.number: entry for entry in known}
    names = [number]
    while names[-1] not in by_name and (other := ALSO.get(names[-1], number)) not in names:
        names.append(other)
    if names[-1] in by_name:
        return by_name[names[-1]]
    if (absent := names[-1]) in ABSENT:
        raise InputError(f"this target has no {absent}", help=ABSENT[absent])
    close = get_close_matches(
        number, [name for name in (*by_name, *ALSO) if ALSO.get(name, name) in by_name], n=3, cutoff=0.5
    )
    raise InputError(
        f"there is no number {number!r}",
        help=f"did you mean {' or '.join(close)}?" if close else f"one of {', '.join(by_name)}",
    )


def _training_numbers(plan: Plan, option: Option) -> tuple[Explanation, ...]:
    return sizing_numbers(training_plan(plan), training_option(option))


def _serving_numbers(plan: Plan, option: Option) -> tuple[Explanation, ...]:
    return (*serving_numbers(serving_plan(plan), serving_option(option)), *explain_hardware(option, "month"))


def _nothing(plan: Plan, option: Option) -> tuple[Explanation, ...]:  # noqa: ARG001 - of a kind
    return ()


#: What the sizing of each kind of workload explains.
_OF_KIND: Mapping[str, Callable[[Plan, Option], tuple[Explanation, ...]]] = {
    "train": _training_numbers,
    "serve": _serving_numbers,
}


def explanations(plan: Plan, target: str, counted: Ledger | None = None) -> tuple[Explanation, ...]:
    """Return every number of one target that can be explained.

    Args:
        plan: the decision.
        target: of one of its options.
        counted: the plan's cash flow, if it is at hand.

    Raises:
        InputError: the plan has no such target.
    """
    option = plan.option(target)
    if option is None:
        known = ", ".join(entry.target for entry in plan.options)
        raise InputError(f"the plan has no target {target!r}", help=f"one of {known}")
    counted = counted or ledger(plan, PriceBook.open())
    return (
        *_OF_KIND.get(plan.workload.kind, _nothing)(plan, option),
        *storage_numbers(option),
        *money_numbers(plan, option, counted),
        *breakeven_numbers(plan, option, counted),
        *prices(option),
    )
