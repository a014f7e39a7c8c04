"""The list of users in the cluster's store, and who may read it; changing it replaces no machine."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.permissions import Account, Statement, document
from gpu_cluster.slurm.auth_key import READ, SECRET_RECOVERY_DAYS


@dataclass(frozen=True, kw_only=True, slots=True)
class UserStoreArgs:
    """What the list is, and the machines that read it.

    Attributes:
        text: the list in the form of `node/users.sh`; names and public keys, no secret.
        role_names: of the machines' roles, by kind of machine.
    """

    cluster_name: str
    key_arn: pulumi.Input[str]
    text: str
    role_names: Mapping[str, pulumi.Input[str]]


class UserStore(pulumi.ComponentResource):
    """The list beside the authentication key, so that machines read both by the same few lines."""

    def __init__(self, name: str, args: UserStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:UserStore", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        secret = aws.secretsmanager.Secret(
            f"{name}-list",
            name_prefix=f"gpu-cluster/{args.cluster_name}/users-",
            description="Users of the Slurm cluster with their public keys; every machine reads it",
            kms_key_id=args.key_arn,
            recovery_window_in_days=SECRET_RECOVERY_DAYS,
            opts=child,
        )
        self.version = aws.secretsmanager.SecretVersion(
            f"{name}-list", secret_id=secret.id, secret_string=args.text, opts=child
        )
        for role, role_name in args.role_names.items():
            aws.iam.RolePolicy(
                f"{name}-{role}",
                role=role_name,
                policy=document(Statement(sid="Users", actions=READ, resources=[secret.arn])),
                opts=child,
            )
        self.secret_arn: pulumi.Output[str] = secret.arn
        self.register_outputs({"secret_arn": self.secret_arn})


@dataclass(frozen=True, kw_only=True, slots=True)
class TunnelArgs:
    """Where ordinary users get in."""

    account: Account
    instance_id: pulumi.Input[str]
    description: str


class Tunnel(pulumi.ComponentResource):
    """Policy for people: SSH through Systems Manager to one machine, and no shell of Systems Manager's own.

    A session of its own would be `ssm-user`'s, who is root; with this document the user's own key and account decide.
    """

    def __init__(self, name: str, args: TunnelArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:Tunnel", name, None, opts)
        account = args.account
        instance = pulumi.Output.concat(account.arn("ec2:instance/"), args.instance_id)
        ssh = pulumi.Output.format("arn:{0}:ssm:{1}::document/AWS-StartSSHSession", account.partition, account.region)
        # The policy variable is AWS's: each person ends the own sessions alone.
        own_sessions = pulumi.Output.concat(account.arn("ssm:session/"), "$", "{aws:userid}-*")
        self.policy_arn: pulumi.Output[str] = aws.iam.Policy(
            f"{name}-policy",
            description=args.description,
            policy=document(
                Statement(
                    sid="OpenTunnel",
                    actions=["ssm:StartSession"],
                    resources=[instance, ssh],
                    # Without it a document that is not named is not checked either, and a shell opens.
                    conditions={"BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}},
                ),
                Statement(
                    sid="EndOwnSessions",
                    actions=["ssm:ResumeSession", "ssm:TerminateSession"],
                    resources=[own_sessions],
                ),
            ),
            opts=pulumi.ResourceOptions(parent=self),
        ).arn
        self.register_outputs({"policy_arn": self.policy_arn})
