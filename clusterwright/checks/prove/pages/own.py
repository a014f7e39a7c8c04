"""The page of the buyer's own parts: facts and prices are those of the plan."""

from collections.abc import Iterator

from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.papers import absent, plain
from clusterwright.errors import Finding
from clusterwright.plan.text.words import own_facts_lines

FILE = "own_parts.md"
_BULLET = "- "


def parts(hall: Hall) -> Iterator[Finding]:
    """Yield facts and prices of the plan that the page has otherwise, and those that are of no part of the plan."""
    documents = hall.papers.documents
    if not (documents.site / FILE).is_file():
        return
    prices = [f"{one.sku}: {one.usd:,.2f} USD ({one.source})" for one in documents.plan.quotes if not one.vendor]
    wanted = {plain(line) for line in [*own_facts_lines(documents.plan), *prices]}
    listed = [
        (f"{FILE}:{number}", plain(line.removeprefix(_BULLET)))
        for number, line in enumerate(hall.papers.text(FILE).splitlines(), start=1)
        if line.startswith(_BULLET)
    ]
    for expected in sorted(wanted - {line for _, line in listed}):
        about = _about(expected)
        place, found = next(((at, line) for at, line in listed if _about(line) == about), (FILE, None))
        yield absent("PAG001", place, f"the line of {about}", found, expected, "plan.json counts with it")


def _about(line: str) -> str:
    """Return what a line speaks of: its part, and the fact where it is none of money."""
    name, _, said = line.partition(": ")
    return f"{name} price" if " USD " in f"{said} " else f"{name} {said.partition(' ')[0]}"
