"""The launch files: arguments that agree with each other, shell that is safe, configurations that add up."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.precisions import PRECISIONS
from clusterwright.catalog.records import Model
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.launch.fabric import Setting, settings, settings_for, shell_line
from clusterwright.outputs.training import slurm as launch
from clusterwright.outputs.training.megatron import argument_groups, save_interval_steps
from clusterwright.outputs.training.slurm import launch_files, milestone_steps
from clusterwright.plan.training.record import TrainingOption, TrainingPlan, training_plan
from clusterwright.sizing.records.job import OffloadNeed

GPT3 = assets.root() / "blueprints" / "train-gpt3-175b.yaml"
RETAIN = assets.root() / "templates" / "launch" / "retain_checkpoints.sh"
CATALOGUE = load_catalogue()
#: What belongs to a job's script.
JOB_FILES = {
    "train.sbatch", "submit.sh", "job_options.sh", "job.env", "fetch_megatron.sh", "retain_checkpoints.sh",
}  # fmt: skip
#: Options that take no value, as `megatron/training/arguments.py` declares them.
FLAGS = {
    "--use-mcore-models", "--group-query-attention", "--swiglu", "--untie-embeddings-and-output-weights",
    "--disable-bias-linear", "--add-qkv-bias", "--qk-layernorm", "--sequence-parallel", "--use-distributed-optimizer",
    "--overlap-grad-reduce", "--overlap-param-gather", "--use-megatron-fsdp", "--no-gradient-accumulation-fusion",
    "--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split", "--bf16", "--fp16",
    "--log-throughput", "--ckpt-fully-parallel-save", "--ckpt-fully-parallel-load", "--ckpt-assume-constant-structure",
    "--async-save", "--exit-signal-handler", "--moe-grouped-gemm", "--multi-latent-attention", "--mock-data",
    "--use-precision-aware-optimizer", "--optimizer-cpu-offload", "--overlap-cpu-optimizer-d2h-h2d",
}  # fmt: skip
VALUED = {
    "--transformer-impl", "--num-layers", "--hidden-size", "--ffn-hidden-size", "--num-attention-heads",
    "--max-position-embeddings", "--position-embedding-type", "--normalization", "--kv-channels", "--num-query-groups",
    "--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--context-parallel-size",
    "--expert-model-parallel-size", "--num-layers-per-virtual-pipeline-stage", "--data-parallel-sharding-strategy",
    "--recompute-granularity", "--recompute-method", "--recompute-num-layers", "--seq-length", "--micro-batch-size",
    "--global-batch-size", "--train-samples", "--log-interval", "--distributed-timeout-minutes", "--fp8-format",
    "--save-interval", "--ckpt-format", "--save", "--load", "--split", "--eval-iters", "--tokenizer-type",
    "--tokenizer-model", "--vocab-size", "--lr", "--data-path", "--num-experts", "--moe-router-topk",
    "--moe-token-dispatcher-type", "--moe-ffn-hidden-size", "--moe-shared-expert-intermediate-size", "--moe-layer-freq",
    "--num-distributed-optimizer-instances", "--outer-dp-sharding-strategy",
    "--q-lora-rank", "--kv-lora-rank", "--qk-head-dim", "--qk-pos-emb-head-dim", "--v-head-dim", "--fp8-recipe",
    "--optimizer", "--optimizer-offload-fraction", "--exp-avg-dtype", "--exp-avg-sq-dtype", "--muon-num-ns-steps",
    "--muon-tp-mode", "--expert-tensor-parallel-size", "--mtp-num-layers", "--pipeline-model-parallel-layout",
    "--fp8-amax-history-len", "--fp8-amax-compute-algo", "--fp4-format", "--fp4-recipe", "--num-workers",
}  # fmt: skip


@pytest.fixture(scope="module")
def plan() -> TrainingPlan:
    """Return the shipped plan with the layout that fills the memory, which has a pipeline."""
    return plan_of(GPT3, ["goals.memory_confidence=50 %"])


@pytest.fixture(scope="module")
def elastic() -> TrainingPlan:
    """Return it with two spares, an elastic job and milestones, on AWS."""
    values = ["spare_nodes=2", "elastic=true", "repair=24 h", "checkpoint.milestone_every=2 days"]
    # A layout with memory to spare for the state of missing replicas.
    fixed = [f"workload.parallelism.{value}" for value in ("tensor=8", "pipeline=8", "micro_batch=1")]
    return plan_of(GPT3, [*fixed, "goals.memory_confidence=50 %", *(f"reliability.{value}" for value in values)], "aws")


def parsed(words: list[str]) -> dict[str, str]:
    """Return arguments as Megatron's parser would read them: every option known, none twice, values where needed."""
    found: dict[str, str] = {}
    index = 0
    while index < len(words):
        name = words[index]
        assert name in FLAGS | VALUED, name
        assert name not in found, name
        found[name] = "" if name in FLAGS else words[index + 1]
        assert not found[name].startswith("--"), name
        index += 1 if name in FLAGS else 2
    return found


def arguments(plan: TrainingPlan, option: TrainingOption, model: Model | None = None) -> dict[str, str]:
    """Return the plan's own arguments."""
    known = model or CATALOGUE.models[plan.workload.model]
    return parsed([word for group in argument_groups(plan, option, known) for line in group.lines for word in line])


def changed(option: TrainingOption, **values: object) -> TrainingOption:
    """Return an option with another layout."""
    return replace(option, performance=replace(option.performance, layout=replace(option.performance.layout, **values)))  # type: ignore[arg-type]


#: Leaves its own options out and runs the command, as srun does on a node; torchrun and the container show themselves.
SRUN = """\
for word; do case $word in
    --container-*|--no-container-*) printf '%s\\n' "$word" >>"$SHOWN/container" ;;
    --*) printf '%s\\n' "$word" >>"$SHOWN/srun" ;;
    *) break ;;
    esac; shift; done
exec "$@"
"""
STAND_INS = {
    "srun": SRUN,
    "scontrol": "echo head\necho second\n",
    "torchrun": 'env >"$SHOWN/environment"\nprintf "%s\\0" "$@"\n',
}
IMAGE = "nvcr.io/nvidia/pytorch:26.04-py3"


