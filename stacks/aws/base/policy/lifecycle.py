"""Data is not lost by accident."""

from collections.abc import Sequence

from reading import Inputs, first, is_off, is_on, objects
from rule import Rule

RECOVERY_DAYS = 7


def emptied_bucket(type_: str, inputs: Inputs) -> Sequence[str]:
    """A bucket with objects in it cannot be deleted."""
    if type_ == "aws:s3/bucket:Bucket" and is_on(inputs.get("forceDestroy")):
        return ["forceDestroy deletes the bucket with everything in it"]
    return []


def lost_versions(type_: str, inputs: Inputs) -> Sequence[str]:
    """An object that is overwritten can be had back."""
    if type_ != "aws:s3/bucketVersioning:BucketVersioning":
        return []
    status = first(inputs, "versioningConfiguration").get("status")
    return [] if status == "Enabled" else ["versions of objects are not kept"]


def lost_records(type_: str, inputs: Inputs) -> Sequence[str]:
    """The accounting database leaves a snapshot behind, and secrets can be restored."""
    if type_ == "aws:rds/cluster:Cluster":
        messages = ["skipFinalSnapshot loses the records"] if not is_off(inputs.get("skipFinalSnapshot")) else []
        kept = inputs.get("backupRetentionPeriod", 1)
        few = isinstance(kept, int | float) and kept < RECOVERY_DAYS
        return [*messages, *([f"keeps backups of {kept:.0f} days"] if few else [])]
    if type_ == "aws:secretsmanager/secret:Secret":
        days = inputs.get("recoveryWindowInDays", 30)
        return ["cannot be restored"] if isinstance(days, int | float) and days < RECOVERY_DAYS else []
    if type_ == "aws:kms/key:Key":
        days = inputs.get("deletionWindowInDays", 30)
        return ["cannot be restored"] if isinstance(days, int | float) and days < RECOVERY_DAYS else []
    return []


def expired_objects(type_: str, inputs: Inputs) -> Sequence[str]:
    """Objects that are in use do not go by themselves, unless they are in a folder for what may."""
    if type_ != "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration":
        return []
    return [
        f"deletes objects that are in use after {end.get('days') or end.get('date')} days: limit it to a folder"
        for rule in objects(inputs, "rules")
        if rule.get("status") != "Disabled"
        for end in objects(rule, "expiration")
        if (end.get("days") or end.get("date")) and not _of_a_folder(rule)
    ]


def _of_a_folder(rule: Inputs) -> bool:
    limits = [
        rule,
        *objects(rule, "filter"),
        *(inner for one in objects(rule, "filter") for inner in objects(one, "and")),
    ]
    return any(one.get("prefix") not in (None, "", "/") or one.get("tag") or one.get("tags") for one in limits)


RULES = (
    Rule(name="objects-do-not-expire", description="Objects in use stay.", check=expired_objects),
    Rule(name="bucket-keeps-objects", description="A full bucket is not deleted.", check=emptied_bucket),
    Rule(name="bucket-keeps-versions", description="Overwritten objects can be had back.", check=lost_versions),
    Rule(name="records-survive", description="Records, secrets and keys can be had back.", check=lost_records),
)
