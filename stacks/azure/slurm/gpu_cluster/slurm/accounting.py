"""The accounting database of Slurm: Azure Database for MySQL, private, encrypted with the cluster's key."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import dbformysql, keyvault, managedidentity, monitor

from gpu_cluster.private_names import PrivateEndpointArgs, private_endpoint
from gpu_cluster.resource_groups import lock
from gpu_cluster.roles import BuiltinRole, grant

DATABASE_USER = "slurm"
SECRET_NAME = "accounting-database"  # noqa: S105 -- the name of the secret
# The longest that Azure keeps backups; a job history cannot be made again.
_BACKUP_DAYS = 35
_STORAGE_GIB = 64
_VERSION = "8.0.21"
# Slurm's page on accounting asks for both: patience while old records are purged, and room for large records.
_PARAMETERS = {"innodb_lock_wait_timeout": "900", "max_allowed_packet": "16777216"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountingArgs:
    """Where the database is, what encrypts it, and who may read its password."""

    resource_group_name: pulumi.Input[str]
    location: str
    zone: str
    instance_type: str
    password: pulumi.Output[str]
    subscription_id: str
    service_subnet_id: pulumi.Input[str]
    zone_id: pulumi.Input[str]
    key_vault_id: pulumi.Output[str]
    key_id: pulumi.Input[str]
    key_url: pulumi.Input[str]
    controller_principal_id: pulumi.Input[str]
    log_workspace_id: pulumi.Input[str]
    tags: Mapping[str, str]


class Accounting(pulumi.ComponentResource):
    """MySQL behind a private endpoint; its password is in the key vault, readable by the controller alone."""

    host: pulumi.Output[str]
    secret_id: pulumi.Output[str]
    ready: list[pulumi.Resource]
    """What the controller waits for before it starts slurmdbd."""

    def __init__(self, name: str, args: AccountingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:azure:Accounting", name, {}, opts)
        self._name = name
        self._args = args
        server = self._server()
        done: list[pulumi.Resource] = []
        for parameter, value in _PARAMETERS.items():
            # Azure changes one parameter of a server at a time, hence the chain.
            one = dbformysql.Configuration(
                f"{name}-accounting-{parameter.replace('_', '-')}",
                resource_group_name=args.resource_group_name,
                server_name=server.name,
                configuration_name=parameter,
                value=value,
                source=dbformysql.ConfigurationSource.USER_OVERRIDE,
                opts=pulumi.ResourceOptions(parent=self, depends_on=list(done)),
            )
            done.append(one)
        monitor.DiagnosticSetting(
            f"{name}-accounting-audit",
            resource_uri=server.id,
            workspace_id=args.log_workspace_id,
            logs=[monitor.DiagnosticsLogSettingsArgs(category_group="audit", enabled=True)],
            opts=pulumi.ResourceOptions(parent=self),
        )
        endpoint = private_endpoint(
            name,
            "accounting",
            PrivateEndpointArgs(
                resource_group_name=args.resource_group_name,
                location=args.location,
                subnet_id=args.service_subnet_id,
                target_id=server.id,
                service="mysqlServer",
                zone_id=args.zone_id,
                tags=args.tags,
            ),
            self,
        )
        secret = self._secret()
        may_read = grant(
            f"{name}-controller-accounting",
            role=BuiltinRole.KEY_VAULT_SECRETS_USER,
            principal_id=args.controller_principal_id,
            scope=secret.id,
            subscription_id=args.subscription_id,
            parent=self,
        )
        lock(
            f"{name}-accounting-lock",
            scope=server.id,
            notes="The history of all jobs. Remove this lock only to delete it for good.",
            after=[endpoint],
            parent=self,
        )
        self.host = server.fully_qualified_domain_name
        self.secret_id = secret.properties.apply(lambda properties: (properties.secret_uri or "").rstrip("/"))
        self.ready = [endpoint, may_read]
        self.register_outputs({"host": self.host, "secret_id": self.secret_id})

    def _server(self) -> dbformysql.Server:
        args = self._args
        identity = managedidentity.UserAssignedIdentity(
            f"{self._name}-accounting",
            resource_group_name=args.resource_group_name,
            location=args.location,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        key_grant = grant(
            f"{self._name}-accounting-key",
            role=BuiltinRole.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER,
            principal_id=identity.principal_id,
            scope=args.key_id,
            subscription_id=args.subscription_id,
            parent=self,
        )
        return dbformysql.Server(
            f"{self._name}-accounting",
            resource_group_name=args.resource_group_name,
            location=args.location,
            availability_zone=args.zone,
            version=_VERSION,
            sku=dbformysql.MySQLServerSkuArgs(name=args.instance_type, tier=dbformysql.ServerSkuTier.GENERAL_PURPOSE),
            administrator_login=DATABASE_USER,
            administrator_login_password=args.password,
            identity=dbformysql.MySQLServerIdentityArgs(
                type=dbformysql.ManagedServiceIdentityType.USER_ASSIGNED, user_assigned_identities=[identity.id]
            ),
            data_encryption=dbformysql.DataEncryptionArgs(
                type=dbformysql.DataEncryptionType.AZURE_KEY_VAULT,
                primary_key_uri=args.key_url,
                primary_user_assigned_identity_id=identity.id,
            ),
            network=dbformysql.NetworkArgs(public_network_access=dbformysql.EnableStatusEnum.DISABLED),
            storage=dbformysql.StorageArgs(storage_size_gb=_STORAGE_GIB, auto_grow=dbformysql.EnableStatusEnum.ENABLED),
            backup=dbformysql.BackupArgs(backup_retention_days=_BACKUP_DAYS),
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[key_grant]),
        )

    def _secret(self) -> keyvault.Secret:
        args = self._args
        # …/resourceGroups/GROUP/providers/Microsoft.KeyVault/vaults/NAME
        return keyvault.Secret(
            f"{self._name}-accounting",
            resource_group_name=args.key_vault_id.apply(lambda vault: vault.split("/")[4]),
            vault_name=args.key_vault_id.apply(lambda vault: vault.split("/")[8]),
            secret_name=f"{self._name}-{SECRET_NAME}",
            properties=keyvault.SecretPropertiesArgs(
                value=args.password, content_type="password of the accounting database"
            ),
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
