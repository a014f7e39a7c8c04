"""What the admission rules of the cluster let in: evaluated as an API server does, with pods that open a node.

Needs the extra `admission` (cel-python); without it nothing is said of what an expression means.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from clusterwright.checks.preflight.files.values import text
from clusterwright.checks.preflight.judging import registered
from clusterwright.checks.preflight.programs.recorded_checks import unrecorded
from clusterwright.checks.preflight.records import Run
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.scripts.manifests import items, manifests, mapping, pods_of
from clusterwright.checks.preflight.subject import Subject

NAMESPACE = "kubernetes:core/v1:Namespace"
POLICY = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
BINDING = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding"
_LEVEL = "pod-security.kubernetes.io/enforce"
_NAME = "kubernetes.io/metadata.name"
_CONTAINER = {"name": "one", "image": "one"}


def _with(**security: Any) -> dict[str, Any]:  # noqa: ANN401 - a manifest
    return {"containers": [_CONTAINER, {**_CONTAINER, "name": "two", "securityContext": security}]}


def _mounting(*paths: str) -> dict[str, Any]:
    volumes = [{"name": f"of-the-host-{number}", "hostPath": {"path": path}} for number, path in enumerate(paths)]
    return {"containers": [_CONTAINER], "volumes": [{"name": "own", "emptyDir": {}}, *volumes]}


_PRIVILEGED = {**_CONTAINER, "securityContext": {"privileged": True}}
#: Pods that open their node to whoever submits them: what each would do, and its specification.
OPENING: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("in the network of the host", {"containers": [_CONTAINER], "hostNetwork": True}),
    ("among the processes of the host", {"containers": [_CONTAINER], "hostPID": True}),
    ("with the memory of the host's processes", {"containers": [_CONTAINER], "hostIPC": True}),
    ("with a privileged container", _with(privileged=True)),
    ("with a privileged first container", {"containers": [_PRIVILEGED, _CONTAINER]}),
    ("with a privileged init container", {"containers": [_CONTAINER], "initContainers": [_PRIVILEGED]}),
    ("with the capability SYS_ADMIN", _with(capabilities={"add": ["SYS_ADMIN"]})),
    ("with every capability", _with(capabilities={"add": ["ALL"]})),
    ("with the capability SYS_MODULE", _with(capabilities={"add": ["IPC_LOCK", "SYS_MODULE"]})),
    ("with the files of the host", _mounting("/")),
    ("with the settings of the host", _mounting("/etc")),
    ("with the secrets of the node's agent", _mounting("/var/lib/kubelet")),
    ("with the socket of the node's containers", _mounting("/run/containerd/containerd.sock")),
    ("as another service account", {"containers": [_CONTAINER], "serviceAccountName": "administrator"}),
)
#: Pods that have to be let in.
ORDINARY: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("an ordinary pod", {"containers": [_CONTAINER]}),
    ("a pod that pins memory", _with(capabilities={"add": ["IPC_LOCK"]})),
)
#: What Kubernetes' own level of pod security refuses by itself.
_CLOSED_LEVELS = ("baseline", "restricted")


class NotEvaluatedError(Exception):
    """An expression that is not evaluated here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One rule of an admission policy: its expression, and what it says to whom it refuses."""

    expression: str
    message: str


@cache
def _engine() -> ModuleType | None:
    try:
        return importlib.import_module("celpy")
    except ImportError:
        return None


def is_available() -> bool:
    """Tell whether expressions can be evaluated here."""
    return _engine() is not None


def refusal(rules: Sequence[Rule], pod: Mapping[str, Any]) -> str | None:
    """Return what the first rule that refuses a pod says, None where all let it in.

    Args:
        rules: of the policies that are bound to the pod's namespace.
        pod: with `metadata` and `spec`.

    Raises:
        NotEvaluatedError: if there is no engine here, or an expression is not valid.
    """
    engine = _engine()
    if engine is None:
        message = "cel-python is not installed"
        raise NotEvaluatedError(message)
    made = engine.json_to_cel({"apiVersion": "v1", "kind": "Pod", "metadata": {}, **pod})
    for rule in rules:
        try:
            environment = engine.Environment()
            value = environment.program(environment.compile(rule.expression)).evaluate(
                {"object": made, "oldObject": None}
            )
        except engine.CELEvalError:
            # An expression that ends in an error refuses, where failurePolicy is Fail.
            value = False
        except Exception as error:  # the engine's parser raises its own kinds
            message = f"{rule.expression[:60]}… is not evaluated: {type(error).__name__}"
            raise NotEvaluatedError(message) from error
        if not value:
            return rule.message or rule.expression
    return None


def rules_of(run: Run) -> dict[str, tuple[Rule, ...] | None]:
    """Return the rules of every namespace that any pod may enter by its level of pod security; None for no policy."""
    resources = [(one["type"], one["inputs"]) for one in registered(run)]
    policies = {
        text(mapping(inputs.get("metadata")).get("name")): mapping(inputs.get("spec"))
        for kind, inputs in resources
        if kind == POLICY
    }
    found: dict[str, tuple[Rule, ...] | None] = {}
    for kind, inputs in resources:
        metadata = mapping(inputs.get("metadata"))
        labels = mapping(metadata.get("labels"))
        name = text(metadata.get("name"))
        if kind != NAMESPACE or _LEVEL not in labels or text(labels[_LEVEL]) in _CLOSED_LEVELS:
            continue
        bound = [
            policies[text(spec.get("policyName"))]
            for of, binding in resources
            if of == BINDING
            for spec in [mapping(binding.get("spec"))]
            if text(spec.get("policyName")) in policies
            and "Deny" in items(spec.get("validationActions"))
            and _selects(spec, {**labels, _NAME: name})
        ]
        enforced = [policy for policy in bound if policy.get("failurePolicy") != "Ignore"]
        rules = tuple(
            Rule(expression=text(rule.get("expression")), message=text(rule.get("message")))
            for policy in enforced
            for rule in map(mapping, items(policy.get("validations")))
        )
        found[name] = rules or None
    return found


def _selects(binding: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    selector = mapping(mapping(binding.get("matchResources")).get("namespaceSelector"))
    if any(labels.get(key) != value for key, value in mapping(selector.get("matchLabels")).items()):
        return False
    for one in map(mapping, items(selector.get("matchExpressions"))):
        has, values = labels.get(text(one.get("key"))), items(one.get("values"))
        holds = {
            "In": has in values,
            "NotIn": has not in values,
            "Exists": has is not None,
            "DoesNotExist": has is None,
        }.get(text(one.get("operator")), False)
        if not holds:
            return False
    return True


def admitted(subject: Subject) -> Iterator[Outcome]:
    """Send pods that open their node, ordinary ones and the project's own to the namespaces of jobs."""
    if subject.project.scheduler != "kubernetes":
        return
    missing = unrecorded(subject)
    recorded = subject.recorded
    if missing is not None or recorded is None or recorded.run is None:
        yield missing or Outcome(status="UNKNOWN", message="the program was not run")
        return
    namespaces = rules_of(recorded.run)
    if namespaces and not is_available():
        yield Outcome(
            status="UNKNOWN",
            message="what the admission rules let in was not evaluated: cel-python is not installed",
            fix="pip install 'clusterwright[admission]'",
        )
        return
    good = True
    for name, rules in namespaces.items():
        for one in _of_namespace(subject, name, rules):
            good = False
            yield one
    if namespaces and good:
        yield passed(
            f"{len(OPENING)} pods that open a node are refused in {', '.join(namespaces)}, ordinary ones let in"
        )


