"""The files that start a plan's job: a Slurm script for Megatron-LM, and configurations for DeepSpeed and FSDP."""

import math
import shlex

from clusterwright import assets
from clusterwright.catalog.records import Catalogue, Model
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.launch.adapters import ADAPTERS, adapters, fabric_of, hosts_per_node
from clusterwright.outputs.launch.example_job import pod_of
from clusterwright.outputs.launch.fabric import Setting, container_mounts, settings_for, shell_lines
from clusterwright.outputs.launch.software import image_words
from clusterwright.outputs.templates import render
from clusterwright.outputs.training.job_settings import (
    HOLDS,
    MEGATRON_IMAGE,
    MEGATRON_RELEASE,
    SHARED,
    job_defaults,
    job_env,
    launch_folder,
)
from clusterwright.outputs.training.megatron import ArgumentGroup, argument_groups, no_megatron, save_interval_steps
from clusterwright.outputs.training.megatron_layout import uses_fsdp
from clusterwright.outputs.training.sharded import (
    accelerate_config,
    deepspeed_config,
    json_text,
    no_deepspeed,
    no_fsdp,
    yaml_text,
)
from clusterwright.plan.text.training import layout_text
from clusterwright.plan.text.words import on_target
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from clusterwright.units import SECONDS_PER_DAY, counted

#: Interruptions in a run are random; this many times their mean, and at least as many as below, are restarted from.
_RESTART_MARGIN = 3
_LEAST_RESTARTS = 20
#: The same for every job; what differs is in `job.env` and the script itself.
_SCRIPTS = ("submit.sh", "job_options.sh", "fetch_megatron.sh", "retain_checkpoints.sh")
#: What Google's fabrics ask of a node's own image; `templates/node/transport_gcp.sh` looks for it at boot.
_NODE_IMAGES = {
    "tcpx": "the kernel linux-gcp-tcpx, NVIDIA's driver, and the receive queues of each GPU in "
    "`/opt/tcpdirect_benchmark/gpu_rxq_configuration.textproto`, as Google's recipe for a3-highgpu-8g builds it",
    "tcpxo": "NVIDIA's driver, and the kernel module import-helper (package dmabuf-import-helper)",
}
_MOUNTED_BUCKET = (
    "The bucket is the folder `/bucket` on login machine and nodes, in containers too. Copy data sets to "
    f"`{SHARED}` before training and checkpoints back after it; every user may read and write all of it."
)
#: How jobs read and write the bucket of a cloud, without credentials of their own.
_BUCKETS = {
    "aws": f"The bucket needs no credentials: what is put into its `datasets/` appears in `{SHARED}/datasets`, and "
    f"checkpoints in `{SHARED}/checkpoints` are copied to it.",
    "azure": _MOUNTED_BUCKET,
    "gcp": _MOUNTED_BUCKET,
}
#: Which transport NCCL has to use.
_TRANSPORT = "NCCL_NET"


def launch_files(plan: TrainingPlan, option: TrainingOption, catalogue: Catalogue) -> dict[str, File]:
    """Return the files of one target's `launch` folder.

    Only a README with the reason where the accelerator is not one that Megatron-LM drives with NCCL, or where none of
    the stacks can express the plan.

    Args:
        plan: for names, the model's dimensions, batch and precision.
        option: the target.
        catalogue: for the fabric and Slurm's name of the accelerator.
    """
    model = plan.workload.architecture
    chip = catalogue.accelerators[option.cluster.accelerator]
    if chip.vendor != "NVIDIA":
        reason = f"{chip.name} needs its vendor's own build of the training software"
        environment = _environment(option, catalogue)
        hint = "; `environment.sh` has what its jobs export on this fabric" if environment else ""
        return _only_readme(plan, f"{reason}{hint}") | environment
    missing = {
        "train.sbatch": no_megatron(plan, option),
        "deepspeed.json": no_deepspeed(plan, option),
        "accelerate_fsdp.yaml": no_fsdp(plan, option),
    }
    if all(missing.values()):
        return _only_readme(plan, "; ".join(f"`{name}`: {reason}" for name, reason in missing.items()))
    files = {}
    if not missing["train.sbatch"]:
        script = _sbatch(plan, option, model, catalogue, gres_type=chip.gres_type)
        files["train.sbatch"] = File(content=script.encode(), executable=True)
        files["job.env"] = text(job_env(plan))
        for name in _SCRIPTS:
            path = assets.root() / "templates" / "launch" / name
            files[name] = File(content=path.read_bytes(), executable=True)
    if not missing["deepspeed.json"]:
        files["deepspeed.json"] = text(json_text(deepspeed_config(plan, option)))
    if not missing["accelerate_fsdp.yaml"]:
        files["accelerate_fsdp.yaml"] = text(yaml_text(accelerate_config(plan, option)))
    files["README.md"] = text(_readme(plan, option, catalogue, missing=missing))
    return files


