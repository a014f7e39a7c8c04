"""The clouds' managed Lustre: the tier and size that a job needs, or that a blueprint asks for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clusterwright.catalog.clouds.lustre import LustreTier, lustre_tiers
from clusterwright.clouds import CLOUDS
from clusterwright.errors import Finding, InputError, RuleError
from clusterwright.sizing.records.run import StorageNeed

GIB = 2.0**30
#: What a TiB costs apart from its throughput, in units of throughput (see `choose_file_system`).
CAPACITY_WEIGHT_MB_PER_S_PER_TIB = 150
_NAMES = {"aws": "FSx for Lustre", "azure": "Azure Managed Lustre", "gcp": "Google Cloud Managed Lustre"}


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSystem:
    """A managed Lustre file system of a valid size.

    Attributes:
        capacity_gib: as the provider takes it; on_request: larger than it gives without a support request.
    """

    tier: LustreTier
    capacity_gib: int
    on_request: bool

    @property
    def bytes_per_s(self) -> float:
        """Throughput in bytes/s."""
        return self.tier.bytes_per_s(self.capacity_gib)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedFileSystem:
    """What a blueprint asks of the file system; None where it leaves the choice."""

    capacity_bytes: float | None = None
    mb_per_s_per_tib: int | None = None


NOTHING_ASKED = AskedFileSystem()


def choose_file_system(
    *, cloud: str, need: StorageNeed, efa: bool = False, asked: AskedFileSystem = NOTHING_ASKED
) -> FileSystem:
    """Choose tier and size: the least capacity x (tier + 150) of those that hold the data and move it in time.

    Prices are not known here, so this only orders the valid choices. The 150 MB/s per TiB stand for what capacity costs
    apart from throughput: the list prices of FSx for Lustre PERSISTENT_2 in us-east-1 (0.145, 0.21, 0.34 and 0.60 USD
    per GB-month for tiers 125 to 1000) lie on 0.00052 x (tier + 154) within 1 %. The tier prices of the other clouds
    are not public in a readable source; the same order is taken for them. Sizes that need a support request come last.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        need: capacity in bytes; the larger of read and write in bytes/s must be sustained.
        efa: AWS file system with EFA, which comes in larger steps.
        asked: tier and size that are not left to choose.

    Raises:
        InputError: a cloud without a table of tiers.
        RuleError: no tier is large or fast enough (`STO001`), what is asked for is not sold (`STO002`, `STO003`) or
            does not suffice (`STO004`).
    """
    wrong = asked_problem(cloud=cloud, asked=asked, efa=efa)
    if wrong is not None:
        raise RuleError((wrong,))
    tiers = [tier for tier in _tiers(cloud, efa=efa) if asked.mb_per_s_per_tib in (None, tier.mb_per_s_per_tib)]
    bytes_per_s = max(need.read_bytes_per_s, need.write_bytes_per_s)
    if asked.capacity_bytes is not None:
        return _as_asked(cloud, tiers, need, capacity_gib=asked.capacity_bytes / GIB)
    fitting = [system for tier in tiers if (system := _smallest(tier, need.capacity_bytes, bytes_per_s)) is not None]
    if not fitting:
        raise RuleError((_too_much(cloud, tiers, need, bytes_per_s),))
    return min(fitting, key=lambda system: (system.on_request, _expense(system)))


def asked_problem(
    *,
    cloud: str,
    asked: AskedFileSystem,
    efa: bool = False,
    usd_per_month: Callable[[FileSystem], float | None] = lambda _: None,
) -> Finding | None:
    """Return why the provider does not sell the tier or size that is asked for; None where it does.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        asked: tier and size.
        efa: as in `choose_file_system`.
        usd_per_month: what a file system costs, None where no price is known; for the sizes that are named instead.

    Raises:
        InputError: a cloud without a table of tiers.
    """
    path = ("targets", cloud, "file_system")
    tiers = _tiers(cloud, efa=efa)
    sold = sorted({tier.mb_per_s_per_tib for tier in tiers})
    if asked.mb_per_s_per_tib is not None and asked.mb_per_s_per_tib not in sold:
        return Finding(
            id="STO002",
            path=(*path, "mb_per_s_per_tib"),
            message=f"{_NAMES[cloud]} has no tier of {asked.mb_per_s_per_tib} MB/s per TiB",
            help=f"the tiers are {', '.join(str(tier) for tier in sold)}",
        )
    if asked.capacity_bytes is None:
        return None
    capacity_gib = asked.capacity_bytes / GIB
    tiers = [tier for tier in tiers if asked.mb_per_s_per_tib in (None, tier.mb_per_s_per_tib)]
    if any(_sold(tier, capacity_gib) is not None for tier in tiers):
        return None
    of_tier = "" if asked.mb_per_s_per_tib is None else f" at {asked.mb_per_s_per_tib} MB/s per TiB"
    named = [_in_words(system, usd_per_month(system), cloud) for system in nearest_sizes(tiers, capacity_gib)]
    return Finding(
        id="STO003",
        path=(*path, "capacity"),
        message=f"{_NAMES[cloud]} is not sold with {_amount(capacity_gib, cloud)}{of_tier}",
        help=f"the nearest sizes are {' and '.join(named)}",
    )


def nearest_sizes(tiers: Sequence[LustreTier], capacity_gib: float) -> tuple[FileSystem, ...]:
    """Return the largest size that is sold below a capacity and the smallest above it; one where there is no other.

    Of tiers that have the same size, the slowest is returned, which costs least.
    """
    found = [(tier, tier.nearest(capacity_gib)) for tier in tiers]
    below = [(size, tier) for tier, (size, _) in found if size is not None]
    above = [(size, tier) for tier, (_, size) in found if size is not None]
    chosen = []
    if below:
        chosen.append(min(below, key=lambda entry: (-entry[0], entry[1].mb_per_s_per_tib)))
    if above:
        chosen.append(min(above, key=lambda entry: (entry[0], entry[1].mb_per_s_per_tib)))
    return tuple(FileSystem(tier=tier, capacity_gib=size, on_request=False) for size, tier in chosen)


def _in_words(system: FileSystem, usd: float | None, cloud: str) -> str:
    price = "no price is known" if usd is None else f"{usd:,.0f} USD per month"
    return f"{_amount(system.capacity_gib, cloud)} at {system.tier.mb_per_s_per_tib} MB/s per TiB ({price})"


def _amount(capacity_gib: float, cloud: str) -> str:
    """Return a capacity in the unit that the provider takes."""
    return CLOUDS[cloud].capacity_text(capacity_gib)


def _tiers(cloud: str, *, efa: bool) -> list[LustreTier]:
    tiers = [tier for tier in lustre_tiers() if tier.cloud == cloud and tier.efa == efa]
    if not tiers:
        raise InputError(f"no file system tiers are known for {cloud!r}", help="known are aws, azure and gcp")
    return tiers


def _sold(tier: LustreTier, capacity_gib: float) -> FileSystem | None:
    """Return the file system of exactly this size, None where the tier does not have it, even on request."""
    size = int(capacity_gib)
    if size != capacity_gib:
        return None
    if tier.accepts(size):
        return FileSystem(tier=tier, capacity_gib=size, on_request=False)
    stepped = size >= tier.smallest_gib and size % tier.step_gib == 0
    if not stepped or size > (tier.largest_on_request_gib or 0):
        return None
    return FileSystem(tier=tier, capacity_gib=size, on_request=True)


def _as_asked(cloud: str, tiers: Sequence[LustreTier], need: StorageNeed, *, capacity_gib: float) -> FileSystem:
    bytes_per_s = max(need.read_bytes_per_s, need.write_bytes_per_s)
    sold = [system for tier in tiers if (system := _sold(tier, capacity_gib)) is not None]
    enough = [system for system in sold if system.bytes_per_s >= bytes_per_s]
    if capacity_gib * GIB >= need.capacity_bytes and enough:
        return min(enough, key=lambda system: (system.on_request, _expense(system)))
    fastest = max(system.bytes_per_s for system in sold)
    raise RuleError(
        (
            Finding(
                id="STO004",
                path=("targets", cloud, "file_system"),
                message=(
                    f"the file system that is asked for ({_amount(capacity_gib, cloud)} at {fastest / 1e9:,.1f} GB/s) "
                    f"is less than the job needs ({_amount(need.capacity_bytes / GIB, cloud)} at "
                    f"{bytes_per_s / 1e9:,.1f} GB/s)"
                ),
                help="ask for more, or leave file_system out and let the plan choose",
            ),
        )
    )


def _expense(system: FileSystem) -> float:
    return system.capacity_gib * (system.tier.mb_per_s_per_tib + CAPACITY_WEIGHT_MB_PER_S_PER_TIB)


def _smallest(tier: LustreTier, capacity_bytes: float, bytes_per_s: float) -> FileSystem | None:
    for_speed_gib = bytes_per_s / (tier.mb_per_s_per_tib * 1e6) * 1024
    capacity_gib = tier.size_for(max(capacity_bytes / GIB, for_speed_gib))
    if tier.accepts(capacity_gib):
        return FileSystem(tier=tier, capacity_gib=capacity_gib, on_request=False)
    if tier.largest_on_request_gib is not None and capacity_gib <= tier.largest_on_request_gib:
        return FileSystem(tier=tier, capacity_gib=capacity_gib, on_request=True)
    return None


def _too_much(cloud: str, tiers: list[LustreTier], need: StorageNeed, bytes_per_s: float) -> Finding:
    most = max(tiers, key=lambda tier: tier.bytes_per_s(_largest_gib(tier)))
    largest = _largest_gib(most)
    return Finding(
        id="STO001",
        path=("storage",),
        message=(
            f"shared storage of {need.capacity_bytes / 1e12:,.0f} TB at {bytes_per_s / 1e9:,.0f} GB/s is beyond every "
            f"tier of {cloud}'s managed Lustre"
        ),
        help=(
            f"the fastest is {largest:,} GiB at {most.bytes_per_s(largest) / 1e9:,.0f} GB/s; "
            "spread the data over several file systems, or keep fewer checkpoints"
        ),
    )


def _largest_gib(tier: LustreTier) -> int:
    return tier.largest_on_request_gib or tier.largest_gib or 0
