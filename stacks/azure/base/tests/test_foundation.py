"""The foundation keeps its promises: values that Pulumi's mocks accept whatever they are."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from recording import Program, run_layers

Run = Callable[..., Program]


# --- network


def test_security_rules(run: Run) -> None:
    """Every security group ends inbound with a denial, lets nothing in from the Internet, and has unique priorities."""
    groups = run("foundation").of("NetworkSecurityGroup")
    assert len(groups) == 3
    for group in groups:
        rules = group.inputs["securityRules"]
        keys = [(rule["direction"], rule["priority"]) for rule in rules]
        assert len(keys) == len(set(keys))
        assert all(100 <= priority <= 4096 for _, priority in keys)
        assert all(("destinationPortRange" in rule) != ("destinationPortRanges" in rule) for rule in rules)
        inbound = sorted((rule for rule in rules if rule["direction"] == "Inbound"), key=lambda rule: rule["priority"])
        assert inbound[-1]["access"] == "Deny"
        assert inbound[-1]["sourceAddressPrefix"] == "*"
        for rule in inbound[:-1]:
            source = rule["sourceAddressPrefix"]
            assert source == "AzureMonitor" or source.startswith("10.40.")


def test_lustre_ports_are_open_both_ways(run: Run) -> None:
    """Lustre's ports are open from nodes to servers and back, and file system servers may talk to each other."""
    program = run("foundation")
    rules = {
        (rule["direction"], rule["sourceAddressPrefix"], rule["destinationAddressPrefix"]): rule
        for group in program.of("NetworkSecurityGroup")
        for rule in group.inputs["securityRules"]
    }
    nodes, lustre = "10.40.0.0/17", "10.40.128.0/24"
    for key in (("Inbound", nodes, lustre), ("Outbound", lustre, nodes), ("Inbound", lustre, nodes)):
        assert rules[key]["destinationPortRanges"] == ["988", "1019-1023"]
    assert rules["Inbound", nodes, nodes]["destinationPortRange"] == "*"
    assert rules["Inbound", lustre, lustre]["access"] == "Allow"
    assert rules["Inbound", "10.40.130.0/26", nodes]["destinationPortRange"] == "22"
    assert rules["Inbound", nodes, "10.40.129.0/24"]["destinationPortRanges"] == ["443", "3306"]


def test_subnets(run: Run) -> None:
    """Subnets have no default way out; nodes and file system leave by NAT; Bastion's has the name Azure asks for."""
    program = run("foundation")
    subnets = {subnet.name: subnet.inputs for subnet in program.of("Subnet")}
    for name in ("gpt3-nodes", "gpt3-lustre", "gpt3-endpoints"):
        assert subnets[name]["defaultOutboundAccess"] is False
        assert subnets[name]["networkSecurityGroup"]["id"].endswith("-rules")
        assert subnets[name]["privateEndpointNetworkPolicies"] == "Enabled"
    assert {name for name, inputs in subnets.items() if "natGateway" in inputs} == {"gpt3-nodes", "gpt3-lustre"}
    assert subnets["gpt3-bastion"]["subnetName"] == "AzureBastionSubnet"
    assert subnets["gpt3-lustre"]["addressPrefix"] == "10.40.128.0/24"
    (bastion,) = program.of("BastionHost")
    assert bastion.inputs["sku"] == {"name": "Standard"}
    assert bastion.inputs["enableTunneling"] is True


def test_without_bastion(run: Run) -> None:
    """Without Bastion, NAT's is the only public address."""
    program = run("foundation", bastionEnabled=False)
    assert program.of("BastionHost") == []
    assert [address.name for address in program.of("PublicIPAddress")] == ["gpt3-nat-address"]


