"""What must hold for the records of every stack, whatever the cloud."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.catalog.records import Instance
from clusterwright.checks.preflight.recorder.shapes import Entries, Sdk, UnknownTypeError
from clusterwright.checks.preflight.records import SECRET, UNKNOWN, Record, Resource, Run, texts

#: Contained in every secret answer of the stand-in cloud.
CANARY = "canary-of-a-secret"
#: Passwords that the service wants from whoever makes the resource; they stay under secret marks.
MADE_BY_THE_USER = (
    ("azure-native:dbformysql:Server", "administrator_login_password"),
    ("gcp:secretmanager/secretVersion:SecretVersion", "secret_data"),
    ("gcp:sql/user:User", "password"),
)
_NOT_TEXT = ("Calling __str__ on an Output", "<pulumi.", "object at 0x")


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Something wrong in a record: the rule's id, the resource, and what is wrong."""

    id: str
    resource: str
    message: str

    def __str__(self) -> str:
        return f"{self.id} {self.resource}: {self.message}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a record is held against: facts of the catalogue and what was asked for.

    Attributes:
        tags: of everything; each layer adds its own name as `layer`.
        existing_network: whether the account's own network is used.
        kept: types that survive `pulumi destroy`, and how many of each.
        own_tags_reach_by_provider: whether the provider itself puts the cluster's tags on everything.
    """

    cloud: str
    scheduler: str
    instance: Instance
    nodes: int
    capacity: str
    tags: Mapping[str, str]
    kept: Mapping[str, int]
    existing_network: bool
    own_tags_reach_by_provider: bool


def text_problems(record: Record) -> Iterator[Problem]:
    """No value that is known only later was turned into text too early."""
    for one in record.resources:
        for text, _ in texts(_without_azures_none(one.inputs)):
            if text == "None" or any(sign in text for sign in _NOT_TEXT):
                yield Problem(id="TXT001", resource=one.name, message=f"an output was turned into text: {text[:60]}")


#: Where Azure's own word for nothing stands: a container that nobody may read without a grant, nodes that nobody
#: upgrades, and GPUs whose driver somebody else installs.
_AZURES_NONE = ("publicAccess", "nodeOSUpgradeChannel", "driver")


def _without_azures_none(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        kept = {key: item for key, item in value.items() if not (key in _AZURES_NONE and item == "None")}
        return {key: _without_azures_none(item) for key, item in kept.items()}
    return [_without_azures_none(item) for item in value] if isinstance(value, list | tuple) else value


def secret_problems(record: Record, sdk: Sdk) -> Iterator[Problem]:
    """Secret answers stay under secret marks, in inputs, exports and logs; and no secret has a plain value."""
    for one in record.cloud_resources:
        for text, secret in texts(one.inputs):
            if CANARY in text and not secret:
                yield Problem(id="SEC001", resource=one.name, message="a secret is in a plain input")
        for name in sdk.secret_inputs(one.type):
            head, *rest = name.split("_")
            value = one.inputs.get(head + "".join(word.capitalize() for word in rest))
            if value is not None:
                marked = isinstance(value, Mapping) and SECRET in value
                # The list of users is public; the type of its container is secret all the same.
                if marked and ((one.type, name) in MADE_BY_THE_USER or one.name.endswith("-users-list")):
                    continue
                where = "in the state" if marked else "as plain text"
                yield Problem(id="SEC002", resource=one.name, message=f"{name} is held {where}")
    for text, secret in texts(record.outputs):
        if CANARY in text and not secret:
            yield Problem(id="SEC003", resource="stack", message="a secret is in a plain export")
    for _, message in record.logs:
        if CANARY in message:
            yield Problem(id="SEC004", resource="stack", message="a secret is in the log")


def structure_problems(record: Record) -> Iterator[Problem]:
    """Every resource belongs to a component and to a provider that the program made itself."""
    by_urn = {one.urn: one for one in record.resources}
    providers = {one.urn for one in record.resources if one.type.startswith("pulumi:providers:")}
    for one in record.cloud_resources:
        parent = by_urn.get(one.parent)
        if parent is None or parent.custom or parent.type == "pulumi:pulumi:Stack":
            yield Problem(id="STR001", resource=one.name, message="belongs to no component")
        if one.provider.rpartition("::")[0] not in providers:
            yield Problem(id="STR002", resource=one.name, message="is made by a default provider")
    for one in record.resources:
        if not one.custom and one.parent and by_urn[one.parent].custom:
            yield Problem(id="STR003", resource=one.name, message="is a component below a resource")


def kept_problems(record: Record, kept: Mapping[str, int], layer: str) -> Iterator[Problem]:
    """Data and its keys are protected, nothing else is, so that the rest can be destroyed.

    The layers above the foundation protect nothing: they are destroyed and made again while the data stays.
    """
    if layer not in ("", "foundation"):
        kept = {}
    found: dict[str, int] = {}
    for one in record.cloud_resources:
        if one.protect:
            found[one.type] = found.get(one.type, 0) + 1
        if one.inputs.get("forceDestroy") not in (None, False):
            yield Problem(id="KEP002", resource=one.name, message="can be deleted with its content")
        if one.retain_on_delete:
            yield Problem(id="KEP003", resource=one.name, message="stays behind without anyone knowing")
    for kind in sorted({*found, *kept}):
        if found.get(kind, 0) != kept.get(kind, 0):
            message = f"{found.get(kind, 0)} are protected, not {kept.get(kind, 0)}"
            yield Problem(id="KEP001", resource=kind, message=message)


#: What each provider calls its tags; `labels` of an EKS node group are Kubernetes' own.
_TAGS = {"aws": ("tags",), "azure-native": ("tags",), "gcp": ("labels", "resourceLabels", "userLabels")}


def tag_problems(record: Record, sdk: Sdk, wanted: Wanted, layer: str) -> Iterator[Problem]:
    """The cluster's tags are on everything that can carry tags, by the provider or by the resource itself."""
    tags = {**wanted.tags, "layer": layer} if layer else wanted.tags
    default: Mapping[str, Any] = {}
    for one in record.resources:
        if one.type in ("pulumi:providers:aws", "pulumi:providers:gcp"):
            given = one.inputs.get("defaultTags") or one.inputs.get("defaultLabels") or "{}"
            default = _json(given).get("tags", _json(given))
    if wanted.own_tags_reach_by_provider and not tags.items() <= default.items():
        yield Problem(id="TAG001", resource="provider", message=f"default tags are {dict(default)}")
    for one in record.cloud_resources:
        try:
            properties = sdk.inputs(one.type).properties
        except UnknownTypeError:
            continue
        for name in _TAGS.get(one.type.partition(":")[0], ()):
            known = properties.get(name)
            if known is None or not isinstance(known.shape, Entries):
                continue
            own = one.inputs.get(name) or {}
            if not tags.items() <= {**default, **own}.items():
                yield Problem(id="TAG002", resource=one.name, message=f"{name} are {dict(own)}")


