"""Training steps and peak memory on one GPU: `python benchmarks/one_gpu.py RUNS.csv FINE_TUNING.csv [SECONDS]`.

Needs a GPU, PyTorch, transformers and peft; none of them is a dependency of Clusterwright, and nothing is downloaded.
Method: models of published dimensions (the catalogue's) with random weights, as `transformers` builds them, on random
tokens. Each case makes two steps to warm up and then four, each of forward and backward pass and fused AdamW; tokens/s
are those of the median step by the wall clock, with the device's queue empty before and after. The peak is what the
allocator gave to tensors (`peak_mem_gib`), beside it what it held (`reserved_gib`) and what the driver counts
(`driver_gib`). Cases that run out of memory are rows, too. SECONDS (default 300) bounds the whole: cases that would
begin later are left out.

The files are those that `clusterwright validate training` and `clusterwright validate finetune` read. States are
`autocast`: weights, gradients and AdamW's moments in fp32, multiplications in bf16, as transformers' Trainer does with
`bf16=True`; or `pure`: all of them in bf16.
"""

import csv
import datetime as dt
import gc
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.catalog import load
from clusterwright.catalog.records import Model
from clusterwright.evidence.probe.devices import DRIVER_NAMES
from clusterwright.evidence.training.nodes import measured_nodes

_GIB = 2**30
_WARM_UP_STEPS, _STEPS = 2, 4
_DEFAULT_SECONDS = 300.0
AUTOCAST, PURE, ADAPTERS = "autocast", "pure", "adapters"
_RANK = 16
SOURCE = "one-gpu-steps"
_DIMENSIONS = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn_hidden", "vocab")


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is trained and how.

    Attributes:
        states: `autocast`, `pure`, or `adapters` of frozen bf16 weights.
        recomputed: every layer's activations are; compiled: by `torch.compile`.
    """

    model: str
    states: str
    sequence: int
    batch: int
    recomputed: bool = False
    compiled: bool = False


def cases() -> list[Case]:
    """Return the cases, those that matter most first."""
    table = (
        ("llama-3.2-1b", AUTOCAST, 2048, (1, 2, 4, 8, 16), False, False),
        ("llama-3.2-3b", AUTOCAST, 2048, (1, 2, 4, 8), False, False),
        ("llama-3.2-1b", AUTOCAST, 2048, (2, 8), False, True),
        ("llama-3.2-3b", PURE, 2048, (4,), False, True),
        ("gpt2", AUTOCAST, 1024, (32,), False, True),
        ("llama-3-8b", ADAPTERS, 2048, (1, 2, 4, 8), False, False),
        ("llama-3-8b", ADAPTERS, 2048, (1, 4, 16), True, False),
        ("llama-3-8b", PURE, 2048, (1, 2, 4, 8), False, False),
        ("llama-3-8b", PURE, 2048, (1, 4, 8, 16), True, False),
        ("llama-3-8b", AUTOCAST, 2048, (1, 4), True, False),
        ("llama-3.2-1b", PURE, 2048, (4, 8, 16), False, False),
        ("llama-3.2-3b", PURE, 2048, (2, 4, 8), False, False),
        ("llama-3.2-3b", AUTOCAST, 2048, (2, 8), True, False),
        ("gpt2-xl", AUTOCAST, 1024, (2, 8, 16), False, False),
        ("gpt2", AUTOCAST, 1024, (8, 32, 64), False, False),
        ("llama-3.2-1b", AUTOCAST, 8192, (1, 2, 4), False, False),
        ("llama-3.2-1b", AUTOCAST, 8192, (1, 4), True, False),
        ("llama-3.2-1b", AUTOCAST, 32768, (1,), True, False),
        ("llama-3.2-3b", PURE, 8192, (1, 2), True, False),
        ("llama-3-8b", ADAPTERS, 8192, (1, 2), True, False),
        ("llama-3.2-1b", ADAPTERS, 2048, (2, 8), False, False),
    )
    return [
        Case(model=model, states=states, sequence=sequence, batch=batch, recomputed=recomputed, compiled=compiled)
        for model, states, sequence, batches, recomputed, compiled in table
        for batch in batches
    ]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Step time and peaks of a case; seconds is None where memory ran out."""

    seconds: float | None
    allocated_bytes: float
    reserved_bytes: float
    driver_bytes: float
    trained_parameters: int


