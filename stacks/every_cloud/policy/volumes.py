"""Claims of Kubernetes find the volumes that are made for them: one that asks for something else waits for ever."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from rule import UNKNOWN, Registered, StackRule

VOLUME = "kubernetes:core/v1:PersistentVolume"
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"


def _part(value: object, name: str) -> Mapping[str, Any]:
    found = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _modes(spec: Mapping[str, Any]) -> list[str] | None:
    """Return the ways of access, None where they are not known; the API takes no claim and no volume without one."""
    found = spec.get("accessModes")
    return [str(one) for one in cast("list[object]", found)] if isinstance(found, list) and found else None


def claims_bind(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """A claim that names a volume asks for its class and its ways of access."""
    volumes = {
        name: _part(one.inputs, "spec")
        for one in resources
        if one.type == VOLUME and isinstance(name := _part(one.inputs, "metadata").get("name"), str)
    }
    claims = [(one.urn, _part(one.inputs, "spec")) for one in resources if one.type == CLAIM]
    return [
        (urn, message)
        for urn, spec in claims
        if spec.get("volumeName") in volumes
        for message in _differences(spec, volumes[spec["volumeName"]])
    ]


def _differences(claim: Mapping[str, Any], volume: Mapping[str, Any]) -> Iterator[str]:
    asked, offered = _modes(claim), _modes(volume)
    if asked is not None and offered is not None:
        lacking = [mode for mode in asked if mode not in offered]
        if lacking:
            yield f"asks for {lacking[0]}, and its volume has {', '.join(offered)}"
        elif "ReadWriteMany" not in asked:
            yield f"asks for {', '.join(asked)}: pods of one node alone get the volume"
    classes = [str(one.get("storageClassName", "")) for one in (claim, volume)]
    if UNKNOWN not in classes and classes[0] != classes[1]:
        yield f"is of the class {classes[0] or 'none'}, and its volume of {classes[1] or 'none'}"


def claims_find_their_volumes() -> tuple[StackRule, ...]:
    """The rule, for the packs of all clouds."""
    return (StackRule(name="claims-bind", description="Claims find the volumes made for them.", check=claims_bind),)
