"""The program registers a cluster that keeps its promises: values that Pulumi's mocks accept whatever they are."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from settings import SettingsError
from user_data import CUSTOM_DATA_LIMIT_BYTES, read_scripts

from recording import Program, Recorded, changed, node_folder, run_program
from test_user_data import files_of

Run = Callable[..., Program]

SIZES = {
    "Standard_ND96asr_v4": "a100",
    "Standard_ND96isr_H100_v5": "h100",
    "Standard_ND96isr_H200_v5": "h200",
    "Standard_ND96isr_MI300X_v5": "mi300x",
}
SCENARIOS: list[dict[str, Any]] = [
    *({"nodeCount": 48, "nodeType": {"instanceType": size, "gpuType": gpu}} for size, gpu in SIZES.items()),
    *({"nodeCount": count} for count in (0, 1, 4, 100)),
    {"nodeCount": 101, "allowSplitFabric": True},
    {"nodeCount": 101, "nodeType": {"maxNodesPerScaleSet": 300}},
    {"nodeCount": 4, "capacity": "spot"},
]

# Types that Azure does not tag.
UNTAGGED = {
    "RoleAssignment", "ManagementLockByScope", "Subnet", "PrivateDnsZoneGroup", "BlobContainer",
    "BlobServiceProperties", "Budget",
}  # fmt: skip


def _label(changes: dict[str, Any]) -> str:
    parts = [
        str(changes["nodeCount"]),
        changes.get("nodeType", {}).get("instanceType", ""),
        changes.get("capacity", ""),
    ]
    return "-".join(part for part in parts if part)


@pytest.fixture(params=SCENARIOS, ids=_label)
def program(request: pytest.FixtureRequest, run: Run) -> Program:
    """Return the program's record for one of the scenarios."""
    return run(**request.param)


def texts(value: Any) -> Iterator[str]:
    """Yield every text within recorded inputs, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def profile(scale_set: Recorded) -> dict[str, Any]:
    """Return the machine profile of a scale set."""
    return scale_set.inputs["virtualMachineProfile"]


def azure(program: Program) -> list[Recorded]:
    """Return the resources of Azure, without components."""
    return [resource for resource in program.resources if resource.type.startswith("azure-native:")]


# --- every scenario


def test_no_machine_has_a_public_address(program: Program) -> None:
    """Only NAT and Bastion have public addresses; no interface of a machine refers to one."""
    assert [address.name for address in program.of("PublicIPAddress")] == ["gpt3-bastion-address", "gpt3-nat-address"]
    for resource in (*program.of("NetworkInterface"), *program.of("VirtualMachineScaleSet")):
        assert not [text for text in texts(resource.inputs) if "publicip" in text.lower()]


def test_fabric(program: Program) -> None:
    """Every scale set is one placement group in one zone with exact size, changed only when asked."""
    for scale_set in program.of("VirtualMachineScaleSet"):
        inputs = scale_set.inputs
        assert inputs["singlePlacementGroup"] is True
        assert inputs["overprovision"] is False
        assert inputs["orchestrationMode"] == "Uniform"
        assert inputs["upgradePolicy"] == {"mode": "Manual"}
        assert inputs["zones"] == ["1"]
        (interface,) = profile(scale_set)["networkProfile"]["networkInterfaceConfigurations"]
        assert interface["enableAcceleratedNetworking"] is True


def test_encryption(program: Program) -> None:
    """Every disk is encrypted with the cluster's own key, and machines wait for the grant that lets them read it."""
    encryption_set = program.one("DiskEncryptionSet")
    key_grant = program.one("RoleAssignment", "disks-key")
    assert encryption_set.inputs["identity"] == {"type": "SystemAssigned"}
    for machine in (*program.of("VirtualMachine"), *program.of("VirtualMachineScaleSet")):
        storage = machine.inputs.get("storageProfile") or profile(machine)["storageProfile"]
        assert storage["osDisk"]["managedDisk"]["diskEncryptionSet"]["id"].endswith("/gpt3-disks")
        assert key_grant.urn in machine.dependencies
        assert "dataDisks" not in storage


def test_one_zone(program: Program) -> None:
    """Everything that can be in a zone is in the one zone of the configuration."""
    zones = {tuple(resource.inputs["zones"]) for resource in azure(program) if "zones" in resource.inputs}
    assert zones == {("1",)}
    for kind in ("VirtualMachine", "VirtualMachineScaleSet", "AmlFilesystem", "NatGateway"):
        assert all("zones" in resource.inputs for resource in program.of(kind))


