"""Power cords: every supply on a socket of its own, both feeds, and no strip above its rating when one fails."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.catalog.parts.supplies import power_connections
from clusterwright.checks.prove.papers import Papers, Row, absent, examined, wrong
from clusterwright.checks.prove.records import Result
from clusterwright.errors import Finding
from clusterwright.facility.hall.power_cords import LEGS, line_a
from clusterwright.facility.power import CONTINUOUS_SHARE

PORTS, OUTLETS, CORDS, DEVICES, FEEDS, FEED_CABLES = (
    "netbox/6-power-ports.csv",
    "netbox/6-power-outlets.csv",
    "netbox/7-power-cables.csv",
    "netbox/5-devices.csv",
    "netbox/5-power-feeds.csv",
    "netbox/7-power-feed-cables.csv",
)
#: Supplies whose draw is rounded to whole watts differ by this much from their share, in W.
_ROUNDING_W = 1.0
_LEAST_FEEDS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Cord:
    """One cord: its row, the supply's device and name, and the strip and outlet that it hangs on."""

    row: Row
    device: str
    supply: str
    strip: str
    outlet: str


def prove_feeds(papers: Papers) -> Result:
    """Return what holds of the power cords."""
    cords = papers.tables.get(CORDS, ())
    facts = [
        f"{len(cords):,} cords, each between a supply and an outlet of its own, in one rack",
        "every device on two strips or more, evenly; when any one fails, no other is above its rating on any phase",
        "every strip and every power shelf on a feed of its own, those of a rack on several panels",
    ]
    rules = (_joined, _supplies, _spread, _loaded, _fed, _circuits, _outlets)
    return examined("power feeds", papers, (PORTS, OUTLETS, CORDS, FEEDS, FEED_CABLES), rules, facts)


def read_cords(papers: Papers) -> list[Cord]:
    """Return every power cord, whichever end its row names first."""
    found = []
    for row in papers.rows(CORDS):
        a, b = ((row[f"side_{side}_device"], row[f"side_{side}_type"], row[f"side_{side}_name"]) for side in ("a", "b"))
        port, outlet = (a, b) if a[1] == "dcim.powerport" else (b, a)
        found.append(Cord(row=row, device=port[0], supply=port[2], strip=outlet[0], outlet=outlet[2]))
    return found


def _joined(papers: Papers) -> Iterator[Finding]:
    """Every port and outlet is in its table and has one cord; both ends are in the same rack."""
    ports = {(row["device"], row["name"]): row for row in papers.rows(PORTS)}
    outlets = {(row["device"], row["name"]): row for row in papers.rows(OUTLETS)}
    racks = {row["name"]: row["rack"] for row in papers.rows(DEVICES)}
    used: Counter[tuple[str, str]] = Counter()
    for cord in read_cords(papers):
        for what, end, table, file in (
            ("supply", (cord.device, cord.supply), ports, PORTS),
            ("outlet", (cord.strip, cord.outlet), outlets, OUTLETS),
        ):
            used[end] += 1
            if end not in table:
                yield wrong(
                    "FED001", cord.row, f"the {what}", " ".join(end), f"one of {file}", "a cord ends at what is there"
                )
            if used[end] > 1:
                yield wrong(
                    "FED001", cord.row, f"the cords of {what} {' '.join(end)}", used[end], 1, "a socket takes one plug"
                )
        if racks.get(cord.device) != racks.get(cord.strip):
            yield wrong(
                "FED002",
                cord.row,
                f"the rack of {cord.strip}",
                racks.get(cord.strip),
                racks.get(cord.device),
                f"{cord.device} stands there, and cords stay in their rack",
            )
    used.update((row["side_b_device"], row["side_b_name"]) for row in papers.rows(FEED_CABLES))
    for end, row in ports.items():
        if not used[end]:
            yield wrong("FED001", row, f"the cord of {' '.join(end)}", None, "one", "every supply is fed")
    for end, row in outlets.items():
        if not used[end]:
            yield wrong(
                "FED001", row, f"the cord of {' '.join(end)}", None, "one", "outlets are listed as they are used"
            )


