"""Fit the shipped factors of fine-tuning to measurements, judge them by leaving groups out, and write both.

Run as `python -m clusterwright.evidence.finetuning.calibrate RUNS.csv [RUNS.csv ...] -o FOLDER`, with `--models`.
"""

import argparse
import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

import numpy as np

from clusterwright.catalog.load import load
from clusterwright.evidence import calibration_tables, models
from clusterwright.evidence.bands import LeftOut, bands_of, error_table
from clusterwright.evidence.finetuning.fitting import Problem, fit, predict, problem_of
from clusterwright.evidence.finetuning.measurements import Measurement, read_measurements
from clusterwright.sizing.columns import Array
from clusterwright.sizing.finetuning.calibration import METRICS, THROUGHPUT, TIME_TO_TRAIN
from clusterwright.sizing.finetuning.configuration import FULL, INFERENCE, LORA, QLORA
from clusterwright.sizing.serving import calibration as levels
from clusterwright.sizing.serving.calibration import EVERY_KIND, UNSEEN_FRAMEWORK

SAMPLES = "finetuning_samples.csv"
SAMPLE_COLUMNS = ("benchmark", "global_batch", "samples_to_target", "rows", "source", "date")
_FOLDS = 5
#: Rows of a global batch that its samples to target need.
_LEAST_ROWS = 1


def read(paths: Sequence[Path], own: Path | None = None) -> list[Measurement]:
    """Return the measurements of files."""
    catalogue = load()
    known = models.catalogued(catalogue)
    first = models.read_models(own) if own else {}
    found: list[Measurement] = []
    for path in paths:
        found += read_measurements(path, catalogue, own=first, known=known).rows
    return [row for row in found if row.measured]


def publisher_of(row: Measurement) -> str:
    """Return who published a row: a framework's authors, or a benchmark's round."""
    return row.framework if not row.benchmark else row.benchmark


#: What rows share that are left out together, by level.
GROUPS: Mapping[str, Callable[[Measurement], str]] = {
    levels.KNOWN_PAIR: lambda row: str(crc32(f"{row.kind}{row.line}".encode()) % _FOLDS),
    levels.UNSEEN_PAIR: lambda row: f"{row.model.name} {row.accelerator.id}",
    levels.UNSEEN_HARDWARE: lambda row: row.accelerator.id,
    levels.UNSEEN_MODEL: lambda row: row.model.name,
    levels.BOTH_UNSEEN: publisher_of,
}


def left_out(problem: Problem, group: Callable[[Measurement], str], *, nameless: bool = False) -> dict[str, Array]:
    """Return ln(measured/predicted) by metric, each row predicted with factors that have not seen its group.

    Args:
        problem: measurements.
        group: what rows share that are left out together.
        nameless: whether rows are predicted as those of a framework that nobody knows.
    """
    asked = problem_of([replace(row, framework="") for row in problem.rows]) if nameless else problem
    groups = np.array([group(row) for row in problem.rows])
    found = {metric: np.full(len(problem.rows), np.nan) for metric in METRICS}
    for name in np.unique(groups):
        mine = groups == name
        if mine.all():
            continue
        said = predict(asked, fit(problem, ~mine))
        for metric in METRICS:
            found[metric][mine] = (np.log(problem.measured[metric]) - said[metric])[mine]
    return found


def samples_of(rows: Sequence[Measurement]) -> list[tuple[str, float, float, int]]:
    """Return benchmark, global batch, median of rate times time in samples, and rows behind it."""
    found: dict[tuple[str, float], list[float]] = {}
    for row in rows:
        if row.benchmark and THROUGHPUT in row.measured and TIME_TO_TRAIN in row.measured:
            rate = row.measured[THROUGHPUT] * row.gpus / row.tokens
            found.setdefault((row.benchmark, row.global_batch), []).append(rate * row.measured[TIME_TO_TRAIN] * 60)
    return [
        (benchmark, batch, float(np.median(samples)), len(samples))
        for (benchmark, batch), samples in sorted(found.items())
        if len(samples) >= _LEAST_ROWS
    ]


def _write_samples(folder: Path, rows: Sequence[Measurement], *, source: str, date: str) -> Path:
    path = folder / SAMPLES
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(SAMPLE_COLUMNS)
        for benchmark, batch, samples, count in samples_of(rows):
            said = f"median of samples/s x minutes of {source}; evaluations included"
            writer.writerow((benchmark, f"{batch:g}", f"{samples:.0f}", count, said, date))
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, judge and write; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--models", type=Path, default=None)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args(arguments)
    problem = problem_of(read(given.runs, given.models))
    rows = problem.rows
    residuals = {level: left_out(problem, group) for level, group in GROUPS.items()}
    residuals[UNSEEN_FRAMEWORK] = left_out(problem, publisher_of, nameless=True)
    kinds = [EVERY_KIND] * len(rows)
    left = {
        level: LeftOut(residuals=found, kinds=kinds, groups=[GROUPS.get(level, publisher_of)(row) for row in rows])
        for level, found in residuals.items()
    }
    bands = bands_of(left)
    pairs: dict[tuple[str, str], int] = {}
    for row in problem.rows:
        key = (row.model.name, row.accelerator.id)
        pairs[key] = pairs.get(key, 0) + 1
    date = datetime.now(tz=UTC).date().isoformat()
    source = " ".join(path.name for path in given.runs)
    given.output.mkdir(parents=True, exist_ok=True)
    written = calibration_tables.write(
        given.output,
        "finetuning",
        fit(problem),
        bands,
        pairs,
        source=source,
        date=date,
        rows=len(problem.rows),
    )
    written.append(_write_samples(given.output, problem.rows, source=source, date=date))
    method = np.array([row.method for row in problem.rows])
    parts = {"all": np.ones(len(method), dtype=bool)} | {
        name: method == name for name in (FULL, LORA, QLORA, INFERENCE) if np.any(method == name)
    }
    for name, chosen in parts.items():
        print(f"\n### {name}\n", *error_table(residuals, tuple(residuals), chosen), sep="\n")  # noqa: T201
    print(*(f"wrote {path}" for path in written), sep="\n")  # noqa: T201 - the result
    return 0


if __name__ == "__main__":
    sys.exit(main())