def stand_in(folder: Path, name: str, body: str) -> None:
    """Write a command that a job finds first."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / name).write_text(f"#!/bin/bash\n{body}")
    (folder / "bin" / name).chmod(0o755)


def run_job(folder: Path, script: bytes, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a job script as Slurm would on its first node, with a torchrun that prints what it is given."""
    for name, body in STAND_INS.items():
        stand_in(folder, name, body)
    path = folder / "train.sbatch"
    path.write_bytes(script)
    (folder / "Megatron-LM").mkdir(exist_ok=True)
    (folder / "Megatron-LM" / "pretrain_gpt.py").touch()
    known = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "SHOWN": str(folder),
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "node[001-048]",
        "SLURM_CPUS_ON_NODE": "192",
        "CHECKPOINT_PATH": str(folder / "checkpoints"),
        "MEGATRON_PATH": str(folder / "Megatron-LM"),
        "CONTAINER_IMAGE": IMAGE,
    }
    return subprocess.run(
        ["bash", str(path), *words], capture_output=True, text=True, check=False, env=known | environment, timeout=120
    )


def shown(folder: Path, what: str) -> list[str]:
    """Return what a stand-in of the last job was given: `srun`, `container` or torchrun's `environment`."""
    path = folder / what
    return path.read_text().splitlines() if path.exists() else []


def test_every_target_has_its_launch_files(plan: TrainingPlan) -> None:
    """Each target gets a script, its retention and a README that says why other files are missing."""
    for option in plan.options:
        files = launch_files(plan, option, CATALOGUE)
        assert set(files) == {*JOB_FILES, "README.md"}
        assert files["train.sbatch"].executable
        readme = files["README.md"].content.decode()
        assert re.search(r"no `deepspeed.json` \| the layout has tensor parallelism of \d", readme)
        assert "no `accelerate_fsdp.yaml` |" in readme


@pytest.mark.parametrize(
    ("named", "said"), [("torchtune", True), ("torchtitan", True), ("Megatron-LM 0.18", False), ("", False)]
)
def test_the_page_says_which_software_the_job_starts(plan: TrainingPlan, named: str, said: bool) -> None:
    """Where the plan counts with other software than Megatron-LM, the page says that the job starts Megatron-LM."""
    workload = replace(plan.workload, framework=named)
    files = launch_files(replace(plan, workload=workload), plan.options[0], CATALOGUE)
    page = files["README.md"].content.decode()
    assert (f"The plan counts with {named}; the job starts Megatron-LM" in page) is said
    assert ("workload.framework: Megatron-LM" in page) is said


def test_ranks_and_batch_add_up(plan: TrainingPlan) -> None:
    """Tensor x pipeline x context parallelism divides the GPUs, and the batch is micro-batch x replicas x count."""
    for option in plan.options:
        found, layout = arguments(plan, option), option.performance.layout
        sizes = ("--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--context-parallel-size")
        replica = 1
        for name in sizes:
            replica *= int(found[name])
        assert replica * layout.dp == option.training_nodes * option.cluster.gpus_per_node
        batch = int(found["--global-batch-size"])
        assert batch == int(found["--micro-batch-size"]) * layout.dp * layout.micro_batches
        assert int(found["--train-samples"]) * int(found["--seq-length"]) >= plan.workload.tokens
        virtual = int(found.get("--num-layers-per-virtual-pipeline-stage", 0))
        if virtual:
            counted = 2 * ("--account-for-loss-in-pipeline-split" in found)
            assert (int(found["--num-layers"]) + counted) == virtual * layout.vpp * layout.pp


def test_gpt3_is_described_by_its_published_dimensions(plan: TrainingPlan) -> None:
    """GPT-3 175B: 96 layers of 12,288 with 96 heads, learned positions, tied embeddings, biases, LayerNorm."""
    found = arguments(plan, plan.options[0])
    assert (found["--num-layers"], found["--hidden-size"], found["--num-attention-heads"]) == ("96", "12288", "96")
    assert (found["--position-embedding-type"], found["--normalization"]) == ("learned_absolute", "LayerNorm")
    for absent in ("--swiglu", "--untie-embeddings-and-output-weights", "--disable-bias-linear", "--num-query-groups"):
        assert absent not in found


def test_llama_and_experts_are_described(plan: TrainingPlan) -> None:
    """Llama 3 70B has 8 query groups, SwiGLU and RMSNorm; DeepSeek-V3 latent attention and 256 experts."""
    llama = arguments(plan, plan.options[0], CATALOGUE.models["llama-3-70b"])
    assert (llama["--num-query-groups"], llama["--normalization"], "--swiglu" in llama) == ("8", "RMSNorm", True)
    assert {"--untie-embeddings-and-output-weights", "--disable-bias-linear"} <= set(llama)
    deepseek = arguments(plan, changed(plan.options[0], ep=8, pp=2, vpp=4), CATALOGUE.models["deepseek-v3"])
    assert deepseek["--num-experts"] == "256"
    assert deepseek["--moe-layer-freq"] == "([0]*3+[1]*58)"
    assert deepseek["--expert-model-parallel-size"] == "8"
    assert deepseek["--expert-tensor-parallel-size"] == "1"
    assert deepseek["--mtp-num-layers"] == "1"
    assert deepseek["--kv-lora-rank"] == "512"
    assert "--kv-channels" not in deepseek


@pytest.mark.parametrize(
    ("stages", "chunks", "written"),
    [
        (2, 4, "Et*7|t*8|t*8|t*8|t*8|t*8|t*8|t*6mL"),
        (16, 1, "Et*3|" + "t*4|" * 14 + "t*2mL"),
        (2, 1, "Et*31|t*30mL"),
        (1, 1, None),
    ],
)
def test_layers_for_further_tokens_have_their_place(
    plan: TrainingPlan, stages: int, chunks: int, written: str | None
) -> None:
    """DeepSeek-V3's 61 layers, the one for a further token, embedding and loss divide into equal chunks, or 62 do."""
    found = arguments(
        plan, changed(plan.options[0], tp=4, pp=stages, vpp=chunks, ep=8), CATALOGUE.models["deepseek-v3"]
    )
    assert found.get("--pipeline-model-parallel-layout") == written
    assert "--num-layers-per-virtual-pipeline-stage" not in found
    assert "--account-for-loss-in-pipeline-split" not in found
    if written is not None:
        counted = re.sub(r"t\*(\d+)", lambda run: "t" * int(run[1]), written)
        assert (counted.count("t"), counted.count("m"), counted.count("|") + 1) == (61, 1, stages * chunks)


