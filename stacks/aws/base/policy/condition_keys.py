"""Keys and operators of IAM conditions: a misspelt one is accepted by AWS, and then never met."""

import re
from collections.abc import Iterable

# "IAM JSON policy elements: Condition operators"; each may be one of a set, and hold only if the key is there.
OPERATORS = re.compile(
    r"(ForAllValues:|ForAnyValue:)?("
    r"(String|Arn)(Equals|NotEquals|Like|NotLike)|StringEqualsIgnoreCase|StringNotEqualsIgnoreCase"
    r"|(Numeric|Date)(Equals|NotEquals|LessThan|LessThanEquals|GreaterThan|GreaterThanEquals)"
    r"|Bool|BinaryEquals|IpAddress|NotIpAddress)(IfExists)?|Null"
)
# "AWS global condition context keys" and the Service Authorization Reference, by prefix (as of 2026-11); a prefix that
# is not here is not judged. Keys do not care for upper and lower case.
KEYS = {
    "aws": (
        "assumedroot calledvia calledviafirst calledvialast chatbotsourcearn currenttime ec2instancesourceprivateipv4 "
        "ec2instancesourcevpc epochtime federatedprovider multifactorauthage multifactorauthpresent principalaccount "
        "principalarn principalisawsservice principalorgid principalorgpaths principalservicename "
        "principalservicenameslist principaltag/* principaltype referer requestedregion requesttag/* resourceaccount "
        "resourceorgid resourceorgpaths resourcetag/* securetransport signinsessionarn sourceaccount sourcearn "
        "sourceidentity sourceip sourceorgid sourceorgpaths sourcevpc sourcevpcarn sourcevpce tagkeys tokenissuetime "
        "useragent userid username viaawsservice vpceaccount vpceorgid vpceorgpaths vpcsourceip"
    ),
    "autoscaling": (
        "capacityreservationids capacityreservationresourcegrouparns desiredcapacity forcedelete imageid instancetype "
        "instancetypes launchconfigurationname launchtemplateversionspecified loadbalancernames maxsize "
        "metadatahttpendpoint metadatahttpputresponsehoplimit metadatahttptokens minsize resourcetag/* spotprice "
        "targetgrouparns trafficsourceidentifiers vpczoneidentifiers"
    ),
    "cloudwatch": "alarmactions namespace requestinsightruleloggroups requestmanagedresourcearns",
    "iam": (
        "associatedresourcearn awsservicename fido-aaguid fido-certification organizationspolicyid passedtoservice "
        "permissionsboundary policyarn registersecuritykey resourcetag/* servicespecificcredentialagedays "
        "servicespecificcredentialservicename"
    ),
    "kms": (
        "bypasspolicylockoutsafetycheck calleraccount customermasterkeyspec customermasterkeyusage datakeypairspec "
        "encryptionalgorithm encryptioncontext:* encryptioncontextkeys expirationmodel grantconstrainttype "
        "grantisforawsresource grantoperations granteeprincipal keyagreementalgorithm keyorigin keyspec keyusage "
        "macalgorithm messagetype multiregion multiregionkeytype primaryregion reencryptonsamekey requestalias "
        "resourcealiases retiringprincipal rotationperiodindays scheduledkeydeletionpendingwindowindays "
        "scheduledeletionpendingwindowindays signingalgorithm validto viaservice wrappingalgorithm wrappingkeyspec"
    ),
    "s3": (
        "accessgrantsinstancearn accesspointnetworkorigin authtype dataaccesspointaccount dataaccesspointarn delimiter "
        "existingobjecttag/* if-match if-none-match inventoryaccessibleoptionalfields jobsuspendedcause "
        "locationconstraint max-keys object-lock-legal-hold object-lock-mode object-lock-remaining-retention-days "
        "object-lock-retain-until-date objectcreationoperation prefix requestjoboperation requestjobpriority "
        "requestobjecttag/* requestobjecttagkeys resourceaccount signatureage signatureversion tlsversion versionid "
        "x-amz-acl x-amz-content-sha256 x-amz-copy-source x-amz-grant-full-control x-amz-grant-read "
        "x-amz-grant-read-acp x-amz-grant-write x-amz-grant-write-acp x-amz-metadata-directive x-amz-object-ownership "
        "x-amz-server-side-encryption x-amz-server-side-encryption-aws-kms-key-id "
        "x-amz-server-side-encryption-customer-algorithm x-amz-storage-class x-amz-website-redirect-location"
    ),
    "sns": "endpoint protocol",
}


def wrong_condition(operator: str, keys: Iterable[str]) -> list[str]:
    """What is wrong with one operator of a condition and the keys below it."""
    messages = [] if OPERATORS.fullmatch(operator) else [f"{operator} is no operator of conditions"]
    for key in keys:
        prefix, _, name = key.lower().partition(":")
        if prefix in KEYS and not any(_is(known, name) for known in KEYS[prefix].split()):
            messages.append(f"{key} is no key of conditions: it is never met")
    return messages


def _is(known: str, name: str) -> bool:
    return name.startswith(known[:-1]) if known.endswith("*") else name == known
