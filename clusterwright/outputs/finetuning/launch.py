"""The files that start a fine-tuning run: TRL's arguments, Accelerate's configuration, and a script for Slurm."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from clusterwright.catalog.records import Catalogue
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.kind import Start
from clusterwright.outputs.launch.adapters import fabric_of, hosts_per_node
from clusterwright.outputs.launch.fabric import container_mounts, settings_for, shell_lines
from clusterwright.outputs.templates import render
from clusterwright.outputs.training.job_settings import SHARED, launch_folder
from clusterwright.outputs.training.sharded import fsdp_config, yaml_text
from clusterwright.plan.finetuning.record import (
    FinetuningOption,
    FinetuningPlan,
    FinetuningWorkload,
    finetuning_option,
    finetuning_plan,
)
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.finetuning import layout_text
from clusterwright.plan.text.words import on_target
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
_SCRIPTS = MappingProxyType({"supervised": "trl.scripts.sft", "dpo": "trl.scripts.dpo"})


def launch(plan: Plan, option: Option, catalogue: Catalogue, written: Mapping[str, File]) -> dict[str, File]:  # noqa: ARG001
    """Return the folder `launch` of a target, or a README with the reason why nothing starts the run."""
    tuned, chosen = finetuning_plan(plan), finetuning_option(option)
    reason = no_trl(tuned, chosen, catalogue)
    if reason:
        said = f"# Launching {plan.name}\n\nNo launch files are written: {reason}.\n"
        return {"launch/README.md": text(said)}
    files = {
        "trl.yaml": text(yaml_text(trl_config(tuned, chosen))),
        "accelerate.yaml": text(yaml_text(accelerate_config(chosen))),
        "README.md": text(_readme(tuned, chosen)),
    }
    if option.scheduler == "slurm":
        files["finetune.sbatch"] = File(content=_sbatch(tuned, chosen, catalogue).encode(), executable=True)
    return {f"launch/{name}": file for name, file in files.items()}


def no_trl(plan: FinetuningPlan, option: FinetuningOption, catalogue: Catalogue) -> str:
    """Return why TRL and Accelerate cannot express a run, empty if they can."""
    work, chip = plan.workload, catalogue.accelerators[option.accelerator]
    if chip.vendor != "NVIDIA":
        return f"{chip.name} needs its vendor's own build of the training software"
    if option.layout.tensor > 1:
        return f"{option.layout.tensor} accelerators share each layer, which FSDP does not"
    if work.method not in (*_LOW_RANK, "full") or (work.method != "full" and not work.rank):
        return f"TRL's command line has no {work.method} of this form: write the peft configuration yourself"
    if work.precision not in ("bf16", *_QUANTISED):
        return f"TRL's command line has no base in {work.precision}"
    return ""


def trl_config(plan: FinetuningPlan, option: FinetuningOption) -> dict[str, Any]:
    """Return the arguments of TRL's scripts; model, data, output and learning rate are given by the script of Slurm."""
    work, layout = plan.workload, option.layout
    pairs = work.objective == "dpo"
    divided = layout.sharding != NONE
    return {
        "max_length": work.sequence_length,
        **({} if pairs else {"packing": work.packing}),
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
        "save_total_limit": option.storage.checkpoints_kept,
        "logging_steps": 10,
        "report_to": "none",
        **(_adapters(work, divided=divided) if work.method in _LOW_RANK else {}),
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
    return max(1, min(option.steps, round(option.failures.checkpoint_interval_s / option.step_s)))


def accelerate_config(option: FinetuningOption) -> dict[str, Any]:
    """Return Accelerate's configuration; the launcher gives rank and address of each machine."""
    layout = option.layout
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


def _sbatch(plan: FinetuningPlan, option: FinetuningOption, catalogue: Catalogue) -> str:
    fabric, hosts = fabric_of(option, catalogue), hosts_per_node(option)
    machines = option.training_nodes * hosts
    rows = settings_for(fabric=fabric, target=option.target, instance=option.instance) if machines > 1 else ()
    jobs = plan.cluster.jobs
    return render(
        "launch",
        "finetune.sbatch.j2",
        title=f"{plan.workload.model_name}, {plan.workload.method_text}: {layout_text(option)}",
        job_name=plan.name,
        partition=plan.cluster.partition,
        nodes=machines,
        gres=f"gpu:{catalogue.accelerators[option.accelerator].gres_type}:{option.gpus_per_node // hosts}",
        launch=launch_folder(plan),
        defaults=(
            ("MODEL_PATH", f"{SHARED}/models/{plan.workload.model}"),
            ("DATA_PATH", jobs.data),
            ("CHECKPOINT_PATH", jobs.checkpoints),
            ("LEARNING_RATE", "" if jobs.learning_rate is None else f"{jobs.learning_rate:g}"),
            ("CONTAINER_IMAGE", jobs.image),
            ("VENV_PATH", jobs.venv),
        ),
        mounts=container_mounts(rows, shared=SHARED),
        fabric=fabric,
        fabric_lines=shell_lines(rows),
        script=_SCRIPTS[plan.workload.objective],
        processes=option.layout.gpus,
        machines=machines,
    )


def _readme(plan: FinetuningPlan, option: FinetuningOption) -> str:
    layout = option.layout
    slurm = option.scheduler == "slurm"
    batch = f"{layout.micro_batch} × {layout.data} × {layout.accumulation} = "
    lines = [
        f"# Launching {plan.name} {on_target(option.target)}",
        "",
        (
            f"{plan.workload.model_name}, {plan.workload.method_text}: {layout_text(option)}. Sequences of a pass × "
            f"groups × passes = {batch}{layout.micro_batch * layout.data * layout.accumulation} of an update."
        ),
        "",
        "- `trl.yaml`: arguments of TRL (0.20 or newer, with peft"
        + (" and bitsandbytes)" if plan.workload.precision in _QUANTISED or "8bit" in plan.workload.optimizer else ")"),
        "- `accelerate.yaml`: processes, and what FSDP divides",
    ]
    if slurm:
        lines += [
            (
                "- `finetune.sbatch`: the job; copy this folder to "
                f"`{launch_folder(plan)}` of the cluster and submit it there:"
            ),
            "",
            "```sh",
            f"MODEL_PATH={SHARED}/models/{plan.workload.model} DATA_PATH=NAME-OR-FOLDER LEARNING_RATE=1e-4 \\",
            f"  VENV_PATH={SHARED}/venv sbatch {launch_folder(plan)}/finetune.sbatch",
            "```",
            "",
            (
                "It needs base weights and data set on the shared file system (or names of Hugging Face, where nodes "
                "reach it), and TRL in a virtual environment or in an image (`CONTAINER_IMAGE`). It starts again from "
                f"its last checkpoint; the last {option.storage.checkpoints_kept} are kept."
            ),
        ]
    else:
        lines += [
            "",
            "No job for Kubernetes is written yet: run `accelerate launch` with both files in your own image.",
        ]
    if plan.workload.framework.lower() not in ("trl", "accelerate", "transformers"):
        lines += [
            "",
            (
                f"The plan counts with {plan.workload.framework}; these files are for TRL, whose memory and speed "
                "are its own: set `workload.framework: trl` to plan with its wider band."
            ),
        ]
    return "\n".join(lines) + "\n"


def start(plan: Plan, option: Option, catalogue: Catalogue) -> Start | None:
    """Return how the job is submitted on a cloud; None where none is written."""
    if option.scheduler != "slurm" or no_trl(finetuning_plan(plan), finetuning_option(option), catalogue):
        return None
    return Start(
        title="Run the job",
        who=f"Copy `launch/` to `{launch_folder(plan)}` of the cluster; an ordinary user submits it there "
        "([Users](#users)).",
        command=f"DATA_PATH=NAME LEARNING_RATE=1e-4 VENV_PATH={SHARED}/venv sbatch finetune.sbatch",
        more="`launch/README.md` says what the job needs.",
    )


def contents(option: Option) -> str:
    """Return where the job is in the folder of a target, as a line of the output folder's README."""
    return f"- `{option.target}/launch/`: the run, as TRL's and Accelerate's files with the layout's numbers"
