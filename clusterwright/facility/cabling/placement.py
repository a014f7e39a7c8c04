"""Where racks of switches and storage stand among those of compute nodes, so that cables are short."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil, sqrt
from typing import TypeVar

from clusterwright.facility.cabling.links import Link
from clusterwright.facility.site import RowLayout

Content = TypeVar("Content")
#: Places to try for the shortest cables, the first of equals wins; `start` and `end` are never shorter than these.
CANDIDATES = ("middle", "middle-rows", "every-row")

#: Rows of a hall beyond which it is made about as wide as deep.
MOST_ROWS = 20


def in_order(compute: Sequence[Content], others: Sequence[Content], *, arrangement: str, per_row: int) -> list[Content]:
    """Return racks in the order they are, row by row.

    Args:
        compute: racks of nodes, in order.
        others: racks of switches, storage and servers, in order.
        arrangement: `start` or `end` of the hall; `middle` of the sequence, wherever rows break; `every-row`: spread
            evenly over the middles of all rows; `middle-rows`: in the middles of as few rows as hold them in at most
            half of their places.
        per_row: places of a row.
    """
    if arrangement == "start":
        return [*others, *compute]
    if arrangement == "end":
        return [*compute, *others]
    if arrangement in ("middle", "auto"):
        middle = ceil(len(compute) / 2)
        return [*compute[:middle], *others, *compute[middle:]]
    total = len(compute) + len(others)
    rows = ceil(total / per_row)
    sizes = [min(per_row, total - row * per_row) for row in range(rows)]
    used = rows if arrangement == "every-row" else min(rows, ceil(len(others) / max(1, per_row // 2)))
    first = (rows - used) // 2
    return _rows(compute, others, sizes=sizes, holding=range(first, first + used))


def _rows(
    compute: Sequence[Content], others: Sequence[Content], *, sizes: Sequence[int], holding: range
) -> list[Content]:
    """Return rows of these sizes, of which some hold others in their middles, in proportion to their sizes."""
    room = sum(sizes[row] for row in holding)
    placed: list[Content] = []
    nodes, rest = iter(compute), iter(others)
    given = passed = 0
    for row, size in enumerate(sizes):
        share = 0
        if row in holding:
            passed += size
            # Cumulative shares are rounded, so that the last row takes exactly what is left.
            share = round(len(others) * passed / room) - given
            given += share
        before = ceil((size - share) / 2)
        placed += [next(nodes) for _ in range(before)]
        placed += [next(rest) for _ in range(share)]
        placed += [next(nodes) for _ in range(size - share - before)]
    return placed


def square_rows(racks: int, rows: RowLayout) -> int:
    """Return the racks per row with which a hall is about as deep as it is wide, so that its longest way is short.

    n w = (N / n) p gives n = sqrt(N p / w), with the mean pitch p of rows and the width w of racks.

    >>> square_rows(150, RowLayout())
    24

    Args:
        racks: N, in all.
        rows: geometry.
    """
    pitch_m = rows.rack_depth_m + (rows.cold_aisle_m + rows.hot_aisle_m) / 2
    return max(1, round(sqrt(racks * pitch_m / rows.rack_width_m)))


def widened(racks: int, rows: RowLayout) -> RowLayout:
    """Return the rows as they are, or longer ones where more than `MOST_ROWS` would be behind one another.

    Args:
        racks: in all.
        rows: geometry, and whether rows may be longer.
    """
    if not rows.widen or ceil(racks / rows.racks_per_row) <= MOST_ROWS:
        return rows
    return replace(rows, racks_per_row=max(rows.racks_per_row, square_rows(racks, rows)))


def joined_racks(links: Iterable[Link], rack_of: Mapping[str, int]) -> Counter[tuple[int, int]]:
    """Return how many links join each two racks, by the racks' numbers, smaller first; links within a rack left out."""
    found: Counter[tuple[int, int]] = Counter()
    for link in links:
        a, b = rack_of[link.a.device], rack_of[link.b.device]
        if a != b:
            found[min(a, b), max(a, b)] += 1
    return found


def run_between_racks_m(joined: Mapping[tuple[int, int], int], order: Sequence[int], rows: RowLayout) -> float:
    """Return the length of all cables along and across rows, in m: sum of links x (|dx| + |dy|).

    The ways up to the trays and down are the same in every order of the racks, and so left out.

    Args:
        joined: links between racks, by number.
        order: numbers of the racks as they are.
        rows: geometry.
    """
    spots = {}
    for place, rack in enumerate(order):
        row, slot = divmod(place, rows.racks_per_row)
        spots[rack] = slot * rows.rack_width_m, rows.row_y_m(row)
    return sum(
        count * (abs(spots[a][0] - spots[b][0]) + abs(spots[a][1] - spots[b][1])) for (a, b), count in joined.items()
    )


def shortest(
    compute: Sequence[int],
    others: Sequence[int],
    joined: Mapping[tuple[int, int], int],
    rows: RowLayout,
) -> str:
    """Return the arrangement of `CANDIDATES` whose cables are shortest in all.

    Args:
        compute: numbers of the racks of nodes.
        others: numbers of the other racks.
        joined: links between racks.
        rows: geometry.
    """
    per_row = rows.racks_per_row

    def length(arrangement: str) -> float:
        order = in_order(compute, others, arrangement=arrangement, per_row=per_row)
        return run_between_racks_m(joined, order, rows)

    return min(CANDIDATES, key=length)
