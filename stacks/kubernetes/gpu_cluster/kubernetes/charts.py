"""Helm charts of the cluster, each pinned to a version: an unpinned chart is another cluster with every `pulumi up`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

# Images of several GB are pulled by many nodes at once.
READY_WITHIN_S = 900


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """One chart in one version.

    Attributes:
        name: of the chart, and of the release.
        repository: address of the chart's repository, or of the chart itself when it starts with `oci://`.
    """

    name: str
    version: str
    repository: str


# Versions as of November 2026, with the public change that released or confirmed them.
# NVIDIA/deepops pull request 1382 (2026-08-27), checked there against the plugin's releases.
NVIDIA_DEVICE_PLUGIN = Chart(
    name="nvidia-device-plugin", version="0.20.0", repository="https://nvidia.github.io/k8s-device-plugin"
)
# NVIDIA/dcgm-exporter pull request 712 (2026-07-15): chart 4.8.3 with DCGM 4.6.0.
DCGM_EXPORTER = Chart(
    name="dcgm-exporter", version="4.8.3", repository="https://nvidia.github.io/dcgm-exporter/helm-charts"
)
# kubernetes/k8s.io pull request 9655 (2026-06-26) lists the promoted chart.
KUEUE = Chart(name="kueue", version="0.18.2", repository="oci://registry.k8s.io/kueue/charts/kueue")


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """A chart with the values that it is installed with, and the namespace that it is put into."""

    chart: Chart
    namespace: str = "kube-system"
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartsArgs:
    """What to install, and what has to exist before."""

    charts: Sequence[Installed]
    after: Sequence[pulumi.Resource]


class Charts(pulumi.ComponentResource):
    """The charts; a release that does not become ready is rolled back as a whole."""

    def __init__(self, name: str, args: ChartsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:kubernetes:Charts", name, None, opts)
        self.releases: list[pulumi.Resource] = []
        for one in args.charts:
            oci = one.chart.repository.startswith("oci://")
            release = kubernetes.helm.v3.Release(
                f"{name}-{one.chart.name}",
                name=one.chart.name,
                chart=one.chart.repository if oci else one.chart.name,
                repository_opts=None if oci else kubernetes.helm.v3.RepositoryOptsArgs(repo=one.chart.repository),
                version=one.chart.version,
                namespace=one.namespace,
                create_namespace=True,
                atomic=True,
                timeout=READY_WITHIN_S,
                values=one.values,
                # In their order, since a later one may need the kinds of an earlier one.
                opts=pulumi.ResourceOptions(parent=self, depends_on=[*args.after, *self.releases]),
            )
            self.releases.append(release)
        self.register_outputs({})


def queue() -> Installed:
    """Return the job queue, which admits a job when all of its nodes are free."""
    return Installed(chart=KUEUE, namespace="kueue-system")


def nvidia_charts(node_selector: Mapping[str, str], tolerations: Sequence[Mapping[str, str]]) -> tuple[Installed, ...]:
    """Return the device plugin and the exporter of GPU figures; the driver is the node image's.

    Args:
        node_selector: labels of the GPU nodes.
        tolerations: of the taints that keep other work off them.
    """
    placement: dict[str, Any] = {"nodeSelector": dict(node_selector), "tolerations": [dict(one) for one in tolerations]}
    return (
        Installed(chart=NVIDIA_DEVICE_PLUGIN, values=placement),
        # The chart wants Prometheus' own resource types unless it is told that there are none.
        Installed(
            chart=DCGM_EXPORTER, namespace="monitoring", values={**placement, "serviceMonitor": {"enabled": False}}
        ),
    )
