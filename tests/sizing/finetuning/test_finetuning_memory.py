"""Memory of fine-tuning against published numbers and limits."""

from dataclasses import replace

import numpy as np
import pytest

from clusterwright.catalog.load import load
from clusterwright.evidence.models import catalogued, find
from clusterwright.sizing.finetuning.columns import Factors
from clusterwright.sizing.finetuning.configuration import (
    ALWAYS,
    DORA,
    EVERY_MATRIX,
    FULL,
    LORA,
    NEVER,
    OUTPUT,
    PROMPT,
    QLORA,
    QUERY,
    VALUE,
    Configuration,
    adapter_parameters,
    columns_of,
)
from clusterwright.sizing.finetuning.memory import WEIGHT_BYTES, PeakMemory, peak

CATALOGUE = load()
MODELS = catalogued(CATALOGUE)


def _run(model: str = "Llama-2-7B", *, accelerator: str = "a100-sxm-80gb", **changes: object) -> Configuration:
    found = find(model, MODELS)
    assert found is not None
    base = Configuration(
        accelerator=CATALOGUE.accelerators[accelerator],
        model=found,
        framework="torchtune",
        method=LORA,
        precision="bf16",
        gpus=1.0,
        nodes=1.0,
        sequences=1.0,
        model_parallel=1.0,
        tokens=2048.0,
        filled=1.0,
        global_batch=1.0,
        recompute=NEVER,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def _memory(*rows: Configuration) -> PeakMemory:
    columns = columns_of(rows)
    return peak(columns.model, columns.task, Factors())


def test_bytes_of_nf4_are_those_of_its_blocks() -> None:
    """4 bits and 32 bits per 64 weights are 4.5 bits; double quantisation leaves 4.127 (arXiv 2305.14314)."""
    assert WEIGHT_BYTES["nf4"] * 8 == pytest.approx(4.5)
    assert WEIGHT_BYTES["nf4-dq"] * 8 == pytest.approx(4.127, abs=5e-4)


@pytest.mark.parametrize(
    ("model", "changes", "published"),
    [
        ("Llama-2-7B", {"rank": 8.0, "targets": frozenset({QUERY, VALUE})}, 4_194_304),
        ("Llama-2-13B", {"rank": 8.0, "targets": frozenset({QUERY, VALUE})}, 6_553_600),
        ("phi-1.5", {"rank": 8.0, "targets": frozenset({QUERY, VALUE})}, 1_572_864),
        ("Llama-2-70B", {"rank": 16.0, "targets": frozenset({QUERY, "key", VALUE, OUTPUT})}, 44_564_480),
    ],
)
def test_trained_parameters_of_lora_are_the_published_ones(
    model: str, changes: dict[str, object], published: float
) -> None:
    """Litgpt and MLPerf print how many parameters their LoRA trains; MLPerf's queries, keys and values are fused."""
    found = adapter_parameters(_run(model, **changes))
    # A fused matrix shares its inputs' factor between queries, keys and values.
    fused = 2 * 80 * 16 * 8192 if published == 44_564_480 else 0
    assert found - fused == pytest.approx(published)


def test_dora_adds_one_magnitude_per_output_and_prompts_train_their_tokens() -> None:
    """DoRA trains a magnitude for each output beside LoRA's factors; a prompt of 100 tokens 100 h."""
    targets = {"targets": frozenset({QUERY, VALUE}), "rank": 8.0}
    more = adapter_parameters(_run(method=DORA, **targets)) - adapter_parameters(_run(**targets))
    assert more == 32 * 2 * 4096
    assert adapter_parameters(_run(method=PROMPT)) == 100 * 4096


def test_full_fine_tuning_in_mixed_precision_takes_16_bytes_per_parameter() -> None:
    """2 weights, 2 gradients, 12 of fp32 copy and moments: 16 bytes, with little else where layers are recomputed."""
    run = _run(method=FULL, framework="transformers", recompute=ALWAYS, tokens=1.0)
    states = 16 * 6_738_415_616
    total = float(_memory(run).total()[0])
    assert states < total < states * 1.01


def test_memory_falls_with_every_way_of_saving_it() -> None:
    """Frozen weights, four bits, double quantisation, recomputation and streaming of gradients each need less."""
    full = _run(method=FULL)
    rows = [
        full,
        replace(full, streamed=True),
        replace(full, streamed=True, recompute=ALWAYS),
        _run(recompute=ALWAYS),
        _run(method=QLORA, precision="nf4", recompute=ALWAYS),
        _run(method=QLORA, precision="nf4-dq", recompute=ALWAYS),
    ]
    totals = _memory(*rows).total()
    assert np.all(np.diff(totals) < 0)


def test_sharding_divides_weights_and_states_and_not_activations() -> None:
    """Eight accelerators hold an eighth of the weights each, and all activations of their own sequences."""
    one, eight = _run(recompute=ALWAYS), _run(recompute=ALWAYS, gpus=8.0)
    memory = _memory(one, eight)
    assert memory.weights[1] == pytest.approx(memory.weights[0] / 8)
    assert memory.activations[1] >= memory.activations[0]


def test_recomputation_is_chosen_where_it_takes_that_to_fit() -> None:
    """Where a framework says nothing, layers are recomputed on a card of 24 GB and not on one of 80."""
    rows = [
        _run("Llama-3.1-8B", recompute=None, sequences=2.0, accelerator=name)
        for name in ("rtx-4090-24gb", "a100-sxm-80gb")
    ]
    assert list(columns_of(rows).task.recomputed) == [1.0, 0.0]


def test_rank_and_sequence_length_only_add() -> None:
    """More rank, longer sequences and more of them never need less memory."""
    rows = [
        _run(rank=8.0, targets=EVERY_MATRIX),
        _run(rank=64.0, targets=EVERY_MATRIX),
        _run(rank=64.0, targets=EVERY_MATRIX, tokens=4096.0),
        _run(rank=64.0, targets=EVERY_MATRIX, tokens=4096.0, sequences=2.0),
    ]
    assert np.all(np.diff(_memory(*rows).total()) > 0)
