"""The files of a calibration: numbers, effects, bands, and the baseline."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from clusterwright import assets
from clusterwright.catalog.records import Accelerator
from clusterwright.evidence.training import baseline
from clusterwright.evidence.training.band_parts import sources_of
from clusterwright.evidence.training.effects import Effects, levels_of
from clusterwright.evidence.training.fitting import PRIORS
from clusterwright.evidence.training.learning import Calibrated
from clusterwright.evidence.training.probe_facts import Fact
from clusterwright.evidence.training.runs import Run
from clusterwright.sizing.hardware import bands
from clusterwright.sizing.hardware.calibration import COLUMNS, EFFECT_COLUMNS, FSDP, MEGATRON, SOURCE_COLUMNS
from clusterwright.sizing.hardware.training_software import RELEASE, SOFTWARE

_FITTED, _MEASURED = "fitted", "measured"
#: Runs from which on a number that is fitted to a generation and stack goes before one measured by a probe: fitted to
#: whole steps, it holds what kernels on their own do not show.
FITTED_RUNS = 20
_UNITS = {
    "rows_half": "tokens",
    "width_half": "elements",
    "memory_passes": "passes",
    "eager_passes": "ratio",
    "compiled_passes": "ratio",
    "step_overhead_s": "s",
    "expert_rows_half": "tokens",
    "expert_passes": "passes",
    "layer_overhead_s": "s",
    "expert_launch_s": "s",
    "grouped_efficiency": "ratio",
    "scale_up_latency_s": "s",
}
#: Smaller effects than this, in ln, are left out of the file, but for those that tell what was measured.
_SMALLEST = 5e-4
_TELLING = (RELEASE, SOFTWARE, "vendor", "accelerator_precision")


def number_rows(calibrated: Calibrated, *, source: str) -> list[dict[str, str]]:
    """Return the rows of `calibration.csv` that a calibration gives."""
    rows: list[dict[str, str]] = []
    for (generation, stack), tuning in sorted(calibrated.learnt.tunings.items()):
        if stack == "any":
            continue
        used = [run for run in calibrated.runs if run.stack == stack and generation in ("default", run.generation)]
        rows += [
            _row(
                (generation, stack, name),
                float(getattr(tuning, name)),
                unit=_UNITS.get(name, "fraction"),
                rows=len(used),
                source=source,
            )
            for name in PRIORS
        ]
    return rows


def _row(
    key: tuple[str, str, str], value: float, *, unit: str, rows: int, source: str, note: str = ""
) -> dict[str, str]:
    cells = (*key, f"{value:.4g}", unit, _FITTED, str(rows), source, note)
    return dict(zip(COLUMNS, cells, strict=True))


def replaced(text: str, rows: Sequence[dict[str, str]]) -> str:
    """Return the calibration file's text with its fitted rows replaced; assumed and published rows stay as they are."""
    kept = [row for row in csv.DictReader(io.StringIO(text)) if row["method"] != _FITTED]
    return _text(COLUMNS, [*kept, *rows])


def effect_rows(effects: Effects, runs: Sequence[Run], *, source: str) -> list[dict[str, str]]:
    """Return the rows of `calibration_effects.csv`: every effect with how many runs show it."""
    counts: dict[tuple[str, str], int] = {}
    for run in runs:
        for level in levels_of(run):
            counts[level] = counts.get(level, 0) + 1
    return [
        dict(zip(EFFECT_COLUMNS, (*level, f"{value:.4f}", "ln", str(counts.get(level, 0)), source), strict=True))
        for level, value in sorted(effects.values.items())
        if abs(value) >= _SMALLEST or level[0] in _TELLING
    ]


def baseline_rows(runs: Sequence[Run], *, source: str) -> list[dict[str, str]]:
    """Return the rows of `baseline_mfu.csv`."""
    return [
        dict(zip(baseline.COLUMNS, (*key, f"{share:.4f}", str(count), source), strict=True))
        for key, (share, count) in baseline.shares_of(runs).items()
    ]


def band_rows(calibrated: Calibrated, *, source: str) -> list[dict[str, str]]:
    """Return the rows of `calibration_bands.csv`."""
    return [
        dict(
            zip(
                bands.COLUMNS,
                (name, *(f"{value:.3f}" for value in (part.low, part.middle, part.high)), str(part.rows), source),
                strict=True,
            )
        )
        for name, part in calibrated.bands.items()
    ]


