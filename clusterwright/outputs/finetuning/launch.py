"""The files that start a fine-tuning run: what its software reads, and the job."""

from collections.abc import Mapping
from dataclasses import replace

from clusterwright.blueprint.workloads.finetuning import REWARDS
from clusterwright.catalog.records import Catalogue
from clusterwright.outputs.finetuning.launcher import (
    Launcher,
    bridges,
    example_rate,
    generates,
    launcher,
    no_job,
    oldest_trl,
    trl_files,
)
from clusterwright.outputs.finetuning.megatron_bridge import PROGRAM, SETTINGS
from clusterwright.outputs.finetuning.torchtune import no_torchtune
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.kind import ClusterJob, Start
from clusterwright.outputs.kubernetes.cluster import NAMESPACE, KubernetesCluster
from clusterwright.outputs.launch.adapters import fabric_of, hosts_per_node
from clusterwright.outputs.launch.fabric import container_mounts, settings_for, shell_lines
from clusterwright.outputs.templates import render
from clusterwright.outputs.training.job_settings import SHARED, launch_folder
from clusterwright.plan.finetuning.megatron_bridge import RELEASE, architecture_of, counts_with_megatron, no_bridge
from clusterwright.plan.finetuning.record import (
    FinetuningOption,
    FinetuningPlan,
    finetuning_option,
    finetuning_plan,
)
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.finetuning import layout_text
from clusterwright.plan.text.words import on_target
from clusterwright.sizing.finetuning.job import NONE

#: The manifest of the example job in a cloud's project with Kubernetes.
_EXAMPLE = "examples/all_reduce.yaml"
_QUEUE_FILE = "examples/queue.yaml"
#: What a user is shown where the blueprint names no reward.
_REWARD = "accuracy_reward"


def launch(plan: Plan, option: Option, catalogue: Catalogue, written: Mapping[str, File]) -> dict[str, File]:
    """Return the folder `launch` of a target, or a README with the reason why nothing starts the run.

    Args:
        plan: of a fine-tuning run.
        option: the target.
        catalogue: for the fabric.
        written: files of the target's folder: on a cloud's Kubernetes the example job, which has what pods need.
    """
    tuned, chosen = finetuning_plan(plan), finetuning_option(option)
    reason = no_job(tuned, chosen, catalogue.accelerators[option.cluster.accelerator].vendor)
    if reason:
        said = f"# Launching {plan.name}\n\nNo launch files are written: {reason}.\n"
        return {"launch/README.md": text(said)}
    starts = launcher(tuned, chosen)
    also = {} if bridges(tuned, chosen) else trl_files(tuned, chosen)
    files = {name: text(content) for name, content in {**also, **starts.files}.items()}
    if option.deployment.scheduler == "slurm":
        files["finetune.sbatch"] = File(content=_sbatch(tuned, chosen, catalogue).encode(), executable=True)
    else:
        from clusterwright.outputs.finetuning.kubernetes import (  # noqa: PLC0415 - only what is asked for is loaded
            MANIFEST,
            cloud_manifest,
            submit_texts,
        )

        manifest = cloud_manifest(
            tuned,
            chosen,
            catalogue,
            all_reduce=written[_EXAMPLE].content.decode(),
            launcher=starts,
        )
        submits = submit_texts(tuned, queue_file=_QUEUE_FILE, holds=starts.holds)
        files |= {
            name: replace(text(content), executable=name.endswith(".sh"))
            for name, content in {MANIFEST: manifest, **submits}.items()
        }
    files["README.md"] = text(_readme(tuned, chosen))
    return {f"launch/{name}": file for name, file in files.items()}


