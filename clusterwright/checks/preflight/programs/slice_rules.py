"""What has to hold where pods ask for slices of GPUs (MIG): profiles that there are, that fit, that are given out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from clusterwright.blueprint.reading.document import parsed
from clusterwright.catalog.software.mig import Profile, place, share_of
from clusterwright.checks.preflight.files.values import text, whole
from clusterwright.checks.preflight.programs.pod_rules import Found
from clusterwright.checks.preflight.scripts.capacity import profile_name, profiles_of
from clusterwright.checks.preflight.scripts.manifests import Manifest, Pods, items, mapping
from clusterwright.checks.preflight.scripts.pods import SLICE
from clusterwright.checks.preflight.subject import Subject
from clusterwright.errors import ClusterwrightError

_WHOLE = "nvidia.com/gpu"
_PLANNED = re.compile(rf"{re.escape(SLICE)}[\w.+-]+")
_README = "serving/README.md"
_MOST_DEEP = 12
#: The strategy of NVIDIA's device plugin by which every profile is a resource of its own.
_BY_PROFILE = "mixed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Division:
    """What a project says of divided GPUs.

    Attributes:
        offered: profiles into which its configurations of mig-parted divide GPUs; strategies: of its device plugins.
    """

    offered: frozenset[str] = frozenset()
    strategies: frozenset[str] = frozenset()


def slice_problems(subject: Subject, pods: Pods, division: Division) -> Iterator[Found]:
    """Yield what is wrong with the slices that pods of one kind ask for."""
    instance, known = subject.instance, {one.name: one for one in profiles_of(subject)}
    if instance is None:
        return
    for container in pods.containers:
        limits = mapping(mapping(container.get("resources")).get("limits"))
        asked = {text(name): whole(count) or 0 for name, count in limits.items() if text(name).startswith(SLICE)}
        for resource, count in asked.items():
            if profile_name(resource) not in known:
                yield Found(
                    message=f"asks for {resource}, and {instance.accelerator} has no such profile: it stays pending",
                    fix=f"one of {', '.join(known)}" if known else "a whole GPU: this one is not divided by MIG",
                    about=resource,
                )
            else:
                yield from _given_out(resource, division)
            if count > 1:
                yield Found(
                    message=f"asks for {count} × {resource}: a process of CUDA uses one slice",
                    fix="one slice of a larger profile",
                    about=resource,
                )
        if len(asked) + (_WHOLE in limits) > 1 and asked:
            yield Found(
                message=f"asks for {' and '.join([*([_WHOLE] if _WHOLE in limits else []), *asked])} at once",
                fix="either a GPU or a slice of one",
                about=next(iter(asked)),
            )
        yield from _unlike_the_plan(subject, pods, limits, known)


def _given_out(resource: str, division: Division) -> Iterator[Found]:
    """Yield whether somebody divides GPUs so, and names the slices by their profiles."""
    profile = profile_name(resource)
    if division.strategies and _BY_PROFILE not in division.strategies:
        yield Found(
            message=f"asks for {resource}, and the device plugin has the strategy {min(division.strategies)}: it gives "
            "out no resource of that name",
            fix=f"the strategy {_BY_PROFILE}",
            about=resource,
        )
    if division.offered and profile not in division.offered:
        yield Found(
            message=f"asks for {resource}, and the project divides GPUs into {', '.join(sorted(division.offered))}",
            fix=f"divide them into {profile}",
            about=resource,
        )
    elif not division.offered or not division.strategies:
        yield Found(
            message=f"asks for {resource}, and the project does not divide GPUs: whether nodes have it is not known",
            fix=f"divide the nodes' GPUs into {profile}, with the strategy {_BY_PROFILE} (serving/README.md)",
            about=resource,
            status="UNKNOWN",
        )


def _unlike_the_plan(
    subject: Subject, pods: Pods, limits: Mapping[str, Any], known: Mapping[str, Profile]
) -> Iterator[Found]:
    """Compare a replica with the slice that the project's README has: less is too little, more is worth a look."""
    named = _PLANNED.findall(subject.project.files.get(_README, ""))
    planned = known.get(profile_name(named[0])) if named else None
    if planned is None or not pods.owner.file.startswith("serving/"):
        return
    if _WHOLE in limits and not any(text(name).startswith(SLICE) for name in limits):
        yield Found(
            message=f"asks for a whole GPU, and the plan has a slice of one ({planned.name})",
            fix=named[0],
            about=_WHOLE,
            status="WARN",
        )
    for resource in map(text, limits):
        own = known.get(profile_name(resource)) if resource.startswith(SLICE) else None
        if own is None or own.name == planned.name:
            continue
        less = own.memory_slices < planned.memory_slices or own.compute_slices < planned.compute_slices
        yield Found(
            message=f"asks for {own.name}, and the plan has {planned.name}"
            + (": less than its model and requests take" if less else ""),
            fix=named[0],
            about=resource,
            status="FAIL" if less else "WARN",
        )