def _supplies(papers: Papers) -> Iterator[Finding]:
    """A device has the supplies of its product, and together they draw what the device does."""
    ports: defaultdict[str, list[Row]] = defaultdict(list)
    for row in papers.rows(PORTS):
        ports[row["device"]].append(row)
    strips = {row["name"] for row in papers.rows(DEVICES) if row["role"] == "power"}
    shared_w = _shelf_shares(papers)
    for device, own in ports.items():
        if device in strips:
            continue  # the inlet of a strip
        place = papers.place(device)
        if place is None:
            yield wrong(
                "FED003", own[0], "the device of a power port", device, "a device of racks.csv", "it stands there"
            )
            continue
        system = papers.catalogue.systems.get(place["part"])
        known = power_connections().get(place["part"])
        count = system.psu_count if system is not None else None if known is None else known.supplies
        if count is not None and len(own) != count:
            yield wrong(
                "FED003", own[-1], f"the supplies of {device}", len(own), count, f"a {place['part']} has as many"
            )
        draws, power_w = [row.known("maximum_draw") for row in own], shared_w.get(device, place.known("power_w"))
        for row, draw in zip(own, draws, strict=True):
            share = None if power_w is None else max(1.0, power_w / len(own))
            if (draw is None) != (share is None) or (
                draw is not None and share is not None and abs(draw - share) > _ROUNDING_W
            ):
                yield wrong(
                    "FED003",
                    row,
                    f"the draw of {device} {row['name']}, W",
                    draw,
                    share,
                    f"{len(own)} supplies share the {place['power_w'] or 'unknown'} W of racks.csv"
                    if device not in shared_w
                    else "the shelves of a rack share what its devices draw",
                )


def _shelf_shares(papers: Papers) -> dict[str, float]:
    """Return the watts of each power shelf: an even share of what its rack draws."""
    parts = papers.catalogue.parts
    power_w: defaultdict[str, float] = defaultdict(float)
    shelves: defaultdict[str, list[str]] = defaultdict(list)
    for name, place in papers.standing.items():
        power_w[place["rack"]] += place.known("power_w") or 0.0
        if place["part"] in parts and parts[place["part"]].kind == "pdu":
            shelves[place["rack"]].append(name)
    return {name: power_w[rack] / len(names) for rack, names in shelves.items() for name in names}


def count_by_strip(papers: Papers) -> Mapping[str, Counter[str]]:
    """Return for every device how many of its supplies hang on each strip."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for cord in read_cords(papers):
        found[cord.device][cord.strip] += 1
    return found


def strips_of_racks(papers: Papers) -> Mapping[str, list[str]]:
    """Return the names of the power strips of every rack."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in papers.rows(DEVICES):
        if row["role"] == "power":
            found[row["rack"]].append(row["name"])
    return found


