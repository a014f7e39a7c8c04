"""Racks filled bottom-up within power, height and weight."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor

from clusterwright.facility.hall.rack_limits import RackLimits, nodes_per_rack
from clusterwright.facility.site import Site


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """One thing in a rack.

    Attributes:
        name: unique; sku: price key; role: `compute`, `network`, `storage` or `management`.
        power_w: nameplate in W, weight_kg; None is unknown.
        supplies: power cords; none of what a busbar feeds.
    """

    name: str
    sku: str
    role: str
    height_u: int
    power_w: float | None
    weight_kg: float | None
    supplies: int = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """A device and the lowest rack unit it takes (from 1)."""

    device: Device
    u: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Rack:
    """One filled rack.

    Attributes:
        name: such as `A01`: row letter and place in the row; row, slot: the same as numbers from 0.
        kind: `compute`, `network` or `services`.
        height_u, power_limit_w: what the site allows.
        pdus: power distribution units; shelves: power shelves of a rack that is delivered whole, which has no PDUs,
            each on a feed of its own.
    """

    name: str
    row: int
    slot: int
    kind: str
    placements: tuple[Placement, ...]
    height_u: int
    power_limit_w: float
    pdus: int
    shelves: int = 0

    @property
    def feeds(self) -> int:
        """Circuits that reach the rack: one for each PDU or power shelf."""
        return self.shelves or self.pdus

    @property
    def power_w(self) -> float:
        """Nameplate power in W of all devices whose power is known."""
        return sum(placement.device.power_w or 0.0 for placement in self.placements)

    @property
    def weight_kg(self) -> float:
        """Weight in kg of all devices whose weight is known, without the rack."""
        return sum(placement.device.weight_kg or 0.0 for placement in self.placements)

    @property
    def used_u(self) -> int:
        """Rack units taken."""
        return sum(placement.device.height_u for placement in self.placements)

    @property
    def unknown_power(self) -> tuple[str, ...]:
        """Names of devices whose power is unknown."""
        return tuple(placement.device.name for placement in self.placements if placement.device.power_w is None)


def fill(
    devices: Iterable[Device],
    limits: RackLimits,
    site: Site,
    powered: Callable[[Sequence[Device]], bool] = lambda _: True,
) -> list[list[Placement]]:
    """Return the contents of racks that hold the devices in order, each rack filled until a limit is reached.

    Args:
        devices: in the order they shall be.
        limits: of a rack; a device of unknown power or weight counts nothing.
        site: height of a rack.
        powered: tells whether the PDUs of a rack have outlets and every phase for devices, from the bottom.

    Raises:
        RuleError: a device does not fit an empty rack.
    """
    racks: list[list[Placement]] = []
    used_u, power_w, weight_kg = 0, 0.0, 0.0
    height, most_w = floor(site.rack_height_u), limits.power_w.value
    most_kg = None if limits.weight_kg is None else limits.weight_kg.value
    for device in devices:
        watts, kilograms = device.power_w or 0.0, device.weight_kg or 0.0
        fits = (
            used_u + device.height_u <= height
            and power_w + watts <= most_w * (1 + 1e-9)
            and (most_kg is None or weight_kg + kilograms <= most_kg * (1 + 1e-9))
            and powered([*(placed.device for placed in (racks[-1] if racks else ())), device])
        )
        if not racks or not fits:
            nodes_per_rack(
                height_u=device.height_u,
                power_w=watts,
                weight_kg=device.weight_kg,
                site=site,
                limits=limits,
                name=f"{device.sku} ({device.name})",
            )
            racks.append([])
            used_u, power_w, weight_kg = 0, 0.0, 0.0
        racks[-1].append(Placement(device=device, u=used_u + 1))
        used_u += device.height_u
        power_w += watts
        weight_kg += kilograms
    return racks


def stand(contents: Iterable[tuple[str, RackLimits, list[Placement]]], site: Site) -> Iterator[Rack]:
    """Yield racks in rows, named by row letter and place.

    Args:
        contents: kind, limits and placements of each rack, in the order they are.
        site: racks per row and limits.
    """
    for index, (kind, limits, placements) in enumerate(contents):
        row, slot = divmod(index, site.rows.racks_per_row)
        yield Rack(
            name=f"{row_letters(row)}{slot + 1:02d}",
            row=row,
            slot=slot,
            kind=kind,
            placements=tuple(placements),
            height_u=floor(site.rack_height_u),
            power_limit_w=limits.power_w.value,
            pdus=limits.pdus,
            shelves=limits.shelves,
        )


def row_letters(row: int) -> str:
    """Return the letters of a row (from 0) as spreadsheets count: A, B, …, Z, AA, AB.

    >>> [row_letters(row) for row in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    letters = ""
    number = row + 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def host_name(prefix: str, number: int, count: int) -> str:
    """Return the host name of a node: the prefix and its number, with the digits that the count needs, at least 3.

    >>> host_name("node", 7, 128)
    'node007'

    Args:
        prefix: letters before the number.
        number: of the node, from 1.
        count: of all nodes.
    """
    return f"{prefix}{number:0{max(3, len(str(count)))}d}"


def whole_u(height_u: float) -> int:
    """Return a height in whole rack units."""
    return ceil(height_u)
