"""Runs the whole program for several sizes and instance types and checks what the mocks do not."""

from pathlib import Path
from typing import Any

import pytest

import audit
import audit_security
from recording import Recording, RecordingMonitor, engine_config, run_program, run_with, scenario
from settings import INTERFACE_ENDPOINTS
from shapes import shape_problems

# Instance type -> nodeType facts: cards, EFA interfaces, EFA on card 0, interfaces per card, GPU type, memory in MiB.
# Source: EC2 DescribeInstanceTypes.
FACTS: dict[str, tuple[int, int, bool, int, str, int]] = {
    "p4d.24xlarge": (4, 4, True, 15, "a100", 1179648),
    "p5.48xlarge": (32, 32, True, 2, "h100", 2097152),
    "p5en.48xlarge": (16, 16, True, 4, "h200", 2097152),
    "p6-b200.48xlarge": (8, 8, True, 4, "b200", 2097152),
    "p6-b300.48xlarge": (17, 16, False, 4, "b300", 4194304),
}
# The documented pattern written out, independent of the program: card 0 device 0 is plain; card 0 device 1 is EFA where
# card 0 has EFA; every other card is EFA on device 0.
EXTRA = (0, 1, "efa-only")
PATTERNS: dict[str, list[tuple[int, int, str]]] = {
    "p4d.24xlarge": [(0, 0, "interface"), EXTRA, *((card, 0, "efa-only") for card in (1, 2, 3))],
    "p5.48xlarge": [(0, 0, "interface"), EXTRA, *((card, 0, "efa-only") for card in range(1, 32))],
    "p5en.48xlarge": [(0, 0, "interface"), EXTRA, *((card, 0, "efa-only") for card in range(1, 16))],
    "p6-b200.48xlarge": [(0, 0, "interface"), EXTRA, *((card, 0, "efa-only") for card in range(1, 8))],
    "p6-b300.48xlarge": [(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17))],
}
TAGS = {"project": "gpt3-175b", "owner": "ml-platform", "clusterwright-cluster": "gpt3"}


def changes_for(instance_type: str, node_count: int, **more: Any) -> tuple[tuple[str, Any], ...]:  # noqa: ANN401
    """The configuration changes that turn the example into a scenario."""
    cards, efa, on_card_zero, per_card, gpu, memory_mib = FACTS[instance_type]
    facts = {
        "instanceType": instance_type,
        "networkCards": cards,
        "fabricInterfaces": efa,
        "cardZeroHasFabric": on_card_zero,
        "maxInterfacesPerCard": per_card,
        "gpuType": gpu,
        "memoryMib": memory_mib,
    }
    changes = {"nodeCount": node_count, **{f"nodeType.{key}": value for key, value in facts.items()}, **more}
    return tuple(changes.items())


SCENARIOS = [
    pytest.param("p4d.24xlarge", 4, {}, id="p4d-4"),
    pytest.param("p5.48xlarge", 1, {}, id="p5-1"),
    pytest.param("p5.48xlarge", 4, {"capacity": "spot"}, id="p5-4-spot"),
    pytest.param("p5.48xlarge", 48, {}, id="p5-48"),
    pytest.param("p5.48xlarge", 0, {}, id="p5-0"),
    pytest.param("p5.48xlarge", 150, {"maxNodesPerGroup": 64}, id="p5-150-three-groups"),
    pytest.param(
        "p5en.48xlarge", 16, {"capacity": "capacity-block", "reservationId": "cr-0123456789abcdef0"}, id="p5en-16-block"
    ),
    pytest.param(
        "p6-b200.48xlarge",
        48,
        {"capacity": "reservation", "reservationId": "cr-0123456789abcdef0"},
        id="b200-48-reserved",
    ),
    pytest.param("p6-b300.48xlarge", 4, {"sharedStorage.efaEnabled": True}, id="b300-4-efa-lustre"),
]
every_scenario = pytest.mark.parametrize(("instance_type", "node_count", "more"), SCENARIOS)


