"""Explanations of what has no price: model, time, memory, failures, and the choice of size."""

from dataclasses import fields

from clusterwright import units
from clusterwright.explain.data import data_numbers
from clusterwright.explain.failures import failure_numbers
from clusterwright.explain.memory import memory_numbers
from clusterwright.explain.offload import offload_numbers
from clusterwright.explain.records import Explanation, Input, Names, beside_work, explained, total
from clusterwright.explain.traffic import traffic_numbers
from clusterwright.plan.record import FrontPoint, Hardware, Option
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.training import choice_text, layout_text
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from clusterwright.sizing.model import compute, experts
from clusterwright.sizing.records.job import ComputeTime, StageMemory
from clusterwright.sizing.reliability.goodput import run_days
from clusterwright.sizing.training.points import model_flop_utilisation
from clusterwright.units import days_text, duration_text, percent
from clusterwright.workload import training, transformer

_NO_OFFLOAD = "nothing lies outside the accelerators: set workload.offload"
#: Names that only plans of training have.
NAMES = Names(
    also={
        "memory_bytes_per_gpu": "memory",
        "layout": "memory_by_stage",
        "memory_allocated_bytes_per_gpu": "memory_allocated",
        "fit_probability": "memory_margin",
        "memory_confidence": "memory_margin",
        "memory_reserved_bytes_per_gpu": "memory_reserved",
        "optimizer": "optimizer_state",
        "offload": "host_memory",
        "offload_s": "offload_time",
        "compute": "compute_s",
        "tokens_per_s_per_gpu": "mfu",
        "peak": "mfu",
        "peak_flop_per_s": "mfu",
        "step": "step_time",
        "network": "traffic",
        "failures": "goodput",
        "data": "data_loading",
    },
    absent={"host_memory": _NO_OFFLOAD, "offload_time": _NO_OFFLOAD},
)


def held(option: TrainingOption, part: str) -> tuple[Input, ...]:
    """Return what the blueprint holds of a target, where its path has this part: `nodes` or `parallelism`."""
    return tuple(
        Input(name=entry.path.rpartition(".")[2], value=entry.value, source=f"blueprint, {entry.path}")
        for entry in option.design.constraints
        if part in entry.path
    )


def explain_hardware(option: Option, unit: str = "run", *, money: MoneyFormat) -> tuple[Explanation, ...]:
    """Return how the hardware was chosen; nothing where the blueprint names it. `unit`: one unit of the work."""
    design = option.design
    if not design.considered:
        return ()
    of = "the work of the horizon" if design.facility is not None else f"one {unit}"
    chosen = design.considered[0]
    return (
        Explanation(
            number="hardware",
            title="instance type or system that was chosen",
            value=chosen.name,
            equation=(
                f"of the hardware that meets the goal, the best size of each compared, the cheapest for {of}",
                f"{chosen.name}: {money.text(chosen.usd)}",
            ),
            inputs=tuple(
                Input(name=entry.name, value=_value(entry, money), source=entry.reason or "chosen")
                for entry in design.considered
            ),
            sources=("clusterwright/plan/decide.py; clusterwright/plan/candidates/hardware.py",),
        ),
    )


def _value(entry: Hardware, money: MoneyFormat) -> str:
    if entry.nodes is None or entry.calendar_days_high is None:
        return "not sized"
    return f"{entry.nodes:,} nodes, {entry.calendar_days_high:.1f} days at most, {money.text(entry.usd)}"


_MODEL, _TRAINING = "clusterwright/sizing/model", "clusterwright/sizing/training"
_BAND = "residuals of published runs, catalog/calibration.csv; clusterwright docs accuracy"


def sizing_numbers(plan: TrainingPlan, option: TrainingOption, money: MoneyFormat) -> tuple[Explanation, ...]:
    """Return the explanations of one target's size, time and memory."""
    return (
        *_model(plan),
        _step(option),
        *_compute(option),
        *_mfu(plan, option),
        _days(plan, option),
        _nodes(plan, option, money),
        *explain_hardware(option, money=money),
        _memory(plan, option),
        *memory_numbers(plan, option),
        _stages(option),
        *offload_numbers(plan, option),
        *traffic_numbers(option),
        *failure_numbers(plan, option),
        *data_numbers(plan, option),
    )


