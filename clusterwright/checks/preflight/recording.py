"""Run a project's program against the recording monitor, in the project's own environment.

The program is the project's, as changed by its owner: `pulumi preview` runs it too. Here it gets no login: neither the
environment variables of the providers nor the home folder in which their command lines keep theirs. What the cloud
would answer is made up, so that the program runs to its end; nothing is asked of a provider.
"""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.checks.preflight.records import Run, run_from

#: The recorder is found last, so that nothing of a project's environment is hidden by it.
_START = (
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module('recorder.record', run_name='__main__', alter_sys=True)"
)
#: What a program may know of the machine it runs on.
_HANDED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "SYSTEMROOT")
#: Seconds for all layers together; a project takes 10 to 20.
TIMEOUT_S = 180
_INSTALL = (
    "./cluster.sh preview installs it, or: "
    "python3 -m venv .venv && .venv/bin/pip install --no-deps --require-hashes -r constraints.txt"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """What a project's program asked for, or why that is not known.

    Attributes:
        run: the record of each layer; None where the program was not run.
        missing: why it was not; empty where it was.
        fix: what to do about it.
    """

    run: Run | None = None
    missing: str = ""
    fix: str = ""


def recorder_command(python: Path) -> list[str]:
    """Return the command that starts the recorder.

    Args:
        python: interpreter of an environment with the SDKs.
    """
    return [str(python), "-P", "-c", _START, str(Path(__file__).parent)]


def environment_of(folder: Path) -> Path | None:
    """Return the interpreter of a project's own environment, as `cluster.sh` makes it; None where there is none."""
    python = folder / ".venv" / "bin" / "python"
    return python if python.exists() else None


def record(
    folder: Path,
    *,
    layers: Sequence[str],
    stack: str,
    organization: str = "organization",
    python: Path | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Recording:
    """Run the layers of a project in order, each seeing the outputs of those before it.

    Args:
        folder: of the project.
        layers: folders of it that hold a program, in order.
        stack: whose `Pulumi.<stack>.yaml` is read.
        organization: that references to other layers name.
        python: interpreter of an environment with the SDKs; the project's own by default.
        timeout_s: seconds for all of it.
    """
    interpreter = python if python is not None else environment_of(folder)
    if interpreter is None:
        return Recording(missing="the project's environment .venv is not installed", fix=_INSTALL)
    job = {
        "project": str(folder.resolve()),
        "layers": list(layers),
        "stack": stack,
        "organization": organization,
        "dry_run": False,
        "secret_keys": [],
    }
    with tempfile.TemporaryDirectory() as home:
        handed_on = {key: os.environ[key] for key in _HANDED_ON if key in os.environ}
        answer = _answer(recorder_command(interpreter), json.dumps(job), handed_on | {"HOME": home}, timeout_s)
    if isinstance(answer, str):
        return Recording(missing=answer, fix=_INSTALL if "environment" in answer else "")
    return Recording(run=run_from(answer))


def _answer(
    command: Sequence[str], job: str, environment: Mapping[str, str], timeout_s: float
) -> Mapping[str, Any] | str:
    """Return the recorder's answer, or a sentence why there is none."""
    try:
        process = subprocess.Popen(  # noqa: S603 - the project's own interpreter, as `pulumi preview` starts it
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        return f"the project's environment cannot be started: {command[0]}: {error.strerror}"
    try:
        said, complaint = process.communicate(job + "\n", timeout=timeout_s)
    except subprocess.TimeoutExpired:
        # The programs are children of the recorder: the whole session ends.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"the program did not end within {timeout_s:.0f} s"
    last = complaint.strip().splitlines()[-1] if complaint.strip() else f"exit code {process.returncode}"
    if process.returncode or not said.strip():
        installed = "No module named" not in last
        return f"{'the recorder ended' if installed else 'the environment lacks a part of the SDK'}: {last}"
    try:
        found: Mapping[str, Any] = json.loads(said.strip().splitlines()[-1])
    except ValueError:
        return "the recorder's answer cannot be read"
    return found
