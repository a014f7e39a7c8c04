"""Do the layers of one project belong together: names, tags, places, and references from one to the other."""

from collections.abc import Iterator

from clusterwright.blueprint.rules.cloud_places import place_problems
from clusterwright.checks.preflight.configuration.targets import outcomes_of, target_of
from clusterwright.checks.preflight.files.project import PROVIDERS, Setting
from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import ZONE, Subject

#: Which layers each reference is needed by, and the layer it leads to.
_REFERENCES = (("foundationStack", ("cluster", "nodes"), "foundation"), ("clusterStack", ("nodes",), "cluster"))


#: What layers must say alike, or what one makes does not fit the other.
_ALIKE = (
    "clusterName",
    "region",
    "location",
    "availabilityZone",
    "zone",
    "project",
    "nodeType",
    "nodeCount",
    # The cluster makes the reports that the watchdog of the nodes waits for.
    "stopWhenIdleMinutes",
)


def agreement(subject: Subject) -> Iterator[Outcome]:
    """Compare what several layers say: cluster name, place and node type must be alike, other keys should be."""
    project = subject.project
    every = (key.rpartition(":")[2] if _is_own(key) else key for layer in project.layers for key in layer.config)
    for key in dict.fromkeys(every):
        found = list(project.settings(key))
        for other in found[1:]:
            for name in _differing(found[0], other):
                one, two = (next(project.settings_of(entry.layer, name), None) for entry in (found[0], other))
                yield Outcome(
                    status="FAIL"
                    if key.rpartition(":")[2] in _ALIKE and not _has_room(key, found[0], other)
                    else "WARN",
                    message=f"{name} is {_shown(two)} in {other.layer}, but {_shown(one)} in {found[0].layer} "
                    f"({one.place if one else found[0].place})",
                    fix=f"give both layers the same: ./cluster.sh set {name} …",
                    place=two.place if two else other.place,
                )
    names = {text(entry.value) for entry in project.settings("clusterName")}
    yield passed(f"{len(project.layers)} layers of {', '.join(sorted(names)) or 'a cluster without a name'}")


def _has_room(key: str, first: Setting, other: Setting) -> bool:
    """Tell whether the nodes are fewer than those that network and storage are made for."""
    nodes, room = whole(other.value), whole(first.value)
    of_nodes = key.rpartition(":")[2] == "nodeCount" and other.layer == "nodes"
    return of_nodes and nodes is not None and room is not None and nodes <= room


def _is_own(key: str) -> bool:
    """Tell whether a key is the project's own, not a provider's."""
    return key.rpartition(":")[0] not in PROVIDERS.values()


def _differing(first: Setting, other: Setting) -> list[str]:
    """Return the names of what two layers say differently; of a node type each layer holds the facts that it needs."""
    if not isinstance(first.value, dict) or not isinstance(other.value, dict):
        return [] if text(first.value) == text(other.value) else [first.name]
    keys = list(dict.fromkeys((*first.value, *other.value)))
    if first.name == "nodeType":
        keys = [key for key in keys if key in first.value and key in other.value]
    return [f"{first.name}.{key}" for key in keys if text(first.value.get(key)) != text(other.value.get(key))]


def _shown(setting: Setting | None) -> str:
    return "missing" if setting is None else repr(setting.value)


def references(subject: Subject) -> Iterator[Outcome]:
    """Hold every stack reference against the layer that it should lead to: project and stack."""
    project = subject.project
    by_name = {layer.name: layer for layer in project.layers}
    good = []
    for key, needed_by, target in _REFERENCES:
        given = {setting.layer: setting for setting in project.settings(key)}
        for name in needed_by:
            if name not in by_name:
                continue
            wanted_project = f"{subject.cloud}-gpu-{target}"
            wanted = f"organization/{wanted_project}/{by_name[name].stack}"
            fix = f"pulumi -C {name} config set {key} {wanted}, with your organization in place of organization"
            setting = given.get(name)
            if setting is None or not text(setting.value):
                yield Outcome(
                    status="FAIL",
                    message=f"{name} does not say which {target} it stands on: {key} is missing",
                    fix=fix,
                    place=project.place(by_name[name], f"{by_name[name].project}:{key}"),
                )
                continue
            value = text(setting.value)
            problem = _wrong_reference(value, wanted_project, by_name[name].stack)
            if problem:
                yield Outcome(status="FAIL", message=f"{key} of {name} {problem}", fix=fix, place=setting.place)
            else:
                good.append(value)
    if good:
        yield passed(f"references lead to {', '.join(dict.fromkeys(good))}")


def _wrong_reference(value: str, project: str, stack: str) -> str:
    parts = value.split("/")
    if len(parts) != 3 or not all(parts):  # noqa: PLR2004 - organization/project/stack
        return f"is {value!r}, not organization/project/stack"
    if parts[1] != project:
        return f"leads to project {parts[1]!r}, not {project!r}"
    if parts[2] != stack:
        return f"leads to stack {parts[2]!r}, but this configuration is of stack {stack!r}"
    return ""


def zone(subject: Subject) -> Iterator[Outcome]:
    """Check that the zone is one of the region: nodes and file system share it, fabrics do not cross it."""
    setting = subject.zone_setting
    if setting is None:
        yield Outcome(status="FAIL", message=f"{ZONE[subject.cloud]} is not set", fix="set the zone of your capacity")
        return
    yield from outcomes_of(subject, place_problems(subject.cloud, target_of(subject)), "PLC003")
    yield passed(f"{subject.zone} in {subject.region}", setting.place)
