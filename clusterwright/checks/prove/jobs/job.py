"""The job script against plan and scheduler: nodes, GPUs, processes, partition, layout, batch, model, transport."""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping

from clusterwright import assets
from clusterwright.catalog.records import Model
from clusterwright.checks.prove.jobs.lines import hosts_of, lines_of
from clusterwright.checks.prove.jobs.scheduler import divided_hosts, node_lines
from clusterwright.checks.prove.jobs.settings import JOB, assigned
from clusterwright.checks.prove.kubernetes.objects import read_yaml, value_at
from clusterwright.checks.prove.papers import CellError, Papers, absent, examined
from clusterwright.checks.prove.records import Result, skipped
from clusterwright.errors import Finding
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK
from clusterwright.plan.training.record import TrainingPlan, TrainingWorkload, training_option, training_plan
from clusterwright.sizing.records.job import Layout

SCRIPT, MANIFEST = "launch/train.sbatch", "kubernetes/jobs/train.yaml"
_JOBS_PAGE = "jobs.md"
_EXPORTED_PORTS = re.compile(r"export NCCL_IB_HCA='?([=^\w,:]+)")
_SAID_PORTS = re.compile(r"`NCCL_IB_HCA=([=^\w,:]+)`")
_DIRECTIVE = re.compile(r"#SBATCH\s+--([\w-]+)(?:[= ](\S+))?")
_OPTION = re.compile(r"(?<![\w-])--([a-z][\w-]*)(?:[= ]+((?!--)[^\s)\\]+))?")
_EXPORT = re.compile(r"^\s*export\s+(\w+)=(\S+)")
_MEGATRON = "pretrain_gpt.py"
_ADAPTERS = "NCCL_IB_HCA"


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
    return examined("job script", papers, (file,), _RULES if file == SCRIPT else _OF_ANY, facts)


def _directives(papers: Papers) -> Mapping[str, tuple[int, str]]:
    found = {}
    for number, line in enumerate(papers.text(SCRIPT).splitlines(), start=1):
        match = _DIRECTIVE.match(line)
        if match:
            found[match[1]] = number, match[2] or ""
    return found


