"""What a plan of fine-tuning writes and explains: files that start it, the report's section, and its numbers."""

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.cli.planning import plan_of
from clusterwright.explain.explanation import find
from clusterwright.outputs.finetuning.launch import launch
from clusterwright.outputs.finetuning.torchtune import no_torchtune
from clusterwright.outputs.kinds import outputs_of
from clusterwright.plan.finetuning.record import FinetuningPlan, finetuning_option, finetuning_plan
from clusterwright.plan.text.money import USD
from tests.opened import explanations, target_files
from tests.tuned import launch_files, tuning_plan


@cache
def _plan(*overrides: str) -> FinetuningPlan:
    values = {
        "name": "tune",
        "workload": {
            "kind": "finetune",
            "model": "llama-3.1-8b",
            "method": "qlora",
            "rank": 16,
            "targets": ["query", "value"],
            "optimizer": "paged-adamw-8bit",
            "framework": "trl",
            "global_batch": 32,
            "data": {"samples": 20_000, "mean_tokens": 512},
        },
        "targets": {"aws": {"instance": "p5.48xlarge", "region": "us-east-1", "max_nodes": 2}},
        "economics": {"runs_per_month": 4},
    }
    return tuning_plan(values, overrides)


def _files(*overrides: str) -> dict[str, str]:
    return launch_files(_plan(*overrides))


def _yaml(text: str) -> dict[str, object]:
    found: dict[str, object] = YAML(typ="safe").load(io.StringIO(text))
    return found


def test_launch_files_have_the_plans_layout(tmp_path: Path) -> None:
    """Sequences of a pass x processes x passes are the global batch; adapters and base are the blueprint's."""
    files, option = _files(), _plan().options[0]
    trl, accelerate = _yaml(files["launch/trl.yaml"]), _yaml(files["launch/accelerate.yaml"])
    processes = accelerate["num_processes"]
    assert processes == option.performance.layout.gpus
    assert accelerate["num_machines"] == option.cluster.nodes
    passes = int(str(trl["per_device_train_batch_size"])) * int(str(trl["gradient_accumulation_steps"]))
    assert passes * int(str(processes)) == 32
    assert (trl["lora_r"], trl["lora_alpha"], trl["lora_target_modules"]) == (16, 32, ["q_proj", "v_proj"])
    assert (trl["load_in_4bit"], trl["bnb_4bit_quant_type"], trl["optim"]) == (True, "nf4", "paged_adamw_8bit")
    script = tmp_path / "finetune.sbatch"
    script.write_text(files["launch/finetune.sbatch"])
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    assert "trl.scripts.sft" in script.read_text()


def test_several_nodes_divide_the_weights_as_planned() -> None:
    """Full fine-tuning on two nodes is FSDP over their processes; layers are computed again where the plan says so."""
    held = ("workload.method=full", "workload.rank=null", "workload.targets=null", "workload.parallelism.gpus=16")
    files = _files(*held, "workload.optimizer=adamw", "workload.gradient_checkpointing=true")
    accelerate, trl = _yaml(files["launch/accelerate.yaml"]), _yaml(files["launch/trl.yaml"])
    assert (accelerate["distributed_type"], accelerate["num_machines"], accelerate["num_processes"]) == ("FSDP", 2, 16)
    fsdp = accelerate["fsdp_config"]
    assert isinstance(fsdp, dict)
    assert fsdp["fsdp_activation_checkpointing"] is True
    assert "use_peft" not in trl
    assert trl["gradient_checkpointing"] is False
    assert "#SBATCH --nodes=2" in files["launch/finetune.sbatch"]


