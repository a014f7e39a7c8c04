"""NumPy on the host's processor: what tests the probe everywhere. Its results say nothing about an accelerator."""

import os
import platform
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterwright.evidence.probe.records import (
    ADD,
    ATTENTION,
    DECODE,
    EAGER,
    ELEMENT_BYTES,
    FORWARD,
    LAUNCH,
    MATMUL,
    MEMORY,
    STEP,
    Case,
    Environment,
    NotSupportedError,
    Shape,
)

_PRECISIONS: dict[str, Any] = {"fp32": np.float32, "fp64": np.float64}
_SEED = 17
#: Variables that libraries of linear algebra take their number of threads from.
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
#: AdamW, as it is usually set.
_RATE, _BETA_1, _BETA_2, _EPSILON, _DECAY = 1e-4, 0.9, 0.95, 1e-8, 0.1

_Array = npt.NDArray[Any]
_Call = Callable[[], object]


class NumpyBackend:
    """NumPy and the linear algebra library that it was built with."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(_SEED)

    @property
    def environment(self) -> Environment:
        """Versions and processor."""
        return Environment(backend="numpy", software=_versions(), device=_processor(), processor=True)

    def prepare(self, case: Case) -> _Call:
        """Return one call of the case."""
        make = {
            MATMUL: self._multiplication,
            MEMORY: self._memory,
            ATTENTION: self._attention,
            LAUNCH: self._launch,
            DECODE: self._decode,
            STEP: self._step,
        }.get(case.kind)
        if make is None:
            raise NotSupportedError(f"NumPy has no {case.kind}")
        if case.kind in (LAUNCH, DECODE, STEP) and case.variant != EAGER:
            raise NotSupportedError(f"NumPy has nothing {case.variant}")
        return make(case, case.shape)

    def synchronize(self) -> None:
        """Return at once: every call has ended when it returns."""

    def peak_bytes(self, call: _Call) -> float | None:
        """Return the most bytes allocated at a time while the call runs, with those of its operands."""
        held = getattr(call, "held_bytes", 0)
        tracemalloc.start()
        try:
            call()
            return float(held + tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()

    def clock_hz(self) -> float | None:
        """Return the first core's present clock, where Linux says it."""
        return _clock_hz()

    def release(self) -> None:
        """Do nothing: NumPy keeps no memory of its own."""

    def _type(self, case: Case) -> Any:  # noqa: ANN401 - a type of NumPy
        if case.precision not in _PRECISIONS:
            raise NotSupportedError(f"NumPy multiplies no {case.precision}")
        return _PRECISIONS[case.precision]

    def _array(self, case: Case, *shape: int) -> _Array:
        numbers: _Array = self._random.standard_normal(shape, dtype=self._type(case))
        return numbers

    def _multiplication(self, case: Case, shape: Shape) -> _Call:
        left = self._array(case, shape["m"], shape["k"])
        right = self._array(case, shape["k"], shape["n"])
        product = np.empty((shape["m"], shape["n"]), dtype=left.dtype)
        return lambda: np.matmul(left, right, out=product)

    def _memory(self, case: Case, shape: Shape) -> _Call:
        count = shape["bytes"] // ELEMENT_BYTES[case.precision]
        first, target = (np.full(count, value, dtype=self._type(case)) for value in (1.0, 0.0))
        if case.variant != ADD:
            return lambda: np.copyto(target, first)
        second = np.full_like(first, 2.0)
        return lambda: np.add(first, second, out=target)

    def _attention(self, case: Case, shape: Shape) -> _Call:
        sizes = (shape["batch"], shape["heads"], shape["sequence"], shape["head_dim"])
        query, key, value, gradient = (self._array(case, *sizes) for _ in range(4))
        if case.variant == FORWARD:
            return lambda: attention(query, key, value)

        def both() -> object:
            weights, _ = attention(query, key, value)
            return attention_gradients(query, key, value, weights, gradient)

        return both

    def _launch(self, _case: Case, shape: Shape) -> _Call:
        number = np.zeros(1)

        def add() -> None:
            for _ in range(shape["kernels"]):
                np.add(number, 1.0, out=number)

        return add

    def _decode(self, case: Case, shape: Shape) -> _Call:
        hidden, heads, batch = shape["hidden"], shape["heads"], shape["batch"]
        layers = [self._layer(case, shape) for _ in range(shape["layers"])]
        cache = (batch, heads, shape["context"], hidden // heads)
        caches = [(self._array(case, *cache), self._array(case, *cache)) for _ in layers]
        token = self._array(case, batch, hidden)

        def step() -> _Array:
            state = token
            for layer, (keys, values) in zip(layers, caches, strict=True):
                query, key, value = _heads(_normalised(state[:, None]) @ layer["in"], heads)
                keys[:, :, -1:], values[:, :, -1:] = key, value
                scores = _softmax(query @ keys.swapaxes(-1, -2) / np.sqrt(query.shape[-1]))
                state = state + _joined(scores @ values)[:, 0] @ layer["out"]
                state = state + np.maximum(_normalised(state) @ layer["up"], 0) @ layer["down"]
            return state

        return step

    def _layer(self, case: Case, shape: Shape) -> dict[str, _Array]:
        hidden, ffn = shape["hidden"], shape["ffn"]
        sizes = {"in": (hidden, 3 * hidden), "out": (hidden, hidden), "up": (hidden, ffn), "down": (ffn, hidden)}
        return {name: self._array(case, *size) / np.float32(np.sqrt(size[0])) for name, size in sizes.items()}

    def _step(self, case: Case, shape: Shape) -> _Call:
        """Return a step of a transformer whose norms have no gradient; tests hold its loss against a fall."""
        return TrainingStep(
            layers=[self._layer(case, shape) for _ in range(shape["layers"])],
            head=self._array(case, shape["hidden"], shape["vocab"]) / np.float32(np.sqrt(shape["hidden"])),
            inputs=self._array(case, shape["batch"], shape["sequence"], shape["hidden"]),
            targets=self._random.integers(shape["vocab"], size=(shape["batch"], shape["sequence"])),
            heads=shape["heads"],
        )


class TrainingStep:
    """Forward, backward and AdamW of a small transformer on embedded inputs, without norms."""

    def __init__(
        self, *, layers: list[dict[str, _Array]], head: _Array, inputs: _Array, targets: _Array, heads: int
    ) -> None:
        self._layers, self._inputs, self._targets, self._heads = layers, inputs, targets, heads
        self._head = {"head": head}
        self._groups = [*layers, self._head]
        self._states = [
            {name: (np.zeros_like(one), np.zeros_like(one)) for name, one in group.items()} for group in self._groups
        ]
        self._count = 0

    @property
    def held_bytes(self) -> int:
        """Bytes of weights, states and inputs, which are there before a step begins."""
        weights = sum(one.nbytes for group in self._groups for one in group.values())
        return 3 * weights + self._inputs.nbytes + self._targets.nbytes

    def __call__(self) -> float:
        """Take a step; return the loss before it."""
        state, saved = self._inputs, []
        for layer in self._layers:
            state, kept = _layer_forward(state, layer, self._heads)
            saved.append(kept)
        loss, gradient = _cross_entropy(state @ self._head["head"], self._targets)
        gradients = [{"head": np.einsum("bsh,bsv->hv", state, gradient, optimize=True)}]
        gradient = gradient @ self._head["head"].T
        for layer, kept in zip(reversed(self._layers), reversed(saved), strict=True):
            gradient, own = _layer_backward(gradient, layer, kept)
            gradients.insert(0, own)
        self._count += 1
        for group, own, states in zip(self._groups, gradients, self._states, strict=True):
            for name, weight in group.items():
                _update(weight, own[name], *states[name], count=self._count)
        return loss


def attention(query: _Array, key: _Array, value: _Array) -> tuple[_Array, _Array]:
    """Return the causal weights of attention, and its output."""
    length = query.shape[-2]
    scores = query @ key.swapaxes(-1, -2) / query.dtype.type(np.sqrt(query.shape[-1]))
    scores += np.triu(np.full((length, length), -np.inf, dtype=query.dtype), 1)
    weights = _softmax(scores)
    return weights, weights @ value


def attention_gradients(
    query: _Array, key: _Array, value: _Array, weights: _Array, gradient: _Array
) -> tuple[_Array, _Array, _Array]:
    """Return the gradients of queries, keys and values."""
    of_value = weights.swapaxes(-1, -2) @ gradient
    of_weights = gradient @ value.swapaxes(-1, -2)
    of_scores = weights * (of_weights - (of_weights * weights).sum(axis=-1, keepdims=True))
    of_scores /= query.dtype.type(np.sqrt(query.shape[-1]))
    return of_scores @ key, of_scores.swapaxes(-1, -2) @ query, of_value


def _layer_forward(state: _Array, layer: dict[str, _Array], heads: int) -> tuple[_Array, tuple[_Array, ...]]:
    query, key, value = _heads(state @ layer["in"], heads)
    weights, output = attention(query, key, value)
    attended = _joined(output)
    middle = state + attended @ layer["out"]
    wide = np.maximum(middle @ layer["up"], 0)
    return middle + wide @ layer["down"], (state, query, key, value, weights, attended, middle, wide)


def _layer_backward(
    gradient: _Array, layer: dict[str, _Array], saved: tuple[_Array, ...]
) -> tuple[_Array, dict[str, _Array]]:
    state, query, key, value, weights, attended, middle, wide = saved
    own = {"down": _weight_gradient(wide, gradient)}
    of_wide = (gradient @ layer["down"].T) * (wide > 0)
    own["up"] = _weight_gradient(middle, of_wide)
    of_middle = gradient + of_wide @ layer["up"].T
    own["out"] = _weight_gradient(attended, of_middle)
    of_output = _split(of_middle @ layer["out"].T, query.shape[1])
    parts = attention_gradients(query, key, value, weights, of_output)
    of_projected = np.concatenate([_joined(part) for part in parts], axis=-1)
    own["in"] = _weight_gradient(state, of_projected)
    return of_middle + of_projected @ layer["in"].T, own


def _weight_gradient(inputs: _Array, gradient: _Array) -> _Array:
    return inputs.reshape(-1, inputs.shape[-1]).T @ gradient.reshape(-1, gradient.shape[-1])


def _cross_entropy(logits: _Array, targets: _Array) -> tuple[float, _Array]:
    """Return the mean loss, and the gradient of the logits."""
    shares = _softmax(logits)
    chosen = np.take_along_axis(shares, targets[..., None], axis=-1)
    np.put_along_axis(shares, targets[..., None], chosen - 1, axis=-1)
    return float(-np.log(np.maximum(chosen, np.finfo(chosen.dtype).tiny)).mean()), shares / targets.size


def _update(weight: _Array, gradient: _Array, first: _Array, second: _Array, *, count: int) -> None:
    """Change a weight and its two moments as AdamW does."""
    first += (1 - _BETA_1) * (gradient - first)
    second += (1 - _BETA_2) * (gradient**2 - second)
    scaled = first / (1 - _BETA_1**count) / (np.sqrt(second / (1 - _BETA_2**count)) + _EPSILON)
    weight -= _RATE * (scaled + _DECAY * weight)


def _softmax(scores: _Array) -> _Array:
    exponentials: _Array = np.exp(scores - scores.max(axis=-1, keepdims=True))
    exponentials /= exponentials.sum(axis=-1, keepdims=True)
    return exponentials


def _normalised(state: _Array) -> _Array:
    normalised: _Array = state / np.sqrt((state * state).mean(axis=-1, keepdims=True) + 1e-6)
    return normalised


def _split(state: _Array, heads: int) -> _Array:
    batch, length, width = state.shape
    return state.reshape(batch, length, heads, width // heads).swapaxes(1, 2)


def _heads(projected: _Array, heads: int) -> tuple[_Array, _Array, _Array]:
    """Return queries, keys and values as (batch, heads, sequence, head_dim)."""
    query, key, value = (_split(part, heads) for part in np.split(projected, 3, axis=-1))
    return query, key, value


def _joined(output: _Array) -> _Array:
    batch, heads, length, width = output.shape
    return output.swapaxes(1, 2).reshape(batch, length, heads * width)


def _versions() -> str:
    built: Any = np.show_config(mode="dicts")
    library = built.get("Build Dependencies", {}).get("blas", {})
    blas = " ".join(str(library[name]) for name in ("name", "version") if library.get(name))
    found = [f"Python {platform.python_version()}", f"NumPy {np.__version__}", blas]
    found += [f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ]
    return "; ".join([*filter(None, found), f"{sys.platform}, {os.cpu_count()} processors"])


def _processor() -> str:
    """Return the processor's name as Linux has it, else its architecture."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "processor"


def _clock_hz() -> float | None:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("cpu MHz"):
                return float(line.partition(":")[2]) * 1e6
    except (OSError, ValueError):
        pass
    return None
