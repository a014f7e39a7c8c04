"""The configuration of a torchtune recipe, for plans that count with torchtune.

Components, keys and recipes as of torchtune 0.6.1. Model, data, output, learning rate and the files of the checkpoint
are given by the job, since only it sees them.
"""

import csv
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from clusterwright import assets
from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningPlan
from clusterwright.sizing.finetuning.job import NONE

RELEASE = "0.6"
#: Names of the attention's matrices; those of the multilayer perceptron go together.
_ATTENTION = MappingProxyType({"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "output_proj"})
_OPTIMIZERS: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "": {"_component_": "torch.optim.AdamW", "fused": True},
        "adamw": {"_component_": "torch.optim.AdamW", "fused": True},
        "adamw-8bit": {"_component_": "bitsandbytes.optim.AdamW8bit"},
        "paged-adamw": {"_component_": "bitsandbytes.optim.PagedAdamW"},
        "paged-adamw-8bit": {"_component_": "bitsandbytes.optim.PagedAdamW8bit"},
    }
)
#: Its nf4 quantises the scales, too.
_NF4 = "nf4-dq"
#: Steps in which the learning rate rises, of all; an assumption.
_WARM_UP_SHARE = 0.03


@cache
def _models() -> dict[str, dict[str, str]]:
    path = assets.root() / "templates" / "launch" / "torchtune_models.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        return {row["model"]: row for row in csv.DictReader(stream)}


def no_torchtune(plan: FinetuningPlan, option: FinetuningOption) -> str:
    """Return why torchtune's recipes cannot express a run, empty if they can."""
    work, layout = plan.workload, option.performance.layout
    model = _models().get(work.model)
    if model is None:
        return f"it has no {work.model_name}"
    low_rank = work.method in ("lora", "qlora", "dora")
    several = layout.gpus > 1
    reasons = {
        f"it has no {work.method} of this form": work.method != "full" and not (low_rank and work.rank),
        "it attaches adapters to attention at least": low_rank and not set(work.targets) & set(_ATTENTION),
        f"it has no DoRA of {work.model_name}": work.method == "dora" and work.model == "llama-3.1-405b",
        f"no recipe is written here for {work.objective}": work.objective != "supervised",
        f"it has no {work.model_name} with a base in {work.precision}": work.precision != "bf16"
        and (work.precision, model["quantised"]) != (_NF4, "yes"),
        "its recipes divide weights and optimizer over all accelerators, the plan does not": several
        and (layout.sharding == NONE or layout.shards != layout.gpus),
        f"FSDP does not divide the state of {work.optimizer}": several and "bitsandbytes" in _optimizer(work.optimizer),
        f"it trains whole epochs, not {work.epochs:g}": work.epochs != int(work.epochs),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _optimizer(name: str) -> str:
    return str(_OPTIMIZERS[name]["_component_"])


def recipe(plan: FinetuningPlan, option: FinetuningOption) -> str:
    """Return the name of the recipe."""
    kind = "full" if plan.workload.method == "full" else "lora"
    return f"{kind}_finetune_{'single_device' if option.performance.layout.gpus == 1 else 'distributed'}"


def torchtune_config(plan: FinetuningPlan, option: FinetuningOption) -> dict[str, Any]:
    """Return the configuration of the recipe, with `model_path` and `output_dir` for the job to set."""
    work, layout = plan.workload, option.performance.layout
    model = _models()[work.model]
    files = dict(entry.split("=") for entry in model["tokenizer_files"].split())
    low_rank = work.method != "full"
    return {
        "model_path": "???",
        "output_dir": "???",
        "model": _model(plan, model),
        "tokenizer": {
            "_component_": f"torchtune.models.{model['tokenizer']}",
            **{key: f"${{model_path}}/{name}" for key, name in files.items()},
            "max_seq_len": work.sequence_length,
        },
        "checkpointer": {
            "_component_": "torchtune.training.FullModelHFCheckpointer",
            "checkpoint_dir": "${model_path}",
            "checkpoint_files": "???",
            "output_dir": "${output_dir}",
            "model_type": model["model_type"],
        },
        "resume_from_checkpoint": False,
        **({"save_adapter_weights_only": True} if low_rank else {}),
        "dataset": {
            "_component_": "torchtune.datasets.chat_dataset",
            "source": "???",
            "conversation_column": "messages",
            "conversation_style": "openai",
            "split": "train",
            "packed": work.packing,
        },
        "seed": None,
        "shuffle": True,
        "batch_size": layout.micro_batch,
        "gradient_accumulation_steps": layout.accumulation,
        "epochs": int(work.epochs),
        "max_steps_per_epoch": None,
        "optimizer": {**_OPTIMIZERS[work.optimizer], "lr": "???"},
        "optimizer_in_bwd": False,
        **({"lr_scheduler": _schedule(option)} if low_rank else {}),
        "loss": {"_component_": "torchtune.modules.loss.CEWithChunkedOutputLoss"},
        "clip_grad_norm": None,
        "compile": False,
        "device": "cuda",
        "dtype": "bf16",
        "enable_activation_checkpointing": layout.recompute,
        "enable_activation_offloading": False,
        "metric_logger": {
            "_component_": "torchtune.training.metric_logging.DiskLogger",
            "log_dir": "${output_dir}/logs",
        },
        "log_every_n_steps": 10,
        "log_peak_memory_stats": True,
        "profiler": {"_component_": "torchtune.training.setup_torch_profiler", "enabled": False},
    }


def _model(plan: FinetuningPlan, model: Mapping[str, str]) -> dict[str, Any]:
    work = plan.workload
    if work.method == "full":
        return {"_component_": f"torchtune.models.{model['family']}.{model['size']}"}
    prefix = "qlora" if work.precision == _NF4 else "lora"
    return {
        "_component_": f"torchtune.models.{model['family']}.{prefix}_{model['size']}",
        "lora_attn_modules": [_ATTENTION[name] for name in work.targets if name in _ATTENTION],
        "apply_lora_to_mlp": "mlp" in work.targets,
        "apply_lora_to_output": False,
        "lora_rank": int(work.rank),
        "lora_alpha": int(work.alpha),
        "lora_dropout": 0.0,
        **({"use_dora": True} if work.method == "dora" else {}),
    }


def _schedule(option: FinetuningOption) -> dict[str, Any]:
    return {
        "_component_": "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup",
        "num_warmup_steps": max(1, round(option.performance.steps * _WARM_UP_SHARE)),
    }
