"""Reads a fabric from the text that `ibnetdiscover` prints, as far as our own files use its syntax."""

import re
from collections.abc import Mapping
from pathlib import Path

from clusterwright.errors import InputError
from clusterwright.facility.cabling.netlist import Adapter, Netlist, Switch, Wire

_SWITCH = re.compile(r'Switch\s+(\d+)\s+"S-([0-9a-f]{16})"\s+#\s+"([^"]+)"')
_ADAPTER = re.compile(r'Ca\s+\d+\s+"H-([0-9a-f]{16})"\s+#\s+"([^"]+) (\d+)"')
_PORT = re.compile(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"[SH]-([0-9a-f]{16})"\[(\d+)\]')
_IGNORED = ("#", "vendid", "devid", "sysimgguid", "switchguid", "caguid")


def read_netlist(path: Path, kinds: Mapping[str, str]) -> Netlist:
    """Return the fabric of a file.

    Args:
        path: of the file.
        kinds: kind of end by device name, see `links.End`; devices that it does not name are of kind `unknown`.

    Raises:
        InputError: the file cannot be read, or a line is not understood; reported with file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} cannot be read: {error}", help="write the folder again") from None
    switches: list[Switch] = []
    adapters: list[Adapter] = []
    joined: dict[tuple[int, int], tuple[int, int]] = {}
    radix, owner = 0, 0
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith(_IGNORED):
            continue
        if switch := _SWITCH.match(line):
            owner, radix = int(switch[2], 16), max(radix, int(switch[1]))
            switches.append(Switch(name=switch[3], guid=owner))
        elif adapter := _ADAPTER.match(line):
            owner = int(adapter[1], 16)
            kind, port = kinds.get(adapter[2], "unknown"), int(adapter[3])
            adapters.append(
                Adapter(name=f"{adapter[2]} {port}", device=adapter[2], port=port - 1, kind=kind, guid=owner)
            )
        elif (port_line := _PORT.match(line)) and owner:
            joined[owner, int(port_line[1])] = (int(port_line[2], 16), int(port_line[3]))
        else:
            raise InputError(
                f"{path.name}:{number}:1: this is no line of ibnetdiscover: {line[:60]!r}",
                help="write the folder again",
            )
    for (guid, port), end in joined.items():
        if joined.get(end) != (guid, port):
            named = f"port {end[1]} of {end[0]:#x}"
            raise InputError(
                f"{path.name}: port {port} of {guid:#x} names {named}, expected one that names it back",
                help="every cable is named at both of its ends",
            )
    wires = tuple(
        Wire(a_guid=one[0], a_port=one[1], b_guid=other[0], b_port=other[1])
        for one, other in joined.items()
        if one < other
    )
    return Netlist(radix=radix, switches=tuple(switches), adapters=tuple(adapters), wires=wires)


def named_wires(net: Netlist) -> set[frozenset[tuple[str, int]]]:
    """Return the cables by names of devices and ports from 1; an adapter's port is the one of its device."""
    ends = {(adapter.guid, 1): (adapter.device, adapter.port + 1) for adapter in net.adapters}
    names = {switch.guid: switch.name for switch in net.switches}

    def end(guid: int, port: int) -> tuple[str, int]:
        return ends.get((guid, port)) or (names.get(guid, f"{guid:#x}"), port)

    return {frozenset((end(wire.a_guid, wire.a_port), end(wire.b_guid, wire.b_port))) for wire in net.wires}
