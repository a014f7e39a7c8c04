"""A user's own measurements of serving adjust the user's own predictions, and nothing where there are none."""

import csv
import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from clusterwright import assets
from clusterwright.catalog.load import load
from clusterwright.cli.measured.validate import calibrate
from clusterwright.cli.measured.validate_serving import serving
from clusterwright.errors import InputError
from clusterwright.evidence.models import catalogued
from clusterwright.evidence.serving import own
from clusterwright.evidence.serving.measurements import Measurement, is_serving, read_measurements
from clusterwright.evidence.serving.report import predictions_of
from clusterwright.sizing.hardware.calibration import load_calibration as load_training
from clusterwright.sizing.serving.calibration import Calibration, load_calibration

_TODAY = date(2026, 11, 23)


def _write(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _read(path: Path) -> tuple[Measurement, ...]:
    catalogue = load()
    return read_measurements(path, catalogue, own={}, known=catalogued(catalogue)).rows


@pytest.fixture
def shipped() -> Calibration:
    """Return the shipped calibration."""
    return load_calibration(assets.root() / "catalog")


@pytest.fixture
def slow(tmp_path: Path, rows: list[dict[str, str]], shipped: Calibration) -> list[dict[str, str]]:
    """Return a curve of twelve loads of one replica that is a fifth slower than predicted."""
    made = [
        {**rows[0], "id": f"S{load}", "concurrency": str(load)} for load in (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
    ]
    said = predictions_of(_read(_write(tmp_path / "said.csv", made)), shipped)
    for place, row in enumerate(made):
        row["tput_per_gpu"] = f"{said.median['throughput'][place] / 1.2}"
        row["tpot_median_s"] = f"{said.median['tpot_median'][place] * 1.2}"
        for metric in ("ttft_mean_s", "ttft_median_s", "ttft_p99_s", "joules_per_output_token"):
            row[metric] = ""
    return made


def _moved(folder: Path, path: Path, shipped: Calibration) -> float:
    before, after = (predictions_of(_read(path), one) for one in (shipped, load_calibration(folder)))
    return float(np.median(np.log(after.median["tpot_median"] / before.median["tpot_median"])))


def _calibrate(folder: Path, path: Path, shipped: Calibration) -> Path:
    own.write(folder, own.learn(_read(path), shipped), source=path.name, today=_TODAY)
    return folder


def test_own_rows_move_own_predictions_towards_them(
    tmp_path: Path, slow: list[dict[str, str]], shipped: Calibration
) -> None:
    """Twelve rows that are a fifth slower make the prediction slower by most of it, and never by more."""
    path = _write(tmp_path / "own.csv", slow)
    moved = _moved(_calibrate(tmp_path / "mine", path, shipped), path, shipped)
    assert 0.6 * np.log(1.2) < moved < 1.05 * np.log(1.2)


def test_fewer_rows_move_less_and_none_move_nothing(
    tmp_path: Path, slow: list[dict[str, str]], shipped: Calibration
) -> None:
    """What few rows show is shrunk towards what is shipped; without rows the tables say what the shipped ones say."""
    path = _write(tmp_path / "own.csv", slow)
    few = _write(tmp_path / "few.csv", slow[5:6])
    all_moved = _moved(_calibrate(tmp_path / "all", path, shipped), path, shipped)
    few_moved = _moved(_calibrate(tmp_path / "few", few, shipped), path, shipped)
    assert 0 < few_moved < 0.8 * all_moved
    nothing = own.learn([], shipped)
    assert (dict(nothing.added), dict(nothing.pairs)) == ({}, {})
    own.write(tmp_path / "none", nothing, source="none.csv", today=_TODAY)
    for name in ("serving_factors.csv", "serving_bands.csv", "serving_pairs.csv"):
        assert (tmp_path / "none" / name).read_text() == (assets.root() / "catalog" / name).read_text()


def test_other_accelerators_and_frameworks_stay_nearly_as_they_are(
    tmp_path: Path, slow: list[dict[str, str]], shipped: Calibration
) -> None:
    """Rows of vLLM on H200 say little of SGLang on B200."""
    folder = _calibrate(tmp_path / "mine", _write(tmp_path / "own.csv", slow), shipped)
    other = [{**row, "hardware": "b200", "framework": "sglang"} for row in slow]
    assert abs(_moved(folder, _write(tmp_path / "other.csv", other), shipped)) < 0.01


def test_a_pair_counts_as_seen_from_five_rows_on(
    tmp_path: Path, slow: list[dict[str, str]], shipped: Calibration
) -> None:
    """Five own rows of an accelerator without published ones make it a known pair; four do not."""
    levels = {}
    for count in (4, 5):
        path = _write(tmp_path / f"{count}.csv", [{**row, "hardware": "gb200"} for row in slow[:count]])
        calibration = load_calibration(_calibrate(tmp_path / str(count), path, shipped))
        levels[count] = calibration.level_of(_read(path)[0])
    assert levels == {4: "unseen hardware", 5: "known pair"}


def test_calibrate_tells_serving_from_training_and_writes_what_validate_then_reads(
    tmp_path: Path, slow: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command writes a folder; with it named in CLUSTERWRIGHT_CALIBRATION the error of the same rows is smaller."""
    path = _write(tmp_path / "own.csv", slow)
    assert is_serving(path)
    assert not is_serving(assets.root() / "catalog" / "models.csv")
    assert calibrate([path], tmp_path / "mine", anew=False) == 0
    said = capsys.readouterr().out
    assert "12 measurements of serving, median error" in said
    assert "CLUSTERWRIGHT_CALIBRATION=" in said
    errors = []
    for folder in ("", str(tmp_path / "mine")):
        monkeypatch.setenv("CLUSTERWRIGHT_CALIBRATION", folder)
        assert serving(path, models=None, predictions_to=None, as_json=True) == 0
        errors.append(json.loads(capsys.readouterr().out)["median_ape"])
    assert errors[0] == pytest.approx(0.2, abs=0.005)
    assert errors[1] < 0.08


def test_the_folder_of_an_own_calibration_serves_training_too(
    tmp_path: Path, slow: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no own runs of training were given, the folder has the shipped numbers of training."""
    calibrate([_write(tmp_path / "own.csv", slow)], tmp_path / "mine", anew=False)
    shipped = load_training()
    monkeypatch.setenv("CLUSTERWRIGHT_CALIBRATION", str(tmp_path / "mine"))
    assert load_training().values == shipped.values


@pytest.mark.parametrize(("cells", "anew"), [({"isl": "many"}, False), ({}, True)])
def test_wrong_rows_are_refused_by_both_fits(
    tmp_path: Path, slow: list[dict[str, str]], cells: dict[str, str], anew: bool
) -> None:
    """A wrong cell is refused with its line, fitting anew as well, and nothing is written."""
    path = _write(tmp_path / "own.csv", [slow[0], {**slow[1], **cells}])
    with pytest.raises(InputError, match="--anew" if anew else "line 3"):
        calibrate([path], tmp_path / "mine", anew=anew)
    assert not (tmp_path / "mine").exists()
