"""Plans in which nothing is rented by use."""

from dataclasses import replace

from clusterwright.plan.record import Plan
from clusterwright.pricing.records import COMMITTED_TERMS


def only_commitments(plan: Plan) -> Plan:
    """Return a plan of whose rented ways only the commitments can be an answer."""
    return replace(
        plan,
        options=tuple(replace(option, meets_goal=option.facility is not None) for option in plan.options),
        other_options=tuple(
            entry if entry.key.endswith(COMMITTED_TERMS) else replace(entry, held="held by this test")
            for entry in plan.other_options
        ),
    )
