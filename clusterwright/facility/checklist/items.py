"""Items of the data centre's check-list: what one says, and how a number is compared with a limit."""

from dataclasses import dataclass

from clusterwright.facility.hall.floor_load import FAIL, PASS, UNKNOWN

NOT_GIVEN = "not given"
#: Relative rounding of published figures that are compared: the trays of a 150 kW rack sum to 150,000.03 W.
ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One item.

    Attributes:
        area, item: what is asked.
        found, limit: the design's number, and what it is compared with.
        verdict: `pass`, `fail` or `unknown`.
        note: what the list that people carry says otherwise, or what to find out.
    """

    area: str
    item: str
    found: str
    limit: str
    verdict: str
    note: str = ""


def within(value: float, limit: float | None) -> str:
    """Return the verdict on a value that may not exceed a limit of the same unit; unknown without a limit."""
    if limit is None:
        return UNKNOWN
    return PASS if value <= limit * (1 + ROUNDING) else FAIL


def kw(watts: float | None) -> str:
    """Return a power in W as text in kW."""
    return NOT_GIVEN if watts is None else f"{watts / 1e3:,.1f} kW"
