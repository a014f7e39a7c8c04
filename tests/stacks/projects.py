"""Generated projects of every instance type, completed as their READMEs ask, and their runs against the monitor."""

import atexit
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load
from clusterwright.catalog.offerings import zone_verdict
from clusterwright.checks.preflight.recording import recorder_command
from clusterwright.checks.preflight.records import Run, run_from
from clusterwright.outputs.project import example as example_project
from clusterwright.outputs.project.configuration.shared import stack_name
from clusterwright.outputs.project.fill_ins import fill_ins
from clusterwright.outputs.project.stack import declared_keys, stack_files
from clusterwright.plan.decide import decide
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import Plan
from clusterwright.plan.text.money import USD

from .rules import CANARY

ROOT = assets.root()
#: Programs of the stacks' environment that look at what was recorded.
MONITOR = Path(__file__).parent / "monitor"
STACK = "small"
#: The layers of a project in the order in which they are brought up.
LAYERS = ("foundation", "cluster", "nodes")
SCHEDULERS = ("slurm", "kubernetes")


def stacks_python() -> Path | None:
    """Return the interpreter of the stacks' environment, or None where it is not installed."""
    for folder in (os.environ.get("CLUSTERWRIGHT_STACKS_VENV"), ROOT / ".venv-stacks"):
        if folder and (found := Path(folder) / "bin" / "python").exists():
            return found
    return None


def site_packages() -> Path:
    """Return the folder of the stacks' environment that holds the SDKs."""
    python = stacks_python()
    assert python is not None
    return next((python.parent.parent / "lib").glob("python*/site-packages"))


