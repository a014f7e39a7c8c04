"""Do pods fit the cluster that the program asks for: its nodes, namespaces, devices, networks and queues."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from clusterwright.blueprint.reading.document import parsed
from clusterwright.checks.preflight.files.values import text
from clusterwright.checks.preflight.judging import registered
from clusterwright.checks.preflight.programs.object_rules import object_problems
from clusterwright.checks.preflight.programs.pod_rules import Found, pod_problems
from clusterwright.checks.preflight.programs.room import all_start
from clusterwright.checks.preflight.programs.service_rules import probes
from clusterwright.checks.preflight.programs.slice_rules import division_of, division_problems, slice_problems
from clusterwright.checks.preflight.records import Run
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.scripts.manifests import Manifest, Pods, items, manifests, mapping, pods_of
from clusterwright.checks.preflight.subject import Subject
from clusterwright.errors import ClusterwrightError

#: Minor version from which admissionregistration.k8s.io/v1 has ValidatingAdmissionPolicy (Kubernetes, "Validating
#: Admission Policy": stable since v1.30).
_FIRST_MINOR = 30
_OF_THE_PROJECT = re.compile(r"^(launch|serving|examples)/.*\.ya?ml$")
_QUEUE = "kueue.x-k8s.io/queue-name"
_AZURE_IDENTITY = "azure.workload.identity/client-id"
_AZURE_USES = "azure.workload.identity/use"
_INTERFACES = "networking.gke.io/interfaces"
_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "NoSchedule": "NoSchedule",
    "NoExecute": "NoExecute",
}
_NODES = {"aws:eks/nodeGroup:NodeGroup", "azure-native:containerservice:AgentPool", "gcp:container/nodePool:NodePool"}


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """A group of nodes: labels that pods select, and taints that they have to tolerate."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[tuple[str, str], ...]
    accelerated: bool


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """What the program asks for that pods refer to.

    Attributes:
        nodes: groups of them.
        namespaces, claims, accounts: names of namespaces; namespace and name of claims and service accounts.
        identities: namespace and name of service accounts that stand for an identity of Azure.
        networks: of pods, on Google Cloud.
        rdma: names of resources below `rdma/` that are offered.
    """

    nodes: tuple[Nodes, ...] = ()
    namespaces: frozenset[str] = frozenset()
    claims: frozenset[tuple[str, str]] = frozenset()
    accounts: frozenset[tuple[str, str]] = frozenset()
    identities: frozenset[tuple[str, str]] = frozenset()
    networks: frozenset[str] = frozenset()
    rdma: frozenset[str] = field(default_factory=frozenset)


def pods_fit(subject: Subject) -> Iterator[Outcome]:
    """Compare every pod of the project's files with the nodes and objects that the program asks for."""
    if subject.project.scheduler != "kubernetes":
        return
    looked_at, good = 0, True
    for file, message in _unreadable(subject):
        good = False
        yield Outcome(
            status="FAIL",
            message=f"{file} is no valid YAML: {message}",
            fix="correct the line",
            place=Place(file=subject.project.shown(file)),
        )
    for outcome in _too_old(subject):
        good = False
        yield outcome
    found = list(manifests(subject))
    run = subject.recorded.run if subject.recorded is not None else None
    cluster = cluster_of(run) if run is not None and run.error is None else None
    division = division_of(found, [] if run is None else [one["inputs"] for one in registered(run)])
    for one in found:
        problems = [*object_problems(subject, found, one), *division_problems(subject, one)]
        for pods in pods_of(one):
            looked_at += 1
            problems += pod_problems(subject, pods)
            problems += probes(subject, pods)
            problems += slice_problems(subject, pods, division)
            problems += all_start(subject, pods)
            problems += _among_objects(found, pods)
            if cluster is not None:
                problems += _in_cluster(subject, cluster, found, pods)
        for problem in problems:
            good = False
            yield Outcome(
                status=problem.status,
                message=f"{one.file}: {one.kind} {one.name} {problem.message}",
                fix=problem.fix,
                place=_place(subject, one, problem.about),
            )
    if looked_at and cluster is None:
        yield Outcome(
            status="UNKNOWN",
            message="pods were not compared with the cluster: the program was not run",
            fix="./cluster.sh preview installs .venv, then preflight without --no-run",
        )
    elif looked_at and good:
        yield passed(f"pods of {looked_at} kinds find their nodes, devices and objects")


