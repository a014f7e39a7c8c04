"""A provider plugin that stands in for a cloud's own: it checks inputs against the SDK's shapes and makes up the rest.

Started as the engine starts a plugin: `pulumi-resource-<name> ENGINE_ADDRESS`, it prints the port it listens on and
serves until it is killed; `engine_plugins.py` serves the same provider for many runs of the engine. Preview and
deployment, secrets and unknowns are those of the protocol. Names are completed as the real providers do,
`replacements.yaml` says which change replaces, and `stand_in_cloud.py` keeps what exists, in the folder that
STAND_IN_CLOUD names. What a real provider knows beyond that is missing: defaults, conflicts, limits. Runs in the
stacks' environment.
"""

import hashlib
import os
import socket
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import grpc
import pulumi
import yaml
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

_ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(Path(__file__).parent), str(_ROOT)]

from changes import differences, replaces  # noqa: E402
from stand_in_cloud import RefusedError, StandInCloud  # noqa: E402

from clusterwright.checks.preflight.recorder.cloud import Cloud  # noqa: E402
from clusterwright.checks.preflight.recorder.serve import plain_struct, struct_of  # noqa: E402
from clusterwright.checks.preflight.recorder.shapes import Sdk, UnknownTypeError  # noqa: E402
from clusterwright.checks.preflight.records import Resource  # noqa: E402
from tests.stacks.inputs import resource_findings  # noqa: E402

_SITE_PACKAGES = Path(pulumi.__file__).parent.parent
_MESSAGE_BYTES = 64 * 2**20
#: The input with a resource's own name, where it is not `name` or, on Azure, the longest that ends in `Name`.
_NAME_INPUTS = {
    "aws:eks/addon:Addon": "addonName",
    "aws:eks/nodeGroup:NodeGroup": "nodeGroupName",
    "aws:rds/cluster:Cluster": "clusterIdentifier",
    "aws:rds/clusterInstance:ClusterInstance": "identifier",
    "aws:s3/bucket:Bucket": "bucket",
    "azure-native:network:BastionHost": "bastionHostName",
    "azure-native:network:PrivateEndpoint": "privateEndpointName",
    "azure-native:monitor:DiagnosticSetting": "name",
    "gcp:lustre/instance:Instance": "instanceId",
    "gcp:secretmanager/secret:Secret": "secretId",
    "gcp:serviceaccount/account:Account": "accountId",
}
#: What a provider puts between a resource's logical name and the random end of its own.
_NAME_JOIN = {"aws": "-", "azure-native": "", "gcp": "-", "kubernetes": "-"}
#: Outputs that change with every update: the version of a launch template is what its machines are made from.
_COUNTED_UPDATES = {"aws:ec2/launchTemplate:LaunchTemplate": "latestVersion"}


def _refusing(call: Callable[..., Any]) -> Callable[..., Any]:
    """Turn what the cloud refuses into the protocol's error."""

    @wraps(call)
    def wrapped(self: Any, request: Any, context: Any) -> Any:  # noqa: ANN401
        try:
            return call(self, request, context)
        except RefusedError as refusal:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(refusal))

    return wrapped