#: The instance types that the stacks serve.
INSTANCES: Mapping[str, Sequence[str]] = {
    "aws": (
        "p4d.24xlarge",
        "p4de.24xlarge",
        "p5.48xlarge",
        "p5e.48xlarge",
        "p5en.48xlarge",
        "p6-b200.48xlarge",
        "p6-b300.48xlarge",
        "g6e.48xlarge",
        "trn2.48xlarge",
    ),
    "azure": (
        "Standard_ND96asr_v4",
        "Standard_ND96amsr_A100_v4",
        "Standard_ND96isr_H100_v5",
        "Standard_ND96isr_H200_v5",
        "Standard_ND96isr_MI300X_v5",
        "Standard_ND128isr_NDR_GB200_v6",
    ),
    "gcp": (
        "a2-highgpu-8g",
        "a2-ultragpu-8g",
        "a3-highgpu-8g",
        "a3-megagpu-8g",
        "a3-ultragpu-8g",
        "a4-highgpu-8g",
        "g2-standard-96",
        "ct5p-hightpu-4t",
    ),
}
_USUAL_REGION = {"aws": "us-east-1", "azure": "eastus", "gcp": "us-central1"}
#: What a user types for the keys that a README asks for.
_TYPED: Mapping[str, Any] = {
    "adminSshPublicKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEexampleEXAMPLEexample0000 me@example",
    "gcp:project": "my-gpu-project",
    "alertEmail": "me@example.com",
    "operators": ["user:me@example.com"],
    # The API server stays inside the network.
    "operatorCidrs": None,
    "billingAccount": "012345-6789AB-CDEF01",
}
#: Values that a user sets with `--secret`; whoever finds one outside a secret mark has found a leak.
_SECRET = {"databasePassword": f"{CANARY}-A1", "accountingPassword": f"{CANARY}-A1"}
_PLACEHOLDERS = {
    ":VERSION": ":24.04.2026072901",
    "ami-YOUR-IMAGE": "ami-0123456789abcdef0",
    "projects/YOUR-PROJECT/global/images/YOUR-IMAGE": "projects/my-gpu-project/global/images/gpu-nodes",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One project: instance type, size, scheduler, and configuration that differs from what the plan writes.

    Attributes:
        changes: key, or `section.field`, to value; without the project's prefix.
        cluster: its name.
    """

    cloud: str
    instance: str
    nodes: int
    scheduler: str = "slurm"
    changes: tuple[tuple[str, Any], ...] = ()
    cluster: str = STACK

    def __str__(self) -> str:
        told = {key.rpartition(".")[2]: value for key, value in self.changes if isinstance(value, str | int)}
        more = "".join(f"-{key}={str(value).rpartition('/')[2]}" for key, value in told.items())
        return f"{self.scheduler}-{self.instance}-{self.nodes}{more}"


@cache
def plan_for(cloud: str, instance: str, *, nodes: int | None = None) -> Plan:
    """Plan a small model on one instance type, in the usual region or the first one that lists it and has zones.

    Args:
        cloud: where the instance type is offered.
        instance: its name.
        nodes: how many of it the plan has, whatever the run would take; None lets the plan choose.
    """
    sizes = {"max_nodes": 16} if nodes is None else {"min_nodes": nodes, "max_nodes": nodes}
    catalogue = load()
    places = catalogue.instances[instance].regions
    regions = [place.rpartition("-")[0] if re.fullmatch(r".*-[a-z]", place) else place for place in places]
    zoned = [region for region in regions if cloud != "azure" or zone_verdict(catalogue, cloud, region, "").known]
    region = _USUAL_REGION[cloud] if _USUAL_REGION[cloud] in regions or not regions else zoned[0]
    blueprint = Blueprint.model_validate(
        {
            "name": STACK,
            "workload": {
                "kind": "train",
                "model": "llama-2-7b",
                "tokens": 100e9,
                "sequence_length": 2048,
                "global_batch": 512,
            },
            "targets": {cloud: {"instance": instance, "region": region, **sizes}},
            "cluster": {"tags": {"owner": "research"}},
        }
    )
    resolved = resolve(blueprint, catalogue)
    assert isinstance(resolved, Resolved), resolved
    return decide(blueprint, resolved, Facts.open())


def has_stack(cloud: str, scheduler: str) -> bool:
    """Tell whether a cloud's stack exists for a scheduler."""
    folder = ROOT / "stacks" / cloud
    layered = (folder / "base").is_dir() and (folder / scheduler).is_dir()
    return layered or (scheduler == "slurm" and (folder / "__main__.py").exists())


def declares(cloud: str, scheduler: str, key: str) -> bool:
    """Tell whether some layer of a stack takes a configuration key, or the section of `section.field`."""
    paths = [path for part in ("base", scheduler) for path in (ROOT / "stacks" / cloud / part).glob("*/Pulumi.yaml")]
    return any(key.partition(".")[0] in YAML(typ="safe").load(path).get("config", {}) for path in paths)


def layers_of(folder: Path) -> tuple[str, ...]:
    """Return the layers of a project, or "" for a program without layers."""
    return tuple(layer for layer in LAYERS if (folder / layer / "Pulumi.yaml").exists()) or ("",)


def write(case: Case, folder: Path, *, stack: str = STACK) -> None:
    """Write a case's project as `clusterwright stack` does, then set what its README asks for.

    Args:
        case: what to write.
        folder: to write it into.
        stack: name of its stack; empty keeps the one that is written, of cluster and place.
    """
    plan = plan_for(case.cloud, case.instance)
    plan = replace(plan, cluster=replace(plan.cluster, name=case.cluster))
    option = plan.options[0]
    option = replace(
        option,
        cluster=replace(option.cluster, nodes=case.nodes),
        deployment=replace(option.deployment, scheduler=case.scheduler),
    )
    files = stack_files(plan, option, load(), USD)
    written = stack_name(plan, option)
    for path, file in files.items():
        is_configuration = path.endswith(f"/Pulumi.{written}.yaml")
        target = folder / (path.replace(written, stack or written) if is_configuration else path)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = file.content
        if is_configuration and stack:
            content = content.replace(f"/{written}\n".encode(), f"/{stack}\n".encode())
        target.write_bytes(content)
    instance = load().instances[case.instance]
    asked = {entry.key.partition("[")[0]: entry.value for entry in fill_ins(option, instance, declared_keys(files))}
    typed = {key: _TYPED[key] if key in _TYPED else _filled(text) for key, text in asked.items()}
    set_config(folder, {**typed, **_secrets(folder), **dict(case.changes)})


def write_example(cloud: str, scheduler: str, folder: Path) -> None:
    """Write a stack's own example as a project: nothing of it depends on how a plan sizes and prices."""
    if (ROOT / "stacks" / cloud / "base").is_dir():
        example_project.write_example(cloud, scheduler, folder)
        set_config(folder, _secrets(folder))
        return
    shutil.copytree(
        ROOT / "stacks" / cloud, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("tests", "__pycache__")
    )
    shutil.copytree(ROOT / "templates" / "node", folder / "node")
    (folder / "Pulumi.example.yaml").rename(folder / f"Pulumi.{STACK}.yaml")


def _secrets(folder: Path) -> dict[str, str]:
    """Return the secrets that some layer of a project takes."""
    declared = [YAML(typ="safe").load(folder / layer / "Pulumi.yaml").get("config", {}) for layer in layers_of(folder)]
    return {key: value for key, value in _SECRET.items() if any(key in keys for keys in declared)}


def _filled(command: str) -> str:
    """Return the value at the end of what a README asks for, with its placeholder filled in."""
    value = command.rsplit(maxsplit=1)[-1]
    for placeholder, real in _PLACEHOLDERS.items():
        value = value.replace(placeholder, real)
    return value


def set_config(folder: Path, changes: Mapping[str, Any]) -> None:
    """Change a project's configuration as `pulumi config set` does; None removes a key.

    A key without a prefix is set in every layer that declares it, one of a provider (`aws:region`) in every layer.

    Raises:
        KeyError: no layer declares the key.
    """
    left = {key.partition(".")[0] for key in changes}
    for layer in layers_of(folder):
        declared = YAML(typ="safe").load(folder / layer / "Pulumi.yaml")
        path = next((folder / layer).glob("Pulumi.*.yaml"))
        yaml = YAML()
        document = yaml.load(path)
        for key, value in changes.items():
            head, _, field = key.partition(".")
            if ":" not in head and head not in declared["config"]:
                continue
            left.discard(head)
            full = head if ":" in head else f"{declared['name']}:{head}"
            target, last = (document["config"].setdefault(full, {}), field) if field else (document["config"], full)
            if value is None:
                target.pop(last, None)
            else:
                target[last] = list(value) if isinstance(value, tuple) else value
        stream = io.StringIO()
        yaml.dump(document, stream)
        path.write_text(stream.getvalue())
    if left:
        raise KeyError(f"no layer declares {', '.join(sorted(left))}")


class _Monitor:
    """The recording monitor as a process that stays for many runs."""

    def __init__(self) -> None:
        python = stacks_python()
        assert python is not None
        self._process = subprocess.Popen(
            recorder_command(python), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(self._end)

    def run(self, job: Mapping[str, Any]) -> Run:
        """Return the run of one job; `recorder/record.py` says what a job is."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the monitor ended: {self._process.wait()}"
        return run_from(json.loads(line))

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@cache
def _monitor(worker: int) -> _Monitor:
    assert worker >= 0
    return _Monitor()


def run(
    folder: Path,
    *,
    layers: Sequence[str] = (),
    stacks: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    secret_keys: Sequence[str] = (),
    worker: int = 0,
) -> Run:
    """Run the project in a folder against the monitor.

    Args:
        folder: of the project.
        layers: which of them, in order; all if empty.
        stacks: outputs of stacks that exist already, by full name.
        dry_run: as `pulumi preview`, where outputs are unknown.
        secret_keys: configuration that was set with `--secret`, beside what always is.
        worker: number of the monitor's process.
    """
    return _monitor(worker).run(
        {
            "project": str(folder),
            "layers": list(layers or layers_of(folder)),
            "stack": STACK,
            "dry_run": dry_run,
            "secret_keys": [*secret_keys, *_SECRET],
            "stacks": dict(stacks or {}),
        }
    )


_RUNS: dict[tuple[Case, bool], Run] = {}


def recorded(case: Case, *, dry_run: bool = False) -> Run:
    """Return a case's run, made once for all tests of this process that look at it."""
    if (case, dry_run) not in _RUNS:
        record_all([(case, dry_run)])
    return _RUNS[case, dry_run]


def record_all(cases: Sequence[tuple[Case, bool]]) -> None:
    """Run the cases that have not been run yet, one process of the monitor for each core."""
    missing = [one for one in cases if one not in _RUNS]
    for case, _ in missing:
        plan_for(case.cloud, case.instance)
    workers = min(os.cpu_count() or 1, len(missing)) or 1

    def some(worker: int) -> None:
        for case, dry_run in missing[worker::workers]:
            with tempfile.TemporaryDirectory() as folder:
                write(case, Path(folder))
                _RUNS[case, dry_run] = run(Path(folder), dry_run=dry_run, worker=worker)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(some, range(workers)))
