"""Fine-tuning measurements of two kinds of CSV file, distinguished by header, as rows of one kind.

A prediction reads configuration alone. Notes repeat what was measured, so that nothing reads them, and neither are the
columns `predicted_gb` and `ape` of others' predictions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from clusterwright.catalog.records import Accelerator, Catalogue
from clusterwright.errors import shortened
from clusterwright.evidence import accelerators
from clusterwright.evidence.models import find
from clusterwright.evidence.reading import Read, read_rows
from clusterwright.evidence.rows import Cells, NotPublishedError, WrongCellError
from clusterwright.sizing.finetuning import configuration
from clusterwright.sizing.finetuning.calibration import BENCHMARK, MEMORY, THROUGHPUT, TIME_TO_TRAIN
from clusterwright.sizing.finetuning.columns import DEVICE, RESERVED, TENSORS
from clusterwright.sizing.finetuning.configuration import (
    ADAPTER,
    ALWAYS,
    DORA,
    EVERY_MATRIX,
    FULL,
    INFERENCE,
    KEY,
    LORA,
    NEVER,
    OUTPUT,
    PROMPT,
    QLORA,
    QLORA_FORMATS,
    QUERY,
    VALUE,
    Configuration,
    Practice,
    practices,
)
from clusterwright.workload.inference import NamedModel

#: Columns that tell the kinds of files apart, the larger kind first.
_KINDS = MappingProxyType(
    {
        "runs": ("source", "model", "method", "quant", "gpus", "gpu", "global_batch", "time_to_train_min"),
        "memory": ("source", "model", "method", "quant", "micro_batch", "seq", "gpus", "gpu", "measured_peak_gb"),
    }
)
_ROUND = re.compile(r"training_results_v(\d+\.\d+)", re.IGNORECASE)
_RANK = re.compile(r"\br(?:ank)?\s*[=_-]?\s*(\d+)\b")
#: Parts of how methods are written, the first that is found.
_METHODS = (
    ("inference", INFERENCE),
    ("generat", INFERENCE),
    ("qlora", QLORA),
    ("dora", DORA),
    ("lora", LORA),
    ("prompt", PROMPT),
    ("prefix", PROMPT),
    ("adapter", ADAPTER),
    ("full", FULL),
)
_FORMATS = (
    ("nf4-dq", "nf4-dq"),
    ("double", "nf4-dq"),
    ("nf4", "nf4"),
    ("nvfp4", "nvfp4"),
    ("mxfp4", "mxfp4"),
    ("fp4", "fp4"),
    ("fp8", "fp8"),
    ("int8", "int8"),
    ("8bit", "int8"),
    ("8-bit", "int8"),
    ("int4", "int4"),
    ("gptq", "int4"),
    ("awq", "int4"),
    ("4bit", "nf4"),
    ("4-bit", "nf4"),
    ("fp32", "fp32"),
    ("bf16", "bf16"),
    ("fp16", "fp16"),
)
_UNQUANTISED = ("", "none", "no", "bf16", "fp16", "16bit", "16-bit")
#: The longest sequence of Alpaca, which all tables of one framework's own data set train on (litgpt's tables).
_LONGEST_TOKENS = 1304.0
#: Mean over longest length of a batch that is not packed: 2,091 over 7,075 tokens/s in torchtune's table of options.
_UNPACKED_SHARE = 0.3
#: What litgpt generates by default, with a prompt of the same length.
_GENERATED_TOKENS = 100.0
_CHUNKED_LOGIT_BYTES = 2.5
_NOBODY_KNOWS_CARD = "a100-sxm-80gb"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement(Configuration):
    """One row: what was configured, and what was measured of it.

    Attributes:
        kind: of file; top: the metric that the row counts by.
        named_accelerator, named_model, named_framework: as the file writes them.
        benchmark: of known samples to target, empty if the source names none.
        measured: by metric, of those that the row states.
    """

    id: str
    line: int
    kind: str
    top: str
    named_accelerator: str
    named_model: str
    named_framework: str
    benchmark: str
    measured: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Options:
    """What a method's text lists, with what the rows above it in the same table listed before."""

    listed: bool = False
    packed: bool = False
    compiled: bool = False
    chunked: bool = False
    recomputed: bool = False
    host_activations: bool = False
    streamed: bool = False
    host_states: bool = False
    eight_bit: bool = False
    paged: bool = False


