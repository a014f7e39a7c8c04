"""Keys of checkpoints, data and failures that change nothing with what is beside them: a warning each."""

from collections.abc import Iterator, Sequence

from clusterwright.blueprint.hardware import CLOUDS
from clusterwright.blueprint.schema import Blueprint
from clusterwright.errors import Finding
from clusterwright.plan.record import TrainingOption
from clusterwright.plan.without_effect import given, no_effect

#: Keys of `data` that speak of drives to which data is copied only with staging.
_STAGED = ("local_nvme", "local_nvme_bandwidth")


def without_effect(blueprint: Blueprint, options: Sequence[TrainingOption]) -> list[Finding]:
    """Return a warning for every key that was given and changes nothing of a run (`EFF001` to `EFF005`).

    Args:
        blueprint: as loaded, with all its targets.
        options: what was planned of it.
    """
    return [*_checkpoints(blueprint), *_staging(blueprint), *_failures(blueprint, options)]


def _checkpoints(blueprint: Blueprint) -> Iterator[Finding]:
    checkpoint = blueprint.reliability.checkpoint
    path = ("reliability", "checkpoint")
    if given(checkpoint, "flush_every") and checkpoint.strategy != "memory":
        yield no_effect(
            1,
            (*path, "flush_every"),
            f"checkpoints of strategy {checkpoint.strategy} go to storage each time",
            "set reliability.checkpoint.strategy to memory, or remove flush_every",
        )
    if given(checkpoint, "changed") and checkpoint.strategy != "incremental":
        yield no_effect(
            2,
            (*path, "changed"),
            f"checkpoints of strategy {checkpoint.strategy} are written whole",
            "set reliability.checkpoint.strategy to incremental, or remove changed",
        )


def _staging(blueprint: Blueprint) -> Iterator[Finding]:
    if blueprint.data.staging != "none":
        return
    for name in _STAGED:
        if given(blueprint.data, name):
            yield no_effect(
                3,
                ("data", name),
                "no data is copied to local drives",
                f"set data.staging to nvme, or remove {name}",
            )


def _failures(blueprint: Blueprint, options: Sequence[TrainingOption]) -> Iterator[Finding]:
    asked = blueprint.reliability
    clouds = (getattr(blueprint.targets, cloud) for cloud in CLOUDS)
    spot = any(target is not None and target.capacity == "spot" for target in clouds)
    if given(asked, "spot_interruptions_per_1000_node_days") and not spot:
        yield no_effect(
            4,
            ("reliability", "spot_interruptions_per_1000_node_days"),
            "no target takes spot capacity",
            "set the capacity of a target to spot, or remove it",
        )
    if asked.elastic and options and all(option.failures.elastic_nodes is None for option in options):
        yield no_effect(
            5,
            ("reliability", "elastic"),
            "no cluster that is planned can go on with fewer replicas",
            "let the layout have more than one replica, or remove elastic",
        )
