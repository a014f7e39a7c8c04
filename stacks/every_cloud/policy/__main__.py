"""The policy pack: hands every resource to the rules of `rules.py`, which know nothing of Pulumi."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
)
from rules import RULES


def validation(
    check: Callable[[str, Mapping[str, Any]], Sequence[str]],
) -> Callable[[ResourceValidationArgs, ReportViolation], None]:
    """Return the pack's form of a rule: every message it has against a resource is a violation."""

    def validate(resource: ResourceValidationArgs, report: ReportViolation) -> None:
        for message in check(resource.resource_type, resource.props):
            report(message)

    return validate


PolicyPack(
    name="gpu-cluster",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=[
        ResourceValidationPolicy(name=rule.name, description=rule.description, validate=validation(rule.check))
        for rule in RULES
    ],
)
