"""Checks the documented capacity steps of FSx for Lustre."""

import pytest

from gpu_cluster.lustre_sizes import capacity_problem


@pytest.mark.parametrize(
    ("capacity_gib", "tier", "efa", "valid"),
    [
        (1200, 125, False, True),
        (2400, 125, False, True),
        (3600, 125, False, False),
        (4800, 1000, False, True),
        (2401, 250, False, False),
        (600, 250, False, False),
        (38400, 125, True, True),
        (19200, 125, True, False),
        (19200, 250, True, True),
        (9600, 500, True, True),
        (4800, 1000, True, True),
        (14400, 1000, True, True),
        (7200, 1000, True, False),
        (1200, 1000, True, False),
    ],
)
def test_steps(capacity_gib: int, tier: int, efa: bool, valid: bool) -> None:  # noqa: FBT001
    """Valid steps pass and others are refused, with a larger step on EFA file systems."""
    problem = capacity_problem(capacity_gib=capacity_gib, throughput_mb_per_s_per_tib=tier, efa_enabled=efa)
    assert (problem is None) == valid


def test_refusal_names_the_way_out() -> None:
    """A refusal says which sizes are valid nearby."""
    problem = capacity_problem(capacity_gib=20000, throughput_mb_per_s_per_tib=250, efa_enabled=True)
    assert problem is not None
    assert "the nearest are 19200 and 38400" in problem
    problem = capacity_problem(capacity_gib=100, throughput_mb_per_s_per_tib=1000, efa_enabled=True)
    assert problem is not None
    assert "the smallest is 4800" in problem
