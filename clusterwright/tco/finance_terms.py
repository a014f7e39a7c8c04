"""What the views of finance count with besides `Economics`: tax, delivery, borrowing, chance, carbon; all resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from clusterwright.tco.chance.price_paths import PathRule
from clusterwright.tco.chance.uncertainty import OwnBand
from clusterwright.tco.formulas.payments import Financing


@dataclass(frozen=True, kw_only=True, slots=True)
class TaxTerms:
    """How income is taxed and purchases are written off.

    Attributes:
        tax_rate: tax on income, 0 to below 1.
        depreciation: method of equipment, a column of `tco/depreciation.csv`.
        depreciation_of: methods of the categories that are not written off like equipment.
        bonus_fraction: share of a purchase that is written off at once in its first year, 0 to 1.
    """

    tax_rate: float = 0.0
    depreciation: str = "straight_line_5"
    depreciation_of: Mapping[str, str] = field(default_factory=dict)
    bonus_fraction: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class CarbonTerms:
    """Carbon of electricity and of making the equipment.

    Attributes:
        grid: grid on premises as a key of `tco/grid_carbon.csv`; None for that of the tariff.
        tariff_grid: place of the tariff; empty without one.
        grid_grams_per_kwh: intensity of the grid on premises, g/kWh, in the place of the table's; None for that.
        market_grams_per_kwh: intensity that contracts and certificates leave by target, g/kWh.
        embodied_kg_per_server: CO2e of making one server, kg; None for the published part of its accelerators.
        life_months: time over which a server bears its making, months.
    """

    grid: str | None = None
    tariff_grid: str = ""
    grid_grams_per_kwh: float | None = None
    market_grams_per_kwh: Mapping[str, float] = field(default_factory=dict)
    embodied_kg_per_server: float | None = None
    life_months: float = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class FinanceTerms:
    """Terms of the views of finance.

    Attributes:
        taxes: on income.
        deposit: share of the purchase that is paid at the order, 0 to 1; the rest at delivery.
        financing: loan or lease of the purchase, shown beside the cash flow; None for none.
        building_life_years: life of a building of one's own, years; None without one.
        uncertainty: bands of inputs in the place of the usual ones.
        price_paths: `history`, or `band` where rental prices stay on one level over the horizon.
        path_rule: how paths are drawn from the history.
        carbon: of electricity and equipment.
    """

    taxes: TaxTerms = field(default_factory=TaxTerms)
    deposit: float = 1.0
    financing: Financing | None = None
    building_life_years: float | None = None
    uncertainty: tuple[OwnBand, ...] = ()
    price_paths: str = "history"
    path_rule: PathRule = field(default_factory=PathRule)
    carbon: CarbonTerms = field(default_factory=CarbonTerms)
