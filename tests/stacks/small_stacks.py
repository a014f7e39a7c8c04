"""Small stacks with one thing wrong in each that no mistake in a single value makes wrong, for the policy packs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_RELEASE, _ADAPTERS = "kubernetes:helm.sh/v3:Release", "kubernetes:mellanox.com/v1alpha1:NicClusterPolicy"
_OPERATOR = {"chart": "gpu-operator", "values": {}}


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A resource of a small stack.

    Attributes:
        behind: input to the name of the resource whose output is in it.
    """

    name: str
    type: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    behind: Mapping[str, str] = field(default_factory=dict)

    def asked(self, stack: str) -> dict[str, Any]:
        """Return the resource as a pack is asked about it.

        Args:
            stack: name of the stack.
        """
        return {
            "urn": _urn(stack, self.name),
            "type": self.type,
            "name": self.name,
            "inputs": dict(self.inputs),
            "stack": stack,
            "behind": {key: [_urn(stack, name)] for key, name in self.behind.items()},
            "protect": True,
            "ignores": [],
        }


def _urn(stack: str, name: str) -> str:
    return f"urn:pulumi:{stack}::x::small::{name}"


_SUBNET, _GROUP = "aws:ec2/subnet:Subnet", "aws:autoscaling/group:Group"
_NODE_GROUP, _ADD_ON = "aws:eks/nodeGroup:NodeGroup", "aws:eks/addon:Addon"
_EKS_GPUS = Part(name="gpus", type=_NODE_GROUP, inputs={"amiType": "AL2023_x86_64_NVIDIA"})
#: A claim of one node alone, on the volume that all nodes mount.
_CLAIM: tuple[str, Sequence[Part]] = (
    "claims-bind",
    (
        Part(
            name="volume",
            type="kubernetes:core/v1:PersistentVolume",
            inputs={"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteMany"]}},
        ),
        Part(
            name="claim",
            type="kubernetes:core/v1:PersistentVolumeClaim",
            inputs={"spec": {"volumeName": "data", "accessModes": ["ReadWriteOnce"]}},
        ),
    ),
)
_OTHERS_PUBLISH = (
    '{"Statement": [{"Effect": "Allow", "Principal": {"Service": "cloudwatch.amazonaws.com"}, '
    '"Action": "sns:Publish", "Resource": "topic"}]}'
)
_AWS: Sequence[tuple[str, Sequence[Part]]] = (
    _CLAIM,
    (
        "budgets-are-heard",
        (
            Part(name="topic", type="aws:sns/topic:Topic"),
            Part(
                name="policy",
                type="aws:sns/topicPolicy:TopicPolicy",
                inputs={"policy": _OTHERS_PUBLISH},
                behind={"arn": "topic"},
            ),
            Part(name="budget", type="aws:budgets/budget:Budget", behind={"notifications": "topic"}),
        ),
    ),
    (
        "ways-out-of-machines",
        (
            Part(name="nat", type="aws:ec2/natGateway:NatGateway"),
            Part(name="nodes", type=_SUBNET),
            Part(name="table", type="aws:ec2/routeTable:RouteTable", inputs={"routes": []}),
            Part(
                name="join",
                type="aws:ec2/routeTableAssociation:RouteTableAssociation",
                behind={"subnetId": "nodes", "routeTableId": "table"},
            ),
            Part(name="machines", type=_GROUP, behind={"vpcZoneIdentifiers": "nodes"}),
        ),
    ),
    ("one-zone", (Part(name="machines", type=_GROUP, inputs={"availabilityZones": ["us-east-1a", "us-east-1b"]}),)),
    ("networks-are-watched", (Part(name="network", type="aws:ec2/vpc:Vpc"),)),
    ("nodes-are-replaced", (Part(name="machines", type=_GROUP, inputs={"suspendedProcesses": ["Launch"]}),)),
    ("keys-are-on", (Part(name="key", type="aws:kms/key:Key", inputs={"isEnabled": False}),)),
    (
        "objects-do-not-expire",
        (
            Part(
                name="ends",
                type="aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
                inputs={"rules": [{"status": "Enabled", "expiration": {"days": 30}}]},
            ),
        ),
    ),
    (
        "small-steps",
        (Part(name="gpus", type=_NODE_GROUP, inputs={"updateConfig": {"maxUnavailablePercentage": 100}}),),
    ),
    ("policies-of-pods-are-kept", (Part(name="network", type=_ADD_ON, inputs={"addonName": "vpc-cni"}),)),
    (
        "parts-of-the-cluster",
        (
            Part(name="cluster", type="aws:eks/cluster:Cluster"),
            Part(name="names", type=_ADD_ON, inputs={"addonName": "coredns"}),
        ),
    ),
    (
        "disks-of-nodes",
        (
            Part(
                name="template",
                type="aws:ec2/launchTemplate:LaunchTemplate",
                inputs={"blockDeviceMappings": [{"deviceName": "/dev/sda1"}]},
            ),
            Part(name="gpus", type=_NODE_GROUP, behind={"launchTemplate": "template"}),
        ),
    ),
    ("devices-are-offered", (_EKS_GPUS, Part(name="exporter", type=_RELEASE, inputs={"chart": "dcgm-exporter"}))),
    ("one-driver", (_EKS_GPUS, Part(name="operator", type=_RELEASE, inputs=_OPERATOR))),
    ("adapters-of-the-fabric", (Part(name="adapters", type=_ADAPTERS, inputs={"spec": {}}),)),
)

