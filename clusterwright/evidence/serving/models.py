"""Models that measurements name: their own table first, then the catalogue, as columns of the serving formulas."""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterwright import assets
from clusterwright.catalog.records import Catalogue, Model
from clusterwright.errors import InputError
from clusterwright.input_files import read_text
from clusterwright.sizing.serving.columns import ServedModel

_MOST_BYTES = 5_000_000
#: Two headers are read; each name of the first column stands for what follows.
_NAMES = {
    "layers": ("layers",),
    "hidden": ("hidden",),
    "heads": ("heads",),
    "kv_heads": ("kv_heads",),
    "head_dim": ("head_dim",),
    "ffn": ("dense_ffn", "ffn_hidden"),
    "moe_ffn": ("moe_ffn", "moe_ffn_hidden"),
    "params_b": ("params_b_exact", "params_b"),
}
_NUMBERS_IN = re.compile(r"\d+")
#: Endings of names that say how a model was tuned or packed, not how it is built.
_TUNED = re.compile(r"[-_ ](instruct|chat|it|hf|base|fp8|fp4|nvfp4|mxfp4|bf16|v0[-._]?\d|\d{4}|99(\.9)?)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedModel:
    """A model by the name that calibration knows it by.

    Attributes:
        sparse, latent, linear, routed: whether it reads a part of its cache, keeps latents, has layers of linear
            attention, routes to experts.
    """

    name: str
    shape: ServedModel
    sparse: bool
    latent: bool
    linear: bool
    routed: bool


class ImpossibleModelError(Exception):
    """A row of a table of models that describes none."""


def plain_name(name: str) -> str:
    """Return a model's name without case, punctuation, and endings that say how it was tuned or packed."""
    found = name.strip().lower()
    while _TUNED.search(found):
        found = _TUNED.sub("", found)
    return re.sub(r"[^a-z0-9.]+", "-", found).strip("-")


def read_models(path: Path) -> dict[str, NamedModel]:
    """Return the models of a table by plain name.

    Args:
        path: CSV with the columns of docs/serving-accuracy.md.

    Raises:
        InputError: the file cannot be read, or a row describes no model.
    """
    text = read_text(path, most_bytes=_MOST_BYTES, what="a table of models", advice="give a CSV file of models")
    found: dict[str, NamedModel] = {}
    reader = csv.DictReader(io.StringIO(text, newline=""))
    columns = reader.fieldnames or ()
    title = next((name for name in ("model", "name") if name in columns), None)
    lacking = [name for name in ("layers", "hidden", "heads", "kv_heads", "head_dim", "vocab") if name not in columns]
    if title is None or lacking:
        raise InputError(
            f"{path.name} lacks the columns {', '.join(lacking or ['model'])}",
            help="docs/serving-accuracy.md names the columns of a table of models",
        )
    for row in reader:
        cells = {name: (cell or "").strip() for name, cell in row.items() if name is not None}
        if not cells[title]:
            continue
        try:
            found[plain_name(cells[title])] = _of_cells(cells[title], cells)
        except ImpossibleModelError as error:
            raise InputError(f"{path.name}:{reader.line_num}: {error}", help="correct the row, or remove it") from None
    return found


def catalogued(catalogue: Catalogue) -> dict[str, NamedModel]:
    """Return the catalogue's models, and those of `served_models.csv` that its columns cannot hold, by plain name."""
    found = {plain_name(model.name.replace(" ", "-")): _of_model(model) for model in catalogue.models.values()}
    found |= {plain_name(identity): _of_model(model) for identity, model in catalogue.models.items()}
    for alias, identity in catalogue.aliases.items():
        if identity in catalogue.models:
            found.setdefault(plain_name(alias), _of_model(catalogue.models[identity]))
    return found | read_models(assets.root() / "catalog" / "served_models.csv")


def find(name: str, *tables: Mapping[str, NamedModel]) -> NamedModel | None:
    """Return the model of the first table that has it."""
    plain = plain_name(name)
    return next((table[plain] for table in tables if plain in table), None)


def _number(cells: Mapping[str, str], *names: str, default: float = 0.0) -> float:
    text = next((cells[name] for name in names if cells.get(name)), "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        raise ImpossibleModelError(f"column {names[0]}: {text!r} is not a number") from None
    if not 0 <= value < 1e9:  # noqa: PLR2004 - no dimension is larger
        raise ImpossibleModelError(f"column {names[0]}: {text} is not a dimension of a model")
    return value


def _of_cells(name: str, cells: Mapping[str, str]) -> NamedModel:
    kind = cells.get("attention_kind", "").lower()
    dimensions = {column: _number(cells, *names) for column, names in _NAMES.items()}
    for column in ("layers", "hidden", "heads", "head_dim"):
        if dimensions[column] < 1:
            raise ImpossibleModelError(f"column {column}: {name} has none")
    latent = kind.startswith("mla") or _number(cells, "mla_kv_lora") > 0
    linear = _number(cells, "linear_attn_layers")
    block = [float(found) for found in _NUMBERS_IN.findall(cells.get("index_topk", ""))]
    limit = block[0] * (block[1] if len(block) > 1 else 1.0) if block else float("inf")
    gated = cells.get("gated", "1") not in ("0", "no")
    routed = _number(cells, "experts") > 0
    dense_layers = _number(cells, "dense_layers", default=0.0 if routed else dimensions["layers"])
    return _named(
        name,
        layers=dimensions["layers"],
        hidden=dimensions["hidden"],
        heads=dimensions["heads"],
        kv_heads=max(dimensions["kv_heads"], 1.0),
        head_dim=dimensions["head_dim"],
        ffn=dimensions["ffn"],
        gated=gated,
        experts=_number(cells, "experts"),
        chosen=_number(cells, "experts_per_token"),
        shared=_number(cells, "shared_experts"),
        moe_ffn=dimensions["moe_ffn"],
        dense_layers=dense_layers,
        latent=(
            tuple(_number(cells, f"mla_{part}") for part in ("q_lora", "kv_lora", "rope_dim", "nope_dim", "v_dim"))
            if latent
            else None
        ),
        window=_number(cells, "sliding_window"),
        window_share=_number(cells, "sliding_layer_fraction"),
        linear_layers=linear,
        index=(_number(cells, "index_dim") if "mla" in kind or "dsa" in kind else 0.0),
        limit=limit,
        vocab=_number(cells, "vocab"),
        tied=cells.get("tied_embeddings", "0") in ("1", "yes"),
        parameters=dimensions["params_b"] * 1e9,
    )


def _of_model(model: Model) -> NamedModel:
    latent = None
    if model.attention_kind == "mla":
        parts = (model.mla_q_lora, model.mla_kv_lora, model.mla_rope_dim, model.mla_nope_dim, model.mla_v_dim)
        latent = tuple(float(part or 0) for part in parts)
    return _named(
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
    )


def _named(
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
) -> NamedModel:
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
        ),
        sparse=limit < float("inf"),
        latent=latent is not None,
        linear=linear_layers > 0,
        routed=experts > 0,
    )
