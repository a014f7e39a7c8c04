"""The files that start the service on a target, as deliverables name them."""

import io
from collections.abc import Mapping

from clusterwright.catalog.records import Catalogue
from clusterwright.outputs.folder import File
from clusterwright.outputs.kind import Start
from clusterwright.outputs.kubernetes.cluster import KubernetesCluster
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.serving.record import serving_option, serving_plan

_EXAMPLE = "examples/all_reduce.yaml"
#: What the device plugins of makers call accelerators.
_GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "aws.amazon.com/neuron", "google.com/tpu", "habana.ai/gaudi")


def launch(plan: Plan, option: Option, catalogue: Catalogue, written: Mapping[str, File]) -> dict[str, File]:
    """Return the folder `serving` of a target.

    Args:
        plan: of a service.
        option: the target.
        catalogue: facts of the nodes.
        written: files of the target's folder: on a cloud's Kubernetes the example job, which has what pods need.

    Raises:
        RuleError: the framework's version does not have what the plan needs.
    """
    from clusterwright.outputs.serving.files import FOLDER, serving_files  # noqa: PLC0415 - only what is asked for

    if option.deployment.scheduler != "kubernetes":
        from clusterwright.outputs.serving.slurm import slurm_files  # noqa: PLC0415

        jobs = slurm_files(serving_plan(plan), serving_option(option), catalogue)
        return {f"{FOLDER}/{name}": file for name, file in jobs.items()}
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where it is read

    from clusterwright.outputs.serving.places import of_project  # noqa: PLC0415

    objects = YAML(typ="safe").load_all(io.BytesIO(written[_EXAMPLE].content))
    job = next(one for one in objects if one is not None and one["kind"] == "Job")
    place = of_project(job, _GPU_RESOURCES)
    files = serving_files(serving_plan(plan), serving_option(option), place)
    return {f"{FOLDER}/{name}": file for name, file in files.items()}


def cluster_files(plan: Plan, option: Option, cluster: KubernetesCluster) -> dict[str, File]:
    """Return the folder `serving` for Kubernetes on premises."""
    from clusterwright.outputs.serving.files import FOLDER, serving_files  # noqa: PLC0415 - only what is asked for
    from clusterwright.outputs.serving.places import of_cluster  # noqa: PLC0415

    files = serving_files(serving_plan(plan), serving_option(option), of_cluster(cluster))
    return {f"{FOLDER}/{name}": file for name, file in files.items()}


def start(plan: Plan, option: Option, catalogue: Catalogue) -> Start | None:  # noqa: ARG001 - as of any kind
    """Return how the service is started on a cloud; None where no file starts it, as its README says."""
    from clusterwright.outputs.serving.places import gpus_per_host  # noqa: PLC0415 - only what is asked for
    from clusterwright.outputs.serving.pools import refusal  # noqa: PLC0415

    serves, chosen = serving_plan(plan), serving_option(option)
    slurm = option.deployment.scheduler != "kubernetes"
    apart = chosen.performance.prefill_pool is not None
    if (apart and refusal(serves, chosen, gpus_per_host(chosen))) or (slurm and chosen.performance.layout.slice):
        return None
    if slurm:
        routed = "ROUTER_IMAGE=FILE.sqsh " if apart else ""
        return Start(
            title="Start the service",
            who="An ordinary user starts it on the login machine: name users first ([Users](#users)).",
            command=f"CONTAINER_IMAGE=FILE.sqsh {routed}MODEL_PATH=/shared/models/NAME "
            + ("serving/serve.sh" if apart else "sbatch serving/serve.sbatch"),
            more="Copy `serving/` to the shared file system; its README says which image and where the model may lie.",
        )
    image = "REGISTRY/NAME@sha256:DIGEST"
    return Start(
        title="Start the service",
        who="It is applied with your own login to the cluster, as `./cluster.sh kubectl` has it.",
        command=f"serving/deploy.sh --image {image} {f'--router-image {image} ' if apart else ''}--model "
        "/shared/models/NAME",
        more="`serving/README.md` says which engine with which arguments, where the model may lie, and who may ask.",
    )


def contents(option: Option) -> str:
    """Return where the service is in the folder of a target, as a line of the output folder's README."""
    if option.deployment.scheduler != "kubernetes":
        return f"- `{option.target}/serving/`: the service as an array of Slurm jobs, its load test and monitoring"
    folder = "onprem/kubernetes/serving" if option.target == "onprem" else f"{option.target}/serving"
    return f"- `{folder}/`: manifests of the service, with the engine's arguments; its load test and monitoring"
