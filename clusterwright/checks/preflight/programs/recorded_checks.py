"""Checks of what the project's program asks for: it runs, opens what fabric and Lustre need, keeps every other rule."""

from collections.abc import Iterator

from clusterwright.checks.preflight.configuration.frame import filled_in
from clusterwright.checks.preflight.files.values import flag
from clusterwright.checks.preflight.judging import Judgement, Violation, named
from clusterwright.checks.preflight.programs.program import PROTECTING_SETTINGS
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import Subject

#: Subjects of rules that have a check of their own; `rule.py` of the policy packs has the same words.
FABRIC, PLACEMENT, PROTECTION = "fabric", "placement", "protection"
_GROUP_RULES = (
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
)
_MOST_SHOWN = 6
_NOT_RUN = "the program was not run"


def unrecorded(subject: Subject) -> Outcome | None:
    """Return why nothing is known of what the program asks for, None where it is known."""
    recorded = subject.recorded
    if recorded is None:
        return Outcome(
            status="UNKNOWN",
            message=f"{_NOT_RUN}: of a blueprint there is no project to run yet",
            fix="clusterwright stack, ./cluster.sh preview, which installs .venv, then preflight on the folder",
        )
    if recorded.run is None:
        return Outcome(
            status="UNKNOWN", message=f"{_NOT_RUN}: {recorded.recording.missing}", fix=recorded.recording.fix
        )
    if recorded.run.error is not None:
        return Outcome(status="UNKNOWN", message="the program does not run to its end", fix="see PRE036")
    if recorded.shipped.error:
        return Outcome(status="UNKNOWN", message=recorded.shipped.error)
    return None


def program_runs(subject: Subject) -> Iterator[Outcome]:
    """Check that each layer runs to its end, and that what it asks for keeps the rules of the policy packs."""
    recorded = subject.recorded
    if recorded is not None and recorded.run is not None and (error := recorded.run.error) is not None:
        yield _death(subject, list(recorded.run.layers)[-1], error)
        return
    missing = unrecorded(subject)
    if missing is not None or recorded is None or recorded.run is None:
        yield missing or Outcome(status="UNKNOWN", message=_NOT_RUN)
        return
    shipped, own = recorded.shipped, recorded.own
    separate = {FABRIC, PLACEMENT, PROTECTION}
    found = [one for one in shipped.violations if shipped.rules[one.rule] not in separate]
    found += [one for one in own.violations if one.rule not in shipped.rules]
    yield from _failed(subject, found)
    if own.error:
        yield Outcome(
            status="FAIL",
            message=f"{own.error} with the project's own modules",
            fix="correct policy/, or write it again with `clusterwright stack`",
            place=Place(file=subject.project.shown("policy/rules.py")),
        )
    elif lost := sorted(set(shipped.rules) - set(own.rules)):
        yield Outcome(
            status="WARN",
            message=f"the project's policy pack has lost {', '.join(lost)}",
            fix="put the rules back, or `./cluster.sh up --policy-pack policy` does not stop what they forbid",
            place=Place(file=subject.project.shown("policy/rules.py")),
        )
    count = len(recorded.run.whole.cloud_resources)
    rules = len(shipped.rules) + len(set(own.rules) - set(shipped.rules))
    yield passed(f"{len(recorded.run.layers)} layers run, {count} resources keep {rules} rules")


def _death(subject: Subject, layer: str, error: str) -> Outcome:
    """Return what a program that ends early means: it refuses its settings, or it is wrong."""
    last = error.strip().splitlines()[-1]
    # What only the owner can know has checks of its own, and what is said of an existing network is made up here.
    excused = any(one.status != "PASS" for one in filled_in(subject)) or subject.existing_network is not None
    return Outcome(
        status="UNKNOWN" if excused else "FAIL",
        message=f"{layer} ends with: {last}",
        fix="correct what it names; `./cluster.sh preview` says the same",
        place=Place(file=subject.project.shown(f"{layer}/__main__.py")),
    )


def _failed(subject: Subject, violations: list[Violation]) -> Iterator[Outcome]:
    for one in dict.fromkeys(violations):
        yield Outcome(
            status="FAIL",
            message=f"{named(one.urn)} {one.message} [{one.rule}]",
            fix="correct the program; `./cluster.sh up --policy-pack policy` refuses the same",
            place=_place(subject, one.urn),
        )


