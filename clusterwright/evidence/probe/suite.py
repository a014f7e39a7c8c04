"""Which cases a probe measures, in which order, and which share of the time each group may use."""

from collections.abc import Iterable

from clusterwright.evidence.probe.records import (
    ADD,
    ALL_GATHER,
    ALL_REDUCE,
    ATTENTION,
    CAPTURED,
    COLLECTIVE,
    COMPILED,
    COPY,
    DECODE,
    EAGER,
    FORWARD,
    FORWARD_BACKWARD,
    LAUNCH,
    MATMUL,
    MEMORY,
    NO_PRECISION,
    REDUCE_SCATTER,
    STEP,
    Case,
    Environment,
)

#: Groups in the order of measuring, with their share of the time; what one leaves goes to the next. The compiled step
#: comes last, because nobody knows how long a compiler takes.
SHARES = {
    MATMUL: 0.25,
    MEMORY: 0.05,
    ATTENTION: 0.15,
    LAUNCH: 0.05,
    COLLECTIVE: 0.10,
    DECODE: 0.15,
    STEP: 0.25,
}
#: Seconds that a compiler is expected to take.
COMPILE_S = 15.0

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30
#: Rows against a large matrix, and narrow matrices against many rows: what tells `rows_half` and `width_half`.
_WIDE, _MANY_ROWS = 8192, 8192
_ROWS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
_WIDTHS = (256, 512, 1024, 2048, 4096)
_SQUARES = (1024, 2048, 4096, 16384)
#: Tokens of one call of attention, cut into sequences of each length.
_TOKENS, _SEQUENCES = 16384, (1024, 2048, 4096, 8192, 16384, 32768, 65536)
_PRECISIONS = ("bf16", "fp16", "fp8", "tf32")


def _cases(kind: str, variants: Iterable[str], precision: str, sizes: Iterable[tuple[int, ...]]) -> list[Case]:
    return [Case(kind=kind, variant=variant, precision=precision, sizes=one) for variant in variants for one in sizes]


def _by_size(cases: list[Case]) -> list[Case]:
    return sorted(cases, key=lambda case: case.cost)


def _multiplications(
    precisions: Iterable[str], *, rows: Iterable[int], widths: Iterable[int], squares: Iterable[int], wide: int
) -> list[Case]:
    sizes = [(m, wide, wide) for m in rows]
    sizes += [(wide, width, wide) for width in widths]
    sizes += [(side, side, side) for side in squares]
    return [case for name in precisions for case in _by_size(_cases(MATMUL, ("",), name, dict.fromkeys(sizes)))]


def _accelerator(devices: int) -> dict[str, list[Case]]:
    batches = [(max(_TOKENS // length, 1), 32, 128, length) for length in _SEQUENCES]
    decoded = [(4, 4096, 32, 16384, batch, context) for context in (1024, 8192) for batch in (1, 8, 64)]
    trained = [(4, 2048, 16, 8192, 32000, batch, 2048) for batch in (1, 4)]
    messages = [(size, devices) for size in (64 * _KIB, _MIB, 16 * _MIB, 256 * _MIB, _GIB)] if devices > 1 else []
    return {
        MATMUL: _multiplications(_PRECISIONS, rows=_ROWS, widths=_WIDTHS, squares=_SQUARES, wide=_WIDE),
        MEMORY: _cases(MEMORY, (COPY, ADD), "fp32", [(_GIB,)]),
        ATTENTION: [
            case
            for name in ("bf16", "fp16")
            for case in _by_size(_cases(ATTENTION, (FORWARD, FORWARD_BACKWARD), name, batches))
        ],
        LAUNCH: _cases(LAUNCH, (EAGER, CAPTURED), NO_PRECISION, [(1000,)]),
        COLLECTIVE: _cases(COLLECTIVE, (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER), "bf16", messages),
        DECODE: _by_size(_cases(DECODE, (EAGER, CAPTURED), "bf16", decoded)),
        STEP: _cases(STEP, (EAGER, COMPILED), "bf16", trained),
    }


def _processor() -> dict[str, list[Case]]:
    """Return the same kinds at sizes for a host's processor; precisions are those that NumPy multiplies in."""
    batches = [(max(1024 // length, 1), 4, 64, length) for length in (128, 256, 512, 1024)]
    decoded = [(2, 256, 4, 1024, batch, context) for context in (128, 1024) for batch in (1, 8)]
    trained = [(2, 256, 4, 1024, 1000, batch, 128) for batch in (1, 4)]
    return {
        MATMUL: _multiplications(
            ("fp32", "fp64"), rows=(16, 64, 256), widths=(64, 256), squares=(128, 512, 1024, 2048), wide=1024
        ),
        MEMORY: _cases(MEMORY, (COPY, ADD), "fp32", [(64 * _MIB,)]),
        ATTENTION: _by_size(_cases(ATTENTION, (FORWARD, FORWARD_BACKWARD), "fp32", batches)),
        LAUNCH: _cases(LAUNCH, (EAGER, CAPTURED), NO_PRECISION, [(1000,)]),
        COLLECTIVE: [],
        DECODE: _by_size(_cases(DECODE, (EAGER, CAPTURED), "fp32", decoded)),
        STEP: _cases(STEP, (EAGER, COMPILED), "fp32", trained),
    }


def suite(environment: Environment) -> dict[str, list[Case]]:
    """Return the cases of each group, small ones first."""
    return _processor() if environment.processor else _accelerator(environment.devices)
