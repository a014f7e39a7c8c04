"""What a plan of fine-tuning says for a terminal beside what every plan says: layout, memory, times, result."""

from collections.abc import Sequence

from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningPlan, finetuning_option, finetuning_plan
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.finetuning import (
    MEMORY_TERMS,
    batch_text,
    fit_text,
    layout_text,
    left_text,
    month_text,
    rate_text,
    rollouts_text,
    step_text,
)
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import NAME_OF_TARGET, term_text
from clusterwright.sizing.serving.calibration import KNOWN_PAIR
from clusterwright.units import percent

_BAR = 24
_BLOCKS = "█▓▒░▞▚▤▥·▦▧"


def run_brief(plan: Plan, _: MoneyFormat) -> tuple[str, ...]:
    """Return layout and memory of the answer."""
    shown = _shown(finetuning_plan(plan))
    return (
        f"{layout_text(shown)}; {fit_text(shown)}",
        *_said(rollouts_text(shown)),
        *(() if shown.performance.level == KNOWN_PAIR else (shown.performance.level_text,)),
    )


def _shown(plan: FinetuningPlan) -> FinetuningOption:
    """Return the option that is the answer, the first one where none is."""
    answer = plan.planned(plan.recommended_key)
    return plan.options[0] if answer is None else finetuning_option(answer)


def run_lines(plan: Plan, money: MoneyFormat) -> tuple[str, ...]:
    """Return layout, memory, times and result: of the answer in full, of the plan's other options in brief."""
    tuned = finetuning_plan(plan)
    shown = _shown(tuned)
    named = tuned.planned(tuned.recommended_key) is not None
    name = term_text(tuned.recommended_key) if named else NAME_OF_TARGET[shown.target]
    return (
        f"{name}: {layout_text(shown)}",
        fit_text(shown),
        f"{rate_text(shown)}; {step_text(shown)}",
        *_said(batch_text(tuned, shown)),
        left_text(tuned, shown),
        *_said(month_text(tuned, shown, money)),
        shown.performance.level_text,
        *(
            f"{NAME_OF_TARGET[option.target]}: {layout_text(option)}; {fit_text(option)}; {rate_text(option)}"
            for option in tuned.options
            if option is not shown
        ),
    )


def _said(text: str) -> tuple[str, ...]:
    """Return a text as the only one of its lines; no line where there is none."""
    return (text,) if text else ()


def run_details(option: Option) -> Sequence[tuple[str, Sequence[str]]]:
    """Return memory and limits of a cluster that fine-tunes, each with its title."""
    shown = finetuning_option(option)
    return (("Memory", _memory_bar(shown)), ("Limited by", _limits(shown)))


def _memory_bar(option: FinetuningOption) -> tuple[str, str]:
    performance, cluster = option.performance, option.cluster
    parts = [(name, getattr(performance.memory, field)) for name, field in MEMORY_TERMS]
    parts = [(name, size) for name, size in parts if size > 0]
    bar = "".join(
        block * round(_BAR * size / cluster.hbm_bytes_per_gpu) for (_, size), block in zip(parts, _BLOCKS, strict=False)
    )
    listed = " · ".join(f"{block} {name} {size / 1e9:.1f}" for (name, size), block in zip(parts, _BLOCKS, strict=False))
    total = f"{performance.memory_bytes.value / 1e9:.1f} of {cluster.hbm_bytes_per_gpu / 1e9:.1f} GB per accelerator"
    return f"{total}  [{bar[:_BAR].ljust(_BAR)}]", listed


def _limits(option: FinetuningOption) -> tuple[str, ...]:
    performance = option.performance
    beyond = f", then {', '.join(performance.limited_by)}" if performance.limited_by else ""
    return (
        f"multiplications and attention {percent(performance.step.multiplying)} of a step{beyond}",
        (
            f"goodput {percent(performance.goodput, digits=1)}, "
            f"after {performance.start_s / 60:.0f} min to start and load weights"
        ),
    )
