"""The job script against plan and scheduler: nodes, GPUs, processes, partition, layout, batch, model, transport."""

import re
from collections.abc import Iterator, Mapping

from clusterwright.checks.prove.jobs.lines import hosts_of, lines_of
from clusterwright.checks.prove.jobs.scheduler import divided_hosts, node_lines
from clusterwright.checks.prove.papers import Papers, absent, examined
from clusterwright.checks.prove.records import Result, skipped
from clusterwright.errors import Finding
from clusterwright.facility.fabric.node_ports import INFINIBAND_NETWORK
from clusterwright.plan.record import TrainingPlan, TrainingWorkload, training_option, training_plan
from clusterwright.sizing.records.job import Layout

SCRIPT = "launch/train.sbatch"
_DIRECTIVE = re.compile(r"#SBATCH\s+--([\w-]+)(?:[= ](\S+))?")
_OPTION = re.compile(r"(?<![\w-])--([a-z][\w-]*)(?:[= ]+((?!--)[^\s)\\]+))?")
_EXPORT = re.compile(r"^\s*export\s+(\w+)=(\S+)")
_MEGATRON = "pretrain_gpt.py"


def has_job(papers: Papers) -> bool:
    """Tell whether the folder has a job script for Slurm that trains."""
    return isinstance(papers.documents.plan, TrainingPlan) and (papers.documents.site / SCRIPT).is_file()


def other_work(papers: Papers) -> Result | None:
    """Return that the files of work of another kind than training are not compared with the plan; None for training."""
    kind = papers.documents.plan.workload.kind
    if isinstance(papers.documents.plan, TrainingPlan):
        return None
    reason = f"workloads of kind {kind} have no job of training; their files are parsed, not held against the plan"
    return skipped("job script", (), "", reason)


def _layout_of(papers: Papers) -> Layout:
    return training_option(papers.documents.option).layout


def _work_of(papers: Papers) -> TrainingWorkload:
    return training_plan(papers.documents.plan).workload


def prove_job(papers: Papers) -> Result:
    """Return what holds of the job script."""
    layout = _layout_of(papers)
    facts = [
        f"nodes, GPUs and processes of the plan: TP {layout.tp} × PP {layout.pp} × CP {layout.cp} × DP {layout.dp}",
        "partition and GPU type are those of slurm.conf; model, batch and tokens those of the workload",
    ]
    return examined("job script", papers, (SCRIPT,), _RULES, facts)


def _directives(papers: Papers) -> Mapping[str, tuple[int, str]]:
    found = {}
    for number, line in enumerate(papers.text(SCRIPT).splitlines(), start=1):
        match = _DIRECTIVE.match(line)
        if match:
            found[match[1]] = number, match[2] or ""
    return found


def _options(papers: Papers) -> Mapping[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(papers.text(SCRIPT).splitlines(), start=1):
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
    """A job takes the hosts of the layout; spare ones beside them where it asks for them, never fewer or too many."""
    number, value = _directives(papers).get("nodes", (1, ""))
    hosts, asked = _training_hosts(papers), int(value) if value.isdigit() else 0
    if not hosts <= asked <= len(papers.documents.design.inventory.hosts()):
        yield absent("SBT001", f"{SCRIPT}:{number}", "--nodes", value, hosts, "the plan's layout takes as many hosts")


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
    days = papers.documents.option.calendar_days
    if value.upper() not in {"UNLIMITED", "INFINITE"} and _days(value) < days:
        wanted = f"at least {days:.1f} days, or UNLIMITED"
        yield absent("SBT001", f"{SCRIPT}:{number}", "--time", value, wanted, "the run takes as long")


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
        nodes = asked.get("nodes", (0, ""))[1]
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
    return _MEGATRON in papers.text(SCRIPT)


def _layout(papers: Papers) -> Iterator[Finding]:
    if not _is_megatron(papers):
        return
    said, layout, work = _options(papers), _layout_of(papers), _work_of(papers)
    for key, name in _SIZES.items():
        number, value = said.get(key, (1, "1"))
        if value != str(getattr(layout, name)):
            yield absent(
                "SBT003", f"{SCRIPT}:{number}", f"--{key}", value, getattr(layout, name), "the plan's layout has it"
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
                "SBT003", SCRIPT, f"--{key}", "set" if key in said else None, "set" if wanted else "not set", rule
            )
    number, value = said.get("recompute-granularity", (1, "none"))
    if value != layout.recompute:
        yield absent(
            "SBT003",
            f"{SCRIPT}:{number}",
            "--recompute-granularity",
            value,
            layout.recompute,
            "the plan's memory counts on it",
        )


def _workload(papers: Papers) -> Iterator[Finding]:
    if not _is_megatron(papers):
        return
    said, work = _options(papers), _work_of(papers)
    model = work.architecture
    expected: dict[str, object] = {
        "seq-length": work.sequence_length,
        "global-batch-size": work.global_batch_sequences,
        "train-samples": -(-int(work.tokens) // work.sequence_length),
        "num-layers": model.layers,
        "hidden-size": model.hidden,
        "num-attention-heads": model.heads,
        "ffn-hidden-size": model.ffn_hidden,
    }
    slack = {"train-samples": work.global_batch_sequences}
    for key, wanted in expected.items():
        if key not in said:
            if key != "train-samples" or "train-iters" not in said:
                yield absent("SBT004", SCRIPT, f"--{key}", None, wanted, "the workload has it")
            continue
        number, value = said[key]
        near = value.isdigit() and abs(int(value) - int(str(wanted))) <= slack.get(key, 0)
        if not near:
            yield absent("SBT004", f"{SCRIPT}:{number}", f"--{key}", value, wanted, "the workload has it")
    layout = _layout_of(papers)
    micro = layout.micro_batch * layout.dp
    number, value = said.get("global-batch-size", (1, ""))
    if value.isdigit() and int(value) % micro:
        yield absent(
            "SBT004",
            f"{SCRIPT}:{number}",
            "--global-batch-size",
            value,
            f"a multiple of {micro}",
            "micro-batch times data-parallel ranks",
        )
    precisions = {"bf16", "fp16", "fp8-format"} & said.keys()
    wanted = {"bf16": {"bf16"}, "fp16": {"fp16"}}.get(work.precision)
    if wanted is not None and precisions != wanted:
        yield absent(
            "SBT004", SCRIPT, "the precision", ", ".join(sorted(precisions)), work.precision, "the workload has it"
        )


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
    if not value and inventory.compute_network == INFINIBAND_NETWORK:
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


_RULES = (_nodes, _partition, _accelerators, _whole_nodes, _processes, _layout, _workload, _transport)