def test_private_endpoints(run: Run) -> None:
    """Vaults and storage have private endpoints with private names in the right zone."""
    program = run("foundation")
    services = {
        endpoint.name: endpoint.inputs["privateLinkServiceConnections"][0]["groupIds"][0]
        for endpoint in program.of("PrivateEndpoint")
    }
    assert services == {"gpt3-blob-endpoint": "blob", "gpt3-keys-endpoint": "vault", "gpt3-secret-endpoint": "vault"}
    zones = {
        group.inputs["privateEndpointName"]: group.inputs["privateDnsZoneConfigs"][0]["privateDnsZoneId"].rpartition(
            "/"
        )[2]
        for group in program.of("PrivateDnsZoneGroup")
    }
    assert zones == {
        "gpt3-blob-endpoint": "gpt3-blob-zone",
        "gpt3-keys-endpoint": "gpt3-vault-zone",
        "gpt3-secret-endpoint": "gpt3-vault-zone",
    }


# --- data


def test_vaults_are_closed(run: Run) -> None:
    """Vaults take no public traffic, decide by roles, and cannot be purged."""
    for vault in run("foundation").of("Vault"):
        properties = vault.inputs["properties"]
        # Azure Managed Lustre reads no key from a vault whose public access is off.
        is_of_lustre = vault.name == "lvgpt3"
        assert properties["publicNetworkAccess"] == ("Enabled" if is_of_lustre else "Disabled")
        assert properties["networkAcls"] == {"bypass": "AzureServices", "defaultAction": "Deny"}
        assert properties["enableRbacAuthorization"] is True
        assert properties["enablePurgeProtection"] is True
        assert properties["softDeleteRetentionInDays"] == 90
        assert len(vault.name) + 8 <= 24


def test_storage_is_closed(run: Run) -> None:
    """The object store takes no public traffic, no account key, no old TLS, and is encrypted with the cluster's key."""
    program = run("foundation")
    account = program.one("StorageAccount", "stgpt3")
    inputs = account.inputs
    assert inputs["allowBlobPublicAccess"] is False
    assert inputs["allowSharedKeyAccess"] is False
    assert inputs["enableHttpsTrafficOnly"] is True
    assert inputs["minimumTlsVersion"] == "TLS1_2"
    assert inputs["publicNetworkAccess"] == "Disabled"
    assert inputs["networkRuleSet"]["defaultAction"] == "Deny"
    assert inputs["encryption"]["keySource"] == "Microsoft.Keyvault"
    assert inputs["encryption"]["keyVaultProperties"]["keyName"] == "gpt3-key"
    assert program.one("RoleAssignment", "storage-key").urn in account.dependencies
    assert re.fullmatch(r"[a-z0-9]{3,16}", account.name)
    assert [container.inputs["publicAccess"] for container in program.of("BlobContainer")] == ["None"]


@pytest.mark.parametrize(("tier", "capacity_tib"), [(40, 48), (125, 128), (250, 96), (500, 4)])
def test_file_system(run: Run, tier: int, capacity_tib: int) -> None:
    """The file system has the SKU of its tier and exactly the capacity of the configuration."""
    changes: dict[str, Any] = {"throughputMbPerSPerTib": tier, "capacityTib": capacity_tib}
    (lustre,) = run("foundation", sharedStorage=changes).of("AmlFilesystem")
    assert lustre.inputs["sku"] == {"name": f"AMLFS-Durable-Premium-{tier}"}
    assert lustre.inputs["storageCapacityTiB"] == capacity_tib
    assert lustre.inputs["maintenanceWindow"] == {"dayOfWeek": "Sunday", "timeOfDayUTC": "02:00"}
    assert "hsm" not in lustre.inputs


