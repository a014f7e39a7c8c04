"""The folder `serving`: manifests that clusters take, with the replicas, bounds and arguments of the plan."""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.folder import File
from clusterwright.plan.serving.pools import fewest_replicas
from clusterwright.plan.serving.record import ServingOption, ServingPlan, serving_option, serving_plan
from tests.opened import target_files
from tests.outputs.pod_templates import pod_templates

DIGEST = f"@sha256:{'0123456789abcdef' * 4}"
IMAGE = f"registry.example.com:5000/team/vllm{DIGEST}"
#: Each target, and a model of 671 GB on nodes with 640 GB of memory, whose replicas are two nodes.
CASES = {
    "aws": ("serve-llama3-70b", "aws"),
    "azure": ("serve-llama3-70b", "azure"),
    "gcp": ("serve-llama3-70b", "gcp"),
    "onprem": ("serve-llama3-70b", "onprem"),
    "whole node": ("serve-deepseek-v3", "aws"),
    "two nodes": ("serve-deepseek-v3", "aws", "targets.aws.allowed_instances=[p5.48xlarge]"),
    "two nodes on premises": ("serve-deepseek-v3", "onprem", "targets.onprem.allowed_systems=[dgx-h100]"),
    "two nodes with vLLM": (
        "serve-deepseek-v3",
        "azure",
        "targets.azure.instance=Standard_ND96isr_H100_v5",
        "workload.framework=vllm 0.11.0",
    ),
}

_APART = "workload.options={disaggregated: always}"
#: Workers that prefill apart from those that decode.
POOLS = {
    "aws": ("serve-llama3-70b", "aws", _APART),
    "gcp": ("serve-llama3-70b", "gcp", _APART),
    "on premises": ("serve-llama3-70b", "onprem", _APART),
    "SGLang on aws": ("serve-llama3-70b", "aws", _APART, "workload.framework=sglang"),
}


class Written:
    """A plan of one target with Kubernetes, and the folder `serving` that is written for it."""

    def __init__(self, blueprint: str, target: str, *values: str) -> None:
        path = assets.root() / "blueprints" / f"{blueprint}.yaml"
        plan = plan_of(path, [f"targets.{target}.scheduler=kubernetes", *values], target)
        self.plan: ServingPlan = serving_plan(plan)
        self.option: ServingOption = serving_option(plan.options[0])
        files = target_files(plan, plan.options[0], load())
        at = "kubernetes/serving/" if target == "onprem" else "serving/"
        self.files: dict[str, File] = {
            name.removeprefix(at): file for name, file in files.items() if name.startswith(at)
        }

    def text(self, name: str) -> str:
        """Return a file as text."""
        return self.files[name].content.decode()

    @property
    def objects(self) -> list[dict[str, Any]]:
        """All objects of all manifests."""
        return [
            one
            for name in self.files
            if name.endswith(".yaml")
            for one in YAML(typ="safe").load_all(io.BytesIO(self.files[name].content))
            if one
        ]

    def one(self, kind: str, name: str | None = None) -> dict[str, Any]:
        """Return the object of a kind, with a name where there are several."""
        wanted = name or self.plan.name
        (found,) = [one for one in self.objects if one["kind"] == kind and one["metadata"]["name"] == wanted]
        return found

    @property
    def workload(self) -> dict[str, Any]:
        """What keeps the replicas."""
        (found,) = [
            one
            for one in self.objects
            if one["kind"] in ("Deployment", "LeaderWorkerSet") and one["metadata"]["name"] == self.plan.name
        ]
        return found

    @property
    def leader(self) -> dict[str, Any]:
        """The pod that answers."""
        spec: dict[str, Any] = pod_templates(self.workload)[0]["spec"]
        return spec

    @property
    def arguments(self) -> dict[str, str]:
        """The engine's arguments by flag."""
        words = self.leader["containers"][0]["args"]
        ends = [index for index, word in enumerate(words) if word.startswith("--")] + [len(words)]
        return {words[at]: " ".join(words[at + 1 : to]) for at, to in pairwise(ends)}


@cache
def written(case: str) -> Written:
    """Return a case, once."""
    return Written(*CASES[case])


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Written:
    """Return each case."""
    return written(request.param)


