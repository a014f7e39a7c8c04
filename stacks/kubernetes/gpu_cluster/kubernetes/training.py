"""The namespace that jobs run in, with the parallel file system as a volume that several nodes write to."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

NAMESPACE = "training"
SERVICE_ACCOUNT = "training"
CLAIM = "shared"


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
class TrainingArgs:
    """What the namespace needs.

    Attributes:
        volume: None where there is no parallel file system.
        identity: annotations that give the jobs' service account the rights of an identity of the cloud.
    """

    volume: FileSystemVolume | None
    identity: Mapping[str, pulumi.Input[str]]
    labels: Mapping[str, str]
    after: list[pulumi.Resource]


class Training(pulumi.ComponentResource):
    """Namespace, service account, and a volume whose deletion leaves the file system in place."""

    def __init__(self, name: str, args: TrainingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:kubernetes:Training", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=args.after)
        namespace = kubernetes.core.v1.Namespace(
            f"{name}-namespace",
            # RDMA pins memory and shares the host's devices, which the stricter levels refuse.
            metadata=_metadata(NAMESPACE, labels={**args.labels, "pod-security.kubernetes.io/enforce": "privileged"}),
            opts=child,
        )
        kubernetes.core.v1.ServiceAccount(
            f"{name}-account",
            metadata=_metadata(SERVICE_ACCOUNT, NAMESPACE, labels=args.labels, annotations=args.identity),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace]),
        )
        if args.volume is not None:
            self._share(name, args.volume, args.labels, namespace)
        self.register_outputs({})

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
