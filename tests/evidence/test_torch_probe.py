"""The PyTorch backend against a stand-in for the module, since no test machine has a GPU."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from clusterwright.evidence.probe import measure, torch_backend
from clusterwright.evidence.probe.backend import open_backend
from clusterwright.evidence.probe.records import KINDS, STEP, STEP_MEMORY, Case

SIZES = {
    "matmul": (8, 16, 32),
    "memory": (4096,),
    "attention": (1, 2, 4, 8),
    "launch": (10,),
    "collective": (4096, 2),
    "decode": (2, 16, 2, 32, 3, 8),
    STEP: (2, 16, 2, 32, 50, 2, 8),
}
PRECISIONS = {"launch": "none", "memory": "fp32"}
GROUPS = {
    kind: [
        Case(kind=kind, variant=variant, precision=PRECISIONS.get(kind, "bf16"), sizes=sizes)
        for variant in KINDS[kind].variants
    ]
    for kind, sizes in SIZES.items()
}


@pytest.fixture
def stand() -> ModuleType:
    """The stand-in's file."""
    spec = importlib.util.spec_from_file_location("torch_stand_in", Path(__file__).with_name("torch_stand_in.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _short_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_BATCH_S", 1e-4)


def test_every_case_runs_on_devices(stand: ModuleType) -> None:
    """All kinds in all variants: shapes fit, optimizers have gradients, graphs are captured, collectives match."""
    torch = stand.stand_in()
    backend = torch_backend.TorchBackend(torch)
    probed = measure.probe(backend, seconds=300, groups=GROUPS)
    assert [(one.case.text, one.reason) for one in probed.left_out] == []
    found = {(one.case.kind, one.case.variant) for one in probed.measurements}
    assert found == {(kind, variant) for kind, one in KINDS.items() for variant in one.variants}
    assert torch.calls["captured"] == 2
    assert torch.calls["compiled"] == 1
    assert torch.calls["synchronised"] % stand.DEVICES == 2 % stand.DEVICES
    peaks = [one.value for one in probed.measurements if one.case.kind == STEP_MEMORY]
    assert peaks == [123_456_789, 123_456_789]
    assert torch.calls["reset"] == 2
    assert all(one.clock_hz is None for one in probed.measurements)


@pytest.mark.parametrize("precision", ["bf16", "fp16", "tf32", "fp8"])
def test_precisions_are_those_of_the_operands(stand: ModuleType, precision: str) -> None:
    """Each precision multiplies; a release without its type or its function leaves it out by name."""
    case = replace(GROUPS["matmul"][0], precision=precision)
    torch = stand.stand_in()
    probed = measure.probe(torch_backend.TorchBackend(torch), seconds=60, groups={"matmul": [case]})
    assert len(probed.measurements) == 1
    del torch.float8_e4m3fn, torch.float16
    probed = measure.probe(torch_backend.TorchBackend(torch), seconds=60, groups={"matmul": [case]})
    lacking = {"fp8": "this PyTorch multiplies no fp8", "fp16": "PyTorch has no fp16 here"}
    assert [one.reason for one in probed.left_out] == [reason for name, reason in lacking.items() if name == precision]


def test_the_environment_has_versions_and_device(stand: ModuleType) -> None:
    """What the file says of its origin comes from PyTorch."""
    found = torch_backend.TorchBackend(stand.stand_in()).environment
    assert "PyTorch 2.9.0; ROCm 6.4; NCCL 2.27.3" in found.software
    assert (found.device, found.devices, found.processor) == ("AMD Instinct MI300X", 2, False)
    assert found.memory_bytes == stand.MEMORY_BYTES


def test_pytorch_is_taken_where_it_sees_an_accelerator(stand: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` is PyTorch with an accelerator and NumPy without; by name it measures the processor as such."""
    monkeypatch.setattr(torch_backend, "import_torch", stand.stand_in)
    assert open_backend("auto").environment.backend == "torch"
    monkeypatch.setattr(torch_backend, "import_torch", lambda: stand.stand_in(accelerator=False))
    assert open_backend("auto").environment.backend == "numpy"
    by_name = open_backend("torch")
    assert (by_name.environment.backend, by_name.environment.processor) == ("torch", True)
    probed = measure.probe(by_name, seconds=60, groups={STEP: GROUPS[STEP][:1], "launch": GROUPS["launch"]})
    assert [one.case.kind for one in probed.measurements] == [STEP, "launch"]
    assert ["captured on CUDA" in one.reason for one in probed.left_out] == [True]


def test_a_broken_pytorch_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of the vendor that cannot be loaded is an OSError of the import."""

    def broken(_name: str) -> ModuleType:
        raise OSError("libcudart.so.12: cannot open shared object file")

    monkeypatch.setattr(torch_backend.importlib, "import_module", broken)
    assert torch_backend.import_torch() is None
