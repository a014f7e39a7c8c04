"""What a probe needs of a library that computes: `Backend`, implemented with NumPy and with PyTorch."""

from collections.abc import Callable
from typing import Protocol

from clusterwright.errors import InputError
from clusterwright.evidence.probe import numpy_backend, torch_backend
from clusterwright.evidence.probe.records import Case, Environment

BACKENDS = ("auto", "torch", "numpy")


class Backend(Protocol):
    """A library on a device."""

    @property
    def environment(self) -> Environment:
        """Versions, device and number of devices."""
        ...

    def prepare(self, case: Case) -> Callable[[], object]:
        """Return what one call of the case does, with its operands in the device's memory.

        Raises:
            NotSupportedError: it cannot be done here.
        """
        ...

    def synchronize(self) -> None:
        """Wait until the devices have done all calls."""
        ...

    def peak_bytes(self, call: Callable[[], object]) -> float | None:
        """Return the most bytes that are allocated while `call` runs; None if that is not known."""
        ...

    def clock_hz(self) -> float | None:
        """Return the device's present clock; None if that is not known."""
        ...

    def release(self) -> None:
        """Give back the memory of cases whose calls are gone."""
        ...


def open_backend(name: str) -> Backend:
    """Return a backend.

    Args:
        name: of `BACKENDS`; `auto` is PyTorch where it is installed and sees an accelerator, else NumPy.

    Raises:
        InputError: no such backend, or PyTorch is not installed.
    """
    if name not in BACKENDS:
        raise InputError(f"there is no backend {name!r}", help=f"one of {', '.join(BACKENDS)}")
    torch = None if name == "numpy" else torch_backend.import_torch()
    if torch is not None and (name == "torch" or torch.cuda.is_available()):
        return torch_backend.TorchBackend(torch)
    if name == "torch":
        raise InputError(
            "PyTorch is not installed in this environment",
            help="run clusterwright in the environment that has it, or measure the processor with --backend numpy",
        )
    return numpy_backend.NumpyBackend()
