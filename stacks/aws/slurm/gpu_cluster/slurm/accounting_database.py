"""The accounting database of Slurm: Aurora MySQL, private, encrypted, its password made and kept by AWS."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from gpu_cluster.permissions import Statement, document
from gpu_cluster.settings_cluster import AccountingSettings

USER = "slurm"
MYSQL_PORT = 3306
# Amazon chooses the patch; a restart of the database only delays slurmdbd.
ENGINE_VERSION = "8.0"
BACKUP_DAYS = 14
# AWS changes the password every seven days unless told otherwise; slurmdbd reads it when the controller boots.
PASSWORD_DAYS = 365
# The bundle of the authorities that sign the servers' certificates (Amazon RDS User Guide, "Using SSL/TLS").
AUTHORITY = "https://truststore.pki.rds.amazonaws.com/global/global-bundle.pem"
# slurmdbd drops old records in transactions that take longer than MySQL's 50 s (Slurm, "Accounting").
PARAMETERS = {"innodb_lock_wait_timeout": "900", "max_allowed_packet": "16777216", "require_secure_transport": "ON"}


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountingDatabaseArgs:
    """Where the database is, who reaches it, and the role that reads its password."""

    settings: AccountingSettings
    vpc_id: pulumi.Input[str]
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    cluster_security_group_id: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    controller_role_name: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabaseAccess:
    """What the controller has to know; empty without a database."""

    host: pulumi.Output[str]
    secret_arn: pulumi.Output[str]
    user: str = USER
    authority: str = AUTHORITY


class AccountingDatabase(pulumi.ComponentResource):
    """One writer, whose storage is in several zones; the records stay in a snapshot when it is deleted."""

    def __init__(self, name: str, args: AccountingDatabaseArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:aws:AccountingDatabase", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        subnets = aws.rds.SubnetGroup(f"{name}-subnets", subnet_ids=args.subnet_ids, opts=child)
        parameters = aws.rds.ClusterParameterGroup(
            f"{name}-parameters",
            family="aurora-mysql8.0",
            description="Settings that slurmdbd asks for, and encrypted connections only",
            parameters=[
                aws.rds.ClusterParameterGroupParameterArgs(name=key, value=value) for key, value in PARAMETERS.items()
            ],
            opts=child,
        )
        cluster = aws.rds.Cluster(
            f"{name}-cluster",
            engine=aws.rds.EngineType.AURORA_MYSQL,
            engine_version=ENGINE_VERSION,
            db_subnet_group_name=subnets.name,
            db_cluster_parameter_group_name=parameters.name,
            vpc_security_group_ids=[self._group(name, args, child)],
            port=MYSQL_PORT,
            master_username=USER,
            manage_master_user_password=True,
            master_user_secret_kms_key_id=args.key_arn,
            storage_encrypted=True,
            kms_key_id=args.key_arn,
            backup_retention_period=BACKUP_DAYS,
            copy_tags_to_snapshot=True,
            deletion_protection=args.settings.deletion_protection,
            skip_final_snapshot=False,
            final_snapshot_identifier=f"{name}-final",
            enabled_cloudwatch_logs_exports=["error"],
            opts=child,
        )
        aws.rds.ClusterInstance(
            f"{name}-writer",
            cluster_identifier=cluster.id,
            engine=aws.rds.EngineType.AURORA_MYSQL,
            instance_class=args.settings.instance_class,
            publicly_accessible=False,
            auto_minor_version_upgrade=True,
            opts=child,
        )
        secret_arn = cluster.master_user_secrets.apply(lambda secrets: secrets[0].secret_arn or "")
        aws.secretsmanager.SecretRotation(
            f"{name}-password",
            secret_id=secret_arn,
            rotate_immediately=False,
            rotation_rules=aws.secretsmanager.SecretRotationRotationRulesArgs(automatically_after_days=PASSWORD_DAYS),
            opts=child,
        )
        aws.iam.RolePolicy(
            f"{name}-controller",
            role=args.controller_role_name,
            policy=document(
                Statement(
                    sid="DatabasePassword",
                    actions=["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"],
                    resources=[secret_arn],
                )
            ),
            opts=child,
        )
        self.access = DatabaseAccess(host=cluster.endpoint, secret_arn=secret_arn)
        self.register_outputs({"host": cluster.endpoint})

    def _group(self, name: str, args: AccountingDatabaseArgs, child: pulumi.ResourceOptions) -> pulumi.Output[str]:
        """Let the cluster's machines reach the database, and nothing else."""
        group = aws.ec2.SecurityGroup(
            f"{name}-access",
            vpc_id=args.vpc_id,
            description="Accounting database of Slurm",
            revoke_rules_on_delete=True,
            tags={"Name": f"{name}-access"},
            opts=child,
        )
        aws.vpc.SecurityGroupIngressRule(
            f"{name}-access-in",
            security_group_id=group.id,
            referenced_security_group_id=args.cluster_security_group_id,
            ip_protocol="tcp",
            from_port=MYSQL_PORT,
            to_port=MYSQL_PORT,
            description="MySQL from the cluster",
            opts=child,
        )
        aws.vpc.SecurityGroupEgressRule(
            f"{name}-access-out",
            security_group_id=args.cluster_security_group_id,
            referenced_security_group_id=group.id,
            ip_protocol="tcp",
            from_port=MYSQL_PORT,
            to_port=MYSQL_PORT,
            description="MySQL to the accounting database",
            opts=child,
        )
        return group.id
