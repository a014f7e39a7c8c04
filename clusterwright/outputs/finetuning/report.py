"""The report's section on a cluster that fine-tunes: layout, memory and its fit, rate, and what a run leaves."""

from collections.abc import Sequence

from clusterwright.outputs.drawing.bar_chart import bar_chart
from clusterwright.outputs.drawing.charts import GREY, PALETTE, Bar, Segment
from clusterwright.outputs.page_parts import Cell, Chart, Table
from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningPlan, finetuning_plan
from clusterwright.plan.record import Plan
from clusterwright.plan.text.finetuning import (
    MEMORY_TERMS,
    batch_text,
    bytes_text,
    duration_text,
    layout_text,
)
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import NAME_OF_TARGET, capital, probability_text

#: Words of the section, with what they mean.
TERMS = (
    ("Fits with", "probability that the memory of an accelerator suffices, from what measured runs were off by."),
    ("FSDP", "weights, gradients and moments divided over accelerators, and gathered layer by layer."),
    ("Computed again", "activations of a layer that are not kept for the backward pass."),
)
_COLOURS = (*PALETTE[:6], PALETTE[1], GREY, GREY, PALETTE[6], PALETTE[4])


def cluster_table(plan: Plan, money: MoneyFormat) -> Table:
    """Return how each target fine-tunes: layout, memory, rate, updates, result, and what a month of runs costs."""
    tuned = finetuning_plan(plan)
    return Table(
        columns=(
            "Where",
            "Layout",
            "GB an accelerator",
            "Fits with",
            "Tokens/s an accelerator",
            "Updates",
            "A run leaves",
            "A month of runs",
            "Limited by",
        ),
        rows=tuple(_row(tuned, option, money) for option in tuned.options),
        numeric=frozenset({2, 3, 4, 5, 6, 7}),
    )


def _row(plan: FinetuningPlan, option: FinetuningOption, money: MoneyFormat) -> tuple[Cell, ...]:
    performance = option.performance
    held, rate, gpus = performance.memory_bytes, performance.tokens_per_s, performance.layout.gpus
    return (
        Cell(text=capital(NAME_OF_TARGET[option.target])),
        Cell(text=layout_text(option), detail=batch_text(plan, option)),
        Cell(
            text=f"{held.value / 1e9:.1f} of {option.cluster.hbm_bytes_per_gpu / 1e9:.0f}",
            detail=f"{held.low / 1e9:.1f} to {held.high / 1e9:.1f}",
        ),
        Cell(text=probability_text(performance.fit_probability)),
        Cell(
            text=f"{performance.tokens_per_s_per_gpu:,.0f}",
            detail=f"{rate.low / gpus:,.0f} to {rate.high / gpus:,.0f}",
        ),
        Cell(
            text=f"{performance.steps:,}",
            detail=f"{performance.step_s:.3g} s each, {duration_text(performance.train_s.value)}",
        ),
        Cell(
            text=bytes_text(performance.result_bytes),
            detail=f"{bytes_text(performance.failures.checkpoint_bytes)} a checkpoint",
        ),
        Cell(text=money.text(option.money.month_usd)),
        Cell(text="; ".join(performance.limited_by) or "multiplications"),
    )


def cluster_charts(plan: Plan) -> Sequence[Chart]:
    """Return what the memory of an accelerator holds at the peak of a step, of every target."""
    return (
        Chart(
            svg=memory_chart(finetuning_plan(plan)),
            caption=(
                "Memory of one accelerator at the peak of a step, GB (1e9 bytes), as predicted: tensors by what they "
                "are, what the allocator loses, and the context of driver and libraries."
            ),
        ),
    )


def memory_chart(plan: FinetuningPlan) -> str:
    """Return a stacked bar of one accelerator's memory per target; GB are 1e9 bytes."""
    bars = []
    for option in plan.options:
        sizes = [
            (name, getattr(option.performance.memory, field) / 1e9, colour)
            for (name, field), colour in zip(MEMORY_TERMS, _COLOURS, strict=True)
        ]
        segments = tuple(
            Segment(name=name, size=size, text=f"{size:.2f} GB", colour=colour, inside=f"{size:.1f}")
            for name, size, colour in sizes
            if size > 0
        )
        held = f"{option.performance.memory_bytes.value / 1e9:.1f} of {option.cluster.hbm_bytes_per_gpu / 1e9:.1f} GB"
        bars.append(Bar(label=NAME_OF_TARGET[option.target], segments=segments, text=held))
    return bar_chart(title="Memory of an accelerator", bars=bars, unit="GB per accelerator")
