"""The same layout for DeepSpeed and for PyTorch's FSDP through Accelerate, where they can express it.

DeepSpeed: docs/_pages/config-json.md (github.com/deepspeedai/DeepSpeed): `train_batch_size` equals
`train_micro_batch_size_per_gpu × gradient_accumulation_steps × GPUs`. Accelerate: configuration of FSDP 2
(huggingface.co/docs/accelerate/usage_guides/fsdp).
"""

import io
import json
from typing import Any

from ruamel.yaml import YAML

from clusterwright.catalog.precisions import EIGHT_BIT, FOUR_BIT
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from clusterwright.sizing.records.job import Layout
from clusterwright.sizing.records.offload import ACTIVATIONS, OPTIMIZER, PARAMETERS

#: Where nodes have their local drives (templates/node/environment.sh).
SCRATCH = "/scratch"
NARROW = (*EIGHT_BIT, *FOUR_BIT)
_FSDP_STAGES = (2, 3)
_RESHARD_STAGE = 3


def _split(layout: Layout) -> str:
    """Return the first kind of parallelism beyond data parallelism, in words, empty if there is none."""
    kinds = (
        ("tensor", layout.tp),
        ("pipeline", layout.pp),
        ("context", layout.cp),
        ("expert", layout.ep),
    )
    return next((f"{name} parallelism of {size}" for name, size in kinds if size > 1), "")


def _some_layers(layout: Layout) -> str:
    """Return that only some layers are recomputed, empty if all or none are."""
    count = layout.recompute_layers
    return f"the layout recomputes {count} layer{'s' if (count or 0) > 1 else ''} of a stage" if count else ""


def no_deepspeed(plan: TrainingPlan, option: TrainingOption) -> str:
    """Return why DeepSpeed's configuration cannot express the layout, empty if it can."""
    performance = option.performance
    split = _split(performance.layout)
    if split:
        return f"the layout has {split}, which belongs to the training script there, not to the configuration"
    if _some_layers(performance.layout):
        return f"{_some_layers(performance.layout)}, which is chosen in the training script there"
    if performance.layout.sharding_groups > 1:
        return f"the layout shards over groups of {performance.layout.sharding_group} GPUs; ZeRO there shards over all"
    if plan.workload.precision in NARROW:
        return f"{plan.workload.precision} is not a setting of its configuration"
    if _offloads(option, ACTIVATIONS) and performance.layout.recompute != "full":
        return "it moves the inputs of recomputed layers to the host, and the plan keeps more than these"
    return ""


def _offloads(option: TrainingOption, what: str) -> bool:
    return option.performance.offload is not None and what in option.performance.offload.what


def no_fsdp(plan: TrainingPlan, option: TrainingOption) -> str:
    """Return why FSDP's configuration cannot express the layout, empty if it can."""
    performance = option.performance
    split = _split(performance.layout)
    if split:
        return f"the layout has {split}; FSDP shards over data parallelism only"
    if _some_layers(performance.layout):
        return f"{_some_layers(performance.layout)}; Accelerate recomputes all of them or none"
    if performance.layout.zero_stage not in _FSDP_STAGES:
        return f"the layout shards as ZeRO {performance.layout.zero_stage}; FSDP shards gradients (2) or weights (3)"
    if plan.workload.precision in NARROW:
        return f"{plan.workload.precision} needs a backend of its own in Accelerate, which the plan does not choose"
    need = performance.offload
    if need is not None and (need.what != (OPTIMIZER, PARAMETERS) or need.where != "cpu"):
        return "FSDP offloads weights and optimizer together, to host memory, and nothing else"
    return ""


