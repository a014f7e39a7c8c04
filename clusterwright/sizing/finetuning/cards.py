"""Which cards a model can be fine-tuned on, by method: memory of one to eight cards, sharded, everything recomputed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clusterwright.catalog.records import Accelerator
from clusterwright.sizing.columns import Array
from clusterwright.sizing.finetuning.calibration import MEMORY, NAMES, Calibration, factors_of, levels_of
from clusterwright.sizing.finetuning.configuration import (
    ADAPTER,
    ALWAYS,
    DORA,
    FULL,
    LORA,
    PROMPT,
    QLORA,
    Configuration,
    adapter_parameters,
    columns_of,
)
from clusterwright.sizing.finetuning.memory import peak
from clusterwright.sizing.serving.calibration import logarithms, memberships_of
from clusterwright.workload.inference import NamedModel

COUNTS = (1, 2, 4, 8)
#: Moments in eight bits, two for each weight (arXiv 2110.02861).
_EIGHT_BIT_MOMENTS = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """One method with its precision, and what it needs.

    Attributes:
        trained_parameters: all for full fine-tuning.
        bytes_by_count: on each of a given number of cards, as the device shows it; largest_by_count: its P90.
    """

    method: str
    precision: str
    optimizer: str
    trained_parameters: float
    bytes_by_count: Mapping[int, float]
    largest_by_count: Mapping[int, float]

    def fewest(self, accelerator: Accelerator) -> int | None:
        """Return the fewest cards of a kind that hold it, None where eight do not."""
        held = accelerator.hbm_bytes or 0.0
        return next((count for count, needed in self.bytes_by_count.items() if needed <= held), None)


#: Method, format of the base weights, optimizer, and bytes of its moments where they are not the practice's.
_WAYS = (
    (FULL, "bf16", "AdamW, fp32 moments", None),
    (FULL, "bf16", "AdamW, 8 bits", _EIGHT_BIT_MOMENTS),
    (LORA, "bf16", "AdamW", None),
    (LORA, "fp8", "AdamW", None),
    (DORA, "bf16", "AdamW", None),
    (ADAPTER, "bf16", "AdamW", None),
    (PROMPT, "bf16", "AdamW", None),
    (QLORA, "int8", "AdamW", None),
    (QLORA, "nf4", "AdamW", None),
    (QLORA, "nf4-dq", "AdamW", None),
)


def ways(
    model: NamedModel, accelerator: Accelerator, calibration: Calibration, *, tokens: float, sequences: float
) -> tuple[Way, ...]:
    """Return every method with its memory on one to eight cards.

    Args:
        model: to fine-tune.
        accelerator: any; memory does not depend on it.
        calibration: of the factors.
        tokens: of a sequence.
        sequences: of one pass on each card.
    """
    base = Configuration(
        accelerator=accelerator,
        model=model,
        framework="",
        method=FULL,
        precision="bf16",
        gpus=1.0,
        nodes=1.0,
        sequences=sequences,
        model_parallel=1.0,
        tokens=tokens,
        filled=1.0,
        global_batch=sequences,
        recompute=ALWAYS,
    )
    runs = [
        _run(base, method, precision, moments, count) for method, precision, _, moments in _WAYS for count in COUNTS
    ]
    needed = _needed(runs, calibration)
    low_high = calibration.band_of(runs[0], calibration.level_of(runs[0]), MEMORY)
    found = []
    for index, (method, precision, optimizer, _) in enumerate(_WAYS):
        own = needed[index * len(COUNTS) : (index + 1) * len(COUNTS)]
        run = runs[index * len(COUNTS)]
        by_count = {count: float(each) for count, each in zip(COUNTS, own, strict=True)}
        found.append(
            Way(
                method=method,
                precision=precision,
                optimizer=optimizer,
                trained_parameters=float(model.shape.parameters) if method == FULL else adapter_parameters(run),
                bytes_by_count=by_count,
                largest_by_count={count: each * float(np.exp(low_high[1])) for count, each in by_count.items()},
            )
        )
    return tuple(found)


def _run(base: Configuration, method: str, precision: str, moments: float | None, count: int) -> Configuration:
    batch = base.sequences * count
    return replace(
        base, method=method, precision=precision, optimizer_bytes=moments, gpus=float(count), global_batch=batch
    )


def _needed(runs: Sequence[Configuration], calibration: Calibration) -> Array:
    columns = columns_of(runs)
    given = logarithms(memberships_of([levels_of(run) for run in runs]), calibration.fitted, names=NAMES)
    memory = peak(columns.model, columns.task, factors_of(given)).on_device()
    found: Array = memory * np.exp(given["memory_scale"])
    return found
