"""A control plane on premises: kubeadm's configuration for servers with etcd, a shared address, and copies of etcd."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from clusterwright.blueprint.sections.jobs import SHARED_PATH
from clusterwright.errors import InputError
from clusterwright.outputs.kubernetes.cluster import KubernetesCluster, release_of
from clusterwright.outputs.kubernetes.jobs import documents_text
from clusterwright.outputs.templates import render

KUBEADM, KUBELET = "kubeadm.k8s.io/v1beta4", "kubelet.config.k8s.io/v1beta1"
#: Ranges of pods and services; private ranges that no network of a site lies in (`site.network.range` is 10.64.0.0/12
#: unless it is given).
PODS, SERVICES = IPv4Network("10.32.0.0/11"), IPv4Network("10.24.0.0/16")
#: The last address in front of those of machines: offsets below 16 are kept free in the in-band network.
SHARED_OFFSET = 15
#: Addresses of pods on one node, and copies of etcd that stay. Assumptions.
POD_BLOCK, BACKUPS = 24, 48
#: Reserved for daemons of a node, and where pods are moved away; assumptions.
_RESERVED = {"cpu": "2", "memory": "8Gi", "ephemeral-storage": "20Gi"}
FOLDER = "control-plane"


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlPlane:
    """Servers of a control plane.

    Attributes:
        name: of the cluster.
        servers: names and addresses of the servers.
        shared_address: by which machines reach whichever server answers; prefix: of its network.
        interface: of servers that the shared address moves between.
    """

    name: str
    servers: tuple[tuple[str, str], ...]
    shared_address: str
    prefix: str
    interface: str = "bond0"


def control_plane_of(name: str, servers: Sequence[tuple[str, str]], prefix: str) -> ControlPlane:
    """Return the control plane on servers of an in-band network.

    Args:
        name: of the cluster.
        servers: names and addresses, in order.
        prefix: of the in-band network.

    Raises:
        InputError: the network overlaps the ranges of pods or services.
    """
    network = IPv4Network(prefix)
    for range_ in (PODS, SERVICES):
        if network.overlaps(range_):
            raise InputError(
                f"the in-band network {prefix} lies in {range_}, which pods and services have",
                help="give site.network.range another private range, such as 10.64.0.0/12",
            )
    return ControlPlane(name=name, servers=tuple(servers), shared_address=str(network[SHARED_OFFSET]), prefix=prefix)


def control_plane_files(plane: ControlPlane, cluster: KubernetesCluster) -> dict[str, str]:
    """Return the files by path within `kubernetes/`.

    Args:
        plane: servers and addresses.
        cluster: nodes, for the kubelet's settings and the release.
    """
    version = release_of("kubernetes", cluster.software)
    values = {
        "plane": plane,
        "first": plane.servers[0],
        "others": plane.servers[1:],
        "version": version,
        "shared": SHARED_PATH,
        "keep": BACKUPS,
        "nodes": len(cluster.nodes),
        "pods": PODS,
        "services": SERVICES,
    }
    files = {
        "kubeadm-init.yaml": documents_text([_init(plane), _cluster(plane, version), kubelet(cluster)]),
        "kubeadm-join-control.yaml": documents_text([_join(plane, control=True)]),
        "kubeadm-join-node.yaml": documents_text([_join(plane, control=False)]),
        "kube-vip.yaml": documents_text([_shared_address(plane)]),
        "encryption.yaml": _encryption(),
        "audit.yaml": documents_text([_audit()]),
        "etcd_backup.sh": render("kubernetes/control-plane", "etcd_backup.sh.j2", **values),
        "prepare.sh": render("kubernetes/control-plane", "prepare.sh.j2", **values),
        "README.md": render("kubernetes/control-plane", "README.md.j2", **values),
    }
    return {f"{FOLDER}/{name}": text for name, text in files.items()}


def _arguments(values: Mapping[str, str]) -> list[dict[str, str]]:
    """Return flags in the form of v1beta4: a list, since a flag may stand twice."""
    return [{"name": name, "value": value} for name, value in values.items()]


def _init(plane: ControlPlane) -> dict[str, Any]:
    return {
        "apiVersion": KUBEADM,
        "kind": "InitConfiguration",
        "localAPIEndpoint": {"advertiseAddress": plane.servers[0][1], "bindPort": 6443},
        "nodeRegistration": {
            "name": plane.servers[0][0],
            "criSocket": "unix:///run/containerd/containerd.sock",
            "taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
        },
    }


def _cluster(plane: ControlPlane, version: str) -> dict[str, Any]:
    return {
        "apiVersion": KUBEADM,
        "kind": "ClusterConfiguration",
        "clusterName": plane.name,
        "kubernetesVersion": f"v{version}.0" if version.count(".") == 1 else f"v{version}",
        "controlPlaneEndpoint": f"{plane.shared_address}:6443",
        "networking": {"podSubnet": str(PODS), "serviceSubnet": str(SERVICES), "dnsDomain": "cluster.local"},
        "apiServer": {
            "certSANs": [plane.shared_address, *(value for server in plane.servers for value in server)],
            "extraArgs": _arguments(
                {
                    "audit-policy-file": "/etc/kubernetes/audit.yaml",
                    "audit-log-path": "/var/log/kubernetes/audit.log",
                    "audit-log-maxage": "30",
                    "audit-log-maxsize": "100",
                    "encryption-provider-config": "/etc/kubernetes/encryption.yaml",
                    "enable-admission-plugins": "NodeRestriction",
                    "profiling": "false",
                }
            ),
            "extraVolumes": [
                {"name": "audit", "hostPath": "/etc/kubernetes/audit.yaml", "mountPath": "/etc/kubernetes/audit.yaml"}
                | {"readOnly": True, "pathType": "File"},
                {
                    "name": "encryption",
                    "hostPath": "/etc/kubernetes/encryption.yaml",
                    "mountPath": "/etc/kubernetes/encryption.yaml",
                    "readOnly": True,
                    "pathType": "File",
                },
                {
                    "name": "audit-log",
                    "hostPath": "/var/log/kubernetes",
                    "mountPath": "/var/log/kubernetes",
                    "pathType": "DirectoryOrCreate",
                },
            ],
        },
        "controllerManager": {
            "extraArgs": _arguments({"node-cidr-mask-size": str(POD_BLOCK), "profiling": "false"}),
        },
        "scheduler": {"extraArgs": _arguments({"profiling": "false"})},
        "etcd": {
            "local": {
                "dataDir": "/var/lib/etcd",
                # Room for the objects of thousands of pods; the default is 2 GiB.
                "extraArgs": _arguments({"quota-backend-bytes": str(8 * 2**30), "auto-compaction-retention": "8"}),
            }
        },
    }


def kubelet(cluster: KubernetesCluster) -> dict[str, Any]:
    """Return the kubelet's settings: whole cores, and GPUs, ports and cores of one socket where they fit there."""
    return {
        "apiVersion": KUBELET,
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
        "cpuManagerPolicy": "static",
        "topologyManagerPolicy": "best-effort" if cluster.gpus_per_node > 1 else "restricted",
        "topologyManagerScope": "pod",
        "memoryManagerPolicy": "None",
        "systemReserved": dict(_RESERVED),
        "kubeReserved": dict(_RESERVED),
        "failSwapOn": True,
        "maxPods": 110,
        "serializeImagePulls": False,
        "maxParallelImagePulls": 3,
        # Images of tens of gigabytes stay until the disk is nearly full.
        "imageGCHighThresholdPercent": 90,
        "imageGCLowThresholdPercent": 80,
        "shutdownGracePeriod": "120s",
        "shutdownGracePeriodCriticalPods": "30s",
        "rotateCertificates": True,
        "serverTLSBootstrap": True,
    }


