"""The files of a fine-tuning job against its plan: processes, sharding, batch, adapters, checkpoints, answers.

The job is a Slurm script or a Kubernetes manifest that starts torchtune, Megatron-Bridge, or TRL with Accelerate. Its
configuration is next to the script or in the manifest's ConfigMap. Users choose learning rate, data, image and logging
themselves.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping

from clusterwright import assets
from clusterwright.blueprint.workloads.finetuning import MATRICES_BY_NAME
from clusterwright.checks.prove.jobs import megatron_bridge
from clusterwright.checks.prove.jobs.script import (
    SHARED_FOLDER,
    directives,
    host_gpus,
    interval_fits,
    options,
    rules_of,
)
from clusterwright.checks.prove.jobs.settings import Said, assigned
from clusterwright.checks.prove.jobs.tuning_files import (
    ACCELERATE,
    BRIDGE,
    MANIFEST,
    SCRIPT,
    TORCHTUNE,
    TRL,
    TuningJob,
    compared,
    settings_of,
)
from clusterwright.checks.prove.kubernetes.objects import read_yaml, value_at
from clusterwright.checks.prove.papers import Papers, Rule, absent, examined
from clusterwright.checks.prove.records import Result
from clusterwright.errors import Finding
from clusterwright.plan.finetuning.record import FinetuningPlan, finetuning_option, finetuning_plan
from clusterwright.plan.text.finetuning import layout_text

_ENVIRONMENT = "kubernetes/jobs/job.env"
#: Program that a job of Megatron-Bridge starts.
_PROGRAM = re.compile(r"torchrun [^\n]*?(\S+\.py)\b")
_COMMANDS = {"supervised": "trl.scripts.sft", "dpo": "trl.scripts.dpo", "grpo": "trl.scripts.grpo"}
_MODULE = re.compile(r"-m (trl\.\S+)")
_RECIPE = re.compile(r"tune run .*?(\w+_finetune_\w+|\w+_dpo_\w+)")
_DEFAULT = re.compile(r'^: "\$\{CHECKPOINT_PATH:=(\S*)\}"$', re.MULTILINE)
_AGAIN = re.compile(r"resume_from_checkpoint[ =]true")
#: Formats in which a frozen base is packed, as bitsandbytes' loader has them.
_PACKED: Mapping[str, Mapping[str, object]] = {
    "nf4": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "use_bnb_nested_quant": False},
    "nf4-dq": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "use_bnb_nested_quant": True},
    "int8": {"load_in_8bit": True},
}
_EVERY = "all-linear"
_OPTIMIZER = ("8bit", "paged")
#: By how much vLLM's share of memory may be above the plan's, which is rounded up.
_SHARE_SLACK = 0.01


def has_finetuning(papers: Papers) -> bool:
    """Tell whether the folder has a job that fine-tunes, for Slurm or Kubernetes."""
    site = papers.documents.site
    return isinstance(papers.documents.plan, FinetuningPlan) and any(
        (site / name).is_file() for name in (SCRIPT, MANIFEST)
    )


def prove_finetuning(papers: Papers) -> Result:
    """Return what holds of the job and of the files that it reads."""
    site, option = papers.documents.site, finetuning_option(papers.documents.option)
    file = SCRIPT if (site / SCRIPT).is_file() else MANIFEST
    facts = [
        f"machines, processes, sharding and batch of the plan: {layout_text(option)}",
        "sequences, epochs, precision, adapters, checkpoints and resumption are those of the workload",
    ]
    read: list[TuningJob] = []

    def of(rule: Callable[[TuningJob], Iterator[Finding]]) -> Rule:
        def look(papers: Papers) -> Iterator[Finding]:
            if not read:
                read.append(_job(papers, file))
            return rule(read[0])

        return look

    own = [of(rule) for rule in (*_RULES, *(_IN_SLURM if file == SCRIPT else _IN_KUBERNETES))]
    machines = option.training_nodes * papers.documents.design.inventory.hosts_per_node
    shared = rules_of(SCRIPT, several=machines > 1) if file == SCRIPT else ()
    return examined("job script", papers, (file,), (*shared, *own), facts)


def _job(papers: Papers, file: str) -> TuningJob:
    documents = papers.documents
    return TuningJob(
        papers=papers,
        file=file,
        plan=finetuning_plan(documents.plan),
        option=finetuning_option(documents.option),
        settings={one.name: one for one in settings_of(papers, file)},
    )


def _nodes(job: TuningJob) -> Iterator[Finding]:
    """A job of Slurm asks for the hosts that its processes are started on."""
    number, value = directives(job.papers, job.file).get("nodes", (1, ""))
    if value != str(job.machines):
        rule = "the plan trains on as many hosts, spare ones apart"
        yield absent("SBT001", f"{job.file}:{number}", "--nodes", value, job.machines, rule)


def _pods(job: TuningJob) -> Iterator[Finding]:
    """A job of Kubernetes has a pod on every host that trains, which meet at the first one."""
    for document in read_yaml(job.papers.documents.site / job.file):
        if document.get("kind") != "Job":
            continue
        place, pods = f"{job.file} Job {value_at(document, 'metadata.name')}", value_at(document, "spec.completions")
        if pods != job.machines:
            rule = "the plan trains on as many hosts, spare ones apart"
            yield absent("FTJ001", place, "completions", pods, job.machines, rule)
        worker = value_at(document, "spec.template.spec.containers.0")
        limits = {str(key): value for key, value in (value_at(worker, "resources.limits") or {}).items()}
        for key, value in limits.items():
            if key.endswith(("/gpu", "/gaudi")) and str(value) != str(host_gpus(job.papers)):
                yield absent("FTJ001", place, f"limits.{key}", value, host_gpus(job.papers), "a pod has its host")
        variables = {entry.get("name"): entry.get("value") for entry in value_at(worker, "env") or []}
        subdomain = value_at(document, "spec.template.spec.subdomain")
        meeting = f"{value_at(document, 'metadata.name')}-0.{subdomain}"
        if variables.get("MAIN_HOST") != meeting:
            rule = "all pods meet at the first one"
            yield absent("FTJ001", place, "MAIN_HOST", variables.get("MAIN_HOST"), meeting, rule)


def _submitted(job: TuningJob) -> Iterator[Finding]:
    """What submit.sh starts from names this job; image, data and learning rate are the user's."""
    said = assigned(job.papers, _ENVIRONMENT)
    documents = read_yaml(job.papers.documents.site / job.file)
    own = next((document for document in documents if document.get("kind") == "Job"), {})
    wanted = {
        "JOB_NAME": job.plan.name,
        "JOB_NAMESPACE": value_at(own, "metadata.namespace"),
        "JOB_MANIFEST": job.file.rpartition("/")[2],
        "JOB_QUEUE": (value_at(own, "metadata.labels") or {}).get("kueue.x-k8s.io/queue-name"),
    }
    for name, expected in wanted.items():
        number, value = said.get(name, (1, ""))
        if said and expected and value != str(expected):
            rule = f"{job.file} and plan.json have it"
            yield absent("FTJ001", f"{_ENVIRONMENT}:{number}", name, value, expected, rule)


