"""The bill holds what the stacks create: read from their golden records, not from the bill's own table."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from clusterwright import assets
from clusterwright.facility.cloud_bill import CloudPart, cloud_parts

_GOLDEN = Path(__file__).parents[1] / "stacks" / "golden"
_OPTIONS = [(cloud, scheduler) for cloud in ("aws", "azure", "gcp") for scheduler in ("slurm", "kubernetes")]
_EXAMPLE = {"aws": "p5.48xlarge", "azure": "Standard_ND96isr_H100_v5", "gcp": "a3-highgpu-8g"}
#: Lines of their own in every bill: GPU nodes and the parallel file system.
_GPU_NODES_AND_FILES = {
    "aws:autoscaling/group:Group",
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "azure-native:storagecache:AmlFilesystem",
    "gcp:lustre/instance:Instance",
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
}
#: Nobody charges for these; a type that is new in a stack fails the test until it is here, billed or named as left out.
_FREE = re.compile(
    r"""aws:(iam/|eks/addon|eks/podIdentityAssociation|vpc/|s3/bucket[A-Z]|sns/topic[PS]|rds/(clusterParameterGroup|subnetGroup)
    |secretsmanager/secretPolicy|budgets/|fsx/dataRepositoryAssociation
    |ec2/(defaultRouteTable|defaultSecurityGroup|internetGateway|networkInterface|placementGroup|routeTable
    |routeTableAssociation|securityGroup|subnet|vpc):)
    |azure-native:(authorization|managedidentity|resources|consumption|dbformysql:Configuration
    |compute:DiskEncryptionSet|storage:(BlobContainer|BlobServiceProperties)
    |network:(NetworkInterface|NetworkSecurityGroup|PrivateDnsZoneGroup|Subnet|VirtualNetwork)
    |privatedns:VirtualNetworkLink)
    |gcp:(projects|serviceaccount|iap|billing|servicenetworking|sql/user|storage/bucketIAM|kms/(cryptoKeyIAM|keyRing)
    |secretmanager/secretIam
    |compute/(address|globalAddress|firewall|instanceIAMMember|network|subnetwork|resourcePolicy|router):)
    |kubernetes:""",
    re.VERBOSE,
)


def _paragraphs(cloud: str, scheduler: str) -> list[tuple[str, str]]:
    """Return (type, text) of each resource of a cloud's resources, foundation to nodes."""
    pages = [f"{cloud}-slurm-foundation", f"{cloud}-{scheduler}-cluster", f"{cloud}-{scheduler}-nodes"]
    found = []
    for page in pages:
        for text in (_GOLDEN / f"{page}.txt").read_text(encoding="utf-8").split("\n\n"):
            type_ = text.split(" ", 1)[0]
            if not type_.startswith(("pulumi:", "gpucluster:")):
                found.append((type_, text))
    return found


def _named_as_left_out() -> set[str]:
    with (assets.root() / "tco" / "not_counted.csv").open(encoding="utf-8", newline="") as lines:
        return {type_ for row in csv.DictReader(lines) for type_ in row["resources"].split()}


def _parts(cloud: str, scheduler: str) -> tuple[CloudPart, ...]:
    return cloud_parts(cloud=cloud, scheduler=scheduler, instance=_EXAMPLE[cloud])


@pytest.mark.parametrize(("cloud", "scheduler"), _OPTIONS)
def test_every_resource_is_billed_named_or_free(cloud: str, scheduler: str) -> None:
    """No resource type of a golden record is neither a line of the bill, nor left out by name, nor free."""
    billed = {part.resource for part in _parts(cloud, scheduler)} | _GPU_NODES_AND_FILES
    types = {type_ for type_, _ in _paragraphs(cloud, scheduler)}
    assert [t for t in sorted(types - billed - _named_as_left_out()) if not _FREE.match(t)] == []
    assert billed - _GPU_NODES_AND_FILES <= types, "a line pays a resource that the stacks do not create"


