"""What the AWS stack asks for also fits Amazon's own service models, a second opinion beside Pulumi's SDK."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from .projects import MONITOR, Case, recorded, stacks_python

_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
_CHECK = MONITOR / "aws_models.py"
_BLOCK = (("capacity", "capacity-block"), ("reservationId", "cr-0123456789abcdef0"))
_CASES = (
    Case(cloud="aws", instance="p5.48xlarge", nodes=1),
    Case(cloud="aws", instance="p6-b300.48xlarge", nodes=64, changes=_BLOCK),
)


def checked(resources: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Return findings, and the types that were checked."""
    done = subprocess.run(
        [str(stacks_python()), _CHECK], input=json.dumps(resources), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, list[str]] = json.loads(done.stdout)
    return result


def inputs_of(case: Case) -> list[dict[str, Any]]:
    """Return name, type and inputs of every resource of a case."""
    return [{"name": one.name, "type": one.type, "inputs": one.inputs} for one in recorded(case).whole.cloud_resources]


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_inputs_fit_the_service_models(case: Case) -> None:
    """Names, types, ranges, required parameters and enumerations of the API, for every type that is one call."""
    result = checked(inputs_of(case))
    assert result["findings"] == []
    assert len(result["checked"]) >= 12


def test_the_models_notice_what_they_can() -> None:
    """An unknown key, a wrong type, a wrong value and a missing parameter each make a finding."""
    resources = inputs_of(_CASES[0])
    by_type = {one["type"]: one for one in resources}
    template = by_type[_TEMPLATE]["inputs"]
    lustre = by_type[_LUSTRE]["inputs"]
    market = {"instanceMarketOptions": {"marketType": "capacity_block"}}
    homeless = {key: value for key, value in lustre.items() if key != "subnetIds"}
    wrong = [
        (_TEMPLATE, template | {"instanceType": "p5.49xlarge"}, "none of InstanceType"),
        (_TEMPLATE, template | {"networkInterfaces": [{"deviceIdx": 1}]}, "DeviceIdx"),
        (_TEMPLATE, template | market, "none of MarketType"),
        (_LUSTRE, lustre | {"deploymentType": "PERSISTANT_9"}, "none of LustreDeploymentType"),
        (_LUSTRE, lustre | {"storageCapacity": "lots"}, "StorageCapacity"),
        (_LUSTRE, homeless, "SubnetIds"),
    ]
    for type_, inputs, said in wrong:
        found = checked([{"name": "planted", "type": type_, "inputs": inputs}])["findings"]
        assert any(said in text for text in found), found
