"""Puts one fault at a time into the program and shows that the audit finds it."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import audit
import audit_security
from recording import Recording, RecordingMonitor, example_configs, run_layer, scenario
from shapes import shape_problems

P5 = [(0, 0, "interface"), (0, 1, "efa-only"), *((card, 0, "efa-only") for card in range(1, 32))]
TAGS = {"project": "gpt3-175b", "owner": "ml-platform", "gpu-cluster": "gpt3"}


def interfaces(recording: Recording) -> list[str]:
    """The interface rule for the example's node type."""
    return audit.interface_problems(recording, P5)


def groups(recording: Recording) -> list[str]:
    """The group rule for the example's size."""
    return audit.group_problems(recording, 48)


def tags(recording: Recording) -> list[str]:
    """The tag rule for the example's tags."""
    return audit.tag_problems(recording, TAGS)


# (file, text to replace, replacement, rule that has to notice)
FAULTS: list[tuple[str, str, str, Callable[[Recording], list[str]]]] = [
    ("gpu_cluster/interfaces.py", "network_card=card, device=0", "network_card=card, device=1", interfaces),
    ("gpu_cluster/interfaces.py", "range(1, facts.network_cards)", "range(1, facts.network_cards - 1)", interfaces),
    ("gpu_cluster/interfaces.py", 'network_card=0, device=1, interface_type="efa-only"', 'network_card=0, device=1, interface_type="efa"', interfaces),
    ("gpu_cluster/launch_interfaces.py", "security_groups=[security_group_id],", "", interfaces),
    ("gpu_cluster/launch_interfaces.py", 'delete_on_termination="true",\n            # EC2', 'delete_on_termination="false",\n            # EC2', interfaces),
    ("gpu_cluster/launch_interfaces.py", '"false" if len(slots) == 1 else None', '"false"', interfaces),
    ("gpu_cluster/security.py", 'self._allow("cluster-self", ALL_PROTOCOLS, None, source=cluster, target=cluster)', "", audit.fabric_rule_problems),
    ("gpu_cluster/security.py", 'ALL_PROTOCOLS = "-1"', 'ALL_PROTOCOLS = "tcp"', audit.fabric_rule_problems),
    ("gpu_cluster/security.py", "(988, 1023)", "(988, 988)", audit.lustre_rule_problems),
    ("gpu_cluster/security.py", 'self._allow("lustre-cluster", "tcp", LUSTRE_PORTS, source=lustre, target=cluster)', "", audit.lustre_rule_problems),
    ("gpu_cluster/security.py", '        aws.vpc.SecurityGroupIngressRule(\n            f"{self._name}-{name}-in",\n            security_group_id=target.id,\n            referenced_security_group_id=source.id,', '        aws.vpc.SecurityGroupIngressRule(\n            f"{self._name}-{name}-in",\n            security_group_id=target.id,\n            cidr_ipv4="0.0.0.0/0",', audit_security.exposure_problems),
    ("gpu_cluster/network.py", "map_public_ip_on_launch=False", "map_public_ip_on_launch=True", audit_security.exposure_problems),
    ("gpu_cluster/slurm/machine.py", "            iam_instance_profile=", "            associate_public_ip_address=True,\n            iam_instance_profile=", audit_security.exposure_problems),
    ("gpu_cluster/bucket.py", "restrict_public_buckets=True", "restrict_public_buckets=False", audit_security.exposure_problems),
    ("gpu_cluster/slurm/nodes.py", 'encrypted="true"', 'encrypted="false"', audit_security.encryption_problems),
    ("gpu_cluster/slurm/machine.py", "encrypted=True", "encrypted=False", audit_security.encryption_problems),
    ("gpu_cluster/bucket.py", 'sse_algorithm="aws:kms"', 'sse_algorithm="AES256"', audit_security.encryption_problems),
    ("gpu_cluster/file_system.py", "            kms_key_id=args.key_arn,\n            # Backups", "            # Backups", audit_security.encryption_problems),
    ("gpu_cluster/keys.py", "enable_key_rotation=True", "enable_key_rotation=False", audit_security.encryption_problems),
    ("gpu_cluster/slurm/auth_key.py", "kms_key_id=args.key_arn,", "", audit_security.encryption_problems),
    ("gpu_cluster/slurm/machine.py", 'http_tokens="required"', 'http_tokens="optional"', audit_security.metadata_problems),
    ("gpu_cluster/slurm/nodes.py", 'http_tokens="required"', 'http_tokens="optional"', audit_security.metadata_problems),
    ("gpu_cluster/slurm/nodes.py", "aws.ec2.LaunchTemplatePlacementArgs(group_name=placement.name) if placement else None", "None", audit.placement_problems),
    ("gpu_cluster/slurm/nodes.py", "max_size=size", "max_size=size + 1", groups),
    ("gpu_cluster/slurm/nodes.py", 'suspended_processes=["AZRebalance"]', "suspended_processes=[]", groups),
    ("gpu_cluster/slurm/nodes.py", "version=template.latest_version.apply(str)", 'version="$Latest"', groups),
    ("gpu_cluster/roles.py", '"kms:GenerateDataKey"', '"kms:*"', audit_security.permission_problems),
    ("gpu_cluster/roles.py", '"kms:GenerateDataKey"', '"s3:GetObject"', audit_security.permission_problems),
    ("gpu_cluster/roles.py", '"fsx:DescribeFileSystems"', '"ec2:TerminateInstances"', audit_security.permission_problems),
    ("gpu_cluster/slurm/auth_key.py", "resources=[secret.arn]", 'resources=["*"]', audit_security.permission_problems),
    ("gpu_cluster/slurm/auth_key.py", '"login": (args.login_role_name, READ)', '"login": (args.login_role_name, (*READ, *WRITE))', audit_security.permission_problems),
    ("gpu_cluster/keys.py", 'conditions={"StringEquals": in_account, "ArnLike": scaling},', "", audit_security.permission_problems),
    ("gpu_cluster/slurm/nodes.py", 'tags = {**args.tags, "Name": name}', 'tags = {"Name": name}', tags),
    ("gpu_cluster/slurm/nodes.py", '("instance", "volume", "network-interface")', '("instance",)', tags),
    ("gpu_cluster/slurm/nodes.py", "propagate_at_launch=True", "propagate_at_launch=False", tags),
    ("gpu_cluster/layer.py", "tags=dict(layer.tags)", "tags={}", tags),
    ("gpu_cluster/file_system.py", "opts=pulumi.ResourceOptions(parent=self, protect=True, depends_on=args.after)", "opts=pulumi.ResourceOptions(parent=self, depends_on=args.after)", audit.protection_problems),
    ("gpu_cluster/bucket.py", "force_destroy=False", "force_destroy=True", audit.protection_problems),
    ("gpu_cluster/file_system.py", "protect=True, depends_on=args.after", "protect=True", audit.order_problems),
    ("gpu_cluster/slurm/machine.py", "depends_on=args.after,", "", audit.order_problems),
    ("gpu_cluster/watchdog.py", "parent=self, depends_on=[policy]", "parent=self", audit.order_problems),
    ("gpu_cluster/network.py", "parent=self, depends_on=[public_way]", "parent=self", audit.order_problems),
    ("gpu_cluster/file_system.py", "depends_on=[*args.links_after, datasets]", "depends_on=args.links_after", audit.order_problems),
    ("gpu_cluster/slurm/nodes.py", 'ebs_optimized="true"', "ebs_optimized=True", shape_problems),
    ("gpu_cluster/file_system.py", "storage_capacity=args.storage.capacity_gib", "storage_capacity=str(args.storage.capacity_gib)", shape_problems),
    ("gpu_cluster/network.py", 'tags={"Name": name}', 'tags={"Name": 1}', shape_problems),
    ("gpu_cluster/slurm/accounting_database.py", "storage_encrypted=True,", "", audit_security.encryption_problems),
    ("gpu_cluster/slurm/accounting_database.py", "master_user_secret_kms_key_id=args.key_arn,", "", audit_security.encryption_problems),
    ("gpu_cluster/slurm/accounting_database.py", "publicly_accessible=False", "publicly_accessible=True", audit_security.exposure_problems),
    ("gpu_cluster/slurm/accounting_database.py", "manage_master_user_password=True,", 'master_password="slurm",', audit_security.secret_problems),
    ("gpu_cluster/slurm/accounting_database.py", "skip_final_snapshot=False", "skip_final_snapshot=True", audit.protection_problems),
    ("gpu_cluster/slurm/accounting_database.py", "deletion_protection=args.settings.deletion_protection", "deletion_protection=False", audit.protection_problems),
    ("gpu_cluster/slurm/accounting_database.py", "            opts=child,\n        )\n        aws.rds.ClusterInstance(", "            opts=pulumi.ResourceOptions(parent=self, protect=True),\n        )\n        aws.rds.ClusterInstance(", audit.protection_problems),
    ("gpu_cluster/watchdog.py", "resources=[group.arn for group in args.groups if group.kind == kind]", 'resources=["*"]', audit_security.permission_problems),
    ("gpu_cluster/watchdog.py", "kms_key_arn=args.key_arn,\n            environment", "environment", audit_security.encryption_problems),
    ("gpu_cluster/roles.py", 'conditions={"StringEquals": {"cloudwatch:namespace": metric_namespace(cluster_name)}},', "", audit_security.permission_problems),
    ("gpu_cluster/layer.py", "LAYER_TAG: name}", '"stage": name}', tags),
]  # fmt: skip


