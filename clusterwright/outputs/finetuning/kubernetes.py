"""The fine-tuning job for Kubernetes: the command of Slurm's script in pods of whole nodes, on clouds and on premises.

Image, model, data and learning rate come from the ConfigMap that `submit.sh` makes; without it no pod starts.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ruamel.yaml.scalarstring import LiteralScalarString

from clusterwright import assets
from clusterwright.blueprint.workloads.finetuning import REWARDS
from clusterwright.catalog.records import Catalogue
from clusterwright.outputs.finetuning.launcher import Launcher, generates
from clusterwright.outputs.kubernetes.cluster import NAMESPACE, QUEUE, KubernetesCluster
from clusterwright.outputs.kubernetes.example import shaped_job, shaped_text
from clusterwright.outputs.kubernetes.jobs import documents_text, job_service, torch_job
from clusterwright.outputs.launch.adapters import hosts_per_node
from clusterwright.outputs.templates import render
from clusterwright.outputs.training.job_settings import SHARED
from clusterwright.outputs.training.kubernetes import portable_lines
from clusterwright.outputs.training.worker import BAD_SETTINGS, NO_COMMAND, UNSET_IMAGE, failure_policy, settings_of
from clusterwright.plan.finetuning.record import FinetuningOption, FinetuningPlan

MANIFEST: Final = "finetune.yaml"
_FOLDER: Final = "/launch/"
#: Starts of a pod after the first; an assumption. Each goes on from the last checkpoint.
_RESTARTS: Final = 3


def cloud_manifest(
    plan: FinetuningPlan,
    option: FinetuningOption,
    catalogue: Catalogue,
    *,
    all_reduce: str,
    launcher: Launcher,
) -> str:
    """Return the job of a cloud's project, with its files and the service by which its pods find each other.

    Args:
        plan: for the names.
        option: a cloud's, with Kubernetes.
        catalogue: for the fabric.
        all_reduce: manifest of the example job, shaped for the instance type.
        launcher: what starts the processes.
    """
    pods = option.training_nodes
    shaped = shaped_job(all_reduce, plan.name, pods=pods, restarts=_RESTARTS)
    lines = portable_lines(option, catalogue, shaped.worker) if pods > 1 else []
    command = _command(before=shaped.before, fabric_lines=lines, launcher=launcher)
    _finish(plan, shaped.job, command)
    return shaped_text([_files(plan, launcher.files), shaped.service, shaped.job])


def cluster_manifest(
    plan: FinetuningPlan,
    option: FinetuningOption,
    cluster: KubernetesCluster,
    *,
    launcher: Launcher,
) -> str:
    """Return the job on premises; see `cloud_manifest` for arguments."""
    pods = option.training_nodes * hosts_per_node(option)
    job = torch_job(cluster, plan.name, nodes=pods, arguments=[], debug="WARN", restarts=_RESTARTS)
    _finish(plan, job, _command(before=(), fabric_lines=(), launcher=launcher))
    return documents_text([_files(plan, launcher.files), job_service(plan.name), job])


def _command(*, before: Sequence[str], fabric_lines: Sequence[str], launcher: Launcher) -> list[str]:
    text = render(
        "launch",
        "finetune_pod.sh.j2",
        before=before,
        fabric_lines=fabric_lines,
        program=launcher.program,
        holds=launcher.holds,
        no_command=NO_COMMAND,
        bad_settings=BAD_SETTINGS,
        files_at=_FOLDER,
        rank="JOB_COMPLETION_INDEX",
        **launcher.words,
    )
    return ["bash", "-c", LiteralScalarString(text), "worker"]


def _finish(plan: FinetuningPlan, job: dict[str, Any], command: list[str]) -> None:
    """Put program, settings and files of the run into a job."""
    job["spec"]["podFailurePolicy"] = failure_policy()
    pod = job["spec"]["template"]["spec"]
    worker = pod["containers"][0]
    token = {"name": "model-access", "key": "token", "optional": True}
    worker |= {"image": UNSET_IMAGE, "command": command, "envFrom": settings_of(plan)}
    worker.pop("args", None)
    worker["env"] += [
        {"name": "MAIN_HOST", "value": f"{plan.name}-0.{plan.name}"},
        # Of Hugging Face, where model or data need one: by reference, never here.
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": token}},
    ]
    worker["volumeMounts"].append({"name": "launch", "mountPath": _FOLDER.rstrip("/"), "readOnly": True})
    pod["volumes"].append({"name": "launch", "configMap": {"name": f"{plan.name}-launch"}})


def _files(plan: FinetuningPlan, files: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{plan.name}-launch", "namespace": NAMESPACE},
        "data": {name: LiteralScalarString(text) for name, text in files.items()},
    }


def submit_texts(plan: FinetuningPlan, *, queue_file: str, holds: str) -> dict[str, str]:
    """Return `submit.sh` with what it reads.

    Args:
        plan: for the values of the blueprint.
        queue_file: manifest of the queue, as a user of the project names it.
        holds: what an image needs.
    """
    jobs = plan.cluster.jobs
    values = {
        "JOB_NAME": plan.name,
        "JOB_NAMESPACE": NAMESPACE,
        "JOB_QUEUE": QUEUE,
        "JOB_MANIFEST": MANIFEST,
        "QUEUE_MANIFEST": queue_file,
        "JOB_HOLDS": holds,
        "UNSET_IMAGE": UNSET_IMAGE,
        "CONTAINER_IMAGE": jobs.image,
        "MODEL_PATH": f"{SHARED}/models/{plan.workload.model}",
        "DATA_PATH": jobs.data,
        "CHECKPOINT_PATH": jobs.checkpoints,
        "LEARNING_RATE": "" if jobs.learning_rate is None else f"{jobs.learning_rate:g}",
    }
    if generates(plan):
        values |= {"JOB_REWARDED": "yes", "REWARD_PATTERN": REWARDS, "REWARD": plan.workload.reward}
    head = "# shellcheck shell=bash disable=SC2034\n# What submit.sh starts from, as the plan has it; its options win."
    script = (assets.root() / "templates" / "launch" / "submit_finetune.sh").read_text(encoding="utf-8")
    return {
        "submit.sh": script.rstrip("\n"),
        "job.env": "\n".join((head, *(f"{name}={shlex.quote(str(value))}" for name, value in values.items()))),
    }
