"""Queue, quota, topology, volume and claim: no more than there is, and names that are there."""

from collections import defaultdict
from collections.abc import Iterator

from clusterwright.checks.prove.kubernetes.nodes import KIND
from clusterwright.checks.prove.kubernetes.objects import Cluster, Object, amount, values_at, wrong
from clusterwright.errors import Finding

#: Kinds that have no namespace.
_OF_THE_CLUSTER = {
    "Namespace",
    "Node",
    "PersistentVolume",
    "Topology",
    "ResourceFlavor",
    "ClusterQueue",
    "NicClusterPolicy",
    "HostDeviceNetwork",
    "GatewayClass",
}
_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def quota(cluster: Cluster) -> Iterator[Finding]:
    """Yield resources of which the queues give away more than all hosts have, or none where one alone covers them."""
    there = {name: count * len(cluster.hosts) for name, count in cluster.resources.items()}
    there |= {name: float(cluster.whole_gpus) for name in there if name.endswith(("/gpu", "/gaudi"))}
    given: defaultdict[str, float] = defaultdict(float)
    queues = cluster.of("ClusterQueue")
    for queue in queues:
        for group in queue.at("spec.resourceGroups") or []:
            covered = list(group.get("coveredResources", []))
            for flavor in group.get("flavors", []):
                listed = {one["name"]: one["nominalQuota"] for one in flavor.get("resources", [])}
                if sorted(listed) != sorted(covered):
                    rule = "every resource that is covered has a quota"
                    yield wrong(
                        "K8S003", queue.place, "the resources of the quota", sorted(listed), sorted(covered), rule
                    )
                for name, value in listed.items():
                    given[name] += amount(value)
    for name in given.keys() & there.keys():
        # Queues of a cohort borrow, and hosts without a whole GPU have none to give.
        nothing = given[name] == 0 and there[name] > 0
        if nothing or given[name] > there[name] * (1 + 1e-9):
            place = queues[0].place + (" and others" if len(queues) > 1 else "")
            rule = f"{len(cluster.hosts):,} hosts have as many"
            said, most = _shown(name, given[name]), f"at most {_shown(name, there[name])}"
            yield wrong("K8S003", place, f"the quota of {name}", said, most, rule)


def _shown(resource: str, value: float) -> str:
    return f"{value / 2**30:,.0f}Gi" if resource == "memory" else f"{value:,.0f}"


def _names(cluster: Cluster, *kinds: str) -> set[str]:
    return {one.name for one in cluster.of(*kinds)}


def named(cluster: Cluster) -> Iterator[Finding]:
    """Yield objects that name a queue, a flavour, a topology, a namespace or labels that no other object has."""
    flavors, topologies = _names(cluster, "ResourceFlavor"), _names(cluster, "Topology")
    for queue in cluster.of("ClusterQueue"):
        for group in queue.at("spec.resourceGroups") or []:
            yield from _one_of(queue, "flavors", [one.get("name") for one in group.get("flavors", [])], flavors)
    for queue in cluster.of("LocalQueue"):
        yield from _one_of(queue, "clusterQueue", [queue.at("spec.clusterQueue")], _names(cluster, "ClusterQueue"))
    yield from _selected(cluster)
    node_labels = {key for node in cluster.of("Node") for key in (node.at("metadata.labels") or {})}
    node_labels.add("kubernetes.io/hostname")
    for flavor in cluster.of("ResourceFlavor"):
        yield from _one_of(flavor, "topologyName", [flavor.at("spec.topologyName")], topologies)
        selected = flavor.at("spec.nodeLabels") or {}
        if selected.get(KIND) != "gpu":
            yield wrong("K8S005", flavor.place, KIND, selected.get(KIND), "gpu", "nodes with GPUs have this label")
    for topology in cluster.of("Topology"):
        levels = [level.get("nodeLabel") for level in topology.at("spec.levels") or []]
        yield from _one_of(topology, "nodeLabel", levels, node_labels)
        if levels[-1:] != ["kubernetes.io/hostname"]:
            yield wrong(
                "K8S005", topology.place, "the last level", levels[-1:], "kubernetes.io/hostname", "pods are on hosts"
            )
    yield from _namespaces(cluster)
    yield from _admission(cluster)
    local = _names(cluster, "LocalQueue")
    for job in cluster.of("Job"):
        queue_name = (job.at("metadata.labels") or {}).get(_QUEUE_LABEL)
        yield from _one_of(job, _QUEUE_LABEL, [queue_name], local)
        if job.at("spec.suspend") is not True:
            yield wrong("K8S005", job.place, "suspend", job.at("spec.suspend"), True, "the queue starts what it admits")


