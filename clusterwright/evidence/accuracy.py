"""The page `docs/accuracy.md`: how far predictions are from published runs, from the calibration's own figures."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clusterwright.evidence.runs import NotExpressed

if TYPE_CHECKING:
    from clusterwright.evidence.calibrate import Fitted

_HEAD = """# How accurate the training engine is

Written by `python -m clusterwright.evidence.calibrate RUNS.csv`; do not edit by hand.

Every prediction below is out of sample: all runs of one group (model, accelerator, precision) are predicted with
numbers fitted on the other groups. Errors are of tokens per second per GPU, |predicted/measured - 1|, since "TFLOP/s
per GPU" is counted in three incompatible ways by the sources. The baseline is a constant MFU per accelerator and
precision (the median of the other groups'), which published planners do not clearly beat.

The band (P10 to P90 of ln(measured/predicted)) is what a plan prints. Each group counts once in it, since a job to be
planned is a new group. "In band" is the share of rows inside; 80 % would be ideal. `default` is what an accelerator
generation that was never measured takes: fitted on all runs, judged by leaving whole generations out; a constant MFU
per accelerator has nothing to say about those. `megatron` is tensor, pipeline and data parallelism, `fsdp` is sharding
without a pipeline.

The same layout republished in another software release differs by 5.5 % in the median and 30 % at the 90th percentile,
so that a median error below about 5 % across sources means little.
"""

_LIMITS = """
## What to trust, and what not

- A constant MFU is nearly as good on runs like those already published: most Hopper runs are tuned recipes of one
  vendor. What it cannot say is what a slower network, a smaller batch or another layout costs.
- Software moves: NeMo 24.11 runs of GPT-3 175B in fp8 on 512 and 1,024 H100 were slower than the band, one of NeMo
  24.12 faster. All bf16 and fp16 runs of 175B models in `tests/published` lie inside it when laid out as published.
- With the layout left open, the search finds better layouts than the runs of 2021 used (no full recomputation), so that
  those were slower than its band. So were Megatron-LM on 3,072 and 8,192 A100 and Megatron-Core on 2,304 H100.
- ZeRO-3 as DeepSpeed ran it in 2021 took up to 3.6 times as long as predicted.
- Blackwell mixes untuned bf16 runs and tuned fp8 runs; its band is wide, and fewer than 80 % of its rows lie inside.
- Memory is meant to be safe: it lies 1 to 13 % (median 5 %) above what 16 measured B200 runs allocated, and above what
  the accelerator has for some published 70B and 405B runs, whose recomputation and gradient precision are not stated.
"""


def document(fitted: "Sequence[Fitted]", skipped: Sequence[NotExpressed]) -> str:
    """Return the page in Markdown.

    Args:
        fitted: the generations and stacks with their errors.
        skipped: rows that the engine does not express.
    """
    parts = [_HEAD, _scores(fitted), _LIMITS, _accelerators(fitted), _worst(fitted), _skipped(skipped)]
    return "\n".join(parts)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def _scores(fitted: "Sequence[Fitted]") -> str:
    rows = []
    for entry in fitted:
        band = entry.residuals
        measured = entry.generation != "default"
        inside = float(np.mean((entry.errors >= band.p10) & (entry.errors <= band.p90)))
        rows.append(
            [
                entry.generation,
                entry.stack,
                str(entry.score.rows),
                str(entry.score.groups),
                f"{entry.score.mean_error:.1%}",
                f"{entry.score.median_error:.1%}",
                f"{entry.score.p90_error:.1%}",
                f"{entry.baseline.mean_error:.1%}" if measured else "n/a",
                f"{entry.baseline.median_error:.1%}" if measured else "n/a",
                f"{np.expm1(band.p10):+.1%} to {np.expm1(band.p90):+.1%}",
                f"{inside:.0%}",
            ]
        )
    header = (
        "generation", "stack", "rows", "groups", "MAPE", "median", "P90", "baseline MAPE", "baseline median", "band",
        "in band",
    )  # fmt: skip
    return "\n## By generation and stack\n\n" + _table(header, rows)


def _accelerators(fitted: "Sequence[Fitted]") -> str:
    errors: dict[tuple[str, str, str], list[float]] = {}
    for entry in fitted:
        if entry.generation != "default":
            for run, error in zip(entry.runs, entry.errors, strict=True):
                errors.setdefault((run.gpu, run.precision, run.software), []).append(float(error))
    rows = [
        [*key, str(len(values)), f"{np.median(np.abs(np.expm1(-np.array(values)))):.1%}", f"{np.mean(values):+.3f}"]
        for key, values in sorted(errors.items())
    ]
    header = ("accelerator", "precision", "software", "rows", "median error", "mean ln(measured/predicted)")
    return "\n## By accelerator and software release\n\n" + _table(header, rows)


def _worst(fitted: "Sequence[Fitted]", *, shown: int = 12) -> str:
    found = [
        (abs(float(error)), float(error), run.id)
        for entry in fitted
        if entry.generation != "default"
        for run, error in zip(entry.runs, entry.errors, strict=True)
    ]
    rows = [[name, f"{error:+.3f}"] for _, error, name in sorted(found, reverse=True)[:shown]]
    return "\n## Farthest from what was measured\n\n" + _table(("run", "ln(measured/predicted)"), rows)


def _skipped(skipped: Sequence[NotExpressed]) -> str:
    counted = Counter(entry.reason for entry in skipped)
    rows = [[reason, str(count)] for reason, count in sorted(counted.items())]
    return "\n## Not expressed\n\n" + _table(("reason", "rows"), rows)
