"""Which runs NVIDIA Megatron-Bridge can start, the successor of NeMo for fine-tuning, and what is changed for others.

As of release 0.6.0 (github.com/NVIDIA-NeMo/Megatron-Bridge, tag v0.6.0: `megatron.bridge.peft`,
`megatron.bridge.training`; seen 2026-11-30). `templates/launch/bridge_models.csv` has the families of models.
"""

import csv
from collections.abc import Iterator
from functools import cache

from clusterwright import assets
from clusterwright.errors import Finding
from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningWorkload
from clusterwright.sizing.finetuning.configuration import (
    DORA,
    FULL,
    KEY,
    LORA,
    MEGATRON,
    MLP,
    QUERY,
    VALUE,
    framework_of,
)
from clusterwright.sizing.finetuning.job import NONE

RELEASE = "0.6"
#: Matrices of the attention's input, which Megatron keeps as one.
FUSED = frozenset({QUERY, KEY, VALUE})
_OTHER = "set workload.framework: trl for its launch files and its wider band"


def counts_with_megatron(work: FinetuningWorkload) -> bool:
    """Tell whether a plan counts with NeMo or Megatron."""
    return framework_of(work.framework) == MEGATRON


@cache
def _architectures() -> dict[str, str]:
    """Return architectures of Hugging Face by how the names of their models begin, the longest first."""
    path = assets.root() / "templates" / "launch" / "bridge_models.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        rows = {row["models"]: row["architecture"] for row in csv.DictReader(stream)}
    return dict(sorted(rows.items(), key=lambda row: -len(row[0])))


def architecture_of(model: str) -> str:
    """Return the architecture of Hugging Face that a model of the catalogue has a bridge for, empty for none."""
    return next((name for begins, name in _architectures().items() if model.startswith(begins)), "")


def unbridged(work: FinetuningWorkload, option: FinetuningOption) -> Iterator[Finding]:
    """Yield `FTN024` for each reason why no file starts a run with Megatron-Bridge, each with its place and a fix."""
    for key, reason, change in (*_of_workload(work), *_of_adapters(work), *_of_layout(work, option)):
        yield Finding(
            id="FTN024",
            path=("workload", *key.split(".")),
            message=f"no file for Megatron-Bridge {RELEASE} starts this run: {reason}",
            help=f"{change}, or {_OTHER}",
        )


def no_bridge(work: FinetuningWorkload, option: FinetuningOption) -> str:
    """Return why Megatron-Bridge cannot start a run, empty if it can."""
    first = next(unbridged(work, option), None)
    return "" if first is None else first.message.partition(": ")[2]


_Reason = tuple[str, str, str]


def _of_workload(work: FinetuningWorkload) -> Iterator[_Reason]:
    """Yield key, reason and change for what is trained, and how."""
    if not work.model_file and not architecture_of(work.model):
        # A model's own file is read by Megatron-Bridge itself when it starts.
        yield "model", f"it has no bridge for {work.model_name}", "choose a model of a family that it has"
    if work.objective != "supervised":
        yield "objective", f"it trains on given answers, not {work.objective}", "set workload.objective: supervised"
    if work.method not in (FULL, LORA, DORA):
        yield "method", f"it has no {work.method}", "set workload.method: lora"
    elif work.precision != "bf16":
        yield "precision", f"weights in {work.precision} are not written", "set workload.precision: bf16"
    if work.optimizer not in ("", "adamw"):
        yield "optimizer", f"it has no {work.optimizer}", "set workload.optimizer: adamw"


def _of_adapters(work: FinetuningWorkload) -> Iterator[_Reason]:
    """Yield key, reason and change for low-rank matrices."""
    if work.method not in (LORA, DORA):
        return
    chosen, model = set(work.targets), work.architecture
    if not work.rank:
        yield "trainable", "its adapters have a rank", "give workload.rank and workload.targets in its place"
    elif model.attention_kind == "mla" and chosen - {MLP}:
        yield (
            "targets",
            f"the latent attention of {work.model_name} has other matrices",
            "set workload.targets: [mlp], or workload.method: full",
        )
    elif chosen & FUSED and not chosen >= FUSED:
        yield (
            "targets",
            "query, key and value are one matrix there, with one adapter",
            "name all three in workload.targets, or none",
        )
    if work.method == DORA and model.experts and MLP in chosen:
        yield "targets", "its DoRA does not divide experts", "leave mlp out of workload.targets, or use lora"


def _of_layout(work: FinetuningWorkload, option: FinetuningOption) -> Iterator[_Reason]:
    """Yield key, reason and change for how a run lies on accelerators."""
    layout, model = option.performance.layout, work.architecture
    if work.method != FULL and layout.sharding != NONE:
        yield (
            "parallelism.sharding",
            "it loads whole weights before it attaches adapters, and the plan divides them",
            "set workload.parallelism.sharding: none and share layers (tensor)",
        )
    if work.sequence_length % layout.tensor:
        yield (
            "sequence_length",
            f"{layout.tensor} accelerators divide each sequence, and {work.sequence_length:,} tokens do not",
            f"make it a multiple of {layout.tensor}",
        )
    if model.kv_heads % layout.tensor and layout.tensor % model.kv_heads:
        yield (
            "parallelism.tensor",
            f"{model.kv_heads} heads of keys are no multiple of {layout.tensor} accelerators, nor the reverse",
            "choose a divisor of its heads of keys",
        )
