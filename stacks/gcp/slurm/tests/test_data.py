"""Data: encryption, protection, storage sizes, and a secret without a value."""

from pathlib import Path

import pytest

from recording import LUSTRE_MOUNT, PROJECT_NUMBER, Recording, Registration, scenario

KEY = "gcp:kms/cryptoKey:CryptoKey"
KEY_RING = "gcp:kms/keyRing:KeyRing"
BUCKET = "gcp:storage/bucket:Bucket"
LUSTRE = "gcp:lustre/instance:Instance"
DATABASE = "gcp:sql/databaseInstance:DatabaseInstance"
SECRET = "gcp:secretmanager/secret:Secret"
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
    assert lustre.inputs["location"] == recording.one("gcp:compute/instance:Instance", "controller").inputs["zone"]
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
            "serviceAccount:gpt3-secretmanager-agent@my-gpu-project.iam.gserviceaccount.com"
        ),
        "gpt3-lustre-encryption": "serviceAccount:gpt3-lustre-agent@my-gpu-project.iam.gserviceaccount.com",
        "gpt3-database-encryption": "serviceAccount:gpt3-database-agent@my-gpu-project.iam.gserviceaccount.com",
    }
    assert grant_to(recording, "storage").urn in recording.one(BUCKET).dependencies
    assert grant_to(recording, "secretmanager").urn in recording.one(SECRET, "munge-key").dependencies
    assert grant_to(recording, "database").urn in recording.one(DATABASE).dependencies
    # Machines are made in later layers, when the foundation is complete.
    assert grant_to(recording, "compute") in recording.in_layer("foundation")


def test_secret_is_an_empty_container(project: Path) -> None:
    """The program makes the secret in the nodes' region and encrypted, and never a value for it."""
    recording = scenario(project)
    for secret in recording.of(SECRET):
        (replica,) = secret.inputs["replication"]["userManaged"]["replicas"]
        assert replica == {"location": "us-central1", "customerManagedEncryption": {"kmsKeyName": DATA_KEY}}
    versions = [one.inputs["secret"] for one in recording.resources if "secretVersion" in one.type]
    assert sorted(one.rpartition("/")[2] for one in versions) == ["gpt3-database-password", "gpt3-users"]


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
    assert scenario(project).outputs["file_system_mount_source"] == LUSTRE_MOUNT


def test_accounting_database_is_private_encrypted_and_kept(project: Path) -> None:
    """Cloud SQL has no public address, wants TLS, uses the cluster's key, and is not deleted by mistake."""
    database = scenario(project).one(DATABASE).inputs
    settings = database["settings"]
    assert settings["ipConfiguration"] == {
        "ipv4Enabled": False,
        "privateNetwork": "id-of-gpt3-primary",
        "sslMode": "ENCRYPTED_ONLY",
    }
    assert database["encryptionKeyName"] == DATA_KEY
    assert (database["deletionProtection"], settings["deletionProtectionEnabled"]) == (True, True)
    assert settings["backupConfiguration"]["binaryLogEnabled"] is True
    assert scenario(project, protectData=False).one(DATABASE).inputs["deletionProtection"] is False


def test_no_database_where_none_is_wanted(project: Path) -> None:
    """Without accounting there is neither database nor a secret for its password, nor the service."""
    recording = scenario(project, accountingDatabase=False, accountingPassword="")
    assert not recording.of(DATABASE)
    assert [one.name for one in recording.of(SECRET)] == ["gpt3-munge-key", "gpt3-users"]
    services = {one.inputs["service"] for one in recording.of("gcp:projects/service:Service")}
    assert "sqladmin.googleapis.com" not in services


def test_file_system_may_use_the_bucket(project: Path) -> None:
    """Managed Lustre imports from the bucket and exports to it, and may not delete it."""
    grants = scenario(project).of("gcp:storage/bucketIAMMember:BucketIAMMember")
    roles = {one.inputs["role"] for one in grants if "lustre" in one.inputs["member"]}
    assert roles == {"roles/storage.objectUser", "roles/storage.legacyBucketReader"}


def test_somebody_elses_key_and_bucket_are_used_and_not_changed(project: Path) -> None:
    """A key that others use gets no grant of ours, and neither key nor bucket is made."""
    key = "projects/host/locations/us-central1/keyRings/r/cryptoKeys/k"
    existing = {"keyId": key, "bucketName": "their-data"}
    recording = scenario(project, existingNetwork=existing, grantKeyUse=False)
    assert not [*recording.of(KEY), *recording.of(KEY_RING), *recording.of(BUCKET), *recording.of(GRANT)]
    assert recording.outputs["key_id"] == key
    assert recording.outputs["bucket_name"] == "their-data"
    assert recording.one(LUSTRE).inputs["kmsKey"] == key
    assert recording.one("gcp:compute/network:Network", "primary")
