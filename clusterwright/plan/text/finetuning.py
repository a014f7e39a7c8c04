"""The numbers of a fine-tuning run as words, the same wherever they are shown: layout, memory, rate, what it leaves."""

from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningPlan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import amount_text, probability_text
from clusterwright.sizing.finetuning.job import ALL, NODE
from clusterwright.units import percent

#: Terms of memory as they are called, and their fields.
MEMORY_TERMS = (
    ("weights", "weights"),
    ("adapters", "adapters"),
    ("gradients", "gradients"),
    ("moments", "optimizer"),
    ("activations", "activations"),
    ("logits", "logits"),
    ("buffers", "buffers"),
    ("allocator", "allocator"),
    ("context", "context"),
    ("vLLM", "serving_weights"),
    ("vLLM's cache", "serving_cache"),
)
_MINUTE_S, _HOUR_S = 60.0, 3600.0


def layout_text(option: FinetuningOption) -> str:
    """Return how the run lies on accelerators."""
    performance = option.performance
    layout = performance.layout
    idle = f" ({performance.idle_gpus} idle, paid for)" if performance.idle_gpus else ""
    parts = [f"{layout.gpus:,} × {option.cluster.accelerator_name}{idle}"]
    if layout.tensor > 1:
        parts.append(f"TP {layout.tensor}")
    if layout.data > 1:
        divided = {ALL: "FSDP over all", NODE: f"FSDP over {layout.shards}, copies beyond"}
        parts.append(divided.get(layout.sharding, f"{layout.data:,} copies"))
    parts.append(f"{layout.micro_batch} × {layout.data:,} × {layout.accumulation:,} sequences an update")
    parts.append("all layers computed again" if layout.recompute else "nothing computed again")
    return ", ".join(parts)


def fit_text(option: FinetuningOption) -> str:
    """Return the memory of an accelerator with its band, and how likely it fits."""
    performance = option.performance
    held = performance.memory_bytes
    return (
        f"{held.value / 1e9:.1f} GB ({held.low / 1e9:.1f} to {held.high / 1e9:.1f}) of "
        f"{option.cluster.hbm_bytes_per_gpu / 1e9:.1f} GB: "
        f"fits with {probability_text(performance.fit_probability)} probability"
    )


def rate_text(option: FinetuningOption) -> str:
    """Return tokens per second with their band, and of one accelerator."""
    performance = option.performance
    rate = performance.tokens_per_s
    return (
        f"{rate.value:,.0f} tokens/s ({rate.low:,.0f} to {rate.high:,.0f}), {performance.tokens_per_s_per_gpu:,.0f} an "
        "accelerator"
    )


def step_text(option: FinetuningOption) -> str:
    """Return the updates of a run and how long one takes."""
    performance = option.performance
    return f"{performance.steps:,} updates of {performance.step_s:.3g} s, {duration_text(performance.train_s.value)}"


def rollouts_text(option: FinetuningOption) -> str:
    """Return the share of the time in which answers are generated and scored; empty where all are given."""
    performance = option.performance
    if performance.rollouts is None:
        return ""
    step = performance.step
    return (
        f"generating answers with vLLM beside training takes {percent(step.generating)} of the time, scoring them "
        f"{percent(step.scoring + step.reference)}"
    )


def batch_text(plan: FinetuningPlan, option: FinetuningOption) -> str:
    """Return how a batch of answers is generated and scored; empty where all are given."""
    rollouts, work = option.performance.rollouts, plan.workload
    if rollouts is None or work.rollouts is None:
        return ""
    together = option.performance.layout.generation_tensor
    workers = f"{rollouts.workers:,} × vLLM" + (f" on {together} accelerators each" if together > 1 else "")
    groups = work.global_batch_sequences // work.rollouts.answers
    updates = work.rollouts.updates
    return (
        f"a batch: {groups:,} prompts × {work.rollouts.answers:,} answers, the longest of a worker "
        f"{rollouts.longest_tokens:,.0f} tokens; {rollouts.generating_s:.3g} s to generate them ({workers}, "
        f"{rollouts.slots:,} of {rollouts.answers:,} at a time), {rollouts.scoring_s:.3g} s to score them, then "
        f"{updates} update{'s' if updates > 1 else ''}"
    )


def duration_text(seconds: float) -> str:
    """Return a length of time in minutes or hours.

    >>> duration_text(600), duration_text(9000)
    ('10 min', '2.5 h')
    """
    return f"{seconds / _MINUTE_S:.0f} min" if seconds < 2 * _HOUR_S else f"{seconds / _HOUR_S:.1f} h"


def left_text(plan: FinetuningPlan, option: FinetuningOption) -> str:
    """Return what is trained, and the bytes that a run leaves."""
    performance = option.performance
    trained, every = plan.workload.trained_parameters, plan.workload.parameters
    if plan.workload.method == "full":
        return (
            f"trains all {count_text(every)} weights: a run leaves {bytes_text(performance.result_bytes)}, a "
            f"checkpoint takes {bytes_text(performance.failures.checkpoint_bytes)}"
        )
    return (
        f"trains {count_text(trained)} weights ({percent(trained / every, digits=2)}): a run leaves "
        f"{bytes_text(performance.result_bytes)} ({bytes_text(performance.merged_bytes)} merged), a checkpoint takes "
        f"{bytes_text(performance.failures.checkpoint_bytes)}"
    )


def month_text(plan: FinetuningPlan, option: FinetuningOption, money: MoneyFormat) -> str:
    """Return what a month of runs costs; empty where that is unknown."""
    if option.money.month_usd is None:
        return ""
    runs = option.money.runs_in_horizon / plan.economics.horizon_months
    return f"{amount_text(runs, plan.workload.unit)} a month: {money.text(option.money.month_usd)} a month"


def count_text(number: float) -> str:
    """Return a number of weights.

    >>> count_text(8.03e9), count_text(41_943_040)
    ('8.03 B', '41.9 M')
    """
    return f"{number / 1e9:.3g} B" if number >= 1e9 else f"{number / 1e6:.3g} M"  # noqa: PLR2004 - a billion


def bytes_text(number: float) -> str:
    """Return bytes of files.

    >>> bytes_text(8.4e7), bytes_text(1.41e11)
    ('84 MB', '141 GB')
    """
    for size, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number / 1e3:.3g} kB"