@every_scenario
def test_every_rule_holds(project: Path, instance_type: str, node_count: int, more: dict[str, Any]) -> None:
    """Every cluster keeps every rule of the audit."""
    recording = scenario(project, changes_for(instance_type, node_count, **more))
    problems = [
        *audit.interface_problems(recording, PATTERNS[instance_type]),
        *audit.fabric_rule_problems(recording),
        *audit.lustre_rule_problems(recording),
        *audit_security.exposure_problems(recording),
        *audit_security.encryption_problems(recording),
        *audit_security.metadata_problems(recording),
        *audit.placement_problems(recording),
        *audit.group_problems(recording, node_count),
        *audit_security.permission_problems(recording),
        *audit_security.secret_problems(recording),
        *audit.text_problems(recording),
        *audit.tag_problems(recording, TAGS),
        *audit.protection_problems(recording),
        *audit.order_problems(recording),
        *shape_problems(recording),
    ]
    assert problems == []


@every_scenario
def test_machines_boot_with_the_right_values(
    project: Path, instance_type: str, node_count: int, more: dict[str, Any]
) -> None:
    """User-data fits EC2's limit and holds an environment file with the values of this cluster and role."""
    recording = scenario(project, changes_for(instance_type, node_count, **more))
    _, efa, _, _, gpu, _ = FACTS[instance_type]
    for resource, role in ((recording.one(audit.TEMPLATE), "compute"), (recording.one(audit.INSTANCE), "controller")):
        size_bytes, files, commands = audit.user_data(resource)
        assert size_bytes <= 16384
        environment = files["/etc/clusterwright/node.env"]
        assert environment["permissions"] == "0644"
        assert environment["content"].splitlines() == [
            "CLUSTERWRIGHT_CLOUD='aws'",
            f"CLUSTERWRIGHT_ROLE='{role}'",
            "CLUSTERWRIGHT_CLUSTER_NAME='gpt3'",
            "CLUSTERWRIGHT_PARTITION='gpu'",
            "CLUSTERWRIGHT_CONTROLLER_ADDRESS='10.64.0.20'",
            "CLUSTERWRIGHT_REGION='us-east-1'",
            "CLUSTERWRIGHT_SECRET_ID='arn:aws:secretsmanager:us-east-1:123456789012:gpt3-keys-auth-key'",
            f"CLUSTERWRIGHT_NODE_COUNT='{max(node_count, 1)}'",
            "CLUSTERWRIGHT_GPUS_PER_NODE='8'",
            f"CLUSTERWRIGHT_GPU_TYPE='{gpu}'",
            "CLUSTERWRIGHT_FABRIC='efa'",
            f"CLUSTERWRIGHT_FABRIC_INTERFACES='{efa}'",
            "CLUSTERWRIGHT_SHARED_SOURCE='gpt3-data-lustre.fsx.us-east-1.amazonaws.com@tcp:/fsxmount'",
            "CLUSTERWRIGHT_SHARED_PATH='/shared'",
            "CLUSTERWRIGHT_BUCKET='gpt3-data-bucket'",
        ]
        scripts = {path.name: path.read_text() for path in (project / "node").glob("*.sh")}
        assert {name: files[f"/opt/clusterwright/{name}"]["content"] for name in scripts} == scripts
        assert all(files[f"/opt/clusterwright/{name}"]["permissions"] == "0755" for name in scripts)
        assert commands == [["/opt/clusterwright/bootstrap.sh"]]


@pytest.fixture
def example(project: Path) -> Recording:
    """The example configuration as it is shipped."""
    return scenario(project, ())


def test_example_is_48_p5_nodes_in_one_group(example: Recording) -> None:
    """The shipped example makes one group of 48 nodes and one controller, 33 interfaces per node."""
    assert [group.inputs["desiredCapacity"] for group in example.of(audit.GROUP)] == [48]
    assert len(example.of(audit.INSTANCE)) == 1
    assert len(example.one(audit.TEMPLATE).inputs["networkInterfaces"]) == 33


def test_two_runs_are_equal(project: Path, example: Recording) -> None:
    """The same configuration registers the same resources, user-data included: an idle `up` plans no change."""
    assert run_program(project).resources == example.resources


def test_first_preview_registers_the_same_resources(project: Path, example: Recording) -> None:
    """Before anything exists, no id is known; the program still registers everything that an `up` would make."""
    preview = run_with(project, {}, RecordingMonitor(deployed=False))
    assert [one.urn for one in preview.resources] == [one.urn for one in example.resources]
    assert audit.text_problems(preview) == []


def test_example_sets_every_declared_key(project: Path) -> None:
    """The example configuration names every key that Pulumi.yaml declares, and no other."""
    declared = {f"clusterwright-aws:{key}" for key in _project_file(project)["config"]}
    assert engine_config(project, {}).keys() == declared | {"aws:region"}


