"""A planned fabric in the syntax of `ibnetdiscover`, which simulator, subnet manager and people read."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clusterwright.facility.cabling.links import End, Link

#: GUIDs are counted from here; a port of an adapter has the number after its node's, as adapters number them.
_FIRST_SWITCH_GUID = 0x0010_0000
_FIRST_ADAPTER_GUID = 0x0100_0000
_ADAPTER_GUID_STEP = 0x10


@dataclass(frozen=True, kw_only=True, slots=True)
class Adapter:
    """One port of a node, server or subnet manager: an adapter of its own.

    Attributes:
        name: `device port`, port from 1; device, port: the end it stands for, port from 0; kind: as in `links.End`.
        guid: of the adapter.
    """

    name: str
    device: str
    port: int
    kind: str
    guid: int

    @property
    def port_guid(self) -> int:
        """GUID of its one port."""
        return self.guid + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Switch:
    """One switch and its GUID."""

    name: str
    guid: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Wire:
    """One cable between node GUIDs; ports count from 1."""

    a_guid: int
    a_port: int
    b_guid: int
    b_port: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Netlist:
    """A fabric with GUIDs.

    Attributes:
        radix: ports of every switch.
        switches, adapters: in the order of their first cable, adapters of subnet managers first.
        wires: cables.
    """

    radix: int
    switches: tuple[Switch, ...]
    adapters: tuple[Adapter, ...]
    wires: tuple[Wire, ...]

    def text(self) -> str:
        """Return the netlist as `ibnetdiscover` prints one; the first record is where the subnet manager runs."""
        names = {switch.guid: switch.name for switch in self.switches}
        names |= {adapter.guid: adapter.name for adapter in self.adapters}
        ports: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for wire in self.wires:
            ports[wire.a_guid].append((wire.a_port, wire.b_guid, wire.b_port))
            ports[wire.b_guid].append((wire.b_port, wire.a_guid, wire.a_port))
        adapters = {adapter.guid for adapter in self.adapters}

        def reference(guid: int) -> str:
            return f"{'H' if guid in adapters else 'S'}-{guid:016x}"

        lines: list[str] = []
        for adapter in self.adapters:
            lines += [f"caguid={adapter.guid:#x}", f'Ca\t1 "{reference(adapter.guid)}"\t# "{adapter.name}"']
            lines += _port_lines(ports[adapter.guid], reference, names)
        for switch in self.switches:
            head = f'Switch\t{self.radix} "{reference(switch.guid)}"\t# "{switch.name}" base port 0 lid 0 lmc 0'
            lines += [f"switchguid={switch.guid:#x}", head]
            lines += _port_lines(ports[switch.guid], reference, names)
        return "\n".join(lines) + "\n"

    def dot(self) -> str:
        """Return the fabric as a Graphviz graph: one edge per pair of devices, labelled with its number of cables."""
        names = {switch.guid: switch.name for switch in self.switches}
        names |= {adapter.guid: adapter.device for adapter in self.adapters}
        counts: defaultdict[tuple[str, str], int] = defaultdict(int)
        for wire in self.wires:
            counts[names[wire.a_guid], names[wire.b_guid]] += 1
        nodes = [f'  "{switch.name}" [shape=box];' for switch in self.switches]
        edges = [
            f'  "{a}" -- "{b}"' + (f' [label="{count}"];' if count > 1 else ";") for (a, b), count in counts.items()
        ]
        return "\n".join(["graph fabric {", "  rankdir=BT;", *nodes, *edges, "}"]) + "\n"


def _port_lines(
    ports: Sequence[tuple[int, int, int]], reference: Callable[[int], str], names: dict[int, str]
) -> list[str]:
    return [*(f'[{port}]\t"{reference(to)}"[{far}]\t# "{names[to]}"' for port, to, far in sorted(ports)), ""]


def netlist(*, links: Iterable[Link], radix: int) -> Netlist:
    """Return the netlist of a fabric's links.

    Args:
        links: of one network; ends of kind `switch` are switches, every other port is an adapter of its own.
        radix: ports of every switch.
    """
    listed = list(links)
    # The subnet manager starts at the first record, so its own adapter comes first where there is one.
    ends = [end for link in listed for end in (link.a, link.b)]
    hanging = [end for end in ends if end.kind == "appliance"]
    hanging += [end for end in ends if end.kind not in {"appliance", "switch"}]
    switches = {
        name: Switch(name=name, guid=_FIRST_SWITCH_GUID + index)
        for index, name in enumerate(dict.fromkeys(end.device for end in ends if end.kind == "switch"))
    }
    adapters = {
        (end.device, end.port): Adapter(
            name=f"{end.device} {end.port + 1}",
            device=end.device,
            port=end.port,
            kind=end.kind,
            guid=_FIRST_ADAPTER_GUID + index * _ADAPTER_GUID_STEP,
        )
        for index, end in enumerate(hanging)
    }

    def place(end: End) -> tuple[int, int]:
        if end.kind == "switch":
            return switches[end.device].guid, end.port + 1
        return adapters[end.device, end.port].guid, 1

    wires = []
    for link in listed:
        (a_guid, a_port), (b_guid, b_port) = place(link.a), place(link.b)
        wires.append(Wire(a_guid=a_guid, a_port=a_port, b_guid=b_guid, b_port=b_port))
    return Netlist(
        radix=radix, switches=tuple(switches.values()), adapters=tuple(adapters.values()), wires=tuple(wires)
    )
