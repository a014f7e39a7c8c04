"""A provider plugin that stands in for a cloud's own: it checks inputs against the SDK's shapes and makes up the rest.

Started as the engine starts a plugin: `pulumi-resource-<name> ENGINE_ADDRESS`, it prints the port it listens on and
serves until it is killed. Preview and deployment, secrets and unknowns are those of the protocol. What a real provider
knows beyond the shapes is missing: defaults, conflicts, which change replaces. Runs in the stacks' environment.
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pulumi
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

_ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(Path(__file__).parent), str(_ROOT)]

from cloud import Cloud  # noqa: E402
from serve import plain_struct, struct_of  # noqa: E402

from tests.stacks.inputs import resource_findings  # noqa: E402
from tests.stacks.records import Resource  # noqa: E402
from tests.stacks.shapes import Sdk  # noqa: E402

_SITE_PACKAGES = Path(pulumi.__file__).parent.parent
_MESSAGE_BYTES = 64 * 2**20


class StandIn(provider_pb2_grpc.ResourceProviderServicer):
    """The calls that the engine makes of a provider between its start and its end."""

    def __init__(self) -> None:
        self._sdk = Sdk(site_packages=_SITE_PACKAGES)

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
        """Support previews and secrets."""
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def Check(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Refuse inputs that do not fit the SDK's shapes, each with its path."""
        _, type_, name = _parts(request.urn)
        one = _resource(request.urn, type_, name, plain_struct(request.news))
        failures = [
            provider_pb2.CheckFailure(property=found.path, reason=found.message)
            for found in resource_findings(one, self._sdk)
        ]
        return provider_pb2.CheckResponse(inputs=request.news, failures=failures)

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Compare inputs with inputs; what changes is updated in place."""
        old = plain_struct(request.old_inputs) if request.HasField("old_inputs") else plain_struct(request.olds)
        new = plain_struct(request.news)
        ignored = set(request.ignoreChanges)
        changed = sorted(key for key in new.keys() | old.keys() if key not in ignored and new.get(key) != old.get(key))
        kind = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=kind, diffs=changed)

    def Create(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Give an id and outputs, in a preview only what the inputs say."""
        _, type_, name = _parts(request.urn)
        cloud = Cloud(dry_run=request.preview, site_packages=_SITE_PACKAGES, stacks={})
        made = cloud.created(type_, name, plain_struct(request.properties))
        return provider_pb2.CreateResponse(id=cloud.id_of(type_, name), properties=struct_of(made))

    def Update(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Return the new inputs with the outputs that there were."""
        made = {**plain_struct(request.olds), **plain_struct(request.news)}
        return provider_pb2.UpdateResponse(properties=struct_of(made))

    def Read(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Find whatever is asked for as it was, or made up where it is somebody else's."""
        _, type_, name = _parts(request.urn)
        known = plain_struct(request.properties)
        cloud = Cloud(dry_run=False, site_packages=_SITE_PACKAGES, stacks={})
        found = known or cloud.read(type_, name, request.id)
        return provider_pb2.ReadResponse(id=request.id, properties=struct_of(found), inputs=request.inputs)

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Forget; nothing was there."""
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802
        """Answer a look-up."""
        cloud = Cloud(dry_run=False, site_packages=_SITE_PACKAGES, stacks={})
        answer = provider_pb2.InvokeResponse()
        getattr(answer, "return").CopyFrom(struct_of(cloud.looked_up(request.tok, plain_struct(request.args))))
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


def main() -> None:
    """Serve until killed; the first line of standard output is the port."""
    options = [("grpc.max_receive_message_length", _MESSAGE_BYTES), ("grpc.max_send_message_length", _MESSAGE_BYTES)]
    server = grpc.server(ThreadPoolExecutor(16), options=options)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(StandIn(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
