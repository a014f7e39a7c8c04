"""The pages and drawings that people read: numbers in them are those that the tables add up to."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from clusterwright.checks.prove.papers import Papers, absent, examined
from clusterwright.checks.prove.records import Result
from clusterwright.errors import Finding
from clusterwright.facility.power import BTU_PER_H_PER_W
from clusterwright.facility.spares import kind_of_part

README, ACCEPTANCE, POWER, PROCUREMENT = "README.md", "acceptance.md", "power_and_cooling.md", "procurement.md"
_NUMBER = r"([\d,]+(?:\.\d+)?)"
_DEVICE = re.compile(r"<title>(\S+): (\S+), U(\d+)(?:–U(\d+))?, (?:([\d,]+) W|[^<]*)</title>")
_RACK = re.compile(r"<title>([A-Z]+\d+): (\w+), (\d+) devices?, ([\d.]+) of ([\d.]+) kW")
_KINDS = ("compute", "storage", "in-band", "out-of-band")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Said:
    """One number of a page: where it is found, what it is called, and what the tables say."""

    file: str
    pattern: str
    what: str
    rule: str
    expected: Callable[["_Sums"], float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sums:
    """What the tables add up to."""

    papers: Papers
    racks: int
    strips: int
    power_w: float
    links: Mapping[str, int]
    managed: int
    devices: Counter[str]


def prove_pages(papers: Papers) -> Result:
    """Return what holds of the numbers in pages and drawings."""
    facts = [
        f"{len(_SAID)} kinds of numbers in pages, and every device and rack of the drawings, are those of the tables"
    ]
    files = (README, ACCEPTANCE, POWER, PROCUREMENT)
    return examined("pages", papers, files, (_numbers, _drawn_devices, _drawn_racks, _rack_table, _in_use), facts)


def _sums(papers: Papers) -> _Sums:
    racks = papers.rows("racks.csv")
    cables = papers.rows("cables.csv")
    return _Sums(
        papers=papers,
        racks=len({row["rack"] for row in racks}),
        strips=sum(row["role"] == "power" for row in papers.rows("netbox/5-devices.csv")),
        power_w=sum(row.known("power_w") or 0.0 for row in racks),
        links=Counter(row["network"] for row in cables),
        managed=sum(row["tier"] == "management" for row in cables),
        devices=Counter(row["role"] for row in racks),
    )


def _facility_w(sums: _Sums) -> float | None:
    pue = sums.papers.documents.design.site.pue
    return None if pue is None else sums.power_w * pue


def _hosts(sums: _Sums) -> float:
    return len(sums.papers.documents.design.inventory.hosts())


_SAID = (
    _Said(
        file=README,
        pattern=rf"with {_NUMBER} GPUs in [\d,]+ racks",
        what="GPUs",
        rule="the inventory counts them",
        expected=lambda sums: sums.papers.documents.design.inventory.gpus,
    ),
    _Said(
        file=README,
        pattern=rf"GPUs in {_NUMBER} racks",
        what="racks",
        rule="racks.csv has them",
        expected=lambda sums: sums.racks,
    ),
    _Said(
        file=README,
        pattern=rf"racks, {_NUMBER} kW of IT load",
        what="IT load, kW",
        rule="racks.csv adds up to it",
        expected=lambda sums: sums.power_w / 1e3,
    ),
    _Said(
        file=README,
        pattern=rf"Cables: {_NUMBER} links",
        what="links",
        rule="cables.csv has them",
        expected=lambda sums: sum(sums.links.values()),
    ),
    _Said(
        file=ACCEPTANCE,
        pattern=rf"\| {_NUMBER} racks,",
        what="racks",
        rule="racks.csv has them",
        expected=lambda sums: sums.racks,
    ),
    _Said(
        file=ACCEPTANCE,
        pattern=rf"racks, {_NUMBER} PDUs",
        what="PDUs",
        rule="NetBox's devices have them",
        expected=lambda sums: sums.strips,
    ),
    _Said(
        file=ACCEPTANCE,
        pattern=rf"\| {_NUMBER} links:",
        what="links",
        rule="cables.csv has them",
        expected=lambda sums: sum(sums.links.values()),
    ),
    *(
        _Said(
            file=ACCEPTANCE,
            pattern=rf"links:[^|]*?(?<![\w-]){_NUMBER} {kind}\b",
            what=f"{kind} links",
            rule="cables.csv has them",
            expected=lambda sums, kind=kind: sums.links.get(kind, 0),  # type: ignore[misc]
        )
        for kind in _KINDS
    ),
    _Said(
        file=ACCEPTANCE,
        pattern=rf"ping every management port \| {_NUMBER} answer",
        what="management ports",
        rule="cables.csv has them",
        expected=lambda sums: sums.managed,
    ),
    _Said(
        file=ACCEPTANCE,
        pattern=rf"chassis status`[^|]*\| {_NUMBER} answer",
        what="hosts",
        rule="the inventory counts them",
        expected=_hosts,
    ),
    _Said(
        file=POWER,
        pattern=rf"\*\*IT load\*\* \| \*\*{_NUMBER} kW",
        what="IT load, kW",
        rule="racks.csv adds up to it",
        expected=lambda sums: sums.power_w / 1e3,
    ),
    _Said(
        file=POWER,
        pattern=rf"Facility load \| {_NUMBER} kW",
        what="facility load, kW",
        rule="IT load times PUE",
        expected=lambda sums: None if (watts := _facility_w(sums)) is None else watts / 1e3,
    ),
    _Said(
        file=POWER,
        pattern=rf"\| Heat \| {_NUMBER} BTU/h",
        what="heat, BTU/h",
        rule="3.412 times the IT load",
        expected=lambda sums: sums.power_w * BTU_PER_H_PER_W,
    ),
    _Said(
        file=POWER,
        pattern=rf"\| Apparent power \| {_NUMBER} kVA",
        what="apparent power, kVA",
        rule="IT load over the power factor",
        expected=lambda sums: sums.power_w / sums.papers.documents.design.rules.power_factor / 1e3,
    ),
    _Said(
        file=POWER,
        pattern=rf"\| Network \| [\d,.]+ kW \| {_NUMBER} switches",
        what="switches",
        rule="racks.csv has them",
        expected=lambda sums: sums.devices["network"],
    ),
    _Said(
        file=POWER,
        pattern=rf"- {_NUMBER} PDUs in all",
        what="PDUs",
        rule="NetBox's devices have them",
        expected=lambda sums: sums.strips,
    ),
)


def _numbers(papers: Papers) -> Iterator[Finding]:
    """Compare each number with its sum, as far as it is printed; a sentence that is not there says nothing."""
    sums = _sums(papers)
    texts = {
        file: papers.text(file) for file in {one.file for one in _SAID} if (papers.documents.site / file).is_file()
    }
    for one in _SAID:
        text, expected = texts.get(one.file, ""), one.expected(sums)
        for match in re.finditer(one.pattern, text):
            if expected is None or _printed(match[1], expected):
                continue
            line = text.count("\n", 0, match.start(1)) + 1
            yield absent("PAG001", f"{one.file}:{line}", one.what, match[1], f"{expected:,.1f}", one.rule)


def _printed(text: str, value: float) -> bool:
    """Tell whether a number is a value as it is printed, to half of its last digit."""
    digits = len(text.partition(".")[2])
    return abs(float(text.replace(",", "")) - value) <= 0.5000001 * 10.0**-digits


def _drawn_devices(papers: Papers) -> Iterator[Finding]:
    """Every device of the elevations is where racks.csv has it, and every device of it is drawn."""
    paths = sorted(papers.documents.site.glob("racks*.svg"))
    drawn = set()
    for path in paths:
        for name, part, low, high, watts in _DEVICE.findall(path.read_text(encoding="utf-8")):
            drawn.add(name)
            place = papers.place(name)
            if place is None:
                yield absent("PAG002", path.name, "a device", name, "one of racks.csv", "nothing else is drawn")
                continue
            top = place.count("u") + place.count("height_u") - 1
            power_w = place.known("power_w")
            expected = (place["part"], place.count("u"), top, None if power_w is None else round(power_w))
            said = (part, int(low), int(high or low), int(watts.replace(",", "")) if watts else None)
            if said != expected:
                yield absent(
                    "PAG002", path.name, f"{name} (part, units, W)", said, expected, f"{place.place} has it so"
                )
    if drawn:
        for name in sorted(papers.standing.keys() - drawn):
            yield absent("PAG002", paths[0].name, f"the drawing of {name}", None, "one", "racks.csv has it")


def _by_rack(papers: Papers) -> dict[str, tuple[int, float]]:
    """Return devices and power in W of every rack."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for row in papers.rows("racks.csv"):
        found[row["rack"]].append(row.known("power_w") or 0.0)
    return {rack: (len(own), sum(own)) for rack, own in found.items()}


