"""What has to hold of services and queues in a project's files: probes, scaling, disruptions, rights, quotas."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.programs.pod_rules import Found
from clusterwright.checks.preflight.scripts.capacity import held_by_a_node
from clusterwright.checks.preflight.scripts.manifests import Manifest, Pods, items, mapping, pods_of
from clusterwright.checks.preflight.subject import Subject

#: Weights of tens of gigabytes are read and compiled for before an engine answers; a long prompt keeps it busy.
_STARTS_S, _BUSY_S = 300, 30
#: What Kubernetes takes where a probe says nothing.
_PERIOD_S, _FAILURES = 10, 3
#: Paths of an engine that do work, for a request with a body; a probe has none.
_WORKS = re.compile(r"/(v\d+/(chat|completions|embeddings|responses)|generate|invocations|predict)\b")
_METADATA = ("169.254.0.0/16", "169.254.169.254/32")
_HALF = 50
_DEPLOYMENTS = ("Deployment", "LeaderWorkerSet", "StatefulSet")
#: Of a query of Prometheus, and of an engine's arguments.
_ASKED_FOR = re.compile(r'\bmodel_name\s*=~?\s*"([^"]+)"')
_NAMED = "--served-model-name"


def probes(_subject: Subject, pods: Pods) -> Iterator[Found]:
    """Check that a replica has the time that it needs, is asked what it answers, and gets no request before it can."""
    for container in map(mapping, items(pods.spec.get("containers"))):
        given = {name: mapping(container.get(f"{name}Probe")) for name in ("startup", "readiness", "liveness")}
        serves = pods.owner.kind in _DEPLOYMENTS and pods.accelerators is not None and bool(container.get("ports"))
        if not serves:
            continue
        if not given["readiness"] and not given["startup"]:
            yield Found(
                message="gets requests before its model is there", fix="a readinessProbe of /health", about="ports:"
            )
        elif not given["readiness"]:
            yield Found(
                message="gets requests while it answers none: it has no readinessProbe",
                fix="a readinessProbe of /health",
                about="Probe",
            )
        if given["liveness"]:
            yield from _restarts(given)
        for name, probe in given.items():
            path = text(mapping(probe.get("httpGet")).get("path"))
            if _WORKS.search(path):
                yield Found(
                    message=f"is asked for work by its {name}Probe ({path}), which no request without a body gets",
                    fix="path: /health",
                    about=path,
                )


def _restarts(given: Mapping[str, Mapping[str, Any]]) -> Iterator[Found]:
    liveness, startup = given["liveness"], given["startup"]
    busy = _lasts(liveness)
    starts = _lasts(startup) if startup else busy + (whole(liveness.get("initialDelaySeconds")) or 0)
    if starts < _STARTS_S:
        yield Found(
            message=f"is started again after {starts} s, before a model of many GB is read",
            fix="startupProbe: a failureThreshold of many minutes",
            about="startupProbe" if startup else "livenessProbe",
        )
    if busy < _BUSY_S:
        yield Found(
            message=f"is started again after {busy} s without an answer: a busy engine is not dead",
            fix="livenessProbe: failureThreshold 12",
            about="livenessProbe",
        )


def _lasts(probe: Mapping[str, Any]) -> int:
    """Return the seconds after which a probe that always fails has its effect."""
    period, failures = whole(probe.get("periodSeconds")), whole(probe.get("failureThreshold"))
    return (_PERIOD_S if period is None else period) * (_FAILURES if failures is None else failures)


def scaled(subject: Subject, found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    """Check that a service has as many replicas as nodes hold, never none, and is scaled by its own requests."""
    target = mapping(one.spec.get("scaleTargetRef"))
    scales = [
        each
        for each in found
        if (each.kind, each.name, each.namespace) == (text(target.get("kind")), text(target.get("name")), one.namespace)
    ]
    by_keda = one.kind == "ScaledObject"
    least = whole(one.spec.get("minReplicaCount" if by_keda else "minReplicas"))
    most = whole(one.spec.get("maxReplicaCount" if by_keda else "maxReplicas"))
    what, each_takes = next(
        (pods.accelerators for owner in scales for pods in pods_of(owner) if pods.accelerators), ("", 0)
    )
    if not each_takes:
        return
    if least == 0 or (by_keda and least is None):
        yield Found(
            message="leaves no replica: the next request waits until a model is read",
            fix="minReplicaCount: 1 or more",
            about="minReplica",
        )
    if least is not None and most is not None and least > most:
        yield Found(message=f"has {least} replicas at least and {most} at most", fix="exchange them", about="Replica")
    nodes, held = subject.node_count, held_by_a_node(subject, what)
    room = None if nodes is None or held is None else nodes * held
    groups = [pods for owner in scales for pods in pods_of(owner)]
    if most is not None and room is not None and len(groups) == 1 and most * each_takes > room:
        yield Found(
            message=f"asks for up to {most} replicas of {each_takes} accelerators; the nodes have {room}",
            fix=f"{room // each_takes} at most",
            about="maxReplica",
        )
    names = {name for owner in scales for name in _served(owner)}
    for query in _queries(one.spec):
        asked = set(_ASKED_FOR.findall(query))
        if names and asked and not asked & names and not any(re.search(r"[.*|$]{2}", name) for name in asked):
            yield Found(
                message=f"looks at requests for {min(asked)}, and the engine is called {min(names)}: it never scales",
                fix=f'model_name="{min(names)}"',
                about="model_name",
            )
            break


def _served(owner: Manifest) -> Iterator[str]:
    for pods in pods_of(owner):
        for container in pods.containers:
            words = [text(word) for key in ("command", "args") for word in items(container.get(key))]
            for place, word in enumerate(words):
                if word == _NAMED:
                    yield from words[place + 1 : place + 2]
                elif word.startswith(f"{_NAMED}="):
                    yield word.partition("=")[2]


def _queries(value: object) -> Iterator[str]:
    """Yield the texts of all keys `query`, at any depth of a manifest."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key == "query":
                yield text(item)
            else:
                yield from _queries(item)
    elif isinstance(value, list):
        for item in value:
            yield from _queries(item)


