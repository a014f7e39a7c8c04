"""The commands that hold the training engine against measured runs: validate, calibrate."""

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.cli.render.text_table import Column, fitted, table
from clusterwright.errors import EXIT_BAD_INPUT, EXIT_FINE, InputError
from clusterwright.units import percent

if TYPE_CHECKING:
    from clusterwright.evidence.probe.records import Measurement
    from clusterwright.evidence.rows import NotExpressed
    from clusterwright.evidence.training.effects import Effects
    from clusterwright.evidence.training.runs import Run
    from clusterwright.sizing.hardware.calibration import Calibration


def training(path: Path, *, as_json: bool, predictions_to: Path | None = None) -> int:
    """Predict every run of a file and print the errors; return the exit code.

    Args:
        path: a file of measured runs.
        as_json: whether to print JSON.
        predictions_to: a CSV file for the prediction of every row, None for none.

    Raises:
        InputError: the file cannot be read or lacks columns, or the predictions cannot be written.
    """
    from clusterwright.catalog.load import load
    from clusterwright.evidence.training import baseline, measured_memory, report
    from clusterwright.evidence.training.nodes import measured_nodes
    from clusterwright.evidence.training.runs import read_measurements
    from clusterwright.sizing.hardware.calibration import load_calibration

    catalogue = load()
    measured, skipped = read_measurements(path, measured_nodes(catalogue), catalogue.models.values())
    runs = [run for run in measured if run.timed]
    predictions = report.predict(runs, load_calibration(), shares=baseline.load_shares()) if runs else None
    memory = measured_memory.predict(measured)
    found = report.document(predictions, skipped, memory)
    if predictions_to is not None:
        _write(predictions_to, report.PREDICTION_COLUMNS, report.prediction_rows(predictions, memory))
    print(json.dumps(found, indent=1, allow_nan=False) if as_json else fitted(_text(found)))
    wrong = [row for row in skipped if row.wrong]
    for row in wrong:
        print(f"error: {path.name}: {row.id}: {row.reason}", file=sys.stderr)
    return EXIT_BAD_INPUT if wrong else EXIT_FINE


def calibrate(paths: Sequence[Path], output: Path, *, anew: bool, models: Path | None = None) -> int:
    """Write a calibration from measured runs, files of `clusterwright probe`, or both; return the exit code.

    The effects of runs are those that remain with the measured numbers. Serving measurements, known by their header,
    adjust the engine of serving.

    Raises:
        InputError: a file cannot be read, a row of runs is wrong, or a probe says nothing of an accelerator.
    """
    from clusterwright.evidence.probe import file
    from clusterwright.evidence.serving.measurements import is_serving
    from clusterwright.evidence.training import effects, store

    served = [path for path in paths if is_serving(path)]
    if served:
        from clusterwright.cli.measured import validate_serving

        if anew:
            raise InputError("--anew fits runs of training alone", help=f"leave out --anew, or {served[0].name}")
        lines, written = validate_serving.calibrate(served, output, models=models)
        rest = [path for path in paths if path not in served]
        if not rest:
            _say_written(lines, written, output)
            return EXIT_FINE
        print(fitted("\n".join([*lines, *(f"wrote {entry}" for entry in written)])))
        paths = rest
    probes = [path for path in paths if file.is_probe(path)]
    tables = [path for path in paths if path not in probes]
    if len(tables) > 1:
        names = ", ".join(path.name for path in tables)
        raise InputError(f"measured runs come in one file: {names}", help="join them, with one header")
    if anew:
        if probes:
            raise InputError("--anew fits runs alone", help=f"leave out --anew, or {probes[0].name}")
        return _calibrate_anew(tables[0], output)
    measured, lines = _measured(probes)
    own = effects.NO_EFFECTS
    runs: list[Run] = []
    if tables:
        own, runs, said = _own_effects(tables[0], measured)
        lines += said
    source = tables[0].name if tables else ""
    _say_written(lines, store.write_adjusted(output, own, runs, source=source, measured=measured), output)
    return EXIT_FINE


def _calibrate_anew(path: Path, output: Path) -> int:
    from clusterwright.evidence.training import accuracy, calibrate, store

    runs, skipped = _usable_runs(path)
    calibrated = calibrate.calibrate(runs, _shipped().of(generation="none", stack="none").tuning)
    written = store.write(output, calibrated, source=path.name)
    (output / "accuracy.md").write_text(accuracy.document(calibrated, skipped), encoding="utf-8")
    _say_written([*accuracy.summary(calibrated), *_not_expressed(skipped)], written, output)
    return EXIT_FINE


def _own_effects(path: Path, measured: Sequence[Mapping[str, str]]) -> tuple["Effects", list["Run"], list[str]]:
    """Return the effects that a file of runs shows beside shipped and measured numbers, the runs, and what to say."""
    import numpy as np

    from clusterwright.evidence.training import effects, report
    from clusterwright.evidence.training.baseline import load_shares

    runs, skipped = _usable_runs(path)
    shipped = _shipped()
    values = {(row["generation"], row["stack"], row["name"]): float(row["value"]) for row in measured}
    calibration = replace(shipped, values=shipped.values | values)
    before = report.predict(runs, calibration, shares=load_shares()).errors
    own = effects.estimate(runs, before, deviations=effects.OWN_DEVIATIONS, noise=effects.OWN_NOISE)
    median = float(np.median(np.abs(np.expm1(-before))))
    said = f"{len(runs)} runs, median error {percent(median, digits=1)} before; {len(own.values)} effects added"
    return own, runs, [said, *_not_expressed(skipped)]