def test_declared_keys_are_those_the_program_reads(project: Path) -> None:
    """Pulumi.yaml declares what settings.py reads, so that a typo in one of them cannot hide."""
    from settings import OBJECT_KEYS, SCALAR_KEYS

    assert sorted(_project_file(project)["config"]) == sorted((*SCALAR_KEYS, *OBJECT_KEYS))


def _project_file(project: Path) -> dict[str, Any]:
    import yaml

    return yaml.safe_load((project / "Pulumi.yaml").read_text())


def test_network_is_one_zone_with_endpoints(example: Recording) -> None:
    """Both subnets are in the configured zone, and nodes reach AWS services through endpoints."""
    assert {one.inputs["availabilityZone"] for one in example.of(audit.SUBNET)} == {"us-east-1a"}
    nodes = example.one(audit.SUBNET, "nodes")
    assert nodes.inputs["cidrBlock"] == "10.64.0.0/17"
    assert example.one(audit.SUBNET, "public").inputs["cidrBlock"] == "10.64.128.0/28"
    endpoints = example.of("aws:ec2/vpcEndpoint:VpcEndpoint")
    interface = [one.inputs for one in endpoints if one.inputs["vpcEndpointType"] == "Interface"]
    assert sorted(one["serviceName"] for one in interface) == [
        f"com.amazonaws.us-east-1.{service}" for service in INTERFACE_ENDPOINTS
    ]
    assert all(one["privateDnsEnabled"] and one["subnetIds"] == [f"{nodes.name}-id"] for one in interface)
    gateway = [one.inputs for one in endpoints if one.inputs["vpcEndpointType"] == "Gateway"]
    assert [one["serviceName"] for one in gateway] == ["com.amazonaws.us-east-1.s3"]


def test_nodes_leave_only_through_nat(example: Recording) -> None:
    """The node subnet's default route is the NAT gateway; only the public one has the internet gateway."""
    routes = {one.name: one.inputs for one in example.of("aws:ec2/route:Route")}
    assert "natGatewayId" in routes["gpt3-network-nodes-default"]
    assert "gatewayId" not in routes["gpt3-network-nodes-default"]
    assert "gatewayId" in routes["gpt3-network-public-default"]


