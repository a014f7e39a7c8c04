"""What an account is said to hold already, compared with itself: nothing missing, all of one region and network."""

import re
from collections.abc import Iterator

from clusterwright.blueprint.reading.problems import Path, Problem
from clusterwright.blueprint.sections.clouds import (
    AwsExisting,
    AwsTarget,
    AzureExisting,
    AzureTarget,
    CloudTarget,
    GcpExisting,
    GcpTarget,
)
from clusterwright.catalog.records import Instance

#: Ids that are used together or not at all, by cloud.
TOGETHER = {
    "aws": (("vpc_id", "node_subnet_id", "service_subnet_ids"),),
    "azure": (
        ("virtual_network_id", "node_subnet_id", "service_subnet_id", "lustre_subnet_id"),
        ("key_vault_id", "key_url"),
        ("storage_account_id", "container_name"),
    ),
    "gcp": (("network_id", "subnetwork_id"),),
}
#: Private DNS zones that an existing network of Azure may be linked to: field, and the zone's name.
AZURE_ZONES = {
    "vault_zone_id": "privatelink.vaultcore.azure.net",
    "blob_zone_id": "privatelink.blob.core.windows.net",
    "database_zone_id": "privatelink.mysql.database.azure.com",
}


def existing_problems(cloud: str, asked: CloudTarget, instance: Instance | None) -> list[Problem]:
    """Return what is wrong with the ids of a target's existing network.

    `EXI001`: an id is missing; `EXI002`: addresses are given for a network that is not created; `EXI003`: the number
    of networks for GPU interfaces; `EXI004`: an id of another region, network or vault, or the same id twice.

    Args:
        cloud: `aws`, `azure` or `gcp`.
        asked: the target.
        instance: its type, None where it is left to choose.
    """
    existing = getattr(asked.network, "existing", None)
    if existing is None:
        return []
    path: Path = ("targets", cloud, "network", "existing")
    problems = []
    for group in TOGETHER[cloud]:
        given = [name for name in group if getattr(existing, name) is not None]
        missing = [name for name in group if name not in given]
        if given and missing:
            problems.append(
                Problem(
                    id="EXI001",
                    path=(*path, given[0]),
                    message=f"{' and '.join(given)} given, but {' and '.join(missing)} missing",
                    help=f"{', '.join(group)} are used together: give all of them, or none to have them created",
                )
            )
    if asked.network.cidr is not None and getattr(existing, TOGETHER[cloud][0][0]) is not None:
        problems.append(
            Problem(
                id="EXI002",
                path=("targets", cloud, "network", "cidr"),
                message="cidr is of a network to create, but the network exists already",
                help="remove cidr, or the ids of the network",
            )
        )
    if isinstance(asked, GcpTarget) and instance is not None:
        problems += _gpu_networks(path, asked, instance)
    return [*problems, *_elsewhere(path, asked)]


def _gpu_networks(path: Path, asked: GcpTarget, instance: Instance) -> Iterator[Problem]:
    existing = asked.network.existing
    if existing is None or existing.network_id is None:
        return
    needed = (instance.gpu_networks or 0) + (instance.rdma_subnets or 0)
    given = len(existing.gpu_subnetwork_ids or ())
    if given != needed:
        yield Problem(
            id="EXI003",
            path=(*path, "gpu_subnetwork_ids") if existing.gpu_subnetwork_ids is not None else (*path, "network_id"),
            message=f"{instance.id} needs {needed} subnetworks for its GPU interfaces, {given} are given",
            help="list one for each GPU interface in gpu_subnetwork_ids: networks of gVNIC first, then those of RDMA",
        )


def _elsewhere(path: Path, asked: CloudTarget) -> Iterator[Problem]:
    """Yield ids whose own text says that they are of another place than the target."""
    if isinstance(asked, AwsTarget) and asked.network.existing is not None:
        yield from _elsewhere_aws(path, asked.network.existing, asked.region)
    if isinstance(asked, AzureTarget) and asked.network.existing is not None:
        yield from _elsewhere_azure(path, asked.network.existing)
    if isinstance(asked, GcpTarget) and asked.network.existing is not None:
        yield from _elsewhere_gcp(path, asked.network.existing, asked.region)


def _elsewhere_aws(path: Path, existing: AwsExisting, region: str) -> Iterator[Problem]:
    if existing.key_arn is not None and existing.key_arn.split(":")[3] != region:
        yield _wrong(path, "key_arn", f"the key is of region {existing.key_arn.split(':')[3]}, not {region}")
    services = existing.service_subnet_ids or []
    if len(set(services)) < len(services):
        yield _wrong(path, "service_subnet_ids", "a subnet is given twice; two zones are needed")


def _elsewhere_azure(path: Path, existing: AzureExisting) -> Iterator[Problem]:
    subnets = ("node_subnet_id", "service_subnet_id", "lustre_subnet_id")
    known = [(name, value) for name in subnets if (value := getattr(existing, name)) is not None]
    network = existing.virtual_network_id
    for name, domain in AZURE_ZONES.items():
        zone = getattr(existing, name)
        if zone is not None and network is None:
            yield Problem(
                id="EXI001",
                path=(*path, name),
                message=f"{name} given, but virtual_network_id missing",
                help="a zone is of use to a network that exists and is linked to it: name that, or leave the zone out",
            )
        if zone is not None and zone.rpartition("/")[2].lower() != domain:
            yield _wrong(path, name, f"{name} is of {zone.rpartition('/')[2]}, not of {domain}")
    for name, value in known:
        if network is not None and value.rpartition("/subnets/")[0].lower() != network.lower():
            yield _wrong(path, name, f"{name} is not in the virtual network {network.rpartition('/')[2]}")
    if len({value.lower() for _, value in known}) < len(known):
        yield _wrong(path, known[-1][0], "two subnets are the same; the file system needs one for itself")
    if existing.key_vault_id is not None and existing.key_url is not None:
        vault = existing.key_vault_id.rpartition("/")[2]
        if not existing.key_url.lower().startswith(f"https://{vault.lower()}.vault."):
            yield _wrong(path, "key_url", f"the key is not in the vault {vault}")


def _elsewhere_gcp(path: Path, existing: GcpExisting, region: str) -> Iterator[Problem]:
    subnetworks = [("subnetwork_id", existing.subnetwork_id)]
    subnetworks += [("gpu_subnetwork_ids", one) for one in existing.gpu_subnetwork_ids or ()]
    for name, value in (*subnetworks, ("key_id", existing.key_id)):
        found = re.search(r"/(?:regions|locations)/([^/]+)/", value or "")
        if found and found[1] != region:
            yield _wrong(path, name, f"{name} is in {found[1]}, not in {region}")
    projects = [re.match(r"projects/([^/]+)/", value or "") for value in (existing.network_id, existing.subnetwork_id)]
    if len({found[1] for found in projects if found}) > 1:
        yield _wrong(
            path, "subnetwork_id", "subnetwork_id is of another project than network_id, so of another network"
        )
    given = [value for _, value in subnetworks if value is not None]
    if len(set(given)) < len(given):
        yield _wrong(path, "gpu_subnetwork_ids", "a subnetwork is given twice; every interface needs its own")


def _wrong(path: Path, field: str, message: str) -> Problem:
    return Problem(id="EXI004", path=(*path, field), message=message, help="give ids of one place, that of the target")
