"""Explanations of what has no price: model, time, memory, failures, and the choice of size."""

from dataclasses import fields

from clusterwright import units
from clusterwright.explain.data import data_numbers
from clusterwright.explain.failures import failure_numbers
from clusterwright.explain.memory import memory_numbers
from clusterwright.explain.offload import offload_numbers
from clusterwright.explain.records import Explanation, Input, Names, total
from clusterwright.explain.traffic import traffic_numbers
from clusterwright.plan.record import FrontPoint, Hardware, Option, TrainingOption, TrainingPlan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.words import days_text, layout_text
from clusterwright.sizing.records.job import StageMemory
from clusterwright.units import percent
from clusterwright.workload import transformer

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
        for entry in option.constraints
        if part in entry.path
    )


def explain_hardware(option: Option, unit: str = "run", *, money: MoneyFormat) -> tuple[Explanation, ...]:
    """Return how the hardware was chosen; nothing where the blueprint names it. `unit`: one unit of the work."""
    if not option.considered:
        return ()
    of = "the work of the horizon" if option.facility is not None else f"one {unit}"
    chosen = option.considered[0]
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
                for entry in option.considered
            ),
            sources=("clusterwright/plan/decide.py; clusterwright/plan/candidates/hardware.py",),
        ),
    )


def _value(entry: Hardware, money: MoneyFormat) -> str:
    if entry.nodes is None or entry.calendar_days_high is None:
        return "not sized"
    return f"{entry.nodes:,} nodes, {entry.calendar_days_high:.1f} days at most, {money.text(entry.usd)}"


_MODEL, _TRAINING = "clusterwright/sizing/model", "clusterwright/sizing/training"
#: Forward once, backward twice.
_PASSES = 3.0
_BAND = "residuals of published runs, catalog/calibration.csv; docs/accuracy.md"


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
        Explanation(
            number="flop_per_token",
            title="training FLOPs per token, forward and backward, full attention",
            value=f"{work.flop_per_token:.4g} FLOP",
            equation=(
                "6 × weights of all matrices + 12 × layers × sequence length × width of attention",
                f"6 × {weights:,} + {attention:,.0f} = {work.flop_per_token:,.0f} FLOP",
            ),
            inputs=(
                Input(name="weights of matrices", value=f"{weights:,}", source=source),
                Input(name="sequence length", value=f"{work.sequence_length:,} tokens", source="blueprint"),
                Input(name="layers", value=f"{model.layers:,}", source=source),
                Input(name="attention", value=f"{attention:,.0f} FLOP", source=source),
            ),
            sources=("Narayanan et al., SC21, eq. 3 without recomputation",),
        ),
    )


def _step(option: TrainingOption) -> Explanation:
    step = option.step
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
            Input(name="layout", value=layout_text(option.layout), source="search over layouts"),
            *held(option, "parallelism"),
        ),
        sources=("Korthikanti et al., arXiv 2205.05198; Narayanan et al., SC21", "catalog/calibration.csv"),
    )