def division_of(found: Sequence[Manifest], recorded: Sequence[Mapping[str, Any]]) -> Division:
    """Return what a project's files, and the inputs of what its program asks for, say of divided GPUs."""
    values = [one.value for one in found] + list(recorded)
    offered = {name for value in values for _, ways in _configurations(value) for name in _divided(ways)}
    return Division(offered=frozenset(offered), strategies=frozenset(_strategies(values, 0)))


def division_problems(subject: Subject, one: Manifest) -> Iterator[Found]:
    """Yield what is wrong with a configuration of mig-parted: profiles that there are not, or that do not fit."""
    profiles, instance = profiles_of(subject), subject.instance
    known = {profile.name for profile in profiles}
    if instance is None:
        return
    for name, ways in _configurations(one.value):
        for way in map(mapping, items(ways)):
            names = [
                text(profile)
                for profile, count in mapping(way.get("mig-devices")).items()
                for _ in range(whole(count) or 0)
            ]
            unknown = sorted(set(names) - known)
            if unknown:
                yield Found(
                    message=f"divides GPUs into {unknown[0]} ({name}), and {instance.accelerator} has no such profile",
                    fix=f"one of {', '.join(profile.name for profile in profiles)}",
                    about=unknown[0],
                )
            elif names and place(profiles, names) is None:
                taken = sum(share_of(each, profiles) for each in names)
                yield Found(
                    message=f"divides a GPU into {' + '.join(names)} ({name}), which do not fit on one "
                    f"{instance.accelerator}: they take {taken:.2f} of it",
                    fix="clusterwright software --slices lists what fits",
                    about=names[0],
                )
            absent = [each for each in items(way.get("devices")) if (whole(each) or 0) >= instance.gpus]
            if absent:
                yield Found(
                    message=f"divides GPU {absent[0]} ({name}), and a node has {instance.gpus}",
                    fix=f"0 to {instance.gpus - 1}",
                    about="devices",
                )


def _configurations(value: object, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield name and ways of every configuration of mig-parted, also of one within a text."""
    if depth > _MOST_DEEP:
        return
    if isinstance(value, str) and "mig-configs" in value:
        with suppress(ClusterwrightError):
            yield from _configurations(parsed(value, name="mig-configs").value, depth + 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key == "mig-configs":
                yield from mapping(item).items()
            else:
                yield from _configurations(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _configurations(item, depth + 1)


def _divided(ways: object) -> Iterator[str]:
    for way in map(mapping, items(ways)):
        yield from (text(name) for name, count in mapping(way.get("mig-devices")).items() if whole(count))


def _strategies(value: object, depth: int) -> Iterator[str]:
    """Yield the strategy of every device plugin: a value of its own chart, or of the operator's."""
    if depth > _MOST_DEEP:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key == "migStrategy" and text(item):
                yield text(item)
            elif key == "mig" and text(mapping(item).get("strategy")):
                yield text(mapping(item)["strategy"])
            else:
                yield from _strategies(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _strategies(item, depth + 1)
