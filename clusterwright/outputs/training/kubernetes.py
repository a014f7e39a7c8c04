"""The training job for Kubernetes, of a cloud's project and on premises: nodes, GPUs and fabric of the plan.

On a cloud it is the all-reduce of `examples/` at the size of the plan: what a pod needs of its fabric is there, and
is written once. Image, data and what follows come from the ConfigMap that `submit.sh` makes; without it no pod starts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ruamel.yaml.scalarstring import LiteralScalarString

from clusterwright.catalog.records import Catalogue
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.kubernetes.cluster import NAMESPACE, QUEUE, KubernetesCluster
from clusterwright.outputs.kubernetes.example import ShapedJob, shaped_job, shaped_text
from clusterwright.outputs.kubernetes.jobs import job_service, torch_job
from clusterwright.outputs.launch.adapters import fabric_of
from clusterwright.outputs.launch.fabric import settings_for, shell_lines
from clusterwright.outputs.templates import render
from clusterwright.outputs.training.job_settings import (
    HOLDS,
    MEGATRON_COMMIT,
    MEGATRON_IMAGE,
    MEGATRON_RELEASE,
    MEGATRON_SOURCE,
    SHARED,
)
from clusterwright.outputs.training.megatron import argument_groups
from clusterwright.outputs.training.megatron_layout import uses_fsdp
from clusterwright.outputs.training.slurm import (
    has_job,
    launch_files,
    max_restarts,
    nodes_of_job,
    retention_text,
    software_note,
)
from clusterwright.outputs.training.worker import (
    UNSET_IMAGE,
    failure_policy,
    settings_of,
    submit_texts,
    worker_command,
)
from clusterwright.plan.record import Option
from clusterwright.plan.text.training import layout_text
from clusterwright.plan.training.record import TrainingOption, TrainingPlan

_PORT = 29400


def kubernetes_launch_files(
    plan: TrainingPlan, option: TrainingOption, catalogue: Catalogue, all_reduce: str
) -> dict[str, File]:
    """Return the `launch` folder of a Kubernetes project; a README alone where Megatron-LM does not run the plan.

    Args:
        plan: for the model and the run.
        option: a cloud's, with Kubernetes.
        catalogue: for the fabric.
        all_reduce: manifest of the example job, shaped for the instance type.
    """
    if not has_job(plan, option, catalogue):
        return {"README.md": launch_files(plan, option, catalogue)["README.md"]}
    jobs = plan.cluster.jobs
    page = render(
        "launch",
        "README_kubernetes.md.j2",
        job_name=plan.name,
        layout=layout_text(option.performance.layout),
        software_note=software_note(plan),
        nodes=nodes_of_job(option)[1],
        holds=HOLDS,
        shared=SHARED,
        megatron=jobs.megatron,
        release=MEGATRON_RELEASE,
        image=MEGATRON_IMAGE,
        source=MEGATRON_SOURCE,
        commit=MEGATRON_COMMIT,
        namespace=NAMESPACE,
        retention=retention_text(option),
    )
    submits = submit_texts(
        plan, namespace=NAMESPACE, queue=QUEUE, manifest="train.yaml", queue_file="examples/queue.yaml"
    )
    return {
        "train.yaml": text(train_manifest(plan, option, catalogue, all_reduce)),
        **{name: replace(text(content), executable=name.endswith(".sh")) for name, content in submits.items()},
        "README.md": text(page),
    }


def train_manifest(plan: TrainingPlan, option: TrainingOption, catalogue: Catalogue, all_reduce: str) -> str:
    """Return the job and the service by which its pods find each other; see `kubernetes_launch_files` for arguments."""
    performance = option.performance
    fewest, most, _ = nodes_of_job(option)
    name, restarts = plan.name, max_restarts(option)
    shaped = shaped_job(all_reduce, name, pods=most, restarts=restarts)
    shaped.job["spec"]["podFailurePolicy"] = failure_policy()
    worker = shaped.worker
    worker["image"] = UNSET_IMAGE
    worker["command"] = [
        LiteralScalarString(word) if "\n" in word else word for word in _command(plan, option, catalogue, shaped)
    ]
    worker["args"] = [
        f"--nnodes={fewest}:{most}" if fewest < most else f"--nnodes={most}",
        f"--nproc-per-node={option.cluster.gpus_per_node}",
        f"--max-restarts={restarts}",
        f"--rdzv-id={name}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={name}-0.{name}:{_PORT}",
        f"{plan.cluster.jobs.megatron}/pretrain_gpt.py",
        *_words(plan, option),
    ]
    if not uses_fsdp(performance.layout):
        # Tensor-parallel communication has to be queued before the computation that hides it.
        worker["env"].append({"name": "CUDA_DEVICE_MAX_CONNECTIONS", "value": "1"})
    worker["envFrom"] = settings_of(plan)
    body = shaped_text([shaped.service, shaped.job])
    return (
        f"# {plan.workload.model_name} on {most} x {option.cluster.instance}: {layout_text(performance.layout)}.\n"
        f"# submit.sh sets image and data, and applies this; {UNSET_IMAGE} is no image.\n{body}"
    )


def _words(plan: TrainingPlan, option: TrainingOption) -> Iterable[str]:
    for group in argument_groups(plan, option, plan.workload.architecture):
        for line in group.lines:
            yield from line
    checkpoints = plan.cluster.jobs.checkpoints
    yield from ("--save", checkpoints, "--load", checkpoints, "--split", "99,1,0", "--eval-iters", "0")


def _command(plan: TrainingPlan, option: TrainingOption, catalogue: Catalogue, shaped: ShapedJob) -> list[str]:
    """Return what starts torchrun: with the lines of the fabric's vendor that the all-reduce has, too."""
    return worker_command(
        plan, option, before=shaped.before, fabric_lines=portable_lines(option, catalogue, shaped.worker)
    )


