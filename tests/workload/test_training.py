"""Tokens, steps and bytes of a training run."""

import pytest

from clusterwright.workload import training


def test_gpt3_takes_95367_steps_of_3_million_tokens() -> None:
    """300e9 tokens at 1,536 sequences of 2,048 are 95,367 steps."""
    assert training.tokens_per_step(sequence_length=2048, global_batch_sequences=1536) == 3_145_728
    assert training.steps(tokens=300e9, sequence_length=2048, global_batch_sequences=1536) == pytest.approx(95367.4)


def test_small_vocabularies_take_two_bytes_per_token() -> None:
    """Ids up to 65,535 fit in 16 bits, larger vocabularies take 32."""
    assert training.dataset_bytes(tokens=300e9, vocab=50257) == 600e9
    assert training.dataset_bytes(tokens=300e9, vocab=65536) == 600e9
    assert training.dataset_bytes(tokens=300e9, vocab=128256) == 1200e9


@pytest.mark.parametrize(("parameters", "published"), [(8.03e9, 105e9), (70.55e9, 920e9), (405.85e9, 5.2e12)])
def test_checkpoints_are_as_large_as_published(parameters: float, published: float) -> None:
    """13 bytes per parameter give the published sizes of Llama 3 checkpoints within 2 %."""
    assert training.checkpoint_bytes(parameters=parameters, bytes_per_parameter=13.0) == pytest.approx(
        published, rel=0.02
    )