def test_answers_are_generated_as_planned(tmp_path: Path) -> None:
    """TRL's arguments have the groups, lengths and share of memory of the plan; its batches are whole groups."""
    held = (*_GENERATED, "workload.parallelism.gpus=8")
    plan, files = _plan(*held), _files(*held)
    size, layout = plan.options[0].performance.rollouts, plan.options[0].performance.layout
    assert size is not None
    trl = _yaml(files["launch/trl.yaml"])
    accelerate = _yaml(files["launch/accelerate.yaml"])
    batch = int(str(trl["per_device_train_batch_size"])) * int(str(trl["gradient_accumulation_steps"]))
    assert batch * int(str(accelerate["num_processes"])) == 32
    # What TRL generates at a time is what an update is made of (`GRPOConfig.__post_init__`).
    assert trl["steps_per_generation"] == trl["gradient_accumulation_steps"]
    expected = {
        "max_completion_length": 1800,
        "num_generations": 8,
        "num_iterations": 1,
        "beta": 0.0,
        "use_vllm": True,
        "vllm_mode": "colocate",
        "vllm_tensor_parallel_size": layout.generation_tensor,
        "vllm_max_model_length": 2048,
    }
    assert {name: trl[name] for name in expected} == expected
    assert size.memory_share <= float(str(trl["vllm_gpu_memory_utilization"])) < size.memory_share + 0.001
    # Arguments that GRPO's script does not have.
    assert not {"max_length", "packing", "max_prompt_length"} & trl.keys()
    script = files["launch/finetune.sbatch"]
    assert "trl.scripts.grpo" in script
    assert "TRL 0.28 or newer with vLLM" in script
    again = _yaml(_files(*held, "workload.rollouts.updates=2", "workload.rollouts.reference=true")["launch/trl.yaml"])
    assert (again["num_iterations"], again["beta"]) == (2, 0.04)
    path = tmp_path / "finetune.sbatch"
    path.write_text(script)
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert shellcheck is not None
    subprocess.run([shellcheck, path], check=True)


@pytest.mark.parametrize(
    ("reward", "refused"),
    [("", True), ("accuracy reward", True), ("$(touch pwned)", True), ("accuracy_reward,rewards.exact", False)],
)
def test_a_job_without_a_reward_does_not_start(reward: str, refused: bool, tmp_path: Path) -> None:
    """The script names what lacks, before the scheduler is asked for anything else; nothing of a value is run."""
    script = tmp_path / "finetune.sbatch"
    script.write_text(_files(*_GENERATED)["launch/finetune.sbatch"])
    environment = {
        "PATH": os.environ["PATH"],
        "REWARD": reward,
        "DATA_PATH": "",
        "LEARNING_RATE": "1e-4",
        "CHECKPOINT_PATH": str(tmp_path / "checkpoints"),
        "CONTAINER_IMAGE": "image",
    }
    done = subprocess.run(["bash", script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "set DATA_PATH" in done.stderr
    assert ("set REWARD" in done.stderr) is refused
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (("workload.precision=int8",), "with a base in 4 or 16 bits, not in int8"),
        (
            ("workload.method=lora", "workload.precision=bf16", "workload.parallelism={gpus: 8, sharding: all}"),
            "merges adapters into whole matrices",
        ),
    ],
)
def test_what_trl_cannot_generate_with_is_stated(values: tuple[str, ...], reason: str) -> None:
    """A base in 8 bits, and adapters on divided weights, get the reason in the place of files."""
    files = _files(*_GENERATED, "workload.optimizer=adamw", *values)
    assert list(files) == ["launch/README.md"]
    assert reason in files["launch/README.md"]


def test_generated_answers_are_explained_and_reported() -> None:
    """The time of a batch is the sum of its parts; the report has the batch beside the layout, the engine in memory."""
    plan = _plan(*_GENERATED)
    rollouts = plan.options[0].performance.rollouts
    assert rollouts is not None
    entry = find(explanations(plan, "aws"), "generating", "finetune")
    prefill, decode = (float(part) for part in entry.equation[1].partition(" = ")[0].split(" + "))
    assert prefill + decode == pytest.approx(rollouts.generating_s, rel=1e-3)
    kind = outputs_of(plan)
    assert any("a batch: 4 prompts × 8 answers" in cell.detail for cell in kind.cluster_table(plan, USD).rows[0])
    (chart,) = kind.cluster_charts(plan)
    assert "vLLM&#x27;s cache" in chart.svg
    assert "generating answers" in kind.reason(plan, plan.options[0])


