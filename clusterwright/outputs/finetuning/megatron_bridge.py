"""The numbers of a run as NVIDIA Megatron-Bridge names them, for plans that count with NeMo or Megatron.

Sections and keys are those of its `ConfigContainer` in release 0.6.0 (megatron/bridge/training/config.py; classes of
Megatron-Core below them). `templates/launch/bridge.py` reads them, and gives model, data, output and learning rate from
the job's environment.
"""

from typing import Any

from clusterwright import assets
from clusterwright.plan.finetuning.megatron_bridge import FUSED
from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningPlan, FinetuningWorkload
from clusterwright.sizing.finetuning.configuration import FULL, MLP, OUTPUT
from clusterwright.sizing.finetuning.job import NONE

PROGRAM, SETTINGS = "bridge.py", "bridge.yaml"
#: Decay of weights: the default of PyTorch's AdamW.
_WEIGHT_DECAY = 0.01
#: Updates in which the learning rate rises, of all; an assumption.
_WARM_UP_SHARE = 0.03


def bridge_program() -> str:
    """Return the program that torchrun starts."""
    return (assets.root() / "templates" / "launch" / PROGRAM).read_text(encoding="utf-8").rstrip("\n")


def bridge_config(plan: FinetuningPlan, option: FinetuningOption, *, save_steps: int) -> dict[str, Any]:
    """Return what the program reads.

    Args:
        plan: of a run that Megatron-Bridge can start.
        option: the target.
        save_steps: updates between two checkpoints.
    """
    work, layout = plan.workload, option.performance.layout
    whole, divided = work.method == FULL, layout.sharding != NONE
    # It packs for passes of one sequence alone: one of all of a pass's tokens stands in for several.
    packs = layout.micro_batch if work.packing else 1
    tokens = work.sequence_length * packs
    return {
        "model": {
            "seq_length": tokens,
            "tensor_model_parallel_size": layout.tensor,
            "pipeline_model_parallel_size": 1,
            "context_parallel_size": 1,
            "sequence_parallel": layout.tensor > 1,
            **_recomputed(again=layout.recompute),
            # Layers are made where FSDP divides them, not whole on each accelerator.
            **({"init_model_with_meta_device": True, "gradient_accumulation_fusion": False} if divided else {}),
        },
        # Gradients of all weights have 16 bits in the plan's memory, those of adapters 32.
        "mixed_precision": {"recipe": "bf16_mixed", "grad_reduce_in_fp32": not whole},
        "train": {
            "num_epochs": work.epochs,
            "micro_batch_size": layout.micro_batch // packs,
            "global_batch_size": work.global_batch_sequences // packs,
            "exit_signal_handler": True,
        },
        "dataset": {
            "seq_length": tokens,
            "enable_offline_packing": work.packing,
            "dataloader_type": "batch",
            # Accelerators that share layers divide each sequence.
            "dataset_kwargs": {"pad_to_max_length": work.packing or layout.tensor > 1},
        },
        "packing": {"packed_sequence_size": tokens, "max_single_sequence_length": work.sequence_length}
        if work.packing
        else None,
        "peft": None if whole else _adapters(work),
        "optimizer": {"optimizer": "adam", "weight_decay": _WEIGHT_DECAY, "use_distributed_optimizer": True},
        "scheduler": {
            "lr_decay_style": "cosine",
            "lr_warmup_fraction": _WARM_UP_SHARE,
            "start_weight_decay": _WEIGHT_DECAY,
            "end_weight_decay": _WEIGHT_DECAY,
        },
        "ddp": {"use_distributed_optimizer": True, "check_for_nan_in_grad": True, **_divided(option)},
        "checkpoint": {
            "save_interval": save_steps,
            "most_recent_k": option.design.storage.checkpoints_kept,
            "ckpt_format": "fsdp_dtensor" if divided else "torch_dist",
        },
        "logger": {"log_interval": 10},
    }


def _recomputed(*, again: bool) -> dict[str, Any]:
    if not again:
        return {"recompute_granularity": None}
    return {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}


def _divided(option: FinetuningOption) -> dict[str, Any]:
    """Return how weights, gradients and moments are divided: over all groups, or with copies of what a node holds."""
    layout = option.performance.layout
    if layout.sharding == NONE:
        return {"use_megatron_fsdp": False}
    return {
        "use_megatron_fsdp": True,
        "data_parallel_sharding_strategy": "optim_grads_params",
        "num_distributed_optimizer_instances": layout.data // layout.shards,
        "overlap_grad_reduce": True,
        "overlap_param_gather": True,
    }


def _adapters(work: FinetuningWorkload) -> dict[str, Any]:
    chosen = set(work.targets)
    modules = [
        *(["linear_qkv"] if chosen >= FUSED else []),
        *(["linear_proj"] if OUTPUT in chosen else []),
        *(["linear_fc1", "linear_fc2"] if MLP in chosen else []),
    ]
    return {
        "method": work.method,
        "target_modules": modules,
        "dim": int(work.rank),
        "alpha": int(work.alpha),
        "dropout": 0.0,
    }