def test_tags_everywhere(program: Program) -> None:
    """Every resource that can be tagged carries the cluster's tags and the user's."""
    for resource in azure(program):
        if resource.type.rpartition(":")[2] not in UNTAGGED:
            assert resource.inputs["tags"] == {
                "clusterwright-cluster": "gpt3",
                "managed-by": "clusterwright",
                "owner": "ml-platform",
                "project": "gpt3-175b",
            }, resource.name


def test_identities(program: Program) -> None:
    """Controller and nodes have an identity each and no other one."""
    (controller,) = program.of("VirtualMachine")
    (identity,) = controller.inputs["identity"]["userAssignedIdentities"]
    assert identity.endswith("/gpt3-controller")
    for scale_set in program.of("VirtualMachineScaleSet"):
        assert scale_set.inputs["identity"]["type"] == "UserAssigned"
        (identity,) = scale_set.inputs["identity"]["userAssignedIdentities"]
        assert identity.endswith("/gpt3-compute")


def test_grants_are_on_single_resources(program: Program) -> None:
    """No grant reaches a subscription or a resource group; only the controller may write the secret."""
    granted: dict[str, set[str]] = {}
    for assignment in program.of("RoleAssignment"):
        scope = assignment.inputs["scope"]
        assert re.fullmatch(r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/.+/.+/.+", scope)
        assert assignment.inputs["principalType"] == "ServicePrincipal"
        role = assignment.inputs["roleDefinitionId"].rpartition("/")[2]
        granted.setdefault(assignment.inputs["principalId"], set()).add(f"{role} {scope.rpartition('/')[2]}")
    officer, user = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7", "4633458b-17de-408a-b874-0445c86b69e6"
    encryption, blobs = "e147488a-f6f5-4113-8e2d-b22465e65bf6", "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
    assert granted == {
        "principal-gpt3-controller": {f"{officer} svgpt3", f"{blobs} gpt3-data"},
        "principal-gpt3-compute": {f"{user} svgpt3", f"{blobs} gpt3-data"},
        "principal-gpt3-storage": {f"{encryption} gpt3-key"},
        "disks-principal": {f"{encryption} gpt3-key"},
    }


def test_no_output_was_printed_as_text(program: Program) -> None:
    """No input holds the message that a carelessly formatted Output leaves, nor a None inside a longer text."""
    for resource in program.resources:
        for text in texts(resource.inputs):
            assert "__str__" not in text
            # "None" alone is a value of Azure: the public access of a container.
            assert text == "None" or not re.search(r"\bNone\b", text)


def test_no_secret_value(program: Program) -> None:
    """Pulumi never sees the cluster's secret: no secret resource, no password, no key but the public one."""
    assert program.of("Secret") == []
    for resource in azure(program):
        for text in texts(resource.inputs):
            assert "password" not in text.lower() or text == "disablePasswordAuthentication"
            assert "PRIVATE KEY" not in text


def test_data_is_kept(program: Program) -> None:
    """Whatever holds data or keys is protected and apart from the group of the nodes."""
    kept = {resource.name for resource in azure(program) if resource.protect}
    assert kept == {"gpt3-data", "kvgpt3", "svgpt3", "gpt3-key", "stgpt3", "gpt3-lustre"}
    for kind in ("Vault", "StorageAccount", "AmlFilesystem", "DiskEncryptionSet"):
        assert {resource.inputs["resourceGroupName"] for resource in program.of(kind)} == {"gpt3-data"}
    for kind in ("VirtualMachine", "VirtualMachineScaleSet", "NetworkInterface"):
        assert {resource.inputs["resourceGroupName"] for resource in program.of(kind)} == {"gpt3-nodes"}


def test_user_data(program: Program) -> None:
    """Controller and nodes get every script and the same environment but for role and identity, within the limit."""
    scripts = read_scripts(node_folder())
    environments: dict[str, dict[str, str]] = {}
    for machine in (*program.of("VirtualMachine"), *program.of("VirtualMachineScaleSet")):
        system = machine.inputs.get("osProfile") or profile(machine)["osProfile"]
        assert len(system["customData"]) <= CUSTOM_DATA_LIMIT_BYTES
        files = files_of(system["customData"])
        assert len(files) == len(scripts) + 1
        lines = files["/etc/clusterwright/node.env"][1].splitlines()
        values = dict(line.removeprefix("CLUSTERWRIGHT_").replace("'", "").split("=", 1) for line in lines)
        environments[values["ROLE"]] = values
    compute, controller = environments["compute"], environments["controller"]
    assert {key for key in compute if compute[key] != controller[key]} == {"ROLE", "IDENTITY_CLIENT_ID"}
    assert compute["IDENTITY_CLIENT_ID"] == "client-gpt3-compute"
    assert compute["SECRET_ID"] == "https://svgpt3.vault.azure.net/secrets/munge-key"
    assert compute["SHARED_SOURCE"] == "10.40.128.4@tcp:/lustrefs"
    assert compute["BUCKET"] == "https://stgpt3.blob.core.windows.net/data"
    assert compute["FABRIC"] == "infiniband"
    assert compute["FABRIC_INTERFACES"] == compute["GPUS_PER_NODE"] == "8"
    assert compute["CONTROLLER_ADDRESS"] == "10.40.0.4"


# --- sizes and ways of buying


@pytest.mark.parametrize("size", SIZES)
def test_size_of_nodes(run: Run, size: str) -> None:
    """The scale set runs the size of the configuration, in the number of the configuration."""
    (scale_set,) = run(nodeCount=48, nodeType={"instanceType": size, "gpuType": SIZES[size]}).of(
        "VirtualMachineScaleSet"
    )
    assert scale_set.inputs["sku"] == {"name": size, "tier": "Standard", "capacity": 48}
    image = profile(scale_set)["storageProfile"]["imageReference"]
    assert image == {
        "publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2404", "version": "24.04.2026072901",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "capacities"),
    [
        ({"nodeCount": 0}, [0]),
        ({"nodeCount": 1}, [1]),
        ({"nodeCount": 4}, [4]),
        ({"nodeCount": 100}, [100]),
        ({"nodeCount": 101, "allowSplitFabric": True}, [51, 50]),
        ({"nodeCount": 101, "nodeType": {"maxNodesPerScaleSet": 300}}, [101]),
    ],
)
def test_number_of_nodes(run: Run, changes: dict[str, Any], capacities: list[int]) -> None:
    """The scale sets sum to the nodes of the configuration, and their machines' names differ."""
    scale_sets = run(**changes).of("VirtualMachineScaleSet")
    assert [scale_set.inputs["sku"]["capacity"] for scale_set in scale_sets] == capacities
    prefixes = {profile(scale_set)["osProfile"]["computerNamePrefix"] for scale_set in scale_sets}
    assert len(prefixes) == len(capacities)
    assert all(len(prefix) <= 15 for prefix in prefixes)


