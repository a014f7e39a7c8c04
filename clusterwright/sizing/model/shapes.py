"""A model's dimensions as the columns that time and memory are computed from."""

from dataclasses import replace

from clusterwright.catalog.records import Model
from clusterwright.errors import InputError
from clusterwright.sizing.columns import Shape
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.workload import transformer

#: Where a blueprint names its model.
_MODEL = ("workload", "model")


def trained_layers(model: Model) -> int:
    """Return the layers that training runs: the model's and those that predict further tokens."""
    return model.layers + model.further_token_layers


def check(model: Model) -> None:
    """Refuse dimensions that no transformer can have.

    Raises:
        InputError: a size below one, heads that key-value heads do not divide, more experts per token than experts,
            more dense layers than layers.
    """
    sizes = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn_hidden", "vocab")
    low = [f"{name} {getattr(model, name)}" for name in sizes if getattr(model, name) < 1]
    if low:
        raise InputError(f"{model.name} cannot have {', '.join(low)}", help="every size is at least 1", path=_MODEL)
    if model.heads % model.kv_heads:
        raise InputError(
            f"the {model.heads} heads of {model.name} are not divisible by its {model.kv_heads} key-value heads",
            help="every key-value head serves the same number of heads",
            path=_MODEL,
        )
    if not model.experts:
        return
    if not 1 <= (model.experts_per_token or 0) <= model.experts:
        raise InputError(
            f"{model.name} cannot send a token to {model.experts_per_token} of {model.experts} experts",
            help="experts_per_token lies between 1 and experts",
            path=_MODEL,
        )
    if not 0 <= (model.dense_layers or 0) < model.layers:
        raise InputError(
            f"{model.name} cannot have {model.dense_layers} dense layers of {model.layers} and experts",
            help="at least one layer has experts",
            path=_MODEL,
        )


def attended_keys(model: Model, *, sequence_length: int) -> float:
    """Return how many keys an average token attends to.

    `s/2` where attention is causal, `s` in an encoder; a window of `w < s` leaves `w - w^2/(2 s)` of the causal ones in
    the share of layers that have it.
    """
    full = sequence_length / 2 if model.causal else float(sequence_length)
    window = model.sliding_window
    if not window or window >= sequence_length:
        return full
    share = 1.0 if model.sliding_layer_fraction is None else model.sliding_layer_fraction
    inside = window - window**2 / (2 * sequence_length)
    return share * inside + (1 - share) * full


def shape_of_job(job: TrainingJob) -> Shape:
    """Return the dimensions of a job's model at its sequence length, with its experts' imbalance.

    Raises:
        InputError: the dimensions are impossible.
    """
    shape = shape_of(job.model, sequence_length=job.sequence_length)
    return replace(shape, expert_imbalance=job.expert_imbalance)


def shape_of(model: Model, *, sequence_length: int) -> Shape:
    """Return the dimensions of a model at a sequence length.

    Layers that differ (dense and expert ones, with and without a window) enter as their average; a layer that predicts
    further tokens counts as one with experts, with the two `h x h` matrices that join its inputs (arXiv 2412.19437,
    equation 21).

    Raises:
        InputError: the dimensions are impossible.
    """
    check(model)
    further = model.further_token_layers
    layers = model.layers + further
    expert_layers = transformer.expert_layer_count(model) + (further if model.experts else 0)
    routed = transformer.routed_expert_parameters(model)
    plain = transformer.layer_parameters(model) * model.layers - transformer.expert_layer_count(model) * routed
    if further:
        one = transformer.attention_weights(model) + transformer.shared_expert_parameters(model)
        plain += further * (one + (0 if model.experts else transformer.mlp_weights(model)) + 2 * model.hidden**2)
    attention = transformer.attention_widths(model)
    return Shape(
        layers=float(layers),
        predictions=1.0 + further,
        hidden=float(model.hidden),
        query=float(attention.query),
        key_value=(attention.key + attention.value) / 2,
        value_out=float(attention.out),
        latent_in=float(attention.latent_in),
        latent_query=float(attention.latent_query),
        latent_key=float(attention.latent_key),
        up_key_value=float(attention.up_key_value),
        attended=attended_keys(model, sequence_length=sequence_length),
        ffn=float(model.ffn_hidden),
        mlp_matrices=float(transformer.mlp_matrices(model)),
        heads=float(model.heads),
        vocab=float(model.vocab),
        sequence=float(sequence_length),
        expert_share=expert_layers / layers,
        experts=float(model.experts or 1),
        experts_per_token=float(model.experts_per_token or 0),
        expert_ffn=float((model.moe_ffn_hidden or model.ffn_hidden) if model.experts else 0),
        shared_ffn=float((model.shared_experts or 0) * (model.moe_ffn_hidden or 0)),
        layer_parameters=plain / layers,
        expert_parameters=float(expert_layers * routed / layers),
        table_parameters=float(transformer.embedding_parameters(model)),
        head_parameters=float(model.hidden * model.vocab),
        untied=0.0 if model.tied_embeddings else 1.0,
    )
