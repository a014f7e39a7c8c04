"""`cluster.sh kubectl` and `submit` on Kubernetes: the way to a private API server, by each cloud's own script.

The scripts are those of the projects; stand-ins are Pulumi's outputs, the cloud's command, which listens where its
tunnel would, and kubectl, which connects to the server that its configuration names.
"""

import os
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright import assets
from tests.ports import free_port

STACKS = assets.root() / "stacks"
LAYERS = ("foundation", "cluster", "nodes")
ENDPOINT = "api.example.com"
LISTEN = """listen() {
  exec python3 -c '
import socket, sys
here = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    here.accept()[0].sendall(b"the API server")
' "$1"
}
# Somebody else's program, which takes the port while the tunnel opens; the tunnel's command then ends, or hangs.
impostor() {
  setsid python3 -c '
import socket, sys
here = socket.create_server(("127.0.0.1", int(sys.argv[1])))
open(sys.argv[2], "w").write("listening")
while True:
    here.accept()[0].sendall(b"an impostor")
' "$1" "$CALLS.impostor" >/dev/null 2>&1 &
  echo $! >"$CALLS.process"
  until [ -s "$CALLS.impostor" ]; do sleep 0.1; done
  if [ "$IMPOSTOR" = hangs ]; then exec sleep 600; fi
  exit 1
}
opened() {
  [ -z "$IMPOSTOR" ] || [ -e "$CALLS.process" ] || impostor "$1"
  [ -n "$NO_WAY$IMPOSTOR" ] || listen "$1"
}
words="$*"
note() { printf '%s %s\\n' "$1" "$2" >>"$CALLS"; }
"""
COMMANDS: Mapping[str, str] = {
    "pulumi": """
case "$*" in
  *"stack output"*api_tunnel) [ -z "$PORT" ] || echo "$PORT" ;;
  *"stack output"*endpoint) echo "https://$ENDPOINT" ;;
  *"stack output"*) eval "echo of-\\${$#}" ;;
esac""",
    "aws": """note aws "$*"
case "$*" in
  *describe-instances*) echo i-0123456789abcdef0 ;;
  *start-session*) opened "${words##*localPortNumber=}"; exit 1 ;;
  *update-kubeconfig*) echo "cluster: of-aws" >"${words##*--kubeconfig }" ;;
esac""",
    "session-manager-plugin": "",
    "az": """note az "$*"
case "$*" in
  "network bastion tunnel"*) opened "${words##*--port }"; exit 1 ;;
  "aks get-credentials"*) file="${words##*--file }"; echo "cluster: of-azure" >"${file%% *}" ;;
esac""",
    "kubelogin": 'note kubelogin "$*"',
    "gcloud": 'note gcloud "$*"',
    "kubectl": """
case "$*" in
  "config view"*) echo named; exit ;;
  "config set-cluster"*) note kubectl "$*"; exit ;;
esac
note kubectl "$*"
note configuration "$KUBECONFIG"
note holds "$(cat "$KUBECONFIG")"
[ -z "$PORT" ] || note server "$(python3 -c '
import socket, sys
print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5).recv(99).decode())
' "$PORT")"
exit "${STATUS:-0}\"""",
}
#: What opens the way, and what writes the configuration of kubectl.
TUNNELS = {
    "aws": (
        "aws --region r1 ssm start-session --target i-0123456789abcdef0 --document-name AWS-StartPortForwarding",
        "aws --region r1 eks update-kubeconfig --name of-cluster_name --kubeconfig ",
    ),
    "azure": (
        "az network bastion tunnel --name of-bastion_name --resource-group of-network_resource_group_name --target",
        "kubelogin convert-kubeconfig --login azurecli --kubeconfig ",
    ),
}


