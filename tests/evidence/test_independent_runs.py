"""Runs that nothing was fitted to: other sources and stacks, encoders, multi-query attention, windows.

`tests/published/independent_runs.csv` holds published runs outside the calibration's file. Those that state a rate are
predicted; all of them ran, so that none may be refused for memory. The errors here are what a user has to expect on
runs like these, and must never be used to fit.
"""

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import Model
from clusterwright.evidence.training import baseline, report
from clusterwright.evidence.training.calibrate import read
from clusterwright.evidence.training.report import Predictions
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.model.shapes import attended_keys, shape_of
from clusterwright.workload import transformer

PUBLISHED = Path(__file__).parents[1] / "published"
ROWS = list(csv.DictReader((PUBLISHED / "independent_runs.csv").read_text(encoding="utf-8").splitlines()))
#: Accelerators that the calibration's file has runs of, in the memory size that most of them have.
CALIBRATED = ("A100-80", "H100-SXM")


@cache
def predicted(folder: Path, *, every: bool) -> Predictions:
    """Return the predictions of the rows with a rate, or of every row with a made-up one where none is published."""
    path = folder / "runs.csv"
    rows = [row | {"tokens_per_s_per_gpu": row["tokens_per_s_per_gpu"] or ("1000" if every else "")} for row in ROWS]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ROWS[0])
        writer.writeheader()
        writer.writerows(rows)
    runs, skipped = read(path, load())
    assert all(row.reason == "tokens_per_s_per_gpu is not published" for row in skipped)
    assert len(runs) + len(skipped) == len(ROWS)
    return report.predict(runs, load_calibration(), shares=baseline.load_shares())


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the files that are read."""
    return tmp_path_factory.mktemp("independent")


def test_the_list_is_long_dated_and_apart_from_what_was_fitted() -> None:
    """At least 30 runs with a source and a year; none is a row of the published runs that tests hold figures of."""
    assert len(ROWS) >= 30
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    fitted = list(csv.DictReader((PUBLISHED / "training_runs.csv").read_text(encoding="utf-8").splitlines()))
    keys = ("model", "gpu", "n_gpus", "tp", "pp", "global_batch", "tokens_per_s_per_gpu")
    known = {tuple(row[key] for key in keys) for row in fitted}
    for row in ROWS:
        assert row["source"], row["id"]
        assert row["date"][:2] == "20", row["id"]
        assert tuple(row[key] for key in keys) not in known, row["id"]


def test_no_run_that_ran_is_refused_for_memory(folder: Path) -> None:
    """Every run fits, those on A100 with 40 GB and 16 GB of V100 too."""
    found = predicted(folder, every=True)
    assert len(found.runs) == len(ROWS)
    refused = [run.id for run, fits in zip(found.runs, found.fits, strict=True) if not fits]
    assert not refused


def test_errors_on_calibrated_accelerators(folder: Path) -> None:
    """On A100 80 GB and H100 the median error is below 10 %, no run is off by more than 60 %, and it beats a constant.

    StarCoder's measurement is a lower bound.
    """
    found = predicted(folder, every=False)
    rows = [index for index, run in enumerate(found.runs) if run.gpu in CALIBRATED]
    errors = np.abs(np.expm1(-found.errors[rows]))
    assert len(rows) >= 8
    assert np.median(errors) < 0.10
    assert errors.max() < 0.6
    assert np.median(errors) < np.median(np.abs(np.expm1(-found.baseline_errors[rows])))


def test_errors_on_an_accelerator_without_runs(folder: Path) -> None:
    """On V100, of which no encoder was measured, every one is within a factor of 2.3, half of them within 40 %."""
    found = predicted(folder, every=False)
    rows = [index for index, run in enumerate(found.runs) if run.gpu.startswith("V100")]
    errors = np.abs(found.errors[rows])
    assert len(rows) >= 10
    assert errors.max() < np.log(2.3)
    assert np.median(errors) < np.log(1.4)


@pytest.mark.parametrize(("sequence", "tflop_per_s", "samples_per_s"), [(128, 64, 272), (512, 53, 52)])
def test_flops_of_an_encoder(sequence: int, tflop_per_s: float, samples_per_s: float) -> None:
    """DeepSpeed prints BERT-Large's rate both ways; our layers, without the output matrix, agree within 2 %."""
    bert = lookup.model(load(), "bert-large")
    attention = transformer.attention_flops_per_token(bert, sequence_length=sequence, causal=False)
    layers = 6 * bert.layers * (transformer.attention_weights(bert) + transformer.mlp_weights(bert))
    ours = (layers + attention) * sequence
    assert ours == pytest.approx(tflop_per_s * 1e12 / samples_per_s, rel=0.02)
    assert attended_keys(bert, sequence_length=sequence) == sequence


def test_multi_query_attention_counts_one_key_and_one_value_head() -> None:
    """StarCoder's 15.5 billion parameters come out of its dimensions only with one key-value head; Falcon 7B too."""
    starcoder = Model(
        id="starcoder-15b",
        name="StarCoder",
        parameters=None,
        active_parameters=None,
        published_parameters=15.5e9,
        layers=40,
        hidden=6144,
        heads=48,
        kv_heads=1,
        head_dim=128,
        ffn_hidden=24576,
        gated=False,
        vocab=49152,
        tied_embeddings=True,
        max_context=8192,
        attention_kind="mqa",
        learned_positions=8192,
        linear_biases=True,
        norm_biases=True,
    )
    assert transformer.parameters(starcoder) == pytest.approx(15.517e9, rel=1e-3)
    shape = shape_of(starcoder, sequence_length=8192)
    assert shape.key_value == starcoder.head_dim
    falcon = lookup.model(load(), "falcon-7b")
    assert transformer.parameters(falcon) == falcon.parameters == 7_217_189_760


@pytest.mark.parametrize(("sequence", "window"), [(8192, 4096), (8192, 1024), (4096, 4096), (2048, 4096)])
def test_keys_inside_a_window(sequence: int, window: int) -> None:
    """The mean over all tokens of the keys that each attends to, counted one by one."""
    mistral = lookup.model(load(), "mistral-7b")
    assert mistral.sliding_window == 4096
    seen = np.minimum(np.arange(1, sequence + 1), window).mean()
    narrowed = type(mistral)(
        **{name: getattr(mistral, name) for name in mistral.__slots__} | {"sliding_window": window}
    )
    assert attended_keys(narrowed, sequence_length=sequence) == pytest.approx(seen, rel=2e-3)


def test_the_layer_that_predicts_further_tokens() -> None:
    """DeepSeek-V3 publishes 14 billion parameters for it, with copies of both tables: 12.1 billion without them."""
    model = lookup.model(load(), "deepseek-v3")
    with_it = shape_of(model, sequence_length=4096)
    assert with_it.layers == model.layers + 1
    assert with_it.predictions == 2
    further = with_it.layers * (with_it.layer_parameters + with_it.expert_parameters)
    base = transformer.layer_parameters(model) * model.layers
    tables = 2 * model.vocab * model.hidden
    assert further - base + tables == pytest.approx(14e9, rel=0.05)
