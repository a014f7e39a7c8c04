"""What pods of jobs may not do to their node and to each other.

The level of Pod Security in their namespaces is "privileged", since RDMA pins memory and takes devices of the host.
What else that level lets in is refused by rules in the Common Expression Language (Kubernetes 1.30 and newer).
"""

from collections.abc import Sequence
from typing import Any

from clusterwright.outputs.kubernetes.cluster import NAMESPACE

#: What RDMA and tools that trace need; everything else would be a way to the node.
CAPABILITIES = ("IPC_LOCK", "NET_BIND_SERVICE", "SYS_PTRACE", "SYS_RESOURCE")
_API, _NAME = "admissionregistration.k8s.io/v1", f"{NAMESPACE}-pods"
_CONTAINERS = (
    "(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : [])"
    " + (has(object.spec.ephemeralContainers) ? object.spec.ephemeralContainers : []))"
)
_NO_PROCESSES, _NO_NETWORK = (
    " && ".join(f"!(has(object.spec.{name}) && object.spec.{name})" for name in names)
    for names in (("hostPID", "hostIPC"), ("hostNetwork",))
)
_NOT_PRIVILEGED = (
    f"{_CONTAINERS}.all(c, !has(c.securityContext) || !has(c.securityContext.privileged) || "
    "!c.securityContext.privileged)"
)
_FEW_CAPABILITIES = (
    f"{_CONTAINERS}.all(c, !has(c.securityContext) || !has(c.securityContext.capabilities) || "
    "!has(c.securityContext.capabilities.add) || c.securityContext.capabilities.add.all(one, one in "
    f"[{', '.join(map(repr, CAPABILITIES))}]))"
)
_NO_HOST_PATH = "!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.hostPath))"
#: Expressions that a pod has to fulfil, and what is said to one that does not.
_RULES = (
    (_NO_PROCESSES, "hostPID and hostIPC open the processes of the node and of every other job"),
    (_NO_NETWORK, "hostNetwork passes by the network policies; rails are networks of the pod's own"),
    (_NOT_PRIVILEGED, "a privileged container owns its node; RDMA needs the capability IPC_LOCK and ports of the node"),
    (_FEW_CAPABILITIES, f"of capabilities a job may add {', '.join(CAPABILITIES)}"),
    (_NO_HOST_PATH, "no job mounts the host's files; the file system comes by its claim, scratch by an emptyDir"),
)


def admission(namespaces: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rules for pods, bound to namespaces by name."""
    resources = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        # A debugging container can be put into a pod that was admitted.
        "resources": ["pods", "pods/ephemeralcontainers"],
    }
    selected = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(namespaces)}
    return [
        {
            "apiVersion": _API,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": _NAME},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [resources]},
                "validations": [{"expression": expression, "message": message} for expression, message in _RULES],
            },
        },
        {
            "apiVersion": _API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": _NAME},
            "spec": {
                "policyName": _NAME,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": {"matchExpressions": [selected]}},
            },
        },
    ]


def closed_jobs() -> dict[str, Any]:
    """Return the network policy of jobs: their pods are reached by pods of their namespace alone.

    Parts of a service have the label `app.kubernetes.io/component`, and policies of their own.
    """
    of_jobs = {"matchExpressions": [{"key": "app.kubernetes.io/component", "operator": "DoesNotExist"}]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "jobs", "namespace": NAMESPACE},
        "spec": {"podSelector": of_jobs, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {}}]}]},
    }
