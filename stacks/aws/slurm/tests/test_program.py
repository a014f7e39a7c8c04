"""Runs the whole program for several sizes and instance types and checks what the mocks do not."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import audit
import audit_security
from gpu_cluster.endpoints import INTERFACE_ENDPOINTS
from gpu_cluster.slurm.user_data import for_role, without_comments
from recording import (
    LAYERS,
    Recording,
    declared,
    engine_config,
    example,
    example_configs,
    run_program,
    run_with,
    scenario,
)
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
DATABASE = {
    "HOST": "gpt3-accounting-cluster.rds.example.com",
    "USER": "slurm",
    "SECRET_ID": "arn:aws:secretsmanager:us-east-1:123456789012:secret:rds!gpt3-accounting-cluster",
    "CA": "https://truststore.pki.rds.amazonaws.com/global/global-bundle.pem",
}
TAGS = {"project": "gpt3-175b", "owner": "ml-platform", "gpu-cluster": "gpt3"}


def changes_for(instance_type: str, node_count: int, **more: Any) -> tuple[tuple[str, Any], ...]:
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
    changes = {
        "nodeCount": node_count,
        **{f"nodeType.{key}": value for key, value in facts.items()},
        **more,
    }
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
    pytest.param("p5.48xlarge", 100, {"timeToLiveHours": 72, "stopWhenIdleMinutes": 60}, id="p5-100-watched"),
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
    machines = (
        (recording.one(audit.TEMPLATE), "compute"),
        (recording.one(audit.INSTANCE, "controller"), "controller"),
        (recording.one(audit.INSTANCE, "login"), "login"),
    )
    for resource, role in machines:
        size_bytes, files, commands = audit.user_data(resource)
        assert size_bytes <= 16384
        environment = files["/etc/gpu-cluster/node.env"]
        assert environment["permissions"] == "0644"
        # The login machine knows that there is accounting; the password is the controller's alone.
        known = {"controller": DATABASE, "login": {"HOST": DATABASE["HOST"]}, "compute": {}}
        database = known[role]
        assert environment["content"].splitlines() == [
            "CLUSTER_CLOUD='aws'",
            f"CLUSTER_ROLE='{role}'",
            "CLUSTER_NAME='gpt3'",
            "CLUSTER_PARTITION='gpu'",
            "CLUSTER_CONTROLLER_ADDRESS='10.64.0.20'",
            "CLUSTER_REGION='us-east-1'",
            "CLUSTER_SECRET_ID='arn:aws:secretsmanager:us-east-1:123456789012:gpt3-auth-key-secret'",
            "CLUSTER_USERS_ID='arn:aws:secretsmanager:us-east-1:123456789012:gpt3-users-list'",
            "CLUSTER_LOGIN_ROLE='login'",
            "CLUSTER_GPUS_PER_NODE='8'",
            f"CLUSTER_GPU_TYPE='{gpu}'",
            "CLUSTER_ACCELERATOR_DEVICE='nvidia'",
            "CLUSTER_FABRIC='efa'",
            f"CLUSTER_FABRIC_INTERFACES='{efa}'",
            "CLUSTER_SHARED_SOURCE='gpt3-lustre-lustre.fsx.us-east-1.amazonaws.com@tcp:/fsxmount'",
            "CLUSTER_SHARED_PATH='/shared'",
            "CLUSTER_BUCKET='gpt3-bucket-objects'",
            *(f"CLUSTER_DATABASE_{key}='{database.get(key, '')}'" for key in ("HOST", "USER", "SECRET_ID", "CA")),
            f"CLUSTER_SPOT='{'yes' if role == 'compute' and more.get('capacity') == 'spot' else 'no'}'",
            f"CLUSTER_BUSY_METRIC='{'yes' if role == 'compute' and 'stopWhenIdleMinutes' in more else 'no'}'",
            "CLUSTER_JOB_ENVIRONMENT='container'",
        ]
        given = for_role(
            role,
            {path.name: path.read_text() for path in (project / "node").glob("*.sh")},
            spot=more.get("capacity") == "spot",
            busy_metric="stopWhenIdleMinutes" in more,
        )
        scripts = {name: without_comments(text) for name, text in given.items()}
        assert {name: files[f"/opt/gpu-cluster/{name}"]["content"] for name in scripts} == scripts
        assert all(files[f"/opt/gpu-cluster/{name}"]["permissions"] == "0755" for name in scripts)
        assert commands == [["/opt/gpu-cluster/bootstrap.sh"]]


@pytest.fixture
def base(project: Path) -> Recording:
    """The base case."""
    return scenario(project, ())


def test_example_is_48_p5_nodes_in_one_group(base: Recording) -> None:
    """The base case makes one group of 48 nodes, a controller and a login machine; 33 interfaces per node."""
    assert [group.inputs["desiredCapacity"] for group in base.of(audit.GROUP)] == [48]
    assert len(base.of(audit.INSTANCE)) == 2
    assert len(base.one(audit.TEMPLATE).inputs["networkInterfaces"]) == 33


def test_two_runs_are_equal(project: Path, base: Recording) -> None:
    """The same configuration registers the same resources, user-data included: an idle `up` plans no change."""
    assert run_program(project).resources == base.resources


def test_first_preview_registers_the_same_resources(project: Path, base: Recording) -> None:
    """Before anything exists, no id is known; the program still registers everything that an `up` would make."""
    preview = run_with(project, example_configs(project, {}), deployed=False)
    assert [one.urn for one in preview.resources] == [one.urn for one in base.resources]
    assert audit.text_problems(preview) == []


@pytest.mark.parametrize("layer", LAYERS)
def test_base_case_sets_every_declared_key(project: Path, layer: str) -> None:
    """The base case names every key that Pulumi.yaml declares, and no other."""
    keys = {f"aws-gpu-{layer}:{key}" for key in declared(project, layer)}
    assert example(project, layer).keys() == keys | {"aws:region"}


@pytest.mark.parametrize("layer", LAYERS)
def test_declared_keys_are_those_the_program_reads(project: Path, layer: str) -> None:
    """Pulumi.yaml declares what the settings read, so that a typo in one of them cannot hide."""
    settings = importlib.import_module(f"gpu_cluster.settings_{layer}")
    assert sorted(declared(project, layer)) == sorted((*settings.SCALAR_KEYS, *settings.OBJECT_KEYS))


def own_stacks() -> list[str]:
    """Names of the stacks that this project has a configuration for."""
    here = Path(__file__).resolve().parent.parent
    return sorted(path.name.split(".")[1] for path in here.glob("foundation/Pulumi.*.yaml"))


@pytest.mark.parametrize("stack", own_stacks())
def test_own_configuration_keeps_every_rule(project: Path, stack: str) -> None:
    """What this project is configured with makes a cluster that is private, encrypted and tagged."""
    configs: dict[str, dict[str, str]] = {}
    for layer in LAYERS:
        values = yaml.safe_load((project / layer / f"Pulumi.{stack}.yaml").read_text())["config"]
        references = {key: None for key in ("foundationStack", "clusterStack") if key in declared(project, layer)}
        references = {key: f"organization/aws-gpu-{key.removesuffix('Stack')}/small" for key in references}
        configs[layer] = engine_config(project, layer, values, references)
    recording = run_with(project, configs)
    problems = [
        *audit.fabric_rule_problems(recording),
        *audit.lustre_rule_problems(recording),
        *audit_security.metadata_problems(recording),
        *audit.placement_problems(recording),
        *audit_security.secret_problems(recording),
        *audit.text_problems(recording),
        *audit.order_problems(recording),
        *shape_problems(recording),
    ]
    assert problems == []


def test_network_is_one_zone_with_endpoints(base: Recording) -> None:
    """Nodes are in the configured zone, services in that and another one; AWS services have endpoints."""
    zones = {one.name.removeprefix("gpt3-network-"): one.inputs["availabilityZone"] for one in base.of(audit.SUBNET)}
    assert zones == {
        "nodes": "us-east-1a",
        "public": "us-east-1a",
        "services-0": "us-east-1a",
        "services-1": "us-east-1b",
    }
    assert base.one(audit.SUBNET, "services-1").ignored_changes == ("availabilityZone",)
    nodes = base.one(audit.SUBNET, "nodes")
    assert nodes.inputs["cidrBlock"] == "10.64.0.0/17"
    assert base.one(audit.SUBNET, "public").inputs["cidrBlock"] == "10.64.128.0/28"
    endpoints = base.of("aws:ec2/vpcEndpoint:VpcEndpoint")
    interface = [one.inputs for one in endpoints if one.inputs["vpcEndpointType"] == "Interface"]
    assert sorted(one["serviceName"] for one in interface) == [
        f"com.amazonaws.us-east-1.{service}" for service in INTERFACE_ENDPOINTS
    ]
    assert all(one["privateDnsEnabled"] and one["subnetIds"] == [f"{nodes.name}-id"] for one in interface)
    gateway = [one.inputs for one in endpoints if one.inputs["vpcEndpointType"] == "Gateway"]
    assert [one["serviceName"] for one in gateway] == ["com.amazonaws.us-east-1.s3"]


def test_nodes_leave_only_through_nat(base: Recording) -> None:
    """Every subnet without a table of its own goes out through NAT; only the public one has the internet gateway."""
    private = base.one("aws:ec2/defaultRouteTable:DefaultRouteTable").inputs["routes"]
    assert private == [{"cidrBlock": "0.0.0.0/0", "natGatewayId": "gpt3-network-nat-id"}]
    public = base.one("aws:ec2/routeTable:RouteTable").inputs["routes"]
    assert public == [{"cidrBlock": "0.0.0.0/0", "gatewayId": "gpt3-network-internet-id"}]
    associated = base.of("aws:ec2/routeTableAssociation:RouteTableAssociation")
    assert [one.inputs["subnetId"] for one in associated] == ["gpt3-network-public-id"]


def test_file_system_matches_configuration(base: Recording) -> None:
    """The Lustre file system has the configured size, tier and metadata, and mirrors two folders of the bucket."""
    inputs = base.one(audit.LUSTRE).inputs
    assert inputs["deploymentType"] == "PERSISTENT_2"
    assert (inputs["storageCapacity"], inputs["perUnitStorageThroughput"]) == (96000, 250)
    assert inputs["metadataConfiguration"] == {"mode": "AUTOMATIC"}
    assert inputs["subnetIds"] == "gpt3-network-nodes-id"
    assert inputs["logConfiguration"]["level"] == "WARN_ERROR"
    links = {
        one.inputs["fileSystemPath"]: one.inputs
        for one in base.of("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation")
    }
    assert links["/datasets"]["s3"] == {"autoImportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]}}
    # A checkpoint deleted on Lustre must survive in the bucket.
    assert links["/checkpoints"]["s3"] == {"autoExportPolicy": {"events": ["NEW", "CHANGED"]}}
    assert links["/checkpoints"]["dataRepositoryPath"] == "s3://gpt3-bucket-objects/checkpoints"


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


def test_parameter_image_is_resolved_once_and_a_pinned_one_followed(project: Path, base: Recording) -> None:
    """A new release behind an SSM parameter changes nothing; a new pinned image does."""
    assert base.one(audit.TEMPLATE).inputs["imageId"] == "ami-0abc0abc0abc0abc0"
    assert base.one(audit.TEMPLATE).ignored_changes == ("imageId",)
    assert base.one(audit.INSTANCE, "controller").ignored_changes == ("userData", "userDataBase64", "ami")
    pinned = scenario(project, (("nodeType.image", "ami-0123456789abcdef0"),))
    assert pinned.one(audit.TEMPLATE).inputs["imageId"] == "ami-0123456789abcdef0"
    assert pinned.one(audit.TEMPLATE).ignored_changes == ()
    assert pinned.one(audit.INSTANCE, "controller").inputs["ami"] == "ami-0123456789abcdef0"


@pytest.mark.parametrize("machine", ["controller", "login"])
def test_machine_keeps_its_address(base: Recording, machine: str) -> None:
    """Nodes find the controller at the address they were told, also after it was replaced."""
    instance = base.one(audit.INSTANCE, machine)
    assert instance.deleted_before_replacement
    address = base.one(audit.ADDRESS, machine)
    assert instance.inputs["primaryNetworkInterface"] == {"networkInterfaceId": f"{address.name}-id"}
    assert address.inputs["subnetId"] == "gpt3-network-nodes-id"
    assert address.inputs["securityGroups"] == ["gpt3-security-cluster-id"]


def test_login_machine_and_database_can_be_left_out(project: Path) -> None:
    """Without them there is one way in, and Slurm keeps no accounting."""
    recording = scenario(project, (("loginInstanceType", ""), ("accountingDatabase", False)))
    assert [one.name for one in recording.of(audit.INSTANCE)] == ["gpt3-controller-instance"]
    assert recording.of(audit.DATABASE) == []
    outputs = recording.outputs["cluster"]
    assert outputs["connect"] == outputs["connect_to_controller"]
    _, files, _ = audit.user_data(recording.one(audit.INSTANCE))
    assert "CLUSTER_DATABASE_HOST=''" in files["/etc/gpu-cluster/node.env"]["content"]


def test_only_the_cluster_reaches_the_database(base: Recording) -> None:
    """MySQL is open to the cluster's group, in both directions, and to nothing else; connections are encrypted."""
    inside, outside = base.one(audit.INGRESS, "accounting"), base.one(audit.EGRESS, "accounting")
    ports = {"fromPort": 3306, "toPort": 3306, "ipProtocol": "tcp"}
    cluster, database = "gpt3-security-cluster-id", "gpt3-accounting-access-id"
    assert {**ports, "securityGroupId": database, "referencedSecurityGroupId": cluster}.items() <= inside.inputs.items()
    assert {
        **ports,
        "securityGroupId": cluster,
        "referencedSecurityGroupId": database,
    }.items() <= outside.inputs.items()
    assert base.one(audit.DATABASE).inputs["vpcSecurityGroupIds"] == [database]
    parameters = base.one("aws:rds/clusterParameterGroup:ClusterParameterGroup").inputs["parameters"]
    assert {"name": "require_secure_transport", "value": "ON"} in parameters
    subnets = base.one("aws:rds/subnetGroup:SubnetGroup").inputs["subnetIds"]
    assert subnets == base.outputs["foundation"]["service_subnet_ids"]