def _too_old(subject: Subject) -> Iterator[Outcome]:
    """Compare the version of Kubernetes with the first one that has every kind of object that the program makes."""
    setting = subject.project.setting("kubernetesVersion")
    minor = re.match(r"v?1\.(\d+)\b", text(setting.value)) if setting is not None else None
    if setting is not None and minor is not None and int(minor[1]) < _FIRST_MINOR:
        yield Outcome(
            status="FAIL",
            message=f"Kubernetes {text(setting.value)} has no ValidatingAdmissionPolicy v1, which the program makes: "
            f"that begins with 1.{_FIRST_MINOR}",
            fix="leave kubernetesVersion out, or name a newer one",
            place=setting.place,
        )


def _unreadable(subject: Subject) -> Iterator[tuple[str, str]]:
    for name, content in subject.project.files.items():
        if not _OF_THE_PROJECT.match(name) or "{{" in content:
            continue
        for part in re.split(r"(?m)^---[ \t]*$", content):
            try:
                if part.strip():
                    parsed(part, name=name)
            except ClusterwrightError as error:
                yield name, str(error).splitlines()[0]
                break


def cluster_of(run: Run) -> Cluster:
    """Return what pods refer to of what the program asks for."""
    nodes: list[Nodes] = []
    found: dict[str, set[Any]] = {
        name: set() for name in ("namespaces", "claims", "accounts", "identities", "networks", "rdma")
    }
    for one in registered(run):
        inputs, kind = one["inputs"], one["type"]
        metadata = mapping(inputs.get("metadata"))
        own = (text(metadata.get("namespace")) or "default", text(metadata.get("name")))
        if kind in _NODES:
            nodes.append(_nodes(one["urn"].rpartition("::")[2], kind, inputs))
        elif kind == "kubernetes:core/v1:Namespace":
            found["namespaces"].add(own[1])
        elif kind == "kubernetes:core/v1:PersistentVolumeClaim":
            found["claims"].add(own)
        elif kind == "kubernetes:core/v1:ServiceAccount":
            found["accounts"].add(own)
            if _AZURE_IDENTITY in mapping(metadata.get("annotations")):
                found["identities"].add(own)
        elif kind == "kubernetes:networking.gke.io/v1:Network":
            found["networks"].add(own[1])
        elif kind == "kubernetes:mellanox.com/v1alpha1:NicClusterPolicy":
            found["rdma"] |= set(_offered(inputs))
    return Cluster(nodes=tuple(nodes), **{name: frozenset(values) for name, values in found.items()})


def _offered(inputs: Mapping[str, Any]) -> Iterator[str]:
    config = mapping(mapping(inputs.get("spec")).get("rdmaSharedDevicePlugin")).get("config")
    with suppress(ValueError, TypeError):
        for one in items(mapping(json.loads(text(config))).get("configList")):
            yield f"{text(mapping(one).get('resourcePrefix')) or 'rdma'}/{text(mapping(one).get('resourceName'))}"


def _nodes(name: str, kind: str, inputs: Mapping[str, Any]) -> Nodes:
    config = mapping(inputs.get("nodeConfig")) if "nodePool" in kind else inputs
    labels = mapping(config.get("nodeLabels") or config.get("labels"))
    taints = [_taint(one) for one in items(config.get("nodeTaints") or config.get("taints"))]
    machine = text(config.get("machineType") or inputs.get("vmSize") or inputs.get("amiType"))
    return Nodes(
        name=name,
        labels={key: text(value) for key, value in labels.items()},
        taints=tuple(one for one in taints if one[1]),
        accelerated=bool(config.get("guestAccelerators"))
        or bool(re.search(r"^(ct|tpu)\d|Standard_N|NVIDIA|NEURON", machine))
        or labels.get("node-kind") == "gpu",
    )


