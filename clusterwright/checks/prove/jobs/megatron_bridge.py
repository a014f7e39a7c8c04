"""The files of a job of NVIDIA Megatron-Bridge against its plan: sizes, batch, division, adapters, and checkpoints.

Names are those of release 0.6.0 (megatron/bridge/training/config.py and classes of Megatron-Core below it).
"""

import re
from collections.abc import Iterator, Mapping

from clusterwright.checks.prove.jobs.script import interval_fits
from clusterwright.checks.prove.jobs.tuning_files import BRIDGE, TuningJob, compared
from clusterwright.checks.prove.kubernetes.objects import value_at
from clusterwright.checks.prove.papers import absent
from clusterwright.errors import Finding

#: Arguments of the program for the folder that it saves in and goes on from.
_GOES_ON = re.compile(r"CheckpointConfig\(([^)]*)\)")
_KEYWORD = re.compile(r"(\w+)=([\w.]+)")
#: Modules of Megatron-Core, and the matrices that each holds.
_MODULES: Mapping[str, frozenset[str]] = {
    "linear_qkv": frozenset({"query", "key", "value"}),
    "linear_proj": frozenset({"output"}),
    "linear_fc1": frozenset({"mlp"}),
    "linear_fc2": frozenset({"mlp"}),
}


def _laid_out(job: TuningJob) -> Iterator[Finding]:
    """Sizes of groups, batch, what is computed again and what is divided are those of the layout."""
    layout, memory, has = job.option.performance.layout, "the plan's memory counts on it", "the plan's layout has it"
    wanted: dict[str, tuple[object, str]] = {
        "model.tensor_model_parallel_size": (layout.tensor, has),
        "model.pipeline_model_parallel_size": (1, has),
        "model.context_parallel_size": (1, has),
        "model.sequence_parallel": (layout.tensor > 1, memory),
        "model.recompute_granularity": ("full" if layout.recompute else None, memory),
        "mixed_precision.grad_reduce_in_fp32": (job.low_rank, memory),
        "train.micro_batch_size": (layout.micro_batch // job.packs, _passes(job)),
        "train.global_batch_size": (job.work.global_batch_sequences // job.packs, _passes(job)),
        "ddp.use_megatron_fsdp": (job.divided, memory),
    }
    if layout.recompute:
        wanted |= {"model.recompute_method": ("uniform", memory), "model.recompute_num_layers": (1, memory)}
    if job.divided:
        copies = f"{layout.data:,} groups, weights divided over {layout.shards:,}"
        wanted |= {
            "ddp.data_parallel_sharding_strategy": ("optim_grads_params", memory),
            "ddp.num_distributed_optimizer_instances": (layout.data // layout.shards, copies),
            "model.init_model_with_meta_device": (True, "no accelerator holds all weights"),
        }
    sizes = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
    usual: dict[str, object] = dict.fromkeys(("model.sequence_parallel", "ddp.use_megatron_fsdp"), False)
    usual |= {f"model.{name}": 1 for name in sizes} | {"ddp.num_distributed_optimizer_instances": 1}
    yield from compared(job.settings.get(BRIDGE), "FTJ002", wanted, absent_is=usual)


def _passes(job: TuningJob) -> str:
    layout = job.option.performance.layout
    return f"{layout.micro_batch} × {layout.data:,} × {layout.accumulation:,} sequences are an update"


def _workload(job: TuningJob) -> Iterator[Finding]:
    """Sequences, epochs, precision and optimizer are the workload's; a pack of a whole pass stands in for sequences."""
    tokens, has, memory = job.work.sequence_length * job.packs, "the workload has it", "the plan's memory counts on it"
    wanted: dict[str, tuple[object, str]] = {
        "model.seq_length": (tokens, _passes(job)),
        "dataset.seq_length": (tokens, _passes(job)),
        "dataset.enable_offline_packing": (job.work.packing, has),
        "train.num_epochs": (job.work.epochs, has),
        "mixed_precision.recipe": ("bf16_mixed", memory),
        "optimizer.optimizer": ("adam", memory),
        "optimizer.optimizer_cpu_offload": (False, memory),
    }
    if job.work.packing:
        wanted |= {
            "packing.packed_sequence_size": (tokens, _passes(job)),
            "packing.max_single_sequence_length": (job.work.sequence_length, has),
        }
    unset = ("dataset.enable_offline_packing", "optimizer.optimizer_cpu_offload")
    yield from compared(job.settings.get(BRIDGE), "FTJ003", wanted, absent_is=dict.fromkeys(unset, False))


def _adapters(job: TuningJob) -> Iterator[Finding]:
    """Adapters have the rank and the places of the workload; there are none where all weights are trained."""
    one, work, has = job.settings.get(BRIDGE), job.work, "the workload has it"
    if one is None:
        return
    if not job.low_rank:
        if one.body.get("peft"):
            yield absent("FTJ004", one.place("peft"), "peft", "there", None, "the workload trains all weights")
        return
    wanted: dict[str, tuple[object, str]] = {
        "peft.method": (work.method, has),
        "peft.dim": (int(work.rank), has),
        "peft.alpha": (int(work.alpha), has),
    }
    yield from compared(one, "FTJ004", wanted)
    said = value_at(one.body, "peft.target_modules")
    words = {str(word) for word in said} if isinstance(said, list) else {str(said)}
    chosen = {word for word, matrices in _MODULES.items() if set(work.targets) >= matrices}
    if words != chosen:
        key, shown = "peft.target_modules", ", ".join(sorted(words))
        yield absent("FTJ004", one.place(key), key, shown, ", ".join(sorted(chosen)), "the workload has these")


def _checkpoints(job: TuningJob) -> Iterator[Finding]:
    """Checkpoints come and stay as planned, in the form that the division of weights takes."""
    one, performance = job.settings.get(BRIDGE), job.option.performance
    if one is None:
        return
    each_s, most = performance.failures.checkpoint_interval_s, job.option.design.storage.checkpoints_kept
    planned = max(1, min(performance.steps, round(each_s / performance.step_s)))
    steps, kept = value_at(one.body, "checkpoint.save_interval"), value_at(one.body, "checkpoint.most_recent_k")
    if not (isinstance(steps, int) and not isinstance(steps, bool) and interval_fits(steps, planned)):
        key, every = "checkpoint.save_interval", f"the plan writes one every {each_s / 60:,.0f} min"
        yield absent("FTJ005", one.place(key), key, steps, f"about {planned:,} steps", every)
    if not (isinstance(kept, int) and 1 <= kept <= most):
        key, rule = "checkpoint.most_recent_k", "shared storage is sized for them"
        yield absent("FTJ005", one.place(key), key, kept, f"1 to {most}", rule)
    form = "fsdp_dtensor" if job.divided else "torch_dist"
    wanted: dict[str, tuple[object, str]] = {
        "checkpoint.ckpt_format": (form, "Megatron-Bridge writes no other with weights as the plan divides them"),
        "checkpoint.save_optim": (True, "a run goes on with the state of its optimizer"),
    }
    usual: dict[str, object] = {"checkpoint.ckpt_format": "torch_dist", "checkpoint.save_optim": True}
    yield from compared(one, "FTJ005", wanted, absent_is=usual)


def _goes_on(job: TuningJob) -> Iterator[Finding]:
    """The program loads from the folder that it saves in."""
    for one in job.settings.values():
        match = _GOES_ON.search("\n".join(one.lines)) if one.name.endswith(".py") else None
        if match is None:
            continue
        folders = dict(_KEYWORD.findall(match[1]))
        if folders.get("load", "") != folders.get("save"):
            number = one.start + "\n".join(one.lines)[: match.start()].count("\n") + 1
            rule = "a failed host ends no run"
            yield absent("FTJ005", f"{one.file}:{number}", "load", folders.get("load"), folders.get("save"), rule)


RULES = (_laid_out, _workload, _adapters, _checkpoints, _goes_on)
