"""What a blueprint says of an account reaches the plan's options, and its JSON and back."""

from pathlib import Path

from clusterwright.plan.deployment import AwsExistingIds, StateBackend
from clusterwright.plan.document import dumps, loads

from .examples import SMALL, plan_of

ASKED = """\
    zone: us-east-1a
    scheduler: kubernetes
    capacity: capacity-block
    reservation: cr-0123456789abcdef0
    network:
      cidr: 10.64.0.0/16
      existing: {key_arn: "arn:aws:kms:us-east-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef"}
    file_system: {capacity: 21600 GiB, mb_per_s_per_tib: 500}
    state: {url: "https://api.pulumi.com", organization: research}
"""


def test_what_is_asked_reaches_the_option(tmp_path: Path) -> None:
    """Every key of a cloud's section that the stacks are set up with is in the option; on premises there is none."""
    path = tmp_path / "blueprint.yaml"
    text = SMALL.replace("    region: us-east-1\n", "    region: us-east-1\n" + ASKED)
    path.write_text(text + "cluster: {time_to_live: 7 days}\n")
    plan = plan_of(path)
    option = plan.option("aws")
    assert option is not None
    assert (option.deployment.zone, option.deployment.scheduler, option.deployment.capacity) == (
        "us-east-1a",
        "kubernetes",
        "capacity-block",
    )
    assert (option.deployment.reservation, option.deployment.network_cidr) == ("cr-0123456789abcdef0", "10.64.0.0/16")
    assert option.deployment.existing_network == AwsExistingIds(
        vpc_id=None,
        node_subnet_id=None,
        service_subnet_ids=None,
        key_arn="arn:aws:kms:us-east-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef",
        bucket_name=None,
    )
    assert option.deployment.state == StateBackend(
        url="https://api.pulumi.com", organization="research", secrets_provider=""
    )
    assert (option.deployment.time_to_live_hours, option.deployment.stop_when_idle_minutes) == (168, None)
    idle = plan_of(path, "targets.aws.scheduler=slurm", "cluster.stop_when_idle=2 h").option("aws")
    assert idle is not None
    assert (idle.deployment.time_to_live_hours, idle.deployment.stop_when_idle_minutes) == (168, 120)
    assert option.design.file_system is not None
    assert (option.design.file_system.capacity_gib, option.design.file_system.tier.mb_per_s_per_tib) == (21_600, 500)
    assert loads(dumps(plan)) == plan
    owned = plan.option("onprem")
    assert owned is not None
    assert (owned.deployment.scheduler, owned.deployment.existing_network, owned.deployment.time_to_live_hours) == (
        "slurm",
        None,
        None,
    )
