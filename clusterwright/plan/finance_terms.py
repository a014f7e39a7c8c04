"""What the blueprint says of tax, delivery, borrowing, chance and carbon, resolved as the views of finance count it."""

import datetime as dt
from collections.abc import Mapping

from clusterwright.blueprint.sections.finances import Carbon, Lease, Loan, TcoSection
from clusterwright.blueprint.sections.uncertain import PricePath, UncertainBand
from clusterwright.tco.chance.price_paths import PathRule
from clusterwright.tco.chance.uncertainty import OwnBand
from clusterwright.tco.finance_terms import CarbonTerms, FinanceTerms, TaxTerms
from clusterwright.tco.formulas.payments import Financing
from clusterwright.tco.taxes.after_tax import bonus_fraction

_MONTH_S = 730 * 3600.0
_YEAR_S = 8760 * 3600.0


def finance_terms(section: TcoSection, as_of: dt.date) -> FinanceTerms:
    """Return the terms of the views of finance.

    Args:
        section: `tco` of the blueprint.
        as_of: day whose law sets a bonus depreciation.

    Raises:
        InputError: the bonus of that day is unknown.
    """
    owner = section.owner
    return FinanceTerms(
        taxes=_taxes(section, as_of),
        deposit=section.deposit,
        financing=_financing(section.loan, section.lease),
        building_life_years=None if owner.building_usd_per_kw is None else owner.building_life / _YEAR_S,
        uncertainty=own_bands(section.uncertainty),
        price_paths=section.price_path.source,
        path_rule=_path_rule(section.price_path),
        carbon=_carbon(section.carbon, tariff=owner.tariff or ""),
    )


def _taxes(section: TcoSection, day: dt.date) -> TaxTerms:
    bonus = section.bonus_depreciation
    return TaxTerms(
        tax_rate=section.tax_rate,
        depreciation=section.depreciation,
        depreciation_of={"building": section.owner.building_depreciation, **section.depreciation_of},
        bonus_fraction=bonus_fraction(day) if bonus == "law" else float(bonus),
    )


def _financing(loan: Loan | None, lease: Lease | None) -> Financing | None:
    if loan is not None:
        months = max(1, round(loan.term / _MONTH_S))
        return Financing(kind="loan", rate_per_year=loan.rate, share=loan.share, months=months)
    if lease is not None:
        return Financing(kind=f"{lease.kind}_lease", rate_per_year=lease.rate, residual=lease.residual)
    return None


def _path_rule(path: PricePath) -> PathRule:
    return PathRule(
        block_months=max(1, round(path.block / _MONTH_S)),
        drift=path.drift,
        resale_correlation=path.resale_correlation,
    )


def _carbon(carbon: Carbon, *, tariff: str) -> CarbonTerms:
    return CarbonTerms(
        grid=carbon.grid,
        tariff_grid=tariff.partition("/")[0],
        grid_grams_per_kwh=carbon.grid_grams_per_kwh,
        market_grams_per_kwh=dict(carbon.market_grams_per_kwh),
        embodied_kg_per_server=carbon.embodied_kg_per_server,
        life_months=carbon.life / _MONTH_S,
    )


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
