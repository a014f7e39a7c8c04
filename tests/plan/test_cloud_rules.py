"""What a cloud does not give: sizes, times, addresses, file systems; what is doubtful, and what has no effect."""

from collections.abc import Sequence
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.blueprint.load import load
from clusterwright.blueprint.resolve import Resolved, resolve
from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.errors import Finding
from clusterwright.plan.bounds import most_nodes, node_counts
from clusterwright.plan.candidates.cloud_addresses import RULES, address_findings
from clusterwright.plan.candidates.cloud_limits import capacity_warnings, cloud_findings, time_findings
from clusterwright.plan.candidates.cloud_warnings import place_warnings
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import WorkUnit
from clusterwright.plan.training.engine import without_effect as without_effect_on_training
from clusterwright.plan.without_effect import without_effect
from tests.stand_ins import stand_in

from .examples import plan_of

UNIT = WorkUnit(name="run", plural="runs")
TARGETS = {
    "aws": "{instance: p5.48xlarge, region: us-east-1}",
    "azure": "{instance: Standard_ND96isr_H100_v5, region: eastus}",
    "gcp": "{instance: a3-highgpu-8g, region: us-central1}",
}
BLOCK = ("capacity=capacity-block", "reservation=cr-0123456789abcdef0")
GROUP = "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Compute/capacityReservationGroups/NAME"
AZURE_BLOCK = ("capacity=block-reservation", f"reservation={GROUP}")
GB200 = "instance=Standard_ND128isr_NDR_GB200_v6"
V5P = "instance=ct5p-hightpu-4t"


def blueprint_of(tmp_path: Path, cloud: str, *overrides: str) -> Blueprint:
    """Return a small blueprint for one cloud with further values of the target, or of anything after a dot."""
    path = tmp_path / "blueprint.yaml"
    path.write_text(
        "name: small\n"
        "workload: {kind: train, model: llama-2-7b, tokens: 1e9, sequence_length: 2048, global_batch: 512}\n"
        f"targets:\n  {cloud}: {TARGETS[cloud]}\n"
    )
    paths = [entry.removeprefix(".") if entry.startswith(".") else f"targets.{cloud}.{entry}" for entry in overrides]
    return load(path, tuple(paths)).blueprint


def target_of(blueprint: Blueprint) -> ResolvedTarget:
    """Return the only target of a blueprint, looked up."""
    resolved = resolve(blueprint, load_catalogue())
    assert isinstance(resolved, Resolved), resolved
    return resolved.targets[0]


def option(cloud: str, *, nodes: int = 8, days: Sequence[float] = (1, 1, 1), **more: Any) -> Any:  # noqa: ANN401
    """Return what the rules look at of an option: days as low, middle and high."""
    low, middle, high = days
    stands = {
        "target": cloud,
        "instance": "it",
        "nodes": nodes,
        "network_cidr": "",
        "file_system": None,
        "scheduler": "slurm",
    }
    stands |= {"calendar_days_low": low, "calendar_days": middle, "calendar_days_high": high}
    return stand_in(**(stands | more))


def findings_of(blueprint: Blueprint) -> list[Finding]:
    """Return why what the blueprint's one cloud asks for cannot be had, by the shipped facts."""
    return cloud_findings(blueprint, Facts.open(), target_of(blueprint))


def ids(findings: Sequence[Finding]) -> list[str]:
    """Return the ids of findings."""
    return [finding.id for finding in findings]