class StandIn(provider_pb2_grpc.ResourceProviderServicer):
    """The calls that the engine makes of a provider between its start and its end."""

    def __init__(self, folder: Path) -> None:
        self._sdk = Sdk(site_packages=_SITE_PACKAGES)
        self._account = StandInCloud(folder)
        self._outside = folder / "outside"
        self._api_server: SplitResult | None = None
        self._previewed, self._deployed = (
            Cloud(dry_run=dry_run, site_packages=_SITE_PACKAGES, stacks={}) for dry_run in (True, False)
        )

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Agree to take secrets and unknowns; resources and outputs stay plain values."""
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    def Attach(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Nothing to do: the stand-in never calls the engine."""
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Give a version that no real provider has."""
        return plugin_pb2.PluginInfo(version="99.0.0")

    def GetSchema(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """There is none: the shapes come from the SDKs."""
        return provider_pb2.GetSchemaResponse(schema="{}")

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Take the provider's own configuration as it is."""
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Say that a provider never has to be replaced."""
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Support previews and secrets; where the API server of Kubernetes is reached stays in mind."""
        kubeconfig = plain_struct(request.args).get("kubeconfig") if request.HasField("args") else None
        if isinstance(kubeconfig, str):
            entry = yaml.safe_load(kubeconfig)["clusters"][0]["cluster"]
            self._api_server = urlsplit(str(entry.get("server", "")))
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def _reach(self, type_: str) -> None:
        """Refuse what is inside Kubernetes while nothing answers at the local end of the way there.

        With a file `outside` in the account's folder this machine is outside the network, from where the server's own
        address leads nowhere.
        """
        server = self._api_server
        if not type_.startswith("kubernetes:") or server is None:
            return
        if server.hostname != "127.0.0.1":
            if self._outside.exists():
                raise RefusedError(f"the API server at {server.geturl()} cannot be reached: no route to host")
            return
        try:
            socket.create_connection((server.hostname, server.port or 443), timeout=5).close()
        except OSError as error:
            raise RefusedError(f"the API server at {server.geturl()} cannot be reached: {error}") from error

    def Check(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Refuse inputs that do not fit the SDK's shapes, each with its path; give a name where there is none."""
        _, type_, name = _parts(request.urn)
        inputs = plain_struct(request.news)
        failures = [
            provider_pb2.CheckFailure(property=found.path, reason=found.message)
            for found in resource_findings(_resource(request.urn, type_, name, inputs), self._sdk)
        ]
        key = self._name_input(type_)
        if key is not None and inputs.get(key) is None and inputs.get(f"{key}Prefix") is None:
            known = plain_struct(request.olds).get(key) if request.HasField("olds") else None
            end = hashlib.sha256(request.randomSeed or request.urn.encode()).hexdigest()[:7]
            inputs[key] = known or f"{name}{_NAME_JOIN[type_.partition(':')[0]]}{end}"
            return provider_pb2.CheckResponse(inputs=struct_of(inputs), failures=failures)
        return provider_pb2.CheckResponse(inputs=request.news, failures=failures)

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Compare inputs with inputs, path by path, and say which difference needs a new resource."""
        _, type_, _ = _parts(request.urn)
        old = plain_struct(request.old_inputs) if request.HasField("old_inputs") else plain_struct(request.olds)
        new = plain_struct(request.news)
        ignored = {path.partition(".")[0].partition("[")[0] for path in request.ignoreChanges if "." not in path}
        key = self._name_input(type_)
        detailed: dict[str, Any] = {}
        for path, kind in differences(old, new):
            if path.partition(".")[0].partition("[")[0] in ignored:
                continue
            replacing = replaces(type_, path, new, key)
            word = f"{kind}_REPLACE" if replacing else kind
            detailed[path] = provider_pb2.PropertyDiff(kind=provider_pb2.PropertyDiff.Kind.Value(word), inputDiff=True)
        top = {path: path.partition(".")[0].partition("[")[0] for path in detailed}
        kinds = provider_pb2.PropertyDiff.Kind
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if detailed else provider_pb2.DiffResponse.DIFF_NONE,
            diffs=sorted(set(top.values())),
            replaces=sorted({top[path] for path, one in detailed.items() if kinds.Name(one.kind).endswith("_REPLACE")}),
            detailedDiff=detailed,
            hasDetailedDiff=True,
        )

    @_refusing
    def Create(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Give an id and outputs, in a preview only what the inputs say."""
        _, type_, name = _parts(request.urn)
        inputs = plain_struct(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=struct_of(self._previewed.created(type_, name, inputs)))
        self._reach(type_)
        self._account.meet_fault("Create", type_, name)
        made = self._made(type_, name, inputs)
        if type_ in _COUNTED_UPDATES:
            made[_COUNTED_UPDATES[type_]] = 1
        id_ = f"{self._deployed.id_of(type_, name)}-{uuid.uuid4().hex[:7]}"
        resource = {"type": type_, "id": id_, "urn": request.urn, "inputs": inputs, "outputs": made}
        self._account.create(resource, self._name_of(type_, inputs))
        self._account.meet_fault("Created", type_, name)
        return provider_pb2.CreateResponse(id=id_, properties=struct_of(made))

    @_refusing
    def Update(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Return the new inputs with the outputs that there were."""
        _, type_, name = _parts(request.urn)
        inputs, counted = plain_struct(request.news), _COUNTED_UPDATES.get(type_)
        if request.preview:
            made = {**plain_struct(request.olds), **self._previewed.created(type_, name, inputs)}
            return provider_pb2.UpdateResponse(
                properties=struct_of({**made, counted: {"$unknown": True}} if counted else made)
            )
        self._reach(type_)
        self._account.meet_fault("Update", type_, name)
        made = self._made(type_, name, inputs)
        if counted:
            made[counted] = plain_struct(request.olds)[counted] + 1
        self._account.update(request.id, inputs, made)
        return provider_pb2.UpdateResponse(properties=struct_of(made))

    def Read(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Find what the account has, or make up what is somebody else's; what was ours and is gone has no id."""
        _, type_, name = _parts(request.urn)
        found = self._account.find(request.id)
        if found is not None:
            return provider_pb2.ReadResponse(
                id=request.id, properties=struct_of(found["outputs"]), inputs=struct_of(found["inputs"])
            )
        if request.HasField("inputs") and request.inputs.fields:
            return provider_pb2.ReadResponse()
        made = plain_struct(request.properties) or self._deployed.read(type_, name, request.id)
        return provider_pb2.ReadResponse(id=request.id, properties=struct_of(made), inputs=request.inputs)

    @_refusing
    def Delete(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Remove a resource, where the cloud lets it go."""
        _, type_, name = _parts(request.urn)
        self._reach(type_)
        self._account.meet_fault("Delete", type_, name)
        self._account.delete(request.id)
        return empty_pb2.Empty()

    def _made(self, type_: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs of what is made; Azure invents no section of a resource that was not asked for."""
        made = self._deployed.created(type_, name, inputs)
        if not type_.startswith("azure-native:"):
            return made
        settable = self._sdk.inputs(type_).properties
        return {
            key: value
            for key, value in made.items()
            if key in inputs or key not in settable or not isinstance(value, dict)
        }

    def _name_input(self, type_: str) -> str | None:
        """Return the input that holds the name of a resource of a type; None where the service gives the name."""
        if type_ in _NAME_INPUTS:
            return _NAME_INPUTS[type_]
        try:
            properties = self._sdk.inputs(type_).properties
        except UnknownTypeError:
            return None
        if type_.startswith("azure-native:"):
            own = [key for key, one in properties.items() if key.endswith("Name") and not one.required]
            return max(own, key=len, default=None)
        return "name" if "name" in properties else None

    def _name_of(self, type_: str, inputs: dict[str, Any]) -> str | None:
        if type_.startswith("kubernetes:") and "metadata" in inputs:
            name = inputs["metadata"].get("name")
        else:
            name = inputs.get(self._name_input(type_) or "")
        return name if isinstance(name, str) else None

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Answer a look-up."""
        answer = provider_pb2.InvokeResponse()
        found = self._deployed.looked_up(request.tok, plain_struct(request.args))
        getattr(answer, "return").CopyFrom(struct_of(found))
        return answer

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Nothing runs that could be cancelled."""
        return empty_pb2.Empty()


def _parts(urn: str) -> tuple[str, str, str]:
    """Return stack, type and name of a URN."""
    head, _, types, name = urn.split("::", maxsplit=3)
    return head.rpartition(":")[2], types.rpartition("$")[2], name


def _resource(urn: str, type_: str, name: str, inputs: dict[str, Any]) -> Resource:
    return Resource(
        urn=urn,
        type=type_,
        name=name,
        custom=True,
        parent="",
        provider="",
        protect=False,
        retain_on_delete=False,
        delete_before_replace=False,
        dependencies=(),
        property_dependencies={},
        aliases=(),
        ignore_changes=(),
        replace_on_changes=(),
        additional_secret_outputs=(),
        version="",
        inputs={key: value for key, value in inputs.items() if key != "__defaults"},
    )


def served(folder: Path) -> tuple[grpc.Server, int]:
    """Start the provider over an account's folder and return it with the port that it listens on."""
    options = [("grpc.max_receive_message_length", _MESSAGE_BYTES), ("grpc.max_send_message_length", _MESSAGE_BYTES)]
    server = grpc.server(ThreadPoolExecutor(64), options=options)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(StandIn(folder), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def main() -> None:
    """Serve until killed; the first line of standard output is the port."""
    with tempfile.TemporaryDirectory() as own:
        _server, port = served(Path(os.environ.get("STAND_IN_CLOUD", own)))
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
