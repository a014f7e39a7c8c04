"""The model behind a row of measured runs: what its columns say, and what only the catalogue knows of it."""

from collections.abc import Iterable
from dataclasses import replace

from clusterwright.catalog.records import Model
from clusterwright.evidence.rows import Cells, NotPublishedError, WrongCellError

_BOOLEANS = {"0": False, "no": False, "false": False, "1": True, "yes": True, "true": True}


def model_of(row: Cells, known: Iterable[Model]) -> Model:
    """Return the model that a row was trained on.

    The columns give layers, widths, heads, experts and vocabulary. What they have no column for (latent attention,
    shared experts, leading dense layers, sliding windows) comes from the catalogue's model of the same hidden width,
    heads and experts; without one, a model has none of these. An untied output matrix is taken for gated MLPs (the
    Llama family), the token table for plain ones (GPT).

    Args:
        row: a row of measured runs.
        known: the catalogue's models.

    Raises:
        NotPublishedError: a dimension is not stated; WrongCellError: a dimension is impossible.
    """
    experts = row.whole("n_experts", 0, least=0)
    like = next((model for model in known if _same(row, model, experts)), None)
    gated = _gated(row)
    layers, ffn = row.whole("layers"), row.whole("ffn_hidden")
    heads, kv_heads = row.whole("heads"), row.whole("kv_heads")
    if heads % kv_heads:
        raise WrongCellError(f"column kv_heads: {heads} heads are not divisible by {kv_heads} key-value heads")
    stated = Model(
        id=like.id if like else "",
        name=row.text("model") or row.text("id"),
        parameters=None,
        active_parameters=None,
        published_parameters=None,
        layers=layers,
        hidden=row.whole("hidden"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=row.whole("head_dim"),
        ffn_hidden=ffn,
        gated=gated,
        vocab=row.whole("vocab"),
        tied_embeddings=not gated,
        max_context=None,
        attention_kind="gqa" if kv_heads < heads else "mha",
    )
    if experts:
        chosen = row.whole("top_k")
        if chosen > experts:
            raise WrongCellError(f"column top_k: a token cannot go to {chosen} of {experts} experts")
        stated = replace(
            stated, experts=experts, experts_per_token=chosen, shared_experts=0, moe_ffn_hidden=ffn, dense_layers=0
        )
    return _completed(stated, like) if like else stated


def _completed(stated: Model, like: Model) -> Model:
    if like.experts:
        # A run of fewer layers than the model has (a truncated one) still starts with the model's dense layers.
        share = stated.layers / like.layers
        leading = like.dense_layers or 0
        stated = replace(
            stated,
            ffn_hidden=like.ffn_hidden,
            shared_experts=like.shared_experts or 0,
            dense_layers=leading if leading <= like.layers // 4 else round(leading * share),
        )
        stated = replace(stated, dense_layers=min(stated.dense_layers or 0, stated.layers - 1))
    return replace(
        stated,
        tied_embeddings=like.tied_embeddings,
        attention_kind=like.attention_kind,
        mla_q_lora=like.mla_q_lora,
        mla_kv_lora=like.mla_kv_lora,
        mla_rope_dim=like.mla_rope_dim,
        mla_nope_dim=like.mla_nope_dim,
        mla_v_dim=like.mla_v_dim,
        sliding_window=like.sliding_window,
        sliding_layer_fraction=like.sliding_layer_fraction,
        causal=like.causal,
        further_token_layers=like.further_token_layers,
    )


def _same(row: Cells, model: Model, experts: int) -> bool:
    width = (model.moe_ffn_hidden or model.ffn_hidden) if experts else model.ffn_hidden
    return (
        (model.experts or 0) == experts
        and model.hidden == row.whole("hidden")
        and model.heads == row.whole("heads")
        and width == row.whole("ffn_hidden")
        and (not experts or (model.experts_per_token == row.whole("top_k")))
        and (bool(experts) or (model.layers == row.whole("layers") and model.gated == _gated(row)))
        and (bool(experts) or model.vocab == row.whole("vocab"))
    )


def _gated(row: Cells) -> bool:
    found = row.text("gated_mlp").lower()
    if not found:
        raise NotPublishedError("gated_mlp is not published")
    if found not in _BOOLEANS:
        raise WrongCellError(f"column gated_mlp: {found!r} is neither 1 nor 0")
    return _BOOLEANS[found]
