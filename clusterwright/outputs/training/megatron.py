"""Arguments of Megatron-LM's `pretrain_gpt.py` for a plan: model, layout, batch, precision, checkpoints.

Names are those of `megatron/training/arguments.py` (github.com/NVIDIA/Megatron-LM), core 0.12 and newer for
`--ckpt-format`, `--save-retain-interval`, `--account-for-embedding-in-pipeline-split`, multi-latent attention and
Megatron-FSDP (`--use-megatron-fsdp` with what its README requires), core 0.13 for `--fp8-recipe blockwise` and `mxfp8`,
`--mtp-num-layers` and `--pipeline-model-parallel-layout` (these two releases from memory), core 0.15 for
`--fp4-format`, core 0.16 for `dist_muon`; the others are older.
"""

import math
import shlex
from dataclasses import dataclass

from clusterwright.catalog.records import Model
from clusterwright.outputs.training.megatron_layout import layout_arguments, uses_fsdp
from clusterwright.plan.text.training import SCHEDULE_NAMES
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from clusterwright.sizing.model.shapes import trained_layers
from clusterwright.sizing.records.job import Layout, OffloadNeed
from clusterwright.sizing.records.offload import ACTIVATIONS, OPTIMIZER, PARAMETERS

#: Recipes of Transformer Engine: `delayed` scales each tensor by its history, `blockwise` every 128 elements, `mxfp8`
#: every 32, `nvfp4` every 16. Where one scale covers a tensor, gradients need the range of e5m2 (`hybrid`).
_PRECISION_ARGUMENTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "bf16": (("--bf16",),),
    "fp16": (("--fp16",),),
    "fp8": (
        ("--bf16",),
        ("--fp8-format", "hybrid"),
        ("--fp8-recipe", "delayed"),
        ("--fp8-amax-history-len", "1024"),
        ("--fp8-amax-compute-algo", "max"),
    ),
    "fp8-block": (("--bf16",), ("--fp8-format", "e4m3"), ("--fp8-recipe", "blockwise")),
    "mxfp8": (("--bf16",), ("--fp8-format", "e4m3"), ("--fp8-recipe", "mxfp8")),
    "nvfp4": (("--bf16",), ("--fp4-format", "e2m1"), ("--fp4-recipe", "nvfp4")),
}
#: Moments in bf16 come with the precision-aware optimizer; Muon is `dist_muon` where ranks share its state.
_OPTIMIZER_ARGUMENTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "adam": (("--optimizer", "adam"),),
    "adam-bf16": (
        ("--optimizer", "adam"),
        ("--use-precision-aware-optimizer",),
        ("--exp-avg-dtype", "bf16"),
        ("--exp-avg-sq-dtype", "bf16"),
    ),
    "muon": (("--optimizer", "dist_muon"), ("--muon-num-ns-steps", "5"), ("--muon-tp-mode", "blockwise")),
}
#: Updates on the host, with copies both ways beside them (megatron/core/optimizer/cpu_offloading/README.md).
_OFFLOAD_ARGUMENTS: tuple[tuple[str, ...], ...] = (
    ("--optimizer-cpu-offload",),
    ("--optimizer-offload-fraction", "1.0"),
    ("--overlap-cpu-optimizer-d2h-h2d",),
    ("--use-precision-aware-optimizer",),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArgumentGroup:
    """Arguments that belong together: a title, and one line of words each."""

    title: str
    lines: tuple[tuple[str, ...], ...]

    def quoted(self) -> tuple[str, ...]:
        """Return each line as bash reads it back."""
        return tuple(shlex.join(line) for line in self.lines)


def no_schedule(layout: Layout) -> str:
    """Return that the pipeline's schedule is none of Megatron-LM's, and who has it; empty if it is."""
    name = SCHEDULE_NAMES.get(layout.schedule, "")
    where = {"zero-bubble": "sail-sg/zero-bubble-pipeline-parallelism", "dualpipe": "deepseek-ai/DualPipe"}
    if not name or layout.pp == 1:
        return ""
    return f"the layout's pipeline schedule is {name}, which its authors' code has ({where[layout.schedule]} on GitHub)"


def argument_groups(plan: TrainingPlan, option: TrainingOption, model: Model) -> tuple[ArgumentGroup, ...]:
    """Return every argument that the plan decides; data, learning rate and paths are the user's.

    Args:
        plan: for batch, sequence length, tokens and precision.
        option: for the layout and the checkpoints.
        model: for the dimensions.
    """
    performance = option.performance
    return (
        ArgumentGroup(title="model", lines=_model(model, sequence_length=plan.workload.sequence_length)),
        ArgumentGroup(
            title="layout", lines=layout_arguments(performance.layout, model, optimizer=plan.workload.optimizer)
        ),
        ArgumentGroup(title="optimizer", lines=_optimizer(plan, option)),
        ArgumentGroup(title="batch and length of the run", lines=_run(plan, performance.layout)),
        ArgumentGroup(title="precision", lines=_precision(plan.workload.precision)),
        ArgumentGroup(title="loading of the data", lines=(("--num-workers", str(performance.data.workers)),)),
        ArgumentGroup(title="checkpoints", lines=_checkpoints(option)),
    )


def _model(model: Model, *, sequence_length: int) -> tuple[tuple[str, ...], ...]:
    positions = max(sequence_length, model.learned_positions or model.max_context or 0)
    lines: list[tuple[str, ...]] = [
        ("--use-mcore-models",),
        ("--transformer-impl", "transformer_engine"),
        ("--num-layers", str(model.layers)),
        ("--hidden-size", str(model.hidden)),
        ("--ffn-hidden-size", str(model.ffn_hidden)),
        ("--num-attention-heads", str(model.heads)),
        ("--max-position-embeddings", str(positions)),
        ("--position-embedding-type", "learned_absolute" if model.learned_positions else "rope"),
        ("--normalization", "LayerNorm" if model.norm_biases else "RMSNorm"),
    ]
    if model.attention_kind == "mla":
        lines += _latent_attention(model)
    else:
        lines.append(("--kv-channels", str(model.head_dim)))
        if model.kv_heads != model.heads:
            lines += [("--group-query-attention",), ("--num-query-groups", str(model.kv_heads))]
    flags = {
        "--swiglu": model.gated,
        "--untie-embeddings-and-output-weights": not model.tied_embeddings,
        "--disable-bias-linear": not model.linear_biases,
        "--add-qkv-bias": model.qkv_biases,
        "--qk-layernorm": model.head_norms,
    }
    lines += [(name,) for name, wanted in flags.items() if wanted]
    further = trained_layers(model) - model.layers
    if further:
        lines.append(("--mtp-num-layers", str(further)))
    return (*lines, *_experts(model))


def _latent_attention(model: Model) -> list[tuple[str, ...]]:
    sizes = {
        "--q-lora-rank": model.mla_q_lora,
        "--kv-lora-rank": model.mla_kv_lora,
        "--qk-head-dim": model.mla_nope_dim,
        "--qk-pos-emb-head-dim": model.mla_rope_dim,
        "--v-head-dim": model.mla_v_dim,
    }
    return [("--multi-latent-attention",), *((name, str(size)) for name, size in sizes.items() if size)]


def _experts(model: Model) -> list[tuple[str, ...]]:
    if not model.experts:
        return []
    lines: list[tuple[str, ...]] = [
        ("--num-experts", str(model.experts)),
        ("--moe-router-topk", str(model.experts_per_token)),
        ("--moe-grouped-gemm",),
        ("--moe-token-dispatcher-type", "alltoall"),
    ]
    width = model.moe_ffn_hidden
    if width:
        lines.append(("--moe-ffn-hidden-size", str(width)))
    if width and model.shared_experts:
        lines.append(("--moe-shared-expert-intermediate-size", str(width * model.shared_experts)))
    if model.dense_layers:
        lines.append(("--moe-layer-freq", f"([0]*{model.dense_layers}+[1]*{model.layers - model.dense_layers})"))
    return lines


def no_megatron(plan: TrainingPlan, option: TrainingOption) -> str:
    """Return why Megatron-LM cannot run the plan, empty if it can."""
    performance = option.performance
    if plan.workload.optimizer not in _OPTIMIZER_ARGUMENTS:
        return f"{plan.workload.optimizer} is not an optimizer of it"
    if not plan.workload.architecture.causal:
        return "the model is an encoder, and `pretrain_gpt.py` trains decoders"
    need = performance.offload
    if need is None or no_schedule(performance.layout):
        return no_schedule(performance.layout)
    return _no_offload(option, need)


def _no_offload(option: TrainingOption, need: OffloadNeed) -> str:
    if ACTIVATIONS in need.what:
        return "it moves chosen modules of a layer to the host, not all that the layer keeps"
    if PARAMETERS in need.what or need.where == "nvme":
        return "it offloads the optimizer to host memory, and neither weights nor to drives"
    if uses_fsdp(option.performance.layout):
        return "its FSDP does not offload the optimizer"
    return ""


def _optimizer(plan: TrainingPlan, option: TrainingOption) -> tuple[tuple[str, ...], ...]:
    lines = _OPTIMIZER_ARGUMENTS[plan.workload.optimizer]
    if option.performance.offload is not None and OPTIMIZER in option.performance.offload.what:
        lines = (*lines, *(line for line in _OFFLOAD_ARGUMENTS if line not in lines))
    return lines


def _run(plan: TrainingPlan, layout: Layout) -> tuple[tuple[str, ...], ...]:
    work = plan.workload
    return (
        ("--seq-length", str(work.sequence_length)),
        ("--micro-batch-size", str(layout.micro_batch)),
        ("--global-batch-size", str(work.global_batch_sequences)),
        ("--train-samples", str(math.ceil(work.tokens / work.sequence_length))),
        ("--log-interval", "10"),
        ("--log-throughput",),
        ("--distributed-timeout-minutes", "30"),
    )


def _precision(precision: str) -> tuple[tuple[str, ...], ...]:
    return _PRECISION_ARGUMENTS[precision]


def save_interval_steps(option: TrainingOption) -> int:
    """Return optimizer steps between checkpoints: the plan's interval over the step time, at least 1."""
    return max(1, round(option.performance.failures.checkpoint_interval_s / option.performance.step.total_s))


def _checkpoints(option: TrainingOption) -> tuple[tuple[str, ...], ...]:
    """Return where and when checkpoints go; each strategy that Megatron has no own flag for takes the nearest.

    `full` is the legacy format without a distributed optimizer's parallel save; `memory` and `incremental` are written
    behind training, since Megatron keeps neither checkpoints in peers' memory nor changes alone.
    """
    performance = option.performance
    fsdp = uses_fsdp(performance.layout)
    lines: list[tuple[str, ...]] = [("--save-interval", str(save_interval_steps(option)))]
    if fsdp:
        lines.append(("--ckpt-format", "fsdp_dtensor"))
    elif performance.failures.strategy == "full":
        lines.append(("--ckpt-format", "torch"))
    else:
        lines += [
            ("--ckpt-format", "torch_dist"),
            ("--ckpt-fully-parallel-save",),
            ("--ckpt-fully-parallel-load",),
            ("--ckpt-assume-constant-structure",),
        ]
        if performance.failures.strategy != "distributed":
            lines.append(("--async-save",))
    # A spot node's notice, scancel and a preemption arrive as SIGTERM: save, then leave.
    lines.append(("--exit-signal-handler",))
    return tuple(lines)
