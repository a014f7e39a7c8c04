"""What the user holds is held inside the search, and where nothing is left the finding names what stands in the way."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.blueprint.sizes import Multiple
from clusterwright.catalog.records import NodeType
from clusterwright.errors import RuleError
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.records.job import Front, Layout, TrainingJob
from clusterwright.sizing.training.constraints import allowed_nodes, constraints_of
from clusterwright.sizing.training.layouts import enumerate_layouts, gpu_counts, layout_at
from clusterwright.sizing.training.search import search

CALIBRATION = load_calibration()
MULTIPLES = st.none() | st.builds(Multiple, of=st.integers(1, 6)) | st.just(Multiple(power_of_two=True))


def limited(job: TrainingJob, **held: Any) -> TrainingJob:  # noqa: ANN401 - fields of the job
    """Return the shipped job on few nodes, with something held."""
    return replace(job, global_batch_sequences=96, **{"max_nodes": 24, **held})


def front(job: TrainingJob, node: NodeType) -> Front:
    """Return the front."""
    return search(job=job, node=node, calibration=CALIBRATION)


@pytest.mark.parametrize(
    ("held", "of"),
    [
        ({"max_tensor_parallel": 4}, lambda layout: layout.tp <= 4),
        ({"data_parallel": 3}, lambda layout: layout.dp == 3),
        ({"context_parallel": 2}, lambda layout: layout.cp == 2),
        ({"data_must_be": Multiple(of=3)}, lambda layout: layout.dp % 3 == 0),
        ({"data_must_be": Multiple(power_of_two=True)}, lambda layout: layout.dp in (1, 2, 4, 8, 16, 32, 64)),
        ({"tensor_parallel": 8, "pipeline_parallel": 12}, lambda layout: (layout.tp, layout.pp) == (8, 12)),
    ],
)
def test_every_point_holds_what_is_held(job: TrainingJob, h100: NodeType, held: dict[str, Any], of: Any) -> None:  # noqa: ANN401
    """Bounds and fixed sizes hold for every layout of the front, short sequences split over two ranks included."""
    points = front(limited(job, **held), h100).points
    assert points
    assert all(of(point.layout) for point in points)


def test_expert_parallel_can_be_held(job: TrainingJob, h100: NodeType) -> None:
    """Of eight experts over four ranks every layout has two on each."""
    model = replace(
        job.model, layers=8, hidden=2048, heads=16, kv_heads=16, ffn_hidden=8192, experts=8, experts_per_token=2
    )
    points = front(limited(job, model=model, expert_parallel=4), h100).points
    assert {point.layout.ep for point in points} == {4}


@settings(max_examples=25, deadline=None)
@given(least=st.none() | st.integers(1, 30), must_be=MULTIPLES, spare=st.integers(0, 3))
def test_sizes_are_bound_inside_the_search(
    *, job: TrainingJob, h100: NodeType, least: int | None, must_be: Multiple | None, spare: int
) -> None:
    """The front is that of the allowed sizes alone: each size's best, and of these what no other beats."""
    bound = limited(job, min_nodes=least, nodes_must_be=must_be, nodes_beside=spare)
    best: dict[int, float] = {}
    for nodes in range(max(least or 1, 1), 25):
        if must_be is None or must_be.holds(nodes + spare):
            try:
                points = front(limited(job, min_nodes=nodes, max_nodes=nodes), h100).points
            except RuleError:
                continue
            best[nodes] = points[0].calendar_days
    kept = {n: day for n, day in best.items() if all(day < other for m, other in best.items() if m < n)}
    try:
        found = {point.nodes: point.calendar_days for point in front(bound, h100).points}
    except RuleError:
        found = {}
    assert found == kept


@given(least=st.none() | st.integers(1, 40), must_be=MULTIPLES, spare=st.integers(0, 5), most=st.integers(0, 40))
def test_allowed_sizes_by_their_definition(
    *, job: TrainingJob, least: int | None, must_be: Multiple | None, spare: int, most: int
) -> None:
    """A size is allowed if it is no smaller than asked and its nodes, spares included, follow the rule."""
    allowed = allowed_nodes(replace(job, min_nodes=least, nodes_must_be=must_be, nodes_beside=spare), most=most)
    assert allowed.tolist() == [
        nodes >= max(least or 1, 1) and (must_be is None or must_be.holds(nodes + spare)) for nodes in range(most + 1)
    ]


