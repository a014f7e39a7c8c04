"""Where a configuration value comes from in the blueprint, so that findings point at what its author wrote."""

from collections.abc import Callable

from clusterwright.blueprint.load import LoadedBlueprint, position
from clusterwright.checks.preflight.files.project import Layer, Path
from clusterwright.checks.preflight.results import Place

#: Keys of the configuration to paths of the blueprint; `{target}` is the cloud's section.
_FROM: dict[str, tuple[str, ...]] = {
    "clusterName": ("cluster", "name"),
    "partition": ("cluster", "partition"),
    "tags": ("cluster", "tags"),
    "jobEnvironment": ("cluster", "jobs"),
    "users": ("cluster", "users"),
    "directory": ("cluster", "directory"),
    "timeToLiveHours": ("cluster", "time_to_live"),
    "stopWhenIdleMinutes": ("cluster", "stop_when_idle"),
    "region": ("targets", "{target}", "region"),
    "location": ("targets", "{target}", "region"),
    "availabilityZone": ("targets", "{target}", "zone"),
    "zone": ("targets", "{target}", "zone"),
    "nodeType": ("targets", "{target}", "instance"),
    "nodeCount": ("targets", "{target}", "max_nodes"),
    "capacity": ("targets", "{target}", "capacity"),
    "reservationId": ("targets", "{target}", "reservation"),
    "vpcCidr": ("targets", "{target}", "network", "cidr"),
    "vnetAddressSpace": ("targets", "{target}", "network", "cidr"),
    "networkCidr": ("targets", "{target}", "network", "cidr"),
    "existingNetwork": ("targets", "{target}", "network", "existing"),
    "sharedStorage": ("targets", "{target}", "file_system"),
}


def placing(loaded: LoadedBlueprint) -> Callable[[Path], Place | None]:
    """Return what gives a path's place in the blueprint."""

    def place(path: Path) -> Place | None:
        found = position(loaded.document, path)
        if found is None:
            return Place(file=loaded.document.name)
        return Place(file=loaded.document.name, line=found.line, column=found.column)

    return place


def relocation(loaded: LoadedBlueprint, target: str) -> Callable[[Layer, str, Path], Place | None]:
    """Return what gives a value's place in the blueprint: its own line, else the nearest section around it."""
    place_of = placing(loaded)

    def place(layer: Layer, key: str, path: Path) -> Place | None:
        del layer, path
        short = key.rpartition(":")[2]
        wanted = tuple(part.format(target=target) for part in _FROM.get(short, ("targets", "{target}")))
        return place_of(wanted if wanted in loaded.document.keys or wanted[0] == "cluster" else wanted[:2])

    return place