def test_hundred_and_first_node_registers_nothing(project: Path) -> None:
    """A configuration that cannot work stops the program before the first resource."""
    program = Program()
    with pytest.raises(SettingsError, match="101 nodes need 2 scale sets"):
        run_program(project, changed(nodeCount=101), program)
    assert program.resources == []


def test_on_demand(run: Run) -> None:
    """On-demand nodes are regular machines without any spot or reservation property."""
    (scale_set,) = run(nodeCount=4).of("VirtualMachineScaleSet")
    assert profile(scale_set)["priority"] == "Regular"
    assert {"evictionPolicy", "billingProfile", "capacityReservation"}.isdisjoint(profile(scale_set))


@pytest.mark.parametrize("policy", ["Delete", "Deallocate"])
def test_spot(run: Run, policy: str) -> None:
    """Spot nodes cost at most the on-demand price, leave as configured, and get notice."""
    changes = {} if policy == "Delete" else {"spotEvictionPolicy": policy}
    (scale_set,) = run(nodeCount=4, capacity="spot", **changes).of("VirtualMachineScaleSet")
    machine = profile(scale_set)
    assert machine["priority"] == "Spot"
    assert machine["evictionPolicy"] == policy
    assert machine["billingProfile"] == {"maxPrice": -1}
    notice = machine["scheduledEventsProfile"]["terminateNotificationProfile"]
    assert notice == {"enable": True, "notBeforeTimeout": "PT5M"}


def test_reservation(run: Run) -> None:
    """A reservable size without InfiniBand uses the reservation, and then no single placement group."""
    group = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/training"
    node_type = {"instanceType": "Standard_NC96ads_A100_v4", "gpusPerNode": 4, "gpuType": "a100", "fabric": "none"}
    (scale_set,) = run(capacity="reservation", reservationId=group, nodeType=node_type).of("VirtualMachineScaleSet")
    assert profile(scale_set)["capacityReservation"] == {"capacityReservationGroup": {"id": group}}
    assert scale_set.inputs["singlePlacementGroup"] is False


