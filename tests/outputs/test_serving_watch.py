"""Monitoring of a service, and the service on Slurm: figures of the plan, names of the engine, nothing run by names."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.serving.dashboard import dashboard
from clusterwright.outputs.serving.engine import engine_of, metrics
from clusterwright.outputs.serving.monitoring import goals, rules
from clusterwright.outputs.serving.slurm import slurm_files
from clusterwright.plan.serving.record import ServingOption, ServingPlan, serving_option, serving_plan

HOSTILE = "x'; $(touch pwned) `touch pwned` \" \\ \n&& touch pwned #"


def planned(blueprint: str, target: str, *values: str) -> tuple[ServingPlan, ServingOption]:
    """Return a shipped plan of one target."""
    plan = plan_of(assets.root() / "blueprints" / f"{blueprint}.yaml", list(values), target)
    return serving_plan(plan), serving_option(plan.options[0])


@pytest.fixture(scope="module")
def llama() -> tuple[ServingPlan, ServingOption]:
    """The shipped plan on AWS: first token 1 s, time per token 50 ms, P95."""
    return planned("serve-llama3-70b", "aws")


@pytest.fixture(scope="module")
def two_nodes() -> tuple[ServingPlan, ServingOption]:
    """A model that takes two nodes."""
    return planned("serve-deepseek-v3", "aws", "targets.aws.allowed_instances=[p5.48xlarge]")


@pytest.mark.parametrize("framework", ["vllm", "vllm 0.9.2", "sglang"])
def test_budgets_burn_by_the_goals_of_the_blueprint(llama: tuple[ServingPlan, ServingOption], framework: str) -> None:
    """A twentieth may miss P95: 14.4 times that over an hour and five minutes pages; buckets are not above the goal."""
    plan, option = llama
    spoken = replace(plan, workload=replace(plan.workload, framework=framework))
    engine = engine_of(spoken, option)
    first, each = goals(spoken, engine)
    assert (first.bound_s, each.bound_s) == (1.0, 0.05 if "vllm" in framework else 0.04)
    for goal in (first, each):
        assert goal.bound_s <= goal.goal_s
        assert goal.bound_s in goal.metric.bounds
        assert goal.budget == pytest.approx(0.05)
    found = rules(spoken, option, engine)
    records, alerts = (group["rules"] for group in found["groups"])
    names = {rule["record"] for rule in records}
    burning = [rule for rule in alerts if rule["alert"].endswith("BudgetBurns")]
    assert len(burning) == 6
    fastest = next(rule for rule in burning if rule["labels"]["window"] == "1h")
    assert f'service:first_token_missed:ratio_rate1h{{service="{plan.name}"}} > 0.72 and ' in fastest["expr"]
    assert f'ratio_rate5m{{service="{plan.name}"}} > 0.72' in fastest["expr"]
    for rule in burning:
        assert set(re.findall(r"service:\w+:\w+", rule["expr"])) <= names
    known = {row.metric for row in metrics()}
    for rule in [*records, *alerts]:
        used = re.findall(r"(?:vllm|sglang):[a-z_]+", rule["expr"])
        assert {re.sub("_(bucket|count)$", "", name) for name in used} <= known
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_the_price_of_tokens_now_is_that_of_the_plan_at_its_mean(llama: tuple[ServingPlan, ServingOption]) -> None:
    """The month's dollars over the tokens of a month are the plan's dollars per million."""
    plan, option = llama
    records = rules(plan, option, engine_of(plan, option))["groups"][0]["rules"]
    query = next(rule["expr"] for rule in records if "usd" in rule["record"])
    usd_times_million_per_s = float(query.partition(" / ")[0])
    tokens_per_s = option.performance.output_tokens_per_month / plan.workload.month_s
    assert usd_times_million_per_s / tokens_per_s == pytest.approx(option.money.usd_per_million_tokens.output, rel=1e-4)


def test_the_dashboard_is_what_grafana_reads(llama: tuple[ServingPlan, ServingOption]) -> None:
    """Panels with places that do not overlap, queries of the one data source, goals as lines, plan beside measured."""
    plan, option = llama
    found = json.loads(json.dumps(dashboard(plan, option, engine_of(plan, option)), allow_nan=False))
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= found.keys()
    assert len(found["uid"]) <= 40
    (variable,) = found["templating"]["list"]
    assert (variable["type"], variable["query"]) == ("datasource", "prometheus")
    places = set()
    for panel in found["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        assert (place["x"], place["y"]) not in places
        places.add((place["x"], place["y"]))
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {f"${{{variable['name']}}}"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    assert len({panel["id"] for panel in found["panels"]}) == len(found["panels"]) == 7
    first = found["panels"][0]
    assert first["fieldConfig"]["defaults"]["thresholds"]["steps"][1]["value"] == plan.goals.first_token_s
    assert first["targets"][1]["expr"] == f"vector({option.performance.first_token_s.value:.6g})"


def test_hostile_names_are_strings_of_promql(llama: tuple[ServingPlan, ServingOption]) -> None:
    """A quote in the name of a model ends no selector."""
    plan, option = llama
    named = replace(plan, workload=replace(plan.workload, model=HOSTILE))
    for group in rules(named, option, engine_of(named, option))["groups"]:
        for rule in group["rules"]:
            for literal in re.findall(r'model_name=("(?:[^"\\]|\\.)*")', rule["expr"]):
                assert json.loads(literal) == HOSTILE
            assert "\n" not in rule["expr"]


SRUN = """#!/bin/bash
printf '%s\\0' "$@" >"$SHOWN.srun"
while [ "$1" != bash ]; do shift; done
exec "$@"
"""


def run_job(files: dict[str, Any], folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the script of a job with stand-ins for srun and the engine."""
    (folder / "bin").mkdir(exist_ok=True)
    for name, body in (
        ("srun", SRUN),
        ("vllm", '#!/bin/bash\nprintf "%s\\0" "$@" >"$SHOWN.engine"\ncp -r "$SERVING_FOLDER" "$SHOWN.folder"\n'),
        ("python3", '#!/bin/bash\nprintf "%s\\0" "$@" >"$SHOWN.engine"\n'),
    ):
        (folder / "bin" / name).write_text(body)
        (folder / "bin" / name).chmod(0o755)
    (folder / "serve.sbatch").write_bytes(files["serve.sbatch"].content)
    known = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "SHOWN": str(folder / "shown"),
        "SLURM_ARRAY_TASK_ID": "3",
        "SERVING_FOLDER": str(folder / "serving"),
        "SLURM_NNODES": "2",
        "SLURM_NODEID": "1",
    }
    return subprocess.run(
        ["bash", str(folder / "serve.sbatch")],
        capture_output=True,
        text=True,
        check=False,
        env=known | settings,
        cwd=folder,
    )


