"""Collectives and the pipeline against worked numbers and limiting cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.sizing.hardware import collectives
from clusterwright.sizing.training import step as pipeline


def test_an_all_reduce_over_eight_a100_takes_what_was_measured() -> None:
    """1 GiB over 8 A100 was measured at 8.19 ms, a bus bandwidth of 229 GB/s (vTrain's traces)."""
    time = collectives.ring_all_reduce(size_bytes=2.0**30, ranks=8.0, bytes_per_s=229e9, latency_s=0.0)
    assert time == pytest.approx(8.19e-3, rel=0.01)


def test_one_rank_exchanges_nothing() -> None:
    """Every collective over one rank takes no time."""
    one = {"size_bytes": 1e9, "ranks": 1.0, "bytes_per_s": 1e9, "latency_s": 1e-5}
    assert collectives.ring_all_reduce(**one) == 0


@given(size=st.floats(1, 1e12), ranks=st.integers(1, 10_000), slow=st.floats(1e6, 1e11), gain=st.floats(1, 100))
def test_more_bandwidth_is_never_slower(*, size: float, ranks: int, slow: float, gain: float) -> None:
    """A ring over faster links never takes longer."""
    arguments = {"size_bytes": size, "ranks": float(ranks), "latency_s": 1e-5}
    fast = collectives.ring_half(bytes_per_s=slow * gain, **arguments)
    assert fast <= collectives.ring_half(bytes_per_s=slow, **arguments)


def test_one_stage_transfers_nothing_and_chunks_multiply_transfers() -> None:
    """Interleaving sends v times as much (Narayanan 2021, section 2.2)."""
    arguments = {
        "rows": 2048.0,
        "hidden": 12288.0,
        "tp": 8.0,
        "micro_batches": 64.0,
        "bytes_per_s": 25e9,
        "latency_s": 0.0,
    }
    assert pipeline.transfer_s(pp=1.0, vpp=1.0, **arguments) == 0
    single = float(pipeline.transfer_s(pp=8.0, vpp=1.0, **arguments))
    assert single == pytest.approx(2 * 64 * 2 * 2048 * 12288 / 8 / 25e9)
    assert float(pipeline.transfer_s(pp=8.0, vpp=3.0, **arguments)) == pytest.approx(3 * single)