def test_cluster_without_fabric_has_one_private_interface(project: Path) -> None:
    """A node type without EFA gets the one plain interface, with public addresses switched off."""
    plain = {"fabric": "none", "networkCards": 1, "fabricInterfaces": 0, "cardZeroHasFabric": False}
    recording = scenario(project, tuple((f"nodeType.{key}", value) for key, value in plain.items()))
    assert audit.interface_problems(recording, [(0, 0, "interface")]) == []


def test_budget_alerts_on_the_way_to_the_limit(base: Recording) -> None:
    """The budget warns at half, four fifths and all of the limit, and when the forecast passes it."""
    budget = base.one("aws:budgets/budget:Budget").inputs
    assert (budget["limitAmount"], budget["limitUnit"]) == ("2500000", "USD")
    assert "costFilters" not in budget
    assert [(one["threshold"], one["notificationType"]) for one in budget["notifications"]] == [
        (50, "ACTUAL"),
        (80, "ACTUAL"),
        (100, "ACTUAL"),
        (100, "FORECASTED"),
    ]
    assert base.one("aws:sns/topicSubscription:TopicSubscription").inputs["endpoint"] == "ml-platform@example.com"


def test_budget_by_tag_counts_this_cluster_only(project: Path) -> None:
    """With an active cost allocation tag, the budget filters by it."""
    budget = scenario(project, (("budgetByTag", True),)).one("aws:budgets/budget:Budget").inputs
    assert budget["costFilters"] == [{"name": "TagKeyValue", "values": ["user:gpu-cluster$gpt3"]}]


