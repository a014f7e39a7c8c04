"""The command probe, and calibrate on its file, as a user runs them."""

import csv
import importlib.util
import json
from pathlib import Path

import pytest

from clusterwright.catalog.load import load
from clusterwright.evidence.probe import file, measure
from clusterwright.evidence.probe.records import STEP, Case, Environment, Measurement
from clusterwright.sizing.hardware.calibration import FSDP, MEGATRON, load_calibration

from .conftest import Command
from .test_width import WIDTHS, too_wide

RUNS = Path(__file__).parents[1] / "published" / "training_runs.csv"
SMALL_SUITE = {
    "matmul": [Case(kind="matmul", variant="", precision="fp32", sizes=(64, 64, 64))],
    "decode": [
        Case(kind="decode", variant=one, precision="fp32", sizes=(1, 16, 2, 32, 1, 8)) for one in ("eager", "captured")
    ],
    STEP: [Case(kind=STEP, variant="eager", precision="fp32", sizes=(1, 16, 2, 32, 50, 1, 8))],
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "suite", lambda _environment: SMALL_SUITE)
    monkeypatch.setattr(measure, "_BATCH_S", 1e-4)


def measurements(accelerator: str, *, share: float) -> list[Measurement]:
    """Return multiplications on a whole accelerator that approach a share of the bf16 peak as their rows grow."""
    known = load().accelerators[accelerator]
    where = Environment(
        backend="torch",
        software="PyTorch 2.9.0",
        device=known.name,
        processor=False,
        devices=1,
        memory_bytes=known.hbm_bytes,
        accelerator=accelerator,
    )
    assert known.dense_bf16_flop_per_s is not None
    found = []
    for m in (128, 512, 1024, 2048, 4096, 8192, 16384):
        case = Case(kind="matmul", variant="", precision="bf16", sizes=(m, 8192, 8192))
        seconds = case.cost / known.dense_bf16_flop_per_s / share * (1 + 340 / m) * (1 + 390 / 8192)
        found.append(
            Measurement(
                case=case,
                environment=where,
                value=case.value(seconds),
                seconds=seconds,
                seconds_p10=seconds,
                seconds_p90=seconds,
                batches=20,
                calls=3,
                clock_hz=None,
                measured_at="2026-11-22T10:00:00+00:00",
            )
        )
    return found


def test_a_probe_writes_its_file_once(command: Command, tmp_path: Path) -> None:
    """Rows with method, versions and time; progress on stderr; what exists stays unless --force says otherwise."""
    path = tmp_path / "mine.csv"
    ended = command("probe", "-o", path, "--backend", "numpy")
    assert ended.code == 0
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [row["kind"] for row in rows] == ["matmul", "decode", STEP, "transformer_memory"]
    assert all(row["method"] and "NumPy" in row["software"] and row["measured_at"] for row in rows)
    assert all(row["place"] == "processor" and not row["accelerator"] for row in rows)
    assert "matmul: 1 of 1 cases" in ended.err
    assert f"wrote {path}: 4 measurements" in ended.err
    assert "matmul" in ended.out
    assert "1 × NumPy has nothing captured" in ended.out
    before = path.read_bytes()
    again = command("probe", "-o", path, "--backend", "numpy")
    assert again.code == 2
    assert "exists" in again.err
    assert path.read_bytes() == before
    assert command("probe", "-o", path, "--backend", "numpy", "--force", "-q").err == ""
    assert path.read_bytes() != before
    assert list(tmp_path.iterdir()) == [path]


