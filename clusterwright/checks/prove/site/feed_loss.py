"""What is left when a whole feed of the hall fails: every rack on what hangs on the others, by the documents.

A feed of the hall is a panel of NetBox (`feed-A`); several strips or power shelves of a rack may hang on one of them.
Its loss is then more than that of one strip, which `feeds` looks at.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from clusterwright.checks.prove.papers import ENGINE, Papers, absent, examined
from clusterwright.checks.prove.records import Result, skipped
from clusterwright.checks.prove.site.feeds import (
    CORDS,
    FEED_CABLES,
    OUTLETS,
    Cord,
    leg_loads,
    rating_w,
    read_cords,
)
from clusterwright.errors import Finding
from clusterwright.facility.hall.power_cords import line_a
from clusterwright.facility.power import CONTINUOUS_SHARE

_PART = "loss of a feed"
_FILES = (FEED_CABLES, CORDS, OUTLETS, "racks.csv")
_ROUNDING = 1 + 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class _Left:
    """What one rack, or a node in it, has left without a feed, and what it needs.

    Attributes:
        panel: the feed that failed; rack: that lost part of its supply.
        what: which figure it is, with its unit.
        found, limit: the figure and its bound; found is None where nothing is left at all.
        least: whether the bound is the least that has to be left, not the most that may flow.
    """

    panel: str
    rack: str
    what: str
    found: float | None
    limit: float
    least: bool = False

    @property
    def share(self) -> float:
        """Part of the bound that is used; more than 1 does not hold."""
        if self.found is None:
            return float("inf")
        return self.limit / max(self.found, 1e-9) if self.least else self.found / self.limit


def prove_feed_loss(papers: Papers) -> Result:
    """Return whether every rack lives on the other feeds of the hall when any one of them fails.

    Whether the hall has as many independent feeds as NetBox's tables name is known where `site.feed.sources` gives it.
    Where it was assumed and a rack would not live, the part is skipped with that reason: the site has to say it.
    """
    panels = sorted({row["side_a_power_panel"] for row in papers.tables.get(FEED_CABLES, ())})
    left: list[_Left] = []

    def rule(papers: Papers) -> Iterator[Finding]:
        left.extend(one for panel in panels for one in _without(papers, panel))
        for one in left:
            if one.share > _ROUNDING:
                bound = f"at {'least' if one.least else 'most'} {one.limit:,.10g}"
                said = f"{one.what} of rack {one.rack} when {one.panel} fails"
                what = None if one.found is None else round(one.found, 1)
                why = "a rack lives when one feed of the hall fails (site.feed.sources)"
                yield absent("FED009", FEED_CABLES, said, what, bound, why)

    result = examined(_PART, papers, _FILES, (rule,), [])
    if result.findings and all(one.id == "FED009" for one in result.findings):
        if papers.documents.design.site.feed.sources is None:
            worst = max(left, key=lambda one: one.share)
            found = "nothing" if worst.found is None else f"{worst.found:,.10g}"
            reason = (
                f"the number of feeds is assumed ({len(panels)}): without {worst.panel}, {worst.what} "
                f"of rack {worst.rack} is {found} of {worst.limit:,.10g}; give site.feed.sources"
            )
            return skipped(_PART, _FILES, ENGINE, reason)
        return result
    if not left:
        return result
    racks = len({one.rack for one in left})
    by_what = {what: max((one for one in left if one.what == what), key=lambda one: one.share) for what in _whats(left)}
    facts = [f"{len(panels)} feeds: without any one of them, {racks} racks stay within the limits of what is left"]
    facts += [
        f"{what}: {round(one.found, 1):,.10g}, {'least' if one.least else 'most'} {one.limit:,.10g}, "
        f"in {one.rack} without {one.panel}"
        for what, one in by_what.items()
        if one.found is not None
    ]
    return replace(result, facts=tuple(facts))


def _whats(left: list[_Left]) -> list[str]:
    return list(dict.fromkeys(one.what for one in left))


def _without(papers: Papers, panel: str) -> Iterator[_Left]:
    """Yield what the racks that hang on a feed have left without it."""
    fed: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    racks = {row["name"]: row["rack"] for row in papers.rows("netbox/5-devices.csv")}
    for row in papers.rows(FEED_CABLES):
        fed[racks.get(row["side_b_device"], "")].append((row["side_b_device"], row["side_a_power_panel"]))
    hung: defaultdict[str, list[Cord]] = defaultdict(list)
    for cord in read_cords(papers):
        place = papers.place(cord.device)
        hung["" if place is None else place["rack"]].append(cord)
    legs = {(row["device"], row["name"]): row["feed_leg"] for row in papers.rows(OUTLETS)}
    for rack, things in fed.items():
        failed = {device for device, on in things if on == panel}
        if not failed:
            continue
        shelves = [device for device, _ in things if papers.place(device) is not None]
        if shelves:
            yield from _shelves(papers, panel, rack, [one for one in shelves if one not in failed])
        else:
            yield from _strips(papers, panel, rack, hung[rack], legs, failed)


def _shelves(papers: Papers, panel: str, rack: str, living: list[str]) -> Iterator[_Left]:
    """Yield the power on each shelf that is left of a rack that is delivered whole: they share it evenly."""
    design = papers.documents.design
    power_w = sum(place.known("power_w") or 0.0 for place in papers.standing.values() if place["rack"] == rack)
    parts = [papers.catalogue.parts.get(papers.standing[one]["part"]) for one in living]
    ratings = [part.power_capacity_w for part in parts if part is not None and part.power_capacity_w]
    limit_w = min([design.site.feed.watts(design.rules.power_factor), *ratings])
    yield _Left(
        panel=panel,
        rack=rack,
        what="the watts on each power shelf that is left",
        found=power_w / len(living) if living else None,
        limit=round(limit_w),
    )


def _strips(  # noqa: PLR0917 - what is read once for all racks
    papers: Papers,
    panel: str,
    rack: str,
    cords: list[Cord],
    legs: Mapping[tuple[str, str], str],
    failed: set[str],
) -> Iterator[_Left]:
    """Yield supplies of nodes that live, and load and current of the fullest strip that is left."""
    feed = papers.documents.design.site.feed
    living = Counter(cord.device for cord in cords if cord.strip not in failed)
    for device in dict.fromkeys(cord.device for cord in cords):
        place = papers.place(device)
        system = None if place is None else papers.catalogue.systems.get(place["part"])
        needed = 1 if system is None or system.psu_needed is None else system.psu_needed
        what = f"the living supplies of a {place['part']}" if place is not None and system else "the living supplies"
        yield _Left(panel=panel, rack=rack, what=what, found=living[device], limit=needed, least=True)
    by_strip = leg_loads(papers, cords, legs, failed)
    limit_w = rating_w(papers, feed.pdu)
    factor = 1.0 if feed.direct else papers.documents.design.rules.power_factor
    for by_leg in by_strip.values():
        if limit_w is not None:
            watts = sum(by_leg.values()) * factor
            yield _Left(
                panel=panel, rack=rack, what="the watts on a PDU that is left", found=watts, limit=round(limit_w)
            )
        amperes = line_a(by_leg, feed)
        most_a = feed.breaker_a * CONTINUOUS_SHARE
        yield _Left(panel=panel, rack=rack, what="the amperes on a phase that is left", found=amperes, limit=most_a)
