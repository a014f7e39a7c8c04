"""Where a row of cells crosses a limit: the last one below or above it, and how often the sign changes."""

from collections.abc import Callable
from itertools import pairwise

from clusterwright.outputs.workbook.formula import Figure, Span, figure, numbers


def last_below(cells: Span, limit: float) -> Figure:
    """Return the place, counted from one, of the last cell below a limit; 0 if there is none."""
    return _last(cells, f"<{figure(limit).text}", lambda usd: usd < limit)


def last_above(cells: Span, limit: float) -> Figure:
    """Return the place, counted from one, of the last cell above a limit; 0 if there is none."""
    return _last(cells, f">{figure(limit).text}", lambda usd: usd > limit)


def sign_changes(cells: Span) -> Figure:
    """Return how often cells side by side differ in sign."""
    first, _, last = cells.text.partition(":")
    sheet, _, start = first.rpartition("!")
    earlier = f"{first}:{_moved(last, -1)}"
    later = f"{sheet}!{_moved(start, 1)}:{last}"
    usd = numbers(cells)
    found = sum(one * two < 0 for one, two in pairwise(usd))
    return Figure(f"SUMPRODUCT(--({earlier}*{later}<0))", float(found))


def _moved(cell: str, rows: int) -> str:
    """Return an absolute cell such as `$B$7` some rows further down."""
    letters, row = cell.rsplit("$", 1)
    return f"{letters}${int(row) + rows}"


def _last(cells: Span, test: str, chosen: Callable[[float], bool]) -> Figure:
    place = max((number for number, usd in enumerate(numbers(cells), start=1) if chosen(usd)), default=0)
    first = cells.text.partition(":")[0]
    text = f"SUMPRODUCT(MAX(({cells.text}{test})*(ROW({cells.text})-ROW({first})+1)))"
    return Figure(text, float(place))
