"""What one run of a stack's program asked the engine for, as the monitor wrote it down."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Marks inside recorded inputs. `{SECRET: value}` is a secret, `{UNKNOWN: True}` is known only after `up`, and
#: `{REFERENCE: urn}` is another resource.
SECRET = "$secret"  # noqa: S105 - a mark, not a secret
UNKNOWN = "$unknown"
REFERENCE = "$resource"


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """One registration; the fields are those of the engine's protocol.

    Attributes:
        read_id: of what exists already and is only read, such as another stack; empty for what is made.
        identities: texts by which others refer to it: its id, and what the stand-in made up for its other outputs.
    """

    urn: str
    type: str
    name: str
    custom: bool
    parent: str
    provider: str
    protect: bool
    retain_on_delete: bool
    delete_before_replace: bool
    dependencies: tuple[str, ...]
    property_dependencies: Mapping[str, tuple[str, ...]]
    aliases: tuple[str, ...]
    ignore_changes: tuple[str, ...]
    replace_on_changes: tuple[str, ...]
    additional_secret_outputs: tuple[str, ...]
    version: str
    inputs: Mapping[str, Any]
    read_id: str = ""
    identities: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One run of one program.

    Attributes:
        project: the name in its `Pulumi.yaml`.
        resources: by URN, components and the stack itself left out of `custom` ones.
        outputs: of the stack.
        logs: severity and message, in order.
        invokes: type and arguments of every look-up.
        reads: stack and output, for every output of another stack that the program asked for.
        error: what the program died of, or None.
    """

    project: str
    resources: tuple[Resource, ...]
    outputs: Mapping[str, Any]
    logs: tuple[tuple[str, str], ...]
    invokes: tuple[tuple[str, Mapping[str, Any]], ...]
    reads: tuple[tuple[str, str], ...]
    error: str | None

    def of(self, type_: str) -> tuple[Resource, ...]:
        """Return all resources of a type."""
        return tuple(one for one in self.resources if one.type == type_)

    @property
    def cloud_resources(self) -> tuple[Resource, ...]:
        """What the cloud is asked for: no components, no providers, no stacks, nothing that is only read."""
        made = (one for one in self.resources if one.custom and not one.read_id)
        return tuple(one for one in made if not one.type.startswith("pulumi:"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of a project: the record of each layer, in the order in which they ran; a failed one is the last."""

    layers: Mapping[str, Record]

    @property
    def error(self) -> str | None:
        """What the first failing layer died of."""
        return next((one.error for one in self.layers.values() if one.error is not None), None)

    @property
    def whole(self) -> Record:
        """All layers as one record, for rules that look at more than one of them."""
        records = list(self.layers.values())
        return Record(
            project=records[-1].project,
            resources=tuple(sorted((one for each in records for one in each.resources), key=lambda one: one.urn)),
            outputs={
                f"{layer}.{key}": value for layer, each in self.layers.items() for key, value in each.outputs.items()
            },
            logs=tuple(one for each in records for one in each.logs),
            invokes=tuple(one for each in records for one in each.invokes),
            reads=tuple(one for each in records for one in each.reads),
            error=self.error,
        )

    def stacks(self, stack: str, organization: str = "organization") -> dict[str, Mapping[str, Any]]:
        """Return the outputs of the layers that ran to their end, by the full name of each stack."""
        done = (one for one in self.layers.values() if one.error is None)
        return {f"{organization}/{one.project}/{stack}": one.outputs for one in done}


def run_from(documents: Mapping[str, Mapping[str, Any]]) -> Run:
    """Return the run that the monitor's answer holds."""
    return Run(layers={layer: record_from(document) for layer, document in documents.items()})


def record_from(document: Mapping[str, Any]) -> Record:
    """Return the record that the monitor's JSON document holds."""
    resources = (
        Resource(
            **{
                **entry,
                **{key: tuple(value) for key, value in entry.items() if isinstance(value, list)},
                "property_dependencies": {k: tuple(v) for k, v in entry["property_dependencies"].items()},
            }
        )
        for entry in document["resources"]
    )
    return Record(
        project=document["project"],
        resources=tuple(resources),
        outputs=document["outputs"],
        logs=tuple((severity, message) for severity, message in document["logs"]),
        invokes=tuple((token, arguments) for token, arguments in document["invokes"]),
        reads=tuple((stack, output) for stack, output in document["reads"]),
        error=document["error"],
    )


def texts(value: Any, *, secret: bool = False) -> Iterator[tuple[str, bool]]:  # noqa: ANN401 - JSON
    """Yield every text inside a recorded value, keys included, and whether it is under a secret mark."""
    if isinstance(value, str):
        yield value, secret
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in (SECRET, UNKNOWN, REFERENCE):
                yield key, secret
            yield from texts(item, secret=secret or key == SECRET)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item, secret=secret)
