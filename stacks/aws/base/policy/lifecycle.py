"""Data is not lost by accident."""

from collections.abc import Sequence

from reading import Inputs, first, is_off, is_on
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
        return [*messages, *(["keeps no backups"] if inputs.get("backupRetentionPeriod") == 0 else [])]
    if type_ == "aws:secretsmanager/secret:Secret":
        days = inputs.get("recoveryWindowInDays", 30)
        return ["cannot be restored"] if isinstance(days, int | float) and days < RECOVERY_DAYS else []
    if type_ == "aws:kms/key:Key":
        days = inputs.get("deletionWindowInDays", 30)
        return ["cannot be restored"] if isinstance(days, int | float) and days < RECOVERY_DAYS else []
    return []


RULES = (
    Rule(name="bucket-keeps-objects", description="A full bucket is not deleted.", check=emptied_bucket),
    Rule(name="bucket-keeps-versions", description="Overwritten objects can be had back.", check=lost_versions),
    Rule(name="records-survive", description="Records, secrets and keys can be had back.", check=lost_records),
)