def test_a_probe_prints_its_file(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `-o -` the rows are all that is printed, no file is made, and JSON beside them is refused."""
    monkeypatch.chdir(tmp_path)
    ended = command("probe", "-o", "-", "--backend", "numpy")
    assert ended.code == 0
    rows = list(csv.DictReader(ended.out.splitlines()))
    assert [row["kind"] for row in rows] == ["matmul", "decode", STEP, "transformer_memory"]
    assert "4 measurements in" in ended.err
    refused = command("probe", "-o", "-", "--backend", "numpy", "--json")
    assert refused.code == 2
    assert "-o - has no form with --json" in refused.err
    assert list(tmp_path.iterdir()) == []


def test_json_has_what_the_file_has(command: Command, tmp_path: Path) -> None:
    """Cases by name, values, the environment, and what was left out with its reason."""
    found = json.loads(command("probe", "-o", tmp_path / "mine.csv", "--backend", "numpy", "--json", "-q").out)
    assert set(found) == {"schema", "file", "seconds", "environment", "measurements", "left_out"}
    assert found["measurements"][0]["case"] == {
        "kind": "matmul",
        "variant": "",
        "precision": "fp32",
        "m": 64,
        "n": 64,
        "k": 64,
    }
    assert found["left_out"][0]["reason"] == "NumPy has nothing captured"
    assert found["environment"]["backend"] == "numpy"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_answer_fits(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int) -> None:
    """Table and progress keep to 60, 80 and 120 columns."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(tmp_path)
    ended = command("probe", "--backend", "numpy")
    assert ended.code == 0
    assert too_wide(ended.out + ended.err, width) == []


def test_an_interrupted_probe_leaves_nothing(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ctrl-C in the middle: no file, whole or half, and the exit code of an interrupted program."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "_timed", interrupted)
    ended = command("probe", "-o", tmp_path / "mine.csv", "--backend", "numpy")
    assert ended.code == 130
    assert "interrupted: nothing was written" in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--accelerator", "h100"), "not an accelerator"),
        (("--backend", "jax"), "no backend 'jax'"),
        (("-o", "none/mine.csv"), "no folder none"),
        (("--seconds", "0"), "--seconds"),
    ],
)
def test_what_cannot_be_probed(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    """Wrong options end with 2 before anything is measured."""
    monkeypatch.chdir(tmp_path)
    ended = command("probe", *(() if "--backend" in arguments else ("--backend", "numpy")), *arguments)
    assert ended.code == 2
    assert said in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("samples", "said"), [((1.0, 1.1, 1.2), False), ((1.0, 1.1, 9.0), True)])
def test_unsteady_timings_are_told(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, samples: tuple[float, ...], said: bool
) -> None:
    """Where batches of the same case differ by more than twice, the answer asks whether the machine is busy."""
    timing = measure._Timing(samples=samples, calls=1)
    monkeypatch.setattr(measure, "_timed", lambda *_, **__: timing)
    ended = command("probe", "-o", tmp_path / "mine.csv", "--backend", "numpy")
    assert ("3 of 3 timings vary by more than 2×" in ended.out) == said