def test_encoders_have_no_script_of_decoders(plan: TrainingPlan) -> None:
    """BERT attends both ways; a script that trains decoders would train another model."""
    work = replace(plan.workload, architecture=CATALOGUE.models["bert-large"])
    files = launch_files(replace(plan, workload=work), plan.options[0], CATALOGUE)
    assert "train.sbatch" not in files
    assert "the model is an encoder" in files["README.md"].content.decode()


def test_experts_are_split_as_the_layout_says(plan: TrainingPlan) -> None:
    """Megatron splits experts as attention unless told otherwise: whole ones beside tensor parallelism say so."""
    for size in (1, 4):
        option = changed(plan.options[0], tp=4, ep=8, etp=size)
        assert arguments(plan, option, CATALOGUE.models["mixtral-8x7b"])["--expert-tensor-parallel-size"] == str(size)
    assert "--expert-tensor-parallel-size" not in arguments(plan, plan.options[0])


@pytest.mark.parametrize(
    ("values", "present", "absent"),
    [
        ({"recompute": "full"}, {"--recompute-method": "uniform", "--recompute-num-layers": "1"}, ()),
        (
            {"recompute": "full", "recompute_layers": 3},
            {"--recompute-granularity": "full", "--recompute-method": "block", "--recompute-num-layers": "3"},
            (),
        ),
        ({"recompute": "none"}, {}, ("--recompute-granularity",)),
        (
            {"zero_stage": 3, "pp": 1, "vpp": 1, "dp": 64, "cp": 1, "sharding_group": 8},
            {"--num-distributed-optimizer-instances": "8", "--outer-dp-sharding-strategy": "no_shard"},
            (),
        ),
        (
            {"zero_stage": 1, "dp": 8, "cp": 1, "sharding_group": 4},
            {"--num-distributed-optimizer-instances": "2"},
            ("--outer-dp-sharding-strategy", "--use-megatron-fsdp"),
        ),
        ({"zero_stage": 0}, {}, ("--use-distributed-optimizer", "--overlap-param-gather")),
        ({"zero_stage": 3, "pp": 1, "vpp": 1}, {"--data-parallel-sharding-strategy": "optim_grads_params"}, ()),
        ({"zero_stage": 2, "pp": 1, "vpp": 1}, {"--ckpt-format": "fsdp_dtensor"}, ("--async-save",)),
        ({"tp": 1, "sp": 0}, {}, ("--sequence-parallel",)),
        ({"pp": 14, "vpp": 7}, {"--num-layers-per-virtual-pipeline-stage": "1"}, ("--async",)),
    ],
)
def test_layouts_become_arguments(
    plan: TrainingPlan, values: dict[str, object], present: dict[str, str], absent: tuple[str, ...]
) -> None:
    """Recomputation, sharding, sequence parallelism and uneven stages each have their arguments, or none."""
    found = arguments(plan, changed(plan.options[0], **values))
    assert present.items() <= found.items()
    assert not set(absent) & set(found)


@pytest.mark.parametrize(
    ("strategy", "present", "absent"),
    [
        ("async", "--async-save", "none"),
        ("memory", "--async-save", "none"),
        ("distributed", "--ckpt-fully-parallel-save", "--async-save"),
        ("full", "--save-interval", "--ckpt-fully-parallel-save"),
    ],
)
def test_strategies_become_arguments(plan: TrainingPlan, strategy: str, present: str, absent: str) -> None:
    """What trains on is saved behind training, all ranks write unless one is to, and precision keeps to its flags."""
    option = plan.options[0]
    found = arguments(
        plan,
        replace(
            option,
            performance=replace(option.performance, failures=replace(option.performance.failures, strategy=strategy)),
        ),
    )
    assert present in found
    assert absent not in found


#: What `megatron/training/arguments.py` and Transformer Engine call each precision.
RECIPES = {
    "bf16": {"--bf16": ""},
    "fp16": {"--fp16": ""},
    "fp8": {"--bf16": "", "--fp8-format": "hybrid", "--fp8-recipe": "delayed"},
    "fp8-block": {"--bf16": "", "--fp8-format": "e4m3", "--fp8-recipe": "blockwise"},
    "mxfp8": {"--bf16": "", "--fp8-format": "e4m3", "--fp8-recipe": "mxfp8"},
    "nvfp4": {"--bf16": "", "--fp4-format": "e2m1", "--fp4-recipe": "nvfp4"},
}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_precisions_become_arguments(plan: TrainingPlan, precision: str) -> None:
    """Narrow formats run within bf16, each with its own recipe; fp16 runs alone."""
    other = replace(plan, workload=replace(plan.workload, precision=precision))
    found = arguments(other, plan.options[0])
    named = {"--bf16", "--fp16", "--fp8-format", "--fp8-recipe", "--fp4-format", "--fp4-recipe"}
    assert {name: value for name, value in found.items() if name in named} == RECIPES[precision]


@pytest.mark.parametrize(
    ("optimizer", "present", "absent"),
    [
        (
            "adam",
            {"--optimizer": "adam", "--use-distributed-optimizer": ""},
            ("--exp-avg-dtype", "--muon-num-ns-steps"),
        ),
        ("adam-bf16", {"--optimizer": "adam", "--use-precision-aware-optimizer": "", "--exp-avg-sq-dtype": "bf16"}, ()),
        ("muon", {"--optimizer": "dist_muon", "--muon-num-ns-steps": "5"}, ("--use-distributed-optimizer",)),
    ],
)
def test_optimizers_become_arguments(
    plan: TrainingPlan, optimizer: str, present: dict[str, str], absent: tuple[str]
) -> None:
    """Adam shards its state by equal parts, in bf16 with the precision-aware optimizer; Muon by whole matrices."""
    other = replace(plan, workload=replace(plan.workload, optimizer=optimizer))
    found = arguments(other, plan.options[0])
    assert present.items() <= found.items()
    assert not set(absent) & set(found)


def test_an_optimizer_that_megatron_lacks_leaves_the_other_stacks(plan: TrainingPlan) -> None:
    """Adafactor is a training script's own affair: configurations where the layout has them, else the reasons."""
    option = plan.options[0]
    other = replace(plan, workload=replace(plan.workload, optimizer="adafactor"))
    none = launch_files(other, option, CATALOGUE)
    assert list(none) == ["README.md"]
    assert "adafactor is not an optimizer of it" in none["README.md"].content.decode()
    layout = replace(
        option.performance.layout, tp=1, sp=0, pp=1, vpp=1, dp=option.cluster.gpus, zero_stage=3, micro_batches=4
    )
    files = launch_files(other, replace(option, performance=replace(option.performance, layout=layout)), CATALOGUE)
    assert set(files) == {"deepspeed.json", "accelerate_fsdp.yaml", "README.md"}
    readme = files["README.md"].content.decode()
    assert "no `train.sbatch` | adafactor" in readme
    assert "sbatch train.sbatch" not in readme


