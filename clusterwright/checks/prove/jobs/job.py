"""The job script against plan and scheduler: nodes, GPUs, processes, partition, layout, batch, model, transport."""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from clusterwright.catalog.records import Model
from clusterwright.checks.prove.jobs.script import (
    directives,
    exports,
    host_gpus,
    interval_fits,
    options,
    rules_of,
)
from clusterwright.checks.prove.kubernetes.objects import read_yaml, value_at
from clusterwright.checks.prove.papers import CellError, Papers, absent, examined
from clusterwright.checks.prove.records import Result, skipped
from clusterwright.errors import Finding
from clusterwright.plan.training.record import TrainingPlan, TrainingWorkload, training_option, training_plan
from clusterwright.sizing.records.job import Layout

SCRIPT, MANIFEST = "launch/train.sbatch", "kubernetes/jobs/train.yaml"
_MEGATRON = "pretrain_gpt.py"


def has_job(papers: Papers) -> bool:
    """Tell whether the folder has a job that trains, for Slurm or Kubernetes."""
    site = papers.documents.site
    return isinstance(papers.documents.plan, TrainingPlan) and any(
        (site / name).is_file() for name in (SCRIPT, MANIFEST)
    )


def _file(papers: Papers) -> str:
    """Return the job of the folder's scheduler."""
    return SCRIPT if (papers.documents.site / SCRIPT).is_file() else MANIFEST


def other_work(papers: Papers) -> Result | None:
    """Return that the files of work of another kind than training are not compared with the plan; None for training."""
    kind = papers.documents.plan.workload.kind
    if isinstance(papers.documents.plan, TrainingPlan):
        return None
    reason = f"workloads of kind {kind} have no job of training; their files are parsed, not held against the plan"
    return skipped("job script", (), "", reason)


def _layout_of(papers: Papers) -> Layout:
    return training_option(papers.documents.option).performance.layout


def _work_of(papers: Papers) -> TrainingWorkload:
    return training_plan(papers.documents.plan).workload


def prove_job(papers: Papers) -> Result:
    """Return what holds of the job script."""
    layout = _layout_of(papers)
    facts = [
        f"nodes, GPUs and processes of the plan: TP {layout.tp} × PP {layout.pp} × CP {layout.cp} × DP {layout.dp}",
        "partition and GPU type are those of slurm.conf; model, batch and tokens those of the workload",
    ]
    file = _file(papers)
    if file == MANIFEST:
        facts[1] = (
            "model, batch, tokens and checkpoints are those of the workload; pods are held with the other objects"
        )
        return examined("job script", papers, (file,), _OF_ANY, facts)
    several = papers.documents.design.inventory.hosts_per_node * papers.documents.option.cluster.work_nodes > 1
    rules = (*rules_of(SCRIPT, several=several), _nodes, _processes, _connections, *_OF_ANY)
    return examined("job script", papers, (file,), rules, facts)


