"""What a transformer's dimensions imply: exact parameter counts and the arithmetic of one trained token.

Symbols in the equations: `L` layers, `h` hidden width, `q` query width (heads x head dimension), `k` key (or value)
width, `f` MLP width, `V` vocabulary, `s` sequence length.
"""

from dataclasses import dataclass

from clusterwright.catalog.records import Model
from clusterwright.formulas import Term, formula


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionWidths:
    """Widths of one layer's attention.

    Attributes:
        query, key, value: of all heads, as the scores see them; out: what the output matrix takes.
        latent_in: what latent attention compresses the hidden width to, 0 for plain attention.
        latent_query, latent_key: inputs of the expansions into queries, and into keys and values.
        up_key_value: output of the latter (keys without their shared rotary part, and values).
    """

    query: int
    key: int
    value: int
    out: int
    latent_in: int = 0
    latent_query: int = 0
    latent_key: int = 0
    up_key_value: int = 0


def attention_widths(model: Model) -> AttentionWidths:
    """Return the widths of one layer's attention: plain, grouped, or latent (arXiv 2405.04434, section 2.1)."""
    if model.attention_kind != "mla":
        query, key_value = query_width(model), key_value_width(model)
        return AttentionWidths(query=query, key=key_value, value=key_value, out=query)
    rotary, plain, value = model.mla_rope_dim or 0, model.mla_nope_dim or 0, model.mla_v_dim or 0
    query_latent, latent = model.mla_q_lora or 0, model.mla_kv_lora or 0
    scored = model.heads * (plain + rotary)
    return AttentionWidths(
        query=scored,
        key=scored,
        value=model.heads * value,
        out=model.heads * value,
        latent_in=query_latent + latent + rotary,
        latent_query=query_latent or model.hidden,
        latent_key=latent,
        up_key_value=model.heads * (plain + value),
    )


def query_width(model: Model) -> int:
    """Return `q`, the width of all query heads together (heads x head dimension)."""
    return model.heads * model.head_dim


def key_value_width(model: Model) -> int:
    """Return `k`, the width of all keys (and, once more, of all values): key-value heads x head dimension."""
    return model.kv_heads * model.head_dim


def mlp_matrices(model: Model) -> int:
    """Return the matrices of one MLP: three if gated (gate, up, down), else two (up, down)."""
    return 3 if model.gated else 2


def attention_weights(model: Model) -> int:
    """Return the matrix weights of one layer's attention.

    Grouped queries: `h q + 2 h k + q h`. Multi-head latent attention: queries through a latent of width `r_q` (or
    directly if that is 0), keys and values through a latent of width `r_kv` with one shared rotary key
    (DeepSeek-V2, arXiv 2405.04434, section 2.1).
    """
    hidden = model.hidden
    if model.attention_kind == "mla":
        return _latent_attention_weights(model)
    query, key_value = query_width(model), key_value_width(model)
    return 2 * hidden * query + 2 * hidden * key_value


def _latent_attention_weights(model: Model) -> int:
    query_latent, latent = model.mla_q_lora or 0, model.mla_kv_lora or 0
    rotary, plain, value = model.mla_rope_dim or 0, model.mla_nope_dim or 0, model.mla_v_dim or 0
    query = model.heads * (plain + rotary)
    into_query = model.hidden * query_latent + query_latent * query if query_latent else model.hidden * query
    into_latent = model.hidden * (latent + rotary)
    out_of_latent = latent * model.heads * (plain + value)
    return into_query + into_latent + out_of_latent + model.heads * value * model.hidden


def mlp_weights(model: Model) -> int:
    """Return the matrix weights of one dense MLP: `3 h f` if gated, else `2 h f`."""
    return mlp_matrices(model) * model.hidden * model.ffn_hidden


def expert_layer_count(model: Model) -> int:
    """Return the layers whose MLP is a mixture of experts (0 for a dense model)."""
    return model.layers - (model.dense_layers or 0) if model.experts else 0


def routed_expert_parameters(model: Model) -> int:
    """Return the parameters of one layer's routed experts, without shared ones and router; 0 for a dense model."""
    if not model.experts:
        return 0
    width = model.moe_ffn_hidden or model.ffn_hidden
    return model.experts * (_expert_weights(model) + _mlp_biases(model, width))


def shared_expert_parameters(model: Model) -> int:
    """Return the matrix weights of one layer's shared experts and router; 0 for a dense model."""
    if not model.experts:
        return 0
    return (model.shared_experts or 0) * _expert_weights(model) + model.experts * model.hidden


def _expert_weights(model: Model) -> int:
    return mlp_matrices(model) * model.hidden * (model.moe_ffn_hidden or model.ffn_hidden)


def _attention_vectors(model: Model) -> int:
    query, key_value = query_width(model), key_value_width(model)
    biases = 0
    if model.linear_biases:
        biases = query + 2 * key_value + model.hidden
    elif model.qkv_biases:
        biases = query + 2 * key_value
    head_norms = 2 * model.head_dim if model.head_norms else 0
    latent_norms = (model.mla_q_lora or 0) + (model.mla_kv_lora or 0)
    return biases + head_norms + latent_norms