def deepspeed_config(plan: TrainingPlan, option: TrainingOption) -> dict[str, Any]:
    """Return DeepSpeed's configuration; the optimizer and its learning rate come from the training script."""
    performance = option.performance
    layout, stage = performance.layout, performance.layout.zero_stage
    zero: dict[str, Any] = {"stage": stage}
    if stage > 0:
        zero |= {"overlap_comm": True, "contiguous_gradients": True, "reduce_scatter": True}
    zero |= _offload_sections(option)
    half = "fp16" if plan.workload.precision == "fp16" else "bf16"
    config: dict[str, Any] = {
        "train_batch_size": plan.workload.global_batch_sequences,
        "train_micro_batch_size_per_gpu": layout.micro_batch,
        "gradient_accumulation_steps": layout.micro_batches,
        "gradient_clipping": 1.0,
        "zero_optimization": zero,
        half: {"enabled": True},
        "steps_per_print": 10,
        "wall_clock_breakdown": False,
    }
    if layout.recompute == "full":
        config["activation_checkpointing"] = {
            # Activations go to the host only where they are partitioned, if over one rank.
            "partition_activations": _offloads(option, ACTIVATIONS),
            "cpu_checkpointing": _offloads(option, ACTIVATIONS),
            "contiguous_memory_optimization": False,
        }
    if performance.offload is not None and performance.offload.where == "nvme":
        config["aio"] = {
            "block_size": 1048576,
            "queue_depth": 32,
            "single_submit": False,
            "overlap_events": True,
        }
    return config


def _offload_sections(option: TrainingOption) -> dict[str, Any]:
    """Return `offload_optimizer` and `offload_param`; drives are mounted where the node scripts mount them."""
    performance = option.performance
    if performance.offload is None:
        return {}
    place: dict[str, Any] = {"device": performance.offload.where, "pin_memory": True}
    if performance.offload.where == "nvme":
        place["nvme_path"] = SCRATCH
    names = {"offload_optimizer": OPTIMIZER, "offload_param": PARAMETERS}
    return {name: dict(place) for name, what in names.items() if _offloads(option, what)}


def accelerate_config(plan: TrainingPlan, option: TrainingOption) -> dict[str, Any]:
    """Return Accelerate's configuration of FSDP 2; the launcher gives rank and address of each machine."""
    layout = option.performance.layout
    return fsdp_config(
        copies=layout.sharding_groups,
        shards=layout.dp // layout.sharding_groups,
        reshard=layout.zero_stage == _RESHARD_STAGE,
        recompute=layout.recompute == "full",
        offload=option.performance.offload is not None,
        accumulation=layout.micro_batches,
        half="fp16" if plan.workload.precision == "fp16" else "bf16",
        machines=option.training_nodes
        * (option.design.facility.inventory.hosts_per_node if option.design.facility else 1),
        processes=option.training_nodes * option.cluster.gpus_per_node,
    )


def fsdp_config(
    *,
    copies: int,
    shards: int,
    reshard: bool,
    recompute: bool,
    offload: bool,
    accumulation: int,
    half: str,
    machines: int,
    processes: int,
) -> dict[str, Any]:
    """Return Accelerate's configuration of FSDP 2 for a layout.

    Args:
        copies: of the group that divides the weights.
        shards: accelerators of the group.
        reshard: weights are gathered again in the backward pass.
        recompute: activations of all layers are computed again.
        offload: weights and optimizer rest in host memory.
        accumulation: passes of an update.
        half: format of the multiplications, `bf16` or `fp16`.
        machines: hosts.
        processes: accelerators of all hosts.
    """
    mesh = {"dp_replicate": copies, "dp_shard": shards, "tp": 1, "cp": 1}
    hybrid = {"parallelism_config": {f"parallelism_config_{name}_size": size for name, size in mesh.items()}}
    return {
        "compute_environment": "LOCAL_MACHINE",
        "debug": False,
        "distributed_type": "FSDP",
        "downcast_bf16": "no",
        "fsdp_config": {
            "fsdp_version": 2,
            "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "fsdp_reshard_after_forward": reshard,
            "fsdp_activation_checkpointing": recompute,
            "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            "fsdp_offload_params": offload,
            "fsdp_cpu_ram_efficient_loading": True,
        },
        "gradient_accumulation_steps": accumulation,
        "mixed_precision": half,
        "num_machines": machines,
        "num_processes": processes,
        **(hybrid if copies > 1 else {}),
        "rdzv_backend": "c10d",
        "same_network": True,
        "use_cpu": False,
    }


def json_text(config: dict[str, Any]) -> str:
    """Return a configuration as JSON."""
    return json.dumps(config, indent=2) + "\n"


def yaml_text(config: dict[str, Any]) -> str:
    """Return a configuration as YAML."""
    yaml = YAML()
    yaml.default_flow_style = False
    stream = io.StringIO()
    yaml.dump(config, stream)
    return stream.getvalue()
