"""What the plan itself found: rules that failed, and what is allowed and may still go wrong."""

from collections.abc import Iterator

from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import Subject
from clusterwright.errors import Finding

#: Rules that other checks ask too, of projects as well: places, limits, times, addresses.
_ASKED_ELSEWHERE = ("ADR001", "CAP004", "CAP005", "CAP008", "PLC002", "PLC004", "PLC005", "PLC006", "PLC012")


def hold(subject: Subject) -> Iterator[Outcome]:
    """Return the plan's findings and warnings that speak of this cloud and that no other check asks."""
    if subject.plan is None:
        return
    findings = [finding for finding in subject.plan.findings if _speaks_of(finding, subject.cloud)]
    warnings = [finding for finding in subject.plan.warnings if _speaks_of(finding, subject.cloud)]
    for found, status in ((findings, "FAIL"), (warnings, "WARN")):
        for finding in found:
            yield Outcome(
                status="FAIL" if status == "FAIL" else "WARN",
                message=finding.message,
                fix=finding.help,
                place=subject.place_of(finding.path) if subject.place_of else None,
                rule=finding.id,
            )
    yield passed(f"{subject.option.cluster.nodes if subject.option else 0:,} nodes in {subject.region}")


def _speaks_of(finding: Finding, cloud: str) -> bool:
    if finding.id in _ASKED_ELSEWHERE:
        return False
    return finding.path[:1] != ("targets",) or finding.path[1:2] in ((), (cloud,))
