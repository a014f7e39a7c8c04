"""No policy allows more than one purpose needs."""

import json
import re
from collections.abc import Sequence

from condition_keys import wrong_condition
from reading import Inputs, objects, texts
from rule import UNKNOWN, Rule

POLICIES = {
    "aws:iam/policy:Policy": ("policy",),
    "aws:iam/role:Role": ("assumeRolePolicy",),
    "aws:iam/rolePolicy:RolePolicy": ("policy",),
    "aws:iam/userPolicy:UserPolicy": ("policy",),
    "aws:kms/key:Key": ("policy",),
    "aws:s3/bucketPolicy:BucketPolicy": ("policy",),
    "aws:secretsmanager/secretPolicy:SecretPolicy": ("policy",),
    "aws:sns/topicPolicy:TopicPolicy": ("policy",),
}
# What a machine, a function or a service may do.
OF_AN_IDENTITY = ("aws:iam/policy:Policy", "aws:iam/rolePolicy:RolePolicy", "aws:iam/userPolicy:UserPolicy")
# In a policy of the resource itself, `*` means that resource.
OF_A_RESOURCE = ("aws:kms/key:Key", "aws:secretsmanager/secretPolicy:SecretPolicy")
# Every resource of a kind, whoever it belongs to: all buckets, all keys, all roles.
EVERY = re.compile(r"\*|arn:[^:]*:s3:::\*(/\*)?|arn:[^:]*:(?!s3:)[^:]*:[^:]*:[^:]*:([A-Za-z-]+[:/])?\*([:/]\*)*")
# AWS's own policy for Systems Manager also reads every parameter of the account.
PARAMETERS = "policy/AmazonSSMManagedInstanceCore"
ADMINISTRATOR = ("policy/AdministratorAccess", "policy/PowerUserAccess", "policy/IAMFullAccess")


def statements(type_: str, inputs: Inputs) -> list[Inputs]:
    """The statements of policies that are known already."""
    found: list[Inputs] = []
    for field in POLICIES.get(type_, ()):
        try:
            document = json.loads(str(inputs.get(field)))
        except ValueError:
            continue  # nothing there, or known only after deployment
        for policy in objects({"policy": document}, "policy"):
            found += objects(policy, "Statement")
    return found


def allowed(type_: str, inputs: Inputs) -> list[Inputs]:
    """Those of them that allow something."""
    return [one for one in statements(type_, inputs) if one.get("Effect") == "Allow"]


def everything(type_: str, inputs: Inputs) -> Sequence[str]:
    """No statement allows every action of a service on every resource."""
    messages: list[str] = []
    for one in allowed(type_, inputs):
        wide = [action for action in texts(one, "Action") if action == "*" or action.endswith(":*")]
        if wide and "*" in texts(one, "Resource") and type_ not in OF_A_RESOURCE:
            messages.append(f"{one.get('Sid', 'a statement')} allows {', '.join(wide)} on everything")
        elif wide and type_ in OF_AN_IDENTITY and "*" not in wide:
            messages.append(f"{one.get('Sid', 'a statement')} allows {', '.join(wide)}: name the calls that are made")
        if "*" in wide:
            messages.append(f"{one.get('Sid', 'a statement')} allows every action")
    attached = str(inputs.get("policyArn")) if type_.endswith(":RolePolicyAttachment") else ""
    if attached.endswith(PARAMETERS):
        messages.append(f"attaches {PARAMETERS}, which reads all parameters of the account: list the agent's own calls")
    if attached.endswith(ADMINISTRATOR):
        messages.append(f"attaches {attached.rpartition('/')[2]}")
    return messages


def changes_of_everything(type_: str, inputs: Inputs) -> Sequence[str]:
    """Statements on everything, or on every resource of a kind, are held to something: a condition says to what."""
    if type_ in OF_A_RESOURCE:
        return []
    return [
        f"{one.get('Sid', 'a statement')} allows {', '.join(texts(one, 'Action'))} on every {each} without a condition"
        for one in allowed(type_, inputs)
        for each in texts(one, "Resource")
        if EVERY.fullmatch(each) and not one.get("Condition") and not (each != "*" and only_looks(one))
    ]


