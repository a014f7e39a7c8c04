"""Keeps an API server of Kubernetes with its etcd on loopback, for as long as somebody holds a lock on FOLDER/users.

    python -m tests.engines.api_server_process FOLDER

FOLDER/server.json says how it is reached, as soon as it knows the custom resources; FOLDER/failed, that it never was.
When nobody holds the lock any more, whether they are done or were killed, it ends with everything that it started.
"""

import fcntl
import http
import json
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.engines.api_server import ApiServer, definition_texts, program
from tests.ports import free_port

_START_S = 180
_POLL_S = 0.2
#: Addresses of services; nothing is sent there.
_SERVICES = "10.0.0.0/16"


@contextmanager
def _running(log: Path, *command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that ends with this one, however this one ends."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *map(str, command)], stdout=stream, stderr=stream, cwd=log.parent
        )
        try:
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def _kubeconfig(server: ApiServer) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": f"https://127.0.0.1:{server.port}",
                        "certificate-authority": str(server.certificate),
                    },
                }
            ],
            "users": [{"name": "test", "user": {"token": server.token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }
    )


def _started(folder: Path, running: ExitStack) -> ApiServer:
    """Start both, and return the server once it answers."""
    store, peers, token = free_port(), free_port(), secrets.token_hex(16)
    server = ApiServer(
        port=free_port(),
        token=token,
        certificate=folder / "certificates" / "apiserver.crt",
        kubeconfig=folder / "kubeconfig",
    )
    at = f"http://127.0.0.1:{store}"
    etcd = [
        "etcd",
        *("--data-dir", folder / "etcd"),
        *("--listen-client-urls", at),
        *("--advertise-client-urls", at),
        *("--listen-peer-urls", f"http://127.0.0.1:{peers}"),
        *("--initial-advertise-peer-urls", f"http://127.0.0.1:{peers}"),
        *("--initial-cluster", f"default=http://127.0.0.1:{peers}"),
    ]
    running.enter_context(_running(folder / "etcd.log", *etcd))
    key = folder / "accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text(f"{token},administrator,administrator,system:masters\n")
    server.kubeconfig.write_text(_kubeconfig(server))
    flags = {
        "etcd-servers": at,
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "endpoint-reconciler-type": "none",
        "secure-port": server.port,
        "cert-dir": server.certificate.parent,
        "token-auth-file": folder / "tokens.csv",
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": key,
        "service-account-signing-key-file": key,
        "service-cluster-ip-range": _SERVICES,
        "allow-privileged": "true",
    }
    command = [program("kube-apiserver") or "", *(f"--{name}={value}" for name, value in flags.items())]
    process = running.enter_context(_running(folder / "kube-apiserver.log", *command))
    give_up_at = time.monotonic() + _START_S
    while True:
        with suppress(OSError):
            if server.certificate.exists() and server.ask("GET", "/readyz")[0] == http.HTTPStatus.OK:
                return server
        if process.poll() is not None or time.monotonic() > give_up_at:
            raise SystemExit(f"the API server does not start\n{(folder / 'kube-apiserver.log').read_text()[-4000:]}")
        time.sleep(_POLL_S)


def _define(server: ApiServer, folder: Path) -> None:
    """Let the server know the custom resources."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    names = []
    for text in definition_texts(folder):
        status, answer = server.ask("POST", path, text, content="application/yaml")
        if status != http.HTTPStatus.CREATED:
            raise SystemExit(f"a custom resource is refused: {answer}")
        names.append(answer["metadata"]["name"])
    give_up_at = time.monotonic() + _START_S
    while True:
        _, answer = server.ask("GET", path)
        served = [
            one["metadata"]["name"]
            for one in answer["items"]
            if any(
                each["type"] == "Established" and each["status"] == "True"
                for each in (one.get("status") or {}).get("conditions") or ()
            )
        ]
        if {*names} <= {*served}:
            return
        if time.monotonic() > give_up_at:
            raise SystemExit(f"the API server does not serve {sorted({*names} - {*served})}")
        time.sleep(_POLL_S)


def main(folder: Path) -> None:
    """Serve until nobody holds the lock."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # The lock is let go last: whoever waits for it starts another server.
    with (folder / "users").open("w") as users, ExitStack() as running:
        own = Path(running.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        server = _started(own, running)
        _define(server, own)
        shown = {name: str(getattr(server, name)) for name in ("port", "token", "certificate", "kubeconfig")}
        ready = folder / "server.json.new"
        ready.write_text(json.dumps(shown))
        ready.rename(folder / "server.json")
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(_POLL_S)
        (folder / "server.json").unlink()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except BaseException:
        (Path(sys.argv[1]) / "failed").touch()
        raise
