"""A generated project with the real Pulumi engine, stand-in providers, a state folder and an account of its own."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.ports import free_port
from tests.stacks.projects import LAYERS, MONITOR, ROOT, Case, set_config, stacks_python, write

_SERVER = MONITOR / "engine_plugins.py"
#: What a build of the engine leaves where none is installed (tests/engines/pulumi/build.sh).
BUILT_ENGINE = ROOT / "build" / "engines" / "bin" / "pulumi"
_PLUGINS = ("aws", "azure-native", "gcp", "kubernetes")
#: The local end of a way into the network: something that answers there, as long as it is let.
_LISTEN = """listen() {
  exec python3 -c '
import socket, sys, time
here = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(600)
' "$1"
}
"""
#: What the clouds' own commands answer: who is logged in, what else there is, and that buckets are empty.
_COMMANDS: Mapping[str, str] = {
    "aws": """
case "$*" in
  *"--query Account"*) echo "$STAND_IN_ACCOUNT" ;;
  *--resource-type-filters*) printf '%s' "$STAND_IN_NAMESAKES" ;;
  *list-object-versions*) echo '{"Objects": null}' ;;
  *"ec2 describe-instances"*) echo i-0123456789abcdef0 ;;
  *start-session*)
    echo "$*" >>"$STAND_IN_TUNNELS"
    [ -n "${STAND_IN_NO_WAY:-}" ] || listen "${*##*localPortNumber=}"
    exit 1
    ;;
esac""",
    "session-manager-plugin": "",
    "az": """
case "$*" in
  "account show --query id"*) echo "$STAND_IN_ACCOUNT" ;;
  "group list --tag"*) printf '%s' "$STAND_IN_NAMESAKES" ;;
  "network bastion tunnel"*)
    echo "$*" >>"$STAND_IN_TUNNELS"
    [ -n "${STAND_IN_NO_WAY:-}" ] || listen "${*##*--port }"
    exit 1
    ;;
esac""",
    "gcloud": """
case "$*" in
  "compute networks list"*selfLink*) printf '%s' "$STAND_IN_NAMESAKES" ;;
esac""",
}
#: With it one call is under way at a time, so that a killed engine leaves no other one unanswered.
ONE_AT_A_TIME = ("--parallel", "1")
_PATIENCE_S = 300
_FOREIGN = ("AWS_", "ARM_", "AZURE_", "GOOGLE_", "CLOUDSDK_", "PULUMI_", "CLUSTER_STACK")


def engine_program() -> str | None:
    """Return the `pulumi` program: the one on the path, else the one that was built here, else None."""
    return shutil.which("pulumi") or (str(BUILT_ENGINE) if BUILT_ENGINE.exists() else None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """Something that exists in the stand-in account."""

    type: str
    id: str
    urn: str
    inputs: Mapping[str, object]
    outputs: Mapping[str, object]

    @property
    def layer(self) -> str:
        """Layer that made it, by its project's name."""
        return next(layer for layer in LAYERS if f"-{layer}::" in self.urn)


