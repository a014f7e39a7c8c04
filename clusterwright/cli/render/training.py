"""What a training plan says for a terminal beside what every plan says: layout, memory, what limits the step."""

from collections.abc import Sequence

from clusterwright.plan.record import Option, TrainingOption, training_option
from clusterwright.plan.text.words import choice_text, fit_text, layout_text, offload_text
from clusterwright.units import percent

_BAR = 24
_BLOCKS = "█▓▒░▞▚·"


def training_details(option: Option) -> Sequence[tuple[str, Sequence[str]]]:
    """Return layout, memory and limits of a cluster that trains, each with its title."""
    shown = training_option(option)
    return (
        ("Layout", tuple(line for line in (layout_text(shown.layout), choice_text(shown)) if line)),
        ("Memory", _memory_bar(shown)),
        ("Limited by", _limits(shown)),
    )


def _memory_bar(option: TrainingOption) -> tuple[str, ...]:
    terms = _memory_terms(option)
    total = option.memory_bytes_per_gpu.total
    bar = ""
    for (_, size), block in zip(terms, _BLOCKS, strict=False):
        bar += block * round(_BAR * size / option.hbm_bytes_per_gpu)
    bar = bar[:_BAR].ljust(_BAR, " ")
    listed = " · ".join(f"{block} {name} {size / 1e9:.1f}" for (name, size), block in zip(terms, _BLOCKS, strict=False))
    away = offload_text(option)
    shown = f"{total / 1e9:.1f} of {option.hbm_bytes_per_gpu / 1e9:.1f} GB per GPU  [{bar}]"
    return tuple(line for line in (shown, listed, fit_text(option), away) if line)


def _limits(option: TrainingOption) -> tuple[str, str]:
    """Return what the step's time goes to beyond computing, and how much of calendar time is productive."""
    failures = option.failures
    between = f"{failures.mean_time_between_interruptions_s / 3600:.0f} h between interruptions"
    every = f"a checkpoint every {failures.checkpoint_interval_s / 60:.0f} min"
    beyond = f", then {', '.join(option.limited_by)}" if option.limited_by else ""
    return (
        f"compute at {percent(option.mfu)} of peak{beyond}",
        f"goodput {percent(option.goodput)}: {between}, {every}",
    )


def _memory_terms(option: TrainingOption) -> list[tuple[str, float]]:
    memory = option.memory_bytes_per_gpu
    terms = [
        (name, getattr(memory, name))
        for name in ("weights", "gradients", "optimizer", "activations", "logits", "communication", "reserve")
    ]
    return [(name, size) for name, size in terms if size > 0]
