"""What a training plan says for a terminal beside what every plan says: layout, memory, what limits the step."""

from collections.abc import Sequence

from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.training import (
    choice_text,
    fit_text,
    layout_text,
    offload_text,
    software_text,
    usual_layout_text,
)
from clusterwright.plan.training.record import TrainingOption, training_option
from clusterwright.units import percent

_BAR = 24
_BLOCKS = "█▓▒░▞▚·"


def training_details(option: Option) -> Sequence[tuple[str, Sequence[str]]]:
    """Return layout, memory and limits of a cluster that trains, each with its title."""
    shown = training_option(option)
    return (
        ("Layout", tuple(line for line in (layout_text(shown.performance.layout), choice_text(shown)) if line)),
        ("Memory", _memory_bar(shown)),
        ("Limited by", _limits(shown)),
    )


def training_caveats(plan: Plan) -> Sequence[str]:
    """Return what the layout costs where it is not the fastest, and which software is assumed."""
    return tuple(line for line in (usual_layout_text(plan), software_text(plan)) if line)


def training_assumed(plan: Plan) -> Sequence[str]:
    """Return the software, where the blueprint names none."""
    return ("software (workload.framework names none)",) if software_text(plan) else ()


def _memory_bar(option: TrainingOption) -> tuple[str, ...]:
    terms = _memory_terms(option)
    total = option.performance.memory_bytes_per_gpu.total
    bar = ""
    for (_, size), block in zip(terms, _BLOCKS, strict=False):
        bar += block * round(_BAR * size / option.cluster.hbm_bytes_per_gpu)
    bar = bar[:_BAR].ljust(_BAR, " ")
    listed = " · ".join(f"{block} {name} {size / 1e9:.1f}" for (name, size), block in zip(terms, _BLOCKS, strict=False))
    away = offload_text(option)
    shown = f"{total / 1e9:.1f} of {option.cluster.hbm_bytes_per_gpu / 1e9:.1f} GB per GPU  [{bar}]"
    return tuple(line for line in (shown, listed, fit_text(option), away) if line)


def _limits(option: TrainingOption) -> tuple[str, str]:
    """Return what the step's time goes to beyond computing, and how much of calendar time is productive."""
    performance = option.performance
    failures = performance.failures
    between = f"{failures.mean_time_between_interruptions_s / 3600:.0f} h between interruptions"
    every = f"a checkpoint every {failures.checkpoint_interval_s / 60:.0f} min"
    beyond = f", then {', '.join(performance.limited_by)}" if performance.limited_by else ""
    return (
        f"compute at {percent(performance.mfu)} of peak{beyond}",
        f"goodput {percent(performance.goodput)}: {between}, {every}",
    )


def _memory_terms(option: TrainingOption) -> list[tuple[str, float]]:
    memory = option.performance.memory_bytes_per_gpu
    terms = [
        (name, getattr(memory, name))
        for name in ("weights", "gradients", "optimizer", "activations", "logits", "communication", "reserve")
    ]
    return [(name, size) for name, size in terms if size > 0]
