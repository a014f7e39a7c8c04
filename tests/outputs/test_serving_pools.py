"""Prefill and decode apart: a workload, bounds, rules and flags for each pool, and one router in front of both."""

import json
import os
import re
import shlex
import subprocess
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.planning import plan_of
from clusterwright.outputs.serving.engine import framework_named
from clusterwright.outputs.serving.launch import start
from clusterwright.outputs.serving.places import PodPlace
from clusterwright.outputs.serving.pools import first_token_after, pool_facts, pools_of, refusal
from clusterwright.outputs.serving.replica import fabric_of
from clusterwright.outputs.serving.slurm import slurm_files
from clusterwright.plan.serving.pools import fewest_replicas, most_replicas, prefilling
from clusterwright.plan.serving.record import ServingOption, serving_option, serving_plan
from tests.outputs.pod_templates import pod_templates
from tests.outputs.test_serving_files import DIGEST, IMAGE, POOLS, Written, deploy

ROLES = ("prefill", "decode")
_APART = ("workload.options={disaggregated: always}",)


@cache
def written(case: str) -> Written:
    """Return a case, once."""
    return Written(*POOLS[case])


@pytest.fixture(params=POOLS)
def case(request: pytest.FixtureRequest) -> Written:
    """Return each case."""
    return written(request.param)


def of_role(case: Written, role: str) -> ServingOption:
    """Return the target as a pool has it."""
    own = case.option.performance.prefill_pool
    assert own is not None
    return prefilling(case.option, own) if role == "prefill" else case.option


def kept(case: Written, role: str) -> dict[str, Any]:
    """Return what keeps the workers of a pool."""
    wanted = f"{case.plan.name}-{role}"
    (found,) = [
        one
        for one in case.objects
        if one["kind"] in ("Deployment", "LeaderWorkerSet") and one["metadata"]["name"] == wanted
    ]
    return found


def engine(case: Written, role: str) -> dict[str, Any]:
    """Return the engine's container of a pool."""
    (container,) = pod_templates(kept(case, role))[0]["spec"]["containers"]
    return dict(container)


@pytest.mark.parametrize("role", ROLES)
def test_each_pool_has_the_workers_and_bounds_of_the_plan(case: Written, role: str) -> None:
    """Count, accelerators, bounds of the autoscaler, its figures and the budget are those of this pool."""
    own, name = of_role(case, role), f"{case.plan.name}-{role}"
    performance = own.performance
    most = performance.replicas + performance.spare_replicas
    assert kept(case, role)["spec"]["replicas"] == most == most_replicas(own)
    templates = pod_templates(kept(case, role))
    pods = kept(case, role)["spec"]["leaderWorkerTemplate"]["size"] if len(templates) > 1 else 1
    assert int(engine(case, role)["resources"]["limits"]["nvidia.com/gpu"]) * pods == performance.layout.gpus
    scaled = case.one("ScaledObject", name)["spec"]
    assert scaled["scaleTargetRef"]["name"] == name
    assert (scaled["minReplicaCount"], scaled["maxReplicaCount"]) == (fewest_replicas(own), most)
    queries = [trigger["metadata"]["query"] for trigger in scaled["triggers"]]
    assert all(f'pod=~"{name}-.*"' in query for query in queries)
    if role == "prefill":
        (threshold,) = [float(trigger["metadata"]["threshold"]) for trigger in scaled["triggers"]]
        assert threshold == pytest.approx(max(performance.in_flight, 1.0), rel=0.01)
        assert "waiting" in queries[0] or "queue" in queries[0]
    else:
        assert any("usage" in query for query in queries)
    assert case.one("PodDisruptionBudget", name)["spec"]["maxUnavailable"] == max(performance.spare_replicas, 1)