def _join(plane: ControlPlane, *, control: bool) -> dict[str, Any]:
    """Return how a server or a node joins; token, key and hash are those that kubeadm prints, and are in no file."""
    joined: dict[str, Any] = {
        "apiVersion": KUBEADM,
        "kind": "JoinConfiguration",
        "discovery": {
            "bootstrapToken": {
                "apiServerEndpoint": f"{plane.shared_address}:6443",
                "token": "TOKEN",
                "caCertHashes": ["sha256:HASH"],
            }
        },
        "nodeRegistration": {"criSocket": "unix:///run/containerd/containerd.sock"},
    }
    if control:
        # Quoted: a key of digits alone would be read as a number.
        key = DoubleQuotedScalarString("KEY")
        joined["controlPlane"] = {"certificateKey": key, "localAPIEndpoint": {"bindPort": 6443}}
    return joined


def _shared_address(plane: ControlPlane) -> dict[str, Any]:
    """Return kube-vip as a static pod: the server that leads answers at the shared address."""
    variables = {
        "vip_arp": "true",
        "port": "6443",
        "vip_interface": plane.interface,
        "vip_subnet": "32",
        "cp_enable": "true",
        "cp_namespace": "kube-system",
        "vip_leaderelection": "true",
        "vip_leaseduration": "5",
        "vip_renewdeadline": "3",
        "vip_retryperiod": "1",
        "address": plane.shared_address,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kube-vip", "namespace": "kube-system"},
        "spec": {
            "hostNetwork": True,
            "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["kubernetes"]}],
            "containers": [
                {
                    "name": "kube-vip",
                    "image": f"ghcr.io/kube-vip/kube-vip:v{release_of('kube-vip', None)}",
                    "args": ["manager"],
                    "env": [{"name": name, "value": value} for name, value in variables.items()],
                    "securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]}},
                    "volumeMounts": [{"name": "kubeconfig", "mountPath": "/etc/kubernetes/admin.conf"}],
                }
            ],
            "volumes": [{"name": "kubeconfig", "hostPath": {"path": "/etc/kubernetes/admin.conf"}}],
        },
    }


def _encryption() -> str:
    """Return how secrets are kept in etcd, with the place of the key, which `prepare.sh` makes on the first server."""
    key = {"secretbox": {"keys": [{"name": "first", "secret": "SECRET"}]}}
    kept = {"resources": ["secrets"], "providers": [key, {"identity": {}}]}
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": [kept]}
    return documents_text([kind])


def _audit() -> dict[str, Any]:
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "None", "users": ["system:kube-proxy"], "verbs": ["watch"]},
            {"level": "None", "nonResourceURLs": ["/healthz*", "/readyz*", "/livez*", "/version"]},
            # Contents of secrets are in no log.
            {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets", "configmaps"]}]},
            {"level": "Metadata"},
        ],
    }