def moved(option: TrainingOption, *what: str, where: str = "cpu", **layout: object) -> TrainingOption:
    """Return an option with something offloaded."""
    need = OffloadNeed(
        what=what, where=where, optimizer_bytes_per_node=1e12, gradients_bytes_per_node=1e11,
        parameters_bytes_per_node=1e11, activations_bytes_per_node=0.0, checkpoints_bytes_per_node=0.0,
        host_memory_bytes_per_node=2e12, nvme_bytes_per_node=0.0, nvme_capacity_bytes_per_node=None, to_host_s=0.1,
        to_device_s=0.1, drives_s=0.0, after_s=1.0, host_bytes_per_s_per_gpu=5e10, update_bytes_per_s_per_gpu=7e9,
        owned_parameters=1e9,
    )  # fmt: skip
    other = changed(option, **layout)
    return replace(other, performance=replace(other.performance, offload=need))


def test_an_optimizer_on_the_host_becomes_arguments(plan: TrainingPlan) -> None:
    """Megatron updates in host memory with a precision-aware optimizer; it is named once with bf16 moments, too."""
    offloaded = moved(plan.options[0], "optimizer")
    wanted = {
        "--optimizer-cpu-offload": "", "--optimizer-offload-fraction": "1.0", "--overlap-cpu-optimizer-d2h-h2d": "",
        "--use-precision-aware-optimizer": "", "--use-distributed-optimizer": "",
    }  # fmt: skip
    for optimizer in ("adam", "adam-bf16"):
        other = replace(plan, workload=replace(plan.workload, optimizer=optimizer))
        assert wanted.items() <= arguments(other, offloaded).items()
    assert not {"--optimizer-cpu-offload"} & set(arguments(plan, plan.options[0]))


@pytest.mark.parametrize(
    ("what", "where", "zero", "files"),
    [
        (("optimizer",), "cpu", 1, {*JOB_FILES, "deepspeed.json"}),
        (("optimizer",), "cpu", 3, {"deepspeed.json"}),
        (("optimizer", "parameters"), "cpu", 3, {"deepspeed.json", "accelerate_fsdp.yaml"}),
        (("optimizer", "parameters"), "nvme", 3, {"deepspeed.json"}),
        (("activations",), "cpu", 2, {"deepspeed.json"}),
    ],
)
def test_stacks_that_cannot_offload_it_say_so(
    plan: TrainingPlan, what: tuple[str, ...], where: str, zero: int, files: set[str]
) -> None:
    """Megatron takes the optimizer to host memory, FSDP all states, DeepSpeed anything; the README has the reasons."""
    option = plan.options[0]
    alone = moved(
        option, *what, where=where, tp=1, sp=0, pp=1, vpp=1, dp=option.cluster.gpus, zero_stage=zero, recompute="full"
    )
    written = launch_files(plan, alone, CATALOGUE)
    assert set(written) == files | {"README.md"}
    zero_section = json.loads(written["deepspeed.json"].content)["zero_optimization"]
    for name, key in (("optimizer", "offload_optimizer"), ("parameters", "offload_param")):
        assert (zero_section.get(key, {}).get("device") == where) is (name in what)
    config = json.loads(written["deepspeed.json"].content)
    assert config["activation_checkpointing"]["cpu_checkpointing"] is ("activations" in what)
    assert ("aio" in config) is (where == "nvme")
    if "accelerate_fsdp.yaml" in files:
        fsdp = YAML(typ="safe").load(written["accelerate_fsdp.yaml"].content)
        assert fsdp["fsdp_config"]["fsdp_offload_params"] is True


def test_the_job_runs_what_the_plan_says(plan: TrainingPlan, tmp_path: Path) -> None:
    """Run as Slurm runs it, the script starts torchrun on all nodes with the plan's arguments and made-up data."""
    option = plan.options[0]
    result = run_job(tmp_path, launch_files(plan, option, CATALOGUE)["train.sbatch"].content)
    assert result.returncode == 0, result.stderr
    assert "made-up tokens" in result.stderr
    words = result.stdout.split("\0")[:-1]
    assert f"--nnodes={option.training_nodes}" in words
    assert {"--nproc-per-node=8", "--rdzv-backend=c10d", "--rdzv-id=7", "--rdzv-endpoint=head:29400"} <= set(words)
    script = next(index for index in range(len(words)) if words[index].endswith("pretrain_gpt.py"))
    found = parsed(words[script + 1 :])
    assert arguments(plan, option).items() <= found.items()
    assert found["--tokenizer-type"] == "NullTokenizer"
    assert found["--save"] == found["--load"] == str(tmp_path / "checkpoints")


def test_the_users_data_needs_a_learning_rate_and_a_tokenizer(plan: TrainingPlan, tmp_path: Path) -> None:
    """With data the job refuses to guess either, and says both at once; paths with blanks and quotes arrive whole."""
    script = launch_files(plan, plan.options[0], CATALOGUE)["train.sbatch"].content
    path = f"{tmp_path}/my 'data'; echo $HOME"
    for part in ("bin", "idx"):
        Path(f"{path}.{part}").touch()
    without = run_job(tmp_path, script, DATA_PATH=path)
    assert without.returncode == 2
    assert "give the learning rate" in without.stderr
    assert "set TOKENIZER_MODEL" in without.stderr
    whole = run_job(tmp_path, script, "--lr", "6e-5", DATA_PATH=path, TOKENIZER_MODEL="tok")
    assert whole.returncode == 0, whole.stderr
    words = whole.stdout.split("\0")
    assert words[words.index("--data-path") + 1] == path
    assert (words[words.index("--lr") + 1], words.count("--lr")) == ("6e-5", 1)
    chosen = run_job(tmp_path, script, DATA_PATH=path, TOKENIZER_MODEL="tok", LEARNING_RATE="3e-4")
    words = chosen.stdout.split("\0")
    assert (words[words.index("--lr") + 1], words.count("--lr")) == ("3e-4", 1)


