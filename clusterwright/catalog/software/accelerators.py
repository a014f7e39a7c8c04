"""What a vendor's accelerators need on a node: device files, service, exporter of figures, commands, and alerts.

The facts are in `catalog/accelerator_software.csv`, a row of a generation before the row of its vendor, and in
`catalog/accelerator_alerts.csv`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from clusterwright import assets
from clusterwright.catalog import tables
from clusterwright.errors import ClusterwrightError

FILE, ALERTS_FILE = "accelerator_software.csv", "accelerator_alerts.csv"
_GPUS = "GPUS"


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceFiles:
    """Names of the device files of a node's accelerators, in order.

    Attributes:
        name: below /dev, without the number, such as `nvidia` or `dri/renderD`.
        first, step: number of the first file, and from one to the next.
    """

    name: str
    first: int
    step: int

    def files(self, start: int, count: int) -> str:
        """Return the files of `count` accelerators from the one of index `start`, as Slurm's gres.conf takes them.

        >>> DeviceFiles(name="nvidia", first=0, step=1).files(4, 4)
        '/dev/nvidia[4-7]'
        >>> DeviceFiles(name="dri/renderD", first=128, step=8).files(0, 2)
        '/dev/dri/renderD[128,136]'
        """
        numbers = [self.first + self.step * index for index in range(start, start + count)]
        together = self.step == 1 and count > 1
        span = f"{numbers[0]}-{numbers[-1]}" if together else ",".join(map(str, numbers))
        return f"/dev/{self.name}[{span}]"

    def index(self, number: int) -> int | None:
        """Return which accelerator has the file of this number; None where none has."""
        index, rest = divmod(number - self.first, self.step)
        return index if rest == 0 and index >= 0 else None


@dataclass(frozen=True, kw_only=True, slots=True)
class AcceleratorSoftware:
    """What belongs to one vendor's accelerators on a node.

    Attributes:
        devices: their device files.
        exporter, exporter_port: what gives figures to Prometheus, and its own default port.
        listing: command that lists the accelerators of a node; memory: errors of their memory; diagnosis: a load test;
            power: their power limit; all_reduce: a collective inside a node.
        library: of collectives.
        service: systemd unit that belongs on every node; None for none.
        gres_flags: `Flags` of gres.conf; None for none.
    """

    devices: DeviceFiles
    exporter: str
    exporter_port: int
    listing: str
    memory: str
    diagnosis: str
    power: str
    all_reduce: str
    library: str
    service: str | None
    gres_flags: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    """A rule of Prometheus: what is asked, for how long it holds (empty: at once), how urgent, and what is said."""

    name: str
    expression: str
    lasts: str
    severity: str
    summary: str


def accelerator_software(vendor: str, generation: str) -> AcceleratorSoftware:
    """Return what a node with accelerators of a vendor's generation needs.

    Raises:
        ClusterwrightError: the file cannot be read, or says nothing of the vendor.
    """
    facts = _facts()
    own = facts.get((vendor, ""), {}) | facts.get((vendor, generation), {})
    try:
        return AcceleratorSoftware(
            devices=DeviceFiles(name=own["device_file"], first=int(own["first_device"]), step=int(own["device_step"])),
            exporter=own["exporter"],
            exporter_port=int(own["exporter_port"]),
            listing=own["listing"],
            memory=own["memory"],
            diagnosis=own["diagnosis"],
            power=own["power"],
            all_reduce=own["all_reduce"],
            library=own["library"],
            service=own.get("service"),
            gres_flags=own.get("gres_flags"),
        )
    except (KeyError, ValueError) as error:
        raise ClusterwrightError(
            f"{FILE} says nothing of {error} for {vendor} {generation}",
            help=f"add a row of vendor {vendor} there, with its source",
        ) from error


def alerts_of(vendor: str, *, gpus: int) -> Sequence[Alert]:
    """Return the alerts about a vendor's accelerators, of which a host has `gpus`."""
    return [
        Alert(
            name=cells["alert"],
            expression=cells["expression"].replace(_GPUS, str(gpus)),
            lasts=cells.get("for", ""),
            severity=cells["severity"],
            summary=cells["summary"].replace(_GPUS, str(gpus), 1),
        )
        for cells in _rows(ALERTS_FILE)
        if cells["vendor"] == vendor
    ]


@cache
def _facts() -> dict[tuple[str, str], dict[str, str]]:
    found: dict[tuple[str, str], dict[str, str]] = {}
    for cells in _rows(FILE):
        found.setdefault((cells["vendor"], cells.get("generation", "")), {})[cells["attribute"]] = cells["value"]
    return found


@cache
def _rows(file: str) -> tuple[dict[str, str], ...]:
    path = assets.root() / "catalog" / file
    try:
        return tuple(row.cells for row in tables.read(path))
    except (OSError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {file}: {error}", help="install Clusterwright again") from error