_POOL, _GRANT = "azure-native:containerservice:AgentPool", "azure-native:authorization:RoleAssignment"
_IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
_CREDENTIAL = "azure-native:managedidentity:FederatedIdentityCredential"
_SECRETS_OFFICER, _USER_ADMINISTRATOR = (
    f"/providers/Microsoft.Authorization/roleDefinitions/{role}"
    for role in ("b86a8fe4-44ce-4948-aee5-eccb2c155cd7", "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9")
)
_AKS_GPUS = Part(
    name="pool",
    type=_POOL,
    inputs={
        "vmSize": "Standard_ND96isr_H100_v5",
        "gpuProfile": {"driver": "Install"},
        "nodeTaints": ["team=x:NoSchedule"],
    },
)
_OF_VAULT = {"privateLinkServiceConnections": [{"groupIds": ["vault"]}]}
_AZURE: Sequence[tuple[str, Sequence[Part]]] = (
    _CLAIM,
    (
        "ways-out-of-machines",
        (
            Part(name="nat", type="azure-native:network:NatGateway"),
            Part(name="nodes", type="azure-native:network:Subnet"),
            Part(
                name="machines",
                type="azure-native:compute:VirtualMachineScaleSet",
                behind={"virtualMachineProfile": "nodes"},
            ),
        ),
    ),
    (
        "names-fit-endpoints",
        (
            Part(name="endpoint", type="azure-native:network:PrivateEndpoint", inputs=_OF_VAULT),
            Part(
                name="zone",
                type="azure-native:privatedns:PrivateZone",
                inputs={"privateZoneName": "privatelink.vault.azure.net"},
            ),
            Part(
                name="names",
                type="azure-native:network:PrivateDnsZoneGroup",
                behind={"privateEndpointName": "endpoint", "privateDnsZoneConfigs": "zone"},
            ),
        ),
    ),
    (
        "the-rest-is-denied",
        (Part(name="rules", type="azure-native:network:NetworkSecurityGroup", inputs={"securityRules": []}),),
    ),
    (
        "zone-of-the-data",
        (
            Part(name="shared", type="azure-native:storagecache:AmlFilesystem", inputs={"zones": ["1"]}),
            Part(name="pool", type=_POOL, inputs={"availabilityZones": ["2"]}),
        ),
    ),
    ("networks-are-watched", (Part(name="network", type="azure-native:network:VirtualNetwork"),)),
    (
        "one-writer-of-secrets",
        (
            Part(name="controller", type=_IDENTITY),
            Part(name="login", type=_IDENTITY),
            *(
                Part(
                    name=f"{who}-writes",
                    type=_GRANT,
                    inputs={"roleDefinitionId": _SECRETS_OFFICER},
                    behind={"principalId": who},
                )
                for who in ("controller", "login")
            ),
        ),
    ),
    (
        "rights-of-jobs",
        (
            Part(name="jobs", type=_IDENTITY),
            Part(name="token", type=_CREDENTIAL, behind={"resourceName": "jobs"}),
            Part(
                name="rights",
                type=_GRANT,
                inputs={"roleDefinitionId": _USER_ADMINISTRATOR},
                behind={"principalId": "jobs"},
            ),
        ),
    ),
    (
        "named-accounts",
        (Part(name="token", type=_CREDENTIAL, inputs={"subject": "system:serviceaccount:workload:*"}),),
    ),
    ("records-are-locked", (Part(name="database", type="azure-native:dbformysql:Server"),)),
    ("use-is-written-down", (Part(name="vault", type="azure-native:keyvault:Vault"),)),
    ("taints-of-the-vendor", (_AKS_GPUS,)),
    *(
        (rule, (Part(name="cluster", type="azure-native:containerservice:ManagedCluster"),))
        for rule in ("encrypted-kubernetes-secrets", "commands-by-the-network", "chosen-way-out")
    ),
    ("devices-are-offered", (_AKS_GPUS, Part(name="exporter", type=_RELEASE, inputs={"chart": "dcgm-exporter"}))),
    ("one-driver", (_AKS_GPUS, Part(name="operator", type=_RELEASE, inputs=_OPERATOR))),
    ("adapters-of-the-fabric", (Part(name="adapters", type=_ADAPTERS, inputs={"spec": {}}),)),
)

