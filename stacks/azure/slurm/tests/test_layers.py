"""The layers register a cluster that keeps its promises: values that Pulumi's mocks accept whatever they are."""

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pulumi
import pytest

from gpu_cluster.slurm.user_data import CUSTOM_DATA_LIMIT_BYTES, read_scripts
from recording import LAYERS, PROJECT, Program, Recorded, changed, run_layer, run_layers
from rules import RULES
from test_user_data import files_of

Run = Callable[..., Program]

PLAIN = "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901"
ROCM = "microsoft-dsvm:ubuntu-hpc:2404-rocm:24.04.2026072901"
GRACE = "microsoft-dsvm:ubuntu-hpc:2404-gb:24.04.2026072901"
PASSWORD = "replace-this-with-config-set-secret"
SIZES = {
    "Standard_ND96asr_v4": ("a100", 8, PLAIN),
    "Standard_ND96amsr_A100_v4": ("a100", 8, PLAIN),
    "Standard_ND96isr_H100_v5": ("h100", 8, PLAIN),
    "Standard_ND96isr_H200_v5": ("h200", 8, PLAIN),
    "Standard_ND96isr_MI300X_v5": ("mi300x", 8, ROCM),
    "Standard_ND128isr_NDR_GB200_v6": ("gb200", 4, GRACE),
}


def of_size(size: str, nodes: int) -> dict[str, Any]:
    """Return the configuration of nodes of one size."""
    gpu, gpus, image = SIZES[size]
    node_type = {"instanceType": size, "gpuType": gpu, "gpusPerNode": gpus, "fabricInterfaces": gpus, "image": image}
    return {"nodeCount": nodes, "nodeType": node_type, "controllerImage": PLAIN}


SCENARIOS: list[dict[str, Any]] = [
    *(of_size(size, 36) for size in SIZES),
    *({"nodeCount": count} for count in (0, 1, 4, 100)),
    {"nodeCount": 101, "allowSplitFabric": True},
    {"nodeCount": 101, "nodeType": {"maxNodesPerScaleSet": 300}},
    {"nodeCount": 4, "capacity": "spot"},
    {"nodeCount": 4, "timeToLiveHours": 24, "stopWhenIdleMinutes": 60},
]

# Types that Azure does not tag.
UNTAGGED = {
    "RoleAssignment",
    "ManagementLockByScope",
    "Subnet",
    "PrivateDnsZoneGroup",
    "BlobContainer",
    "BlobServiceProperties",
    "Budget",
    "DiagnosticSetting",
    "Configuration",
    "RoleDefinition",
}


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
    """Every disk is encrypted with the cluster's own key, which the layer before the machines lets it be read."""
    encryption_set = program.one("DiskEncryptionSet")
    key_grant = program.one("RoleAssignment", "disks-key")
    assert encryption_set.inputs["identity"] == {"type": "SystemAssigned"}
    for machine in (*program.of("VirtualMachine"), *program.of("VirtualMachineScaleSet")):
        storage = machine.inputs.get("storageProfile") or profile(machine)["storageProfile"]
        assert storage["osDisk"]["managedDisk"]["diskEncryptionSet"]["id"].endswith("/gpt3-disks")
        assert (key_grant.layer, machine.layer != "foundation") == ("foundation", True)
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
            tags = {key: value for key, value in resource.inputs["tags"].items() if key != "expires-at"}
            assert tags.pop("opened-for", None) == ("lustre" if resource.name == "lvgpt3" else None)
            assert tags == {
                "gpu-cluster": "gpt3",
                "layer": resource.layer,
                "owner": "ml-platform",
                "project": "gpt3-175b",
            }, resource.name


