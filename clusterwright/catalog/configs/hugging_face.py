"""A model from the `config.json` that Hugging Face publishes with it: the same record that the catalogue holds.

What the record cannot express is refused by name, so that no figure is computed for a model that is another one.
"""

import re
from pathlib import Path
from typing import Any

from clusterwright.catalog.configs import families as config_families
from clusterwright.catalog.configs import values
from clusterwright.catalog.configs.extras import EXTRAS, expert_layers
from clusterwright.catalog.configs.families import count, families, truth
from clusterwright.catalog.configs.values import ConfigValues, shown
from clusterwright.catalog.records import Model
from clusterwright.errors import InputError

_BESIDE_TEXT = "a model of images or sound beside text"
#: What to do with one: the language model is read without the encoder.
_TEXT_PART = (
    "save its language model's part (text_config where there is one) as a file of its own, with the model_type of a "
    "model of text; traffic.images has the encoder of a service"
)
#: Architectures that are asked for and cannot be expressed, with the reason.
REFUSED = {
    "a state-space or recurrent model": ("mamba", "mamba2", "falcon_mamba", "rwkv", "recurrent_gemma", "xlstm"),
    "a hybrid of attention and state-space layers": ("jamba", "zamba", "zamba2", "bamba", "qwen3_next", "nemotron_h"),
    "an encoder with a decoder": ("t5", "mt5", "umt5", "longt5", "bart", "mbart", "pegasus", "m2m_100", "whisper"),
    _BESIDE_TEXT: (
        "gemma3",
        "llava",
        "llava_next",
        "mllama",
        "llama4",
        "qwen2_vl",
        "qwen2_5_vl",
        "qwen3_vl",
        "idefics3",
        "paligemma",
        "mistral3",
        "pixtral",
        "qwen2_audio",
    ),
    "a vision model": ("vit", "clip", "siglip", "siglip_vision_model", "dinov2", "swin", "deit", "beit"),
}
#: Sections and switches that no supported architecture has, with what they would mean.
_FOREIGN = {
    "vision_config": "a vision tower",
    "audio_config": "an audio tower",
    "text_config": "a text part beside others",
    "encoder": "an encoder with a decoder",
    "decoder": "an encoder with a decoder",
    "ssm_cfg": "state-space layers",
}
#: Keys of architectures with experts.
_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
MAX_LAYERS = 10_000
_SWITCHES = ("is_encoder_decoder", "add_cross_attention")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")


def model_from_config(path: Path) -> Model:
    """Return the model that a `config.json` describes.

    Parameters are counted from the dimensions by `workload.transformer`; the record's own counts stay None. Layers for
    the prediction of several tokens (DeepSeek-V3) are not part of the model that is counted.

    Args:
        path: the file; it is not trusted.

    Raises:
        InputError: the file cannot be read as JSON, its architecture or one of its values cannot be expressed, or its
            dimensions contradict each other; names the file and every key.
    """
    config = values.read(path)
    kind = _model_type(config)
    _refuse_foreign(config)
    row = families()[kind]
    _refuse_experts(config, row)
    known: dict[str, int] = {}
    for name in ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn_hidden", "vocab"):
        known[name] = count(config, row[name], known) or 1
    # What a wrong size would contradict is not given: a stand-in for it is in none of the file's lines.
    config.raise_faults()
    max_context = count(config, row["max_context"], known)
    fields = known | _fields(config, row, known, max_context)
    if kind in EXTRAS:
        fields |= EXTRAS[kind](config, known)
    fields["extra_parameters"] = fields.get("extra_parameters", 0) + _lone_biases(config, row, fields)
    fields["attention_kind"] = _attention_kind(fields)
    _check(config, row, fields)
    config.raise_faults()
    return Model(
        id=re.sub(r"[^a-z0-9.]+", "-", _name(config, kind).lower()).strip("-"),
        name=_name(config, kind),
        parameters=None,
        active_parameters=None,
        published_parameters=None,
        max_context=max_context,
        source=row["source"],
        **fields,
    )


def _model_type(config: ConfigValues) -> str:
    kind = config.values.get("model_type")
    known = f"can be read: {', '.join(families())}"
    if not isinstance(kind, str) or not kind:
        said = "is missing" if kind is None else f"is {shown(kind)}, not a name"
        raise InputError(f"{config.name}: model_type {said}", help=known)
    if kind not in families():
        reason = next((what for what, kinds in REFUSED.items() if kind in kinds), "")
        raise InputError(
            f"{config.name}: the architecture {shown(kind)}{reason and f', {reason},'} cannot be expressed",
            help=f"{_TEXT_PART}; {known}" if reason == _BESIDE_TEXT else known,
        )
    return kind