def _of_namespace(subject: Subject, name: str, rules: tuple[Rule, ...] | None) -> Iterator[Outcome]:
    if rules is None:
        yield Outcome(
            status="FAIL",
            message=f"the namespace {name} lets every pod in: no admission policy is bound to it",
            fix="bind a ValidatingAdmissionPolicy that denies",
        )
        return
    try:
        for what, spec in OPENING:
            if refusal(rules, {"spec": spec}) is None:
                yield Outcome(
                    status="FAIL",
                    message=f"the namespace {name} lets pods in {what}",
                    fix="put the admission rule back",
                )
        for what, spec in ORDINARY:
            if (why := refusal(rules, {"spec": spec})) is not None:
                yield Outcome(
                    status="WARN", message=f"the namespace {name} refuses {what}: {why}", fix="correct the rule"
                )
        for one in manifests(subject):
            for pods in pods_of(one) if one.namespace == name else ():
                why = refusal(rules, {"metadata": _plain(pods.metadata), "spec": _plain(pods.spec)})
                if why is not None:
                    yield Outcome(
                        status="FAIL",
                        message=f"{one.file}: pods of {one.kind} {one.name} are refused in {name}: {why}",
                        fix="what the rule allows",
                        place=Place(file=subject.project.shown(one.file), line=one.line + 1, column=1),
                    )
    except NotEvaluatedError as error:
        yield Outcome(status="UNKNOWN", message=f"the admission rules of {name} were not evaluated: {error}")


def _plain(value: Any) -> Any:  # noqa: ANN401 - YAML
    """Return a part of a manifest as the engine takes it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
