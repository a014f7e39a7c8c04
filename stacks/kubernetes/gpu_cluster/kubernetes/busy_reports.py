"""Reports how many GPUs of each node are busy, for the watchdog that stops idle nodes: one small pod on each GPU node.

A pod asks NVIDIA's exporter on its own node for the figures and publishes one number as the cloud's metric, by an
identity that may do nothing else. It sees no GPU, no file of the host and no API server.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

NAMESPACE: Final = "gpu-reports"
SERVICE_ACCOUNT: Final = "busy-gpus"
SCRIPTS: Final = Path(__file__).parents[2] / "node"
FIGURES_PORT: Final = 9400
_FOLDER, _SCRATCH = "/opt/gpu-cluster", "/tmp"  # noqa: S108 - a volume of the pod's own
_NOBODY: Final = 65534


@dataclass(frozen=True, kw_only=True, slots=True)
class Exporter:
    """The pods that export the figures of a node's GPUs, by namespace and labels."""

    namespace: str
    labels: Mapping[str, str]


# Of the chart in `charts.py`, and of the one that GKE brings (its guide "Collect and view DCGM metrics").
DCGM_CHART: Final = Exporter(namespace="monitoring", labels={"app.kubernetes.io/name": "dcgm-exporter"})
DCGM_OF_GKE: Final = Exporter(
    namespace="gke-managed-system", labels={"app.kubernetes.io/name": "gke-managed-dcgm-exporter"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BusyReportsArgs:
    """What the reports need.

    Attributes:
        cloud: `aws`, `azure` or `gcp`, whose script publishes the metric.
        image: with bash, curl and what that script calls, in one release.
        variables: of the script, by name without `CLUSTER_`.
        identity: annotations that give the service account the rights of an identity of the cloud; pod_labels: that the
            cloud wants on pods with one.
    """

    cluster_name: str
    cloud: str
    image: str
    exporter: Exporter
    gpus_per_node: int
    variables: Mapping[str, pulumi.Input[str]]
    labels: Mapping[str, str]
    after: Sequence[pulumi.Resource]
    identity: Mapping[str, pulumi.Input[str]] = field(default_factory=dict[str, pulumi.Input[str]])
    pod_labels: Mapping[str, str] = field(default_factory=dict[str, str])


def read_scripts(cloud: str) -> dict[str, str]:
    """Return what a pod runs, by file name."""
    names = ("busy_gpus.sh", "environment.sh", "http.sh", f"metric_{cloud}.sh")
    return {name: (SCRIPTS / name).read_text(encoding="utf-8") for name in names}


class BusyReports(pulumi.ComponentResource):
    """Namespace, service account, scripts, the way to the exporter of the same node, and the pods."""

    def __init__(self, name: str, args: BusyReportsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:kubernetes:BusyReports", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=list(args.after))
        namespace = kubernetes.core.v1.Namespace(
            f"{name}-namespace",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=NAMESPACE, labels={**args.labels, "pod-security.kubernetes.io/enforce": "restricted"}
            ),
            opts=child,
        )
        inside = pulumi.ResourceOptions(parent=self, depends_on=[namespace])
        account = kubernetes.core.v1.ServiceAccount(
            f"{name}-account",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=SERVICE_ACCOUNT, namespace=NAMESPACE, labels=args.labels, annotations=args.identity or None
            ),
            automount_service_account_token=False,
            opts=inside,
        )
        scripts = read_scripts(args.cloud)
        files = kubernetes.core.v1.ConfigMap(
            f"{name}-scripts",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=f"{SERVICE_ACCOUNT}-scripts", namespace=NAMESPACE, labels=args.labels
            ),
            data=scripts,
            opts=inside,
        )
        figures = kubernetes.core.v1.Service(
            f"{name}-figures",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name="figures-of-this-node", namespace=args.exporter.namespace, labels=args.labels
            ),
            spec=kubernetes.core.v1.ServiceSpecArgs(
                # A pod reaches the exporter of its own node through it, or none.
                internal_traffic_policy="Local",
                selector=args.exporter.labels,
                ports=[kubernetes.core.v1.ServicePortArgs(name="metrics", port=FIGURES_PORT, target_port=FIGURES_PORT)],
            ),
            opts=child,
        )
        kubernetes.apps.v1.DaemonSet(
            f"{name}-pods",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=SERVICE_ACCOUNT,
                namespace=NAMESPACE,
                labels=args.labels,
                # Where there is no GPU node, which is how the layer starts, nothing is to be waited for.
                annotations={"pulumi.com/skipAwait": "true"},
            ),
            spec=_daemon_set(args, scripts),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[account, files, figures]),
        )
        self.register_outputs({})


