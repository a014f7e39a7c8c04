"""An economic value with its band and where it comes from."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """An economic value as the engine used it, for the list of assumptions in reports.

    Attributes:
        key: name; value, low, high in `unit`; basis as in `BASES`.
    """

    key: str
    value: float
    low: float
    high: float
    unit: str
    basis: str
    reason: str
    source: str
    date: str = field(default="")