@dataclass(slots=True)
class _Known:
    own: Mapping[str, NamedModel]
    catalogue: Mapping[str, NamedModel]
    accelerators: Mapping[str, Accelerator]
    #: Options of the last row by source and model: a table of cumulative options continues it with "...".
    before: dict[tuple[str, str], tuple[str, _Options]]


def read_measurements(
    path: Path, catalogue: Catalogue, *, own: Mapping[str, NamedModel], known: Mapping[str, NamedModel]
) -> Read[Measurement]:
    """Return the measurements of a CSV file.

    Args:
        path: of one of the two kinds.
        catalogue: accelerators by name.
        own: models of the user.
        known: models of the catalogue, which come second.

    Raises:
        InputError: the file cannot be read, or its header is of no kind.
    """
    facts = _Known(own=own, catalogue=known, accelerators=accelerators.named(catalogue), before={})
    return read_rows(
        path,
        kinds=_KINDS,
        readers={kind: partial(_row, kind=kind, facts=facts) for kind in _KINDS},
        described_in="clusterwright docs finetuning-accuracy",
    )


def _row(row: Cells, identity: str, *, kind: str, facts: _Known) -> Measurement:
    assumed: list[str] = []
    model = find(row.text("model"), facts.own, facts.catalogue)
    if model is None:
        spoken = row.text("model")
        raise NotPublishedError(
            f"no model {spoken} in the table of models or the catalogue" if spoken else "the model is not published"
        )
    accelerator = _accelerator(row, facts, assumed)
    text = row.text("method").lower()
    framework, named_framework = _framework(row)
    practice = practices()[framework or "other"]
    method, options = _method(row, text, facts)
    precision = _precision(row, method, accelerator, practice, assumed)
    if method == LORA and precision in QLORA_FORMATS:
        method = QLORA
    gpus = row.number("gpus", 1.0, least=1.0)
    micro, accumulated = row.number("micro_batch", 0.0), row.number("grad_accum", 1.0, least=1.0)
    batch = row.count("global_batch")
    if not micro:
        micro = batch / (gpus * accumulated) if batch else 1.0
        assumed.append(f"{micro:g} sequences per accelerator and pass")
    parallel = min(max(1.0, round(1.0 / micro)), gpus) if micro < 1 else 1.0
    tokens, filled = _lengths(row, method, options, assumed)
    rank = _rank(text, model)
    limited = options.listed
    return Measurement(
        id=identity,
        line=row.line,
        kind=kind,
        top=_top(row),
        named_accelerator=row.text("gpu"),
        named_model=row.text("model"),
        named_framework=named_framework,
        benchmark=_benchmark(row, method, assumed),
        measured=_measured(row, tokens),
        accelerator=accelerator,
        model=model,
        framework=framework,
        method=method,
        precision=precision,
        gpus=gpus,
        nodes=row.number("nodes", configuration.nodes_of(gpus, accelerator), least=1.0),
        sequences=max(micro, 1.0),
        model_parallel=parallel,
        tokens=tokens,
        filled=filled,
        global_batch=batch or max(micro * gpus * accumulated, 1.0),
        rank=rank,
        targets=_targets(text),
        trained_parameters=row.number("trainable_params", 0.0) or None,
        optimizer_bytes=_optimizer_bytes(options, practice, gpus),
        logit_bytes=_CHUNKED_LOGIT_BYTES if options.chunked else practice.plain_logit_bytes if limited else None,
        compiled=options.compiled if limited else None,
        recompute=_recompute(row, options, method, practice),
        streamed=options.streamed,
        host_states=options.host_states,
        host_activations=options.host_activations,
        memory_counted=_counted(row),
        assumed=tuple(assumed),
    )