def test_the_bounds_are_those_of_the_plan(case: Written) -> None:
    """As many replicas as the peak needs with the spare ones, never scaled by processors; budget of the spare ones."""
    option = case.option
    most = option.performance.replicas + option.performance.spare_replicas
    assert case.workload["spec"]["replicas"] == most
    scaled = case.one("ScaledObject")["spec"]
    assert scaled["maxReplicaCount"] == scaled["fallback"]["replicas"] == most
    assert (
        scaled["minReplicaCount"]
        == fewest_replicas(option)
        == option.performance.day.least_replicas + option.performance.spare_replicas
    )
    assert 1 + option.performance.spare_replicas <= scaled["minReplicaCount"] <= most
    kept = scaled["minReplicaCount"] - option.performance.spare_replicas
    assert kept == 1 or (kept - 1) * option.performance.capacity_requests_per_s < min(
        option.performance.day.hourly_requests_per_s
    )
    target = scaled["scaleTargetRef"]
    assert (target["kind"], target["apiVersion"]) == (case.workload["kind"], case.workload["apiVersion"])
    assert {trigger["type"] for trigger in scaled["triggers"]} == {"prometheus"}
    first, second = (trigger["metadata"] for trigger in scaled["triggers"])
    assert float(first["threshold"]) == pytest.approx(max(option.performance.in_flight, 1), abs=0.5)
    assert "waiting" in first["query"] or "queue" in first["query"]
    assert float(second["threshold"]) < 1
    assert case.one("PodDisruptionBudget")["spec"]["maxUnavailable"] == max(option.performance.spare_replicas, 1)


