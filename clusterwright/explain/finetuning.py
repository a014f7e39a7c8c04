"""How a fine-tuning run was sized: weights that are trained, memory and its fit, rate, time, nodes, what it leaves."""

from types import MappingProxyType

from clusterwright.explain.records import Explanation, Input, Names, beside_work, exact, explained, total
from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningPlan
from clusterwright.plan.text.finetuning import (
    MEMORY_TERMS,
    bytes_text,
    count_text,
    layout_text,
    step_text,
)
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import probability_text
from clusterwright.sizing.reliability.goodput import run_days
from clusterwright.units import percent

_BANDS = "rows left out of the fit, catalog/finetuning_bands.csv; clusterwright docs finetuning-accuracy"
_FACTORS = "catalog/finetuning_factors.csv"
#: What generates answers has factors of its own; terms and parts that come from them.
_OTHERS = MappingProxyType(
    {
        "serving_weights": "catalog/serving_factors.csv",
        "serving_cache": "answers at a time, explain generating_s",
        "scoring": "forward passes, explain generating_s",
        "generating": "explain generating_s",
    }
)
_PRACTICES = "catalog/finetuning_practices.csv, or the blueprint"
_PADDED = "workload.rollouts; padded to the longest of an accelerator"
_SECONDS_PER_DAY = 86400
_PARTS = (
    "multiplying",
    "element_wise",
    "unpacking",
    "gathering",
    "uncompiled",
    "tensor_parallel",
    "host_memory",
    "updating",
    "reference",
    "scoring",
    "generating",
)

#: Names that only plans of fine-tuning have.
NAMES = Names(
    also={
        "memory": "memory_bytes",
        "memory_gb": "memory_bytes",
        "fit": "fit_probability",
        "tokens_per_s_per_gpu": "tokens_per_s",
        "layout": "nodes",
        "result_bytes": "checkpoint",
        "merged_bytes": "checkpoint",
        "train_s": "calendar_days",
        "hours": "calendar_days",
        "steps": "calendar_days",
        "generating": "generating_s",
        "rollouts": "generating_s",
    },
)


def finetuning_numbers(plan: FinetuningPlan, option: FinetuningOption, money: MoneyFormat) -> tuple[Explanation, ...]:
    """Return the explanations of one target's run."""
    return (
        _trained(plan),
        _memory(option),
        _fit(option),
        _rate(plan, option),
        *_generating(plan, option),
        _days(plan, option),
        _nodes(plan, option),
        _checkpoint(plan, option),
        *_month(plan, option, money),
    )


def _input(name: str, value: str, source: str = "blueprint") -> Input:
    return Input(name=name, value=value, source=source)


def _trained(plan: FinetuningPlan) -> Explanation:
    work = plan.workload
    rule = {
        "full": "all weights of the model",
        "adapter": "layers × 4 × width of the model × bottleneck",
        "prompt": "tokens of the prompt × width of the model",
    }.get(work.method, "layers × sum over the matrices of rank × (inputs + outputs)")
    return Explanation(
        number="trained_parameters",
        title="weights that are trained",
        value=f"{work.trained_parameters:,.0f} ({percent(work.trained_parameters / work.parameters, digits=2)})",
        equation=(rule if work.rank or work.method == "full" else "share of the weights, workload.trainable",),
        inputs=(
            _input("weights of the model", f"{work.parameters:,}", f"facts {work.model}"),
            _input("rank", f"{work.rank:g}" if work.rank else "none", _PRACTICES),
            _input("matrices", ", ".join(work.targets) or "all", _PRACTICES),
        ),
        sources=("LoRA, arXiv 2106.09685, section 4.1", "clusterwright/sizing/finetuning/configuration.py"),
    )


def _memory(option: FinetuningOption) -> Explanation:
    performance = option.performance
    terms = [(name, getattr(performance.memory, field), field) for name, field in MEMORY_TERMS]
    held = performance.memory_bytes
    engine = "" if performance.rollouts is None else "; the engine that generates answers is included"
    return Explanation(
        number="memory_bytes",
        title="memory of one accelerator at the peak of a step",
        value=f"{held.value / 1e9:.2f} GB ({held.low / 1e9:.2f} to {held.high / 1e9:.2f})",
        equation=(
            f"the most of three moments: at the loss, at the start of the backward pass, at its end{engine}; in GB",
            total(tuple(f"{size / 1e9:.2f}" for _, size, _ in terms if size > 0), f"{held.value / 1e9:.2f}"),
        ),
        inputs=(
            *(
                _input(name, f"{size / 1e9:.2f} GB", _OTHERS.get(field, _FACTORS))
                for name, size, field in terms
                if size > 0
            ),
            _input("layout", layout_text(option), "searched, or workload.parallelism"),
            _input("band", f"{held.low / 1e9:.2f} to {held.high / 1e9:.2f} GB, P10 to P90", _BANDS),
        ),
        sources=("clusterwright/sizing/finetuning/memory.py", performance.level_text),
    )