def test_what_is_missing_is_reported_before_a_gpu_works(plan: TrainingPlan, tmp_path: Path) -> None:
    """Nothing set, or set wrongly: every reason in the first second, and no command on the nodes."""
    script = launch_files(plan, plan.options[0], CATALOGUE)["train.sbatch"].content
    bare = run_job(tmp_path, script, CONTAINER_IMAGE="", MEGATRON_PATH="/shared/nowhere", DATA_PATH="/shared/no")
    assert bare.returncode == 2
    for said in (
        "set CONTAINER_IMAGE (submit.sh --image): an image with PyTorch",
        "there is no /shared/nowhere/pretrain_gpt.py",
        "there is no /shared/no.bin",
        "there is no /shared/no.idx",
        "set TOKENIZER_MODEL",
    ):
        assert said in bare.stderr, said
    assert not shown(tmp_path, "srun")
    for environment, said in (
        ({"CONTAINER_IMAGE": "/shared/images/none.sqsh"}, "there is no image /shared/images/none.sqsh"),
        ({"JOB_ENVIRONMENT": "venv"}, "set VENV_PATH"),
        ({"JOB_ENVIRONMENT": "venv", "VENV_PATH": "/shared/none"}, "/shared/none/bin/torchrun is missing"),
        ({"JOB_ENVIRONMENT": "modules"}, "set MODULES"),
        ({"JOB_ENVIRONMENT": "conda"}, "JOB_ENVIRONMENT is conda"),
        ({"CHECKPOINT_PATH": "/proc/none"}, "/proc/none cannot be written to"),
    ):
        refused = run_job(tmp_path, script, **environment)
        assert (refused.returncode, said in refused.stderr) == (2, True), (environment, refused.stderr)


def test_a_container_sees_what_its_fabric_needs(plan: TrainingPlan, tmp_path: Path) -> None:
    """Pyxis gets the image in Enroot's form, the shared file system, and what the fabric's settings name."""
    files = {option.target: launch_files(plan, option, CATALOGUE) for option in plan.options}
    mounts = {
        "aws": "/shared:/shared",
        "azure": "/shared:/shared,/opt/microsoft:/opt/microsoft",
        # What Google's plugins need, the node mounts into every container.
        "gcp": "/shared:/shared",
        "onprem": "/shared:/shared",
    }
    for target, written in files.items():
        (tmp_path / target).mkdir()
        assert run_job(tmp_path / target, written["train.sbatch"].content).returncode == 0
        assert shown(tmp_path / target, "container") == [
            "--container-image=nvcr.io#nvidia/pytorch:26.04-py3",
            f"--container-mounts={mounts[target]}",
            "--no-container-mount-home",
        ]


@pytest.mark.parametrize(
    ("image", "given"),
    [
        ("registry.example.com:5000/a/b:1", "registry.example.com:5000#a/b:1"),
        ("localhost:5000/b:1", "localhost:5000#b:1"),
        ("library/python:3.12", "library/python:3.12"),
        ("ubuntu:24.04", "ubuntu:24.04"),
        ("nvcr.io#nvidia/pytorch:1", "nvcr.io#nvidia/pytorch:1"),
        ("a b", "a b"),
    ],
)
def test_images_reach_enroot_in_its_own_form(plan: TrainingPlan, tmp_path: Path, image: str, given: str) -> None:
    """A registry is the first part with a dot or a port; a name without one is the default registry's."""
    script = launch_files(plan, plan.options[0], CATALOGUE)["train.sbatch"].content
    assert run_job(tmp_path, script, CONTAINER_IMAGE=image).returncode == 0
    assert shown(tmp_path, "container")[0] == f"--container-image={given}"


def test_a_virtual_environment_is_activated_on_the_nodes(plan: TrainingPlan, tmp_path: Path) -> None:
    """Its torchrun starts, with the fabric's variables, and no option of Pyxis is given."""
    script = launch_files(plan, plan.options[0], CATALOGUE)["train.sbatch"].content
    venv = tmp_path / "venv" / "bin"
    venv.mkdir(parents=True)
    (venv / "activate").write_text(f"PATH={venv}:$PATH\n")
    (venv / "torchrun").write_text('#!/bin/sh\necho "of the environment, $FI_EFA_USE_HUGE_PAGE"\n')
    (venv / "torchrun").chmod(0o755)
    result = run_job(tmp_path, script, JOB_ENVIRONMENT="venv", VENV_PATH=str(tmp_path / "venv"))
    assert (result.returncode, result.stdout) == (0, "of the environment, 0\n"), result.stderr
    assert not shown(tmp_path, "container")


def test_modules_are_loaded_in_their_order(plan: TrainingPlan, tmp_path: Path) -> None:
    """Each by its name, whatever separates them; one that is missing ends the job with its name."""
    script = launch_files(plan, plan.options[0], CATALOGUE)["train.sbatch"].content
    stand_in(tmp_path, "module", '[ "$2" != none ] && echo "$@" >>"$SHOWN/modules"\n')
    result = run_job(tmp_path, script, JOB_ENVIRONMENT="modules", MODULES="cuda/12.8,pytorch/2.8 *")
    assert result.returncode == 0, result.stderr
    assert shown(tmp_path, "modules") == ["load cuda/12.8", "load pytorch/2.8", "load *"]
    missing = run_job(tmp_path, script, JOB_ENVIRONMENT="modules", MODULES="none")
    assert (missing.returncode, "module load none failed" in missing.stderr) == (127, True)


def test_an_environment_without_torchrun_says_what_it_has_to_hold(plan: TrainingPlan, tmp_path: Path) -> None:
    """The sentence comes from every node's own look into the environment, and names the node."""
    script = launch_files(plan, plan.options[0], CATALOGUE)["train.sbatch"].content
    hidden = script.replace(b"command -v torchrun", b"command -v no-such-torchrun")
    result = run_job(tmp_path, hidden)
    assert result.returncode == 127
    assert "it has to hold PyTorch 2.6 or newer with torchrun, Transformer Engine" in result.stderr


def test_an_elastic_job_names_its_bounds(elastic: TrainingPlan, tmp_path: Path) -> None:
    """Slurm allocates the spares too, torchrun starts from the fewest nodes, and a lost node does not end the job."""
    option = elastic.options[0]
    assert option.performance.failures.elastic_nodes is not None
    script = launch_files(elastic, option, CATALOGUE)["train.sbatch"].content
    lines = script.decode().splitlines()
    fewest, most = option.performance.failures.elastic_nodes, option.training_nodes
    assert f"#SBATCH --nodes={fewest}-{most + 2}" in lines
    assert "#SBATCH --no-kill" in lines
    result = run_job(tmp_path, script)
    assert f"--nnodes={fewest}:{most}" in result.stdout.split("\0")
    restarts = next(word for word in result.stdout.split("\0") if word.startswith("--max-restarts="))
    assert int(restarts.split("=")[1]) >= 20