def test_no_budget_and_no_address_tells_nobody(project: Path) -> None:
    """Without budget and email there is neither budget nor subscriber; alarms still have their topic."""
    recording = scenario(project, (("budgetUsdPerMonth", 0), ("alertEmail", "")))
    assert recording.of("aws:sns/topicSubscription:TopicSubscription") == []
    assert recording.of("aws:budgets/budget:Budget") == []
    topic = recording.one("aws:sns/topic:Topic").name
    assert recording.one("aws:cloudwatch/metricAlarm:MetricAlarm", "controller").inputs["alarmActions"] == [
        "arn:aws:automate:us-east-1:ec2:recover",
        f"arn:aws:sns:us-east-1:123456789012:{topic}",
    ]


def test_outputs_say_how_to_connect(base: Recording) -> None:
    """The layers' outputs hold what their user and the next layer need."""
    cluster, foundation = base.outputs["cluster"], base.outputs["foundation"]
    assert cluster["connect"] == "aws ssm start-session --region us-east-1 --target gpt3-login-instance-id"
    assert cluster["connect_to_controller"] == (
        "aws ssm start-session --region us-east-1 --target gpt3-controller-instance-id"
    )
    assert foundation["file_system_id"] == "gpt3-lustre-lustre-id"
    assert foundation["bucket_name"] == "gpt3-bucket-objects"
    assert base.outputs["nodes"]["node_groups"] == ["gpt3-compute-group-0"]