def model(folder: Path) -> str:
    """Return a folder with a model, whose name is hostile."""
    path = folder / "model '$(touch pwned)' &"
    path.mkdir()
    (path / "config.json").write_text("{}")
    return str(path)


def test_an_element_of_the_array_is_a_replica(llama: tuple[ServingPlan, ServingOption], tmp_path: Path) -> None:
    """As many as the peak needs with the spare ones; each has its own port, says where it is, and goes again."""
    plan, option = llama
    files = slurm_files(plan, option, load())
    asked = dict(re.findall(r"^#SBATCH --([\w-]+)=(\S+)$", files["serve.sbatch"].content.decode(), re.M))
    assert asked["array"] == f"0-{option.performance.replicas + option.performance.spare_replicas - 1}"
    assert asked["nodes"] == "1"
    gres = load().accelerators[option.cluster.accelerator].gres_type
    assert asked["gres"] == f"gpu:{gres}:{option.performance.layout.gpus}"
    node = load().instances[option.cluster.instance]
    each = option.performance.layout.gpus / option.cluster.gpus_per_node
    assert int(asked["cpus-per-task"]) <= (node.vcpus or 0) * each
    assert int(asked["mem"].removesuffix("G")) * 2**30 <= (node.memory_bytes or 0) * each
    place = model(tmp_path)
    done = run_job(files, tmp_path, CONTAINER_IMAGE="registry#vllm:0.11.0", MODEL_PATH=place)
    assert done.returncode == 0, done.stderr
    given = (tmp_path / "shown.engine").read_text().split("\0")[:-1]
    assert given[:4] == ["serve", place, "--port", "8003"]
    words = [word for at, word in enumerate(engine_of(plan, option).arguments) if at not in (2, 3)]
    assert given[4:] == words
    assert (tmp_path / "shown.folder" / "endpoints" / "3").read_text().strip().endswith(":8003")
    assert not (tmp_path / "serving" / "endpoints" / "3").exists()
    assert not list(tmp_path.rglob("pwned"))