def _drawn_racks(papers: Papers) -> Iterator[Finding]:
    racks = _by_rack(papers)
    for path in sorted(papers.documents.site.glob("floor_plan*.svg")):
        for rack, _, devices, power, _ in _RACK.findall(path.read_text(encoding="utf-8")):
            count, power_w = racks.get(rack, (0, 0.0))
            if int(devices) != count or not _printed(power, power_w / 1e3):
                said, expected = f"{devices} devices, {power} kW", f"{count} devices, {power_w / 1e3:.1f} kW"
                yield absent("PAG002", path.name, f"rack {rack}", said, expected, "racks.csv has it so")


def _rack_table(papers: Papers) -> Iterator[Finding]:
    """Compare the rows of the table of racks with the racks that they begin with."""
    if not (papers.documents.site / POWER).is_file():
        return
    racks, number = _by_rack(papers), r"(\d+\.\d+) kW"
    for line, text in enumerate(papers.text(POWER).splitlines(), start=1):
        match = re.match(rf"\| ([A-Z]+\d+)[^|]*\| (compute|network|services) \| {number} \|", text)
        if match is None:
            continue
        _, power_w = racks.get(match[1], (0, 0.0))
        if not _printed(match[3], power_w / 1e3):
            expected = f"{power_w / 1e3:.1f}"
            yield absent(
                "PAG001", f"{POWER}:{line}", f"the power of rack {match[1]}, kW", match[3], expected, "racks.csv"
            )


def _in_use(papers: Papers) -> Iterator[Finding]:
    """Compare the table of spares with the lines of the bill, by kind of part."""
    if not (papers.documents.site / PROCUREMENT).is_file():
        return
    use: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for line in papers.documents.design.bill.lines:
        kind = kind_of_part(line.sku, papers.catalogue)
        (kept if line.note.startswith("spares") else use)[kind] += int(line.quantity)
    for number, text in enumerate(papers.text(PROCUREMENT).splitlines(), start=1):
        match = re.match(rf"\| (\w+) \| {_NUMBER} \| {_NUMBER} \|", text)
        if match is None or match[1] not in use:
            continue
        for what, value, expected in (("in use", match[2], use[match[1]]), ("spares", match[3], kept[match[1]])):
            if int(value.replace(",", "")) != expected:
                yield absent(
                    "PAG001", f"{PROCUREMENT}:{number}", f"{match[1]} {what}", value, expected, "the bill has them"
                )
