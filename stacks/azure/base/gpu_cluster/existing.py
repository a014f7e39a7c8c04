"""What the subscription already holds and this cluster uses by id instead of creating it."""

from dataclasses import dataclass

from gpu_cluster.config_values import Values

_GROUP = r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers"
_SUBNET = rf"{_GROUP}/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+"
_ZONE = rf"{_GROUP}/Microsoft\.Network/privateDnsZones/[^/]+"

# Key -> (pattern, meaning). A part is used whole or not at all.
NETWORK_KEYS = {
    "virtualNetworkId": (rf"{_GROUP}/Microsoft\.Network/virtualNetworks/[^/]+", "the id of a virtual network"),
    "nodeSubnetId": (_SUBNET, "the id of a subnet"),
    "serviceSubnetId": (_SUBNET, "the id of a subnet"),
    "lustreSubnetId": (_SUBNET, "the id of a subnet"),
}
ZONE_KEYS = {
    "vaultZoneId": (rf"{_ZONE}", "the id of the private DNS zone privatelink.vaultcore.azure.net"),
    "blobZoneId": (rf"{_ZONE}", "the id of the private DNS zone privatelink.blob.core.windows.net"),
    "databaseZoneId": (rf"{_ZONE}", "the id of the private DNS zone privatelink.mysql.database.azure.com"),
}
KEY_KEYS = {
    "keyVaultId": (rf"{_GROUP}/Microsoft\.KeyVault/vaults/[^/]+", "the id of a key vault"),
    "keyUrl": (r"https://[A-Za-z0-9.-]+/keys/[A-Za-z0-9-]+/[0-9a-f]{32}", "the URL of one version of a key"),
}
STORAGE_KEYS = {
    "storageAccountId": (rf"{_GROUP}/Microsoft\.Storage/storageAccounts/[a-z0-9]{{3,24}}", "a storage account's id"),
    "containerName": (r"[a-z0-9](-?[a-z0-9]){2,62}", "the name of a blob container"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingNetwork:
    """A virtual network and its subnets; the private DNS zones only where the network has its own.

    Attributes:
        controller_address: of the nodes' subnet; None for its last one.
    """

    virtual_network_id: str
    node_subnet_id: str
    service_subnet_id: str
    lustre_subnet_id: str
    vault_zone_id: str | None
    blob_zone_id: str | None
    database_zone_id: str | None
    controller_address: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingKey:
    """A key for encryption, and its vault."""

    vault_id: str
    key_url: str

    @property
    def key_id(self) -> str:
        """Azure's resource id of the key, which grants are made on."""
        return f"{self.vault_id}/keys/{self.key_name}"

    @property
    def key_name(self) -> str:
        """The key's name within its vault."""
        return self.key_url.split("/")[4]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingStorage:
    """A storage account with a container for data sets and checkpoints."""

    account_id: str
    container_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Existing:
    """Everything that is there already; None is created."""

    network: ExistingNetwork | None = None
    key: ExistingKey | None = None
    storage: ExistingStorage | None = None


def existing(values: Values) -> Existing:
    """Read the section `existingNetwork`."""
    fields = values.optional_section("existingNetwork")
    if fields is None:
        return Existing()
    fields.refuse_unknown(("controllerAddress", *NETWORK_KEYS, *ZONE_KEYS, *KEY_KEYS, *STORAGE_KEYS))
    network, key, storage = (_part(fields, keys) for keys in (NETWORK_KEYS, KEY_KEYS, STORAGE_KEYS))
    if network and all(network.values()):
        _check_subnets(fields, network)
    zones = {name: fields.optional_text(name, *ZONE_KEYS[name]) for name in ZONE_KEYS}
    if network is None and any(zones.values()):
        fields.fail("virtualNetworkId", "private DNS zones are given, but not the network that they are linked to")
    address = fields.optional_text(
        "controllerAddress", r"\d{1,3}(\.\d{1,3}){3}", "an IPv4 address of the nodes' subnet"
    )
    return Existing(
        network=_network(network, zones, address) if network else None,
        key=ExistingKey(vault_id=key["keyVaultId"], key_url=key["keyUrl"]) if key else None,
        storage=ExistingStorage(account_id=storage["storageAccountId"], container_name=storage["containerName"])
        if storage
        else None,
    )


def _check_subnets(fields: Values, network: dict[str, str]) -> None:
    """Refuse subnets of another network, and one subnet for two purposes."""
    for key in ("nodeSubnetId", "serviceSubnetId", "lustreSubnetId"):
        if not network[key].startswith(f"{network['virtualNetworkId']}/subnets/"):
            fields.fail(key, "is no subnet of virtualNetworkId")
    if len({subnet.lower() for subnet in network.values()}) != len(network):
        fields.fail("lustreSubnetId", "nodes, services and file system need a subnet each")


def _part(fields: Values, keys: dict[str, tuple[str, str]]) -> dict[str, str] | None:
    """Return the ids of one part, or None when none of them is given."""
    if not any(fields.has(key) for key in keys):
        return None
    return {key: fields.text(key, pattern, meaning) for key, (pattern, meaning) in keys.items()}


def _network(ids: dict[str, str], zones: dict[str, str | None], address: str | None) -> ExistingNetwork:
    return ExistingNetwork(
        virtual_network_id=ids["virtualNetworkId"],
        node_subnet_id=ids["nodeSubnetId"],
        service_subnet_id=ids["serviceSubnetId"],
        lustre_subnet_id=ids["lustreSubnetId"],
        vault_zone_id=zones["vaultZoneId"],
        blob_zone_id=zones["blobZoneId"],
        database_zone_id=zones["databaseZoneId"],
        controller_address=address,
    )