def _processes(job: TuningJob) -> Iterator[Finding]:
    """The command starts a process for each accelerator of the layout, and knows which host it is on."""
    said = options(job.papers, job.file)
    gpus = job.option.performance.layout.gpus
    each = f"{job.option.performance.layout.gpus:,} accelerators on {job.machines:,} hosts"
    wanted = {
        "num_machines": job.machines,
        "num_processes": gpus,
        "nnodes": job.machines,
        "nproc_per_node": job.processes,
        "nproc-per-node": job.processes,
    }
    for key, expected in wanted.items():
        number, value = said.get(key, (1, str(expected)))
        if "$" not in value and value != str(expected):
            yield absent("FTJ001", f"{job.file}:{number}", f"--{key}", value, expected, each)
    yield from _met(job, said)
    number, value = said.get("machine_rank", (1, "$"))
    if "$" not in value and job.machines > 1:
        rule = "each host starts its own processes"
        yield absent("FTJ001", f"{job.file}:{number}", "--machine_rank", value, "a variable of the host", rule)
    together = {"nnodes", "nproc_per_node"} if "tune run" in job.papers.text(job.file) else set()
    if BRIDGE in job.settings:
        together = {"nnodes", "nproc-per-node"}
    for key in sorted(together - said.keys()) if gpus > 1 else ():
        yield absent("FTJ001", job.file, f"--{key}", None, wanted[key], each)


def _met(job: TuningJob, said: Said) -> Iterator[Finding]:
    """Processes of several hosts meet at the first one."""
    number, value = said.get("rdzv-endpoint", (1, ""))
    if BRIDGE in job.settings and job.machines > 1 and "MAIN_HOST" not in value:
        rule = "all hosts meet at the first one"
        yield absent("FTJ001", f"{job.file}:{number}", "--rdzv-endpoint", value, "$MAIN_HOST and a port", rule)


