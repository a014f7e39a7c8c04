"""What a blueprint says of carbon; everything else is data of `tco/`."""

from typing import Annotated

from pydantic import Field

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Duration

_Grams = Annotated[float, Field(ge=0, le=3000, allow_inf_nan=False)]


class Carbon(Section):
    """Carbon of electricity and of making the equipment."""

    grid: str | None = Field(
        None, description="grid on premises, for example us-va; that of the tariff by default; see tco/grid_carbon.csv"
    )
    grid_grams_per_kwh: _Grams | None = Field(None, description="of the grid on premises, in its place")
    market_grams_per_kwh: dict[str, _Grams] = Field(
        default_factory=dict,
        description="by target, what contracts and certificates leave, for example {onprem: 0}; unknown by default",
    )
    embodied_kg_per_server: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = Field(
        None, description="kg CO2e to make one server; the published part of its accelerators by default"
    )
    life: Annotated[Duration, Field(ge=8760 * 3600.0, le=20 * 8760 * 3600.0)] = Field(
        5 * 8760 * 3600.0, description="over which a server bears its making, for example 5 years"
    )
