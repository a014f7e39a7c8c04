"""What a storage design means for network and bill: media of its ports, lines with their reason, a note."""

from clusterwright.errors import Finding, RuleError
from clusterwright.facility.fabric.networks import SPLIT_PORTS, SPLITTER_FAMILY
from clusterwright.facility.storage.boxes import PATH, StorageBox
from clusterwright.facility.storage.design import StorageDesign
from clusterwright.units import percent

#: Families of media whose switch cages a splitter cable can join to ports of half the rate.
_SPLIT_FAMILIES = ("ndr", "eth400")


def storage_box_family(design: StorageDesign, *, family: str, switch_bytes_per_s: float) -> str:
    """Return the media that join boxes to the storage network.

    A faster port runs at the switch's rate; one of half the rate of an NDR switch hangs on a splitter cable.

    Args:
        design: with the rate of a box's ports.
        family: of media of the switch's ports.
        switch_bytes_per_s: of these ports, one direction.

    Raises:
        RuleError: nothing joins them (`STO008`).
    """
    rate = design.data.port_bytes_per_s_one_way or 0.0
    if rate >= switch_bytes_per_s:
        return family
    if family in _SPLIT_FAMILIES and rate * SPLIT_PORTS == switch_bytes_per_s:
        return SPLITTER_FAMILY
    raise RuleError(
        (
            Finding(
                id="STO008",
                path=PATH,
                message=(
                    f"the ports of {design.data.name} ({rate * 8 / 1e9:.0f} Gb/s) do not fit the storage network of "
                    f"{switch_bytes_per_s * 8 / 1e9:.0f} Gb/s"
                ),
                help=(
                    "order boxes with ports of "
                    + (f"{switch_bytes_per_s * 4 / 1e9:.0f} or " if family in _SPLIT_FAMILIES else "")
                    + f"{switch_bytes_per_s * 8 / 1e9:.0f} Gb/s and say so in targets.onprem.storage.box.port_rate"
                ),
            ),
        )
    )


def storage_lines(design: StorageDesign) -> list[tuple[StorageBox, int, str]]:
    """Return the kinds of boxes to buy: which, how many, by which rule."""
    several = design.front is not None
    lines = [(design.data, design.data_boxes, "by " + _why(design, "data", several=several))]
    if design.front is not None:
        lines.append((design.front, design.front_boxes, _why(design, "front", several=several)))
    return lines


def _why(design: StorageDesign, of: str, *, several: bool) -> str:
    if not design.asked:
        return "capacity" if of == "data" else "one for each data box, at least 2 (assumed)"
    marker = f" ({of} boxes)"
    return " and ".join(rule.removesuffix(marker) for rule in design.binding if not several or rule.endswith(marker))


def storage_note(design: StorageDesign) -> str:
    """Return what a reader of the documents has to know of the storage, in a few sentences."""
    boxes = f"{design.data_boxes} data box{'es' if design.data_boxes > 1 else ''}"
    if design.asked:
        front = f" and {design.front_boxes} {design.front.name}" if design.front is not None else ""
        return (
            f"Storage: {design.data_boxes} {design.data.name}{front}, decided by {', '.join(design.binding)}. It must "
            f"hold {design.capacity_bytes / 1e12:,.0f} TB and sustain {design.read_bytes_per_s / 1e9:,.1f} GB/s read "
            f"and {design.write_bytes_per_s / 1e9:,.1f} GB/s write; storage.md says where this comes from."
        )
    return (
        f"Storage of {design.capacity_bytes / 1e12:,.0f} TB stands on {boxes}, of whose raw capacity "
        f"{percent(design.usable_fraction)} is taken as usable (assumed). It must sustain "
        f"{design.read_bytes_per_s / 1e9:,.1f} GB/s read and {design.write_bytes_per_s / 1e9:,.1f} GB/s write. The "
        "boxes' throughput is not published: have the vendor confirm it."
    )