def _spread(papers: Papers) -> Iterator[Finding]:
    strips, on = strips_of_racks(papers), count_by_strip(papers)
    rows = {row["name"]: row for row in papers.rows(DEVICES)}
    for device, place in papers.standing.items():
        own = strips.get(place["rack"], [])
        hung = on.get(device, Counter())
        if not own:
            continue  # a rack that is delivered with its own supplies
        if device not in on:
            yield wrong(
                "FED004",
                rows.get(device, place),
                f"the power cords of {device}",
                0,
                "two or more",
                "both feeds reach it",
            )
            continue
        supplies = sum(hung.values())
        evenly = min(len(own), supplies)
        most = -(-supplies // evenly)
        if supplies < _LEAST_FEEDS or len(hung) < min(_LEAST_FEEDS, evenly) or max(hung.values()) > most:
            said = ", ".join(f"{count} on {strip}" for strip, count in sorted(hung.items()))
            yield wrong(
                "FED004",
                rows.get(device, place),
                f"the spread of the supplies of {device}",
                said,
                f"at most {most} on each of {len(own)} strips",
                "a device lives when a feed fails",
            )


def rating_w(papers: Papers, strip_part: str) -> float | None:
    """Return the power in W that a strip may carry all the time: its rating where it has one, else that of the feed."""
    design = papers.documents.design
    feed_w = design.site.feed.watts(design.rules.power_factor)
    part = papers.catalogue.parts.get(strip_part)
    if part is None or part.power_capacity_w is None:
        return feed_w
    factor = 1.0 if design.site.feed.direct else design.rules.power_factor
    return min(feed_w, part.power_capacity_w * factor)


def _loaded(papers: Papers) -> Iterator[Finding]:
    """Load every strip with the shares of the supplies that live: all of them, and with any one strip failed."""
    strips, on = strips_of_racks(papers), count_by_strip(papers)
    limit_w = rating_w(papers, papers.documents.design.site.feed.pdu)
    if limit_w is None:
        return
    yield from _phases(papers, strips)
    rows = {row["name"]: row for row in papers.rows(DEVICES)}
    in_rack: defaultdict[str, list[str]] = defaultdict(list)
    for device, place in papers.standing.items():
        in_rack[place["rack"]].append(device)
    for rack, own in strips.items():
        for failed in (None, *own):
            load_w: defaultdict[str, float] = defaultdict(float)
            for device in in_rack[rack]:
                living = {strip: count for strip, count in on.get(device, {}).items() if strip != failed}
                power_w = papers.standing[device].known("power_w") or 0.0
                for strip, count in living.items():
                    load_w[strip] += power_w * count / sum(living.values())
            for strip, watts in load_w.items():
                if watts > limit_w * (1 + 1e-6):
                    when = "with all alive" if failed is None else f"when {failed} fails"
                    yield wrong(
                        "FED005",
                        rows.get(strip) or papers.rows(CORDS)[0],
                        f"the load of {strip} {when}, W",
                        round(watts),
                        f"at most {limit_w:,.0f}",
                        "a strip carries 80 % of its breaker all the time",
                    )


def _phases(papers: Papers, strips: Mapping[str, list[str]]) -> Iterator[Finding]:
    """Load every line of every strip with the supplies that live when any one strip of the rack has failed."""
    feed = papers.documents.design.site.feed
    outlets = {(row["device"], row["name"]): row for row in papers.rows(OUTLETS)}
    for (strip, name), row in outlets.items():
        if row["feed_leg"] not in ({""} if feed.direct else set(LEGS)):
            said = row["feed_leg"] or None
            yield wrong(
                "FED006", row, f"the phase of {strip} {name}", said, ", ".join(LEGS), "a strip has three phases"
            )
    legs = {key: row["feed_leg"] for key, row in outlets.items()}
    first = {strip: row for (strip, _), row in reversed(outlets.items())}
    most_a = feed.breaker_a * CONTINUOUS_SHARE
    hung: defaultdict[str, list[Cord]] = defaultdict(list)
    for cord in read_cords(papers):
        place = papers.place(cord.device)
        hung["" if place is None else place["rack"]].append(cord)
    for rack, own in strips.items():
        for failed in (None, *own):
            for strip, by_leg in leg_loads(papers, hung[rack], legs, {failed}).items():
                amperes = line_a(by_leg, feed)
                if amperes > most_a * (1 + 1e-6) and strip in first:
                    when = "with all alive" if failed is None else f"when {failed} fails"
                    said = f"the current of the fullest phase of {strip} {when}, A"
                    rule = "a breaker carries 80 % of its rating all the time"
                    yield wrong("FED006", first[strip], said, round(amperes, 1), f"at most {most_a:g}", rule)


def leg_loads(
    papers: Papers, cords: Sequence[Cord], legs: Mapping[tuple[str, str], str], failed: Container[str | None]
) -> dict[str, dict[str, float]]:
    """Return the load in VA of every strip of a rack by leg when some of them have failed."""
    design = papers.documents.design
    factor = 1.0 if design.site.feed.direct else design.rules.power_factor
    living = Counter(cord.device for cord in cords if cord.strip not in failed)
    found: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for cord in cords:
        if cord.strip not in failed:
            va = (papers.standing[cord.device].known("power_w") or 0.0) / factor / living[cord.device]
            found[cord.strip][legs.get((cord.strip, cord.outlet), "")] += va
    return {strip: dict(by_leg) for strip, by_leg in found.items()}


def _fed(papers: Papers) -> Iterator[Finding]:
    """Every strip and power shelf hangs on one feed of its rack; those of a rack are on as many panels as there are."""
    feeds = {(row["power_panel"], row["name"]): row for row in papers.rows(FEEDS)}
    racks = {row["name"]: row["rack"] for row in papers.rows(DEVICES)}
    inlets = {row["device"] for row in papers.rows(PORTS)} - {cord.device for cord in read_cords(papers)}
    used: Counter[tuple[str, str]] = Counter()
    panels: defaultdict[str, Counter[str]] = defaultdict(Counter)
    fed: Counter[str] = Counter()
    for row in papers.rows(FEED_CABLES):
        key, device = (row["side_a_power_panel"], row["side_a_name"]), row["side_b_device"]
        used[key] += 1
        fed[device] += 1
        panels[racks.get(device, "")][key[0]] += 1
        feed = feeds.get(key)
        if feed is None or used[key] > 1:
            wanted = "a feed that is free" if feed is not None else f"a feed of {FEEDS}"
            yield wrong("FED007", row, f"the feed of {device}", " ".join(key), wanted, "a circuit feeds one thing")
        elif feed["rack"] != racks.get(device):
            rack = racks.get(device)
            yield wrong(
                "FED007", row, f"the rack of feed {' '.join(key)}", feed["rack"], rack, f"{device} stands there"
            )
    for device in sorted(inlets):
        if fed[device] != 1:
            yield absent("FED007", FEED_CABLES, f"the feeds of {device}", fed[device], 1, "it hangs on one feed")
    several = len({panel for panel, _ in feeds})
    for rack, counts in panels.items():
        if max(counts.values()) > -(-sum(counts.values()) // several):
            said = ", ".join(f"{count} on {panel}" for panel, count in sorted(counts.items()))
            rule = "a rack lives when one feed of the hall fails"
            yield absent("FED007", FEED_CABLES, f"the panels of rack {rack}", said, f"all {several} in turn", rule)


def _circuits(papers: Papers) -> Iterator[Finding]:
    """Every feed has the voltage and the breaker of the site, and is loaded by a cable of its own."""
    site = papers.documents.design.site.feed
    used = Counter((row["side_a_power_panel"], row["side_a_name"]) for row in papers.rows(FEED_CABLES))
    expected = {
        "voltage": round(site.line_v),
        "amperage": int(site.breaker_a),
        "max_utilization": round(100 * CONTINUOUS_SHARE),
    }
    words = {"phase": "single-phase" if site.direct else "three-phase", "supply": "dc" if site.direct else "ac"}
    for row in papers.rows(FEEDS):
        name = f"{row['power_panel']} {row['name']}"
        if not used[row["power_panel"], row["name"]]:
            yield wrong("FED008", row, f"the cable of feed {name}", None, "one", "a feed has a load")
        for column, value in expected.items():
            if row.number(column) != value:
                yield wrong("FED008", row, f"{column} of feed {name}", row[column], value, "the site gives it")
        for column, word in words.items():
            if row[column] != word:
                yield wrong("FED008", row, f"{column} of feed {name}", row[column], word, "the site gives it")
    yield from _primary(papers)


def _primary(papers: Papers) -> Iterator[Finding]:
    """What hangs on the first panel is primary, the other panels stand in for it."""
    rows = papers.rows(FEEDS)
    first = min((row["power_panel"] for row in rows), default="")
    for row in rows:
        expected = "primary" if row["power_panel"] == first else "redundant"
        if row["type"] != expected:
            what = f"type of feed {row['power_panel']} {row['name']}"
            yield wrong("FED008", row, what, row["type"], expected, f"{first} comes first, the others stand in for it")


def _outlets(papers: Papers) -> Iterator[Finding]:
    """A strip has as many outlets in use as its product has at most."""
    known = power_connections().get(papers.documents.design.site.feed.pdu)
    rows = {row["name"]: row for row in papers.rows(DEVICES)}
    for strip, count in Counter(row["device"] for row in papers.rows(OUTLETS)).items():
        if known is not None and known.outlets is not None and count > known.outlets:
            row, most = rows.get(strip) or papers.rows(OUTLETS)[0], f"at most {known.outlets}"
            yield wrong("FED008", row, f"the outlets of {strip} in use", count, most, "the strip has them")
