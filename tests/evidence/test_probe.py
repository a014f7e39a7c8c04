"""The probe: what it measures within its time, what its file may say, and what follows for an accelerator."""

import csv
import io
import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clusterwright.catalog.load import load
from clusterwright.errors import InputError
from clusterwright.evidence.probe import file, measure, suite
from clusterwright.evidence.probe.backend import open_backend
from clusterwright.evidence.probe.devices import DRIVER_NAMES
from clusterwright.evidence.probe.numpy_backend import NumpyBackend, TrainingStep, attention, attention_gradients
from clusterwright.evidence.probe.records import (
    KINDS,
    STEP,
    STEP_MEMORY,
    Case,
    Environment,
    Measurement,
    NotSupportedError,
    step_flop,
)
from clusterwright.evidence.training import probe_facts as facts
from clusterwright.sizing.hardware.calibration import FSDP, MEGATRON, load_calibration

MI300X = "mi300x-192gb"
PROCESSOR = Environment(backend="stand-in", software="none", device="stand-in", processor=True)
GPU = Environment(
    backend="torch",
    software="PyTorch 2.9.0",
    device="AMD Instinct MI300X",
    processor=False,
    devices=8,
    memory_bytes=load().accelerators[MI300X].hbm_bytes,
    accelerator=MI300X,
)
TRAINED = {"layers": 2, "hidden": 16, "heads": 2, "ffn": 32, "vocab": 50, "batch": 2, "sequence": 8}
DECODED = (2, 16, 2, 32, 3, 8)
TINY = {
    "matmul": [Case(kind="matmul", variant="", precision="fp32", sizes=(8, 16, 32))],
    "memory": [Case(kind="memory", variant=one, precision="fp32", sizes=(4096,)) for one in ("copy", "add")],
    "attention": [
        Case(kind="attention", variant=one, precision="fp64", sizes=(2, 2, 8, 16))
        for one in ("forward", "forward_backward")
    ],
    "launch": [Case(kind="launch", variant=one, precision="none", sizes=(10,)) for one in ("eager", "captured")],
    "decode": [Case(kind="decode", variant=one, precision="fp32", sizes=DECODED) for one in ("eager", "captured")],
    STEP: [
        Case(kind=STEP, variant=one, precision="fp32", sizes=tuple(TRAINED.values())) for one in ("eager", "compiled")
    ],
}


@pytest.fixture(autouse=True)
def _short_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_BATCH_S", 1e-4)


class Stand:
    """A backend whose calls do what a test says."""

    def __init__(self, call: Callable[[Case], object], *, processor: bool = True) -> None:
        self.environment = replace(PROCESSOR, processor=processor)
        self._call = call
        self.prepared: list[Case] = []

    def prepare(self, case: Case) -> Callable[[], object]:
        """Return the call."""
        self.prepared.append(case)
        return lambda: self._call(case)

    def synchronize(self) -> None:
        """Nothing runs."""

    def peak_bytes(self, call: Callable[[], object]) -> float | None:
        """Unknown."""
        return None

    def clock_hz(self) -> float | None:
        """Unknown."""
        return None

    def release(self) -> None:
        """Nothing is held."""


def measured(case: Case, seconds: float, environment: Environment = GPU) -> Measurement:
    """Return a result that took some seconds."""
    return Measurement(
        case=case,
        environment=environment,
        value=case.value(seconds),
        seconds=seconds,
        seconds_p10=seconds,
        seconds_p90=seconds,
        batches=20,
        calls=3,
        clock_hz=2.1e9,
        measured_at="2026-11-22T10:00:00+00:00",
    )


def multiplied(m: int, n: int, k: int, *, share: float, precision: str = "bf16") -> Measurement:
    """Return a multiplication on MI300X that reaches a share of its peak."""
    peak = file.peak_flop_per_s(load().accelerators[MI300X], precision)
    assert peak is not None
    return measured(
        Case(kind="matmul", variant="", precision=precision, sizes=(m, n, k)), 2.0 * m * n * k / peak / share
    )


