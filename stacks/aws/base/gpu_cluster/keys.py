"""The encryption key of everything at rest."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.permissions import Account, Statement, document

ENCRYPT_ACTIONS = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey")
KEY_DELETION_DAYS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class KeysArgs:
    """Whose key, and the account that governs it."""

    cluster_name: str
    account: Account


class Keys(pulumi.ComponentResource):
    """One KMS key with yearly rotation; protected from deletion."""

    def __init__(self, name: str, args: KeysArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:Keys", name, None, opts)
        key = aws.kms.Key(
            f"{name}-key",
            description=f"Encrypts the disks, files, objects, logs and secrets of cluster {args.cluster_name}",
            enable_key_rotation=True,
            deletion_window_in_days=KEY_DELETION_DAYS,
            policy=_key_policy(args.account),
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        self.key_arn: pulumi.Output[str] = key.arn
        self.register_outputs({"key_arn": self.key_arn})


def _key_policy(account: Account) -> pulumi.Output[str]:
    """Let IAM of this account govern the key, and the services that use it without a caller of this account.

    In a key policy the resource `*` means this key. Two service-linked roles are matched by path and not named as
    principals, since a key policy that names a role which does not exist yet is refused.
    """
    in_account = {"kms:CallerAccount": account.account_id}
    service_roles = account.iam_arn("role/aws-service-role/")
    scaling = {"aws:PrincipalArn": pulumi.Output.concat(service_roles, "autoscaling.amazonaws.com/*")}
    return document(
        Statement(
            sid="GovernedByIamOfThisAccount",
            principal={"AWS": account.iam_arn("root")},
            actions=["kms:*"],
            resources=["*"],
        ),
        # Auto Scaling launches nodes by its own role; without these two they stop at once with InvalidKMSKey.
        Statement(
            sid="DisksOfAutoScaledNodes",
            principal={"AWS": "*"},
            actions=ENCRYPT_ACTIONS,
            resources=["*"],
            conditions={"StringEquals": in_account, "ArnLike": scaling},
        ),
        Statement(
            sid="DiskGrantsOfAutoScaledNodes",
            principal={"AWS": "*"},
            actions=["kms:CreateGrant"],
            resources=["*"],
            conditions={"StringEquals": in_account, "ArnLike": scaling, "Bool": {"kms:GrantIsForAWSResource": "true"}},
        ),
        Statement(
            sid="LustreReadsAndWritesTheBucket",
            principal={"AWS": "*"},
            actions=ENCRYPT_ACTIONS,
            resources=["*"],
            conditions={
                "StringEquals": {**in_account, "kms:ViaService": f"s3.{account.region}.amazonaws.com"},
                "ArnLike": {
                    "aws:PrincipalArn": pulumi.Output.concat(service_roles, "s3.data-source.lustre.fsx.amazonaws.com/*")
                },
            },
        ),
        Statement(
            sid="LogGroupsOfThisAccount",
            principal={"Service": f"logs.{account.region}.amazonaws.com"},
            actions=ENCRYPT_ACTIONS,
            resources=["*"],
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": account.arn("logs:log-group:*")}},
        ),
        *(
            Statement(
                sid=f"AlertsFrom{service.capitalize()}",
                principal={"Service": f"{service}.amazonaws.com"},
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],
                conditions={"StringEquals": {"aws:SourceAccount": account.account_id}},
            )
            for service in ("budgets", "cloudwatch")
        ),
        # EventBridge publishes to an encrypted topic only if the key's policy has no condition on the source (Amazon
        # SNS Developer Guide, "Key management"); the topic's own policy decides who may publish.
        Statement(
            sid="AlertsFromEvents",
            principal={"Service": "events.amazonaws.com"},
            actions=["kms:Decrypt", "kms:GenerateDataKey*"],
            resources=["*"],
        ),
    )
