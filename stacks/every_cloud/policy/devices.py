"""What offers a node's devices to pods: plugins that get onto tainted nodes, one driver, the fabric's own adapters."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rule import UNKNOWN, Registered, StackRule

RELEASE = "kubernetes:helm.sh/v3:Release"
ADAPTERS = "kubernetes:mellanox.com/v1alpha1:NicClusterPolicy"
#: Charts that offer the accelerators of a vendor.
OFFERING = {
    "nvidia.com/gpu": ("nvidia-device-plugin", "gpu-operator"),
    "amd.com/gpu": ("amd-gpu", "gpu-operator", "gpu-operator-charts"),
    "aws.amazon.com/neuron": ("neuron-helm-chart", "neuron-device-plugin"),
}
#: NVIDIA's operator installs a driver unless it is told not to.
_OPERATOR = "gpu-operator"
NAMES = ("devices-are-offered", "one-driver", "adapters-of-the-fabric")


@dataclass(frozen=True, kw_only=True, slots=True)
class Nodes:
    """Nodes with accelerators.

    Attributes:
        urn: of the group or pool that makes them.
        resource: name under which pods ask for the accelerators.
        taints: key and effect of each, as pods name the effect.
        has_driver: whether their image has the accelerators' driver, or the cloud installs it.
        offered: whether the cloud itself offers them to pods.
        fabric: chart that offers the fabric's adapters, `ADAPTERS` for an object in its place, empty for none needed.
    """

    urn: str
    resource: str
    taints: tuple[tuple[str, str], ...]
    has_driver: bool
    offered: bool = False
    fabric: str = ""


def devices(nodes_of: Callable[[Sequence[Registered]], Sequence[Nodes]]) -> tuple[StackRule, ...]:
    """The rules of what offers devices.

    Args:
        nodes_of: from all resources to the nodes with accelerators.
    """

    def offered(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
        return [found for one in nodes_of(resources) for found in _offered(resources, one)]

    def one_driver(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
        if not any(one.has_driver for one in nodes_of(resources)):
            return []
        return [
            (one.urn, "installs a driver beside that of the nodes' image: set driver.enabled to false")
            for one in _releases(resources, (_OPERATOR,))
            if _object(_values(one).get("driver")).get("enabled") not in (False, UNKNOWN)
        ]

    def adapters(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
        taints = [taint for one in nodes_of(resources) if one.fabric == ADAPTERS for taint in one.taints]
        return [(one.urn, found) for one in resources if one.type == ADAPTERS for found in _adapters(one, taints)]

    names = iter(NAMES)
    return (
        StackRule(name=next(names), description="Pods find the devices of nodes.", check=offered),
        StackRule(name=next(names), description="Nodes have one driver of their accelerators.", check=one_driver),
        StackRule(name=next(names), description="Pods get the adapters of the fabric.", check=adapters),
    )


def _offered(resources: Sequence[Registered], nodes: Nodes) -> Iterator[tuple[str, str]]:
    # A layer of nodes alone installs nothing: its charts are in another stack, unless both are judged together.
    if not any(one.type in (RELEASE, ADAPTERS) for one in resources):
        return
    plugins = _releases(resources, OFFERING.get(nodes.resource, ()))
    if not nodes.offered and nodes.resource in OFFERING and not plugins:
        yield nodes.urn, f"nothing offers {nodes.resource} to pods: install {OFFERING[nodes.resource][0]}"
    fabric = [one for one in resources if one.type == ADAPTERS] if nodes.fabric == ADAPTERS else []
    fabric += _releases(resources, (nodes.fabric,))
    if nodes.fabric and not fabric:
        name = "a NicClusterPolicy" if nodes.fabric == ADAPTERS else nodes.fabric
        yield nodes.urn, f"nothing offers the fabric's adapters to pods, which fall back to TCP: install {name}"
    for one in (*plugins, *fabric):
        yield from _kept_off(one, nodes)


def _kept_off(plugin: Registered, nodes: Nodes) -> Iterator[tuple[str, str]]:
    """Yield every taint that keeps a chart off the nodes; without a word of its own it tolerates that of its vendor."""
    given = _values(plugin).get("tolerations")
    if not isinstance(given, list):
        return
    tolerations = [_object(entry) for entry in cast("list[object]", given)]
    for key, effect in nodes.taints:
        if not any(tolerates(entry, key, effect) for entry in tolerations):
            yield plugin.urn, f"does not tolerate {key}:{effect}: it runs on none of the nodes, which offer nothing"


def tolerates(toleration: Mapping[str, Any], key: str, effect: str) -> bool:
    """Whether a toleration covers a taint whose value it does not name."""
    if toleration.get("effect") not in (None, "", effect):
        return False
    exists = toleration.get("operator") == "Exists"
    return (toleration.get("key") == key and (exists or bool(toleration.get("value")))) or (
        exists and not toleration.get("key")
    )


def _adapters(policy: Registered, taints: Sequence[tuple[str, str]]) -> Iterator[str]:
    # What a provider answers of an object may lack its specification, which Kubernetes does not take without one.
    if "spec" not in policy.inputs:
        return
    spec = _object(policy.inputs.get("spec"))
    plugin = _object(spec.get("rdmaSharedDevicePlugin"))
    if not plugin:
        yield "offers no RDMA device to pods: set rdmaSharedDevicePlugin"
    for entry in _configured(plugin.get("config")):
        kinds = _object(entry.get("selectors")).get("linkTypes")
        if isinstance(kinds, list) and "infiniband" not in [str(one).lower() for one in cast("list[object]", kinds)]:
            yield f"offers adapters of {kinds}: those of the fabric are infiniband"
    if not _object(spec.get("ofedDriver")):
        yield "installs no driver of the adapters: set ofedDriver"
    for name, part in spec.items():
        version = _object(part).get("version")
        if version is not None and str(version).lower() in ("", "latest", "main", "master", "stable"):
            yield f"{name}.version is {version or 'empty'}: it changes by itself"
    tolerations = [_object(one) for one in cast("list[object]", spec.get("tolerations") or [])]
    for key, effect in taints:
        if not any(tolerates(one, key, effect) for one in tolerations):
            yield f"does not tolerate {key}:{effect}: it runs on none of the nodes"


def _configured(text: object) -> list[Mapping[str, Any]]:
    if not isinstance(text, str) or text == UNKNOWN:
        return []
    try:
        found = _object(json.loads(text)).get("configList")
    except ValueError:
        return []
    return [_object(one) for one in cast("list[object]", found)] if isinstance(found, list) else []


def _releases(resources: Sequence[Registered], charts: Sequence[str]) -> list[Registered]:
    return [
        one for one in resources if one.type == RELEASE and str(one.inputs.get("chart")).rpartition("/")[2] in charts
    ]


def _values(release: Registered) -> Mapping[str, Any]:
    return _object(release.inputs.get("values"))


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