@pytest.mark.parametrize(("cloud", "scheduler"), _OPTIONS)
def test_machines_are_those_of_the_stack(cloud: str, scheduler: str) -> None:
    """Types and numbers of controller, login and system machines, and of the database, are those of the record."""
    found: Counter[str] = Counter()
    for type_, text in _paragraphs(cloud, scheduler):
        if type_ in (
            "aws:ec2/instance:Instance",
            "azure-native:compute:VirtualMachine",
            "gcp:compute/instance:Instance",
        ):
            found[re.findall(r'(?:instanceType: |"vmSize": |machineType: )"([^"]+)"', text)[0]] += 1
        elif "-system" in text.split("\n", 1)[0] and "LaunchTemplate" in type_:
            found[re.findall(r'instanceType: "([^"]+)"', text)[0]] += 0
        elif type_ == "aws:eks/nodeGroup:NodeGroup" and "gpt3-system-group" in text:
            found["m7i.xlarge"] += int(re.findall(r'"desiredSize": (\d+)', text)[0])
        elif type_ == "azure-native:containerservice:ManagedCluster":
            found[re.findall(r'"vmSize": "([^"]+)"', text)[0]] += int(re.findall(r'"count": (\d+)', text)[0])
        elif type_ == "gcp:container/nodePool:NodePool" and 'name: "system"' in text:
            found[re.findall(r'"machineType": "([^"]+)"', text)[0]] += int(re.findall(r"nodeCount: (\d+)", text)[0])
    billed: Counter[str] = Counter()
    for part in _parts(cloud, scheduler):
        if part.role in ("controller", "login", "system nodes"):
            billed[part.sku.partition("/")[2]] += int(part.quantity)
    assert billed == found


@pytest.mark.parametrize(("cloud", "scheduler"), _OPTIONS)
def test_counts_are_those_of_the_stack(cloud: str, scheduler: str) -> None:
    """As many gateways, addresses, endpoints, control planes, databases and keys are billed as the record has."""
    counted = ("accounting", "control plane", "nat", "address", "endpoint", "bastion", "key")
    billed: Counter[str] = Counter()
    for part in _parts(cloud, scheduler):
        if part.role in counted:
            billed[part.resource] += int(part.quantity)
    paragraphs = _paragraphs(cloud, scheduler)
    if cloud == "aws":  # a gateway endpoint is free
        paragraphs = [(type_, text) for type_, text in paragraphs if 'vpcEndpointType: "Gateway"' not in text]
    found = Counter(type_ for type_, _ in paragraphs if type_ in billed)
    if cloud == "gcp":  # the address of a NAT gateway is no resource of its own
        found["gcp:compute/routerNat:RouterNat"] *= 2
    assert billed == found


@pytest.mark.parametrize(("cloud", "scheduler"), _OPTIONS)
def test_disks_are_those_of_the_stack(cloud: str, scheduler: str) -> None:
    """System disks of GPU nodes and of service machines are of the sizes and kinds in the record."""
    size = re.compile(r'(?:"volumeSize"|"diskSizeGB"|"diskSizeGb"|osDiskSizeGB|diskSizeGb|"size")"?: (\d+)')
    service, node = 0, 0
    for type_, text in _paragraphs(cloud, scheduler):
        sizes = [int(found) for found in size.findall(text)]
        is_node = type_ in (
            "aws:ec2/launchTemplate:LaunchTemplate",
            "azure-native:compute:VirtualMachineScaleSet",
            "azure-native:containerservice:AgentPool",
            "gcp:compute/instanceTemplate:InstanceTemplate",
            "gcp:container/nodePool:NodePool",
        )
        machines = 2 if is_node and "system" in text.split("\n", 1)[0] else 1
        if is_node and machines == 1:
            node += sum(sizes)
        elif is_node or type_ in (
            "aws:ec2/instance:Instance",
            "azure-native:compute:VirtualMachine",
            "gcp:compute/instance:Instance",
        ):
            service += machines * sum(sizes)
    parts = _parts(cloud, scheduler)
    assert sum(part.quantity for part in parts if part.role == "node disk") == node
    if (cloud, scheduler) != ("azure", "kubernetes"):  # AKS sizes the disks of its system nodes by itself
        assert sum(part.quantity for part in parts if part.role == "service disk") == service
    kind = next(part.sku for part in parts if part.role == "node disk")
    if cloud == "gcp":
        nodes_page = (_GOLDEN / f"gcp-{scheduler}-nodes.txt").read_text(encoding="utf-8")
        assert f'"diskType": "{kind.partition("/")[2]}"' in nodes_page
