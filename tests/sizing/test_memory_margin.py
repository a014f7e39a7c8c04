"""Layouts that fit with a probability: the margin on predicted memory, and what it does to sizes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.errors import RuleError
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.training_software import software_of
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training.memory_margin import fit_probability, margin, residuals_for, residuals_of
from clusterwright.sizing.training.practice import practice_for, practice_under
from clusterwright.sizing.training.search import search

CATALOGUE = load()
NODE = lookup.node_type_of_system(CATALOGUE, "dgx-h100")
JOB = TrainingJob(
    model=lookup.model(CATALOGUE, "llama3-8b"),
    tokens=1e12,
    sequence_length=8192,
    global_batch_sequences=512,
    precision="bf16",
    finish_within_s=None,
    max_nodes=16,
)


@given(confidence=st.floats(0.6, 0.999), framework=st.sampled_from(["", "Megatron-LM", "a fork of our own"]))
def test_what_fills_the_memory_with_the_margin_fits_with_the_probability_asked_for(
    confidence: float, framework: str
) -> None:
    """The margin is the inverse of the fit probability, wherever it is above 1."""
    job = replace(JOB, memory_confidence=confidence, framework=framework)
    if margin(job) > 1:
        assert fit_probability(1e9, 1e9 * margin(job), residuals_of(job)) == pytest.approx(confidence)


def test_software_that_was_not_measured_needs_a_larger_margin() -> None:
    """Residuals of unknown software are wider than those of software whose states are known."""
    of_known, of_unknown = (
        margin(replace(JOB, memory_confidence=0.95, framework=name)) for name in ("", "a fork of our own")
    )
    assert 1.1 < of_known < of_unknown


def test_every_size_fits_with_the_probability_asked_for() -> None:
    """Without a probability sizes fill the memory; with 95 % none is left that fits less often."""
    calibration = load_calibration()
    band = residuals_for("", "bf16")
    chances = {
        asked: [
            fit_probability(point.memory.total, NODE.hbm_bytes_per_gpu, band)
            for point in search(job=replace(JOB, memory_confidence=asked), node=NODE, calibration=calibration).points
        ]
        for asked in (None, 0.95)
    }
    assert min(chances[0.95]) >= 0.95
    assert min(chances[None]) < 0.8


def test_a_refusal_for_memory_says_the_probability_and_what_would_help() -> None:
    """A layout that fills 98 % of the memory fits as predicted and is refused at 95 %, and the key is named."""
    job = replace(
        JOB, tensor_parallel=2, pipeline_parallel=1, data_parallel=4, micro_batch=1, recompute="full", max_nodes=1
    )
    calibration = load_calibration()
    (held, *_) = search(job=job, node=NODE, calibration=calibration).points
    tight = replace(NODE, hbm_bytes_per_gpu=held.memory.total / 0.98)
    assert search(job=job, node=tight, calibration=calibration).points[0].memory == held.memory
    with pytest.raises(RuleError) as refused:
        search(job=replace(job, memory_confidence=0.95, sharding_group=4), node=tight, calibration=calibration)
    (finding,) = refused.value.findings
    assert finding.id == "MEM001"
    assert "95 % probability" in finding.message
    assert "goals.memory_confidence" in finding.help


def test_software_whose_states_are_known_has_the_narrow_margin() -> None:
    """A named software that nobody measured has the wide margin; one that keeps what is known has Megatron-LM's."""
    unknown = residuals_for("nobody knows it", "bf16")
    for name in ("torchtitan", "PyTorch 2.11 + transformers 5.17", "torchtune"):
        assert residuals_for(name, "bf16") == residuals_for("", "bf16") != unknown


def test_plans_count_what_the_named_software_keeps() -> None:
    """Bytes a parameter: torchtune 2 + 2 + 4, FSDP of fp32 weights 4 + 4 + 8; eager software keeps 1.7 times more."""
    kept = {name: practice_for(name, "bf16") for name in ("", "torchtune", "torchtitan", "MaxText")}
    states = {
        name: (practice.weight_bytes, practice.gradient_bytes, practice.optimizer_bytes)
        for name, practice in kept.items()
    }
    assert states == {"": (2, 4, 12), "torchtune": (2, 2, 4), "torchtitan": (4, 4, 8), "MaxText": (4, 4, 8)}
    assert [practice.kept_share for practice in kept.values()] == [1.0, 1.7, 1.0, 1.0]
    assert practice_under(software_of("MaxText", "bf16")).kept_share == 0.3, (
        "of published runs, whose policy recomputes"
    )
    (lean, usual) = (
        search(
            job=replace(JOB, framework=name, max_nodes=1, recompute="full"), node=NODE, calibration=load_calibration()
        )
        .points[0]
        .memory
        for name in ("torchtune", "")
    )
    assert lean.optimizer / usual.optimizer == pytest.approx(4 / 12)
    assert lean.gradients / usual.gradients == pytest.approx(2 / 4)
