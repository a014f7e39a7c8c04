"""What is known of software and hardware by name, and bands that widen with what is not known."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clusterwright.catalog.load import load
from clusterwright.evidence.training import band_parts, baseline, effects, learning, report
from clusterwright.evidence.training.band_parts import LeftOut
from clusterwright.evidence.training.nodes import measured_nodes
from clusterwright.evidence.training.runs import OPEN_BATCH_TOKENS, Run, read_runs
from clusterwright.sizing.hardware import bands
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.training_software import kin_of, named, software_of

PUBLISHED = Path(__file__).parents[1] / "published" / "training_runs.csv"
START = load_calibration().of(generation="none", stack="none").tuning


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    """The cells of the published runs of the test file."""
    return list(csv.DictReader(PUBLISHED.read_text(encoding="utf-8").splitlines()))


def _read(folder: Path, rows: list[dict[str, str]]) -> list[Run]:
    path = folder / "runs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), restval="")
        writer.writeheader()
        writer.writerows(rows)
    found, skipped = read_runs(path, measured_nodes(load()), load().models.values())
    assert not skipped
    return found


@pytest.mark.parametrize(
    ("release", "name", "family"),
    [
        ("NeMo 25.04", "NeMo", "NeMo"),
        ("NeMo MLPerf v5.1", "NeMo MLPerf", "NeMo"),
        ("Megatron-LM (PAI)", "Megatron-LM (PAI)", "Megatron-LM"),
        ("Megatron-LM 0.14 / TE 2.11", "Megatron-LM", "Megatron-LM"),
        ("NeuronX Distributed (Neuron 2.20)", "NeuronX Distributed", "NeuronX Distributed"),
        ("Megatron-LM of someone 3", "Megatron-LM of someone", "Megatron-LM of someone"),
    ],
)
def test_a_name_is_matched_whole_without_its_release(release: str, name: str, family: str) -> None:
    """Releases belong to the family that a table names; a longer name that no table has is a family of its own."""
    assert named(release) == name
    assert kin_of(release).family == family


def test_what_is_kept_in_memory_is_not_known_by_how_a_name_begins() -> None:
    """An unheard-of fork of a known engine has no known states."""
    assert software_of("Megatron-DeepSpeed 2022", "bf16") is not None
    assert software_of("Megatron-DeepSpeed of someone", "bf16") is None


def test_a_stated_network_slows_what_needs_it(rows: list[dict[str, str]], tmp_path: Path) -> None:
    """A tenth of the usual network makes FSDP slower, stated in a column or in a note; two that are told leave it."""
    row = max(rows, key=lambda row: int(row["n_gpus"]) if row["pp"] == "1" else 0)
    usual = 1600 if row["gpu"].startswith("A100") else 3200
    told = (
        {"notes": "a note"},
        {"notes": f"{usual // 10} Gb/s per node"},
        {"network_gbit_per_s_per_node": str(usual // 10)},
        {"notes": f"100 or {usual // 10} Gb/s per node"},
    )
    runs = _read(tmp_path, [{**row, "id": str(index), **cells} for index, cells in enumerate(told)])
    rates = report.predict(runs, load_calibration(), shares=baseline.load_shares()).rate
    assert rates[1] == rates[2] < rates[0] == rates[3]


def test_a_run_without_a_layout_is_predicted_with_its_fastest(rows: list[dict[str, str]], tmp_path: Path) -> None:
    """Without tp and batch powers of two are tried, at the usual batch; none is faster than the one predicted."""
    row = next(row for row in rows if row["tp"] == "8" and row["pp"] == "1" and row["gpu"] == "A100-80")
    blank = {**row, "id": "open", "tp": "", "pp": "", "global_batch": "", "micro_batch": ""}
    stated, found = _read(tmp_path, [row, blank])
    assert {layout.tp for layout in found.candidates} > {stated.candidates[0].tp}
    tokens = {
        float(one.dp) * float(one.micro_batch) * float(one.micro_batches) * float(found.shape.sequence)
        for one in found.candidates
    }
    assert min(tokens) > 0.8 * OPEN_BATCH_TOKENS
    assert max(tokens) < 1.2 * OPEN_BATCH_TOKENS


def test_a_source_is_left_out_with_all_its_runs_of_a_software(rows: list[dict[str, str]], tmp_path: Path) -> None:
    """Predictions of a source do not change with its own measurements, and what its runs share is never used."""
    runs = _read(tmp_path, [row for row in rows if row["gpu"] == "A100-80"])
    names = sorted({run.left_out_as for run in runs})
    folds = [run.left_out_as for run in runs]
    slower = [
        replace(run, tokens_per_s_per_gpu=run.tokens_per_s_per_gpu * (0.5 if run.left_out_as == names[0] else 1))
        for run in runs
    ]
    honest, moved = (learning.cross_validated(each, START, folds=folds).release_known for each in (runs, slower))
    mine = np.array([fold == names[0] for fold in folds])
    assert honest[mine] - moved[mine] == pytest.approx(np.log(2), abs=1e-9)
    assert all(kind != effects.SOURCE for kind, _ in learning.learn(runs, START).effects.values)


def test_parts_hold_what_their_quantiles_leave_of_what_they_were_found_on() -> None:
    """Errors that spread twice as far without a measured vendor give a band that holds as much of either."""
    generator = np.random.default_rng(7)
    found = []
    for index in range(2000):
        unknown = index % 2 == 1
        found.append(
            LeftOut(
                error=float(generator.normal(0.1, 0.2 if unknown else 0.1)),
                parts=(bands.NEW_VENDOR,) if unknown else (),
                weight=1.0,
                source=str(index),
            )
        )
    parts = band_parts.fitted(found)
    held = band_parts.inside(found, parts)
    promised = 2 * band_parts.QUANTILE - 1
    assert held[::2].mean() == pytest.approx(promised, abs=0.03)
    assert held[1::2].mean() == pytest.approx(promised, abs=0.03)
    assert parts[bands.EVERY].middle == pytest.approx(0.1, abs=0.02)
    assert parts[bands.NEW_VENDOR].low > 0.05


def test_bands_of_the_shipped_calibration_grow_with_what_is_not_known() -> None:
    """A release that is measured, one of a measured family, and a software that is not: never narrower."""
    calibration = load_calibration()
    seen = calibration.measured()
    widths = []
    for release, family in (("NeMo 25.11", "NeMo"), ("NeMo 99.1", "NeMo"), ("x", "x")):
        band = bands.band_of(calibration.bands, seen.software_parts(release=release, family=family))
        widths.append(band.p90 - band.p10)
    assert widths == sorted(widths)
    assert widths[-1] > widths[0]
    assert {"NVIDIA", "AMD", "Google"} <= seen.vendors
