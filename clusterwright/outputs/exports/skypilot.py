"""The Plan as a SkyPilot task (docs.skypilot.co, task YAML): the nodes, and the command that trains on them."""

from typing import Any

from clusterwright.blueprint.jobs import SQUASH_FILE
from clusterwright.catalog.records import Catalogue
from clusterwright.facility.cloud_bill import NODE_DISK_GIB
from clusterwright.outputs.exports.document import Exported, literal
from clusterwright.outputs.launch.fabric import settings_for, shell_lines
from clusterwright.outputs.launch.files import fabric_of, max_restarts
from clusterwright.outputs.launch.job import HOLDS, MEGATRON_RELEASE
from clusterwright.outputs.launch.megatron import argument_groups, no_megatron
from clusterwright.outputs.launch.megatron_layout import uses_fsdp
from clusterwright.outputs.templates import render
from clusterwright.plan.record import TrainingOption, TrainingPlan

#: What an instance type is called where SkyPilot has its own name for it.
_TPU_PREFIX = "ct5p-hightpu-4t"
#: `network_tier: best` starts their data path managers and sets NCCL's variables; ours belong to clusters whose nodes
#: start a manager for each job of Slurm.
_SET_UP_BY_SKYPILOT = ("tcpx", "tcpxo")


def skypilot(plan: TrainingPlan, option: TrainingOption, catalogue: Catalogue) -> Exported:
    """Return the task: where it runs, on how many nodes, and Megatron-LM started on all of them.

    Args:
        plan: for the workload.
        option: on a cloud.
        catalogue: for the fabric of the instance type.
    """
    chip = catalogue.accelerators[option.accelerator]
    reason = (
        f"{chip.name} needs its vendor's own build of the training software"
        if chip.vendor != "NVIDIA"
        else no_megatron(plan, option)
    )
    fabric = fabric_of(option, catalogue)
    image, learning_rate = plan.cluster.jobs.image, plan.cluster.jobs.learning_rate
    infra = "/".join(part for part in (option.target, option.region, option.zone) if part)
    # SkyPilot has accelerators, not machine types, for TPUs.
    machine: dict[str, Any] = (
        {"accelerators": f"tpu-v5p-{2 * option.gpus}"}
        if option.instance == _TPU_PREFIX
        else {"instance_type": option.instance}
    )
    return Exported(
        document={
            "name": plan.name,
            "num_nodes": 1 if option.instance == _TPU_PREFIX else option.nodes,
            "resources": {
                "infra": infra,
                **machine,
                "use_spot": option.capacity == "spot",
                "disk_size": NODE_DISK_GIB,
                "disk_tier": "high",
                **({"network_tier": "best"} if fabric != "none" else {}),
                **({"image_id": f"docker:{image}"} if image and not image.endswith(SQUASH_FILE) else {}),
                "labels": dict((("workload", plan.name), *plan.cluster.tags)),
                **_stops(option),
            },
            "envs": {
                "MEGATRON_PATH": "~/Megatron-LM",
                "CHECKPOINT_PATH": f"~/checkpoints/{plan.name}",
                "DATA_PATH": "",
                "TOKENIZER_TYPE": "HuggingFaceTokenizer",
                "TOKENIZER_MODEL": "",
                "LEARNING_RATE": "" if learning_rate is None else f"{learning_rate:g}",
            },
            "run": literal(
                f'echo "no training command is written: {reason}" >&2\nexit 2\n'
                if reason
                else _run(plan, option, fabric=fabric)
            ),
        },
        to_set=[
            f"MEGATRON_PATH (a checkout of {MEGATRON_RELEASE} on every node: put it into file_mounts or setup)",
            *([] if image else [f"image_id: docker:IMAGE, with {HOLDS}"]),
            "DATA_PATH, TOKENIZER_MODEL and LEARNING_RATE",
            "CHECKPOINT_PATH on storage that all nodes share and that outlives them (volumes or file_mounts)",
        ],
        left_out=_left_out(option),
    )


def _stops(option: TrainingOption) -> dict[str, Any]:
    if option.stop_when_idle_minutes is None:
        return {}
    return {"autostop": {"idle_minutes": int(option.stop_when_idle_minutes), "down": True}}


def _run(plan: TrainingPlan, option: TrainingOption, *, fabric: str) -> str:
    model = plan.workload.architecture
    rows = settings_for(fabric=fabric, target=option.target, instance=option.instance)
    return render(
        "launch",
        "skypilot_run.sh.j2",
        fabric=fabric,
        fabric_lines=[] if fabric in _SET_UP_BY_SKYPILOT else shell_lines(rows),
        one_connection=not uses_fsdp(option.layout),
        vocab=model.vocab,
        groups=[
            {"title": group.title, "variable": group.title.split()[0], "lines": group.quoted()}
            for group in argument_groups(plan, option, model)
        ],
        gpus_per_node=option.gpus_per_node,
        max_restarts=max_restarts(option),
    )


def _left_out(option: TrainingOption) -> list[str]:
    reserved = [f"the reservation {option.reservation}: name it in SkyPilot's own configuration"]
    file_system = option.file_system
    size = f"{file_system.capacity_gib:,} GiB" if file_system else "unknown size"
    return [
        *(reserved if option.reservation else []),
        *(["flex-start: SkyPilot's own configuration asks for it"] if option.capacity == "flex-start" else []),
        f"the Lustre file system of {size}, and the network, keys, budget and alerts",
        *(["the end of the cluster after its time to live"] if option.time_to_live_hours else []),
    ]
