"""The control plane: private nodes and endpoint, secrets under the cluster's own key, networks for GPU traffic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import container

# What GKE reports to Cloud Logging and Cloud Monitoring; DCGM is its own exporter of GPU figures. The audit log of who
# changed what is always on.
LOGS = ("SYSTEM_COMPONENTS", "WORKLOADS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER")
METRICS = ("SYSTEM_COMPONENTS", "STORAGE", "POD", "DEPLOYMENT", "DAEMONSET", "JOBSET", "DCGM")
SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlPlaneArgs:
    """What the control plane needs; see `ClusterSettings` for what is configured."""

    cluster_name: str
    project: str
    region: str
    zone: str
    kubernetes_version: str
    multi_networking: bool
    network_id: pulumi.Input[str]
    subnetwork_id: pulumi.Input[str]
    key_id: pulumi.Input[str]
    account_email: pulumi.Input[str]
    pod_range_prefix: int
    pods_per_node: int
    operator_cidrs: Sequence[str]
    dns_endpoint: bool
    deletion_protection: bool
    labels: Mapping[str, str]
    after: Sequence[pulumi.Resource]


class ControlPlane(pulumi.ComponentResource):
    """A regional GKE cluster whose nodes are all in one zone, without its default pool."""

    cluster: container.Cluster

    def __init__(self, name: str, args: ControlPlaneArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:ControlPlane", name, None, opts)
        self.cluster = container.Cluster(
            f"{args.cluster_name}-gke",
            name=args.cluster_name,
            location=args.region,
            node_locations=[args.zone],
            min_master_version=args.kubernetes_version,
            # Outside the release channels, so that nothing is upgraded under a running job; see README.md.
            release_channel=container.ClusterReleaseChannelArgs(channel="UNSPECIFIED"),
            network=args.network_id,
            subnetwork=args.subnetwork_id,
            networking_mode="VPC_NATIVE",
            # Neither can be changed later: Dataplane V2, and several networks on top of it
            # (GoogleCloudPlatform/cluster-toolkit modules/scheduler/gke-cluster @10470803).
            datapath_provider="ADVANCED_DATAPATH",
            enable_multi_networking=args.multi_networking,
            default_max_pods_per_node=args.pods_per_node,
            ip_allocation_policy=container.ClusterIpAllocationPolicyArgs(
                cluster_ipv4_cidr_block=f"/{args.pod_range_prefix}", services_ipv4_cidr_block="/20"
            ),
            private_cluster_config=container.ClusterPrivateClusterConfigArgs(
                enable_private_nodes=True, enable_private_endpoint=not args.operator_cidrs
            ),
            # A name at Google's own gate, which asks for IAM's container.clusters.connect before anything reaches the
            # API server; that one keeps its private address.
            control_plane_endpoints_config=container.ClusterControlPlaneEndpointsConfigArgs(
                dns_endpoint_config=container.ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs(
                    allow_external_traffic=args.dns_endpoint
                )
            ),
            # An empty list lets in the nodes' own subnetwork and nobody else.
            master_authorized_networks_config=container.ClusterMasterAuthorizedNetworksConfigArgs(
                cidr_blocks=[
                    container.ClusterMasterAuthorizedNetworksConfigCidrBlockArgs(cidr_block=cidr)
                    for cidr in args.operator_cidrs
                ],
                gcp_public_cidrs_access_enabled=False,
            ),
            database_encryption=container.ClusterDatabaseEncryptionArgs(state="ENCRYPTED", key_name=args.key_id),
            workload_identity_config=container.ClusterWorkloadIdentityConfigArgs(
                workload_pool=f"{args.project}.svc.id.goog"
            ),
            master_auth=container.ClusterMasterAuthArgs(
                client_certificate_config=container.ClusterMasterAuthClientCertificateConfigArgs(
                    issue_client_certificate=False
                )
            ),
            enable_shielded_nodes=True,
            addons_config=container.ClusterAddonsConfigArgs(
                lustre_csi_driver_config=container.ClusterAddonsConfigLustreCsiDriverConfigArgs(enabled=True),
                gcs_fuse_csi_driver_config=container.ClusterAddonsConfigGcsFuseCsiDriverConfigArgs(enabled=True),
                gce_persistent_disk_csi_driver_config=container.ClusterAddonsConfigGcePersistentDiskCsiDriverConfigArgs(
                    enabled=True
                ),
                dns_cache_config=container.ClusterAddonsConfigDnsCacheConfigArgs(enabled=True),
            ),
            logging_config=container.ClusterLoggingConfigArgs(enable_components=list(LOGS)),
            monitoring_config=container.ClusterMonitoringConfigArgs(
                enable_components=list(METRICS),
                managed_prometheus=container.ClusterMonitoringConfigManagedPrometheusArgs(enabled=True),
            ),
            # The pool that GKE insists on is made with the nodes' own account and removed at once.
            remove_default_node_pool=True,
            initial_node_count=1,
            node_config=container.ClusterNodeConfigArgs(
                service_account=args.account_email,
                oauth_scopes=list(SCOPES),
                boot_disk_kms_key=args.key_id,
                resource_labels=args.labels,
            ),
            resource_labels=args.labels,
            # On by default, and then `pulumi destroy` fails after everything else is gone.
            deletion_protection=args.deletion_protection,
            opts=pulumi.ResourceOptions(
                parent=self, depends_on=args.after, ignore_changes=["initial_node_count", "node_config"]
            ),
        )
        named = self.cluster.control_plane_endpoints_config.apply(
            lambda found: (found.dns_endpoint_config.endpoint or "") if found.dns_endpoint_config else ""
        )
        self.endpoint: pulumi.Output[str] = named if args.dns_endpoint else self.cluster.endpoint
        self._dns_endpoint = args.dns_endpoint
        self.register_outputs({"endpoint": self.endpoint})

    def kubeconfig(self) -> pulumi.Output[str]:
        """Return how Pulumi's Kubernetes provider reaches the cluster: by gcloud's token, no password."""
        return pulumi.Output.json_dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "cluster",
                "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "operator"}}],
                "clusters": [
                    {
                        "name": "cluster",
                        "cluster": {
                            "server": pulumi.Output.concat("https://", self.endpoint),
                            **self._authority(),
                        },
                    }
                ],
                "users": [
                    {
                        "name": "operator",
                        "user": {
                            "exec": {
                                "apiVersion": "client.authentication.k8s.io/v1beta1",
                                "command": "gke-gcloud-auth-plugin",
                                "provideClusterInfo": True,
                                "interactiveMode": "Never",
                            }
                        },
                    }
                ],
            }
        )

    def _authority(self) -> dict[str, pulumi.Output[str | None]]:
        # Google's gate shows a certificate of its own, which every machine knows.
        if self._dns_endpoint:
            return {}
        return {
            "certificate-authority-data": self.cluster.master_auth.apply(lambda found: found.cluster_ca_certificate)
        }