def test_spares_without_an_elastic_job_wait_at_the_rendezvous(elastic: TrainingPlan) -> None:
    """Up to two nodes more are allocated than torchrun trains with; one of them may be in repair at the start."""
    option = elastic.options[0]
    fixed = replace(
        option,
        performance=replace(option.performance, failures=replace(option.performance.failures, elastic_nodes=None)),
    )
    script = launch_files(elastic, fixed, CATALOGUE)["train.sbatch"].content.decode()
    assert f"#SBATCH --nodes={option.training_nodes}-{option.cluster.nodes}\n" in script
    assert "#SBATCH --no-kill\n" in script
    assert f"--nnodes={option.training_nodes} " in script


def test_a_job_that_cannot_shrink_says_so() -> None:
    """GPT-3 with memory nearly full cannot hold the optimizer's state of fewer replicas: it starts with all nodes."""
    filled = ["goals.memory_confidence=50 %", "workload.parallelism.micro_batch=2"]
    plan = training_plan(plan_of(GPT3, ["reliability.elastic=true", *filled], "aws"))
    option = plan.options[0]
    files = launch_files(plan, option, CATALOGUE)
    assert option.performance.memory_bytes_per_gpu.total > 0.9 * option.cluster.hbm_bytes_per_gpu
    assert (option.performance.failures.elastic, option.performance.failures.elastic_nodes) == (True, None)
    assert "the job is not elastic, because" in files["README.md"].content.decode()
    assert f"--nnodes={option.cluster.nodes} " in files["train.sbatch"].content.decode()


def test_milestones_are_whole_intervals_and_not_more_than_storage_holds(elastic: TrainingPlan) -> None:
    """Steps between kept checkpoints are a multiple of the save interval; their number is at most the planned one."""
    option = elastic.options[0]
    steps = milestone_steps(option)
    work = elastic.workload
    total = work.tokens / work.sequence_length / work.global_batch_sequences
    assert steps % save_interval_steps(option) == 0
    assert 0 < total // steps <= option.design.storage.milestones
    assert f"5 {steps} || true" in launch_files(elastic, option, CATALOGUE)["train.sbatch"].content.decode()


def test_sharded_layouts_get_their_configurations(plan: TrainingPlan) -> None:
    """Without tensor and pipeline parallelism DeepSpeed and FSDP say the same batch on the same GPUs."""
    option = plan.options[0]
    gpus = option.cluster.gpus
    layout = replace(
        option.performance.layout, tp=1, sp=0, pp=1, vpp=1, cp=1, dp=gpus, zero_stage=3, micro_batch=1, micro_batches=4,
        recompute="full",
    )  # fmt: skip
    batch = replace(plan, workload=replace(plan.workload, global_batch_sequences=4 * gpus))
    files = launch_files(batch, replace(option, performance=replace(option.performance, layout=layout)), CATALOGUE)
    deepspeed = json.loads(files["deepspeed.json"].content)
    assert deepspeed["train_batch_size"] == (
        deepspeed["train_micro_batch_size_per_gpu"] * deepspeed["gradient_accumulation_steps"] * gpus
    )
    assert deepspeed["zero_optimization"]["stage"] == 3
    assert deepspeed["bf16"] == {"enabled": True}
    fsdp = YAML(typ="safe").load(files["accelerate_fsdp.yaml"].content)
    assert fsdp["num_processes"] == gpus == fsdp["num_machines"] * 8
    assert fsdp["gradient_accumulation_steps"] == 4
    assert fsdp["fsdp_config"]["fsdp_reshard_after_forward"] is True
    assert fsdp["fsdp_config"]["fsdp_activation_checkpointing"] is True
    assert "CUDA_DEVICE_MAX_CONNECTIONS" not in files["train.sbatch"].content.decode()
    two = launch_files(
        batch, replace(option, performance=replace(option.performance, layout=replace(layout, zero_stage=2))), CATALOGUE
    )
    assert (
        YAML(typ="safe").load(two["accelerate_fsdp.yaml"].content)["fsdp_config"]["fsdp_reshard_after_forward"] is False
    )
    one = launch_files(
        batch, replace(option, performance=replace(option.performance, layout=replace(layout, zero_stage=1))), CATALOGUE
    )
    assert "accelerate_fsdp.yaml" not in one
    assert "shards as ZeRO 1" in one["README.md"].content.decode()
    eight = replace(batch, workload=replace(batch.workload, precision="fp8"))
    assert set(
        launch_files(eight, replace(option, performance=replace(option.performance, layout=layout)), CATALOGUE)
    ) == {*JOB_FILES, "README.md"}


def test_sharding_groups_reach_every_configuration_that_has_them(plan: TrainingPlan) -> None:
    """64 GPUs in groups of 8: Megatron gets 8 copies, Accelerate a mesh of 8 x 8; DeepSpeed is told why not."""
    option = replace(plan.options[0], cluster=replace(plan.options[0].cluster, nodes=8, gpus=64))
    layout = replace(
        option.performance.layout, tp=1, sp=0, pp=1, vpp=1, cp=1, dp=64, zero_stage=3, micro_batch=1, micro_batches=4,
        recompute="full", sharding_group=8, schedule="1f1b",
    )  # fmt: skip
    batch = replace(plan, workload=replace(plan.workload, global_batch_sequences=256))
    files = launch_files(batch, replace(option, performance=replace(option.performance, layout=layout)), CATALOGUE)
    mesh = YAML(typ="safe").load(files["accelerate_fsdp.yaml"].content)["parallelism_config"]
    assert mesh == {
        "parallelism_config_dp_replicate_size": 8, "parallelism_config_dp_shard_size": 8,
        "parallelism_config_tp_size": 1, "parallelism_config_cp_size": 1,
    }  # fmt: skip
    assert "deepspeed.json" not in files
    assert "shards over groups of 8 GPUs" in files["README.md"].content.decode()
    some = launch_files(
        batch,
        replace(option, performance=replace(option.performance, layout=replace(layout, recompute_layers=3))),
        CATALOGUE,
    )
    assert set(some) == {*JOB_FILES, "README.md"}
    assert "recomputes 3 layers of a stage; Accelerate recomputes all" in some["README.md"].content.decode()