_GKE, _GKE_POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
_NETWORK, _ACCOUNT = "gcp:compute/network:Network", "gcp:serviceaccount/account:Account"
_TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
_PODS = "principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/subject/ns/a/sa/b"
_GKE_GPUS = Part(
    name="pool",
    type=_GKE_POOL,
    inputs={
        "nodeConfig": {
            "machineType": "a3-highgpu-8g",
            "guestAccelerators": [{"type": "nvidia-h100-80gb"}],
            "taints": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
        }
    },
)
_GCP: Sequence[tuple[str, Sequence[Part]]] = (
    _CLAIM,
    ("clusters-stay", (Part(name="cluster", type=_GKE, inputs={"removeDefaultNodePool": True}),)),
    (
        "nat-is-there",
        (
            Part(name="network", type=_NETWORK),
            Part(name="router", type="gcp:compute/router:Router", behind={"network": "network"}),
        ),
    ),
    (
        "networks-are-watched",
        (
            Part(name="network", type=_NETWORK),
            Part(name="router", type="gcp:compute/router:Router", behind={"network": "network"}),
            Part(name="subnet", type="gcp:compute/subnetwork:Subnetwork", behind={"network": "network"}),
        ),
    ),
    (
        "own-subnetworks-of-interfaces",
        (Part(name="template", type=_TEMPLATE, inputs={"networkInterfaces": [{"subnetwork": "a"}] * 2}),),
    ),
    (
        "pod-networks",
        (
            Part(
                name="pods",
                type="kubernetes:networking.gke.io/v1:Network",
                inputs={"spec": {"parametersRef": {"name": "none"}}},
            ),
            Part(
                name="first",
                type="kubernetes:networking.gke.io/v1:GKENetworkParamSet",
                inputs={"metadata": {"name": "first"}, "spec": {"vpcSubnet": "one", "deviceMode": "NetDevice"}},
            ),
        ),
    ),
    (
        "zone-of-the-data",
        (
            Part(name="shared", type="gcp:lustre/instance:Instance", inputs={"location": "us-central1-a"}),
            Part(
                name="machines",
                type="gcp:compute/instanceGroupManager:InstanceGroupManager",
                inputs={"zone": "us-central1-b"},
            ),
        ),
    ),
    (
        "one-writer-of-secrets",
        (
            Part(name="nodes", type=_ACCOUNT),
            Part(name="template", type=_TEMPLATE, behind={"serviceAccount": "nodes"}),
            Part(
                name="writes",
                type="gcp:secretmanager/secretIamMember:SecretIamMember",
                inputs={"role": "roles/secretmanager.secretVersionAdder"},
                behind={"member": "nodes"},
            ),
        ),
    ),
    (
        "rights-of-jobs",
        (
            Part(
                name="rights",
                type="gcp:storage/bucketIAMMember:BucketIAMMember",
                inputs={"role": "roles/storage.admin", "member": _PODS},
            ),
        ),
    ),
    (
        "parts-of-gke",
        (
            Part(name="cluster", type=_GKE, inputs={"datapathProvider": "LEGACY_DATAPATH"}),
            Part(name="rules", type="kubernetes:networking.k8s.io/v1:NetworkPolicy"),
        ),
    ),
    (
        "chosen-reservation",
        (Part(name="template", type=_TEMPLATE, inputs={"reservationAffinity": {"type": "ANY_RESERVATION"}}),),
    ),
    (
        "closed-databases",
        (
            Part(
                name="database",
                type="gcp:sql/databaseInstance:DatabaseInstance",
                inputs={"settings": {"ipConfiguration": {"authorizedNetworks": [{"value": "0.0.0.0/0"}]}}},
            ),
        ),
    ),
    ("pools-of-gpus", (_GKE_GPUS,)),
    (
        "devices-are-offered",
        (
            _GKE_GPUS,
            Part(
                name="plugin",
                type=_RELEASE,
                inputs={"chart": "nvidia-device-plugin", "values": {"tolerations": [{"key": "x"}]}},
            ),
        ),
    ),
    ("one-driver", (_GKE_GPUS, Part(name="operator", type=_RELEASE, inputs=_OPERATOR))),
    ("adapters-of-the-fabric", (Part(name="adapters", type=_ADAPTERS, inputs={"spec": {}}),)),
)
#: Cloud to the rule that has to say no, and the stack.
SMALL_STACKS: Mapping[str, Sequence[tuple[str, Sequence[Part]]]] = {"aws": _AWS, "azure": _AZURE, "gcp": _GCP}
