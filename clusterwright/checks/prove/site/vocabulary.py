"""Words and keys of the tables: rows that are there once, values that the importing program takes, names that exist."""

import re
from collections.abc import Iterator

from clusterwright.checks.prove.papers import Papers, Row, examined, wrong
from clusterwright.checks.prove.records import Result
from clusterwright.errors import Finding

#: Columns that together are a row's key, by file.
_KEYS = {
    "fabric.csv": ("network", "tier"),
    "dhcp-hosts.csv": ("device", "interface"),
    "netbox/0-manufacturers.csv": ("name",),
    "netbox/2-device-roles.csv": ("name",),
    "netbox/3-sites.csv": ("name",),
    "netbox/4-power-panels.csv": ("site", "name"),
    "netbox/5-power-feeds.csv": ("power_panel", "name"),
    "netbox/6-power-outlets.csv": ("device", "name"),
    "netbox/6-power-ports.csv": ("device", "name"),
    "netbox/8-prefixes.csv": ("prefix",),
    "netbox/8-vlans.csv": ("site", "vid"),
    "netbox/9-ip-addresses.csv": ("address",),
}
_STATUS = "planned|staging|staged|active|offline|failed|inventory|decommissioning|reserved|available|deprecated|retired"
_SLUG = "[a-z0-9-]+"
_COLOUR = "[0-9a-f]{6}"
_SIDES = "A and B|"
_OPTIONAL_NUMBER = r"(\d+(\.\d+)?)?"
#: Whole values that a column takes, by file; words are those of NetBox's choices.
_WORDS = {
    "fabric.csv": {"sides": _SIDES},
    "bill_of_materials.csv": {
        "quote_unit_price": _OPTIONAL_NUMBER,
        "quote_currency": "([A-Z]{3})?",
        "quote_lead_time_weeks": _OPTIONAL_NUMBER,
        "quoted_on": r"(\d{4}-\d{2}-\d{2})?",
    },
    "ip-networks.csv": {"gateway": r"(\d+(\.\d+){3})?|agreed with the users' network"},
    "netbox/0-manufacturers.csv": {"slug": _SLUG},
    "netbox/2-device-roles.csv": {"slug": _SLUG, "color": _COLOUR},
    "netbox/3-sites.csv": {"slug": _SLUG, "status": f"{_STATUS}|candidate"},
    "netbox/4-racks.csv": {"status": _STATUS, "width": "10|19|21|23"},
    "netbox/5-devices.csv": {"status": _STATUS, "face": "front|rear|"},
    "netbox/5-power-feeds.csv": {
        "status": _STATUS,
        "type": "primary|redundant",
        "supply": "ac|dc",
        "phase": "single-phase|three-phase",
    },
    "netbox/6-power-ports.csv": {"maximum_draw": _OPTIONAL_NUMBER},
    "netbox/7-cables.csv": {"status": "connected|planned|decommissioning", "color": f"({_COLOUR})?"},
    "netbox/7-power-cables.csv": {
        "side_a_type": "dcim.powerport|dcim.poweroutlet",
        "side_b_type": "dcim.powerport|dcim.poweroutlet",
        "type": "power",
        "status": "connected|planned|decommissioning",
        "color": f"({_COLOUR})?",
        "length": _OPTIONAL_NUMBER,
        "length_unit": "(m|cm|ft|in|km|mi)?",
    },
    "netbox/7-power-feed-cables.csv": {
        "side_a_type": "dcim.powerfeed",
        "side_b_type": "dcim.powerport",
        "type": "power",
        "status": "connected|planned|decommissioning",
    },
    "netbox/8-prefixes.csv": {"status": "container|active|reserved|deprecated"},
    "netbox/8-vlans.csv": {"status": "active|reserved|deprecated"},
    "netbox/9-ip-addresses.csv": {"status": "active|reserved|deprecated|dhcp|slaac"},
}
#: Columns that name a row of another table: file and column, then the table and its column. Empty cells name nothing.
_NAMES = (
    ("netbox/4-power-panels.csv", "site", "netbox/3-sites.csv", "name"),
    ("netbox/5-power-feeds.csv", "site", "netbox/3-sites.csv", "name"),
    ("netbox/5-power-feeds.csv", "power_panel", "netbox/4-power-panels.csv", "name"),
    ("netbox/5-power-feeds.csv", "rack", "netbox/4-racks.csv", "name"),
    ("netbox/6-power-outlets.csv", "power_port", "netbox/6-power-ports.csv", "name"),
    ("netbox/8-vlans.csv", "site", "netbox/3-sites.csv", "name"),
    ("netbox/8-prefixes.csv", "vlan_site", "netbox/3-sites.csv", "name"),
    ("netbox/8-prefixes.csv", "vlan", "netbox/8-vlans.csv", "vid"),
    ("netbox/4-power-panels.csv", "name", "netbox/5-power-feeds.csv", "power_panel"),
)


