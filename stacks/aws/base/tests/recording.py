"""Runs the real program with Pulumi's mocks and records what it would send to the engine."""

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

PROJECT = "clusterwright-aws"
ACCOUNT = "123456789012"
RESOLVED_IMAGE = "ami-0abc0abc0abc0abc0"


@dataclass(frozen=True, kw_only=True, slots=True)
class Registration:
    """One resource as the program registered it; inputs in the provider's own spelling."""

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
    """Everything one run of the program registered and exported."""

    resources: tuple[Registration, ...]
    outputs: Mapping[str, Any]

    def of(self, type_: str) -> list[Registration]:
        """All resources of a type, such as `aws:ec2/vpc:Vpc`."""
        return [one for one in self.resources if one.type == type_]

    def one(self, type_: str, name: str = "") -> Registration:
        """The only resource of a type whose name contains a text."""
        found = [resource for resource in self.of(type_) if name in resource.name]
        assert len(found) == 1, f"{len(found)} resources of type {type_} named *{name}*"
        return found[0]


class Answers(mocks.Mocks):
    """Stands in for the cloud: plausible ids and the outputs that the program reads, or nothing, as in a preview."""

    def __init__(self, *, deployed: bool = True) -> None:
        self.deployed = deployed

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        """Answer with the inputs and the attributes that AWS would add."""
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
        }
        return f"{args.name}-id", {**args.inputs, **added}

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Answer the look-ups of account, partition and image."""
        answers = {
            "aws:index/getCallerIdentity:getCallerIdentity": {"accountId": ACCOUNT},
            "aws:index/getPartition:getPartition": {"partition": "aws"},
            "aws:ssm/getParameter:getParameter": {"insecureValue": RESOLVED_IMAGE, "value": RESOLVED_IMAGE},
        }
        return answers[args.token]


class RecordingMonitor(mocks.MockMonitor):
    """The mocks hide parents, dependencies, protection and duplicate names; this keeps the whole request."""

    def __init__(self, *, deployed: bool = True) -> None:
        super().__init__(Answers(deployed=deployed))
        self.deployed = deployed
        self.recorded: list[Registration] = []

    def RegisterResource(self, request: proto.resource_pb2.RegisterResourceRequest) -> Any:  # noqa: ANN401, N802
        """Record, then answer as the mocks do."""
        response = super().RegisterResource(request)
        if request.type == "pulumi:pulumi:Stack":
            return response
        assert response.urn not in {one.urn for one in self.recorded}, f"registered twice: {response.urn}"
        self.recorded.append(
            Registration(
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


def _whole_numbers(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Undo the protocol's habit of sending every number as a float."""
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def engine_config(project: Path, changes: Mapping[str, Any]) -> dict[str, str]:
    """Build the configuration as the engine hands it over: example file, defaults of Pulumi.yaml, changes of a test.

    A change names a key (`nodeCount`) or a field of an object (`nodeType.fabric`); None removes it.
    """
    values: dict[str, Any] = yaml.safe_load((project / "Pulumi.example.yaml").read_text())["config"]
    for path, value in changes.items():
        key, _, field = path.partition(".")
        full_key = key if ":" in key else f"{PROJECT}:{key}"
        target, last = (values[full_key], field) if field else (values, full_key)
        if value is None:
            target.pop(last, None)
        else:
            target[last] = value
    for key, declared in yaml.safe_load((project / "Pulumi.yaml").read_text())["config"].items():
        if "default" in declared:
            values.setdefault(f"{PROJECT}:{key}", declared["default"])
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}


def run_program(project: Path, **changes: Any) -> Recording:  # noqa: ANN401
    """Run the program once with the example configuration and some changes."""
    return run_with(project, changes)


def run_with(project: Path, changes: Mapping[str, Any], monitor: RecordingMonitor | None = None) -> Recording:
    """Run the program; give a monitor to see what was registered even if the program raises."""
    monitor = monitor or RecordingMonitor()
    pulumi.runtime.set_mocks(
        monitor.mocks, project=PROJECT, stack="test", preview=not monitor.deployed, monitor=monitor
    )
    pulumi.runtime.set_all_config(engine_config(project, changes))
    outputs: dict[str, Any] = {}

    @pulumi.runtime.test
    def program() -> pulumi.Output[Any]:
        root = pulumi.runtime.get_root_resource()
        root.outputs.clear()  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        runpy.run_path(str(project / "__main__.py"))
        exported = dict(root.outputs)  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        return pulumi.Output.from_input(exported).apply(outputs.update)

    program()
    # Registrations arrive in any order; sorted, two runs can be compared.
    return Recording(resources=tuple(sorted(monitor.recorded, key=lambda one: one.urn)), outputs=outputs)


@functools.cache
def scenario(project: Path, frozen_changes: tuple[tuple[str, Any], ...]) -> Recording:
    """Run a scenario once for all tests that look at it."""
    return run_with(project, dict(frozen_changes))


def every_text(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
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
