"""How the saving of owning follows the uncertain inputs: one at a time, and utilisation with the cloud price."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.finance.drawn_plan import savings
from clusterwright.tco.chance.distributions import UncertainInput
from clusterwright.tco.chance.uncertainty import grid, one_at_a_time
from clusterwright.tco.ledger.engine import Ledger

HEAT_FACTORS = (0.4, 0.6, 0.8, 1.0, 1.25)


@dataclass(frozen=True, kw_only=True, slots=True)
class Swing:
    """What one uncertain input alone does to the present value that owning saves, at its P10 and P90, in USD."""

    key: str
    saving_usd_low: float
    saving_usd_high: float
    source: str

    @property
    def width_usd(self) -> float:
        """How far the two ends are apart."""
        return abs(self.saving_usd_high - self.saving_usd_low)


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatCell:
    """What owning saves in present value at factors on utilisation and on the cloud price."""

    utilisation: float
    cloud_price: float
    saving_usd: float


def sensitivities(
    ledger: Ledger, inputs: Sequence[UncertainInput], owned_key: str, rented_key: str, mapped_key: str
) -> tuple[tuple[Swing, ...], tuple[HeatCell, ...], float]:
    """Return the swings widest first, the heat map by row, and what owning saves at base values in present value.

    Args:
        ledger: the cash flow of both.
        inputs: that are uncertain.
        owned_key: of the option that owns.
        rented_key: of the rented option in the swings and at base values.
        mapped_key: of the rented option in the heat map, whose columns are rental prices.
    """
    saved = savings(ledger, one_at_a_time(inputs), owned_key, rented_key)
    swings = [
        Swing(
            key=entry.key,
            saving_usd_low=saved[1 + 2 * place],
            saving_usd_high=saved[2 + 2 * place],
            source=entry.source,
        )
        for place, entry in enumerate(inputs)
    ]
    highest = 1.0 / ledger.economics.utilisation
    utilisations = [factor for factor in HEAT_FACTORS if factor <= highest + 1e-9]
    factors = grid(inputs, ("utilisation", utilisations), ("cloud_price", HEAT_FACTORS))
    cells = savings(ledger, factors, owned_key, mapped_key)
    pairs = [(used, price) for used in utilisations for price in HEAT_FACTORS]
    heat = tuple(
        HeatCell(utilisation=used * ledger.economics.utilisation, cloud_price=price, saving_usd=saving)
        for (used, price), saving in zip(pairs, cells, strict=True)
    )
    return tuple(sorted(swings, key=lambda swing: (-swing.width_usd, swing.key))), heat, saved[0]