def test_without_constraints_nothing_is_left_out(job: TrainingJob, h100: NodeType) -> None:
    """A bound that every layout meets changes nothing."""
    plain = limited(job)
    wide = limited(job, min_nodes=1, max_tensor_parallel=64, data_must_be=Multiple(of=1), nodes_must_be=Multiple(of=1))
    assert front(plain, h100).points == front(wide, h100).points


@pytest.mark.parametrize(
    ("held", "words", "path"),
    [
        ({"data_parallel": 5}, "data parallel 5 as given", ("workload", "parallelism", "data")),
        ({"tensor_parallel": 5}, "tensor parallel 5 as given", ("workload", "parallelism", "tensor")),
        ({"pipeline_parallel": 5}, "pipeline parallel 5 as given", ("workload", "parallelism", "pipeline")),
        (
            {"data_must_be": Multiple(of=5)},
            "data parallel a multiple of 5",
            ("workload", "parallelism", "data_must_be"),
        ),
        ({"min_nodes": 25}, "at least 25 nodes", ("targets", "this target", "min_nodes")),
        ({"nodes_must_be": Multiple(of=23)}, "nodes a multiple of 23", ("targets", "this target", "nodes_must_be")),
        ({"expert_parallel": 2}, "expert parallel 2", ("workload", "parallelism", "expert")),
        ({"micro_batch": 5}, "micro-batch 5", ("workload", "parallelism", "micro_batch")),
    ],
)
def test_the_constraint_in_the_way_is_named(
    job: TrainingJob, h100: NodeType, held: dict[str, Any], words: str, path: tuple[str, ...]
) -> None:
    """`LAY001` says what is held, stands at what is to blame, and offers to change it."""
    with pytest.raises(RuleError) as caught:
        front(limited(job, **held), h100)
    (finding,) = caught.value.findings
    assert finding.id == "LAY001"
    assert words in finding.message
    assert finding.path == path
    assert ".".join(path) in finding.help


def test_only_what_is_to_blame_is_offered(job: TrainingJob, h100: NodeType) -> None:
    """Of several things held, only the one without which there are layouts is offered."""
    with pytest.raises(RuleError) as caught:
        front(limited(job, data_parallel=5, max_tensor_parallel=8, min_nodes=2), h100)
    (finding,) = caught.value.findings
    assert finding.help == "there are layouts without workload.parallelism.data: change or leave it out"


def test_memory_findings_name_what_is_held(job: TrainingJob, h100: NodeType) -> None:
    """Where the layout that is held does not fit, `MEM001` offers to leave it to the search."""
    with pytest.raises(RuleError) as caught:
        front(limited(job, max_tensor_parallel=1, context_parallel=1, pipeline_parallel=1, max_nodes=1), h100)
    (finding,) = caught.value.findings
    assert finding.id == "MEM001"
    assert "leave max_tensor, context, pipeline of workload.parallelism to the search" in finding.help


def test_nodes_are_reported_with_the_spares(job: TrainingJob) -> None:
    """The user counts spares too: seven training nodes and one spare are told as eight."""
    words = [entry.words for entry in constraints_of(replace(job, min_nodes=7, max_nodes=9, nodes_beside=1))]
    assert words == ["at least 8 nodes", "at most 10 nodes"]


def test_a_fixed_tensor_size_may_be_as_wide_as_the_scale_up_domain(job: TrainingJob, h100: NodeType) -> None:
    """What is searched ends at 16; what is fixed ends at the domain."""
    wide = replace(h100, gpus=4, accelerator=replace(h100.accelerator, scale_up_domain_gpus=72))
    held = enumerate_layouts(limited(job, tensor_parallel=32, max_nodes=64), wide, max_nodes=64)
    assert held is not None
    one: Layout = layout_at(held, 0)
    assert one.tp == 32
    assert np.all(gpu_counts(held) % 4 == 0)
