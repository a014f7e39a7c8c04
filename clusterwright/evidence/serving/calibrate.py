"""Fit the shipped factors of serving to measurements, judge them by leaving groups out, and write both.

Run as `python -m clusterwright.evidence.serving.calibrate RUNS.csv [RUNS.csv ...] -o FOLDER`, with `--models`.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from zlib import crc32

import numpy as np
import numpy.typing as npt

from clusterwright.catalog.load import load
from clusterwright.evidence import calibration_tables, models
from clusterwright.evidence.bands import LeftOut, bands_of, error_table, inside
from clusterwright.evidence.calibration_tables import Band
from clusterwright.evidence.serving.fitting import Fold, Problem, fit, left_out, problem_of
from clusterwright.evidence.serving.measurements import Measurement, read_measurements
from clusterwright.sizing.columns import Array
from clusterwright.sizing.serving import calibration
from clusterwright.sizing.serving.calibration import EVERY_KIND, METRICS, THROUGHPUT, Fitted, kind_of
from clusterwright.units import percent

_CONFIGURATION_FOLDS = 5
_PAIR_FOLDS = 6
_SAMPLE = "silicon_sample"
Flags = npt.NDArray[np.bool_]


def read(paths: Sequence[Path], own: Path | None = None) -> list[Measurement]:
    """Return the measurements of files, each once."""
    catalogue = load()
    known = models.catalogued(catalogue)
    first = models.read_models(own) if own else {}
    found: list[Measurement] = []
    for path in paths:
        found += read_measurements(path, catalogue, own=first, known=known).rows
    return [row for row in found if row.measured and not row.repeated]


def design_of(row: Measurement) -> str:
    """Return what names of the same design share: dimensions and experts, whatever the vocabulary."""
    shape = row.model.shape
    return f"{shape.layers:g}/{shape.hidden:g}/{shape.experts:g}/{shape.experts_per_token:g}"


def cross_validate(problem: Problem, fitted: Fitted) -> dict[str, dict[str, Array]]:
    """Return ln(measured/predicted) by level and metric; NaN for rows that a level does not judge.

    Args:
        problem: measurements.
        fitted: factors fitted to all of them, where the folds' equations are linearised.
    """
    rows = problem.rows
    hardware = [row.accelerator.id for row in rows]
    design = [design_of(row) for row in rows]
    pair = [str(_fold(f"{one} {other}", _PAIR_FOLDS)) for one, other in zip(hardware, design, strict=True)]
    curve = [str(_fold(_curve_of(row), _CONFIGURATION_FOLDS)) for row in rows]
    both = [f"{one} {other}" for one, other in zip(hardware, design, strict=True)]
    found = {
        level: left_out(problem, fitted, cells, [Fold(predicted=one, unseen=one) for one in _apart(cells)])
        for level, cells in (
            (calibration.KNOWN_PAIR, curve),
            (calibration.UNSEEN_PAIR, pair),
            (calibration.UNSEEN_HARDWARE, hardware),
            (calibration.UNSEEN_MODEL, design),
        )
    }
    crossed = [
        Fold(
            predicted=frozenset({cell}),
            unseen=frozenset(
                f"{one} {other}"
                for one, other in zip(hardware, design, strict=True)
                if one == cell.split(" ")[0] or other == cell.split(" ")[1]
            ),
        )
        for cell in sorted(set(both))
    ]
    found[calibration.BOTH_UNSEEN] = left_out(problem, fitted, both, crossed)
    for level, cells in (
        (calibration.UNSEEN_GENERATION, [row.accelerator.generation for row in rows]),
        (calibration.UNSEEN_FRAMEWORK, [row.framework for row in rows]),
        (calibration.UNSEEN_RELEASE, [row.release for row in rows]),
    ):
        # Rows whose text is not stated are never left out.
        left = [one for one in _apart(cells) if one != frozenset({""})]
        found[level] = left_out(problem, fitted, cells, [Fold(predicted=one, unseen=one) for one in left])
    return found


def _apart(cells: Sequence[str]) -> list[frozenset[str]]:
    return [frozenset({cell}) for cell in sorted(set(cells))]


def _fold(group: str, count: int) -> int:
    return crc32(group.encode()) % count


def _curve_of(row: Measurement) -> str:
    """Return what measurements share that differ in their concurrency alone."""
    parts = (
        row.model.name,
        row.accelerator.id,
        row.named_framework,
        row.precision,
        row.gpus,
        row.attention_tp,
        row.expert_parallel,
        row.workers,
        row.input_tokens,
        row.output_tokens,
        row.speculative,
        row.scenario,
    )
    return " ".join(str(part) for part in parts)


#: Rows that the best open tool, AIConfigurator 0.12.0, was compared with.
_ANCHOR: Mapping[str, Callable[[Measurement], bool]] = MappingProxyType(
    {
        "silicon sample, aggregated": lambda row: _SAMPLE in row.origin and not row.disaggregated,
        "silicon sample, disaggregated": lambda row: _SAMPLE in row.origin and row.disaggregated,
        "TensorRT-LLM 0.14 to 1.0": lambda row: (
            "perf-overview" in row.origin
            and row.release in ("tensorrt-llm 0.14", "tensorrt-llm 0.20", "tensorrt-llm 1.0")
        ),
        "TensorRT-LLM 0.9": lambda row: "perf-overview" in row.origin and row.release == "tensorrt-llm 0.9",
    }
)
_GROUPS: Mapping[str, Callable[[Measurement], bool]] = MappingProxyType(
    {
        "dense": lambda row: not row.model.routed,
        "experts": lambda row: row.model.routed,
        "disaggregated": lambda row: row.disaggregated,
        "speculative": lambda row: bool(row.speculative),
        "MLPerf": lambda row: row.kind == "mlperf",
    }
)


def left_out_levels(rows: Sequence[Measurement], residuals: Mapping[str, Mapping[str, Array]]) -> dict[str, LeftOut]:
    """Return the residuals of each level with the kinds of rows, and the groups that err together at it."""
    pair = [f"{row.accelerator.id} {design_of(row)}" for row in rows]
    groups = {
        calibration.KNOWN_PAIR: [_curve_of(row) for row in rows],
        calibration.UNSEEN_HARDWARE: [row.accelerator.id for row in rows],
        calibration.UNSEEN_MODEL: [design_of(row) for row in rows],
        calibration.UNSEEN_GENERATION: [row.accelerator.generation for row in rows],
        calibration.UNSEEN_FRAMEWORK: [row.framework for row in rows],
        calibration.UNSEEN_RELEASE: [row.release for row in rows],
    }
    kinds = [kind_of(row) for row in rows]
    return {
        level: LeftOut(residuals=by_metric, kinds=kinds, groups=groups.get(level, pair))
        for level, by_metric in residuals.items()
    }


def band_table(
    levels: Mapping[str, LeftOut], rows: Sequence[Measurement], bands: Mapping[tuple[str, str, str], Band]
) -> list[str]:
    """Return the share of left-out rows inside bands of other groups, and P90/P10; of throughput by group too."""
    lines = ["| level | " + " | ".join((*METRICS, *_GROUPS)) + " |", "|---" * (len(METRICS) + len(_GROUPS) + 1) + "|"]
    chosen = {name: np.array([belongs(row) for row in rows]) for name, belongs in _GROUPS.items()}
    for level in calibration.LEVELS:
        within, shares = inside(levels[level]), []
        for metric in METRICS:
            low, high, _ = bands[level, EVERY_KIND, metric]
            shares.append(f"{percent(float(np.nanmean(within[metric])))} ({np.exp(high - low):.2f})")
        shares += [percent(float(np.nanmean(within[THROUGHPUT][of]))) for of in chosen.values()]
        lines.append(f"| {level} | " + " | ".join(shares) + " |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, judge and write; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--models", type=Path, default=None)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args(arguments)
    problem = problem_of(read(given.runs, given.models))
    fitted = fit(problem)
    residuals = cross_validate(problem, fitted)
    pairs: dict[tuple[str, str], int] = {}
    for row in problem.rows:
        key = (row.model.name, row.accelerator.id)
        pairs[key] = pairs.get(key, 0) + 1
    date = datetime.now(tz=UTC).date().isoformat()
    source = " ".join(path.name for path in given.runs)
    given.output.mkdir(parents=True, exist_ok=True)
    levels = left_out_levels(problem.rows, residuals)
    bands = bands_of(levels)
    written = calibration_tables.write(
        given.output, "serving", fitted, bands, pairs, source=source, date=date, rows=len(problem.rows)
    )
    kinds = np.array([row.kind for row in problem.rows])
    parts = {"all": np.ones(len(kinds), dtype=bool)} | {str(kind): kinds == kind for kind in np.unique(kinds)}
    for name, belongs in _ANCHOR.items():
        parts[name] = np.array([belongs(row) for row in problem.rows])
    for name, chosen in parts.items():
        print(f"\n### {name}\n", *error_table(residuals, calibration.LEVELS, chosen), sep="\n")  # noqa: T201 - the result
    print("\n### bands\n", *band_table(levels, problem.rows, bands), sep="\n")  # noqa: T201
    print(*(f"wrote {path}" for path in written), sep="\n")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