def _program(job: TuningJob) -> Iterator[Finding]:
    """The command is that of the objective and of the method, and reads the files that are there."""
    text, said = job.papers.text(job.file), options(job.papers, job.file)
    layout = job.option.performance.layout
    kind, spread = (
        ("full" if job.work.method == "full" else "lora"),
        "single_device" if layout.gpus == 1 else "distributed",
    )
    for pattern, expected, rule in (
        (_MODULE, _COMMANDS.get(job.work.objective, ""), f"the objective of the workload is {job.work.objective}"),
        (_RECIPE, f"{kind}_finetune_{spread}", f"{job.work.method_text} on {layout.gpus:,} accelerators"),
    ):
        match = pattern.search(text)
        if match is not None and match[1] != expected:
            number = text.count("\n", 0, match.start(1)) + 1
            yield absent("FTJ001", f"{job.file}:{number}", "the program", match[1], expected, rule)
    started = _PROGRAM.search(text)
    name = started[1].rpartition("/")[2] if started is not None else ""
    own = BRIDGE in job.settings or name == BRIDGE.replace(".yaml", ".py")
    if started is not None and own and not {name, BRIDGE} <= job.settings.keys():
        number = text.count("\n", 0, started.start(1)) + 1
        expected = f"{', '.join(sorted(job.settings))}: a program and {BRIDGE}"
        yield absent("FTJ001", f"{job.file}:{number}", "the program", started[1], expected, "these files are there")
    for key in ("config_file", "config"):
        number, value = said.get(key, (1, ""))
        name = value.strip("'\"").rpartition("/")[2]
        if value and "$" not in value and name not in job.settings:
            expected = ", ".join(sorted(job.settings))
            yield absent("FTJ001", f"{job.file}:{number}", f"--{key}", value, expected, "these files are there")


def _started(job: TuningJob) -> Iterator[Finding]:
    """Accelerate's file has the same machines and processes as the command."""
    layout, why = job.option.performance.layout, "the plan's layout has it"
    kind = "FSDP" if job.divided else "NO" if layout.gpus == 1 else "MULTI_GPU"
    wanted: dict[str, tuple[object, str]] = {
        "num_machines": (job.machines, "the plan trains on as many hosts"),
        "num_processes": (layout.gpus, "a process for each accelerator of the layout"),
        "distributed_type": (kind, why),
        "use_cpu": (False, "the plan counts with accelerators"),
    }
    yield from compared(job.settings.get(ACCELERATE), "FTJ001", wanted, absent_is={"use_cpu": False})


def _sharding(job: TuningJob) -> Iterator[Finding]:
    """Weights and states are divided over as many accelerators as the memory is counted with."""
    layout, one = job.option.performance.layout, job.settings.get(ACCELERATE)
    if one is None or not job.divided:
        if one is not None and "fsdp_config" in one.body:
            yield absent("FTJ002", one.place("fsdp_config"), "fsdp_config", "there", None, "the plan divides nothing")
        return
    copies, memory = layout.data // layout.shards, "the plan's memory counts on it"
    sizes = "parallelism_config.parallelism_config_"
    wanted: dict[str, tuple[object, str]] = {
        "fsdp_config.fsdp_reshard_after_forward": (True, memory),
        "fsdp_config.fsdp_activation_checkpointing": (layout.recompute, memory),
        "fsdp_config.fsdp_offload_params": (False, "the plan's time counts on weights that stay on accelerators"),
        "fsdp_config.fsdp_version": (2, "the sizes of groups are settings of the second version"),
        f"{sizes}dp_replicate_size": (copies, f"{layout.data:,} groups, weights divided over {layout.shards:,}"),
        f"{sizes}dp_shard_size": (layout.shards, f"{layout.data:,} groups, weights divided over {layout.shards:,}"),
        f"{sizes}tp_size": (layout.tensor, "the plan's layout has it"),
        f"{sizes}cp_size": (1, "the plan's layout has it"),
    }
    usual: dict[str, object] = {
        f"{sizes}tp_size": 1,
        f"{sizes}cp_size": 1,
        "fsdp_config.fsdp_offload_params": False,
        "fsdp_config.fsdp_activation_checkpointing": False,
    }
    # Without sizes weights are divided over all processes.
    if copies == 1:
        usual |= {f"{sizes}dp_replicate_size": 1, f"{sizes}dp_shard_size": layout.shards}
    yield from compared(one, "FTJ002", wanted, absent_is=usual)


