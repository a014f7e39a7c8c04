"""The policy pack: hands every resource, and whole stacks, to the rules of `rules.py`, which know nothing of Pulumi."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError

from rule import UNKNOWN, Registered, Rule, StackRule
from rules import RULES, STACK_RULES


def plain(read: Callable[[], Any]) -> Any:  # noqa: ANN401 - inputs of resources have no type of their own
    """Return a value of the inputs as plain dicts and lists; reading what is not known yet is an error of the SDK."""
    try:
        value = read()
    except UnknownValueError:
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: plain(lambda key=key: value[key]) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(lambda place=place: value[place]) for place in range(len(value))]
    return value


def validation(rule: Rule) -> Callable[[ResourceValidationArgs, ReportViolation], None]:
    """Return the pack's form of a rule: every message it has against a resource is a violation."""

    def validate(resource: ResourceValidationArgs, report: ReportViolation) -> None:
        inputs = plain(lambda: resource.props)
        # What `--exclude` leaves for later comes without any inputs; nothing inside Kubernetes is made without some.
        if not inputs and resource.resource_type.startswith("kubernetes:"):
            return
        for message in rule.check(resource.resource_type, inputs):
            report(message)

    return validate


def stack_validation(rule: StackRule) -> Callable[[StackValidationArgs, ReportViolation], None]:
    """Return the pack's form of a rule of whole stacks."""

    def validate(stack: StackValidationArgs, report: ReportViolation) -> None:
        resources = [
            Registered(
                urn=one.urn,
                type=one.resource_type,
                inputs=plain(lambda one=one: one.props),
                behind={name: [each.urn for each in found] for name, found in one.property_dependencies.items()},
                protect=bool(one.opts.protect),
                ignores=list(one.opts.ignore_changes or ()),
            )
            for one in stack.resources
        ]
        for urn, message in rule.check(resources):
            report(message, urn)

    return validate


PolicyPack(
    name="gpu-cluster",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=[
        ResourceValidationPolicy(name=rule.name, description=rule.description, validate=validation(rule))
        for rule in RULES
    ]
    + [
        StackValidationPolicy(name=rule.name, description=rule.description, validate=stack_validation(rule))
        for rule in STACK_RULES
    ],
)
