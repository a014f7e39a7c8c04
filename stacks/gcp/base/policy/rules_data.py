"""Rules for data: encrypted with the cluster's key, private, and not deleted with its container."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reading import mapping, mappings
from rule import UNKNOWN, Rule

BUCKET = "gcp:storage/bucket:Bucket"
DATABASE = "gcp:sql/databaseInstance:DatabaseInstance"
# Types that Google bills and gives labels to, and where they carry them.
LABELLED = {
    "gcp:compute/instance:Instance": "labels",
    "gcp:compute/instanceTemplate:InstanceTemplate": "labels",
    "gcp:kms/cryptoKey:CryptoKey": "labels",
    "gcp:lustre/instance:Instance": "labels",
    "gcp:secretmanager/secret:Secret": "labels",
    BUCKET: "labels",
    "gcp:tpu/v2Vm:V2Vm": "labels",
    DATABASE: "settings.userLabels",
}
WANTED_LABELS = ("gpu-cluster", "layer")


# Types that stay where they are made, and the input that says where.
PLACES = {BUCKET: "location", "gcp:kms/keyRing:KeyRing": "location", DATABASE: "region"}
# A region, such as us-central1; US, EU, NAM4, global and europe are several.
REGION = re.compile(r"[a-z]+-[a-z]+[0-9]+")


def _own_key(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind == BUCKET and not mapping(inputs.get("encryption")).get("defaultKmsKeyName"):
        return ["set encryption.defaultKmsKeyName to the cluster's key"]
    if kind == "gcp:lustre/instance:Instance" and not inputs.get("kmsKey"):
        return ["set kmsKey to the cluster's key"]
    if kind == DATABASE and not inputs.get("encryptionKeyName"):
        return ["set encryptionKeyName to the cluster's key"]
    if kind == "gcp:secretmanager/secret:Secret":
        replicas = mappings(mapping(mapping(inputs.get("replication")).get("userManaged")).get("replicas"))
        if not replicas or any(not mapping(one.get("customerManagedEncryption")) for one in replicas):
            return ["replicate it in chosen regions, each with customerManagedEncryption"]
    return []


def _in_one_region(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    place = inputs.get(PLACES[kind]) if kind in PLACES else None
    if kind not in PLACES or place == UNKNOWN or (place is None and kind == DATABASE):
        return []
    if isinstance(place, str) and REGION.fullmatch(place.lower()):
        return []
    return [f"{PLACES[kind]} is {place}: name the region of the nodes, or their data and keys lie elsewhere"]


def _kept_objects(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != BUCKET:
        return []
    found: list[str] = []
    for rule in mappings(inputs.get("lifecycleRules")):
        condition = mapping(rule.get("condition"))
        # Of an object that was overwritten or deleted, only older versions go.
        older = condition.get("withState") == "ARCHIVED" or any(
            condition.get(name) for name in ("daysSinceNoncurrentTime", "noncurrentTimeBefore", "numNewerVersions")
        )
        if mapping(rule.get("action")).get("type") == "Delete" and not older:
            found.append(f"deletes objects that are in use: {dict(condition)}; add withState ARCHIVED")
    if mapping(inputs.get("versioning")).get("enabled") not in (True, UNKNOWN):
        found.append("keeps no overwritten object: set versioning.enabled to true")
    return found


def _private_bucket(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    if kind != BUCKET:
        return []
    found: list[str] = []
    if inputs.get("publicAccessPrevention") != "enforced":
        found.append("could be made public: set publicAccessPrevention to enforced")
    if inputs.get("uniformBucketLevelAccess") is not True:
        found.append("single objects could be shared: set uniformBucketLevelAccess to true")
    if inputs.get("forceDestroy") not in (None, False):
        found.append("its content would be deleted with it: leave forceDestroy out")
    return found


def _labels(kind: str, inputs: Mapping[str, Any]) -> Sequence[str]:
    path = LABELLED.get(kind)
    if path is None:
        return []
    value: object = inputs
    for part in path.split("."):
        value = mapping(value).get(part)
    if value == UNKNOWN:
        return []
    return [
        f"has no label {label}: its cost belongs to nobody" for label in WANTED_LABELS if label not in mapping(value)
    ]


RULES: Sequence[Rule] = (
    Rule(name="own-key", description="Data is encrypted with the cluster's own key.", check=_own_key),
    Rule(
        name="private-bucket",
        description="Buckets are private and outlive a mistake.",
        check=_private_bucket,
    ),
    Rule(
        name="in-one-region",
        description="Data and keys are in one region, that of the nodes.",
        check=_in_one_region,
    ),
    Rule(name="kept-objects", description="No rule deletes objects that are in use.", check=_kept_objects),
    Rule(name="labels", description="What is billed carries the cluster's name and its layer.", check=_labels),
)
