"""Run the unmodified layers against Pulumi mocks and record what they register."""

import asyncio
import json
import runpy
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
import yaml
from pulumi.runtime import mocks as pulumi_mocks
from pulumi.runtime import rpc, set_all_config, set_mocks

PROJECT = Path(__file__).parent.parent
LAYERS = ("foundation", "cluster", "nodes")
SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000001"
_OBJECTS = ("nodeType", "sharedStorage")


def namespace(layer: str) -> str:
    """Return the prefix of a layer's keys, which is the name of its project."""
    return f"azure-gpu-{layer}"


def declared(layer: str) -> dict[str, dict[str, Any]]:
    """Return the keys that a layer's Pulumi.yaml declares."""
    found: dict[str, dict[str, Any]] = yaml.safe_load((PROJECT / layer / "Pulumi.yaml").read_text(encoding="utf-8"))
    return found["config"]


def example(layer: str) -> dict[str, Any]:
    """Return the values of a layer's example without their namespace."""
    text = (PROJECT / "tests" / "example" / f"{layer}.yaml").read_text(encoding="utf-8")
    return {key.partition(":")[2]: value for key, value in yaml.safe_load(text)["config"].items()}


def changed(layer: str, **changes: Any) -> dict[str, Any]:
    """Return the example with changes; `nodeType` and `sharedStorage` are changed key by key, None removes a key.

    Changes of keys that the layer does not declare belong to other layers and are left out.
    """
    values = deepcopy(example(layer))
    known = declared(layer)
    for key, value in changes.items():
        if key not in known:
            continue
        if key in _OBJECTS and isinstance(value, dict):
            merged = {**values[key], **value}
            values[key] = {name: item for name, item in merged.items() if item is not None}
        elif value is None:
            values.pop(key, None)
        else:
            values[key] = value
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One registration, with what the engine would see besides the inputs."""

    layer: str
    type: str
    name: str
    inputs: Mapping[str, Any]
    parent: str
    protect: bool
    dependencies: frozenset[str]
    ignore_changes: tuple[str, ...]
    replace_on_changes: tuple[str, ...]
    delete_before_replace: bool
    secrets: frozenset[str]
    urn: str


@dataclass(slots=True)
class Program:
    """Everything that one run of one or more layers registered and exported."""

    resources: list[Recorded] = field(default_factory=list[Recorded])
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def of(self, kind: str, layer: str = "") -> list[Recorded]:
        """Return Azure's resources of one kind, by name."""
        return sorted(
            (
                r
                for r in self.resources
                if r.type.startswith("azure-native:") and r.type.endswith(f":{kind}") and layer in ("", r.layer)
            ),
            key=lambda r: r.name,
        )

    def one(self, kind: str, ending: str = "") -> Recorded:
        """Return the only resource of a kind whose name ends with `ending`."""
        (found,) = [r for r in self.of(kind) if r.name.endswith(ending)]
        return found


def _vault(args: pulumi_mocks.MockResourceArgs) -> dict[str, Any]:
    return {"properties": {**args.inputs["properties"], "vaultUri": f"https://{args.name}.vault.azure.net/"}}


def _secret(args: pulumi_mocks.MockResourceArgs) -> dict[str, Any]:
    url = f"https://{args.inputs['vaultName']}.vault.azure.net/secrets/{args.inputs['secretName']}"
    return {"properties": {"secretUri": url, "secretUriWithVersion": f"{url}/0001"}}


def _interface(args: pulumi_mocks.MockResourceArgs) -> dict[str, Any]:
    (address,) = args.inputs["ipConfigurations"]
    return {"ipConfigurations": [{"privateIPAddress": "10.40.0.99", **address}]}


def _identity(principal: str) -> Callable[[pulumi_mocks.MockResourceArgs], dict[str, Any]]:
    return lambda args: {"identity": {**args.inputs["identity"], "principalId": principal, "tenantId": "tenant"}}


# What Azure adds to the inputs, by the last part of a type.
_ADDED: dict[str, Callable[[pulumi_mocks.MockResourceArgs], dict[str, Any]]] = {
    "Vault": _vault,
    "Secret": _secret,
    "NetworkInterface": _interface,
    "DiskEncryptionSet": _identity("disks-principal"),
    "Workflow": _identity("watchdog-principal"),
    "Key": lambda args: {"keyUriWithVersion": f"https://keys.vault.azure.net/keys/{args.name}/0001"},
    "UserAssignedIdentity": lambda args: {"principalId": f"principal-{args.name}", "clientId": f"client-{args.name}"},
    "Server": lambda args: {"fullyQualifiedDomainName": f"{args.name}.mysql.database.azure.com"},
    "AmlFilesystem": lambda _: {
        "clientInfo": {"mgsAddress": "10.40.128.4", "lustreVersion": "2.15", "mountCommand": ""}
    },
    "PrivateZone": lambda args: {"name": args.inputs["privateZoneName"]},
}


def _outputs(args: pulumi_mocks.MockResourceArgs) -> dict[str, Any]:
    state: dict[str, Any] = {**args.inputs, "name": args.name}
    if "userAssignedIdentities" in args.inputs.get("identity", {}):
        # Azure takes a list and answers with a map.
        given = args.inputs["identity"]
        state["identity"] = {**given, "userAssignedIdentities": {key: {} for key in given["userAssignedIdentities"]}}
    added = _ADDED.get(args.typ.rpartition(":")[2])
    return state | (added(args) if added else {})


