"""The Plan as a SkyPilot task (docs.skypilot.co, task YAML): the nodes, and the command that works on them."""

from typing import Any

from clusterwright.blueprint.sections.jobs import SQUASH_FILE
from clusterwright.catalog.records import Catalogue
from clusterwright.facility.cloud_bill import NODE_DISK_GIB
from clusterwright.outputs.exports.document import Exported, literal
from clusterwright.outputs.kinds import outputs_of
from clusterwright.outputs.launch.adapters import fabric_of
from clusterwright.plan.record import Option, Plan

#: What an instance type is called where SkyPilot has its own name for it.
_TPU_PREFIX = "ct5p-hightpu-4t"


def skypilot(plan: Plan, option: Option, catalogue: Catalogue) -> Exported:
    """Return the task: where it runs, on how many nodes, and the command of its kind on all of them.

    Args:
        plan: for the workload.
        option: on a cloud.
        catalogue: for the fabric of the instance type.
    """
    deployment = option.deployment
    task, fabric = outputs_of(plan).task(plan, option, catalogue), fabric_of(option, catalogue)
    image = plan.cluster.jobs.image
    infra = "/".join(part for part in (option.target, deployment.region, deployment.zone) if part)
    # SkyPilot has accelerators, not machine types, for TPUs.
    machine: dict[str, Any] = (
        {"accelerators": f"tpu-v5p-{2 * option.cluster.gpus}"}
        if option.cluster.instance == _TPU_PREFIX
        else {"instance_type": option.cluster.instance}
    )
    return Exported(
        document={
            "name": plan.name,
            "num_nodes": 1 if option.cluster.instance == _TPU_PREFIX else option.cluster.work_nodes,
            "resources": {
                "infra": infra,
                **machine,
                "use_spot": deployment.capacity == "spot",
                "disk_size": NODE_DISK_GIB,
                "disk_tier": "high",
                **({"network_tier": "best"} if fabric != "none" else {}),
                **({"image_id": f"docker:{image}"} if image and not image.endswith(SQUASH_FILE) else {}),
                "labels": dict((("workload", plan.name), *plan.cluster.tags)),
                **_stops(option),
            },
            **({"envs": dict(task.environment)} if task.environment else {}),
            "run": literal(task.command),
        },
        to_set=[
            *task.sources,
            *([] if image else [f"image_id: docker:IMAGE, with {task.holds}"]),
            *task.to_set,
        ],
        left_out=_left_out(option),
    )


def _stops(option: Option) -> dict[str, Any]:
    if option.deployment.stop_when_idle_minutes is None:
        return {}
    return {"autostop": {"idle_minutes": int(option.deployment.stop_when_idle_minutes), "down": True}}


def _left_out(option: Option) -> list[str]:
    deployment = option.deployment
    reserved = [f"the reservation {deployment.reservation}: name it in SkyPilot's own configuration"]
    file_system = option.design.file_system
    size = f"{file_system.capacity_gib:,} GiB" if file_system else "unknown size"
    return [
        *(reserved if deployment.reservation else []),
        *(["flex-start: SkyPilot's own configuration asks for it"] if deployment.capacity == "flex-start" else []),
        f"the Lustre file system of {size}, and the network, keys, budget and alerts",
        *(["the end of the cluster after its time to live"] if deployment.time_to_live_hours else []),
    ]
