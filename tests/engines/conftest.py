"""What tests of several engines share: an API server of Kubernetes per session, a browser, the shipped report."""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clusterwright.plan.record import Plan
from tests.engines.api_server import ROOT, ApiServer, definition_texts, program
from tests.opened import report_html
from tests.web.conftest import browser

__all__ = ["api_server", "browser", "report"]

_PATIENCE_S = 300


@pytest.fixture(scope="module")
def report(shipped_plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of the shipped blueprint."""
    page = tmp_path_factory.mktemp("report") / "report.html"
    page.write_text(report_html(shipped_plan), encoding="utf-8")
    return page


@pytest.fixture(scope="session")
def api_server(require_engine: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Return the server; it ends when the last worker does."""
    require_engine("etcd", "openssl", "setpriv", "go")
    require_engine(
        working=program("kube-apiserver") is not None, reason="kube-apiserver is not installed: make engine builds it"
    )
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "api-server"
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        definition_texts(folder)
    except LookupError as error:
        require_engine(working=False, reason=str(error))
    with shared_server(folder) as server:
        yield server


@contextmanager
def shared_server(folder: Path) -> Iterator[ApiServer]:
    """Yield the server of a folder, which is started where there is none yet."""
    with (folder / "users").open("a") as users, (folder / "starting").open("a") as starting:
        # Held as long as the server is wanted; while one ends, this waits.
        fcntl.flock(users, fcntl.LOCK_SH)
        fcntl.flock(starting, fcntl.LOCK_EX)
        if not (folder / "server.json").exists():
            _start(folder)
        fcntl.flock(starting, fcntl.LOCK_UN)
        found = json.loads((folder / "server.json").read_text())
        yield ApiServer(
            port=int(found["port"]),
            token=found["token"],
            certificate=Path(found["certificate"]),
            kubeconfig=Path(found["kubeconfig"]),
        )


def _start(folder: Path) -> None:
    """Start the server as nobody's child, since it outlives the worker that happens to come first."""
    log = folder / "process.log"
    with log.open("wb") as stream:
        command = ["setsid", "--fork", sys.executable, "-m", "tests.engines.api_server_process", str(folder)]
        subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, check=True)
    give_up_at = time.monotonic() + _PATIENCE_S
    while not (folder / "server.json").exists():
        assert not (folder / "failed").exists(), log.read_text()
        assert time.monotonic() < give_up_at, "the API server was not ready in time"
        time.sleep(0.1)
