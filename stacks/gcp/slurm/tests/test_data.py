"""Data: encryption, protection, storage sizes, and a secret without a value."""

from pathlib import Path

import pytest
from recording import LUSTRE_MOUNT, PROJECT_NUMBER, Recording, Registration, scenario

KEY = "gcp:kms/cryptoKey:CryptoKey"
KEY_RING = "gcp:kms/keyRing:KeyRing"
BUCKET = "gcp:storage/bucket:Bucket"
LUSTRE = "gcp:lustre/instance:Instance"
SECRET = "gcp:secretmanager/secret:Secret"  # noqa: S105 - a resource type
GRANT = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
DATA_KEY = "id-of-gpt3-data"


def grant_to(recording: Recording, service: str) -> Registration:
    """The right of one service to use the key."""
    return recording.one(GRANT, f"{service}-encryption")


def test_bucket_is_private_encrypted_versioned_and_kept(project: Path) -> None:
    """Nobody outside reads the bucket, its objects use the cluster's key, and deleting never empties it."""
    bucket = scenario(project).one(BUCKET)
    assert bucket.inputs["publicAccessPrevention"] == "enforced"
    assert bucket.inputs["uniformBucketLevelAccess"] is True
    assert bucket.inputs["forceDestroy"] is False
    assert bucket.inputs["versioning"] == {"enabled": True}
    assert bucket.inputs["encryption"] == {"defaultKmsKeyName": DATA_KEY}
    assert bucket.inputs["location"] == "US-CENTRAL1"
    assert bucket.protected


def test_old_versions_and_broken_uploads_do_not_pile_up(project: Path) -> None:
    """Overwritten objects and unfinished uploads go after a week; live objects stay."""
    rules = scenario(project).one(BUCKET).inputs["lifecycleRules"]
    assert rules == [
        {"action": {"type": "Delete"}, "condition": {"daysSinceNoncurrentTime": 7, "withState": "ARCHIVED"}},
        {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}},
    ]


@pytest.mark.parametrize(
    ("throughput", "capacity"), [(1000, 9000), (1000, 27_000), (500, 18_000), (250, 72_000), (125, 72_000)]
)
def test_file_system_has_the_configured_size_as_text(project: Path, throughput: int, capacity: int) -> None:
    """Managed Lustre gets its numbers as strings, in the nodes' zone and network, encrypted and protected."""
    recording = scenario(project, sharedStorage={"capacityGib": capacity, "throughputMbPerSPerTib": throughput})
    lustre = recording.one(LUSTRE)
    assert (lustre.inputs["capacityGib"], lustre.inputs["perUnitStorageThroughput"]) == (str(capacity), str(throughput))
    assert lustre.inputs["location"] == recording.one("gcp:compute/instance:Instance").inputs["zone"]
    assert lustre.inputs["network"] == "id-of-gpt3-primary"
    assert lustre.inputs["kmsKey"] == DATA_KEY
    assert len(lustre.inputs["filesystem"]) <= 8
    assert lustre.inputs["filesystem"].isalnum()
    assert lustre.inputs["deletionPolicy"] == "PREVENT"
    assert lustre.protected


def test_file_system_waits_for_peering_and_key(project: Path) -> None:
    """The file system is made after the peering is up and its service may use the key."""
    recording = scenario(project)
    needed = {recording.one("gcp:servicenetworking/connection:Connection").urn, grant_to(recording, "lustre").urn}
    assert needed <= recording.one(LUSTRE).dependencies


def test_key_turns_and_is_kept(project: Path) -> None:
    """The key rotates every 90 days, in the nodes' region, and neither it nor its ring can be deleted by accident."""
    recording = scenario(project)
    key, ring = recording.one(KEY), recording.one(KEY_RING)
    assert key.inputs["rotationPeriod"] == "7776000s"
    assert key.inputs["deletionPolicy"] == "PREVENT"
    assert ring.inputs["location"] == "us-central1"
    assert key.protected
    assert ring.protected


def test_every_service_that_encrypts_may_use_the_key(project: Path) -> None:
    """Disks, bucket, secret and file system each have their service's own right to the key, and nobody else has."""
    recording = scenario(project)
    grants = {one.name: one.inputs for one in recording.of(GRANT)}
    assert {one["role"] for one in grants.values()} == {"roles/cloudkms.cryptoKeyEncrypterDecrypter"}
    assert {name: one["member"] for name, one in grants.items()} == {
        "gpt3-compute-encryption": f"serviceAccount:service-{PROJECT_NUMBER}@compute-system.iam.gserviceaccount.com",
        "gpt3-storage-encryption": "serviceAccount:gs@google.example",
        "gpt3-secretmanager-encryption": (
            "serviceAccount:gpt3-secretmanager-agent@my-training-project.iam.gserviceaccount.com"
        ),
        "gpt3-lustre-encryption": "serviceAccount:gpt3-lustre-agent@my-training-project.iam.gserviceaccount.com",
    }
    assert grant_to(recording, "storage").urn in recording.one(BUCKET).dependencies
    assert grant_to(recording, "secretmanager").urn in recording.one(SECRET).dependencies
    for machine in ("gcp:compute/instance:Instance", "gcp:compute/instanceTemplate:InstanceTemplate"):
        assert grant_to(recording, "compute").urn in recording.one(machine).dependencies


def test_secret_is_an_empty_container(project: Path) -> None:
    """The program makes the secret in the nodes' region and encrypted, and never a value for it."""
    recording = scenario(project)
    (replica,) = recording.one(SECRET).inputs["replication"]["userManaged"]["replicas"]
    assert replica == {"location": "us-central1", "customerManagedEncryption": {"kmsKeyName": DATA_KEY}}
    assert not [one.type for one in recording.resources if "secretVersion" in one.type]


def test_protection_can_be_lifted_to_remove_the_cluster(project: Path) -> None:
    """ProtectData false lifts every lock at once, and still never empties the bucket."""
    recording = scenario(project, protectData=False)
    assert not any(one.protected for one in recording.resources)
    assert {one.inputs["deletionPolicy"] for type_ in (KEY, LUSTRE) for one in recording.of(type_)} == {"DELETE"}
    assert recording.one(BUCKET).inputs["forceDestroy"] is False


def test_only_data_is_protected(project: Path) -> None:
    """GPU nodes, controller and networks can be removed without touching a lock."""
    protected = {one.type for one in scenario(project).resources if one.protected}
    assert protected == {KEY, KEY_RING, BUCKET, LUSTRE}


def test_mount_source_is_exported(project: Path) -> None:
    """The mount source of the file system is a stack output."""
    assert scenario(project).outputs["sharedSource"] == LUSTRE_MOUNT
