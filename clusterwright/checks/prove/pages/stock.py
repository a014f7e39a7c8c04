"""Spares, lead times and the notes of the bill: shares of what is bought, lengths that are laid, numbers of makers."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.catalog.parts.skus import part_numbers
from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.pages.said import Sentence, Table
from clusterwright.checks.prove.papers import wrong
from clusterwright.errors import Finding
from clusterwright.facility.spares import KINDS, WEEK_S, Spares, kind_of_part
from clusterwright.units import percent

FILE = "procurement.md"
BILL = "bill_of_materials.csv"
_SPARES = "spares"
_ID = "BOM008"
_LENGTHS = re.compile(r"(\d[\d,]*) of ([\d.]+) m")
_SCHEDULED = "counted from the cable schedule"


def _bought(hall: Hall) -> tuple[Counter[str], Counter[str]]:
    """Return what is in use and what lies in stock by kind of part, by the lines of the bill."""
    use: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for line in hall.design.bill.lines:
        kind = kind_of_part(line.sku, hall.papers.catalogue)
        (kept if line.note.startswith(_SPARES) else use)[kind] += int(line.quantity)
    return use, kept


def _weeks(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds / WEEK_S:.3g} weeks"


def _rows(hall: Hall) -> Iterator[Sequence[str]]:
    spares, leads = hall.design.rules.spares, hall.design.rules.lead_times
    use, kept = _bought(hall)
    for kind in KINDS:
        if not use[kind] + kept[kind]:
            continue
        share = spares.share(kind)
        basis = "given" if share != Spares().share(kind) else "assumed" if share else "none kept"
        yield (
            kind,
            f"{use[kind]:,}",
            f"{kept[kind]:,}",
            percent(share, digits=None),
            basis,
            _weeks(leads.seconds(kind)),
        )


def _asked(hall: Hall) -> Sequence[str] | None:
    use, kept = _bought(hall)
    leads = hall.design.rules.lead_times
    unknown = [kind for kind in KINDS if use[kind] + kept[kind] and leads.seconds(kind) is None]
    return (", ".join(unknown),) if unknown else None


def _last(hall: Hall) -> Sequence[str] | None:
    use, kept = _bought(hall)
    leads = hall.design.rules.lead_times
    known = [leads.seconds(kind) for kind in KINDS if use[kind] + kept[kind]]
    longest = max((one for one in known if one is not None), default=None)
    return None if longest is None else (_weeks(longest),)


SAID: tuple[Sentence | Table, ...] = (
    Table(
        file=FILE,
        head=("kind", "in use", "spares", "share", "basis", "lead time"),
        rows=_rows,
        rule="the bill has them, the plan shares and lead times",
    ),
    Sentence(
        file=FILE,
        text="Ask the vendors for: {} (`targets.onprem.lead_times`).",
        values=_asked,
        rule="the blueprint gives no lead time of these",
    ),
    Sentence(
        file=FILE,
        text="The last of what is known comes after {}.",
        values=_last,
        rule="the longest lead time that is given",
    ),
)


def noted(hall: Hall) -> Iterator[Finding]:
    """Yield lengths in the notes of the bill that are not laid so, and makers' numbers that are another part's."""
    numbers = part_numbers()
    for row in hall.papers.rows(BILL):
        said = {float(length): int(count.replace(",", "")) for count, length in _LENGTHS.findall(row["note"])}
        laid = dict(hall.lengths.get(row["part"], {}))
        if said and _SCHEDULED in row["note"] and said != laid:
            what = f"the lengths of {row['part']}"
            yield wrong(_ID, row, what, _counted(said), _counted(laid), "cables.csv has them")
        expected = numbers.get(row["part"], "")
        if expected and row["maker_part_number"] != expected:
            what = f"maker_part_number of {row['part']}"
            yield wrong(_ID, row, what, row["maker_part_number"], expected, "catalog/part_numbers.csv has it")


def _counted(lengths: Mapping[float, int]) -> str:
    return ", ".join(f"{count:,} of {length:g} m" for length, count in sorted(lengths.items()))
