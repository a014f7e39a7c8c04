"""Everything at rest is encrypted with a key of the account's own, which rotates."""

import re
from collections.abc import Sequence

from reading import Inputs, is_off, is_on, objects
from rule import Rule

# Type to the input that names the key.
KEY_OF = {
    "aws:cloudwatch/logGroup:LogGroup": "kmsKeyId",
    "aws:ebs/volume:Volume": "kmsKeyId",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "kmsKeyId",
    "aws:lambda/function:Function": "kmsKeyArn",
    "aws:rds/cluster:Cluster": "kmsKeyId",
    "aws:scheduler/schedule:Schedule": "kmsKeyArn",
    "aws:secretsmanager/secret:Secret": "kmsKeyId",
    "aws:sns/topic:Topic": "kmsMasterKeyId",
}
# Types that are not encrypted unless asked.
FLAG_OF = {"aws:ebs/volume:Volume": "encrypted", "aws:rds/cluster:Cluster": "storageEncrypted"}
BUCKET_RULES = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
# The list of users as `node/users.sh` reads it: names, numbers and public keys, whose base64 begins with a length below
# 256 in four bytes. Whoever reads the state may read it.
LIST_OF_USERS = re.compile(
    r"((group [a-z0-9_-]+ [0-9]+|user [a-z0-9_-]+ [0-9]+ (yes|no)( [a-z0-9_,-]+)?"
    r"|key [a-z0-9_-]+ [a-z0-9@.-]+ AAAA[A-Za-z0-9+/=]+( [^\n]*)?)?\n)+"
)
# Settings of a directory as `node/users_directory.sh` reads them; a certificate is known by its first line.
SETTINGS_OF_DIRECTORY = re.compile(
    r"((uri ldaps?://[A-Za-z0-9.:-]+|(base|bind_dn) [A-Za-z0-9-]+=[A-Za-z0-9=,. _@+-]+|layout (rfc2307(bis)?|ad)"
    r"|(start_tls|passwords) (yes|no)|(allow|administrators) [A-Za-z0-9._-]+|ids [0-9]+ [0-9]+"
    r"|ca LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t[A-Za-z0-9+/=]+)\n)+"
)


def own_key(type_: str, inputs: Inputs) -> Sequence[str]:
    """Disks, files, objects, logs, messages and secrets name the key that encrypts them."""
    messages = [f"{KEY_OF[type_]} names no key"] if type_ in KEY_OF and is_off(inputs.get(KEY_OF[type_])) else []
    if type_ in FLAG_OF and not is_on(inputs.get(FLAG_OF[type_])):
        messages.append(f"{FLAG_OF[type_]} is not true")
    messages += [
        f"{name} is not encrypted with a key of your own"
        for name, disk in disks(type_, inputs)
        if not is_on(disk.get("encrypted")) or is_off(disk.get("kmsKeyId"))
    ]
    if type_ == BUCKET_RULES:
        for rule in objects(inputs, "rules"):
            for wanted in objects(rule, "applyServerSideEncryptionByDefault"):
                if wanted.get("sseAlgorithm") != "aws:kms" or is_off(wanted.get("kmsMasterKeyId")):
                    messages.append("objects are not encrypted with a key of your own")
    if type_ == "aws:eks/cluster:Cluster" and not objects(inputs, "encryptionConfig"):
        messages.append("Kubernetes secrets are not encrypted with a key of your own")
    return messages


def disks(type_: str, inputs: Inputs) -> list[tuple[str, Inputs]]:
    """The disks of a machine or launch template, by name."""
    if type_ == "aws:ec2/instance:Instance":
        root = objects(inputs, "rootBlockDevice")
        return [("the system disk", root[0] if root else {})]
    if type_ == "aws:ec2/launchTemplate:LaunchTemplate":
        mapped = objects(inputs, "blockDeviceMappings")
        found = [(str(one.get("deviceName")), disk) for one in mapped for disk in objects(one, "ebs")]
        return found or [("the system disk", {})]
    return []


def rotation(type_: str, inputs: Inputs) -> Sequence[str]:
    """Keys rotate every year."""
    if type_ == "aws:kms/key:Key" and not is_on(inputs.get("enableKeyRotation")):
        return ["enableKeyRotation is not true"]
    return []


def password_in_state(type_: str, inputs: Inputs) -> Sequence[str]:
    """AWS makes and keeps the database's password; a program writes users and a directory's settings, no secret."""
    written = str(inputs.get("secretString"))
    if type_ == "aws:secretsmanager/secretVersion:SecretVersion" and not (
        LIST_OF_USERS.fullmatch(written) or SETTINGS_OF_DIRECTORY.fullmatch(written)
    ):
        return ["writes a secret's value into the state"]
    if type_ == "aws:rds/cluster:Cluster" and not is_on(inputs.get("manageMasterUserPassword")):
        return ["manageMasterUserPassword is not true: the password would be in the state"]
    return []


RULES = (
    Rule(name="encrypted-with-own-key", description="Everything at rest has a key of your own.", check=own_key),
    Rule(name="keys-rotate", description="Keys rotate every year.", check=rotation),
    Rule(name="no-password-in-state", description="No secret value is in the state.", check=password_in_state),
)
