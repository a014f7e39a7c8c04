"""Runs a layer's program with Pulumi's mocks and keeps what it would send to the engine."""

import json
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import yaml
from pulumi.runtime import mocks, proto, rpc

PROJECT = Path(__file__).resolve().parent.parent
STACK_REFERENCE = "pulumi:pulumi:StackReference"


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered:
    """One resource as the program registered it; inputs in the provider's own spelling."""

    type: str
    name: str
    inputs: dict[str, Any]
    protected: bool
    ignored_changes: tuple[str, ...]
    provider: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerRun:
    """Everything that one run of a layer registered."""

    resources: tuple[Registered, ...]

    def of(self, type_: str) -> list[Registered]:
        """All resources of a type, such as `aws:eks/cluster:Cluster`."""
        return [one for one in self.resources if one.type == type_]

    def one(self, type_: str, name: str = "") -> Registered:
        """The only resource of a type whose name contains a text."""
        found = [resource for resource in self.of(type_) if name in resource.name]
        assert len(found) == 1, f"{len(found)} resources of type {type_} named *{name}*"
        return found[0]


class _Answers(mocks.Mocks):
    """Stands in for the cloud; `outputs` and `look_ups` are by type token."""

    def __init__(
        self,
        stacks: Mapping[str, Any],
        outputs: Mapping[str, Mapping[str, Any]],
        look_ups: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self._stacks, self._outputs, self._look_ups = stacks, outputs, look_ups

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        if args.typ == STACK_REFERENCE:
            return args.name, {"name": args.name, "outputs": self._stacks[args.name], "secretOutputNames": []}
        named = {"name": args.inputs.get("name", args.name), "arn": f"arn:{args.name}"}
        return f"{args.name}-id", {**named, **args.inputs, **self._outputs.get(args.typ, {})}

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return {**self._look_ups[args.token]}


class _Monitor(mocks.MockMonitor):
    """Keeps the whole request, of which the mocks show a part."""

    def __init__(self, answers: _Answers) -> None:
        super().__init__(answers)
        self.registered: list[Registered] = []

    def RegisterResource(self, request: proto.resource_pb2.RegisterResourceRequest) -> Any:  # noqa: N802
        response = super().RegisterResource(request)
        self.registered.append(
            Registered(
                type=request.type,
                name=request.name,
                inputs=_whole_numbers(rpc.deserialize_properties(request.object)),
                protected=request.protect,
                ignored_changes=tuple(request.ignoreChanges),
                provider=request.provider,
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


def configuration(layer: str, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a layer's configuration by full key: of a stack in this folder, with defaults and a test's changes.

    A change names a key (`nodeCount`) or a field of an object (`nodeType.instanceType`); None removes it.
    """
    declared = yaml.safe_load((PROJECT / layer / "Pulumi.yaml").read_text())
    stack = min((PROJECT / layer).glob("Pulumi.*.yaml"))
    prefix = declared["name"]
    values: dict[str, Any] = {
        f"{prefix}:{key}": entry["default"] for key, entry in declared["config"].items() if "default" in entry
    }
    values |= yaml.safe_load(stack.read_text())["config"]
    for path, value in (changes or {}).items():
        key, _, field = path.partition(".")
        full = key if ":" in key else f"{prefix}:{key}"
        target, last = (values.setdefault(full, {}), field) if field else (values, full)
        if value is None:
            target.pop(last, None)
        else:
            target[last] = value
    return values


def raw_settings(layer: str, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a layer's configuration as its settings read it: by name, without prefix."""
    return {key.rpartition(":")[2]: value for key, value in configuration(layer, changes).items()}


def run_layer(
    layer: str,
    *,
    changes: Mapping[str, Any] | None = None,
    stacks: Mapping[str, Any],
    outputs: Mapping[str, Mapping[str, Any]] | None = None,
    look_ups: Mapping[str, Mapping[str, Any]] | None = None,
) -> LayerRun:
    """Run a layer's program.

    Args:
        layer: its folder.
        changes: of the configuration; see `configuration`.
        stacks: outputs of the layers before, by the stack's full name.
        outputs: what resources of a type have besides their inputs.
        look_ups: answers by token.
    """
    values = configuration(layer, changes)
    name = yaml.safe_load((PROJECT / layer / "Pulumi.yaml").read_text())["name"]
    monitor = _Monitor(_Answers(stacks, outputs or {}, look_ups or {}))
    pulumi.runtime.set_mocks(monitor.mocks, project=name, stack="test", preview=False, monitor=monitor)
    pulumi.runtime.set_all_config(
        {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    )
    pulumi.runtime.test(_program(PROJECT / layer / "__main__.py"))()
    return LayerRun(resources=tuple(sorted(monitor.registered, key=lambda one: (one.type, one.name))))


def _program(path: Path) -> Callable[[], None]:
    def program() -> None:
        runpy.run_path(str(path))

    return program