@pytest.mark.parametrize(
    ("schedule", "name", "where"),
    [
        ("zero-bubble", "ZB-H1", "sail-sg/zero-bubble-pipeline-parallelism"),
        ("dualpipe", "DualPipe", "deepseek-ai/DualPipe"),
    ],
)
def test_schedules_that_megatron_lacks_are_refused_by_name(
    plan: TrainingPlan, schedule: str, name: str, where: str
) -> None:
    """No script that would run another schedule than the plan was sized for."""
    option = changed(plan.options[0], pp=8, vpp=1, schedule=schedule)
    files = launch_files(plan, option, CATALOGUE)
    assert list(files) == ["README.md"]
    told = files["README.md"].content.decode()
    assert f"pipeline schedule is {name}" in told
    assert where in told
    assert "train.sbatch" in launch_files(plan, changed(option, pp=1), CATALOGUE)


def test_every_fabric_of_the_catalogue_has_settings_with_sources() -> None:
    """Each fabric that instances with several NVIDIA GPUs have is in the table; each row has a reason and a source."""
    fabrics = {
        (instance.cloud, instance.fabric_kind)
        for instance in CATALOGUE.instances.values()
        if CATALOGUE.accelerators[instance.accelerator].vendor == "NVIDIA" and instance.gpus >= 4
    }
    for cloud, fabric in fabrics - {(cloud, kind) for cloud, kind in fabrics if kind in ("none", "gvnic")}:
        assert len(settings_for(fabric=fabric, target=cloud, instance="any")) > 1, (cloud, fabric)
    for row in settings():
        assert row.why, row
        assert row.source, row
        assert row.kind in ("export", "prepend", "source", "mount")
        assert re.fullmatch(r"=?[A-Za-z0-9_.,/:;\-]+(\$\{SLURM_JOB_ID\})?", row.value), row
        assert row.kind != "mount" or row.value.startswith("/"), row


def test_settings_reach_the_job(plan: TrainingPlan, tmp_path: Path) -> None:
    """AWS gets EFA's, Azure the topology of its board, Google TCPX with the job's socket, on premises InfiniBand."""
    found = {}
    for option in plan.options:
        folder = tmp_path / option.target
        folder.mkdir()
        result = run_job(folder, launch_files(plan, option, CATALOGUE)["train.sbatch"].content)
        assert result.returncode == 0, result.stderr
        found[option.target] = dict(line.split("=", 1) for line in shown(folder, "environment") if "=" in line)
    assert found["aws"]["FI_EFA_USE_HUGE_PAGE"] == "0"
    assert found["azure"]["NCCL_TOPO_FILE"] == "/opt/microsoft/ndv5-topo.xml"
    assert found["gcp"]["NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX"] == "/run/tcpx-7"
    assert found["gcp"]["LD_LIBRARY_PATH"].startswith("/var/lib/tcpx/lib64")
    assert found["onprem"]["NCCL_NET"] == "IB"
    assert "FI_EFA_USE_HUGE_PAGE" not in found["onprem"]


def test_the_readme_says_what_a_target_needs(plan: TrainingPlan) -> None:
    """How to submit from there, what the environment holds, and what is special: EFA's plugin, Google's own image."""
    pages = {
        option.target: launch_files(plan, option, CATALOGUE)["README.md"].content.decode() for option in plan.options
    }
    for target, page in pages.items():
        command = "launch/submit.sh --host you@login" if target == "onprem" else "./cluster.sh submit --user NAME"
        assert f"{command} --image registry.example.com/team/megatron:1.0 --get-megatron" in page
        assert "PyTorch 2.6 or newer with torchrun, Transformer Engine" in page
        assert "core_v0.18.2" in page
        assert ("aws-ofi-nccl" in page) is (target == "aws")
        assert ("linux-gcp-tcpx" in page) is (target == "gcp")
        assert ("Storage has adapters of its own." in page) is (target == "onprem")
        for file in JOB_FILES:
            assert f"| `{file}` |" in page, file


def test_an_image_cannot_win_over_the_fabrics_variables(plan: TrainingPlan, tmp_path: Path) -> None:
    """Pyxis keeps what an image sets: the variables are set by the command within the container, not before it."""
    script = launch_files(plan, plan.options[2], CATALOGUE)["train.sbatch"].content
    image = SRUN.replace('exec "$@"', 'LD_LIBRARY_PATH=/of/the/image NCCL_NET=Socket exec "$@"')
    changed = run_job(tmp_path, script.replace(b"srun --kill", b"pyxis --kill"))
    assert changed.returncode == 127
    stand_in(tmp_path, "pyxis", image)
    assert run_job(tmp_path, script.replace(b"srun --kill", b"pyxis --kill")).returncode == 0
    lines = shown(tmp_path, "environment")
    assert "LD_LIBRARY_PATH=/var/lib/tcpx/lib64:/of/the/image" in lines
    assert "NCCL_NET=GPUDirectTCPX_v7" in lines


def test_the_compute_fabrics_adapters_are_named_where_a_document_names_them(plan: TrainingPlan, tmp_path: Path) -> None:
    """A DGX H100 has its eight from the vendor's table; the four of storage and in-band network are not among them."""
    script = launch_files(plan, plan.options[3], CATALOGUE)["train.sbatch"].content
    assert run_job(tmp_path, script).returncode == 0
    wanted = "NCCL_IB_HCA==mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11"
    assert wanted in shown(tmp_path, "environment")


def adapter(sysfs: Path, name: str, rate: str = "400 Gb/sec (4X NDR)", state: str = "4: ACTIVE", **more: str) -> None:
    """Write an adapter as the kernel shows it."""
    port = sysfs / "class" / "infiniband" / name / "ports" / "1"
    port.mkdir(parents=True)
    for file, value in ({"rate": rate, "state": state, "link_layer": "InfiniBand"} | more).items():
        (port / file).write_text(f"{value}\n")