# The layer that a file's fault shows in; the foundation for all others.
LAYER_OF = {
    "gpu_cluster/interfaces.py": "nodes",
    "gpu_cluster/launch_interfaces.py": "nodes",
    "gpu_cluster/watchdog.py": "nodes",
    "gpu_cluster/slurm/nodes.py": "nodes",
    "gpu_cluster/slurm/machine.py": "cluster",
    "gpu_cluster/slurm/auth_key.py": "cluster",
    "gpu_cluster/slurm/accounting_database.py": "cluster",
}
CHANGES = (("timeToLiveHours", 72), ("stopWhenIdleMinutes", 60))


def with_layer_run_again(folder: Path, sound: Recording, layer: str) -> Recording:
    """Put a layer's run from another folder in the place of its sound one: to run all of them takes too long."""
    stacks = {f"organization/aws-gpu-{name}/small": outputs for name, outputs in sound.outputs.items()}
    monitor = RecordingMonitor(layer, stacks)
    outputs = run_layer(folder, layer, example_configs(folder, dict(CHANGES))[layer], monitor)
    others = [one for one in sound.resources if one.layer != layer]
    return Recording(resources=(*others, *monitor.recorded), outputs={**sound.outputs, layer: outputs})


@pytest.fixture
def faulty(project: Path, tmp_path: Path) -> Iterator[Callable[[str, str, str], Recording]]:
    """Run a copy of the program in which one text was replaced."""
    sound = scenario(project, CHANGES)
    folder = tmp_path / "faulty"
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns("test_*.py", "__pycache__", ".*"))
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "gpu_cluster"}
    for name in kept:
        del sys.modules[name]

    def run(file: str, old: str, new: str) -> Recording:
        text = (folder / file).read_text()
        assert old in text, f"the text to replace is gone from {file}"
        (folder / file).write_text(text.replace(old, new))
        return with_layer_run_again(folder, sound, LAYER_OF.get(file, "foundation"))

    sys.path.insert(0, str(folder))
    yield run
    sys.path.remove(str(folder))
    for name in [one for one in sys.modules if one.partition(".")[0] == "gpu_cluster"]:
        del sys.modules[name]
    sys.modules.update(kept)


@pytest.mark.parametrize(("file", "old", "new", "rule"), FAULTS)
def test_rule_notices_fault(
    faulty: Callable[[str, str, str], Recording], file: str, old: str, new: str, rule: Callable[[Recording], list[str]]
) -> None:
    """A fault in the program makes the rule that guards it report a problem."""
    assert rule(faulty(file, old, new)) != []


def test_output_in_text_is_noticed(faulty: Callable[[str, str, str], Recording]) -> None:
    """A value that is not known yet and was put into an f-string is found, since the SDK only writes a help text."""
    recording = faulty("gpu_cluster/network.py", 'tags={"Name": f"{name}-s3"}', 'tags={"Name": f"{vpc.id}-s3"}')
    assert audit.text_problems(recording) != []


def test_secret_value_is_noticed(faulty: Callable[[str, str, str], Recording]) -> None:
    """A value written into the secret by the stack is found, since it would be in Pulumi's state."""
    version = 'aws.secretsmanager.SecretVersion("v", secret_id=secret.id, secret_string="k")\n        '
    anchor = "aws.secretsmanager.SecretPolicy("
    recording = faulty("gpu_cluster/slurm/auth_key.py", anchor, version + anchor)
    assert len(audit_security.secret_problems(recording)) >= 2