@pytest.mark.parametrize(
    ("cloud", "overrides", "found", "said"),
    [
        ("aws", ("min_nodes=200",), [], ""),
        ("aws", ("min_nodes=64", *BLOCK), [], ""),
        ("aws", ("min_nodes=65", *BLOCK), ["PLC010"], "one capacity block holds 64"),
        ("azure", ("min_nodes=300",), [], ""),
        ("azure", ("min_nodes=301",), ["PLC010"], "one scale set of Standard_ND96isr_H100_v5 holds 300"),
        ("azure", ("min_nodes=65", *AZURE_BLOCK), ["PLC010"], "one block capacity reservation holds 64"),
        ("azure", (GB200, "min_nodes=289"), ["PLC010"], "holds 288"),
        ("azure", (GB200, "min_nodes=19", "max_nodes=35"), ["PLC011"], "is a number of whole racks of"),
        ("azure", (GB200, "min_nodes=37", "max_nodes=40"), ["PLC011"], "allow 36 or 54 nodes"),
        ("azure", (GB200, "min_nodes=19", "max_nodes=36"), [], ""),
        ("gcp", ("min_nodes=256", "capacity=flex-start"), [], ""),
        ("gcp", ("min_nodes=257", "capacity=flex-start"), ["PLC010"], "one flex-start request holds 256"),
        ("gcp", (V5P, "min_nodes=1536"), [], ""),
        ("gcp", (V5P, "min_nodes=1537"), ["PLC010"], "one TPU slice of ct5p-hightpu-4t holds 1536"),
        ("gcp", (V5P, "min_nodes=3", "max_nodes=3"), ["PLC011"], "allow 2 or 4 nodes"),
        ("gcp", (V5P, "min_nodes=17", "max_nodes=31"), ["PLC011"], "is a slice of"),
    ],
)
def test_sizes_beyond_a_limit(
    tmp_path: Path, cloud: str, overrides: tuple[str, ...], found: list[str], said: str
) -> None:
    """The limit is named with the largest that fits; what is at the limit is fine."""
    blueprint = blueprint_of(tmp_path, cloud, *overrides)
    findings = findings_of(blueprint)
    assert ids(findings) == found
    assert all(said in f"{finding.message}; {finding.help}" for finding in findings)


def test_clusters_come_in_racks_and_slices(tmp_path: Path) -> None:
    """A part of one rack, or whole racks; slices of TPU v5p from one host on."""
    racks = node_counts(target_of(blueprint_of(tmp_path, "azure", GB200)))
    assert racks is not None
    assert (racks[:19], racks[-1]) == ((*range(1, 19), 36), 288)
    slices = node_counts(target_of(blueprint_of(tmp_path, "gcp", V5P)))
    assert slices is not None
    assert (slices[:7], slices[-1]) == ((1, 2, 4, 8, 16, 32, 48), 1536)
    assert node_counts(target_of(blueprint_of(tmp_path, "aws"))) is None


def test_a_block_limits_the_search(tmp_path: Path) -> None:
    """The same row sets the largest cluster to look at."""
    blueprint = blueprint_of(tmp_path, "azure", *AZURE_BLOCK)
    assert most_nodes(blueprint, target_of(blueprint)) == (64, "one block capacity reservation")


@pytest.mark.parametrize(
    ("cloud", "overrides", "days", "errors", "warnings"),
    [
        ("aws", (), (100, 400, 900), [], []),
        ("aws", BLOCK, (10, 12, 14), [], ["CAP009"]),
        ("aws", BLOCK, (150, 180, 183), [], ["CAP008"]),
        ("aws", BLOCK, (150, 183, 200), ["CAP004"], []),
        ("gcp", ("capacity=flex-start",), (3, 5, 6.5), [], []),
        ("gcp", ("capacity=flex-start",), (3, 6, 7.5), [], ["CAP008"]),
        ("gcp", ("capacity=flex-start",), (6, 7.5, 9), ["CAP004"], []),
        ("azure", AZURE_BLOCK, (10, 190, 200), ["CAP004"], ["CAP005"]),
    ],
)
def test_runs_that_outlast_their_capacity(
    *,
    tmp_path: Path,
    cloud: str,
    overrides: tuple[str, ...],
    days: tuple[float, ...],
    errors: list[str],
    warnings: list[str],
) -> None:
    """An error where the middle of the band is too long, a warning where only its slow end is."""
    target = target_of(blueprint_of(tmp_path, cloud, *overrides))
    entry = option(cloud, days=days)
    assert ids(time_findings(entry, target, UNIT)) == errors
    assert ids(capacity_warnings(entry, target, UNIT)) == warnings