def _compute(option: TrainingOption) -> tuple[Explanation, ...]:
    """Return the computation of a step, and of a layer in it; nothing for a plan that does not hold them."""
    of = option.compute
    if of is None:
        return ()
    layer = f"{of.layer_s * 1e3:.5f} ms"
    again = f"{of.recompute_s * 1e3:.5f} ms"
    passed = f"3 × ({of.multiplications_s * 1e3:.6f} + {of.streaming_s * 1e3:.6f} + {of.experts_s * 1e3:.6f})"
    passed += f" + {of.attention_passes:g} × {of.attention_s * 1e3:.6f} + {of.overhead_s * 1e3:.6f}"
    launched = f"√(({passed})^2 + {of.expert_launch_s * 1e3:.6f}^2)"
    rule = "3 × (matrices + memory-bound operations + experts) + passes × scores + overhead"
    return (
        Explanation(
            number="compute_s",
            title="computation of one optimizer step, on the slowest pipeline stage",
            value=f"{option.step.compute_s:.3f} s",
            equation=(
                "measured over predicted × micro-batches × (layers × layer + recomputed × recomputation + head) / 1000",
                (
                    f"{of.measured_over_predicted:.5f} × {of.micro_batches:,} × ({of.layers:g} × {layer}"
                    f" + {of.recomputed_layers:g} × {again} + {of.head_s * 1e3:.5f} ms) / 1000"
                    f" = {option.step.compute_s:.5f} s"
                ),
            ),
            inputs=(
                Input(
                    name="measured over predicted",
                    value=f"{of.measured_over_predicted:.5f}",
                    source=f"median of published runs, {_BAND}",
                ),
                Input(name="micro-batches", value=f"{of.micro_batches:,}", source="search over layouts"),
                Input(name="layers of the stage", value=f"{of.layers:g}", source="explain memory_by_stage"),
                Input(name="layer, forward and backward", value=layer, source="explain layer_s"),
                Input(name="recomputed layers", value=f"{of.recomputed_layers:g}", source=layout_text(option.layout)),
                Input(name="recomputation of a layer", value=again, source=f"{_MODEL}/compute.py"),
                Input(
                    name="output head beyond the layers",
                    value=f"{of.head_s * 1e3:.5f} ms",
                    source=f"{_MODEL}/compute.py: head_compute_s",
                ),
            ),
            sources=("Narayanan et al., SC21: the slowest stage sets the pace", "catalog/calibration.csv"),
        ),
        Explanation(
            number="layer_s",
            title="computation of one layer for one micro-batch, forward and backward",
            value=layer,
            equation=(
                f"at least the launch of the experts' kernels, √((…)^2 + launch^2), of: {rule}"
                if of.expert_launch_s
                else rule,
                f"{launched if of.expert_launch_s else passed} = {layer}",
            ),
            inputs=(
                Input(
                    name="matrices, forward",
                    value=f"{of.multiplications_s * 1e3:.6f} ms",
                    source=f"{_MODEL}/arithmetic.py: multiplication_s, at {_peak_text(option)}",
                ),
                Input(
                    name="memory-bound operations",
                    value=f"{of.streaming_s * 1e3:.6f} ms",
                    source=f"{_MODEL}/compute.py: layer_streaming_s",
                ),
                Input(
                    name="experts, forward",
                    value=f"{of.experts_s * 1e3:.6f} ms",
                    source=f"{_MODEL}/experts.py: layer_s",
                ),
                Input(
                    name="scores, forward",
                    value=f"{of.attention_s * 1e3:.6f} ms",
                    source=f"{_MODEL}/compute.py: layer_attention_s",
                ),
                Input(
                    name="passes of the scores",
                    value=f"{of.attention_passes:g}",
                    source="forward, twice backward" + (", once again" if of.attention_passes > _PASSES else ""),
                ),
                Input(name="overhead", value=f"{of.overhead_s * 1e3:.6f} ms", source="catalog/calibration.csv"),
                Input(
                    name="launch of experts",
                    value=f"{of.expert_launch_s * 1e3:.6f} ms",
                    source=f"{_MODEL}/experts.py: launch_s",
                ),
            ),
            sources=("catalog/calibration.csv; docs/accuracy.md",),
        ),
    )


def _peak_text(option: TrainingOption) -> str:
    of = option.compute
    assert of is not None  # noqa: S101 - asked where it is
    capped = f" × {of.speed_share:.4f} under the power cap" if option.power_cap_w is not None else ""
    return f"{units.text(of.peak_flop_per_s, units.FLOP_RATE)}{capped}"


def _mfu(plan: TrainingPlan, option: TrainingOption) -> tuple[Explanation, ...]:
    """Return the MFU over the documented peak; nothing for a plan that does not hold the peak."""
    if option.compute is None:
        return ()
    work, step = plan.workload, option.step
    tokens_per_step = work.global_batch_sequences * work.sequence_length
    peak = option.compute.peak_flop_per_s
    gpus = option.training_nodes * option.gpus_per_node
    return (
        Explanation(
            number="mfu",
            title="model FLOP/s over the dense peak",
            value=percent(option.mfu),
            equation=(
                "tokens of a step / (step time × GPUs) × FLOP per token / dense peak",
                (
                    f"{tokens_per_step:,} / ({step.total_s:.5f} × {gpus:,}) × {work.flop_per_token:.6g} / {peak:.6g}"
                    f" = {option.mfu:.4f}"
                ),
            ),
            inputs=(
                Input(
                    name="tokens of a step",
                    value=f"{work.global_batch_sequences:,} × {work.sequence_length:,} = {tokens_per_step:,}",
                    source="blueprint",
                ),
                Input(name="step time", value=f"{step.total_s:.5f} s", source="explain step_time"),
                Input(name="GPUs", value=f"{gpus:,}", source="explain nodes, without spares"),
                Input(name="tokens/s per GPU", value=f"{option.tokens_per_s_per_gpu:.1f}", source="tokens of a step"),
                Input(name="FLOP per token", value=f"{work.flop_per_token:.6g}", source="explain flop_per_token"),
                Input(
                    name=f"dense {work.precision} peak",
                    value=f"{peak:.6g} FLOP/s",
                    source=f"facts {option.accelerator}",
                ),
            ),
            sources=("PaLM, arXiv 2204.02311, appendix B",),
        ),
    )