def _fit(option: FinetuningOption) -> Explanation:
    performance, cluster = option.performance, option.cluster
    held = performance.memory_bytes
    return Explanation(
        number="fit_probability",
        title="probability that the run fits into memory",
        value=probability_text(performance.fit_probability),
        equation=(
            "normal distribution of ln(measured / predicted) with the band's P90 (or P10 where less than half)",
            (
                f"ln({cluster.hbm_bytes_per_gpu / 1e9:.2f} / {held.value / 1e9:.2f}) / (ln({held.high / 1e9:.2f} / "
                f"{held.value / 1e9:.2f}) / 1.2816): {performance.fit_probability:.4f}"
            ),
        ),
        inputs=(
            _input(
                "memory of the accelerator",
                f"{cluster.hbm_bytes_per_gpu / 1e9:.2f} GB",
                f"facts {cluster.instance}",
            ),
            _input("predicted", f"{held.value / 1e9:.2f} GB", "explain memory_bytes"),
        ),
        sources=(_BANDS,),
    )


def _rate(plan: FinetuningPlan, option: FinetuningOption) -> Explanation:
    performance = option.performance
    generated = plan.workload.rollouts is not None
    counted = "; a token counts in every update that has it, with its prompt" if generated else ""
    rate, step = performance.tokens_per_s, performance.step
    return Explanation(
        number="tokens_per_s",
        title="tokens per second of all accelerators",
        value=f"{rate.value:,.0f} ({rate.low:,.0f} to {rate.high:,.0f})",
        equation=(
            f"accelerators / seconds of a token on one of them; parts as shares of a step{counted}",
            f"{performance.layout.gpus:,} × {performance.tokens_per_s_per_gpu:,.1f} = {rate.value:,.0f} tokens/s",
        ),
        inputs=(
            *(
                _input(name.replace("_", " "), percent(getattr(step, name), digits=1), _OTHERS.get(name, _FACTORS))
                for name in _PARTS
                if getattr(step, name) > 0
            ),
            _input("band", f"{rate.low:,.0f} to {rate.high:,.0f}, P10 to P90", _BANDS),
        ),
        sources=("clusterwright/sizing/finetuning/throughput.py: token_time", performance.level_text),
    )


def _generating(plan: FinetuningPlan, option: FinetuningOption) -> tuple[Explanation, ...]:
    rollouts, found = plan.workload.rollouts, option.performance.rollouts
    if rollouts is None or found is None:
        return ()
    step = option.performance.step
    share = percent(step.generating, digits=1)
    return (
        Explanation(
            number="generating_s",
            title="time in which a batch of answers is generated",
            value=f"{found.generating_s:.2f} s, {share} of the time",
            equation=(
                (
                    "prompts × their computing + steps of answers that wait for a place + sum over lengths of the "
                    "probability that any answer is longer × seconds of a step with those left"
                ),
                f"{found.prefill_s:.3g} + {found.decode_s:.4g} = {found.generating_s:.4g} s",
            ),
            inputs=(
                _input("workers", f"{found.workers:,} of {option.performance.layout.generation_tensor} accelerators"),
                _input("answers of a worker", f"{found.answers:,}", "workload.global_batch / workers"),
                _input("at a time", f"{found.slots:,}", "memory that training leaves, explain memory_bytes"),
                _input("prompt", f"{rollouts.prompt_tokens:,.6g} tokens", "workload.rollouts"),
                _input(
                    "answers",
                    f"mean {rollouts.answer_tokens:,.6g}, P95 {rollouts.answer_p95_tokens:,.6g}, cut at "
                    f"{rollouts.longest_answer_tokens:,.6g} tokens: the longest of a worker "
                    f"{found.longest_tokens:,.0f}",
                    "workload.rollouts, log-normal",
                ),
                _input("seconds of a step", "decoding and prefill of vLLM", "catalog/serving_factors.csv"),
                _input("scoring", f"{found.scoring_s:.3g} s", "forward passes over the batch, as training has them"),
                _input("updates", f"{rollouts.updates}, of sequences of {found.trained_tokens:,.0f} tokens", _PADDED),
            ),
            sources=("clusterwright/sizing/finetuning/rollouts.py; clusterwright docs serving-accuracy",),
        ),
    )


