"""The command that says which cards hold a model: fit."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.cli.render.text_table import Column, fitted, table
from clusterwright.errors import EXIT_FINE, InputError

if TYPE_CHECKING:
    from clusterwright.catalog.records import Accelerator, Catalogue
    from clusterwright.workload.inference import NamedModel

SCHEMA = 1
_CONTEXT, _SEQUENCE = 8192, 2048


def fit(name: str, *, on: str | None, context: int | None, finetune: bool, as_json: bool) -> int:
    """Print which cards hold a model, for serving or for fine-tuning; return the exit code.

    Args:
        name: of the model, or the path of its config.json.
        on: an accelerator, None for all that are known.
        context: tokens of a sequence, None for 8,192 to serve and 2,048 to fine-tune.
        finetune: whether it is fine-tuned.
        as_json: whether to print JSON.

    Raises:
        InputError: no model or accelerator has that name, or the configuration cannot be read.
    """
    from clusterwright.catalog import lookup
    from clusterwright.catalog.load import load

    catalogue = load()
    model = _model(catalogue, name)
    if on is None:
        cards = sorted(
            (one for one in catalogue.accelerators.values() if one.hbm_bytes and _multiplies(one)),
            key=lambda one: (one.hbm_bytes or 0.0, one.id),
        )
    else:
        cards = [lookup.accelerator(catalogue, on)]
        if not cards[0].hbm_bytes or not _multiplies(cards[0]):
            raise InputError(
                f"the catalogue lacks memory or 16-bit peak of {cards[0].id}", help="clusterwright facts lists others"
            )
    tokens = float(context or (_SEQUENCE if finetune else _CONTEXT))
    found, lines = (_finetuning if finetune else _serving)(model, cards, tokens)
    if as_json:
        print(json.dumps({"schema": SCHEMA, "model": model.name, **found}, indent=1))
    else:
        print(fitted(lines))
    return EXIT_FINE


def _multiplies(accelerator: "Accelerator") -> bool:
    return bool(accelerator.dense_bf16_flop_per_s or accelerator.dense_fp16_flop_per_s)


def _model(catalogue: "Catalogue", name: str) -> "NamedModel":
    from clusterwright.catalog import lookup
    from clusterwright.catalog.configs.hugging_face import model_from_config
    from clusterwright.evidence.models import catalogued, find
    from clusterwright.workload.inference import inference_model

    if name.endswith(".json"):
        return inference_model(model_from_config(Path(name)))
    return find(name, catalogued(catalogue)) or inference_model(lookup.model(catalogue, name))


def _finetuning(model: "NamedModel", cards: "list[Accelerator]", tokens: float) -> tuple[dict[str, Any], str]:
    from clusterwright.sizing.finetuning.calibration import load_calibration
    from clusterwright.sizing.finetuning.cards import COUNTS, ways

    found = ways(model, cards[0], load_calibration(), tokens=tokens, sequences=1.0)
    document = {
        "tokens": tokens,
        "sequences_per_card": 1,
        "ways": [
            {
                "method": way.method,
                "precision": way.precision,
                "optimizer": way.optimizer,
                "trained_parameters": way.trained_parameters,
                "bytes_per_card": {str(count): way.bytes_by_count[count] for count in COUNTS},
                "bytes_per_card_p90": {str(count): way.largest_by_count[count] for count in COUNTS},
                "fewest_cards": {card.id: way.fewest(card) for card in cards},
            }
            for way in found
        ],
    }
    columns = [Column("method", "left"), Column("weights", "left"), Column("optimizer", "left"), Column("trained")]
    columns += [Column(f"GB on {count}") for count in COUNTS]
    rows = [
        (
            way.method,
            way.precision,
            way.optimizer,
            _short(way.trained_parameters),
            *(f"{way.bytes_by_count[count] / 1e9:,.1f}" for count in COUNTS),
        )
        for way in found
    ]
    heads = [Column("fewest cards of", "left"), Column("GB")]
    heads += [Column(f"{way.method} {way.precision}" + (" 8-bit" if "8" in way.optimizer else "")) for way in found]
    fewest = [
        (card.id, f"{(card.hbm_bytes or 0.0) / 1e9:.0f}", *(str(way.fewest(card) or "-") for way in found))
        for card in cards
    ]
    said = (
        f"{model.name}, one sequence of {tokens:,.0f} tokens on each card, every layer recomputed; weights, gradients "
        "and moments divided over the cards; P50 of what the device shows, context included."
    )
    return document, "\n".join([said, "", table(columns, rows), "", table(heads, fewest)])


def _serving(model: "NamedModel", cards: "list[Accelerator]", tokens: float) -> tuple[dict[str, Any], str]:
    from clusterwright.blueprint.rules.kinds import formats_of
    from clusterwright.sizing.serving.cards import Room, rooms
    from clusterwright.sizing.serving.columns import Factors

    found: list[Room] = []
    for card in cards:
        known = formats_of(card)
        # The two formats of 16 bits take the same room.
        each = [one for one in known if one != "fp16" or "bf16" not in known]
        found += rooms(model, card, precisions=each, context=tokens, factors=Factors())
    columns = [
        Column("GPU", "left"),
        Column("weights", "left"),
        Column("GB of weights"),
        Column("fewest GPUs"),
        Column("spare tokens of cache"),
        Column("sequences"),
    ]
    rows = [
        (
            room.accelerator,
            room.precision,
            f"{room.weight_bytes / 1e9:,.1f}",
            str(room.cards or "-"),
            *(f"{number:,.0f}" if room.cards else "-" for number in (room.spare_tokens, room.largest_batch)),
        )
        for room in found
    ]
    said = (
        f"{model.name}, sequences of {tokens:,.0f} tokens; keys and values in 8 bits beside weights of at most 8, else "
        "in 16; weights and cache may take nine tenths of the memory less 4 GB a card."
    )
    return {"tokens": tokens, "rooms": [asdict(room) for room in found]}, "\n".join([said, "", table(columns, rows)])


def _short(number: float) -> str:
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.0f}"
