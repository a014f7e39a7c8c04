"""Distributions of uncertain inputs, against SciPy's own, and bands of the user."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from clusterwright.errors import InputError
from clusterwright.tco.chance.distributions import DISTRIBUTIONS, UncertainInput, quantiles
from clusterwright.tco.chance.uncertainty import OwnBand, uncertain_inputs
from clusterwright.tco.terms.records import Parameter

SHARES = np.linspace(0.001, 0.999, 999)


def _input(distribution: str, low: float, high: float, **more: object) -> UncertainInput:
    return UncertainInput(key="pue", low=low, high=high, reason="", source="", distribution=distribution, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (_input("triangular", 0.6, 1.5), stats.triang(0.4 / 0.9, loc=0.6, scale=0.9)),
        (_input("beta", 0.6, 1.5), stats.beta(1 + 4 * 0.4 / 0.9, 1 + 4 * 0.5 / 0.9, loc=0.6, scale=0.9)),
        (_input("lognormal", 0.5, 2.0), stats.lognorm(np.log(2) / stats.norm.ppf(0.9))),
    ],
    ids=lambda value: getattr(value, "distribution", ""),
)
def test_quantiles_are_those_of_scipy(entry: UncertainInput, expected: object) -> None:
    """Each distribution is the one of its name: triangular, beta with a peak at 1, lognormal by P10 and P90."""
    assert quantiles(entry, SHARES) == pytest.approx(expected.ppf(SHARES), rel=1e-9)  # type: ignore[attr-defined]


def test_normal_keeps_its_ends_and_never_goes_below_nothing() -> None:
    """Low and high are P10 and P90; a wide one is cut at 0, as SciPy's truncated normal is."""
    narrow = quantiles(_input("normal", 0.8, 1.3), np.array([0.1, 0.5, 0.9]))
    assert narrow == pytest.approx([0.8, 1.05, 1.3], rel=1e-6)
    deviation = 2.0 / (2 * stats.norm.ppf(0.9))
    cut = stats.truncnorm(-1.0 / deviation, np.inf, loc=1.0, scale=deviation)
    assert quantiles(_input("normal", 0.0, 2.0), SHARES) == pytest.approx(cut.ppf(SHARES), rel=1e-6)


def test_discrete_and_empirical() -> None:
    """A discrete input takes its values as often as their shares say; an empirical one lies between them."""
    entry = _input("discrete", 0.8, 1.2, values=(1.2, 0.8, 1.0), shares=(0.2, 0.3, 0.5))
    drawn = quantiles(entry, (np.arange(1000) + 0.5) / 1000)
    assert [(drawn == value).sum() for value in (0.8, 1.0, 1.2)] == [300, 500, 200]
    between = _input("empirical", 0.5, 1.5, values=(1.5, 0.5, 1.0))
    assert quantiles(between, np.array([0.0, 0.25, 0.5, 1.0])).tolist() == [0.5, 0.75, 1.0, 1.5]


@settings(max_examples=60, deadline=None)
@given(
    distribution=st.sampled_from([name for name in DISTRIBUTIONS if name not in ("discrete", "empirical")]),
    low=st.floats(0.01, 1.0),
    high=st.floats(1.0, 20.0),
    share=st.lists(st.floats(0.0, 1.0), min_size=2, max_size=20),
    most=st.none() | st.floats(1.0, 3.0),
)
def test_quantiles_rise_and_are_never_negative(
    distribution: str, low: float, high: float, share: list[float], most: float | None
) -> None:
    """Whatever the ends, quantiles rise with the probability, are finite, not negative, and not above the bound."""
    drawn = quantiles(_input(distribution, low, high, most=most), np.sort(np.array(share)))
    assert np.isfinite(drawn).all()
    assert (np.diff(drawn) >= -1e-12).all()
    assert drawn.min() >= 0
    assert most is None or drawn.max() <= most


