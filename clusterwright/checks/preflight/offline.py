"""Run the checks that need nothing but the project."""

from collections.abc import Collection, Iterator

from clusterwright.checks.preflight.results import Result
from clusterwright.checks.preflight.subject import Subject
from clusterwright.checks.preflight.table import CHECKS


def offline(subject: Subject, ids: Collection[str] = ()) -> tuple[Result, ...]:
    """Return what every offline check found, in the order of the table; a check that does not apply says nothing.

    Args:
        subject: what is checked.
        ids: of the checks to run; all by default.
    """
    return tuple(_results(subject, ids))


def _results(subject: Subject, ids: Collection[str]) -> Iterator[Result]:
    for check in CHECKS:
        if ids and check.id not in ids:
            continue
        outcomes = () if check.run is None else tuple(check.run(subject))
        # What passes beside something that does not would only hide it.
        bad = [outcome for outcome in outcomes if outcome.status != "PASS"]
        for outcome in bad or outcomes:
            yield Result(check=check.id, title=check.title, cloud=subject.cloud, outcome=outcome)