def _training_hosts(papers: Papers) -> int:
    """Return how many hosts the layout takes: its ranks over the GPUs of a host."""
    return -(-_ranks(papers) // host_gpus(papers))


def _ranks(papers: Papers) -> int:
    layout = _layout_of(papers)
    return layout.tp * layout.pp * layout.cp * layout.dp


def _nodes(papers: Papers) -> Iterator[Finding]:
    """A job takes the hosts of the layout and the spare ones, and goes on with as few as the plan's elastic job can."""
    number, value = directives(papers, SCRIPT).get("nodes", (1, ""))
    least, _, most = value.partition("-")
    option, each = training_option(papers.documents.option), papers.documents.design.inventory.hosts_per_node
    hosts, there = _training_hosts(papers), option.cluster.work_nodes * each
    fewest = (option.performance.failures.elastic_nodes or option.training_nodes) * each
    fits = least.isdigit() and (most or least).isdigit()
    if not (fits and fewest <= int(least) and hosts <= int(most or least) <= there):
        expected = hosts if hosts == there else f"{fewest}-{there}"
        yield absent(
            "SBT001", f"{SCRIPT}:{number}", "--nodes", value, expected, "the plan's layout takes as many hosts"
        )


def _processes(papers: Papers) -> Iterator[Finding]:
    said, asked = options(papers, _file(papers)), directives(papers, SCRIPT)
    gpus = host_gpus(papers)
    for key in ("nproc-per-node", "nproc_per_node"):
        if key in said and said[key][1] != str(gpus):
            yield absent(
                "SBT002", f"{SCRIPT}:{said[key][0]}", f"--{key}", said[key][1], gpus, "a process for each GPU of a host"
            )
    if "nnodes" in said:
        number, value = said["nnodes"]
        hosts = _training_hosts(papers)
        least, _, most = value.partition(":")
        if "$" not in value and not (
            least.isdigit() and int(most or least) * gpus >= _ranks(papers) and int(least) <= hosts
        ):
            yield absent(
                "SBT002", f"{SCRIPT}:{number}", "--nnodes", value, hosts, "the layout's ranks over the GPUs of a host"
            )
        nodes = asked.get("nodes", (0, ""))[1].rpartition("-")[2]
        if "$" not in value and nodes.isdigit() and (most or least).isdigit() and int(most or least) > int(nodes):
            yield absent(
                "SBT002", f"{SCRIPT}:{number}", "--nnodes", value, f"at most {nodes}", "the job asks for as many"
            )
        if "$" not in value and not most and least.isdigit() and int(least) != hosts:
            yield absent(
                "SBT002", f"{SCRIPT}:{number}", "--nnodes", value, hosts, "the layout's ranks over the GPUs of a host"
            )


#: Options of Megatron-LM and the part of the layout that they set; sizes that are left out are 1.
_SIZES = {
    "tensor-model-parallel-size": "tp",
    "pipeline-model-parallel-size": "pp",
    "context-parallel-size": "cp",
    "expert-model-parallel-size": "ep",
    "micro-batch-size": "micro_batch",
}


def _is_megatron(papers: Papers) -> bool:
    return _MEGATRON in papers.text(_file(papers))


def _layout(papers: Papers) -> Iterator[Finding]:
    if not _is_megatron(papers):
        return
    said, layout, work, file = options(papers, _file(papers)), _layout_of(papers), _work_of(papers), _file(papers)
    for key, name in _SIZES.items():
        number, value = said.get(key, (1, "1"))
        if value != str(getattr(layout, name)):
            yield absent(
                "SBT003", f"{file}:{number}", f"--{key}", value, getattr(layout, name), "the plan's layout has it"
            )
    for key, wanted, rule in (
        ("sequence-parallel", bool(layout.sp), "the plan's memory counts on it"),
        (
            "use-distributed-optimizer",
            layout.zero_stage > 0 and work.optimizer != "muon",
            "the optimizer is sharded as the plan says",
        ),
    ):
        if (key in said) != wanted:
            yield absent(
                "SBT003", file, f"--{key}", "set" if key in said else None, "set" if wanted else "not set", rule
            )
    number, value = said.get("recompute-granularity", (1, "none"))
    if value != layout.recompute:
        yield absent(
            "SBT003",
            f"{file}:{number}",
            "--recompute-granularity",
            value,
            layout.recompute,
            "the plan's memory counts on it",
        )


#: Options that are a word without a value, and what of the model asks for them.
_FLAGS: Mapping[str, Callable[[Model], bool]] = {
    "swiglu": lambda model: model.gated,
    "untie-embeddings-and-output-weights": lambda model: not model.tied_embeddings,
    "disable-bias-linear": lambda model: not model.linear_biases,
    "add-qkv-bias": lambda model: model.qkv_biases,
    "qk-layernorm": lambda model: model.head_norms,
    "group-query-attention": lambda model: model.attention_kind != "mla" and model.kv_heads != model.heads,
    "multi-latent-attention": lambda model: model.attention_kind == "mla",
}
#: Options with a value that the model has; nothing where it has none.
_SHAPES: Mapping[str, Callable[[Model], object]] = {
    "num-layers": lambda model: model.layers,
    "hidden-size": lambda model: model.hidden,
    "num-attention-heads": lambda model: model.heads,
    "ffn-hidden-size": lambda model: model.ffn_hidden,
    "normalization": lambda model: "LayerNorm" if model.norm_biases else "RMSNorm",
    "position-embedding-type": lambda model: "learned_absolute" if model.learned_positions else "rope",
    "kv-channels": lambda model: None if model.attention_kind == "mla" else model.head_dim,
    "num-query-groups": lambda model: model.kv_heads if _FLAGS["group-query-attention"](model) else None,
    "q-lora-rank": lambda model: model.mla_q_lora,
    "kv-lora-rank": lambda model: model.mla_kv_lora,
    "qk-head-dim": lambda model: model.mla_nope_dim,
    "qk-pos-emb-head-dim": lambda model: model.mla_rope_dim,
    "v-head-dim": lambda model: model.mla_v_dim,
    "num-experts": lambda model: model.experts,
    "moe-router-topk": lambda model: model.experts_per_token,
}


def _workload(papers: Papers) -> Iterator[Finding]:
    if not _is_megatron(papers):
        return
    said, work, file = options(papers, _file(papers)), _work_of(papers), _file(papers)
    model = work.architecture
    expected: dict[str, object] = {
        "seq-length": work.sequence_length,
        "global-batch-size": work.global_batch_sequences,
        "train-samples": -(-int(work.tokens) // work.sequence_length),
    }
    expected |= {key: shape(model) for key, shape in _SHAPES.items()}
    slack = {"train-samples": work.global_batch_sequences}
    for key, wanted in expected.items():
        number, value = said.get(key, (1, ""))
        if key == "train-samples" and key not in said and "train-iters" in said:
            continue
        near = value.isdigit() and isinstance(wanted, int) and abs(int(value) - wanted) <= slack.get(key, 0)
        if value != str(wanted or "") and not near:
            yield absent("SBT004", f"{file}:{number}", f"--{key}", value, wanted, "the workload has it")
    for key, asks in _FLAGS.items():
        if (key in said) != asks(model):
            state = ("set", "not set") if key in said else ("not set", "set")
            yield absent("SBT004", f"{file}:{said.get(key, (1, ''))[0]}", f"--{key}", *state, "the model has it so")
    positions = said.get("max-position-embeddings", (1, ""))
    if not positions[1].isdigit() or int(positions[1]) < work.sequence_length:
        rule = "a sequence is as long"
        wanted = f"at least {work.sequence_length}"
        yield absent("SBT004", f"{file}:{positions[0]}", "--max-position-embeddings", positions[1], wanted, rule)
    layout = _layout_of(papers)
    micro = layout.micro_batch * layout.dp
    number, value = said.get("global-batch-size", (1, ""))
    if value.isdigit() and int(value) % micro:
        rule = "micro-batch times data-parallel ranks"
        yield absent("SBT004", f"{file}:{number}", "--global-batch-size", value, f"a multiple of {micro}", rule)
    precisions = {"bf16", "fp16", "fp8-format"} & said.keys()
    accepted = {"bf16": {"bf16"}, "fp16": {"fp16"}}.get(work.precision)
    if accepted is not None and precisions != accepted:
        yield absent(
            "SBT004", file, "the precision", ", ".join(sorted(precisions)), work.precision, "the workload has it"
        )


_RETAIN = re.compile(r"retain_checkpoints\.sh\"? \S+ (\d+) (\d+)")


def _checkpoints(papers: Papers) -> Iterator[Finding]:
    """Checkpoints come as often as the plan counts with, and no more of them stay than storage is sized for."""
    option, said, file = training_option(papers.documents.option), options(papers, _file(papers)), _file(papers)
    number, value = said.get("save-interval", (1, ""))
    planned = max(1, round(option.performance.failures.checkpoint_interval_s / option.performance.step.total_s))
    if _is_megatron(papers):
        steps = int(value) if value.isdigit() else 0
        if not interval_fits(steps, planned):
            rule = f"the plan writes one every {option.performance.failures.checkpoint_interval_s / 60:,.0f} min"
            yield absent("SBT006", f"{file}:{number}", "--save-interval", value, f"about {planned} steps", rule)
    number, value = said.get("max-restarts", (1, ""))
    interruptions = (
        option.performance.calendar_days * 86_400 / option.performance.failures.mean_time_between_interruptions_s
    )
    if "max-restarts" in said and not (value.isdigit() and int(value) >= interruptions):
        rule = "the run is interrupted as often"
        wanted = f"at least {interruptions:,.0f}"
        yield absent("SBT006", f"{file}:{number}", "--max-restarts", value, wanted, rule)
    text = papers.text(_file(papers))
    for match in _RETAIN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        kept = option.design.storage.checkpoints_kept
        if int(match[1]) > kept or int(match[1]) < 1:
            what, rule = "the checkpoints that are kept", "shared storage is sized for them"
            yield absent("SBT006", f"{file}:{line}", what, match[1], kept, rule)


def _connections(papers: Papers) -> Iterator[Finding]:
    number, value = exports(papers, SCRIPT).get("CUDA_DEVICE_MAX_CONNECTIONS", (1, ""))
    if _is_megatron(papers) and _layout_of(papers).tp > 1 and value and value != "1":
        rule = "communication is queued before what hides it"
        yield absent("SBT005", f"{SCRIPT}:{number}", "CUDA_DEVICE_MAX_CONNECTIONS", value, "1", rule)


_DEEPSPEED, _ACCELERATE = "launch/deepspeed.json", "launch/accelerate_fsdp.yaml"


def _sharded(papers: Papers) -> Iterator[Finding]:
    """Configurations for DeepSpeed and for FSDP have the batch, the processes and the sharding of the layout."""
    layout, work = _layout_of(papers), _work_of(papers)
    wanted: dict[str, Mapping[str, object]] = {
        _DEEPSPEED: {
            "train_batch_size": work.global_batch_sequences,
            "train_micro_batch_size_per_gpu": layout.micro_batch,
            "gradient_accumulation_steps": layout.micro_batches,
            "zero_optimization.stage": layout.zero_stage,
            "bf16.enabled": True if work.precision == "bf16" else None,
        },
        _ACCELERATE: {
            "num_machines": _training_hosts(papers),
            "num_processes": _ranks(papers),
            "gradient_accumulation_steps": layout.micro_batches,
            "mixed_precision": work.precision if work.precision in {"bf16", "fp16"} else None,
        },
    }
    for file, values in wanted.items():
        if not (papers.documents.site / file).is_file():
            continue
        try:
            body = json.loads(papers.text(file)) if file == _DEEPSPEED else read_yaml(papers.documents.site / file)[0]
        except (ValueError, IndexError) as error:
            raise CellError(f"{file} cannot be read: {error}") from None
        for path, expected in values.items():
            found = value_at(body, path)
            if expected is not None and found != expected:
                yield absent("SBT003", file, path, found, expected, "the plan's layout has it")


#: What holds of a job whatever starts it.
_OF_ANY = (_layout, _workload, _checkpoints, _sharded)
