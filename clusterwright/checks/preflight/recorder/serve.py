"""The engine's two services, as far as a program needs them to run: they answer, and write everything down.

A program that runs against them is the unmodified one: it uses the SDK's own connection and not its mocks, so parents,
dependencies, providers, secrets and stack exports are what the engine would see. Not modelled, and refused loudly where
a program would use it: state and differences, transforms, hooks, remote components, parameterised packages.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime import rpc
from pulumi.runtime.proto import (
    engine_pb2,
    engine_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
)

from .cloud import Cloud

STACK_TYPE = "pulumi:pulumi:Stack"
_FEATURES = [
    resource_pb2.RESOURCE_MONITOR_FEATURE_SECRETS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES,
    resource_pb2.RESOURCE_MONITOR_FEATURE_OUTPUT_VALUES,
    resource_pb2.RESOURCE_MONITOR_FEATURE_ALIAS_SPECS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_DELETED_WITH,
    resource_pb2.RESOURCE_MONITOR_FEATURE_REPLACE_WITH,
]
_SEVERITIES = ("debug", "info", "warning", "error")
# Generous, so that no chain of waiting registrations can use up every thread; logs have a pool of their own, because a
# program may wait for one while it holds a registration open.
_THREADS = 64
_MESSAGE_BYTES = 64 * 2**20
_OPTIONS = [("grpc.max_receive_message_length", _MESSAGE_BYTES), ("grpc.max_send_message_length", _MESSAGE_BYTES)]


def plain(value: struct_pb2.Value) -> Any:  # noqa: ANN401 - JSON
    """Turn a value of the protocol into JSON with marks for secrets, unknowns and references."""
    match value.WhichOneof("kind"):
        case "string_value":
            return {"$unknown": True} if value.string_value == rpc.UNKNOWN else value.string_value
        case "number_value":
            return int(value.number_value) if value.number_value.is_integer() else value.number_value
        case "bool_value":
            return value.bool_value
        case "list_value":
            return [plain(item) for item in value.list_value.values]
        case "struct_value":
            return plain_struct(value.struct_value)
        case _:
            return None


def plain_struct(struct: struct_pb2.Struct) -> Any:  # noqa: ANN401
    """Turn a struct into a JSON object, or into the mark that its signature stands for."""
    fields = {key: plain(item) for key, item in struct.fields.items()}
    match fields.pop(rpc._special_sig_key, None):
        case None:
            return fields
        case rpc._special_secret_sig:
            return {"$secret": fields["value"]}
        case rpc._special_output_value_sig:
            value = fields.get("value", {"$unknown": True})
            return {"$secret": value} if fields.get("secret") else value
        case rpc._special_resource_sig:
            return {"$resource": fields["urn"]}
        case rpc._special_asset_sig:
            return {"$asset": fields}
        case rpc._special_archive_sig:
            return {"$archive": fields}
        case other:
            raise ValueError(f"a value with signature {other} is not modelled")


def struct_of(values: dict[str, Any]) -> struct_pb2.Struct:
    """Turn JSON with marks back into a struct of the protocol."""

    def marked(value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, dict):
            if "$secret" in value:
                return {rpc._special_sig_key: rpc._special_secret_sig, "value": marked(value["$secret"])}
            if "$unknown" in value:
                return rpc.UNKNOWN
            for mark, signature in (("$asset", rpc._special_asset_sig), ("$archive", rpc._special_archive_sig)):
                if mark in value:
                    return {rpc._special_sig_key: signature, **{k: marked(item) for k, item in value[mark].items()}}
            if "$resource" in value:
                return {rpc._special_sig_key: rpc._special_resource_sig, "urn": value["$resource"]}
            return {key: marked(item) for key, item in value.items()}
        return [marked(item) for item in value] if isinstance(value, list) else value

    struct = struct_pb2.Struct()
    struct.update({key: marked(value) for key, value in values.items()})
    return struct


class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
    """Registers resources by the engine's rules for URNs and keeps what it was given."""

    def __init__(self, *, project: str, stack: str, organization: str, cloud: Cloud) -> None:
        self.project = project
        self._stack = stack
        self._organization = organization
        self._cloud = cloud
        self._lock = threading.Lock()
        self.resources: dict[str, dict[str, Any]] = {}
        self.outputs: dict[str, Any] = {}
        self.invokes: list[tuple[str, Any]] = []

    def GetDeploymentInfo(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401, N802
        """Say what this monitor can do."""
        return resource_pb2.DeploymentInfo(
            project=self.project,
            stack=self._stack,
            organization=self._organization,
            dryRun=self._cloud.dry_run,
            supportedFeatures=_FEATURES,
        )

    def RegisterResource(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401, N802
        """Write a registration down and answer as the engine and a provider would."""
        urn = self._urn(request)
        inputs = plain_struct(request.object)
        entry = {
            "urn": urn,
            "type": request.type,
            "name": request.name,
            "custom": request.custom,
            "parent": request.parent,
            "provider": request.provider,
            "protect": request.protect,
            "retain_on_delete": request.retainOnDelete,
            "delete_before_replace": request.deleteBeforeReplace,
            "dependencies": sorted(request.dependencies),
            "property_dependencies": {k: sorted(v.urns) for k, v in sorted(request.propertyDependencies.items())},
            "aliases": sorted(str(alias) for alias in request.aliases),
            "ignore_changes": sorted(request.ignoreChanges),
            "replace_on_changes": sorted(request.replaceOnChanges),
            "additional_secret_outputs": sorted(request.additionalSecretOutputs),
            "version": request.version,
            "inputs": inputs,
            "read_id": "",
            "identities": [],
        }
        if request.remote:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"remote components are not modelled: {urn}")
        self._keep(entry, context)
        if not request.custom:
            return resource_pb2.RegisterResourceResponse(urn=urn, object=request.object)
        answered = self._cloud.created(request.type, request.name, inputs)
        id_ = self._cloud.id_of(request.type, request.name)
        told = {value for key, value in answered.items() if key not in inputs and isinstance(value, str)}
        entry["identities"] = sorted((told | {id_}) - {"", request.name})
        secret = {name: {"$secret": answered[name]} for name in request.additionalSecretOutputs if name in answered}
        return resource_pb2.RegisterResourceResponse(urn=urn, id=id_, object=struct_of(answered | secret))

    def ReadResource(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401, N802
        """Answer what exists already: another stack's outputs, or a resource that somebody else made."""
        urn = self._urn(request)
        entry = {
            "urn": urn,
            "type": request.type,
            "name": request.name,
            "custom": True,
            "parent": request.parent,
            "provider": request.provider,
            "protect": False,
            "retain_on_delete": False,
            "delete_before_replace": False,
            "dependencies": sorted(request.dependencies),
            "property_dependencies": {},
            "aliases": [],
            "ignore_changes": [],
            "replace_on_changes": [],
            "additional_secret_outputs": sorted(request.additionalSecretOutputs),
            "version": request.version,
            "inputs": {key: value for key, value in plain_struct(request.properties).items() if value is not None},
            "read_id": request.id,
            "identities": [],
        }
        self._keep(entry, context)
        try:
            found = self._cloud.read(request.type, request.name, request.id)
        except LookupError as problem:
            context.abort(grpc.StatusCode.UNKNOWN, str(problem.args[0]))
        return resource_pb2.ReadResourceResponse(urn=urn, properties=struct_of(found))

    def _keep(self, entry: dict[str, Any], context: grpc.ServicerContext) -> None:
        """Write an entry down, or refuse it as the engine does."""
        urn = entry["urn"]
        with self._lock:
            needed = (entry["parent"], *entry["dependencies"])
            unknown = [one for one in needed if one and one not in self.resources]
            if urn in self.resources:
                context.abort(
                    grpc.StatusCode.ALREADY_EXISTS, f"Duplicate resource URN '{urn}'; try giving it a unique name"
                )
            if unknown:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{urn} refers to what is not registered: {unknown}")
            self.resources[urn] = entry

    def RegisterResourceOutputs(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401, N802
        """Keep what the stack exports."""
        if self.resources[request.urn]["type"] == STACK_TYPE:
            self.outputs = plain_struct(request.outputs)
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401, N802
        """Answer a look-up."""
        arguments = plain_struct(request.args)
        with self._lock:
            self.invokes.append((request.tok, arguments))
        answer = resource_pb2.ResourceInvokeResponse()
        getattr(answer, "return").CopyFrom(struct_of(self._cloud.looked_up(request.tok, arguments)))
        return answer

    def SignalAndWaitForShutdown(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401, N802
        """Let the program end."""
        return empty_pb2.Empty()

    def _urn(self, request: Any) -> str:  # noqa: ANN401
        """`urn:pulumi:stack::project::types::name`; the type of the root stack is left out of the types."""
        parent_types = request.parent.split("::")[2] if request.parent else ""
        prefix = "" if parent_types in ("", STACK_TYPE) else f"{parent_types}$"
        return f"urn:pulumi:{self._stack}::{self.project}::{prefix}{request.type}::{request.name}"


class Engine(engine_pb2_grpc.EngineServicer):
    """Takes logs and remembers the root resource."""

    def __init__(self) -> None:
        self.logs: list[tuple[str, str]] = []
        self._root = ""

    def Log(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401, N802
        """Keep a message; those for debugging are too many."""
        if request.severity:
            self.logs.append((_SEVERITIES[request.severity], request.message))
        return empty_pb2.Empty()

    def GetRootResource(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401, N802
        """Return the stack's URN."""
        return engine_pb2.GetRootResourceResponse(urn=self._root)

    def SetRootResource(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401, N802
        """Remember the stack's URN."""
        self._root = request.urn
        return engine_pb2.SetRootResourceResponse()

    def RequirePulumiVersion(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ANN401, N802
        """Accept any version: the SDK is the one that is installed."""
        return engine_pb2.RequirePulumiVersionResponse()


class Servers:
    """Both services on loopback ports of their own; a context manager that stops them."""

    def __init__(self, monitor: Monitor, engine: Engine) -> None:
        self._servers = [grpc.server(ThreadPoolExecutor(threads), options=_OPTIONS) for threads in (_THREADS, 8)]
        resource_pb2_grpc.add_ResourceMonitorServicer_to_server(monitor, self._servers[0])
        engine_pb2_grpc.add_EngineServicer_to_server(engine, self._servers[1])
        self.addresses = [f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}" for server in self._servers]

    def __enter__(self) -> list[str]:
        for server in self._servers:
            server.start()
        return self.addresses

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.stop(grace=None)


def document(monitor: Monitor, engine: Engine, error: str | None, reads: list[list[str]]) -> dict[str, Any]:
    """Return the record as JSON, sorted: registrations arrive in another order every time."""
    return {
        "project": monitor.project,
        "resources": [monitor.resources[urn] for urn in sorted(monitor.resources)],
        "outputs": monitor.outputs,
        "logs": sorted(engine.logs),
        "invokes": sorted(monitor.invokes, key=repr),
        "reads": sorted(reads),
        "error": error,
    }