def answers(port: int) -> bool:
    """Return whether something listens on a port of this machine."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A Kubernetes project of one cloud with the stand-ins."""

    cloud: str
    folder: Path
    port: int

    @property
    def own(self) -> Path:
        """The configuration of whoever runs it."""
        return self.folder.parent / "own-kubeconfig"

    def run(self, *words: str, tunnelled: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `cluster.sh`."""
        known = {
            "PATH": f"{self.folder.parent / 'bin'}:{os.environ['PATH']}",
            "CALLS": str(self.folder.parent / "calls"),
            "PORT": str(self.port) if tunnelled else "",
            "ENDPOINT": ENDPOINT,
            "KUBECONFIG": str(self.own),
            "TMPDIR": str(self.folder.parent / "temporary"),
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "API_TUNNEL_WAIT_S": "30",
            "NO_WAY": "",
            "IMPOSTOR": "",
        }
        return subprocess.run(
            ["bash", self.folder / "cluster.sh", *words],
            env=known | environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )

    def calls(self) -> list[str]:
        """Return how the stand-ins were called."""
        path = self.folder.parent / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def nothing_stays(self) -> bool:
        """Return whether tunnel and temporary configuration are gone, and the user's own is as it was."""
        left = list((self.folder.parent / "temporary").iterdir())
        return not answers(self.port) and not left and self.own.read_text() == "cluster: my own\n"


def project_of(cloud: str, root: Path) -> Project:
    """Return a project with the scripts of a cloud's Kubernetes projects."""
    folder = root / "project"
    for layer in LAYERS:
        (folder / layer).mkdir(parents=True)
        (folder / layer / "Pulumi.yaml").write_text(f"name: {cloud}-gpu-{layer}\n")
        (folder / layer / "Pulumi.small.yaml").write_text(f"config:\n  {cloud}:region: r1\n")
    scripts = [STACKS / "every_cloud" / "cluster.sh", STACKS / cloud / "base" / "cloud.sh"]
    scripts += sorted((STACKS / cloud / "kubernetes").glob("*.sh"))
    for script in scripts:
        shutil.copy(script, folder / script.name)
    (folder / "launch").mkdir()
    (folder / "launch" / "train.yaml").touch()
    (folder / "launch" / "submit.sh").write_text(
        '#!/bin/bash\necho "shown: $KUBECTL_SHOWN"; exec kubectl submits "$@"\n'
    )
    for name in ("bin", "temporary"):
        (root / name).mkdir()
    for name, text in COMMANDS.items():
        program = root / "bin" / name
        program.write_text(f"#!/bin/bash\n{LISTEN}{text}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    project = Project(cloud=cloud, folder=folder, port=free_port())
    project.own.write_text("cluster: my own\n")
    return project


@pytest.fixture(params=TUNNELS)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    """Return the project of each cloud that has a tunnel."""
    return project_of(request.param, tmp_path)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["kubectl", "get", "pods", "--all-namespaces", "-l", "a=b c"], "kubectl get pods --all-namespaces -l a=b c"),
        (["submit", "--image", "r/n:1", "--", "--lr", "6e-5"], "kubectl submits --image r/n:1 -- --lr 6e-5"),
    ],
    ids=["kubectl", "submit"],
)
def test_the_api_server_is_reached_through_the_tunnel(project: Project, words: list[str], given: str) -> None:
    """By a configuration of its own that names the tunnel and checks the server's name; all of it goes again."""
    done = project.run(*words)
    assert done.returncode == 0, done.stderr
    calls = project.calls()
    for wanted in TUNNELS[project.cloud]:
        assert any(call.startswith(wanted) for call in calls), (wanted, calls)
    set_cluster = f"--server https://127.0.0.1:{project.port} --tls-server-name {ENDPOINT}"
    assert f"kubectl config set-cluster named {set_cluster}" in calls
    at = calls.index(given)
    configuration = calls[at + 1].removeprefix("configuration ")
    assert Path(configuration).parent == project.folder.parent / "temporary"
    assert calls[at + 2 : at + 4] == [f"holds cluster: of-{project.cloud}", "server the API server"]
    assert (words[0] == "submit") == ("shown: ./cluster.sh kubectl" in done.stdout)
    assert project.nothing_stays()


@pytest.mark.parametrize("command", ["kubectl", "submit"])
def test_what_kubectl_returns_is_returned(project: Project, command: str) -> None:
    """A failure inside leaves no tunnel either."""
    assert project.run(command, "get", STATUS="7").returncode == 7
    assert project.nothing_stays()