@pytest.mark.parametrize(
    ("capacity", "reservation", "pattern"),
    [
        (
            "spot",
            "",
            {
                "source": ["aws.ec2"],
                "detail-type": ["EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation"],
            },
        ),
        (
            "capacity-block",
            "cr-0123456789abcdef0",
            {
                "source": ["aws.ec2"],
                "detail-type": ["Capacity Block Reservation Expiration Warning"],
                "detail": {"capacity-reservation-id": ["cr-0123456789abcdef0"]},
            },
        ),
    ],
)
def test_people_hear_when_nodes_are_taken_back(
    project: Path, capacity: str, reservation: str, pattern: dict[str, Any]
) -> None:
    """A rule passes on the notice of a spot interruption, or of the end of this cluster's capacity block."""
    changes = changes_for("p5.48xlarge", 4, capacity=capacity, reservationId=reservation)
    recording = scenario(project, changes)
    assert json.loads(recording.one("aws:cloudwatch/eventRule:EventRule").inputs["eventPattern"]) == pattern
    target = recording.one("aws:cloudwatch/eventTarget:EventTarget").inputs["arn"]
    assert target == recording.outputs["foundation"]["alert_topic_arns"][0]


def test_nodes_that_stay_have_no_rule(base: Recording) -> None:
    """On demand and reserved nodes are not taken back."""
    assert base.of("aws:cloudwatch/eventRule:EventRule") == []


def test_every_resource_belongs_to_a_component(base: Recording) -> None:
    """All resources except provider and components have a component as parent."""
    components = {one.urn for one in base.resources if one.type.startswith("gpucluster:aws:")}
    assert {one.parent for one in base.resources if one.type.startswith("aws:")} <= components


def test_no_layer_is_large(base: Recording) -> None:
    """A layer stays small enough to be looked through before an `up`."""
    for layer in LAYERS:
        assert len([one for one in base.resources if one.layer == layer and one.type.startswith("aws:")]) <= 60
