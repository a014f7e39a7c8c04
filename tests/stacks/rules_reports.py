"""What must hold for the pods that report busy GPUs, and for the watchdog that waits for their reports."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.checks.preflight.records import Record, Resource

from .rules import Problem

PODS = "kubernetes:apps/v1:DaemonSet"
SERVICE = "kubernetes:core/v1:Service"
FUNCTION = "aws:lambda/function:Function"
GOOGLE_WORKFLOW = "gcp:workflows/workflow:Workflow"
AZURE_WORKFLOW = "azure-native:logic:Workflow"
#: One release, and nothing that moves.
_IMAGE = r"[a-z0-9.-]+/[a-z0-9./_-]+:[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z._-]*(@sha256:[0-9a-f]{64})?"
_HOST = ("hostNetwork", "hostPID", "hostIPC")


def report_problems(record: Record) -> list[Problem]:
    """Return everything that is wrong with reports and with who waits for them."""
    pods, waiting = record.of(PODS), list(_waiting(record))
    return [
        *(
            Problem(id="KUB050", resource=one, message="waits for reports that nothing makes")
            for one, _ in waiting
            if not pods
        ),
        *(problem for one in pods for problem in _pod(one)),
        *(
            Problem(id="KUB054", resource=one, message=f"waits for reports of {cluster}")
            for one, cluster in waiting
            if cluster is not None and any(_told(pod).get("CLUSTER_NAME") != cluster for pod in pods)
        ),
        *(problem for one in record.of(SERVICE) for problem in _way_to_figures(one)),
    ]


def _waiting(record: Record) -> Iterator[tuple[str, str | None]]:
    """Yield who stops idle nodes, and of which cluster where it says so."""
    for one in record.of(FUNCTION):
        told = (one.inputs.get("environment") or {}).get("variables", {})
        if told.get("STOP_WHEN_IDLE_MINUTES", "0") != "0":
            yield one.name, told.get("CLUSTER")
    for one in record.of(GOOGLE_WORKFLOW):
        told = one.inputs.get("userEnvVars") or {}
        if told.get("IDLE_S", "0") != "0":
            yield one.name, told.get("CLUSTER_NAME")
    for one in record.of(AZURE_WORKFLOW):
        if ((one.inputs.get("parameters") or {}).get("idleMinutes") or {}).get("value"):
            yield one.name, None


def _template(one: Resource) -> Mapping[str, Any]:
    found: Mapping[str, Any] = one.inputs["spec"]["template"]["spec"]
    return found


def _told(one: Resource) -> Mapping[str, Any]:
    return {entry["name"]: entry.get("value") for each in _template(one)["containers"] for entry in each["env"]}


def _pod(one: Resource) -> Iterator[Problem]:
    pod = _template(one)
    if any(pod.get(name) for name in _HOST) or any("hostPath" in volume for volume in pod.get("volumes") or []):
        yield Problem(id="KUB051", resource=one.name, message="reaches into the host")
    if (pod.get("securityContext") or {}).get("runAsNonRoot") is not True:
        yield Problem(id="KUB051", resource=one.name, message="may run as root")
    if pod.get("automountServiceAccountToken") is not False:
        yield Problem(id="KUB051", resource=one.name, message="gets a token of the API server")
    if pod.get("nodeSelector") != {"node-kind": "gpu"} or pod.get("tolerations") != [{"operator": "Exists"}]:
        yield Problem(id="KUB053", resource=one.name, message="does not run on every GPU node and no other")
    for container in pod["containers"]:
        rights = container.get("securityContext") or {}
        closed = (rights.get("allowPrivilegeEscalation"), rights.get("readOnlyRootFilesystem"))
        if closed != (False, True) or (rights.get("capabilities") or {}).get("drop") != ["ALL"]:
            yield Problem(id="KUB051", resource=one.name, message="has more rights than it needs")
        if re.fullmatch(_IMAGE, str(container.get("image"))) is None:
            yield Problem(
                id="KUB052", resource=one.name, message=f"{container.get('image')} may be another one tomorrow"
            )


def _way_to_figures(one: Resource) -> Iterator[Problem]:
    if one.inputs["spec"].get("internalTrafficPolicy") != "Local":
        yield Problem(id="KUB055", resource=one.name, message="leads to the figures of any node")
