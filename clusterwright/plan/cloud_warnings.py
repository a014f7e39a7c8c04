"""What the facts leave in doubt of a target's place: regions and zones on which sources differ."""

from clusterwright.blueprint.hardware import CLOUDS, ResolvedTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.offerings import listed_regions, verdict, zones_of
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import Finding


def place_warnings(blueprint: Blueprint, catalogue: Catalogue, target: ResolvedTarget) -> list[Finding]:
    """Return what is in doubt of a target's region and zone.

    `PLC002`: sources differ whether the region has the type, or only one knows; `PLC004`: no source lists the type in
    the zone, or knows the zone; `PLC005`: facts of the type that are not verified.
    """
    if target.target not in CLOUDS or target.instance is None:
        return []
    asked = getattr(blueprint.targets, target.target)
    instance, path = target.instance, ("targets", target.target)
    found = []
    says = verdict(catalogue, instance, asked.region)
    if says.doubtful:
        found.append(
            Finding(
                id="PLC002",
                path=(*path, "region"),
                message=f"{_doubt(catalogue, says.listed_by, says.left_out_by)} {instance.id} in {asked.region}",
                help=_elsewhere(listed_regions(catalogue, instance)),
            )
        )
    zones = zones_of(catalogue, instance, asked.region)
    if asked.zone is not None and zones and asked.zone not in zones:
        unlisted = f"the only source on zones does not list {instance.id} in {asked.zone}"
        found.append(
            Finding(
                id="PLC004",
                path=(*path, "zone"),
                message=unlisted if target.target == "gcp" else f"no source knows zone {asked.zone}",
                help=f"known are {', '.join(zones)}",
            )
        )
    if not instance.verified:
        why = f": {instance.note}" if instance.note else ""
        found.append(
            Finding(
                id="PLC005",
                path=path,
                message=f"not every fact of {instance.id} is verified{why}",
                help=f"see clusterwright facts {instance.id}",
            )
        )
    return found


def _doubt(catalogue: Catalogue, listed: tuple[str, ...], left_out: tuple[str, ...]) -> str:
    if not listed and not left_out:
        return "no source says whether there is"
    if not listed:
        return f"the only source, {_titles(catalogue, left_out)}, does not list"
    return f"{_titles(catalogue, listed)} lists and {_titles(catalogue, left_out)} does not list"


def _titles(catalogue: Catalogue, sources: tuple[str, ...]) -> str:
    return " and ".join(catalogue.sources[source].title.partition(":")[0].partition(" (")[0] for source in sources)


def _elsewhere(regions: tuple[str, ...]) -> str:
    if not regions:
        return "ask the cloud before you rely on it"
    return f"ask the cloud before you rely on it; listed are {', '.join(regions)}"
