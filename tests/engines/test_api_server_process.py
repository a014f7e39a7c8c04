"""The API server that the tests share: one for all that want it, and none that outlives them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.engines.api_server import ROOT, ApiServer
from tests.engines.conftest import shared_server

_PATIENCE_S = 60
_USER = """
import sys, time
from pathlib import Path
from tests.engines.conftest import shared_server
with shared_server(Path(sys.argv[1])) as server:
    print(server.port, flush=True)
    time.sleep(600)
"""


def servers(folder: Path) -> list[int]:
    """Return the processes that were started for a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in words and b"-c" not in words.split(b"\0"):
            found.append(int(process.name))
    return found


def test_a_killed_session_leaves_no_server(api_server: ApiServer, tmp_path: Path) -> None:
    """Two that want a server have one; when the first is killed it goes on, and when the second is nothing is left."""
    folder = tmp_path / "shared"
    folder.mkdir()
    users = [
        subprocess.Popen([sys.executable, "-c", _USER, folder], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ports = {int(user.stdout.readline()) for user in users}
    assert len(ports) == 1
    assert ports != {api_server.port}
    assert len(servers(folder)) == 3
    for user, left in zip(users, (3, 0), strict=True):
        os.kill(user.pid, signal.SIGKILL)
        user.wait()
        user.stdout.close()
        give_up_at = time.monotonic() + _PATIENCE_S
        if left:
            time.sleep(2)
        while len(servers(folder)) != left:
            assert time.monotonic() < give_up_at, servers(folder)
            time.sleep(0.2)
    assert not (folder / "server.json").exists()
    # Whoever comes later gets another one.
    with shared_server(folder) as later:
        assert later.ask("GET", "/readyz")[0] == 200