def test_equal_ends_are_certain() -> None:
    """A band without width is one value, whatever the distribution."""
    for distribution in DISTRIBUTIONS:
        assert quantiles(_input(distribution, 0.9, 0.9, values=(0.9,), shares=(1.0,)), SHARES).tolist() == [0.9] * 999


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (_input("weibull", 0.5, 1.5), "not a distribution"),
        (_input("triangular", 1.5, 0.5), "lower one first"),
        (_input("normal", -0.5, 0.5), "0 or more"),
        (_input("normal", 0.5, float("inf")), "0 or more"),
        (_input("beta", 1.2, 1.5), "outside its band"),
        (_input("lognormal", 0.0, 1.5), "never 0"),
        (_input("discrete", 1.0, 2.0, values=(1.0, 2.0), shares=(0.5, 0.6)), "sum to 1"),
        (_input("discrete", 1.0, 2.0, values=(1.0, 2.0), shares=(1.0,)), "one share per value"),
        (_input("discrete", 1.0, 2.0, values=(), shares=(1.0,)), "one share per value"),
    ],
)
def test_what_is_no_distribution(entry: UncertainInput, message: str) -> None:
    """What cannot be drawn from is reported."""
    with pytest.raises(InputError, match=message):
        quantiles(entry, SHARES)


PUE = Parameter(
    key="pue", value=1.25, low=1.1, high=1.5, unit="ratio", basis="assumed", reason="", source="survey", date="2025"
)
FREE = Parameter(key="free", value=0.0, low=0.0, high=1.0, unit="", basis="assumed", reason="", source="", date="")


def _own(**band: object) -> UncertainInput:
    found = uncertain_inputs((PUE, FREE), utilisation=0.8, own=(OwnBand(**band),))  # type: ignore[arg-type]
    return next(entry for entry in found if entry.key == band["key"])


def test_bands_of_the_user_are_in_the_unit_of_the_input() -> None:
    """Ends over the value are factors; a spread is a share of it; the source then says that the user gave it."""
    used = _own(key="utilisation", low=0.6, high=0.9)
    assert (used.low, used.high, used.source) == (pytest.approx(0.75), pytest.approx(1.125), "blueprint")
    pue = _own(key="pue", low=1.0, high=1.5, distribution="normal")
    assert (pue.low, pue.high, pue.distribution) == (pytest.approx(0.8), pytest.approx(1.2), "normal")
    assert (_own(key="pue", spread=0.1).low, _own(key="pue", spread=0.1).high) == (0.9, 1.1)
    assert _own(key="purchase_price", spread=0.0).certain
    prices = _own(key="cloud_price", low=0.8, high=1.2, distribution="discrete", values=(0.8, 1.2), shares=(0.5, 0.5))
    assert prices.values == (0.8, 1.2)


def test_utilisation_never_passes_all_hours() -> None:
    """A spread above all hours is cut, and ends above them are refused."""
    wide = _own(key="utilisation", spread=0.5)
    assert quantiles(wide, np.array([1.0])).tolist() == [1.25]


@pytest.mark.parametrize(
    ("band", "message"),
    [
        ({"key": "pu", "spread": 0.1}, "no uncertain input 'pu'"),
        ({"key": "free", "low": 0.0, "high": 1.0}, "free is 0"),
        ({"key": "utilisation", "low": 0.6, "high": 1.2}, "exceeds 100 %"),
        ({"key": "utilisation", "low": 0.9, "high": 0.95}, "outside its band from 0.9 to 0.95"),
        ({"key": "pue", "low": 0.0, "high": 1.5, "distribution": "lognormal"}, "never 0"),
    ],
)
def test_bands_that_do_not_fit(band: dict[str, object], message: str) -> None:
    """A band that cannot be used is reported with its place in the blueprint."""
    with pytest.raises(InputError, match=message) as caught:
        _own(**band)
    assert caught.value.path == ("tco", "uncertainty", band["key"])
