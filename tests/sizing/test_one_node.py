"""Nodes between which no bandwidth is known: one is sized alone."""

from dataclasses import replace

import pytest

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.lookup import node_type_of_instance
from clusterwright.catalog.records import NodeType
from clusterwright.errors import InputError, MissingFactError, RuleError
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.training.search import search

CALIBRATION = load_calibration()


@pytest.fixture
def small(job: TrainingJob) -> TrainingJob:
    """A model of 24 layers of 2,048, which one node holds."""
    return replace(
        job,
        model=replace(job.model, layers=24, hidden=2048, heads=16, kv_heads=16, ffn_hidden=8192),
        tokens=1e9,
        global_batch_sequences=64,
    )


def test_only_one_node_is_sized(small: TrainingJob, h100: NodeType) -> None:
    """Without a bandwidth between nodes the front is the point of one node, and it is the one with a bandwidth."""
    alone = replace(h100, network_bytes_per_s_per_gpu_one_way=0.0)
    (point,) = search(job=small, node=alone, calibration=CALIBRATION).points
    first = search(job=small, node=h100, calibration=CALIBRATION).points[0]
    assert (point.nodes, first.nodes) == (1, 1)
    # All traffic stays within NVLink.
    assert point.calendar_days == pytest.approx(first.calendar_days, rel=1e-9)


def test_what_one_node_does_not_hold_says_why_no_more_are_sized(job: TrainingJob, h100: NodeType) -> None:
    """GPT-3 on one DGX H100 does not fit, and the message says that several cannot be sized."""
    with pytest.raises(RuleError) as refused:
        search(job=job, node=replace(h100, network_bytes_per_s_per_gpu_one_way=0.0), calibration=CALIBRATION)
    (finding,) = refused.value.findings
    assert finding.id == "MEM001"
    assert "no bandwidth between several dgx-h100 is known, so one is sized" in finding.message
    assert "nodes, or" not in (finding.help or "").replace("choose nodes with a GPU fabric, or", "")


def test_accelerators_outside_a_scale_up_domain_exchange_over_the_host(h100: NodeType) -> None:
    """Pairs of cards in one node reach the other pairs by PCI Express; where that is unknown, nothing is guessed."""
    pairs = replace(h100.accelerator, scale_up_domain_gpus=2, host_link_bytes_per_s_one_way=63e9)
    node = replace(h100, accelerator=pairs, network_bytes_per_s_per_gpu_one_way=0.0)
    assert device_of(node, precision="bf16").network_bytes_per_s == 63e9
    unknown = replace(node, accelerator=replace(pairs, host_link_bytes_per_s_one_way=None))
    with pytest.raises(MissingFactError, match="between the accelerators of dgx-h100"):
        device_of(unknown, precision="bf16")


def test_links_of_an_unknown_rate_join_nothing(h100: NodeType) -> None:
    """Eight accelerators in one domain, of which nobody states a rate, are refused; one alone exchanges nothing."""
    unrated = replace(h100.accelerator, scale_up_bytes_per_s_per_gpu_one_way=None, host_link_bytes_per_s_one_way=None)
    node = replace(h100, accelerator=unrated, network_bytes_per_s_per_gpu_one_way=0.0)
    with pytest.raises(MissingFactError, match="between the accelerators of dgx-h100"):
        device_of(node, precision="bf16")
    assert device_of(replace(node, gpus=1), precision="bf16").network_bytes_per_s > 0


@pytest.mark.parametrize("name", sorted(load_catalogue().instances))
def test_no_node_of_the_catalogue_trains_for_ages(small: TrainingJob, name: str) -> None:
    """A small run on each instance type takes less than a year on the fewest nodes, or a fact is missing."""
    node = node_type_of_instance(load_catalogue(), name)
    try:
        found = search(job=replace(small, max_nodes=1), node=node, calibration=CALIBRATION)
    except (MissingFactError, InputError, RuleError):
        return
    assert found.points[0].calendar_days < 365
