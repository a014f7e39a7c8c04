"""Pods: what they ask of a node, how those of a job find each other, where they run, and how many are started."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright.checks.prove.kubernetes.objects import Cluster, Object, amount, value_at, wrong
from clusterwright.checks.prove.site.switches import ROCE, traffic_class_of
from clusterwright.errors import Finding

_WORK = ("Job", "Deployment", "LeaderWorkerSet")
_OPTION = re.compile(r"^--([\w-]+)=(.*)$")
#: Where values of a chart have the tolerations of what it starts on every node.
_OPERATOR_TOLERATIONS = ("daemonsets.tolerations", "operator.tolerations")
_ADMISSION = "the admission policy of namespace.yaml"
_ADDED = re.compile(r"one in \[([^\]]*)\]")
_GPUS = ("/gpu", "/gaudi")
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - of the pod


def templates(one: Object) -> Iterator[Mapping[str, Any]]:
    """Yield the templates of the pods that an object starts."""
    for path in (
        "spec.template",
        "spec.leaderWorkerTemplate.leaderTemplate",
        "spec.leaderWorkerTemplate.workerTemplate",
    ):
        template = one.at(path)
        if isinstance(template, Mapping):
            yield template


def _container(one: Object) -> Mapping[str, Any]:
    template = next(templates(one), {})
    containers = template.get("spec", {}).get("containers") or [{}]
    return dict(containers[0])


def options(one: Object) -> dict[str, str]:
    """Return the options of a pod's arguments by name."""
    found = {}
    for word in _container(one).get("args") or []:
        match = _OPTION.match(str(word))
        if match:
            found[match[1]] = match[2]
    return found


def asked_gpus(one: Object) -> int:
    """Return the GPUs of a pod."""
    limits = _container(one).get("resources", {}).get("limits", {})
    return sum(int(value) for name, value in limits.items() if str(name).endswith(_GPUS) or "/mig-" in str(name))


