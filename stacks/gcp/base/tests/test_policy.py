"""The policy pack: every rule notices its violation, and says nothing of what is right."""

from collections.abc import Mapping
from typing import Any

import pytest

import cluster_parts
from row_cases import never_broken, never_met
from rules import RULES
from wanted_kubernetes import KUBERNETES
from wanted_values import VALUES

INSTANCE = "gcp:compute/instance:Instance"
TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
BUCKET = "gcp:storage/bucket:Bucket"
DATABASE = "gcp:sql/databaseInstance:DatabaseInstance"
LUSTRE = "gcp:lustre/instance:Instance"
CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
GROUP = "gcp:compute/instanceGroupManager:InstanceGroupManager"
POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
LABELS = {"gpu-cluster": "gpt3", "layer": "nodes"}

GOOD: dict[str, dict[str, Any]] = {
    TEMPLATE: {
        "machineType": "a3-megagpu-8g",
        "networkInterfaces": [{"nicType": "GVNIC", "subnetwork": f"s-{number}"} for number in range(9)],
        "disks": [
            {
                "sourceImage": "projects/deeplearning-platform-release/global/images/common-cu129-1",
                "diskEncryptionKey": {"kmsKeySelfLink": KEY},
            }
        ],
        "metadata": {"enable-oslogin": "TRUE", "block-project-ssh-keys": "TRUE"},
        "serviceAccount": {"email": "nodes@p.iam.gserviceaccount.com"},
        "shieldedInstanceConfig": {"enableVtpm": True, "enableIntegrityMonitoring": True},
        "scheduling": {"onHostMaintenance": "TERMINATE", "provisioningModel": "STANDARD"},
        "reservationAffinity": {"type": "NO_RESERVATION"},
        "resourcePolicies": "compact",
        "labels": LABELS,
    },
    INSTANCE: {
        "networkInterfaces": [{"subnetwork": "s"}],
        "bootDisk": {"kmsKeySelfLink": KEY},
        "metadata": {"enable-oslogin": "TRUE", "block-project-ssh-keys": "TRUE"},
        "serviceAccount": {"email": "controller@p.iam.gserviceaccount.com"},
        "shieldedInstanceConfig": {"enableVtpm": True, "enableIntegrityMonitoring": True},
        "labels": LABELS,
    },
    BUCKET: {
        "encryption": {"defaultKmsKeyName": KEY},
        "publicAccessPrevention": "enforced",
        "uniformBucketLevelAccess": True,
        "forceDestroy": False,
        "location": "US-CENTRAL1",
        "versioning": {"enabled": True},
        "lifecycleRules": [
            {"action": {"type": "Delete"}, "condition": {"daysSinceNoncurrentTime": 7}},
            {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}},
        ],
        "labels": LABELS,
    },
    "gcp:kms/keyRing:KeyRing": {"location": "us-central1"},
    CLUSTER: {
        "privateClusterConfig": {"enablePrivateNodes": True, "enablePrivateEndpoint": True},
        "ipAllocationPolicy": {"clusterIpv4CidrBlock": "10.4.0.0/16"},
        "defaultMaxPodsPerNode": 32.0,  # as the engine hands numbers over
        "masterAuth": {"clientCertificateConfig": {"issueClientCertificate": False}},
        "enableShieldedNodes": True,
        "enableLegacyAbac": False,
        "releaseChannel": {"channel": "EXTENDED"},
        "databaseEncryption": {"state": "ENCRYPTED"},
        "workloadIdentityConfig": {"workloadPool": "p.svc.id.goog"},
    },
    POOL: {
        "nodeConfig": {
            "machineType": "a3-megagpu-8g",
            "guestAccelerators": [
                {
                    "type": "nvidia-h100-mega-80gb",
                    "count": 8.0,
                    "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
                }
            ],
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
            "bootDiskKmsKey": KEY,
            "serviceAccount": "nodes@p.iam.gserviceaccount.com",
            "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        },
        "networkConfig": {"enablePrivateNodes": True},
        "maxPodsPerNode": 32.0,
        "placementPolicy": {"type": "COMPACT"},
        "management": {"autoRepair": False, "autoUpgrade": False},
    },
    "gcp:storage/bucketIAMMember:BucketIAMMember": {"role": "roles/storage.objectUser", "member": "serviceAccount:a@p"},
    GROUP: {"updatePolicy": {"type": "OPPORTUNISTIC", "minimalAction": "REPLACE"}},
    POLICY: {"groupPlacementPolicy": {"collocation": "COLLOCATED", "availabilityDomainCount": 1.0}},
    SUBNETWORK: {"privateIpGoogleAccess": True, "logConfig": {"metadata": "INCLUDE_ALL_METADATA"}},
    DATABASE: {
        "encryptionKeyName": KEY,
        "settings": {
            "deletionProtectionEnabled": True,
            "ipConfiguration": {"ipv4Enabled": False, "sslMode": "ENCRYPTED_ONLY"},
            "backupConfiguration": {"enabled": True},
            "userLabels": LABELS,
        },
    },
    "gcp:compute/address:Address": {"addressType": "INTERNAL"},
    "gcp:compute/network:Network": {"autoCreateSubnetworks": False},
    "gcp:compute/firewall:Firewall": {"direction": "INGRESS", "sourceRanges": ["10.0.0.0/16", "35.235.240.0/20"]},
    LUSTRE: {"kmsKey": KEY, "deletionPolicy": "PREVENT", "labels": LABELS},
    "gcp:secretmanager/secret:Secret": {
        "replication": {"userManaged": {"replicas": [{"customerManagedEncryption": {"kmsKeyName": KEY}}]}},
        "labels": LABELS,
    },
    "gcp:tpu/v2Vm:V2Vm": {
        "networkConfig": {"enableExternalIps": False},
        "serviceAccount": {"email": "nodes@p.iam.gserviceaccount.com"},
        "labels": LABELS,
    },
    "gcp:projects/service:Service": {"disableOnDestroy": False},
    "gcp:projects/iAMMember:IAMMember": {"role": "roles/logging.logWriter", "member": "serviceAccount:a@p"},
    "gcp:projects/iAMCustomRole:IAMCustomRole": {"permissions": ["compute.instanceGroupManagers.get"]},
}


