"""What a cash flow can be counted with: the ranges of its economic values, and keys and terms that are known."""

from collections.abc import Sequence

from clusterwright.errors import InputError
from clusterwright.pricing.records import TERMS
from clusterwright.tco.mixes import Mix
from clusterwright.tco.records import Candidate, Economics

#: Longest horizon: the life of a building.
MOST_MONTHS = 600


def check(candidates: Sequence[Candidate], economics: Economics, mixes: Sequence[Mix]) -> None:
    """Refuse what cannot be counted.

    Raises:
        InputError: a value is out of range, a term is unknown, or two candidates or mixes share a key.
    """
    keys = [*(candidate.key for candidate in candidates), *(mix.key for mix in mixes)]
    if len(set(keys)) < len(keys):
        raise InputError("two candidates have the same key", help="give each its own")
    for candidate in candidates:
        if not candidate.calendar_days > 0:
            raise InputError(f"{candidate.key}: a run takes more than 0 days", help="give the calendar days of a run")
        if not 0 < candidate.run_time_low <= 1 <= candidate.run_time_high:
            raise InputError(
                f"{candidate.key}: a run takes {candidate.run_time_low:g} to {candidate.run_time_high:g} of its days",
                help="give ends of the band around 1",
            )
        if candidate.utilisation is not None and not 0 < candidate.utilisation <= 1:
            raise InputError(
                f"{candidate.key}: utilisation is {candidate.utilisation}", help="it must be above 0 and at most 1"
            )
        if candidate.term is not None and candidate.term not in TERMS:
            raise InputError(f"{candidate.term!r} is not a term", help=f"use one of {', '.join(TERMS)}")
    if economics.term not in TERMS:
        raise InputError(f"{economics.term!r} is not a term", help=f"use one of {', '.join(TERMS)}")
    for name, allowed, fits in (
        ("horizon_months", f"above 0 and at most {MOST_MONTHS}", 0 < economics.horizon_months <= MOST_MONTHS),
        ("utilisation", "above 0 and at most 1", 0 < economics.utilisation <= 1),
        ("discount_rate", "from 0 to 1", 0 <= economics.discount_rate <= 1),
        ("hours_per_month", "above 0", economics.hours_per_month > 0),
        ("runs", "above 0", economics.runs is None or economics.runs > 0),
        ("reference_days", "above 0", economics.reference_days is None or economics.reference_days > 0),
    ):
        if not fits:
            raise InputError(f"{name} is {getattr(economics, name)}", help=f"it must be {allowed}")