def test_file_system_key(run: Run) -> None:
    """Lustre has an RSA key of 2048 bit, an identity that may use that key alone, and waits for the grant."""
    program = run("foundation")
    (lustre,) = program.of("AmlFilesystem")
    key, grant = program.one("Key", "lustre-key"), program.one("RoleAssignment", "lustre-key")
    assert key.inputs["properties"] == {"keySize": 2048, "kty": "RSA"}
    assert key.protect
    reference = lustre.inputs["encryptionSettings"]["keyEncryptionKey"]
    assert reference["keyUrl"].endswith("/gpt3-lustre-key/0001")
    assert reference["sourceVault"]["id"].endswith("/lvgpt3")
    identity = lustre.inputs["identity"]
    assert identity["type"] == "UserAssigned"
    assert [one.rpartition("/")[2] for one in identity["userAssignedIdentities"]] == ["gpt3-lustre"]
    assert grant.inputs["principalId"] == "principal-gpt3-lustre"
    assert grant.inputs["roleDefinitionId"].endswith("/e147488a-f6f5-4113-8e2d-b22465e65bf6")
    assert grant.inputs["scope"].endswith("/gpt3-lustre-key")
    assert grant.urn in lustre.dependencies
    assert {one.name for one in program.of("DiagnosticSetting")} >= {"gpt3-lustre-audit"}


def test_file_system_without_a_key(run: Run) -> None:
    """A file system that Azure's own keys encrypt already stays so: neither vault nor key is made for it."""
    program = run("foundation", sharedStorage={"customerKey": False})
    (lustre,) = program.of("AmlFilesystem")
    assert "encryptionSettings" not in lustre.inputs
    assert "identity" not in lustre.inputs
    assert [one.name for one in program.of("Vault")] == ["kvgpt3", "svgpt3"]
    assert [one.name for one in program.of("Key")] == ["gpt3-key"]


def test_hydration(run: Run) -> None:
    """Import from the container waits for the service's two roles on the account, and allows its account key."""
    shared = {
        "hydrateFromBucket": True,
        "importPrefix": "/tokens",
        "hpcCachePrincipalId": "0" * 8 + "-0000" * 3 + "-" + "0" * 12,
    }
    program = run("foundation", sharedStorage=shared)
    (lustre,) = program.of("AmlFilesystem")
    settings = lustre.inputs["hsm"]["settings"]
    assert settings["container"].endswith("/gpt3-data")
    assert settings["loggingContainer"].endswith("/gpt3-lustre-logs")
    assert settings["importPrefixesInitial"] == ["/tokens"]
    for ending in ("lustre-account", "lustre-blobs"):
        grant = program.one("RoleAssignment", ending)
        assert grant.inputs["scope"].endswith("/stgpt3")
        assert grant.urn in lustre.dependencies
    assert program.one("StorageAccount", "stgpt3").inputs["allowSharedKeyAccess"] is True


def test_lock_comes_last_and_goes_first(run: Run) -> None:
    """The lock on the data group depends on everything in it, so that `destroy` removes it before the grants."""
    program = run("foundation")
    (lock,) = program.of("ManagementLockByScope")
    assert lock.inputs["level"] == "CanNotDelete"
    assert lock.inputs["scope"].endswith("/gpt3-data")
    in_group = {assignment.urn for assignment in program.of("RoleAssignment") if "flow-logs" not in assignment.name}
    assert in_group <= lock.dependencies
    assert {
        resource.urn for resource in program.resources if resource.protect and "Group" not in resource.type
    } <= lock.dependencies


# --- budget and names


def test_budget(run: Run) -> None:
    """The budget watches every layer by the cluster's tag, tells a person, and keeps its first month."""
    program = run("foundation", budgetStartMonth="2026-11")
    (budget,) = program.of("Budget")
    inputs = budget.inputs
    assert inputs["amount"] == 4_000_000
    assert inputs["timePeriod"] == {"startDate": "2026-11-01T00:00:00Z"}
    assert budget.ignore_changes == ("timePeriod",)
    assert inputs["filter"] == {"tags": {"name": "gpu-cluster", "operator": "In", "values": ["gpt3"]}}
    assert len(inputs["notifications"]) <= 5
    for notification in inputs["notifications"].values():
        assert notification["contactEmails"] == ["ml-platform@example.com"]
        assert notification["enabled"] is True
    assert run("foundation", budgetUsdPerMonth=0).of("Budget") == []


