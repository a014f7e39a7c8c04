"""Serving measurements of four kinds of CSV file, distinguished by header, as rows of one kind.

What a row measured is kept apart from what was configured: a prediction is made of the latter alone.
"""

import csv
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from clusterwright import assets
from clusterwright.catalog.records import Accelerator, Catalogue
from clusterwright.evidence import accelerators
from clusterwright.evidence.models import find
from clusterwright.evidence.reading import Read, read_rows
from clusterwright.evidence.rows import Cells, NotPublishedError, WrongCellError
from clusterwright.sizing.serving.calibration import ENERGY, THROUGHPUT, TPOT_MEDIAN, TTFT_MEAN, TTFT_MEDIAN, TTFT_P99
from clusterwright.sizing.serving.configuration import Configuration, framework_of
from clusterwright.workload.inference import NamedModel

#: What counts as throughput: of all tokens or of output alone, per accelerator or of all.
TOTAL_PER_GPU, OUTPUT_PER_GPU, OUTPUT = range(3)
_MILLISECONDS = 1e-3
#: Scenarios of MLPerf whose arrivals are Poisson, with limits at P99.
_LIMITED = ("server", "interactive")
_NO_LIMITS = (math.inf, math.inf)
_PRECISIONS = (
    ("mxfp4", "mxfp4"),
    ("nvfp4", "nvfp4"),
    ("fp4", "fp4"),
    ("fp8", "fp8"),
    ("int8", "int8"),
    ("int4", "int4"),
    ("awq", "int4"),
    ("gptq", "int4"),
    ("bf16", "bf16"),
    ("fp16", "bf16"),
    ("16", "bf16"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement(Configuration):
    """One row: what was configured, and what was measured of it.

    Attributes:
        kind: of file; top: the metric that the row counts by; unit: what counts as throughput, one of the constants.
        named_accelerator, named_model, named_framework: as the file writes them.
        repeated: another table of measurements has the row too.
        measured: by metric, of those that the row states.
        origin: where its figures were published, as the file writes it.
    """

    id: str
    line: int
    kind: str
    top: str
    unit: int
    named_accelerator: str
    named_model: str
    named_framework: str
    repeated: bool = False
    measured: Mapping[str, float] = field(default_factory=dict)
    origin: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """One of MLPerf's tasks.

    Attributes:
        input_tokens, output_tokens: mean lengths; longest_tokens: of a request with its answer.
        limits: by scenario, seconds to the first token and per token that 99 of 100 requests must not exceed.
        interactive_speculative: how the interactive scenario drafts tokens, empty for not at all.
    """

    model: str
    input_tokens: float
    output_tokens: float
    longest_tokens: float
    limits: Mapping[str, tuple[float, float]]
    interactive_speculative: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    own: Mapping[str, NamedModel]
    catalogue: Mapping[str, NamedModel]
    accelerators: Mapping[str, Accelerator]
    workloads: Mapping[str, Workload]


def read_measurements(
    path: Path, catalogue: Catalogue, *, own: Mapping[str, NamedModel], known: Mapping[str, NamedModel]
) -> Read[Measurement]:
    """Return the measurements of a CSV file.

    Args:
        path: of one of the four kinds.
        catalogue: accelerators by name.
        own: models of the user.
        known: models of the catalogue, which come second.

    Raises:
        InputError: the file cannot be read, or its header is of no kind.
    """
    facts = _Known(own=own, catalogue=known, accelerators=accelerators.named(catalogue), workloads=_workloads())
    return read_rows(
        path,
        kinds=_KINDS,
        readers={kind: partial(reader, facts=facts) for kind, reader in _READERS.items()},
        described_in="clusterwright docs serving-accuracy",
    )


def is_serving(path: Path) -> bool:
    """Return whether the header of a CSV file is of a kind that is read here; False where it cannot be read."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            columns = next(csv.reader(file), [])
    except (OSError, ValueError, csv.Error):
        return False
    return any(all(column in columns for column in needed) for needed in _KINDS.values())


def _workloads() -> dict[str, Workload]:
    with (assets.root() / "catalog" / "serving_workloads.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["benchmark"]: Workload(
                model=row["model"],
                input_tokens=float(row["input_tokens"]),
                output_tokens=float(row["output_tokens"]),
                longest_tokens=float(row["longest_tokens"]),
                limits={
                    scenario: (float(row[f"{scenario}_first_token_s"]), float(row[f"{scenario}_time_per_token_s"]))
                    for scenario in _LIMITED
                    if row[f"{scenario}_first_token_s"]
                },
                interactive_speculative=row["interactive_speculative"],
            )
            for row in csv.DictReader(file)
        }


def _model(name: str, facts: _Known) -> NamedModel:
    if not name:
        raise NotPublishedError("the model is not published")
    found = find(name, facts.own, facts.catalogue)
    if found is None:
        raise NotPublishedError(f"no model {name} in the table of models or the catalogue")
    return found


_RELEASE = re.compile(r"([a-z][a-z-]*)[ /-]*v?(\d+\.\d+)")


def release_of(text: str) -> str:
    """Return a framework's name and the first two numbers of its version, empty if the text has no version."""
    found = _RELEASE.search(text.lower())
    return f"{found[1].strip('-')} {found[2]}" if found else ""


def precision_of(name: str) -> str:
    """Return the format of weights behind its name, empty if it is not stated or unknown."""
    spoken = name.lower()
    return next((found for part, found in _PRECISIONS if part in spoken), "")


def _concurrency(row: Cells, column: str) -> tuple[float, float]:
    """Return the concurrency, infinite for as many as fit, and the framework's limit of sequences."""
    text = row.text(column)
    if text.startswith("max_num_seqs"):
        try:
            return math.inf, float(text.partition("=")[2])
        except ValueError:
            raise WrongCellError(f"column {column}: {text!r} has no number of sequences") from None
    if not text or text.startswith("max"):
        return math.inf, math.inf
    return row.number(column, least=1.0), math.inf


def _measured(row: Cells, columns: Mapping[str, tuple[str, float]]) -> dict[str, float]:
    found = {}
    for metric, (column, scale) in columns.items():
        if row.text(column):
            value = row.number(column)
            if value > 0:
                found[metric] = value * scale
    return found


_INFERENCEX = MappingProxyType(
    {
        THROUGHPUT: ("tput_per_gpu", 1.0),
        TPOT_MEDIAN: ("tpot_median_s", 1.0),
        TTFT_MEDIAN: ("ttft_median_s", 1.0),
        TTFT_MEAN: ("ttft_mean_s", 1.0),
        TTFT_P99: ("ttft_p99_s", 1.0),
        ENERGY: ("joules_per_output_token", 1.0),
    }
)


def _inferencex(row: Cells, identity: str, facts: _Known) -> Measurement:
    accelerator, model = accelerators.find(row.text("hardware"), facts.accelerators), _model(row.text("model"), facts)
    split = _flag(row, "disaggregated")
    prefill_gpus, decode_gpus = row.count("prefill_gpus"), row.count("decode_gpus")
    tp = row.count("tp")
    gpus = row.count("n_gpus") or (prefill_gpus + decode_gpus) or tp
    if not gpus:
        raise NotPublishedError("n_gpus is not published")
    workers, prefill_workers, prefill_each = 1.0, 0.0, 0.0
    attention_tp, ep, spread = tp or gpus, row.number("ep", 1.0), _flag(row, "dp_attention")
    prefill_tp = prefill_ep = 1.0
    if split:
        prefill_workers = max(row.number("prefill_workers", 1.0), 1.0)
        workers = max(row.number("decode_workers", 1.0), 1.0)
        prefill_gpus = prefill_gpus or gpus / 2
        decode_gpus = decode_gpus or max(gpus - prefill_gpus, 1.0)
        prefill_each = max(prefill_gpus / prefill_workers, 1.0)
        attention_tp, ep = row.count("decode_tp") or decode_gpus / workers, row.number("decode_ep", 1.0)
        spread = _flag(row, "decode_dp_attention")
        prefill_tp, prefill_ep = row.count("prefill_tp") or prefill_each, row.number("prefill_ep", 1.0)
        prefill_tp = 1.0 if _flag(row, "prefill_dp_attention") else min(prefill_tp, prefill_each)
    each = max(decode_gpus / workers, 1.0) if split else gpus / max(row.number("pp", 1.0), 1.0)
    concurrency, most = _concurrency(row, "concurrency")
    isl, osl = row.number("isl", least=1.0), row.number("osl", least=1.0)
    return Measurement(
        id=identity,
        line=row.line,
        kind="inferencex",
        top=THROUGHPUT,
        unit=TOTAL_PER_GPU,
        named_accelerator=row.text("hardware"),
        named_model=row.text("model"),
        named_framework=row.text("framework"),
        accelerator=accelerator,
        model=model,
        framework=framework_of(row.text("framework")),
        precision=precision_of(row.text("precision")),
        cache_precision="",
        gpus=gpus,
        gpus_per_worker=each,
        workers=workers,
        attention_tp=1.0 if spread else min(attention_tp, each),
        expert_parallel=min(ep or 1.0, each),
        pipeline=max(row.number("pp", 1.0), 1.0),
        prefill_gpus_per_worker=prefill_each,
        prefill_workers=prefill_workers,
        prefill_attention_tp=prefill_tp,
        prefill_expert_parallel=min(prefill_ep or 1.0, max(prefill_each, 1.0)),
        decode_gpus=decode_gpus if split else gpus,
        speculative=_speculation(row.text("speculative")),
        # Lengths are uniform between 0.8 and 1 of those stated.
        input_tokens=0.9 * isl,
        output_tokens=0.9 * osl,
        reserved_tokens=isl + osl,
        shortest_share=0.8,
        concurrency=concurrency,
        most_sequences=most,
        static=False,
        waves=10.0,
        measured=_measured(row, _INFERENCEX),
        repeated=_flag(row, "overlap_serving_runs"),
        release=release_of(f"{row.text('framework')} {row.text('framework_version')}"),
        origin=f"{row.text('source')} {row.text('latency_source')}",
    )


def _speculation(text: str) -> str:
    return "" if text.lower() in ("", "none", "no", "0") else text.lower()


def _flag(row: Cells, column: str) -> bool:
    return row.text(column).lower() in ("1", "true", "yes", "1.0")


_KINDS_OF_VALUES = MappingProxyType(
    {
        "output_tok_per_s_total": (THROUGHPUT, OUTPUT, 1.0),
        "output_tok_per_s_per_gpu": (THROUGHPUT, OUTPUT_PER_GPU, 1.0),
        "total_tok_per_s_per_gpu": (THROUGHPUT, TOTAL_PER_GPU, 1.0),
        "ttft_ms": (TTFT_MEAN, OUTPUT, _MILLISECONDS),
        "tpot_ms": (TPOT_MEDIAN, OUTPUT, _MILLISECONDS),
    }
)
_ATTENTION_DATA_PARALLEL = re.compile(r"attention_dp=(\d+)")


def _serving_run(row: Cells, identity: str, facts: _Known) -> Measurement:
    accelerator, model = accelerators.find(row.text("gpu"), facts.accelerators), _model(row.text("model"), facts)
    kind = row.text("measured_kind")
    if kind not in _KINDS_OF_VALUES:
        raise NotPublishedError(f"measured_kind {kind or 'is not published'}")
    metric, unit, scale = _KINDS_OF_VALUES[kind]
    notes = row.text("notes")
    ranks = _ATTENTION_DATA_PARALLEL.search(notes)
    spread = float(ranks.group(1)) if ranks else 1.0
    gpus = row.count("n_gpus") or row.number("tp", 1.0)
    concurrency, most = _concurrency(row, "concurrency_or_batch")
    tp = min(row.count("tp") or gpus, gpus)
    if spread > 1 and math.isfinite(concurrency):
        # Counted per rank of data-parallel attention.
        concurrency *= spread
    parallel = spread > 1 or notes.startswith("attention DP")
    isl, osl = row.number("isl", least=1.0), row.number("osl", least=1.0)
    static = "static batch" in notes.lower() or "old engine" in notes or "batch 1 first" in notes
    pipeline = max(row.number("pp", 1.0), 1.0)
    return Measurement(
        id=identity,
        line=row.line,
        kind="serving",
        top=metric,
        unit=unit,
        named_accelerator=row.text("gpu"),
        named_model=row.text("model"),
        named_framework=row.text("engine"),
        accelerator=accelerator,
        model=model,
        framework=framework_of(row.text("engine")),
        precision=precision_of(row.text("precision_weights")),
        cache_precision=precision_of(row.text("precision_kv")),
        gpus=gpus,
        gpus_per_worker=gpus / pipeline,
        workers=1.0,
        attention_tp=1.0 if parallel else tp,
        expert_parallel=min(max(row.number("ep", 1.0), 1.0), gpus),
        pipeline=pipeline,
        decode_gpus=gpus,
        speculative="mtp" if "speculative" in notes.lower() else "",
        input_tokens=isl,
        output_tokens=osl,
        reserved_tokens=isl + osl,
        shortest_share=1.0,
        concurrency=concurrency,
        most_sequences=most,
        static=static,
        waves=10.0,
        release=release_of(row.text("engine")),
        origin=row.text("source"),
        measured=_measured(row, {metric: ("measured_value", scale)}),
    )


_OTHER = MappingProxyType(
    {
        THROUGHPUT: ("output_tok_per_s_total", 1.0),
        TPOT_MEDIAN: ("tpot_p50_ms", _MILLISECONDS),
        TTFT_MEDIAN: ("ttft_p50_ms", _MILLISECONDS),
        TTFT_MEAN: ("ttft_mean_ms", _MILLISECONDS),
        TTFT_P99: ("ttft_p99_ms", _MILLISECONDS),
    }
)


def _other(row: Cells, identity: str, facts: _Known) -> Measurement:
    accelerator, model = accelerators.find(row.text("hardware"), facts.accelerators), _model(row.text("model"), facts)
    gpus = row.count("n_chips") or row.number("tp", 1.0)
    concurrency, most = _concurrency(row, "concurrency_or_batch")
    isl, osl = row.number("isl", least=1.0), row.number("osl", least=1.0)
    return Measurement(
        id=identity,
        line=row.line,
        kind="other",
        top=THROUGHPUT,
        unit=OUTPUT,
        named_accelerator=row.text("hardware"),
        named_model=row.text("model"),
        named_framework=row.text("engine"),
        accelerator=accelerator,
        model=model,
        framework=framework_of(row.text("engine")),
        precision=precision_of(row.text("weights")),
        cache_precision="",
        gpus=gpus,
        gpus_per_worker=gpus,
        workers=1.0,
        attention_tp=gpus,
        expert_parallel=1.0,
        pipeline=1.0,
        decode_gpus=gpus,
        speculative="",
        input_tokens=isl,
        output_tokens=osl,
        reserved_tokens=isl + osl,
        shortest_share=1.0,
        concurrency=concurrency,
        most_sequences=most,
        static="static" in row.text("notes").lower(),
        waves=10.0,
        measured=_measured(row, _OTHER),
        release=release_of(row.text("engine")),
    )


def _mlperf(row: Cells, identity: str, facts: _Known) -> Measurement:
    benchmark = row.text("model")
    workload = facts.workloads.get(benchmark) or facts.workloads.get(re.sub(r"-99(\.9)?$", "", benchmark))
    if workload is None:
        raise NotPublishedError(f"no lengths are known of the benchmark {benchmark}")
    accelerator, model = accelerators.find(row.text("accelerator"), facts.accelerators), _model(workload.model, facts)
    gpus = row.count("n_gpus")
    if not gpus:
        raise NotPublishedError("n_gpus is not published")
    precision = precision_of(row.text("weights_precision"))
    scenario = row.text("scenario").lower()
    first_limit, token_limit = workload.limits.get(scenario, _NO_LIMITS)
    drafted = workload.interactive_speculative if scenario == "interactive" else ""
    return Measurement(
        id=identity,
        line=row.line,
        kind="mlperf",
        top=THROUGHPUT,
        # Round 5.1 prints Queries/s beside some of the figures in tokens.
        unit=OUTPUT,
        named_accelerator=row.text("accelerator"),
        named_model=benchmark,
        named_framework=row.text("software"),
        accelerator=accelerator,
        model=model,
        framework=framework_of(row.text("software")),
        precision=precision,
        cache_precision="",
        gpus=gpus,
        gpus_per_worker=0.0,
        workers=0.0,
        attention_tp=0.0,
        expert_parallel=1.0,
        pipeline=1.0,
        decode_gpus=gpus,
        speculative=drafted,
        input_tokens=workload.input_tokens,
        output_tokens=workload.output_tokens,
        reserved_tokens=workload.longest_tokens,
        shortest_share=1.0,
        concurrency=math.inf,
        most_sequences=math.inf,
        static=False,
        waves=10.0,
        scenario=scenario,
        release=release_of(row.text("software")),
        first_token_limit_s=first_limit,
        time_per_token_limit_s=token_limit,
        measured=_measured(row, {THROUGHPUT: ("result", 1.0)}),
    )


#: Columns that tell the kinds of files apart.
_KINDS = MappingProxyType(
    {
        "inferencex": ("model", "hardware", "framework", "precision", "isl", "osl", "concurrency"),
        "serving": ("model", "gpu", "engine", "precision_weights", "concurrency_or_batch", "measured_kind"),
        "mlperf": ("mlperf_id", "model", "scenario", "accelerator", "weights_precision"),
        "other": ("model", "hardware", "engine", "weights", "isl", "osl", "concurrency_or_batch"),
    }
)
_READERS: Mapping[str, Callable[..., Measurement]] = MappingProxyType(
    {"inferencex": _inferencex, "serving": _serving_run, "mlperf": _mlperf, "other": _other}
)
