"""A language host for Python that stands in for Pulumi's own, which is in no package registry.

It speaks the SDK's LanguageRuntime protocol: `Run` starts a layer's program, `RunPlugin` a policy pack. Programs run in
forks of a process with the SDKs loaded (the recorder's `run_program.py`), which is most of their time; a policy pack
runs in the environment that its PulumiPolicy.yaml names. Not modelled: installing dependencies, generating code,
debuggers. Runs in the stacks' environment.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf import empty_pb2
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

_RECORDER = Path(__file__).parents[3] / "clusterwright" / "checks" / "preflight" / "recorder"
_RUNNER = _RECORDER / "run_program.py"


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """The calls that the engine makes to run a project and a policy pack."""

    def __init__(self) -> None:
        self._engine = ""
        self._one_at_a_time = threading.Lock()
        self._runner: subprocess.Popen[str] | None = None
        self._running: subprocess.Popen[str] | None = None

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Remember the engine that calls."""
        self._engine = request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Give a version that no real host has."""
        return plugin_pb2.PluginInfo(version="99.0.0")

    def GetRequiredPackages(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Ask for no plugin: the stand-ins are there."""
        return language_pb2.GetRequiredPackagesResponse()

    def GetRequiredPlugins(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Ask for no plugin."""
        return language_pb2.GetRequiredPluginsResponse()

    def Run(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Run a program; what it dies of is the error. An engine that is killed takes its program with it."""
        folder = Path(request.info.program_directory or request.pwd)
        with self._one_at_a_time, tempfile.TemporaryDirectory() as own:
            said = Path(own) / "said"
            runner = self._started()
            context.add_callback(lambda: self._end(runner))
            code = self._run(
                runner,
                {
                    "folder": str(folder),
                    "path": [str(folder.parent)],
                    "project": request.project,
                    "stack": request.stack,
                    "organization": request.organization or "organization",
                    "monitor": request.monitor_address,
                    "engine": self._engine,
                    "dry_run": request.dryRun,
                    "config": dict(request.config),
                    "secret_keys": list(request.configSecretKeys),
                    "environment": dict(os.environ),
                    "said": str(said),
                },
            )
            text = said.read_text().strip() if said.exists() else ""
        return language_pb2.RunResponse(error=(text or f"the program exited with {code}") if code else "")

    def _started(self) -> subprocess.Popen[str]:
        if self._runner is None or self._runner.poll() is not None:
            self._runner = subprocess.Popen(
                [sys.executable, "-P", _RUNNER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        return self._runner

    def _end(self, runner: subprocess.Popen[str]) -> None:
        """End a program whose call is over before the program is."""
        if self._running is runner:
            os.killpg(runner.pid, signal.SIGKILL)
            runner.wait()

    def _run(self, runner: subprocess.Popen[str], job: dict[str, Any]) -> int:
        assert runner.stdin is not None
        assert runner.stdout is not None
        self._running = runner
        try:
            runner.stdin.write(json.dumps(job) + "\n")
            runner.stdin.flush()
            answer = runner.stdout.readline()
        finally:
            self._running = None
        code: int = json.loads(answer)["code"] if answer else -signal.SIGKILL
        return code

    def RunPlugin(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: ANN401, N802
        """Run a policy pack until the engine has enough of it, and pass on what it prints: first its port."""
        folder = Path(request.info.program_directory)
        options = MessageToDict(request.info.options)
        python = folder / options["virtualenv"] / "bin" / "python"
        pack = subprocess.Popen(
            [python, "-u", "-m", "pulumi.policy", *request.args, folder],
            cwd=folder,
            env={**os.environ, **dict(entry.split("=", 1) for entry in request.env if "=" in entry)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        context.add_callback(pack.kill)
        assert pack.stdout is not None
        for line in pack.stdout:
            yield language_pb2.RunPluginResponse(stdout=line)
        yield language_pb2.RunPluginResponse(exitcode=pack.wait())

    def About(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Name the interpreter."""
        return language_pb2.AboutResponse(executable=sys.executable, version=sys.version.partition(" ")[0])

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Let programs end by themselves: the engine's monitor, which they speak to, is gone."""
        return empty_pb2.Empty()
