"""Runs the real programs of the layers with Pulumi's mocks and keeps every registration as the engine would get it."""

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
PROJECT_NUMBER = "123456789012"
LUSTRE_MOUNT = "10.20.0.5@tcp:/lustrefs"

# What the catalogue says about each machine type, in the words of the configuration.
NODE_TYPES: Mapping[str, Mapping[str, Any]] = {
    "a2-ultragpu-8g": {"gpuType": "a100", "fabric": "none", "gpuNetworks": 0, "mtu": 8896},
    "a3-highgpu-8g": {
        "gpuType": "h100",
        "fabric": "tcpx",
        "gpuNetworks": 4,
        "mtu": 8244,
        "image": "projects/my-gpu-project/global/images/tcpx-slurm-v1",
    },
    "a3-megagpu-8g": {"gpuType": "h100", "fabric": "tcpxo", "gpuNetworks": 8, "mtu": 8244},
    "a3-ultragpu-8g": {
        "gpuType": "h200",
        "fabric": "roce",
        "gpuNetworks": 1,
        "mtu": 8896,
        "rdma": True,
        "rdmaSubnets": 8,
        "nicType": "MRDMA",
    },
    "a4-highgpu-8g": {
        "gpuType": "b200",
        "fabric": "roce",
        "gpuNetworks": 1,
        "mtu": 8896,
        "rdma": True,
        "rdmaSubnets": 8,
        "nicType": "MRDMA",
    },
}
MACHINE_TYPES = tuple(NODE_TYPES)
TPU: Mapping[str, Any] = {
    "instanceType": "ct5p-hightpu-4t",
    "gpusPerNode": 4,
    "gpuType": "tpu-v5p",
    "cpus": 208,
    "memoryMib": 427246,
    "fabric": "ici",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Registration:
    """One resource as the program registered it; inputs in the provider's own spelling."""

    urn: str
    type: str
    name: str
    inputs: dict[str, Any]
    parent: str
    protected: bool
    ignored_changes: tuple[str, ...]
    dependencies: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """Everything that one run of the layers registered, and what each layer exported."""

    resources: tuple[Registration, ...]
    exports: Mapping[str, Mapping[str, Any]]

    @property
    def outputs(self) -> Mapping[str, Any]:
        """The exports of all layers; where two export the same name, the later one's."""
        return {name: value for exported in self.exports.values() for name, value in exported.items()}

    def in_layer(self, layer: str) -> list[Registration]:
        """All resources of a layer."""
        return [resource for resource in self.resources if f"::gcp-gpu-{layer}::" in resource.urn]

    def of(self, type_: str) -> list[Registration]:
        """All resources of a type such as `gcp:compute/network:Network`."""
        return [resource for resource in self.resources if resource.type == type_]

    def one(self, type_: str, name: str = "") -> Registration:
        """The only resource of a type whose name contains a text."""
        found = [resource for resource in self.of(type_) if name in resource.name]
        assert len(found) == 1, f"{len(found)} resources of type {type_} named *{name}*"
        return found[0]


class Answers(mocks.Mocks):
    """Stands in for Google Cloud: plausible ids and the outputs that the programs read."""

    def __init__(self, earlier: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__()
        self.earlier = earlier

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        """Answer with the inputs and the attributes that Google would add."""
        inputs = args.inputs
        if args.typ == "pulumi:pulumi:StackReference":
            layer = str(inputs["name"]).split("/")[1].removeprefix("gcp-gpu-")
            return args.name, {"name": inputs["name"], "outputs": self.earlier[layer], "secretOutputNames": []}
        account = f"{inputs.get('accountId', args.name)}@my-gpu-project.iam.gserviceaccount.com"
        added: dict[str, Any] = {
            "name": inputs.get("name", args.name),
            "selfLink": f"https://compute/{args.name}",
            "selfLinkUnique": f"https://compute/{args.name}?uniqueId=1",
            "email": account,
            "member": f"serviceAccount:{account}",
            "mountPoint": LUSTRE_MOUNT,
            "url": f"gs://{args.name}-1a2b3c4",
            "address": inputs.get("address", "10.20.0.0" if "globalAddress" in args.typ else "10.0.0.10"),
            "privateIpAddress": "10.20.16.3",
            "serverCaCerts": [{"cert": "certificate of the authority"}],
        }
        if args.typ == "gcp:projects/iAMCustomRole:IAMCustomRole":
            added["name"] = f"projects/my-gpu-project/roles/{inputs['roleId']}"
        if args.typ == "gcp:serviceaccount/account:Account":
            added["name"] = f"projects/my-gpu-project/serviceAccounts/{account}"
        if args.typ == "gcp:secretmanager/secret:Secret":
            return f"projects/my-gpu-project/secrets/{inputs['secretId']}", {**inputs, **added}
        return f"id-of-{args.name}", {**inputs, **added}

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Answer the look-ups of the project number, of Cloud Storage's own account and of somebody's subnetworks."""
        if args.token == "gcp:compute/getSubnetwork:getSubnetwork":
            network = "other" if "other" in args.args["selfLink"] else "shared"
            return {
                **args.args,
                "network": f"https://www.googleapis.com/compute/v1/projects/host/global/networks/{network}",
                "ipCidrRange": "10.20.0.0/20",
            }
        answers = {
            "gcp:organizations/getProject:getProject": {"number": PROJECT_NUMBER},
            "gcp:storage/getProjectServiceAccount:getProjectServiceAccount": {"emailAddress": "gs@google.example"},
        }
        return answers[args.token]


class RecordingMonitor(mocks.MockMonitor):
    """The mocks hide parents, dependencies, protection and duplicate names; this keeps the whole request."""

    def __init__(self, earlier: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        super().__init__(Answers(earlier or {}))
        self.recorded: list[Registration] = []

    def RegisterResource(self, request: proto.resource_pb2.RegisterResourceRequest) -> Any:  # noqa: N802
        """Record, then answer as the mocks do."""
        response = super().RegisterResource(request)
        if request.type in {"pulumi:pulumi:Stack", "pulumi:pulumi:StackReference"}:
            return response
        assert response.urn not in {resource.urn for resource in self.recorded}, f"registered twice: {response.urn}"
        self.recorded.append(
            Registration(
                urn=response.urn,
                type=request.type,
                name=request.name,
                inputs=_whole_numbers(rpc.deserialize_properties(request.object)),
                parent=request.parent,
                protected=request.protect,
                ignored_changes=tuple(request.ignoreChanges),
                dependencies=frozenset(request.dependencies),
            )
        )
        return response


def _whole_numbers(value: Any) -> Any:
    # The protocol sends every number as a float.
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def example_values(project: Path, layer: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """A layer's example configuration with a test's changes, keys with their namespace.

    A change names a key (`nodeCount`), a field of an object (`nodeType.fabric`) or `machine`, which sets all facts of a
    machine type; None removes. A key that the layer does not have is another layer's.
    """
    namespace = f"gcp-gpu-{layer}"
    path = next(path for path in sorted((project / layer).glob("Pulumi.*.yaml")) if path.name != "Pulumi.yaml")
    values: dict[str, Any] = yaml.safe_load(path.read_text())["config"]
    declared = yaml.safe_load((project / layer / "Pulumi.yaml").read_text())["config"]
    for change, value in changes.items():
        if change == "machine":
            defaults = {"rdma": False, "rdmaSubnets": 0, "nicType": "GVNIC"}
            node_type = values[f"{namespace}:nodeType"]
            node_type.update({**defaults, **NODE_TYPES[value], "instanceType": value})
            continue
        key, _, field = change.partition(".")
        if ":" not in key and key not in declared and key in all_keys(project):
            continue
        full_key = key if ":" in key else f"{namespace}:{key}"
        target, last = (values[full_key], field) if field else (values, full_key)
        if value is None:
            target.pop(last, None)
        else:
            target[last] = value
    return values


@functools.cache
def all_keys(project: Path) -> frozenset[str]:
    """Keys that any layer declares."""
    files = (project / layer / "Pulumi.yaml" for layer in LAYERS)
    return frozenset(key for file in files for key in yaml.safe_load(file.read_text())["config"])


def plain_values(project: Path, layer: str, **changes: Any) -> dict[str, Any]:
    """The same without namespaces, as `read_settings` takes it."""
    values = example_values(project, layer, {path.replace("__", "."): value for path, value in changes.items()})
    return {key.split(":")[1]: value for key, value in values.items()}


def run_layer(
    project: Path,
    layer: str,
    changes: Mapping[str, Any],
    monitor: RecordingMonitor,
) -> dict[str, Any]:
    """Run a layer's program and return its exports; the monitor knows what was registered even if the program raises."""
    pulumi.runtime.set_mocks(monitor.mocks, project=f"gcp-gpu-{layer}", stack="test", preview=False, monitor=monitor)
    values = example_values(project, layer, changes)
    pulumi.runtime.set_all_config(
        {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()},
        secret_keys=[key for key in values if key.endswith(":accountingPassword")],
    )
    exports: dict[str, Any] = {}

    @pulumi.runtime.test
    def program() -> pulumi.Output[Any]:
        root = pulumi.runtime.get_root_resource()
        root.outputs.clear()  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        runpy.run_path(str(project / layer / "__main__.py"))
        exported = dict(root.outputs)  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        return pulumi.Output.from_input(exported).apply(exports.update)

    program()
    return exports


def run_with(project: Path, changes: Mapping[str, Any]) -> Recording:
    """Run the layers one after the other, each with the exports of those before it."""
    exports: dict[str, Mapping[str, Any]] = {}
    resources: list[Registration] = []
    for layer in LAYERS:
        monitor = RecordingMonitor(exports)
        exports[layer] = run_layer(project, layer, changes, monitor)
        resources += monitor.recorded
    # Registrations arrive in any order; sorted, two runs can be compared.
    return Recording(resources=tuple(sorted(resources, key=lambda one: one.urn)), exports=exports)


@functools.cache
def _run_once(project: Path, changes_json: str) -> Recording:
    return run_with(project, json.loads(changes_json))


def scenario(project: Path, **changes: Any) -> Recording:
    """Run a scenario, once for all tests that look at it. In a name two underscores stand for the dot of a field."""
    return _run_once(project, json.dumps({path.replace("__", "."): value for path, value in changes.items()}))


def every_text(value: Any) -> Iterator[str]:
    """Every string inside recorded inputs, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from every_text(item)
    elif isinstance(value, list):
        for item in value:
            yield from every_text(item)