def prove_vocabulary(papers: Papers) -> Result:
    """Return what holds of the keys, words and names of all tables."""
    facts = [f"{len(papers.tables)} tables: rows once, words that NetBox takes, names that are in their table"]
    return examined("words and keys", papers, (), (_once, _words, _names, _slugs, _host_names), facts)


def _once(papers: Papers) -> Iterator[Finding]:
    for file, columns in _KEYS.items():
        seen: dict[tuple[str, ...], Row] = {}
        for row in papers.tables.get(file, ()):
            key = tuple(row[column] for column in columns)
            if key in seen:
                what, other = f"the row of {' '.join(key)}", f"only {seen[key].place}"
                yield wrong("VOC001", row, what, "a second one", other, "a key is one row's")
            seen[key] = row


def _words(papers: Papers) -> Iterator[Finding]:
    for file, columns in _WORDS.items():
        for row in papers.tables.get(file, ()):
            for column, pattern in columns.items():
                if re.fullmatch(pattern, row[column]) is None:
                    yield wrong("VOC002", row, column, row[column], pattern, "the column takes no other")


def _names(papers: Papers) -> Iterator[Finding]:
    for file, column, table, other in _NAMES:
        if table not in papers.tables:
            continue
        known = {row[other] for row in papers.rows(table)}
        for row in papers.tables.get(file, ()):
            if row[column] and row[column] not in known:
                yield wrong("VOC003", row, column, row[column], f"a row of {table}", "rows name what is there")


def _slugs(papers: Papers) -> Iterator[Finding]:
    """A slug is its name in lower case, with hyphens."""
    for file in ("netbox/0-manufacturers.csv", "netbox/2-device-roles.csv", "netbox/3-sites.csv"):
        for row in papers.tables.get(file, ()):
            expected = row["name"].lower().replace(" ", "-")
            if row["slug"] != expected:
                yield wrong("VOC002", row, f"the slug of {row['name']}", row["slug"], expected, "it is the name's")


def _host_names(papers: Papers) -> Iterator[Finding]:
    """Names of addresses and VLANs are those of their machines and networks; addresses have one name each."""
    plan = {row["address"]: row for row in papers.tables.get("ip-plan.csv", ())}
    for row in papers.tables.get("netbox/9-ip-addresses.csv", ()):
        own = plan.get(row["address"].split("/")[0])
        if own is None:
            continue
        whole = f"{own['device']}-{own['interface']}".replace("/", "-")
        if row["dns_name"] not in {own["device"], whole} and not row["dns_name"].startswith(f"{own['device']}."):
            yield wrong(
                "VOC003", row, "dns_name", row["dns_name"], f"{own['device']} or {whole}", f"{own.place} has it"
            )
    kinds = {row["vlan"]: row["network"].split(" ", maxsplit=1)[0] for row in papers.tables.get("ip-networks.csv", ())}
    for row in papers.tables.get("netbox/8-vlans.csv", ()):
        if row["name"] != kinds.get(row["vid"], row["name"]):
            yield wrong(
                "VOC003", row, f"the name of VLAN {row['vid']}", row["name"], kinds[row["vid"]], "ip-networks.csv"
            )
