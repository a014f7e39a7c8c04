"""What a check says: passed, warned, failed or cannot be known here, where, and what to do."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Status = Literal["PASS", "WARN", "FAIL", "UNKNOWN"]

#: Worst first, the order in which people want to read them.
ORDER: tuple[Status, ...] = ("FAIL", "WARN", "UNKNOWN", "PASS")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A place in a file: name as shown to people, line and column from one; line 0 stands for the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """Return `file:line`, which editors open."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One thing that a check found.

    Attributes:
        status: FAIL stops `up` or breaks what was asked; WARN is worth a decision; UNKNOWN needs what is not at hand.
        message: what is so, with the numbers.
        fix: what to do; empty takes the check's own.
        place: where it is; None if nowhere in particular.
        rule: id of the plan-time rule behind it, where the check asked one.
    """

    status: Status
    message: str
    fix: str = ""
    place: Place | None = None
    rule: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """An outcome with the check it belongs to, and the cloud that was looked at."""

    check: str
    title: str
    cloud: str
    outcome: Outcome


def passed(message: str, place: Place | None = None) -> Outcome:
    """Return the outcome of a check that holds, with the numbers that show it."""
    return Outcome(status="PASS", message=message, place=place)


def counts(results: Iterable[Result]) -> dict[Status, int]:
    """Return how many results have each status, worst first."""
    found = [result.outcome.status for result in results]
    return {status: found.count(status) for status in ORDER}