def cluster_job(plan: Plan, option: Option, cluster: KubernetesCluster) -> ClusterJob | None:
    """Return the job for Kubernetes on premises; None where no software or the cluster cannot run it."""
    from clusterwright.outputs.finetuning.kubernetes import (  # noqa: PLC0415 - only what is asked for is loaded
        MANIFEST,
        cluster_manifest,
        submit_texts,
    )

    tuned, chosen = finetuning_plan(plan), finetuning_option(option)
    if not cluster.operators or not cluster.posix or no_job(tuned, chosen, cluster.vendor):
        return None
    starts = launcher(tuned, chosen)
    manifest = cluster_manifest(tuned, chosen, cluster, launcher=starts)
    nodes = f"{chosen.training_nodes} node{'s' if chosen.training_nodes > 1 else ''}"
    return ClusterJob(
        files={MANIFEST: manifest, **submit_texts(tuned, queue_file="queues.yaml", holds=starts.holds)},
        row=f"| `jobs/{MANIFEST}` | the plan's job: {layout_text(chosen)} on {nodes}, for `{starts.program}` |",
        image=f" and {starts.holds}",
        source=(
            f"- base weights and data in `{SHARED}/{NAMESPACE}`, which pods see as `{SHARED}`, or by their names at "
            "Hugging Face\n  where pods reach it; a token comes from the secret `model-access`, which you make."
        ),
        to_set=(
            f"image, data{', reward' if generates(tuned) else ''} and learning rate of the run: `jobs/submit.sh "
            f"--image REGISTRY/NAME:TAG --data WHERE {_options(tuned)}` sets them, checks and submits."
        ),
    )


def _sbatch(plan: FinetuningPlan, option: FinetuningOption, catalogue: Catalogue) -> str:
    fabric, hosts, cluster = fabric_of(option, catalogue), hosts_per_node(option), option.cluster
    machines = option.training_nodes * hosts
    rows = settings_for(fabric=fabric, target=option.target, instance=cluster.instance) if machines > 1 else ()
    jobs, starts = plan.cluster.jobs, launcher(plan, option)
    return render(
        "launch",
        "finetune.sbatch.j2",
        title=f"{plan.workload.model_name}, {plan.workload.method_text}: {layout_text(option)}",
        job_name=plan.name,
        partition=plan.cluster.partition,
        nodes=machines,
        gres=f"gpu:{catalogue.accelerators[cluster.accelerator].gres_type}:{cluster.gpus_per_node // hosts}",
        launch=launch_folder(plan),
        files_at="",
        rate=example_rate(plan.workload),
        program=starts.program,
        holds=starts.holds,
        rank="SLURM_NODEID",
        defaults=(
            ("MODEL_PATH", f"{SHARED}/models/{plan.workload.model}"),
            ("DATA_PATH", jobs.data),
            ("CHECKPOINT_PATH", jobs.checkpoints),
            ("LEARNING_RATE", "" if jobs.learning_rate is None else f"{jobs.learning_rate:g}"),
            ("CONTAINER_IMAGE", jobs.image),
            ("VENV_PATH", jobs.venv),
            *((("REWARD", plan.workload.reward),) if generates(plan) else ()),
        ),
        reward_pattern=REWARDS,
        mounts=container_mounts(rows, shared=SHARED),
        fabric=fabric,
        fabric_lines=shell_lines(rows),
        **starts.words,
    )


