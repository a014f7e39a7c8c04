"""PyTorch on CUDA or ROCm devices. PyTorch is imported where it is installed and is no dependency of ours.

Ran with PyTorch 2.11 on H100 and H200. What a release or a device lacks is left out by name.
"""

import importlib
import platform
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from clusterwright.evidence.probe.records import (
    ADD,
    ALL_GATHER,
    ALL_REDUCE,
    ATTENTION,
    CAPTURED,
    COLLECTIVE,
    COMPILED,
    DECODE,
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

#: Attributes of `torch` that hold the type of each precision; tf32 multiplies fp32 operands.
_TYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64", "tf32": "float32"}
_EIGHT_BIT = "float8_e4m3fn"
_SEED = 17
#: Calls before a graph is captured, on a stream of their own, as `torch.cuda.graph` asks for.
_WARM_UP_CALLS = 3

_Call = Callable[[], object]


def import_torch() -> ModuleType | None:
    """Return PyTorch, None where it is not installed or cannot be loaded."""
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError):  # a missing library of the vendor is an OSError
        return None


class TorchBackend:
    """PyTorch on the first device of the node, and for collectives on all of them."""

    def __init__(self, torch: Any) -> None:  # noqa: ANN401 - a module that need not be installed
        self._torch = torch
        self._on_accelerator = bool(torch.cuda.is_available())
        self._device = "cuda:0" if self._on_accelerator else "cpu"
        torch.manual_seed(_SEED)
        torch.set_float32_matmul_precision("high")  # fp32 operands are multiplied as tf32

    @property
    def environment(self) -> Environment:
        """Versions, device and number of devices."""
        torch, cuda = self._torch, self._torch.cuda
        versions = [f"Python {platform.python_version()}", f"PyTorch {torch.__version__}"]
        if not self._on_accelerator:
            software = "; ".join([*versions, sys.platform])
            return Environment(backend="torch", software=software, device=platform.machine(), processor=True)
        versions += [
            f"{name} {version}"
            for name, version in (
                ("CUDA", torch.version.cuda),
                ("ROCm", getattr(torch.version, "hip", None)),
                ("cuDNN", torch.backends.cudnn.version()),
                ("NCCL", self._nccl_version()),
            )
            if version
        ]
        return Environment(
            backend="torch",
            software="; ".join([*versions, sys.platform]),
            device=str(cuda.get_device_name(0)),
            processor=False,
            devices=int(cuda.device_count()),
            memory_bytes=float(cuda.get_device_properties(0).total_memory),
        )

    def prepare(self, case: Case) -> _Call:
        """Return one call of the case."""
        make = {
            MATMUL: self._multiplication,
            MEMORY: self._memory,
            ATTENTION: self._attention,
            LAUNCH: self._launch,
            COLLECTIVE: self._collective,
            DECODE: self._decode,
            STEP: self._step,
        }[case.kind]
        call = make(case, case.shape)
        return self._captured(call) if case.variant == CAPTURED else call

    def synchronize(self) -> None:
        """Wait for every device."""
        if self._on_accelerator:
            for number in range(self._torch.cuda.device_count()):
                self._torch.cuda.synchronize(number)

    def peak_bytes(self, call: _Call) -> float | None:
        """Return the most bytes of tensors on the first device while the call runs."""
        if not self._on_accelerator:
            return None
        cuda = self._torch.cuda
        cuda.reset_peak_memory_stats(0)
        call()
        cuda.synchronize(0)
        return float(cuda.max_memory_allocated(0))

    def clock_hz(self) -> float | None:
        """Return the clock of the first device's processors; None where the driver's library for it is missing."""
        if not self._on_accelerator:
            return None
        try:
            return float(self._torch.cuda.clock_rate(0)) * 1e6
        except Exception:  # noqa: BLE001 - needs NVML's or AMD SMI's module, which raise errors of their own
            return None

    def release(self) -> None:
        """Give the allocator's memory back to the device."""
        if self._on_accelerator:
            self._torch.cuda.empty_cache()

    def _nccl_version(self) -> str | None:
        try:
            found = self._torch.cuda.nccl.version()
        except (AttributeError, RuntimeError):
            return None
        return ".".join(map(str, found)) if isinstance(found, tuple) else str(found)

    def _type(self, case: Case) -> Any:  # noqa: ANN401 - of PyTorch
        found = getattr(self._torch, _TYPES.get(case.precision, ""), None)
        if found is None:
            raise NotSupportedError(f"PyTorch has no {case.precision} here")
        return found

    def _tensor(self, case: Case, *shape: int, device: str | None = None) -> Any:  # noqa: ANN401 - of PyTorch
        return self._torch.randn(shape, device=device or self._device, dtype=self._type(case))

    def _multiplication(self, case: Case, shape: Shape) -> _Call:
        torch = self._torch
        if case.precision == "fp8":
            return self._eight_bit_multiplication(shape)
        left = self._tensor(case, shape["m"], shape["k"])
        right = self._tensor(case, shape["k"], shape["n"])
        product = torch.empty((shape["m"], shape["n"]), device=self._device, dtype=left.dtype)
        return lambda: torch.matmul(left, right, out=product)

    def _eight_bit_multiplication(self, shape: Shape) -> _Call:
        """Return a multiplication with one scale for each tensor; the right operand lies by columns."""
        torch = self._torch
        kind, multiply = getattr(torch, _EIGHT_BIT, None), getattr(torch, "_scaled_mm", None)
        if kind is None or multiply is None:
            raise NotSupportedError("this PyTorch multiplies no fp8")

        def operand(rows: int, columns: int) -> Any:  # noqa: ANN401 - of PyTorch
            return torch.randn((rows, columns), device=self._device, dtype=torch.bfloat16).to(kind)

        left, right = operand(shape["m"], shape["k"]), operand(shape["n"], shape["k"]).t()
        scale = torch.ones((), device=self._device, dtype=torch.float32)
        return lambda: multiply(left, right, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)

    def _memory(self, case: Case, shape: Shape) -> _Call:
        torch, count = self._torch, shape["bytes"] // ELEMENT_BYTES[case.precision]
        first, target = self._tensor(case, count), self._tensor(case, count)
        if case.variant != ADD:
            return lambda: target.copy_(first)
        second = self._tensor(case, count)
        return lambda: torch.add(first, second, out=target)

    def _attention(self, case: Case, shape: Shape) -> _Call:
        torch = self._torch
        attend = torch.nn.functional.scaled_dot_product_attention
        sizes = (shape["batch"], shape["heads"], shape["sequence"], shape["head_dim"])
        query, key, value, gradient = (self._tensor(case, *sizes) for _ in range(4))
        if case.variant == FORWARD:

            def forward() -> object:
                with torch.no_grad():
                    return attend(query, key, value, is_causal=True)

            return forward
        inputs = tuple(one.requires_grad_(True) for one in (query, key, value))
        return lambda: torch.autograd.grad(attend(*inputs, is_causal=True), inputs, gradient)

    def _launch(self, _case: Case, shape: Shape) -> _Call:
        number = self._torch.zeros(1, device=self._device)

        def add() -> None:
            for _ in range(shape["kernels"]):
                number.add_(1.0)

        return add

    def _captured(self, call: _Call) -> _Call:
        """Return the replay of a graph of the call."""
        torch = self._torch
        if not self._on_accelerator:
            raise NotSupportedError("graphs are captured on CUDA and ROCm devices alone")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP_CALLS):
                call()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        replay: _Call = graph.replay
        return replay

    def _collective(self, case: Case, shape: Shape) -> _Call:
        """Return a collective of one process over all devices, in place where it can be."""
        nccl = self._torch.cuda.nccl
        count, devices = shape["bytes"] // ELEMENT_BYTES[case.precision], shape["devices"]
        part = count // devices
        sizes = {ALL_REDUCE: (count, count), ALL_GATHER: (part, part * devices)}.get(
            case.variant, (part * devices, part)
        )

        def buffers(size: int) -> list[Any]:
            return [self._tensor(case, size, device=f"cuda:{number}") for number in range(devices)]

        inputs = buffers(sizes[0])
        if case.variant == ALL_REDUCE:
            return lambda: nccl.all_reduce(inputs)
        outputs = buffers(sizes[1])
        collective = nccl.all_gather if case.variant == ALL_GATHER else nccl.reduce_scatter
        return lambda: collective(inputs, outputs)

    def _layer(self, case: Case, shape: Shape) -> dict[str, Any]:
        hidden, ffn = shape["hidden"], shape["ffn"]
        sizes = {"in": (3 * hidden, hidden), "out": (hidden, hidden), "up": (ffn, hidden), "down": (hidden, ffn)}
        layer = {name: self._tensor(case, *size).mul_(size[1] ** -0.5) for name, size in sizes.items()}
        for name in ("first_norm", "second_norm"):
            layer[name] = self._torch.ones(hidden, device=self._device, dtype=self._type(case))
        return layer

    def _decode(self, case: Case, shape: Shape) -> _Call:
        torch, functional = self._torch, self._torch.nn.functional
        hidden, heads, batch = shape["hidden"], shape["heads"], shape["batch"]
        layers = [self._layer(case, shape) for _ in range(shape["layers"])]
        cache = (batch, heads, shape["context"], hidden // heads)
        caches = [(self._tensor(case, *cache), self._tensor(case, *cache)) for _ in layers]
        token = self._tensor(case, batch, 1, hidden)

        def step() -> object:
            with torch.no_grad():
                state = token
                for layer, (keys, values) in zip(layers, caches, strict=True):
                    normed = functional.layer_norm(state, (hidden,), layer["first_norm"])
                    query, key, value = _heads(functional.linear(normed, layer["in"]), heads)
                    keys[:, :, -1:].copy_(key)
                    values[:, :, -1:].copy_(value)
                    attended = functional.scaled_dot_product_attention(query, keys, values)
                    state = state + functional.linear(attended.transpose(1, 2).flatten(2), layer["out"])
                    state = state + _mlp(functional, state, layer, hidden)
                return state

        return step

    def _step(self, case: Case, shape: Shape) -> _Call:
        """Return a step of a transformer whose weights, gradients and states of AdamW are in the case's precision."""
        torch, functional = self._torch, self._torch.nn.functional
        hidden, heads, vocab = shape["hidden"], shape["heads"], shape["vocab"]
        layers = [self._layer(case, shape) for _ in range(shape["layers"])]
        table = self._tensor(case, vocab, hidden)
        head = self._tensor(case, vocab, hidden).mul_(hidden**-0.5)
        weights = [table, head, *(one for layer in layers for one in layer.values())]
        for weight in weights:
            weight.requires_grad_(True)
        sizes = (shape["batch"], shape["sequence"])
        tokens, targets = (torch.randint(vocab, sizes, device=self._device) for _ in range(2))
        optimizer = torch.optim.AdamW(weights, lr=1e-4, fused=self._on_accelerator)

        def loss() -> Any:  # noqa: ANN401 - of PyTorch
            state = functional.embedding(tokens, table)
            for layer in layers:
                normed = functional.layer_norm(state, (hidden,), layer["first_norm"])
                query, key, value = _heads(functional.linear(normed, layer["in"]), heads)
                attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
                state = state + functional.linear(attended.transpose(1, 2).flatten(2), layer["out"])
                state = state + _mlp(functional, state, layer, hidden)
            logits = functional.linear(state, head).flatten(0, 1).float()
            return functional.cross_entropy(logits, targets.flatten())

        forward = torch.compile(loss) if case.variant == COMPILED else loss

        def step() -> None:
            forward().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        return step


def _heads(projected: Any, heads: int) -> list[Any]:  # noqa: ANN401 - tensors of PyTorch
    """Return queries, keys and values as (batch, heads, sequence, head_dim)."""
    return [part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in projected.chunk(3, dim=-1)]


def _mlp(functional: Any, state: Any, layer: dict[str, Any], hidden: int) -> Any:  # noqa: ANN401 - of PyTorch
    normed = functional.layer_norm(state, (hidden,), layer["second_norm"])
    return functional.linear(functional.gelu(functional.linear(normed, layer["up"])), layer["down"])