def _model(plan: TrainingPlan) -> tuple[Explanation, Explanation]:
    work = plan.workload
    model = work.architecture
    tables = transformer.embedding_parameters(model) + transformer.head_parameters(model)
    weights = transformer.matrix_weights_per_token(model)
    attention = transformer.attention_flops_per_token(model, sequence_length=work.sequence_length, causal=False)
    source = f"{work.model_file}, beside the blueprint" if work.model_file else f"facts {model.id}"
    return (
        Explanation(
            number="parameters",
            title="parameters of the model",
            value=f"{work.parameters:,}",
            equation=(
                "token and position tables, output matrix + attention, MLP, norms and biases of every layer",
                total((f"{tables:,}", f"{work.parameters - tables:,}"), f"{work.parameters:,}"),
            ),
            inputs=(
                Input(
                    name="tables and output matrix", value=f"{tables:,}", source="vocabulary × hidden, and positions"
                ),
                Input(name="all layers", value=f"{work.parameters - tables:,}", source="workload/transformer.py"),
                Input(name="layers", value=f"{model.layers:,}", source=source),
                Input(name="hidden", value=f"{model.hidden:,}", source=source),
                Input(name="MLP width", value=f"{model.ffn_hidden:,}", source=source),
                Input(name="vocabulary", value=f"{model.vocab:,}", source=source),
            ),
            sources=("clusterwright/workload/transformer.py: parameters",),
        ),
        explained(
            transformer.flops_per_token.record(weights=weights, attention_flops=attention),
            number="flop_per_token",
            title="training FLOPs per token, forward and backward, full attention",
            value=f"{work.flop_per_token:.4g} FLOP",
            result="{:,.0f} FLOP",
            held=work.flop_per_token,
            origins={"weights": source, "attention_flops": source},
            more=(
                Input(name="sequence length", value=f"{work.sequence_length:,} tokens", source="blueprint"),
                Input(name="layers", value=f"{model.layers:,}", source=source),
            ),
        ),
    )


def _step(option: TrainingOption) -> Explanation:
    step = option.performance.step
    parts = tuple(
        Input(name=field.name, value=f"{getattr(step, field.name):.5f} s", source=f"{_TRAINING}/step.py")
        for field in fields(step)
    )
    return Explanation(
        number="step_time",
        title="time of one optimizer step",
        value=f"{step.total_s:.3f} s",
        equation=(
            "sum of the parts that are not hidden behind others",
            total(tuple(part.value for part in parts), f"{step.total_s:.5f} s"),
        ),
        inputs=(
            *parts,
            Input(name="layout", value=layout_text(option.performance.layout), source="search over layouts"),
            *(
                (Input(name="why this layout", value=said, source="workload.parallelism.tolerance"),)
                if (said := choice_text(option))
                else ()
            ),
            *held(option, "parallelism"),
        ),
        sources=("Korthikanti et al., arXiv 2205.05198; Narayanan et al., SC21", "catalog/calibration.csv"),
    )


def _compute(option: TrainingOption) -> tuple[Explanation, ...]:
    """Return the computation of a step, and of a layer in it; nothing for a plan that does not hold them."""
    performance = option.performance
    of = performance.compute
    if of is None:
        return ()
    return (
        explained(
            of.recorded(),
            number="compute_s",
            title="computation of one optimizer step, on the slowest pipeline stage",
            value=f"{performance.step.compute_s:.3f} s",
            result="{:.5f} s",
            held=performance.step.compute_s,
            origins={
                "measured_over_predicted": f"median of published runs, {_BAND}",
                "micro_batches": "search over layouts",
                "layers": "explain memory_by_stage",
                "layer_s": "explain layer_s",
                "recomputed_layers": layout_text(performance.layout),
                "recompute_s": f"{_MODEL}/compute.py",
                "head_s": f"{_MODEL}/compute.py: head_compute_s",
            },
            sources=("catalog/calibration.csv",),
        ),
        _layer(option, of),
    )


def _layer(option: TrainingOption, of: ComputeTime) -> Explanation:
    once = compute.layer_s.record(
        multiplied_s=of.multiplications_s,
        streamed_s=of.streaming_s,
        experts_s=of.experts_s,
        scores_passes=of.attention_passes,
        attended_s=of.attention_s,
        overhead_s=of.overhead_s,
    )
    origins = {
        "multiplied_s": f"{_MODEL}/arithmetic.py: multiplication_s, at {_peak_text(option, of)}",
        "streamed_s": f"{_MODEL}/compute.py: layer_streaming_s",
        "experts_s": f"{_MODEL}/experts.py: layer_s",
        "attended_s": f"{_MODEL}/compute.py: layer_attention_s",
        "scores_passes": "forward, twice backward" + (", once again" if of.attention_passes > compute.PASSES else ""),
        "overhead_s": "catalog/calibration.csv",
        "launch_s": f"{_MODEL}/experts.py: launch_s",
    }
    title, value, result = (
        "computation of one layer for one micro-batch, forward and backward",
        f"{of.layer_s * 1e3:.5f} ms",
        "{:.5f} ms",
    )
    if not of.expert_launch_s:
        return explained(
            once, number="layer_s", title=title, value=value, result=result, held=of.layer_s, origins=origins, scale=1e3
        )
    launched = experts.at_least_launched.record(time_s=once.result, launch_s=of.expert_launch_s)
    return explained(
        launched,
        number="layer_s",
        title=title,
        value=value,
        result=result,
        held=of.layer_s,
        origins=origins | {"time_s": f"{once.rule}; {once.filled}"},
        more=tuple(
            Input(name=once.terms[name].words, value=once.text(name), source=origins[name]) for name in once.terms
        ),
        scale=1e3,
    )


