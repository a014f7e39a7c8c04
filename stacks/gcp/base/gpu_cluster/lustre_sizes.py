"""Which sizes Managed Lustre accepts. No cloud call is made here."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from gpu_cluster.config_values import Values


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreTier:
    """Sizes that one Managed Lustre performance tier accepts."""

    step_gib: int
    """Smallest size and increment."""
    documented_max_gib: int
    """Above this the published copies disagree on maximum and increment."""


# cloud.google.com/managed-lustre/docs performance tiers and quotas. Older copies of the quotas page double the
# smallest size, so the service can still refuse what is accepted here.
LUSTRE_TIERS: Final[Mapping[int, LustreTier]] = MappingProxyType(
    {
        125: LustreTier(step_gib=72_000, documented_max_gib=7_632_000),
        250: LustreTier(step_gib=36_000, documented_max_gib=3_816_000),
        500: LustreTier(step_gib=18_000, documented_max_gib=1_908_000),
        1000: LustreTier(step_gib=9_000, documented_max_gib=954_000),
    }
)

MOUNT_PATH = r"(/[A-Za-z0-9._-]+)+"


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSystemSize:
    """Size and tier of the Managed Lustre file system."""

    capacity_gib: int
    throughput_mb_per_s_per_tib: int


def read_file_system(values: Values) -> FileSystemSize | None:
    """Read the section `sharedStorage`; None where there is to be no file system."""
    section = values.section("sharedStorage")
    capacity_gib = section.whole("capacityGib", 0, 100_000_000)
    throughput = section.whole("throughputMbPerSPerTib", 1, 100_000, default=1000)
    section.refuse_unknown()
    if not capacity_gib:
        return None
    tier = LUSTRE_TIERS.get(throughput)
    if tier is None:
        tiers = ", ".join(str(known) for known in LUSTRE_TIERS)
        section.fail("throughputMbPerSPerTib", f"needs one of {tiers}, got {throughput}")
    elif capacity_gib % tier.step_gib:
        larger = -(-capacity_gib // tier.step_gib) * tier.step_gib
        below = f", the one below is {larger - tier.step_gib}" if larger > tier.step_gib else ""
        section.fail(
            "capacityGib",
            f"at {throughput} MB/s per TiB a size is a multiple of {tier.step_gib} GiB, got {capacity_gib}; "
            f"the next size is {larger}{below}",
        )
    return FileSystemSize(capacity_gib=capacity_gib, throughput_mb_per_s_per_tib=throughput)


def size_warnings(size: FileSystemSize | None) -> list[str]:
    """What the service may refuse although one published page allows it."""
    if size is None:
        return []
    tier = LUSTRE_TIERS[size.throughput_mb_per_s_per_tib]
    if size.capacity_gib <= tier.documented_max_gib:
        return []
    return [
        f"sharedStorage.capacityGib: above {tier.documented_max_gib} GiB Google's pages disagree on maximum "
        f"and increment of this tier; the service may refuse {size.capacity_gib} GiB"
    ]
