"""Power, heat and energy against worked examples and published sheets."""

import pytest

from clusterwright.facility.power import (
    airflow_cfm,
    annual_energy_kwh,
    apparent_va,
    heat_btu_per_h,
    pdus_per_rack,
    three_phase_va,
    water_l_per_min,
)


def test_energy_of_32_systems() -> None:
    """32 DGX H100 at 0.10 USD/kWh cost 285,926 USD a year, and 371,704 USD with a PUE of 1.3."""
    assert annual_energy_kwh(it_power_w=32 * 10_200) == pytest.approx(2_859_264)
    assert annual_energy_kwh(it_power_w=32 * 10_200) * 0.10 == pytest.approx(285_926, abs=1)
    assert annual_energy_kwh(it_power_w=32 * 10_200, pue=1.3) * 0.10 == pytest.approx(371_704, abs=1)
    assert annual_energy_kwh(it_power_w=10_200, load=0.5) == pytest.approx(44_676)


@pytest.mark.parametrize(("power_w", "printed"), [(14_300, 48_794), (10_200, 34_803)])
def test_heat_of_systems(power_w: float, printed: float) -> None:
    """Heat agrees with the B200 guide and with 10.2 kW (not with the 38,557 BTU/h that the H100 guide prints)."""
    assert heat_btu_per_h(power_w=power_w) == pytest.approx(printed, rel=2e-4)


@pytest.mark.parametrize(("power_w", "cfm"), [(10_200, 1105), (14_300, 1550)])
def test_air_of_systems(power_w: float, cfm: float) -> None:
    """The printed airflow of DGX H100 and B200 means a rise of 16.2 C."""
    assert airflow_cfm(power_w=power_w, rise_c=16.2) == pytest.approx(cfm, rel=0.01)


def test_water() -> None:
    """A 120 kW rack at 10 C rise takes 172 L/min, inside the 1.25 to 2 L/min per kW of open guidance."""
    flow = water_l_per_min(power_w=120_000, rise_c=10)
    assert flow == pytest.approx(171.6)
    assert 1.25 <= flow / 120 <= 2.0


@pytest.mark.parametrize(("volts", "amperes", "kva"), [(415, 60, 34.5), (208, 60, 17.3), (380, 32, 16.8)])
def test_feeds(volts: float, amperes: float, kva: float) -> None:
    """Feeds carry what data sheets print for them."""
    assert three_phase_va(line_to_line_v=volts, breaker_a=amperes) / 1000 == pytest.approx(kva, abs=0.06)


def test_apparent_power() -> None:
    """Apparent power is at least the real one."""
    assert apparent_va(power_w=950.0) == pytest.approx(1000.0)


@pytest.mark.parametrize(
    ("count", "needed", "pdus"), [(6, 4, 3), (6, 5, 3), (12, 6, 2), (6, 3, 2), (None, None, 2), (2, 2, 2)]
)
def test_pdus(count: int | None, needed: int | None, pdus: int) -> None:
    """PDUs per rack follow the rule of the power supplies: 4+2 takes three, N+N two."""
    assert pdus_per_rack(psu_count=count, psu_needed=needed) == pdus