def _selected(cluster: Cluster) -> Iterator[Finding]:
    """Yield queues that let in no namespace that is there."""
    labels = [
        {"kubernetes.io/metadata.name": one.name} | (one.at("metadata.labels") or {}) for one in cluster.of("Namespace")
    ]
    for queue in cluster.of("ClusterQueue"):
        for label, value in (queue.at("spec.namespaceSelector.matchLabels") or {}).items():
            there = sorted({str(own[label]) for own in labels if label in own})
            if value not in there:
                rule = "jobs come from a namespace with the label"
                yield wrong("K8S005", queue.place, f"namespaceSelector {label}", value, ", ".join(there), rule)


#: Two shares of a queue that are further apart than this are not one: counts are rounded to whole ones.
_SAME_SHARE = 0.05


def shares(cluster: Cluster) -> Iterator[Finding]:
    """Yield quotas that are not the queue's share of GPUs, of queues that borrow from each other (`K8S003`)."""
    quotas = {queue.place: _quotas(queue) for queue in cluster.of("ClusterQueue") if queue.at("spec.cohort")}
    total: defaultdict[str, float] = defaultdict(float)
    for own in quotas.values():
        for name, value in own.items():
            total[name] += value
    gpus = next((name for name in total if name.endswith(("/gpu", "/gaudi")) and total[name]), "")
    for place, own in quotas.items() if len(quotas) > 1 and gpus else ():
        share = own.get(gpus, 0.0) / total[gpus]
        for name, value in own.items():
            expected = share * total[name]
            if abs(value - expected) > max(_SAME_SHARE * total[name], 1.0):
                said, about = _shown(name, value), f"about {_shown(name, expected)}"
                yield wrong("K8S003", place, f"the quota of {name}", said, about, f"its share of {gpus} is as large")


def _quotas(queue: Object) -> dict[str, float]:
    """Return the quota of each resource of a queue, of all flavours."""
    found: defaultdict[str, float] = defaultdict(float)
    for group in queue.at("spec.resourceGroups") or []:
        for flavor in group.get("flavors", []):
            for one in flavor.get("resources", []):
                found[one["name"]] += amount(one["nominalQuota"])
    return dict(found)


def _one_of(one: Object, what: str, values: list[object], known: set[str]) -> Iterator[Finding]:
    for value in values:
        if value not in known:
            expected = ", ".join(sorted(known)) or "nothing, since there is none"
            yield wrong("K8S005", one.place, what, value, expected, "objects name what is there")


def _namespaces(cluster: Cluster) -> Iterator[Finding]:
    made = _names(cluster, "Namespace")
    jobs = {one.namespace for one in cluster.of("Job", "Deployment", "LeaderWorkerSet")}
    for one in cluster.objects:
        if one.kind in _OF_THE_CLUSTER or not one.namespace:
            continue
        # The charts make namespaces of their own, which their README has.
        if one.namespace not in made and one.kind not in {"IPPool", "CIDRPool"}:
            expected = ", ".join(sorted(made))
            yield wrong("K8S005", one.place, "namespace", one.namespace, expected, "namespace.yaml makes it")
    for network in cluster.of("HostDeviceNetwork"):
        if network.at("spec.networkNamespace") not in jobs:
            rule = "pods use networks of their own namespace"
            value = network.at("spec.networkNamespace")
            yield wrong("K8S005", network.place, "networkNamespace", value, ", ".join(sorted(jobs)), rule)


def _admission(cluster: Cluster) -> Iterator[Finding]:
    """Yield namespaces whose pods no rule keeps off their node, though their level of Pod Security lets them."""
    policies, made = _names(cluster, "ValidatingAdmissionPolicy"), _names(cluster, "Namespace")
    guarded: set[object] = set()
    for binding in cluster.of("ValidatingAdmissionPolicyBinding"):
        yield from _one_of(binding, "policyName", [binding.at("spec.policyName")], policies)
        selector = binding.at("spec.matchResources.namespaceSelector") or {}
        named_here = [value for one in selector.get("matchExpressions", []) for value in one.get("values", [])]
        yield from _one_of(binding, "namespaces", named_here, made)
        if "Deny" in (binding.at("spec.validationActions") or []):
            guarded.update(named_here)
    for one in cluster.of("Namespace"):
        level = (one.at("metadata.labels") or {}).get("pod-security.kubernetes.io/enforce")
        if level == "privileged" and one.name not in guarded:
            rule = "a pod of this level owns its node where no rule refuses it"
            yield wrong("K8S010", one.place, "admission rules", "none", "a binding that denies", rule)


