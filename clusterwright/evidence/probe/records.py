"""What a probe measures: the kinds of measurement with their unit and work, a case of one, and its result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

MATMUL = "matmul"
MEMORY = "memory"
ATTENTION = "attention"
LAUNCH = "launch"
COLLECTIVE = "collective"
DECODE = "decode"
STEP = "transformer_step"
STEP_MEMORY = "transformer_memory"

FORWARD, FORWARD_BACKWARD = "forward", "forward_backward"
EAGER, CAPTURED, COMPILED = "eager", "captured", "compiled"
COPY, ADD = "copy", "add"
ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER = "all_reduce", "all_gather", "reduce_scatter"

#: Bytes of an element in each precision that a backend may measure.
ELEMENT_BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
#: What is not calculated in a precision.
NO_PRECISION = "none"

#: Forward, gradient of inputs, gradient of weights: what training multiplies for one forward pass.
TRAINING_PASSES = 3

Shape = Mapping[str, int]


class NotSupportedError(Exception):
    """The library or the device has no such thing; the message says what is missing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind of measurement.

    Attributes:
        unit: of the value.
        variants: ways in which it is measured; one empty name where there is one way.
        dimensions: names of a case's sizes.
        work: FLOPs, bytes or calls of one case, by variant and sizes.
        per_second: the value is work per second; else seconds per unit of work.
        method: how the value comes about, as the file says it.
    """

    unit: str
    variants: tuple[str, ...]
    dimensions: tuple[str, ...]
    work: Callable[[str, Shape], float]
    per_second: bool
    method: str


def attention_flop(variant: str, shape: Shape) -> float:
    """Return FLOPs of causal attention, `2 b h s^2 d` forward: half of the scores and of the weighted values.

    The backward pass counts twice, as in the step time of a plan; kernels that compute the scores again do more.
    """
    forward = 2.0 * shape["batch"] * shape["heads"] * shape["sequence"] ** 2 * shape["head_dim"]
    return forward * (TRAINING_PASSES if variant == FORWARD_BACKWARD else 1)


def matrix_parameters(shape: Shape) -> float:
    """Return the elements of a small transformer's matrices: `layers (4 h^2 + 2 h f)` and the output matrix `h V`."""
    hidden = shape["hidden"]
    return shape["layers"] * hidden * (4.0 * hidden + 2.0 * shape["ffn"]) + hidden * shape.get("vocab", 0)


def step_flop(shape: Shape) -> float:
    """Return FLOPs of a training step: six per token and parameter of a matrix, and those of causal attention."""
    attention = {
        "batch": shape["batch"],
        "heads": 1,
        "sequence": shape["sequence"],
        "head_dim": shape["hidden"],
    }
    tokens = shape["batch"] * shape["sequence"]
    scores = shape["layers"] * attention_flop(FORWARD_BACKWARD, attention)
    return 2 * TRAINING_PASSES * tokens * matrix_parameters(shape) + scores


def decode_flop(shape: Shape) -> float:
    """Return FLOPs of one token for each sequence: two per parameter, and `4 context h` per layer for attention."""
    attention = 4.0 * shape["layers"] * shape["context"] * shape["hidden"]
    return shape["batch"] * (2 * matrix_parameters(shape) + attention)


def bus_bytes(variant: str, shape: Shape) -> float:
    """Return bytes that a ring sends through the link of each device: `2 (n-1)/n` or `(n-1)/n` of the message.

    The message is what one device holds before an all-reduce or reduce-scatter, and after an all-gather.
    """
    devices = shape["devices"]
    passes = 2 if variant == ALL_REDUCE else 1
    return passes * shape["bytes"] * (devices - 1) / devices


_CLOCK = "wall clock to the end of the device's queue, median of batches of calls, after one warm-up"
_RANDOM = "normally distributed operands, the same in every call"

