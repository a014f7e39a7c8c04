"""NVIDIA Megatron-Bridge: its numbers are the plan's, its program reads them, and what it lacks is said."""

import io
import runpy
import sys
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.plan.finetuning.megatron_bridge import RELEASE, architecture_of, no_bridge
from clusterwright.plan.finetuning.record import FinetuningPlan
from tests.opened import target_files
from tests.tuned import launch_files, tuning_plan

_WHOLE = ("workload.method=full", "workload.rank=null", "workload.targets=null")
_SAVED = "workload.gradient_checkpointing=true"


@cache
def _plan(*overrides: str) -> FinetuningPlan:
    values = {
        "name": "tune",
        "workload": {
            "kind": "finetune",
            "model": "llama-3.1-8b",
            "method": "lora",
            "rank": 16,
            "targets": "all",
            "framework": "megatron-bridge",
            "sequence_length": 4096,
            "global_batch": 64,
            "data": {"samples": 20_000, "mean_tokens": 512, "epochs": 2},
        },
        "targets": {"aws": {"instance": "p5.48xlarge", "region": "us-east-1", "max_nodes": 2}},
    }
    return tuning_plan(values, overrides)


def _files(*overrides: str) -> dict[str, str]:
    return {name.removeprefix("launch/"): text for name, text in launch_files(_plan(*overrides)).items()}


