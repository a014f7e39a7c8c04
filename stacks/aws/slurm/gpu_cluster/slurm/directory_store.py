"""The directory's settings in the cluster's store, a place for its password, and the way to its servers."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.directory_settings import Directory, settings_text
from gpu_cluster.permissions import Statement, document
from gpu_cluster.slurm.auth_key import READ, SECRET_RECOVERY_DAYS, WRITE


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectoryStoreArgs:
    """Which directory, and the machines that ask it.

    Attributes:
        role_names: of the machines' roles, by kind of machine.
        security_group_id: of all machines.
    """

    cluster_name: str
    key_arn: pulumi.Input[str]
    directory: Directory
    role_names: Mapping[str, pulumi.Input[str]]
    security_group_id: pulumi.Input[str]


class DirectoryStore(pulumi.ComponentResource):
    """The settings beside the list of users; changing them replaces no machine.

    `places` names settings and password, with a blank between; nothing follows it where there is no password.

    The password's secret is made without a value: an administrator stores it from the controller, so that it never
    passes through Pulumi's state.
    """

    def __init__(self, name: str, args: DirectoryStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:DirectoryStore", name, None, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        settings = self._secret("settings", "Directory that the Slurm cluster's machines ask; every machine reads it")
        place: pulumi.Input[str] = ""
        readable: list[pulumi.Input[str]] = [settings.arn]
        writable: list[pulumi.Input[str]] = []
        if args.directory.bind_dn:
            password = self._secret("password", "Password by which machines ask the directory; set on the controller")
            place = password.arn
            readable.append(password.arn)
            writable.append(password.arn)
        # Known before anything is made, so that the policies see what it is.
        self.version = aws.secretsmanager.SecretVersion(
            f"{name}-settings", secret_id=settings.id, secret_string=settings_text(args.directory), opts=self._child
        )
        for role, role_name in args.role_names.items():
            statements = [Statement(sid="Directory", actions=READ, resources=readable)]
            if role == "controller" and writable:
                statements.append(Statement(sid="DirectoryPassword", actions=WRITE, resources=writable))
            aws.iam.RolePolicy(f"{name}-{role}", role=role_name, policy=document(*statements), opts=self._child)
        self._open_ways_out()
        self.places: pulumi.Output[str] = pulumi.Output.concat(settings.arn, " ", place)
        self.register_outputs({"places": self.places})

    def _secret(self, what: str, description: str) -> aws.secretsmanager.Secret:
        return aws.secretsmanager.Secret(
            f"{self._name}-{what}",
            name_prefix=f"gpu-cluster/{self._args.cluster_name}/directory-{what}-",
            description=description,
            kms_key_id=self._args.key_arn,
            recovery_window_in_days=SECRET_RECOVERY_DAYS,
            opts=self._child,
        )

    def _open_ways_out(self) -> None:
        """Let machines reach the servers' ports: their group lets out HTTPS and HTTP alone."""
        for place, network in enumerate(self._args.directory.networks):
            for port in self._args.directory.ports():
                aws.vpc.SecurityGroupEgressRule(
                    f"{self._name}-out-{place}-{port}",
                    security_group_id=self._args.security_group_id,
                    cidr_ipv4=network,
                    ip_protocol="tcp",
                    from_port=port,
                    to_port=port,
                    description="LDAP with TLS: the directory of users",
                    opts=self._child,
                )