def _json(value: Any) -> dict[str, Any]:  # noqa: ANN401
    loaded: dict[str, Any] = json.loads(value) if isinstance(value, str) else dict(value)
    return loaded


def run_problems(record: Record, warnings: Sequence[str] = ()) -> Iterator[Problem]:
    """The program ran to its end, said nothing unexpected and exported something."""
    if record.error is not None:
        yield Problem(id="RUN001", resource="program", message=record.error)
    for severity, message in record.logs:
        if severity != "info" and not any(known in message for known in warnings):
            yield Problem(id="RUN002", resource="program", message=f"{severity}: {message}")
    if record.error is None and not record.outputs:
        yield Problem(id="RUN003", resource="program", message="exports nothing")


def reference_problems(run: Run, stack: str) -> Iterator[Problem]:
    """A layer reads outputs of the layers before it, and only such as these export."""
    known: dict[str, Mapping[str, Any]] = {}
    for layer, record in run.layers.items():
        references = [one for one in record.resources if one.type == "pulumi:pulumi:StackReference"]
        for one in references:
            if record.error is None and one.read_id not in {name for name, _ in record.reads}:
                yield Problem(id="REF002", resource=one.name, message=f"{layer} reads nothing of {one.read_id}")
        for name, output in record.reads:
            if name in known and output not in known[name]:
                yield Problem(id="REF001", resource=layer, message=f"reads {output}, which {name} does not export")
        if record.error is None and layer not in ("", "foundation") and not references:
            yield Problem(id="REF003", resource=layer, message="stands on no other layer")
        known[f"organization/{record.project}/{stack}"] = record.outputs


def common_problems(
    record: Record, sdk: Sdk, wanted: Wanted, layer: str, warnings: Sequence[str] = ()
) -> list[Problem]:
    """Return everything that is wrong in one layer's record by the rules of this module; "" is a project without."""
    return [
        *run_problems(record, warnings),
        *text_problems(record),
        *secret_problems(record, sdk),
        *structure_problems(record),
        *kept_problems(record, wanted.kept, layer),
        *tag_problems(record, sdk, wanted, layer),
    ]


def is_known(value: Any) -> bool:  # noqa: ANN401
    """Tell a value from a mark for something that is known only after `up`."""
    return not (isinstance(value, Mapping) and UNKNOWN in value)


def one_of(record: Record, type_: str, name: str = "") -> Resource:
    """Return the only resource of a type whose name contains a text."""
    found = [one for one in record.of(type_) if name in one.name]
    assert len(found) == 1, f"{len(found)} of {type_} named *{name}*"
    return found[0]
