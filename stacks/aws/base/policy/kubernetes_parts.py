"""What a cluster of EKS has to have installed: plugins of its nodes, kept network policies, drivers of its volumes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from devices import RELEASE, Nodes, devices
from fabric_rules import TEMPLATE
from reading import Inputs, objects, texts
from rule import UNKNOWN, Registered, Rule, StackRule

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
ADD_ON = "aws:eks/addon:Addon"
CLUSTER = "aws:eks/cluster:Cluster"
VOLUME = "kubernetes:core/v1:PersistentVolume"
NETWORK_ADD_ON = "vpc-cni"
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute"}
_LUSTRE = "fsx.csi.aws.com"


def gpu_nodes(resources: Sequence[Registered]) -> Sequence[Nodes]:
    """Return the groups of nodes with accelerators."""
    with_fabric = {
        one.urn
        for one in resources
        if one.type == TEMPLATE
        and any(str(card.get("interfaceType")).startswith("efa") for card in objects(one.inputs, "networkInterfaces"))
    }
    return [
        Nodes(
            urn=one.urn,
            resource="aws.amazon.com/neuron" if "NEURON" in str(one.inputs.get("amiType")) else "nvidia.com/gpu",
            taints=tuple(
                (str(taint.get("key")), _EFFECTS[str(taint.get("effect"))])
                for taint in objects(one.inputs, "taints")
                if taint.get("effect") in _EFFECTS
            ),
            has_driver=any(vendor in str(one.inputs.get("amiType")) for vendor in ("NVIDIA", "NEURON")),
            fabric="aws-efa-k8s-device-plugin" if with_fabric & set(one.behind.get("launchTemplate", ())) else "",
        )
        for one in resources
        if one.type == NODE_GROUP and _has_accelerators(one.inputs)
    ]


def _has_accelerators(inputs: Inputs) -> bool:
    return any(labels.get("node-kind") == "gpu" for labels in objects(inputs, "labels")) or any(
        vendor in str(inputs.get("amiType")) for vendor in ("NVIDIA", "NEURON")
    )


def _settings(inputs: Inputs) -> Mapping[str, Any] | None:
    """Return what an add-on is configured with; None where that is not known yet."""
    given = inputs.get("configurationValues")
    if given == UNKNOWN:
        return None
    try:
        found: object = json.loads(given) if isinstance(given, str) else None
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def kept_policies(type_: str, inputs: Inputs) -> Sequence[str]:
    """Network policies are kept only where the network's add-on is told to."""
    if type_ != ADD_ON or inputs.get("addonName") != NETWORK_ADD_ON:
        return []
    settings = _settings(inputs)
    if settings is None or str(settings.get("enableNetworkPolicy")).lower() == "true":
        return []
    return ["does not keep network policies: set enableNetworkPolicy in its configurationValues"]


def small_steps(type_: str, inputs: Inputs) -> Sequence[str]:
    """An update takes few nodes at a time: each of them ends a job."""
    if type_ != NODE_GROUP:
        return []
    found: list[str] = []
    for update in objects(inputs, "updateConfig"):
        share, nodes = update.get("maxUnavailablePercentage"), update.get("maxUnavailable")
        if isinstance(share, int | float) and share > _MOST_PERCENT:
            found.append(f"an update takes {share:.0f} % of the nodes at once")
        if isinstance(nodes, int | float) and nodes > _MOST_NODES:
            found.append(f"an update takes {nodes:.0f} nodes at once")
    return found


_MOST_PERCENT, _MOST_NODES = 10, 10


def parts_of_the_cluster(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """What is used has its add-on: names, the network, the roles of pods, and the shared file system."""
    clusters = [one for one in resources if one.type == CLUSTER]
    found = {str(one.inputs.get("addonName")) for one in resources if one.type == ADD_ON}
    charts = {str(one.inputs.get("chart")) for one in resources if one.type == RELEASE}
    if not clusters or not found:
        return []
    urn = clusters[0].urn
    return [(urn, f"{what}: add {name}") for name, what in _missing(resources, found | charts)]


def _missing(resources: Sequence[Registered], found: set[str]) -> Iterator[tuple[str, str]]:
    wanted = {
        "coredns": "no name resolves",
        "kube-proxy": "no service is reached",
        NETWORK_ADD_ON: "pods have no network",
    }
    if any(one.type == "aws:eks/podIdentityAssociation:PodIdentityAssociation" for one in resources):
        wanted["eks-pod-identity-agent"] = "pods do not get the roles that they are given"
    if any(csi.get("driver") == _LUSTRE for one in resources if one.type == VOLUME for csi in _csi(one)):
        wanted["aws-fsx-csi-driver"] = "the shared file system is mounted by nothing"
    yield from ((name, what) for name, what in wanted.items() if name not in found)


def _csi(volume: Registered) -> Iterator[Inputs]:
    for spec in objects(volume.inputs, "spec"):
        yield from objects(spec, "csi")


def disks_of_nodes(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """The system disk of EKS's images is /dev/xvda: what is said of another one is about a second disk."""
    templates = {urn for one in resources if one.type == NODE_GROUP for urn in one.behind.get("launchTemplate", ())}
    named = {str(one.inputs.get("amiType")) for one in resources if one.type == NODE_GROUP}
    if any(kind.startswith(("BOTTLEROCKET", "WINDOWS", "CUSTOM")) for kind in named):
        return []
    return [
        (one.urn, f"says of {', '.join(given)} what the system disk /dev/xvda should have: that one stays as it is")
        for one in resources
        if one.type == TEMPLATE and one.urn in templates
        for given in [
            [device for block in objects(one.inputs, "blockDeviceMappings") for device in texts(block, "deviceName")]
        ]
        if given and "/dev/xvda" not in given
    ]


RULES = (
    Rule(name="policies-of-pods-are-kept", description="Network policies have an effect.", check=kept_policies),
    Rule(name="small-steps", description="Updates take few nodes at a time.", check=small_steps),
)
STACK_RULES = (
    *devices(gpu_nodes),
    StackRule(name="parts-of-the-cluster", description="What is used is installed.", check=parts_of_the_cluster),
    StackRule(name="disks-of-nodes", description="System disks are as they are asked for.", check=disks_of_nodes),
)
