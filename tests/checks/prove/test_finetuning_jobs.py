"""Files of fine-tuning jobs: nothing is found in what nobody edited, mistakes are, and what is the user's is free."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.checks.prove.planting import Sites, copy_of, findings, written_once

_HEAD = """\
name: {name}
workload:
  kind: finetune
  model: {model}
{workload}
targets: {{onprem: {{system: dgx-h100, scheduler: {scheduler}, min_nodes: {nodes}, max_nodes: {nodes}{more}}}}}
"""
_DATA = "  data: {samples: 50000, mean_tokens: 600, epochs: 2}\n"
_PROMPTS = "  data: {samples: 20000}\n"
_LOW_RANK = "  method: lora\n  rank: 16\n  targets: all\n  sequence_length: 4096\n"
_PACKED_BASE = (
    "  method: qlora\n  rank: 32\n  targets: [query, value]\n  sequence_length: 2048\n  optimizer: paged-adamw-8bit\n"
)
_PAIRS = (
    "  method: lora\n  rank: 8\n  targets: [query, key, value, output]\n  objective: dpo\n  sequence_length: 2048\n"
)
_WHOLE = "  method: full\n  optimizer: adamw\n  sequence_length: 4096\n"
_ANSWERS = (
    "  method: full\n  objective: grpo\n  sequence_length: 2048\n"
    "  rollouts: {answers: 8, prompt_tokens: 248, answer_tokens: {mean: 600, p95: 1500}, updates: 2, reference: true,"
    " reward: accuracy_reward}\n"
)
_ONE_GPU = "  parallelism: {gpus: 1}\n"
_SHARED_LAYERS = _LOW_RANK + "  parallelism: {tensor: 4, micro_batch: 2}\n  gradient_checkpointing: true\n"


def _site(name: str, workload: str, *, framework: str, scheduler: str, batch: int = 64, nodes: int = 2) -> str:
    """Return a blueprint."""
    data = _PROMPTS if "rollouts" in workload else _DATA
    said = f"{workload}{data}  global_batch: {batch}\n  framework: {framework}"
    return _HEAD.format(
        name=name, model="llama-3.1-8b", workload=said.rstrip("\n"), scheduler=scheduler, nodes=nodes, more=""
    )


SITES = {
    "tune": _site("tune", _LOW_RANK, framework="torchtune", scheduler="slurm"),
    "tune-pods": _site("tune-pods", _LOW_RANK, framework="torchtune", scheduler="kubernetes"),
    "packed": _site("packed", _PACKED_BASE + _ONE_GPU, framework="trl", scheduler="slurm", nodes=1),
    "pairs": _site("pairs", _PAIRS, framework="trl", scheduler="kubernetes"),
    "whole": _site("whole", _WHOLE, framework="trl", scheduler="slurm"),
    "bridge": _site("bridge", _SHARED_LAYERS, framework="megatron-bridge", scheduler="slurm"),
    "bridge-pods": _site("bridge-pods", _WHOLE, framework="nemo", scheduler="kubernetes"),
    "answers": _site("answers", _ANSWERS, framework="trl", scheduler="slurm"),
    "answers-pods": _site("answers-pods", _ANSWERS, framework="trl", scheduler="kubernetes"),
}
_SCRIPT, _MANIFEST = "launch/finetune.sbatch", "kubernetes/jobs/finetune.yaml"
_TRL, _ACCELERATE, _TORCHTUNE = "launch/trl.yaml", "launch/accelerate.yaml", "launch/torchtune.yaml"
_BRIDGE, _PROGRAM = "launch/bridge.yaml", "launch/bridge.py"


@dataclass(frozen=True)
class _Edit:
    """What is changed in the folder of a site, and which rule finds it; none where it is the user's to change."""

    site: str
    file: str
    pattern: str
    new: str
    rule: str = ""


