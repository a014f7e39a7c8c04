"""Memory of a serving replica: weights by format, keys and values per token, sequences that fit. Equations in bytes."""

from types import MappingProxyType

import numpy as np

from clusterwright.formulas import Term, formula
from clusterwright.sizing.columns import Array, Values
from clusterwright.sizing.serving.columns import Deployment, Factors
from clusterwright.workload.inference import ServedModel

#: Low-rank adapters and encoders of images stay in 16 bits.
_SIXTEEN_BITS = 2.0
#: Bytes of one weight with its scales. NVFP4: 4 bits and an fp8 scale for 16 weights; MXFP4: 4 bits and an 8-bit scale
#: for 32 (OCP Microscaling Formats 1.0, section 5); AWQ and GPTQ: 4 bits, and 16-bit scale and 4-bit zero for 128.
WEIGHT_BYTES = MappingProxyType(
    {
        "fp32": 4.0,
        "bf16": 2.0,
        "fp16": 2.0,
        "fp8": 1.0,
        "int8": 1.0,
        "nvfp4": 0.5 + 1 / 16,
        "mxfp4": 0.5 + 1 / 32,
        "int4": 0.5 + (2 + 0.5) / 128,
    }
)


def cache_bytes_per_token(model: ServedModel, *, cache_bytes: Values) -> Values:
    """Return the bytes of keys and values that one more token adds, windows not yet full.

    Grouped heads: `2 L kv d b`. Latent attention: `L (r_kv + r_rope) b` (DeepSeek-V2, arXiv 2405.04434, section 2.1).
    Linear attention adds nothing.
    """
    return (model.full_layers + model.window_layers) * _elements(model) * cache_bytes


def cache_bytes(model: ServedModel, tokens: Values, *, cache_bytes: Values) -> Values:
    """Return the bytes of keys and values that a sequence of `tokens` needs.

    Sliding windows keep `min(tokens, window)`, linear attention a state of fixed size in 32 bits.
    """
    kept = model.full_layers * tokens + model.window_layers * np.minimum(tokens, model.window)
    return kept * _elements(model) * cache_bytes + model.linear_layers * model.state_elements * 4.0


def pooled_cache_bytes(model: ServedModel, tokens: Values, *, cache_bytes: Values) -> Values:
    """Return the bytes that a pool of one block size charges for a sequence: windows as if they kept every token."""
    kept = (model.full_layers + model.window_layers) * tokens
    return kept * _elements(model) * cache_bytes + model.linear_layers * model.state_elements * 4.0


def cache_copies(model: ServedModel, *, attention_tp: Values) -> Values:
    """Return how often tensor parallelism holds each key and value: `tp / min(tp, heads of the cache)`."""
    return attention_tp / np.minimum(attention_tp, model.cache_heads)


def weight_bytes(model: ServedModel, place: Deployment) -> Values:
    """Return the bytes of all weights on one worker; data-parallel attention holds its own copy on each rank.

    Tables and output matrix stay in 16 bits.
    """
    ranks = place.gpus / (place.attention_tp * place.pipeline)
    attention = model.layers * model.attention_weights * place.attention_bytes * ranks
    dense = model.layers * model.dense_ffn_weights * place.attention_bytes * ranks
    routed = model.expert_layers * model.experts * model.expert_weights * place.expert_bytes
    return attention + dense + routed + (model.head_weights + model.table_weights) * 2.0


def held_bytes(model: ServedModel, place: Deployment) -> Values:
    """Return the bytes of one worker's accelerators that do not depend on its sequences.

    Weights less those left in the host's memory, an encoder of images on each rank of attention, and low-rank adapters,
    of which each rank holds its part.
    """
    ranks = place.gpus / (place.attention_tp * place.pipeline)
    encoder = place.encoder_weights * _SIXTEEN_BITS * ranks
    adapters = place.resident_adapters * place.adapter_weights * _SIXTEEN_BITS * ranks
    return weight_bytes(model, place) * (1.0 - place.host_weight_share) + encoder + adapters


@formula(
    "⌊{pool_bytes} / {request_bytes}⌋",
    source="clusterwright/sizing/serving/memory.py: largest_batch",
    pool_bytes=Term("pool of keys and values of a replica", ",.2f", "GB", 1e-9),
    request_bytes=Term("those of a request half-way through its answer", ",.4f", "GB", 1e-9),
)
def requests_that_fit(*, pool_bytes: Values, request_bytes: Values) -> Array:
    """Return the requests whose keys and values fit into a pool."""
    return np.asarray(np.floor(np.maximum(pool_bytes, 0.0) / np.maximum(request_bytes, 1.0)))


def largest_batch(model: ServedModel, place: Deployment, factors: Factors, *, hbm_bytes: Values) -> Array:
    """Return the sequences that one worker holds at once: free memory over the mean cache of a live sequence.

    Free memory is `share (gpus HBM) - weights - gpus reserved`; a live sequence has its input and, on average, half of
    its output, or without pages the room of the longest request. 0 where the weights alone do not fit.
    """
    paged = np.asarray(place.paged) > 0
    live = np.where(paged, place.input_tokens + place.output_tokens / 2, place.reserved_tokens)
    each = cache_bytes(model, live, cache_bytes=place.cache_bytes)
    each = each * cache_copies(model, attention_tp=place.attention_tp)
    free = place.gpus * (factors.cache_fraction * hbm_bytes - factors.reserved_bytes) - held_bytes(model, place)
    fitting = requests_that_fit(pool_bytes=free, request_bytes=each)
    return np.asarray(np.minimum(fitting, place.most_sequences))


def touched_experts(model: ServedModel, tokens: Values) -> Values:
    """Return how many experts of a layer a batch touches: `E (1 - (1 - K/E)^T)`, uniform routing."""
    share = np.minimum(model.experts_per_token / np.maximum(model.experts, 1.0), 1.0)
    return model.experts * _touched(tokens, share)


def touched_adapters(place: Deployment, sequences: Values) -> Values:
    """Return how many low-rank adapters the sequences of a batch ask for: `A (1 - (1 - 1/A)^n)`, each alike often."""
    return place.adapters * _touched(sequences, 1.0 / np.maximum(place.adapters, 1.0))


def _touched(tokens: Values, share: Values) -> Values:
    return -np.expm1(tokens * np.log1p(-np.minimum(share, 1 - 1e-12)))


def _elements(model: ServedModel) -> Values:
    return model.cache_elements + model.index_elements
