"""A cloud's Pulumi project for one plan: the program as it stands in `stacks/`, node scripts, and configuration.

The project is the user's: nothing in it needs Clusterwright. What only the user knows (account, project, keys) is left
out of the configuration and listed in the README; the program refuses to run without it and says so.
"""

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from clusterwright import assets
from clusterwright.catalog.records import Catalogue, Instance
from clusterwright.errors import InputError
from clusterwright.facility.cloud_bill import CLOUDS
from clusterwright.outputs.folder import File, text
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.words import NAME_OF_TARGET, cluster_text, days_band_text, layout_text, money, percent
from clusterwright.units import HOURS_PER_MONTH

_SKIPPED = ("__pycache__", ".pytest_cache", ".venv", ".ruff_cache")
_MIB = 2.0**20
#: Azure's limit without a support request; the catalogue holds the limit with one.
_SCALE_SET_NODES = 100
#: Budgets are set this far above the plan, so that an alert means something unplanned.
_BUDGET_MARGIN = 1.1

#: What the user must add before the first `pulumi up`, by cloud: (command, what it is).
TO_FILL_IN: dict[str, tuple[tuple[str, str], ...]] = {
    "aws": (),
    "azure": (
        (
            'pulumi config set adminSshPublicKey "$(cat ~/.ssh/id_ed25519.pub)"',
            "Azure wants a public key on every machine; access is by Bastion only",
        ),
        (
            "pulumi config set --path nodeType.image microsoft-dsvm:ubuntu-hpc:2404:VERSION",
            "a fixed version (az vm image list --publisher microsoft-dsvm --all); latest would mix drivers",
        ),
    ),
    "gcp": (("pulumi config set gcp:project YOUR-PROJECT", "the project that everything is created in"),),
}
#: How an operator reaches the controller; nothing has a public address.
CONNECT = {
    "aws": "aws ssm start-session --target $(pulumi stack output controllerInstanceId)",
    "azure": "az network bastion ssh … (the outputs of the stack name the Bastion and the machine)",
    "gcp": "gcloud compute ssh --tunnel-through-iap $(pulumi stack output controllerName)",
}


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
    files = _copied(root / "stacks" / option.target) | {
        f"node/{name}": file for name, file in _copied(root / "templates" / "node").items()
    }
    static_readme = files.pop("README.md", None)
    files[f"Pulumi.{plan.cluster.name}.yaml"] = text(_configuration(plan, option, catalogue))
    files["README.md"] = text(_readme(plan, option, static_readme.content.decode() if static_readme else ""))
    return files


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
        "tags": {"workload": plan.name, **dict(plan.cluster.tags)},
    }
    return own | {
        f"clusterwright-{option.target}:{key}": _known(value) for key, value in values.items() if value is not None
    }


def _known(value: Any) -> Any:  # noqa: ANN401 - configuration values
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value


_Parts = tuple[dict[str, Any], dict[str, Any], dict[str, Any], Callable[[int], dict[str, Any]]]


def _aws(option: Option, instance: Instance) -> _Parts:
    zone = option.zone or f"{option.region}a"
    node = {
        "networkCards": instance.network_cards,
        "fabricInterfaces": instance.fabric_interfaces,
        "cardZeroHasFabric": instance.card_zero_has_fabric,
        "maxInterfacesPerCard": instance.interfaces_per_card,
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


def _configuration(plan: Plan, option: Option, catalogue: Catalogue) -> str:
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 160
    stream = io.StringIO()
    yaml.dump({"config": configuration(plan, option, catalogue)}, stream)
    missing = "".join(f"# Still to set: {command}\n" for command, _ in TO_FILL_IN[option.target])
    return (
        f"# Written from the plan of {plan.name}; every key is described in Pulumi.yaml.\n{missing}{stream.getvalue()}"
    )


def _readme(plan: Plan, option: Option, static: str) -> str:
    name = plan.cluster.name
    fill_in = [f"{command}   # {why}" for command, why in TO_FILL_IN[option.target]]
    priced = f"Priced from documents: {percent(option.priced_share)}, as of {plan.as_of}."
    lines = [
        f"# {plan.name} on {NAME_OF_TARGET[option.target]}",
        "",
        f"{cluster_text(option)} in {option.region}, one zone. {layout_text(option.layout)}.",
        f"One run takes {days_band_text(option)} and costs {money(option.run_usd)}. {priced}",
        "",
        "| What | Quantity | Price | Basis |",
        "|---|---|---|---|",
        *(_bill_row(line) for line in option.lines),
        "",
        "## Bring it up",
        "",
        "```sh",
        f"pulumi stack init {name}",
        *fill_in,
        "pulumi preview",
        "pulumi up",
        "```",
        "",
        f"`Pulumi.{name}.yaml` holds every choice. The zone is a choice too: pick the one where your capacity is.",
        *_image_note(option),
        "",
        "## Connect",
        "",
        f"`{CONNECT[option.target]}`",
        "",
        "## Clean up",
        "",
        "Stop paying for GPU nodes and keep everything else: `pulumi config set nodeCount 0 && pulumi up`.",
        "`pulumi destroy` refuses to remove protected data (bucket, file system, keys) until you unprotect it with",
        "`pulumi state unprotect`.",
    ]
    demoted = "\n".join(f"#{line}" if line.startswith("#") else line for line in static.splitlines())
    return "\n".join(lines) + (f"\n\n{demoted}" if demoted else "")


def _image_note(option: Option) -> list[str]:
    if option.target != "gcp" or option.instance != "a3-highgpu-8g":
        return []
    return ["", "Set `nodeType.image` to an image of your own: this machine type needs Google's TCPX kernel in it."]


def _bill_row(line: Any) -> str:  # noqa: ANN401 - PricedLine
    price = "unknown" if line.unit_usd is None else f"{line.unit_usd:,.4g} USD per {line.line.unit}, {line.line.charge}"
    basis = f"{line.basis}, {line.price_date}" if line.price_date else line.basis
    return f"| {line.line.item} | {line.line.quantity:,.0f} {line.line.unit} | {price} | {basis} |"