def _taint(one: Any) -> tuple[str, str]:  # noqa: ANN401 - JSON
    if isinstance(one, str):
        key, _, effect = one.rpartition(":")
        return key.partition("=")[0], _EFFECTS.get(effect, "")
    return text(mapping(one).get("key")), _EFFECTS.get(text(mapping(one).get("effect")), "")


def _among_objects(found: list[Manifest], pods: Pods) -> Iterator[Found]:
    """What pods refer to among the objects of the project's own files."""
    subdomain, owner = text(pods.spec.get("subdomain")), pods.owner
    if subdomain and pods.count > 1:
        services = [
            one for one in found if one.kind == "Service" and one.name == subdomain and one.namespace == owner.namespace
        ]
        headless = [one for one in services if text(one.spec.get("clusterIP")) == "None"]
        labels = {
            "job-name": owner.name,
            "batch.kubernetes.io/job-name": owner.name,
            **mapping(pods.metadata.get("labels")),
        }
        if not headless:
            yield Found(
                message=f"has the subdomain {subdomain}, and no headless Service of that name: its pods have no names",
                fix="a Service of that name with clusterIP None",
                about="subdomain",
            )
        elif not any(
            all(labels.get(key) == value for key, value in mapping(one.spec.get("selector")).items())
            for one in headless
        ):
            yield Found(
                message=f"is not selected by the Service {subdomain}: its pods have no names",
                fix=f"selector: job-name: {owner.name}",
                about="selector",
            )
    queues = {one.name for one in found if one.kind == "LocalQueue" and one.namespace == owner.namespace}
    if owner.kind != "Job" or pods.accelerators is None or not any(one.kind == "LocalQueue" for one in found):
        return
    queue = text(mapping(owner.metadata.get("labels")).get(_QUEUE))
    if not queue:
        yield Found(
            message="is in no queue: it stays suspended, or takes nodes that another job waits for",
            fix=f"labels: {_QUEUE}: {min(queues, default='gpu')}",
            about="labels",
        )
    elif queue not in queues:
        yield Found(
            message=f"is in the queue {queue}, which there is not in {owner.namespace}",
            fix=f"{_QUEUE}: {min(queues, default='gpu')}",
            about=_QUEUE,
        )


def _in_cluster(subject: Subject, cluster: Cluster, found: list[Manifest], pods: Pods) -> Iterator[Found]:
    owner = pods.owner
    own = {(one.namespace, one.name) for one in found if one.kind == "ServiceAccount"}
    known = {*cluster.namespaces, "default", "kube-system"}
    if cluster.namespaces and owner.namespace not in known:
        yield Found(
            message=f"is in the namespace {owner.namespace}, which there is not",
            fix=f"namespace: {min(cluster.namespaces)}",
            about="namespace",
        )
    for volume in items(pods.spec.get("volumes")):
        claim = text(mapping(mapping(volume).get("persistentVolumeClaim")).get("claimName"))
        if claim and cluster.claims and (owner.namespace, claim) not in cluster.claims:
            yield Found(
                message=f"mounts the claim {claim}, which there is not in {owner.namespace}",
                fix="name a claim of its namespace",
                about=claim,
            )
    account = text(pods.spec.get("serviceAccountName"))
    if (
        account
        and account != "default"
        and owner.namespace in known
        and (owner.namespace, account) not in cluster.accounts | own
    ):
        yield Found(
            message=f"runs as the service account {account}, which there is not in {owner.namespace}",
            fix="serviceAccountName: workload",
            about="serviceAccountName",
        )
    has_token = pods.spec.get("automountServiceAccountToken") is not False
    if (
        has_token
        and (owner.namespace, account) in cluster.identities
        and text(mapping(pods.metadata.get("labels")).get(_AZURE_USES)).lower() != "true"
    ):
        yield Found(
            message=f"lacks the label {_AZURE_USES}: it does not get the identity of {account}",
            fix=f"labels: {_AZURE_USES}: 'true'",
            about="labels",
        )
    if pods.accelerators is not None:
        yield from _placed(cluster, pods)
        yield from _devices(cluster, pods)
        yield from _networks(subject, cluster, pods)


