"""The empty secret that will hold the cluster's authentication key, and who may read and write it."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.permissions import Account, Statement, document

SECRET_RECOVERY_DAYS = 7
READ = ("secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue")
WRITE = ("secretsmanager:PutSecretValue",)


@dataclass(frozen=True, kw_only=True, slots=True)
class AuthKeyArgs:
    """Whose key, and the roles of the machines that share it."""

    cluster_name: str
    account: Account
    key_arn: pulumi.Input[str]
    controller_role_name: pulumi.Input[str]
    login_role_name: pulumi.Input[str]
    compute_role_name: pulumi.Input[str]


class AuthKey(pulumi.ComponentResource):
    """A secret without a value.

    The controller makes the authentication key at its first boot and stores it in the secret, so that it never passes
    through Pulumi's state.
    """

    def __init__(self, name: str, args: AuthKeyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:AuthKey", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        secret = aws.secretsmanager.Secret(
            f"{name}-secret",
            name_prefix=f"gpu-cluster/{args.cluster_name}/auth-key-",
            description="Authentication key of the Slurm cluster; written by the controller at its first boot",
            kms_key_id=args.key_arn,
            recovery_window_in_days=SECRET_RECOVERY_DAYS,
            opts=child,
        )
        aws.secretsmanager.SecretPolicy(
            f"{name}-secret",
            secret_arn=secret.arn,
            block_public_policy=True,
            policy=document(_only_this_account(args.account)),
            opts=child,
        )
        allowed = {
            "controller": (args.controller_role_name, (*READ, *WRITE)),
            "login": (args.login_role_name, READ),
            "compute": (args.compute_role_name, READ),
        }
        for role, (role_name, actions) in allowed.items():
            aws.iam.RolePolicy(
                f"{name}-{role}",
                role=role_name,
                policy=document(Statement(sid="AuthenticationKey", actions=actions, resources=[secret.arn])),
                opts=child,
            )
        self.secret_arn: pulumi.Output[str] = secret.arn
        self.register_outputs({"secret_arn": self.secret_arn})


def _only_this_account(account: Account) -> Statement:
    return Statement(
        sid="OnlyThisAccount",
        effect="Deny",
        principal={"AWS": "*"},
        actions=["secretsmanager:GetSecretValue", "secretsmanager:PutSecretValue"],
        resources=["*"],
        conditions={"StringNotEquals": {"aws:PrincipalAccount": account.account_id}},
    )
