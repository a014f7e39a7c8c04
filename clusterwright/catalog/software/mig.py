"""Slices of a GPU by MIG: legal profiles, where each may be, and whether several fit together.

The memory of a GPU is an axis of equal slices, eight where there are seven compute slices. A profile takes an interval
of it that starts at one of a few places, and a number of compute slices. Instances stand together if their intervals do
not overlap and their compute slices are not more than the GPU has (`catalog/mig_profiles.csv`, with sources).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from clusterwright import assets, units
from clusterwright.catalog import tables
from clusterwright.errors import ClusterwrightError, Finding

FILE = "mig_profiles.csv"
_MOST_SHOWN = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """One profile of a GPU instance.

    Attributes:
        name: as nvidia-smi takes it, for example `3g.40gb`; the part after g. is nominal memory.
        compute_slices, memory_slices: that it takes; starts: memory slices at which it may begin.
        most: instances of it that one GPU holds.
        shown_memory_bytes: that software sees, where a source shows it.
    """

    name: str
    compute_slices: int
    memory_slices: int
    starts: tuple[int, ...]
    most: int
    shown_memory_bytes: float | None
    source: str

    @property
    def nominal_memory_bytes(self) -> float:
        """Memory as the name says it, in GB of 1e9 bytes."""
        return float(self.name.split("+")[0].split(".")[1].removesuffix("gb")) * 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """An instance of a profile at a memory slice."""

    profile: str
    start: int
    slices: int

    def __str__(self) -> str:
        """Return as nvidia-smi takes it for `-cgi`: `3g.40gb:4`."""
        return f"{self.profile}:{self.start}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Slices:
    """Slices that are asked for.

    Attributes:
        geometry: profiles of one GPU.
        gpus: of a node that are divided; all if None.
        instances: of a node, by profile; what geometry and gpus make if None.
    """

    geometry: tuple[str, ...]
    gpus: int | None = None
    instances: tuple[tuple[str, int], ...] | None = None


@cache
def profiles_by_gpu() -> dict[str, tuple[Profile, ...]]:
    """Return the profiles of each GPU that is known to have MIG, by catalogue id.

    Raises:
        ClusterwrightError: the file cannot be read.
    """
    path = assets.root() / "catalog" / FILE
    found: dict[str, list[Profile]] = {}
    try:
        for row in tables.read(path):
            profile = _profile(row.cells)
            for gpu in row.cells["gpus"].split():
                found.setdefault(gpu, []).append(profile)
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error
    return {gpu: tuple(profiles) for gpu, profiles in found.items()}


def _profile(cells: dict[str, str]) -> Profile:
    shown = cells.get("shown_memory_bytes")
    return Profile(
        name=cells["profile"],
        compute_slices=int(cells["compute_slices"]),
        memory_slices=int(cells["memory_slices"]),
        starts=tuple(int(start) for start in cells["starts"].split()),
        most=int(cells["most"]),
        shown_memory_bytes=None if shown is None else units.parse(shown, units.BYTES),
        source=cells["source"],
    )


def compute_slices_of(profiles: Sequence[Profile]) -> int:
    """Return the compute slices of a GPU: those of its largest profile."""
    return max(profile.compute_slices for profile in profiles)


def share_of(name: str, profiles: Sequence[Profile]) -> float:
    """Return the part of a GPU that an instance takes from others: the larger of its shares of compute and memory.

    A full GPU is never billed with less than its slices take: 3g and 3g of an A100 are one GPU, 4g and 3g are 1.07.

    >>> a100 = profiles_by_gpu()["a100-sxm-80gb"]
    >>> share_of("3g.40gb", a100), round(7 * share_of("1g.10gb", a100), 6)
    (0.5, 1.0)

    Raises:
        KeyError: the GPU has no profile of that name.
    """
    wanted = {profile.name: profile for profile in profiles}[name]
    memory = max(profile.memory_slices for profile in profiles)
    return max(wanted.compute_slices / compute_slices_of(profiles), wanted.memory_slices / memory)


def place(profiles: Sequence[Profile], names: Sequence[str]) -> tuple[Placed, ...] | None:
    """Return where instances of these profiles stand on one GPU together; None where they do not fit.

    Profiles of more memory slices are placed first, those of equally many by name, and each start is tried, so None
    means that there is no way.

    >>> h100 = profiles_by_gpu()["h100-sxm-80gb"]
    >>> [str(entry) for entry in place(h100, ["3g.40gb", "4g.40gb"])]
    ['3g.40gb:4', '4g.40gb:0']
    >>> place(h100, ["4g.40gb", "4g.40gb"]) is None
    True

    Raises:
        KeyError: the GPU has no profile of a name.
    """
    known = {profile.name: profile for profile in profiles}
    wanted = sorted((known[name] for name in names), key=lambda profile: (-profile.memory_slices, profile.name))
    if any(count > known[name].most for name, count in Counter(names).items()):
        return None
    if sum(profile.compute_slices for profile in wanted) > compute_slices_of(profiles):
        return None
    return next(_ways(wanted, frozenset()), None)


def _ways(wanted: Sequence[Profile], taken: frozenset[int]) -> Iterator[tuple[Placed, ...]]:
    if not wanted:
        yield ()
        return
    first, *rest = wanted
    for start in first.starts:
        slices = frozenset(range(start, start + first.memory_slices))
        if not slices & taken:
            for others in _ways(rest, taken | slices):
                yield (Placed(profile=first.name, start=start, slices=first.memory_slices), *others)


def geometries(profiles: Sequence[Profile]) -> tuple[tuple[str, ...], ...]:
    """Return every legal set of instances to which none can be added, the fewest instances first.

    A set is named by its profiles in the order of the table; sets that differ in the places alone are one.
    """
    order = {profile.name: index for index, profile in enumerate(profiles)}
    legal = _all_legal(profiles)
    full = [
        names
        for names in legal
        if not any(tuple(sorted((*names, name), key=order.__getitem__)) in legal for name in order)
    ]
    return tuple(sorted(full, key=lambda names: (len(names), [-order[name] for name in names])))


def _all_legal(profiles: Sequence[Profile]) -> frozenset[tuple[str, ...]]:
    order = {profile.name: index for index, profile in enumerate(profiles)}
    found: set[tuple[str, ...]] = set()
    grown: set[tuple[str, ...]] = {()}
    while grown:
        grown = {
            larger
            for names in grown
            for name in order
            if (larger := tuple(sorted((*names, name), key=order.__getitem__))) not in found
            and place(profiles, larger) is not None
        }
        found |= grown
    return frozenset(found)


def placements(profiles: Sequence[Profile]) -> tuple[tuple[Placed, ...], ...]:
    """Return every legal way to fill a GPU, by place: to none of them an instance can be added.

    Of profiles that take the same slices (those with media engines) only the first is used.
    """
    by_size = {(profile.compute_slices, profile.memory_slices): profile for profile in reversed(profiles)}
    kinds = list(by_size.values())
    most = compute_slices_of(profiles)
    choices = [
        Placed(profile=profile.name, start=start, slices=profile.memory_slices)
        for profile in kinds
        for start in profile.starts
    ]
    compute = {profile.name: profile.compute_slices for profile in kinds}
    return tuple(_filled((), choices, compute, most))


def _filled(
    chosen: tuple[Placed, ...], choices: Sequence[Placed], compute: dict[str, int], most: int
) -> Iterator[tuple[Placed, ...]]:
    def fits(entry: Placed) -> bool:
        free = all(
            entry.start + entry.slices <= other.start or other.start + other.slices <= entry.start for other in chosen
        )
        return free and sum(compute[other.profile] for other in chosen) + compute[entry.profile] <= most

    open_choices = [entry for entry in choices if fits(entry)]
    if not open_choices:
        yield chosen
        return
    # Each set once: what is added begins after what was added last, unless nothing there is free any more.
    last = chosen[-1].start if chosen else -1
    for entry in open_choices:
        if entry.start > last:
            yield from _filled((*chosen, entry), choices, compute, most)


def findings(
    gpu: str, gpu_name: str, asked: Slices, path: tuple[str | int, ...], *, gpus_per_node: int
) -> tuple[Finding, ...]:
    """Return what is wrong with slices that are asked of a GPU; empty where they can be had.

    Args:
        gpu: catalogue id.
        gpu_name: for people.
        asked: the slices.
        path: of the section in the blueprint.
        gpus_per_node: that there are.
    """
    profiles = profiles_by_gpu().get(gpu)
    if profiles is None:
        return (
            Finding(
                id="MIG001",
                path=path,
                message=f"{gpu_name} is not known to be divisible by MIG",
                help="remove mig, or choose one of: " + ", ".join(sorted(profiles_by_gpu())),
            ),
        )
    known = [profile.name for profile in profiles]
    unknown = [name for name in asked.geometry if name not in known]
    if unknown:
        return (
            Finding(
                id="MIG002",
                path=(*path, "geometry"),
                message=f"{gpu_name} has no profile {unknown[0]}",
                help=f"one of {', '.join(known)}",
            ),
        )
    if place(profiles, asked.geometry) is None:
        return (_illegal(gpu_name, profiles, asked.geometry, path),)
    return tuple(_sums(asked, path, gpus_per_node))


def _illegal(gpu_name: str, profiles: Sequence[Profile], names: Sequence[str], path: tuple[str | int, ...]) -> Finding:
    known = {profile.name: profile for profile in profiles}
    compute = sum(known[name].compute_slices for name in names)
    memory = sum(known[name].memory_slices for name in names)
    axis = max(profile.memory_slices for profile in profiles)
    starts = "; ".join(
        f"{name} at {', '.join(map(str, known[name].starts))}, at most {known[name].most}"
        for name in dict.fromkeys(names)
    )
    largest = max(names, key=lambda name: known[name].memory_slices)
    plain = [profile for profile in profiles if "+" not in profile.name or profile.name in names]
    ways = [geometry for geometry in geometries(plain) if largest in geometry]
    shown = "; ".join(" + ".join(geometry) for geometry in ways[:_MOST_SHOWN])
    more = f"; and {len(ways) - _MOST_SHOWN} more" if len(ways) > _MOST_SHOWN else ""
    return Finding(
        id="MIG002",
        path=(*path, "geometry"),
        message=f"{' + '.join(names)} do not fit on one {gpu_name}: they take {compute} of "
        f"{compute_slices_of(profiles)} compute slices and {memory} of {axis} memory slices, and may begin at: "
        f"{starts}",
        help=f"with {largest} a GPU is full with: {shown}{more}",
    )


def _sums(asked: Slices, path: tuple[str | int, ...], gpus_per_node: int) -> Iterator[Finding]:
    divided = gpus_per_node if asked.gpus is None else asked.gpus
    if divided > gpus_per_node:
        yield Finding(
            id="MIG003",
            path=(*path, "gpus"),
            message=f"{divided} GPUs of a node are to be divided, and it has {gpus_per_node}",
            help=f"give at most {gpus_per_node}",
        )
    elif asked.instances is not None:
        made = {name: count * divided for name, count in Counter(asked.geometry).items()}
        if made != {name: count for name, count in asked.instances if count}:
            said = ", ".join(f"{count} of {name}" for name, count in made.items())
            wanted = ", ".join(f"{count} of {name}" for name, count in asked.instances)
            yield Finding(
                id="MIG003",
                path=(*path, "instances"),
                message=f"{divided} GPUs of a node with {' + '.join(asked.geometry)} make {said}, not {wanted}",
                help=f"write {said}, or change geometry or gpus",
            )