def _config(*overrides: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(io.StringIO(_files(*overrides)["bridge.yaml"]))
    return found


@pytest.mark.parametrize(
    "held",
    [
        ("workload.parallelism={gpus: 1}",),
        ("workload.parallelism={gpus: 8, tensor: 1, micro_batch: 2}", _SAVED),
        ("workload.parallelism={gpus: 8, tensor: 4, micro_batch: 4}", _SAVED),
        ("workload.parallelism={gpus: 16, tensor: 8, micro_batch: 1}", "workload.packing=false"),
        ("workload.parallelism={gpus: 8, tensor: 2, micro_batch: 8}", "workload.packing=false", _SAVED),
        (*_WHOLE, "workload.parallelism={gpus: 8, sharding: all, micro_batch: 2}"),
        (*_WHOLE, "workload.parallelism={gpus: 16, sharding: node}", _SAVED),
        (*_WHOLE, "workload.parallelism={gpus: 16, sharding: all, tensor: 2}", _SAVED),
        ("workload.method=dora", "workload.targets=[q_proj, k_proj, v_proj]", "workload.alpha=8", "workload.rank=4"),
    ],
)
def test_the_numbers_are_the_plans(held: tuple[str, ...]) -> None:
    """Groups, batch, sequences, packs, recomputation, division, adapters and checkpoints, for several layouts."""
    plan, config = _plan(*held), _config(*held)
    option, work = plan.options[0], plan.workload
    layout, model, train = option.performance.layout, config["model"], config["train"]
    assert (model["tensor_model_parallel_size"], model["sequence_parallel"]) == (layout.tensor, layout.tensor > 1)
    assert (model["pipeline_model_parallel_size"], model["context_parallel_size"]) == (1, 1)
    # Passes of an update: what Megatron-Core derives from batch, micro-batch and groups.
    assert train["global_batch_size"] / train["micro_batch_size"] / layout.data == layout.accumulation
    # Tokens of a pass are the plan's, in sequences or in one pack of them; no sample is longer than the blueprint's.
    assert train["micro_batch_size"] * model["seq_length"] == layout.micro_batch * 4096
    assert config["dataset"]["seq_length"] == model["seq_length"]
    if work.packing:
        assert train["micro_batch_size"] == 1
        assert config["packing"] == {
            "packed_sequence_size": model["seq_length"],
            "max_single_sequence_length": 4096,
        }
    else:
        assert (model["seq_length"], config["packing"]) == (4096, None)
    assert config["dataset"]["enable_offline_packing"] is work.packing
    assert train["num_epochs"] == 2
    assert model["recompute_granularity"] == ("full" if layout.recompute else None)
    divided = layout.sharding != "none"
    assert config["ddp"]["use_megatron_fsdp"] is divided
    assert config["checkpoint"]["ckpt_format"] == ("fsdp_dtensor" if divided else "torch_dist")
    if divided:
        assert config["ddp"]["num_distributed_optimizer_instances"] * layout.shards == layout.data
        assert model["init_model_with_meta_device"] is True
    steps = round(option.performance.failures.checkpoint_interval_s / option.performance.step_s)
    assert config["checkpoint"]["save_interval"] == max(1, min(steps, option.performance.steps))
    assert config["checkpoint"]["most_recent_k"] == option.design.storage.checkpoints_kept
    if work.method == "full":
        assert config["peft"] is None
        assert config["mixed_precision"] == {"recipe": "bf16_mixed", "grad_reduce_in_fp32": False}
    else:
        assert (config["peft"]["method"], config["peft"]["dim"]) == (work.method, work.rank)
        assert config["peft"]["alpha"] == work.alpha
        assert config["mixed_precision"]["grad_reduce_in_fp32"] is True


@pytest.mark.parametrize(
    ("targets", "modules"),
    [
        ("all", ["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"]),
        ("[query, key, value]", ["linear_qkv"]),
        ("[output, mlp]", ["linear_proj", "linear_fc1", "linear_fc2"]),
    ],
)
def test_adapters_go_to_megatrons_modules(targets: str, modules: list[str]) -> None:
    """Query, key and value are one of them; the MLP has two."""
    assert _config(f"workload.targets={targets}")["peft"]["target_modules"] == modules


@pytest.mark.parametrize(
    ("values", "key", "reason"),
    [
        (("workload.method=qlora", "workload.precision=nf4"), "method", "it has no qlora"),
        (("workload.method=prompt", "workload.targets=null"), "method", "it has no prompt"),
        (("workload.optimizer=adamw-8bit",), "optimizer", "it has no adamw-8bit"),
        (("workload.optimizer=paged-adamw",), "optimizer", "it has no paged-adamw"),
        (("workload.objective=dpo",), "objective", "not dpo"),
        (
            (
                "workload.objective=grpo",
                "workload.data.mean_tokens=null",
                "workload.rollouts={answers: 8, prompt_tokens: 200, answer_tokens: 600}",
            ),
            "objective",
            "not grpo",
        ),
        (("workload.precision=fp8",), "precision", "weights in fp8"),
        (("workload.targets=[query, value]",), "targets", "one matrix there"),
        (("workload.rank=null", "workload.targets=null", "workload.trainable=1 %"), "trainable", "have a rank"),
        (("workload.model=mixtral-8x7b",), "model", "no bridge for Mixtral 8x7B"),
        (("workload.model=phi-4-14b",), "model", "no bridge for Phi 4 14B"),
        (("workload.model=qwen3-30b-a3b", "workload.method=dora"), "targets", "does not divide experts"),
        (("workload.model=deepseek-v2-lite",), "targets", "latent attention"),
        (("workload.parallelism={gpus: 8, tensor: 1, sharding: all}",), "parallelism.sharding", "whole weights"),
        (("workload.sequence_length=4095", "workload.parallelism.tensor=2"), "sequence_length", "4,095 tokens do not"),
    ],
)
def test_what_megatron_bridge_lacks_is_found(values: tuple[str, ...], key: str, reason: str) -> None:
    """A warning with its place and what to change; the README says why the files are another software's, or missing."""
    plan = _plan(*values)
    (found, *_) = (warning for warning in plan.warnings if warning.id == "FTN024")
    assert found.path == ("workload", *key.split("."))
    assert reason in found.message
    assert "workload.framework: trl" in found.help
    files = _files(*values)
    assert "bridge.yaml" not in files
    assert reason in files["README.md"]


def test_a_run_that_it_has_is_no_warning() -> None:
    """Neither is one that counts with another software and has what Megatron-Bridge lacks."""
    assert "FTN024" not in {warning.id for warning in _plan().warnings}
    other = _plan("workload.framework=trl", "workload.method=qlora", "workload.precision=nf4")
    assert "FTN024" not in {warning.id for warning in other.warnings}
    assert no_bridge(other.workload, other.options[0]) == "it has no qlora"


def test_architectures_are_those_of_models_that_there_are() -> None:
    """Every row of the table is of a model of the catalogue; the longest beginning decides."""
    catalogue = load_catalogue().models
    rows = (assets.root() / "templates" / "launch" / "bridge_models.csv").read_text(encoding="utf-8").splitlines()[1:]
    for row in rows:
        begins, architecture, source, date = row.split(",")
        assert any(architecture_of(model) == architecture for model in catalogue if model.startswith(begins)), begins
        assert RELEASE in source
        assert date
    assert architecture_of("qwen3-30b-a3b") == "Qwen3MoeForCausalLM"
    assert architecture_of("qwen3-8b") == "Qwen3ForCausalLM"
    assert architecture_of("llama-4-scout") == ""


class _Class:
    """Stands in for a class of Megatron-Bridge: keeps its arguments."""

    def __init__(self, *given: object, **named: object) -> None:
        self.__dict__.update(named)
        self.given = given


class _Bridge:
    """Stands in for `AutoBridge`, the provider of a model, and what trains it."""

    def __init__(self) -> None:
        self.weights = ""
        self.config: Any = None
        self.callbacks: Any = None
        self.overrides: list[str] = []

    def from_hf_pretrained(self, weights: str) -> "_Bridge":
        self.weights = weights
        return self

    def to_megatron_provider(self, *, load_weights: bool) -> SimpleNamespace:
        assert load_weights is False
        return SimpleNamespace()

    def finetune(self, config: object, step: object, *, callbacks: object) -> None:
        assert step == "forward_step"
        self.config, self.callbacks = config, callbacks

    def override(self, config: object, *, cli_overrides: list[str]) -> object:
        self.overrides = cli_overrides
        return config


@pytest.fixture
def bridge(monkeypatch: pytest.MonkeyPatch) -> _Bridge:
    """Return what the program starts, with every module that it imports replaced."""
    own = _Bridge()
    configs = ("Checkpoint", "DistributedDataParallel", "Logger", "Optimizer", "Scheduler", "Tokenizer", "Training")
    names: dict[str, dict[str, object]] = {
        "torch": {"distributed": SimpleNamespace(is_initialized=lambda: False)},
        "yaml": {"safe_load": lambda text: YAML(typ="safe").load(io.StringIO(text))},
        "megatron": {},
        "megatron.bridge": {"AutoBridge": own},
        "megatron.bridge.data.builders": {
            name: type(name, (_Class,), {})
            for name in ("ChatSFTPreprocessingConfig", "GPTSFTDatasetConfig", "HFDatasetSourceConfig")
        },
        "megatron.bridge.data.packing": {"PackedSequenceSpecs": _Class},
        "megatron.bridge.peft.dora": {"DoRA": type("DoRA", (_Class,), {})},
        "megatron.bridge.peft.lora": {"LoRA": type("LoRA", (_Class,), {})},
        "megatron.bridge.training.callbacks": {"Callback": object, "CallbackContext": object},
        "megatron.bridge.training.config": {
            **{f"{name}Config": _Class for name in (*configs, "Validation")},
            "ConfigContainer": _Class,
        },
        "megatron.bridge.training.finetune": {"finetune": own.finetune},
        "megatron.bridge.training.gpt_step": {"forward_step": "forward_step"},
        "megatron.bridge.training.mixed_precision": {
            "get_mixed_precision_config": lambda name: SimpleNamespace(name=name)
        },
        "megatron.bridge.training.utils.omegaconf_utils": {"process_config_with_overrides": own.override},
    }
    for name, held in names.items():
        module = ModuleType(name)
        vars(module).update(held)
        monkeypatch.setitem(sys.modules, name, module)
    return own


def _run(folder: Path, monkeypatch: pytest.MonkeyPatch, *held: str, data: str, words: tuple[str, ...] = ()) -> None:
    """Start the written program as torchrun does."""
    files = _files(*held)
    for name in ("bridge.py", "bridge.yaml"):
        (folder / name).write_text(files[name], encoding="utf-8")
    given = {"MODEL_PATH": "/shared/m", "DATA_PATH": data, "CHECKPOINT_PATH": "/shared/c", "LEARNING_RATE": "2e-4"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["bridge.py", *words])
    runpy.run_path(str(folder / "bridge.py"), run_name="__main__")


def test_the_program_gives_the_numbers_to_megatron_bridge(
    bridge: _Bridge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of Hugging Face, the data file, the folder that is saved in and gone on from, and the plan's numbers."""
    held = ("workload.parallelism={gpus: 8, tensor: 4, micro_batch: 2}", _SAVED)
    _run(tmp_path, monkeypatch, *held, data="/shared/set.jsonl", words=("logger.log_interval=1",))
    config = bridge.config
    assert bridge.weights == config.checkpoint.pretrained_checkpoint == config.tokenizer.tokenizer_model == "/shared/m"
    assert config.checkpoint.save == config.checkpoint.load == "/shared/c"
    assert config.dataset.hf_dataset.load_kwargs == {"data_files": "/shared/set.jsonl"}
    assert config.dataset.hf_dataset.path_or_dataset == "json"
    assert config.dataset.hf_output_root == "/shared/c/data"
    assert (config.dataset.seq_length, config.dataset.offline_packing_specs.packed_sequence_size) == (8192, 8192)
    assert (config.model.tensor_model_parallel_size, config.model.recompute_granularity) == (4, "full")
    assert (config.train.micro_batch_size, config.train.global_batch_size) == (1, 32)
    assert (config.mixed_precision.name, config.mixed_precision.grad_reduce_in_fp32) == ("bf16_mixed", True)
    assert (type(config.peft).__name__, config.peft.dim, config.peft.alpha) == ("LoRA", 16, 32)
    assert config.optimizer.lr == 2e-4
    assert config.scheduler.lr_decay_style == "cosine"
    assert bridge.overrides == ["logger.log_interval=1"]
    assert bridge.callbacks is None


def test_divided_weights_are_given_to_the_layers(
    bridge: _Bridge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where FSDP divides them, before the first update; data may be a name, and all weights have no adapters."""
    held = (*_WHOLE, "workload.parallelism={gpus: 8, sharding: all}", "workload.packing=false")
    _run(tmp_path, monkeypatch, *held, data="organisation/set")
    config = bridge.config
    assert (config.peft, config.dataset.offline_packing_specs, bridge.overrides) == (None, None, [])
    assert config.dataset.hf_dataset.path_or_dataset == "organisation/set"
    installed: list[str] = []
    module = SimpleNamespace(install_optimized_model_weights=lambda: installed.append("weights"))
    (callback,) = bridge.callbacks
    callback.on_train_start(SimpleNamespace(model=[SimpleNamespace(module=module)]))
    assert installed == ["weights"]


def test_the_job_starts_the_program_on_all_nodes() -> None:
    """On Slurm beside the script; the README says what the image holds, and how weights get in and out."""
    files = _files("workload.parallelism={gpus: 16, tensor: 8}")
    assert set(files) == {"README.md", "bridge.py", "bridge.yaml", "finetune.sbatch"}
    script = files["finetune.sbatch"]
    assert "#SBATCH --nodes=2" in script
    command = 'torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint "$MAIN_HOST:29400" bridge.py'
    assert f'exec {command} "$@"' in script
    compile(files["bridge.py"], "bridge.py", "exec")
    assert f"Megatron-Bridge {RELEASE} as" in files["bridge.py"]
    assert f"and Megatron-Bridge {RELEASE}, Megatron-Core and Transformer Engine in" in files["README.md"]
    assert "`LlamaForCausalLM`" in files["README.md"]
    assert "converts Hugging Face's weights while it loads them" in files["README.md"]
    assert "adapter/export_adapter.py" in files["README.md"]
    whole = _files(*_WHOLE, "workload.parallelism={gpus: 8, sharding: all}")["README.md"]
    assert "convert_checkpoints_fsdp.py export" in whole


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
def test_every_cloud_takes_the_program_along(cloud: str, scheduler: str) -> None:
    """Beside the script, or in the ConfigMap that pods mount; what submits the job asks for the image that it needs."""
    targets = {
        "aws": "instance: p5.48xlarge, region: us-east-1",
        "azure": "instance: Standard_ND96isr_H100_v5, region: eastus",
        "gcp": "instance: a3-megagpu-8g, region: us-central1",
    }
    plan = _plan(f"targets={{{cloud}: {{{targets[cloud]}, scheduler: {scheduler}, max_nodes: 2}}}}")
    files = target_files(plan, plan.options[0], load_catalogue())
    program = (assets.root() / "templates" / "launch" / "bridge.py").read_text(encoding="utf-8")
    if scheduler == "slurm":
        assert files["launch/bridge.py"].content.decode() == program
        return
    objects = list(YAML(typ="safe").load_all(io.BytesIO(files["launch/finetune.yaml"].content)))
    (held,) = (one for one in objects if one["kind"] == "ConfigMap")
    assert set(held["data"]) == {"bridge.py", "bridge.yaml"}
    assert held["data"]["bridge.py"] == program.rstrip("\n")
    (job,) = (one for one in objects if one["kind"] == "Job")
    worker = job["spec"]["template"]["spec"]["containers"][0]
    assert "/launch/bridge.py" in worker["command"][2]
    assert f"Megatron-Bridge {RELEASE}" in files["launch/job.env"].content.decode()
