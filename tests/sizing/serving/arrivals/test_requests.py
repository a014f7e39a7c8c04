"""Lengths from mean and P95, arrivals, and traces from CSV files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.errors import InputError
from clusterwright.sizing.serving.arrivals.requests import RequestMix, log_normal, mix_of, poisson, read_trace, uniform


@given(mean=st.floats(20, 1e5), ratio=st.floats(1.0, 3.5))
def test_a_log_normal_distribution_has_the_mean_and_the_p95_that_were_given(mean: float, ratio: float) -> None:
    """A log-normal distribution has the mean and the P95 that were given."""
    found = log_normal(mean=mean, p95=mean * ratio)
    assert found.mean == pytest.approx(mean, rel=1e-6)
    # The tail beyond the last of 512 points is cut, which the scale makes up for.
    assert found.quantile(0.95) == pytest.approx(mean * ratio, rel=0.05)
    assert np.all(np.diff(found.tokens) >= 0)


@given(mean=st.floats(20, 1e5), ratio=st.floats(1.0, 3.5), room=st.floats(1.0, 3.0))
def test_no_length_is_beyond_the_longest_and_the_mean_stays(mean: float, ratio: float, room: float) -> None:
    """No length is beyond the longest, none below a token, and the mean stays."""
    found = log_normal(mean=mean, p95=mean * ratio, most=mean * room)
    assert found.longest <= mean * room
    assert found.tokens[0] >= 1
    assert found.mean == pytest.approx(mean, rel=1e-3)


def test_equal_mean_and_p95_are_one_length() -> None:
    """Equal mean and P95 are one length."""
    assert list(log_normal(mean=1024, p95=1024).tokens) == [1024]


@pytest.mark.parametrize(
    ("mean", "p95"), [(100, 99), (100, 388), (0, 1), (-5, 5), (float("nan"), 1), (10, float("inf"))]
)
def test_an_impossible_distribution_is_refused(mean: float, p95: float) -> None:
    """An impossible distribution is refused: P95 below the mean, beyond 3.87 times it, no positive length."""
    with pytest.raises(InputError):
        log_normal(mean=mean, p95=p95)


def test_poisson_arrivals_have_their_rate_and_lengths() -> None:
    """Poisson arrivals have their rate, gaps as variable as their mean, and the lengths of the mix."""
    mix = RequestMix(inputs=log_normal(mean=1000, p95=2500), outputs=uniform(least=80, most=120), cached_share=0.3)
    found = poisson(mix, count=50_000, requests_per_s=4.0, seed=1)
    gaps = np.diff(found.arrival_s)
    assert gaps.mean() == pytest.approx(0.25, rel=0.02)
    assert gaps.std() == pytest.approx(0.25, rel=0.02)
    assert found.input_tokens.mean() == pytest.approx(1000, rel=0.02)
    assert found.output_tokens.min() == 80
    assert mix_of(found).cached_share == pytest.approx(0.3, abs=0.002)


def _written(folder: Path, text: str) -> Path:
    path = folder / "trace.csv"
    path.write_text(text)
    return path


def test_a_trace_is_read_whatever_the_order_of_its_columns(tmp_path: Path) -> None:
    """A trace is read whatever the order of its columns, with others beside them."""
    found = read_trace(
        _written(tmp_path, "id,output_tokens,arrival_s,input_tokens,cached_tokens\na,5,0,10,0\nb,6,0.5,20,15\n")
    )
    assert list(found.arrival_s) == [0, 0.5]
    assert list(found.input_tokens) == [10, 20]
    assert list(found.cached_tokens) == [0, 15]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("arrival_s,input_tokens\n0,1\n", "trace.csv:1: the columns output_tokens are missing"),
        ("arrival_s,input_tokens,output_tokens\n", "trace.csv:1: there are no requests"),
        ("arrival_s,input_tokens,output_tokens\n5,1,1\n4,1,1\n", "trace.csv:3: arrival_s 4 is before 5"),
        ("arrival_s,input_tokens,output_tokens\n0,-3,1\n", "trace.csv:2: input_tokens -3 is not a whole number"),
        ("arrival_s,input_tokens,output_tokens\n-1,3,1\n", "trace.csv:2: arrival_s -1 is before 0"),
        ("arrival_s,input_tokens,output_tokens\n0,3,1.5\n", "trace.csv:2: output_tokens 1.5 is not a whole number"),
        ("arrival_s,input_tokens,output_tokens\n0,3,many\n", "trace.csv:2: output_tokens is not a number"),
        ("arrival_s,input_tokens,output_tokens\n0,3\n", "trace.csv:2: output_tokens is not a number"),
        ("arrival_s,input_tokens,output_tokens,cached_tokens\n0,3,1,3\n", "trace.csv:2: cached_tokens 3"),
    ],
)
def test_a_wrong_trace_is_refused_with_its_line_and_what_to_do(tmp_path: Path, text: str, said: str) -> None:
    """A wrong trace is refused with its line and what to do."""
    with pytest.raises(InputError, match=said) as caught:
        read_trace(_written(tmp_path, text))
    assert caught.value.help


def test_all_mistakes_of_a_trace_are_reported_at_once(tmp_path: Path) -> None:
    """All mistakes of a trace are reported at once."""
    path = _written(tmp_path, "arrival_s,input_tokens,output_tokens\n1,-1,1\n0.5,1,x\n0.2,0,0\n")
    with pytest.raises(InputError) as caught:
        read_trace(path)
    assert [line in str(caught.value) for line in ("csv:2", "csv:3", "csv:4")] == [True] * 3