def test_identities(program: Program) -> None:
    """Controller, login machine and nodes have an identity each; where users work there is that of the data besides."""
    for machine in program.of("VirtualMachine"):
        identity, *others = machine.inputs["identity"]["userAssignedIdentities"]
        assert identity.endswith(f"/{machine.name}")
        assert [one.rpartition("/")[2] for one in others] == (["gpt3-data"] if machine.name == "gpt3-login" else [])
    for scale_set in program.of("VirtualMachineScaleSet"):
        assert scale_set.inputs["identity"]["type"] == "UserAssigned"
        names = [one.rpartition("/")[2] for one in scale_set.inputs["identity"]["userAssignedIdentities"]]
        assert names == ["gpt3-compute", "gpt3-data"]


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
    watchdog = granted.pop("watchdog-principal", set())
    metric = {f"3913510d-42f4-4e42-8a64-420c390055eb {one.name}" for one in program.of("VirtualMachineScaleSet")}
    assert granted == {
        "principal-gpt3-controller": {f"{officer} svgpt3", f"{user} gpt3-accounting"},
        "principal-gpt3-login": {f"{user} svgpt3"},
        "principal-gpt3-data": {f"{blobs} gpt3-data"},
        "principal-gpt3-compute": {f"{user} svgpt3"} | (metric if watchdog else set()),
        "principal-gpt3-accounting": {f"{encryption} gpt3-key"},
        "principal-gpt3-flow-logs": {f"{blobs} flgpt3"},
        "principal-gpt3-storage": {f"{encryption} gpt3-key"},
        "principal-gpt3-lustre": {f"{encryption} gpt3-lustre-key"},
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
    """Pulumi never sees the munge key; the one password it hands on is marked secret wherever it goes."""
    marked = {f"{one.type.rpartition(':')[2]}.{path}" for one in program.resources for path in one.secrets}
    assert marked == {"Server.administratorLoginPassword", "Secret.properties"}
    allowed = ("disablePasswordAuthentication", "administratorLoginPassword", "password of the accounting database")
    for resource in azure(program):
        inputs = dict(resource.inputs)
        if resource.secrets:
            inputs = json.loads(json.dumps(inputs).replace(PASSWORD, ""))
        for text in texts(inputs):
            assert PASSWORD not in text
            assert "password" not in text.lower() or text in allowed
            assert "PRIVATE KEY" not in text


def test_data_is_kept(program: Program) -> None:
    """Whatever holds data or keys is protected, in the foundation, and apart from the groups of the other layers."""
    assert {resource.layer for resource in azure(program) if resource.protect} == {"foundation"}
    kept = {resource.name for resource in azure(program) if resource.protect}
    keys = {"kvgpt3", "svgpt3", "lvgpt3", "gpt3-key", "gpt3-lustre-key"}
    assert kept == {"gpt3-data", "stgpt3", "gpt3-lustre", *keys}
    for kind in ("Vault", "AmlFilesystem", "DiskEncryptionSet"):
        assert {resource.inputs["resourceGroupName"] for resource in program.of(kind)} == {"gpt3-data"}
    assert program.one("StorageAccount", "stgpt3").inputs["resourceGroupName"] == "gpt3-data"
    for kind in ("VirtualMachine", "NetworkInterface", "Server"):
        assert {resource.inputs["resourceGroupName"] for resource in program.of(kind)} == {"gpt3-cluster"}
    for scale_set in program.of("VirtualMachineScaleSet"):
        assert scale_set.inputs["resourceGroupName"] == "gpt3-nodes"


def test_user_data(program: Program) -> None:
    """Controller and nodes get every script and the same environment but for role and identity, within the limit."""
    scripts = read_scripts(PROJECT / "node")
    environments: dict[str, dict[str, str]] = {}
    for machine in (*program.of("VirtualMachine"), *program.of("VirtualMachineScaleSet")):
        system = machine.inputs.get("osProfile") or profile(machine)["osProfile"]
        assert len(system["customData"]) <= CUSTOM_DATA_LIMIT_BYTES
        files = files_of(system["customData"])
        assert len(files) == len(scripts) + 1
        lines = files["/etc/gpu-cluster/node.env"][1].splitlines()
        values = dict(line.removeprefix("CLUSTER_").replace("'", "").split("=", 1) for line in lines)
        environments[values["ROLE"]] = values
    compute, controller, login = (environments[role] for role in ("compute", "controller", "login"))
    database = {"DATABASE_HOST", "DATABASE_USER", "DATABASE_SECRET_ID"}
    differing = {"ROLE", "IDENTITY_CLIENT_ID", "DATA_IDENTITY", *database, "SPOT", "BUSY_METRIC"}
    assert {key for key in compute if compute[key] != controller[key]} <= differing
    assert {key for key in login if login[key] != controller[key]} == {
        "ROLE",
        "IDENTITY_CLIENT_ID",
        "DATA_IDENTITY",
        "DATABASE_SECRET_ID",
    }
    assert (controller["DATA_IDENTITY"], login["DATA_IDENTITY"]) == ("", "client-gpt3-data")
    assert compute["DATA_IDENTITY"] == "client-gpt3-data"
    assert controller["DATABASE_HOST"] == "gpt3-accounting.mysql.database.azure.com"
    assert controller["DATABASE_SECRET_ID"] == "https://kvgpt3.vault.azure.net/secrets/gpt3-accounting-database"
    assert login["DATABASE_SECRET_ID"] == compute["DATABASE_SECRET_ID"] == compute["DATABASE_HOST"] == ""
    assert login["CONTROLLER_ADDRESS"] == controller["CONTROLLER_ADDRESS"] == "10.40.0.4"
    assert compute["IDENTITY_CLIENT_ID"] == "client-gpt3-compute"
    assert compute["SECRET_ID"] == "https://svgpt3.vault.azure.net/secrets/munge-key"
    assert compute["SHARED_SOURCE"] == "10.40.128.4@tcp:/lustrefs"
    assert compute["BUCKET"] == "https://stgpt3.blob.core.windows.net/data"
    assert compute["FABRIC"] == "infiniband"
    assert compute["FABRIC_INTERFACES"] == compute["GPUS_PER_NODE"]
    assert compute["CONTROLLER_ADDRESS"] == "10.40.0.4"


def test_the_policy_pack_passes(program: Program) -> None:
    """The rules that the project ships have nothing against any of its layers."""
    for resource in program.resources:
        for rule in RULES:
            assert rule.check(resource.type, resource.inputs) == [], resource.name


# --- sizes and ways of buying


@pytest.mark.parametrize("size", SIZES)
def test_size_of_nodes(run: Run, size: str) -> None:
    """The scale set runs the size of the configuration, in the number of the configuration."""
    (scale_set,) = run(**of_size(size, 36)).of("VirtualMachineScaleSet")
    assert scale_set.inputs["sku"] == {"name": size, "tier": "Standard", "capacity": 36}
    image = profile(scale_set)["storageProfile"]["imageReference"]
    assert ":".join(image[key] for key in ("publisher", "offer", "sku", "version")) == SIZES[size][2]


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


def test_hundred_and_first_node_registers_nothing() -> None:
    """A configuration that cannot work stops the program before the first resource."""
    program = Program()
    with pytest.raises(pulumi.RunError, match="101 nodes need 2 scale sets"):
        run_layer("nodes", changed("nodes", nodeCount=101), {}, program)
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
    group = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/reserved"
    node_type = {"instanceType": "Standard_NC96ads_A100_v4", "gpusPerNode": 4, "gpuType": "a100", "fabric": "none"}
    (scale_set,) = run(capacity="reservation", reservationId=group, nodeType=node_type).of("VirtualMachineScaleSet")
    assert profile(scale_set)["capacityReservation"] == {"capacityReservationGroup": {"id": group}}
    assert scale_set.inputs["singlePlacementGroup"] is False


def test_block_reservation(run: Run) -> None:
    """Nodes of a block reservation keep the single placement group that InfiniBand needs."""
    group = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/block"
    (scale_set,) = run(nodeCount=64, capacity="block-reservation", reservationId=group).of("VirtualMachineScaleSet")
    assert profile(scale_set)["capacityReservation"] == {"capacityReservationGroup": {"id": group}}
    assert scale_set.inputs["singlePlacementGroup"] is True
    assert profile(scale_set)["priority"] == "Regular"


def test_encryption_at_host(run: Run) -> None:
    """Encryption at host covers controller and nodes when asked for, and is not claimed otherwise."""
    program = run(nodeCount=4, encryptionAtHost=True)
    (scale_set,) = program.of("VirtualMachineScaleSet")
    for machine in program.of("VirtualMachine"):
        assert machine.inputs["securityProfile"] == {"encryptionAtHost": True}
    assert scale_set.inputs["virtualMachineProfile"]["securityProfile"] == {"encryptionAtHost": True}
    assert "securityProfile" not in profile(run(nodeCount=4).one("VirtualMachineScaleSet"))


# --- controller


def test_controller(run: Run) -> None:
    """The controller has a fixed address that nothing else can take, and other custom data does not replace it."""
    program = run(nodeCount=4)
    interface = program.one("NetworkInterface", "controller")
    (settings,) = interface.inputs["ipConfigurations"]
    assert (settings["privateIPAllocationMethod"], settings["privateIPAddress"]) == ("Static", "10.40.0.4")
    assert program.outputs["cluster"]["controller_address"] == "10.40.0.4"
    for machine in program.of("VirtualMachine"):
        assert machine.replace_on_changes == ()
        assert machine.ignore_changes == ("osProfile.customData",)
        assert machine.delete_before_replace
    login = program.one("VirtualMachine", "login")
    assert interface.urn in login.dependencies
    controller = program.one("VirtualMachine", "controller")
    assert program.one("RoleAssignment", "controller-accounting").urn in controller.dependencies
    assert program.one("PrivateDnsZoneGroup", "accounting-names").urn in controller.dependencies


def test_login_machine(run: Run) -> None:
    """People arrive on the login machine, through Bastion, and on nothing else."""
    program = run(nodeCount=4)
    assert program.outputs["cluster"]["connect"].startswith(
        "az network bastion ssh --name gpt3-bastion --resource-group gpt3-network --target-resource-id "
        + program.outputs["cluster"]["login_id"]
    )
    (address,) = program.one("NetworkInterface", "login").inputs["ipConfigurations"]
    assert address["privateIPAllocationMethod"] == "Dynamic"


def test_login_machine_without_bastion(run: Run) -> None:
    """The commands are ones that a shell takes as they are: ssh to the address that Azure gave the interface."""
    outputs = run("foundation", "cluster", bastionEnabled=False).outputs["cluster"]
    assert outputs["connect"] == "ssh clusteradmin@10.40.0.99"
    assert outputs["connect_as_user"] == "ssh NAME@10.40.0.99"


PERSON = "11111111-2222-3333-4444-555555555555"
LISTED = [
    {"name": "alice", "uid": 20001, "ssh_keys": [], "entra_object_id": PERSON},
    {"name": "bob", "uid": 20002, "ssh_keys": []},
]


@pytest.mark.parametrize("with_bastion", [True, False])
def test_users_see_what_bastion_asks_for(run: Run, *, with_bastion: bool) -> None:
    """Whose object id is listed reads login machine, interface and Bastion, and nothing else; nobody else anything."""
    program = run("foundation", "cluster", users=LISTED, groups=[], bastionEnabled=with_bastion)
    grants = [one for one in program.of("RoleAssignment") if one.inputs["principalType"] == "User"]
    assert {one.inputs["principalId"] for one in grants} == {PERSON}
    assert {one.inputs["roleDefinitionId"].rpartition("/")[2] for one in grants} == {
        "acdd72a7-3385-48ef-bd42-f606fba81ae7"
    }
    login = program.one("VirtualMachine", "login")
    ends = {"/".join(one.inputs["scope"].split("/")[-2:]) for one in grants}
    expected = {f"VirtualMachine/{login.name}", f"NetworkInterface/{login.name}"}
    assert ends == expected | ({"bastionHosts/gpt3-bastion"} if with_bastion else set())
    assert len(grants) == len(ends)
    assert all("gpt3-controller" not in one.inputs["scope"] for one in grants)


# --- accounting database


def test_accounting_database(run: Run) -> None:
    """The database is private, encrypted with the cluster's key, backed up, locked, and its password is a secret."""
    program = run(nodeCount=4)
    (server,) = program.of("Server")
    inputs = server.inputs
    assert inputs["network"] == {"publicNetworkAccess": "Disabled"}
    assert inputs["dataEncryption"]["type"] == "AzureKeyVault"
    assert inputs["dataEncryption"]["primaryKeyURI"] == program.outputs["foundation"]["key_url"]
    assert inputs["backup"]["backupRetentionDays"] == 35
    assert program.one("RoleAssignment", "accounting-key").urn in server.dependencies
    lock = program.one("ManagementLockByScope", "accounting-lock")
    assert (lock.inputs["level"], lock.inputs["scope"].rpartition("/")[2]) == ("CanNotDelete", "gpt3-accounting")
    secret = program.one("Secret", "accounting")
    assert secret.inputs["vaultName"] == "kvgpt3"
    assert secret.secrets == {"properties"}
    endpoint = program.one("PrivateEndpoint", "accounting-endpoint")
    assert endpoint.inputs["privateLinkServiceConnections"][0]["groupIds"] == ["mysqlServer"]
    assert (
        program.one("PrivateDnsZoneGroup", "accounting-names")
        .inputs["privateDnsZoneConfigs"][0]["privateDnsZoneId"]
        .endswith("/gpt3-database-zone")
    )


def test_without_accounting(run: Run) -> None:
    """Without a database there is no password, no secret, and machines are told of none."""
    program = run(nodeCount=4, accountingEnabled=False, accountingPassword=None)
    assert (
        program.of("Server")
        == program.of("Secret", "accounting")
        == program.of("ManagementLockByScope", "cluster")
        == []
    )
    controller = program.one("VirtualMachine", "controller")
    environment = files_of(controller.inputs["osProfile"]["customData"])["/etc/gpu-cluster/node.env"][1]
    assert "CLUSTER_DATABASE_HOST=''\nCLUSTER_DATABASE_USER=''\n" in environment


def test_only_public_keys_let_people_in(run: Run) -> None:
    """Machines take no password and the one public key of the configuration."""
    program = run(nodeCount=4)
    for machine in (*program.of("VirtualMachine"), *program.of("VirtualMachineScaleSet")):
        linux = (machine.inputs.get("osProfile") or profile(machine)["osProfile"])["linuxConfiguration"]
        assert linux["disablePasswordAuthentication"] is True
        (key,) = linux["ssh"]["publicKeys"]
        assert key["keyData"].startswith("ssh-ed25519 ")


# --- names


def test_longest_name(run: Run) -> None:
    """The longest and oddest cluster name still gives names that Azure takes."""
    name = "a" + "-b" * 15
    program = run(nodeCount=4, clusterName=name)
    for vault in program.of("Vault"):
        assert re.fullmatch(r"[a-z][a-z0-9]{2,15}", vault.name)
    for account in program.of("StorageAccount"):
        assert re.fullmatch(r"[a-z0-9]{3,16}", account.name)
    assert re.fullmatch(r"[0-9A-Za-z-]{1,127}", program.one("Secret", "accounting").inputs["secretName"])
    # The server's name is global and at most 63 characters, 8 of them random.
    assert len(program.one("Server").name) <= 63 - 8
    prefix = profile(program.one("VirtualMachineScaleSet"))["osProfile"]["computerNamePrefix"]
    assert len(prefix) <= 15
    assert not prefix.startswith("-")
    for machine in program.of("VirtualMachine"):
        assert len(machine.inputs["osProfile"]["computerName"]) <= 64
    assert len(program.one("ActionGroup").inputs["groupShortName"]) <= 12


def test_resources_have_parents(run: Run) -> None:
    """Every resource belongs to a component, so that a tree and not a list is shown."""
    for resource in azure(run(nodeCount=4)):
        assert "gpucluster:azure:" in resource.parent, resource.name


def test_same_configuration_same_inputs() -> None:
    """Two runs register the same inputs: an `up` without changes plans none."""
    first, second = (run_layers(*LAYERS, nodeCount=4) for _ in range(2))

    def inputs(program: Program) -> list[str]:
        return sorted(json.dumps([r.urn, r.inputs], sort_keys=True, default=str) for r in program.resources)

    assert inputs(first) == inputs(second)


def test_custom_data_is_encoded_once(run: Run) -> None:
    """Custom data is compressed and encoded once, not twice."""
    for machine in run(nodeCount=4).of("VirtualMachine"):
        packed = base64.b64decode(machine.inputs["osProfile"]["customData"])
        assert gzip.decompress(packed).startswith(b"#cloud-config\n")
