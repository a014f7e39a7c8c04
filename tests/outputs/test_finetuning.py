"""What a plan of fine-tuning writes and explains: files that start it, the report's section, and its numbers."""

import io
import subprocess
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.blueprint.load import load_values
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.explain.explanation import find
from clusterwright.outputs.finetuning.launch import launch
from clusterwright.outputs.kinds import outputs_of
from clusterwright.plan.decide import decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.finetuning.record import FinetuningPlan, finetuning_plan
from clusterwright.plan.text.money import USD
from tests.opened import explanations


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
    blueprint = load_values(values, overrides, name="tune.yaml").blueprint
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved), resolved
    return finetuning_plan(decide(blueprint, resolved, Facts.open()))


def _files(*overrides: str) -> dict[str, str]:
    plan = _plan(*overrides)
    found = launch(plan, plan.options[0], load_catalogue(), {})
    return {name: file.content.decode() for name, file in found.items()}


def _yaml(text: str) -> dict[str, object]:
    found: dict[str, object] = YAML(typ="safe").load(io.StringIO(text))
    return found


def test_launch_files_have_the_plans_layout(tmp_path: Path) -> None:
    """Sequences of a pass x processes x passes are the global batch; adapters and base are the blueprint's."""
    files, option = _files(), _plan().options[0]
    trl, accelerate = _yaml(files["launch/trl.yaml"]), _yaml(files["launch/accelerate.yaml"])
    processes = accelerate["num_processes"]
    assert processes == option.layout.gpus
    assert accelerate["num_machines"] == option.nodes
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


@pytest.mark.parametrize("method", ["prompt", "adapter"])
def test_what_trl_cannot_express_is_said(method: str) -> None:
    """No file pretends to start a method that TRL's command line does not have."""
    files = _files(f"workload.method={method}", "workload.targets=null", "workload.optimizer=null")
    assert list(files) == ["launch/README.md"]
    assert "No launch files are written" in files["launch/README.md"]


def test_every_number_is_explained_with_its_arithmetic() -> None:
    """Trained weights, memory, fit, rate, time, nodes, checkpoint and month have equations that give their values."""
    plan = _plan()
    known = explanations(plan, "aws")
    for name in (
        "trained_parameters", "memory", "fit", "tokens_per_s", "days", "nodes", "checkpoint", "month_usd", "run_usd",
    ):  # fmt: skip
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
    assert "fits with" in kind.reason(plan.options[0])
