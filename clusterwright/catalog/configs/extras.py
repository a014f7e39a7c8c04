"""What single architectures have beside the dimensions that `catalog/config_families.csv` names.

Each function takes the file and the dimensions and returns fields of the model's record; the weights it counts are
those of the modelling code of Hugging Face Transformers.
"""

from collections.abc import Callable
from typing import Any

from clusterwright.catalog.configs.values import ConfigValues, shown

Fields = dict[str, Any]
#: Rows of OPT's position table before the first position.
_OPT_OFFSET = 2


def expert_layers(config: ConfigValues, layers: int) -> int:
    """Return how many layers have experts, by the keys that say so in any architecture.

    Every layer whose number (from one) is a multiple of `decoder_sparse_step`, without those in `mlp_only_layers`
    (Qwen), and without the first `first_k_dense_replace` (DeepSeek).
    """
    step = config.count("decoder_sparse_step", default=1)
    first = config.count("first_k_dense_replace", default=0, least=0)
    if first > layers:
        config.refuse(f"first_k_dense_replace is {first}, more than the {layers} layers")
    if config.count("moe_layer_freq", default=1) != 1:
        config.refuse("moe_layer_freq other than 1 cannot be expressed")
    dense = set()
    for index in config.items("mlp_only_layers") or []:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < layers:
            config.refuse(f"mlp_only_layers holds {shown(index)}, which is not a layer from 0 to {layers - 1}")
        else:
            dense.add(index)
    numbers = layers // step - sum(1 for index in dense if (index + 1) % step == 0)
    if numbers - first < 1:
        config.refuse("no layer is left that has experts")
    return numbers - first


def _bloom(_config: ConfigValues, known: dict[str, int]) -> Fields:
    return {"extra_parameters": 2 * known["hidden"]}  # a norm after the token table


def _bert(config: ConfigValues, known: dict[str, int]) -> Fields:
    """The norm after the embeddings counts as the one after the last layer, which BERT lacks."""
    position = config.values.get("position_embedding_type")
    if position not in (None, "absolute"):
        config.refuse(f"position_embedding_type {shown(position)} cannot be expressed")
    if config.flag("is_decoder", default=False):
        config.refuse("is_decoder: true cannot be expressed for this architecture")
    types, hidden = config.count("type_vocab_size", default=2), known["hidden"]
    pooled = types * hidden + hidden * hidden + hidden  # token types and the pooler
    return {"extra_parameters": pooled, "causal": False}


def _opt(config: ConfigValues, known: dict[str, int]) -> Fields:
    width = config.count("word_embed_proj_dim", default=known["hidden"])
    if width != known["hidden"]:
        config.refuse(f"word_embed_proj_dim is {width} and not the hidden width, which cannot be expressed")
    if not config.flag("do_layer_norm_before", default=True):
        config.refuse("do_layer_norm_before: false (no norm after the last layer) cannot be expressed")
    return {"learned_positions": config.count("max_position_embeddings") + _OPT_OFFSET}


def _falcon(config: ConfigValues, known: dict[str, int]) -> Fields:
    """Two norms per layer in the newer architecture or without parallel attention, else one."""
    newer = config.flag("new_decoder_architecture", default=False)
    parallel = config.flag("parallel_attn", default=True)
    norms = config.count("num_ln_in_parallel_attn", default=2) if newer else 1 if parallel else 2
    if newer:
        kv_heads = config.count("num_kv_heads|n_head_kv", default=known["heads"])
    else:
        kv_heads = 1 if config.flag("multi_query", default=True) else known["heads"]
    return {"kv_heads": kv_heads, "norms_per_layer": norms}


def _qwen2_moe(config: ConfigValues, known: dict[str, int]) -> Fields:
    """The shared expert counts as that many experts of the routed width, and has a gate of its own."""
    shared, each = config.count("shared_expert_intermediate_size"), config.count("moe_intermediate_size")
    if shared % each:
        config.refuse(f"shared_expert_intermediate_size {shared} is not a multiple of moe_intermediate_size {each}")
    gates = expert_layers(config, known["layers"]) * known["hidden"]
    return {"shared_experts": shared // each, "extra_parameters": gates}


def _gpt_oss(_config: ConfigValues, known: dict[str, int]) -> Fields:
    return {"extra_parameters": known["layers"] * known["heads"]}  # one attention sink per head


def _olmo2(_config: ConfigValues, known: dict[str, int]) -> Fields:
    """Queries and keys of all heads are normalised together, by a norm as wide as each of the two."""
    widths = (known["heads"] + known["kv_heads"]) * known["head_dim"]
    return {"extra_parameters": known["layers"] * widths}


def _latent(config: ConfigValues, _known: dict[str, int]) -> Fields:
    if config.flag("attention_bias", default=False):
        config.refuse("attention_bias: true cannot be expressed for latent attention")
    shared = config.count("n_shared_experts", default=0, least=0)
    return {
        "shared_experts": shared,
        "mla_q_lora": config.count("q_lora_rank", default=0, least=1),
        "mla_kv_lora": config.count("kv_lora_rank"),
        "mla_rope_dim": config.count("qk_rope_head_dim"),
        "mla_nope_dim": config.count("qk_nope_head_dim"),
        "mla_v_dim": config.count("v_head_dim"),
    }


def _corrected_latent(config: ConfigValues, known: dict[str, int]) -> Fields:
    """DeepSeek-V3: the router of each layer also holds a correction per expert (arXiv 2412.19437, section 2.1.2).

    Layers that predict further tokens (section 2.2) are trained too, but are none of the model's parameters.
    """
    corrections = config.count("n_routed_experts") * expert_layers(config, known["layers"])
    further = config.count("num_nextn_predict_layers", default=0, least=0)
    return _latent(config, known) | {"extra_parameters": corrections, "further_token_layers": further}


EXTRAS: dict[str, Callable[[ConfigValues, dict[str, int]], Fields]] = {
    "bert": _bert,
    "bloom": _bloom,
    "deepseek_v2": _latent,
    "deepseek_v3": _corrected_latent,
    "falcon": _falcon,
    "gpt_oss": _gpt_oss,
    "kimi_k2": _corrected_latent,
    "olmo2": _olmo2,
    "opt": _opt,
    "qwen2_moe": _qwen2_moe,
}