def test_nodes_of_a_replica_meet_at_the_first(two_nodes: tuple[ServingPlan, ServingOption], tmp_path: Path) -> None:
    """SGLang is told how many nodes, which of them, and where the first is."""
    plan, option = two_nodes
    done = run_job(
        slurm_files(plan, option, load()),
        tmp_path,
        CONTAINER_IMAGE="registry#sglang:0.5.3",
        MODEL_PATH=model(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    given = (tmp_path / "shown.engine").read_text().split("\0")[:-1]
    assert given[-6:-1] == ["--nnodes", "2", "--node-rank", "1", "--dist-init-addr"]
    assert given[-1].endswith(":20003")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "set CONTAINER_IMAGE"),
        ({}, "set MODEL_PATH"),
        ({"CONTAINER_IMAGE": "vllm"}, "names no version"),
        ({"CONTAINER_IMAGE": "/nowhere.sqsh"}, "there is no image /nowhere.sqsh"),
        ({"MODEL_PATH": HOSTILE}, "config.json"),
        ({"SERVING_FOLDER": "/proc/none"}, "cannot be written to"),
    ],
)
def test_a_job_says_what_is_missing(
    llama: tuple[ServingPlan, ServingOption], tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    """All at once, with a status that no restart mends, and nothing is started."""
    done = run_job(slurm_files(*llama, load()), tmp_path, **settings)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "shown.srun").exists()
    assert not list(tmp_path.rglob("pwned"))


def test_shellcheck_finds_nothing(
    llama: tuple[ServingPlan, ServingOption], two_nodes: tuple[ServingPlan, ServingOption], tmp_path: Path
) -> None:
    """Neither in jobs nor in benchmarks, of one node, of two, and of a framework without a table."""
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert shellcheck is not None
    plan, option = llama
    unknown = replace(plan, workload=replace(plan.workload, framework="ours"))
    paths = []
    for number, case in enumerate((llama, two_nodes, (unknown, option))):
        for name, file in slurm_files(*case, load()).items():
            if name.endswith((".sh", ".sbatch")):
                path = tmp_path / f"{number}-{Path(name).name}"
                path.write_bytes(file.content)
                paths.append(str(path))
    subprocess.run([shellcheck, *paths], check=True, cwd=tmp_path)


def test_benchmarks_are_asked_for_the_plan(llama: tuple[ServingPlan, ServingOption], tmp_path: Path) -> None:
    """The rate and the requests of as many replicas, with lengths, goals and a model of any name as one word."""
    plan, option = llama
    hostile = replace(plan, workload=replace(plan.workload, model=HOSTILE))
    files = slurm_files(hostile, option, load())
    (tmp_path / "vllm").write_text('#!/bin/bash\nprintf "%s\\0" "$@"\n')
    (tmp_path / "vllm").chmod(0o755)
    (tmp_path / "bench.sh").write_bytes(files["loadtest/vllm_bench.sh"].content)
    words = ["bash", str(tmp_path / "bench.sh"), "http://127.0.0.1:1", "/tokenizer", "out/results.json"]
    known = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([*words, "2"], capture_output=True, text=True, check=True, env=known, cwd=tmp_path)
    given = done.stdout.split("\0")[:-1]
    asked = dict(pairwise(given))
    assert asked["--model"] == HOSTILE
    assert float(asked["--request-rate"]) == pytest.approx(
        option.performance.peak_requests_per_s / option.performance.replicas * 2, rel=1e-4
    )
    assert (asked["--goodput"], asked["--random-output-len"]) == ("ttft:1000", "300")
    assert int(asked["--random-prefix-len"]) + int(asked["--random-input-len"]) == 1500
    wrong = subprocess.run([*words, "$(touch pwned)"], capture_output=True, check=False, env=known, cwd=tmp_path)
    assert wrong.returncode == 2
    assert not list(tmp_path.rglob("pwned"))


def test_rules_on_slurm_are_a_file_of_prometheus(llama: tuple[ServingPlan, ServingOption]) -> None:
    """Groups at the top, as Prometheus reads them; no resource of Kubernetes."""
    files = slurm_files(*llama, load())
    found = YAML(typ="safe").load(files["monitoring/rules.yaml"].content)
    assert found.keys() == {"groups"}
    assert shlex.split(files["README.md"].content.decode().split("```sh\n")[1].splitlines()[0])[-1].endswith(".sbatch")