@pytest.mark.parametrize(
    ("cloud", "overrides", "nodes", "found"),
    [
        ("azure", (), 100, []),
        ("azure", (), 101, ["PLC012"]),
        ("azure", AZURE_BLOCK, 16, ["CAP005", "CAP009"]),
        ("azure", AZURE_BLOCK, 12, ["CAP005", "CAP006", "CAP009"]),
        ("aws", ("capacity=reservation", "reservation=cr-0123456789abcdef0"), 8, ["CAP007"]),
        ("gcp", ("instance=a4-highgpu-8g",), 8, ["CAP005"]),
        ("gcp", ("capacity=reservation", "reservation=mine"), 8, ["CAP007"]),
    ],
)
def test_what_may_go_wrong(
    tmp_path: Path, cloud: str, overrides: tuple[str, ...], nodes: int, found: list[str]
) -> None:
    """More than the default limit, sizes of blocks, kinds that are not verified, reservations that place nodes."""
    target = target_of(blueprint_of(tmp_path, cloud, *overrides))
    assert ids(capacity_warnings(option(cloud, nodes=nodes), target, UNIT)) == found


@pytest.mark.parametrize(
    ("cloud", "overrides", "found", "said"),
    [
        ("aws", (), [], ""),
        ("aws", ("zone=us-east-1f",), [], ""),
        ("aws", ("instance=p5e.48xlarge", "region=us-west-2"), ["PLC002"], "and cfn-lint 1.58.0 does not list"),
        ("aws", ("region=us-gov-east-1",), ["PLC002"], "the only source, cfn-lint 1.58.0, does not list p5.48xlarge"),
        ("azure", ("region=brazilsouth",), ["PLC002"], "the only source"),
        ("azure", ("region=malaysiawest", "zone=1"), ["PLC002", "PLC004"], ""),
        ("gcp", ("region=us-east5", "zone=us-east5-f"), ["PLC004"], "the only source that knows us-east5"),
        ("gcp", ("zone=us-central1-f",), ["PLC004"], "does not list a3-highgpu-8g in us-central1-f"),
        ("gcp", (V5P,), ["PLC005"], "not every fact of ct5p-hightpu-4t is verified"),
    ],
)
def test_places_in_doubt(tmp_path: Path, cloud: str, overrides: tuple[str, ...], found: list[str], said: str) -> None:
    """Sources that differ, a single one that leaves a region out, zones that no source has, unverified facts."""
    blueprint = blueprint_of(tmp_path, cloud, *overrides)
    warnings = place_warnings(blueprint, load_catalogue(), target_of(blueprint))
    assert [entry for entry in ids(warnings) if entry != "PLC005" or "PLC005" in found] == found
    assert all(said in warning.message for warning in warnings if warning.id in found)


def test_file_systems_that_are_not_sold(tmp_path: Path) -> None:
    """The nearest sizes are named with what they cost in a month where a price is documented."""
    asked = ("file_system.capacity=20000 GiB", "file_system.mb_per_s_per_tib=500")
    blueprint = blueprint_of(tmp_path, "aws", *asked)
    (found,) = findings_of(blueprint)
    assert found.id == "STO003"
    # 19,200 and 21,600 GiB at 0.34 USD for a GiB and month.
    assert "19,200 GiB at 500 MB/s per TiB (6,528 USD per month)" in found.help
    assert "21,600 GiB at 500 MB/s per TiB (7,344 USD per month)" in found.help
    blueprint = blueprint_of(tmp_path, "gcp", "file_system.capacity=20000 GiB")
    (found,) = findings_of(blueprint)
    assert "18,000 GiB at 500 MB/s per TiB (no price is known)" in found.help
    blueprint = blueprint_of(tmp_path, "azure", "file_system.mb_per_s_per_tib=200")
    assert ids(findings_of(blueprint)) == ["STO002"]


def test_networks_that_overlap_infiniband(tmp_path: Path) -> None:
    """172.16.0.0/16 belongs to InfiniBand on Azure; sizes without it, and other clouds, may use it."""
    blueprint = blueprint_of(tmp_path, "azure", "network.cidr=172.16.0.0/12")
    assert ids(findings_of(blueprint)) == ["ADR002"]
    blueprint = blueprint_of(tmp_path, "azure", "network.cidr=172.17.0.0/16")
    assert findings_of(blueprint) == []
    blueprint = blueprint_of(tmp_path, "aws", "network.cidr=172.16.0.0/16")
    assert findings_of(blueprint) == []


