"""Slurm's accounting database: Cloud SQL for MySQL on a private address, encrypted with the cluster's key."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_gcp import sql

from gpu_cluster.encryption import KeyUse
from gpu_cluster.slurm.user_data import Database

DATABASE = "slurm_accounting"
USER = "slurm"
# slurmdbd's own advice: archiving a month of jobs holds locks for longer than MySQL's 50 s.
FLAGS = {"innodb_lock_wait_timeout": "900"}
KEPT_BACKUPS = 14
FINAL_BACKUP_DAYS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountingDatabaseArgs:
    """What the database depends on."""

    cluster_name: str
    project: str
    region: str
    tier: str
    network_id: pulumi.Input[str]
    key: KeyUse
    password: pulumi.Input[str]
    protect: bool
    labels: Mapping[str, str]
    services: Sequence[pulumi.Resource]


class AccountingDatabase(pulumi.ComponentResource):
    """Instance, database and user; the controller reads the user's password from Secret Manager."""

    instance: sql.DatabaseInstance

    def __init__(self, name: str, args: AccountingDatabaseArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:gcp:AccountingDatabase", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        encryption = args.key.by_agent(f"{args.cluster_name}-database", "sqladmin", args.project, child, args.services)
        self.instance = sql.DatabaseInstance(
            f"{args.cluster_name}-accounting",
            region=args.region,
            database_version="MYSQL_8_0",
            encryption_key_name=args.key.key_id,
            deletion_protection=args.protect,
            settings=sql.DatabaseInstanceSettingsArgs(
                tier=args.tier,
                edition="ENTERPRISE",
                availability_type="ZONAL",
                disk_type="PD_SSD",
                disk_autoresize=True,
                deletion_protection_enabled=args.protect,
                retain_backups_on_delete=True,
                final_backup_config=sql.DatabaseInstanceSettingsFinalBackupConfigArgs(
                    enabled=True, retention_days=FINAL_BACKUP_DAYS
                ),
                ip_configuration=sql.DatabaseInstanceSettingsIpConfigurationArgs(
                    ipv4_enabled=False,
                    private_network=args.network_id,
                    ssl_mode="ENCRYPTED_ONLY",
                ),
                backup_configuration=sql.DatabaseInstanceSettingsBackupConfigurationArgs(
                    enabled=True,
                    # Point-in-time recovery of MySQL.
                    binary_log_enabled=True,
                    location=args.region,
                    backup_retention_settings=sql.DatabaseInstanceSettingsBackupConfigurationBackupRetentionSettingsArgs(
                        retained_backups=KEPT_BACKUPS
                    ),
                ),
                database_flags=[
                    sql.DatabaseInstanceSettingsDatabaseFlagArgs(name=flag, value=value)
                    for flag, value in FLAGS.items()
                ],
                user_labels=args.labels,
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=encryption),
        )
        database = sql.Database(
            f"{args.cluster_name}-accounting", name=DATABASE, instance=self.instance.name, opts=child
        )
        sql.User(
            f"{args.cluster_name}-accounting",
            name=USER,
            instance=self.instance.name,
            password=args.password,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[database]),
        )
        self.register_outputs({"host": self.instance.private_ip_address})

    def as_seen(self, secret_id: pulumi.Input[str]) -> pulumi.Output[Database]:
        """How the controller reaches the database: address, user, certificate, and where the password is."""
        # The certificate of the authority that signed the server's is public, whatever the provider marks it as.
        authorities = pulumi.Output.unsecret(self.instance.server_ca_certs)
        return pulumi.Output.all(self.instance.private_ip_address, secret_id, authorities).apply(
            lambda known: Database(
                host=str(known[0]),
                user=USER,
                secret_id=str(known[1]),
                certificate_base64=b64encode(_certificate(known[2]).encode()).decode(),
            )
        )


def _certificate(authorities: Sequence[Mapping[str, str]]) -> str:
    return authorities[0]["cert"] if authorities else ""
