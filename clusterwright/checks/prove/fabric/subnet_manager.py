"""Runs the real InfiniBand subnet manager (OpenSM) over a netlist in the simulator ibsim, and reads what it computed.

OpenSM reports success for mis-wired plans too, so its exit code proves little: the tables that it computed do.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
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
_ROUTE_S = 1800.0
_SWITCH = re.compile(r"^Unicast lids \[0-\d+\] of switch Lid \d+ guid (0x[0-9A-Fa-f]+)")
_ENTRY = re.compile(r"^(0x[0-9A-Fa-f]+) (\d+) # .* portguid (0x[0-9A-Fa-f]+)")
_LINK = re.compile(r"NodeGUID:([0-9A-Fa-f]+) PortGUID:[0-9A-Fa-f]+ .*?PN:([0-9A-Fa-f]+) }")

Ports = npt.NDArray[np.int16]


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


def missing_engine() -> str:
    """Return why the subnet manager cannot run here, empty if it can."""
    absent = [name for name in PROGRAMS if _program(name) is None]
    if _library() is None:
        absent.append("libumad2sim")
    if not absent:
        return ""
    return f"not installed: {', '.join(absent)} (Debian packages opensm, ibsim-utils, libumad2sim0)"


def route(netlist: Netlist, roots: Sequence[int], *, text: str | None = None) -> Routes:
    """Start the fabric in the simulator, let OpenSM route it once, and read its tables.

    Args:
        netlist: the fabric.
        roots: node GUIDs of the top switches; none for a single switch.
        text: of the same fabric, if there is a file of it; written by the netlist if None.

    Raises:
        InputError: more ports than LIDs; ClusterwrightError: an engine is missing or did not finish.
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
                version, messages = _route_once(folder, as_tree=bool(roots))
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


def _route_once(folder: Path, *, as_tree: bool) -> tuple[str, tuple[str, ...]]:
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
    try:
        done = subprocess.run(  # noqa: S603 - as above
            command,
            cwd=folder,
            env={**_environment(folder), "LD_PRELOAD": str(_library())},
            capture_output=True,
            text=True,
            timeout=_ROUTE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ClusterwrightError(f"OpenSM did not route the fabric within {_ROUTE_S / 60:.0f} min") from None
    log = folder / "opensm.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    if done.returncode != 0 or "SUBNET UP" not in text:
        raise ClusterwrightError("OpenSM did not bring the subnet up", help=_last_lines(log) or done.stderr[-500:])
    version = re.search(r"OpenSM (\S+)", done.stdout)
    wrong = [line.split("->", 1)[-1].strip() for line in text.splitlines() if " ERR " in line]
    if as_tree and "ftree tables configured" not in text:
        wrong.append("the fat-tree routing engine refused the fabric; OpenSM fell back to another one")
    return version.group(1) if version else "unknown", tuple(dict.fromkeys(wrong))


def _last_lines(log: Path) -> str:
    return " | ".join(log.read_text(errors="replace").splitlines()[-3:]) if log.exists() else ""


def _tables(dump: Path) -> tuple[dict[int, int], dict[int, Ports]]:
    """Return LIDs by port GUID, and the forwarding table of every switch."""
    entries: dict[int, list[tuple[int, int]]] = {}
    lid_of: dict[int, int] = {}
    table: list[tuple[int, int]] = []
    with dump.open() as file:
        for line in file:
            entry = _ENTRY.match(line)
            if entry:
                lid = int(entry[1], 16)
                table.append((lid, int(entry[2])))
                lid_of[int(entry[3], 16)] = lid
                continue
            switch = _SWITCH.match(line)
            if switch:
                table = entries.setdefault(int(switch[1], 16), [])
    size = max(lid_of.values(), default=0) + 1
    out_port: dict[int, Ports] = {}
    for guid, rows in entries.items():
        ports = np.full(size, -1, dtype=np.int16)
        if rows:
            lids, values = np.array(rows).T
            ports[lids] = values
        out_port[guid] = ports
    return lid_of, out_port


def _links(listing: Path) -> frozenset[frozenset[tuple[int, int]]]:
    found = set()
    with listing.open() as file:
        for line in file:
            ends = [(int(guid, 16), int(port, 16)) for guid, port in _LINK.findall(line)]
            if len(ends) == 2:  # noqa: PLR2004 - a cable has two ends
                found.add(frozenset(ends))
    return frozenset(found)