def volumes(cluster: Cluster) -> Iterator[Finding]:
    """Yield claims larger than their volume, volumes larger than the storage, and claims that are not there."""
    volumes_of = {one.name: one for one in cluster.of("PersistentVolume")}
    claims = {(one.namespace, one.name): one for one in cluster.of("PersistentVolumeClaim")}
    storage = cluster.papers.documents.design.inventory.storage
    usable = storage.usable_bytes or storage.capacity_bytes
    for volume in volumes_of.values():
        size = volume.at("spec.capacity.storage")
        if amount(size) > usable * (1 + 1e-6):
            most = f"at most {usable / 2**30:,.0f}Gi"
            yield wrong("K8S006", volume.place, "capacity", size, most, "storage.md and plan.json have as much")
        claim = volume.at("spec.claimRef") or {}
        if claim and (claim.get("namespace"), claim.get("name")) not in claims:
            said = f"{claim.get('namespace')}/{claim.get('name')}"
            yield wrong("K8S006", volume.place, "claimRef", said, "a claim that is there", "nobody else may take it")
        path = str(volume.at("spec.hostPath.path") or "")
        if path and not path.startswith("/shared/"):
            yield wrong("K8S006", volume.place, "hostPath", path, "a folder of /shared", "every node mounts it there")
    for claim_object in claims.values():
        asked, own = (
            claim_object.at("spec.resources.requests.storage"),
            volumes_of.get(str(claim_object.at("spec.volumeName"))),
        )
        if own is None:
            value = claim_object.at("spec.volumeName")
            yield wrong("K8S006", claim_object.place, "volumeName", value, ", ".join(volumes_of), "the volume is there")
        elif not set(claim_object.at("spec.accessModes") or []) <= set(own.at("spec.accessModes") or []):
            said = ", ".join(claim_object.at("spec.accessModes") or [])
            modes = ", ".join(own.at("spec.accessModes") or [])
            yield wrong("K8S006", claim_object.place, "accessModes", said, modes, f"{own.place} has these")
        elif amount(asked) > amount(own.at("spec.capacity.storage")):
            most = f"at most {own.at('spec.capacity.storage')}"
            yield wrong("K8S006", claim_object.place, "storage", asked, most, f"{own.place} has as much")


def tenants(cluster: Cluster) -> Iterator[Finding]:
    """Yield ceilings that are not the plan's, and members that are another tenant's (`K8S003`, `K8S005`)."""
    most = {tenant.name: tenant.most_gpus for tenant in cluster.papers.documents.plan.cluster.tenants}
    for ceiling in cluster.of("ResourceQuota"):
        for name, value in (ceiling.at("spec.hard") or {}).items():
            limit = most.get(ceiling.namespace)
            if limit is not None and name.endswith(("/gpu", "/gaudi")) and amount(value) != limit:
                yield wrong("K8S003", ceiling.place, name, value, limit, "the plan gives the tenant as many at once")
    yield from _borrowed(cluster)
    for binding in cluster.of("RoleBinding"):
        if binding.namespace not in most:
            continue
        expected = f"tenant-{binding.namespace}"
        groups = {one.get("name") for one in binding.at("subjects") or [] if one.get("kind") == "Group"}
        # A site may name groups of its own; those of another tenant are none.
        for group in sorted(groups & {f"tenant-{name}" for name in most} - {expected}):
            place = f"{binding.place} in {binding.namespace}"
            yield wrong("K8S005", place, "subjects", group, expected, "the members of another tenant work there")


def _borrowed(cluster: Cluster) -> Iterator[Finding]:
    """Yield queues that borrow what the plan keeps from their tenant, or that may not borrow what it allows."""
    tenants_of = {tenant.name: tenant for tenant in cluster.papers.documents.plan.cluster.tenants}
    for queue in cluster.of("ClusterQueue"):
        tenant = tenants_of.get(queue.name)
        if tenant is None:
            continue
        for one in values_at(queue.body, "spec.resourceGroups.*.flavors.*.resources.*"):
            name, limit = str(one["name"]), one.get("borrowingLimit")
            most, expected = tenant.most_gpus, None
            rule = "the plan lets the tenant use all that is free"
            if not tenant.borrows:
                expected, rule = 0.0, "the plan keeps the tenant to its share"
            elif most is not None and name.endswith(("/gpu", "/gaudi")):
                expected, rule = max(0.0, most - amount(one["nominalQuota"])), f"the plan gives it {most:,} at once"
            said = None if limit is None else amount(limit)
            if said != expected:
                shown = None if expected is None else f"{expected:,.0f}"
                yield wrong("K8S003", queue.place, f"borrowingLimit of {name}", limit, shown, rule)
