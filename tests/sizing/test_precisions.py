"""Precisions: who has them, what block scales cost, and what they are calibrated as."""

from dataclasses import replace

import numpy as np
import pytest

from clusterwright.catalog.load import load
from clusterwright.catalog.lookup import node_type_of_instance
from clusterwright.catalog.precisions import CALIBRATED_AS, PRECISIONS, known_precisions, peaks_flop_per_s
from clusterwright.catalog.records import NodeType
from clusterwright.errors import InputError
from clusterwright.sizing.hardware.calibration import DENSE, architecture_of, effects_of_job, load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.model.compute import BYTES_PER_ELEMENT, block_scaling_s
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training.search import search

CATALOGUE = load()
CALIBRATION = load_calibration()


@pytest.mark.parametrize(
    ("accelerator", "known"),
    [
        ("a100-sxm-80gb", ("bf16", "fp16")),
        ("l40s-48gb", ("bf16", "fp16", "fp8")),
        ("h100-sxm-80gb", ("bf16", "fp16", "fp8", "fp8-block")),
        ("b200-sxm-180gb", PRECISIONS),
    ],
)
def test_generations_have_their_precisions(accelerator: str, known: tuple[str, ...]) -> None:
    """Ampere stops at 16 bits, Ada scales whole tensors, Hopper blocks too, Blackwell in its tensor cores."""
    assert known_precisions(CATALOGUE.accelerators[accelerator]) == known


def test_block_scales_multiply_at_the_peak_of_eight_bits() -> None:
    """Software scales change no peak; scales of the tensor core come with four bits."""
    for chip in CATALOGUE.accelerators.values():
        peaks = peaks_flop_per_s(chip)
        assert tuple(peaks) == PRECISIONS
        assert peaks["fp8-block"] in (None, peaks["fp8"])
        assert (peaks["mxfp8"] is None) == (peaks["nvfp4"] is None or peaks["fp8"] is None)


def test_an_accelerator_says_what_it_has(h100: NodeType) -> None:
    """A precision that is not documented is refused with those that are."""
    with pytest.raises(InputError, match="no mxfp8") as caught:
        device_of(h100, precision="mxfp8")
    assert caught.value.help == "known for it: bf16, fp16, fp8, fp8-block"


def test_second_quantisation_of_gpt3(h100: NodeType, job: TrainingJob) -> None:
    """GPT-3: inputs 7 h, gradients 9 h wide, 3 1/32 bytes each: 596 kB a token.

    For 2,048 tokens over 8 ranks 16 x 12,288 x 3.03125 x 2,048 / 8 / (3.35e12 x 0.85) = 54 us over the three passes.
    """
    shape = shape_of(job.model, sequence_length=2048)
    device = device_of(h100, precision="fp8-block")
    total = 3 * float(block_scaling_s(shape, device, rows=2048.0, tp=8.0))
    assert pytest.approx(3.03125) == BYTES_PER_ELEMENT
    assert total == pytest.approx(53.58e-6, rel=1e-3)
    assert float(block_scaling_s(shape, device_of(h100, precision="fp8"), rows=2048.0, tp=8.0)) == 0
    free = replace(device, hbm_bytes_per_s=np.inf)
    assert float(block_scaling_s(shape, free, rows=2048.0, tp=8.0)) == 0


@pytest.mark.parametrize("model", ["llama-3-8b", "deepseek-v3"])
def test_block_scales_cost_little_and_never_nothing(h100: NodeType, job: TrainingJob, model: str) -> None:
    """The best layout is slower with block scales than with tensor scales, by less than a tenth, and beats bf16."""
    fixed = replace(
        job,
        model=CATALOGUE.models[model],
        sequence_length=4096,
        global_batch_sequences=1024,
        max_nodes=64,
        tensor_parallel=1 if model == "llama-3-8b" else 4,
    )
    days = {
        precision: search(job=replace(fixed, precision=precision), node=h100, calibration=CALIBRATION).points[-1]
        for precision in ("bf16", "fp8", "fp8-block")
    }
    tensor, block = days["fp8"].calendar_days, days["fp8-block"].calendar_days
    assert tensor < block < 1.1 * tensor
    if model == "llama-3-8b":
        assert block < days["bf16"].calendar_days


def test_block_scales_are_calibrated_as_fp8(job: TrainingJob) -> None:
    """Published runs call both fp8: the effects are the same ones."""
    assert CALIBRATED_AS == {"fp8-block": "fp8"}
    known = {
        precision: effects_of_job(
            vendor="NVIDIA",
            accelerator="h100-sxm-80gb",
            precision=precision,
            kind=DENSE,
            architecture=architecture_of(job.model),
        )
        for precision in ("fp8", "fp8-block", "mxfp8")
    }
    assert known["fp8"] == known["fp8-block"] != known["mxfp8"]


def test_blackwell_is_sized_in_every_precision(job: TrainingJob) -> None:
    """Fewer bits never make a B200's best layout slower than 16 of them."""
    b200 = node_type_of_instance(CATALOGUE, "p6-b200.48xlarge")
    small = replace(job, max_nodes=32, tensor_parallel=4)
    days = {
        name: search(job=replace(small, precision=name), node=b200, calibration=CALIBRATION).points[-1].calendar_days
        for name in PRECISIONS
    }
    assert min(days, key=lambda name: days[name]) in ("mxfp8", "nvfp4")
    assert max(days, key=lambda name: days[name]) in ("bf16", "fp16")
