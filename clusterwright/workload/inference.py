"""What inference needs of a model: weights by part, keys and values by token, and how it attends."""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.records import Model

Values = float | npt.NDArray[np.float64]
#: Endings of names that say how a model was tuned or packed, not how it is built.
_TUNED = re.compile(r"[-_ ](instruct|chat|it|hf|base|fp8|fp4|nvfp4|mxfp4|bf16|v0[-._]?\d|\d{4}|99(\.9)?)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """A transformer's dimensions as inference needs them.

    Attributes:
        attention_weights: matrix weights of attention (or what replaces it) in an average layer.
        dense_ffn_weights: matrix weights of the MLP in an average layer without routed experts, shared experts and
            router included.
        expert_weights: matrix weights of one routed expert; expert_layers: layers that route.
        head_weights: of the output matrix; table_weights: of the token table, 0 where the output matrix is it.
        query_heads, query_width: of one layer, all heads; score_width: keys' width over all heads plus values' width.
        cache_elements: keys and values of one token in one layer that keeps all of them; cache_heads: into how many
            shards they divide (1 for a latent, which every rank holds).
        full_layers: layers that keep the cache of every token; window_layers, window: layers that keep the last
            `window` tokens alone; linear_layers: layers with a state of fixed size, `state_elements` each.
        attended_limit: tokens that sparse attention reads at most, infinite for all; index_elements: elements per
            token and layer of its index, which it scans in full.
        mlp_matrices: 3 if the MLP is gated, else 2.
        both_ways: 1 where a token attends to those after it too, as encoders do, else 0.
    """

    layers: Values
    hidden: Values
    attention_weights: Values
    dense_ffn_weights: Values
    expert_weights: Values
    experts: Values
    experts_per_token: Values
    expert_layers: Values
    head_weights: Values
    table_weights: Values
    query_heads: Values
    score_width: Values
    absorbed_width: Values
    cache_elements: Values
    cache_heads: Values
    full_layers: Values
    window_layers: Values = 0.0
    window: Values = np.inf
    linear_layers: Values = 0.0
    state_elements: Values = 0.0
    attended_limit: Values = np.inf
    index_elements: Values = 0.0
    mlp_matrices: Values = 3.0
    both_ways: Values = 0.0

    @property
    def parameters(self) -> Values:
        """All matrix weights and tables."""
        routed = self.expert_layers * self.experts * self.expert_weights
        return self._always + routed + self.head_weights + self.table_weights

    @property
    def active_weights(self) -> Values:
        """Matrix weights that one token passes."""
        return self._always + self.expert_layers * self.experts_per_token * self.expert_weights + self.head_weights

    @property
    def _always(self) -> Values:
        return self.layers * (self.attention_weights + self.dense_ffn_weights)


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedModel:
    """A model by the name that calibration knows it by.

    Attributes:
        sparse, latent, linear, routed: whether it reads a part of its cache, keeps latents, has layers of linear
            attention, routes to experts; unknown_attention: whether its attention is described in words that nothing
            here is computed by.
    """

    name: str
    shape: ServedModel
    sparse: bool
    latent: bool
    linear: bool
    routed: bool
    unknown_attention: bool = False


def plain_name(name: str) -> str:
    """Return a model's name without case, punctuation, and endings that say how it was tuned or packed."""
    found = name.strip().lower()
    while _TUNED.search(found):
        found = _TUNED.sub("", found)
    return re.sub(r"[^a-z0-9.]+", "-", found).strip("-")


def inference_model(model: Model) -> NamedModel:
    """Return a model of the catalogue as inference needs it."""
    latent = None
    if model.attention_kind == "mla":
        parts = (model.mla_q_lora, model.mla_kv_lora, model.mla_rope_dim, model.mla_nope_dim, model.mla_v_dim)
        latent = tuple(float(part or 0) for part in parts)
    return named_model(
        model.id,
        layers=float(model.layers),
        hidden=float(model.hidden),
        heads=float(model.heads),
        kv_heads=float(model.kv_heads),
        head_dim=float(model.head_dim),
        ffn=float(model.ffn_hidden),
        gated=model.gated,
        experts=float(model.experts or 0),
        chosen=float(model.experts_per_token or 0),
        shared=float(model.shared_experts or 0),
        moe_ffn=float(model.moe_ffn_hidden or model.ffn_hidden),
        dense_layers=float(model.dense_layers or 0) if model.experts else float(model.layers),
        latent=latent,
        window=float(model.sliding_window or 0),
        window_share=float(model.sliding_layer_fraction or (1.0 if model.sliding_window else 0.0)),
        linear_layers=0.0,
        index=0.0,
        limit=float("inf"),
        vocab=float(model.vocab),
        tied=model.tied_embeddings,
        parameters=float(model.parameters or 0),
        both_ways=not model.causal,
    )


def named_model(
    name: str,
    *,
    layers: float,
    hidden: float,
    heads: float,
    kv_heads: float,
    head_dim: float,
    ffn: float,
    gated: bool,
    experts: float,
    chosen: float,
    shared: float,
    moe_ffn: float,
    dense_layers: float,
    latent: tuple[float, ...] | None,
    window: float,
    window_share: float,
    linear_layers: float,
    index: float,
    limit: float,
    vocab: float,
    tied: bool,
    parameters: float,
    both_ways: bool = False,
) -> NamedModel:
    """Return a model by its dimensions; `latent` are the five widths of latent attention."""
    matrices = 3.0 if gated else 2.0
    width = heads * head_dim
    if latent:
        query_latent, cached, rotary, plain, value = latent
        score_width = heads * (plain + rotary + value)
        absorbed = heads * (2.0 * cached + rotary)
        elements, cache_heads = cached + rotary, 1.0
        query = heads * (plain + rotary)
        attention = hidden * query_latent + query_latent * query if query_latent else hidden * query
        attention += hidden * (cached + rotary) + cached * heads * (plain + value) + heads * value * hidden
    else:
        score_width = absorbed = 2.0 * width
        elements, cache_heads = 2.0 * kv_heads * head_dim, kv_heads
        attention = 2.0 * hidden * width + 2.0 * hidden * kv_heads * head_dim
    expert_layers = layers - dense_layers if experts else 0.0
    expert = matrices * hidden * moe_ffn if experts else 0.0
    always = expert_layers * (shared * expert + experts * hidden) + (layers - expert_layers) * matrices * hidden * ffn
    tables = hidden * vocab
    # What the published total leaves after experts, MLPs and tables is attention of every kind.
    rest = (parameters - expert_layers * experts * expert - always - tables * (1.0 if tied else 2.0)) / layers
    if 0.5 * attention < rest < 2.0 * attention:
        attention = rest
    kept = layers - linear_layers
    return NamedModel(
        name=plain_name(name),
        shape=ServedModel(
            layers=layers,
            hidden=hidden,
            attention_weights=attention,
            dense_ffn_weights=always / layers,
            expert_weights=expert,
            experts=experts,
            experts_per_token=chosen,
            expert_layers=expert_layers,
            head_weights=tables,
            table_weights=0.0 if tied else tables,
            query_heads=heads,
            score_width=score_width,
            absorbed_width=absorbed,
            cache_elements=elements,
            cache_heads=cache_heads,
            full_layers=kept * (1.0 - window_share),
            window_layers=kept * window_share,
            window=window or float("inf"),
            linear_layers=linear_layers,
            # A gated delta net keeps heads x key width x value width; 64 x 128 x 128 for hidden 4,096 (Qwen3-Next).
            state_elements=hidden * 2.0 * 128.0 if linear_layers else 0.0,
            attended_limit=limit,
            index_elements=index,
            mlp_matrices=matrices,
            both_ways=float(both_ways),
        ),
        sparse=limit < float("inf"),
        latent=latent is not None,
        linear=linear_layers > 0,
        routed=experts > 0,
    )