def test_encryption_at_host(run: Run) -> None:
    """Encryption at host covers controller and nodes when asked for, and is not claimed otherwise."""
    program = run(nodeCount=4, encryptionAtHost=True)
    (controller,) = program.of("VirtualMachine")
    (scale_set,) = program.of("VirtualMachineScaleSet")
    assert controller.inputs["securityProfile"] == {"encryptionAtHost": True}
    assert profile(scale_set)["securityProfile"] == {"encryptionAtHost": True}
    assert "securityProfile" not in profile(run(nodeCount=4).one("VirtualMachineScaleSet"))


# --- controller


def test_controller(run: Run) -> None:
    """The controller has a fixed address that no node can take, and is replaced, old one first, by new user-data."""
    program = run(nodeCount=4)
    (interface,) = program.of("NetworkInterface")
    (settings,) = interface.inputs["ipConfigurations"]
    assert (settings["privateIPAllocationMethod"], settings["privateIPAddress"]) == ("Static", "10.40.0.4")
    (controller,) = program.of("VirtualMachine")
    assert controller.replace_on_changes == ("osProfile.customData",)
    assert controller.delete_before_replace
    (scale_set,) = program.of("VirtualMachineScaleSet")
    assert interface.urn in scale_set.dependencies
    for assignment in program.of("RoleAssignment"):
        if assignment.name.startswith(("gpt3-controller", "gpt3-compute")):
            assert assignment.urn in controller.dependencies


def test_only_public_keys_let_people_in(run: Run) -> None:
    """Machines take no password and the one public key of the configuration."""
    program = run(nodeCount=4)
    for machine in (*program.of("VirtualMachine"), *program.of("VirtualMachineScaleSet")):
        linux = (machine.inputs.get("osProfile") or profile(machine)["osProfile"])["linuxConfiguration"]
        assert linux["disablePasswordAuthentication"] is True
        (key,) = linux["ssh"]["publicKeys"]
        assert key["keyData"].startswith("ssh-ed25519 ")


# --- network


def test_security_rules(run: Run) -> None:
    """Every security group ends inbound with a denial, lets nothing in from the Internet, and has unique priorities."""
    groups = run(nodeCount=4).of("NetworkSecurityGroup")
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
    program = run(nodeCount=4)
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


def test_subnets(run: Run) -> None:
    """Subnets have no default way out; nodes and file system leave by NAT; Bastion's has the name Azure asks for."""
    program = run(nodeCount=4)
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
    program = run(nodeCount=4, bastionEnabled=False)
    assert program.of("BastionHost") == []
    assert [address.name for address in program.of("PublicIPAddress")] == ["gpt3-nat-address"]


def test_private_endpoints(run: Run) -> None:
    """Vaults and storage have private endpoints with private names in the right zone."""
    program = run(nodeCount=4)
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
    for vault in run(nodeCount=4).of("Vault"):
        properties = vault.inputs["properties"]
        assert properties["publicNetworkAccess"] == "Disabled"
        assert properties["networkAcls"] == {"bypass": "AzureServices", "defaultAction": "Deny"}
        assert properties["enableRbacAuthorization"] is True
        assert properties["enablePurgeProtection"] is True
        assert properties["softDeleteRetentionInDays"] == 90
        assert len(vault.name) + 8 <= 24


def test_storage_is_closed(run: Run) -> None:
    """The object store takes no public traffic, no account key, no old TLS, and is encrypted with the cluster's key."""
    program = run(nodeCount=4)
    (account,) = program.of("StorageAccount")
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
    (lustre,) = run(nodeCount=4, sharedStorage=changes).of("AmlFilesystem")
    assert lustre.inputs["sku"] == {"name": f"AMLFS-Durable-Premium-{tier}"}
    assert lustre.inputs["storageCapacityTiB"] == capacity_tib
    assert lustre.inputs["maintenanceWindow"] == {"dayOfWeek": "Sunday", "timeOfDayUTC": "02:00"}
    assert "hsm" not in lustre.inputs


def test_hydration(run: Run) -> None:
    """Import from the container waits for the service's two roles on the account, and allows its account key."""
    shared = {
        "hydrateFromBucket": True,
        "importPrefix": "/tokens",
        "hpcCachePrincipalId": "0" * 8 + "-0000" * 3 + "-" + "0" * 12,
    }
    program = run(nodeCount=4, sharedStorage=shared)
    (lustre,) = program.of("AmlFilesystem")
    settings = lustre.inputs["hsm"]["settings"]
    assert settings["container"].endswith("/gpt3-data")
    assert settings["loggingContainer"].endswith("/gpt3-lustre-logs")
    assert settings["importPrefixesInitial"] == ["/tokens"]
    for ending in ("lustre-account", "lustre-blobs"):
        grant = program.one("RoleAssignment", ending)
        assert grant.inputs["scope"].endswith("/stgpt3")
        assert grant.urn in lustre.dependencies
    assert program.one("StorageAccount").inputs["allowSharedKeyAccess"] is True


