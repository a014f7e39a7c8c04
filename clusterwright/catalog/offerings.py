"""Where instance types are sold: what the sources that know a region say, and whether they agree."""

from dataclasses import dataclass

from clusterwright.catalog.records import Catalogue, Instance

#: Where the regions of the instance table come from, where that is not the source of the row.
_LISTED_BY = {"azure": "azure-retail-prices"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What sources say of an instance type in a region or zone.

    Attributes:
        listed_by: sources that list it there; left_out_by: sources that know both and do not.
    """

    listed_by: tuple[str, ...]
    left_out_by: tuple[str, ...]

    @property
    def refused(self) -> bool:
        """Whether two sources or more leave it out and none lists it."""
        return not self.listed_by and len(self.left_out_by) > 1

    @property
    def doubtful(self) -> bool:
        """Whether sources differ, or the only one leaves it out, or none speaks of it."""
        return not self.refused and (bool(self.left_out_by) or not self.listed_by)


def verdict(catalogue: Catalogue, instance: Instance, region: str) -> Verdict:
    """Return what every source that speaks of an instance type says of a region.

    A source that does not know the region (EC2 offerings were captured without those of governments and China) says
    nothing, unless no source knows it.
    """
    lists = {entry.source: entry.regions for entry in catalogue.offerings if entry.instance == instance.id}
    if instance.regions:
        lists[_LISTED_BY.get(instance.cloud, instance.source)] = tuple(
            region_of(instance.cloud, place) for place in instance.regions
        )
    known = catalogue.regions.get(region)
    silent = [
        source for source in lists if instance.cloud == "aws" and known is not None and source not in known.listed_by
    ]
    speaking = {source: regions for source, regions in lists.items() if source not in silent}
    return Verdict(
        listed_by=tuple(source for source, regions in speaking.items() if region in regions),
        left_out_by=tuple(source for source, regions in speaking.items() if region not in regions),
    )


def listed_regions(catalogue: Catalogue, instance: Instance) -> tuple[str, ...]:
    """Return every region in which a source lists an instance type."""
    own = {region_of(instance.cloud, place) for place in instance.regions}
    others = (set(entry.regions) for entry in catalogue.offerings if entry.instance == instance.id)
    return tuple(sorted(own.union(*others)))


def known_regions(catalogue: Catalogue, cloud: str) -> tuple[str, ...]:
    """Return every region of a cloud in which a source lists a type at all, or that a source knows."""
    found = {entry.id for entry in catalogue.regions.values() if entry.cloud == cloud}
    for entry in catalogue.instances.values():
        if entry.cloud == cloud:
            found |= {region_of(cloud, place) for place in entry.regions}
    return tuple(sorted(found))


def zones_of(catalogue: Catalogue, instance: Instance, region: str) -> tuple[str, ...]:
    """Return the zones of a region that are known: on Google Cloud those with the type, on AWS all of the region.

    AWS gives its zones other letters in every account, so that no list of types by zone would hold.
    """
    if instance.cloud == "gcp":
        return tuple(sorted(place for place in instance.regions if region_of("gcp", place) == region != place))
    known = catalogue.regions.get(region) if instance.cloud == "aws" else None
    return () if known is None else tuple(f"{region}{letter}" for letter in known.zones)


def region_of(cloud: str, place: str) -> str:
    """Return the region of a place that may be a zone of Google Cloud.

    >>> region_of("gcp", "us-central1-a"), region_of("aws", "us-east-1")
    ('us-central1', 'us-east-1')
    """
    head, _, tail = place.rpartition("-")
    return head if cloud == "gcp" and len(tail) == 1 else place
