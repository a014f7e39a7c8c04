"""A cloud's Pulumi project for one plan: the program as it stands in `stacks/`, node scripts, and configuration.

The project is the user's: nothing in it needs Clusterwright. What only the user knows (account, project, keys) is left
out of the configuration and listed in the README; the program refuses to run without it and says so.
"""

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.records import Catalogue, Instance
from clusterwright.errors import InputError
from clusterwright.facility.cloud_bill import CLOUDS
from clusterwright.outputs import stack_configuration
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.project_files import kept_example, project_files
from clusterwright.outputs.project_readme import project_readme
from clusterwright.outputs.stack_configuration.shared import secrets_provider, state_url
from clusterwright.outputs.stack_fill_ins import fill_ins
from clusterwright.outputs.stack_readme import FillIn, stack_readme, to_fill_in
from clusterwright.plan.record import Option, Plan
from clusterwright.units import HOURS_PER_MONTH

_SKIPPED = ("__pycache__", ".pytest_cache", ".venv", ".ruff_cache")
_MIB = 2.0**20
#: Azure's limit without a support request; the catalogue holds the limit with one.
_SCALE_SET_NODES = 100
#: Budgets are set this far above the plan, so that an alert means something unplanned.
_BUDGET_MARGIN = 1.1

#: Characters that Google takes in a label's key or value.
_NOT_IN_LABEL = re.compile(r"[^a-z0-9_-]")


def stack_files(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, File]:
    """Return the files of one cloud's project, by path within it.

    Args:
        plan: the plan.
        option: the plan's option for a cloud.
        catalogue: facts of the instance type.

    Raises:
        InputError: the option is not a cloud's.
    """
    if option.file_system is None:
        raise InputError(f"{option.target} has no Pulumi project", help="one of aws, azure, gcp")
    root = assets.root()
    if (root / "stacks" / option.target / "base").is_dir():
        return layered_files(plan, option, catalogue)
    files = _copied(root / "stacks" / option.target) | {
        f"node/{name}": file for name, file in _copied(root / "templates" / "node").items()
    }
    static_readme = files.pop("README.md", None)
    values = configuration(plan, option, catalogue)
    instance = catalogue.instances[option.instance]
    files[f"Pulumi.{plan.cluster.name}.yaml"] = text(_yaml(plan, values, to_fill_in(option, instance)))
    zone = values.get(f"clusterwright-{option.target}:{'availabilityZone' if option.target == 'aws' else 'zone'}")
    static = static_readme.content.decode() if static_readme else ""
    files["README.md"] = text(stack_readme(plan, option, instance, zone=str(zone), static=static))
    return files


def layered_files(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, File]:
    """Return the files of a project in three layers, each a Pulumi project with its own stack."""
    files = {
        kept_example(path): file for path, file in project_files(option.target, option.scheduler).items()
    }
    missing = fill_ins(option, catalogue.instances[option.instance], declared_keys(files))
    layers = stack_configuration.configuration(plan, option, catalogue)
    for layer, values in layers.items():
        unset = [entry.command for entry in missing if entry.required and layer in entry.layers]
        files[f"{layer}/Pulumi.{plan.cluster.name}.yaml"] = text(_layer_yaml(plan, option, values, unset))
        files[f"{layer}/Pulumi.yaml"] = _with_backend(files[f"{layer}/Pulumi.yaml"], state_url(option))
    pages = files.get("README.md", text("")).content.decode().strip()
    page = project_readme(plan, option, missing, zone=_zone(option, layers), pages=pages)
    return dict(sorted((files | {"README.md": text(page)}).items()))