class Project:
    """A blueprint's folder on AWS with Kubernetes."""

    def __init__(self, blueprint: str, *values: str) -> None:
        path = assets.root() / "blueprints" / f"{blueprint}.yaml"
        self.plan = finetuning_plan(plan_of(path, ["targets.aws.scheduler=kubernetes", *values], "aws"))
        self.option = finetuning_option(self.plan.options[0])
        self.files = target_files(self.plan, self.option, load_catalogue())
        texts = YAML(typ="safe").load_all(io.BytesIO(self.files["launch/finetune.yaml"].content))
        self.objects = {entry["kind"]: entry for entry in texts}

    @property
    def worker(self) -> dict[str, Any]:
        """The container that trains."""
        worker: dict[str, Any] = self.objects["Job"]["spec"]["template"]["spec"]["containers"][0]
        return worker

    def run(self, folder: Path, program: str, **variables: str) -> list[str]:
        """Return the words with which a pod starts a program, which is a stand-in."""
        (folder / "bin").mkdir()
        (folder / "bin" / program).write_text(f'#!/bin/bash\nprintf "%s\\0" "$@" >{folder / "shown"}\n')
        (folder / "bin" / program).chmod(0o755)
        known = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "CHECKPOINT_PATH": str(folder),
            "LEARNING_RATE": "1e-4",
            "JOB_COMPLETION_INDEX": "3",
            "MAIN_HOST": "first",
        }
        command = self.worker["command"]
        done = subprocess.run(command, env=known | variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return (folder / "shown").read_text().split("\0")[:-1]


@cache
def _project(blueprint: str, *values: str) -> Project:
    return Project(blueprint, *values)


#: Answers that are generated, of a plan of `_plan` and of a shipped blueprint.
_GENERATED = (
    "workload.objective=grpo",
    "workload.data.mean_tokens=null",
    "workload.rollouts={answers: 8, prompt_tokens: 200, answer_tokens: {mean: 400, p95: 1000}, longest_answer: 1800}",
)
SEVERAL, ONE, TRL = "finetune-llama3-70b-full", "finetune-llama3-8b-qlora", "workload.framework=trl"


@pytest.mark.parametrize("blueprint", [SEVERAL, ONE])
def test_a_pod_runs_the_command_of_the_slurm_script(blueprint: str, tmp_path: Path) -> None:
    """On as many nodes and accelerators as the plan's, with the same arguments, and again from a checkpoint."""
    project = _project(blueprint, TRL)
    assert project.objects["Job"]["spec"]["completions"] == project.option.training_nodes
    (tmp_path / "checkpoint-16").mkdir()
    words = project.run(tmp_path, "accelerate", MODEL_PATH="org/model", DATA_PATH="a 'set'")
    slurm = launch(
        project.plan,
        replace(project.option, deployment=replace(project.option.deployment, scheduler="slurm")),
        load_catalogue(),
        {},
    )
    script = slurm["launch/finetune.sbatch"].content.decode().partition("exec accelerate launch")[2].partition("}")[0]
    ours = {name: value for name, value in pairwise(words) if name.startswith("-")}
    found = re.findall(r" (--?[a-z_]+) (\S+)", script)
    assert len(found) > 8
    for name, value in found:
        assert name in ours
        if not value.startswith('"'):
            assert ours[name].removeprefix("/launch/") == value
    assert (ours["--machine_rank"], ours["--main_process_ip"], ours["--dataset_name"]) == ("3", "first", "a 'set'")
    assert ours["--num_processes"] == str(project.option.performance.layout.gpus)
    assert ours["--resume_from_checkpoint"] == "true"


@pytest.mark.parametrize("blueprint", [SEVERAL, ONE])
def test_torchtune_is_started_where_the_plan_counts_with_it(blueprint: str, tmp_path: Path) -> None:
    """Its recipe on the plan's processes, with the weights that are in the folder, and again from a whole epoch."""
    project, model = _project(blueprint), tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "model-1.safetensors", "model-2.safetensors"):
        (model / name).touch()
    (tmp_path / "recipe_state").mkdir()
    (tmp_path / "recipe_state" / "recipe_state.pt").touch()
    words = project.run(tmp_path, "tune", MODEL_PATH=str(model), DATA_PATH="/shared/a 'set'.jsonl")
    several = project.option.performance.layout.gpus > 1
    given = dict(pairwise(words))
    assert words[0] == "run"
    assert ("full_finetune_distributed" if several else "lora_finetune_single_device") in words
    if several:
        assert int(given["--nnodes"]) * int(given["--nproc_per_node"]) == project.option.performance.layout.gpus
        assert given["--rdzv_endpoint"] == "first:29400"
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    assert settings == {
        "model_path": str(model),
        "checkpointer.checkpoint_files": "[model-1.safetensors,model-2.safetensors]",
        "dataset.source": "json",
        "dataset.data_files": "/shared/a 'set'.jsonl",
        "output_dir": str(tmp_path),
        "optimizer.lr": "1e-4",
        "resume_from_checkpoint": "true",
    }
    config = _yaml(project.files["launch/torchtune.yaml"].content.decode())
    # What stands open in the configuration is what the job gives.
    unset = {key for key, value in _leaves(config) if value == "???"}
    assert unset == settings.keys() - {"dataset.data_files", "resume_from_checkpoint"}


