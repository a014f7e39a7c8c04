"""Proof of pages and drawings: numbers in them are those that the tables add up to."""

from collections.abc import Callable, Iterator

from clusterwright.checks.prove.pages import (
    acceptance,
    cluster,
    drawings,
    launch,
    own,
    plan,
    power,
    readme,
    runbook,
    software,
    stock,
    storage,
    tenants,
)
from clusterwright.checks.prove.pages.checklist import FILE as CHECKLIST
from clusterwright.checks.prove.pages.checklist import prove_checklist
from clusterwright.checks.prove.pages.hall import Hall, read_hall
from clusterwright.checks.prove.pages.said import Sentence, Table, compared
from clusterwright.checks.prove.papers import Papers, Rule, examined
from clusterwright.checks.prove.records import Result
from clusterwright.errors import Finding

_SAID: tuple[Sentence | Table, ...] = (
    *readme.SAID,
    *power.SAID,
    *acceptance.SAID,
    *storage.SAID,
    *stock.SAID,
    *software.SAID,
    *launch.SAID,
    *cluster.SAID,
    *runbook.SAID,
    *tenants.SAID,
)
_FILES = (
    readme.FILE,
    power.FILE,
    acceptance.FILE,
    storage.FILE,
    stock.FILE,
    software.FILE,
    launch.FILE,
    tenants.FILE,
    runbook.FILE,
    CHECKLIST,
    plan.FILE,
)
_PARTS: tuple[Callable[[Hall], Iterator[Finding]], ...] = (
    lambda hall: compared(hall, _SAID),
    prove_checklist,
    readme.notes,
    acceptance.numbered,
    acceptance.baseline,
    storage.counted,
    stock.noted,
    own.parts,
    software.versions,
    software.ended,
    plan.summed,
    plan.multiplied,
    plan.fabrics,
    drawings.drawn_devices,
    drawings.elevations,
    drawings.drawn_racks,
    drawings.drawn_fabric,
    drawings.graph,
)


def prove_pages(papers: Papers) -> Result:
    """Return what holds of the figures in pages and drawings."""
    tables = sum(isinstance(one, Table) for one in _SAID)
    facts = [
        (
            f"{len(_SAID) - tables} sentences and {tables} tables of pages, all items of the check-list, every device, "
            "every rack of the drawings: figures are those of the tables"
        )
    ]
    read: list[Hall] = []

    def rule(part: Callable[[Hall], Iterator[Finding]]) -> Rule:
        def look(papers: Papers) -> Iterator[Finding]:
            if not read:
                read.append(read_hall(papers))
            return part(read[0])

        return look

    return examined("pages", papers, _FILES, [rule(part) for part in _PARTS], facts)
