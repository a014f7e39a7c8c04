"""What tells the clouds apart in small: names, places and units, as data. Programs differ in `stacks/`.

A comparison with a provider's name anywhere else is a branch that a fourth cloud would have to find
(`tests/test_clouds_are_data.py`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_GIB_PER_TIB = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Cloud:
    """A provider as the package has to know it.

    Attributes:
        id: as in blueprints.
        zone: pattern of a zone's full name, with the place of the region's name as `{region}`.
        zone_name: how a zone is written, of its region and its own part.
        zone_key: key of the zone in the configuration of its projects.
        zones_are_listed: lists of instance types name zones, which are the same in every account.
        zone_has_region: a zone's name begins with its region's.
        service_range: the range of Kubernetes services can be chosen.
        storage_in_tib: file systems are asked for in TiB, not in GiB.
        labels_in_lower_case: labels have no capital letters and few signs.
        lists_are_partial: lists of where types are offered leave whole regions out (governments, China), so that a list
            says nothing of a region that it does not have.
        kubernetes_has_images: managed Kubernetes chooses the nodes' image by its own version.
        roce_library: what tables of software call RoCE here, where a provider may have a collective library of its own.
    """

    id: str
    zone: str
    zone_name: str
    zone_key: str = "zone"
    zones_are_listed: bool = False
    zone_has_region: bool = True
    service_range: bool = False
    storage_in_tib: bool = False
    labels_in_lower_case: bool = False
    lists_are_partial: bool = False
    kubernetes_has_images: bool = False
    roce_library: str = "roce"

    def fits_region(self, zone: str, region: str) -> bool:
        """Tell whether a zone's name is one of a region.

        >>> CLOUDS["gcp"].fits_region("us-central1-a", "us-central1"), CLOUDS["azure"].fits_region("4", "eastus")
        (True, False)
        """
        return re.fullmatch(self.zone.format(region=re.escape(region)), zone) is not None

    def zone_of(self, region: str, last: str) -> str:
        """Return a zone as users write it, of its region and what tells it from the region's others."""
        return self.zone_name.format(region=region, last=last)

    def region_of(self, place: str) -> str:
        """Return the region of a place that is one, or a zone where lists name zones.

        >>> CLOUDS["gcp"].region_of("us-central1-a"), CLOUDS["aws"].region_of("us-east-1")
        ('us-central1', 'us-east-1')
        """
        head, _, tail = place.rpartition("-")
        return head if self.zones_are_listed and len(tail) == 1 else place

    def capacity_text(self, capacity_gib: float) -> str:
        """Return the capacity of a file system in the unit that the provider takes."""
        return f"{capacity_gib / _GIB_PER_TIB:,.10g} TiB" if self.storage_in_tib else f"{capacity_gib:,.10g} GiB"


CLOUDS: Mapping[str, Cloud] = MappingProxyType(
    {
        "aws": Cloud(
            id="aws",
            zone="{region}[a-z]",
            zone_name="{region}{last}",
            zone_key="availabilityZone",
            lists_are_partial=True,
        ),
        "azure": Cloud(
            id="azure",
            zone="[123]",
            zone_name="{last}",
            zone_has_region=False,
            service_range=True,
            storage_in_tib=True,
            kubernetes_has_images=True,
        ),
        "gcp": Cloud(
            id="gcp",
            zone="{region}-[a-z]",
            zone_name="{region}-{last}",
            zones_are_listed=True,
            labels_in_lower_case=True,
            kubernetes_has_images=True,
            roce_library="gib",
        ),
    }
)


def has_service_range(target: str) -> bool:
    """Return whether the range of Kubernetes services can be chosen on a target, which may be no cloud."""
    return target in CLOUDS and CLOUDS[target].service_range