def _mlp_biases(model: Model, width: int) -> int:
    return (mlp_matrices(model) - 1) * width + model.hidden if model.linear_biases else 0


def layer_parameters(model: Model) -> float:
    """Return the parameters of an average layer, all experts and vectors included."""
    return (parameters(model) - embedding_parameters(model) - head_parameters(model)) / model.layers


def embedding_parameters(model: Model) -> int:
    """Return the parameters of the token table and of the learned position table: `h (V + positions)`."""
    return model.hidden * (model.vocab + model.learned_positions)


def head_parameters(model: Model) -> int:
    """Return the parameters of an output matrix of its own, `h V`, or 0 where it is the token table again."""
    return 0 if model.tied_embeddings else model.hidden * model.vocab


def parameters(model: Model) -> int:
    """Return the exact number of parameters.

    Sum over the token and position tables, every layer's attention, MLP or experts with router, biases and norms, the
    norm after the last layer, an untied output matrix, and what the model's record lists as `extra_parameters`.
    """
    norm = model.hidden * (2 if model.norm_biases else 1)
    per_layer = attention_weights(model) + _attention_vectors(model) + model.norms_per_layer * norm
    expert_layers = expert_layer_count(model)
    dense = (model.layers - expert_layers) * (mlp_weights(model) + _mlp_biases(model, model.ffn_hidden))
    experts = expert_layers * (_experts_of_layer(model, model.experts or 0))
    tables = embedding_parameters(model) + head_parameters(model)
    return model.layers * per_layer + dense + experts + norm + tables + model.extra_parameters


def _experts_of_layer(model: Model, experts: int) -> int:
    width = model.moe_ffn_hidden or model.ffn_hidden
    each = _expert_weights(model) + _mlp_biases(model, width)
    router = (model.experts or 0) * (model.hidden + (1 if model.linear_biases else 0))
    return (experts + (model.shared_experts or 0)) * each + router


def active_parameters(model: Model) -> int:
    """Return the parameters that one token uses: all but the experts it is not sent to."""
    expert_layers = expert_layer_count(model)
    unused = _experts_of_layer(model, model.experts or 0) - _experts_of_layer(model, model.experts_per_token or 0)
    return parameters(model) - expert_layers * unused


def matrix_weights_per_token(model: Model) -> int:
    """Return the weights of all matrix multiplications that one token passes: `L (attention + MLP in use) + h V`.

    The token and position tables are looked up, not multiplied; the output matrix is multiplied even when tied.
    """
    expert_layers = expert_layer_count(model)
    in_use = (model.experts_per_token or 0) + (model.shared_experts or 0)
    experts = expert_layers * (in_use * _expert_weights(model) + (model.experts or 0) * model.hidden)
    dense = (model.layers - expert_layers) * mlp_weights(model)
    return model.layers * attention_weights(model) + dense + experts + model.hidden * model.vocab


def attention_flops_per_token(model: Model, *, sequence_length: int, causal: bool) -> float:
    """Return the FLOPs of scores and weighted values for one token, forward and backward.

    Full: `12 L s q`; causal: half of it, since a token sees on average half the sequence. Both are in use and differ by
    7-11 % of the total at 8,192 tokens: Narayanan et al. 2021 (arXiv 2104.04473, eq. 3) and Megatron up to 2024 count
    full attention, Megatron-Bridge from 25.09 counts causal attention. Latent attention scores over
    `heads (nope + rope)` and values over `heads v`.
    """
    if model.attention_kind == "mla":
        scores = model.heads * ((model.mla_nope_dim or 0) + (model.mla_rope_dim or 0))
        values = model.heads * (model.mla_v_dim or 0)
        width = (scores + values) / 2
    else:
        width = float(query_width(model))
    full = 12.0 * model.layers * sequence_length * width
    return full / 2 if causal else full


@formula(
    "6 × {weights} + {attention_flops}",
    source="Narayanan et al., SC21, eq. 3 without recomputation",
    weights=Term("weights of all matrices", ",.0f"),
    attention_flops=Term("12 × layers × sequence length × width of attention", ",.0f", "FLOP"),
)
def flops_per_token(*, weights: float, attention_flops: float) -> float:
    """Return training FLOPs of a token: two per weight forward, four backward, and those of the attention's scores."""
    return 6.0 * weights + attention_flops


def training_flops_per_token(model: Model, *, sequence_length: int, causal: bool = False) -> float:
    """Return the model FLOPs to train on one token: forward once, backward twice, nothing recomputed.

    `6 (L (attention + MLP) + h V) + 12 L s q` with full attention (the default, as MFU is counted here).
    """
    return flops_per_token(
        weights=matrix_weights_per_token(model),
        attention_flops=attention_flops_per_token(model, sequence_length=sequence_length, causal=causal),
    )
