"""Speak to a provider plugin as the engine does: start it, and make the calls of a deployment in the engine's order.

Arguments: the plugin's command. Standard input: a JSON list of `{"urn", "inputs"}`. Standard output: a JSON object with
what the plugin answered: version, failures of Check, and for each resource its id and outputs in a preview and
deployed, whether a second comparison finds changes, and the answer to a look-up. Runs in the stacks' environment.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

sys.path.insert(0, str(Path(__file__).parents[3]))

from clusterwright.checks.preflight.recorder.serve import plain_struct, struct_of


def conversation(stub: Any, resources: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: ANN401 - generated code
    """Return what a plugin answers from its handshake to the deletion of everything."""
    hello = stub.Handshake(provider_pb2.ProviderHandshakeRequest(engine_address="127.0.0.1:1"))
    stub.Attach(plugin_pb2.PluginAttach(address="127.0.0.1:1"))
    version = stub.GetPluginInfo(empty_pb2.Empty()).version
    own = struct_of({"region": "us-east-1"})
    checked = stub.CheckConfig(provider_pb2.CheckRequest(urn="urn:pulumi:s::p::pulumi:providers:aws::aws", news=own))
    configured = stub.Configure(provider_pb2.ConfigureRequest(args=checked.inputs, acceptSecrets=True))
    said: dict[str, Any] = {
        "version": version,
        "secrets": hello.accept_secrets and configured.acceptSecrets,
        "previews": configured.supportsPreview,
        "failures": [],
        "resources": {},
    }
    for one in resources:
        urn, news = one["urn"], struct_of(one["inputs"])
        check = stub.Check(provider_pb2.CheckRequest(urn=urn, news=news))
        said["failures"] += [[urn.rpartition("::")[2], failure.property, failure.reason] for failure in check.failures]
        if check.failures:
            continue
        preview = stub.Create(provider_pb2.CreateRequest(urn=urn, properties=check.inputs, preview=True))
        made = stub.Create(provider_pb2.CreateRequest(urn=urn, properties=check.inputs))
        same = stub.Diff(
            provider_pb2.DiffRequest(
                id=made.id, urn=urn, olds=made.properties, old_inputs=check.inputs, news=check.inputs
            )
        )
        other = struct_of({**plain_struct(check.inputs), "tags": {"changed": "yes"}})
        changed = stub.Diff(
            provider_pb2.DiffRequest(id=made.id, urn=urn, olds=made.properties, old_inputs=check.inputs, news=other)
        )
        stub.Update(provider_pb2.UpdateRequest(id=made.id, urn=urn, olds=made.properties, news=other))
        read = stub.Read(provider_pb2.ReadRequest(id=made.id, urn=urn, properties=made.properties, inputs=check.inputs))
        stub.Delete(provider_pb2.DeleteRequest(id=made.id, urn=urn, properties=made.properties))
        said["resources"][urn] = {
            "previewed": {"id": preview.id, "outputs": plain_struct(preview.properties)},
            "made": {"id": made.id, "outputs": plain_struct(made.properties)},
            "same": list(same.diffs),
            "changed": list(changed.diffs),
            "read": read.id,
        }
    looked_up = stub.Invoke(provider_pb2.InvokeRequest(tok="aws:index/getPartition:getPartition", args=struct_of({})))
    said["partition"] = plain_struct(getattr(looked_up, "return"))["partition"]
    stub.Cancel(empty_pb2.Empty())
    return said


def main() -> None:
    """Start the plugin, speak to it, and end it."""
    plugin = subprocess.Popen([*sys.argv[1:], "127.0.0.1:1"], stdout=subprocess.PIPE, text=True)
    assert plugin.stdout is not None
    try:
        port = int(plugin.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = provider_pb2_grpc.ResourceProviderStub(channel)
            json.dump(conversation(stub, json.load(sys.stdin)), sys.stdout)
    finally:
        plugin.kill()
        plugin.wait()


if __name__ == "__main__":
    main()