def test_budget_without_address(run: Run) -> None:
    """Without an address the alerts go to the subscription's owners, so that nobody is the one case that cannot be."""
    program = run("foundation", alertEmail="")
    group = program.one("ActionGroup")
    assert group.inputs["emailReceivers"] == []
    assert [receiver["roleId"] for receiver in group.inputs["armRoleReceivers"]] == [
        "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
    ]
    for notification in program.one("Budget").inputs["notifications"].values():
        assert notification["contactEmails"] == []
        assert notification["contactGroups"][0].endswith("/gpt3-alerts")


def test_budget_starts_this_month(run: Run) -> None:
    """Without a first month the budget starts on the first day of the present one, as Azure asks."""
    (budget,) = run("foundation").of("Budget")
    assert re.fullmatch(r"20\d\d-\d\d-01T00:00:00Z", budget.inputs["timePeriod"]["startDate"])


# --- logs


def test_flow_logs(run: Run) -> None:
    """Every connection of the network is logged into an account of its own, which is as closed as the data's."""
    program = run("foundation")
    (flow_log,) = program.of("FlowLog")
    inputs = flow_log.inputs
    assert (inputs["resourceGroupName"], inputs["networkWatcherName"]) == ("NetworkWatcherRG", "NetworkWatcher_eastus")
    assert inputs["enabled"] is True
    assert inputs["targetResourceId"].endswith("/gpt3-vnet")
    assert inputs["storageId"].endswith("/flgpt3")
    assert inputs["retentionPolicy"] == {"days": 90, "enabled": True}
    analytics = inputs["flowAnalyticsConfiguration"]["networkWatcherFlowAnalyticsConfiguration"]
    assert analytics["workspaceResourceId"].endswith("/gpt3-logs")
    (writer,) = inputs["identity"]["userAssignedIdentities"]
    assert writer.endswith("/gpt3-flow-logs")
    closed, account = program.one("StorageAccount", "stgpt3").inputs, program.one("StorageAccount", "flgpt3")
    for key in ("publicNetworkAccess", "networkRuleSet", "allowSharedKeyAccess", "encryption", "minimumTlsVersion"):
        assert account.inputs[key] == closed[key]
    assert not account.protect


def test_another_network_watcher(run: Run) -> None:
    """Where Azure's own network watcher was moved, its place can be said."""
    (flow_log,) = run("foundation", networkWatcher="ops/watcher-east").of("FlowLog")
    assert (flow_log.inputs["resourceGroupName"], flow_log.inputs["networkWatcherName"]) == ("ops", "watcher-east")


def test_audit_logs(run: Run) -> None:
    """Who used a key or read the secret is on record."""
    program = run("foundation", logRetentionDays=365)
    audited = {setting.inputs["resourceUri"].rpartition("/")[2] for setting in program.of("DiagnosticSetting")}
    assert audited == {"kvgpt3", "svgpt3", "lvgpt3"}
    (workspace,) = program.of("Workspace")
    assert workspace.inputs["retentionInDays"] == 365
    assert workspace.inputs["features"] == {"disableLocalAuth": True}


# --- what exists already

GROUP = "/subscriptions/s/resourceGroups/shared/providers"
NETWORK = f"{GROUP}/Microsoft.Network/virtualNetworks/company"
THEIRS = {
    "virtualNetworkId": NETWORK,
    "nodeSubnetId": f"{NETWORK}/subnets/gpu",
    "serviceSubnetId": f"{NETWORK}/subnets/services",
    "lustreSubnetId": f"{NETWORK}/subnets/lustre",
}
THEIR_KEY = {
    "keyVaultId": f"{GROUP}/Microsoft.KeyVault/vaults/company",
    "keyUrl": f"https://company.vault.azure.net/keys/gpu/{'0' * 32}",
}
THEIR_STORAGE = {
    "storageAccountId": f"{GROUP}/Microsoft.Storage/storageAccounts/companydata",
    "containerName": "models",
}