def _place(subject: Subject, urn: str) -> Place | None:
    """Return the program of the layer that asks for a resource."""
    project = urn.split("::")[1]
    layer = next((one.name for one in subject.project.layers if one.project == project), "")
    return Place(file=subject.project.shown(f"{layer}/__main__.py")) if layer else None


def fabric_rules(subject: Subject) -> Iterator[Outcome]:
    """Check that what the program asks for opens what the fabric and Lustre need."""
    missing = unrecorded(subject)
    if missing is not None or subject.recorded is None:
        yield missing or Outcome(status="UNKNOWN", message=_NOT_RUN)
        return
    judgement = subject.recorded.shipped
    yield from _failed(subject, list(judgement.about(FABRIC)))
    yield from _small_frames(subject)
    yield from _too_early(subject)
    existing = subject.existing_network
    shown = judgement.shown_about(FABRIC)
    if existing is not None:
        yield Outcome(
            status="UNKNOWN",
            message="the network exists already: what it lets through cannot be seen from here",
            fix="run with --online, or compare it with the rules that README.md lists",
            place=existing.place,
        )
    elif shown:
        yield passed(f"let through by {_list(shown)}")
    else:
        yield Outcome(
            status="UNKNOWN", message="the program asks for nothing that shows what is let through among the machines"
        )


def _too_early(subject: Subject) -> Iterator[Outcome]:
    """Look for a file system of AWS that does not wait for the rules of its group: it is refused without them."""
    if subject.recorded is None or subject.recorded.run is None:
        return
    for record in subject.recorded.run.layers.values():
        rules = [one for one in record.cloud_resources if one.type in _GROUP_RULES]
        for one in record.of("aws:fsx/lustreFileSystem:LustreFileSystem"):
            groups = set(one.property_dependencies.get("securityGroupIds", ()))
            of_groups = [
                rule.urn for rule in rules if groups & set(rule.property_dependencies.get("securityGroupId", ()))
            ]
            missing = [urn for urn in of_groups if urn not in one.dependencies]
            if missing:
                yield Outcome(
                    status="FAIL",
                    message=f"{named(one.urn)} may come before {named(missing[0])}: it is refused without the rule",
                    fix="depends_on: the security groups",
                    place=_place(subject, one.urn),
                )


def _small_frames(subject: Subject) -> Iterator[Outcome]:
    """Compare the frames of networks with those that the fabric of the nodes' type needs."""
    wanted = subject.instance.mtu_bytes if subject.instance else None
    if wanted is None or subject.recorded is None or subject.recorded.run is None:
        return
    for one in subject.recorded.run.whole.cloud_resources:
        found = one.inputs.get("mtu") if one.type == "gcp:compute/network:Network" else wanted
        if found is None or (isinstance(found, int | float) and found < wanted):
            yield Outcome(
                status="FAIL",
                message=f"{named(one.urn)} has an mtu of {found}, the fabric of the nodes needs {wanted:.0f}",
                fix="take nodeType.mtu for every network of the cluster",
                place=_place(subject, one.urn),
            )


def placed(subject: Subject) -> Iterator[Outcome]:
    """Check that the placement that the program asks for is the one that nodes use."""
    missing = unrecorded(subject)
    if missing is not None or subject.recorded is None:
        yield missing or Outcome(status="UNKNOWN", message=_NOT_RUN)
        return
    judgement = subject.recorded.shipped
    yield from _failed(subject, list(judgement.about(PLACEMENT)))
    shown = judgement.shown_about(PLACEMENT)
    yield passed(f"placed by {_list(shown)}" if shown else "the program asks for no placement of its own")


def data_protected(subject: Subject) -> Iterator[Outcome]:
    """Check that the engine and the cloud refuse to delete what the program asks for to hold data."""
    missing = unrecorded(subject)
    if missing is not None or subject.recorded is None:
        yield missing or Outcome(status="UNKNOWN", message=_NOT_RUN)
        return
    judgement: Judgement = subject.recorded.shipped
    lifted = [
        setting
        for key in PROTECTING_SETTINGS
        for setting in subject.project.settings(key)
        if flag(setting.value) is False
    ]
    # A setting is a decision, and has a warning of its own.
    if not lifted:
        yield from _failed(subject, list(judgement.about(PROTECTION)))
        if shown := judgement.shown_about(PROTECTION):
            yield passed(f"protected: {_list(shown)}")


def _list(urns: tuple[str, ...]) -> str:
    more = f" and {len(urns) - _MOST_SHOWN} more" if len(urns) > _MOST_SHOWN else ""
    return f"{', '.join(named(urn) for urn in urns[:_MOST_SHOWN])}{more}"
