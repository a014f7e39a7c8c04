"""What training software does to the numbers of its stack: overlap, fusion, its attention kernel.

Kernels are in `catalog/attention_kernels.csv`, each with the share of the bf16 peak that it was measured at on a
generation of accelerators, on the FLOPs of causal attention with long sequences and heads of 128.
"""

import csv
from functools import cache

from clusterwright import assets
from clusterwright.errors import ClusterwrightError
from clusterwright.sizing.columns import Traits
from clusterwright.sizing.hardware.training_software import COMPILED, EAGER, UNFUSED, Software

#: The fastest kernel of an accelerator, which tuned software uses; a generation that has no row of its own.
FASTEST, ANY = "fastest", "any"


def traits_of(software: Software | None, *, generation: str) -> Traits:
    """Return the traits of a software on a generation of accelerators; those of tuned software where none is known."""
    if software is None:
        return Traits(attention_share=attention_share(FASTEST, generation))
    return Traits(
        plain=float(not software.overlaps_tensor_traffic),
        exposes_data=float(not software.overlaps_data_traffic),
        eager=float(software.execution == EAGER),
        compiled=float(software.execution == COMPILED),
        attention_share=attention_share(software.attention or FASTEST, generation),
        scores_written=float(software.attention == UNFUSED),
        blocking=float(software.blocking_transfers),
        gathers_per_layer=software.gathers_per_layer,
    )


def attention_share(kernel: str, generation: str) -> float:
    """Return the share of the bf16 peak that a kernel was measured at; one without a row is as the fastest.

    Raises:
        ClusterwrightError: the file cannot be read.
    """
    shares = _shares()
    keys = ((kernel, generation), (kernel, ANY), (FASTEST, generation), (FASTEST, ANY))
    return next(shares[key] for key in keys if key in shares)


@cache
def _shares() -> dict[tuple[str, str], float]:
    path = assets.root() / "catalog" / "attention_kernels.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            found = {(row["kernel"], row["generation"]): float(row["share"]) for row in csv.DictReader(file)}
    except (OSError, KeyError, ValueError) as error:
        raise ClusterwrightError(f"cannot read {path.name}: {error}", help="install Clusterwright again") from error
    if (FASTEST, ANY) not in found:
        raise ClusterwrightError(f"{path.name} has no kernel {FASTEST!r} of any generation", help="add a row for it")
    return found