def test_a_replica_has_the_accelerators_of_its_layout(case: Written) -> None:
    """One pod, or as many as nodes make up the replica; whole nodes ask for the fabric's devices, parts for none."""
    gpus, node = case.option.performance.layout.gpus, case.option.cluster.gpus_per_node
    templates = pod_templates(case.workload)
    pods = case.workload["spec"]["leaderWorkerTemplate"]["size"] if len(templates) > 1 else 1
    for template in templates:
        (engine,) = template["spec"]["containers"]
        limits = engine["resources"]["limits"]
        assert int(limits["nvidia.com/gpu"]) * pods == gpus
        others = limits.keys() - {"nvidia.com/gpu", "memory"}
        assert bool(others) is (gpus >= node and (case.option.target != "gcp"))
        assert template["spec"]["nodeSelector"] == {"node-kind": "gpu"}
        assert "nvidia.com/gpu" in {one["key"] for one in template["spec"]["tolerations"]}
    assert pods == max(gpus // node, 1)


def test_the_arguments_are_those_of_the_plan(case: Written) -> None:
    """Sizes multiply to the replica's accelerators; sequences, context and formats are what the plan counts with."""
    flags, layout, work = case.arguments, case.option.performance.layout, case.plan.workload
    vllm = "vllm" in work.framework
    sizes = [int(flags.get(f"--{name}-parallel-size", 1)) for name in ("tensor", "pipeline", "data")]
    # SGLang counts the accelerators of a stage, those that attention is spread over too.
    assert sizes[0] * sizes[1] * (sizes[2] if vllm else 1) == layout.gpus
    most = int(flags["--max-num-seqs" if vllm else "--max-running-requests"])
    assert most == min(case.option.performance.most_in_flight, 1024)
    longest = int(flags["--max-model-len" if vllm else "--context-length"])
    assert work.input_tokens_p95 + work.output_tokens_p95 < longest <= (work.architecture.max_context or longest)
    assert flags["--served-model-name"] == work.model
    assert flags["--kv-cache-dtype"] == ("fp8" if vllm else "fp8_e4m3")
    share = float(flags["--gpu-memory-utilization" if vllm else "--mem-fraction-static"])
    memory = case.option.performance.replica_memory
    counted = memory.weights + memory.cache_pool + (memory.reserved if vllm else 0)
    assert 0 <= counted / case.option.cluster.hbm_bytes_per_gpu - share < 0.01


def test_what_is_not_allowed_is_denied(case: Written) -> None:
    """One rule without exceptions for every pod of the service, another with the port of requests and names."""
    deny = case.one("NetworkPolicy", f"{case.plan.name}-deny")["spec"]
    assert deny.keys() == {"podSelector", "policyTypes"}
    assert set(deny["policyTypes"]) == {"Ingress", "Egress"}
    labels = pod_templates(case.workload)[0]["metadata"]["labels"]
    assert deny["podSelector"]["matchLabels"].items() <= labels.items()
    serve = case.one("NetworkPolicy", f"{case.plan.name}-serve")["spec"]
    assert serve["ingress"][0]["ports"] == [{"protocol": "TCP", "port": 8000}]
    assert all(rule["to"] for rule in serve["egress"])
    assert not [one for one in case.objects if one["kind"] == "Secret"]


def test_probes_wait_as_long_as_a_start_takes(case: Written) -> None:
    """At least the time in which the plan lets all replicas of a node read their weights."""
    probe = case.leader["containers"][0]["startupProbe"]
    start = 600 * max(case.option.cluster.gpus_per_node // case.option.performance.layout.gpus, 1)
    assert probe["periodSeconds"] * probe["failureThreshold"] >= start
    assert {"readinessProbe", "livenessProbe"} <= case.leader["containers"][0].keys()


KUBECTL = """#!/usr/bin/env bash
printf '%s\\n' "$*" >>"$SHOWN"
case "$*" in
*version*) [ -z "${UNREACHABLE:-}" ] || { echo "dial tcp" >&2; exit 1; } ;;
*"get customresourcedefinition"*) [ -z "${NO_KINDS:-}" ] ;;
*"get persistentvolumeclaim"*) [ -z "${NO_CLAIM:-}" ] ;;
*"create configmap"*) printf '%s\\0' "$@" >"$SHOWN.words"; echo 'kind: ConfigMap' ;;
*apply*) cat >"$SHOWN.applied" ;;
esac
"""


def deploy(case: Written, folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `deploy.sh` with a stand-in for kubectl."""
    here = folder / "here"
    here.mkdir(exist_ok=True)
    for name, file in case.files.items():
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_bytes(file.content)
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "kubectl").write_text(KUBECTL)
    (folder / "bin" / "kubectl").chmod(0o755)
    known = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "SHOWN": str(folder / "shown")}
    return subprocess.run(
        ["bash", str(here / "deploy.sh"), *words],
        capture_output=True,
        text=True,
        check=False,
        env=known | environment,
        cwd=folder,
    )


HOSTILE = "$(touch pwned) `touch pwned`; touch pwned | \" ' \\ * \n&& touch pwned #"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no image: --image REGISTRY/NAME@sha256:DIGEST"),
        ([], "no model: --model"),
        (["--image", "team/vllm:1.0", "--model", "/shared/models/x"], "has no digest"),
        (["--image", HOSTILE + DIGEST, "--model", "/shared/models/x"], "is not the name of an image"),
        (["--image", IMAGE, "--model", "models/x"], "is not one of"),
        (["--image", IMAGE, "--model", "hf://a/b@main"], "names no commit"),
        (["--image", IMAGE, "--model", "s3://bucket/x"], "no image: --fetch-image"),
        (["--image", IMAGE, "--model", "/shared/x", "--prometheus", HOSTILE], "is not an address"),
        (["--image", IMAGE, "--model", "/shared/x", "--gateway", HOSTILE], "is not the name of a class"),
        (["--image", IMAGE, "--model", "/shared/x", "--gateway", "envoy"], "no image: --picker-image"),
    ],
)
def test_deploy_says_what_is_missing(tmp_path: Path, words: list[str], said: str) -> None:
    """Nothing is applied, and nothing of a hostile value is run."""
    done = deploy(written("aws"), tmp_path, *words)
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "shown.applied").exists()
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"UNREACHABLE": "1"}, "kubectl does not reach the cluster: dial tcp"),
        ({"NO_CLAIM": "1"}, "has no volume claim shared"),
        ({"NO_KINDS": "1"}, "has no leaderworkersets.leaderworkerset.x-k8s.io"),
    ],
)
def test_deploy_says_what_the_cluster_lacks(tmp_path: Path, environment: dict[str, str], said: str) -> None:
    """Before anything is applied."""
    done = deploy(written("two nodes"), tmp_path, "--image", IMAGE, "--model", "/shared/models/x", **environment)
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "shown.applied").exists()


def test_deploy_applies_what_was_chosen(tmp_path: Path) -> None:
    """Images, Prometheus and class stand in their places, and a hostile path of the model reaches kubectl whole."""
    case = written("aws")
    model = f"/shared/{HOSTILE}"
    done = deploy(
        case,
        tmp_path,
        "--image",
        IMAGE,
        "--model",
        model,
        "--prometheus",
        "http://prometheus.monitoring:9090",
        "--gateway",
        "envoy",
        "--picker-image",
        f"registry.k8s.io/epp{DIGEST}",
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "shown.applied").read_text()
    assert "not-set" not in text.lower()
    objects = [one for one in YAML(typ="safe").load_all(text) if one][1:]
    images = {
        container["image"]
        for one in objects
        for pod in pod_templates(one)
        for container in [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]
    }
    assert images == {IMAGE, f"registry.k8s.io/epp{DIGEST}"}
    assert not [one for one in objects if one["metadata"]["name"].endswith("-fetch")]
    words = (tmp_path / "shown.words").read_text().split("\0")
    assert f"MODEL_SOURCE={model}" in words
    assert not list(tmp_path.rglob("pwned"))


def test_a_model_of_an_object_store_opens_the_network_for_it(tmp_path: Path) -> None:
    """Then alone, and its own image fetches it."""
    fetch = f"rclone/rclone{DIGEST}"
    done = deploy(written("aws"), tmp_path, "--image", IMAGE, "--model", "s3://bucket/x", "--fetch-image", fetch)
    assert done.returncode == 0, done.stderr
    objects = [one for one in YAML(typ="safe").load_all((tmp_path / "shown.applied").read_text()) if one][1:]
    assert [one for one in objects if one["metadata"]["name"].endswith("-fetch")]
    pod = next(pod for one in objects for pod in pod_templates(one))
    assert (pod["spec"]["initContainers"][0]["image"], pod["spec"]["containers"][0]["image"]) == (fetch, IMAGE)


def test_the_model_is_copied_whole(tmp_path: Path) -> None:
    """Names with blanks and quotes too; a folder without a configuration is refused."""
    script = assets.root() / "templates" / "serving" / "fetch_model.sh"
    source, target = tmp_path / "a 'model' $(touch pwned)", tmp_path / "node"
    (source / "part's").mkdir(parents=True)
    target.mkdir()
    run = {"PATH": os.environ["PATH"], "MODEL_SOURCE": str(source), "MODEL_TARGET": str(target)}
    refused = subprocess.run(["sh", str(script)], env=run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (refused.returncode, "config.json" in refused.stderr) == (2, True)
    for name in ("config.json", "part's/w eights.safetensors"):
        (source / name).write_text(name)
    subprocess.run(["sh", str(script)], env=run, check=True, cwd=tmp_path)
    assert (target / "part's" / "w eights.safetensors").read_text() == "part's/w eights.safetensors"
    assert not list(tmp_path.rglob("pwned"))


def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    """Neither in what a pod runs nor in what applies it."""
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert shellcheck is not None
    scripts = {f"{name}/deploy.sh": written(name).text("deploy.sh") for name in ("aws",)}
    for name in CASES:
        start = written(name).one("ConfigMap", f"{written(name).plan.name}-start")["data"]
        scripts |= {f"{name}/{file}": text for file, text in start.items()}
    for name, text in scripts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in scripts]
    subprocess.run([shellcheck, *paths], check=True, cwd=tmp_path)


def test_an_engine_starts_with_its_arguments_whole(tmp_path: Path) -> None:
    """Whatever stands in them; pods of a replica over nodes meet at its leader."""
    for name, program in (("aws", "vllm"), ("two nodes", "python3")):
        case = written(name)
        start = case.one("ConfigMap", f"{case.plan.name}-start")["data"]["serve.sh"]
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / program).write_text('#!/bin/bash\nprintf "%s\\0" "$@"\n')
        (tmp_path / "bin" / program).chmod(0o755)
        known = {
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "REPLICA_PODS": "2",
            "LWS_WORKER_INDEX": "1",
            "LWS_LEADER_ADDRESS": "leader",
        }
        words = [*case.leader["containers"][0]["args"], HOSTILE]
        done = subprocess.run(
            ["bash", "-c", start, "serve.sh", *words],
            capture_output=True,
            text=True,
            check=True,
            env=known,
            cwd=tmp_path,
        )
        given = done.stdout.split("\0")[:-1]
        assert "\0".join(words) in done.stdout
        if name == "two nodes":
            assert given[-6:] == ["--nnodes", "2", "--node-rank", "1", "--dist-init-addr", "leader:20000"]
        assert not list(tmp_path.rglob("pwned"))


def test_hostile_names_reach_yaml_and_shell_whole() -> None:
    """A framework and a model of any name are words of YAML and shell, and no more."""
    spoken = "x'; touch pwned; $(touch pwned) \" &"
    case = Written("serve-llama3-70b", "aws", f"workload.framework={json.dumps(spoken)}")
    shown = shlex.split(case.text("deploy.env"))
    assert next(word for word in shown if word.startswith("ENGINE_NAME=")) == f"ENGINE_NAME=image of {spoken}"
    assert "touch pwned" not in case.text("replicas.yaml")
    assert {"scaling.yaml", "gateway.yaml"} & case.files.keys() == set()
    assert case.leader["containers"][0]["args"] == []
    assert "Fill in the command and its arguments for: tensor parallel" in case.text("README.md")
    assert re.search(r"UNKNOWN_ENGINE='no table has the flags of", case.text("deploy.env"))


def test_a_slice_is_asked_for_by_its_profile() -> None:
    """Pods of a small model have a slice each, and the share of the node that goes with it."""
    case = Written(
        "serve-llama3-70b",
        "onprem",
        "workload.model=llama-3.2-3b",
        "workload.options={mig_slices: true}",
        "traffic.users=500",
    )
    layout = case.option.performance.layout
    assert layout.slice
    limits = case.leader["containers"][0]["resources"]["limits"]
    assert limits[f"nvidia.com/mig-{layout.slice}"] == 1
    assert "nvidia.com/gpu" not in limits
    assert f"mig.config=all-{layout.slice}" in case.text("README.md")
    # The framework sees the memory of its slice, not that of the whole GPU.
    share, memory = float(case.arguments["--gpu-memory-utilization"]), case.option.performance.replica_memory
    assert share * memory.whole > memory.weights + memory.cache_pool
    assert share <= 0.97
    assert memory.whole < 0.6 * case.option.cluster.hbm_bytes_per_gpu
    assert "until then pods stay pending" in case.text("README.md")


def test_slices_that_a_cloud_does_not_divide_are_a_warning() -> None:
    """Pods in a cloud ask for a slice that its project does not make; on premises the site's operator does."""
    sliced = ("workload.model=llama-3.2-3b", "workload.options={mig_slices: true}", "traffic.users=500")
    case = Written("serve-llama3-70b", "aws", *sliced)
    assert case.option.performance.layout.slice
    said = [one.message.partition(":")[0] for one in case.plan.warnings if one.id == "MIG006"]
    assert "aws" in said
    assert "onprem" not in said


def test_an_autoscaler_follows_the_blueprint() -> None:
    """Bounds, figure and cool-down are those that it gives; one replica stays to count what waits."""
    scaler = "replicas.autoscaling={most: 9, metric: queue, cool_down: 10 minutes, scale_to_zero: true}"
    case = Written("serve-llama3-70b", "aws", scaler, "replicas.spare=0")
    spec = case.one("ScaledObject", case.plan.name)["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (1, 9)
    assert [trigger["name"] for trigger in spec["triggers"]] == ["queue"]
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert behavior["scaleDown"]["stabilizationWindowSeconds"] == 600
    assert "minReplicaCount` to 0" in case.text("README.md")
    assert {"SRV026"} <= {one.id for one in case.plan.warnings}
