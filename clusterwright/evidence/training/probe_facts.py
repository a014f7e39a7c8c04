"""What measurements of an accelerator say of the calibrated numbers: efficiencies, half-saturations, links."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from clusterwright.catalog.matmul_rates import share_of
from clusterwright.catalog.records import Accelerator
from clusterwright.evidence.probe.file import peak_flop_per_s
from clusterwright.evidence.probe.records import (
    ALL_REDUCE,
    ATTENTION,
    COLLECTIVE,
    COPY,
    FORWARD_BACKWARD,
    MATMUL,
    MEMORY,
    Measurement,
)
from clusterwright.evidence.training.fitting import PRIORS
from clusterwright.sizing.columns import Tuning
from clusterwright.sizing.hardware.devices import MESH
from clusterwright.sizing.hardware.traits import FASTEST, attention_share
from clusterwright.sizing.model.arithmetic import STREAM_FRACTION

#: Precision of most multiplications: the first that is documented and was measured.
_SIXTEEN_BITS = ("bf16", "fp16")
#: Multiplications that tell three numbers; fewer give none.
_FEWEST_SHAPES = 6
#: Deviation of ln seconds about the formula: quantisation into tiles and waves, choice of the kernel.
_NOISE = 0.1
#: Lengths at which the fitted efficiency of attention was seen, in tokens.
_SEQUENCES = (2048, 8192)
#: What a number of an accelerator can be; one outside tells of a measurement that went wrong, or of a file that lies.
CREDIBLE = {
    "gemm_efficiency": (0.01, 2.0),
    "gemm_efficiency_eight_bit": (0.01, 2.0),
    "rows_half": (1.0, 1e5),
    "width_half": (1.0, 1e5),
    "attention_efficiency": (0.01, 2.5),
    "memory_passes": (0.5, 50.0),
    "scale_up_fraction": (0.01, 1.0),
    "scale_up_latency_s": (1e-7, 1e-2),
}
#: Messages that show latency, and those that show bandwidth, in bytes.
_SMALL_BYTES, _LARGE_BYTES = 2**20, 2**28


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """A calibrated number of an accelerator as measured.

    Attributes:
        name: of `Tuning`.
        rows: measurements that it comes from.
        note: how.
    """

    name: str
    value: float
    rows: int
    note: str

    @property
    def credible(self) -> bool:
        """Whether the number is one that an accelerator can have."""
        low, high = CREDIBLE[self.name]
        return low <= self.value <= high


def facts_of(accelerator: Accelerator, measurements: Sequence[Measurement], prior: Tuning) -> tuple[Fact, ...]:
    """Return the numbers that measurements of an accelerator give.

    Args:
        accelerator: what was measured, with its documented peaks.
        measurements: of that accelerator alone.
        prior: numbers that what is not measured stays at.
    """
    facts = [
        *_multiplication_facts(accelerator, measurements, prior),
        *_attention_facts(accelerator, measurements),
        *_memory_facts(accelerator, measurements, prior),
        *_link_facts(accelerator, measurements),
    ]
    return tuple(facts)


def _of_kind(measurements: Sequence[Measurement], kind: str, *, variant: str = "") -> list[Measurement]:
    return [one for one in measurements if one.case.kind == kind and variant in ("", one.case.variant)]


def _main_precision(accelerator: Accelerator, measurements: Sequence[Measurement]) -> tuple[str, float] | None:
    """Return the 16-bit precision that was measured, and its peak."""
    for name in _SIXTEEN_BITS:
        peak = peak_flop_per_s(accelerator, name)
        if peak is not None and any(one.case.precision == name for one in measurements):
            return name, peak
    return None


def _multiplication_facts(accelerator: Accelerator, measurements: Sequence[Measurement], prior: Tuning) -> list[Fact]:
    """Fit `time = 2 m n k / (peak e) (1 + r/m) (1 + w/min(n, k))`, priors as for runs.

    `e` is given as a share of the fastest multiplication that was published of the accelerator.
    """
    multiplied = _of_kind(measurements, MATMUL)
    main = _main_precision(accelerator, multiplied)
    if main is None:
        return []
    precision, peak = main
    rows = [one for one in multiplied if one.case.precision == precision]
    if len(rows) < _FEWEST_SHAPES:
        return []
    tokens = np.array([one.case.shape["m"] for one in rows], dtype=float)
    width = np.array([min(one.case.shape["n"], one.case.shape["k"]) for one in rows], dtype=float)
    reached = np.log(np.array([one.value for one in rows]) / peak)
    names = ("gemm_efficiency", "rows_half", "width_half")
    factors = (share_of(accelerator.id, precision), 1.0, 1.0)
    middle = np.array(
        [_free(name, factor * float(getattr(prior, name))) for name, factor in zip(names, factors, strict=True)]
    )
    deviations = np.array([PRIORS[name].deviation for name in names])

    def remaining(free: np.ndarray) -> np.ndarray:
        efficiency, rows_half, width_half = (_value(name, one) for name, one in zip(names, free, strict=True))
        expected = np.log(efficiency) - np.log1p(rows_half / tokens) - np.log1p(width_half / width)
        return np.concatenate([(reached - expected) / _NOISE, (free - middle) / deviations])

    free = optimize.least_squares(remaining, middle).x
    note = f"{precision} over {len(rows)} shapes"
    facts = [
        Fact(name=name, value=_value(name, one) / factor, rows=len(rows), note=note)
        for name, one, factor in zip(names, free, factors, strict=True)
    ]
    eight_bit = peak_flop_per_s(accelerator, "fp8")
    own = [one for one in multiplied if one.case.precision == "fp8"]
    if eight_bit is None or not own:
        return facts
    rows_half, width_half = facts[1].value, facts[2].value
    shares = [
        one.value
        / eight_bit
        * (1 + rows_half / one.case.shape["m"])
        * (1 + width_half / min(one.case.shape["n"], one.case.shape["k"]))
        for one in own
    ]
    share = min(statistics.median(shares), 1.0) / share_of(accelerator.id, "fp8")
    note = f"fp8 over {len(own)} shapes, one scale per tensor"
    return [*facts, Fact(name="gemm_efficiency_eight_bit", value=share, rows=len(own), note=note)]


def _free(name: str, value: float) -> float:
    return float(np.log(value / (1 - value)) if PRIORS[name].scale == "logit" else np.log(value))


def _value(name: str, free: float) -> float:
    return float(1 / (1 + np.exp(-free)) if PRIORS[name].scale == "logit" else np.exp(free))


def _attention_facts(accelerator: Accelerator, measurements: Sequence[Measurement]) -> list[Fact]:
    """Return what attention reaches on causal FLOPs in training, as a share of the fastest published kernel."""
    low, high = _SEQUENCES
    attended = [
        one
        for one in _of_kind(measurements, ATTENTION, variant=FORWARD_BACKWARD)
        if low <= one.case.shape["sequence"] <= high
    ]
    main = _main_precision(accelerator, attended)
    if main is None:
        return []
    precision, peak = main
    published = peak * attention_share(FASTEST, accelerator.generation)
    shares = [one.value / published for one in attended if one.case.precision == precision]
    note = f"{precision}, forward and backward, {low:,} to {high:,} tokens"
    return [Fact(name="attention_efficiency", value=statistics.median(shares), rows=len(shares), note=note)]


def _memory_facts(accelerator: Accelerator, measurements: Sequence[Measurement], prior: Tuning) -> list[Fact]:
    """Return the passes over memory, at the measured share of the bandwidth in place of `STREAM_FRACTION`."""
    copied = _of_kind(measurements, MEMORY, variant=COPY)
    if accelerator.hbm_bytes_per_s is None or not copied:
        return []
    share = statistics.median(one.value for one in copied) / accelerator.hbm_bytes_per_s
    note = f"a copy reaches {share:.3f} of the bandwidth, where {STREAM_FRACTION} is assumed"
    value = float(prior.memory_passes) * STREAM_FRACTION / share
    return [Fact(name="memory_passes", value=value, rows=len(copied), note=note)]


def _link_facts(accelerator: Accelerator, measurements: Sequence[Measurement]) -> list[Fact]:
    """Return share of the links' bandwidth and latency of a ring's step, of all-reduces.

    Behind a switch any number of devices has the whole bandwidth; in a mesh only all of them have.
    """
    nominal = accelerator.scale_up_bytes_per_s_per_gpu_one_way
    reduced = _of_kind(measurements, COLLECTIVE, variant=ALL_REDUCE)
    if accelerator.scale_up_topology == MESH:
        reduced = [one for one in reduced if one.case.shape["devices"] == accelerator.scale_up_domain_gpus]
    large = [one for one in reduced if one.case.shape["bytes"] >= _LARGE_BYTES]
    if nominal is None or not large:
        return []
    share = max(one.value for one in large) / nominal
    facts = [
        Fact(
            name="scale_up_fraction",
            value=share,
            rows=len(large),
            note=f"all-reduce over {large[0].case.shape['devices']} devices",
        )
    ]
    small = [one for one in reduced if one.case.shape["bytes"] <= _SMALL_BYTES and one.seconds is not None]
    steps = [
        (one.seconds or 0.0) / (2 * (one.case.shape["devices"] - 1))
        - one.case.shape["bytes"] / one.case.shape["devices"] / (nominal * share)
        for one in small
    ]
    if steps and min(steps) > 0:
        note = "all-reduce of small messages, per step of a ring"
        facts.append(Fact(name="scale_up_latency_s", value=min(steps), rows=len(small), note=note))
    return facts