def fitting(cluster: Cluster) -> Iterator[Finding]:
    """Yield pods that ask for more than a host has, or jobs for more hosts than there are."""
    there = cluster.resources
    for one in cluster.of(*_WORK):
        resources = _container(one).get("resources", {})
        # As many pods as a host has GPUs for start on it.
        beside = max(1, cluster.gpus // asked_gpus(one)) if asked_gpus(one) else 1
        rule = (
            "a host has as much" if beside == 1 else f"a host has as much for the {beside} pods that its GPUs are for"
        )
        for kind in ("requests", "limits"):
            for name, value in (resources.get(kind) or {}).items():
                if name in there and amount(value) * beside > there[name]:
                    most = there[name] / beside
                    shown = f"{most / 2**30:,.0f}Gi" if name == "memory" else f"{most:,.0f}"
                    yield wrong("K8S004", one.place, f"{kind}.{name}", value, f"at most {shown}", rule)
        if one.kind == "Job":
            pods = int(one.at("spec.completions") or 0)
            if pods > len(cluster.hosts):
                rule = "the inventory has as many hosts"
                yield wrong("K8S004", one.place, "completions", pods, f"at most {len(cluster.hosts):,}", rule)


def joined(cluster: Cluster) -> Iterator[Finding]:
    """Yield jobs whose pods, processes and meeting point do not belong together."""
    services = {(one.namespace, one.name): one for one in cluster.of("Service")}
    for job in cluster.of("Job"):
        said, pods = options(job), int(job.at("spec.completions") or 0)
        for what, value in (("parallelism", job.at("spec.parallelism")), ("--nnodes", said.get("nnodes", pods))):
            # torchrun takes a range where a job goes on with fewer nodes.
            if int(str(value).rpartition(":")[2]) != pods:
                yield wrong("K8S004", job.place, what, value, pods, "a pod on every node, all at once")
        processes = said.get("nproc-per-node")
        if processes is not None and int(processes) != asked_gpus(job):
            rule = "a process for each GPU of the pod"
            yield wrong("K8S004", job.place, "--nproc-per-node", processes, asked_gpus(job), rule)
        if job.at("spec.completionMode") != "Indexed":
            value = job.at("spec.completionMode")
            yield wrong("K8S004", job.place, "completionMode", value, "Indexed", "the first pod is found by its number")
        meeting = said.get("rdzv-endpoint", "").partition(":")[0]
        subdomain = job.at("spec.template.spec.subdomain")
        if meeting and meeting != f"{job.name}-0.{subdomain}":
            rule = "all pods meet at the first one"
            yield wrong("K8S004", job.place, "--rdzv-endpoint", meeting, f"{job.name}-0.{subdomain}", rule)
        own = services.get((job.namespace, str(subdomain)))
        if own is None:
            yield wrong(
                "K8S005", job.place, "subdomain", subdomain, "a Service that is there", "it gives pods their names"
            )
        elif (own.at("spec.selector") or {}).get("job-name") != job.name or own.at("spec.clusterIP") != "None":
            value = f"{own.at('spec.selector')}, clusterIP {own.at('spec.clusterIP')}"
            yield wrong(
                "K8S005", own.place, "selector", value, f"job-name {job.name}, clusterIP None", "pods find each other"
            )


def placed(cluster: Cluster) -> Iterator[Finding]:
    """Yield pods that no node takes, or that name claims and settings that are not there."""
    claims = {(one.namespace, one.name) for one in cluster.of("PersistentVolumeClaim")}
    settings = {(one.namespace, one.name) for one in cluster.of("ConfigMap")}
    node_labels = [one.at("metadata.labels") or {} for one in cluster.of("Node")]
    for one in cluster.of(*_WORK):
        for template in templates(one):
            spec = template.get("spec", {})
            for key, value in (spec.get("nodeSelector") or {}).items():
                there = {str(labels.get(key)) for labels in node_labels}
                if node_labels and str(value) not in there:
                    yield wrong(
                        "K8S005", one.place, f"nodeSelector.{key}", value, " or ".join(sorted(there)), "nodes have it"
                    )
            tolerated = {entry.get("key") for entry in spec.get("tolerations") or []}
            if asked_gpus(one) and not any(str(key).endswith(_GPUS) for key in tolerated):
                rule = "nodes with GPUs keep other pods off"
                yield wrong(
                    "K8S005", one.place, "tolerations", ", ".join(map(str, tolerated)), "that of GPU nodes", rule
                )
            for volume in spec.get("volumes") or []:
                claim = value_of(volume, "persistentVolumeClaim", "claimName")
                if claim is not None and (one.namespace, claim) not in claims:
                    yield wrong("K8S005", one.place, "claimName", claim, "a claim of its namespace", "it is mounted")
                config = value_of(volume, "configMap", "name")
                if config is not None and (one.namespace, config) not in settings:
                    yield wrong("K8S005", one.place, "configMap", config, "one of its namespace", "it is mounted")


def value_of(volume: Mapping[str, Any], kind: str, key: str) -> str | None:
    """Return what a volume names, None where it is of another kind."""
    source = volume.get(kind)
    return str(source[key]) if isinstance(source, Mapping) and key in source else None


def _allowed(cluster: Cluster) -> set[str]:
    """Return the capabilities that the folder's admission rules leave to pods; empty where none says so."""
    texts = [str(one.body) for one in cluster.of("ValidatingAdmissionPolicy")]
    return {name for text in texts for listed in _ADDED.findall(text) for name in re.findall(r"[A-Z_]{3,}", listed)}


def _taints(cluster: Cluster) -> set[tuple[str, str]]:
    """Return key and effect of the taints of nodes with GPUs; a wrong taint of one node is that node's fault."""
    return {
        (str(taint.get("key")), str(taint.get("effect")))
        for node in cluster.of("Node")
        for taint in node.at("spec.taints") or []
        if (node.at("metadata.labels") or {}).get("node-kind") == "gpu" and str(taint.get("key")).endswith(_GPUS)
    }


def _kept_off(entries: Sequence[Mapping[str, Any]], taints: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the taints that none of the tolerations is for; one without a key or an effect is for all."""
    for key, effect in sorted(taints):
        if not any(one.get("key") in {None, key} and one.get("effect") in {None, effect} for one in entries):
            yield key, effect


def tolerated(cluster: Cluster) -> Iterator[Finding]:
    """Yield pods for nodes with GPUs, an operator's too, that the taints of those nodes keep off (`K8S005`)."""
    taints = _taints(cluster)
    owners = [
        (one.place, template.get("spec", {}).get("tolerations") or [])
        for one in cluster.of(*_WORK)
        for template in (templates(one) if asked_gpus(one) else ())
    ]
    owners += [(one.place, one.at("spec.tolerations") or []) for one in cluster.of("NicClusterPolicy")]
    owners += [
        (file, value_at(values, path))
        for file, values in cluster.values.items()
        for path in _OPERATOR_TOLERATIONS
        if isinstance(value_at(values, path), list)
    ]
    for place, entries in owners:
        for key, effect in _kept_off(entries, taints):
            said = ", ".join(f"{one.get('key')} {one.get('effect', '')}".strip() for one in entries)
            yield wrong("K8S005", place, "tolerations", said, f"{key} {effect}", "nodes with GPUs have this taint")


def started(cluster: Cluster) -> Iterator[Finding]:
    """Yield settings of environment and shared memory without which collectives do not start."""
    planned = traffic_class_of(cluster.papers)
    traffic_class = None if planned is None else str(planned)
    for job in cluster.of("Job"):
        container = _container(job)
        environment = {entry.get("name"): entry.get("value") for entry in container.get("env") or []}
        asked = container.get("resources", {}).get("limits") or {}
        # Where nothing hands out ports of the fabric, collectives take the pod's own network.
        whole = asked_gpus(job) == cluster.gpus and bool(cluster.of("NicClusterPolicy"))
        if whole and cluster.rails and environment.get("NCCL_NET") != "IB" and len(cluster.hosts) > 1:
            rule = "without it collectives may fall back to sockets"
            yield wrong("K8S009", job.place, "NCCL_NET", environment.get("NCCL_NET"), "IB", rule)
        marked = environment.get("NCCL_IB_TC")
        if environment.get("NCCL_NET") == "IB" and marked != traffic_class:
            rule = f"{ROCE} has the mark of RoCE" if traffic_class else "packets of InfiniBand have no such mark"
            yield wrong("K8S009", job.place, "NCCL_IB_TC", marked, traffic_class or "none", rule)
        added = container.get("securityContext", {}).get("capabilities", {}).get("add") or []
        allowed = _allowed(cluster)
        for one in added if allowed else ():
            if one not in allowed:
                rule = f"{_ADMISSION} refuses the pod"
                yield wrong("K8S009", job.place, "capabilities.add", one, ", ".join(sorted(allowed)), rule)
        if any(str(name).startswith("nvidia.com/rail") for name in asked) and "IPC_LOCK" not in added:
            yield wrong("K8S009", job.place, "capabilities.add", added, "IPC_LOCK", "RDMA pins memory")
        mounts = {entry.get("mountPath") for entry in container.get("volumeMounts") or []}
        if _SHARED_MEMORY not in mounts:
            rule = "processes of a pod share more than the 64 MiB that it has without"
            yield wrong("K8S009", job.place, "volumeMounts", ", ".join(sorted(map(str, mounts))), _SHARED_MEMORY, rule)