def _placed(cluster: Cluster, pods: Pods) -> Iterator[Found]:
    wanted = {
        key: text(value)
        for key, value in mapping(pods.spec.get("nodeSelector")).items()
        if not key.startswith(("kubernetes.io/", "node.kubernetes.io/", "topology."))
    }
    groups = [one for one in cluster.nodes if one.accelerated]
    # Labels that the cloud sets by itself are not in the program.
    unknown = {key for key in wanted if "." in key and not any(key in one.labels for one in cluster.nodes)}
    fitting = [
        one
        for one in groups
        if all(one.labels.get(key) == value for key, value in wanted.items() if key not in unknown)
    ]
    if groups and not fitting:
        yield Found(
            message=f"selects nodes with {_labels(wanted)}, which no GPU node has",
            fix="the labels of the nodes",
            about="nodeSelector",
        )
        return
    tolerations = [mapping(one) for one in items(pods.spec.get("tolerations"))]
    for group in fitting:
        # The clouds' API servers add a toleration of the taint that is named as a resource that the pod asks for
        # (ExtendedResourceToleration).
        missing = [
            (key, effect)
            for key, effect in group.taints
            if (pods.accelerators is None or key != pods.accelerators[0])
            and not any(_tolerates(one, key, effect) for one in tolerations)
        ]
        if missing:
            yield Found(
                message=f"does not tolerate {missing[0][0]}:{missing[0][1]} of {group.name}: it stays pending",
                fix=f"tolerations: key: {missing[0][0]}, operator: Exists",
                about="tolerations",
            )
            return


def _labels(wanted: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in wanted.items())


def _tolerates(one: Mapping[str, Any], key: str, effect: str) -> bool:
    if one.get("effect") not in (None, "", effect):
        return False
    exists = one.get("operator") == "Exists"
    return (one.get("key") == key and (exists or bool(one.get("value")))) or (exists and not one.get("key"))


def _devices(cluster: Cluster, pods: Pods) -> Iterator[Found]:
    for container in pods.containers:
        for name in mapping(mapping(container.get("resources")).get("limits")):
            if name.startswith(("rdma/", "nvidia.com/mlnx")) and cluster.rdma and name not in cluster.rdma:
                yield Found(
                    message=f"asks for {name}, and the cluster offers {', '.join(sorted(cluster.rdma))}",
                    fix=f"{min(cluster.rdma)}: 1",
                    about=name,
                )


def _networks(subject: Subject, cluster: Cluster, pods: Pods) -> Iterator[Found]:
    if not cluster.networks:
        return
    instance = subject.instance
    annotation = mapping(pods.metadata.get("annotations")).get(_INTERFACES)
    named = set[str]()
    with suppress(ValueError, TypeError):
        named = {text(mapping(one).get("network")) for one in json.loads(text(annotation))} - {"default"}
    for one in sorted(named - cluster.networks):
        yield Found(
            message=f"asks for the network {one}, which there is not",
            fix=f"one of {', '.join(sorted(cluster.networks))}",
            about=_INTERFACES,
        )
    several = (
        pods.count > 1
        and pods.accelerators is not None
        and instance is not None
        and pods.accelerators[1] >= instance.gpus
    )
    if several and (missing := cluster.networks - named):
        yield Found(
            message=f"is not in the networks {', '.join(sorted(missing))}: a part of the fabric is not used",
            fix=f"name them in {_INTERFACES}",
            about=_INTERFACES,
        )


def _place(subject: Subject, one: Manifest, about: str) -> Place:
    lines = subject.project.files.get(one.file, "").splitlines()
    for number, line in enumerate(lines[one.line :], start=one.line + 1):
        if line.strip() == "---" and number > one.line + 1:
            break
        if about and about in line and not line.lstrip().startswith("#"):
            return Place(file=subject.project.shown(one.file), line=number, column=1)
    return Place(file=subject.project.shown(one.file), line=one.line + 1, column=1)
