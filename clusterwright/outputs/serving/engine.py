"""The arguments of a serving framework for a plan, from `catalog/engine_flags.csv`, and what it measures of itself.

A row of the table is one flag of one framework: the field of the plan that it carries, the versions that know it, the
words that a value has there. A framework without rows gets no arguments: what they would be is then for its owner.
"""

import csv
import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from clusterwright import assets
from clusterwright.errors import EXIT_BAD_INPUT, Finding, RuleError
from clusterwright.plan.serving.record import ServingOption, ServingPlan
from clusterwright.sizing.serving.service import Lengths

PORT = 8000
#: Sequences that are taken at once where memory holds more, as the simulation of a plan has it.
_MOST_SEQUENCES = 1024
#: Share of the requests that the longest request is not shorter than; longer ones are refused by the engine.
_LONGEST_SHARE = 0.9999
_ROUNDED_TO = 1024
_GIB = 2**30
#: Stands for the tokens of a draft in a word of the table.
_DRAFT = "DRAFT_TOKENS"
#: Methods whose drafts come from a model of their own, which lies in this folder beside the weights.
_DRAFTING_MODELS, _DRAFT_MODEL = ("eagle", "medusa", "draft_model"), "/model/draft"
#: Ranks of adapters that frameworks have kernels for.
_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
#: What a framework without a flag for it does not do, by field: where the blueprint asks for it, and in words.
_NEEDED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "batching": (("workload", "options", "batching"), "batches that start together"),
    "without_pages": (("workload", "options", "paged_cache"), "a cache without pages"),
    "adapters": (("workload", "options", "adapters"), "adapters"),
    "host_weights_gib": (("workload", "options", "offload"), "weights in the host's memory"),
    "host_cache_gb": (("workload", "options", "offload"), "keys and values in the host's memory"),
}
_NAMES = {"vllm": "vLLM", "sglang": "SGLang"}
_COMMANDS = {
    "vllm": ("vllm", "serve", "/model"),
    "sglang": ("python3", "-m", "sglang.launch_server", "--model-path", "/model"),
}
_PATH = ("workload", "framework")

Version = tuple[int, ...]


class Dated(Protocol):
    """A row of a table with the versions that have it."""

    @property
    def since(self) -> Version:
        """The oldest version in which it was read."""

    @property
    def before(self) -> Version:
        """The first version without it, empty for none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag:
    """One row of `engine_flags.csv`.

    Attributes:
        framework: its name there; flag: as it is typed; field: of the plan, see `fields_of`.
        form: `value`, or `switch` for a flag that is alone; words: what values of the plan are called, JSON.
        unless: the value that is not written, since it is the engine's own.
        since: the oldest version in which it was read; before: the first without it, empty for none.
    """

    framework: str
    flag: str
    field: str
    form: str
    words: Mapping[str, str]
    unless: str
    since: Version
    before: Version
    source: str
    read_on: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One row of `engine_metrics.csv`: what a framework calls a figure; bounds: upper ends of a histogram's buckets."""

    framework: str
    field: str
    metric: str
    kind: str
    bounds: tuple[float, ...]
    since: Version
    before: Version
    source: str
    read_on: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """How the replicas of one option are started.

    Attributes:
        framework: name in the tables, empty for one that they do not have; name: for people.
        command: that takes the arguments; empty where unknown.
        arguments: flags with their values, one word each.
        metrics: what it measures, by field; empty where unknown.
        valid: the versions that flags and metrics are valid for, as a sentence.
        sequences: that a replica takes at once; longest_tokens: of a request with its answer.
        settings: of its environment; ports: that it opens beside that of requests, by name.
        watched: labels of the workers that a field of the metrics is read from, as PromQL; none where all are.
    """

    framework: str
    name: str
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    metrics: Mapping[str, Metric]
    valid: str
    sequences: int
    longest_tokens: int
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    ports: Mapping[str, int] = dataclasses.field(default_factory=dict)
    watched: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def series(self, field_: str, model: str, *, suffix: str = "", further: str = "") -> str:
        """Return the series of a field for a model as PromQL, with the labels of the workers that it is read from."""
        labels = ",".join(
            one for one in (f"model_name={query_text(model)}", self.watched.get(field_, ""), further) if one
        )
        return f"{self.metrics[field_].metric}{suffix}{{{labels}}}"


