"""Load, heat, air and energy of a whole design at nameplate."""

from collections.abc import Iterable
from dataclasses import dataclass

from clusterwright.facility import power
from clusterwright.facility.hall.racks import Rack
from clusterwright.facility.site import DesignRules, Site


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerSummary:
    """Electrical load and heat at nameplate.

    Attributes:
        compute_w, network_w, storage_w, management_w: by role; it_w: their sum.
        facility_w: it_w x PUE, None if PUE is unknown.
        apparent_va: at the rules' power factor.
        heat_btu_per_h: of all equipment; airflow_cfm: of air warmed by the site's rise.
        water_l_per_min: of water warmed by the site's rise, if all heat went into water.
        annual_it_kwh, annual_facility_kwh: at full load for 8,760 h; the second None if PUE is unknown.
        unknown_items: price keys of devices whose power is unknown and not in the sums.
    """

    compute_w: float
    network_w: float
    storage_w: float
    management_w: float
    it_w: float
    facility_w: float | None
    apparent_va: float
    heat_btu_per_h: float
    airflow_cfm: float
    water_l_per_min: float
    annual_it_kwh: float
    annual_facility_kwh: float | None
    unknown_items: tuple[str, ...]


def summarise_power(standing: Iterable[Rack], site: Site, rules: DesignRules) -> PowerSummary:
    """Sum the nameplate power of all devices by role, and derive heat, air and energy.

    Args:
        standing: all racks.
        site: PUE and temperature rises.
        rules: power factor.
    """
    watts = dict.fromkeys(("compute", "network", "storage", "management"), 0.0)
    unknown: set[str] = set()
    for rack in standing:
        for placed in rack.placements:
            if placed.device.power_w is None:
                unknown.add(placed.device.sku)
            else:
                watts[placed.device.role] += placed.device.power_w
    it_w = sum(watts.values())
    return PowerSummary(
        compute_w=watts["compute"],
        network_w=watts["network"],
        storage_w=watts["storage"],
        management_w=watts["management"],
        it_w=it_w,
        facility_w=None if site.pue is None else it_w * site.pue,
        apparent_va=power.apparent_va(power_w=it_w, power_factor=rules.power_factor),
        heat_btu_per_h=power.heat_btu_per_h(power_w=it_w),
        airflow_cfm=power.airflow_cfm(power_w=it_w, rise_c=site.air_rise_c),
        water_l_per_min=power.water_l_per_min(power_w=it_w, rise_c=site.water_rise_c),
        annual_it_kwh=power.annual_energy_kwh(it_power_w=it_w),
        annual_facility_kwh=None if site.pue is None else power.annual_energy_kwh(it_power_w=it_w, pue=site.pue),
        unknown_items=tuple(sorted(unknown)),
    )