def _built(model: Model, transformers: Any) -> Any:
    common = {"use_cache": False, "tie_word_embeddings": bool(model.tied_embeddings)}
    if model.id.startswith("gpt2"):
        config = transformers.GPT2Config(
            n_layer=model.layers,
            n_embd=model.hidden,
            n_head=model.heads,
            vocab_size=model.vocab,
            n_positions=1024,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            attn_implementation="sdpa",
            **common,
        )
        return transformers.GPT2LMHeadModel(config)
    config = transformers.LlamaConfig(
        num_hidden_layers=model.layers,
        hidden_size=model.hidden,
        num_attention_heads=model.heads,
        num_key_value_heads=model.kv_heads,
        head_dim=model.head_dim,
        intermediate_size=model.ffn_hidden,
        vocab_size=model.vocab,
        max_position_embeddings=131072,
        attn_implementation="sdpa",
        **common,
    )
    return transformers.LlamaForCausalLM(config)


def _with_adapters(network: Any) -> Any:
    import peft

    modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    config = peft.LoraConfig(r=_RANK, lora_alpha=2 * _RANK, target_modules=modules, task_type="CAUSAL_LM")
    return peft.get_peft_model(network, config)


def _step_of(case: Case, model: Model, torch: Any, transformers: Any) -> tuple[Callable[[], None], int]:
    torch.set_default_dtype(torch.float32 if case.states == AUTOCAST else torch.bfloat16)
    try:
        with torch.device("cuda"):
            network = _built(model, transformers)
    finally:
        torch.set_default_dtype(torch.float32)
    if case.states == ADAPTERS:
        network = _with_adapters(network)
    network.train()
    if case.recomputed:
        network.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    trained = [weight for weight in network.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=True)
    called = torch.compile(network) if case.compiled else network
    tokens = torch.randint(model.vocab, (case.batch, case.sequence), device="cuda")
    cast = case.states != PURE

    def step() -> None:
        with torch.autocast("cuda", dtype=torch.bfloat16) if cast else nullcontext():
            loss = called(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step, sum(weight.numel() for weight in trained)


def measure(case: Case, model: Model, torch: Any, transformers: Any) -> Measured:
    """Return step time and peaks of a case on the first GPU."""
    cuda = torch.cuda
    cuda.empty_cache()
    cuda.reset_peak_memory_stats()
    seconds: float | None = None
    trained = 0
    driver = 0.0
    try:
        step, trained = _step_of(case, model, torch, transformers)
        for _ in range(_WARM_UP_STEPS):
            step()
        times = []
        for _ in range(_STEPS):
            cuda.synchronize()
            start = time.perf_counter()
            step()
            cuda.synchronize()
            times.append(time.perf_counter() - start)
        seconds = statistics.median(times)
        free, total = cuda.mem_get_info()
        driver = total - free
    except torch.OutOfMemoryError:
        pass
    return Measured(
        seconds=seconds,
        allocated_bytes=cuda.max_memory_allocated(),
        reserved_bytes=cuda.max_memory_reserved(),
        driver_bytes=driver,
        trained_parameters=trained,
    )


def _row(case: Case, model: Model, measured: Measured, facts: Mapping[str, object]) -> dict[str, object]:
    fits = measured.seconds is not None
    way = "compiled" if case.compiled else "eager"
    kept = "recomputed" if case.recomputed else "kept"
    name = f"{facts['gpu']}-{model.id}-{case.states}-{case.sequence}-{case.batch}-{kept}-{way}".lower()
    compiled = " compile" if case.compiled else ""
    states = {PURE: " pure", AUTOCAST: ""}.get(case.states, "")
    gib = {
        "peak_mem_gib": measured.allocated_bytes,
        "reserved_gib": measured.reserved_bytes,
        "driver_gib": measured.driver_bytes,
    }
    return {
        "id": name,
        "group": f"{model.name}|{facts['gpu']}",
        "source": SOURCE,
        "model": model.name,
        **{column: getattr(model, column) for column in _DIMENSIONS},
        "gated_mlp": int(bool(model.gated)),
        "seq_len": case.sequence,
        "gpu": facts["gpu"],
        "n_gpus": 1,
        "tp": 1,
        "pp": 1,
        "micro_batch": case.batch,
        "global_batch": case.batch,
        "precision": "bf16",
        "recompute": "full" if case.recomputed else "none",
        "tokens_per_s_per_gpu": _tokens_per_s(case, measured),
        "software": f"PyTorch {facts['torch']}{compiled} + transformers {facts['transformers']}{states}",
        "outcome": "fits" if fits else "oom",
        **{column: f"{value / _GIB:.3f}" if fits else "" for column, value in gib.items()},
        "mem_kind": "allocated" if fits else "",
        "device_mem_gib": facts["device_mem_gib"],
        "device": facts["device"],
        "measured_at": facts["measured_at"],
    }


def _fine_tuning_row(case: Case, model: Model, measured: Measured, facts: Mapping[str, object]) -> dict[str, object]:
    fits = measured.seconds is not None
    return {
        "source": SOURCE,
        "model": model.name,
        "method": f"lora r{_RANK}",
        "quant": "none",
        "micro_batch": case.batch,
        "seq": case.sequence,
        "trainable_params": measured.trained_parameters or "",
        "gpus": 1,
        "gpu": facts["gpu"],
        "measured_peak_gb": f"{measured.allocated_bytes / 1e9:.2f}" if fits else "",
        "global_batch": case.batch,
        "grad_accum": 1,
        "tokens_per_s_per_gpu": _tokens_per_s(case, measured),
        "time_to_train_min": "",
        "nodes": 1,
        "framework": f"transformers {facts['transformers']}, peft {facts['peft']}, PyTorch {facts['torch']}",
        "recompute": "full" if case.recomputed else "none",
        "outcome": "fits" if fits else "oom",
        "device": facts["device"],
        "measured_at": facts["measured_at"],
    }


def _tokens_per_s(case: Case, measured: Measured) -> str:
    return "" if measured.seconds is None else f"{case.batch * case.sequence / measured.seconds:.1f}"


def _write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        with path.open("w", newline="", encoding="utf-8") as stream:
            table = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)


