"""The stand-in provider by itself, through its protocol in the engine's order, and what it knows of the clouds."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.stacks.cases import TYPICAL
from tests.stacks.projects import MONITOR, Case, recorded, stacks_python

_PROVIDER = MONITOR / "provider.py"
_SPEAKER = MONITOR / "speak_to_provider.py"
_URN = "urn:pulumi:small::p::"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """Write a plugin as the engine looks for one on the path."""
    if stacks_python() is None:
        if os.environ.get("CLUSTERWRIGHT_REQUIRE_ENGINES") == "1":
            pytest.fail("the stacks' environment is not installed (make .venv-stacks/installed)")
        pytest.skip("the stacks' environment is not installed (make .venv-stacks/installed)")
    program = tmp_path / "pulumi-resource-aws"
    program.write_text(f'#!/bin/sh\nexec "{stacks_python()}" "{_PROVIDER}" "$@"\n')
    program.chmod(0o755)
    return program


def spoken(plugin: Path, resources: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a plugin answers to the engine's calls."""
    done = subprocess.run(
        [str(stacks_python()), _SPEAKER, plugin],
        input=json.dumps(resources),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def test_the_stand_in_answers_in_the_engine_s_order(plugin: Path) -> None:
    """Ids and outputs only once deployed, secrets kept, no change against itself, a change where one is."""
    topic = {"urn": f"{_URN}aws:sns/topic:Topic::topic", "inputs": {"displayName": {"$secret": "hidden"}, "tags": {}}}
    said = spoken(plugin, [topic])
    assert (said["version"], said["secrets"], said["previews"], said["failures"]) == ("99.0.0", True, True, [])
    one = said["resources"][topic["urn"]]
    assert one["previewed"]["id"] == ""
    assert "arn" not in one["previewed"]["outputs"]
    assert one["made"]["id"] == one["read"]
    assert one["made"]["id"].startswith("topic-topic-id-")
    assert one["made"]["outputs"]["arn"] == "arn:aws:sns:us-east-1:123456789012:topic/topic"
    assert one["made"]["outputs"]["displayName"] == {"$secret": "hidden"}
    assert (one["same"], one["changed"]) == ([], ["tags"])
    assert said["partition"] == "aws"


def test_the_stand_in_gives_names_as_the_providers_do(plugin: Path) -> None:
    """A resource without a name gets its logical name with a random end; a given name or prefix is left alone."""
    topics = [
        {"urn": f"{_URN}aws:sns/topic:Topic::topic", "inputs": {}},
        {"urn": f"{_URN}aws:sns/topic:Topic::named", "inputs": {"name": "mine"}},
        {"urn": f"{_URN}aws:sns/topic:Topic::begun", "inputs": {"namePrefix": "mine-"}},
    ]
    said = spoken(plugin, topics)["resources"]
    given, named, begun = (said[topic["urn"]]["made"]["outputs"] for topic in topics)
    assert given["name"].startswith("topic-")
    assert len(given["name"]) == len("topic-") + 7
    assert named["name"] == "mine"
    assert begun["namePrefix"] == "mine-"


def test_the_stand_in_refuses_what_the_sdk_has_no_place_for(plugin: Path) -> None:
    """A misspelt property, a wrong word and a missing property are failures of Check, each at its place."""
    template = {
        "urn": f"{_URN}aws:ec2/launchTemplate:LaunchTemplate::template",
        "inputs": {"networkInterfaces": [{"deviceIdx": 1}]},
    }
    group = {"urn": f"{_URN}aws:ec2/placementGroup:PlacementGroup::group", "inputs": {"strategy": "clstr"}}
    empty = {"urn": f"{_URN}aws:ec2/placementGroup:PlacementGroup::empty", "inputs": {}}
    failures = spoken(plugin, [template, group, empty])["failures"]
    assert [(name, path) for name, path, _ in failures] == [
        ("template", "networkInterfaces[0].deviceIdx"),
        ("group", "strategy"),
        ("empty", "strategy"),
    ]


def test_the_stand_in_takes_every_resource_of_a_project(plugin: Path) -> None:
    """What the recorded layers ask for passes Check and gets the ids that the recording monitor gives, made unique."""
    case = Case(cloud="aws", instance=TYPICAL["aws"], nodes=4)
    ours = [one for one in recorded(case).whole.cloud_resources if one.type.startswith("aws:ec2/")]
    said = spoken(plugin, [{"urn": one.urn, "inputs": one.inputs} for one in ours])
    assert said["failures"] == []
    assert all(said["resources"][one.urn]["made"]["id"].rpartition("-")[0] in one.identities for one in ours)


_ASKED_IN_THE_STACKS_ENVIRONMENT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from changes import differences, replaces
from stand_in_cloud import RefusedError, StandInCloud
print(json.dumps(eval(sys.argv[2])))
"""


def answered(question: str) -> Any:  # noqa: ANN401 - JSON
    """Return what an expression over the stand-in's own modules gives."""
    done = subprocess.run(
        [str(stacks_python()), "-c", _ASKED_IN_THE_STACKS_ENVIRONMENT, str(MONITOR), question],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("type_", "path", "inputs", "replacing"),
    [
        ("aws:ec2/instance:Instance", "ami", "{}", True),
        ("aws:ec2/instance:Instance", "instanceType", "{}", False),
        ("aws:ec2/instance:Instance", "userDataBase64", "{}", False),
        ("aws:ec2/instance:Instance", "userDataBase64", "{'userDataReplaceOnChange': True}", True),
        ("aws:ec2/launchTemplate:LaunchTemplate", "userData", "{}", False),
        ("azure-native:compute:VirtualMachine", "osProfile.customData", "{}", True),
        ("azure-native:compute:VirtualMachine", "userData", "{}", False),
        ("azure-native:compute:VirtualMachineScaleSet", "sku.capacity", "{}", False),
        ("gcp:compute/instance:Instance", "metadataStartupScript", "{}", True),
        ("gcp:compute/instance:Instance", 'metadata["startup-script"]', "{}", False),
        ("gcp:compute/instanceTemplate:InstanceTemplate", 'metadata["startup-script"]', "{}", True),
        ("gcp:compute/instanceGroupManager:InstanceGroupManager", "targetSize", "{}", False),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "subnetIds[0]", "{}", True),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "storageCapacity", "{}", False),
        ("aws:autoscaling/group:Group", "availabilityZones[0]", "{}", False),
        ("azure-native:containerservice:ManagedCluster", "networkProfile.outboundType", "{}", True),
        ("azure-native:containerservice:ManagedCluster", "networkProfile.natGatewayProfile", "{}", False),
        ("azure-native:storagecache:AmlFilesystem", "hsm.settings.container", "{}", True),
        ("gcp:lustre/instance:Instance", "gkeSupportEnabled", "{}", False),
    ],
)
def test_what_replaces_follows_the_providers(
    plugin: Path, type_: str, path: str, inputs: str, *, replacing: bool
) -> None:
    """The table has what its header names as sources, and a path covers what is below it."""
    assert plugin.exists()
    assert answered(f"replaces({type_!r}, {path!r}, {inputs}, 'name')") is replacing
    assert answered(f"replaces({type_!r}, 'name', {inputs}, 'name')") is True


