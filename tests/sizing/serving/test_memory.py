"""Bytes of weights and of keys and values, against published and hand-computed figures."""

import numpy as np
import pytest

from clusterwright.catalog.load import load
from clusterwright.evidence.models import catalogued, find
from clusterwright.sizing.serving.columns import Deployment, Factors
from clusterwright.sizing.serving.memory import (
    WEIGHT_BYTES,
    cache_bytes,
    cache_bytes_per_token,
    cache_copies,
    largest_batch,
    pooled_cache_bytes,
    touched_experts,
    weight_bytes,
)
from clusterwright.workload.inference import NamedModel, ServedModel


@pytest.fixture(scope="module")
def known() -> dict[str, NamedModel]:
    """Return the models of the catalogue."""
    return catalogued(load())


def _shape(known: dict[str, NamedModel], name: str) -> ServedModel:
    found = find(name, known)
    assert found is not None
    return found.shape


def _place(**changed: float) -> Deployment:
    values = {
        "gpus": 1.0,
        "workers": 1.0,
        "attention_tp": 1.0,
        "expert_parallel": 1.0,
        "attention_bytes": 1.0,
        "expert_bytes": 1.0,
        "cache_bytes": 2.0,
        "attention_bits": 8.0,
        "expert_bits": 8.0,
        "input_tokens": 1024.0,
        "output_tokens": 1024.0,
        "reserved_tokens": 2048.0,
        "concurrency": 1.0,
    }
    return Deployment(**{**values, **changed})


@pytest.mark.parametrize(
    ("name", "bytes_per_token"),
    [
        ("Llama-3-70B", 327_680),
        ("Llama-3-8B", 131_072),
        ("Llama-2-7B", 524_288),
        ("Falcon-7B", 2 * 32 * 64 * 2),
        ("DeepSeek-V3", 70_272),
        ("gpt-oss-120b", 73_728),
        ("Qwen3.5-397B-A17B", 15 * 2 * 2 * 256 * 2),
    ],
)
def test_keys_and_values_of_a_token_are_those_of_the_architecture(
    known: dict[str, NamedModel], name: str, bytes_per_token: float
) -> None:
    """Keys and values of a token are those of the architecture."""
    assert cache_bytes_per_token(_shape(known, name), cache_bytes=2.0) == pytest.approx(bytes_per_token)


def test_70b_holds_43_gb_of_keys_and_values_at_128k_tokens(known: dict[str, NamedModel]) -> None:
    """70b holds 43 gb of keys and values at 128k tokens."""
    assert cache_bytes(_shape(known, "Llama-3-70B"), 131_072, cache_bytes=2.0) == pytest.approx(42.95e9, rel=1e-3)


def test_a_sliding_window_needs_its_width_but_a_pool_charges_every_token(known: dict[str, NamedModel]) -> None:
    """A sliding window needs its width but a pool charges every token."""
    shape = _shape(known, "gpt-oss-120b")
    needed, pooled = (of(shape, 8192.0, cache_bytes=2.0) for of in (cache_bytes, pooled_cache_bytes))
    assert needed == pytest.approx(2048 * (18 * 8192 + 18 * 128))
    assert pooled == pytest.approx(2048 * 36 * 8192)


def test_linear_attention_keeps_a_state_that_does_not_grow(known: dict[str, NamedModel]) -> None:
    """Linear attention keeps a state that does not grow."""
    shape = _shape(known, "Qwen3.5-397B-A17B")
    growth = cache_bytes(shape, 2000.0, cache_bytes=2.0) - cache_bytes(shape, 1000.0, cache_bytes=2.0)
    assert growth == pytest.approx(1000 * cache_bytes_per_token(shape, cache_bytes=2.0))
    assert cache_bytes(shape, 0.0, cache_bytes=2.0) > 0


def test_a_latent_is_copied_to_every_rank_and_grouped_heads_beyond_their_number(known: dict[str, NamedModel]) -> None:
    """A latent is copied to every rank and grouped heads beyond their number."""
    assert cache_copies(_shape(known, "DeepSeek-V3"), attention_tp=8.0) == 8
    assert cache_copies(_shape(known, "Llama-3-70B"), attention_tp=8.0) == 1
    assert cache_copies(_shape(known, "Llama-3-70B"), attention_tp=16.0) == 2


@pytest.mark.parametrize("name", ["Llama-3-70B", "DeepSeek-V3", "gpt-oss-120b", "Mixtral-8x7B", "GLM-5"])
def test_weights_in_sixteen_bits_are_two_bytes_per_published_parameter(known: dict[str, NamedModel], name: str) -> None:
    """Weights in sixteen bits are two bytes per published parameter."""
    shape = _shape(known, name)
    published = {
        "Llama-3-70B": 70.554,
        "DeepSeek-V3": 671.026,
        "gpt-oss-120b": 116.829,
        "Mixtral-8x7B": 46.703,
        "GLM-5": 743.91,
    }[name]
    found = weight_bytes(shape, _place(attention_bytes=2.0, expert_bytes=2.0))
    assert found == pytest.approx(2e9 * published, rel=0.01)


def test_data_parallel_attention_holds_its_weights_on_every_rank(known: dict[str, NamedModel]) -> None:
    """Data parallel attention holds its weights on every rank."""
    shape = _shape(known, "DeepSeek-V3")
    split = weight_bytes(shape, _place(gpus=8.0, attention_tp=8.0))
    spread = weight_bytes(shape, _place(gpus=8.0, attention_tp=1.0))
    assert spread - split == pytest.approx(7 * 61 * (shape.attention_weights + shape.dense_ffn_weights))


def test_four_bit_formats_carry_their_scales() -> None:
    """Four bit formats carry their scales."""
    assert WEIGHT_BYTES["nvfp4"] == 0.5625
    assert WEIGHT_BYTES["mxfp4"] == 0.53125


def test_the_largest_batch_is_what_free_memory_holds(known: dict[str, NamedModel]) -> None:
    """The largest batch is what free memory holds."""
    shape = _shape(known, "Llama-3-8B")
    factors = Factors(cache_fraction=0.9, reserved_bytes=2e9)
    place = _place(attention_bytes=2.0, cache_bytes=2.0)
    free = 0.9 * 80e9 - 2e9 - weight_bytes(shape, place)
    assert largest_batch(shape, place, factors, hbm_bytes=80e9) == np.floor(free / (1536 * 131_072))
    assert largest_batch(shape, place, factors, hbm_bytes=16e9) == 0


def test_a_batch_touches_the_chosen_experts_of_one_token_and_all_of_many(known: dict[str, NamedModel]) -> None:
    """A batch touches the chosen experts of one token and all of many."""
    shape = _shape(known, "DeepSeek-V3")
    assert touched_experts(shape, 1.0) == pytest.approx(8)
    assert touched_experts(shape, 64.0) == pytest.approx(256 * (1 - (1 - 8 / 256) ** 64))
    assert touched_experts(shape, 1e5) == pytest.approx(256)
