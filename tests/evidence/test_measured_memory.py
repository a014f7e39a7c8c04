"""Peaks of published runs, predicted as their sources count them, and the chance of a layout to fit."""

import csv
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.load import load
from clusterwright.evidence.training import measured_memory
from clusterwright.evidence.training.measured_memory import MemoryPrediction, figures, fit_probability, predict
from clusterwright.evidence.training.nodes import measured_nodes
from clusterwright.evidence.training.predictions import columns_of, needed_bytes
from clusterwright.evidence.training.runs import Run, read_measurements, read_runs
from clusterwright.sizing.hardware.residuals import Residuals
from clusterwright.sizing.hardware.training_software import software_of
from clusterwright.sizing.training.practice import LEAN

PUBLISHED = Path(__file__).parents[1] / "published" / "training_memory.csv"
BAND = Residuals(p10=-0.2, p50=0.05, p90=0.3, rows=10)


@cache
def runs() -> dict[str, Run]:
    """Return the published runs with a peak, by id."""
    catalogue = load()
    found, skipped = read_measurements(PUBLISHED, measured_nodes(catalogue), catalogue.models.values())
    assert not skipped
    return {run.id: run for run in found}


def error_of(run: Run) -> float:
    """Return ln(measured/predicted) of one peak."""
    return float(measured_memory.raw_errors([run])[0])


def test_attention_that_keeps_its_scores_is_counted_with_them() -> None:
    """The 1.3 B model of tr3m took 19 and 27 GB without recomputation; without the scores a third of it is missing."""
    for name in ("gpt-1.3b-tr3m-v100-32-8-fp16_11", "gpt-1.3b-tr3m-v100-32-8-fp16_13"):
        run = runs()[name]
        assert abs(error_of(run)) < 0.25
        assert run.known is not None
        assert error_of(replace(run, known=replace(run.known, attention=""))) > 0.35


def test_a_larger_micro_batch_adds_what_was_measured() -> None:
    """From one to eight sequences, with full recomputation, 9 GB were added; ours are within a third of that."""
    one, eight = (runs()[f"gpt-1.3b-tr3m-v100-32-8-fp16_{row}"] for row in ("01", "04"))
    small, large = (each.predicted_bytes for each in predict([one, eight]))
    assert 6e9 < large - small < 12e9


def test_pure_bf16_states_fit_where_mixed_precision_does_not() -> None:
    """8 bytes a parameter put Llama 3 8B on one H100 with 78 GiB; with 18 bytes it would need twice its memory."""
    run = runs()["llama3-8b-h100-sxm-1-bf16_01"]
    assert abs(error_of(run)) < 0.15
    assert error_of(replace(run, known=None)) < -0.5


def test_old_megatron_without_a_sharded_optimizer_keeps_all_states_on_every_rank() -> None:
    """A row that does not say how states are sharded is unsharded for software that shards on request alone."""
    run = runs()["gpt3-1.3b-ds-v100-32-16-fp16_02"]
    assert abs(error_of(run)) < 0.15
    assert run.known is not None
    assert error_of(replace(run, known=replace(run.known, shards_optimizer=True))) > 0.5


def test_what_ran_is_not_refused() -> None:
    """All published layouts that ran keep a fit probability of 0.05 and more."""
    found = figures(predict(list(runs().values())))
    assert found["ran"] == len(runs()) - 1
    assert found["oom"] == 1
    assert found["ran_refused"] == 0
    assert found["predicted"] == len(runs()) - 1


def test_a_lean_recipe_of_a_software_is_no_less_lean_than_its_defaults() -> None:
    """The lesser of what a software keeps by default and published runs come down to, in bytes and term by term."""
    some = list(runs().values())
    columns = columns_of(some)
    practice = measured_memory.practice_of(columns, some)
    lean = measured_memory.lean_under(practice)
    usual, least, published = (needed_bytes(columns, practice=kept) for kept in (practice, lean, LEAN))
    assert (np.asarray(least.total()) < np.asarray(usual.total())).all()
    # Gradients that are made while activations are freed count as the one or the other.
    for term in ("weights", "optimizer", "logits", "communication"):
        bounded = np.minimum(getattr(usual, term), getattr(published, term))
        assert (np.asarray(getattr(least, term)) <= bounded * (1 + 1e-9)).all(), term
    assert (lean.logit_bytes < practice.logit_bytes).any()
    assert not np.isnan(lean.logit_bytes).any()