def _accelerator(row: Cells, facts: _Known, assumed: list[str]) -> Accelerator:
    name = row.text("gpu")
    if not name or "not stated" in name.lower():
        assumed.append(f"no accelerator is stated: {_NOBODY_KNOWS_CARD}")
        name = _NOBODY_KNOWS_CARD
    return accelerators.find(name, facts.accelerators)


def _framework(row: Cells) -> tuple[str, str]:
    """Return the family of a row's framework, empty if unknown, and what the file writes for it."""
    stated = row.text("framework")
    if BENCHMARK in row.text("source"):
        return "benchmark", stated
    for text in (stated, row.text("source")):
        name = configuration.framework_of(text)
        if name:
            return name, stated or name
    return "", stated


def _method(row: Cells, text: str, facts: _Known) -> tuple[str, _Options]:
    """Return method and options of a row, continued from the row above where it says so.

    Raises:
        NotPublishedError: it is no method that is known.
    """
    key = (row.text("source"), row.text("model"))
    last = facts.before.get(key)
    continued = text.startswith("...") or "same options" in text
    method = next((found for part, found in _METHODS if part in text), "")
    if not method and continued and last:
        method = last[0]
    if not method:
        raise NotPublishedError(f"no method {row.text('method')} is known" if text else "the method is not published")
    base = last[1] if continued and last else _Options()
    offloaded = "offload" in text
    states = "cpu offload" in text or "optimizer offload" in text
    options = _Options(
        listed=base.listed or "baseline" in text or "+" in text.replace("qkv + proj", "") or continued,
        packed=base.packed or "packed" in text,
        compiled=base.compiled or "compile" in text,
        chunked=base.chunked or "chunked" in text,
        recomputed=base.recomputed or "checkpoint" in text or "ckpt" in text,
        host_activations=base.host_activations or (offloaded and not states),
        streamed=base.streamed or "optimizer in b" in text,
        host_states=base.host_states or states,
        eight_bit=base.eight_bit or "8bit" in text or "8-bit" in text,
        paged=base.paged or "paged" in text,
    )
    facts.before[key] = (method, options)
    return method, options


def _precision(row: Cells, method: str, accelerator: Accelerator, practice: Practice, assumed: list[str]) -> str:
    """Return the format of the base weights.

    Raises:
        NotPublishedError: nobody knows the format.
        WrongCellError: QLoRA has no such format.
    """
    text = row.text("quant").lower()
    choices = text.split(" (")[0].split(" or ")
    if len(choices) > 1:
        found = _ROUND.search(row.text("source"))
        spoken = configuration.default_format(accelerator, benchmark_round=found.group(1) if found else "")
        assumed.append(f"{spoken}, the default of {accelerator.generation}, of {text.split(' (')[0]}")
        return spoken
    if text in _UNQUANTISED:
        if method != QLORA:
            return "bf16"
        if text:
            raise WrongCellError(
                f"column quant: QLoRA has no {text}; give one of {', '.join(QLORA_FORMATS)}, or the method lora"
            )
        assumed.append("nf4 with double quantisation, as QLoRA was published")
        return "nf4-dq"
    spoken = next((found for part, found in _FORMATS if part in text), "")
    if not spoken:
        raise NotPublishedError(f"no format of weights {row.text('quant')} is known")
    if method == QLORA and spoken not in QLORA_FORMATS:
        raise WrongCellError(
            f"column quant: QLoRA has no {spoken}; give one of {', '.join(QLORA_FORMATS)}, or the method lora"
        )
    if spoken == "fp4":
        return "nf4"
    return "nf4-dq" if spoken == "nf4" and practice.double_quantised else spoken


def _lengths(row: Cells, method: str, options: _Options, assumed: list[str]) -> tuple[float, float]:
    """Return the tokens of the longest sequence, and which share of a batch of such counts."""
    tokens = row.count("seq")
    if not tokens and method == INFERENCE:
        assumed.append(f"{_GENERATED_TOKENS:g} tokens of prompt and answer")
        return _GENERATED_TOKENS, 1.0
    if not tokens:
        assumed.append(f"{_LONGEST_TOKENS:,.0f} tokens, the longest sequence of Alpaca")
        return _LONGEST_TOKENS, 1.0
    if options.listed and not options.packed:
        assumed.append(f"sequences of at most {_LONGEST_TOKENS:,.0f} tokens, because they are not packed")
        return min(tokens, _LONGEST_TOKENS), _UNPACKED_SHARE
    return tokens, 1.0