def source_rows(runs: Sequence[Run], *, source: str) -> list[dict[str, str]]:
    """Return the rows of `calibration_sources.csv`: how many sources and runs show a generation and kind of model."""
    return [
        dict(
            zip(
                SOURCE_COLUMNS,
                (*key, str(count), str(sum((run.generation, run.kind) == key for run in runs)), source),
                strict=True,
            )
        )
        for key, count in sorted(sources_of(runs).items())
    ]


def _text(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> str:
    output = io.StringIO()
    writer = csv.DictWriter(output, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return output.getvalue()


def write(folder: Path, calibrated: Calibrated, *, source: str) -> tuple[Path, ...]:
    """Write a calibration's files into a folder and return their paths.

    Numbers that are not fitted are taken from the folder's own `calibration.csv`, else from the shipped one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    own = folder / "calibration.csv"
    base = own if own.is_file() else assets.root() / "catalog" / "calibration.csv"
    learnt, runs = calibrated.learnt, calibrated.runs
    texts = {
        own: replaced(base.read_text(encoding="utf-8"), number_rows(calibrated, source=source)),
        folder / "calibration_effects.csv": _text(EFFECT_COLUMNS, effect_rows(learnt.effects, runs, source=source)),
        folder / "calibration_bands.csv": _text(bands.COLUMNS, band_rows(calibrated, source=source)),
        folder / "calibration_sources.csv": _text(SOURCE_COLUMNS, source_rows(runs, source=source)),
        folder / "baseline_mfu.csv": _text(baseline.COLUMNS, baseline_rows(runs, source=source)),
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return tuple(texts)


def measured_rows(
    accelerator: Accelerator, facts: Sequence[Fact], *, shipped: str, source: str
) -> tuple[list[dict[str, str]], list[tuple[str, str]]]:
    """Return rows of `calibration.csv` for what a probe measured, and the (name, stack) that fitted numbers keep.

    Args:
        accelerator: what was measured.
        facts: its numbers.
        shipped: text of the calibration file that they are added to.
        source: name of the probe's file.
    """
    fitted = {
        (row["stack"], row["name"])
        for row in csv.DictReader(io.StringIO(shipped))
        if row["generation"] == accelerator.generation and row["method"] == _FITTED and int(row["rows"]) >= FITTED_RUNS
    }
    rows, kept = [], []
    for fact in facts:
        for stack in (MEGATRON, FSDP):
            if (stack, fact.name) in fitted:
                kept.append((fact.name, stack))
                continue
            row = _row(
                (accelerator.id, stack, fact.name),
                fact.value,
                unit=_UNITS.get(fact.name, "fraction"),
                rows=fact.rows,
                source=source,
                note=fact.note,
            )
            rows.append(row | {"method": _MEASURED})
    return rows, kept


def write_adjusted(
    folder: Path,
    effects: Effects,
    runs: Sequence[Run],
    *,
    source: str,
    measured: Sequence[dict[str, str]] = (),
) -> tuple[Path, ...]:
    """Write the shipped numbers with one's own effects added to the shipped ones, and return the files' paths.

    Args:
        folder: to write to.
        effects: of one's own runs; none where there are only measurements.
        runs: that show them.
        source: name of the runs' file.
        measured: rows of `measured_rows`.
    """
    shipped = assets.root() / "catalog"
    folder.mkdir(parents=True, exist_ok=True)
    with (shipped / "calibration_effects.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["effect"], row["level"]): row for row in csv.DictReader(file)}
    for row in effect_rows(effects, runs, source=source):
        key = row["effect"], row["level"]
        if key in rows:
            summed = float(rows[key]["value"]) + float(row["value"])
            row = {**rows[key], "value": f"{summed:.4f}", "source": f"{rows[key]['source']}, {source}"}  # noqa: PLW2901
        rows[key] = row
    numbers = (shipped / "calibration.csv").read_text(encoding="utf-8")
    texts = {
        folder / "calibration.csv": numbers + "".join(_text(COLUMNS, measured).splitlines(keepends=True)[1:]),
        folder / "calibration_effects.csv": _text(EFFECT_COLUMNS, [rows[key] for key in sorted(rows)]),
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return tuple(texts)
