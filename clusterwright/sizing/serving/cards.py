"""Which cards a model can be served on, by precision: the fewest that hold it, and what they leave for the cache."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.catalog.records import Accelerator
from clusterwright.sizing.serving.columns import Deployment, Factors
from clusterwright.sizing.serving.memory import (
    WEIGHT_BYTES,
    cache_bytes_per_token,
    cache_copies,
    largest_batch,
    weight_bytes,
)
from clusterwright.workload.inference import NamedModel

COUNTS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """A model in a precision on the fewest cards of a kind that hold one sequence of the context.

    Attributes:
        cards: None where sixteen do not hold it; the rest is 0 then.
        spare_tokens: of keys and values beside the weights; largest_batch: sequences of the whole context.
    """

    accelerator: str
    precision: str
    weight_bytes: float
    cards: int | None
    spare_tokens: float
    largest_batch: float


def rooms(
    model: NamedModel, accelerator: Accelerator, *, precisions: Sequence[str], context: float, factors: Factors
) -> tuple[Room, ...]:
    """Return the room of every precision that a card multiplies in or unpacks.

    Keys and values are in 8 bits beside weights of at most 8, else in 16.
    """
    hbm = accelerator.hbm_bytes or 0.0
    found = []
    for precision in precisions:
        room = Room(
            accelerator=accelerator.id,
            precision=precision,
            weight_bytes=float(weight_bytes(model.shape, _place(model, precision, 1, context))),
            cards=None,
            spare_tokens=0.0,
            largest_batch=0.0,
        )
        for cards in COUNTS:
            place = _place(model, precision, cards, context)
            batch = float(largest_batch(model.shape, place, factors, hbm_bytes=hbm))
            if batch >= 1:
                each = cache_bytes_per_token(model.shape, cache_bytes=place.cache_bytes)
                each = each * cache_copies(model.shape, attention_tp=place.attention_tp)
                free = cards * (factors.cache_fraction * hbm - factors.reserved_bytes) - weight_bytes(
                    model.shape, place
                )
                room = Room(
                    accelerator=accelerator.id,
                    precision=precision,
                    weight_bytes=room.weight_bytes,
                    cards=cards,
                    spare_tokens=float(free // each),
                    largest_batch=batch,
                )
                break
        found.append(room)
    return tuple(found)


def _place(model: NamedModel, precision: str, cards: int, context: float) -> Deployment:
    packed = WEIGHT_BYTES[precision]
    four = precision in ("int4", "mxfp4", "nvfp4")
    bits = 4.0 if precision in ("mxfp4", "nvfp4") else 8.0 if packed == 1 else 16.0
    return Deployment(
        gpus=float(cards),
        workers=1.0,
        attention_tp=float(cards),
        expert_parallel=1.0,
        # Mixtures of experts are published in four bits with attention left in 16, as in `configuration.place_of`.
        attention_bytes=2.0 if four and model.routed else packed,
        expert_bytes=packed,
        cache_bytes=1.0 if packed <= 1 else 2.0,
        attention_bits=bits,
        expert_bits=bits,
        input_tokens=context,
        output_tokens=0.0,
        reserved_tokens=context,
        concurrency=float("inf"),
    )