def test_existing_network(run: Run) -> None:
    """A network that exists is used by id: no network, way out, Bastion or flow log of our own, but private names."""
    program = run("foundation", existingNetwork=THEIRS)
    for kind in ("VirtualNetwork", "Subnet", "NetworkSecurityGroup", "NatGateway", "BastionHost", "PublicIPAddress"):
        assert program.of(kind) == []
    assert program.of("FlowLog") == []
    outputs = program.outputs["foundation"]
    assert outputs["virtual_network_id"] == NETWORK
    assert outputs["node_subnet_id"] == THEIRS["nodeSubnetId"]
    assert outputs["controller_address"] == "10.60.0.254"
    assert outputs["bastion_name"] == ""
    assert program.one("AmlFilesystem").inputs["filesystemSubnet"] == THEIRS["lustreSubnetId"]
    for endpoint in program.of("PrivateEndpoint"):
        assert endpoint.inputs["subnet"]["id"] == THEIRS["serviceSubnetId"]
    for link in program.of("VirtualNetworkLink"):
        assert link.inputs["virtualNetwork"]["id"] == NETWORK


def test_existing_private_names(run: Run) -> None:
    """A network that has a private zone already gets no second one of the same name, which Azure refuses."""
    zone = f"{GROUP}/Microsoft.Network/privateDnsZones/privatelink.vaultcore.azure.net"
    program = run("foundation", existingNetwork={**THEIRS, "vaultZoneId": zone})
    assert [one.name for one in program.of("PrivateZone")] == ["gpt3-blob-zone", "gpt3-database-zone"]
    for group in program.of("PrivateDnsZoneGroup"):
        if not group.name.startswith("gpt3-blob"):
            assert group.inputs["privateDnsZoneConfigs"][0]["privateDnsZoneId"] == zone


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"virtualNetworkId": f"{GROUP}/Microsoft.Network/virtualNetworks/overlapping"}, "overlaps 172.16.0.0/16"),
        ({"nodeSubnetId": f"{NETWORK}/subnets/none"}, "has no subnet none"),
        ({"controllerAddress": "10.61.0.4"}, "is not in 10.60.0.0/24"),
    ],
)
def test_existing_network_is_looked_at(change: dict[str, str], part: str) -> None:
    """A network that cannot hold the cluster is refused before anything is made in it."""
    theirs = {**THEIRS, **change}
    if "virtualNetworkId" in change:
        theirs = {key: value.replace(NETWORK, change["virtualNetworkId"]) for key, value in theirs.items()}
    with pytest.raises(Exception, match=re.escape(part)):
        run_layers("foundation", existingNetwork=theirs)


def test_existing_key(run: Run) -> None:
    """A key that exists encrypts disks and object store; the cluster makes Lustre's key and the secret's vault alone."""
    program = run("foundation", existingNetwork=THEIR_KEY)
    assert [key.name for key in program.of("Key")] == ["gpt3-lustre-key"]
    assert [vault.name for vault in program.of("Vault")] == ["lvgpt3", "svgpt3"]
    assert program.one("DiskEncryptionSet").inputs["activeKey"] == {
        "keyUrl": THEIR_KEY["keyUrl"],
        "sourceVault": {"id": THEIR_KEY["keyVaultId"]},
    }
    properties = program.one("StorageAccount", "stgpt3").inputs["encryption"]["keyVaultProperties"]
    assert properties == {"keyName": "gpu", "keyVaultUri": "https://company.vault.azure.net/"}
    for ending in ("disks-key", "storage-key"):
        scope = program.one("RoleAssignment", ending).inputs["scope"]
        assert scope == f"{THEIR_KEY['keyVaultId']}/keys/gpu"


def test_existing_storage(run: Run) -> None:
    """An object store that exists is used as it is; grants are on the one container."""
    program = run("foundation", existingNetwork=THEIR_STORAGE)
    assert program.of("BlobContainer") == []
    assert [account.name for account in program.of("StorageAccount")] == ["flgpt3"]
    assert program.outputs["foundation"]["bucket_url"] == "https://companydata.blob.core.windows.net/models"
    scope = program.outputs["foundation"]["container_id"]
    assert scope == f"{THEIR_STORAGE['storageAccountId']}/blobServices/default/containers/models"
