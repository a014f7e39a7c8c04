"""Samples of case lists hold every kind, and all cases on request."""

import pytest

from tests import sampling

CASES = ["a1", "b1", "a2", "a3", "b2", "a4", "c1"]


def test_a_sample_holds_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first case of each kind and every n-th after it, in the order of the list."""
    monkeypatch.setattr(sampling, "EVERY_CASE", False)
    assert sampling.sampled(CASES, 3, lambda case: case[0]) == ["a1", "b1", "a4", "c1"]
    assert sampling.sampled(CASES, 2) == ["a1", "a2", "b2", "c1"]
    assert sampling.sampled(CASES, 1) == CASES


def test_the_full_matrix_holds_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left out with `CLUSTERWRIGHT_FULL_MATRIX=1`."""
    monkeypatch.setattr(sampling, "EVERY_CASE", True)
    assert sampling.sampled(CASES, 3) == CASES
