"""The check-list of the data centre: items as the tables have them, verdicts that follow from their own numbers."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.pages.said import tables_of
from clusterwright.checks.prove.papers import absent, plain
from clusterwright.errors import Finding
from clusterwright.facility.checklist.items import NOT_GIVEN, Check
from clusterwright.facility.checklist.page import checks
from clusterwright.facility.hall.floor_load import FAIL, PASS, UNKNOWN

FILE = "checklist.md"
HEAD = ("area", "item", "found", "limit", "verdict", "remark")
_ID = "PAG003"
_NUMBER = re.compile(r"^(?:at least )?([\d,]+(?:\.\d+)?)(?=\D|$)")
_COUNTS = re.compile(r"(\d+) items pass, (\d+) fail, (\d+) are unknown")
_MOST = 1 + 1e-6
#: Items whose number has to be no less than the limit; of all others it may be no more.
_AT_LEAST = ("fails", "height of racks", "management port", "width and depth")
#: Items whose limit is not a bound on their first number.
_NOT_COMPARED = ("GPUs of a rack", "oversubscription", "longest cable", "voltage", "liquid", "networks are apart")


def prove_checklist(hall: Hall) -> Iterator[Finding]:
    """Yield where an item, its verdict or the count of verdicts is not what tables and site give."""
    if not (hall.papers.documents.site / FILE).is_file():
        return
    text = hall.papers.text(FILE)
    listed = {cells[1]: (number, cells) for number, cells in tables_of(text, HEAD) if len(cells) == len(HEAD)}
    wanted = checks(hall.design, hall.racks, hall.cables, hall.papers.catalogue)
    for item in wanted:
        if plain(item.item) not in listed:
            what = f"the item “{item.item}”"
            yield absent(_ID, FILE, what, None, f"{item.found} of {item.limit}", "the list has it")
            continue
        yield from _item(item, *listed[plain(item.item)])
    for number, cells in listed.values():
        yield from _verdict(number, cells)
    yield from _counted(text, [cells for _, cells in listed.values()], Counter(item.verdict for item in wanted))


def _item(item: Check, number: int, cells: Sequence[str]) -> Iterator[Finding]:
    """Compare an item; the user may have filled in a limit that nobody knew, with the verdict that follows."""
    verdict = cells[4].strip("*")
    answered = item.verdict == UNKNOWN and NOT_GIVEN in item.limit and cells[3] != item.limit
    for column, expected, found in (
        ("area", item.area, cells[0]),
        ("found", item.found, cells[2]),
        *(() if answered else (("limit", item.limit, cells[3]), ("verdict", item.verdict, verdict))),
    ):
        if found != plain(expected):
            what = f"“{column}” of “{item.item}”"
            yield absent(_ID, f"{FILE}:{number}", what, found, plain(expected), "tables, site and catalogue give it")
    for part in plain(item.note).split("; "):
        if part not in cells[5]:
            what = f"“remark” of “{item.item}”"
            yield absent(_ID, f"{FILE}:{number}", what, cells[5], part, "tables, site and catalogue give it")


def _verdict(number: int, cells: Sequence[str]) -> Iterator[Finding]:
    """A number beyond its limit does not pass, one within it does not fail, whatever the tables say."""
    item, verdict = cells[1], cells[4].strip("*")
    value, limit = (_NUMBER.match(cell) for cell in (cells[2], cells[3].rpartition(": ")[2]))
    if value is None or limit is None or any(word in item for word in _NOT_COMPARED):
        return
    found, bound = (float(match[1].replace(",", "")) for match in (value, limit))
    fits = found * _MOST >= bound if any(word in item for word in _AT_LEAST) else found <= bound * _MOST
    if (verdict, fits) in {(PASS, False), (FAIL, True)}:
        expected = PASS if fits else FAIL
        rule = f"{cells[2]} of {cells[3]} says so"
        yield absent(_ID, f"{FILE}:{number}", f"“verdict” of “{item}”", verdict, expected, rule)


def _counted(text: str, rows: Sequence[Sequence[str]], written: Mapping[str, int]) -> Iterator[Finding]:
    """Compare the count of verdicts with the table; who answers an item may leave the count as it was written."""
    match = _COUNTS.search(text)
    now, before = (
        tuple(str(verdicts.get(verdict, 0)) for verdict in (PASS, FAIL, UNKNOWN))
        for verdicts in (Counter(cells[4].strip("*") for cells in rows), written)
    )
    expected, found = now, None if match is None else match.groups()
    if found not in {now, before}:
        line = 1 if match is None else text.count("\n", 0, match.start()) + 1
        said = None if found is None else " / ".join(found)
        what = "items that pass / fail / are unknown"
        yield absent(_ID, f"{FILE}:{line}", what, said, " / ".join(expected), "the table has as many")
    for cells in rows:
        said = f"{cells[1]}: {cells[2]}, limit {cells[3]}"
        if (cells[4].strip("*") == FAIL) != (said in plain(text)):
            rule = "what fails is said above the table, and nothing else"
            yield absent(_ID, FILE, f"the line on “{cells[1]}”", said in plain(text), cells[4].strip("*") == FAIL, rule)
