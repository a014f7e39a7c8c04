"""Run the checks that need nothing but the project."""

from collections.abc import Iterator

from clusterwright.checks.results import Result
from clusterwright.checks.subject import Subject
from clusterwright.checks.table import CHECKS


def offline(subject: Subject) -> tuple[Result, ...]:
    """Return what every offline check found, in the order of the table; a check that does not apply says nothing."""
    return tuple(_results(subject))


def _results(subject: Subject) -> Iterator[Result]:
    for check in CHECKS:
        outcomes = () if check.run is None else tuple(check.run(subject))
        # What passes beside something that does not would only hide it.
        bad = [outcome for outcome in outcomes if outcome.status != "PASS"]
        for outcome in bad or outcomes:
            yield Result(check=check.id, title=check.title, cloud=subject.cloud, outcome=outcome)
