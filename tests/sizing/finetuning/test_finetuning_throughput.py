"""Rate of fine-tuning and time to a target: bounds and published facts."""

from dataclasses import replace

import numpy as np
import pytest

from clusterwright.catalog.load import load
from clusterwright.evidence.models import catalogued, find
from clusterwright.sizing.finetuning.calibration import samples_to_target
from clusterwright.sizing.finetuning.columns import Factors
from clusterwright.sizing.finetuning.configuration import FULL, LORA, Configuration, columns_of
from clusterwright.sizing.finetuning.throughput import minutes_to_target, passes, tokens_per_s

CATALOGUE = load()
MODELS = catalogued(CATALOGUE)


def _run(accelerator: str = "h100-sxm-80gb", **changes: object) -> Configuration:
    model = find("Llama-3.1-8B", MODELS)
    assert model is not None
    base = Configuration(
        accelerator=CATALOGUE.accelerators[accelerator],
        model=model,
        framework="torchtune",
        method=LORA,
        precision="bf16",
        gpus=1.0,
        nodes=1.0,
        sequences=1.0,
        model_parallel=1.0,
        tokens=4096.0,
        filled=1.0,
        global_batch=8.0,
        recompute="never",
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def _rate(*rows: Configuration) -> np.ndarray:
    columns = columns_of(rows)
    return tokens_per_s(columns.model, columns.device, columns.task, Factors())


def test_frozen_weights_cost_two_passes_and_trained_ones_three() -> None:
    """4 N FLOP per token with LoRA, 6 N with all weights, 2 N more with recomputation."""
    rows = [_run(), _run(method=FULL), _run(method=FULL, recompute="always")]
    assert list(passes(columns_of(rows).task)) == [2, 3, 4]


def test_no_rate_is_above_the_peak() -> None:
    """The FLOPs of a token at the rate stay below the dense peak, for every accelerator that has one."""
    model = find("Llama-3.1-8B", MODELS)
    assert model is not None
    for name in ("h100-sxm-80gb", "rtx-4090-24gb", "mi300x-192gb", "l4-24gb", "b200-sxm-180gb"):
        rate = float(_rate(_run(name))[0])
        assert 4 * model.shape.active_weights * rate < 0.8 * (CATALOGUE.accelerators[name].dense_bf16_flop_per_s or 0)


def test_tensor_parallelism_and_further_nodes_cost_rate_per_accelerator() -> None:
    """Each accelerator is slower the more of them share a pass, and the more nodes wait for each other."""
    rows = [_run(gpus=8.0), _run(gpus=8.0, model_parallel=2.0), _run(gpus=8.0, model_parallel=8.0)]
    assert np.all(np.diff(_rate(*rows)) < 0)
    assert np.all(np.diff(_rate(_run(gpus=8.0), _run(gpus=64.0, nodes=8.0))) < 0)


def test_samples_to_target_grow_with_the_batch_between_the_known_ones() -> None:
    """Known batches give their medians, those between lie between, and larger ones take more."""
    found = samples_to_target([8, 12, 16, 64, 128])
    assert found[0] == pytest.approx(3462, rel=1e-3)
    assert found[2] == pytest.approx(4555, rel=1e-3)
    assert found[3] == pytest.approx(9414, rel=1e-3)
    assert np.all(np.diff(found) > 0)


def test_minutes_are_samples_over_rate() -> None:
    """3,462 samples at 5.28 a second take 10.9 minutes, which is what MLPerf 5.0 shows of eight B200."""
    assert float(minutes_to_target(3462.0, samples_per_s=5.28)) == pytest.approx(10.9, abs=0.05)
