"""The job that trains, as deliverables name it: its files, who submits it, and what of it an acceptance test shows."""

from collections.abc import Mapping, Sequence

from clusterwright.catalog.records import Catalogue
from clusterwright.facility.design import OnPremDesign
from clusterwright.outputs.folder import File
from clusterwright.outputs.kind import ClusterJob, Start, Step
from clusterwright.outputs.kubernetes.cluster import KubernetesCluster
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.training import layout_text
from clusterwright.plan.training.record import TrainingOption, training_option, training_plan

#: Hours of the first run without data, which shows speed and stability; an assumption.
_BURN_IN_HOURS = 24
#: Where no job is written: of other vendors' accelerators, or without a shared file system for pods.
_OWN_JOB = "the run's own job in the plan's layout"
#: Who submits the training job, and how.
_START = {
    "slurm": (
        "An ordinary user submits it: name users first ([Users](#users)); while there are none, nobody can.",
        "./cluster.sh submit --user NAME --image REGISTRY/NAME:TAG --get-megatron   # NAME is one of them",
    ),
    "kubernetes": (
        "It is submitted with your own login to the cluster, as `./cluster.sh kubectl` has it.",
        """./cluster.sh kubectl apply -f examples/queue.yaml   # once
./cluster.sh submit --image REGISTRY/NAME:TAG --get-megatron""",
    ),
}
#: What has to be on the nodes before, by scheduler and fabric, where nothing of the project puts it there.
_BEFORE = {
    ("kubernetes", fabric): (
        "Before the first job apply Google's installer of what NCCL needs on the nodes ([GPUDirect](#gpudirect)),\n"
        "and let the nodes' account pull from your registry; without the installer pods wait for a folder that is not\n"
        "there."
    )
    for fabric in ("tcpx", "tcpxo", "roce")
}
_EXAMPLE = "examples/all_reduce.yaml"


def launch(plan: Plan, option: Option, catalogue: Catalogue, written: Mapping[str, File]) -> dict[str, File]:
    """Return the folder `launch` of a target: scripts and arguments of the job, or why there are none.

    Args:
        plan: of a training run.
        option: the target.
        catalogue: for the fabric.
        written: files of the target's folder: on a cloud's Kubernetes the example job, which has what pods need.
    """
    trains, chosen = training_plan(plan), training_option(option)
    if option.deployment.scheduler == "kubernetes":
        from clusterwright.outputs.training.kubernetes import kubernetes_launch_files  # noqa: PLC0415 - what is asked for

        files = kubernetes_launch_files(trains, chosen, catalogue, written[_EXAMPLE].content.decode())
    else:
        from clusterwright.outputs.training.slurm import launch_files  # noqa: PLC0415 - only what is asked for is loaded

        files = launch_files(trains, chosen, catalogue)
    return {f"launch/{name}": file for name, file in files.items()}


def start(plan: Plan, option: Option, catalogue: Catalogue) -> Start | None:
    """Return how the job is submitted on a cloud; None where no job is written."""
    from clusterwright.outputs.training.slurm import has_job  # noqa: PLC0415 - only what is asked for is loaded

    if not has_job(training_plan(plan), training_option(option), catalogue):
        return None
    who, command = _START[option.deployment.scheduler]
    before = _BEFORE.get((option.deployment.scheduler, catalogue.instances[option.cluster.instance].fabric_kind))
    more = "`launch/README.md` says what the image has to hold and where the data go."
    return Start(title="Run the job", who=f"{before}\n\n{who}" if before else who, command=command, more=more)


