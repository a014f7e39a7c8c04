"""A cloud's project for one plan: the programs as they are in `stacks/`, and the configuration of each layer.

The project is the user's: nothing in it needs Clusterwright. What only the user knows (account, project, keys) is left
out of the configuration and listed in the README; `cluster.sh` refuses to start without it and says so.
"""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ruamel.yaml import YAML

from clusterwright.catalog.records import Catalogue, Instance
from clusterwright.clouds import CLOUDS
from clusterwright.errors import InputError
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.kinds import outputs_of
from clusterwright.outputs.launch.example_job import for_fabric
from clusterwright.outputs.launch.software import node_table
from clusterwright.outputs.project.configuration import LAYERS, configuration
from clusterwright.outputs.project.configuration.shared import (
    JOB_ENVIRONMENT,
    job_environment,
    prefixed,
    secrets_provider,
    stack_name,
    state_url,
)
from clusterwright.outputs.project.files import kept_example, project_files
from clusterwright.outputs.project.fill_ins import Declared, fill_ins
from clusterwright.outputs.project.kept_values import keep_values
from clusterwright.outputs.project.readme import HOLDS, Quota, project_readme
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.money import MoneyFormat

#: What the device plugin of each vendor calls an accelerator.
_ACCELERATORS = {
    "nvidia": "nvidia.com/gpu",
    "rocm": "amd.com/gpu",
    "neuron": "aws.amazon.com/neuron",
    "tpu": "google.com/tpu",
}
_GIB = 2**30
#: Shares of a node that its own services leave to a job.
_PROCESSORS, _MEMORY = 15 / 16, 7 / 8


def for_node(manifest: str, instance: Instance) -> str:
    """Return a manifest with the requests of one whole node: accelerators, fabric devices, processors, memory.

    A type without such devices has neither their plugin nor huge pages: a pod that asked for them would wait for ever.

    Args:
        manifest: as it is in `stacks/`, for eight NVIDIA GPUs.
        instance: the type of the nodes.
    """
    accelerator = _ACCELERATORS.get(instance.vendor_software or "nvidia", "nvidia.com/gpu")
    changed = re.sub(r"nvidia\.com/gpu: \d+", f"{accelerator}: {instance.gpus}", manifest)
    changed = changed.replace("{key: nvidia.com/gpu,", f"{{key: {accelerator},")
    efa = instance.fabric_interfaces if instance.fabric_kind == "efa" else None
    wanted = f"\\g<1>vpc.amazonaws.com/efa: {efa}\n" if efa else ""
    changed = re.sub(r"(?m)^( *)vpc\.amazonaws\.com/efa: \d+\n", wanted, changed)
    if not efa:
        changed = re.sub(r"(?m)^ *(hugepages-2Mi: .*|# Extended resources need equal limits.*)\n", "", changed)
    if instance.fabric_kind == "none":
        changed = re.sub(r"(?m)^ *rdma/shared_ib: \d+\n", "", changed)
    changed = re.sub(r"--nproc-per-node=\d+", f"--nproc-per-node={instance.gpus}", changed)
    if instance.vcpus:
        changed = re.sub(r'cpu: "\d+"', f'cpu: "{int(instance.vcpus * _PROCESSORS)}"', changed)
    if instance.memory_bytes:
        changed = re.sub(r"memory: \d+Gi\b", f"memory: {int(instance.memory_bytes / _GIB * _MEMORY)}Gi", changed)
    return changed


#: How a stack's file says what its owner has to set; `cluster.sh` and preflight read it.
_STILL = "# Still to set: "
#: What the nodes use up: kind of capacity, code, how much each, unit, name.
_QUOTA = "# Quota: "
_UNITS = {"vcpus": "vCPUs", "gpus": "GPUs"}
#: What nodes install that is in no distribution.
_NODE_TABLE = "node/software.csv"
_QUEUE, _EXAMPLE_JOB = "examples/queue.yaml", "examples/all_reduce.yaml"


_QUANTITY = re.compile(r"([0-9]+)([A-Za-z]*)")


