"""Plans in which nothing is rented by use."""

from dataclasses import replace

from clusterwright.plan.record import Alternative, Plan
from clusterwright.pricing.records import COMMITTED_TERMS


def only_commitments(plan: Plan) -> Plan:
    """Return a plan of whose rented ways only the commitments can be an answer."""
    return replace(plan, alternatives=tuple(_held(way) for way in plan.alternatives))


def _held(way: Alternative) -> Alternative:
    if way.candidate is None or way.owned or way.money.term in COMMITTED_TERMS:
        return way
    candidate = replace(way.candidate, competes=False)
    return replace(way, candidate=candidate, ranked=False, reason="held by this test")
