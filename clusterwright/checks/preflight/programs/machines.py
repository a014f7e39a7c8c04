"""Are the nodes that the program asks for those of the settings: as many, of the type, obtained as chosen."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.judging import registered
from clusterwright.checks.preflight.programs.recorded_checks import unrecorded
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.scripts.manifests import items, mapping
from clusterwright.checks.preflight.subject import Subject

#: Slices of TPUs are counted by their topology.
_SLICE = "gcp:tpu/v2Vm:V2Vm"
#: Whether a group of nodes says in every program that it may be taken back.
_SPOT_IS_RECORDED = {"aws": True, "azure": True, "gcp": False}


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A group of nodes that the program asks for.

    Attributes:
        name: of the group; nodes: in it, None where that is not known; kind: their type, empty where not known.
        spot: whether they may be taken back.
    """

    name: str
    nodes: int | None
    kind: str
    spot: bool = False


def as_set(subject: Subject) -> Iterator[Outcome]:
    """Compare the groups of nodes that the program asks for with nodeCount, nodeType and capacity."""
    missing = unrecorded(subject)
    recorded = subject.recorded
    if missing is not None or recorded is None or recorded.run is None:
        yield missing or Outcome(status="UNKNOWN", message="the program was not run")
        return
    resources = list(registered(recorded.run))
    groups = list(_GROUPS[subject.cloud](resources, subject.instance_type))
    count, good = subject.node_count, True
    for message, fix, key in _problems(subject, groups, count, resources):
        good = False
        setting = subject.project.setting(key)
        yield Outcome(status="FAIL", message=message, fix=fix, place=setting.place if setting is not None else None)
    if good and groups and count is not None:
        yield passed(f"{sum(one.nodes or 0 for one in groups)} nodes of {subject.instance_type} are asked for")


