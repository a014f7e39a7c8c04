"""The encryption key of everything at rest, and the empty secret that will hold the cluster's authentication key."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from policy import Account, Statement, document

ENCRYPT_ACTIONS = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey")
SECRET_RECOVERY_DAYS = 7
KEY_DELETION_DAYS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class KeysArgs:
    """What the keys component needs."""

    cluster_name: str
    account: Account


class Keys(pulumi.ComponentResource):
    """One KMS key with yearly rotation, and a secret without a value.

    The controller makes the authentication key at its first boot and stores it in the secret, so that it never passes
    through Pulumi's state.
    """

    def __init__(self, name: str, args: KeysArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("clusterwright:aws:Keys", name, None, opts)
        key = aws.kms.Key(
            f"{name}-key",
            description=f"Encrypts the disks, files, objects, logs and secret of cluster {args.cluster_name}",
            enable_key_rotation=True,
            deletion_window_in_days=KEY_DELETION_DAYS,
            policy=_key_policy(args.account),
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        aws.kms.Alias(
            f"{name}-alias",
            name=f"alias/clusterwright/{args.cluster_name}",
            target_key_id=key.key_id,
            opts=pulumi.ResourceOptions(parent=self),
        )
        secret = aws.secretsmanager.Secret(
            f"{name}-auth-key",
            name_prefix=f"clusterwright/{args.cluster_name}/auth-key-",
            description="Authentication key of the Slurm cluster; written by the controller at its first boot",
            kms_key_id=key.arn,
            recovery_window_in_days=SECRET_RECOVERY_DAYS,
            opts=pulumi.ResourceOptions(parent=self),
        )
        aws.secretsmanager.SecretPolicy(
            f"{name}-auth-key-policy",
            secret_arn=secret.arn,
            block_public_policy=True,
            policy=document(_only_this_account(args.account)),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.key_arn: pulumi.Output[str] = key.arn
        self.secret_arn: pulumi.Output[str] = secret.arn
        self.register_outputs({"key_arn": self.key_arn, "secret_arn": self.secret_arn})


def _only_this_account(account: Account) -> Statement:
    return Statement(
        sid="OnlyThisAccount",
        effect="Deny",
        principal={"AWS": "*"},
        actions=["secretsmanager:GetSecretValue", "secretsmanager:PutSecretValue"],
        resources=["*"],
        conditions={"StringNotEquals": {"aws:PrincipalAccount": account.account_id}},
    )


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
    )