def with_quota(queue: str, job: str, nodes: int) -> str:
    """Return the queue with a quota of every resource that the job's pods ask for, on all nodes.

    Kueue admits no job that asks for a resource which its queue does not cover.

    Args:
        queue: manifest of the example queue.
        job: manifest of a job that asks for one whole node.
        nodes: of the cluster.
    """
    yaml = YAML()
    yaml.width = 120
    jobs = [one for one in YAML(typ="safe").load_all(job) if one and one["kind"] == "Job"]
    asked = jobs[0]["spec"]["template"]["spec"]["containers"][0]["resources"]
    resources = {**asked["limits"], **asked["requests"]}
    documents = [one for one in yaml.load_all(queue) if one is not None]
    group = next(one for one in documents if one["kind"] == "ClusterQueue")["spec"]["resourceGroups"][0]
    group["coveredResources"] = list(resources)
    group["flavors"][0]["resources"] = [
        {"name": name, "nominalQuota": _times(str(amount), nodes)} for name, amount in resources.items()
    ]
    stream = io.StringIO()
    yaml.dump_all(documents, stream)
    body = "\n".join(line for line in stream.getvalue().splitlines() if not line.startswith("#"))
    return (
        "# A queue that admits a job only when all of its nodes are free:\n"
        "#   ./cluster.sh kubectl apply -f examples/queue.yaml\n"
        f"# Its quota is what jobs can ask for on {nodes:,} nodes; for another number of them, change it.\n{body}"
    )


def _times(quantity: str, count: int) -> int | str:
    """Return a multiple of a quantity of Kubernetes.

    >>> _times("1800Gi", 4), _times("8", 4)
    ('7200Gi', 32)
    """
    found = _QUANTITY.fullmatch(quantity)
    if found is None:
        raise ValueError(f"{quantity!r} is not a whole quantity")
    number, unit = int(found[1]) * count, found[2]
    return f"{number}{unit}" if unit else number


def stack_files(plan: Plan, option: Option, catalogue: Catalogue, money: MoneyFormat) -> dict[str, File]:
    """Return the files of one cloud's project, by path within it.

    Args:
        plan: the plan.
        option: the plan's option for a cloud.
        catalogue: facts of the instance type.
        money: how amounts are written.

    Raises:
        InputError: the option is not a cloud's.
    """
    cluster = option.cluster
    if option.design.file_system is None:
        raise InputError(f"{option.target} has no Pulumi project", help="one of aws, azure, gcp")
    instance = catalogue.instances[cluster.instance]
    placement = catalogue.placement(instance)
    files = {
        kept_example(path): file
        for path, file in project_files(
            option.target,
            option.deployment.scheduler,
            with_directory=plan.cluster.directory is not None,
            with_domains=placement is not None and placement.rack_nodes is not None,
        ).items()
    }
    if _NODE_TABLE in files:
        files[_NODE_TABLE] = replace(files[_NODE_TABLE], content=node_table(plan.software_of(option.target)).encode())
    for path in [path for path in files if re.fullmatch(r"examples/.*\.yaml", path)]:
        manifest = files[path].content.decode()
        shaped = for_node(manifest, instance)
        if path == _EXAMPLE_JOB:
            shaped = for_fabric(shaped, instance, cluster.work_nodes)
        files[path] = text(shaped.rstrip("\n"))
    if _QUEUE in files:
        queue, job = (files[path].content.decode() for path in (_QUEUE, _EXAMPLE_JOB))
        files[_QUEUE] = text(with_quota(queue, job, cluster.work_nodes))
    declared = declared_keys(files)
    missing = fill_ins(option, instance, declared)
    layers = configuration(plan, option, catalogue)
    quota = _quota(option, catalogue)
    for layer, keys in declared.items():
        if JOB_ENVIRONMENT in keys:
            layers[layer] |= prefixed(option, layer, {JOB_ENVIRONMENT: job_environment(plan)})
    for layer, values in layers.items():
        unset = [entry for entry in missing if entry.required and layer in entry.layers]
        known = without(values, [entry.key for entry in unset])
        commands = [entry.command for entry in unset]
        counted = _quota_line(option, quota) if layer == "nodes" else ""
        values_file = text(_layer_yaml(plan, option, known, commands).rstrip("\n") + counted)
        files[f"{layer}/Pulumi.{stack_name(plan, option)}.yaml"] = replace(values_file, merge=keep_values)
        files[f"{layer}/Pulumi.yaml"] = _with_backend(files[f"{layer}/Pulumi.yaml"], state_url(option))
    pages = files["README.md"].content.decode().strip()
    page = project_readme(
        plan,
        option,
        missing,
        zone=_zone(option, layers),
        pages=pages,
        start=outputs_of(plan).start(plan, option, catalogue),
        money=money,
        quota=quota,
    )
    return dict(sorted((files | {"README.md": text(page)}).items()))