def cluster_job(plan: Plan, option: Option, cluster: KubernetesCluster) -> ClusterJob | None:
    """Return the job for Kubernetes on premises; None where Megatron-LM or the cluster cannot run it."""
    from clusterwright.outputs.kubernetes.cluster import NAMESPACE, QUEUE  # noqa: PLC0415 - what is asked for
    from clusterwright.outputs.kubernetes.jobs import documents_text  # noqa: PLC0415
    from clusterwright.outputs.kubernetes.queues import SHARED  # noqa: PLC0415
    from clusterwright.outputs.training.kubernetes import train_job  # noqa: PLC0415
    from clusterwright.outputs.training.megatron import no_megatron  # noqa: PLC0415
    from clusterwright.outputs.training.slurm import nodes_of_job  # noqa: PLC0415
    from clusterwright.outputs.training.worker import submit_texts  # noqa: PLC0415

    trains, chosen = training_plan(plan), training_option(option)
    if not cluster.operators or not cluster.posix or no_megatron(trains, chosen):
        return None
    submits = submit_texts(plan, namespace=NAMESPACE, queue=QUEUE, manifest="train.yaml", queue_file="queues.yaml")
    return ClusterJob(
        files={"train.yaml": documents_text(train_job(trains, chosen, cluster)), **submits},
        row=(
            f"| `jobs/train.yaml` | the plan's job: {layout_text(chosen.performance.layout)} on "
            f"{nodes_of_job(chosen)[1]} nodes, with Megatron-LM's arguments |"
        ),
        image=" and what Megatron-LM needs",
        source=(
            f"- Megatron-LM in `{SHARED}/{NAMESPACE}/Megatron-LM`: `jobs/submit.sh --get-megatron` has the job's first "
            f"pod fetch it; pods see\n  `{SHARED}/{NAMESPACE}` as `{SHARED}`."
        ),
        to_set=(
            "image, data and learning rate of the training job: `jobs/submit.sh --image REGISTRY/NAME:TAG` sets them, "
            "checks and submits; without data it trains on made-up tokens, which measures speed and nothing else."
        ),
    )


def contents(option: Option) -> str:
    """Return where the job is in the folder of a target, as a line of the output folder's README."""
    deployment = option.deployment
    if deployment.scheduler == "kubernetes" and option.target == "onprem":
        return "- `onprem/kubernetes/jobs/`: the job, with the layout's arguments"
    if deployment.scheduler == "kubernetes":
        return f"- `{option.target}/examples/`: a job for Kubernetes, to start from"
    return f"- `{option.target}/launch/`: the job, as a Slurm script with the layout's arguments"


def acceptance(plan: Plan, option: Option, design: OnPremDesign, catalogue: Catalogue) -> Sequence[Step]:
    """Return the steps with the job: its speed against the plan's, and the loss of a node."""
    from clusterwright.outputs.training.slurm import has_job  # noqa: PLC0415 - only what is asked for is loaded

    chosen = training_option(option)
    speed = chosen.performance.tokens_per_s_per_gpu
    # The band of the run's days is that of its speed, turned round.
    slow = speed * option.performance.calendar_days / option.performance.calendar_days_high
    fast = speed * option.performance.calendar_days / option.performance.calendar_days_low
    kubernetes = option.deployment.scheduler == "kubernetes"
    tenant = " --account TENANT" if plan.cluster.tenants else ""
    script = "kubernetes/jobs/submit.sh" if kubernetes else f"launch/submit.sh --host LOGIN{tenant}"
    submit = f"`{script} --image IMAGE`"
    # A job of Kubernetes reads its program and data from a file system.
    written = has_job(training_plan(plan), chosen, catalogue) and not (
        kubernetes and design.inventory.storage.kind == "object"
    )
    return (
        Step(
            do=f"{submit if written else _OWN_JOB} without data for {_BURN_IN_HOURS} h",
            expect=f"{speed:,.0f} tokens/s per GPU ({slow:,.0f} to {fast:,.0f}) for {plan.workload.model_name}; "
            "no restart",
        ),
        Step(do="kill one node's power during the run", expect=_after_a_node(plan, chosen, design)),
    )


def _after_a_node(plan: Plan, option: TrainingOption, design: OnPremDesign) -> str:
    """Return what the job does when a node is gone: without a spare it has to wait for that node."""
    performance, each = option.performance, design.inventory.hosts_per_node
    software = plan.software_of(option.target)
    nodes = option.cluster.work_nodes
    if software is not None:
        whole = software.whole_nodes(option.cluster.nodes * each, scheduler=option.deployment.scheduler) // each
        nodes = min(nodes, whole)
    spare = nodes - option.training_nodes
    if spare > 0:
        return (
            f"the job goes on from its last checkpoint within the planned restart, on {option.training_nodes:,} of the "
            f"{nodes:,} nodes{'' if nodes == option.cluster.nodes else ' with whole GPUs'}: {spare} "
            f"{'is' if spare == 1 else 'are'} spare"
        )
    if performance.failures.elastic:
        return "the job goes on from its last checkpoint within the planned restart, with one replica less"
    return (
        "the job waits in the queue: it needs all nodes, and none is spare (`reliability.spare_nodes`). Give the node "
        "its power back; the job goes on from its last checkpoint within the planned restart"
    )
