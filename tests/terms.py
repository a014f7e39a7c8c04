"""Plans with other terms of money on the clusters that they have."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from clusterwright.blueprint.sections.finances import TcoSection
from clusterwright.plan.alternatives.offers import Asked
from clusterwright.plan.alternatives.ranking import ranked
from clusterwright.plan.finance_terms import finance_terms
from clusterwright.plan.owned.cost import growth_of, parameters_of, resale_of
from clusterwright.plan.record import Plan
from clusterwright.pricing.book import PriceBook

PlanT = TypeVar("PlanT", bound=Plan)


def with_finance(plan: PlanT, section: Mapping[str, Any]) -> PlanT:
    """Return a plan whose tax, financing beside the cash flow and carbon are those of a section `tco`."""
    terms = finance_terms(TcoSection.model_validate(section), dt.date.fromisoformat(plan.as_of))
    return replace(plan, finance=terms)


def recounted(plan: PlanT, section: Mapping[str, Any], **economics: Any) -> PlanT:  # noqa: ANN401 - of its fields
    """Return a plan whose ways are counted again, and mixed, with a section `tco` and other economics.

    Its clusters, contracts and places stay.
    """
    asked, book, day = TcoSection.model_validate(section), PriceBook.open(), dt.date.fromisoformat(plan.as_of)
    changed = replace(plan.economics, **economics)
    changed = replace(
        changed,
        growth=growth_of(asked),
        resale=resale_of(asked),
        given=parameters_of(
            asked,
            book,
            as_of=day,
            horizon_months=changed.horizon_months,
            power_price_given=changed.power_price_usd_per_kwh is not None,
        ),
    )
    ways = [way for way in plan.alternatives if way.candidate is not None and way.candidate.listed]
    terms = Asked(section=asked, economics=changed, book=book, day=day, unit=plan.workload.unit)
    again = replace(plan, economics=changed, alternatives=ranked(ways, plan.options, terms, max_age_s=float("1e8")))
    return replace(again, finance=finance_terms(asked, day))