def query_text(text: str) -> str:
    """Return a text as a string of PromQL, which escapes as JSON does for what a name can hold."""
    return json.dumps(text, ensure_ascii=False)


def version_of(text: str) -> Version:
    """Return a version's numbers; none for an empty text."""
    return tuple(int(part) for part in text.split(".")) if text else ()


def version_text(version: Version) -> str:
    """Return a version as it is written."""
    return ".".join(str(part) for part in version)


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of the catalogue as they are written."""
    with (assets.root() / "catalog" / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@cache
def flags() -> tuple[Flag, ...]:
    """Return every row of the table of flags, in its order."""
    return tuple(
        Flag(
            **row
            | {
                "words": json.loads(row["words"] or "{}"),
                "since": version_of(row["since"]),
                "before": version_of(row["before"]),
            }  # type: ignore[arg-type]
        )
        for row in rows_of("engine_flags.csv")
    )


@cache
def metrics() -> tuple[Metric, ...]:
    """Return every row of the table of metrics, in its order."""
    return tuple(
        Metric(
            **row
            | {
                "bounds": tuple(float(bound) for bound in row["bounds"].split()),
                "since": version_of(row["since"]),
                "before": version_of(row["before"]),
            }  # type: ignore[arg-type]
        )
        for row in rows_of("engine_metrics.csv")
    )


def framework_named(spoken: str) -> tuple[str, Version]:
    """Return the tables' name of a framework and the version that is named with it.

    >>> framework_named("vLLM 0.11.0"), framework_named("sglang"), framework_named("ours 2")
    (('vllm', (0, 11, 0)), ('sglang', ()), ('', (2,)))
    """
    lower = spoken.lower()
    known = next((name for name in dict.fromkeys(row.framework for row in flags()) if name in lower), "")
    found = re.search(r"\d{1,6}(?:\.\d{1,6})*", lower)
    return known, version_of(found[0]) if found else ()


def fields_of(plan: ServingPlan, option: ServingOption) -> dict[str, object]:
    """Return what flags can carry of a plan, by the tables' names of fields."""
    layout, work, memory = option.performance.layout, plan.workload, option.performance.replica_memory
    said = options_of(option)
    groups = layout.gpus // (layout.tensor * layout.pipeline)
    sequences = _sequences(option)
    held = memory.weights + memory.cache_pool
    drafts = int(said["draft_tokens"]) if work.speculative != "none" else 0
    chunked = said["chunked_prefill"] == "True"
    chunk = int(said["step_tokens"]) if chunked else max(longest_tokens(plan), int(said["step_tokens"]))
    adapters = int(said["adapters.count"])
    rank = int(said["adapters.rank"])
    on_host = float(said["offload.weights"])
    return {
        "host": "0.0.0.0",  # noqa: S104 - of the pod
        "port": PORT,
        "served_name": work.model,
        "attention_gpus": layout.tensor,
        "stage_gpus": layout.gpus // layout.pipeline,
        "pipeline": layout.pipeline,
        "attention_groups": groups,
        "spread_attention": layout.spread_attention,
        "expert": layout.expert,
        "whole_experts": layout.expert > 1,
        "sequences": sequences,
        "sequences_per_group": -(-sequences // groups),
        "chunk_tokens": chunk,
        "piece_tokens": chunk if chunked else -1,
        "chunked": chunked,
        "whole_inputs": not chunked,
        "longest_tokens": longest_tokens(plan),
        "cache_precision": work.cache_precision,
        "memory_share": _share((held + memory.reserved) / memory.whole),
        "static_share": _share(held / memory.whole),
        "prefix_caching": work.prefix_cache_hit > 0,
        "task": work.task,
        "one_pass": not work.generates,
        "batching": "" if said["batching"] in ("continuous", "none") else said["batching"],
        "without_pages": said["paged_cache"] == "False",
        "adapters": adapters,
        "resident_adapters": int(said["adapters.resident"] or adapters),
        "adapter_rank": next((one for one in _RANKS if one >= rank), rank) if adapters else 0,
        "adapter_targets": said["adapters.targets"] if adapters else "",
        "host_weights_gib": math.ceil(memory.weights * on_host / (1.0 - on_host) / _GIB),
        "host_cache_gb": int(float(said["offload.cache"]) / 1e9),
        "metrics": True,
        "speculative": work.speculative,
        "draft_model": _DRAFT_MODEL if work.speculative in _DRAFTING_MODELS else "",
        "draft_tokens": drafts,
        "draft_choices": min(drafts, 1),
        "drafted_tokens": drafts + 1 if drafts else 0,
    }


def options_of(option: ServingOption) -> dict[str, str]:
    """Return what the blueprint says of how the framework runs, and what holds where it says nothing."""
    usual = {
        "batching": "continuous",
        "chunked_prefill": "True",
        "step_tokens": "8192",
        "paged_cache": "True",
        "max_sequences": str(_MOST_SEQUENCES),
        "draft_tokens": "3",
        "adapters.count": "0",
        "adapters.rank": "16",
        "adapters.targets": "all",
        "adapters.resident": "",
        "offload.weights": "0",
        "offload.cache": "0",
    }
    start = "workload.options."
    return usual | {
        one.path.removeprefix(start): one.value for one in option.design.constraints if one.path.startswith(start)
    }


def _sequences(option: ServingOption) -> int:
    said = options_of(option)
    most = 1 if said["batching"] == "none" else int(said["max_sequences"])
    return max(1, min(option.performance.most_in_flight, most))


def _share(share: float) -> float:
    """Return a share of a device's memory in hundredths, rounded down: a little less never fails to start."""
    # Sums of bytes are a rounding error off: 0.9 of a device must not become 0.89.
    return math.floor(round(100.0 * share, 6)) / 100.0


def longest_tokens(plan: ServingPlan) -> int:
    """Return the tokens of the longest request with its answer: 9,999 of 10,000 of each, within the model's context."""
    work = plan.workload
    parts = (
        Lengths(mean=work.input_tokens, p95=work.input_tokens_p95),
        Lengths(mean=work.output_tokens, p95=work.output_tokens_p95),
    )
    tokens = sum(part.quantile(_LONGEST_SHARE) for part in parts)
    rounded = math.ceil(tokens / _ROUNDED_TO) * _ROUNDED_TO
    context = work.architecture.max_context
    return int(min(rounded, context)) if context else int(rounded)


def engine_of(plan: ServingPlan, option: ServingOption) -> Engine:
    """Return how a replica of an option is started.

    Raises:
        RuleError: `ENG001` a version older than the tables, `ENG002` a flag that the version does not know, `ENG003` a
            value that the framework has no word for.
    """
    spoken = plan.workload.framework
    framework, version = framework_named(spoken)
    fields = fields_of(plan, option)
    sequences, longest = _sequences(option), longest_tokens(plan)
    if not framework:
        return Engine(
            framework="",
            name=spoken,
            command=(),
            arguments=(),
            metrics={},
            valid=f"No table has the flags of {spoken}: `serve.args` is empty. {_to_fill_in(fields)}",
            sequences=sequences,
            longest_tokens=longest,
        )
    wanted = [row for row in flags() if row.framework == framework and _is_wanted(row, fields)]
    at = version or max(row.since for row in flags() if row.framework == framework)
    problems = tuple(_problems(framework, at, wanted, fields))
    if problems:
        error = RuleError(problems)
        error.exit_code = EXIT_BAD_INPUT
        raise error
    used = [row for row in wanted if knows(row, at)]
    return Engine(
        framework=framework,
        name=_NAMES[framework],
        command=_COMMANDS[framework],
        arguments=tuple(word for row in used for word in _words(row, fields)),
        metrics={row.field: row for row in metrics() if row.framework == framework and knows(row, at)},
        valid=_valid(framework, version, used),
        sequences=sequences,
        longest_tokens=longest,
    )


def _to_fill_in(fields: Mapping[str, object]) -> str:
    names = {
        "attention_gpus": "tensor parallel",
        "pipeline": "stages",
        "attention_groups": "data parallel",
        "expert": "expert parallel",
        "sequences": "sequences at once",
        "longest_tokens": "tokens of a request",
        "cache_precision": "keys and values",
    }
    told = ", ".join(f"{name} {fields[field]}" for field, name in names.items())
    return f"Fill in the command and its arguments for: {told}."


def _is_wanted(row: Flag, fields: Mapping[str, object]) -> bool:
    value = fields[row.field]
    return bool(value) if row.form == "switch" else str(value) != row.unless


def knows(row: Dated, version: Version) -> bool:
    """Tell whether a version has what a row of a table is about."""
    return row.since <= version and not (row.before and row.before <= version)


def _words(row: Flag, fields: Mapping[str, object]) -> Iterator[str]:
    yield row.flag
    if row.form == "value":
        value = str(fields[row.field])
        word = row.words.get(value, value).replace(_DRAFT, str(fields["draft_tokens"]))
        # Lists of modules are words each, JSON is one.
        yield from [word] if word.startswith("{") else word.split()


def _problems(
    framework: str, version: Version, wanted: Sequence[Flag], fields: Mapping[str, object]
) -> Iterator[Finding]:
    name = _NAMES[framework]
    oldest = min(row.since for row in flags() if row.framework == framework)
    if version < oldest:
        yield Finding(
            id="ENG001",
            path=_PATH,
            message=f"{name} {version_text(version)} is older than the table of its flags, "
            f"which begins with {version_text(oldest)}",
            help=f"name {name} {version_text(oldest)} or newer, or leave the version out",
        )
        return
    for field, (path, spoken) in _NEEDED.items():
        if fields[field] and not any(row.framework == framework and row.field == field for row in flags()):
            yield Finding(
                id="ENG004",
                path=path,
                message=f"no flag of {name} that is known gives {spoken}",
                help="remove it, or name the framework that does this, such as triton or your own: its command is then "
                "yours to fill in",
            )
    for field in dict.fromkeys(row.field for row in wanted):
        rows = [row for row in wanted if row.field == field]
        if not any(knows(row, version) for row in rows):
            flag, since = rows[0].flag, version_text(min(row.since for row in rows))
            yield Finding(
                id="ENG002",
                path=_PATH,
                message=f"{name} {version_text(version)} does not know {flag}, which the plan needs for "
                f"{_spoken(field)} {fields[field]}",
                help=f"name {name} {since} or newer",
            )
        for row in rows:
            value = str(fields[field])
            if row.words and knows(row, version) and value not in row.words:
                yield Finding(
                    id="ENG003",
                    path=("workload", "kv_precision") if field == "cache_precision" else _PATH,
                    message=f"{row.flag} of {name} has no word for {value}",
                    help=f"one of {', '.join(row.words)}",
                )


def _spoken(field: str) -> str:
    return field.replace("_", " ")


def _valid(framework: str, version: Version, used: Sequence[Flag]) -> str:
    name, oldest = _NAMES[framework], version_text(max(row.since for row in used))
    ends = [row.before for row in used if row.before]
    until = f" and before {version_text(min(ends))}" if ends else ""
    asked = f", which the blueprint names as {version_text(version)}" if version else ""
    return (
        f"The flags are those of {name} from {oldest}{until} on{asked}; read in {used[0].source.partition(':')[0]} on "
        f"{used[0].read_on}. Newer releases may rename some: the engine then refuses to start and names the flag."
    )