def test_differences_name_paths_and_kinds(plugin: Path) -> None:
    """Each leaf that differs is one difference; what is secret is one value."""
    assert plugin.exists()
    old = {"a": {"b": 1, "x-y": 1}, "l": [1, 2], "s": {"$secret": {"k": 1}}}
    new = {"a": {"b": 2}, "l": [1, 3, 4], "s": {"$secret": {"k": 2}}}
    assert answered(f"list(differences({old}, {new}))") == [
        ["a.b", "UPDATE"],
        ['a["x-y"]', "DELETE"],
        ["l[1]", "UPDATE"],
        ["l[2]", "ADD"],
        ["s", "UPDATE"],
    ]


_ACCOUNT_STORY = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from stand_in_cloud import RefusedError, StandInCloud

account = StandInCloud(Path(sys.argv[2]))

def made(type_, id_, name=None, **inputs):
    account.create({"type": type_, "id": id_, "urn": "u", "inputs": inputs, "outputs": {}}, name)

def refusal(call, *arguments):
    try:
        call(*arguments)
    except RefusedError as error:
        return str(error).partition(":")[0]

database = "aws:rds/cluster:Cluster"
made(database, "db", "db", deletionProtection=True)
said = {"protected": refusal(account.delete, "db")}
account.update("db", {"deletionProtection": False}, {})
said["lifted"] = refusal(account.delete, "db")
made("aws:ec2/vpc:Vpc", "vpc")
made("aws:ec2/subnet:Subnet", "subnet", vpcId="vpc")
said["used"] = refusal(account.delete, "vpc")
account.delete("subnet")
said["free"] = refusal(account.delete, "vpc")
made("azure-native:authorization:ManagementLockByScope", "lock", scope="/groups/data")
made("azure-native:storagecache:AmlFilesystem", "/groups/data/fs")
said["locked"] = refusal(account.delete, "/groups/data/fs")
account.delete("lock")
said["unlocked"] = refusal(account.delete, "/groups/data/fs")
made("aws:sns/topic:Topic", "one", "alerts")
said["name taken"] = refusal(lambda: made("aws:sns/topic:Topic", "two", "alerts"))
said["gone"] = refusal(account.update, "db", {}, {})
said["left"] = [one["id"] for one in account.all()]
print(json.dumps(said))
"""


def test_the_account_refuses_what_a_cloud_refuses(plugin: Path, tmp_path: Path) -> None:
    """Protected, locked or used things stay, a name is given once, and what is gone cannot be changed."""
    assert plugin.exists()
    done = subprocess.run(
        [str(stacks_python()), "-c", _ACCOUNT_STORY, str(MONITOR), str(tmp_path / "account")],
        stdout=subprocess.PIPE,
        stderr=sys.stderr,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == {
        "protected": "DeletionProtected",
        "lifted": None,
        "used": "DependencyViolation",
        "free": None,
        "locked": "ScopeLocked",
        "unlocked": None,
        "name taken": "AlreadyExists",
        "gone": "NotFound",
        "left": ["one"],
    }