_FAULTS = (
    _Edit("tune", _SCRIPT, r"--nodes=\d+", "--nodes=1", "SBT001"),
    _Edit("tune", _SCRIPT, r"--gres=gpu:h100:8", "--gres=gpu:h100:4", "SBT001"),
    _Edit("tune", _SCRIPT, r"#SBATCH --requeue\n", "", "SBT001"),
    _Edit("tune", _SCRIPT, r"--chdir=\S+", "--chdir=/root", "SBT001"),
    _Edit("tune", _SCRIPT, r"#SBATCH --mem=0", "#SBATCH --mem=64G", "SBT001"),
    _Edit("tune", _SCRIPT, r"export NCCL_NET=IB", "export NCCL_NET=Socket", "SBT005"),
    _Edit("tune", _SCRIPT, r"--nproc_per_node 8", "--nproc_per_node 4", "FTJ001"),
    _Edit("tune", _SCRIPT, r"--nnodes \d+", "--nnodes 4", "FTJ001"),
    _Edit("tune", _SCRIPT, r"lora_finetune_distributed", "full_finetune_distributed", "FTJ001"),
    _Edit("tune", _SCRIPT, r"resume_from_checkpoint=true", "resume_from_checkpoint=false", "FTJ005"),
    _Edit("tune", _SCRIPT, r'CHECKPOINT_PATH:=/shared/\S+"', 'CHECKPOINT_PATH:=/scratch/mine}"', "FTJ005"),
    _Edit("tune", _SCRIPT, r"recipe_state\.pt", "recipe.pt", "SET003"),
    _Edit("tune", _TORCHTUNE, r"max_seq_len: \d+", "max_seq_len: 512", "FTJ003"),
    _Edit("tune", _TORCHTUNE, r"\nepochs: \d+", "\nepochs: 9", "FTJ003"),
    _Edit("tune", _TORCHTUNE, r"lora_llama3_1_8b", "lora_llama3_1_70b", "FTJ003"),
    _Edit("tune", _TORCHTUNE, r"torch\.optim\.AdamW", "bitsandbytes.optim.AdamW8bit", "FTJ003"),
    _Edit("tune", _TORCHTUNE, r"\nbatch_size: \d+", "\nbatch_size: 48", "FTJ002"),
    _Edit("tune", _TORCHTUNE, r"gradient_accumulation_steps: \d+", "gradient_accumulation_steps: 99", "FTJ002"),
    _Edit("tune", _TORCHTUNE, r"lora_rank: \d+", "lora_rank: 256", "FTJ004"),
    _Edit("tune", _TORCHTUNE, r"apply_lora_to_mlp: true", "apply_lora_to_mlp: false", "FTJ004"),
    _Edit("tune", _TORCHTUNE, r"  - v_proj\n", "", "FTJ004"),
    _Edit("tune", _TORCHTUNE, r"save_adapter_weights_only: true", "save_adapter_weights_only: false", "FTJ004"),
    _Edit("tune", "launch/README.md", r" sequences an update", "0 sequences an update", "PAG001"),
    _Edit("tune-pods", _MANIFEST, r"completions: \d+", "completions: 1", "FTJ001"),
    _Edit("tune-pods", _MANIFEST, r"--nnodes \d+", "--nnodes 1", "FTJ001"),
    _Edit("tune-pods", _MANIFEST, r"value: tune-pods-0\.tune-pods", "value: tune-pods-1.tune-pods", "FTJ001"),
    _Edit("tune-pods", _MANIFEST, r"lora_alpha: \d+", "lora_alpha: 1", "FTJ004"),
    _Edit("tune-pods", _MANIFEST, r"packed: true", "packed: false", "FTJ003"),
    _Edit("tune-pods", "kubernetes/jobs/job.env", r"JOB_QUEUE=\S+", "JOB_QUEUE=other", "FTJ001"),
    _Edit("tune-pods", "kubernetes/jobs/job.env", r"CHECKPOINT_PATH=/shared", "CHECKPOINT_PATH=/tmp", "FTJ005"),
    _Edit("packed", _SCRIPT, r"--num_processes \d+", "--num_processes 8", "FTJ001"),
    _Edit("packed", _ACCELERATE, r"distributed_type: \S+", "distributed_type: FSDP", "FTJ001"),
    _Edit("packed", _TRL, r"load_in_4bit: true", "load_in_8bit: true", "FTJ004"),
    _Edit("packed", _TRL, r"bnb_4bit_quant_type: nf4", "bnb_4bit_quant_type: fp4", "FTJ004"),
    _Edit("packed", _TRL, r"optim: paged_adamw_8bit", "optim: adamw_torch", "FTJ003"),
    _Edit("packed", _TRL, r"- q_proj\n", "- gate_proj\n", "FTJ004"),
    _Edit("packed", _TRL, r"lora_r: \d+", "lora_r: 8", "FTJ004"),
    _Edit("packed", _TRL, r"max_length: \d+", "max_length: 8192", "FTJ003"),
    _Edit("packed", _TRL, r"save_steps: \d+", "save_steps: 100000", "FTJ005"),
    _Edit("packed", _TRL, r"save_strategy: steps", "save_strategy: 'no'", "FTJ005"),
    _Edit("pairs", _MANIFEST, r"trl\.scripts\.dpo", "trl.scripts.sft", "FTJ001"),
    _Edit("pairs", _MANIFEST, r"per_device_train_batch_size: \d+", "per_device_train_batch_size: 32", "FTJ002"),
    _Edit("pairs", _MANIFEST, r"use_peft: true", "use_peft: false", "FTJ004"),
    _Edit("pairs", _MANIFEST, r"save_total_limit: \d+", "save_total_limit: 900", "FTJ005"),
    _Edit("pairs", _MANIFEST, r"num_machines: \d+", "num_machines: 7", "FTJ001"),
    _Edit("whole", _ACCELERATE, r"num_machines: \d+", "num_machines: 5", "FTJ001"),
    _Edit(
        "whole",
        _ACCELERATE,
        r"fsdp_activation_checkpointing: (true|false)",
        "fsdp_activation_checkpointing: 3",
        "FTJ002",
    ),
    _Edit("whole", _ACCELERATE, r"fsdp_reshard_after_forward: true", "fsdp_reshard_after_forward: false", "FTJ002"),
    _Edit("whole", _ACCELERATE, r"fsdp_offload_params: false", "fsdp_offload_params: true", "FTJ002"),
    _Edit("whole", _ACCELERATE, r"mixed_precision: bf16", "mixed_precision: fp16", "FTJ003"),
    _Edit("whole", _ACCELERATE, r"\Z", "parallelism_config:\n  parallelism_config_dp_shard_size: 2\n", "FTJ002"),
    _Edit("whole", _TRL, r"num_train_epochs: \S+", "num_train_epochs: 20", "FTJ003"),
    _Edit("whole", _TRL, r"dtype: bfloat16", "dtype: float32", "FTJ003"),
    _Edit("whole", _TRL, r"\Z", "use_peft: true\nlora_r: 16\n", "FTJ004"),
    _Edit("whole", _TRL, r"\Z", "save_only_model: true\n", "FTJ005"),
    _Edit("whole", _TRL, r"\Z", "use_vllm: true\n", "FTJ006"),
    _Edit("whole", _SCRIPT, r'"\$\{again\[@\]\}" ', "", "FTJ005"),
    _Edit("whole", _SCRIPT, r'--machine_rank "\$SLURM_NODEID"', "--machine_rank 0", "FTJ001"),
    _Edit("whole", _SCRIPT, r"--config trl\.yaml", "--config old.yaml", "FTJ001"),
    _Edit("whole", "plan.json", r'"global_batch_sequences": \d+', '"global_batch_sequences": 7', "PLN001"),
    _Edit("answers", _TRL, r"num_generations: 8", "num_generations: 64", "FTJ006"),
    _Edit("answers", _TRL, r"max_completion_length: \d+", "max_completion_length: 100", "FTJ006"),
    _Edit("answers", _TRL, r"num_iterations: 2", "num_iterations: 1", "FTJ006"),
    _Edit("answers", _TRL, r"beta: \S+", "beta: 0.0", "FTJ006"),
    _Edit("answers", _TRL, r"vllm_tensor_parallel_size: \d+", "vllm_tensor_parallel_size: 16", "FTJ006"),
    _Edit("answers", _TRL, r"vllm_gpu_memory_utilization: \S+", "vllm_gpu_memory_utilization: 0.97", "FTJ006"),
    _Edit("answers", _TRL, r"use_vllm: true", "use_vllm: false", "FTJ006"),
    _Edit("answers-pods", _MANIFEST, r"vllm_max_model_length: \d+", "vllm_max_model_length: 128", "FTJ006"),
    _Edit("answers-pods", _MANIFEST, r"steps_per_generation: \d+", "steps_per_generation: 77", "FTJ006"),
)
#: Values of `bridge.yaml` that a plan decides: of adapters on shared layers, and of all weights divided over two hosts.
_BRIDGE_VALUES = (
    ("tensor_model_parallel_size", "4", "8", "FTJ002"),
    ("pipeline_model_parallel_size", "1", "2", "FTJ002"),
    ("context_parallel_size", "1", "2", "FTJ002"),
    ("sequence_parallel", "true", "false", "FTJ002"),
    ("recompute_granularity", "full", "selective", "FTJ002"),
    ("recompute_method", "uniform", "block", "FTJ002"),
    ("recompute_num_layers", "1", "4", "FTJ002"),
    ("grad_reduce_in_fp32", "true", "false", "FTJ002"),
    ("micro_batch_size", "1", "2", "FTJ002"),
    ("global_batch_size", "32", "64", "FTJ002"),
    ("use_megatron_fsdp", "false", "true", "FTJ002"),
    ("seq_length", "8192", "4096", "FTJ003"),
    ("enable_offline_packing", "true", "false", "FTJ003"),
    ("packed_sequence_size", "8192", "16384", "FTJ003"),
    ("max_single_sequence_length", "4096", "8192", "FTJ003"),
    ("num_epochs", r"2\.0", "1.0", "FTJ003"),
    ("recipe", "bf16_mixed", "fp16_mixed", "FTJ003"),
    ("optimizer", "adam", "sgd", "FTJ003"),
    ("method", "lora", "dora", "FTJ004"),
    ("dim", "16", "32", "FTJ004"),
    ("alpha", "32", "16", "FTJ004"),
    ("save_interval", r"\d+", "100000", "FTJ005"),
    ("most_recent_k", r"\d+", "900", "FTJ005"),
    ("ckpt_format", "torch_dist", "fsdp_dtensor", "FTJ005"),
)
_BRIDGE_DIVISION = (
    ("use_megatron_fsdp", "true", "false", "FTJ002"),
    ("data_parallel_sharding_strategy", "optim_grads_params", "optim", "FTJ002"),
    ("num_distributed_optimizer_instances", "2", "1", "FTJ002"),
    ("init_model_with_meta_device", "true", "false", "FTJ002"),
    ("grad_reduce_in_fp32", "false", "true", "FTJ002"),
    ("ckpt_format", "fsdp_dtensor", "torch_dist", "FTJ005"),
)
_BRIDGE_FAULTS = (
    *(
        _Edit("bridge", _BRIDGE, rf" {key}: {old}\n", f" {key}: {new}\n", rule)
        for key, old, new, rule in _BRIDGE_VALUES
    ),
    *(
        _Edit("bridge-pods", _MANIFEST, rf" {key}: {old}\n", f" {key}: {new}\n", rule)
        for key, old, new, rule in _BRIDGE_DIVISION
    ),
    _Edit("bridge", _BRIDGE, r"  - linear_proj\n", "", "FTJ004"),
    _Edit("bridge", _BRIDGE, r"\ndataset:\n  seq_length: 8192", "\ndataset:\n  seq_length: 2048", "FTJ003"),
    _Edit("bridge", _BRIDGE, r"optimizer: adam", "optimizer: adam\n  optimizer_cpu_offload: true", "FTJ003"),
    _Edit("bridge", _BRIDGE, r"most_recent_k", "save_optim: false\n  most_recent_k", "FTJ005"),
    _Edit("bridge", _PROGRAM, r"load=results", "load=None", "FTJ005"),
    _Edit("bridge", _SCRIPT, r"torchrun --nnodes 2", "torchrun --nnodes 1", "FTJ001"),
    _Edit("bridge", _SCRIPT, r"--nproc-per-node 8", "--nproc-per-node 4", "FTJ001"),
    _Edit("bridge", _SCRIPT, r"--nproc-per-node 8 ", "", "FTJ001"),
    _Edit("bridge", _SCRIPT, r'--rdzv-endpoint "\$MAIN_HOST:29400"', "--rdzv-endpoint localhost:29400", "FTJ001"),
    _Edit("bridge", _SCRIPT, r" bridge\.py", " old.py", "FTJ001"),
    _Edit("bridge", _SCRIPT, r'CHECKPOINT_PATH:=/shared/\S+"', 'CHECKPOINT_PATH:=/scratch/mine}"', "FTJ005"),
    _Edit("bridge-pods", _MANIFEST, r"peft:\n", "peft: {method: lora, dim: 8}\n", "FTJ004"),
    _Edit("bridge-pods", _MANIFEST, r"load=results", "load=weights", "FTJ005"),
    _Edit("bridge", "launch/README.md", r"the last \d+ are kept", "the last 77 are kept", "PAG001"),
)
_USERS_OWN = (
    _Edit("tune", _SCRIPT, r"LEARNING_RATE:=", "LEARNING_RATE:=3e-4"),
    _Edit("tune", _SCRIPT, r"DATA_PATH:=", "DATA_PATH:=/shared/data/mine.jsonl"),
    _Edit("tune", _SCRIPT, r"CONTAINER_IMAGE:=", "CONTAINER_IMAGE:=registry.example/tune:1"),
    _Edit("tune", _SCRIPT, r"CHECKPOINT_PATH:=/shared/\S+}", "CHECKPOINT_PATH:=/shared/mine}"),
    _Edit("tune", _SCRIPT, r"#SBATCH --requeue", "#SBATCH --requeue\n#SBATCH --time=UNLIMITED"),
    _Edit("tune", _TORCHTUNE, r"log_every_n_steps: \d+", "log_every_n_steps: 1"),
    _Edit("tune", _TORCHTUNE, r"metric_logging\.DiskLogger", "metric_logging.WandBLogger"),
    _Edit("tune", _TORCHTUNE, r"seed: *\n", "seed: 42\n"),
    _Edit("tune", _TORCHTUNE, r"clip_grad_norm: *\n", "clip_grad_norm: 1.0\n"),
    _Edit("packed", _TRL, r"report_to: none", "report_to: wandb"),
    _Edit("packed", _TRL, r"logging_steps: \d+", "logging_steps: 1"),
    _Edit("whole", _TRL, r"optim: adamw_torch", "optim: adamw_torch_fused"),
    _Edit("whole", _TRL, r"\Z", "warmup_ratio: 0.03\nlr_scheduler_type: cosine\n"),
    _Edit("whole", _ACCELERATE, r"debug: false", "debug: true"),
    _Edit("bridge", _BRIDGE, r"log_interval: 10", "log_interval: 1"),
    _Edit("bridge", _BRIDGE, r"lr_decay_style: cosine", "lr_decay_style: linear"),
    _Edit("bridge", _BRIDGE, r" weight_decay: 0\.01", " weight_decay: 0.1"),
    _Edit("bridge", _BRIDGE, r"dropout: 0\.0", "dropout: 0.1"),
    _Edit("bridge", _PROGRAM, r"eval_iters=0", "eval_iters=8"),
    _Edit("answers", _TRL, r"beta: \S+", "beta: 0.01"),
    _Edit("answers", _SCRIPT, r"REWARD:=\w+", "REWARD:=think_format_reward"),
    _Edit("tune-pods", "kubernetes/jobs/job.env", r"LEARNING_RATE=\S*", "LEARNING_RATE=3e-4"),
    _Edit("tune-pods", "kubernetes/jobs/job.env", r"CONTAINER_IMAGE=\S*", "CONTAINER_IMAGE=registry.example/tune:1"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """Return the folder of a site, written once."""
    return written_once(SITES, tmp_path_factory)


def _edited(site: Sites, edit: _Edit, folder: Path) -> list[str]:
    """Return the rules that find something in the folder of a site with an edit."""
    copy = copy_of(site(edit.site), folder)
    path = copy / edit.file
    text = path.read_text(encoding="utf-8")
    changed = re.sub(edit.pattern, lambda _: edit.new, text, count=1)
    assert changed != text, f"{edit.file} has no {edit.pattern}"
    path.write_text(changed, encoding="utf-8")
    (copy / "cables.xlsx").unlink(missing_ok=True)
    return [finding.id for finding in findings(copy)]


@pytest.mark.parametrize("name", SITES)
def test_nothing_is_found_in_a_job_as_it_was_written(site: Sites, name: str) -> None:
    """Every framework, objective and scheduler, on one accelerator and on several hosts."""
    folder = site(name)
    written = {path.name for path in [*folder.glob("launch/*"), *folder.glob("kubernetes/jobs/*")]}
    assert written & {"finetune.sbatch", "finetune.yaml"}
    assert [finding.message for finding in findings(folder)] == []


@pytest.mark.parametrize("edit", [*_FAULTS, *_BRIDGE_FAULTS], ids=lambda edit: f"{edit.site}: {edit.new[:40]!r}")
def test_a_mistake_in_a_job_is_found(site: Sites, edit: _Edit, tmp_path: Path) -> None:
    """The rule for what was changed finds it."""
    assert edit.rule in _edited(site, edit, tmp_path / "site")


@pytest.mark.parametrize("edit", _USERS_OWN, ids=lambda edit: f"{edit.site}: {edit.new[:40]!r}")
def test_what_is_the_users_own_is_free(site: Sites, edit: _Edit, tmp_path: Path) -> None:
    """Learning rate, data, image, logging and schedule raise no finding."""
    assert _edited(site, edit, tmp_path / "site") == []
