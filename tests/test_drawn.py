"""Which cases of a long list a run tries."""

import pytest

from tests import drawn

CASES = ["a1", "b1", "a2", "a3", "b2", "a4", "c1"]


def test_some_of_every_kind_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of each kind and every so many after it, in the order of the list."""
    monkeypatch.setattr(drawn, "EVERY_CASE", False)
    assert drawn.drawn(CASES, 3, lambda case: case[0]) == ["a1", "b1", "a4", "c1"]
    assert drawn.drawn(CASES, 2) == ["a1", "a2", "b2", "c1"]
    assert drawn.drawn(CASES, 1) == CASES


def test_all_are_tried_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `CLUSTERWRIGHT_FULL_MATRIX=1` nothing is left out."""
    monkeypatch.setattr(drawn, "EVERY_CASE", True)
    assert drawn.drawn(CASES, 3) == CASES