def _refuse_foreign(config: ConfigValues) -> None:
    for key, meaning in _FOREIGN.items():
        if config.values.get(key) is not None:
            config.refuse(f"{key} ({meaning}) cannot be expressed")
    for key in _SWITCHES:
        if config.flag(key, default=False):
            config.refuse(f"{key}: true (an encoder with a decoder) cannot be expressed")


def _refuse_experts(config: ConfigValues, row: dict[str, str]) -> None:
    """Refuse experts in the file of an architecture that has none, which would be counted as a dense model."""
    if row["experts"]:
        return
    for key in _EXPERTS:
        if config.values.get(key) not in (None, 0, 1):
            config.refuse(f"{key} (a mixture of experts) cannot be expressed for this model_type")


def _fields(
    config: ConfigValues, row: dict[str, str], known: dict[str, int], max_context: int | None
) -> dict[str, Any]:
    """Return what the table alone says of the model beyond its dimensions."""
    window = config_families.window(config, row["window"], layers=known["layers"], max_context=max_context)
    biased, mlp_biased = truth(config, row["attention_biases"]), truth(config, row["mlp_biases"])
    only_qkv = row["attention_biases"].startswith("qkv")
    fields: dict[str, Any] = {
        "gated": truth(config, row["gated"]),
        "tied_embeddings": truth(config, row["tied"]),
        "sliding_window": window.tokens if window else None,
        "sliding_layer_fraction": window.layer_fraction if window else None,
        "learned_positions": count(config, row["positions"], known) or 0,
        "linear_biases": biased and mlp_biased and not only_qkv,
        "qkv_biases": biased and (only_qkv or not mlp_biased),
        "norm_biases": truth(config, row["norm_biases"]),
        "norms_per_layer": int(row["norms_per_layer"]),
        "head_norms": truth(config, row["head_norms"]),
    }
    if row["experts"]:
        fields |= {
            "experts": count(config, row["experts"], known),
            "experts_per_token": count(config, row["experts_per_token"], known),
            "moe_ffn_hidden": count(config, row["moe_ffn_hidden"], known),
            "dense_layers": known["layers"] - expert_layers(config, known["layers"]),
        }
    return fields


def _attention_kind(model: dict[str, Any]) -> str:
    if model.get("mla_kv_lora"):
        return "mla"
    if model["kv_heads"] == model["heads"]:
        return "mha"
    return "mqa" if model["kv_heads"] == 1 else "gqa"


def _lone_biases(config: ConfigValues, row: dict[str, str], model: dict[str, Any]) -> int:
    """Return the biases that neither `linear_biases` nor `qkv_biases` counts: of the output, or of the MLP alone."""
    biased, mlp_biased = truth(config, row["attention_biases"]), truth(config, row["mlp_biases"])
    if row["attention_biases"].startswith("qkv") or biased == mlp_biased:
        return 0
    if biased:
        return int(model["layers"] * model["hidden"])
    if model.get("experts"):
        config.refuse("biases in the experts but not in the attention cannot be expressed")
    matrices = 3 if model["gated"] else 2
    return int(model["layers"] * ((matrices - 1) * model["ffn_hidden"] + model["hidden"]))


def _check(config: ConfigValues, row: dict[str, str], model: dict[str, Any]) -> None:
    """Note dimensions that contradict each other."""
    hidden, heads, kv_heads = (config.found(row[name].partition("=")[0])[0] for name in ("hidden", "heads", "kv_heads"))
    if model["layers"] > MAX_LAYERS:
        config.refuse(f"{config.found(row['layers'])[0]} is {model['layers']}, more than {MAX_LAYERS:,} layers")
    if model["heads"] % model["kv_heads"]:
        config.refuse(f"{heads} is {model['heads']}, which is not divisible by the {model['kv_heads']} of {kv_heads}")
    explicit = config.values.get("head_dim") is not None and row["head_dim"].startswith("head_dim")
    if "hidden/heads" in row["head_dim"] and not explicit and model["hidden"] % model["heads"]:
        config.refuse(f"{hidden} is {model['hidden']}, which is not divisible by {heads}, {model['heads']}")
    if model.get("experts") and model["experts_per_token"] > model["experts"]:
        key = config.found(row["experts_per_token"])[0]
        config.refuse(f"{key} is {model['experts_per_token']}, more than the {model['experts']} experts")


def _name(config: ConfigValues, kind: str) -> str:
    """Return the name that the file gives the model if it is a plain one, else its architecture and the file's name."""
    given = config.values.get("_name_or_path")
    if isinstance(given, str) and _NAME.fullmatch(given):
        return given
    return f"{kind} of {re.sub(r'[^A-Za-z0-9._-]+', '-', Path(config.name).name)}"