def _measured(paths: Sequence[Path]) -> tuple[list[dict[str, str]], list[str]]:
    """Return the rows of `calibration.csv` that files of a probe give, and what to say about them.

    Raises:
        InputError: they give none.
    """
    from clusterwright.catalog.load import load
    from clusterwright.evidence.probe import file
    from clusterwright.evidence.training import probe_facts as facts
    from clusterwright.evidence.training import store
    from clusterwright.sizing.hardware.calibration import FSDP, MEGATRON

    catalogue = load()
    by_accelerator: dict[str, list[Measurement]] = {}
    for path in paths:
        found = file.read(path, catalogue)
        for row in found.wrong:
            print(f"warning: {path.name}:{row.line}: left out: {row.reason}", file=sys.stderr)
        for one in found.measurements:
            by_accelerator.setdefault(one.environment.accelerator, []).append(one)
    shipped = _shipped()
    text = _shipped_path().read_text(encoding="utf-8")
    source = ", ".join(path.name for path in paths)
    rows: list[dict[str, str]] = []
    lines: list[str] = []
    for identity, measurements in by_accelerator.items():
        if not identity:
            continue
        accelerator = catalogue.accelerators[identity]
        prior = shipped.of(generation=accelerator.generation, stack=FSDP).tuning
        given = facts.facts_of(accelerator, measurements, prior)
        numbers = [fact for fact in given if fact.credible]
        for fact in given:
            if not fact.credible:
                low, high = facts.CREDIBLE[fact.name]
                why = f"not between {low:g} and {high:g}"
                print(f"warning: {identity}: left out: {fact.name} {fact.value:.3g} is {why}", file=sys.stderr)
        own, kept = store.measured_rows(accelerator, numbers, shipped=text, source=source)
        rows += own
        lines.append(f"{accelerator.name}, {len(measurements)} measurements:")
        for fact in numbers:
            stacks = [stack for stack in (MEGATRON, FSDP) if (fact.name, stack) in kept]
            why = f" (that of published runs stays for {' and '.join(stacks)})" if stacks else ""
            lines.append(f"  {fact.name} {fact.value:.4g}: {fact.note}{why}")
    if paths and not lines:
        raise InputError(
            f"{source}: no measurement of an accelerator of the catalogue",
            help="measure with PyTorch where it sees the accelerator, and name it with --accelerator",
        )
    return rows, lines


def _usable_runs(path: Path) -> tuple[list["Run"], list["NotExpressed"]]:
    """Return the runs of a file, and the rows that are not expressed.

    Raises:
        InputError: a row is wrong, or none can be used.
    """
    from clusterwright.catalog.load import load
    from clusterwright.evidence.training import calibrate

    runs, skipped = calibrate.read(path, load())
    wrong = [row for row in skipped if row.wrong]
    if wrong or not runs:
        told = "; ".join(f"{row.id}: {row.reason}" for row in (wrong or skipped))
        raise InputError(f"{path.name} cannot be calibrated on: {told}", help="correct these rows, or remove them")
    return runs, skipped


def _shipped() -> "Calibration":
    from clusterwright.sizing.hardware.calibration import load_calibration

    return load_calibration(_shipped_path())


def _shipped_path() -> Path:
    from clusterwright import assets

    return assets.root() / "catalog" / "calibration.csv"


def _not_expressed(skipped: Sequence["NotExpressed"]) -> list[str]:
    return [f"{len(skipped)} rows not expressed"] if skipped else []


def _say_written(lines: Sequence[str], written: Sequence[Path], output: Path) -> None:
    text = "\n".join([*lines, *(f"wrote {entry}" for entry in written)])
    print(fitted(text))
    print(f"use it with: CLUSTERWRIGHT_CALIBRATION={output} clusterwright plan BLUEPRINT")


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}", help="name a file in an existing folder") from error


def _text(found: dict[str, Any]) -> str:
    titles = ("", "rows", "predicted", "median", "P90", "baseline", "in band", "memory", "false OOM")
    columns = [Column(title, "" if place else "left") for place, title in enumerate(titles)]
    parts = [("all", found), *found["by"].items()]
    lines = [table(columns, [_cells(name, part) for name, part in parts])]
    memory = found["memory"]
    if memory["rows"]:
        refused = f"{memory['ran_refused']} of {memory['ran']} layouts that ran are refused"
        oom = f", {memory['oom_refused']} of {memory['oom']} that ran out of memory" if memory["oom"] else ""
        peaks = f"{memory['predicted']} published peaks" if memory["predicted"] else "no published peak"
        band = f", {percent(memory['in_band'], digits=1)} of them in band" if memory["predicted"] else ""
        lines += ["", f"memory: {peaks}{band}; {refused}{oom}; Brier score {memory['brier']:.3f}"]
    if found["worst"]:
        lines += ["", "farthest from what was measured:"]
        lines += [
            f"  {row['id']}: ln(measured/predicted) {row['ln_measured_over_predicted']:+.2f}" for row in found["worst"]
        ]
    if found["not_expressed"]:
        lines += ["", "not expressed:", *(f"  {row['id']}: {row['reason']}" for row in found["not_expressed"])]
    return "\n".join(lines)


def _cells(name: str, part: dict[str, Any]) -> tuple[str, ...]:
    shares = [part[key] for key in ("median_ape", "p90_ape", "baseline_median_ape", "in_band")]
    shares.append(part["memory"]["median_ape"])
    median, high, plain, inside, memory = ("-" if share is None else percent(share, digits=1) for share in shares)
    oom = "-" if part["false_oom"] is None else str(part["false_oom"])
    return name, str(part["rows"]), str(part["predicted"]), median, high, plain, inside, memory, oom
