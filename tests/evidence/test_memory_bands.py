"""Bands of memory: taken from publishers that are left out, by how much is known."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.load import load
from clusterwright.errors import EXIT_BAD_INPUT
from clusterwright.evidence.training import memory_bands
from clusterwright.evidence.training.measured_memory import figures, predict
from clusterwright.evidence.training.memory_bands import TAILS, Peaks, peaks_of, publisher_of, residuals_of, tail_of
from clusterwright.evidence.training.nodes import measured_nodes
from clusterwright.evidence.training.runs import ALLOCATED, Run, read_measurements
from clusterwright.evidence.training.runs import UNKNOWN as NOT_STATED
from clusterwright.sizing.training.memory_margin import KNOWN, UNKNOWN, load_residuals

PUBLISHED = Path(__file__).parents[1] / "published" / "training_memory.csv"
_DATA = Path(os.environ.get("CLUSTERWRIGHT_COLLECTED", Path(__file__).parents[3] / "shared" / "data"))


def _runs(*paths: Path) -> list[Run]:
    """Return the runs of files, a later file saying more of a run than an earlier one."""
    catalogue = load()
    nodes, models = measured_nodes(catalogue), catalogue.models.values()
    return list({run.id: run for path in paths for run in read_measurements(path, nodes, models)[0]}.values())


def _made_up(spread: float, *, publishers: int = 12, rows: int = 20) -> Peaks:
    """Return peaks that are 0.05 apart inside a publisher, whose publishers are `spread` apart."""
    draw = np.random.default_rng(7)
    centres = np.repeat(draw.normal(0, spread, publishers), rows) if spread else 0.0
    return Peaks(
        errors=centres + draw.normal(0, 0.05, publishers * rows),
        publishers=np.repeat([f"publisher {index}" for index in range(publishers)], rows),
    )


def test_publishers_that_are_alike_need_no_thinner_tails_and_others_do() -> None:
    """Where publishers do not differ a tenth lies beyond each end; where they do, a new one needs a wider band."""
    alike, apart = _made_up(0.0), _made_up(0.1)
    assert tail_of({(KNOWN, KNOWN): alike}) > 0.095
    assert tail_of({(KNOWN, KNOWN): apart}) < 0.09
    assert apart.share_held(0.1) < 0.8 <= apart.share_held(tail_of({(KNOWN, KNOWN): apart}))


@given(st.sampled_from(TAILS), st.sampled_from(TAILS), st.sampled_from((0.0, 0.1, 0.3)))
def test_thinner_tails_never_hold_less(one: float, other: float, spread: float) -> None:
    """A band that leaves less beyond its ends holds at least as many peaks of publishers that are left out."""
    peaks = _made_up(spread, publishers=5, rows=4)
    assert peaks.share_held(min(one, other)) >= peaks.share_held(max(one, other))


def test_a_publisher_alone_holds_nothing_of_another() -> None:
    """Peaks of one publisher say nothing of a new one: the thinnest tail is taken."""
    alone = _made_up(0.1, publishers=1)
    assert alone.share_held(0.1) == 0
    assert tail_of({(KNOWN, KNOWN): alone}) == TAILS[-1]


def test_what_is_not_known_widens_the_shipped_band() -> None:
    """Unknown software widens it on both sides, an unknown count below: all that the driver shows is predicted."""
    bands = load_residuals()
    assert set(bands) == {(software, count) for software in (KNOWN, UNKNOWN) for count in (KNOWN, UNKNOWN)}
    known, unknown = bands[KNOWN, KNOWN], bands[UNKNOWN, KNOWN]
    assert unknown.p10 < known.p10 < 0 < known.p90 < unknown.p90
    for software in (KNOWN, UNKNOWN):
        assert bands[software, UNKNOWN].p10 < bands[software, KNOWN].p10
        assert bands[software, UNKNOWN].p50 == bands[software, KNOWN].p50


def test_a_peak_whose_count_is_not_stated_has_a_lower_low_end() -> None:
    """The same run of known software, with and without its count: P10 over P50 is lower without."""
    run = next(run for run in _runs(PUBLISHED) if run.id == "llama3-8b-h100-sxm-1-bf16_01")
    stated, open_count = predict([replace(run, counted=ALLOCATED), replace(run, counted=NOT_STATED)])
    assert open_count.low_bytes / open_count.predicted_bytes < stated.low_bytes / stated.predicted_bytes


def test_a_publisher_is_left_out_with_all_its_software() -> None:
    """The peaks of one publisher do not move the band that its own runs are judged by."""
    runs = _runs(PUBLISHED)
    judged = publisher_of(runs[0])
    changed = [
        replace(run, memory_bytes=3 * run.memory_bytes) if run.memory_bytes and publisher_of(run) == judged else run
        for run in runs
    ]
    as_read, as_changed = (
        {one.run.id: one.high_bytes for one in memory_bands.left_out(some) if publisher_of(one.run) == judged}
        for some in (runs, changed)
    )
    assert as_read == as_changed


def test_the_band_holds_what_it_promises_on_publishers_that_are_left_out() -> None:
    """80 ± 7 % of the peaks are inside, in the mean of publishers too, and the shipped file is what is found."""
    paths = [_DATA / name for name in ("training_runs.csv", "training_runs_more.csv", "training_memory.csv")]
    if not all(path.exists() for path in paths):
        pytest.skip("the measurements are not at hand: name their folder in CLUSTERWRIGHT_COLLECTED")
    runs = _runs(*paths)
    found = memory_bands.left_out(runs)
    inside = figures(found)["in_band"]
    assert inside is not None
    assert 0.73 <= inside <= 0.87
    held: dict[str, list[bool]] = {}
    for one in found:
        if one.in_band is not None:
            held.setdefault(publisher_of(one.run), []).append(one.in_band)
    assert 0.73 <= np.mean([np.mean(some) for some in held.values()]) <= 0.87
    assert figures(found)["ran_refused"] == 0
    for names, band in residuals_of(peaks_of(runs)).items():
        shipped = load_residuals()[names]
        assert (shipped.p10, shipped.p50, shipped.p90) == pytest.approx((band.p10, band.p50, band.p90), abs=6e-4)
        assert shipped.rows == band.rows


def test_without_files_the_command_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    """No file is bad input, with the usage."""
    assert memory_bands.main([]) == EXIT_BAD_INPUT
    assert "RUNS.csv" in capsys.readouterr().err
