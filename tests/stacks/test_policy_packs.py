"""Each project's policy pack passes on what the project asks for, and every one of its rules can say no.

The pack runs in its own server and environment, as the engine would run it. The mistakes are those of `mutations.py`,
and for what only an addition can break, the ones added here.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusterwright.checks.preflight.records import Resource

from .cases import TYPICAL, VARIANTS, declares, stacks
from .mutations import mutants
from .policies import policy_python, violations
from .projects import Case, recorded, write
from .proof import sdk
from .small_stacks import SMALL_STACKS

_ANYONE = '{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "x"}]}'
_MISSPELT = (
    '{"Statement": [{"Effect": "Allow", "Action": "x:Y", "Resource": "x",'
    ' "Condition": {"Bool": {"aws:SecureTransprt": "true"}}}]}'
)
_LIMITED = '{"Statement": [{"Effect": "Allow", "Action": "fsx:DescribeFileSystems", "Resource": "arn:aws:fsx:x:1:y"}]}'
_DATA = '{"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::data/*"}]}'
_BLOB_READER = "/providers/Microsoft.Authorization/roleDefinitions/2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
_OWNER = "/providers/Microsoft.Authorization/roleDefinitions/8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
_DENY = {
    "name": "nobody",
    "access": "Deny",
    "direction": "Inbound",
    "priority": 100,
    "protocol": "*",
    "sourceAddressPrefix": "*",
    "destinationAddressPrefix": "*",
    "destinationPortRange": "*",
}
#: Cloud to type and inputs of resources, each in a stack of its own, for rules against what no project asks for.
ADDED: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "aws": [
        ("aws:ec2/launchTemplate:LaunchTemplate", {"networkInterfaces": [{"associatePublicIpAddress": "true"}]}),
        ("aws:ec2/capacityBlockReservation:CapacityBlockReservation", {"capacityBlockOfferingId": "cb-1"}),
        ("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", {"cidrIpv4": "0.0.0.0/0"}),
        ("aws:s3/bucket:Bucket", {"forceDestroy": True}),
        ("aws:s3/bucketPolicy:BucketPolicy", {"policy": _ANYONE}),
        ("aws:iam/rolePolicy:RolePolicy", {"policy": _MISSPELT}),
        ("aws:iam/rolePolicy:RolePolicy", {"policy": _LIMITED}),
        ("aws:iam/rolePolicy:RolePolicy", {"policy": _DATA}),
        ("aws:eks/cluster:Cluster", {"vpcConfig": {"endpointPublicAccess": True}}),
        ("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup", {"ingress": [{"protocol": "-1"}]}),
        ("aws:rds/cluster:Cluster", {"masterPassword": "plain", "skipFinalSnapshot": True}),
    ],
    "azure": [
        ("azure-native:authorization:RoleAssignment", {"roleDefinitionId": _OWNER, "scope": "/subscriptions/s"}),
        (
            "azure-native:authorization:RoleAssignment",
            {"roleDefinitionId": _BLOB_READER, "principalType": "ServicePrincipal", "scope": "/subscriptions/s/x"},
        ),
        ("azure-native:authorization:RoleDefinition", {"permissions": [{"actions": ["*"]}]}),
        ("azure-native:authorization:ManagementLockByScope", {"level": "ReadOnly"}),
        ("azure-native:containerservice:ManagedCluster", {"apiServerAccessProfile": {"enablePrivateCluster": False}}),
        ("azure-native:storage:BlobContainer", {"publicAccess": "Blob"}),
        (
            "azure-native:compute:VirtualMachineScaleSet",
            {"sku": {"name": "Standard_ND96isr_H100_v5"}, "zones": ["1", "2"]},
        ),
        ("azure-native:network:NetworkInterface", {"ipConfigurations": [{"publicIPAddress": {"id": "x"}}]}),
    ],
    "gcp": [
        ("gcp:storage/bucketIAMMember:BucketIAMMember", {"member": "allUsers", "role": "roles/storage.objectViewer"}),
        (
            "gcp:storage/bucketIAMMember:BucketIAMMember",
            {"member": "serviceAccount:nodes@p.iam.gserviceaccount.com", "role": "roles/storage.objectViewer"},
        ),
        ("gcp:projects/iAMBinding:IAMBinding", {"role": "roles/owner", "members": ["serviceAccount:a@p"]}),
        ("gcp:container/cluster:Cluster", {"name": "open"}),
        (
            "gcp:container/nodePool:NodePool",
            {"nodeConfig": {"guestAccelerators": [{"count": 8}]}, "nodeLocations": ["us-central1-a", "us-central1-b"]},
        ),
        ("gcp:projects/iAMCustomRole:IAMCustomRole", {"permissions": ["compute.*"]}),
    ],
}
#: A namespace of jobs with nothing around it, for the rules of Kubernetes in the packs of every cloud.
_OPEN_NAMESPACE = ("kubernetes:core/v1:Namespace", {"metadata": {"name": "workload"}})
#: Cloud to rules whose module every pack has, and which only another cloud's applies.
OF_ANOTHER: dict[str, set[str]] = {
    "aws": {"jobs-off-the-nodes-identity"},
    "azure": set(),
    "gcp": {"jobs-off-the-nodes-identity"},
}
#: Cloud to types of which a stack has none, for rules of what does not go without them; nothing in it is protected.
DATA_GROUP_LOCK = "azure-native:authorization:ManagementLockByScope"
LEFT_OUT = {
    "aws": (
        "aws:ec2/placementGroup:PlacementGroup",
        "aws:ec2/routeTableAssociation:RouteTableAssociation",
        "aws:s3/bucketVersioning:BucketVersioning",
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    ),
    "azure": (
        "azure-native:authorization:ManagementLockByScope",
        "azure-native:privatedns:VirtualNetworkLink",
    ),
    "gcp": ("gcp:compute/firewall:Firewall",),
}
#: Cloud to inputs that the resources of a type have instead, in a stack of their own, for rules of stacks.
CHANGED: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "aws": [("aws:ec2/launchTemplate:LaunchTemplate", {"placement": {"groupName": "another"}})],
    "azure": [
        ("azure-native:network:NetworkSecurityGroup", {"securityRules": [_DENY]}),
        ("azure-native:compute:VirtualMachineScaleSet", {"proximityPlacementGroup": {"id": "x"}}),
    ],
    "gcp": [("gcp:compute/instanceTemplate:InstanceTemplate", {"resourcePolicies": None})],
}
#: Mistakes in values; the pack does not see structure, and types are the SDK's business.
_KINDS = (
    "an optional property left out",
    "a truth value the other way round",
    "a misspelt word",
    "a policy that allows everything",
    "an address range open to everybody",
    "an element of a list left out",
    "an element of a list twice",
    "a number that is 0",
)


@pytest.fixture(autouse=True)
def _environment() -> None:
    """Skip where the packs' environment is not installed, and fail where every engine has to be there."""
    if policy_python() is not None:
        return
    message = "the policy packs' environment is not installed (make .venv-policy/installed)"
    if os.environ.get("CLUSTERWRIGHT_REQUIRE_ENGINES") == "1":
        pytest.fail(message)
    pytest.skip(message)