def _days(plan: FinetuningPlan, option: FinetuningOption) -> Explanation:
    performance = option.performance
    hours = performance.calendar_days * 24
    recorded = run_days.record(
        steps=performance.steps,
        step_s=performance.step_s,
        productive=performance.goodput,
        startup_s=performance.start_s,
    )
    return explained(
        recorded,
        number="calendar_days",
        title="time of a run",
        value=(
            f"{hours:.2f} hours ({performance.calendar_days_low * 24:.2f} to {performance.calendar_days_high * 24:.2f})"
        ),
        result="{:.5f} days",
        held=performance.calendar_days,
        origins={
            "steps": f"{step_text(option)}: sequences / workload.global_batch, rounded up",
            "step_s": "tokens of an update / explain tokens_per_s",
            "productive": "failures and checkpoints, clusterwright docs reliability",
            "startup_s": "reliability.restart, or catalog/calibration.csv",
        },
        more=(
            _input("tokens of a run", f"{plan.workload.tokens:,.0f}", "workload.data"),
            _input("high end", f"{percent(plan.goals.confidence)} confidence", "goals.confidence; " + _BANDS),
        ),
        sources=(performance.level_text,),
    )


def _nodes(plan: FinetuningPlan, option: FinetuningOption) -> Explanation:
    cluster, performance = option.cluster, option.performance
    goal = plan.goals.finish_within_days
    return Explanation(
        number="nodes",
        title="nodes of the run",
        value=f"{cluster.nodes:,} × {cluster.instance}",
        equation=(
            "of the numbers of nodes on which the run fits and its batch divides, the cheapest that meets the goal",
            layout_text(option),
        ),
        inputs=(
            _input("goal", "none" if goal is None else f"{goal * 24:g} hours", "goals.finish_within"),
            *beside_work(option),
            _input("idle accelerators", str(performance.idle_gpus), "whole nodes are paid for"),
            *(
                _input(f"{point.nodes} nodes", f"{point.calendar_days_high * 24:.2f} hours at most", "searched")
                for point in performance.front
            ),
        ),
        sources=("clusterwright/sizing/finetuning/search.py; clusterwright/plan/decide.py",),
    )


def _checkpoint(plan: FinetuningPlan, option: FinetuningOption) -> Explanation:
    performance = option.performance
    work, size = plan.workload, performance.failures.checkpoint_bytes
    each = size / work.trained_parameters
    return Explanation(
        number="checkpoint",
        title="bytes of a checkpoint, and what a run leaves",
        value=f"{bytes_text(size)}; a run leaves {bytes_text(performance.result_bytes)}",
        equation=(
            "trained weights × bytes of a weight and its moments in the file",
            (
                f"{count_text(work.trained_parameters)} × {each:g} bytes = {bytes_text(size)}; result × 2 bytes = "
                f"{bytes_text(performance.result_bytes)}; merged into the model {bytes_text(performance.merged_bytes)}"
            ),
        ),
        inputs=(
            _input("trained weights", f"{work.trained_parameters:,.0f}", "explain trained_parameters"),
            _input("kept", str(option.design.storage.checkpoints_kept), "reliability.checkpoint.keep"),
        ),
        sources=("clusterwright/plan/finetuning/job.py",),
    )


def _month(plan: FinetuningPlan, option: FinetuningOption, money: MoneyFormat) -> tuple[Explanation, ...]:
    if option.money.month_usd is None or option.money.horizon_usd is None:
        return ()
    months = plan.economics.horizon_months
    return (
        Explanation(
            number="month_usd",
            title="cost of a month of runs, mean of the horizon",
            value=exact(option.money.month_usd, money),
            equation=(
                "cost of the horizon / its months",
                f"{exact(option.money.horizon_usd, money)} / {months:g} = {exact(option.money.month_usd, money)}",
            ),
            inputs=(
                _input("runs of the horizon", f"{option.money.runs_in_horizon:,.6g}", "economics"),
                _input("cost of the horizon", exact(option.money.horizon_usd, money), "explain horizon_usd"),
            ),
            sources=("clusterwright docs money",),
        ),
    )
