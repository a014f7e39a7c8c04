# ruff: noqa: ANN401, PLR0917 - the signatures are PyTorch's
"""A stand-in for PyTorch: tensors are arrays of NumPy, devices are imagined, and calls have the real signatures.

It shows that the backend's calls exist and that shapes fit together. What a GPU computes, and how fast, it cannot show.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

DEVICES = 2
MEMORY_BYTES = 192e9


class Tensor:
    """An array with its type and device; results know nothing of gradients but that they were asked for."""

    def __init__(self, array: Any, dtype: str = "float32", device: str = "cpu") -> None:
        self.array, self.dtype, self.device = np.asarray(array), dtype, device
        self.requires_grad = False
        self.grad: Tensor | None = None
        self.leaves: tuple[Tensor, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return self.array.shape

    def _like(self, array: Any, *others: Any) -> "Tensor":
        for other in others:
            if isinstance(other, Tensor):
                assert (other.dtype, other.device) == (self.dtype, self.device)
        made = Tensor(array, self.dtype, self.device)
        made.leaves = tuple(
            leaf
            for one in (self, *others)
            if isinstance(one, Tensor)
            for leaf in ((one,) if one.requires_grad else one.leaves)
        )
        return made

    def __add__(self, other: "Tensor") -> "Tensor":
        return self._like(self.array + other.array, other)

    def __getitem__(self, place: Any) -> "Tensor":
        return self._like(self.array[place])

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Ask for a gradient."""
        self.requires_grad = requires_grad
        return self

    def mul_(self, other: float) -> "Tensor":
        """Multiply in place."""
        self.array *= other
        return self

    def add_(self, other: float) -> "Tensor":
        """Add in place."""
        self.array += other
        return self

    def copy_(self, src: "Tensor") -> "Tensor":
        """Copy in place."""
        np.copyto(self.array, src.array)
        return self

    def to(self, dtype: str) -> "Tensor":
        """Return it in another type."""
        return Tensor(self.array, dtype, self.device)

    def float(self) -> "Tensor":
        """Return it in float32."""
        made = self._like(self.array)
        made.dtype = "float32"
        return made

    def t(self) -> "Tensor":
        """Return the transposed matrix."""
        assert self.array.ndim == 2
        return self._like(self.array.T)

    def transpose(self, dim0: int, dim1: int) -> "Tensor":
        """Swap two dimensions."""
        return self._like(self.array.swapaxes(dim0, dim1))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> "Tensor":
        """Join dimensions."""
        sizes, last = self.shape, end_dim % self.array.ndim
        return self._like(self.array.reshape(*sizes[:start_dim], -1, *sizes[last + 1 :]))

    def unflatten(self, dim: int, sizes: tuple[int, ...]) -> "Tensor":
        """Split the last dimension."""
        assert dim == -1
        return self._like(self.array.reshape(*self.shape[:-1], *sizes))

    def chunk(self, chunks: int, dim: int = 0) -> list["Tensor"]:
        """Split into equal parts."""
        return [self._like(part) for part in np.split(self.array, chunks, axis=dim)]

    def backward(self) -> None:
        """Give every leaf a gradient."""
        assert self.array.ndim == 0
        for leaf in self.leaves:
            leaf.grad = Tensor(np.zeros(leaf.shape), leaf.dtype, leaf.device)


