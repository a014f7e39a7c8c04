"""What came of holding a bill against its plan."""

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Variance:
    """One line of the plan's bill, or one thing that was billed and not planned, over the time that was billed.

    Attributes:
        line: its name; kind: `both`, `unplanned` (billed, not in the plan), `not_billed` (planned, nothing came).
        planned_usd, actual_usd: of that time; difference_usd: actual less planned.
        planned_quantity, actual_quantity: in `unit`; None where they cannot be compared, `because` says why.
        planned_unit_usd, actual_unit_usd: cost over quantity.
        quantity_usd, price_usd: what of the difference comes from the quantity, and from the price; both or neither.
        because: in words.
    """

    line: str
    kind: str
    planned_usd: float
    actual_usd: float
    difference_usd: float
    unit: str
    planned_quantity: float | None
    actual_quantity: float | None
    planned_unit_usd: float | None
    actual_unit_usd: float | None
    quantity_usd: float | None
    price_usd: float | None
    because: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Actual:
    """What one option was billed, against its plan.

    Attributes:
        target: of the option; start, end: of the time that usage is billed for, in UTC; hours: of it, without gaps.
        months: of the calendar in it; planned_months: of `hours_per_month` hours.
        lines: largest difference first.
        planned_usd, actual_usd: of all lines, before credits and tax.
        credits_usd, adjustments_usd, tax_usd: beside the lines; corrections_usd: within them.
    """

    target: str
    start: dt.datetime
    end: dt.datetime
    hours: float
    months: float
    planned_months: float
    lines: tuple[Variance, ...]
    planned_usd: float
    actual_usd: float
    credits_usd: float
    adjustments_usd: float
    tax_usd: float
    corrections_usd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """The bill of a running cluster against its plan.

    Attributes:
        cost: `effective` or `billed`; options: one per provider in the export.
        untagged_share: of the cost in the cluster's accounts, without the tag; None where that cost is 0.
        other_share: of clusters with another value of it.
        repeated: rows left out as repetitions; billing_periods: in the export.
    """

    cost: str
    options: tuple[Actual, ...]
    untagged_share: float | None
    other_share: float | None
    repeated: int
    billing_periods: tuple[str, ...]