def _days(plan: TrainingPlan, option: TrainingOption) -> Explanation:
    work, step = plan.workload, option.step
    tokens_per_step = work.global_batch_sequences * work.sequence_length
    steps = work.tokens / tokens_per_step
    low, high = (days / option.calendar_days for days in (option.calendar_days_low, option.calendar_days_high))
    return Explanation(
        number="calendar_days",
        title="calendar days of the run, median",
        value=days_text(option.calendar_days),
        equation=(
            "(steps × step time / goodput + start-up) / 86,400 seconds of a day",
            (
                f"({steps:,.1f} × {step.total_s:.5f} / {option.goodput:.6f} + {option.data.startup_s:.3f})"
                f" / {units.SECONDS_PER_DAY:,.0f} = {option.calendar_days:.3f} days"
            ),
        ),
        inputs=(
            Input(
                name="steps",
                value=f"{work.tokens:.6g} tokens / ({work.global_batch_sequences:,} × {work.sequence_length:,})"
                f" = {steps:,.1f}",
                source="blueprint",
            ),
            Input(name="step time", value=f"{step.total_s:.5f} s", source="explain step_time"),
            Input(name="goodput", value=f"{option.goodput:.6f}", source="explain goodput"),
            Input(name="start-up", value=f"{option.data.startup_s:.3f} s", source="explain startup"),
            Input(
                name="calendar_days_low",
                value=f"{option.calendar_days:.3f} × {low:.4f} = {option.calendar_days_low:.2f} days (P10)",
                source=_BAND,
            ),
            Input(
                name="calendar_days_high",
                value=(
                    f"{option.calendar_days:.3f} × {high:.4f} = {option.calendar_days_high:.2f} days "
                    f"(P{plan.goals.confidence * 100:.0f})"
                ),
                source=_BAND,
            ),
        ),
        sources=("band: quantiles of measured over predicted step time of published runs, docs/accuracy.md",),
    )


def _nodes(plan: TrainingPlan, option: TrainingOption, money: MoneyFormat) -> Explanation:
    goal = plan.goals.finish_within_days
    limit = "no goal for time" if goal is None else f"at most {days_text(goal)} at {percent(plan.goals.confidence)}"
    rule = "cheapest for the work of the horizon" if option.facility is not None else "cheapest for one run"
    return Explanation(
        number="nodes",
        title="size of the cluster",
        value=f"{option.nodes:,} nodes",
        equation=(
            f"of the sizes that no other beats in both nodes and days and that meet the goal, the {rule}",
            f"{option.nodes:,} × {option.gpus_per_node} = {option.gpus:,} GPUs",
        ),
        inputs=(
            Input(name="chosen", value=f"{option.nodes:,} nodes", source="the rule above"),
            Input(name="GPUs of a node", value=f"{option.gpus_per_node:,}", source=f"facts {option.instance}"),
            Input(name="goal", value=limit, source="blueprint"),
            *held(option, "nodes"),
            *(
                Input(
                    name=f"{point.nodes:,} nodes",
                    value=f"{point.calendar_days_high:.1f} days at most",
                    source=_price_of(point, money),
                )
                for point in option.front
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
    memory = option.memory_bytes_per_gpu
    terms = tuple(
        Input(name=field.name, value=f"{getattr(memory, field.name) / 1e9:.3f} GB", source=f"{_TRAINING}/memory.py")
        for field in fields(memory)
    )
    return Explanation(
        number="memory",
        title="memory of the fullest GPU",
        value=f"{memory.total / 1e9:.2f} of {option.hbm_bytes_per_gpu / 1e9:.2f} GB",
        equation=(
            " + ".join(term.name for term in terms),
            total(tuple(term.value for term in terms), f"{memory.total / 1e9:.3f} GB"),
        ),
        inputs=(
            *terms,
            Input(name="layout", value=layout_text(option.layout), source="search over layouts"),
            Input(name="parameters", value=f"{plan.workload.parameters:,}", source="explain parameters"),
        ),
        sources=(
            "states: 18 bytes per parameter, Megatron-LM theoretical_memory_usage; ZeRO, arXiv 1910.02054",
            "activations: Korthikanti et al., arXiv 2205.05198, eq. 2 to 6",
        ),
    )


def _stages(option: TrainingOption) -> Explanation:
    fullest = max(option.memory_by_stage, key=lambda entry: entry.memory.total)
    terms = tuple(
        Input(
            name=field.name,
            value=f"{getattr(fullest.memory, field.name) / 1e9:.3f} GB",
            source=f"of stage {fullest.stage}, {_TRAINING}/memory.py",
        )
        for field in fields(fullest.memory)
    )
    count = len(option.memory_by_stage)
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
                for entry in option.memory_by_stage
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