def _daemon_set(args: BusyReportsArgs, scripts: Mapping[str, str]) -> kubernetes.apps.v1.DaemonSetSpecArgs:
    own = {"app.kubernetes.io/name": SERVICE_ACCOUNT}
    # Pods keep their scripts until they are replaced, so a change of a script is one of the pods.
    version = hashlib.sha256("".join(scripts[name] for name in sorted(scripts)).encode()).hexdigest()[:16]
    return kubernetes.apps.v1.DaemonSetSpecArgs(
        selector=kubernetes.meta.v1.LabelSelectorArgs(match_labels=own),
        template=kubernetes.core.v1.PodTemplateSpecArgs(
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                labels={**args.labels, **args.pod_labels, **own}, annotations={"gpu-cluster/scripts": version}
            ),
            spec=kubernetes.core.v1.PodSpecArgs(
                service_account_name=SERVICE_ACCOUNT,
                automount_service_account_token=False,
                node_selector={"node-kind": "gpu"},
                # On every GPU node, also on those that are drained or bought as spot.
                tolerations=[kubernetes.core.v1.TolerationArgs(operator="Exists")],
                termination_grace_period_seconds=1,
                security_context=kubernetes.core.v1.PodSecurityContextArgs(
                    run_as_non_root=True,
                    run_as_user=_NOBODY,
                    run_as_group=_NOBODY,
                    seccomp_profile=kubernetes.core.v1.SeccompProfileArgs(type="RuntimeDefault"),
                ),
                containers=[_container(args)],
                volumes=[
                    kubernetes.core.v1.VolumeArgs(
                        name="scripts",
                        config_map=kubernetes.core.v1.ConfigMapVolumeSourceArgs(name=f"{SERVICE_ACCOUNT}-scripts"),
                    ),
                    kubernetes.core.v1.VolumeArgs(
                        name="scratch", empty_dir=kubernetes.core.v1.EmptyDirVolumeSourceArgs(size_limit="64Mi")
                    ),
                ],
            ),
        ),
    )


def _container(args: BusyReportsArgs) -> kubernetes.core.v1.ContainerArgs:
    url = f"http://figures-of-this-node.{args.exporter.namespace}.svc:{FIGURES_PORT}/metrics"
    told: dict[str, pulumi.Input[str]] = {
        "CLUSTER_CLOUD": args.cloud,
        "CLUSTER_NAME": args.cluster_name,
        "CLUSTER_GPUS_PER_NODE": str(args.gpus_per_node),
        "CLUSTER_GPU_FIGURES_URL": url,
        "HOME": _SCRATCH,
        **{f"CLUSTER_{name}": value for name, value in args.variables.items()},
    }
    node = kubernetes.core.v1.EnvVarSourceArgs(
        field_ref=kubernetes.core.v1.ObjectFieldSelectorArgs(field_path="spec.nodeName")
    )
    return kubernetes.core.v1.ContainerArgs(
        name=SERVICE_ACCOUNT,
        image=args.image,
        command=["bash", f"{_FOLDER}/busy_gpus.sh"],
        env=[
            *(kubernetes.core.v1.EnvVarArgs(name=name, value=value) for name, value in told.items()),
            kubernetes.core.v1.EnvVarArgs(name="CLUSTER_NODE", value_from=node),
        ],
        resources=kubernetes.core.v1.ResourceRequirementsArgs(
            requests={"cpu": "10m", "memory": "64Mi"}, limits={"memory": "256Mi"}
        ),
        security_context=kubernetes.core.v1.SecurityContextArgs(
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            capabilities=kubernetes.core.v1.CapabilitiesArgs(drop=["ALL"]),
        ),
        volume_mounts=[
            kubernetes.core.v1.VolumeMountArgs(name="scripts", mount_path=_FOLDER, read_only=True),
            kubernetes.core.v1.VolumeMountArgs(name="scratch", mount_path=_SCRATCH),
        ],
    )
