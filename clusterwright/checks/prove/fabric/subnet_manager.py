"""Runs the real InfiniBand subnet manager (OpenSM) over a netlist in the simulator ibsim, and reads what it computed.

OpenSM reports success for mis-wired plans too, so its exit code proves little: the tables that it computed do.
"""

import mmap
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clusterwright.errors import ClusterwrightError, InputError
from clusterwright.facility.cabling.netlist import Netlist
from clusterwright.facility.fabric.limits import INFINIBAND_LIDS

PROGRAMS = ("ibsim", "opensm")
_PRELOADED = "umad2sim/libumad2sim.so"
_SIMULATOR_LOG = "ibsim.log"
_START_S = 120.0
#: How often a long run says that it goes on.
_BEAT_S = 60.0
_POLL_S = 0.1
#: What simulator and OpenSM took for a number of ports.
_SECONDS, _PORTS = 20.0, 8_192
_HEAD = b"Unicast lids ["
_SWITCH = re.compile(rb"Unicast lids \[0-\d+\] of switch Lid \d+ guid (0x[0-9A-Fa-f]+)")
_ENTRY = re.compile(rb"^(0x[0-9A-Fa-f]+) \d+ # .* portguid (0x[0-9A-Fa-f]+)", re.MULTILINE)
#: How a line of a table starts: `0x00d8 042 # `, LID and port with as many digits as the largest ones have.
_LID_DIGITS, _PORT_DIGITS = slice(2, 6), slice(7, 10)
_START_BYTES = 11
_LINK = re.compile(r"NodeGUID:([0-9A-Fa-f]+) PortGUID:[0-9A-Fa-f]+ .*?PN:([0-9A-Fa-f]+) }")

#: Beyond the largest LID there can be: they have 16 bits.
_LIDS_BEYOND = 1 << 16

Ports = npt.NDArray[np.int16]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Routes:
    """What the subnet manager found and computed.

    Attributes:
        version: of OpenSM; messages: its errors and warnings, harmless ones left out.
        lid_of: LID by port GUID (switches have one, on their own GUID).
        out_port: for each switch GUID, the port towards each LID; -1 where there is no entry. Shape (largest LID + 1).
        links: node GUID and port of both ends of every cable it saw, each cable once.
        seconds: from start to the end of routing.
    """

    version: str
    messages: tuple[str, ...]
    lid_of: Mapping[int, int]
    out_port: Mapping[int, Ports]
    links: frozenset[frozenset[tuple[int, int]]]
    seconds: float


def expected_seconds(ports: int) -> float:
    """Return about how long the simulator and OpenSM take for a fabric with this number of ports.

    OpenSM computes a way from every switch to every port: 1.2, 4.6 and 17 s for 2,048, 4,096 and 8,192 ports of full
    rail fabrics on two cores (2026-11-23), after which the simulator's 3 s are a small part.
    """
    return _SECONDS * (ports / _PORTS) ** 2


def missing_engine() -> str:
    """Return why the subnet manager cannot run here, empty if it can."""
    absent = [name for name in PROGRAMS if _program(name) is None]
    if _library() is None:
        absent.append("libumad2sim")
    if not absent:
        return ""
    return f"not installed: {', '.join(absent)} (Debian packages opensm, ibsim-utils, libumad2sim0)"


class NotRoutedError(ClusterwrightError):
    """OpenSM did not finish within the time that it was given, which says nothing about the fabric."""