@pytest.mark.parametrize(
    ("overrides", "key", "said"),
    [
        (("network.cidr=10.132.0.0/16",), "cidr", "overlaps the services of Kubernetes, 10.132.0.0/20"),
        (("network.service_cidr=10.40.0.0/20",), "service_cidr", "overlaps the network, 10.40.0.0/16"),
        (("network.service_cidr=172.16.4.0/22",), "service_cidr", "overlaps the InfiniBand network"),
        (("network.cidr=10.8.0.0/14", "network.service_cidr=10.9.0.0/16"), "cidr", "services of Kubernetes, 10.9.0.0"),
        (("network.cidr=10.132.0.0/16", "network.service_cidr=10.200.0.0/20"), "", ""),
        (("network.cidr=172.30.0.0/16",), "cidr", "overlaps what AKS keeps for itself"),
        # Pods have addresses of the nodes' subnet: no range of an overlay is in the way.
        (("network.cidr=10.128.0.0/16",), "", ""),
    ],
)
def test_ranges_of_aks_that_overlap(tmp_path: Path, overrides: tuple[str, ...], key: str, said: str) -> None:
    """Every range of the blueprint or of the stack is held against every other, at the one that the user gave."""
    blueprint = blueprint_of(tmp_path, "azure", "scheduler=kubernetes", *overrides)
    findings = [one for one in findings_of(blueprint) if one.id == "ADR002"]
    assert [one.path[-1] for one in findings] == ([key] if key else [])
    assert all(said in one.message for one in findings)
    for one in findings:
        fixed = one.help.rpartition(" ")[2]
        kept = [entry for entry in overrides if not entry.startswith(f"network.{key}=")]
        again = blueprint_of(tmp_path, "azure", "scheduler=kubernetes", *kept, f"network.{key}={fixed}")
        assert not [each for each in findings_of(again) if each.id == "ADR002"]


def test_services_need_kubernetes(tmp_path: Path) -> None:
    """Slurm has none: the key is said to do nothing."""
    blueprint = blueprint_of(tmp_path, "azure", "network.service_cidr=10.200.0.0/20")
    still: Any = stand_in(failures=stand_in(elastic_nodes=None))
    assert ids(without_effect(blueprint, [still])) == ["EFF007"]


def _file_system(capacity_gib: int) -> Any:  # noqa: ANN401 - stands in for FileSystem
    return stand_in(capacity_gib=capacity_gib)


@pytest.mark.parametrize(
    ("cloud", "cidr", "nodes", "gib", "smallest"),
    [
        # Half of a /24 has 128 addresses; 25 are kept, 5 are of file servers.
        ("aws", "10.64.0.0/24", 98, 1200, None),
        ("aws", "10.64.0.0/24", 99, 1200, "10.64.0.0/23"),
        ("aws", "10.64.1.0/24", 99, 1200, "10.64.0.0/23"),
        ("aws", "10.64.0.0/24", 1, 120_000, "10.64.0.0/23"),
        ("aws", "10.0.0.0/8", 1, 1200, "10.0.0.0/25"),
        ("azure", "10.40.0.0/20", 2041, 4096, None),
        ("azure", "10.40.0.0/20", 2042, 4096, "10.40.0.0/19"),
        ("azure", "10.40.0.0/24", 1, 4096, "10.40.0.0/20"),
        # A sixteenth of a /24 has 16 addresses, 6 of which are kept.
        ("gcp", "10.0.0.0/24", 10, 9000, None),
        ("gcp", "10.0.0.0/24", 11, 9000, "10.0.0.0/23"),
    ],
)
def test_networks_that_are_too_small(*, cloud: str, cidr: str, nodes: int, gib: int, smallest: str | None) -> None:
    """The smallest network that fits is named; what just fits is fine."""
    found = address_findings(option(cloud, nodes=nodes, network_cidr=cidr, file_system=_file_system(gib)))
    assert ids(found) == ([] if smallest is None else ["ADR001"])
    assert all(finding.help.endswith(f"the smallest that fits is {smallest}") for finding in found)


