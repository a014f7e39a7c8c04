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
generation that was never measured takes: fitted on all runs, judged by leaving whole generations out.

The same layout republished in another software release differs by 5.5 % in the median and 30 % at the 90th percentile,
so that a median error below about 5 % across sources means little.
"""


def document(fitted: "Sequence[Fitted]", skipped: Sequence[NotExpressed]) -> str:
    """Return the page in Markdown.

    Args:
        fitted: the generations and stacks with their errors.
        skipped: rows that the engine does not express.
    """
    parts = [_HEAD, _scores(fitted), _accelerators(fitted), _worst(fitted), _skipped(skipped)]
    return "\n".join(parts)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def _scores(fitted: "Sequence[Fitted]") -> str:
    rows = []
    for entry in fitted:
        band = entry.residuals
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
                f"{entry.baseline.mean_error:.1%}",
                f"{entry.baseline.median_error:.1%}",
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