# Service Authorization Reference (2026-11): actions without a resource type, which a statement has to allow on `*`.
# Most services list and describe so; these are those of the services that a cluster's roles name.
WITHOUT_RESOURCE = re.compile(
    r"(autoscaling|ec2):Describe\w*"
    r"|fsx:Describe(FileSystems|Backups|FileCaches|Snapshots|StorageVirtualMachines|Volumes|DataRepository\w+)"
    r"|cloudwatch:(PutMetricData|ListMetrics|GetMetricData|GetMetricStatistics)"
    r"|ecr:GetAuthorizationToken|iam:ListRoles|kms:(CreateKey|ListKeys|ListAliases)"
    r"|s3:(ListAllMyBuckets|GetAccountPublicAccessBlock)|secretsmanager:(ListSecrets|GetRandomPassword)"
    r"|sts:(GetCallerIdentity|GetSessionToken)|ssm:Describe(InstanceInformation|Parameters)"
    r"|ssmmessages:\w+|ec2messages:\w+|eks:(ListClusters|DescribeAddonVersions)"
)


def limited_without_resource(type_: str, inputs: Inputs) -> Sequence[str]:
    """An action that knows no resource is allowed on `*`: limited to one, the statement allows nothing."""
    return [
        f"{one.get('Sid', 'a statement')} limits {action} to {', '.join(texts(one, 'Resource'))}, but the action knows "
        "no resource: allow it on * with a condition"
        for one in allowed(type_, inputs)
        for action in texts(one, "Action")
        if WITHOUT_RESOURCE.fullmatch(action) and texts(one, "Resource") and "*" not in texts(one, "Resource")
    ]


def only_looks(statement: Inputs) -> bool:
    """Whether a statement allows nothing but to see what there is, which says nothing of its content."""
    return all(action.partition(":")[2].startswith(("Describe", "List")) for action in texts(statement, "Action"))


def misspelt_conditions(type_: str, inputs: Inputs) -> Sequence[str]:
    """A condition with a key that does not exist is never met, and one that denies never denies."""
    messages: list[str] = []
    for one in statements(type_, inputs):
        for condition in objects(one, "Condition"):
            for operator in condition:
                keys = [key for pairs in objects(condition, operator) for key in pairs]
                messages += wrong_condition(str(operator), keys)
    return messages


def anyone(type_: str, inputs: Inputs) -> Sequence[str]:
    """Nobody outside the account may do anything."""
    messages: list[str] = []
    for one in allowed(type_, inputs):
        principal = one.get("Principal")
        open_to_all = principal == "*" or "*" in [
            each for part in objects(one, "Principal") for each in texts(part, "AWS")
        ]
        if open_to_all and not one.get("Condition"):
            messages.append(f"{one.get('Sid', 'a statement')} allows anyone")
    return messages


def plain_requests(type_: str, inputs: Inputs) -> Sequence[str]:
    """A bucket refuses requests that are not encrypted; what is not known yet says nothing."""
    if type_ != "aws:s3/bucketPolicy:BucketPolicy" or inputs.get("policy") == UNKNOWN:
        return []
    refused = [one for one in statements(type_, inputs) if one.get("Effect") == "Deny" and _without_tls(one)]
    every = [one for one in refused if "s3:*" in texts(one, "Action") or "*" in texts(one, "Action")]
    return [] if every else ["takes requests in plain text: deny s3:* where aws:SecureTransport is false"]


def _without_tls(statement: Inputs) -> bool:
    return any(
        str(value).lower() == "false"
        for condition in objects(statement, "Condition")
        for pairs in objects(condition, "Bool")
        for key, value in pairs.items()
        if key.lower() == "aws:securetransport"
    )


RULES = (
    Rule(name="requests-over-tls", description="Buckets refuse plain requests.", check=plain_requests),
    Rule(name="no-right-to-everything", description="No policy allows everything.", check=everything),
    Rule(name="rights-on-all-are-held", description="Rights on `*` have a condition.", check=changes_of_everything),
    Rule(name="resources-exist", description="Actions are limited to what they know.", check=limited_without_resource),
    Rule(name="conditions-exist", description="Conditions have keys that exist.", check=misspelt_conditions),
    Rule(name="no-right-for-anyone", description="No policy allows anyone.", check=anyone),
)