def _quota(option: Option, catalogue: Catalogue) -> Quota | None:
    """Return the account's quota that counts the nodes, None where none does."""
    deployment = option.deployment
    instance = catalogue.instances[option.cluster.instance]
    quota = None if instance.quota is None else catalogue.quotas[instance.quota]
    counted = None if quota is None else quota.counted(deployment.capacity)
    each = instance.vcpus if quota is not None and quota.unit == "vcpus" else instance.gpus
    if quota is None or counted is None or each is None:
        return None
    name, code = counted
    return Quota(name=name, code=code, each=int(each), unit=_UNITS.get(quota.unit, quota.unit))


def _quota_line(option: Option, quota: Quota | None) -> str:
    """Return the line by which `cluster.sh` holds the nodes against the account's quota; empty where none counts."""
    if quota is None:
        return ""
    return f"\n{_QUOTA}{option.deployment.capacity}|{quota.code}|{quota.each}|{quota.unit}|{quota.name}"


def declared_keys(files: Mapping[str, File]) -> Declared:
    """Return the keys that each layer's `Pulumi.yaml` declares, with what it says of them."""
    projects = {layer: YAML(typ="safe").load(files[f"{layer}/Pulumi.yaml"].content) for layer in LAYERS}
    return {
        layer: {key: entry.get("description", "") for key, entry in project.get("config", {}).items()}
        for layer, project in projects.items()
    }


def without(values: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return a layer's values without those that its owner has to choose, such as an image's version.

    Args:
        values: by full key.
        keys: without prefix; `section.field` within an object.
    """
    left: dict[str, Any] = {}
    for full, value in values.items():
        name = full.rpartition(":")[2]
        if full in keys or name in keys:
            continue
        fields = {key.removeprefix(f"{name}.") for key in keys if key.startswith(f"{name}.")}
        left[full] = {key: item for key, item in value.items() if key not in fields} if fields else value
    return left


def project_lines(option: Option, files: Mapping[str, File]) -> list[str]:
    """Return what to say of a written project: its layers, what is still to set, and the next command."""
    layers = [f"  {f'{layer}/':<12} {holds}" for layer, holds in HOLDS[option.deployment.scheduler].items()]
    stacks = [file.content.decode() for name, file in files.items() if re.fullmatch(r"\w+/Pulumi\..+\.yaml", name)]
    unset = dict.fromkeys(command for stack in stacks for command in re.findall(f"^{_STILL}(.*)$", stack, re.MULTILINE))
    steps = [*unset, "./cluster.sh preview", "./cluster.sh up"]
    return [*layers, "Next, in that folder (README.md says what each is):", *(f"  {step}" for step in steps)]


def _zone(option: Option, layers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the zone as written for the first layer that names one."""
    key = CLOUDS[option.target].zone_key
    named = (value for values in layers.values() for name, value in values.items() if name.endswith(f":{key}"))
    return str(next(named, option.deployment.zone))


def _with_backend(project: File, url: str) -> File:
    written = project.content.decode().rstrip("\n")
    return text(f"{written}\n# The state of every layer, since they read each other's outputs.\nbackend:\n  url: {url}")


def _layer_yaml(plan: Plan, option: Option, values: Mapping[str, Any], unset: Sequence[str]) -> str:
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 160
    encryption = {"secretsprovider": provider} if (provider := secrets_provider(option)) else {}
    stream = io.StringIO()
    yaml.dump(encryption | {"config": dict(values)}, stream)
    still = "".join(f"{_STILL}{command}\n" for command in unset)
    return f"# Written from the plan of {plan.name}; every key is described in Pulumi.yaml.\n{still}{stream.getvalue()}"
