"""Ask a project's policy pack, as the engine does, about resources that the monitor recorded.

Arguments: the policy pack's folder and the interpreter of its environment. Standard input: a JSON list of objects
`{"urn", "type", "name", "inputs"}`, the inputs with the monitor's marks; one with `stack` is also asked about together
with the others of that stack, by its `behind` (input to URNs of what it comes from) and `protect`. Standard output: a
JSON list of objects `{"policy", "message", "level", "urn"}`, one for each violation and for each policy that could not
look.

Runs in the stacks' environment; the pack runs unmodified, in a process and an environment of its own.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc

sys.path.insert(0, str(Path(__file__).parents[3]))

from clusterwright.checks.preflight.recorder.serve import struct_of


def without_references(value: Any) -> Any:  # noqa: ANN401 - inputs of resources
    """Return an input with the names of other resources in place of their marks, which a pack does not know."""
    if isinstance(value, list):
        return [without_references(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return value.get("$resource", {key: without_references(entry) for key, entry in value.items()})


def violations(port: int, resources: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return what the pack that listens on a port has against the resources."""
    found: list[dict[str, str]] = []
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        analyzer = analyzer_pb2_grpc.AnalyzerStub(channel)
        for resource in resources:
            request = analyzer_pb2.AnalyzeRequest(
                type=resource["type"],
                name=resource["name"],
                urn=resource["urn"],
                properties=struct_of(without_references(resource["inputs"])),
            )
            found += [
                {
                    "policy": entry.policyName,
                    "message": entry.message,
                    "level": analyzer_pb2.EnforcementLevel.Name(entry.enforcementLevel),
                    "urn": resource["urn"],
                }
                for entry in analyzer.Analyze(request).diagnostics
            ]
        for stack in dict.fromkeys(resource["stack"] for resource in resources if "stack" in resource):
            together = [resource for resource in resources if resource.get("stack") == stack]
            found += [
                {
                    "policy": entry.policyName,
                    "message": entry.message,
                    "level": analyzer_pb2.EnforcementLevel.Name(entry.enforcementLevel),
                    "urn": entry.urn,
                }
                for entry in analyzer.AnalyzeStack(of_stack(together)).diagnostics
            ]
    return found


def of_stack(resources: list[dict[str, Any]]) -> analyzer_pb2.AnalyzeStackRequest:
    """Return the question about all resources of a stack."""
    return analyzer_pb2.AnalyzeStackRequest(
        resources=[
            analyzer_pb2.AnalyzerResource(
                type=resource["type"],
                name=resource["name"],
                urn=resource["urn"],
                properties=struct_of(without_references(resource["inputs"])),
                options=analyzer_pb2.AnalyzerResourceOptions(
                    protect=resource.get("protect", False), ignoreChanges=resource.get("ignores", [])
                ),
                propertyDependencies={
                    name: analyzer_pb2.AnalyzerPropertyDependencies(urns=urns)
                    for name, urns in resource["behind"].items()
                },
            )
            for resource in resources
        ]
    )


def main() -> None:
    """Start the pack, ask about every resource, stop it."""
    pack, python = Path(sys.argv[1]), sys.argv[2]
    resources = json.load(sys.stdin)
    # Unbuffered, as the engine starts it: the server prints its port and goes on.
    process = subprocess.Popen([python, "-u", "__main__.py"], cwd=pack, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        json.dump(violations(int(process.stdout.readline()), resources), sys.stdout)
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
