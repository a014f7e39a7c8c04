"""What the facts leave in doubt of a target's place: regions and zones on which sources differ."""

from clusterwright.blueprint.rules.hardware import CLOUDS, ResolvedTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.offerings import doubt_text, listed_regions, verdict, zone_verdict, zones_with
from clusterwright.catalog.records import Catalogue, Instance
from clusterwright.errors import Finding


def place_warnings(blueprint: Blueprint, catalogue: Catalogue, target: ResolvedTarget) -> list[Finding]:
    """Return what is in doubt of a target's region and zone.

    `PLC002`: sources differ whether the region has the type, or only one knows; `PLC004`: the only source lists no such
    zone, or no type in it, or no source knows the region's zones; `PLC005`: facts of the type that are not verified.
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
                message=f"{doubt_text(catalogue, says)} {instance.id} in {asked.region}",
                help=_elsewhere(listed_regions(catalogue, instance)),
            )
        )
    if asked.zone is not None:
        found += _zone_warnings(catalogue, instance, asked.region, asked.zone)
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


def _zone_warnings(catalogue: Catalogue, instance: Instance, region: str, zone: str) -> list[Finding]:
    """Return `PLC004` for a zone on which sources leave a doubt; what they agree on is an error already."""
    says, listed = zone_verdict(catalogue, instance.cloud, region, zone), zones_with(instance, region)
    ask = "ask the cloud before you rely on it"
    if says.silent:
        message, advice = f"no source knows the zones of {region}", ask
    elif says.doubtful:
        message = f"the only source that knows {region}, {says.left_out_by[0]}, has no zone {zone}"
        advice = f"known are {', '.join(says.known) or 'none'}"
    elif listed and zone not in listed:
        message = f"the only source on zones does not list {instance.id} in {zone}"
        advice = f"known are {', '.join(listed)}"
    else:
        return []
    return [Finding(id="PLC004", path=("targets", instance.cloud, "zone"), message=message, help=advice)]


def _elsewhere(regions: tuple[str, ...]) -> str:
    if not regions:
        return "ask the cloud before you rely on it"
    return f"ask the cloud before you rely on it; listed are {', '.join(regions)}"