def main() -> int:
    """Measure all cases and write both files, anew after every case."""
    if len(sys.argv) < 3:
        sys.exit("usage: python benchmarks/one_gpu.py RUNS.csv FINE_TUNING.csv [SECONDS]")
    try:
        import peft
        import torch
        import transformers
    except ImportError as error:
        sys.exit(f"{error}: this needs a GPU, PyTorch, transformers and peft")

    catalogue = load.load()
    training, fine_tuning = Path(sys.argv[1]), Path(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else _DEFAULT_SECONDS
    properties = torch.cuda.get_device_properties(0)
    identity = DRIVER_NAMES.get(properties.name, properties.name)
    facts: dict[str, object] = {
        "device": properties.name,
        "gpu": next((name for name, node in measured_nodes(catalogue).items() if node.accelerator.id == identity), ""),
        "device_mem_gib": f"{properties.total_memory / _GIB:.2f}",
        "torch": torch.__version__.partition("+")[0],
        "transformers": transformers.__version__,
        "peft": peft.__version__,
        "measured_at": dt.datetime.now(dt.UTC).date().isoformat(),
    }
    begun = time.monotonic()
    rows: list[dict[str, object]] = []
    adapted: list[dict[str, object]] = []
    for case in cases():
        if time.monotonic() - begun > seconds:
            print(f"left out: {case}")
            continue
        model = catalogue.models[case.model]
        try:
            measured = measure(case, model, torch, transformers)
        except Exception as error:
            print(f"failed: {case}: {error}"[:600])
            continue
        finally:
            gc.collect()
            torch._dynamo.reset()  # what was compiled holds weights
            torch.cuda.empty_cache()
        if case.states == ADAPTERS:
            adapted.append(_fine_tuning_row(case, model, measured, facts))
        else:
            rows.append(_row(case, model, measured, facts))
        _write(training, rows)
        _write(fine_tuning, adapted)
        told = "out of memory" if measured.seconds is None else f"{_tokens_per_s(case, measured)} tokens/s"
        print(f"{time.monotonic() - begun:6.1f} s {case}: {told}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
