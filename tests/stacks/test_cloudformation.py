"""What the AWS stack asks for also passes cfn-lint as a CloudFormation template: a third opinion, on relations too."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from .cases import TYPICAL
from .projects import MONITOR, Case, recorded, stacks_python

_CHECK = MONITOR / "cloudformation.py"
_CASES = [
    Case(cloud="aws", instance=TYPICAL["aws"], nodes=4, scheduler=scheduler) for scheduler in ("slurm", "kubernetes")
]
_LEAST_TYPES = 13


def linted(resources: Sequence[Mapping[str, Any]], region: str = "us-east-1") -> dict[str, list[str]]:
    """Return findings, and the types that were translated."""
    done = subprocess.run(
        [str(stacks_python()), _CHECK],
        input=json.dumps({"region": region, "resources": list(resources)}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, list[str]] = json.loads(done.stdout)
    return result


def resources_of(case: Case) -> list[dict[str, Any]]:
    """Return what the translation needs of every resource of a case."""
    return [
        {"name": one.name, "type": one.type, "inputs": dict(one.inputs), "identities": list(one.identities)}
        for one in recorded(case).whole.cloud_resources
    ]


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_the_template_has_no_errors(case: Case) -> None:
    """Names, types, enumerations, required and conflicting properties, formats of ids, instance types of the region."""
    result = linted(resources_of(case))
    assert result["findings"] == []
    assert len(result["checked"]) >= _LEAST_TYPES


#: Type, path and wrong value, and what is said about it; planted at once, since starting cfn-lint takes seconds.
_PLANTED: Sequence[tuple[str, tuple[str | int, ...], Any, str]] = (
    ("aws:ec2/placementGroup:PlacementGroup", ("strategy",), "clstr", "E3030"),
    ("aws:ec2/launchTemplate:LaunchTemplate", ("instanceType",), "p5.49xlarge", "p5.49xlarge"),
    ("aws:ec2/launchTemplate:LaunchTemplate", ("metadataOptions", "httpTokens"), "optionel", "optionel"),
    ("aws:ec2/launchTemplate:LaunchTemplate", ("networkInterfaces", 0, "securityGroups", 0), "@subnet", "Properties"),
    ("aws:ec2/subnet:Subnet", ("vpcId",), "@securityGroup", "VpcId"),
    ("aws:kms/key:Key", ("deletionWindowInDays",), 3, "less than the minimum"),
    ("aws:kms/key:Key", ("keyUsage",), "ENCRYPT", "KeyUsage"),
    ("aws:rds/cluster:Cluster", ("backupRetentionPeriod",), 99, "BackupRetentionPeriod"),
    ("aws:iam/role:Role", ("maxSessionDuration",), 10, "less than the minimum"),
    ("aws:autoscaling/group:Group", ("maxSize",), None, "MaxSize"),
)


def _with(inputs: Any, path: tuple[str | int, ...], value: Any) -> Any:  # noqa: ANN401 - JSON
    if not path:
        return value
    if isinstance(inputs, list):
        return [_with(item, path[1:], value) if index == path[0] else item for index, item in enumerate(inputs)]
    return {**inputs, path[0]: _with(inputs.get(path[0]), path[1:], value)}


def test_cfn_lint_notices_what_it_can() -> None:
    """Each planted mistake makes an error that names it, ids of the wrong kind among them."""
    resources = resources_of(_CASES[0])
    ids = {one["type"].rpartition("/")[2].partition(":")[0]: one["identities"] for one in resources}
    for type_, path, value, _ in _PLANTED:
        at = next(index for index, one in enumerate(resources) if one["type"] == type_)
        wrong = value
        if isinstance(value, str) and value.startswith("@"):
            wrong = next(text for text in ids[value[1:]] if text.endswith("-id"))
        resources[at] = resources[at] | {"inputs": _with(resources[at]["inputs"], path, wrong)}
    found = linted(resources)["findings"]
    missed = [(type_, path) for type_, path, _, said in _PLANTED if not any(said in text for text in found)]
    assert missed == [], found