def _problems(
    subject: Subject, groups: list[Group], count: int | None, resources: list[dict[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    known = [one.nodes for one in groups if one.nodes is not None]
    if count and groups and len(known) == len(groups) and sum(known) != count:
        yield (
            f"the program asks for {sum(known)} nodes ({_each(groups)}), nodeCount is {count}",
            "correct the program: groups that together have nodeCount nodes",
            "nodeCount",
        )
    if count and not groups and not any(one["type"] == _SLICE for one in resources):
        yield (
            f"the program asks for no node of {subject.instance_type}, nodeCount is {count}",
            "correct the program",
            "nodeCount",
        )
    spot = subject.capacity == "spot"
    for one in groups:
        if one.spot and not spot:
            yield (
                f"{one.name} may be taken back at any time, capacity is {subject.capacity}",
                "capacity: spot, or correct the program",
                "capacity",
            )
        elif spot and not one.spot and _SPOT_IS_RECORDED[subject.cloud]:
            yield f"{one.name} is not spot, capacity is spot", "correct the program", "capacity"
    yield from _system_disks(subject, resources)


def _each(groups: list[Group]) -> str:
    return ", ".join(f"{one.name}: {one.nodes}" for one in groups)


def _system_disks(subject: Subject, resources: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """A mapping of a device that is not the system disk adds a second one, and leaves the first as the image has it."""
    setting = subject.project.setting("nodeType.image")
    image = text(setting.value) if setting is not None else ""
    wanted = (
        "/dev/sda1"
        if re.search("ubuntu|debian", image)
        else "/dev/xvda"
        if re.search("amazon-linux|al20|amzn", image)
        else ""
    )
    for one in resources:
        if one["type"] != "aws:ec2/launchTemplate:LaunchTemplate" or not one["inputs"].get("imageId") or not wanted:
            continue
        named = [text(mapping(each).get("deviceName")) for each in items(one["inputs"].get("blockDeviceMappings"))]
        if named and wanted not in named:
            about = f"{_name(one)} is about {', '.join(named)}, the system disk of {image} is {wanted}"
            yield f"{about}: it stays as the image has it", f"deviceName: {wanted}", "nodeType.image"


def _name(one: Mapping[str, Any]) -> str:
    return str(one["urn"]).rpartition("::")[2]


def _of_aws(resources: list[dict[str, Any]], kind: str) -> Iterator[Group]:
    templates = {
        one["urn"]: one["inputs"] for one in resources if one["type"] == "aws:ec2/launchTemplate:LaunchTemplate"
    }
    for one in resources:
        inputs, behind = one["inputs"], one["behind"].get("launchTemplate", [])
        template: Mapping[str, Any] = next((templates[urn] for urn in behind if urn in templates), {})
        own = text(template.get("instanceType")) or next(iter(map(text, items(inputs.get("instanceTypes")))), "")
        if own and own != kind:
            continue
        market = any(
            mapping(each).get("marketType") == "spot" for each in _listed(template.get("instanceMarketOptions"))
        )
        if one["type"] == "aws:autoscaling/group:Group":
            yield Group(
                name=_name(one),
                nodes=whole(inputs.get("desiredCapacity", inputs.get("minSize"))),
                kind=own,
                spot=market,
            )
        elif one["type"] == "aws:eks/nodeGroup:NodeGroup" and own == kind:
            size = mapping(inputs.get("scalingConfig"))
            yield Group(
                name=_name(one),
                nodes=whole(size.get("desiredSize")),
                kind=own,
                spot=inputs.get("capacityType") == "SPOT" or market,
            )


def _of_azure(resources: list[dict[str, Any]], kind: str) -> Iterator[Group]:
    for one in resources:
        inputs = one["inputs"]
        if one["type"] == "azure-native:compute:VirtualMachineScaleSet":
            sku = mapping(inputs.get("sku"))
            spot = mapping(inputs.get("virtualMachineProfile")).get("priority") in ("Spot", "Low")
            if text(sku.get("name")) == kind:
                yield Group(name=_name(one), nodes=whole(sku.get("capacity")), kind=kind, spot=spot)
        elif one["type"] == "azure-native:containerservice:AgentPool" and text(inputs.get("vmSize")) == kind:
            yield Group(
                name=_name(one),
                nodes=whole(inputs.get("count")),
                kind=kind,
                spot=inputs.get("scaleSetPriority") == "Spot",
            )


def _of_gcp(resources: list[dict[str, Any]], kind: str) -> Iterator[Group]:
    templates = {
        one["urn"]: one["inputs"] for one in resources if one["type"] == "gcp:compute/instanceTemplate:InstanceTemplate"
    }
    for one in resources:
        inputs = one["inputs"]
        if one["type"] == "gcp:compute/instanceGroupManager:InstanceGroupManager":
            template: Mapping[str, Any] = next(
                (templates[urn] for urn in one["behind"].get("versions", []) if urn in templates), {}
            )
            if text(template.get("machineType")) == kind:
                asked = [
                    each
                    for each in resources
                    if "resizeRequest" in each["type"] and one["urn"] in each["behind"].get("instanceGroupManager", [])
                ]
                sizes = [whole(each["inputs"].get("resizeBy")) for each in asked]
                nodes = sum(size or 0 for size in sizes) if asked else whole(inputs.get("targetSize"))
                spot = mapping(template.get("scheduling")).get("provisioningModel") == "SPOT"
                yield Group(name=_name(one), nodes=nodes, kind=kind, spot=spot)
        elif one["type"] == "gcp:container/nodePool:NodePool":
            config = mapping(inputs.get("nodeConfig"))
            if text(config.get("machineType")) == kind:
                nodes = whole(inputs.get("nodeCount", inputs.get("initialNodeCount")))
                scaled = mapping(inputs.get("autoscaling"))
                if scaled:
                    nodes = whole(scaled.get("totalMaxNodeCount") or scaled.get("maxNodeCount"))
                zones = len(items(inputs.get("nodeLocations"))) or 1
                yield Group(
                    name=_name(one),
                    nodes=None if nodes is None else nodes * zones,
                    kind=kind,
                    spot=config.get("spot") is True,
                )


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - JSON
    return value if isinstance(value, list) else [value] if isinstance(value, Mapping) else []


_GROUPS: Mapping[str, Callable[[list[dict[str, Any]], str], Iterator[Group]]] = {
    "aws": _of_aws,
    "azure": _of_azure,
    "gcp": _of_gcp,
}
