"""The namespace that jobs run in, with the parallel file system as a volume that several nodes write to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

NAMESPACE = "workload"
SERVICE_ACCOUNT = "workload"
# Of what chooses a replica for each request (`serving/gateway.yaml`, `serving/router.yaml`): it reads the pods of its
# namespace, no more.
CHOOSER_ENDINGS = ("-picker", "-router")
CLAIM = "shared"
# Of replicas of a service (`serving/`), which bring network policies of their own.
ROLE_LABEL, SERVICE_ROLES = "app.kubernetes.io/component", ("engine", "prefill", "decode")


# RDMA pins memory, takes the host's devices and mounts its folders: levels below refuse such pods. What else
# `privileged` would allow is refused by the rules below; the audit log has what `baseline` would refuse.
POD_SECURITY = {
    "pod-security.kubernetes.io/enforce": "privileged",
    "pod-security.kubernetes.io/audit": "baseline",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class AdmissionRule:
    """What every pod of the namespace keeps (Common Expression Language), and what is said to one that does not."""

    expression: str
    message: str


_CONTAINERS = (
    "(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : [])"
    " + (has(object.spec.ephemeralContainers) ? object.spec.ephemeralContainers : []))"
)
_SECURITY = "has(c.securityContext)"
#: What jobs need for RDMA and for tools that trace; everything else would be a way to the node.
CAPABILITIES = ("IPC_LOCK", "NET_ADMIN", "NET_BIND_SERVICE", "SYS_PTRACE", "SYS_RESOURCE")
#: Folders of the host that transports of the clouds mount; the parallel file system comes by its claim.
HOST_PATHS = ("/dev/aperture_devices/", "/dev/infiniband/", "/home/kubernetes/bin/", "/proc/sys/", "/sys/")
ADMISSION_RULES = (
    AdmissionRule(
        expression="!(has(object.spec.hostPID) && object.spec.hostPID) && "
        "!(has(object.spec.hostIPC) && object.spec.hostIPC)",
        message="hostPID and hostIPC open the processes of the node and of every other job",
    ),
    # No transport of the three clouds wants it: their interfaces come to pods as devices and as networks of pods.
    AdmissionRule(
        expression="!(has(object.spec.hostNetwork) && object.spec.hostNetwork)",
        message="hostNetwork passes by the network policies and reaches the metadata service with the node's identity",
    ),
    AdmissionRule(
        expression=f"{_CONTAINERS}.all(c, !{_SECURITY} || !has(c.securityContext.privileged) || "
        "!c.securityContext.privileged)",
        message="a privileged container owns its node; RDMA needs the capability IPC_LOCK and its device",
    ),
    AdmissionRule(
        expression="!has(object.spec.serviceAccountName) || object.spec.serviceAccountName in "
        f"['', 'default', '{SERVICE_ACCOUNT}'] || "
        f"[{', '.join(repr(one) for one in CHOOSER_ENDINGS)}].exists(one, "
        "object.spec.serviceAccountName.endsWith(one))",
        message=f"jobs run as the service account {SERVICE_ACCOUNT}",
    ),
    AdmissionRule(
        expression=f"{_CONTAINERS}.all(c, !{_SECURITY} || !has(c.securityContext.capabilities) || "
        "!has(c.securityContext.capabilities.add) || c.securityContext.capabilities.add.all(one, one in "
        f"[{', '.join(repr(one) for one in CAPABILITIES)}]))",
        message=f"of capabilities a job may add {', '.join(CAPABILITIES)}",
    ),
    AdmissionRule(
        expression="!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.hostPath) || "
        f"[{', '.join(repr(one) for one in HOST_PATHS)}].exists(one, "
        "(v.hostPath.path + '/').startsWith(one)) && !v.hostPath.path.contains('..'))",
        message=f"of the host's files a job may mount {', '.join(HOST_PATHS)}",
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSystemVolume:
    """The file system as its storage driver names it.

    Attributes:
        driver: name of the driver, such as `fsx.csi.aws.com`.
        handle: the file system's own id.
        attributes: how the driver reaches it.
        capacity_gib: what the volume says of its size; the file system itself sets the limit.
    """

    driver: str
    handle: pulumi.Input[str]
    attributes: Mapping[str, pulumi.Input[str]]
    capacity_gib: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedAddress:
    """An address that pods of the namespace do not reach.

    Attributes:
        address: IPv4, of one host.
        open_ports: that they reach all the same, over TCP and UDP.
    """

    address: str
    open_ports: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkloadArgs:
    """What the namespace needs.

    Attributes:
        volume: None where there is no parallel file system.
        identity: annotations that give the jobs' service account the rights of an identity of the cloud.
        closed: services of the node that its pods must not ask; empty where the cloud itself keeps pods from them, or
            where pods need them for an identity of their own.
    """

    volume: FileSystemVolume | None
    identity: Mapping[str, pulumi.Input[str]]
    labels: Mapping[str, str]
    after: list[pulumi.Resource]
    closed: Sequence[ClosedAddress] = ()


class Workload(pulumi.ComponentResource):
    """Namespace, service account, and a volume whose deletion leaves the file system in place."""

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:kubernetes:Workload", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=args.after)
        namespace = kubernetes.core.v1.Namespace(
            f"{name}-namespace",
            metadata=_metadata(NAMESPACE, labels={**args.labels, **POD_SECURITY}),
            opts=child,
        )
        self._admission(name, args.labels, child)
        self._network_policies(name, args.labels, namespace)
        if args.closed:
            self._egress_policies(name, args.closed, args.labels, namespace)
        kubernetes.core.v1.ServiceAccount(
            f"{name}-account",
            metadata=_metadata(SERVICE_ACCOUNT, NAMESPACE, labels=args.labels, annotations=args.identity),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace]),
        )
        if args.volume is not None:
            self._share(name, args.volume, args.labels, namespace)
        self.register_outputs({})

    def _admission(self, name: str, labels: Mapping[str, str], opts: pulumi.ResourceOptions) -> None:
        """Refuse what the namespace's level would let through and no job needs, before a pod is made."""
        policy = kubernetes.admissionregistration.v1.ValidatingAdmissionPolicy(
            f"{name}-admission",
            metadata=_metadata(f"{NAMESPACE}-pods", labels=labels),
            spec=kubernetes.admissionregistration.v1.ValidatingAdmissionPolicySpecArgs(
                failure_policy="Fail",
                match_constraints=kubernetes.admissionregistration.v1.MatchResourcesArgs(
                    resource_rules=[
                        kubernetes.admissionregistration.v1.NamedRuleWithOperationsArgs(
                            api_groups=[""],
                            api_versions=["v1"],
                            # A debugging container can be put into a pod that was admitted.
                            resources=["pods", "pods/ephemeralcontainers"],
                            operations=["CREATE", "UPDATE"],
                        )
                    ]
                ),
                validations=[
                    kubernetes.admissionregistration.v1.ValidationArgs(expression=rule.expression, message=rule.message)
                    for rule in ADMISSION_RULES
                ],
            ),
            opts=opts,
        )
        kubernetes.admissionregistration.v1.ValidatingAdmissionPolicyBinding(
            f"{name}-admission-binding",
            metadata=_metadata(f"{NAMESPACE}-pods", labels=labels),
            spec=kubernetes.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpecArgs(
                policy_name=f"{NAMESPACE}-pods",
                validation_actions=["Deny"],
                match_resources=kubernetes.admissionregistration.v1.MatchResourcesArgs(
                    namespace_selector=kubernetes.meta.v1.LabelSelectorArgs(
                        match_labels={"kubernetes.io/metadata.name": NAMESPACE}
                    )
                ),
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )

    def _network_policies(self, name: str, labels: Mapping[str, str], namespace: pulumi.Resource) -> None:
        """Let pods of the namespace talk to each other, and nobody else to them."""
        everyone = kubernetes.meta.v1.LabelSelectorArgs()
        kubernetes.networking.v1.NetworkPolicy(
            f"{name}-among-themselves",
            metadata=_metadata("among-themselves", NAMESPACE, labels=labels),
            spec=kubernetes.networking.v1.NetworkPolicySpecArgs(
                pod_selector=everyone,
                policy_types=["Ingress"],
                ingress=[
                    kubernetes.networking.v1.NetworkPolicyIngressRuleArgs(
                        from_=[kubernetes.networking.v1.NetworkPolicyPeerArgs(pod_selector=everyone)]
                    )
                ],
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace]),
        )

    def _egress_policies(
        self, name: str, closed: Sequence[ClosedAddress], labels: Mapping[str, str], namespace: pulumi.Resource
    ) -> None:
        """Let pods of the namespace reach everything but some addresses.

        Policies only ever add to each other, so that one for every pod would open what the policies of a service leave
        closed: its replicas are left out, and reach nothing but what their own policies name.
        """
        everywhere = kubernetes.networking.v1.NetworkPolicyPeerArgs(
            ip_block=kubernetes.networking.v1.IPBlockArgs(
                cidr="0.0.0.0/0", except_=[f"{one.address}/32" for one in closed]
            )
        )
        # To an engine such as Cilium a pod is no address.
        every_pod = kubernetes.networking.v1.NetworkPolicyPeerArgs(
            namespace_selector=kubernetes.meta.v1.LabelSelectorArgs()
        )
        opened = kubernetes.networking.v1.NetworkPolicy(
            f"{name}-egress-except-closed",
            metadata=_metadata("egress-except-closed", NAMESPACE, labels=labels),
            spec=kubernetes.networking.v1.NetworkPolicySpecArgs(
                pod_selector=kubernetes.meta.v1.LabelSelectorArgs(
                    match_expressions=[
                        kubernetes.meta.v1.LabelSelectorRequirementArgs(
                            key=ROLE_LABEL, operator="NotIn", values=list(SERVICE_ROLES)
                        )
                    ]
                ),
                policy_types=["Egress"],
                egress=[
                    kubernetes.networking.v1.NetworkPolicyEgressRuleArgs(to=[everywhere, every_pod]),
                    *(_open_ports(one) for one in closed if one.open_ports),
                ],
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace]),
        )
        kubernetes.networking.v1.NetworkPolicy(
            f"{name}-egress-denied",
            metadata=_metadata("egress-denied", NAMESPACE, labels=labels),
            spec=kubernetes.networking.v1.NetworkPolicySpecArgs(
                pod_selector=kubernetes.meta.v1.LabelSelectorArgs(), policy_types=["Egress"]
            ),
            # The other way round, running jobs would be cut off in between.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[opened]),
        )

    def _share(
        self, name: str, source: FileSystemVolume, labels: Mapping[str, str], namespace: pulumi.Resource
    ) -> None:
        """Make the volume and the claim that jobs name; deleting both leaves the file system in place."""
        size = {"storage": f"{source.capacity_gib}Gi"}
        volume = kubernetes.core.v1.PersistentVolume(
            f"{name}-volume",
            metadata=_metadata(f"{NAMESPACE}-{CLAIM}", labels=labels),
            spec=kubernetes.core.v1.PersistentVolumeSpecArgs(
                capacity=size,
                access_modes=["ReadWriteMany"],
                storage_class_name="",
                persistent_volume_reclaim_policy="Retain",
                # Common data loaders lock files.
                mount_options=["flock"],
                claim_ref=kubernetes.core.v1.ObjectReferenceArgs(namespace=NAMESPACE, name=CLAIM),
                csi=kubernetes.core.v1.CSIPersistentVolumeSourceArgs(
                    driver=source.driver,
                    volume_handle=source.handle,
                    volume_attributes=source.attributes,
                ),
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace]),
        )
        kubernetes.core.v1.PersistentVolumeClaim(
            f"{name}-claim",
            metadata=_metadata(CLAIM, NAMESPACE, labels=labels),
            spec=kubernetes.core.v1.PersistentVolumeClaimSpecArgs(
                access_modes=["ReadWriteMany"],
                storage_class_name="",
                volume_name=f"{NAMESPACE}-{CLAIM}",
                resources=kubernetes.core.v1.VolumeResourceRequirementsArgs(requests=size),
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace, volume]),
        )


def _open_ports(closed: ClosedAddress) -> kubernetes.networking.v1.NetworkPolicyEgressRuleArgs:
    return kubernetes.networking.v1.NetworkPolicyEgressRuleArgs(
        to=[
            kubernetes.networking.v1.NetworkPolicyPeerArgs(
                ip_block=kubernetes.networking.v1.IPBlockArgs(cidr=f"{closed.address}/32")
            )
        ],
        ports=[
            kubernetes.networking.v1.NetworkPolicyPortArgs(port=port, protocol=protocol)
            for port in closed.open_ports
            for protocol in ("TCP", "UDP")
        ],
    )


def _metadata(
    name: str,
    namespace: str | None = None,
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, pulumi.Input[str]] | None = None,
) -> kubernetes.meta.v1.ObjectMetaArgs:
    return kubernetes.meta.v1.ObjectMetaArgs(
        name=name, namespace=namespace, labels=labels, annotations=annotations or None
    )