def _zone(option: Option, layers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the zone as written for the first layer that names one."""
    key = "availabilityZone" if option.target == "aws" else "zone"
    named = (value for values in layers.values() for name, value in values.items() if name.endswith(f":{key}"))
    return str(next(named, option.zone))


def declared_keys(files: Mapping[str, File]) -> dict[str, frozenset[str]]:
    """Return the keys that each layer's `Pulumi.yaml` declares."""
    return {
        layer: frozenset(YAML(typ="safe").load(files[f"{layer}/Pulumi.yaml"].content).get("config", {}))
        for layer in stack_configuration.LAYERS
    }


def _with_backend(project: File, url: str) -> File:
    written = project.content.decode().rstrip("\n")
    return text(f"{written}\n# The state of every layer, since they read each other's outputs.\nbackend:\n  url: {url}")


def _layer_yaml(plan: Plan, option: Option, values: Mapping[str, Any], unset: Sequence[str]) -> str:
    encryption = {"secretsprovider": provider} if (provider := secrets_provider(option)) else {}
    stream = io.StringIO()
    _writer().dump(encryption | {"config": dict(values)}, stream)
    still = "".join(f"# Still to set: {command}\n" for command in unset)
    return f"# Written from the plan of {plan.name}; every key is described in Pulumi.yaml.\n{still}{stream.getvalue()}"


def _writer() -> YAML:
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 160
    return yaml


def _copied(folder: Path) -> dict[str, File]:
    return {
        path.relative_to(folder).as_posix(): File(
            content=path.read_bytes(), executable=bool(path.stat().st_mode & 0o100)
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part in _SKIPPED for part in path.parts)
    }


def configuration(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, Any]:
    """Return the stack's configuration: key to value, in the order in which it is written.

    Every value is a fact of the catalogue or a number of the plan; the keys are those of the project's `Pulumi.yaml`.
    """
    instance = catalogue.instances[option.instance]
    chip = catalogue.accelerators[instance.accelerator]
    file_system = option.file_system
    assert file_system is not None  # noqa: S101 - checked by `stack_files`
    own, place, node, storage = _BY_CLOUD[option.target](option, instance)
    values = {
        "clusterName": plan.cluster.name,
        **place,
        "nodeCount": option.nodes,
        "nodeType": {
            "instanceType": option.instance,
            "gpusPerNode": option.gpus_per_node,
            "gpuType": chip.gres_type,
            "cpus": instance.vcpus,
            "memoryMib": None if instance.memory_bytes is None else int(instance.memory_bytes // _MIB),
            "fabric": instance.fabric_kind,
            "image": instance.image,
            **node,
        },
        "capacity": option.capacity,
        "reservationId": option.reservation or None,
        "sharedStorage": {
            **storage(file_system.capacity_gib),
            "throughputMbPerSPerTib": file_system.tier.mb_per_s_per_tib,
            "mountPath": "/shared",
        },
        "controllerInstanceType": CLOUDS[option.target].controller,
        "partition": plan.cluster.partition,
        "budgetUsdPerMonth": monthly_budget_usd(option),
        "tags": _tags(plan, option.target),
    }
    return own | {
        f"clusterwright-{option.target}:{key}": _known(value) for key, value in values.items() if value is not None
    }


def _tags(plan: Plan, cloud: str) -> dict[str, str]:
    """Return the tags; Google's labels are lower-case, with hyphens for what they cannot hold."""
    tags = {"workload": plan.name, **dict(plan.cluster.tags)}
    if cloud != "gcp":
        return tags
    return {_NOT_IN_LABEL.sub("-", key.lower()): _NOT_IN_LABEL.sub("-", value.lower()) for key, value in tags.items()}


def _known(value: Any) -> Any:  # noqa: ANN401 - configuration values
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value


_Parts = tuple[dict[str, Any], dict[str, Any], dict[str, Any], Callable[[int], dict[str, Any]]]


def _aws(option: Option, instance: Instance) -> _Parts:
    zone = option.zone or f"{option.region}a"
    # Without EFA there is one card with one ordinary interface.
    node = {
        "networkCards": instance.network_cards or 1,
        "fabricInterfaces": instance.fabric_interfaces or 0,
        "cardZeroHasFabric": bool(instance.card_zero_has_fabric),
        "maxInterfacesPerCard": instance.interfaces_per_card or 1,
    }
    return {"aws:region": option.region}, {"availabilityZone": zone}, node, lambda gib: {"capacityGib": gib}


def _azure(option: Option, instance: Instance) -> _Parts:
    node = {
        "fabricInterfaces": instance.fabric_interfaces,
        "maxNodesPerScaleSet": max(option.nodes, _SCALE_SET_NODES)
        if instance.placement_max_nodes is None
        else min(max(option.nodes, _SCALE_SET_NODES), instance.placement_max_nodes),
    }
    place = {"location": option.region, "zone": option.zone or "1"}
    return {}, place, node, lambda gib: {"capacityTib": gib // 1024}


def _gcp(option: Option, instance: Instance) -> _Parts:
    zone = option.zone or next((zone for zone in instance.regions if zone.startswith(option.region)), "")
    node = {
        "nicType": instance.nic_type,
        "gpuNetworks": instance.gpu_networks,
        "mtu": None if instance.mtu_bytes is None else int(instance.mtu_bytes),
        "rdma": instance.fabric_kind == "roce",
        "rdmaSubnets": instance.rdma_subnets or 0,
        "placementMaxNodes": instance.placement_max_nodes,
    }
    place = {"zone": zone if zone.count("-") == 2 else f"{option.region}-a"}  # noqa: PLR2004 - region-part-letter
    return {"gcp:region": option.region}, place, node, lambda gib: {"capacityGib": gib}


_BY_CLOUD: dict[str, Callable[[Option, Instance], _Parts]] = {"aws": _aws, "azure": _azure, "gcp": _gcp}


def monthly_budget_usd(option: Option) -> int | None:
    """Return USD for a month of the whole cluster, a tenth above the plan; None if a price is unknown."""
    per_month = {"hourly": HOURS_PER_MONTH, "monthly": 1.0}
    amounts = [
        None if line.usd_per_period is None else line.usd_per_period * per_month[line.line.charge]
        for line in option.lines
        if line.line.charge in per_month
    ]
    known = [amount for amount in amounts if amount is not None]
    return math.ceil(sum(known) * _BUDGET_MARGIN) if len(known) == len(amounts) and known else None


def _yaml(plan: Plan, values: dict[str, Any], missing: Sequence[FillIn]) -> str:
    stream = io.StringIO()
    _writer().dump({"config": values}, stream)
    unset = "".join(f"# Still to set: {entry.command}\n" for entry in missing if entry.required)
    return f"# Written from the plan of {plan.name}; every key is described in Pulumi.yaml.\n{unset}{stream.getvalue()}"
