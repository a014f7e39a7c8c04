"""The levelised cost of a useful GPU-hour: what goes in, what comes out. The statement is `levelised_cost.sql`."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Levelisation:
    """How the purchases of a candidate are charged.

    Attributes:
        fixed_charge_rate: share of the purchases, less the present value of their resale, charged per year.
        useful_gpu_hours_per_year: GPUs x hours x utilisation x availability x goodput.
        discount_rate: per year, that resale is brought to the start with; None takes that of the economics.
        life_months: age at which what is left at the end is sold; None takes the horizon.
    """

    fixed_charge_rate: float
    useful_gpu_hours_per_year: float
    discount_rate: float | None = None
    life_months: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelisedCost:
    """Levelised cost of a candidate in USD; the two yearly sums are its parts."""

    fixed_charge_rate: float
    capital_usd_per_year: float
    opex_usd_per_year: float
    usd_per_useful_gpu_hour: float
