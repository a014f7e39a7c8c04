"""The control plane: in the network, with secrets under the cluster's own key and an audit log that is kept."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any, cast

import pulumi
import yaml
from pulumi_azure_native import authorization, containerservice, monitor

from gpu_cluster.kubernetes.api_access import server_of
from gpu_cluster.kubernetes.workload import ClosedAddress

# Of the control plane's logs: who changed what, and who was let in.
LOGS = ("kube-audit-admin", "guard", "kube-apiserver", "kube-scheduler", "kube-controller-manager")
# The application that tokens for AKS with Microsoft Entra are issued for (Microsoft, "Use kubelogin").
ENTRA_SERVER_ID = "6dae42f8-4368-4678-94ff-3960e28e3630"
CLUSTER_ADMIN_ROLE = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"
# Of one node; each takes an address of the subnet in advance (Microsoft, "Configure Azure CNI networking").
MAX_PODS = 30
_DNS_OFFSET = 10
# Whoever asks them has the node's identity and settings: the instance metadata service and WireServer, which answers
# names too, on 53 (Microsoft, "Block pod access to the Azure Instance Metadata Service (IMDS) endpoint" and "What is IP
# address 168.63.129.16?"). The cluster's network policies keep jobs from them.
CLOSED_TO_JOBS = (ClosedAddress(address="169.254.169.254"), ClosedAddress(address="168.63.129.16", open_ports=(53,)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneArgs:
    """What the control plane needs; see `ClusterSettings` for what is configured."""

    resource_group_name: pulumi.Input[str]
    cluster_name: str
    location: str
    zone: str
    subscription_id: str
    caller_object_id: str
    kubernetes_version: str
    api_server_subnet_id: pulumi.Input[str]
    node_subnet_id: pulumi.Input[str]
    service_cidr: IPv4Network
    operator_cidrs: Sequence[str]
    admin_group_object_ids: Sequence[str]
    system_instance_type: str
    system_node_count: int
    encryption_at_host: bool
    identity_id: pulumi.Input[str]
    kubelet_identity_id: pulumi.Input[str]
    kubelet_client_id: pulumi.Input[str]
    kubelet_principal_id: pulumi.Input[str]
    key_vault_id: pulumi.Input[str]
    key_url: pulumi.Input[str]
    disk_encryption_set_id: pulumi.Input[str]
    log_workspace_id: pulumi.Input[str]
    tags: Mapping[str, str]
    after: Sequence[pulumi.Resource]


class ControlPlane(pulumi.ComponentResource):
    """AKS cluster with its system pool, its logs, and the right of whoever makes it to administer it."""

    cluster: containerservice.ManagedCluster

    def __init__(self, name: str, args: ControlPlaneArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:ControlPlane", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        self._args = args
        self.cluster = containerservice.ManagedCluster(
            f"{name}-aks",
            resource_group_name=args.resource_group_name,
            location=args.location,
            dns_prefix=args.cluster_name,
            kubernetes_version=args.kubernetes_version,
            sku=containerservice.ManagedClusterSKUArgs(
                name=containerservice.ManagedClusterSKUName.BASE, tier=containerservice.ManagedClusterSKUTier.STANDARD
            ),
            identity=containerservice.ManagedClusterIdentityArgs(
                type=containerservice.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[args.identity_id]
            ),
            identity_profile={
                "kubeletidentity": containerservice.UserAssignedIdentityArgs(
                    resource_id=args.kubelet_identity_id,
                    client_id=args.kubelet_client_id,
                    object_id=args.kubelet_principal_id,
                )
            },
            # Nobody signs in with a certificate that cannot be taken back.
            disable_local_accounts=True,
            enable_rbac=True,
            aad_profile=containerservice.ManagedClusterAADProfileArgs(
                managed=True, enable_azure_rbac=True, admin_group_object_ids=list(args.admin_group_object_ids)
            ),
            oidc_issuer_profile=containerservice.ManagedClusterOIDCIssuerProfileArgs(enabled=True),
            api_server_access_profile=containerservice.ManagedClusterAPIServerAccessProfileArgs(
                enable_private_cluster=not args.operator_cidrs,
                authorized_ip_ranges=list(args.operator_cidrs) or None,
                enable_vnet_integration=True,
                subnet_id=args.api_server_subnet_id,
                disable_run_command=True,
            ),
            security_profile=containerservice.ManagedClusterSecurityProfileArgs(
                workload_identity=containerservice.ManagedClusterSecurityProfileWorkloadIdentityArgs(enabled=True),
                # The foundation's vault is closed to the Internet, which asks for the API server in the network.
                azure_key_vault_kms=containerservice.AzureKeyVaultKmsArgs(
                    enabled=True,
                    key_id=args.key_url,
                    key_vault_network_access=containerservice.KeyVaultNetworkAccessTypes.PRIVATE,
                    key_vault_resource_id=args.key_vault_id,
                ),
            ),
            disk_encryption_set_id=args.disk_encryption_set_id,
            network_profile=self._network(args),
            agent_pool_profiles=[self._system_pool(args)],
            addon_profiles={
                "omsagent": containerservice.ManagedClusterAddonProfileArgs(
                    enabled=True,
                    config={"logAnalyticsWorkspaceResourceID": args.log_workspace_id, "useAADAuth": "true"},
                )
            },
            # Nothing is upgraded under a running job; see README.md.
            auto_upgrade_profile=containerservice.ManagedClusterAutoUpgradeProfileArgs(
                upgrade_channel=containerservice.UpgradeChannel.NONE,
                node_os_upgrade_channel=containerservice.NodeOSUpgradeChannel.NONE,
            ),
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.after),
        )
        monitor.DiagnosticSetting(
            f"{name}-aks-logs",
            resource_uri=self.cluster.id,
            workspace_id=args.log_workspace_id,
            log_analytics_destination_type="Dedicated",
            logs=[monitor.DiagnosticsLogSettingsArgs(category=one, enabled=True) for one in LOGS],
            opts=child,
        )
        # Azure's own administrators are not those of the cluster; the add-ons are installed by whoever makes it.
        self.admin = authorization.RoleAssignment(
            f"{name}-aks-admin",
            principal_id=args.caller_object_id,
            role_definition_id=(
                f"/subscriptions/{args.subscription_id}/providers/Microsoft.Authorization/roleDefinitions/"
                f"{CLUSTER_ADMIN_ROLE}"
            ),
            scope=self.cluster.id,
            opts=child,
        )
        self.issuer_url: pulumi.Output[str] = self.cluster.oidc_issuer_profile.apply(
            lambda found: found.issuer_url if found else ""
        )
        self.register_outputs({"cluster_name": self.cluster.name})

    @staticmethod
    def _network(args: ControlPlaneArgs) -> containerservice.ContainerServiceNetworkProfileArgs:
        return containerservice.ContainerServiceNetworkProfileArgs(
            # Pods take addresses of the nodes' subnet, whose rules would shut the range of an overlay out.
            network_plugin=containerservice.NetworkPlugin.AZURE,
            network_policy=containerservice.NetworkPolicy.AZURE,
            service_cidr=str(args.service_cidr),
            dns_service_ip=str(args.service_cidr[_DNS_OFFSET]),
            load_balancer_sku=containerservice.LoadBalancerSku.STANDARD,
            # The subnet's own way out: no public address is made for the nodes.
            outbound_type=containerservice.OutboundType.USER_ASSIGNED_NAT_GATEWAY,
        )

    @staticmethod
    def _system_pool(args: ControlPlaneArgs) -> containerservice.ManagedClusterAgentPoolProfileArgs:
        return containerservice.ManagedClusterAgentPoolProfileArgs(
            name="system",
            mode=containerservice.AgentPoolMode.SYSTEM,
            type=containerservice.AgentPoolType.VIRTUAL_MACHINE_SCALE_SETS,
            vm_size=args.system_instance_type,
            count=args.system_node_count,
            availability_zones=[args.zone],
            vnet_subnet_id=args.node_subnet_id,
            os_type=containerservice.OSType.LINUX,
            os_sku=containerservice.OSSKU.UBUNTU,
            enable_node_public_ip=False,
            enable_encryption_at_host=args.encryption_at_host,
            enable_auto_scaling=False,
            max_pods=MAX_PODS,
            node_labels={"node-kind": "system"},
            upgrade_settings=containerservice.AgentPoolUpgradeSettingsArgs(max_surge="1"),
            tags=args.tags,
        )

    def kubeconfig(self, *, tunnel: bool) -> pulumi.Output[str]:
        """Return how Pulumi's Kubernetes provider reaches the cluster: by a token of Microsoft Entra, no password."""
        found = containerservice.list_managed_cluster_user_credentials_output(
            resource_group_name=self._args.resource_group_name,
            resource_name=self.cluster.name,
            opts=pulumi.InvokeOutputOptions(parent=self),
        )
        return found.kubeconfigs.apply(lambda answers: kubeconfig_with_entra(answers[0].value, tunnel=tunnel))


def kubeconfig_with_entra(encoded: str, *, tunnel: bool) -> str:
    """Replace the way to sign in of a configuration from AKS by the Azure command line's session.

    Args:
        encoded: the configuration in base64, as AKS hands it out; it asks for a code to type into a browser.
        tunnel: whether the API server is reached through one.
    """
    document = cast("dict[str, Any]", yaml.safe_load(base64.b64decode(encoded)))
    for one in document["clusters"]:
        one["cluster"] |= server_of(one["cluster"]["server"], tunnel=tunnel)
    document["users"] = [
        {
            "name": user["name"],
            "user": {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1beta1",
                    "command": "kubelogin",
                    "args": ["get-token", "--login", "azurecli", "--server-id", ENTRA_SERVER_ID],
                    "interactiveMode": "Never",
                }
            },
        }
        for user in document["users"]
    ]
    return yaml.safe_dump(document)