def _leaves(config: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def test_a_pod_that_generates_starts_as_the_slurm_script_does(tmp_path: Path) -> None:
    """With each reward as a word of its own; `submit.sh` asks for it, and takes that of the blueprint."""
    values = ("workload.objective=grpo", "workload.data.mean_tokens=null", *_GENERATED[2:], TRL)
    project = _project(ONE, *values)
    words = project.run(tmp_path, "accelerate", MODEL_PATH="org/model", DATA_PATH="set", REWARD="a_reward,mine.exact")
    place = words.index("--reward_funcs")
    assert words[place + 1 : place + 4] == ["a_reward", "mine.exact", "--output_dir"]
    assert "trl.scripts.grpo" in words
    for number, (words_, said) in enumerate(
        ((["--reward", "a b"], "is no name of a function"), ([], "no reward: --reward, for example accuracy_reward"))
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert said in _submitted(project, folder, words_)
    named = _project(ONE, *values, "workload.rollouts.reward=accuracy_reward")
    folder = tmp_path / "named"
    folder.mkdir()
    assert "no reward" not in _submitted(named, folder, [])


def test_a_run_without_rollouts_takes_no_reward(tmp_path: Path) -> None:
    """Its script says so, and does not offer the option."""
    assert "--reward is for runs that generate answers" in _submitted(_project(ONE), tmp_path, ["--reward", "x"])
    assert "--reward" not in _submitted(_project(ONE), tmp_path, ["--nothing"]).partition("submit.sh:")[0]


def _submitted(project: Project, folder: Path, words: list[str]) -> str:
    """Return what `submit.sh` says of wrong options."""
    for name in ("submit.sh", "job.env", "finetune.yaml"):
        (folder / name).write_bytes(project.files[f"launch/{name}"].content)
    done = subprocess.run(
        ["bash", folder / "submit.sh", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode in (1, 2)
    return done.stderr


def test_the_recipe_has_the_plans_numbers() -> None:
    """Sequences of an update, length, adapters, base, optimizer and recomputation are those of the plan."""
    project = _project(ONE)
    config: dict[str, Any] = _yaml(project.files["launch/torchtune.yaml"].content.decode())
    layout, work = project.option.performance.layout, project.plan.workload
    assert config["batch_size"] * config["gradient_accumulation_steps"] * layout.data == work.global_batch_sequences
    assert (config["epochs"], config["tokenizer"]["max_seq_len"], config["dataset"]["packed"]) == (3, 2048, True)
    model = config["model"]
    assert model["_component_"] == "torchtune.models.llama3_1.qlora_llama3_1_8b"
    assert (model["lora_rank"], model["lora_alpha"], model["apply_lora_to_mlp"]) == (16, 32, True)
    assert model["lora_attn_modules"] == ["q_proj", "k_proj", "v_proj", "output_proj"]
    assert config["optimizer"]["_component_"] == "bitsandbytes.optim.PagedAdamW8bit"
    assert config["enable_activation_checkpointing"] is layout.recompute


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (("workload.objective=dpo",), "no recipe is written here for dpo"),
        (_GENERATED, "no recipe is written here for grpo"),
        (("workload.model=llama-4-scout",), "it has no Llama 4 Scout"),
        (("workload.precision=nf4",), "it has no Llama 3.1 8B with a base in nf4"),
        (("workload.targets=[mlp]",), "it attaches adapters to attention"),
        (("workload.data.epochs=1.5", "workload.optimizer=adamw"), "it trains whole epochs, not 1.5"),
        (("workload.parallelism.gpus=16", "workload.optimizer=adamw"), "over all accelerators, the plan does not"),
        (("workload.parallelism.gpus=2",), "FSDP does not divide the state of paged-adamw-8bit"),
    ],
)
def test_what_torchtune_cannot_express_goes_to_trl(values: tuple[str, ...], reason: str) -> None:
    """With the reason."""
    plan = _plan("workload.framework=torchtune", *values)
    assert reason in no_torchtune(plan, finetuning_option(plan.options[0]))
    files = launch(plan, plan.options[0], load_catalogue(), {})
    assert "launch/torchtune.yaml" not in files
    assert reason in files["launch/README.md"].content.decode()


@pytest.mark.parametrize(
    ("values", "needed"),
    [
        ((TRL,), True),
        ((TRL, "workload.method=lora", "workload.precision=bf16", "workload.optimizer=paged-adamw"), True),
        ((TRL, "workload.method=lora", "workload.precision=bf16", "workload.optimizer=adamw"), False),
        (("workload.framework=torchtune", "workload.optimizer=adamw"), False),
        (("workload.framework=torchtune", "workload.parallelism.gpus=1"), True),
    ],
)
def test_bitsandbytes_is_named_where_it_is_needed(values: tuple[str, ...], needed: bool) -> None:
    """For formats of the base that it unpacks, which torchtune does itself, and for paged and 8-bit optimizers."""
    assert ("bitsandbytes" in _files(*values)["launch/finetune.sbatch"]) is needed


@pytest.mark.parametrize(
    ("values", "release"),
    [
        (("workload.parallelism={gpus: 8, sharding: none}",), "0.23"),
        (("workload.parallelism={gpus: 8, sharding: all}", "workload.optimizer=adamw"), "0.26"),
        (_GENERATED, "0.28"),
    ],
)
def test_the_release_of_trl_has_the_arguments_that_are_written(values: tuple[str, ...], release: str) -> None:
    """`dtype` came with 0.23, the storage of packed weights with 0.26; older releases ignore what they do not know."""
    files = _files(TRL, *values)
    assert f"({release} or newer)" in files["launch/README.md"]
    assert f"TRL {release} or newer" in files["launch/finetune.sbatch"]


def test_the_job_holds_the_files_that_its_command_reads() -> None:
    """The same as beside it, where the command looks for them; settings come from what submit.sh makes."""
    project = _project(SEVERAL, TRL)
    held, name = project.objects["ConfigMap"], project.plan.name
    assert held["data"] == {
        one: project.files[f"launch/{one}"].content.decode() for one in ("trl.yaml", "accelerate.yaml")
    }
    spec = project.objects["Job"]["spec"]["template"]["spec"]
    assert {"name": "launch", "configMap": {"name": held["metadata"]["name"]}} in spec["volumes"]
    assert {"name": "launch", "mountPath": "/launch", "readOnly": True} in project.worker["volumeMounts"]
    assert project.worker["envFrom"] == [{"configMapRef": {"name": f"{name}-settings"}}]
    assert project.worker["image"] == "IMAGE-IS-NOT-SET"
    assert project.objects["Service"]["spec"]["selector"] == {"job-name": name}
    assert "./cluster.sh submit --image" in project.files["README.md"].content.decode()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no container image: --image REGISTRY/NAME:TAG, with torchtune"),
        (["--image", "team/trl"], "names no version"),
        (["--image", "$(touch pwned):1"], "is not the name of an image"),
        ([], "no data: --data"),
        ([], "no learning rate: --lr"),
        (["--lr", "$(touch pwned)"], "is not a number"),
    ],
)
def test_submit_says_what_is_missing(words: list[str], said: str, tmp_path: Path) -> None:
    """Before the cluster is asked, and nothing of a hostile value is run."""
    for name in ("submit.sh", "job.env", "finetune.yaml"):
        (tmp_path / name).write_bytes(_project(ONE).files[f"launch/{name}"].content)
    done = subprocess.run(
        ["bash", tmp_path / "submit.sh", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("method", ["prompt", "adapter"])
def test_what_trl_cannot_express_is_stated(method: str) -> None:
    """No file pretends to start a method that TRL's command line does not have."""
    files = _files(f"workload.method={method}", "workload.targets=null", "workload.optimizer=null")
    assert list(files) == ["launch/README.md"]
    assert "No launch files are written" in files["launch/README.md"]


def test_every_number_is_explained_with_its_arithmetic() -> None:
    """Trained weights, memory, fit, rate, time, nodes, checkpoint and month have equations that give their values."""
    plan = _plan()
    known = explanations(plan, "aws")
    for name in (
        "trained_parameters",
        "memory",
        "fit",
        "tokens_per_s",
        "days",
        "nodes",
        "checkpoint",
        "month_usd",
        "run_usd",
    ):
        entry = find(known, name, "finetune")
        assert entry.equation
        assert entry.inputs
    terms = find(known, "memory", "finetune").equation[1]
    left, _, right = terms.partition(" = ")
    assert sum(float(part) for part in left.split(" + ")) == pytest.approx(float(right), abs=0.06)


def test_the_report_has_memory_and_result_of_a_run() -> None:
    """The report's table has layout, memory with its band, what a run leaves; the chart has the terms of memory."""
    plan = _plan()
    kind = outputs_of(plan)
    table = kind.cluster_table(plan, USD)
    assert "Fits with" in table.columns
    assert any("MB" in cell.text for cell in table.rows[0])
    (chart,) = kind.cluster_charts(plan)
    assert "activations" in chart.svg
    assert "fits with" in kind.reason(plan, plan.options[0])
