"""What the blueprint says of uncertain inputs, as the cost engine takes it."""

from collections.abc import Mapping

from clusterwright.blueprint.sections.uncertain import UncertainBand
from clusterwright.tco.chance.uncertainty import OwnBand


def own_bands(given: Mapping[str, UncertainBand]) -> tuple[OwnBand, ...]:
    """Return the bands of `tco.uncertainty`, in their order."""
    return tuple(_own_band(key, band) for key, band in given.items())


def _own_band(key: str, band: UncertainBand) -> OwnBand:
    values = tuple(band.values)
    return OwnBand(
        key=key,
        spread=band.spread,
        low=min(values) if values else band.low or 0.0,
        high=max(values) if values else band.high or 0.0,
        distribution=band.distribution,
        values=values,
        shares=tuple(band.shares) or tuple(1.0 / len(values) for _ in values),
    )