def cases_of(cloud: str, scheduler: str) -> Iterator[Case]:
    """Yield the typical case of a stack and its variants."""
    for changes in ((), *VARIANTS[cloud].values()):
        if all(declares(cloud, scheduler, key) for key, _ in changes):
            yield Case(cloud=cloud, instance=TYPICAL[cloud], nodes=4, scheduler=scheduler, changes=changes)


def asked(one: Resource, stack: str) -> dict[str, Any]:
    """Return a registration as the pack is asked about it, alone and as a part of its stack.

    Args:
        one: the resource.
        stack: anything that tells stacks of one name apart.
    """
    behind = {name: [f"{urn}-{stack}" for urn in urns] for name, urns in one.property_dependencies.items()}
    own = {"urn": f"{one.urn}-{stack}", "type": one.type, "name": one.name, "inputs": dict(one.inputs)}
    return own | {
        "stack": f"{one.urn.split('::')[1]}-{stack}",
        "behind": behind,
        "protect": one.protect,
        "ignores": list(one.ignore_changes),
    }


def with_inputs(one: Resource, changed: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Return a registration as a part of a stack in which some types have other inputs."""
    other = {key: value for kind, inputs in changed if kind == one.type for key, value in inputs.items()}
    as_asked = asked(one, "changed")
    behind = {key: urns for key, urns in as_asked["behind"].items() if key not in other}
    return as_asked | {"inputs": as_asked["inputs"] | other, "behind": behind}


def said(cloud: str, scheduler: str, resources: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return what a project's pack says of some resources."""
    with tempfile.TemporaryDirectory() as folder:
        write(next(cases_of(cloud, scheduler)), Path(folder))
        return violations(Path(folder) / "policy", resources)


def rules_of(cloud: str, scheduler: str) -> set[str]:
    """Return the names of a project's rules."""
    with tempfile.TemporaryDirectory() as folder:
        write(next(cases_of(cloud, scheduler)), Path(folder))
        sources = [path.read_text() for path in (Path(folder) / "policy").glob("*.py")]
    return {name for source in sources for name in re.findall(r'Rule\(\s*name="([a-z-]+)"', source)}


@pytest.mark.parametrize(("cloud", "scheduler"), stacks())
def test_the_pack_passes_on_the_project(cloud: str, scheduler: str) -> None:
    """No violation in any way to buy capacity."""
    resources = [
        asked(one, str(index))
        for index, case in enumerate(cases_of(cloud, scheduler))
        for one in recorded(case).whole.cloud_resources
    ]
    assert said(cloud, scheduler, resources) == []


@pytest.mark.parametrize(("cloud", "scheduler"), [one for one in stacks() if one[1] == "slurm"])
def test_every_rule_can_say_no(cloud: str, scheduler: str) -> None:
    """Among the mistakes made by rule, each rule of the pack finds one, and those of small stacks are named."""
    run = recorded(next(cases_of(cloud, scheduler)))
    made = (one for one in mutants(run, sdk()) if one.kind in _KINDS and one.resource is not None)
    alone = (asked(one.resource, str(index)) for index, one in enumerate(made) if one.resource is not None)
    wrong = [{key: value for key, value in one.items() if key != "stack"} for one in alone]
    wrong += [
        {
            "urn": f"urn:pulumi:small::x::{kind}::added",
            "type": kind,
            "name": "added",
            "inputs": inputs,
            "stack": f"added-{index}",
            "behind": {},
            "protect": True,
            "ignores": [],
        }
        for index, (kind, inputs) in enumerate((*ADDED[cloud], _OPEN_NAMESPACE))
    ]
    unique = [{**one, "urn": f"{one['urn']}-{index}"} for index, one in enumerate(wrong)]
    unique += [
        asked(one, "less") | {"protect": False, "ignores": []}
        for one in run.whole.cloud_resources
        if one.type not in LEFT_OUT[cloud]
    ]
    unique += [with_inputs(one, CHANGED[cloud]) for one in run.whole.cloud_resources]
    unique += [asked(one, "open") for one in run.whole.cloud_resources if one.type != DATA_GROUP_LOCK]
    small = {f"{rule}-{index}": rule for index, (rule, _) in enumerate(SMALL_STACKS[cloud])}
    for stack, (_, parts) in zip(small, SMALL_STACKS[cloud], strict=True):
        unique += [part.asked(stack) for part in parts]
    found = said(cloud, scheduler, unique)
    named = {(one["urn"].split("::")[0].rpartition(":")[2], one["policy"]) for one in found}
    assert [stack for stack, rule in small.items() if (stack, rule) not in named] == []
    assert rules_of(cloud, scheduler) - OF_ANOTHER[cloud] - {one["policy"] for one in found} == set()
