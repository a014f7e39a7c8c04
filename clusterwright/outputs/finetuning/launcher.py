"""What starts a fine-tuning run: torchtune, Megatron-Bridge, or Accelerate with TRL, and the files that it reads."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from clusterwright.outputs.finetuning.megatron_bridge import PROGRAM, SETTINGS, bridge_config, bridge_program
from clusterwright.outputs.finetuning.torchtune import RELEASE, no_torchtune, recipe, torchtune_config
from clusterwright.outputs.launch.adapters import hosts_per_node
from clusterwright.outputs.training.sharded import fsdp_config, yaml_text
from clusterwright.plan.finetuning.megatron_bridge import RELEASE as BRIDGE_RELEASE
from clusterwright.plan.finetuning.megatron_bridge import counts_with_megatron, no_bridge
from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningPlan, FinetuningWorkload
from clusterwright.sizing.finetuning.job import NONE

#: Names of the matrices in models of Hugging Face that follow Llama; `all-linear` is every one of any model.
_MODULES = MappingProxyType(
    {
        "query": ("q_proj",),
        "key": ("k_proj",),
        "value": ("v_proj",),
        "output": ("o_proj",),
        "mlp": ("gate_proj", "up_proj", "down_proj"),
    }
)
_OPTIMIZERS = MappingProxyType(
    {
        "": "adamw_torch",
        "adamw": "adamw_torch",
        "adamw-8bit": "adamw_bnb_8bit",
        "paged-adamw": "paged_adamw_32bit",
        "paged-adamw-8bit": "paged_adamw_8bit",
    }
)
#: Which loaders of bitsandbytes hold a frozen base, by format.
_QUANTISED: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "nf4": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "use_bnb_nested_quant": False},
        "nf4-dq": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "use_bnb_nested_quant": True},
        "int8": {"load_in_8bit": True},
    }
)
_LOW_RANK = ("lora", "qlora", "dora")
_BITSANDBYTES = " and bitsandbytes"
#: Learning rates to begin with, for example, of runs that train all weights: TRL's defaults (`learning_rate` of its
#: configurations, seen 2026-11-29); beside frozen weights ten times as much is usual (Schulman et al. 2025, LoRA
#: Without Regret).
_RATES = MappingProxyType({"supervised": (2e-5, 2e-4), "dpo": (1e-6, 1e-5), "grpo": (1e-6, 1e-5)})
_SCRIPTS = MappingProxyType({"supervised": "trl.scripts.sft", "dpo": "trl.scripts.dpo", "grpo": "trl.scripts.grpo"})
#: Releases 0.N of TRL from which on an argument is there, and those of GRPO cut no prompt at 512 tokens; 1.16 still has
#: all of them (trl/trainer/model_config.py and grpo_config.py of releases 0.20 to 1.16, seen 2026-11-29).
_SINCE = MappingProxyType({"dtype": 23, "bnb_4bit_quant_storage": 26, "num_generations": 28})
#: Weight of the penalty on leaving a reference (Shao et al. 2024, arXiv 2402.03300, section 4.2).
_PENALTY = 0.04


@dataclass(frozen=True, kw_only=True, slots=True)
class Launcher:
    """What starts the processes of a run.

    Attributes:
        program: that an image or an environment has to have; holds: with which packages.
        files: that it reads, by name; words: for the template of its command.
    """

    program: str
    holds: str
    files: Mapping[str, str]
    words: Mapping[str, object]


def example_rate(work: FinetuningWorkload) -> str:
    """Return a learning rate that a run may begin with; the right one is found by trying."""
    whole, beside = _RATES[work.objective]
    return f"{whole if work.method == 'full' else beside:.0e}".replace("e-0", "e-")


def launcher(plan: FinetuningPlan, option: FinetuningOption) -> Launcher:
    """Return what the plan counts with where that can express the run, else Accelerate with TRL."""
    machines = option.training_nodes * hosts_per_node(option)
    each = option.performance.layout.gpus // machines
    if bridges(plan, option):
        meeting = '--rdzv-backend c10d --rdzv-endpoint "$MAIN_HOST:29400" ' if machines > 1 else ""
        return Launcher(
            program="torchrun",
            holds=f"Megatron-Bridge {BRIDGE_RELEASE}, Megatron-Core and Transformer Engine",
            files={
                PROGRAM: bridge_program(),
                SETTINGS: yaml_text(bridge_config(plan, option, save_steps=save_steps(option))),
            },
            words={
                "recipe": "",
                "bridge": PROGRAM,
                "together": f"--nnodes {machines} --nproc-per-node {each} {meeting}",
                "rewarded": False,
            },
        )
    if _tunes(plan, option):
        together = (
            f"--nnodes {machines} --nproc_per_node {each} --rdzv_backend c10d --rdzv_id {plan.name} "
            '--rdzv_endpoint "$MAIN_HOST:29400" '
        )
        return Launcher(
            program="tune",
            holds=f"torchtune {RELEASE} and torchao{_BITSANDBYTES if _shrinks_states(plan) else ''}",
            files={"torchtune.yaml": yaml_text(torchtune_config(plan, option))},
            words={
                "recipe": recipe(plan, option),
                "bridge": "",
                "together": together if option.performance.layout.gpus > 1 else "",
                "rewarded": False,
            },
        )
    unpacks = plan.workload.precision in _QUANTISED
    return Launcher(
        program="accelerate",
        holds=f"TRL {oldest_trl(plan, option)} or newer with {'vLLM, ' if generates(plan) else ''}Accelerate and peft"
        f"{_BITSANDBYTES if unpacks or _shrinks_states(plan) else ''}",
        files=trl_files(plan, option),
        words={
            "recipe": "",
            "bridge": "",
            "machines": machines,
            "processes": option.performance.layout.gpus,
            "script": _SCRIPTS[plan.workload.objective],
            "rewarded": generates(plan),
        },
    )


def generates(plan: FinetuningPlan) -> bool:
    """Tell whether a run generates answers, which a function of the user rewards."""
    return plan.workload.rollouts is not None


def oldest_trl(plan: FinetuningPlan, option: FinetuningOption) -> str:
    """Return the first release of TRL that has all arguments of a plan; older ones ignore what they do not know."""
    return f"0.{max(_SINCE[name] for name in trl_config(plan, option) if name in _SINCE)}"


def bridges(plan: FinetuningPlan, option: FinetuningOption) -> bool:
    """Tell whether Megatron-Bridge starts a run: the plan counts with it, and it can."""
    return counts_with_megatron(plan.workload) and not no_bridge(plan.workload, option)


def _tunes(plan: FinetuningPlan, option: FinetuningOption) -> bool:
    return plan.workload.framework.lower() == "torchtune" and not no_torchtune(plan, option)


def _shrinks_states(plan: FinetuningPlan) -> bool:
    """Whether the optimizer is of bitsandbytes: its states in 8 bits, or paged to the host."""
    return any(word in plan.workload.optimizer for word in ("8bit", "paged"))


def trl_files(plan: FinetuningPlan, option: FinetuningOption) -> dict[str, str]:
    """Return TRL's arguments, and what Accelerate divides, by name."""
    return {
        "trl.yaml": yaml_text(trl_config(plan, option)),
        "accelerate.yaml": yaml_text(accelerate_config(option)),
    }