def test_the_workers_of_a_pool_match_those_of_the_other(case: Written) -> None:
    """Workers that prefill carry what those that decode ask; what is in one is its rate times its time (Little)."""
    own = case.option.performance.prefill_pool
    assert own is not None
    before = of_role(case, "prefill").performance
    peak = case.option.performance.peak_requests_per_s
    assert own.workers * own.requests_per_s >= peak * (1 - 1e-9)
    seconds = case.option.performance.mean_first_token_s - own.handing_s
    assert before.in_flight * own.workers == pytest.approx(peak * seconds)
    assert 1 <= before.day.least_replicas <= before.replicas


@pytest.mark.parametrize("role", ROLES)
def test_flags_and_settings_part_the_pools(case: Written, role: str) -> None:
    """SGLang is told its role and the backend, vLLM its connector; the port of the handshake is the one it is told."""
    container = engine(case, role)
    words = container["args"]
    flags = dict(zip(words, [*words[1:], ""], strict=True))
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    settings = {one["name"]: one for one in container["env"]}
    layout = of_role(case, role).performance.layout
    tensor = int(flags.get("--tensor-parallel-size", "1"))
    if framework_named(case.plan.workload.framework)[0] == "vllm":
        assert json.loads(flags["--kv-transfer-config"]) == {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
        assert settings["VLLM_NIXL_SIDE_CHANNEL_PORT"]["value"] == str(ports["handshake"])
        address = settings["VLLM_NIXL_SIDE_CHANNEL_HOST"]["valueFrom"]["fieldRef"]["fieldPath"]
        assert address == "status.podIP"
        assert tensor == layout.tensor
    else:
        assert flags["--disaggregation-mode"] == role
        assert flags["--disaggregation-transfer-backend"] == "nixl"
        assert tensor == layout.gpus
        other = of_role(case, "decode").performance.layout.gpus
        if role == "prefill":
            assert flags["--disaggregation-bootstrap-port"] == str(ports["handshake"])
            assert int(flags.get("--disaggregation-decode-tp", layout.gpus)) == other
        else:
            assert not {"--disaggregation-bootstrap-port", "--disaggregation-decode-tp"} & flags.keys()


def test_pods_of_a_part_of_a_node_get_their_part_of_the_fabric() -> None:
    """Keys and values go over it: two of sixteen ports with one of eight accelerators, all with all of them."""
    case = written("aws")
    for role in ROLES:
        limits = engine(case, role)["resources"]["limits"]
        assert limits["vpc.amazonaws.com/efa"] * case.option.cluster.gpus_per_node == 16 * limits["nvidia.com/gpu"]
    premises = written("on premises")
    for role in ROLES:
        template = pod_templates(kept(premises, role))[0]
        rails = int(engine(premises, role)["resources"]["limits"]["nvidia.com/rail"])
        networks = template["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].split(",")
        assert rails == len(networks) == engine(premises, role)["resources"]["limits"]["nvidia.com/gpu"]


def test_a_part_of_the_fabric_is_whole_devices() -> None:
    """What pods of a node share each has whole; of devices that are fewer than the workers of a node none has any."""
    case = written("aws")
    place = PodPlace(
        namespace="workload",
        service_account="",
        selector={},
        tolerations=(),
        racks="",
        gpu_resource="nvidia.com/gpu",
        gpus=8,
        cpus=96,
        memory_gib=1000,
        fabric={"rdma/shared_ib": 1, "ports": "4", "hugepages-2Mi": "512Mi"},
        annotations={"networks": "a,b,c,d"},
        claim="",
        mount="/shared",
        kubectl="kubectl",
    )
    for pool in pools_of(case.plan, case.option, 8, by_pod=True):
        shape = replace(pool.shape, pods=1, gpus=1)
        devices, annotations = fabric_of(replace(pool, shape=shape), place)
        assert devices == {"rdma/shared_ib": 1, "hugepages-2Mi": "64Mi"}
        assert not annotations
        devices, annotations = fabric_of(replace(pool, shape=replace(shape, gpus=4)), place)
        assert devices == {"rdma/shared_ib": 1, "ports": "2", "hugepages-2Mi": "256Mi"}
        assert annotations == {"networks": "a,b"}
        assert fabric_of(replace(pool, role="engine", shape=shape), place) == ({}, {})
        assert fabric_of(replace(pool, shape=replace(shape, gpus=8)), place)[0] == place.fabric


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("targets.aws.scheduler=kubernetes",), "--router-image REGISTRY/NAME@sha256:DIGEST --model"),
        (("targets.aws.scheduler=slurm",), "ROUTER_IMAGE=FILE.sqsh MODEL_PATH=/shared/models/NAME serving/serve.sh"),
        (("targets.aws.scheduler=slurm", "workload.framework=triton"), ""),
    ],
)
def test_the_project_says_how_both_pools_are_started(values: tuple[str, ...], said: str) -> None:
    """With the image of the router; where no file starts them, nothing is said."""
    path = assets.root() / "blueprints" / "serve-llama3-70b.yaml"
    plan = plan_of(path, [*_APART, *values], "aws")
    command = start(plan, plan.options[0], load())
    assert (said in command.command) if command is not None else not said


