"""Where instance types are sold: what the sources that know a region say, and whether they agree."""

from dataclasses import dataclass

from clusterwright.catalog.records import Catalogue, Instance
from clusterwright.clouds import CLOUDS

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


def doubt_text(catalogue: Catalogue, says: Verdict) -> str:
    """Return what a doubtful verdict rests on, as a sentence that the type and its region complete."""
    listed, left_out = (
        " and ".join(catalogue.sources[source].title.partition(":")[0].partition(" (")[0] for source in sources)
        for sources in (says.listed_by, says.left_out_by)
    )
    if not listed and not left_out:
        return "no source says whether there is"
    if not listed:
        return f"the only source, {left_out}, does not list"
    return f"{listed} {'list' if len(says.listed_by) > 1 else 'lists'} and {left_out} does not list"


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
    partial = CLOUDS[instance.cloud].lists_are_partial
    silent = [source for source in lists if partial and known is not None and source not in known.listed_by]
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
    """Return every region of a cloud in which a source lists a type at all, or of which a source says which it has."""
    found = {entry.id for entry in catalogue.regions.values() if entry.cloud == cloud and entry.listed_by}
    for entry in catalogue.instances.values():
        if entry.cloud == cloud:
            found |= {region_of(cloud, place) for place in entry.regions}
    return tuple(sorted(found))


def zones_with(instance: Instance, region: str) -> tuple[str, ...]:
    """Return the zones of a region of Google Cloud in which a source lists a type; nothing of other clouds.

    AWS gives its zones other letters in every account, so that no list of types by zone would hold.
    """
    cloud = CLOUDS.get(instance.cloud)
    if cloud is None or not cloud.zones_are_listed:
        return ()
    return tuple(sorted(place for place in instance.regions if cloud.region_of(place) == region != place))


@dataclass(frozen=True, kw_only=True, slots=True)
class ZoneVerdict:
    """What sources say of a zone.

    Attributes:
        known: the zones of the region in full, as a user writes them; empty if it has none, or nobody knows.
        left_out_by: sources that know the zones of the region, if none of them has this one.
        silent: whether no source knows which zones the region has.
    """

    known: tuple[str, ...]
    left_out_by: tuple[str, ...]
    silent: bool

    @property
    def refused(self) -> bool:
        """Whether two sources or more know the region, and none has the zone."""
        return len(self.left_out_by) > 1

    @property
    def doubtful(self) -> bool:
        """Whether the only source that knows the region does not have the zone, or none knows the region."""
        return self.silent or len(self.left_out_by) == 1


def zone_verdict(catalogue: Catalogue, cloud: str, region: str, zone: str) -> ZoneVerdict:
    """Return what sources that know the zones of a region say of one of them.

    On Google Cloud a zone in which some instance type is listed exists, whatever the lists of zones say.
    """
    entry = catalogue.regions.get(region)
    if entry is None or entry.cloud != cloud or not entry.zones_listed_by:
        return ZoneVerdict(known=(), left_out_by=(), silent=True)
    known = {CLOUDS[cloud].zone_of(region, each) for each in entry.zones}
    if CLOUDS[cloud].zones_are_listed:
        places = {place for instance in catalogue.instances.values() for place in instance.regions}
        known |= {place for place in places if region_of(cloud, place) == region != place}
    left_out_by = () if zone in known else entry.zones_listed_by
    return ZoneVerdict(known=tuple(sorted(known)), left_out_by=left_out_by, silent=False)


def region_of(cloud: str, place: str) -> str:
    """Return the region of a place that may be a zone of Google Cloud.

    >>> region_of("gcp", "us-central1-a"), region_of("aws", "us-east-1")
    ('us-central1', 'us-east-1')
    """
    return CLOUDS[cloud].region_of(place) if cloud in CLOUDS else place
