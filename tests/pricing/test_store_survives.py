"""The store survives: processes killed anywhere, also while they commit, torn logs, full disks, several processes."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright.pricing.archive import export_archive
from clusterwright.pricing.book import PriceBook
from clusterwright.pricing.store import PriceStore, StoreError

from .quotes import quote, read

_ROOT = Path(__file__).parents[2]
_ROWS = 300
#: Reads a list again and again, each time in a child that is killed: at a moment of the whole, or of its commit.
_KILLED = """
import os, pathlib, signal, sys, threading, time
sys.path.insert(0, sys.argv[2])
from tests.pricing.quotes import quote, read
from clusterwright.pricing import ingest
from clusterwright.pricing.store import PriceStore
import duckdb

folder = pathlib.Path(sys.argv[1])
rows = [quote(region=f"region-{number}") for number in range(int(sys.argv[3]))]


class Connection:
    "One whose commit kills the process a moment after it began."

    def __init__(self, connection, after_s):
        self.connection, self.after_s = connection, after_s

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def commit(self):
        def end():
            time.sleep(self.after_s)
            os.kill(os.getpid(), signal.SIGKILL)

        threading.Thread(target=end).start()
        self.connection.commit()
        time.sleep(1)


def once(place, commit_after_s=None):
    place.mkdir(exist_ok=True)
    store = PriceStore.open(place / "prices.duckdb")
    if commit_after_s is not None:
        store.connection = Connection(store.connection, commit_after_s)
    read(store, place, *rows)
    store.close()


def child(place, after_s=None, commit_after_s=None):
    pid = os.fork()
    if not pid:
        once(place, commit_after_s)
        os._exit(0)
    if after_s is not None:
        time.sleep(after_s)
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


began = time.monotonic()
child(folder / "whole")
took = time.monotonic() - began
for number in range(7):
    child(folder / f"at-{number}", after_s=took * (number + 0.5) / 7)
for number, after_s in enumerate((0.0, 0.0005, 0.003)):
    child(folder / f"commit-{number}", commit_after_s=after_s)
"""


def _state(path: Path) -> tuple[int, int, int]:
    with PriceStore.open(path) as store:
        tables = ("observation", "ingest", "document")
        one, two, three = (store.connection.table(name).count("*").fetchall()[0][0] for name in tables)
        return int(one), int(two), int(three)


def test_killed_anywhere(tmp_path: Path) -> None:
    """A process killed at any moment of a reading, or of its commit, leaves all of the document or nothing of it."""
    subprocess.run([sys.executable, "-c", _KILLED, tmp_path, _ROOT, str(_ROWS)], check=True)
    assert _state(tmp_path / "whole" / "prices.duckdb") == (_ROWS, 1, 1)
    states = set()
    places = sorted(path for path in tmp_path.iterdir() if path.name != "whole")
    assert len(places) == 10
    for place in places:
        path = place / "prices.duckdb"
        found = _state(path)
        assert found in {(0, 0, 0), (_ROWS, 1, 1)}, place.name
        states.add(found)
    with PriceStore.open(places[0] / "prices.duckdb") as store:
        rows = [quote(region=f"region-{number}") for number in range(_ROWS)]
        read(store, tmp_path, *rows)
        assert store.connection.table("observation").count("*").fetchall() == [(_ROWS,)]
    assert (0, 0, 0) in states


def test_a_torn_log(tmp_path: Path) -> None:
    """A log whose end is missing, as after a loss of power, gives the store as it was before or after."""
    path = tmp_path / "prices.duckdb"
    PriceStore.open(path).close()
    store = PriceStore.open(path)
    store.connection.execute("set checkpoint_threshold = '1GB'")
    read(store, tmp_path, *(quote(region=f"region-{number}") for number in range(_ROWS)))
    log = path.with_name(path.name + ".wal")
    content, base = log.read_bytes(), path.read_bytes()
    store.close()
    seen = set()
    for number, share in enumerate((0.0, 0.3, 0.7, 0.999, 1.0)):
        folder = tmp_path / f"torn-{number}"
        folder.mkdir()
        torn = folder / path.name
        torn.write_bytes(base)
        torn.with_name(log.name).write_bytes(content[: int(len(content) * share)])
        seen.add(_state(torn))
    assert seen == {(0, 0, 0), (_ROWS, 1, 1)}


def test_a_second_process_waits(tmp_path: Path) -> None:
    """A process that comes while another one writes waits for it, and then adds what is its own."""
    path = tmp_path / "prices.duckdb"
    code = (
        "import sys, time, pathlib; from clusterwright.pricing.store import PriceStore; "
        "store = PriceStore.open(pathlib.Path(sys.argv[1])); print('held', flush=True); time.sleep(0.4); store.close()"
    )
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        began = time.monotonic()
        with PriceStore.open(path, wait_s=30) as store:
            assert time.monotonic() > began
            assert read(store, tmp_path, quote()).stored == 1


_FETCH = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from clusterwright.cli.main import run; run()"


def test_a_full_disk(tmp_path: Path) -> None:
    """No room for the store's log: the reason, exit code 2, no traceback, and the store as it was before."""
    path = tmp_path / "prices.duckdb"
    with PriceStore.open(path) as store:
        read(store, tmp_path, quote(region="before"))
    size = path.stat().st_size
    lines = [
        f"aws/p5.48xlarge,region-{number},on_demand,hourly,node,55,2026-01-01,{'x' * 900}" for number in range(900)
    ]
    quotes = tmp_path / "many.csv"
    header = "sku,region,term,charge,unit,amount,effective_from,note"
    quotes.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", _FETCH, "prices", "import", quotes, "--source", "x", "--store", path],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, size + 4096)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "help:" in ended.stderr
    assert _state(path) == (1, 1, 1)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    """A folder and a file that are read-only, a folder in the place of the file: one message each, nothing changed."""
    with pytest.raises(StoreError, match="never written"):
        PriceStore.open(tmp_path)
    path = tmp_path / "prices.duckdb"
    PriceStore.open(path).close()
    before = path.read_bytes()
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        if os.access(path, os.W_OK):
            pytest.skip("this user may write to everything")
        with pytest.raises(StoreError, match=r"cannot be opened|held by another"):
            PriceStore.open(path, wait_s=0.1)
        with pytest.raises(StoreError, match="cannot be"):
            PriceStore.open(tmp_path / "new" / "prices.duckdb")
        PriceStore.open(path, read_only=True).close()
    finally:
        tmp_path.chmod(0o700)
        path.chmod(0o600)
    assert path.read_bytes() == before