def test_other_systems_look_for_as_many_adapters_as_the_plan_wires(tmp_path: Path) -> None:
    """By rate, state and kind of link; another number than the plan's ends the job with the names, and no guess."""
    plan = plan_of(GPT3, ["targets.onprem.system=hgx-h100-8gpu"], "onprem")
    script = launch_files(plan, plan.options[0], CATALOGUE)["train.sbatch"].content
    sysfs = tmp_path / "sys"
    for number in range(7):
        adapter(sysfs, f"mlx5_{number}")
    adapter(sysfs, "mlx5_7", rate="200 Gb/sec (4X HDR)")
    adapter(sysfs, "mlx5_8", state="1: DOWN")
    adapter(sysfs, "mlx5_9", link_layer="Ethernet")
    seven = run_job(tmp_path, script, SYSFS_PATH=str(sysfs))
    assert seven.returncode == 3
    assert "has 7 active InfiniBand ports of 400 Gb/s (mlx5_0 mlx5_1" in seven.stderr
    assert "the plan wires 8 to the compute fabric: set NCCL_IB_HCA" in seven.stderr
    adapter(sysfs, "mlx5_10")
    eight = run_job(tmp_path, script, SYSFS_PATH=str(sysfs))
    assert eight.returncode == 0, eight.stderr
    names = {f"mlx5_{number}" for number in (*range(7), 10)}
    line = next(line for line in shown(tmp_path, "environment") if line.startswith("NCCL_IB_HCA=="))
    assert set(line.removeprefix("NCCL_IB_HCA==").split(",")) == names
    adapter(sysfs, "mlx5_11")
    assert run_job(tmp_path, script, SYSFS_PATH=str(sysfs)).returncode == 3
    own = run_job(tmp_path, script, SYSFS_PATH=str(sysfs), NCCL_IB_HCA="=mlx5_0")
    assert (own.returncode, "NCCL_IB_HCA==mlx5_0" in shown(tmp_path, "environment")) == (0, True)


def test_lines_are_quoted() -> None:
    """A value with blanks, quotes or dollars stays one value; a vendor's script may use unset variables."""
    hostile = Setting(
        fabric="any", cloud="any", instance="any", kind="export", name="A", value="b'; echo $HOME", why="", source=""
    )
    for setting, wanted in ((hostile, hostile.value), (replace(hostile, kind="prepend"), hostile.value)):
        shown = subprocess.run(
            ["bash", "-uc", f'{shell_line(setting)}; printf %s "$A"'], capture_output=True, text=True, check=True
        )
        assert shown.stdout == wanted
    sourced = shell_line(replace(hostile, kind="source", value="/a b.sh")).splitlines()
    assert (sourced[0], sourced[2], sourced[3]) == ("set +u", ". '/a b.sh'", "set -u")


def test_accelerators_of_others_get_a_reason_instead(plan: TrainingPlan) -> None:
    """Where Megatron-LM with NCCL does not run, the README says so."""
    option = plan.options[0]
    amd = next(chip.id for chip in CATALOGUE.accelerators.values() if chip.vendor == "AMD")
    assert list(launch_files(plan, replace(option, cluster=replace(option.cluster, accelerator=amd)), CATALOGUE)) == [
        "README.md"
    ]


def test_shellcheck_finds_nothing(plan: TrainingPlan, elastic: TrainingPlan, tmp_path: Path) -> None:
    """Every script is clean, with spares, elastic and milestones too."""
    shellcheck = shutil.which("shellcheck", path=f"{Path(os.sys.executable).parent}:{os.environ['PATH']}")  # type: ignore[attr-defined]
    assert shellcheck is not None
    scripts = [(entry, option) for entry in (plan, elastic) for option in entry.options]
    scripts.append((plan, replace(plan.options[2], cluster=replace(plan.options[2].cluster, instance="a3-megagpu-8g"))))
    scripts.append(
        (plan, replace(plan.options[2], cluster=replace(plan.options[2].cluster, instance="a3-ultragpu-8g")))
    )
    for number, (entry, option) in enumerate(scripts):
        path = tmp_path / f"{number}.sbatch"
        path.write_bytes(launch_files(entry, option, CATALOGUE)["train.sbatch"].content)
        subprocess.run([shellcheck, str(path)], check=True)
        subprocess.run(["bash", "-n", str(path)], check=True)
    names = ("submit.sh", "submit_kubernetes.sh", "job_options.sh", "fetch_megatron.sh", "retain_checkpoints.sh")
    subprocess.run([shellcheck, "-x", *names], check=True, cwd=RETAIN.parent)


def retained(folder: Path, latest: int, milestone: int) -> list[int]:
    """Run retention once and return the steps that are left."""
    subprocess.run([str(RETAIN), str(folder), str(latest), str(milestone)], check=True)
    return sorted(int(path.name.removeprefix("iter_")) for path in folder.glob("iter_*"))


def test_retention_keeps_the_latest_and_the_milestones(tmp_path: Path) -> None:
    """Of ten checkpoints, the last three complete and every fourth stay; what is being written is not touched."""
    for step in range(10, 110, 10):
        (tmp_path / f"iter_{step:07d}").mkdir()
    (tmp_path / "iter_notes").mkdir()
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("90\n")
    (tmp_path / "iter_notes").rename(tmp_path / "notes")
    assert retained(tmp_path, 3, 40) == [40, 70, 80, 90, 100]
    assert (tmp_path / "notes").is_dir()
    assert retained(tmp_path, 3, 0) == [70, 80, 90, 100]
    assert retained(tmp_path, 20, 0) == [70, 80, 90, 100]


def test_retention_touches_nothing_it_does_not_understand(tmp_path: Path) -> None:
    """Without a tracker, with a damaged one, or with other names and links, nothing goes."""
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for step in (1, 2, 3):
        (folder / f"iter_{step:07d}").mkdir()
    assert retained(folder, 1, 0) == [1, 2, 3]
    (folder / "latest_checkpointed_iteration.txt").write_text("release\n")
    assert retained(folder, 1, 0) == [1, 2, 3]
    (folder / "latest_checkpointed_iteration.txt").write_text("3")
    (folder / "iter_0000000").symlink_to(outside)
    assert retained(folder, 1, 0) == [0, 3]
    assert outside.is_dir()
    for wrong in (("0", "0"), ("x", "0"), ("1", "-1")):
        assert subprocess.run([str(RETAIN), str(folder), *wrong], check=False, capture_output=True).returncode == 2


def test_restarts_follow_the_failures_of_the_run(plan: TrainingPlan) -> None:
    """Three times the mean number of interruptions is restarted from, and at least twenty."""
    option = plan.options[0]
    worse = replace(
        option,
        performance=replace(
            option.performance, failures=replace(option.performance.failures, mean_time_between_interruptions_s=3600.0)
        ),
    )
    assert launch.max_restarts(worse) == pytest.approx(3 * option.performance.calendar_days * 24, abs=1)
    calm = replace(
        option,
        performance=replace(
            option.performance, failures=replace(option.performance.failures, mean_time_between_interruptions_s=1e9)
        ),
    )
    assert launch.max_restarts(calm) == 20
