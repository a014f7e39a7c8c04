"""Run generated projects against the recording monitor.

Standard input: one job a line, a JSON object `{"project", "layers", "stack", "organization", "dry_run", "secret_keys",
"stacks"}`: the project's folder, the folders of it that hold a program ("" for the project itself), the stack whose
`Pulumi.<stack>.yaml` is read, whether it is a preview, the configuration keys (with or without the project's name) that
were set as secrets, and the outputs of stacks that exist already, by full name. Standard output: one line each, a JSON
object from layer to record. The layers run in order, each seeing the outputs of those before it as stack references; a
layer that fails ends the job.

Runs in the stacks' environment; each program runs in a process of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pulumi
import yaml

from .cloud import Cloud
from .serve import Engine, Monitor, Servers, document

#: Long enough, and of the signs, that programs and databases ask of passwords.
_STAND_IN = "Stand-in-0-of-a-secret"
_RUNNER = Path(__file__).with_name("run_program.py")
#: A record must not depend on what a user's machine has set.
_FOREIGN = ("PULUMI_", "AWS_", "ARM_", "AZURE_", "GOOGLE_", "CLOUDSDK_", "KUBE")


def engine_config(folder: Path, stack: str) -> dict[str, str]:
    """Return the configuration as the engine hands it over: the stack's file, then the defaults of `Pulumi.yaml`.

    Raises:
        ValueError: a declared key has neither a value nor a default, in the engine's words.
    """
    declared: dict[str, Any] = yaml.safe_load((folder / "Pulumi.yaml").read_text())
    values = _opened(_values_of(folder, stack))
    name = declared["name"]
    for key, entry in (declared.get("config") or {}).items():
        if isinstance(entry, dict) and "default" in entry:
            values.setdefault(f"{name}:{key}", entry["default"])
        elif f"{name}:{key}" not in values:
            raise ValueError(f"Stack '{stack}' is missing configuration value '{key}'")
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}


def _values_of(folder: Path, stack: str) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((folder / f"Pulumi.{stack}.yaml").read_text()).get("config") or {}
    return values


def _opened(value: Any) -> Any:  # noqa: ANN401 - configuration values
    """Return a value with a stand-in for each secret: only the engine can decrypt them."""
    if isinstance(value, dict):
        if set(value) == {"secure"}:
            return _STAND_IN
        return {key: _opened(item) for key, item in value.items()}
    return [_opened(item) for item in value] if isinstance(value, list) else value


def _encrypted(value: Any) -> bool:  # noqa: ANN401 - configuration values
    if isinstance(value, dict):
        return set(value) == {"secure"} or any(_encrypted(item) for item in value.values())
    return isinstance(value, list) and any(_encrypted(item) for item in value)


class Programs:
    """The process that runs programs, kept for as many of them as there are."""

    def __init__(self) -> None:
        self._environment = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
        self._process = subprocess.Popen(
            [sys.executable, "-P", _RUNNER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment,
        )

    def run(self, job: dict[str, Any]) -> tuple[str | None, list[list[str]]]:
        """Return what a program died of, or None, and which outputs of other stacks it read."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            said = Path(folder) / "said"
            job = job | {"environment": self._environment, "said": str(said)}
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            done = json.loads(self._process.stdout.readline())
            text = said.read_text().strip()
        failed = text or f"the program exited with {done['code']}" if done["code"] else None
        return failed, done["reads"]


def recorded(job: dict[str, Any], layer: str, stacks: dict[str, Any], programs: Programs) -> dict[str, Any]:
    """Run one layer, return its record, and add its outputs to the stacks that later layers see."""
    project = Path(job["project"]).resolve()
    folder, stack, organization = project / layer, job["stack"], job.get("organization", "organization")
    name = yaml.safe_load((folder / "Pulumi.yaml").read_text())["name"]
    cloud = Cloud(dry_run=job["dry_run"], site_packages=Path(pulumi.__file__).parent.parent, stacks=stacks)
    monitor, engine = Monitor(project=name, stack=stack, organization=organization, cloud=cloud), Engine()
    try:
        config = engine_config(folder, stack)
    except ValueError as problem:
        return document(monitor, engine, str(problem), [])
    secret_keys = {key for key, value in _values_of(folder, stack).items() if _encrypted(value)}
    secret_keys |= {key for key in config if {key, key.rpartition(":")[2]} & set(job["secret_keys"])}
    with Servers(monitor, engine) as addresses:
        error, reads = programs.run(
            {
                "folder": str(folder),
                # The project is installed in a user's environment; here its folder is on the path.
                "path": [str(project)] if layer else [],
                "project": name,
                "stack": stack,
                "organization": organization,
                "monitor": addresses[0],
                "engine": addresses[1],
                "dry_run": job["dry_run"],
                "config": config,
                "secret_keys": sorted(secret_keys),
            }
        )
    if error is None:
        stacks[f"{organization}/{name}/{stack}"] = monitor.outputs
    return document(monitor, engine, error, reads)


def main() -> None:
    """Run the jobs of standard input."""
    programs = Programs()
    for line in sys.stdin:
        job = json.loads(line)
        stacks: dict[str, Any] = dict(job.get("stacks", {}))
        records: dict[str, Any] = {}
        for layer in job["layers"]:
            records[layer] = recorded(job, layer, stacks, programs)
            if records[layer]["error"] is not None:
                break
        sys.stdout.write(json.dumps(records) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
