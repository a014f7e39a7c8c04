"""A written folder as the proof sees it, and the result of each part of the proof."""

from dataclasses import dataclass
from pathlib import Path

from clusterwright.errors import Finding
from clusterwright.facility.design import OnPremDesign
from clusterwright.plan.record import Option, Plan

PROVEN, NOT_PROVEN, SKIPPED, UNKNOWN = "proven", "not proven", "skipped", "unknown"
PLAN = "plan.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Documents:
    """A written folder with its plan, which the files are compared with.

    Attributes:
        root: the folder; site: the folder of the documents on premises, the same or one in it.
        plan, option, design: of the cluster on premises; hosts have the names that the documents use.
    """

    root: Path
    site: Path
    plan: Plan
    option: Option
    design: OnPremDesign

    def name(self, path: Path) -> str:
        """Return a file's path within the folder, for messages."""
        return path.relative_to(self.root).as_posix()


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One part of the proof.

    Attributes:
        part: what was looked at, such as `compute fabric`; files: by path within the folder.
        engine: the program that read the files, with its version where it tells one.
        state: `proven`, `not proven`, `skipped` for want of a program or of files, or `unknown`: it could be looked at,
            and was not, or not to its end; reason: why it was skipped or is unknown.
        facts: what was found, in words with numbers.
        findings: what does not hold.
        seconds: that it took.
    """

    part: str
    files: tuple[str, ...]
    engine: str
    state: str
    reason: str = ""
    facts: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0


def found(id_: str, message: str, help_: str) -> Finding:
    """Return a finding about files; it has no place in a blueprint."""
    return Finding(id=id_, path=(), message=message, help=help_)


def judged(part: str, files: tuple[str, ...], engine: str, facts: list[str], findings: list[Finding]) -> Result:
    """Return the result of a part that was looked at: proven if nothing was found wrong."""
    return Result(
        part=part,
        files=files,
        engine=engine,
        state=NOT_PROVEN if findings else PROVEN,
        facts=tuple(facts),
        findings=tuple(findings),
    )


def skipped(part: str, files: tuple[str, ...], engine: str, reason: str) -> Result:
    """Return the result of a part that could not be looked at."""
    return Result(part=part, files=files, engine=engine, state=SKIPPED, reason=reason)


def unknown(part: str, files: tuple[str, ...], engine: str, reason: str) -> Result:
    """Return the result of a part that was not looked at to its end: neither proven nor not."""
    return Result(part=part, files=files, engine=engine, state=UNKNOWN, reason=reason)