def _rank(text: str, model: NamedModel) -> float | None:
    """Return the stated rank.

    Raises:
        WrongCellError: it is above the width of a matrix.
    """
    found = _RANK.search(text)
    if found is None:
        return None
    rank, most = float(found.group(1)), configuration.narrowest_width(model.shape)
    if not 1 <= rank <= most:
        raise WrongCellError(
            f"column method: rank {rank:g} is not in 1 to {most:g}, the narrowest matrix of {model.name}; "
            "give a smaller rank"
        )
    return rank


def _targets(text: str) -> frozenset[str] | None:
    if "all layers" in text or "all linear" in text:
        return EVERY_MATRIX
    if "qkv" in text:
        return frozenset({QUERY, KEY, VALUE}) | (frozenset({OUTPUT}) if "proj" in text else frozenset())
    return frozenset({QUERY, VALUE}) if re.search(r"\bq\s*,\s*v\b", text) else None


def _optimizer_bytes(options: _Options, practice: Practice, gpus: float) -> float | None:
    """Return bytes of moments per weight: paged ones rest in host memory, eight-bit ones are two bytes."""
    if options.paged:
        return 0.0
    if options.eight_bit:
        return 2.0
    return practice.listed_optimizer_bytes if options.listed or gpus > 1 else None


def _recompute(row: Cells, options: _Options, method: str, practice: Practice) -> str | None:
    stated = row.text("recompute").lower()
    if stated:
        if stated not in _STATED_RECOMPUTATION:
            known = ", ".join(_STATED_RECOMPUTATION)
            raise WrongCellError(f"column recompute: {shortened(stated)} is none of {known}")
        return _STATED_RECOMPUTATION[stated]
    if options.recomputed or "not stated" in row.text("gpu").lower():
        # Nobody who runs on a card that is not named can be said to have memory to spare.
        return ALWAYS
    if options.listed:
        return NEVER
    # Recipes of QLoRA recompute (arXiv 2305.14314, section 4) but for frameworks that never do.
    return ALWAYS if method == QLORA and practice.recompute != NEVER else None


#: What the column `recompute` says, where a file has it.
_STATED_RECOMPUTATION = MappingProxyType({"none": NEVER, "full": ALWAYS})
_MEASURED = MappingProxyType(
    {
        MEMORY: "measured_peak_gb",
        THROUGHPUT: "tokens_per_s_per_gpu",
        TIME_TO_TRAIN: "time_to_train_min",
    }
)


def _measured(row: Cells, tokens: float) -> dict[str, float]:
    """Return what was measured; samples per second of all accelerators as tokens per second of each."""
    found = {metric: row.number(column) for metric, column in _MEASURED.items() if row.text(column)}
    if THROUGHPUT not in found and row.text("samples_per_s"):
        found[THROUGHPUT] = row.number("samples_per_s") * tokens / row.number("gpus", 1.0, least=1.0)
    return {metric: value for metric, value in found.items() if value > 0}


def _benchmark(row: Cells, method: str, assumed: list[str]) -> str:
    """Return the benchmark whose samples to target a row needs, empty where it has none."""
    if BENCHMARK in row.text("source"):
        return BENCHMARK
    if method == INFERENCE or not row.text("global_batch"):
        return ""
    assumed.append(f"samples to the target of {BENCHMARK}")
    return BENCHMARK


def _counted(row: Cells) -> int:
    """Return how memory is counted: as tensors unless the row says something else."""
    text = row.text("mem_kind").lower()
    if "smi" in text or "device" in text or "driver" in text:
        return DEVICE
    return RESERVED if "reserv" in text else TENSORS


def _top(row: Cells) -> str:
    if row.text("tokens_per_s_per_gpu") or row.text("samples_per_s"):
        return THROUGHPUT
    return TIME_TO_TRAIN if row.text("time_to_train_min") else MEMORY