class AdamW:
    """The optimizer; `step` wants a gradient for each of its weights."""

    def __init__(self, params: list[Tensor], lr: float = 1e-3, *, fused: bool | None = None) -> None:
        assert params
        assert all(one.requires_grad and not one.leaves for one in params)
        self._params, self.steps = params, 0

    def step(self) -> None:
        """Take a step."""
        assert all(one.grad is not None for one in self._params)
        self.steps += 1

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients."""
        for one in self._params:
            one.grad = None


class Graph:
    """What `torch.cuda.CUDAGraph` is for."""

    def __init__(self) -> None:
        self.captured = False

    def replay(self) -> None:
        """Run what was captured."""
        assert self.captured


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:  # noqa: A002 - PyTorch's name
    return input._like(input.array @ weight.array.T, weight)


def _layer_norm(input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None = None) -> Tensor:  # noqa: A002
    assert input.shape[-1:] == normalized_shape
    assert weight is not None
    return input._like(input.array * weight.array, weight)


def _attend(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: None = None, dropout_p: float = 0.0, is_causal: bool = False
) -> Tensor:
    scores = query.array @ key.array.swapaxes(-1, -2)
    return query._like(scores @ value.array, key, value)


def _cross_entropy(input: Tensor, target: Tensor) -> Tensor:  # noqa: A002
    assert input.dtype == "float32"
    assert input.shape[:1] == target.shape
    return input._like(np.asarray(1.0))


def _embedding(input: Tensor, weight: Tensor) -> Tensor:  # noqa: A002
    return weight._like(weight.array[input.array], weight)


def _scaled_mm(self: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor, *, out_dtype: str | None = None) -> Tensor:
    assert self.dtype == mat2.dtype == "float8_e4m3fn"
    assert scale_a.dtype == scale_b.dtype == "float32"
    assert mat2.array.flags["F_CONTIGUOUS"]
    return Tensor(self.array @ mat2.array, out_dtype or self.dtype, self.device)


def _grad(outputs: Tensor, inputs: tuple[Tensor, ...], grad_outputs: Tensor) -> tuple[Tensor, ...]:
    assert outputs.shape == grad_outputs.shape
    assert all(any(one is leaf for leaf in outputs.leaves) for one in inputs)
    return tuple(Tensor(np.zeros(one.shape)) for one in inputs)


def _all_reduce(inputs: list[Tensor], outputs: list[Tensor] | None = None, op: int = 0) -> None:
    assert [one.device for one in inputs] == [f"cuda:{number}" for number in range(DEVICES)]


def _all_gather(inputs: list[Tensor], outputs: list[Tensor]) -> None:
    assert all(out.array.size == DEVICES * one.array.size for one, out in zip(inputs, outputs, strict=True))


def _reduce_scatter(inputs: list[Tensor], outputs: list[Tensor], op: int = 0) -> None:
    assert all(one.array.size == DEVICES * out.array.size for one, out in zip(inputs, outputs, strict=True))


def stand_in(*, accelerator: bool = True) -> Any:
    """Return the module, with devices or without; `calls` counts what was compiled, captured and synchronised."""
    random = np.random.default_rng(5)
    calls = {"compiled": 0, "captured": 0, "synchronised": 0, "reset": 0}

    def randn(size: tuple[int, ...], *, device: str, dtype: str) -> Tensor:
        return Tensor(random.standard_normal(size), dtype, device)

    def matmul(input: Tensor, other: Tensor, *, out: Tensor) -> Tensor:  # noqa: A002
        assert input.dtype == other.dtype == out.dtype
        np.matmul(input.array, other.array, out=out.array)
        return out

    def add(input: Tensor, other: Tensor, *, out: Tensor) -> Tensor:  # noqa: A002
        np.add(input.array, other.array, out=out.array)
        return out

    def compiled(model: Callable[[], Any]) -> Callable[[], Any]:
        calls["compiled"] += 1
        return model

    @contextmanager
    def capture(cuda_graph: Graph) -> Iterator[None]:
        yield
        cuda_graph.captured = True
        calls["captured"] += 1

    @contextmanager
    def nothing(*_: object) -> Iterator[None]:
        yield

    def counted(name: str) -> Callable[[int], None]:
        def count(device: int) -> None:
            assert device in range(DEVICES)
            calls[name] += 1

        return count

    def no_clock(_device: int) -> int:
        raise ModuleNotFoundError("pynvml does not seem to be installed")

    stream = SimpleNamespace(wait_stream=lambda _stream: None)
    cuda = SimpleNamespace(
        is_available=lambda: accelerator,
        device_count=lambda: DEVICES,
        get_device_name=lambda _device: "AMD Instinct MI300X",
        get_device_properties=lambda _device: SimpleNamespace(total_memory=int(MEMORY_BYTES)),
        synchronize=counted("synchronised"),
        reset_peak_memory_stats=counted("reset"),
        max_memory_allocated=lambda _device: 123_456_789,
        clock_rate=no_clock,
        empty_cache=lambda: None,
        Stream=lambda: stream,
        current_stream=lambda: stream,
        stream=nothing,
        CUDAGraph=Graph,
        graph=capture,
        nccl=SimpleNamespace(
            version=lambda: (2, 27, 3),
            all_reduce=_all_reduce,
            all_gather=_all_gather,
            reduce_scatter=_reduce_scatter,
        ),
    )
    functional = SimpleNamespace(
        scaled_dot_product_attention=_attend,
        linear=_linear,
        layer_norm=_layer_norm,
        gelu=lambda input: input._like(input.array),  # noqa: A006 - PyTorch's name
        embedding=_embedding,
        cross_entropy=_cross_entropy,
    )
    return SimpleNamespace(
        __version__="2.9.0",
        calls=calls,
        bfloat16="bfloat16",
        float16="float16",
        float32="float32",
        float64="float64",
        float8_e4m3fn="float8_e4m3fn",
        manual_seed=lambda _seed: None,
        set_float32_matmul_precision=lambda _precision: None,
        version=SimpleNamespace(cuda=None, hip="6.4"),
        backends=SimpleNamespace(cudnn=SimpleNamespace(version=lambda: None)),
        randn=randn,
        empty=lambda size, *, device, dtype: Tensor(np.empty(size), dtype, device),
        ones=lambda size, *, device, dtype: Tensor(np.ones(size), dtype, device),
        zeros=lambda size, *, device: Tensor(np.zeros(size), "float32", device),
        randint=lambda high, size, *, device: Tensor(random.integers(high, size=size), "int64", device),
        matmul=matmul,
        add=add,
        _scaled_mm=_scaled_mm,
        compile=compiled,
        no_grad=nothing,
        autograd=SimpleNamespace(grad=_grad),
        optim=SimpleNamespace(AdamW=AdamW),
        nn=SimpleNamespace(functional=functional),
        cuda=cuda,
    )