def test_lock_comes_last_and_goes_first(run: Run) -> None:
    """The lock on the data group depends on everything in it, so that `destroy` removes it before the grants."""
    program = run(nodeCount=4)
    (lock,) = program.of("ManagementLockByScope")
    assert lock.inputs["level"] == "CanNotDelete"
    assert lock.inputs["scope"].endswith("/gpt3-data")
    assert {assignment.urn for assignment in program.of("RoleAssignment")} <= lock.dependencies
    assert {
        resource.urn for resource in azure(program) if resource.protect and "Group" not in resource.type
    } <= lock.dependencies


# --- budget and names


def test_budget(run: Run) -> None:
    """The budget watches the cluster's three groups, tells a person, and keeps its first month."""
    program = run(nodeCount=4, budgetStartMonth="2026-11")
    (budget,) = program.of("Budget")
    inputs = budget.inputs
    assert inputs["amount"] == 4_000_000
    assert inputs["timePeriod"] == {"startDate": "2026-11-01T00:00:00Z"}
    assert budget.ignore_changes == ("timePeriod",)
    assert inputs["filter"]["dimensions"]["values"] == ["gpt3-network", "gpt3-data", "gpt3-nodes"]
    assert len(inputs["notifications"]) <= 5
    for notification in inputs["notifications"].values():
        assert notification["contactEmails"] == ["ml-platform@example.com"]
        assert notification["enabled"] is True
    assert run(nodeCount=4, budgetUsdPerMonth=0).of("ActionGroup") == []


def test_budget_without_address(run: Run) -> None:
    """Without an address the alerts go to the subscription's owners, so that nobody is the one case that cannot be."""
    program = run(nodeCount=4, alertEmail="")
    group = program.one("ActionGroup")
    assert group.inputs["emailReceivers"] == []
    assert [receiver["roleId"] for receiver in group.inputs["armRoleReceivers"]] == [
        "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
    ]
    for notification in program.one("Budget").inputs["notifications"].values():
        assert notification["contactEmails"] == []
        assert notification["contactGroups"][0].endswith("/gpt3-budget")


def test_budget_starts_this_month(run: Run) -> None:
    """Without a first month the budget starts on the first day of the present one, as Azure asks."""
    (budget,) = run(nodeCount=4).of("Budget")
    assert re.fullmatch(r"20\d\d-\d\d-01T00:00:00Z", budget.inputs["timePeriod"]["startDate"])


def test_longest_name(run: Run) -> None:
    """The longest and oddest cluster name still gives names that Azure takes."""
    name = "a" + "-b" * 15
    program = run(nodeCount=4, clusterName=name)
    for vault in program.of("Vault"):
        assert re.fullmatch(r"[a-z][a-z0-9]{2,15}", vault.name)
    assert re.fullmatch(r"[a-z0-9]{3,16}", program.one("StorageAccount").name)
    prefix = profile(program.one("VirtualMachineScaleSet"))["osProfile"]["computerNamePrefix"]
    assert len(prefix) <= 15
    assert not prefix.startswith("-")
    assert len(program.one("VirtualMachine").inputs["osProfile"]["computerName"]) <= 64
    assert len(program.one("ActionGroup").inputs["groupShortName"]) <= 12


def test_resources_have_parents(run: Run) -> None:
    """Every resource belongs to a component, so that a tree and not a list is shown."""
    for resource in azure(run(nodeCount=4)):
        assert "clusterwright:azure:" in resource.parent, resource.name


def test_same_configuration_same_inputs(project: Path) -> None:
    """Two runs register the same inputs: an `up` without changes plans none."""
    first, second = (run_program(project, changed(nodeCount=4)) for _ in range(2))

    def inputs(program: Program) -> list[str]:
        return sorted(json.dumps([r.urn, r.inputs], sort_keys=True, default=str) for r in program.resources)

    assert inputs(first) == inputs(second)


def test_custom_data_is_base64_text(run: Run) -> None:
    """Custom data is encoded once, not twice."""
    (controller,) = run(nodeCount=4).of("VirtualMachine")
    assert base64.b64decode(controller.inputs["osProfile"]["customData"]).startswith(b"#cloud-config\n")
