"""The commands validate and calibrate as a user runs them."""

import csv
import json
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.cli.measured import validate
from clusterwright.errors import InputError
from clusterwright.sizing.hardware.calibration import load_calibration

PUBLISHED = Path(__file__).parents[1] / "published" / "training_runs.csv"
KEYS = {
    "rows",
    "predicted",
    "median_ape",
    "p90_ape",
    "median_abs_log",
    "baseline_median_ape",
    "in_band",
    "memory",
    "false_oom",
    "rows_per_s",
    "not_expressed",
    "worst",
}


def _written(folder: Path, rows: list[dict[str, str]]) -> Path:
    path = folder / "runs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def _rows() -> list[dict[str, str]]:
    return list(csv.DictReader(PUBLISHED.read_text(encoding="utf-8").splitlines()))


def test_json_holds_the_figures_of_all_rows_and_of_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    """The keys are the same for all rows, dense and expert models and every accelerator; parts add up to the whole."""
    assert validate.training(PUBLISHED, as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {*KEYS, "schema", "by"}
    assert {"dense", "moe", "A100-80", "H100-SXM"} <= set(found["by"])
    assert all(set(part) == KEYS for part in found["by"].values())
    assert found["rows"] == found["predicted"] == len(_rows())
    assert found["rows"] == found["by"]["dense"]["rows"] + found["by"]["moe"]["rows"]
    assert found["by"]["moe"]["median_ape"] is None
    assert found["median_ape"] < 0.05 < found["baseline_median_ape"]
    assert found["false_oom"] == 0
    assert 0.7 < found["in_band"] <= 1
    assert found["rows_per_s"] > 0
    ordered = [abs(row["ln_measured_over_predicted"]) for row in found["worst"]]
    assert ordered == sorted(ordered, reverse=True)


def test_wrong_rows_are_errors_and_the_others_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped row goes to stderr with line and column and into `not_expressed`, and the exit code says so."""
    rows = _rows()[:3]
    rows[1]["layers"] = "many"
    assert validate.training(_written(tmp_path, rows), as_json=True) == 2
    output, told = capsys.readouterr()
    found = json.loads(output)
    assert found["predicted"] == 2
    assert found["not_expressed"] == [{"id": rows[1]["id"], "reason": "line 3, column layers: 'many' is not a number"}]
    assert "line 3, column layers" in told


def test_a_file_without_a_usable_row_still_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing can be predicted, figures are unknown and the reasons are given."""
    row = {**_rows()[0], "gpu": "unheard-of"}
    assert validate.training(_written(tmp_path, [row]), as_json=False) == 0
    assert "no node type for unheard-of" in capsys.readouterr().out


def test_own_runs_move_predictions_towards_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five runs that are 20 % slower than predicted make predictions of the like 10 to 20 % slower, and only those."""
    rows = [row for row in _rows() if row["gpu"] == "H100-SXM" and row["precision"] == "bf16"][:5]
    slower = [{**row, "tokens_per_s_per_gpu": str(0.8 * float(row["tokens_per_s_per_gpu"]))} for row in rows]
    path = _written(tmp_path, slower)
    assert validate.calibrate([path], tmp_path / "own", anew=False) == 0
    assert "CLUSTERWRIGHT_CALIBRATION" in capsys.readouterr().out
    levels = [("accelerator", "h100-sxm-80gb"), ("accelerator_precision", "h100-sxm-80gb|bf16")]
    levels += [("accelerator_kind", "h100-sxm-80gb|dense")]
    before = load_calibration().effect(levels)
    other = load_calibration().effect([("accelerator", "a100-sxm-80gb")])
    monkeypatch.setenv("CLUSTERWRIGHT_CALIBRATION", str(tmp_path / "own"))
    assert -0.25 < load_calibration().effect(levels) - before < -0.05
    assert load_calibration().effect([("accelerator", "a100-sxm-80gb")]) == other


def test_calibrating_anew_writes_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers, effects, baseline and page are written from the file alone; a wrong row stops it."""
    rows = [row for row in _rows() if row["gpu"] == "A100-80"][:12]
    path = _written(tmp_path, rows)
    assert validate.calibrate([path], tmp_path / "new", anew=True) == 0
    assert {entry.name for entry in (tmp_path / "new").iterdir()} == {
        "calibration.csv",
        "calibration_effects.csv",
        "calibration_bands.csv",
        "baseline_mfu.csv",
        "calibration_sources.csv",
        "accuracy.md",
    }
    assert "left out source by source" in capsys.readouterr().out
    rows[3]["hidden"] = "-1"
    with pytest.raises(InputError, match=r"line 5, column hidden"):
        validate.calibrate([_written(tmp_path, rows)], tmp_path / "wrong", anew=True)


def test_the_shipped_baseline_and_effects_are_there() -> None:
    """A checkout predicts without the file of runs that it was calibrated on."""
    folder = assets.root() / "catalog"
    assert (folder / "baseline_mfu.csv").is_file()
    assert len(load_calibration().effects) > 50