def test_reading_while_nobody_writes(tmp_path: Path) -> None:
    """Several processes may read one store at once; one that wants to write is told which one reads."""
    path = tmp_path / "prices.duckdb"
    PriceStore.open(path).close()
    code = (
        "import sys, time, pathlib; from clusterwright.pricing.store import PriceStore; "
        "store = PriceStore.open(pathlib.Path(sys.argv[1]), read_only=True); print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        PriceStore.open(path, read_only=True, wait_s=0.1).close()
        with pytest.raises(StoreError, match=f"held by another process.*{other.pid}"):
            PriceStore.open(path, wait_s=0.1)
        os.kill(other.pid, signal.SIGKILL)
    shutil.copy(path, tmp_path / "copy.duckdb")
    assert _state(tmp_path / "copy.duckdb") == (0, 0, 0)


def test_a_damaged_store_is_reported_as_damaged(tmp_path: Path) -> None:
    """Blocks that are overwritten end every question with the place and what to do, not with an unknown error."""
    place = tmp_path / "prices.duckdb"
    with PriceStore.open(place) as store:
        read(store, tmp_path, *(quote(region=f"r{number}", sku=f"aws/p{number}") for number in range(3000)))
        store.connection.execute("checkpoint")
    content = bytearray(place.read_bytes())
    # Behind the three headers of 4 KiB lie blocks of 256 KiB, each with a checksum in front.
    for start in range(3 * 4096, len(content), 256 * 1024):
        content[start + 100 : start + 200] = bytes(byte ^ 0x5A for byte in content[start + 100 : start + 200])
    place.write_bytes(content)
    before = place.read_bytes()
    for use in (_add, _export, _ask):
        with pytest.raises(StoreError, match=f"{place.name} cannot be (read|opened)"):
            use(place)
    assert place.read_bytes() == before


def _add(place: Path) -> None:
    with PriceStore.open(place) as store:
        read(store, place.parent, quote())


def _export(place: Path) -> None:
    with PriceStore.open(place, read_only=True) as store:
        export_archive(store, place.parent / "out")


def _ask(place: Path) -> None:
    PriceBook.open(store=place).close()
