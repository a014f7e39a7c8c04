"""Step times of one replica's worker as a table over batch and context, for those who ask for single steps.

The closed form and the simulation take their times from `step` both, so that they differ in how requests queue alone.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving.columns import Deployment, Factors, ServingDevice
from clusterwright.sizing.serving.memory import cache_bytes_per_token, cache_copies, held_bytes, largest_batch
from clusterwright.sizing.serving.step import decode_step, prefill_alone, prefill_time, tokens_per_step
from clusterwright.workload.inference import ServedModel


@dataclass(frozen=True, kw_only=True)
class StepTable:
    """Seconds of the steps of one worker.

    Attributes:
        decode_s: of a step that decodes, by sequences (rows, from 0) and context (columns, every `context_tokens`
            tokens from 0); between two contexts it is interpolated. Row 0 is 0.
        context_tokens: between two columns.
        prefill_s: what the first tokens of an input add to the steps that carry them, by tokens, from 0.
        carrying_s: a step that carries a piece of an input and decodes nothing takes at least this, to read the weights
            and to launch kernels one by one; beside decodes, calibration counts the input's own time alone.
        tokens_per_step: that a sequence gains in a step, 1 without speculation.
        first_token_s: of a request beside the engine (network, text).
        most_sequences: that the framework takes at once; pool_tokens: that its memory holds.
        chunk_tokens: of inputs that one step carries at most.
    """

    decode_s: Array
    context_tokens: float
    prefill_s: Array
    carrying_s: float
    tokens_per_step: float
    first_token_s: float
    most_sequences: int
    pool_tokens: float
    chunk_tokens: int

    @cached_property
    def rows(self) -> list[list[float]]:
        """The decode times as lists, which plain Python reads three times as fast as arrays."""
        return [list(row) for row in self.decode_s.tolist()]

    @cached_property
    def prefill(self) -> list[float]:
        """The prefill times as a list."""
        return list(self.prefill_s.tolist())

    def step_s(self, sequences: int, context: float) -> float:
        """Return the seconds of a step that decodes, at a mean context in tokens."""
        row = self.rows[sequences]
        at = context / self.context_tokens
        low = min(int(at), len(row) - 2)
        return row[low] + (row[low + 1] - row[low]) * (at - low)


def tabulated(
    model: ServedModel,
    device: ServingDevice,
    place: Deployment,
    factors: Factors,
    *,
    longest_tokens: int,
    chunk_tokens: int = 8192,
    most_sequences: int = 1024,
    columns: int = 65,
) -> StepTable:
    """Return the table of one worker; every column holds a single value.

    Args:
        model: served.
        device: one of its accelerators.
        place: layout and formats.
        factors: calibrated.
        longest_tokens: of a request, input and output.
        chunk_tokens: of inputs that one step carries at most.
        most_sequences: that the framework takes at once.
        columns: contexts of the table.
    """
    # What is cached is a matter of each request.
    place = replace(place, prefix_share=0.0)
    each = cache_bytes_per_token(model, cache_bytes=place.cache_bytes)
    each = each * cache_copies(model, attention_tp=place.attention_tp)
    free = place.gpus * (factors.cache_fraction * device.hbm_bytes - factors.reserved_bytes)
    free = free - held_bytes(model, place)
    pool = max(float(free), 0.0) / max(float(each), 1.0)
    short = replace(place, input_tokens=1.0, output_tokens=0.0)
    fitting = float(largest_batch(model, short, factors, hbm_bytes=device.hbm_bytes))
    most = int(max(1, min(most_sequences, fitting)))
    contexts = np.linspace(0.0, float(longest_tokens), columns)
    batch = np.arange(0.0, most + 1)[:, None]
    decode = decode_step(model, device, place, factors, sequences=batch, context=contexts[None, :]).total
    decode = np.broadcast_to(decode, (most + 1, columns)).copy()
    decode[0, :] = 0.0
    tokens = np.arange(0.0, longest_tokens + 1)
    return StepTable(
        decode_s=decode,
        context_tokens=float(contexts[1]),
        carrying_s=float(prefill_alone(model, device, place, factors, tokens=1.0)),
        prefill_s=prefill_time(model, device, place, factors, tokens=tokens),
        tokens_per_step=float(tokens_per_step(place, factors)),
        first_token_s=float(factors.first_token_s),
        most_sequences=most,
        pool_tokens=pool,
        chunk_tokens=chunk_tokens,
    )
