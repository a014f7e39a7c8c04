"""The job that trains as a task of SkyPilot: Megatron-LM started on all nodes, and what only the user knows."""

from clusterwright.catalog.records import Catalogue
from clusterwright.outputs.kind import Task
from clusterwright.outputs.launch.adapters import fabric_of
from clusterwright.outputs.launch.fabric import settings_for, shell_lines
from clusterwright.outputs.templates import render
from clusterwright.outputs.training.job_settings import HOLDS, MEGATRON_RELEASE
from clusterwright.outputs.training.megatron import argument_groups, no_megatron
from clusterwright.outputs.training.megatron_layout import uses_fsdp
from clusterwright.outputs.training.slurm import max_restarts
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.training.record import TrainingOption, TrainingPlan, training_option, training_plan

#: `network_tier: best` starts their data path managers and sets NCCL's variables; ours belong to clusters whose nodes
#: start a manager for each job of Slurm.
_SET_UP_BY_SKYPILOT = ("tcpx", "tcpxo")


def task(plan: Plan, option: Option, catalogue: Catalogue) -> Task:
    """Return the task's command, which says why where Megatron-LM does not run the plan, and its variables."""
    trains, chosen = training_plan(plan), training_option(option)
    chip = catalogue.accelerators[option.cluster.accelerator]
    reason = (
        f"{chip.name} needs its vendor's own build of the training software"
        if chip.vendor != "NVIDIA"
        else no_megatron(trains, chosen)
    )
    learning_rate = plan.cluster.jobs.learning_rate
    return Task(
        command=(
            f'echo "no training command is written: {reason}" >&2\nexit 2\n'
            if reason
            else _run(trains, chosen, fabric=fabric_of(option, catalogue))
        ),
        environment={
            "MEGATRON_PATH": "~/Megatron-LM",
            "CHECKPOINT_PATH": f"~/checkpoints/{plan.name}",
            "DATA_PATH": "",
            "TOKENIZER_TYPE": "HuggingFaceTokenizer",
            "TOKENIZER_MODEL": "",
            "LEARNING_RATE": "" if learning_rate is None else f"{learning_rate:g}",
        },
        holds=HOLDS,
        sources=(f"MEGATRON_PATH (a checkout of {MEGATRON_RELEASE} on every node: put it into file_mounts or setup)",),
        to_set=(
            "DATA_PATH, TOKENIZER_MODEL and LEARNING_RATE",
            "CHECKPOINT_PATH on storage that all nodes share and that outlives them (volumes or file_mounts)",
        ),
    )


def _run(plan: TrainingPlan, option: TrainingOption, *, fabric: str) -> str:
    model = plan.workload.architecture
    rows = settings_for(fabric=fabric, target=option.target, instance=option.cluster.instance)
    return render(
        "launch",
        "skypilot_run.sh.j2",
        fabric=fabric,
        fabric_lines=[] if fabric in _SET_UP_BY_SKYPILOT else shell_lines(rows),
        one_connection=not uses_fsdp(option.performance.layout),
        vocab=model.vocab,
        groups=[
            {"title": group.title, "variable": group.title.split()[0], "lines": group.quoted()}
            for group in argument_groups(plan, option, model)
        ],
        gpus_per_node=option.cluster.gpus_per_node,
        max_restarts=max_restarts(option),
    )