def _peak_text(option: TrainingOption, of: ComputeTime) -> str:
    capped = f" × {of.speed_share:.4f} under the power cap" if option.cluster.power_cap_w is not None else ""
    return f"{units.text(of.peak_flop_per_s, units.FLOP_RATE)}{capped}"


def _mfu(plan: TrainingPlan, option: TrainingOption) -> tuple[Explanation, ...]:
    """Return the MFU over the documented peak; nothing for a plan that does not hold the peak."""
    performance = option.performance
    if performance.compute is None:
        return ()
    work = plan.workload
    recorded = model_flop_utilisation.record(
        tokens_per_step=work.global_batch_sequences * work.sequence_length,
        step_s=performance.step.total_s,
        gpus=option.training_nodes * option.cluster.gpus_per_node,
        flop_per_token=work.flop_per_token,
        peak_flop_per_s=performance.compute.peak_flop_per_s,
    )
    return (
        explained(
            recorded,
            number="mfu",
            title="model FLOP/s over the dense peak",
            value=percent(performance.mfu),
            result="{:.4f}",
            held=performance.mfu,
            origins={
                "tokens_per_step": f"{work.global_batch_sequences:,} sequences × {work.sequence_length:,}, blueprint",
                "step_s": "explain step_time",
                "gpus": "explain nodes, without spares",
                "flop_per_token": "explain flop_per_token",
                "peak_flop_per_s": f"facts {option.cluster.accelerator}, {work.precision}",
            },
            more=(
                Input(
                    name="tokens/s per GPU",
                    value=f"{performance.tokens_per_s_per_gpu:.1f}",
                    source="tokens of a step",
                ),
            ),
        ),
    )


def _days(plan: TrainingPlan, option: TrainingOption) -> Explanation:
    performance = option.performance
    work = plan.workload
    low, high = (
        days / performance.calendar_days for days in (performance.calendar_days_low, performance.calendar_days_high)
    )
    recorded = run_days.record(
        steps=training.steps(
            tokens=work.tokens,
            sequence_length=work.sequence_length,
            global_batch_sequences=work.global_batch_sequences,
        ),
        step_s=performance.step.total_s,
        productive=performance.goodput,
        startup_s=performance.data.startup_s,
    )
    return explained(
        recorded,
        number="calendar_days",
        title="calendar days of the run, median",
        value=days_text(performance.calendar_days),
        result="{:.3f} days",
        held=performance.calendar_days,
        origins={
            "steps": f"{work.tokens:.6g} tokens / ({work.global_batch_sequences:,} × {work.sequence_length:,})",
            "step_s": "explain step_time",
            "productive": "explain goodput",
            "startup_s": "explain startup",
        },
        more=(
            Input(
                name="calendar_days_low",
                value=f"{performance.calendar_days:.3f} × {low:.4f} = {performance.calendar_days_low:.2f} days (P10)",
                source=_BAND,
            ),
            Input(
                name="calendar_days_high",
                value=(
                    f"{performance.calendar_days:.3f} × {high:.4f} = {performance.calendar_days_high:.2f} days "
                    f"(P{plan.goals.confidence * 100:.0f})"
                ),
                source=_BAND,
            ),
        ),
        sources=(
            "band: quantiles of measured over predicted step time of published runs, clusterwright docs accuracy",
        ),
    )