def written(folder: Path, *measurements: Measurement, **changes: str) -> Path:
    """Write results, with cells of the first row replaced."""
    rows = list(csv.DictReader(io.StringIO(file.csv_text(measurements))))
    rows[0] |= changes
    path = folder / "probe.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, file.COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_numpy_measures_every_kind_and_names_what_it_lacks() -> None:
    """Each kind gives work per second or seconds per call; captured and compiled forms are left out by name."""
    probed = measure.probe(NumpyBackend(), seconds=120, groups=TINY)
    kinds = [(one.case.kind, one.case.variant) for one in probed.measurements]
    assert kinds == [
        ("matmul", ""),
        ("memory", "copy"),
        ("memory", "add"),
        ("attention", "forward"),
        ("attention", "forward_backward"),
        ("launch", "eager"),
        ("decode", "eager"),
        (STEP, "eager"),
        (STEP_MEMORY, "eager"),
    ]
    assert {(one.case.kind, one.case.variant) for one in probed.left_out} == {
        ("launch", "captured"),
        ("decode", "captured"),
        (STEP, "compiled"),
    }
    for one in probed.measurements[:-1]:
        assert one.seconds is not None
        assert one.seconds_p10 is not None
        assert one.seconds_p90 is not None
        assert 0 < one.seconds_p10 <= one.seconds <= one.seconds_p90
        assert one.value == pytest.approx(one.case.value(one.seconds))
    assert probed.measurements[0].value * probed.measurements[0].seconds == pytest.approx(2 * 8 * 16 * 32)
    assert probed.measurements[1].value * probed.measurements[1].seconds == pytest.approx(2 * 4096)
    assert "NumPy" in probed.environment.software
    parameters = TRAINED["layers"] * (4 * 16**2 + 2 * 16 * 32) + 16 * 50
    assert probed.measurements[-1].value > 3 * 4 * parameters


def test_attention_has_the_gradients_of_its_output() -> None:
    """Queries, keys and values: the gradients are those of finite differences, and no token sees a later one."""
    random = np.random.default_rng(1)
    inputs = [random.standard_normal((1, 2, 5, 4)) for _ in range(3)]
    gradient = random.standard_normal((1, 2, 5, 4))
    weights, output = attention(*inputs)
    assert np.triu(weights[0, 0], 1).max() == 0
    query, key, value = inputs
    found = attention_gradients(query, key, value, weights, gradient)
    for place, own in enumerate(found):
        moved = [one.copy() for one in inputs]
        moved[place][0, 1, 2, 3] += 1e-6
        difference = ((attention(*moved)[1] - output) * gradient).sum() / 1e-6
        assert own[0, 1, 2, 3] == pytest.approx(difference, rel=1e-4)


def test_the_small_transformer_learns() -> None:
    """Fifty steps on the same tokens bring the loss down: forward, backward and update belong together."""
    case = TINY[STEP][0]
    step = NumpyBackend().prepare(case)
    assert isinstance(step, TrainingStep)
    losses = [step() for _ in range(50)]
    assert losses[0] > 1
    assert losses[-1] < losses[0] - 0.1


def test_the_whole_keeps_to_its_time() -> None:
    """Cases of 50 ms a call, 20 s in all, end after the second that they have; those without time are named."""
    began = time.perf_counter()
    probed = measure.probe(Stand(lambda _: time.sleep(0.05)), seconds=1)
    assert time.perf_counter() - began < 6
    cases = [case for group in suite.suite(PROCESSOR).values() for case in group]
    assert len(probed.measurements) + len(probed.left_out) == len(cases)
    assert probed.measurements
    assert {one.reason for one in probed.left_out} <= {"no time left"} | {
        one.reason for one in probed.left_out if one.reason.startswith("needs about")
    }


def test_a_call_that_hangs_ends_with_the_time() -> None:
    """A compiler or a driver that does not come back costs its case, not the cases before it."""

    def call(case: Case) -> None:
        if case.kind == STEP:
            time.sleep(60)

    began = time.perf_counter()
    probed = measure.probe(Stand(call), seconds=5, groups={**TINY, STEP: TINY[STEP][:1]})
    assert time.perf_counter() - began < 20
    assert len(probed.measurements) > 5
    assert [(one.case.kind, one.reason) for one in probed.left_out] == [(STEP, "no time left")]


@pytest.mark.parametrize("error", [RuntimeError("out of memory\nat line 7"), NotSupportedError("no fp8"), OSError("x")])
def test_a_case_that_fails_costs_no_other(error: Exception) -> None:
    """Whatever a driver raises is the reason why that case is left out."""

    def call(case: Case) -> None:
        if case.kind == "memory":
            raise error

    probed = measure.probe(Stand(call), seconds=60, groups=TINY)
    assert len(probed.measurements) == sum(map(len, TINY.values())) - 2
    assert all(str(error).partition("\n")[0] in one.reason for one in probed.left_out)
    assert "line 7" not in probed.left_out[0].reason