def test_rows_without_throughput_count_for_memory_alone(tmp_path: Path) -> None:
    """Such a row is not among the timed runs, which name the missing column, and needs no batch of its own."""
    rows = list(csv.DictReader(PUBLISHED.read_text(encoding="utf-8").splitlines()))
    chosen = next(row for row in rows if row["id"].startswith("deepseek"))
    path = tmp_path / "runs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerow({**chosen, "tokens_per_s_per_gpu": "", "global_batch": ""})
    catalogue = load()
    nodes = measured_nodes(catalogue)
    measured, _ = read_measurements(path, nodes, catalogue.models.values())
    assert [run.timed for run in measured] == [False]
    assert predict(measured)[0].predicted_bytes > 0
    timed, skipped = read_runs(path, nodes, catalogue.models.values())
    assert not timed
    assert [row.reason for row in skipped] == ["tokens_per_s_per_gpu is not published"]


@given(st.floats(1e9, 1e12), st.floats(1e9, 1e12), st.floats(1.01, 3))
def test_more_memory_never_fits_less(needed: float, device: float, more: float) -> None:
    """The chance to fit grows with the memory of the GPU and shrinks with what is needed."""
    assert fit_probability(needed, device, BAND) <= fit_probability(needed, more * device, BAND)
    assert fit_probability(more * needed, device, BAND) <= fit_probability(needed, device, BAND)


def test_quantiles_of_the_residuals_are_chances_to_fit() -> None:
    """A GPU as large as the P90 of what is needed fits in nine of ten cases, as its P10 in one of ten."""
    for quantile, residual in ((0.1, BAND.p10), (0.5, BAND.p50), (0.9, BAND.p90)):
        assert fit_probability(1e10, 1e10 * float(np.exp(residual)), BAND) == pytest.approx(quantile)


def test_the_brier_score_is_the_mean_square_of_what_was_promised() -> None:
    """Two that ran with 0.9 and 0.02, one that did not with 0.6: (0.01 + 0.9604 + 0.36)/3; the second is refused."""
    ran, oom = runs()["gpt-1.3b-tr3m-v100-32-8-fp16_01"], runs()["oom-gpt-1.3b-tr3m-v100-32-8-fp16_16"]
    every = [
        MemoryPrediction(run=run, predicted_bytes=1.0, low_bytes=0.5, high_bytes=2.0, fit_probability=chance)
        for run, chance in ((ran, 0.9), (ran, 0.02), (oom, 0.6))
    ]
    found = figures(every)
    assert found["brier"] == pytest.approx((0.01 + 0.9604 + 0.36) / 3)
    assert (found["ran"], found["ran_refused"], found["oom"], found["oom_refused"]) == (2, 1, 1, 0)


def test_software_is_matched_by_release_and_by_family_but_never_by_prefix() -> None:
    """A release of its own comes before its family, a precision of its own before any; a longer name is another."""
    vanilla, newer = software_of("torchtitan vanilla TP", "bf16"), software_of("torchtitan 2027", "bf16")
    assert vanilla is not None
    assert newer is not None
    assert not vanilla.overlaps_tensor_traffic
    assert newer.overlaps_tensor_traffic
    half, brain = software_of("Megatron-DeepSpeed 2022", "fp16"), software_of("Megatron-DeepSpeed 2022", "bf16")
    assert half is not None
    assert brain is not None
    assert (half.gradient_bytes, brain.gradient_bytes) == (2.0, 6.0)
    assert software_of("Megatron-LMX", "bf16") is None
