"""The policy pack: every rule notices its violation, and says nothing of what is right."""

from collections.abc import Mapping
from typing import Any

import pytest

from rules import RULES

INSTANCE = "gcp:compute/instance:Instance"
TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
BUCKET = "gcp:storage/bucket:Bucket"
DATABASE = "gcp:sql/databaseInstance:DatabaseInstance"
KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
LABELS = {"gpu-cluster": "gpt3", "layer": "nodes"}

GOOD: dict[str, dict[str, Any]] = {
    TEMPLATE: {
        "machineType": "a3-megagpu-8g",
        "networkInterfaces": [{"nicType": "GVNIC", "subnetwork": f"s-{number}"} for number in range(9)],
        "disks": [{"diskEncryptionKey": {"kmsKeySelfLink": KEY}}],
        "metadata": {"enable-oslogin": "TRUE"},
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
        "metadata": {"enable-oslogin": "TRUE"},
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
    "gcp:container/cluster:Cluster": {
        "privateClusterConfig": {"enablePrivateNodes": True, "enablePrivateEndpoint": True},
        "databaseEncryption": {"state": "ENCRYPTED"},
        "workloadIdentityConfig": {"workloadPool": "p.svc.id.goog"},
    },
    "gcp:container/nodePool:NodePool": {
        "nodeConfig": {
            "bootDiskKmsKey": KEY,
            "serviceAccount": "nodes@p.iam.gserviceaccount.com",
            "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        },
        "networkConfig": {"enablePrivateNodes": True},
    },
    "gcp:storage/bucketIAMMember:BucketIAMMember": {"role": "roles/storage.objectUser", "member": "serviceAccount:a@p"},
    DATABASE: {
        "encryptionKeyName": KEY,
        "settings": {
            "ipConfiguration": {"ipv4Enabled": False, "sslMode": "ENCRYPTED_ONLY"},
            "backupConfiguration": {"enabled": True},
            "userLabels": LABELS,
        },
    },
    "gcp:compute/address:Address": {"addressType": "INTERNAL"},
    "gcp:compute/network:Network": {"autoCreateSubnetworks": False},
    "gcp:compute/firewall:Firewall": {"direction": "INGRESS", "sourceRanges": ["10.0.0.0/16", "35.235.240.0/20"]},
    "gcp:lustre/instance:Instance": {"kmsKey": KEY, "labels": LABELS},
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
# Rule, type, what is changed, part of the message.
BAD: list[tuple[str, str, dict[str, Any], str]] = [
    ("no-public-address", TEMPLATE, {"networkInterfaces": [{"accessConfigs": [{}]}]}, "interface 0"),
    ("no-public-address", INSTANCE, {"networkInterfaces": [{"ipv6AccessConfigs": [{}]}]}, "interface 0"),
    ("no-public-address", "gcp:compute/address:Address", {"addressType": "EXTERNAL"}, "INTERNAL"),
    ("no-public-address", "gcp:tpu/v2Vm:V2Vm", {"networkConfig": {}}, "enableExternalIps"),
    ("no-public-address", DATABASE, {"settings": {"ipConfiguration": {"ipv4Enabled": True}}}, "ipv4Enabled"),
    ("no-public-address", "gcp:container/cluster:Cluster", {"privateClusterConfig": {}}, "enablePrivateNodes"),
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
    ("own-key", "gcp:lustre/instance:Instance", {"kmsKey": ""}, "kmsKey"),
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
    ("closed-api-server", "gcp:container/cluster:Cluster", {"privateClusterConfig": {}}, "open to the Internet"),
    (
        "closed-api-server",
        "gcp:container/cluster:Cluster",
        {"masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "0.0.0.0/0"}]}},
        "whole Internet",
    ),
    ("closed-kubernetes-nodes", "gcp:container/cluster:Cluster", {"databaseEncryption": {}}, "Google's key"),
    ("closed-kubernetes-nodes", "gcp:container/cluster:Cluster", {"workloadIdentityConfig": {}}, "rights of their"),
    ("closed-kubernetes-nodes", "gcp:container/nodePool:NodePool", {"nodeConfig": {}}, "bootDiskKmsKey"),
    ("closed-kubernetes-nodes", "gcp:container/nodePool:NodePool", {"networkConfig": {}}, "enablePrivateNodes"),
    ("safe-database", DATABASE, {"settings": {"backupConfiguration": {"enabled": True}}}, "plain text"),
    ("safe-database", DATABASE, {"settings": {"ipConfiguration": {"sslMode": "ENCRYPTED_ONLY"}}}, "no backups"),
    ("labels", TEMPLATE, {"labels": {"layer": "nodes"}}, "no label gpu-cluster"),
    ("labels", DATABASE, {"settings": {}}, "no label layer"),
    ("named-people", "gcp:storage/bucketIAMMember:BucketIAMMember", {"member": "allUsers", "role": "r"}, "allUsers"),
    ("small-grants", "gcp:projects/iAMMember:IAMMember", {"role": "roles/editor"}, "whole project"),
    ("small-grants", "gcp:projects/iAMMember:IAMMember", {"role": "projects/p/roles/a_scaler"}, "condition"),
    ("named-permissions", "gcp:projects/iAMCustomRole:IAMCustomRole", {"permissions": ["compute.*"]}, "compute.*"),
    ("services-stay", "gcp:projects/service:Service", {"disableOnDestroy": True}, "switched off"),
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


def test_every_rule_is_tested() -> None:
    """A rule that never fires would be no rule."""
    assert {rule.name for rule in RULES} == {rule for rule, _, _, _ in BAD}
