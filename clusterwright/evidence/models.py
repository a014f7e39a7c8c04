"""Models that measurements name: their own table first, then the catalogue, as columns of the serving formulas."""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from clusterwright import assets
from clusterwright.catalog.records import Catalogue
from clusterwright.errors import InputError
from clusterwright.input_files import read_text
from clusterwright.workload.inference import NamedModel, inference_model, named_model, plain_name

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
_LETTER_AND_DIGIT = re.compile(r"^([a-z]+)(\d)")
_NUMBERS_IN = re.compile(r"\d+")
#: Words that say a kind of attention that the formulas have.
_ATTENTION = frozenset({"mha", "gqa", "mqa", "mla", "full", "sliding", "window", "linear", "sparse", "dsa", "hybrid"})


class ImpossibleModelError(Exception):
    """A row of a table of models that describes none."""


def read_models(path: Path) -> dict[str, NamedModel]:
    """Return the models of a table by plain name.

    Args:
        path: CSV with the columns of docs/evidence/serving-accuracy.md.

    Raises:
        InputError: the file cannot be read, or a row describes no model.
    """
    text = read_text(path, most_bytes=_MOST_BYTES, what="a table of models", advice="give a CSV file of models")
    found: dict[str, NamedModel] = {}
    reader = csv.DictReader(io.StringIO(text, newline=""))
    columns = reader.fieldnames or ()
    title = next((name for name in ("model", "name") if name in columns), None)
    lacking = [name for name in ("layers", "hidden", "heads", "kv_heads", "vocab") if name not in columns]
    if title is None or lacking:
        raise InputError(
            f"{path.name} lacks the columns {', '.join(lacking or ['model'])}",
            help="clusterwright docs serving-accuracy names the columns of a table of models",
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
    found = {plain_name(model.name.replace(" ", "-")): inference_model(model) for model in catalogue.models.values()}
    found |= {plain_name(identity): inference_model(model) for identity, model in catalogue.models.items()}
    for alias, identity in catalogue.aliases.items():
        if identity in catalogue.models:
            found.setdefault(plain_name(alias), inference_model(catalogue.models[identity]))
    return found | read_models(assets.root() / "catalog" / "served_models.csv")


def find(name: str, *tables: Mapping[str, NamedModel]) -> NamedModel | None:
    """Return the model of the first table that has it, with or without its publisher and the hyphen of `llama-2`."""
    whole = plain_name(name)
    bare = plain_name(name.rpartition("/")[2])
    for plain in dict.fromkeys((whole, bare, _LETTER_AND_DIGIT.sub(r"\1-\2", bare))):
        found = next((table[plain] for table in tables if plain in table), None)
        if found is not None:
            return found
    return None


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
    if not dimensions["head_dim"] and dimensions["heads"]:
        dimensions["head_dim"] = dimensions["hidden"] / dimensions["heads"]
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
    found = named_model(
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
    return replace(found, unknown_attention=_unknown_words(kind))


def _unknown_words(attention: str) -> bool:
    """Return whether a part of a description of attention, less its brackets, names no kind that is known."""
    plain = re.sub(r"\(.*?\)", " ", attention)
    parts = [part for part in re.split(r"[+,;]| and ", plain) if part.strip()]
    return any(not _ATTENTION.intersection(re.findall(r"[a-z]+", part)) for part in parts)