def test_the_suite_has_every_kind_for_an_accelerator() -> None:
    """Precisions, lengths, forms: each is in the suite; collectives where there are several devices."""
    groups = suite.suite(GPU)
    assert sum(suite.SHARES.values()) == pytest.approx(1)
    assert list(groups) == list(suite.SHARES)
    found = {(case.kind, case.variant) for group in groups.values() for case in group}
    assert found == {(kind, variant) for kind, one in KINDS.items() if kind != STEP_MEMORY for variant in one.variants}
    assert {case.precision for case in groups["matmul"]} == {"bf16", "fp16", "fp8", "tf32"}
    assert suite.suite(replace(GPU, devices=1))["collective"] == []
    assert all(value in load().accelerators for value in DRIVER_NAMES.values())


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Each row comes back with case, value, spread, clock, versions and time."""
    probed = measure.probe(NumpyBackend(), seconds=120, groups=TINY)
    path = tmp_path / "own.csv"
    file.write(path, file.csv_text(probed.measurements), force=False)
    assert file.is_probe(path)
    found = file.read(path, load())
    assert found.wrong == ()
    for one, other in zip(found.measurements, probed.measurements, strict=True):
        assert (one.case, one.environment, one.measured_at) == (other.case, other.environment, other.measured_at)
        assert one.value == pytest.approx(other.value, rel=1e-5)
        assert one.clock_hz == pytest.approx(other.clock_hz, rel=1e-5) if other.clock_hz else one.clock_hz is None


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """Neither an existing file nor one that came into being meanwhile is replaced, and nothing else is left."""
    path = tmp_path / "mine.csv"
    path.write_text("mine")
    with pytest.raises(InputError, match="exists"):
        file.check_writable(path, force=False)
    with pytest.raises(InputError, match="exists"):
        file.write(path, "new", force=False)
    assert path.read_text() == "mine"
    file.write(path, "new", force=True)
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    for wrong in (tmp_path, tmp_path / "none" / "x.csv"):
        with pytest.raises(InputError):
            file.check_writable(wrong, force=True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "magic"}, "column kind"),
        ({"variant": "fast"}, "column variant"),
        ({"precision": "fp1"}, "column precision"),
        ({"shape": "m=1 n=2"}, "column shape: matmul has m=, n=, k="),
        ({"shape": "m=1 n=2 k=-3"}, "k=-3 is not a whole number"),
        ({"shape": "m=1 n=2 k=" + "9" * 5000}, "is not a whole number"),
        ({"shape": "m=1 n=2 k=0"}, "sizes are between 1 and"),
        ({"seconds": "nan"}, "column seconds: nan cannot be"),
        ({"seconds": "-1"}, "column seconds: -1 cannot be"),
        ({"seconds": ""}, "column seconds is empty"),
        ({"seconds": "1e-30"}, "column seconds"),
        ({"value": "many"}, "column value: 'many' is not a number"),
        ({"value": "1e12"}, "but shape and seconds give"),
        ({"unit": "TFLOP/s"}, "column unit"),
        ({"batches": "0"}, "column batches"),
        ({"clock_hz": "1"}, "column clock_hz"),
        ({"accelerator": "h9000"}, "'h9000' is not in the catalogue"),
        ({"place": "processor"}, "a processor is not mi300x-192gb"),
        ({"memory_bytes": "24e9"}, "a device of 24.0 GB is not a whole AMD Instinct MI300X"),
        ({"measured_at": "yesterday"}, "column measured_at"),
    ],
)
def test_a_wrong_row_is_named_and_left_out(tmp_path: Path, changes: dict[str, str], said: str) -> None:
    """Mistyped, out of bounds or at odds with itself: the row is named with its line, and the other is used."""
    good = multiplied(4096, 4096, 4096, share=0.5)
    found = file.read(written(tmp_path, good, good, **changes), load())
    assert len(found.measurements) == 1
    assert [one.line for one in found.wrong] == [2]
    assert said in found.wrong[0].reason
    assert len(found.wrong[0].reason) < 400


def test_more_than_the_accelerator_can_do_is_left_out(tmp_path: Path) -> None:
    """More FLOP/s than the dense peak, more bytes/s than the memory's or the links': impossible."""
    known = load().accelerators[MI300X]
    memory = Case(kind="memory", variant="copy", precision="fp32", sizes=(2**30,))
    reduced = Case(kind="collective", variant="all_reduce", precision="bf16", sizes=(2**30, 8))
    attended = Case(kind="attention", variant="forward", precision="bf16", sizes=(1, 32, 128, 8192))
    trained = Case(kind=STEP, variant="eager", precision="bf16", sizes=(4, 2048, 16, 8192, 32000, 4, 2048))
    assert known.hbm_bytes is not None
    assert known.hbm_bytes_per_s is not None
    assert known.scale_up_bytes_per_s_per_gpu_one_way is not None
    assert known.dense_bf16_flop_per_s is not None
    impossible = [
        multiplied(4096, 4096, 4096, share=1.05),
        multiplied(4096, 4096, 4096, share=1.05, precision="fp8"),
        measured(memory, 2.0 * 2**30 / known.hbm_bytes_per_s / 1.05),
        measured(reduced, reduced.value(1.0) / known.scale_up_bytes_per_s_per_gpu_one_way / 1.05),
        measured(attended, attended.value(1.0) / known.dense_bf16_flop_per_s / 1.05),
        measured(trained, step_flop(trained.shape) / known.dense_bf16_flop_per_s / 1.05),
        replace(measured(replace(trained, kind=STEP_MEMORY), 1.0), value=known.hbm_bytes * 1.05, seconds=None),
    ]
    possible = multiplied(4096, 4096, 4096, share=0.95)
    found = file.read(written(tmp_path, *impossible, possible), load())
    assert [one.line for one in found.wrong] == [2, 3, 4, 5, 6, 7, 8]
    assert [one.case for one in found.measurements] == [possible.case]
    assert "is more than the dense bf16 peak of AMD Instinct MI300X" in found.wrong[0].reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lacks the columns"),
        ("kind,shape,place\n", "lacks the columns variant"),
        (",".join(file.COLUMNS) + "\n", "holds no measurements"),
        (",".join(file.COLUMNS) + "\n" + '"' + "x" * 200_000 + "\n", "field larger"),
        (",".join(file.COLUMNS) + "\n" + "x\n" * 5001, "more than 5,000 rows"),
    ],
)
def test_what_is_no_file_of_a_probe_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """Without columns, without rows, with one endless cell or too many rows: a sentence, never a traceback."""
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        file.read(path, load())


def test_no_file_is_a_bug(tmp_path: Path) -> None:
    """Three hundred files with bytes replaced, removed or doubled: rows, or a sentence."""
    random = np.random.default_rng(11)
    good = file.csv_text([multiplied(4096, 4096, 4096, share=0.5) for _ in range(3)]).encode()
    path = tmp_path / "x.csv"
    for _ in range(300):
        content = bytearray(good)
        for place in random.integers(len(good), size=random.integers(1, 6)):
            kind = random.integers(3)
            end = place + int(random.integers(1, 40))
            new = (bytes([random.integers(256)]), b"", bytes(content[place:end]) * 2)[kind]
            content[place : place + 1 if kind == 0 else end] = new
        path.write_bytes(content)
        with suppress(InputError):
            found = file.read(path, load())
            assert found.measurements or found.wrong


def test_efficiencies_are_those_that_the_shapes_show() -> None:
    """Multiplications made by the formula give back its three numbers, and fp8 its own share.

    Efficiencies are shares of the fastest published multiplication.
    """
    known = load().accelerators[MI300X]
    prior = load_calibration().of(generation=known.generation, stack=FSDP).tuning

    def share(m: int, width: int) -> float:
        return 0.5 / (1 + 520 / m) / (1 + 260 / width)

    shapes = [(m, 8192, 8192) for m in (128, 256, 512, 1024, 2048, 4096, 16384)]
    shapes += [(8192, width, 8192) for width in (256, 512, 1024, 2048, 8192)]
    results = [multiplied(m, n, k, share=share(m, min(n, k))) for m, n, k in shapes]
    results += [multiplied(8192, 8192, 8192, share=share(8192, 8192) * 0.8, precision="fp8")]
    found = {one.name: one for one in facts.facts_of(known, results, prior)}
    assert found["gemm_efficiency"].value * 668.4 / 1307.4 == pytest.approx(0.5, rel=0.03)
    assert found["rows_half"].value == pytest.approx(520, rel=0.12)
    assert found["width_half"].value == pytest.approx(260, rel=0.2)
    narrow = (1 + 520 / 8192) * (1 + 260 / 8192)
    expected = share(8192, 8192) * 0.8 * narrow
    assert found["gemm_efficiency_eight_bit"].value * 1273 / 2614.9 == pytest.approx(expected, rel=0.03)
    assert found["gemm_efficiency"].rows == len(shapes)
    assert facts.facts_of(known, results[:3], prior) == ()


def test_attention_memory_and_links_become_numbers() -> None:
    """Attention counts at 2k to 8k in training; memory against the assumed share; links of a whole mesh only.

    The efficiency of attention is a share of the fastest kernel's, corrected for short sequences.
    """
    known = load().accelerators[MI300X]
    assert known.hbm_bytes_per_s is not None
    assert known.scale_up_bytes_per_s_per_gpu_one_way is not None
    peak = file.peak_flop_per_s(known, "bf16")
    assert peak is not None
    prior = load_calibration().of(generation=known.generation, stack=FSDP).tuning

    def attended(sequence: int, share: float, variant: str = "forward_backward") -> Measurement:
        case = Case(kind="attention", variant=variant, precision="bf16", sizes=(1, 32, 128, sequence))
        return measured(case, case.value(1.0) / peak / share)

    def reduced(size: int, seconds: float, devices: int = 8) -> Measurement:
        return measured(Case(kind="collective", variant="all_reduce", precision="bf16", sizes=(size, devices)), seconds)

    copy = Case(kind="memory", variant="copy", precision="fp32", sizes=(2**30,))
    nominal = known.scale_up_bytes_per_s_per_gpu_one_way
    large = 2 * 2**30 * 7 / 8 / (0.6 * nominal)
    results = [
        attended(1024, 0.05),
        attended(2048, 0.2),
        attended(4096, 0.25),
        attended(8192, 0.3),
        attended(65536, 0.5),
        attended(4096, 0.9, "forward"),
        measured(copy, 2.0 * 2**30 / known.hbm_bytes_per_s / 0.68),
        reduced(2**30, large),
        reduced(2**16, 14 * (4e-6 + 2**16 / 8 / (0.6 * nominal))),
    ]
    found = {one.name: one.value for one in facts.facts_of(known, results, prior)}
    assert found["attention_efficiency"] == pytest.approx(0.25 / 0.3)
    assert found["memory_passes"] == pytest.approx(float(prior.memory_passes) * 0.85 / 0.68)
    assert found["scale_up_fraction"] == pytest.approx(0.6)
    assert found["scale_up_latency_s"] == pytest.approx(4e-6, rel=1e-3)
    assert known.scale_up_topology == "mesh"
    half = facts.facts_of(known, [reduced(2**30, large, devices=4)], prior)
    assert half == ()


def test_numbers_of_an_accelerator_go_before_those_of_its_generation() -> None:
    """A row of the accelerator's id is taken for it alone; without one nothing changes."""
    shipped = load_calibration()
    own = replace(shipped, values=shipped.values | {(MI300X, FSDP, "gemm_efficiency"): 0.123})
    assert own.of(generation="cdna3", accelerator=MI300X, stack=FSDP).tuning.gemm_efficiency == 0.123
    for name, stack in ((MI300X, MEGATRON), ("h100-sxm-80gb", FSDP), ("", FSDP)):
        expected = shipped.of(generation="cdna3", stack=stack).tuning
        assert own.of(generation="cdna3", accelerator=name, stack=stack).tuning == expected


def test_unknown_backends_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is none, and PyTorch where it is not installed, end in words; `auto` then takes NumPy."""
    monkeypatch.setattr("clusterwright.evidence.probe.torch_backend.import_torch", lambda: None)
    with pytest.raises(InputError, match="no backend 'jax'"):
        open_backend("jax")
    with pytest.raises(InputError, match="PyTorch is not installed"):
        open_backend("torch")
    assert open_backend("auto").environment.backend == "numpy"
    assert not math.isnan(open_backend("numpy").clock_hz() or 0.0)
