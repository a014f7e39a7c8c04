"""What every training job of Kubernetes has: the script of its pods, its settings, and which ends are final."""

from collections.abc import Sequence
from typing import Any, Final

from clusterwright import assets
from clusterwright.outputs.templates import render
from clusterwright.outputs.training.job_settings import HOLDS, MEGATRON_COMMIT, MEGATRON_SOURCE, job_env
from clusterwright.outputs.training.slurm import milestone_steps
from clusterwright.plan.record import Plan
from clusterwright.plan.training.record import TrainingOption

#: Placeholder where `submit.sh` puts the image; no registry has it, since names are in lower case.
UNSET_IMAGE: Final = "IMAGE-IS-NOT-SET"
#: Ends of a pod that no restart mends: wrong settings, and an image without torchrun or Megatron-LM.
BAD_SETTINGS: Final = 2
NO_COMMAND: Final = 127
#: How long pods wait for the one that fetches Megatron-LM; an assumption. A shallow fetch is of tens of megabytes.
_FETCH_PATIENCE_S: Final = 900


def worker_command(
    plan: Plan, option: TrainingOption, *, before: Sequence[str] = (), fabric_lines: Sequence[str] = ()
) -> list[str]:
    """Return the command of a pod: its checks of image and data, and torchrun with the pod's arguments.

    Args:
        plan: for Megatron-LM's folder and the vocabulary.
        option: for the checkpoints that storage is sized for.
        before: shell of the fabric's vendor.
        fabric_lines: assignments for NCCL.
    """
    steps = milestone_steps(option)
    script = render(
        "launch",
        "worker_kubernetes.sh.j2",
        before=before,
        fabric_lines=fabric_lines,
        holds=HOLDS,
        megatron=plan.cluster.jobs.megatron,
        fetch=_script("fetch_megatron.sh"),
        source=MEGATRON_SOURCE,
        commit=MEGATRON_COMMIT,
        patience_s=_FETCH_PATIENCE_S,
        retain=_script("retain_checkpoints.sh"),
        checkpoints=plan.cluster.jobs.checkpoints,
        keep=option.design.storage.checkpoints_kept,
        milestone_steps=steps,
        milestone_words=f" and one every {steps:,} steps" if steps else "",
        vocab=plan.workload.architecture.vocab,
        bad_settings=BAD_SETTINGS,
        no_command=NO_COMMAND,
    )
    return ["bash", "-c", script.rstrip("\n") + "\n", "worker"]


def _script(name: str) -> str:
    """Return the text of a shell script that Slurm's jobs run from their folder; pods have no such folder."""
    return (assets.root() / "templates" / "launch" / name).read_text(encoding="utf-8").rstrip("\n")


def settings_of(plan: Plan) -> list[dict[str, Any]]:
    """Return where a pod gets data, tokenizer and further arguments; none starts before `submit.sh` made it."""
    return [{"configMapRef": {"name": f"{plan.name}-settings"}}]


def failure_policy() -> dict[str, Any]:
    """Return which ends of pods end the job, and which count as no failure."""
    final = {"containerName": "worker", "operator": "In", "values": [BAD_SETTINGS, NO_COMMAND]}
    return {
        "rules": [
            {"action": "FailJob", "onExitCodes": final},
            # A node that is taken away or drained is no failure of the job's.
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        ]
    }


def submit_texts(plan: Plan, *, namespace: str, queue: str, manifest: str, queue_file: str) -> dict[str, str]:
    """Return `submit.sh` with what it reads from the folder that it is in.

    Args:
        plan: for the values of the blueprint.
        namespace: of the job.
        queue: that admits it.
        manifest: path of the job's manifest from there.
        queue_file: manifest of the queue, as a user of the project names it.
    """
    values = {
        "JOB_NAMESPACE": namespace,
        "JOB_QUEUE": queue,
        "JOB_MANIFEST": manifest,
        "QUEUE_MANIFEST": queue_file,
        "UNSET_IMAGE": UNSET_IMAGE,
    }
    return {
        "submit.sh": _script("submit_kubernetes.sh"),
        "job_options.sh": _script("job_options.sh"),
        "job.env": "\n".join([job_env(plan), *(f"{name}={value}" for name, value in values.items())]),
    }