def _readme(plan: FinetuningPlan, option: FinetuningOption) -> str:
    layout, starts = option.performance.layout, launcher(plan, option)
    batch = f"{layout.micro_batch} × {layout.data} × {layout.accumulation} = "
    lines = [
        f"# Launching {plan.name} {on_target(option.target)}",
        "",
        (
            f"{plan.workload.model_name}, {plan.workload.method_text}: {layout_text(option)}. Sequences of a pass × "
            f"groups × passes = {batch}{layout.micro_batch * layout.data * layout.accumulation} of an update."
        ),
        "",
        *_listed(plan, option, starts),
    ]
    weights, again = _needed(plan, starts), _again(option, starts)
    if option.deployment.scheduler == "slurm":
        lines += [
            (
                "- `finetune.sbatch`: the job; copy this folder to "
                f"`{launch_folder(plan)}` of the cluster and submit it there:"
            ),
            "",
            "```sh",
            f"MODEL_PATH={SHARED}/models/{plan.workload.model} DATA_PATH=NAME-OR-FOLDER {_variables(plan)}\\",
            f"  VENV_PATH={SHARED}/venv sbatch {launch_folder(plan)}/finetune.sbatch",
            "```",
            "",
            f"{weights}and {starts.holds} in a virtual environment or in an image (`CONTAINER_IMAGE`). {again}",
        ]
    else:
        lines += [
            "- `finetune.yaml`: the job with what it reads in it, which `submit.sh` fills in, checks and submits:",
            "",
            "```sh",
            f"./cluster.sh kubectl apply -f {_QUEUE_FILE}   # once",
            f"./cluster.sh submit --image REGISTRY/NAME:TAG --data NAME-OR-FOLDER {_options(plan)}",
            "```",
            "",
            (
                f"{weights}and an image with {starts.holds}. For weights that Hugging Face gives to members only, make "
                f"the secret: `./cluster.sh kubectl -n {NAMESPACE} create secret generic model-access "
                f"--from-file=token=FILE`. {again}"
            ),
        ]
    if generates(plan):
        lines += ["", _rewards(plan, option)]
    return "\n".join([*lines, *_counted(plan, option, starts)]) + "\n"


def _listed(plan: FinetuningPlan, option: FinetuningOption, starts: Launcher) -> list[str]:
    """Return what each file is."""
    if starts.program == "torchrun":
        return [
            f"- `{PROGRAM}`: the program, for Megatron-Bridge {RELEASE}: its interface may differ in other releases",
            f"- `{SETTINGS}`: the plan's numbers, by the names of its configuration",
        ]
    recipe = starts.words["recipe"]
    return [
        f"- `trl.yaml`: arguments of TRL ({oldest_trl(plan, option)} or newer)",
        "- `accelerate.yaml`: processes, and what FSDP divides",
        *([f"- `torchtune.yaml`: the configuration of torchtune's `{recipe}`"] if recipe else []),
    ]


def _needed(plan: FinetuningPlan, starts: Launcher) -> str:
    """Return the start of a sentence on what a job needs."""
    if starts.program == "accelerate":
        return (
            "It needs base weights and data set on the shared file system (or names of Hugging Face, where nodes "
            "reach it), "
        )
    kind = architecture_of(plan.workload.model) if starts.program == "torchrun" else ""
    return (
        f"It needs base weights as a folder{f' of Hugging Face (`{kind}`)' if kind else ''} and the data set as a file "
        "of conversations (`messages`, JSON lines) on the shared file system or by its name at Hugging Face, "
    )


def _again(option: FinetuningOption, starts: Launcher) -> str:
    """Return from where a job starts again."""
    if starts.program == "tune":
        return "It starts again from its last whole epoch, the only times at which torchtune writes all that it needs."
    return f"It starts again from its last checkpoint; the last {option.design.storage.checkpoints_kept} are kept."


def _counted(plan: FinetuningPlan, option: FinetuningOption, starts: Launcher) -> list[str]:
    """Return whether the plan counts with what starts the job, and what else its user has to know of that."""
    work = plan.workload
    if starts.program == "tune":
        return ["", "The plan counts with torchtune, and the job uses it; TRL's memory and speed are its own."]
    if starts.program == "torchrun":
        return ["", *_converted(plan, option)]
    if work.framework.lower() in ("trl", "accelerate", "transformers"):
        return []
    why = no_torchtune(plan, option) if work.framework.lower() == "torchtune" else ""
    if counts_with_megatron(work):
        why = f"for which Megatron-Bridge {RELEASE} has no run like this: {no_bridge(work, option)}"
    return [
        "",
        (
            f"The plan counts with {work.framework}{f' ({why})' if why else ''}; these files are for TRL, "
            "whose memory and speed are its own: set `workload.framework: trl` to plan with its wider band."
        ),
    ]