def disruptions(_subject: Subject, found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    """Check that a drain of nodes takes few replicas at once, and some."""
    wanted = mapping(mapping(one.spec.get("selector")).get("matchLabels"))
    replicas = sum(
        pods.count
        for owner in found
        for pods in pods_of(owner)
        if wanted and all(mapping(pods.metadata.get("labels")).get(key) == value for key, value in wanted.items())
    )
    for name in ("maxUnavailable", "minAvailable"):
        share = _share(one.spec[name], replicas, left=name == "minAvailable") if name in one.spec else None
        if share is not None and share >= _HALF:
            yield Found(
                message=f"lets a drain take {share:.0f} % of the replicas at once ({name}: {text(one.spec[name])})",
                fix="maxUnavailable: 1",
                about=name,
            )


def _share(value: object, replicas: int, *, left: bool = False) -> float | None:
    """Return how many percent of replicas are gone at once; None where that is not known, or is one of them at most.

    Args:
        value: a number of replicas, or a percentage of them.
        replicas: that there are; 0 where that is not known.
        left: whether the value says how many stay.
    """
    percent, count = re.fullmatch(r"(\d+)%", text(value)), whole(value)
    if percent:
        share = float(percent[1])
    elif count is not None and replicas:
        share = 100 * count / replicas
    else:
        return None
    gone = 100 - share if left else share
    return gone if not replicas or gone * replicas / 100 > 1 else None


def updates(_subject: Subject, _found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    """Check that an update leaves most replicas of a service in place."""
    strategy, count = mapping(one.spec.get("strategy")), whole(one.spec.get("replicas")) or 1
    serves = any(pods.accelerators is not None for pods in pods_of(one)) and count > 1
    if not serves:
        return
    gone = _share(mapping(strategy.get("rollingUpdate")).get("maxUnavailable", 0), count) or 0.0
    if strategy.get("type") == "Recreate" or gone >= _HALF:
        yield Found(
            message=f"takes {'all' if strategy.get('type') == 'Recreate' else f'{gone:.0f} % of the'} replicas at once "
            "when it is updated",
            fix="type RollingUpdate, maxUnavailable: 1",
            about="strategy",
        )


def rights(_subject: Subject, _found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    """Check that a role names what it may do, and reads no secret that it does not name."""
    for rule in map(mapping, items(one.value.get("rules"))):
        verbs, kinds = ({text(each) for each in items(rule.get(key))} for key in ("verbs", "resources"))
        if "*" in verbs or "*" in kinds:
            what = "do everything" if "*" in verbs else "reach every kind of object"
            yield Found(message=f"lets its holder {what}", fix="name verbs and resources", about="rules:")
        elif "secrets" in kinds and verbs & {"get", "list", "watch"} and not rule.get("resourceNames"):
            yield Found(message="reads every secret of its namespace", fix="resourceNames", about="secrets")
        elif kinds & {"pods/exec", "pods/attach"} or verbs & {"escalate", "impersonate", "bind"}:
            yield Found(message="lets its holder act as others", fix="leave it out", about="rules:")


def ways_out(_subject: Subject, _found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    """Check that a policy which opens every address leaves the metadata service of the node closed."""
    for rule in map(mapping, items(one.spec.get("egress"))):
        for peer in map(mapping, items(rule.get("to"))):
            block = mapping(peer.get("ipBlock"))
            spared = {text(each) for each in items(block.get("except"))}
            if text(block.get("cidr")) == "0.0.0.0/0" and not spared & set(_METADATA):
                yield Found(
                    message="lets its pods reach every address, the metadata service of the node too",
                    fix=f"except: [{_METADATA[0]}]",
                    about="cidr: 0.0.0.0/0",
                )


def queue(_subject: Subject, found: Sequence[Manifest], one: Manifest) -> Iterator[Found]:
    """Check that a queue covers the resources that it has quotas of, and those that jobs ask for."""
    covered: set[str] = set()
    for group in map(mapping, items(one.spec.get("resourceGroups"))):
        named = [text(each) for each in items(group.get("coveredResources"))]
        covered |= set(named)
        for flavor in map(mapping, items(group.get("flavors"))):
            given = [text(mapping(each).get("name")) for each in items(flavor.get("resources"))]
            if sorted(given) != sorted(named):
                other = sorted(set(given) ^ set(named))
                yield Found(
                    message=f"is refused: coveredResources and quotas differ in {', '.join(other) or 'their number'}",
                    fix="one quota for each of coveredResources",
                    about="coveredResources",
                )
                return
    for job in found:
        for pods in pods_of(job) if job.kind == "Job" and covered else ():
            lacking = sorted(_requested(pods) - covered)
            if lacking:
                yield Found(
                    message=f"has no quota of {lacking[0]}, which {job.name} asks for: it is never admitted",
                    fix=f"coveredResources: {lacking[0]}, with a nominalQuota",
                    about="coveredResources",
                )
                return


def _requested(pods: Pods) -> set[str]:
    found: set[str] = set()
    for container in pods.containers:
        for kind in ("requests", "limits"):
            found |= {text(name) for name in mapping(mapping(container.get("resources")).get(kind))}
    # Kueue does not count what its configuration excludes; pages and devices of the fabric go with the node.
    return {name for name in found if name in ("cpu", "memory") or name.endswith((".com/gpu", "/tpu"))}
