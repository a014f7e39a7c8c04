"""Which resource an input may refer to: a subnet's id where a subnet is wanted, and no other id.

The stand-in cloud gives every resource ids of its own, so a recorded text tells what it refers to. What is wanted is in
the property's name (`kmsKeyId` wants a key, `subnet.id` a subnet), or in a table where names do not say it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.checks.preflight.records import REFERENCE, SECRET, UNKNOWN, Record

from .rules import Problem

#: Property, by the end of its name in words, to the end of the kind's name, where they differ.
_MEANT = {
    "allocation": "eip",
    "kms key": "key",
    "kms key name": "key",
    "kms master key": "key",
    "subscriber sns topic": "topic",
    "alarm action": "topic",
    "ok action": "topic",
    "vpc zone identifier": "subnet",
    "cluster identifier": "cluster",
    "log destination": "log group",
    "destination": "log group",
    "default route table": "vpc",
    "contact group": "action group",
    "dns zone": "private zone",
    "storage": "storage account",
    "workspace resource": "workspace",
    "encryption key": "key",
    "service account": "account",
}
#: What a right is granted on, a lock holds, a schedule calls, or a private endpoint leads to, may be of any kind.
_ANYTHING = ("scope", "member", "target", "private link service")
#: Ends of names that say how a thing is referred to, and not what it is.
_HOW = re.compile(r"(Id|Arn|SelfLink|Name|Url|URI|Uri)s?$|^(id|arn|selfLink|name|identifier|email)$")


def _words(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).lower()
    return re.sub(r"ies$", "y", spaced) if spaced.endswith("ies") else re.sub(r"(?<=ss)es$|(?<!s)s$", "", spaced)


def kind_of(type_: str) -> str:
    """Return a resource type's last name in words: `aws:ec2/routeTable:RouteTable` is a route table."""
    return _words(type_.rpartition(":")[2])


def wanted_kind(path: tuple[str, ...], kinds: frozenset[str]) -> str | None:
    """Return the kind that a property asks for, or None if its name does not say.

    Args:
        path: names of the property and of those around it, outermost first.
        kinds: that there are.
    """
    for step in reversed(path):
        bare = _words(_HOW.sub("", step))
        if not bare:
            continue
        if bare in _ANYTHING:
            return None
        meant = [end for end in _MEANT if bare == end or bare.endswith(f" {end}")]
        if meant:
            return _MEANT[max(meant, key=len)]
        # A gateway is any gateway; an iam role is a role.
        if any(kind == bare or kind.endswith(f" {bare}") for kind in kinds):
            return bare
        fitting = [kind for kind in kinds if bare.endswith(f" {kind}")]
        return max(fitting, key=len) if fitting else None
    return None


def reference_kind_problems(record: Record) -> Iterator[Problem]:
    """No input refers to a thing of another kind than its name says."""
    known: dict[str, set[str]] = {}
    for one in record.cloud_resources:
        for text in one.identities:
            known.setdefault(text, set()).add(kind_of(one.type))
    kinds = frozenset(kind for found in known.values() for kind in found)
    for one in record.cloud_resources:
        for path, text in _texts(one.inputs, ()):
            found = known.get(text)
            wanted = wanted_kind(path, kinds) if found else None
            if found and wanted and not any(kind == wanted or kind.endswith(f" {wanted}") for kind in found):
                yield Problem(
                    id="REF010",
                    resource=one.name,
                    message=f"{'.'.join(path)} wants a {wanted}, got {text} ({', '.join(sorted(found))})",
                )


def _texts(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in (SECRET, UNKNOWN, REFERENCE):
                yield from _texts(item, (*path, key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, path)
