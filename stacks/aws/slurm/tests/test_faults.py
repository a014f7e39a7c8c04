"""Puts one fault at a time into the program and shows that the audit finds it."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import audit
import audit_security
from recording import Recording, run_program
from shapes import shape_problems

P5 = [(0, 0, "interface"), (0, 1, "efa-only"), *((card, 0, "efa-only") for card in range(1, 32))]
TAGS = {"project": "gpt3-175b", "owner": "ml-platform", "clusterwright-cluster": "gpt3"}


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
    ("interfaces.py", "network_card=card, device=0", "network_card=card, device=1", interfaces),
    ("interfaces.py", "range(1, facts.network_cards)", "range(1, facts.network_cards - 1)", interfaces),
    ("interfaces.py", 'network_card=0, device=1, interface_type="efa-only"', 'network_card=0, device=1, interface_type="efa"', interfaces),
    ("nodes.py", "security_groups=[security_group_id],", "", interfaces),
    ("nodes.py", 'delete_on_termination="true",\n            # EC2', 'delete_on_termination="false",\n            # EC2', interfaces),
    ("nodes.py", '"false" if len(slots) == 1 else None', '"false"', interfaces),
    ("security.py", 'self._allow("cluster-self", ALL_PROTOCOLS, None, source=cluster, target=cluster)', "", audit.fabric_rule_problems),
    ("security.py", 'ALL_PROTOCOLS = "-1"', 'ALL_PROTOCOLS = "tcp"', audit.fabric_rule_problems),
    ("security.py", "(1018, 1023)", "(1021, 1023)", audit.lustre_rule_problems),
    ("security.py", 'self._allow(f"lustre-cluster-{first}", "tcp", (first, last), source=lustre, target=cluster)', "", audit.lustre_rule_problems),
    ("security.py", 'referenced_security_group_id=cluster.id,\n            ip_protocol="tcp"', 'cidr_ipv4="0.0.0.0/0",\n            ip_protocol="tcp"', audit_security.exposure_problems),
    ("network.py", "map_public_ip_on_launch=False", "map_public_ip_on_launch=True", audit_security.exposure_problems),
    ("controller.py", "associate_public_ip_address=False", "associate_public_ip_address=True", audit_security.exposure_problems),
    ("data.py", "restrict_public_buckets=True", "restrict_public_buckets=False", audit_security.exposure_problems),
    ("nodes.py", 'encrypted="true"', 'encrypted="false"', audit_security.encryption_problems),
    ("controller.py", "encrypted=True", "encrypted=False", audit_security.encryption_problems),
    ("data.py", 'sse_algorithm="aws:kms"', 'sse_algorithm="AES256"', audit_security.encryption_problems),
    ("data.py", "            kms_key_id=args.key_arn,\n            # Backups", "            # Backups", audit_security.encryption_problems),
    ("keys.py", "enable_key_rotation=True", "enable_key_rotation=False", audit_security.encryption_problems),
    ("keys.py", "kms_key_id=key.arn,", "", audit_security.encryption_problems),
    ("controller.py", 'http_tokens="required"', 'http_tokens="optional"', audit_security.metadata_problems),
    ("nodes.py", 'http_tokens="required"', 'http_tokens="optional"', audit_security.metadata_problems),
    ("nodes.py", "return aws.ec2.LaunchTemplatePlacementArgs(group_name=group.name)", "return None", audit.placement_problems),
    ("nodes.py", "max_size=size", "max_size=size + 1", groups),
    ("nodes.py", 'suspended_processes=["AZRebalance"]', "suspended_processes=[]", groups),
    ("nodes.py", "version=template.latest_version.apply(str)", 'version="$Latest"', groups),
    ("roles.py", '"s3:GetObject"', '"s3:*"', audit_security.permission_problems),
    ("roles.py", '"fsx:DescribeFileSystems"', '"ec2:TerminateInstances"', audit_security.permission_problems),
    ("roles.py", "resources=[args.secret_arn]", 'resources=["*"]', audit_security.permission_problems),
    ("roles.py", "if args.is_controller:", "if True:", audit_security.permission_problems),
    ("keys.py", 'conditions={"StringEquals": in_account, "ArnLike": scaling},', "", audit_security.permission_problems),
    ("nodes.py", 'tags = {**args.tags, "Name": name}', 'tags = {"Name": name}', tags),
    ("nodes.py", '("instance", "volume", "network-interface")', '("instance",)', tags),
    ("nodes.py", "propagate_at_launch=True", "propagate_at_launch=False", tags),
    ("__main__.py", "default_tags=aws.ProviderDefaultTagsArgs(tags=tags)", "default_tags=aws.ProviderDefaultTagsArgs(tags={})", tags),
    ("data.py", "opts=pulumi.ResourceOptions(parent=self, protect=True, depends_on=args.after)", "opts=pulumi.ResourceOptions(parent=self, depends_on=args.after)", audit.protection_problems),
    ("data.py", "force_destroy=False", "force_destroy=True", audit.protection_problems),
    ("data.py", "protect=True, depends_on=args.after", "protect=True", audit.order_problems),
    ("controller.py", "depends_on=args.after,", "", audit.order_problems),
    ("nodes.py", "parent=self, depends_on=args.after", "parent=self", audit.order_problems),
    ("network.py", "pulumi.Output.all(nodes.id, kept.id).apply(lambda ids: ids[0])", "nodes.id", audit.order_problems),
    ("data.py", "depends_on=[access, datasets]", "depends_on=[access]", audit.order_problems),
    ("nodes.py", 'ebs_optimized="true"', "ebs_optimized=True", shape_problems),
    ("data.py", "storage_capacity=args.storage.capacity_gib", "storage_capacity=str(args.storage.capacity_gib)", shape_problems),
    ("network.py", 'tags={"Name": name}', 'tags={"Name": 1}', shape_problems),
]  # fmt: skip


@pytest.fixture
def faulty(project: Path, tmp_path: Path) -> Iterator[Callable[[str, str, str], Recording]]:
    """Run a copy of the program in which one text was replaced."""
    folder = tmp_path / "faulty"
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns("tests", "__pycache__", ".*"))
    modules = {path.stem for path in folder.glob("*.py")}
    kept = {name: sys.modules.pop(name) for name in modules & sys.modules.keys()}

    def run(file: str, old: str, new: str) -> Recording:
        text = (folder / file).read_text()
        assert old in text, f"the text to replace is gone from {file}"
        (folder / file).write_text(text.replace(old, new))
        return run_program(folder)

    sys.path.insert(0, str(folder))
    yield run
    sys.path.remove(str(folder))
    for name in modules & sys.modules.keys():
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
    recording = faulty("network.py", 'tags={"Name": f"{name}-s3"}', 'tags={"Name": f"{vpc.id}-s3"}')
    assert audit.text_problems(recording) != []


def test_secret_value_is_noticed(faulty: Callable[[str, str, str], Recording]) -> None:
    """A value written into the secret by the stack is found, since it would be in Pulumi's state."""
    version = 'aws.secretsmanager.SecretVersion("v", secret_id=secret.id, secret_string="k")\n        '
    anchor = "aws.secretsmanager.SecretPolicy("
    recording = faulty("keys.py", anchor, version + anchor)
    assert len(audit_security.secret_problems(recording)) >= 2