def pool_with(name: str, value: Any) -> dict[str, Any]:
    """The change of a node pool to one with another value of its accelerators."""
    config = GOOD[POOL]["nodeConfig"]
    return {"nodeConfig": {**config, "guestAccelerators": [{**config["guestAccelerators"][0], name: value}]}}


# As their names say it: a3-highgpu-1g and so on.
GPUS_OF_A_TYPE = (1, 2, 4, 8, 16)


def pool_of(gpus: int, asked: int) -> dict[str, Any]:
    """The change of a node pool to a type of some GPUs, of which so many are asked for."""
    config = pool_with("count", float(asked))["nodeConfig"]
    accelerators = [{**config["guestAccelerators"][0], "type": "nvidia-tesla-a100"}]
    return {"nodeConfig": {**config, "machineType": f"a2-highgpu-{gpus}g", "guestAccelerators": accelerators}}


# Rule, type, what is changed, part of the message.
BAD: list[tuple[str, str, dict[str, Any], str]] = [
    ("no-public-address", TEMPLATE, {"networkInterfaces": [{"accessConfigs": [{}]}]}, "interface 0"),
    ("no-public-address", INSTANCE, {"networkInterfaces": [{"ipv6AccessConfigs": [{}]}]}, "interface 0"),
    ("no-public-address", "gcp:compute/address:Address", {"addressType": "EXTERNAL"}, "INTERNAL"),
    ("no-public-address", "gcp:tpu/v2Vm:V2Vm", {"networkConfig": {}}, "enableExternalIps"),
    ("no-public-address", DATABASE, {"settings": {"ipConfiguration": {"ipv4Enabled": True}}}, "ipv4Enabled"),
    ("no-public-address", CLUSTER, {"privateClusterConfig": {}}, "enablePrivateNodes"),
    ("closed-firewall", "gcp:compute/firewall:Firewall", {"sourceRanges": ["0.0.0.0/0"]}, "lets 0.0.0.0/0 in"),
    ("closed-firewall", "gcp:compute/firewall:Firewall", {"sourceRanges": ["::/0"]}, "lets ::/0 in"),
    ("own-subnetworks", "gcp:compute/network:Network", {"autoCreateSubnetworks": True}, "every region"),
    ("interfaces-of-the-type", TEMPLATE, {"networkInterfaces": [{"nicType": "GVNIC"}] * 8}, "9 GVNIC"),
    ("interfaces-of-the-type", TEMPLATE, {"machineType": "a4-highgpu-8g"}, "8 MRDMA"),
    ("encrypted-disks", TEMPLATE, {"disks": [{}]}, "disk 0"),
    ("encrypted-disks", INSTANCE, {"bootDisk": {}}, "kmsKeySelfLink"),
    ("logins-by-iam", TEMPLATE, {"metadata": {"ssh-keys": "x"}}, "enable-oslogin"),
    ("own-account", TEMPLATE, {"serviceAccount": {}}, "default account"),
    ("own-account", "gcp:tpu/v2Vm:V2Vm", {"serviceAccount": {}}, "default account"),
    ("measured-boot", INSTANCE, {"shieldedInstanceConfig": {"enableVtpm": True}}, "enableIntegrityMonitoring"),
    ("one-placement", TEMPLATE, {"scheduling": {"onHostMaintenance": "MIGRATE"}}, "TERMINATE"),
    ("one-placement", TEMPLATE, {"reservationAffinity": {"type": "SPECIFIC_RESERVATION"}}, "beside a reservation"),
    (
        "one-placement",
        TEMPLATE,
        {"scheduling": {"onHostMaintenance": "TERMINATE", "provisioningModel": "FLEX_START"}},
        "flex-start",
    ),
    ("own-key", BUCKET, {"encryption": {}}, "defaultKmsKeyName"),
    ("own-key", LUSTRE, {"kmsKey": ""}, "kmsKey"),
    ("own-key", DATABASE, {"encryptionKeyName": None}, "encryptionKeyName"),
    ("own-key", "gcp:secretmanager/secret:Secret", {"replication": {"auto": {}}}, "customerManagedEncryption"),
    ("private-bucket", BUCKET, {"publicAccessPrevention": "inherited"}, "made public"),
    ("private-bucket", BUCKET, {"uniformBucketLevelAccess": False}, "single objects"),
    ("private-bucket", BUCKET, {"forceDestroy": True}, "deleted with it"),
    ("in-one-region", BUCKET, {"location": "US"}, "location is US"),
    ("in-one-region", BUCKET, {"location": None}, "location is None"),
    ("in-one-region", "gcp:kms/keyRing:KeyRing", {"location": "global"}, "location is global"),
    ("in-one-region", "gcp:kms/keyRing:KeyRing", {"location": "europe"}, "location is europe"),
    (
        "kept-objects",
        BUCKET,
        {"lifecycleRules": [{"action": {"type": "Delete"}, "condition": {"age": 1}}]},
        "deletes objects that are in use",
    ),
    (
        "kept-objects",
        BUCKET,
        {"lifecycleRules": [{"action": {"type": "Delete"}, "condition": {"age": 1, "withState": "ANY"}}]},
        "deletes objects that are in use",
    ),
    ("kept-objects", BUCKET, {"versioning": {}}, "keeps no overwritten object"),
    (
        "no-power-for-machines",
        "gcp:storage/bucketIAMMember:BucketIAMMember",
        {"role": "roles/storage.admin"},
        "gives roles/storage.admin",
    ),
    (
        "no-power-for-machines",
        "gcp:compute/instanceIAMMember:InstanceIAMMember",
        {"role": "roles/compute.instanceAdmin.v1", "members": ["serviceAccount:a@p"]},
        "instanceAdmin.v1",
    ),
    ("no-power-for-machines", "gcp:projects/iAMMember:IAMMember", {"role": "roles/owner"}, "gives roles/owner"),
    ("adding-grants", "gcp:projects/iAMBinding:IAMBinding", {"role": "roles/viewer"}, "everybody else"),
    ("adding-grants", "gcp:storage/bucketIAMPolicy:BucketIAMPolicy", {"policyData": "{}"}, "everybody else"),
    ("closed-api-server", CLUSTER, {"privateClusterConfig": {}}, "open to the Internet"),
    (
        "closed-api-server",
        CLUSTER,
        {"masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "0.0.0.0/0"}]}},
        "whole Internet",
    ),
    ("closed-kubernetes-nodes", CLUSTER, {"databaseEncryption": {}}, "Google's key"),
    ("closed-kubernetes-nodes", CLUSTER, {"workloadIdentityConfig": {}}, "rights of their"),
    (
        "one-zone",
        POOL,
        {"nodeConfig": {"guestAccelerators": [{"count": 8}]}, "nodeLocations": ["us-central1-a", "us-central1-b"]},
        "spread over 2 zones",
    ),
    ("closed-kubernetes-nodes", POOL, {"nodeConfig": {}}, "bootDiskKmsKey"),
    ("closed-kubernetes-nodes", POOL, {"networkConfig": {}}, "enablePrivateNodes"),
    ("database-over-tls", DATABASE, {"settings": {"backupConfiguration": {"enabled": True}}}, "sslMode is left out"),
    ("database-has-backups", DATABASE, {"settings": {}}, "backupConfiguration.enabled is left out"),
    ("database-has-backups", DATABASE, {"settings": {"backupConfiguration": {"enabled": False}}}, "enabled is false"),
    ("labels", TEMPLATE, {"labels": {"layer": "nodes"}}, "no label gpu-cluster"),
    ("labels", DATABASE, {"settings": {}}, "no label layer"),
    ("named-people", "gcp:storage/bucketIAMMember:BucketIAMMember", {"member": "allUsers", "role": "r"}, "allUsers"),
    ("small-grants", "gcp:projects/iAMMember:IAMMember", {"role": "roles/editor"}, "whole project"),
    ("small-grants", "gcp:projects/iAMMember:IAMMember", {"role": "projects/p/roles/a_scaler"}, "condition"),
    ("named-permissions", "gcp:projects/iAMCustomRole:IAMCustomRole", {"permissions": ["compute.*"]}, "compute.*"),
    ("services-stay", "gcp:projects/service:Service", {"disableOnDestroy": True}, "switched off"),
    *(
        ("images-have-a-driver", TEMPLATE, {"disks": [{"sourceImage": image}]}, f"{image} has no driver")
        for image in (
            "ubuntu-os-cloud/ubuntu-2404-lts-amd64",
            "projects/debian-cloud/global/images/family/debian-12",
            "https://www.googleapis.com/compute/v1/projects/rocky-linux-cloud/global/images/rocky-linux-9-v1",
        )
    ),
    ("images-have-a-driver", POOL, pool_with("gpuDriverInstallationConfig", {"gpuDriverVersion": "x"}), "no driver"),
    ("every-gpu", POOL, pool_with("count", 4.0), "guestAccelerators.count is 4, the machine type has 8"),
    *(("every-gpu", POOL, pool_of(count, count - 1), f"the machine type has {count}") for count in GPUS_OF_A_TYPE),
    ("pods-have-addresses", CLUSTER, {"defaultMaxPodsPerNode": None}, "defaultMaxPodsPerNode is left out"),
    ("pods-have-addresses", CLUSTER, {"defaultMaxPodsPerNode": 257.0}, "defaultMaxPodsPerNode is 257"),
    ("pods-have-addresses", POOL, {"maxPodsPerNode": 7.0}, "maxPodsPerNode is 7"),
    ("compact-placement", POLICY, {"groupPlacementPolicy": {"collocation": "SPREAD"}}, "collocation is SPREAD"),
    (
        "compact-placement",
        POLICY,
        {"groupPlacementPolicy": {"collocation": "COLLOCATED", "availabilityDomainCount": 2.0}},
        "availabilityDomainCount is 2",
    ),
    ("compact-placement", POLICY, {"groupPlacementPolicy": {"availabilityDomainCount": 8.0}}, "DomainCount is 8"),
    ("compact-placement", POOL, {"placementPolicy": {"type": "SPREAD"}}, "placementPolicy.type is SPREAD"),
    ("services-by-private-ways", SUBNETWORK, {"privateIpGoogleAccess": False}, "privateIpGoogleAccess is false"),
    ("services-by-private-ways", SUBNETWORK, {"privateIpGoogleAccess": None}, "privateIpGoogleAccess is left out"),
    (
        "kubernetes-by-identity",
        CLUSTER,
        {"masterAuth": {"clientCertificateConfig": {"issueClientCertificate": True}}},
        "issueClientCertificate is true",
    ),
    ("kubernetes-by-identity", CLUSTER, {"enableLegacyAbac": True}, "enableLegacyAbac is true"),
    ("kubernetes-by-identity", CLUSTER, {"enableShieldedNodes": False}, "enableShieldedNodes is false"),
    (
        "database-over-tls",
        DATABASE,
        {"settings": {"ipConfiguration": {"sslMode": "ALLOW_UNENCRYPTED_AND_ENCRYPTED"}}},
        "sslMode is ALLOW_UNENCRYPTED_AND_ENCRYPTED",
    ),
    ("data-stays", DATABASE, {"settings": {"deletionProtectionEnabled": False}}, "deletionProtectionEnabled is false"),
    ("data-stays", LUSTRE, {"deletionPolicy": None}, "deletionPolicy is left out"),
    ("data-stays", LUSTRE, {"deletionPolicy": "DELETE"}, "deletionPolicy is DELETE"),
    ("nodes-stay-under-jobs", GROUP, {"updatePolicy": {"type": "PROACTIVE"}}, "updatePolicy.type is PROACTIVE"),
    ("nodes-stay-under-jobs", GROUP, {"updatePolicy": None}, "updatePolicy.type is left out"),
    ("nodes-stay-under-jobs", CLUSTER, {"releaseChannel": {"channel": "RAPID"}}, "releaseChannel.channel is RAPID"),
    ("nodes-stay-under-jobs", POOL, {"management": {"autoUpgrade": True}}, "autoUpgrade is true"),
    ("nodes-stay-under-jobs", POOL, {"management": None}, "autoUpgrade is left out"),
    (
        "gpu-nodes-are-tainted",
        POOL,
        {"nodeConfig": {**GOOD[POOL]["nodeConfig"], "taints": [{"effect": "PREFER_NO_SCHEDULE"}]}},
        "the effect of the taint is PREFER_NO_SCHEDULE",
    ),
]


def said(kind: str, inputs: Mapping[str, Any]) -> dict[str, list[str]]:
    """What each rule says of a resource, without those that say nothing."""
    found = {rule.name: list(rule.check(kind, inputs)) for rule in RULES}
    return {name: messages for name, messages in found.items() if messages}


@pytest.mark.parametrize("kind", GOOD)
def test_what_is_right_passes(kind: str) -> None:
    """No rule has anything against a resource as the layers make it."""
    assert said(kind, GOOD[kind]) == {}


@pytest.mark.parametrize(("rule", "kind", "changes", "message"), BAD)
def test_each_violation_is_noticed(rule: str, kind: str, changes: dict[str, Any], message: str) -> None:
    """The rule that is named says what is wrong."""
    messages = said(kind, {**GOOD.get(kind, {}), **changes}).get(rule, [])
    assert any(message in one for one in messages), messages


def test_every_row_is_broken_and_met() -> None:
    """Of each row of the tables there is a case that it has to notice, and one that is right."""
    right = [*GOOD.items(), *((POOL, {**GOOD[POOL], **pool_of(count, count)}) for count in GPUS_OF_A_TYPE)]
    assert never_met(VALUES, right) == []
    assert [message for kind, inputs in right for message in said(kind, inputs)] == []
    assert never_broken(VALUES, [(kind, {**GOOD.get(kind, {}), **changes}) for _, kind, changes, _ in BAD]) == []


def test_every_rule_is_tested() -> None:
    """A rule that never fires would be no rule; some fire in test_policy_kubernetes.py and test_policy_parts.py."""
    elsewhere = {row.name for row in KUBERNETES} | {rule.name for rule in cluster_parts.RULES}
    assert {rule.name for rule in RULES} - elsewhere == {rule for rule, _, _, _ in BAD}