class _Mocks(pulumi_mocks.Mocks):
    def __init__(self, other_layers: Mapping[str, Mapping[str, Any]]) -> None:
        self._other_layers = other_layers

    def new_resource(self, args: pulumi_mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        if args.typ == "pulumi:pulumi:StackReference":
            layer = args.name.split("/")[1].rpartition("-")[2]
            return args.name, {"name": args.name, "outputs": self._other_layers[layer], "secretOutputNames": []}
        kind = args.typ.removeprefix("azure-native:").replace(":", "/")
        if kind == "keyvault/Secret":
            kind = f"keyvault/vaults/{args.inputs['vaultName']}/secrets"
        return f"{SUBSCRIPTION}/resourceGroups/test/providers/{kind}/{args.name}", _outputs(args)

    def call(self, args: pulumi_mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        if args.token == "azure-native:network:getVirtualNetwork":
            space = "172.16.0.0/12" if args.args["virtualNetworkName"] == "overlapping" else "10.60.0.0/16"
            subnets = [{"name": name, "addressPrefix": "10.60.0.0/24"} for name in ("gpu", "services", "lustre")]
            return {"addressSpace": {"addressPrefixes": ["fd00::/48", space]}, "subnets": subnets}, []
        if args.token != "azure-native:authorization:getClientConfig":
            raise AssertionError(f"unexpected call of {args.token}")
        return {
            "clientId": "client",
            "objectId": "object",
            "subscriptionId": "00000000-0000-0000-0000-000000000001",
            "tenantId": "00000000-0000-0000-0000-000000000002",
        }, []


class _Monitor(pulumi_mocks.MockMonitor):
    """The mock monitor shows tests only inputs; parents, protection and dependencies are taken from the request."""

    def __init__(self, mocks: _Mocks, layer: str, program: Program) -> None:
        super().__init__(mocks)
        self._layer = layer
        self._program = program
        self._urns: set[str] = set()

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 -- the name of the remote procedure
        answer = super().RegisterResource(request)
        if answer.urn in self._urns:
            raise AssertionError(f"two resources have the name {answer.urn}")
        self._urns.add(answer.urn)
        if request.type != "pulumi:pulumi:Stack":
            plain, secrets = _without_secrets(rpc.deserialize_properties(request.object, keep_unknowns=True))
            self._program.resources.append(
                Recorded(
                    layer=self._layer,
                    type=request.type,
                    name=request.name,
                    inputs=plain,
                    parent=request.parent,
                    protect=request.protect,
                    dependencies=frozenset(request.dependencies),
                    ignore_changes=tuple(request.ignoreChanges),
                    replace_on_changes=tuple(request.replaceOnChanges),
                    delete_before_replace=request.deleteBeforeReplace,
                    secrets=frozenset(secrets),
                    urn=answer.urn,
                )
            )
        return answer


def _without_secrets(value: Any, path: str = "") -> tuple[Any, list[str]]:
    """Return inputs without their secret marks, and the paths that were marked."""
    if isinstance(value, dict):
        if rpc.is_rpc_secret(value):
            return rpc.unwrap_rpc_secret(value), [path]
        parts = {key: _without_secrets(item, f"{path}.{key}" if path else key) for key, item in value.items()}
        return {key: plain for key, (plain, _) in parts.items()}, [
            mark for _, marks in parts.values() for mark in marks
        ]
    if isinstance(value, list):
        items = [_without_secrets(item, f"{path}[{index}]") for index, item in enumerate(value)]
        return [plain for plain, _ in items], [mark for _, marks in items for mark in marks]
    return value, []


def run_layer(
    layer: str,
    values: Mapping[str, Any],
    others: Mapping[str, Mapping[str, Any]] | None = None,
    program: Program | None = None,
) -> Program:
    """Run one layer's program with configuration values as Pulumi hands them over: as text.

    Args:
        layer: its folder.
        values: configuration without namespace.
        others: outputs of the layers before it.
        program: what to add to; a new record by default.
    """
    record = program or Program()
    config = {
        f"{namespace(layer)}:{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in values.items()
    }
    mocks = _Mocks(others or {})

    def inner() -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        set_all_config(config)
        set_mocks(mocks, project=namespace(layer), stack="small", preview=False, monitor=_Monitor(mocks, layer, record))

        @pulumi.runtime.test
        def run() -> pulumi.Output[None]:
            root: Any = pulumi.runtime.get_root_resource()
            root.outputs.clear()
            runpy.run_path(str(PROJECT / layer / "__main__.py"), run_name="__main__")
            exported: dict[str, Any] = dict(root.outputs)
            return pulumi.Output.from_input(exported).apply(lambda known: record.outputs.update({layer: known}))

        try:
            run()
        finally:
            loop.close()

    # Pulumi keeps its settings in context variables and an event loop per thread: a thread of its own for each run.
    with ThreadPoolExecutor(max_workers=1) as executor:
        executor.submit(inner).result()
    return record


def run_layers(*layers: str, **changes: Any) -> Program:
    """Run layers one after the other, each with the outputs of those before it."""
    program = Program()
    for layer in layers or LAYERS:
        run_layer(layer, changed(layer, **changes), program.outputs, program)
    return program
