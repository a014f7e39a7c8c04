"""Runs the layers' real programs with Pulumi's mocks and records what they would send to the engine."""

import functools
import json
import runpy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import yaml
from pulumi.runtime import mocks, proto, rpc

LAYERS = ("foundation", "cluster", "nodes")
ACCOUNT = "123456789012"
RESOLVED_IMAGE = "ami-0abc0abc0abc0abc0"
EXISTING_VPC = "vpc-0aaaaaaaaaaaaaaa0"
EXISTING_SUBNETS = {
    "subnet-0aaaaaaaaaaaaaaa1": {"availabilityZone": "us-east-1a", "cidrBlock": "10.80.0.0/20"},
    "subnet-0aaaaaaaaaaaaaaa2": {"availabilityZone": "us-east-1a", "cidrBlock": "10.80.32.0/24"},
    "subnet-0aaaaaaaaaaaaaaa3": {"availabilityZone": "us-east-1b", "cidrBlock": "10.80.33.0/24"},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Registration:
    """One resource as the program registered it; inputs in the provider's own spelling."""

    layer: str
    urn: str
    type: str
    name: str
    inputs: dict[str, Any]
    parent: str
    provider: str
    protected: bool
    ignored_changes: tuple[str, ...]
    dependencies: frozenset[str]
    deleted_before_replacement: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """Everything that one run of the layers registered and exported, the exports by layer."""

    resources: tuple[Registration, ...]
    outputs: Mapping[str, Mapping[str, Any]]

    def of(self, type_: str, layer: str = "") -> list[Registration]:
        """All resources of a type, such as `aws:ec2/vpc:Vpc`, of one layer or of all."""
        return [one for one in self.resources if one.type == type_ and layer in ("", one.layer)]

    def one(self, type_: str, name: str = "", layer: str = "") -> Registration:
        """The only resource of a type whose name contains a text."""
        found = [resource for resource in self.of(type_, layer) if name in resource.name]
        assert len(found) == 1, f"{len(found)} resources of type {type_} named *{name}*"
        return found[0]


class Answers(mocks.Mocks):
    """Stands in for the cloud: plausible ids and the outputs that the programs read, or nothing, as in a preview.

    `stacks` holds the outputs of the layers that are up already, by the stack's full name.
    """

    def __init__(self, stacks: Mapping[str, Mapping[str, Any]], *, deployed: bool = True) -> None:
        self.stacks = stacks
        self.deployed = deployed

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        """Answer with the inputs and the attributes that AWS would add."""
        if args.typ == "pulumi:pulumi:StackReference":
            return args.name, {"name": args.name, "outputs": self.stacks[args.name], "secretOutputNames": []}
        if not self.deployed:
            return "", args.inputs
        service = args.typ.split(":")[1].split("/")[0]
        added: dict[str, Any] = {
            "arn": f"arn:aws:{service}:us-east-1:{ACCOUNT}:{args.name}",
            "name": args.inputs.get("name", args.name),
            "keyId": args.name,
            "bucket": args.name,
            "latestVersion": 7,
            "dnsName": f"{args.name}.fsx.us-east-1.amazonaws.com",
            "mountName": "fsxmount",
            "defaultRouteTableId": f"{args.name}-table",
            "privateIp": "10.64.0.20",
            "endpoint": f"{args.name}.rds.example.com",
            "masterUserSecrets": [{"secretArn": f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:rds!{args.name}"}],
        }
        return f"{args.name}-id", {**args.inputs, **added}

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Answer the look-ups of account, partition, image, zones, and of a network, key and bucket that exist."""
        answers: dict[str, dict[str, Any]] = {
            "aws:index/getCallerIdentity:getCallerIdentity": {"accountId": ACCOUNT},
            "aws:index/getPartition:getPartition": {"partition": "aws"},
            "aws:ssm/getParameter:getParameter": {"insecureValue": RESOLVED_IMAGE, "value": RESOLVED_IMAGE},
            "aws:index/getAvailabilityZones:getAvailabilityZones": {
                "names": [f"us-east-1{letter}" for letter in "cab"]
            },
            "aws:ec2/getVpc:getVpc": {"enableDnsSupport": True, "enableDnsHostnames": True},
            "aws:ec2/getSubnet:getSubnet": {
                "id": args.args.get("id"),
                "vpcId": EXISTING_VPC,
                "mapPublicIpOnLaunch": False,
                **EXISTING_SUBNETS.get(str(args.args.get("id")), {}),
            },
            "aws:kms/getKey:getKey": {
                "arn": args.args.get("keyId"),
                "enabled": True,
                "keyState": "Enabled",
                "keyUsage": "ENCRYPT_DECRYPT",
            },
            "aws:s3/getBucket:getBucket": {
                "bucket": args.args.get("bucket"),
                "arn": f"arn:aws:s3:::{args.args.get('bucket')}",
                "bucketRegion": "us-east-1",
            },
        }
        return answers[args.token]


class RecordingMonitor(mocks.MockMonitor):
    """The mocks hide parents, dependencies, protection and duplicate names; this keeps the whole request."""

    def __init__(self, layer: str, stacks: Mapping[str, Mapping[str, Any]], *, deployed: bool = True) -> None:
        super().__init__(Answers(stacks, deployed=deployed))
        self.layer = layer
        self.recorded: list[Registration] = []

    def RegisterResource(self, request: proto.resource_pb2.RegisterResourceRequest) -> Any:  # noqa: N802
        """Record, then answer as the mocks do."""
        response = super().RegisterResource(request)
        if request.type == "pulumi:pulumi:Stack":
            return response
        assert response.urn not in {one.urn for one in self.recorded}, f"registered twice: {response.urn}"
        self.recorded.append(
            Registration(
                layer=self.layer,
                urn=response.urn,
                type=request.type,
                name=request.name,
                inputs=_whole_numbers(rpc.deserialize_properties(request.object)),
                parent=request.parent,
                provider=request.provider,
                protected=request.protect,
                ignored_changes=tuple(request.ignoreChanges),
                dependencies=frozenset(request.dependencies),
                deleted_before_replacement=request.deleteBeforeReplace,
            )
        )
        return response


def _whole_numbers(value: Any) -> Any:
    """Undo the protocol's habit of sending every number as a float."""
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def example(project: Path, layer: str) -> dict[str, Any]:
    """Read the tests' base case of a layer, by full key."""
    return yaml.safe_load((project / "tests" / "example" / f"{layer}.yaml").read_text())["config"]


def declared(project: Path, layer: str) -> dict[str, dict[str, Any]]:
    """Read what a layer's Pulumi.yaml declares, by key."""
    return yaml.safe_load((project / layer / "Pulumi.yaml").read_text())["config"]


def engine_config(project: Path, layer: str, values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, str]:
    """Build the configuration as the engine hands it over: values, defaults of Pulumi.yaml, changes of a test.

    A change names a key (`nodeCount`) or a field of an object (`nodeType.fabric`); None removes it. A layer leaves the
    keys of other layers aside.
    """
    known = declared(project, layer)
    prefix = f"aws-gpu-{layer}"
    found = json.loads(json.dumps(values))
    for path, value in changes.items():
        key, _, field = path.partition(".")
        if ":" not in key and key not in known:
            continue
        full_key = key if ":" in key else f"{prefix}:{key}"
        target, last = (found.setdefault(full_key, {}), field) if field else (found, full_key)
        if value is None:
            target.pop(last, None)
        else:
            target[last] = value
    for key, entry in known.items():
        if "default" in entry:
            found.setdefault(f"{prefix}:{key}", entry["default"])
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in found.items()}


def run_layer(
    project: Path,
    layer: str,
    config: Mapping[str, str],
    monitor: RecordingMonitor,
    *,
    deployed: bool = True,
) -> Mapping[str, Any]:
    """Run one layer's program and return its outputs; the monitor keeps what it registered, even if it raises."""
    pulumi.runtime.set_mocks(
        monitor.mocks, project=f"aws-gpu-{layer}", stack="small", preview=not deployed, monitor=monitor
    )
    pulumi.runtime.set_all_config(dict(config))
    outputs: dict[str, Any] = {}

    @pulumi.runtime.test
    def program() -> pulumi.Output[Any]:
        root = pulumi.runtime.get_root_resource()
        root.outputs.clear()  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        runpy.run_path(str(project / layer / "__main__.py"))
        exported = dict(root.outputs)  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        return pulumi.Output.from_input(exported).apply(outputs.update)

    program()
    return outputs


def run_with(project: Path, configs: Mapping[str, Mapping[str, str]], *, deployed: bool = True) -> Recording:
    """Run the layers one after the other, each with the outputs of those before.

    Without `deployed` a layer sees no id of its own, as in a first preview; the layers before it are up.
    """
    stacks: dict[str, Mapping[str, Any]] = {}
    seen: list[Registration] = []
    for layer, config in configs.items():
        if not deployed:
            monitor = RecordingMonitor(layer, stacks, deployed=False)
            run_layer(project, layer, config, monitor, deployed=False)
            seen += monitor.recorded
        monitor = RecordingMonitor(layer, stacks)
        stacks[f"organization/aws-gpu-{layer}/small"] = run_layer(project, layer, config, monitor)
        seen += monitor.recorded if deployed else []
    # Registrations arrive in any order; sorted, two runs can be compared.
    outputs = {name.split("/")[1].removeprefix("aws-gpu-"): each for name, each in stacks.items()}
    return Recording(resources=tuple(sorted(seen, key=lambda one: one.urn)), outputs=outputs)


def example_configs(project: Path, changes: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The base case with changes, layer by layer, as the engine hands it over."""
    return {layer: engine_config(project, layer, example(project, layer), changes) for layer in LAYERS}


def run_program(project: Path, **changes: Any) -> Recording:
    """Run all layers once with the base case and some changes."""
    return run_with(project, example_configs(project, changes))


@functools.cache
def scenario(project: Path, frozen_changes: tuple[tuple[str, Any], ...]) -> Recording:
    """Run a scenario once for all tests that look at it."""
    return run_program(project, **dict(frozen_changes))


def every_text(value: Any) -> Iterator[str]:
    """Yield every string inside recorded inputs, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from every_text(item)
    elif isinstance(value, list):
        for item in value:
            yield from every_text(item)