def test_all_is_denied_but_what_the_pools_hand_over(case: Written) -> None:
    """Workers reach the other pool, both ways, and requests come from clients alone, of which the router is one."""
    for role, other in (ROLES, ROLES[::-1]):
        name = f"{case.plan.name}-{role}"
        deny = case.one("NetworkPolicy", f"{name}-deny")["spec"]
        assert set(deny) == {"podSelector", "policyTypes"}
        hand = case.one("NetworkPolicy", f"{name}-hand")["spec"]
        peers = [*hand["ingress"][0]["from"], *hand["egress"][0]["to"]]
        labels = pod_templates(kept(case, other))[0]["metadata"]["labels"]
        assert all(one["podSelector"]["matchLabels"].items() <= labels.items() for one in peers)
        assert labels != pod_templates(kept(case, role))[0]["metadata"]["labels"]
    router = case.one("NetworkPolicy", f"{case.plan.name}-router")["spec"]
    assert {one["port"] for one in router["ingress"][0]["ports"]} == {8000, 29000}
    labels = pod_templates(case.one("Deployment", f"{case.plan.name}-router"))[0]["metadata"]["labels"]
    assert labels["serving-client"] == "true"


def test_the_router_finds_both_pools_and_has_the_address(case: Written) -> None:
    """By the labels of pods that answer, in their namespace, at their port; clients and gateway reach the router."""
    (pod,) = pod_templates(case.one("Deployment", f"{case.plan.name}-router"))
    (container,) = pod["spec"]["containers"]
    words = [*container["command"], *container["args"]]
    vllm = framework_named(case.plan.workload.framework)[0] == "vllm"
    assert ("--vllm-pd-disaggregation" if vllm else "--pd-disaggregation") in words
    for role in ROLES:
        at = words.index(f"--{role}-selector") + 1
        selector = dict(word.split("=") for word in words[at : at + 2])
        assert selector.items() <= pod_templates(kept(case, role))[0]["metadata"]["labels"].items()
        assert selector["app.kubernetes.io/component"] == role
    at = words.index("--max-concurrent-requests") + 1
    flags = dict(zip(engine(case, "decode")["args"], [*engine(case, "decode")["args"][1:], ""], strict=True))
    each = int(flags.get("--max-num-seqs") or flags["--max-running-requests"])
    assert int(words[at]) == each * kept(case, "decode")["spec"]["replicas"]
    assert case.one("Service")["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    (backend,) = case.one("HTTPRoute")["spec"]["rules"][0]["backendRefs"]
    assert backend == {"kind": "Service", "name": case.plan.name, "port": 80}
    rights = case.one("Role", f"{case.plan.name}-router")
    assert rights["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]


def test_rules_watch_the_pool_that_has_the_figure(case: Written) -> None:
    """Times per token at those that decode; first tokens where they are whole, with what comes after taken off."""
    text = case.text("monitoring/rules.yaml")
    vllm = framework_named(case.plan.workload.framework)[0] == "vllm"
    first = "prefill" if vllm else "decode"
    for record, role in (("first_token_missed", first), ("time_per_token_missed", "decode")):
        (expression,) = re.findall(rf"{record}:ratio_rate5m\n +expr: (.*?)\n +labels", text, re.DOTALL)
        assert set(re.findall(r'pod=~"([^"]*)"', expression)) == {f"{case.plan.name}-{role}-.*"}
    after, goal = first_token_after(case.plan, case.option), case.plan.goals.first_token_s
    assert (after > 0) is vllm
    assert goal is not None
    (expression,) = re.findall(r"first_token_missed:ratio_rate5m\n +expr: (.*?)\n +labels", text, re.DOTALL)
    assert float(re.findall(r'le="([\d.]+)"', expression)[0]) + after <= goal * (1 + 1e-9)
    before = of_role(case, "prefill").performance
    (most,) = re.findall(r"InputsWait\n +expr: .*?> ([\d.e+]+)\n", text, re.DOTALL)
    assert float(most) == pytest.approx(2 * before.in_flight * before.replicas, rel=1e-5)
    titles = [panel["title"] for panel in json.loads(case.text("monitoring/dashboard.json"))["panels"]]
    assert "Workers that prefill" in titles
    monitors = [one["metadata"]["name"] for one in case.objects if one["kind"] == "PodMonitor"]
    assert monitors == [f"{case.plan.name}-{role}" for role in (*ROLES, "router")]


def test_the_page_names_both_pools(case: Written) -> None:
    """With what starts their workers, their numbers and the router."""
    page = case.text("README.md")
    for role in ROLES:
        own = of_role(case, role)
        assert f"`{case.plan.name}-{role}`: a" in page
        assert f"Workers that {role}: {most_replicas(own)} for the peak" in page
        assert f"KEDA: {fewest_replicas(own)} to {most_replicas(own)} workers that {role}" in page
        assert shlex.join(engine(case, role)["args"]) in page
    assert f"`{case.plan.name}-router`" in page
    assert json.loads(case.text("loadtest/plan.json"))["replicas"] == case.option.performance.replicas


def test_pools_that_keep_their_size_say_so(tmp_path: Path) -> None:
    """Where the quietest hour needs as many workers as the peak, no page and no usage speaks of a range."""
    case = Written("serve-llama3-70b", "aws", POOLS["aws"][2], "traffic.peak_over_mean=1")
    page = " ".join(case.text("README.md").split())
    used = deploy(case, tmp_path, "--help").stdout
    assert "in proportion" not in page
    for role in ROLES:
        own = of_role(case, role)
        most = most_replicas(own)
        assert fewest_replicas(own) == most
        assert f"KEDA keeps {most} workers that {role}, as many in the quietest hour as at the peak" in page
        assert f"{most} to {most}" not in page + used
        assert case.one("ScaledObject", f"{case.plan.name}-{role}")["spec"]["maxReplicaCount"] == most
    assert f"lets KEDA keep {most_replicas(of_role(case, 'prefill'))} workers that prefill and {most} that" in used


def test_deploy_asks_for_the_image_of_the_router(tmp_path: Path) -> None:
    """Without it nothing is applied; with it both pools and the router are, and a gateway needs no picker."""
    case, router = written("aws"), f"registry.example.com/router{DIGEST}"
    words = ("--image", IMAGE, "--model", "/shared/models/x", "--gateway", "envoy")
    done = deploy(case, tmp_path, *words)
    assert (done.returncode, "no image: --router-image REGISTRY/NAME@sha256:DIGEST" in done.stderr) == (1, True)
    assert not (tmp_path / "shown.applied").exists()
    done = deploy(case, tmp_path, *words, "--router-image", router, "--prometheus", "http://prometheus:9090")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "shown.applied").read_text()
    assert "not-set" not in text.lower()
    assert text.count("kind: ScaledObject") == 2
    assert f'image: "{router}"' in text
    done = deploy(written("aws"), tmp_path, "--help")
    assert "workers that prefill and from" in done.stdout
    assert "--router-image IMAGE" in done.stdout


@pytest.mark.parametrize(
    ("framework", "said"),
    [
        ("trtllm", "No table has how trtllm keeps prefill and decode apart."),
        ("triton", "No table has how triton keeps prefill and decode apart."),
        ("sglang 0.4.6", "need --disaggregation-decode-tp, which was read in 0.5.3 and newer"),
    ],
)
def test_what_no_table_has_is_refused_with_a_sentence(framework: str, said: str) -> None:
    """The page says why there are no manifests, with what either pool is started with as far as it is known."""
    target = "aws" if "sglang" in framework else "onprem"
    case = Written("serve-llama3-70b", target, *_APART, f"workload.framework={framework}")
    page = case.text("README.md")
    assert set(case.files) == {"README.md", *(name for name in case.files if name.startswith("loadtest/"))}
    assert said in page
    assert "No files of the two pools are written" in page


@pytest.mark.parametrize(
    ("target", "values"),
    [("aws", ()), ("onprem", ()), ("aws", ("workload.framework=sglang",)), ("gcp", ("workload.framework=sglang",))],
)
def test_no_pair_is_planned_that_the_framework_does_not_hand_between(target: str, values: tuple[str, ...]) -> None:
    """With vLLM decode splits by a multiple of prefill, with SGLang one size divides the other."""
    path = assets.root() / "blueprints" / "serve-llama3-70b.yaml"
    plan = serving_plan(plan_of(path, [*_APART, *values], target))
    option = serving_option(plan.options[0])
    own, after = option.performance.prefill_pool, option.performance.layout
    assert own is not None
    if framework_named(plan.workload.framework)[0] == "vllm":
        assert after.tensor % own.layout.tensor == 0
    else:
        assert max(after.gpus, own.layout.gpus) % min(after.gpus, own.layout.gpus) == 0
    assert not refusal(plan, option, option.cluster.gpus_per_node)


def test_every_fact_has_a_source_and_a_day() -> None:
    """And each role of a framework has a flag, so that no pool is started as the other."""
    for fact in pool_facts():
        assert fact.source, fact
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", fact.read_on), fact
        assert fact.since, fact
    named = {(fact.framework, fact.role) for fact in pool_facts() if fact.form == "flag"}
    assert named == {(name, role) for name in ("vllm", "sglang") for role in (*ROLES, "router")}


PROGRAMS = {
    # What a pool's job or the router starts: its words, one a line.
    "vllm": 'printf "%s\\n" "$VLLM_NIXL_SIDE_CHANNEL_PORT" "$@" >"$SHOWN/started"',
    "vllm-router": 'printf "%s\\n" "$@" >"$SHOWN/router.$(date +%s%N)"\nsleep 60',
    "srun": 'while [[ ${1:-} == --* ]]; do shift; done\nexec "$@"',
    "sbatch": 'printf "%s %s\\n" "$SERVING_FOLDER" "${1##*/}" >>"$SHOWN/submitted"',
    "curl": "exit 0",
}


@pytest.fixture
def slurm(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """Return the folder of a service with two pools on Slurm, and the environment of its jobs, with stand-ins."""
    path = assets.root() / "blueprints" / "serve-llama3-70b.yaml"
    plan = plan_of(path, [*_APART, "targets.onprem.scheduler=slurm"], "onprem")
    files = slurm_files(serving_plan(plan), serving_option(plan.options[0]), load())
    for name, file in files.items():
        place = tmp_path / "serving" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
        place.chmod(0o755 if file.executable else 0o644)
    (tmp_path / "bin").mkdir()
    for name, body in PROGRAMS.items():
        (tmp_path / "bin" / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    environment = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "SHOWN": str(tmp_path),
        "MODEL_PATH": str(tmp_path / "model"),
        "CONTAINER_IMAGE": "registry#vllm:1.0",
        "ROUTER_IMAGE": "registry#router:1.0",
        "SERVING_FOLDER": str(tmp_path / "shared"),
        "CHECK_EVERY_S": "0.2",
    }
    return tmp_path, environment


def run(folder: Path, script: str, environment: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the folder."""
    words = ["bash", str(folder / "serving" / script)]
    return subprocess.run(
        words, env=environment | more, capture_output=True, text=True, check=False, timeout=60, cwd=folder
    )


def test_slurm_starts_both_pools_and_the_router(slurm: tuple[Path, dict[str, str]]) -> None:
    """`serve.sh` submits three jobs or says what is missing; workers of one node have ports of their own."""
    folder, environment = slurm
    refused = run(folder, "serve.sh", {key: value for key, value in environment.items() if key != "ROUTER_IMAGE"})
    assert (refused.returncode, "set ROUTER_IMAGE" in refused.stderr) == (2, True)
    assert run(folder, "serve.sh", environment).returncode == 0
    shared = environment["SERVING_FOLDER"]
    assert (folder / "submitted").read_text().splitlines() == [
        f"{shared}/prefill prefill.sbatch",
        f"{shared}/decode decode.sbatch",
        f"{shared} router.sbatch",
    ]
    ports, handshakes = set(), set()
    for role in ROLES:
        for element in ("0", "1"):
            place = {"SERVING_FOLDER": f"{shared}/{role}", "SLURM_ARRAY_TASK_ID": element, "SLURM_NNODES": "1"}
            done = run(folder, f"{role}.sbatch", environment, **place)
            assert done.returncode == 0, done.stderr
            words = (folder / "started").read_text().splitlines()
            handshakes.add(words[0])
            ports.add(words[words.index("--port") + 1])
            assert words.count("--port") == 1
            assert "--kv-transfer-config" in words
    assert len(ports) == len(handshakes) == 4


def test_the_router_of_slurm_follows_the_workers_that_answer(slurm: tuple[Path, dict[str, str]]) -> None:
    """It waits for one of each pool, has all that answer, and starts again when they change."""
    folder, environment = slurm
    shared = Path(environment["SERVING_FOLDER"])
    for role in ROLES:
        (shared / role / "endpoints").mkdir(parents=True)
    (shared / "prefill" / "endpoints" / "0").write_text("node-1:8000\n")
    words = ["bash", str(folder / "serving" / "router.sbatch")]
    with subprocess.Popen(
        words, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as job:
        try:
            assert not _started(folder, 1, within_s=1.5)
            (shared / "decode" / "endpoints" / "0").write_text("node-2:8003\n")
            assert _started(folder, 1, within_s=20)
            (shared / "prefill" / "endpoints" / "1").write_text("node-1:8001\n")
            assert _started(folder, 2, within_s=20)
        finally:
            job.terminate()
            job.wait(20)
    first, second = (path.read_text().splitlines() for path in sorted(folder.glob("router.*")))
    assert first[-4:] == ["--prefill", "http://node-1:8000", "--decode", "http://node-2:8003"]
    assert second[-6:-2] == ["--prefill", "http://node-1:8000", "--prefill", "http://node-1:8001"]
    assert "--vllm-pd-disaggregation" in first
    assert "--service-discovery" not in first


def _started(folder: Path, count: int, *, within_s: float) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if len([path for path in folder.glob("router.*") if path.read_text()]) >= count:
            return True
        time.sleep(0.1)
    return False


def test_the_rows_of_a_framework_without_pools_are_one_pool() -> None:
    """A plan whose replicas do all has no router and no flag of a role."""
    path = assets.root() / "blueprints" / "serve-llama3-70b.yaml"
    plan = serving_plan(plan_of(path, [], "aws"))
    (pool,) = pools_of(plan, serving_option(plan.options[0]), 8, by_pod=True)
    assert (pool.role, pool.name) == ("engine", plan.name)
    assert not pool.engine.watched
    assert "--kv-transfer-config" not in pool.engine.arguments
