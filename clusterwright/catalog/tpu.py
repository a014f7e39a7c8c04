"""Slices of TPUs: which numbers of chips there are, the shape of each, and what Google calls it."""

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, kw_only=True, slots=True)
class TpuSlice:
    """The slices of one TPU generation.

    Attributes:
        id: the placement object that it belongs to.
        type_prefix: of an accelerator type such as `v5p-128`; counts_cores: its number is of cores, else of chips.
        topology_type: as the TPU service names the generation.
        dimensions: of a shape; cube: edge of what larger slices consist of, None where only `small_shapes` exist;
            longest_edge: of a shape.
    """

    id: str
    type_prefix: str
    cores_per_chip: int
    counts_cores: bool
    topology_type: str
    dimensions: int
    small_shapes: tuple[str, ...]
    cube: int | None = None
    longest_edge: int = 256
    verified: bool = True
    source: str = ""
    note: str = ""

    def accelerator_type(self, chips: int) -> str:
        """Return the name of a slice: `v5p-128` has 64 chips of two cores, `v5litepod-16` has 16 chips."""
        return f"{self.type_prefix}-{chips * self.cores_per_chip if self.counts_cores else chips}"

    def shape(self, chips: int) -> str | None:
        """Return the shape of a slice, such as `4x4x8`; the one nearest to a cube, None where there is none."""
        for shape in self.small_shapes:
            if _chips(shape) == chips:
                return shape
        if self.cube is None or chips % self.cube**self.dimensions:
            return None
        edges = [edge * self.cube for edge in _edges(chips // self.cube**self.dimensions)]
        return None if edges[-1] > self.longest_edge else "x".join(str(edge) for edge in edges)

    def nearest(self, chips: int, *, most: int) -> tuple[int | None, int | None]:
        """Return the largest slice of at most this many chips and the smallest of at least this many, up to `most`."""
        sizes = self.sizes(most)
        below = max((size for size in sizes if size <= chips), default=None)
        above = min((size for size in sizes if size >= chips), default=None)
        return below, above

    def sizes(self, most: int) -> tuple[int, ...]:
        """Return the numbers of chips that slices have, smallest first."""
        found = {size for shape in self.small_shapes if (size := _chips(shape)) <= most}
        if self.cube is not None:
            unit = self.cube**self.dimensions
            found |= {size for size in range(unit, most + 1, unit) if self.shape(size) is not None}
        return tuple(sorted(found))


def _chips(shape: str) -> int:
    return prod(int(edge) for edge in shape.split("x"))


def _edges(cubes: int) -> tuple[int, int, int]:
    """Return three ascending whole numbers with this product, as equal as they can be."""
    best = (1, 1, cubes)
    for first in range(1, cubes + 1):
        if first**3 > cubes:
            break
        if cubes % first:
            continue
        rest = cubes // first
        for second in range(first, rest + 1):
            if second**2 > rest:
                break
            if rest % second == 0 and (rest // second, -first) < (best[2], -best[0]):
                best = (first, second, rest // second)
    return best
