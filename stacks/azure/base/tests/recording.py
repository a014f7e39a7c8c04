"""Run the unmodified program against Pulumi mocks and record what it registers."""

import asyncio
import json
import runpy
import sys
from collections.abc import Mapping
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
NAMESPACE = "clusterwright-azure"
SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000001"


def node_folder() -> Path:
    """Return the bootstrap scripts: beside the program in a project of its own, in templates/ in the repository."""
    own = PROJECT / "node"
    return own if own.is_dir() else PROJECT.parent.parent / "templates" / "node"


def example() -> dict[str, Any]:
    """Return the values of Pulumi.example.yaml without their namespace."""
    text = (PROJECT / "Pulumi.example.yaml").read_text(encoding="utf-8")
    return {key.partition(":")[2]: value for key, value in yaml.safe_load(text)["config"].items()}


def changed(**changes: Any) -> dict[str, Any]:
    """Return the example with changes; `nodeType` and `sharedStorage` are changed key by key, None removes a key."""
    values = deepcopy(example())
    for key, value in changes.items():
        if key in ("nodeType", "sharedStorage"):
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

    type: str
    name: str
    inputs: Mapping[str, Any]
    parent: str
    protect: bool
    dependencies: frozenset[str]
    ignore_changes: tuple[str, ...]
    replace_on_changes: tuple[str, ...]
    delete_before_replace: bool
    urn: str


@dataclass(slots=True)
class Program:
    """Everything that one run registered."""

    resources: list[Recorded] = field(default_factory=list)

    def of(self, kind: str) -> list[Recorded]:
        """Return Azure's resources of one kind, by name."""
        return sorted(
            (r for r in self.resources if r.type.startswith("azure-native:") and r.type.endswith(f":{kind}")),
            key=lambda r: r.name,
        )

    def one(self, kind: str, ending: str = "") -> Recorded:
        """Return the only resource of a kind whose name ends with `ending`."""
        (found,) = [r for r in self.of(kind) if r.name.endswith(ending)]
        return found


def _outputs(args: pulumi_mocks.MockResourceArgs) -> dict[str, Any]:
    kind = args.typ.rpartition(":")[2]
    state: dict[str, Any] = {**args.inputs, "name": args.name}
    if "userAssignedIdentities" in args.inputs.get("identity", {}):
        # Azure takes a list and answers with a map.
        given = args.inputs["identity"]
        state["identity"] = {**given, "userAssignedIdentities": {key: {} for key in given["userAssignedIdentities"]}}
    match kind:
        case "Vault":
            state["properties"] = {**args.inputs["properties"], "vaultUri": f"https://{args.name}.vault.azure.net/"}
        case "Key":
            state["keyUriWithVersion"] = f"https://keys.vault.azure.net/keys/{args.name}/0001"
        case "DiskEncryptionSet":
            state["identity"] = {**args.inputs["identity"], "principalId": "disks-principal"}
        case "UserAssignedIdentity":
            state |= {"principalId": f"principal-{args.name}", "clientId": f"client-{args.name}"}
        case "AmlFilesystem":
            state["clientInfo"] = {"mgsAddress": "10.40.128.4", "lustreVersion": "2.15", "mountCommand": ""}
        case "PrivateZone":
            state["name"] = args.inputs["privateZoneName"]
        case _:
            pass
    return state


class _Mocks(pulumi_mocks.Mocks):
    def new_resource(self, args: pulumi_mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        kind = args.typ.removeprefix("azure-native:").replace(":", "/")
        return f"{SUBSCRIPTION}/resourceGroups/test/providers/{kind}/{args.name}", _outputs(args)

    def call(self, args: pulumi_mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
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

    def __init__(self, program: Program) -> None:
        super().__init__(_Mocks())
        self._program = program
        self._urns: set[str] = set()

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 -- the name of the remote procedure
        answer = super().RegisterResource(request)
        if answer.urn in self._urns:
            raise AssertionError(f"two resources have the name {answer.urn}")
        self._urns.add(answer.urn)
        if request.type != "pulumi:pulumi:Stack":
            self._program.resources.append(
                Recorded(
                    type=request.type,
                    name=request.name,
                    inputs=rpc.deserialize_properties(request.object),
                    parent=request.parent,
                    protect=request.protect,
                    dependencies=frozenset(request.dependencies),
                    ignore_changes=tuple(request.ignoreChanges),
                    replace_on_changes=tuple(request.replaceOnChanges),
                    delete_before_replace=request.deleteBeforeReplace,
                    urn=answer.urn,
                )
            )
        return answer


def run_program(folder: Path, values: Mapping[str, Any], record: Program | None = None) -> Program:
    """Run `__main__.py` of an assembled project with configuration values as Pulumi hands them over: as text."""
    program = record or Program()
    config = {
        f"{NAMESPACE}:{key}": value if isinstance(value, str) else json.dumps(value) for key, value in values.items()
    }

    def inner() -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        set_all_config(config)
        set_mocks(_Mocks(), project=NAMESPACE, stack="test", preview=False, monitor=_Monitor(program))

        @pulumi.runtime.test
        def run() -> None:
            runpy.run_path(str(folder / "__main__.py"), run_name="__main__")

        try:
            run()
        finally:
            loop.close()

    # Pulumi keeps its settings in context variables and an event loop per thread: a thread of its own for each run.
    with ThreadPoolExecutor(max_workers=1) as executor:
        executor.submit(inner).result()
    return program


sys.path.insert(0, str(PROJECT))