def _batch(job: TuningJob) -> Iterator[Finding]:
    """Sequences of a pass, passes of an update and what is computed again are those of the layout."""
    layout, memory = job.option.performance.layout, "the plan's memory counts on it"
    passes = f"{layout.micro_batch} × {layout.data:,} × {layout.accumulation:,} sequences are an update"
    yield from compared(
        job.settings.get(TRL),
        "FTJ002",
        {
            "per_device_train_batch_size": (layout.micro_batch // job.pairs, passes),
            "gradient_accumulation_steps": (layout.accumulation, passes),
            "gradient_checkpointing": (layout.recompute and not job.divided, memory),
        },
        absent_is={"gradient_accumulation_steps": 1},
    )
    yield from compared(
        job.settings.get(ACCELERATE),
        "FTJ002",
        {"gradient_accumulation_steps": (layout.accumulation, passes)},
        absent_is={"gradient_accumulation_steps": layout.accumulation},
    )
    yield from compared(
        job.settings.get(TORCHTUNE),
        "FTJ002",
        {
            "batch_size": (layout.micro_batch, passes),
            "gradient_accumulation_steps": (layout.accumulation, passes),
            "enable_activation_checkpointing": (layout.recompute, memory),
            "enable_activation_offloading": (False, "the plan's time counts on activations that stay on accelerators"),
            "optimizer_in_bwd": (False, "gradients of several passes are added up"),
        },
        absent_is={
            "gradient_accumulation_steps": 1,
            "enable_activation_checkpointing": False,
            "enable_activation_offloading": False,
            "optimizer_in_bwd": False,
        },
    )


def _workload(job: TuningJob) -> Iterator[Finding]:
    """Sequences, epochs, precision and optimizer are those of the workload."""
    work, has = job.work, "the workload has it"
    tuned: dict[str, tuple[object, str]] = {
        "num_train_epochs": (work.epochs, has),
        "bf16": (True, "the plan's time counts on it"),
        "dtype": ("bfloat16", "the plan's memory counts on it"),
    }
    if work.rollouts is None:
        tuned["max_length"] = (work.sequence_length, has)
        if work.objective == "supervised":
            tuned["packing"] = (work.packing, has)
    yield from compared(job.settings.get(TRL), "FTJ003", tuned, absent_is={"packing": False})
    mixed: dict[str, tuple[object, str]] = {"mixed_precision": ("bf16", "the plan's time counts on it")}
    yield from compared(job.settings.get(ACCELERATE), "FTJ003", mixed)
    wanted: dict[str, tuple[object, str]] = {
        "tokenizer.max_seq_len": (work.sequence_length, has),
        "dataset.packed": (work.packing, has),
        "epochs": (work.epochs, has),
        "max_steps_per_epoch": (None, "an epoch is all of the data"),
        "dtype": ("bf16", "the plan's memory counts on it"),
        "device": ("cuda", "the plan counts with accelerators"),
    }
    yield from compared(job.settings.get(TORCHTUNE), "FTJ003", wanted, absent_is={"dataset.packed": False})
    for name, key in ((TRL, "optim"), (TORCHTUNE, "optimizer._component_")):
        one = job.settings.get(name)
        if one is None:
            continue
        said = str(value_at(one.body, key) or "").lower()
        fits = "adamw" in said and all((word in said) == (word in work.optimizer) for word in _OPTIMIZER)
        if not fits:
            expected = f"AdamW, {work.optimizer or 'neither paged nor in 8 bits'}"
            yield absent(
                "FTJ003", one.place(key), key, value_at(one.body, key), expected, "its states are in the memory"
            )


def _model(job: TuningJob) -> Iterator[Finding]:
    """Torchtune's builders are those of the model, and of the form in which its weights are held."""
    one = job.settings.get(TORCHTUNE)
    if one is None:
        return
    path = assets.root() / "templates" / "launch" / "torchtune_models.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        row = next((row for row in csv.DictReader(lines) if row["model"] == job.work.model), None)
    if row is None:
        return
    form = "" if job.work.method == "full" else "lora_" if job.work.precision == "bf16" else "qlora_"
    why = f"the workload is {job.work.model_name}, {job.work.method_text} in {job.work.precision}"
    wanted: dict[str, tuple[object, str]] = {
        "model._component_": (f"torchtune.models.{row['family']}.{form}{row['size']}", why),
        "tokenizer._component_": (f"torchtune.models.{row['tokenizer']}", why),
        "checkpointer.model_type": (row["model_type"], why),
    }
    yield from compared(one, "FTJ003", wanted)
    steps = value_at(one.body, "lr_scheduler.num_warmup_steps")
    if isinstance(steps, int) and not 0 <= steps < job.option.performance.steps:
        most, rule = f"below {job.option.performance.steps:,}", "the run has as many updates"
        key = "lr_scheduler.num_warmup_steps"
        yield absent("FTJ003", one.place(key), key, steps, most, rule)


def _adapters(job: TuningJob) -> Iterator[Finding]:
    """Low-rank matrices have the rank and the places of the workload, beside a base in its format."""
    work, has = job.work, "the workload has it"
    held = {} if job.work.method == "full" else dict(_PACKED.get(work.precision, {}))
    tuned: dict[str, tuple[object, str]] = {"use_peft": (job.low_rank, has)}
    for key in ("load_in_4bit", "load_in_8bit"):
        tuned[key] = (bool(held.get(key, False)), f"the base is held in {work.precision}")
    if job.low_rank:
        tuned |= {"lora_r": (int(work.rank), has), "lora_alpha": (int(work.alpha), has)}
        tuned |= {"use_dora": (work.method == "dora", has)}
        tuned |= {key: (value, f"the base is held in {work.precision}") for key, value in held.items()}
    if "load_in_4bit" in held and job.divided:
        rule = "FSDP divides tensors of one type alone"
        tuned["bnb_4bit_quant_storage"] = ("bfloat16", rule)
    usual: dict[str, object] = dict.fromkeys(
        ("use_peft", "load_in_4bit", "load_in_8bit", "use_dora", "use_bnb_nested_quant"), False
    )
    yield from compared(job.settings.get(TRL), "FTJ004", tuned, absent_is=usual)
    tune = job.settings.get(TORCHTUNE)
    if tune is not None and job.low_rank:
        wanted: dict[str, tuple[object, str]] = {
            "model.lora_rank": (int(work.rank), has),
            "model.lora_alpha": (int(work.alpha), has),
            "model.use_dora": (work.method == "dora", has),
            "model.apply_lora_to_mlp": ("mlp" in work.targets, has),
            "model.apply_lora_to_output": (False, "the workload counts the matrices of layers"),
            "save_adapter_weights_only": (True, "storage is sized for what is trained"),
        }
        false: dict[str, object] = dict.fromkeys(("model.use_dora", "model.apply_lora_to_output"), False)
        yield from compared(tune, "FTJ004", wanted, absent_is=false)
    if job.low_rank:
        yield from _targets(job)


def _targets(job: TuningJob) -> Iterator[Finding]:
    """Low-rank matrices are attached where the workload says."""
    for name, key in ((TRL, "lora_target_modules"), (TORCHTUNE, "model.lora_attn_modules")):
        one = job.settings.get(name)
        if one is None:
            continue
        said = value_at(one.body, key)
        words = [str(word) for word in said] if isinstance(said, list) else [str(said)]
        there = sorted(
            set(MATRICES_BY_NAME.values())
            if words == [_EVERY]
            else {MATRICES_BY_NAME.get(word, word) for word in words}
        )
        chosen = {target for target in job.work.targets if name == TRL or target != "mlp"}
        whole = {word for word, matrix in MATRICES_BY_NAME.items() if matrix == "mlp"}
        torn = name == TRL and "mlp" in there and words != [_EVERY] and not whole <= set(words)
        if set(there) != chosen or torn:
            shown = ", ".join(words)
            yield absent("FTJ004", one.place(key), key, shown, ", ".join(sorted(chosen)), "the workload has these")


def _checkpoints(job: TuningJob) -> Iterator[Finding]:
    """Checkpoints come as often as the plan counts with, and no more of them stay than storage is sized for."""
    one, performance = job.settings.get(TRL), job.option.performance
    if one is None:
        return
    each_s = performance.failures.checkpoint_interval_s
    planned = max(1, min(performance.steps, round(each_s / performance.step_s)))
    every = f"the plan writes one every {each_s / 60:,.0f} min"
    strategy, steps = one.body.get("save_strategy", "steps"), one.body.get("save_steps", 500)
    if strategy != "steps":
        yield absent("FTJ005", one.place("save_strategy"), "save_strategy", strategy, "steps", every)
    if not (isinstance(steps, int) and not isinstance(steps, bool) and interval_fits(steps, planned)):
        yield absent("FTJ005", one.place("save_steps"), "save_steps", steps, f"about {planned:,} steps", every)
    kept, most = one.body.get("save_total_limit"), job.option.design.storage.checkpoints_kept
    if not (isinstance(kept, int) and 1 <= kept <= most):
        rule = "shared storage is sized for them"
        yield absent("FTJ005", one.place("save_total_limit"), "save_total_limit", kept, f"1 to {most}", rule)
    if one.body.get("save_only_model"):
        rule = "a run goes on with the state of its optimizer"
        yield absent("FTJ005", one.place("save_only_model"), "save_only_model", True, False, rule)


def _resumed(job: TuningJob) -> Iterator[Finding]:
    """A job that starts again goes on from its last checkpoint, on storage that every host sees."""
    text = job.papers.text(job.file)
    # A program says itself where it goes on from.
    program = BRIDGE in job.settings
    if not program and (_AGAIN.search(text) is None or '"${again[@]}"' not in text):
        expected = "resume_from_checkpoint, where there is a checkpoint"
        yield absent("FTJ005", job.file, "what is resumed", None, expected, "a failed host ends no run")
    match = _DEFAULT.search(text)
    said: Said = {} if job.file == SCRIPT else assigned(job.papers, _ENVIRONMENT)
    if match is not None:
        said = {"CHECKPOINT_PATH": (text.count("\n", 0, match.start()) + 1, match[1])}
    file = job.file if match is not None else _ENVIRONMENT
    number, value = said.get("CHECKPOINT_PATH", (1, SHARED_FOLDER))
    if not value.startswith(SHARED_FOLDER):
        rule = "every host writes its part, and a restart on other hosts reads it"
        expected = f"a folder of {SHARED_FOLDER}"
        yield absent("FTJ005", f"{file}:{number}", "CHECKPOINT_PATH", value, expected, rule)


def _answers(job: TuningJob) -> Iterator[Finding]:
    """Answers that the run generates are as many and as long as planned, by an engine with its share of the memory."""
    one, work = job.settings.get(TRL), job.work
    rollouts, size = work.rollouts, job.option.performance.rollouts
    if one is None:
        return
    if rollouts is None or size is None:
        if one.body.get("use_vllm"):
            yield absent("FTJ006", one.place("use_vllm"), "use_vllm", True, False, "the run generates no answers")
        return
    layout, has, memory = job.option.performance.layout, "the workload has it", "the plan's memory counts on it"
    wanted: dict[str, tuple[object, str]] = {
        "max_completion_length": (int(rollouts.longest_answer_tokens), has),
        "num_generations": (rollouts.answers, has),
        "num_iterations": (rollouts.updates, has),
        "steps_per_generation": (layout.accumulation, "one generated batch holds the answers of an update"),
        "use_vllm": (True, "the plan's time counts on it"),
        "vllm_mode": ("colocate", "accelerators that train generate"),
        "vllm_tensor_parallel_size": (layout.generation_tensor, memory),
    }
    usual: dict[str, object] = {"num_iterations": 1, "vllm_tensor_parallel_size": 1}
    yield from compared(one, "FTJ006", wanted, absent_is=usual)
    penalty = one.body.get("beta", 0.0)
    if not isinstance(penalty, int | float) or (penalty > 0) != rollouts.reference:
        expected = "above 0" if rollouts.reference else "0"
        rule = "a reference is in the memory exactly where leaving it is penalised"
        yield absent("FTJ006", one.place("beta"), "beta", penalty, expected, rule)
    key, share = "vllm_gpu_memory_utilization", size.memory_share
    said = one.body.get(key)
    if not isinstance(said, int | float) or not share - 1e-9 <= said <= share + _SHARE_SLACK:
        yield absent("FTJ006", one.place(key), key, said, f"{share:.3f} to {share + _SHARE_SLACK:.3f}", memory)
    key = "vllm_max_model_length"
    longest = one.body.get(key)
    if not isinstance(longest, int) or longest != work.sequence_length:
        rule = "prompt and answer are one sequence"
        yield absent("FTJ006", one.place(key), key, longest, work.sequence_length, rule)


_RULES = (
    _processes,
    _program,
    _started,
    _sharding,
    _batch,
    *megatron_bridge.RULES,
    _workload,
    _model,
    _adapters,
    _checkpoints,
    _resumed,
    _answers,
)
_IN_SLURM, _IN_KUBERNETES = (_nodes,), (_pods, _submitted)