def test_nothing_measured_is_no_file(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no case can be measured, the reason is given and nothing is written."""
    groups = {"decode": SMALL_SUITE["decode"][1:]}
    monkeypatch.setattr(measure, "suite", lambda _environment: groups)
    ended = command("probe", "-o", tmp_path / "mine.csv", "--backend", "numpy")
    assert ended.code == 2
    assert "nothing was measured: NumPy has nothing captured" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_a_probe_of_an_unmeasured_accelerator_is_used(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """MI300X, which no run calibrated, takes the measured efficiency; every other accelerator keeps its own."""
    path = tmp_path / "mi300x.csv"
    path.write_text(file.csv_text(measurements("mi300x-192gb", share=0.4)))
    ended = command("calibrate", path, "-o", tmp_path / "mine")
    assert ended.code == 0
    # 0.4 of the peak is 0.78 of the fastest multiplication that was measured, 668.4 of 1,307.4 TFLOP/s.
    assert "gemm_efficiency 0.77" in ended.out
    before = load_calibration()
    monkeypatch.setenv("CLUSTERWRIGHT_CALIBRATION", str(tmp_path / "mine"))
    after = load_calibration()
    for stack in (MEGATRON, FSDP):
        own = after.of(generation="cdna3", accelerator="mi300x-192gb", stack=stack).tuning
        assert own.gemm_efficiency == pytest.approx(0.4 / (668.4 / 1307.4), rel=0.02)
        assert before.of(generation="cdna3", stack=stack).tuning.gemm_efficiency > 0.9
    for generation, name in (("hopper", "h100-sxm-80gb"), ("cdna4", "mi355x-288gb"), ("cdna3", "")):
        found = [one.of(generation=generation, accelerator=name, stack=FSDP) for one in (before, after)]
        assert found[0] == found[1]
    text = (tmp_path / "mine" / "calibration.csv").read_text()
    rows = [row for row in csv.DictReader(text.splitlines()) if row["method"] == "measured"]
    assert {row["generation"] for row in rows} == {"mi300x-192gb"}
    assert {row["source"] for row in rows} == {"mi300x.csv"}


def test_numbers_of_many_runs_stay(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On H100 whole steps calibrated the efficiency of matrices: the answer says so, and predictions stay."""
    path = tmp_path / "h100.csv"
    path.write_text(file.csv_text(measurements("h100-sxm-80gb", share=0.4)))
    ended = command("calibrate", path, "-o", tmp_path / "mine")
    assert ended.code == 0
    assert "that of published runs stays" in " ".join(ended.out.split())
    before = load_calibration()
    monkeypatch.setenv("CLUSTERWRIGHT_CALIBRATION", str(tmp_path / "mine"))
    for stack in (MEGATRON, FSDP):
        found = [
            one.of(generation="hopper", accelerator="h100-sxm-80gb", stack=stack)
            for one in (before, load_calibration())
        ]
        assert found[0] == found[1]


def test_an_impossible_row_is_named_and_left_out(command: Command, tmp_path: Path) -> None:
    """One row above the peak: a warning with its line, and the number of the others."""
    rows = measurements("mi300x-192gb", share=0.4)
    path = tmp_path / "mi300x.csv"
    path.write_text(file.csv_text([*rows, *measurements("mi300x-192gb", share=1.4)[-1:]]))
    ended = command("calibrate", path, "-o", tmp_path / "mine")
    assert ended.code == 0
    assert "mi300x.csv:9: left out: matmul bf16 m=16384" in ended.err
    assert "is more than the dense bf16 peak" in ended.err
    assert "7 measurements" in ended.out


def test_a_number_that_no_accelerator_has_is_left_out(command: Command, tmp_path: Path) -> None:
    """Every row possible, all of them a millionth of the peak: the efficiency is named and not used."""
    path = tmp_path / "mi300x.csv"
    path.write_text(file.csv_text(measurements("mi300x-192gb", share=1e-6)))
    ended = command("calibrate", path, "-o", tmp_path / "mine")
    assert ended.code == 0
    assert "left out: gemm_efficiency" in ended.err
    assert "gemm_efficiency" not in ended.out
    text = (tmp_path / "mine" / "calibration.csv").read_text()
    assert "mi300x-192gb,fsdp,gemm_efficiency" not in text


def test_probes_and_runs_calibrate_together(command: Command, tmp_path: Path) -> None:
    """Effects of runs are added beside the measured numbers; --anew and two files of runs are refused."""
    probe = tmp_path / "mi300x.csv"
    probe.write_text(file.csv_text(measurements("mi300x-192gb", share=0.4)))
    runs = tmp_path / "runs.csv"
    runs.write_text("".join(RUNS.read_text().splitlines(keepends=True)[:6]))
    ended = command("calibrate", runs, probe, "-o", tmp_path / "mine")
    assert ended.code == 0
    assert "5 runs" in ended.out
    assert "gemm_efficiency" in ended.out
    assert command("calibrate", runs, probe, "--anew", "-o", tmp_path / "x").code == 2
    assert command("calibrate", runs, runs, "-o", tmp_path / "x").code == 2
    assert not (tmp_path / "x").exists()


def test_what_pytorch_measures_is_of_the_accelerator_that_its_driver_names(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With a stand-in for PyTorch: the file names MI300X, shares of peaks are shown, and calibrate reads the rows."""
    place = Path(__file__).parents[1] / "evidence" / "torch_stand_in.py"
    spec = importlib.util.spec_from_file_location("torch_stand_in", place)
    assert spec is not None
    assert spec.loader is not None
    stand = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stand)
    monkeypatch.setattr("clusterwright.evidence.probe.torch_backend.import_torch", stand.stand_in)
    cases = [Case(kind="matmul", variant="", precision="bf16", sizes=(m, 64, 64)) for m in (8, 16, 32, 64, 128, 256)]
    monkeypatch.setattr(measure, "suite", lambda _environment: {"matmul": cases})
    path = tmp_path / "mine.csv"
    ended = command("probe", "-o", path)
    assert ended.code == 0
    assert "torch on 2 × AMD Instinct MI300X: mi300x-192gb" in ended.err
    assert "next: clusterwright calibrate" in ended.err
    assert "of peak" in ended.out
    found = file.read(path, load())
    assert found.wrong == ()
    assert {one.environment.accelerator for one in found.measurements} == {"mi300x-192gb"}
    named = command("probe", "-o", path, "--force", "--accelerator", "mi355x-288gb")
    assert named.code == 0
    assert "is not a whole" in file.read(path, load()).wrong[0].reason


def test_a_processor_says_nothing_of_an_accelerator(command: Command, tmp_path: Path) -> None:
    """The file of the NumPy backend is refused by calibrate, in words."""
    path = tmp_path / "mine.csv"
    assert command("probe", "-o", path, "--backend", "numpy").code == 0
    ended = command("calibrate", path, "-o", tmp_path / "mine")
    assert ended.code == 2
    assert "no measurement of an accelerator of the catalogue" in ended.err
