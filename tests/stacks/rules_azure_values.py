"""Values that Azure's resources of this cluster always have: what leads where, who may do what, what is switched on."""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.checks.preflight.records import Record, Resource

from .rules import Problem
from .rules_azure_tables import (
    ALWAYS,
    GRANTS,
    IDENTITIES,
    IN_OUR_NETWORK,
    RANGES,
    REFERENCES,
    THRESHOLDS,
    VALUES,
    WITH,
    WITH_NETWORK,
    WITH_SLURM,
)

_AZURE = "azure-native:"


def value_problems(record: Record, *, scheduler: str) -> Iterator[Problem]:
    """Return what is missing, leads elsewhere, or is switched the wrong way."""
    ours = bool(_of(record, "network:VirtualNetwork"))
    yield from _missing(record, ALWAYS)
    yield from _identities(record)
    if ours:
        yield from _missing(record, WITH_NETWORK)
        yield from _references(record, IN_OUR_NETWORK)
        yield from _addresses(record)
    if scheduler == "slurm":
        yield from _missing(record, WITH_SLURM)
    yield from _references(record, REFERENCES)
    yield from _grants(record)
    yield from _values(record)
    yield from _zones(record)
    yield from _notifications(record)


def _of(record: Record, kind: str) -> list[Resource]:
    return list(record.of(f"{_AZURE}{kind}"))


def at(value: Any, path: str) -> Any:  # noqa: ANN401 - JSON
    """Return what lies at a path of recorded inputs; None where nothing does."""
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _missing(record: Record, least: Mapping[str, int]) -> Iterator[Problem]:
    for kind, count in least.items():
        found = len(_of(record, kind))
        if found < count:
            yield Problem(id="AZ080", resource=kind, message=f"{found} instead of {count}")


def _identities(record: Record) -> Iterator[Problem]:
    names = {one.name for one in _of(record, "managedidentity:UserAssignedIdentity")}
    for who, kind in IDENTITIES.items():
        if (not kind or _of(record, kind)) and f"small-{who}" not in names:
            yield Problem(id="AZ080", resource=f"small-{who}", message="has no identity")


def _references(record: Record, wanted: Mapping[tuple[str, str, str], str]) -> Iterator[Problem]:
    for (kind, name, path), end in wanted.items():
        for one in _of(record, kind):
            found = at(one.inputs, path)
            if one.name.endswith(name) and not str(found).endswith(end):
                yield Problem(id="AZ081", resource=one.name, message=f"{path} leads to {found}, not to …{end}")


def _grants(record: Record) -> Iterator[Problem]:
    grants = {one.name.removeprefix("small-"): one for one in _of(record, "authorization:RoleAssignment")}
    for name, (who, role, what) in GRANTS.items():
        if name in WITH and not record.of(WITH[name]):
            continue
        one = grants.get(name)
        if one is None:
            yield Problem(id="AZ082", resource=name, message="is not granted")
            continue
        principal, scope = str(one.inputs.get("principalId")), str(one.inputs.get("scope"))
        if f"small-{who}-" not in principal or not principal.endswith("rincipalId"):
            yield Problem(id="AZ082", resource=one.name, message=f"is for {principal}")
        if not str(one.inputs.get("roleDefinitionId")).endswith(f"/{role}"):
            yield Problem(id="AZ082", resource=one.name, message=f"gives {one.inputs.get('roleDefinitionId')}")
        if what not in scope:
            yield Problem(id="AZ082", resource=one.name, message=f"is on {scope}")


def _values(record: Record) -> Iterator[Problem]:
    for (kind, path), right in VALUES.items():
        for one in _of(record, kind):
            found = at(one.inputs, path)
            if found != right:
                yield Problem(id="AZ083", resource=one.name, message=f"{path} is {found}, not {right}")
    for (kind, path), (least, most) in RANGES.items():
        for one in _of(record, kind):
            found = at(one.inputs, path)
            if isinstance(found, bool) or not isinstance(found, int | float) or not least <= found <= most:
                yield Problem(id="AZ084", resource=one.name, message=f"{path} is {found}, not {least} to {most}")


def _zones(record: Record) -> Iterator[Problem]:
    zones = {
        str(zone)
        for one in record.cloud_resources
        for zone in (
            *one.inputs.get("zones", ()),
            *([one.inputs.get("availabilityZone", ())] if "availabilityZone" in one.inputs else ()),
        )
    }
    if len(zones) != 1 or not zones <= {"1", "2", "3"}:
        yield Problem(id="AZ085", resource="zones", message=f"are {', '.join(sorted(zones))}; one of 1, 2, 3 is right")


def _addresses(record: Record) -> Iterator[Problem]:
    (network,) = _of(record, "network:VirtualNetwork")
    whole = [ipaddress.ip_network(prefix) for prefix in network.inputs["addressSpace"]["addressPrefixes"]]
    subnets = {one.name: ipaddress.ip_network(one.inputs["addressPrefix"]) for one in _of(record, "network:Subnet")}
    for name, subnet in subnets.items():
        if not any(subnet.subnet_of(space) for space in whole):  # type: ignore[arg-type]
            yield Problem(id="AZ086", resource=name, message=f"{subnet} is outside the network")
        if any(other != name and subnet.overlaps(theirs) for other, theirs in subnets.items()):
            yield Problem(id="AZ086", resource=name, message=f"{subnet} overlaps another subnet")
    known = {str(subnet) for subnet in subnets.values()}
    for group in _of(record, "network:NetworkSecurityGroup"):
        taken: set[tuple[str, int]] = set()
        for rule in group.inputs["securityRules"]:
            for key in ("sourceAddressPrefix", "destinationAddressPrefix"):
                prefix = str(rule.get(key))
                private = prefix[:1].isdigit() and ipaddress.ip_network(prefix).is_private
                if private and prefix not in known:
                    yield Problem(id="AZ087", resource=group.name, message=f"{rule['name']}: {prefix} is no subnet")
            anything = [
                key
                for key in ("sourceAddressPrefix", "destinationAddressPrefix")
                if rule.get(key) in ("*", "0.0.0.0/0")
            ]
            if rule["access"] == "Allow" and anything:
                yield Problem(id="AZ087", resource=group.name, message=f"{rule['name']} is for any address")
            place = (rule["direction"], rule["priority"])
            if place in taken or not 100 <= rule["priority"] <= 4096:
                yield Problem(id="AZ088", resource=group.name, message=f"{rule['name']}: priority {rule['priority']}")
            taken.add(place)
        last = max(group.inputs["securityRules"], key=lambda rule: (rule["direction"] == "Inbound", rule["priority"]))
        if (last["access"], last["priority"], last.get("sourceAddressPrefix")) != ("Deny", 4096, "*"):
            yield Problem(id="AZ088", resource=group.name, message="does not end with a denial")


def _notifications(record: Record) -> Iterator[Problem]:
    for one in _of(record, "consumption:Budget"):
        told = {
            (entry.get("thresholdType"), entry.get("threshold"))
            for entry in (one.inputs.get("notifications") or {}).values()
            if entry.get("enabled") is True and entry.get("operator") == "GreaterThanOrEqualTo"
        }
        if told != THRESHOLDS:
            yield Problem(id="AZ064", resource=one.name, message=f"tells at {sorted(map(str, told))}")