def _converted(plan: FinetuningPlan, option: FinetuningOption) -> list[str]:
    """Return how weights are converted to Megatron's form and back, and how passes of several sequences are packed."""
    work, layout = plan.workload, option.performance.layout
    out = "`examples/conversion/adapter/export_adapter.py` writes adapters"
    if work.method == "full":
        divided = "mfsdp/convert_checkpoints_fsdp.py export" if layout.sharding != NONE else "convert.sh export"
        folder = "examples/conversion" if layout.sharding != NONE else "scripts/conversion"
        out = f"`{folder}/{divided}` writes the model"
    lines = [
        (
            "The job converts Hugging Face's weights while it loads them, so nothing is converted before. Its "
            f"checkpoints are Megatron's: {out} for Hugging Face (in Megatron-Bridge's repository)."
        )
    ]
    if work.packing and layout.micro_batch > 1:
        lines += [
            "",
            (
                f"Megatron-Bridge packs for passes of one sequence: one of {layout.micro_batch} × "
                f"{work.sequence_length:,} tokens stands in for {layout.micro_batch}, with samples no longer than "
                "before."
            ),
        ]
    return lines


def _variables(plan: FinetuningPlan) -> str:
    """Return how a user gives learning rate and reward in the environment of `sbatch`."""
    reward = f"REWARD={plan.workload.reward or _REWARD} " if generates(plan) else ""
    return f"LEARNING_RATE={example_rate(plan.workload)} {reward}"


def _options(plan: FinetuningPlan) -> str:
    """Return how a user gives learning rate and reward to `submit.sh`; it has the reward of the blueprint."""
    reward = f" --reward {_REWARD}" if generates(plan) and not plan.workload.reward else ""
    return f"--lr {example_rate(plan.workload)}{reward}"


def _rewards(plan: FinetuningPlan, option: FinetuningOption) -> str:
    where = "a file in this folder" if option.deployment.scheduler == "slurm" else "the image's working folder"
    named = f" (the blueprint names `{plan.workload.reward}`)" if plan.workload.reward else ""
    return (
        f"The reward{named} is one function or several with commas between: of TRL `accuracy_reward`, "
        f"`reasoning_accuracy_reward`, `think_format_reward` or `get_soft_overlong_punishment`, or your own as "
        f"`module.function` of {where}. Data have a column `prompt`, and what the reward compares with (`solution` "
        "for `accuracy_reward`). vLLM generates in the processes that train, and keeps its memory meanwhile."
    )


def start(plan: Plan, option: Option, catalogue: Catalogue) -> Start | None:
    """Return how the job is submitted on a cloud; None where none is written."""
    vendor, tuned = catalogue.accelerators[option.cluster.accelerator].vendor, finetuning_plan(plan)
    if no_job(tuned, finetuning_option(option), vendor):
        return None
    if option.deployment.scheduler == "kubernetes":
        return Start(
            title="Run the job",
            who="It is submitted with your own login to the cluster, as `./cluster.sh kubectl` has it.",
            command=f"""./cluster.sh kubectl apply -f {_QUEUE_FILE}   # once
./cluster.sh submit --image REGISTRY/NAME:TAG --data NAME {_options(tuned)}""",
            more="`launch/README.md` says what the image has to hold and where weights and data go.",
        )
    return Start(
        title="Run the job",
        who=f"Copy `launch/` to `{launch_folder(plan)}` of the cluster; an ordinary user submits it there "
        "([Users](#users)).",
        command=f"DATA_PATH=NAME {_variables(tuned)}VENV_PATH={SHARED}/venv sbatch finetune.sbatch",
        more="`launch/README.md` says what the job needs.",
    )


def contents(option: Option) -> str:
    """Return where the job is in the folder of a target, as a line of the output folder's README."""
    on_premises = (option.target, option.deployment.scheduler) == ("onprem", "kubernetes")
    folder = "onprem/kubernetes/jobs" if on_premises else f"{option.target}/launch"
    return f"- `{folder}/`: the run, as files of its software with the layout's numbers"