def test_file_system_matches_configuration(example: Recording) -> None:
    """The Lustre file system has the configured size, tier and metadata, and mirrors two folders of the bucket."""
    inputs = example.one(audit.LUSTRE).inputs
    assert inputs["deploymentType"] == "PERSISTENT_2"
    assert (inputs["storageCapacity"], inputs["perUnitStorageThroughput"]) == (96000, 250)
    assert inputs["metadataConfiguration"] == {"mode": "AUTOMATIC"}
    assert inputs["subnetIds"] == "gpt3-network-nodes-id"
    assert inputs["logConfiguration"]["level"] == "WARN_ERROR"
    links = {
        one.inputs["fileSystemPath"]: one.inputs
        for one in example.of("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation")
    }
    assert links["/datasets"]["s3"] == {"autoImportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]}}
    # A checkpoint deleted on Lustre must survive in the bucket.
    assert links["/checkpoints"]["s3"] == {"autoExportPolicy": {"events": ["NEW", "CHANGED"]}}
    assert links["/checkpoints"]["dataRepositoryPath"] == "s3://gpt3-data-bucket/checkpoints"


def test_efa_file_system_joins_the_fabric(project: Path) -> None:
    """With EFA the file servers are in the group that allows all traffic to itself."""
    recording = scenario(project, changes_for("p6-b300.48xlarge", 4, **{"sharedStorage.efaEnabled": True}))
    inputs = recording.one(audit.LUSTRE).inputs
    assert inputs["efaEnabled"] is True
    assert inputs["securityGroupIds"] == ["gpt3-security-lustre-id", "gpt3-security-cluster-id"]


def test_spot_nodes_are_one_time_requests(project: Path) -> None:
    """Spot nodes end when interrupted, and their group asks for new ones."""
    template = scenario(project, changes_for("p5.48xlarge", 4, capacity="spot")).one(audit.TEMPLATE).inputs
    assert template["instanceMarketOptions"] == {
        "marketType": "spot",
        "spotOptions": {"spotInstanceType": "one-time", "instanceInterruptionBehavior": "terminate"},
    }


def test_capacity_block_has_all_three_parts(project: Path) -> None:
    """A capacity block needs market type, reservation id and matching instance type together."""
    changes = changes_for("p5en.48xlarge", 16, capacity="capacity-block", reservationId="cr-0123456789abcdef0")
    template = scenario(project, changes).one(audit.TEMPLATE).inputs
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert template["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}
    }
    assert template["instanceType"] == "p5en.48xlarge"


def test_parameter_image_is_resolved_once_and_a_pinned_one_followed(project: Path, example: Recording) -> None:
    """A new release behind an SSM parameter changes nothing; a new pinned image does."""
    assert example.one(audit.TEMPLATE).inputs["imageId"] == "ami-0abc0abc0abc0abc0"
    assert example.one(audit.TEMPLATE).ignored_changes == ("imageId",)
    assert example.one(audit.INSTANCE).ignored_changes == ("userDataBase64", "ami")
    pinned = scenario(project, (("nodeType.image", "ami-0123456789abcdef0"),))
    assert pinned.one(audit.TEMPLATE).inputs["imageId"] == "ami-0123456789abcdef0"
    assert pinned.one(audit.TEMPLATE).ignored_changes == ()
    assert pinned.one(audit.INSTANCE).inputs["ami"] == "ami-0123456789abcdef0"


def test_controller_has_a_fixed_address(example: Recording) -> None:
    """Nodes find the controller at the address they were told, also after it was replaced."""
    controller = example.one(audit.INSTANCE)
    assert controller.inputs["privateIp"] == "10.64.0.20"
    assert controller.deleted_before_replacement
    reservation = example.one("aws:ec2/subnetCidrReservation:SubnetCidrReservation").inputs
    assert (reservation["cidrBlock"], reservation["reservationType"]) == ("10.64.0.16/28", "explicit")


def test_cluster_without_fabric_has_one_private_interface(project: Path) -> None:
    """A node type without EFA gets the one plain interface, with public addresses switched off."""
    plain = {"fabric": "none", "networkCards": 1, "fabricInterfaces": 0, "cardZeroHasFabric": False}
    recording = scenario(project, tuple((f"nodeType.{key}", value) for key, value in plain.items()))
    assert audit.interface_problems(recording, [(0, 0, "interface")]) == []


def test_budget_alerts_on_the_way_to_the_limit(example: Recording) -> None:
    """The budget warns at half, four fifths and all of the limit, and when the forecast passes it."""
    budget = example.one("aws:budgets/budget:Budget").inputs
    assert (budget["limitAmount"], budget["limitUnit"]) == ("2500000", "USD")
    assert "costFilters" not in budget
    assert [(one["threshold"], one["notificationType"]) for one in budget["notifications"]] == [
        (50, "ACTUAL"),
        (80, "ACTUAL"),
        (100, "ACTUAL"),
        (100, "FORECASTED"),
    ]
    assert example.one("aws:sns/topicSubscription:TopicSubscription").inputs["endpoint"] == "ml-platform@example.com"


def test_budget_by_tag_counts_this_cluster_only(project: Path) -> None:
    """With an active cost allocation tag, the budget filters by it."""
    budget = scenario(project, (("budgetByTag", True),)).one("aws:budgets/budget:Budget").inputs
    assert budget["costFilters"] == [{"name": "TagKeyValue", "values": ["user:clusterwright-cluster$gpt3"]}]


def test_no_budget_and_no_address_makes_no_alerts(project: Path) -> None:
    """Without budget and email there is neither topic nor budget."""
    recording = scenario(project, (("budgetUsdPerMonth", 0), ("alertEmail", "")))
    assert recording.of("aws:sns/topic:Topic") == []
    assert recording.of("aws:budgets/budget:Budget") == []


def test_outputs_say_how_to_connect(example: Recording) -> None:
    """The stack's outputs hold what its user needs next."""
    assert example.outputs["connect"] == (
        "aws ssm start-session --region us-east-1 --target gpt3-controller-instance-id"
    )
    assert example.outputs["file_system_id"] == "gpt3-data-lustre-id"
    assert example.outputs["bucket"] == "gpt3-data-bucket"
    assert example.outputs["node_groups"] == ["gpt3-compute-group-0"]


def test_every_resource_belongs_to_a_component(example: Recording) -> None:
    """All resources except provider and components have a component as parent."""
    components = {one.urn for one in example.resources if one.type.startswith("clusterwright:aws:")}
    assert {one.parent for one in example.resources if one.type.startswith("aws:")} <= components