KINDS: dict[str, Kind] = {
    MATMUL: Kind(
        unit="FLOP/s",
        variants=("",),
        dimensions=("m", "n", "k"),
        work=lambda _variant, shape: 2.0 * shape["m"] * shape["n"] * shape["k"],
        per_second=True,
        method=f"2 m n k FLOPs of m x k by k x n; {_RANDOM}; {_CLOCK}",
    ),
    MEMORY: Kind(
        unit="bytes/s",
        variants=(COPY, ADD),
        dimensions=("bytes",),
        work=lambda variant, shape: (2.0 if variant == COPY else 3.0) * shape["bytes"],
        per_second=True,
        method=f"bytes read and written of arrays of this size, copy 2, add 3; {_CLOCK}",
    ),
    ATTENTION: Kind(
        unit="FLOP/s",
        variants=(FORWARD, FORWARD_BACKWARD),
        dimensions=("batch", "heads", "head_dim", "sequence"),
        work=attention_flop,
        per_second=True,
        method=f"causal FLOPs, 2 b h s^2 d forward and twice that backward; {_RANDOM}; {_CLOCK}",
    ),
    LAUNCH: Kind(
        unit="s",
        variants=(EAGER, CAPTURED),
        dimensions=("kernels",),
        work=lambda _variant, shape: float(shape["kernels"]),
        per_second=False,
        method=f"seconds of one of many additions to one element in a row; {_CLOCK}",
    ),
    COLLECTIVE: Kind(
        unit="bytes/s",
        variants=(ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER),
        dimensions=("bytes", "devices"),
        work=bus_bytes,
        per_second=True,
        method=f"bus bandwidth of one process with all devices; {_CLOCK}",
    ),
    DECODE: Kind(
        unit="s",
        variants=(EAGER, CAPTURED),
        dimensions=("layers", "hidden", "heads", "ffn", "batch", "context"),
        work=lambda _variant, _shape: 1.0,
        per_second=False,
        method=f"seconds of one token for every sequence, keys and values of the context given; {_CLOCK}",
    ),
    STEP: Kind(
        unit="s",
        variants=(EAGER, COMPILED),
        dimensions=("layers", "hidden", "heads", "ffn", "vocab", "batch", "sequence"),
        work=lambda _variant, _shape: 1.0,
        per_second=False,
        method=f"seconds of forward, backward and AdamW in one precision without recomputation; {_CLOCK}",
    ),
    STEP_MEMORY: Kind(
        unit="bytes",
        variants=(EAGER, COMPILED),
        dimensions=("layers", "hidden", "heads", "ffn", "vocab", "batch", "sequence"),
        work=lambda _variant, _shape: 1.0,
        per_second=False,
        method="peak of the allocated tensors in one training step, weights and states of AdamW included",
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One thing to measure: a kind in a variant and a precision, with sizes in the order of `Kind.dimensions`."""

    kind: str
    variant: str
    precision: str
    sizes: tuple[int, ...]

    @property
    def shape(self) -> dict[str, int]:
        """The sizes by name."""
        return dict(zip(KINDS[self.kind].dimensions, self.sizes, strict=True))

    @property
    def shape_text(self) -> str:
        """The sizes as the file has them.

        >>> Case(kind="matmul", variant="", precision="bf16", sizes=(1, 2, 3)).shape_text
        'm=1 n=2 k=3'
        """
        return " ".join(f"{name}={size}" for name, size in self.shape.items())

    @property
    def text(self) -> str:
        """The case in words, for messages."""
        precision = "" if self.precision == NO_PRECISION else self.precision
        return " ".join(part for part in (self.kind, self.variant, precision, self.shape_text) if part)

    @property
    def flop(self) -> float | None:
        """FLOPs of the case, None where it moves data or launches alone."""
        if self.kind in (MATMUL, ATTENTION):
            return KINDS[self.kind].work(self.variant, self.shape)
        if self.kind == STEP:
            return step_flop(self.shape)
        return decode_flop(self.shape) if self.kind == DECODE else None

    @property
    def cost(self) -> float:
        """Size of the case, by which the time of a larger one of its kind is estimated."""
        return self.flop or KINDS[self.kind].work(self.variant, self.shape)

    def value(self, seconds: float) -> float:
        """Return the value in the unit of the kind, of a case that took some seconds."""
        kind = KINDS[self.kind]
        work = kind.work(self.variant, self.shape)
        return work / seconds if kind.per_second else seconds / work


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """Where measurements were made.

    Attributes:
        backend: name of the backend; software: its versions.
        device: name that the driver gives; processor: it is the host's processor, not an accelerator.
        devices: accelerators that the process sees; memory_bytes: of one, None if unknown.
        accelerator: id of the catalogue, empty if unknown.
    """

    backend: str
    software: str
    device: str
    processor: bool
    devices: int = 1
    memory_bytes: float | None = None
    accelerator: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """One result.

    Attributes:
        value: in the unit of its kind.
        seconds, seconds_p10, seconds_p90: of one call, median and quantiles over the batches; None of a peak of memory.
        batches, calls: how often it was timed, and calls in each batch.
        clock_hz: of the device right after, None if unknown.
        measured_at: UTC, ISO 8601 to the second.
    """

    case: Case
    environment: Environment
    value: float
    seconds: float | None
    seconds_p10: float | None
    seconds_p90: float | None
    batches: int
    calls: int
    clock_hz: float | None
    measured_at: str