def test_mistakes_of_a_network_are_reported() -> None:
    """Too few addresses, no room for other subnets, or larger than the cloud takes: each in its own words."""
    said = [
        address_findings(option(cloud, nodes=nodes, network_cidr=cidr, file_system=_file_system(9000)))[0].message
        for cloud, cidr, nodes in (
            ("gcp", "10.0.0.0/24", 11),
            ("aws", "10.64.0.0/24", 99),
            ("azure", "10.40.0.0/24", 1),
            ("aws", "10.0.0.0/8", 1),
        )
    ]
    assert said == [
        "10.0.0.0/24 gives 10 addresses to nodes, but 11 nodes need one each",
        (
            "10.64.0.0/24 gives 103 addresses to nodes and file servers, but 111 are needed: 99 for nodes, one each, "
            "and 12 for file servers"
        ),
        "10.40.0.0/24 is too small for the subnets beside the nodes', which need a /20",
        "10.0.0.0/8 is larger than a network of aws may be (/16)",
    ]


@pytest.mark.parametrize(("nodes", "smallest"), [(64, None), (65, "10.40.0.0/19")])
def test_pods_of_aks_take_addresses_too(nodes: int, smallest: str | None) -> None:
    """Half of a /20 has 2,048 addresses, 7 are kept; each of the nodes and two system nodes takes 31 in advance."""
    asked = option("azure", nodes=nodes - 1, network_cidr="10.40.0.0/20", file_system=_file_system(4096))
    asked.scheduler = "kubernetes"
    found = address_findings(asked)
    assert ids(found) == ([] if smallest is None else ["ADR001"])
    assert all("of them for system work, 31 with pods each" in one.message for one in found)
    assert all(one.help.endswith(f"the smallest that fits is {smallest}") for one in found)


@given(
    cloud=st.sampled_from(sorted(RULES)),
    prefix=st.integers(8, 30),
    nodes=st.integers(1, 4096),
    gib=st.integers(1200, 200_000),
)
def test_the_network_that_is_named_fits_and_no_smaller_one_does(
    *, cloud: str, prefix: int, nodes: int, gib: int
) -> None:
    """Asking for the network of the advice is accepted; one bit less is refused."""

    def findings(network: IPv4Network) -> list[Finding]:
        return address_findings(option(cloud, nodes=nodes, network_cidr=str(network), file_system=_file_system(gib)))

    for finding in findings(IPv4Network((10 << 24, prefix))):
        if "the smallest that fits is " not in finding.help:
            continue
        named = IPv4Network(finding.help.rpartition(" ")[2])
        assert findings(named) == []
        assert findings(next(named.subnets()))


@pytest.mark.parametrize(
    ("overrides", "found"),
    [
        ((".reliability.checkpoint.flush_every=10 min",), ["EFF001"]),
        ((".reliability.checkpoint.flush_every=10 min", ".reliability.checkpoint.strategy=memory"), []),
        ((".reliability.checkpoint.changed=0.5",), ["EFF002"]),
        ((".reliability.checkpoint.changed=0.5", ".reliability.checkpoint.strategy=incremental"), []),
        ((".data.local_nvme=30 TB", ".data.local_nvme_bandwidth=20 GB/s"), ["EFF003", "EFF003"]),
        ((".data.local_nvme=30 TB", ".data.staging=nvme"), []),
        ((".reliability.spot_interruptions_per_1000_node_days=5",), ["EFF004"]),
        ((".reliability.spot_interruptions_per_1000_node_days=5", "capacity=spot"), []),
        ((".reliability.elastic=true",), ["EFF005"]),
        ((".cluster.host_prefix=gpu",), ["EFF006"]),
        ((".cluster.tags={owner: research}", ".cluster.time_to_live=7 days"), []),
    ],
)
def test_keys_without_effect(tmp_path: Path, overrides: tuple[str, ...], found: list[str]) -> None:
    """A key that changes nothing with what stands beside it is a warning; with what it needs it is none."""
    blueprint = blueprint_of(tmp_path, "aws", *overrides)
    still = stand_in(failures=stand_in(elastic_nodes=None))
    options: Any = [still]
    warnings = [*without_effect_on_training(blueprint, options), *without_effect(blueprint, options)]
    assert ids(warnings) == found
    assert all(warning.path and warning.help for warning in warnings)