def has_job(plan: TrainingPlan, option: TrainingOption, catalogue: Catalogue) -> bool:
    """Return whether a target's training job is written: Megatron-LM runs the plan on its accelerator."""
    return catalogue.accelerators[option.cluster.accelerator].vendor == "NVIDIA" and not no_megatron(plan, option)


def _only_readme(plan: TrainingPlan, reason: str) -> dict[str, File]:
    return {"README.md": text(f"# Launching {plan.name}\n\nNo launch files are written: {reason}.\n")}


def _environment(option: TrainingOption, catalogue: Catalogue) -> dict[str, File]:
    """Return what a job of a vendor's own software exports on a cloud's fabric; nothing where nobody knows."""
    instance = catalogue.instances.get(option.cluster.instance)
    pod = pod_of(instance) if instance is not None else None
    if instance is None or pod is None:
        return {}
    exports = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in pod["environment"].items())
    said = f"# What jobs on {instance.id} export for {instance.fabric_kind} with {instance.vendor_software}."
    return {"environment.sh": text(f"# shellcheck shell=sh\n{said}\n{exports}")}


def nodes_of_job(option: TrainingOption) -> tuple[int, int, int]:
    """Return (fewest hosts that torchrun starts with, most that train, hosts that Slurm allocates)."""
    hosts, most = hosts_per_node(option), option.training_nodes
    return (option.performance.failures.elastic_nodes or most) * hosts, most * hosts, option.cluster.work_nodes * hosts


def max_restarts(option: TrainingOption) -> int:
    """Return how many interruptions torchrun restarts from: three times the mean number in a run, at least 20."""
    performance = option.performance
    expected = performance.calendar_days * SECONDS_PER_DAY / performance.failures.mean_time_between_interruptions_s
    return max(_LEAST_RESTARTS, math.ceil(_RESTART_MARGIN * expected))


def milestone_steps(option: TrainingOption) -> int:
    """Return optimizer steps between checkpoints that are kept for good, whole save intervals; 0 for none."""
    performance = option.performance
    every_s = option.design.storage.milestone_every_s
    if every_s is None:
        return 0
    interval = save_interval_steps(option)
    steps = every_s * performance.goodput / performance.step.total_s
    # Rounded up, so that there are not more of them than storage was sized for.
    return math.ceil(steps / interval) * interval


def retention_text(option: TrainingOption) -> str:
    """Return which checkpoints stay, as part of a sentence with its end."""
    steps = milestone_steps(option)
    return f"{option.design.storage.checkpoints_kept} are kept" + (
        f", and one every {steps:,} steps for good." if steps else "."
    )


def _variable(group: ArgumentGroup) -> str:
    return group.title.split()[0]


def _sbatch(plan: TrainingPlan, option: TrainingOption, model: Model, catalogue: Catalogue, *, gres_type: str) -> str:
    performance = option.performance
    fewest, most, allocated = nodes_of_job(option)
    fabric = fabric_of(option, catalogue)
    rows = _settings(option, catalogue)
    steps = milestone_steps(option)
    return render(
        "launch",
        "train.sbatch.j2",
        title=(
            f"{plan.workload.model_name} on {option.cluster.work_nodes} x {option.cluster.instance}: "
            f"{layout_text(performance.layout)}"
        ),
        job_name=plan.name,
        partition=plan.cluster.partition,
        nodes=f"{fewest}-{allocated}" if fewest < allocated else str(allocated),
        gres=f"gpu:{gres_type}:{option.cluster.gpus_per_node // hosts_per_node(option)}",
        keeps_running=fewest < allocated,
        shared=SHARED,
        launch=launch_folder(plan),
        defaults=job_defaults(plan),
        mounts=container_mounts(rows, shared=SHARED),
        holds=HOLDS,
        fabric=fabric,
        fabric_lines=shell_lines(rows),
        adapters=None if allocated == 1 or any(row.name == ADAPTERS for row in rows) else adapters(option, catalogue),
        # Megatron's FSDP wants more than one queue; everything else that overlaps tensor parallelism wants one.
        one_connection=not uses_fsdp(performance.layout),
        vocab=model.vocab,
        groups=[
            {"title": group.title, "variable": _variable(group), "lines": group.quoted()}
            for group in argument_groups(plan, option, model)
        ],
        keep=option.design.storage.checkpoints_kept,
        milestone_steps=steps,
        milestone_words=f" and one every {steps:,} steps" if steps else "",
        nnodes=f"{fewest}:{most}" if fewest < most else str(most),
        nnodes_words=_node_words(option),
        gpus_per_node=option.cluster.gpus_per_node // hosts_per_node(option),
        max_restarts=max_restarts(option),
    )