class Account:
    """The stand-in account, as a test looks at it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def resources(self, *layers: str) -> list[Resource]:
        """Return what exists, of some layers or of all."""
        files = sorted((self.folder / "resources").glob("*.json"))
        entries = [json.loads(path.read_text()) for path in files]
        made = [Resource(**{key: entry[key] for key in Resource.__slots__}) for entry in entries]
        return [one for one in made if not layers or one.layer in layers]

    def ids(self, *layers: str) -> dict[str, str]:
        """Return the id of everything that exists, by URN."""
        return {one.urn: one.id for one in self.resources(*layers)}

    def of_type(self, type_: str) -> list[Resource]:
        """Return what exists of a type."""
        return [one for one in self.resources() if one.type == type_]

    def hold(self, call: str, type_: str, name: str = "") -> None:
        """Let the next call of a kind wait, and fail once it is released."""
        (self.folder / "fault.json").write_text(json.dumps({"call": call, "type": type_, "name": name}))

    def wait_for_hold(self, process: subprocess.Popen[str]) -> None:
        """Return once a call waits that a process leads to."""
        give_up_at = time.monotonic() + _PATIENCE_S
        while not (self.folder / "held").exists():
            assert process.poll() is None, f"it ended before the cloud was asked\n{process.communicate()[0]}"
            assert time.monotonic() < give_up_at, "the cloud was never asked"
            time.sleep(0.1)

    def release(self) -> None:
        """Let what waits fail, and return once it has."""
        (self.folder / "fault.json").unlink()
        while (self.folder / "held").exists():
            time.sleep(0.05)


class Project:
    """A project's folder, and what its user types there."""

    def __init__(self, folder: Path, environment: Mapping[str, str], program: str) -> None:
        self.folder = folder
        (configuration,) = (folder / "foundation").glob("Pulumi.*.yaml")
        self.stack = configuration.name.removeprefix("Pulumi.").removesuffix(".yaml")
        self.environment = dict(environment)
        self._program = program

    def cluster(self, *arguments: str, answer: str = "", fails: bool = False) -> str:
        """Return all that `cluster.sh` prints.

        Args:
            arguments: of the command; where the engine would ask, it is told to go on.
            answer: what is typed.
            fails: whether the command has to fail instead of succeed.
        """
        process = self.start_cluster(*arguments)
        said, _ = process.communicate(answer)
        assert (process.returncode != 0) == fails, f"{arguments}: exit code {process.returncode}\n{said}"
        return said

    def start_cluster(self, *arguments: str, engine: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Start `cluster.sh` in a process group of its own and return it; it hands `engine` on to the engine."""
        goes_on = ("--", "--yes", "--skip-preview") if arguments[0] in ("up", "down", "destroy") else ()
        return self._start("bash", "cluster.sh", *arguments, *goes_on, *engine)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the engine in a process group of its own and return it."""
        return self._start(self._program, "--non-interactive", *arguments)

    def _start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def pulumi(self, layer: str, *arguments: str) -> str:
        """Return what a command of the engine in a layer's folder prints; it has to succeed."""
        process = self.start("-C", layer, *arguments)
        said, _ = process.communicate()
        assert process.returncode == 0, f"{layer}: {arguments}\n{said}"
        return said

    def preview(self, layer: str, *arguments: str) -> dict[str, str]:
        """Return what the engine would do, by URN, without what stays the same."""
        done = subprocess.run(
            [self._program, "-C", layer, "--non-interactive", "preview", "--stack", self.stack, "--json", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{layer}\n{done.stdout}\n{done.stderr}"
        return {step["urn"]: step["op"] for step in json.loads(done.stdout)["steps"] if step["op"] != "same"}

    def set(self, changes: Mapping[str, object]) -> None:
        """Change the configuration, as an editor does."""
        set_config(self.folder, changes)

    def resize(self, count: int) -> None:
        """Ask for another number of nodes, as the README says."""
        self.cluster("set", "nodeCount", str(count))


def _environment_of(folder: Path, python: Path, sources: Sequence[str]) -> None:
    """Make a folder pass for the environment that `cluster.sh` would install, without a network."""
    program = folder / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
    program.chmod(0o755)
    text = b"".join((folder.parent / source).read_bytes() for source in ("pyproject.toml", *sources))
    (folder / "installed-from").write_bytes(
        subprocess.run(["cksum"], input=text, capture_output=True, check=True).stdout.rstrip()
    )


def _let_port_be_free(folder: Path) -> None:
    """Give the way to the API server a port of this test's own: several tests run on one machine."""
    program = folder / "gpu_cluster" / "kubernetes" / "api_access.py"
    if program.exists():
        text = program.read_text()
        assert "TUNNEL_PORT = 16443" in text
        program.write_text(text.replace("TUNNEL_PORT = 16443", f"TUNNEL_PORT = {free_port()}"))


class Place:
    """A place for projects: one engine, one folder of state, one account."""

    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder
        self._program = program
        self._stack_programs = stacks_python()
        assert self._stack_programs is not None
        for name in ("state", "bin", "account"):
            (folder / name).mkdir()
        self.account = Account(folder / "account")
        for name, script in _COMMANDS.items():
            self._command(name, _LISTEN + script)
        for name in _PLUGINS:
            # Only looked for: the engine attaches to those that run already.
            self._command(f"pulumi-resource-{name}", "exit 1")
        self._command("pulumi-language-python", "exit 1")
        self._server = subprocess.Popen(
            [self._stack_programs, _SERVER, folder / "account"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)},
        )
        assert self._server.stdout is not None
        ports = json.loads(self._server.stdout.readline())
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)},
            "PATH": os.pathsep.join((str(folder / "bin"), str(Path(program).parent), os.environ["PATH"])),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_DEBUG_PROVIDERS": ",".join(f"{name}:{ports['provider']}" for name in _PLUGINS),
            "PULUMI_DEBUG_LANGUAGES": f"python:{ports['language']}",
            "NO_COLOR": "1",
            "STAND_IN_ACCOUNT": "123456789012",
            "STAND_IN_NAMESAKES": "",
            "STAND_IN_TUNNELS": str(folder / "tunnels"),
        }

    def _command(self, name: str, script: str) -> None:
        program = self.folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def program(self, name: str) -> Path:
        """Return the stand-in for a command."""
        return self.folder / "bin" / name

    def project(self, case: Case, name: str = "project") -> Project:
        """Return a new project in a folder of this place."""
        folder = self.folder / name
        write(case, folder, stack="")
        _let_port_be_free(folder)
        assert self._stack_programs is not None
        _environment_of(folder / ".venv", self._stack_programs, ("constraints.txt",))
        policy = ROOT / ".venv-policy" / "bin" / "python"
        if policy.exists():
            _environment_of(folder / ".venv-policy", policy, ("policy/constraints.txt",))
        return self.at(folder)

    def at(self, folder: Path) -> Project:
        """Return the project that a folder of this place holds already."""
        return Project(folder, self.environment, self._program)

    def end(self) -> None:
        """End what serves the stand-ins."""
        self._server.communicate()


@contextlib.contextmanager
def place(folder: Path, program: str) -> Iterator[Place]:
    """Make a place for projects, and end what serves it."""
    made = Place(folder, program)
    try:
        yield made
    finally:
        made.end()