def test_elastic_has_an_effect_where_one_cluster_can_go_on(tmp_path: Path) -> None:
    """One option that keeps some of its throughput is enough."""
    blueprint = blueprint_of(tmp_path, "aws", ".reliability.elastic=true")
    options: Any = [stand_in(failures=stand_in(elastic_nodes=count)) for count in (None, 7)]
    assert without_effect_on_training(blueprint, options) == []


def test_what_only_clouds_have(tmp_path: Path) -> None:
    """Tags and times after which rented nodes stop do nothing for owned ones."""
    path = tmp_path / "owned.yaml"
    path.write_text(
        "name: small\n"
        "workload: {kind: train, model: llama-2-7b, tokens: 1e9, sequence_length: 2048, global_batch: 512}\n"
        "targets: {onprem: {system: dgx-h100}}\n"
        "cluster: {tags: {owner: research}, time_to_live: 7 days, stop_when_idle: 2 h, host_prefix: gpu}\n"
    )
    assert ids(without_effect(load(path).blueprint, [])) == ["EFF006"] * 3


def test_a_cluster_is_chosen_that_ends_while_its_capacity_lasts(tmp_path: Path) -> None:
    """Within a goal of months, flex-start is planned so that the run ends in its seven days, and is no finding."""
    path = tmp_path / "blueprint.yaml"
    path.write_text(
        "name: small\n"
        "workload: {kind: train, model: llama-2-7b, tokens: 500e9, sequence_length: 2048, global_batch: 512}\n"
        "goals: {finish_within: 90 days}\n"
        "targets:\n  gcp: {instance: a3-megagpu-8g, region: us-central1}\n"
    )
    slow = plan_of(path, "targets.gcp.max_nodes=8").options[0]
    assert slow.performance.calendar_days_high > 7
    plan = plan_of(path, "targets.gcp.capacity=flex-start")
    assert plan.options[0].performance.calendar_days_high <= 7
    assert [finding.id for finding in plan.findings] == []
    late = plan_of(path, "targets.gcp.capacity=flex-start", "targets.gcp.max_nodes=4")
    assert [finding.id for finding in late.findings] == ["CAP004"]
    assert late.options[0].performance.meets_goal


@pytest.mark.parametrize(
    ("overrides", "found"),
    [
        (("network.cidr=10.244.0.0/16", "scheduler=kubernetes"), "the pods of Kubernetes"),
        (("network.cidr=10.132.0.0/16", "scheduler=kubernetes"), "the services of Kubernetes"),
        (("network.cidr=10.133.0.0/16", "scheduler=kubernetes"), ""),
        (("network.cidr=10.128.0.0/16",), ""),
    ],
)
def test_a_network_leaves_the_addresses_of_pods_free(tmp_path: Path, overrides: tuple[str, ...], found: str) -> None:
    """On AKS pods and services have ranges of their own."""
    blueprint = blueprint_of(tmp_path, "azure", *overrides)
    findings = findings_of(blueprint)
    assert ids(findings) == (["ADR002"] if found else [])
    assert all(found in finding.message for finding in findings)


def test_a_file_system_on_request_is_reported(tmp_path: Path) -> None:
    """What the provider gives only after a support request is not planned in silence."""
    for size, found in (("128 TiB", []), ("132 TiB", ["STO005"])):
        overrides = (f"file_system.capacity={size}", "file_system.mb_per_s_per_tib=500")
        blueprint_of(tmp_path, "azure")
        plan = plan_of(tmp_path / "blueprint.yaml", *(f"targets.azure.{entry}" for entry in overrides))
        assert [entry for entry in ids(plan.warnings) if entry.startswith("STO")] == found


def test_pods_of_eks_take_addresses_of_the_network() -> None:
    """A /23 is enough for 200 nodes of Slurm; pods take twelve addresses of each node more."""
    system = stand_in(capacity_gib=4800)
    few = option("aws", nodes=200, network_cidr="10.0.0.0/23", file_system=system)
    assert address_findings(few) == []
    pods = option("aws", nodes=200, network_cidr="10.0.0.0/23", file_system=system, scheduler="kubernetes")
    (finding,) = address_findings(pods)
    assert "2,600 for nodes, 13 with pods each, and 8 for file servers" in finding.message
    assert "10.0.0.0/19" in finding.help