def no_job(plan: FinetuningPlan, option: FinetuningOption, vendor: str) -> str:
    """Return why no file is written that starts a run on a vendor's accelerators, empty if one is."""
    if vendor != "NVIDIA":
        return f"accelerators of {vendor} need their vendor's own build of the training software"
    if bridges(plan, option):
        return ""
    reason = _no_trl(plan, option)
    if reason and counts_with_megatron(plan.workload):
        return f"{reason}; of Megatron-Bridge, {no_bridge(plan.workload, option)}"
    return reason


def _no_trl(plan: FinetuningPlan, option: FinetuningOption) -> str:
    """Return why TRL and Accelerate cannot express a run, empty if they can."""
    work, layout = plan.workload, option.performance.layout
    reasons = {
        f"{layout.tensor} accelerators share each layer, which FSDP does not": layout.tensor > 1,
        f"TRL's command line has no {work.method} of this form: write the peft configuration yourself": work.method
        not in (*_LOW_RANK, "full")
        or (work.method != "full" and not work.rank),
        f"TRL's command line has no base in {work.precision}": work.precision not in ("bf16", *_QUANTISED),
        "TRL generates with a base in 4 or 16 bits, not in int8": generates(plan) and work.precision == "int8",
        "TRL merges adapters into whole matrices for vLLM, and the plan divides these: hold "
        "workload.parallelism.sharding: none": generates(plan) and work.method != "full" and layout.sharding != NONE,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def trl_config(plan: FinetuningPlan, option: FinetuningOption) -> dict[str, Any]:
    """Return the arguments of TRL's scripts; model, data, output and learning rate are given by the script of Slurm."""
    work, layout = plan.workload, option.performance.layout
    pairs = work.objective == "dpo"
    divided = layout.sharding != NONE
    return {
        **_sequences(plan, option),
        "num_train_epochs": work.epochs,
        "per_device_train_batch_size": layout.micro_batch // (2 if pairs else 1),
        "gradient_accumulation_steps": layout.accumulation,
        # FSDP wraps the layers that are computed again itself.
        "gradient_checkpointing": layout.recompute and not divided,
        "bf16": True,
        "dtype": "bfloat16",
        "optim": _OPTIMIZERS[work.optimizer],
        "save_strategy": "steps",
        "save_steps": save_steps(option),
        "save_total_limit": option.design.storage.checkpoints_kept,
        "logging_steps": 10,
        "report_to": "none",
        **(_adapters(work, divided=divided) if work.method in _LOW_RANK else {}),
    }


def _sequences(plan: FinetuningPlan, option: FinetuningOption) -> dict[str, Any]:
    """Return how long sequences are, and where answers come from."""
    work, layout = plan.workload, option.performance.layout
    rollouts, size = work.rollouts, option.performance.rollouts
    if rollouts is None or size is None:
        packed = {} if work.objective == "dpo" else {"packing": work.packing}
        return {"max_length": work.sequence_length, **packed}
    return {
        "max_completion_length": int(rollouts.longest_answer_tokens),
        "num_generations": rollouts.answers,
        # One generated batch holds the answers of an update.
        "steps_per_generation": layout.accumulation,
        "num_iterations": rollouts.updates,
        "beta": _PENALTY if rollouts.reference else 0.0,
        "use_vllm": True,
        "vllm_mode": "colocate",
        "vllm_tensor_parallel_size": layout.generation_tensor,
        # Rounded up: the engine refuses to start where less than the longest sequence fits.
        "vllm_gpu_memory_utilization": math.ceil(size.memory_share * 1000) / 1000,
        "vllm_max_model_length": work.sequence_length,
    }


def _adapters(work: FinetuningWorkload, *, divided: bool) -> dict[str, Any]:
    every = set(work.targets) == set(_MODULES)
    modules = ["all-linear"] if every else [name for target in work.targets for name in _MODULES[target]]
    quantised = _QUANTISED.get(work.precision, {})
    # FSDP divides tensors of one type alone: packed weights are kept as if they were of 16 bits.
    storage = {"bnb_4bit_quant_storage": "bfloat16"} if "load_in_4bit" in quantised and divided else {}
    return {
        "use_peft": True,
        "lora_r": int(work.rank),
        "lora_alpha": int(work.alpha),
        "lora_target_modules": modules,
        **({"use_dora": True} if work.method == "dora" else {}),
        **quantised,
        **storage,
    }


def save_steps(option: FinetuningOption) -> int:
    """Return the updates between two checkpoints; not more than the run has."""
    return max(
        1,
        min(
            option.performance.steps,
            round(option.performance.failures.checkpoint_interval_s / option.performance.step_s),
        ),
    )


def accelerate_config(option: FinetuningOption) -> dict[str, Any]:
    """Return Accelerate's configuration; the launcher gives rank and address of each machine."""
    layout = option.performance.layout
    machines = option.training_nodes * hosts_per_node(option)
    if layout.sharding == NONE:
        return {
            "compute_environment": "LOCAL_MACHINE",
            "distributed_type": "NO" if layout.gpus == 1 else "MULTI_GPU",
            "mixed_precision": "bf16",
            "num_machines": machines,
            "num_processes": layout.gpus,
            "rdzv_backend": "c10d",
            "same_network": True,
            "use_cpu": False,
        }
    return fsdp_config(
        copies=layout.data // layout.shards,
        shards=layout.shards,
        reshard=True,
        recompute=layout.recompute,
        offload=False,
        accumulation=layout.accumulation,
        half="bf16",
        machines=machines,
        processes=layout.gpus,
    )
