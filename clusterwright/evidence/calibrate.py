"""Calibrate on a file of measured runs: `python -m clusterwright.evidence.calibrate RUNS.csv`.

Fits every accelerator generation and stack, replaces the fitted rows of `catalog/calibration.csv`, and writes the
accuracy that grouped cross-validation finds into `docs/accuracy.md`. Deterministic: the same runs give the same bytes.
"""

import csv
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clusterwright import assets
from clusterwright.errors import ClusterwrightError
from clusterwright.evidence import accuracy, validate
from clusterwright.evidence.fitting import PRIORS, fit
from clusterwright.evidence.nodes import measured_nodes
from clusterwright.evidence.runs import Run, read_runs
from clusterwright.evidence.validate import Score
from clusterwright.sizing.calibration import COLUMNS, FSDP, MEGATRON, Residuals, load_calibration
from clusterwright.sizing.columns import Array, Tuning

DEFAULT = "default"
#: Fewer groups than this leave the priors in charge; the band of such a generation is the default's.
FEWEST_GROUPS = 3
_FITTED = "fitted"
_UNITS = {
    "rows_half": "tokens",
    "width_half": "elements",
    "memory_passes": "passes",
    "layer_overhead_s": "s",
    "residual_p10": "ln",
    "residual_p50": "ln",
    "residual_p90": "ln",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """One generation under one stack, fitted and judged.

    Attributes:
        generation: `default` for what a generation without runs takes: fitted on all runs, judged by leaving whole
            generations out.
        errors: out-of-fold ln(measured/predicted) of each run.
        score, baseline: of the engine and of a constant MFU, on runs neither was fitted on.
    """

    generation: str
    stack: str
    runs: tuple[Run, ...]
    tuning: Tuning
    errors: Array
    residuals: Residuals
    score: Score
    baseline: Score


def calibrate(runs: Sequence[Run], start: Tuning) -> list[Fitted]:
    """Return every generation and stack that the runs hold, and the defaults, fitted and judged."""
    found: list[Fitted] = []
    for stack in (MEGATRON, FSDP):
        of_stack = [run for run in runs if run.stack == stack]
        if not of_stack:
            continue
        for generation in (DEFAULT, *sorted({run.generation for run in of_stack})):
            chosen = of_stack if generation == DEFAULT else [run for run in of_stack if run.generation == generation]
            if len({run.group for run in chosen}) >= FEWEST_GROUPS:
                found.append(_fitted(generation, stack, chosen, start))
    return found


def _fitted(generation: str, stack: str, runs: list[Run], start: Tuning) -> Fitted:
    errors = validate.cross_validated(
        runs, start, fold_of=lambda run: run.generation if generation == DEFAULT else run.group
    )
    return Fitted(
        generation=generation,
        stack=stack,
        runs=tuple(runs),
        tuning=fit(runs, start),
        errors=errors,
        residuals=validate.band(runs, errors),
        score=validate.score(runs, errors),
        baseline=validate.score(runs, validate.constant_mfu(runs)),
    )


def rows_of(fitted: Sequence[Fitted], *, source: str) -> list[dict[str, str]]:
    """Return the rows of `catalog/calibration.csv` that the fit gives."""
    rows = []
    for entry in fitted:
        values = {name: float(getattr(entry.tuning, name)) for name in PRIORS}
        values |= {f"residual_{name}": float(getattr(entry.residuals, name)) for name in ("p10", "p50", "p90")}
        for name, value in values.items():
            judged = "leaving whole generations out" if entry.generation == DEFAULT else "grouped cross-validation"
            rows.append(
                {
                    "generation": entry.generation,
                    "stack": entry.stack,
                    "name": name,
                    "value": f"{value:.4g}",
                    "unit": _UNITS.get(name, "fraction"),
                    "method": _FITTED,
                    "rows": str(entry.residuals.rows),
                    "source": source,
                    "note": f"{judged}, {entry.score.groups} groups" if name.startswith("residual") else "",
                }
            )
    return rows


def replaced(text: str, rows: Sequence[dict[str, str]]) -> str:
    """Return the calibration file's text with its fitted rows replaced; assumed and published rows stay as they are."""
    kept = [row for row in csv.DictReader(io.StringIO(text)) if row["method"] != _FITTED]
    output = io.StringIO()
    writer = csv.DictWriter(output, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows([*kept, *rows])
    return output.getvalue()


def main(arguments: Sequence[str]) -> int:
    """Calibrate on the file named by the only argument and write the calibration and its accuracy.

    Returns:
        An exit code.
    """
    from clusterwright.catalog.load import load  # noqa: PLC0415 - only the command needs the whole catalogue

    if len(arguments) != 1:
        sys.stderr.write("usage: python -m clusterwright.evidence.calibrate RUNS.csv\n")
        return 2
    path = Path(arguments[0])
    try:
        runs, skipped = read_runs(path, measured_nodes(load()))
        start = load_calibration().of(generation="none", stack="none").tuning
        fitted = calibrate(runs, start)
        target = assets.root() / "catalog" / "calibration.csv"
        target.write_text(
            replaced(target.read_text(encoding="utf-8"), rows_of(fitted, source=path.name)),
            encoding="utf-8",
        )
        table = assets.root() / "docs" / "accuracy.md"
        table.write_text(accuracy.document(fitted, skipped), encoding="utf-8")
    except ClusterwrightError as error:
        sys.stderr.write(f"{error.message}\n")
        return error.exit_code
    for entry in fitted:
        sys.stdout.write(
            f"{entry.generation} {entry.stack}: {entry.score.rows} runs, median error {entry.score.median_error:.1%} "
            f"(constant MFU {entry.baseline.median_error:.1%})\n"
        )
    sys.stdout.write(
        f"{sum(np.size(entry.errors) for entry in fitted)} predictions, {len(skipped)} rows not expressed\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
