"""Tables of docs/evidence/stacks.md that come from data, between marks; `CLUSTERWRIGHT_WRITE_GOLDEN=1` writes them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from .cases import TYPICAL, stacks
from .planted import ALL
from .projects import ROOT, Case, recorded

PAGE = ROOT / "docs" / "evidence" / "stacks.md"


def table_in(page: str, name: str) -> str:
    """Return a table of the page.

    Raises:
        LookupError: the page has no such marks.
    """
    _, table, _ = _parts(page, name)
    return table


def with_table(page: str, name: str, table: str) -> str:
    """Return the page with a table replaced."""
    before, _, after = _parts(page, name)
    return before + table + after


def _parts(page: str, name: str) -> tuple[str, str, str]:
    """Return what stands before a table, the table, and what stands after it."""
    before, mark, rest = page.partition(f"<!-- {name} -->\n")
    table, end, after = rest.partition("<!-- end -->")
    if not mark or not end:
        raise LookupError(f"no <!-- {name} --> in the page")
    return before + mark, table, end + after


def _table(head: Sequence[str], rows: Iterator[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


def resources() -> str:
    """Return what each layer of a typical project registers, and what of it is protected."""

    def rows() -> Iterator[Sequence[object]]:
        for cloud, scheduler in stacks():
            run = recorded(Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4, scheduler=scheduler))
            counts = [len(record.cloud_resources) for record in run.layers.values()]
            kept = sorted({one.type.rpartition(":")[2] for one in run.whole.cloud_resources if one.protect})
            yield (f"{cloud}, {scheduler}", TYPICAL[cloud], *counts, ", ".join(kept))

    return _table(("Stack", "Type", "foundation", "cluster", "nodes", "protected"), rows())


def planted() -> str:
    """Return the listed mistakes with the check that catches each."""

    def rows() -> Iterator[Sequence[object]]:
        for one in ALL:
            stack = one.cloud if one.scheduler == "slurm" else f"{one.cloud}, {one.scheduler}"
            yield (one.source, stack, one.mistake, one.caught, one.said)

    return _table(("Source", "Stack", "Mistake", "Caught by", "which says"), rows())


TABLES: Mapping[str, Callable[[], str]] = {"resources": resources, "planted": planted}