def _options(papers: Papers) -> Mapping[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(papers.text(_file(papers)).splitlines(), start=1):
        if line.lstrip().startswith("#"):
            continue
        for name, value in _OPTION.findall(line):
            found.setdefault(name, (number, value))
    return found


def _training_hosts(papers: Papers) -> int:
    """Return how many hosts the layout takes: its ranks over the GPUs of a host."""
    return -(-_ranks(papers) // _gpus(papers))


def _ranks(papers: Papers) -> int:
    layout = _layout_of(papers)
    return layout.tp * layout.pp * layout.cp * layout.dp


def _gpus(papers: Papers) -> int:
    inventory = papers.documents.design.inventory
    return inventory.gpus // len(inventory.hosts())


def _differs(said: Mapping[str, tuple[int, str]], key: str, expected: object, rule: str) -> Iterator[Finding]:
    number, value = said.get(key, (1, ""))
    if value != str(expected):
        yield absent("SBT001", f"{SCRIPT}:{number}", f"--{key}", value, expected, rule)


def _nodes(papers: Papers) -> Iterator[Finding]:
    """A job takes the hosts of the layout and the spare ones, and goes on with as few as the plan's elastic job can."""
    number, value = _directives(papers).get("nodes", (1, ""))
    least, _, most = value.partition("-")
    option, each = training_option(papers.documents.option), papers.documents.design.inventory.hosts_per_node
    hosts, there = _training_hosts(papers), len(papers.documents.design.inventory.hosts())
    fewest = (option.performance.failures.elastic_nodes or option.training_nodes) * each
    fits = least.isdigit() and (most or least).isdigit()
    if not (fits and fewest <= int(least) and hosts <= int(most or least) <= there):
        expected = hosts if hosts == there else f"{fewest}-{there}"
        yield absent(
            "SBT001", f"{SCRIPT}:{number}", "--nodes", value, expected, "the plan's layout takes as many hosts"
        )


def _partition(papers: Papers) -> Iterator[Finding]:
    said = _directives(papers)
    yield from _differs(said, "partition", papers.documents.plan.cluster.partition, "plan.json and slurm.conf name it")
    number, value = said.get("partition", (1, ""))
    names = {line.get("PartitionName") for line in lines_of(papers, "slurm.conf") if line.get("PartitionName")}
    if value not in names:
        rule = "slurm.conf has these"
        yield absent("SBT001", f"{SCRIPT}:{number}", "--partition", value, ", ".join(sorted(names)), rule)


def _accelerators(papers: Papers) -> Iterator[Finding]:
    said, gpus = _directives(papers), _gpus(papers)
    system = papers.catalogue.systems[papers.documents.design.inventory.system]
    kind = papers.catalogue.accelerators[system.accelerator].gres_type
    if "gpus-per-node" in said and "gres" not in said:
        yield from _differs(said, "gpus-per-node", f"{kind}:{gpus}", "each host has these GPUs")
        return
    yield from _differs(said, "gres", f"gpu:{kind}:{gpus}", "each host has these GPUs")
    sliced = divided_hosts(papers)
    for line in node_lines(papers):
        if "gres" in said and not set(hosts_of(line.get("NodeName"))) <= sliced:
            # Parts of shared GPUs stand behind the whole ones.
            whole = line.get("Gres").split(",")[0]
            yield from _differs(said, "gres", whole, f"slurm.conf:{line.number} gives them")


def _whole_nodes(papers: Papers) -> Iterator[Finding]:
    said, script = _directives(papers), papers.text(SCRIPT)
    tasks = 1 if "torchrun" in script or "accelerate launch" in script else _gpus(papers)
    yield from _differs({"ntasks-per-node": (1, "1")} | dict(said), "ntasks-per-node", tasks, "a process for each GPU")
    for key, rule in (("exclusive", "the layout has whole nodes"), ("requeue", "a failed node ends no run")):
        if key not in said:
            yield absent("SBT001", SCRIPT, f"--{key}", None, "set", rule)
    if "mem" in said:
        yield from _differs(said, "mem", "0", "a whole node's memory")
    number, value = said.get("time", (1, "UNLIMITED"))
    days = papers.documents.option.performance.calendar_days
    if value.upper() not in {"UNLIMITED", "INFINITE"} and _days(value) < days:
        wanted = f"at least {days:.1f} days, or UNLIMITED"
        yield absent("SBT001", f"{SCRIPT}:{number}", "--time", value, wanted, "the run takes as long")


def _folder(papers: Papers) -> Iterator[Finding]:
    """The job starts, and writes, where `submit.sh` puts its files: the folder that job.env names."""
    said = _directives(papers)
    number, folder = assigned(papers, JOB).get("LAUNCH_PATH", (1, ""))
    if not folder:
        return
    rule = f"{JOB}:{number} has LAUNCH_PATH"
    if "chdir" in said:
        yield from _differs(said, "chdir", folder, rule)
    number, value = said.get("output", (1, folder))
    if value.startswith("/") and not value.startswith(f"{folder}/") and value != folder:
        yield absent("SBT001", f"{SCRIPT}:{number}", "--output", value, f"a file of {folder}", rule)


def _ports_on_page(papers: Papers) -> Iterator[Finding]:
    """The page of jobs names the ports that the script exports."""
    exported = _EXPORTED_PORTS.search(papers.text(SCRIPT))
    path = papers.documents.site / _JOBS_PAGE
    if exported is None or not path.is_file():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        said = _SAID_PORTS.search(line)
        if said is not None and said[1] != exported[1]:
            rule = f"{SCRIPT} exports it"
            yield absent("SBT001", f"{_JOBS_PAGE}:{number}", "NCCL_IB_HCA", said[1], exported[1], rule)


def _days(text: str) -> float:
    form = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if form is None:
        return 0.0
    days, first, second = (int(part or 0) for part in form.groups()[:3])
    if form[1]:
        return days + first / 24 + second / 1440
    return (first / 24 + second / 1440) if form[4] else first / 1440


def _processes(papers: Papers) -> Iterator[Finding]:
    said, asked = _options(papers), _directives(papers)
    gpus = _gpus(papers)
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
    said, layout, work, file = _options(papers), _layout_of(papers), _work_of(papers), _file(papers)
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
    said, work, file = _options(papers), _work_of(papers), _file(papers)
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


#: A checkpoint may come this many times as rarely or as often as planned before the plan's days do not hold.
_INTERVAL_SLACK = 2.0
_RETAIN = re.compile(r"retain_checkpoints\.sh\"? \S+ (\d+) (\d+)")


def _checkpoints(papers: Papers) -> Iterator[Finding]:
    """Checkpoints come as often as the plan counts with, and no more of them stay than storage is sized for."""
    option, said, file = training_option(papers.documents.option), _options(papers), _file(papers)
    number, value = said.get("save-interval", (1, ""))
    planned = max(1, round(option.performance.failures.checkpoint_interval_s / option.performance.step.total_s))
    if _is_megatron(papers):
        steps = int(value) if value.isdigit() else 0
        if not planned / _INTERVAL_SLACK <= steps <= planned * _INTERVAL_SLACK:
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


def _transport(papers: Papers) -> Iterator[Finding]:
    exports = {
        match[1]: (number, match[2])
        for number, line in enumerate(papers.text(SCRIPT).splitlines(), start=1)
        if (match := _EXPORT.match(line))
    }
    inventory = papers.documents.design.inventory
    number, value = exports.get("NCCL_NET", (1, ""))
    if value and value != "IB":
        yield absent(
            "SBT005",
            f"{SCRIPT}:{number}",
            "NCCL_NET",
            value,
            "IB",
            f"the compute fabric is {inventory.compute_network} with RDMA",
        )
    for key in ("NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"):
        if exports.get(key, (0, "0"))[1].strip('"') not in {"0", ""}:
            yield absent(
                "SBT005",
                f"{SCRIPT}:{exports[key][0]}",
                key,
                exports[key][1],
                "0",
                "collectives take the fabric and NVLink",
            )
    # GPUs of one host talk over its own links, and such a job starts without the fabric.
    if not value and inventory.compute_network == INFINIBAND_NETWORK and len(inventory.hosts()) > 1:
        yield absent("SBT005", SCRIPT, "NCCL_NET", None, "IB", "without it collectives may fall back to sockets")
    number, value = exports.get("NCCL_IB_GID_INDEX", (1, ""))
    if value and inventory.compute_network == INFINIBAND_NETWORK:
        yield absent("SBT005", f"{SCRIPT}:{number}", "NCCL_IB_GID_INDEX", value, None, "InfiniBand needs none")
    number, value = exports.get("CUDA_DEVICE_MAX_CONNECTIONS", (1, ""))
    layout = _layout_of(papers)
    if _is_megatron(papers) and layout.tp > 1 and value and value != "1":
        yield absent(
            "SBT005",
            f"{SCRIPT}:{number}",
            "CUDA_DEVICE_MAX_CONNECTIONS",
            value,
            "1",
            "communication is queued before what hides it",
        )


def _known_adapters(papers: Papers) -> str:
    """Return the adapters of the compute fabric that a document names for the system; empty where none does."""
    inventory = papers.documents.design.inventory
    fabric = "infiniband" if inventory.compute_network == INFINIBAND_NETWORK else "roce"
    with (assets.root() / "templates" / "launch" / "nccl.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            own = row["cloud"] in {"any", "onprem"} and row["instance"] in {"any", inventory.system}
            if row["name"] == _ADAPTERS and row["fabric"] in {"any", fabric} and own:
                return row["value"]
    return ""


def _adapters(papers: Papers) -> Iterator[Finding]:
    """A job uses the adapters of the compute fabric: those that are documented, or as many as are wired."""
    known, system = _known_adapters(papers), papers.catalogue.systems[papers.documents.design.inventory.system]
    count = (system.fabric_ports or 0) // papers.documents.design.inventory.hosts_per_node
    for number, line in enumerate(papers.text(SCRIPT).splitlines(), start=1):
        match = re.match(rf"\s*export\s+{_ADAPTERS}=(['\"]?)(=?[\w,:]+)\1\s*$", line)
        if match is None:
            continue
        named = [name for name in match[2].lstrip("=").split(",") if name]
        if known and match[2] != known:
            rule = "the maker's manual has these on the compute fabric, others are storage's"
            yield absent("SBT005", f"{SCRIPT}:{number}", _ADAPTERS, match[2], known, rule)
        elif len(named) != count or len(set(named)) != len(named):
            rule = "as many ports are wired to the compute fabric"
            yield absent("SBT005", f"{SCRIPT}:{number}", _ADAPTERS, match[2], f"{count} adapters", rule)


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
_RULES = (
    _nodes,
    _partition,
    _folder,
    _ports_on_page,
    _accelerators,
    _whole_nodes,
    _processes,
    *_OF_ANY,
    _transport,
    _adapters,
)