def _settings(option: TrainingOption, catalogue: Catalogue) -> tuple[Setting, ...]:
    """Return what the job sets for its fabric."""
    rows = settings_for(fabric=fabric_of(option, catalogue), target=option.target, instance=option.cluster.instance)
    if nodes_of_job(option)[2] > 1:
        return rows
    # GPUs of one node talk over its links: the job does not need the fabric, and starts without it.
    return tuple(row for row in rows if row.name != _TRANSPORT)


def _node_words(option: TrainingOption) -> str:
    fewest, most, allocated = nodes_of_job(option)
    words = f"{counted(most, 'node')} train{'s' if most == 1 else ''}"
    if allocated > most:
        words += f"; {allocated - most} more for the rendezvous to take where one fails"
    if option.performance.failures.elastic and fewest == most:
        words += "; the job is not elastic, because fewer replicas do not divide its batch or do not fit into memory"
    if fewest < most:
        words += f"; with fewer, down to {fewest}, the job goes on with fewer replicas and the same global batch"
    return words


def _readme(plan: TrainingPlan, option: TrainingOption, catalogue: Catalogue, *, missing: dict[str, str]) -> str:
    performance = option.performance
    model = plan.workload.architecture
    fabric = fabric_of(option, catalogue)
    layout, failures = performance.layout, performance.failures
    whats = {
        "train.sbatch": "the whole job with torchrun and Megatron-LM",
        "deepspeed.json": "the same layout for DeepSpeed; optimizer by the training script",
        "accelerate_fsdp.yaml": "the same layout for PyTorch's FSDP 2 through Accelerate",
    }
    script = not missing["train.sbatch"]
    files = [_file(name, missing[name], what) for name, what in whats.items()]
    if script:
        files[1:1] = [
            ("`submit.sh`", "copies this folder to the cluster, checks what the job needs, and submits it"),
            ("`job_options.sh`", "what `submit.sh` reads, asks and checks on Kubernetes, too"),
            ("`fetch_megatron.sh`", "started by `submit.sh --get-megatron`: fetches Megatron-LM by its commit"),
            ("`job.env`", "the values that job and `submit.sh` start from; options of `submit.sh` win"),
            ("`retain_checkpoints.sh`", "started by the job: keeps the checkpoints that storage is sized for"),
        ]
    per_step = f"{layout.micro_batch} × {layout.dp} × {layout.micro_batches} = {plan.workload.global_batch_sequences}"
    saved = {"memory": "behind training (in-memory copies are not a feature of Megatron-LM)"}.get(
        failures.strategy,
        "behind training (changes alone are not a feature of Megatron-LM)"
        if failures.strategy == "incremental"
        else f"strategy {failures.strategy}",
    )
    return render(
        "launch",
        "README.md.j2",
        job_name=plan.name,
        where=on_target(option.target),
        layout=layout_text(layout),
        software_note=software_note(plan) if script else "",
        batch=f"micro-batch × replicas × micro-batches = {per_step} sequences",
        elastic=f"{_node_words(option)}.",
        command=_submit_command(option) if script else "",
        job=plan.cluster.jobs,
        holds=HOLDS,
        launch=launch_folder(plan),
        shared=SHARED,
        release=MEGATRON_RELEASE,
        image=MEGATRON_IMAGE,
        efa=fabric == "efa",
        bucket=_BUCKETS.get(option.target, ""),
        image_words=image_words(plan.software_of(option.target)),
        node_image=_NODE_IMAGES.get(fabric, ""),
        adapters=adapters(option, catalogue),
        files=files,
        checkpoints=(
            f"A checkpoint every {save_interval_steps(option):,} steps "
            f"({failures.checkpoint_interval_s / 60:.0f} min), {saved}; {retention_text(option)}"
            + (" Not in the arguments: the model's sliding window of attention." if model.sliding_window else "")
        ),
        settings=_settings(option, catalogue),
    )


def software_note(plan: TrainingPlan) -> str:
    """Return that the plan counts with other software than the job starts; empty where it names Megatron-LM or none."""
    named = plan.workload.framework
    if not named or "megatron" in named.lower():
        return ""
    return (
        f"The plan counts with {named}; the job starts Megatron-LM, whose memory and speed are its own. Set "
        "`workload.framework: Megatron-LM` to plan with these, or start the layout above with your own files."
    )


def _submit_command(option: TrainingOption) -> str:
    """Return what submits the job, from the machine that holds the project or the documents."""
    example = "--image registry.example.com/team/megatron:1.0 --get-megatron"
    if option.design.facility is None:
        return f"./cluster.sh submit --user NAME {example}"
    return f"launch/submit.sh --host you@login {example}"


def _file(name: str, why_not: str, what: str) -> tuple[str, str]:
    return (f"no `{name}`", why_not) if why_not else (f"`{name}`", what)