@pytest.mark.parametrize("command", ["kubectl", "submit"])
def test_where_no_tunnel_opens_nothing_is_called(project: Project, command: str) -> None:
    """The sentence says where to look."""
    done = project.run(command, "get", NO_WAY="yes", API_TUNNEL_WAIT_S="2")
    assert (done.returncode, "there is no way to the API server: README.md" in done.stderr) == (1, True), done.stderr
    assert not any(call.startswith("kubectl") for call in project.calls())
    assert project.nothing_stays()


def test_another_program_on_the_port_is_not_taken_for_the_tunnel(project: Project) -> None:
    """What listens there could be anybody's; kubectl would hand it the user's token."""
    with socket.create_server(("127.0.0.1", project.port)):
        done = project.run("kubectl", "get", "pods")
    assert done.returncode == 1
    assert f"port {project.port} of this machine, which leads to the API server, is taken" in done.stderr
    assert not any(call.startswith("kubectl") for call in project.calls())


def without_lsof(project: Project) -> str:
    """Return a path that has every program of this one but lsof."""
    folder = project.folder.parent / "programs"
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(":")):
        for program in Path(place).glob("*"):
            link = folder / program.name
            link.unlink(missing_ok=True)
            if program.name != "lsof":
                link.symlink_to(program)
    return f"{project.folder.parent / 'bin'}:{folder}"


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux shows sockets in files")
def test_without_lsof_the_tunnel_is_known_by_what_linux_shows(project: Project) -> None:
    """The socket that listens is one of the tunnel's processes, so that kubectl goes through it."""
    done = project.run("kubectl", "get", "pods", PATH=without_lsof(project))
    assert done.returncode == 0, done.stderr
    assert "server the API server" in project.calls()
    assert project.nothing_stays()


def test_where_nothing_shows_who_listens_the_tunnel_is_refused(project: Project) -> None:
    """Neither lsof nor files of Linux: kubectl is not called, and the sentence says what to install."""
    script = project.folder / "cluster.sh"
    script.write_text(script.read_text().replace("/proc/", "/nowhere/"))
    done = project.run("kubectl", "get", "pods", PATH=without_lsof(project))
    assert (done.returncode, "install lsof, then run this again" in done.stderr) == (1, True), done.stderr
    assert not any(call.startswith("kubectl") for call in project.calls())
    assert project.nothing_stays()


@pytest.mark.parametrize("shown_by", ["lsof", "Linux"])
@pytest.mark.parametrize("way", ["ends", "hangs"])
def test_what_takes_the_port_while_the_tunnel_opens_is_not_the_tunnel(
    project: Project, way: str, shown_by: str
) -> None:
    """The tunnel's command finds the port taken and ends, or still waits: nothing goes to the other one."""
    environment = {"PATH": without_lsof(project)} if shown_by == "Linux" else {}
    if shown_by == "lsof" and shutil.which("lsof") is None:
        pytest.skip("lsof is not installed")
    try:
        done = project.run("kubectl", "get", "pods", IMPOSTOR=way, API_TUNNEL_WAIT_S="3", **environment)
    finally:
        with suppress(ProcessLookupError):
            os.kill(int((project.folder.parent / "calls.process").read_text()), signal.SIGKILL)
    said = {"ends": f"another program has taken port {project.port}", "hangs": "there is no way to the API server"}
    assert (done.returncode, said[way] in done.stderr) == (1, True), done.stderr
    assert not any(call.startswith("kubectl") for call in project.calls())


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
@pytest.mark.parametrize("command", ["kubectl", "submit"])
def test_a_server_that_answers_outside_needs_no_tunnel(tmp_path: Path, cloud: str, command: str) -> None:
    """Google's DNS endpoint, and addresses of operators: kubectl goes by the configuration of whoever runs it."""
    project = project_of(cloud, tmp_path)
    done = project.run(command, "get", "nodes", tunnelled=False)
    assert done.returncode == 0, done.stderr
    assert f"configuration {project.own}" in project.calls()
    assert "holds cluster: my own" in project.calls()
    assert not any(call.startswith(("aws", "az", "gcloud")) for call in project.calls())
    assert project.nothing_stays()


def test_help_of_submit_opens_nothing(project: Project) -> None:
    """Nobody has to be logged in to read it."""
    done = project.run("submit", "--help", tunnelled=False)
    assert done.returncode == 0, done.stderr
    assert not any(call.startswith(("aws", "az ")) for call in project.calls())