def _nodes(plan: TrainingPlan, option: TrainingOption, money: MoneyFormat) -> Explanation:
    cluster = option.cluster
    goal = plan.goals.finish_within_days
    limit = "no goal for time" if goal is None else f"at most {duration_text(goal)} at {percent(plan.goals.confidence)}"
    rule = "cheapest for the work of the horizon" if option.design.facility is not None else "cheapest for one run"
    return Explanation(
        number="nodes",
        title="size of the cluster",
        value=f"{cluster.nodes:,} nodes",
        equation=(
            f"of the sizes that no other beats in nodes and days and that meet the goal, by fastest layout, the {rule}",
            f"{cluster.nodes:,} × {cluster.gpus_per_node} = {cluster.gpus:,} GPUs",
        ),
        inputs=(
            Input(name="chosen", value=f"{cluster.nodes:,} nodes", source="the rule above"),
            Input(
                name="GPUs of a node",
                value=f"{cluster.gpus_per_node:,}",
                source=f"facts {cluster.instance}",
            ),
            Input(name="goal", value=limit, source="blueprint"),
            *beside_work(option),
            *held(option, "nodes"),
            *(
                Input(
                    name=f"{point.nodes:,} nodes",
                    value=f"{point.calendar_days_high:.1f} days at most",
                    source=_price_of(point, money),
                )
                for point in option.performance.front
            ),
        ),
        sources=("clusterwright/sizing/training/search.py; clusterwright/plan/candidates/consider.py",),
    )


def _price_of(point: FrontPoint, money: MoneyFormat) -> str:
    """Return what a run takes on a size, in cash or as its share."""
    if point.run_usd is not None:
        return f"{money.text(point.run_usd)} a run"
    return (
        "run not priced" if point.run_share_usd is None else f"{money.text(point.run_share_usd)} is the share of a run"
    )


def _memory(plan: TrainingPlan, option: TrainingOption) -> Explanation:
    memory = option.performance.memory_bytes_per_gpu
    terms = tuple(
        Input(name=field.name, value=f"{getattr(memory, field.name) / 1e9:.3f} GB", source=f"{_TRAINING}/memory.py")
        for field in fields(memory)
    )
    return Explanation(
        number="memory",
        title="memory of the fullest GPU",
        value=f"{memory.total / 1e9:.2f} of {option.cluster.hbm_bytes_per_gpu / 1e9:.2f} GB",
        equation=(
            " + ".join(term.name for term in terms),
            total(tuple(term.value for term in terms), f"{memory.total / 1e9:.3f} GB"),
        ),
        inputs=(
            *terms,
            Input(name="layout", value=layout_text(option.performance.layout), source="search over layouts"),
            Input(name="parameters", value=f"{plan.workload.parameters:,}", source="explain parameters"),
        ),
        sources=(
            "states: 18 bytes per parameter, Megatron-LM theoretical_memory_usage; ZeRO, arXiv 1910.02054",
            "activations: Korthikanti et al., arXiv 2205.05198, eq. 2 to 6",
        ),
    )


def _stages(option: TrainingOption) -> Explanation:
    performance = option.performance
    fullest = max(performance.memory_by_stage, key=lambda entry: entry.memory.total)
    terms = tuple(
        Input(
            name=field.name,
            value=f"{getattr(fullest.memory, field.name) / 1e9:.3f} GB",
            source=f"of stage {fullest.stage}, {_TRAINING}/memory.py",
        )
        for field in fields(fullest.memory)
    )
    count = len(performance.memory_by_stage)
    return Explanation(
        number="memory_by_stage",
        title="memory of a GPU of each pipeline stage",
        value=f"stage {fullest.stage} of 0 to {count - 1} is the fullest, {fullest.memory.total / 1e9:.2f} GB",
        equation=(
            "states + layers × what a layer keeps × micro-batches in flight + logits, on the fullest stage",
            total(tuple(term.value for term in terms), f"{fullest.memory.total / 1e9:.3f} GB"),
        ),
        inputs=(
            *(
                Input(
                    name=f"stage {entry.stage}",
                    value=f"{entry.memory.total / 1e9:.3f} GB",
                    source=_stage_words(entry),
                )
                for entry in performance.memory_by_stage
            ),
            *terms,
        ),
        sources=(
            f"{_TRAINING}/stages.py; in flight: Narayanan et al., SC21, section 2.2",
            "ZB-H1: Qi et al., arXiv 2401.10241, table 2; DualPipe: DeepSeek-V3, arXiv 2412.19437, table 2",
        ),
    )


def _stage_words(entry: StageMemory) -> str:
    experts = f", {entry.expert_layers:g} of them with experts" if entry.expert_layers else ""
    held = entry.memory
    states = held.weights + held.gradients + held.optimizer
    return (
        f"{entry.layers:g} layers{experts}; {entry.micro_batches_in_flight:.4g} micro-batches in flight; states "
        f"{states / 1e9:.2f}, activations {held.activations / 1e9:.2f}, logits {held.logits / 1e9:.2f} GB"
    )