def portable_lines(option: Option, catalogue: Catalogue, worker: Mapping[str, Any]) -> list[str]:
    """Return the settings of the fabric that hold in a pod as on the node: interfaces and folders have other names."""
    set_there = {one["name"] for one in worker["env"]}
    rows = settings_for(fabric=fabric_of(option, catalogue), target=option.target, instance=option.cluster.instance)
    return shell_lines([row for row in rows if (row.fabric, row.name) in _PORTABLE and row.name not in set_there])


#: Fabrics and variables of `nccl.csv` that hold in a pod as on the node itself.
_PORTABLE = (
    ("infiniband", "NCCL_NET"),
    ("infiniband", "CUDA_DEVICE_ORDER"),
    ("efa", "FI_EFA_USE_HUGE_PAGE"),
)


def train_job(plan: TrainingPlan, option: TrainingOption, cluster: KubernetesCluster) -> list[dict[str, Any]]:
    """Return the plan's job on premises: the arguments of `launch/train.sbatch`, on as many nodes.

    `submit.sh` adds image and data.

    Args:
        plan: for the model and the run.
        option: on premises: its layout.
        cluster: for requests.
    """
    words = [
        word
        for group in argument_groups(plan, option, plan.workload.architecture)
        for line in group.lines
        for word in (["=".join(line)] if len(line) == 2 else line)  # noqa: PLR2004 - a name and its value
    ]
    checkpoints = plan.cluster.jobs.checkpoints
    arguments = [
        f"{plan.cluster.jobs.megatron}/pretrain_gpt.py",
        *words,
        *(f"--save={checkpoints}", f"--load={checkpoints}", "--split=99,1,0", "--eval-iters=0"),
    ]
    name = plan.name
    job = torch_job(
        cluster,
        name,
        nodes=nodes_of_job(option)[1],
        arguments=arguments,
        debug="WARN",
        restarts=max_restarts(option),
        environment={"CUDA_DEVICE_MAX_CONNECTIONS": "1"},
    )
    job["spec"]["podFailurePolicy"] = failure_policy()
    worker = job["spec"]["template"]["spec"]["containers"][0]
    worker |= {
        "image": UNSET_IMAGE,
        "command": [LiteralScalarString(word) if "\n" in word else word for word in worker_command(plan, option)],
        "envFrom": settings_of(plan),
    }
    return [job_service(name), job]
