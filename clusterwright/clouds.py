"""Small differences between the clouds as data: names, zones and units. Their programs are in `stacks/`.

A comparison with a provider's name anywhere else is a branch that whoever adds a fourth cloud would have to find
(`tests/test_clouds_are_data.py`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_GIB_PER_TIB = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Cloud:
    """Properties of one provider that differ between clouds.

    Attributes:
        id: name of the provider in blueprints.
        zone: regular expression of a zone's full name, with `{region}` in place of the region's name.
        zone_name: format of a zone's name, from `{region}` and the zone's own suffix `{last}`.
        zone_key: key of the zone in the configuration of generated projects.
        zones_are_listed: whether lists of instance types name zones, which are the same in every account.
        zone_has_region: whether a zone's name begins with the name of its region.
        service_range: whether the address range of Kubernetes services can be chosen.
        storage_in_tib: whether file systems are requested in TiB instead of GiB.
        labels_in_lower_case: whether labels allow no capital letters and few special characters.
        lists_are_partial: whether lists of the regions that offer a type omit whole regions (government, China), so
            that a region's absence from a list proves nothing.
        kubernetes_has_images: whether managed Kubernetes chooses the nodes' image by its own version.
        pools_divide_gpus: whether node pools of managed Kubernetes divide or share their GPUs by a setting.
        names_ways_out: whether the machines' firewall lets out what a rule names alone.
        roce_library: name of RoCE in the software tables, since a provider may have its own collective library.
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
    pools_divide_gpus: bool = False
    names_ways_out: bool = False
    roce_library: str = "roce"

    def fits_region(self, zone: str, region: str) -> bool:
        """Return whether a zone's name belongs to a region.

        >>> CLOUDS["gcp"].fits_region("us-central1-a", "us-central1"), CLOUDS["azure"].fits_region("4", "eastus")
        (True, False)
        """
        return re.fullmatch(self.zone.format(region=re.escape(region)), zone) is not None

    def zone_of(self, region: str, last: str) -> str:
        """Return the name of a zone as users write it, from its region and its own suffix."""
        return self.zone_name.format(region=region, last=last)

    def region_of(self, place: str) -> str:
        """Return the region of a place, which is a region or, where lists name zones, a zone.

        >>> CLOUDS["gcp"].region_of("us-central1-a"), CLOUDS["aws"].region_of("us-east-1")
        ('us-central1', 'us-east-1')
        """
        head, _, tail = place.rpartition("-")
        return head if self.zones_are_listed and len(tail) == 1 else place

    def capacity_text(self, capacity_gib: float) -> str:
        """Return the capacity of a file system as text in the provider's unit."""
        return f"{capacity_gib / _GIB_PER_TIB:,.10g} TiB" if self.storage_in_tib else f"{capacity_gib:,.10g} GiB"


CLOUDS: Mapping[str, Cloud] = MappingProxyType(
    {
        "aws": Cloud(
            id="aws",
            zone="{region}[a-z]",
            zone_name="{region}{last}",
            zone_key="availabilityZone",
            lists_are_partial=True,
            names_ways_out=True,
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
            pools_divide_gpus=True,
            roce_library="gib",
        ),
    }
)


def has_service_range(target: str) -> bool:
    """Return whether the range of Kubernetes services can be chosen on a target; False where it is no cloud."""
    return target in CLOUDS and CLOUDS[target].service_range