def route(
    netlist: Netlist,
    roots: Sequence[int],
    *,
    text: str | None = None,
    within_s: float | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Routes:
    """Start the fabric in the simulator, let OpenSM route it once, and read its tables.

    Args:
        netlist: the fabric.
        roots: node GUIDs of the top switches; none for a single switch.
        text: of the same fabric, if there is a file of it; written by the netlist if None.
        within_s: time that OpenSM has; None for no limit.
        progress: called every minute with how long it has been going on.

    Raises:
        InputError: more ports than LIDs.
        NotRoutedError: the time is over; ClusterwrightError: an engine is missing or failed.
    """
    reason = missing_engine()
    if reason:
        raise ClusterwrightError("the subnet manager cannot run", help=reason)
    lids = len(netlist.adapters) + len(netlist.switches)
    if lids > INFINIBAND_LIDS:
        raise InputError(
            f"{lids:,} ports and switches need more LIDs than the {INFINIBAND_LIDS:,} of a subnet",
            help="split the cluster into several subnets",
        )
    with tempfile.TemporaryDirectory(prefix="fabric-") as name:
        folder = Path(name)
        (folder / "fabric.net").write_text(netlist.text() if text is None else text)
        (folder / "roots").write_text("".join(f"{guid:#x}\n" for guid in roots))
        (folder / "nodes").write_text("".join(f"{adapter.port_guid:#x}\n" for adapter in netlist.adapters))
        started = time.monotonic()
        with _simulate(folder, netlist) as simulator:
            try:
                _wait_until_ready(simulator, folder / _SIMULATOR_LOG)
                version, messages = _route_once(folder, as_tree=bool(roots), within_s=within_s, progress=progress)
            finally:
                simulator.kill()
        seconds = time.monotonic() - started
        lid_of, out_port = _tables(folder / "opensm-lfts.dump")
        return Routes(
            version=version,
            messages=messages,
            lid_of=lid_of,
            out_port=out_port,
            links=_links(folder / "opensm-subnet.lst"),
            seconds=seconds,
        )


def _program(name: str) -> str | None:
    # OpenSM lies where administrators' programs do, which is not on every user's path.
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def _library() -> Path | None:
    return next((found for root in ("/usr/lib", "/usr/lib64") for found in Path(root).glob(f"*/{_PRELOADED}")), None)


def _environment(folder: Path) -> dict[str, str]:
    # The socket's name is that of the folder, so that several proofs may run beside each other.
    own = {"IBSIM_SOCKNAME": folder.name, "OSM_CACHE_DIR": str(folder), "OSM_TMP_DIR": str(folder)}
    return {**os.environ, **own}


def _simulate(folder: Path, netlist: Netlist) -> subprocess.Popen[bytes]:
    """Start the simulator. Its own limits are far below a cluster's, so all are given."""
    switches, adapters = len(netlist.switches), len(netlist.adapters)
    limits = {
        "-N": adapters + switches + 10,
        "-S": switches + 10,
        "-P": switches * (netlist.radix + 1) + 2 * adapters + 100,
        "-L": INFINIBAND_LIDS,
    }
    command = [str(_program("ibsim")), "-s", "-n", *(str(part) for item in limits.items() for part in item)]
    with (folder / _SIMULATOR_LOG).open("wb") as output:
        return subprocess.Popen(  # noqa: S603 - a program by its full path, with numbers
            [*command, "fabric.net"],
            cwd=folder,
            env=_environment(folder),
            # At the end of its input the simulator would stop.
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _wait_until_ready(simulator: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while b"Network simulator ready" not in log.read_bytes()[-4096:]:
        if simulator.poll() is not None or time.monotonic() > deadline:
            raise ClusterwrightError("the simulator ibsim did not start", help=_last_lines(log))
        time.sleep(0.05)


def _route_once(
    folder: Path, *, as_tree: bool, within_s: float | None, progress: Callable[[str], None]
) -> tuple[str, tuple[str, ...]]:
    arguments = [
        "-o",
        "-e",
        "-f",
        "opensm.log",
        "-D",
        "0x43",
        "-n",
        "64",
        "-t",
        "2000",
        "--dump_files_dir",
        str(folder),
    ]
    # One switch alone is no tree.
    engine = ["-R", "ftree", "-a", "roots", "-u", "nodes"] if as_tree else ["-R", "minhop"]
    command = [str(_program("opensm")), *arguments, *engine]
    with (folder / "opensm.out").open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - as above
            command,
            cwd=folder,
            env={**_environment(folder), "LD_PRELOAD": str(_library())},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            returned = _waited(process, within_s, progress)
        finally:
            process.kill()
            process.wait()
    said = (folder / "opensm.out").read_text(errors="replace")
    log = folder / "opensm.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    if returned != 0 or "SUBNET UP" not in text:
        raise ClusterwrightError("OpenSM did not bring the subnet up", help=_last_lines(log) or said[-500:])
    version = re.search(r"OpenSM (\S+)", said)
    wrong = [line.split("->", 1)[-1].strip() for line in text.splitlines() if " ERR " in line]
    if as_tree and "ftree tables configured" not in text:
        wrong.append("the fat-tree routing engine refused the fabric; OpenSM fell back to another one")
    return version.group(1) if version else "unknown", tuple(dict.fromkeys(wrong))


def _waited(process: subprocess.Popen[bytes], within_s: float | None, progress: Callable[[str], None]) -> int:
    """Return how the program ended; say every minute that it goes on.

    Raises:
        NotRoutedError: the time is over.
    """
    started = said = time.monotonic()
    while process.poll() is None:
        now = time.monotonic()
        if within_s is not None and now - started > within_s:
            raise NotRoutedError(f"OpenSM did not route the fabric within {_minutes(within_s)}")
        if now - said > _BEAT_S:
            said = now
            progress(f"OpenSM has been routing for {_minutes(now - started)}")
        time.sleep(_POLL_S)
    return process.returncode


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:,.0f} min" if seconds >= _BEAT_S else f"{seconds:,.0f} s"


def _last_lines(log: Path) -> str:
    return " | ".join(log.read_text(errors="replace").splitlines()[-3:]) if log.exists() else ""


def _tables(dump: Path) -> tuple[dict[int, int], dict[int, Ports]]:
    """Return LIDs by port GUID, and the forwarding table of every switch.

    A dump has a line for each switch and each LID, 50 million with 24,576 ports. It is read a switch at a time: LID and
    port as columns of digits, GUIDs only where a LID is new.
    """
    lid_of: dict[int, int] = {}
    rows_of: dict[int, tuple[Integers, Ports]] = {}
    known = np.zeros(_LIDS_BEYOND, dtype=bool)
    with dump.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        start = text.find(_HEAD)
        while start >= 0:
            after = text.find(_HEAD, start + 1)
            block = text[start : len(text) if after < 0 else after]
            lids, ports = _rows(np.frombuffer(block, dtype=np.uint8))
            head = _SWITCH.match(block)
            if head is not None:
                rows_of[int(head[1], 16)] = lids, ports
            if not known[lids].all():
                lid_of.update((int(port_guid, 16), int(lid, 16)) for lid, port_guid in _ENTRY.findall(block))
                known[lids] = True
            start = after
    size = max(lid_of.values(), default=0) + 1
    out_port: dict[int, Ports] = {}
    for guid, (lids, ports) in rows_of.items():
        out_port[guid] = np.full(size, -1, dtype=np.int16)
        out_port[guid][lids] = ports
    return lid_of, out_port


def _rows(block: npt.NDArray[np.uint8]) -> tuple[Integers, Ports]:
    """Return LIDs and ports of one switch's table; lines without a port, such as of unreachable LIDs, are left out."""
    starts = np.flatnonzero(block[:-_START_BYTES] == ord("\n")) + 1
    lines = block[starts[:, None] + np.arange(_START_BYTES)]
    digits = lines[:, _PORT_DIGITS]
    named = (lines[:, 1] == ord("x")) & ((digits >= ord("0")) & (digits <= ord("9"))).all(axis=1)
    lines = lines[named]
    letters = lines[:, _LID_DIGITS].astype(np.int64)
    lids = np.where(letters >= ord("a"), letters - ord("a") + 10, letters - ord("0")) @ (16 ** np.arange(3, -1, -1))
    ports = (lines[:, _PORT_DIGITS].astype(np.int16) - ord("0")) @ np.array([100, 10, 1], dtype=np.int16)
    return lids, ports


def _links(listing: Path) -> frozenset[frozenset[tuple[int, int]]]:
    found = set()
    with listing.open() as file:
        for line in file:
            ends = [(int(guid, 16), int(port, 16)) for guid, port in _LINK.findall(line)]
            if len(ends) == 2:  # noqa: PLR2004 - a cable has two ends
                found.add(frozenset(ends))
    return frozenset(found)
