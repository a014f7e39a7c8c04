"""Speed, band and refusals of a power cap."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.power_caps import check_cap, exponents, measurements
from clusterwright.catalog.records import NodeType
from clusterwright.errors import InputError, MissingFactError
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.hardware.power_cap import speed_share, with_cap
from clusterwright.sizing.hardware.residuals import Residuals
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training.search import search

BAND = Residuals(p10=-0.1, p50=0.0, p90=0.1, rows=10)


def h100(cap_w: float | None = None) -> NodeType:
    """Return a DGX H100 with capped GPUs."""
    return replace(lookup.node_type_of_system(load(), "dgx-h100"), power_cap_w=cap_w)


def test_without_a_cap_nothing_changes() -> None:
    """No cap, or one at the design power, leaves speed and band."""
    assert speed_share(h100()) == speed_share(h100(700.0)) == 1.0
    assert with_cap(BAND, h100()) == with_cap(BAND, h100(700.0)) == BAND


def test_every_published_comparison_lies_between_the_two_ends() -> None:
    """The exponents found are positive; the median is one of them, and a cube law (1/3) lies inside."""
    known = exponents()
    assert 0 < known.least < 1 / 3 < known.median < known.most < 1
    for entry in measurements():
        share = entry.cap_w / entry.full_w
        assert share**known.most <= entry.speed * (1 + 1e-12)
        assert entry.speed <= share**known.least * (1 + 1e-12)
        assert entry.source in load().sources


def test_500_watts_of_700() -> None:
    """13 % slower, between 4 and 27 %: -30 % of power for 15 to 25 % of speed is a rule of thumb."""
    node = h100(500.0)
    assert speed_share(node) == pytest.approx(0.866, abs=0.001)
    plain, capped = device_of(h100(), precision="bf16"), device_of(node, precision="bf16")
    assert capped.peak_flop_per_s == pytest.approx(0.866 * plain.peak_flop_per_s, rel=1e-3)
    assert capped.hbm_bytes_per_s == plain.hbm_bytes_per_s
    band = with_cap(BAND, node)
    assert band.p10 == pytest.approx(-((0.1**2 + (0.498 * 0.3365) ** 2) ** 0.5), abs=0.002)
    assert band.p90 == pytest.approx((0.1**2 + (0.298 * 0.3365) ** 2) ** 0.5, abs=0.002)


def test_a_cap_lengthens_the_run_and_its_band(job: TrainingJob) -> None:
    """The same cluster takes longer, at a lower share of the same peak, and says so with a wider band."""
    asked = replace(job, max_nodes=32)
    plain, capped = (
        search(job=asked, node=h100(cap), calibration=load_calibration()).points[-1] for cap in (None, 500)
    )
    assert plain.nodes == capped.nodes
    assert plain.calendar_days < capped.calendar_days < plain.calendar_days / 0.866
    assert capped.mfu < plain.mfu
    width = [point.calendar_days_high / point.calendar_days_low for point in (plain, capped)]
    assert width[1] > width[0]


@given(low=st.floats(200, 700), more=st.floats(0, 500))
def test_more_power_is_never_slower(*, low: float, more: float) -> None:
    """Speed rises with the cap."""
    assert speed_share(h100(low)) <= speed_share(h100(min(700.0, low + more)))


@pytest.mark.parametrize(
    ("watts", "said", "advice"), [(701, "above the 700 W", "at most 700 W"), (50, "too low", "at least 200 W")]
)
def test_caps_that_are_refused(watts: float, said: str, advice: str) -> None:
    """Above the design power, and below what drivers take."""
    with pytest.raises(InputError) as caught:
        check_cap(h100().accelerator, watts)
    assert said in caught.value.message
    assert advice in (caught.value.help or "")


def test_an_accelerator_of_unknown_power() -> None:
    """Without its design power a cap has no effect that could be told."""
    with pytest.raises(MissingFactError, match="design power"):
        check_cap(replace(h100().accelerator, power_w=None), 500.0)
