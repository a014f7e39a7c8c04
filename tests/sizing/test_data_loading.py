"""Reading, preparing and holding ready: worked examples, limits, and what never happens."""

import csv
import math
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright import assets
from clusterwright.catalog.data_loading import LoadingDefaults, loading_defaults
from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.lookup import node_type_of_instance, node_type_of_system
from clusterwright.catalog.records import NodeType
from clusterwright.errors import RuleError
from clusterwright.sizing.columns import Layouts
from clusterwright.sizing.feeding import feed as data_feed
from clusterwright.sizing.feeding import loading as data_loading
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.hardware.software import stacks_of
from clusterwright.sizing.model.shapes import shape_of_job
from clusterwright.sizing.records.job import StepTime, TrainingJob
from clusterwright.sizing.records.loading import DataFeed, Loading
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.training import layouts
from clusterwright.sizing.training.search import search
from clusterwright.sizing.training.timing import Timed, _with_waiting, time_all

NUMBERS = load_calibration().reliability()


def layout(**sizes: float) -> Layouts:
    """Return TP 4 × PP 8 × DP 6 with 256 micro-batches of one sequence, with sizes replaced."""
    usual = {
        "tp": 4,
        "sp": 1,
        "pp": 8,
        "vpp": 1,
        "dp": 6,
        "cp": 1,
        "zero_stage": 1,
        "micro_batch": 1,
        "micro_batches": 256,
        "recompute": 1,
    }
    return Layouts(**{name: float(value) for name, value in (usual | sizes).items()})


def step(total_s: float, *, pause_s: float = 0.0) -> StepTime:
    """Return a step of so many seconds, of which so many are the optimizer's."""
    return StepTime(
        compute_s=total_s - pause_s,
        tensor_parallel_s=0,
        pipeline_bubble_s=0,
        pipeline_transfer_s=0,
        data_parallel_s=0,
        optimizer_s=pause_s,
    )


def loaded(job: TrainingJob, **choices: object) -> TrainingJob:
    """Return the job with its loading replaced."""
    return replace(job, loading=Loading(**choices))  # type: ignore[arg-type]


def fed(
    job: TrainingJob,
    node: NodeType,
    *,
    step_s: float = 10.0,
    pause_s: float | None = None,
    reliability: Reliability = NUMBERS,
    **sizes: float,
) -> DataFeed:
    """Return the record of one layout's loading; the pause is 1 s of a step of 10 s, else none."""
    pause = (1.0 if step_s == 10 else 0.0) if pause_s is None else pause_s
    steps = [step(step_s, pause_s=pause)]
    ((whole, found),) = data_feed.fed(job, node, layout(**sizes), steps=steps, reliability=reliability)
    assert whole.data_loading_s == found.stall_s
    return found


def waits(job: TrainingJob, node: NodeType, *, step_s: float = 10.0, pause_s: float = 1.0, **sizes: float) -> float:
    """Return the wait of one layout in seconds."""
    return float(data_loading.waits_s(job, node, layout(**sizes), step_s=step_s, pause_s=pause_s))


def test_worked_example_of_images(job: TrainingJob, h100: NodeType) -> None:
    """8 ranks of one node, each with 8 processes of 100 images/s, take 8 × 800 a second; a batch of 64 each is 80 ms.

    The loader of the course's example: a batch of 64 per GPU, 8 processes, 2 batches ahead. With images of 150 kB that
    is 0.96 GB/s for the node, and a GPU that takes the batch in 50 ms waits the other 30 ms.
    """
    images = replace(
        job,
        sequence_length=1,
        global_batch_sequences=512,
        loading=Loading(bytes_per_token=150e3, workers=8, prefetch_batches=2, worker_bytes_per_s=100 * 150e3),
    )
    one_gpu = {"tp": 1, "pp": 1, "dp": 8, "micro_batch": 64, "micro_batches": 1}
    assert waits(images, h100, step_s=0.05, pause_s=0.0, **one_gpu) == pytest.approx(0.03)
    assert waits(images, h100, step_s=0.08, pause_s=0.0, **one_gpu) == pytest.approx(0.0)
    feed = fed(images, h100, step_s=0.05, **one_gpu)
    assert feed.stall_s == pytest.approx(0.03)
    assert feed.read_bytes_per_s_per_node == pytest.approx(8 * 64 * 150e3 / 0.08)
    assert feed.read_bytes_per_s_per_node == pytest.approx(0.96e9)
    assert feed.workers_needed == math.ceil(8 * 0.08 / 0.05)
    assert feed.limited_by == "workers"
    assert feed.prefetch_bytes_per_node == 8 * 8 * 2 * 64 * 150e3


def test_text_never_waits(job: TrainingJob, h100: NodeType) -> None:
    """256 sequences of 4 kB per rank and step take two processes 5 ms: nothing beside a step of seconds."""
    assert waits(job, h100) == 0
    prepared = data_loading.preparation(data_loading.rates_of(job, h100), job, layout(), node=h100)
    assert prepared.workers_s == pytest.approx(256 * 4096 / 2e8)


def test_copies_follow_the_layout() -> None:
    """Each context-parallel rank reads a sample; without a pipeline one stage does, with one the first and the last."""
    assert data_loading.copies(layout(pp=1)) == 1
    assert data_loading.copies(layout(pp=2)) == 2
    assert data_loading.copies(layout(pp=8, cp=4)) == 8
    assert data_loading.ranks_per_node(layout(tp=1), gpus_per_node=8) == 8
    assert data_loading.ranks_per_node(layout(tp=8), gpus_per_node=8) == 1
    assert data_loading.ranks_per_node(layout(tp=16), gpus_per_node=8) == 1


HEAVY = {"bytes_per_token": 20e3, "worker_bytes_per_s": 50e6}


def test_without_prefetching_all_of_it_is_waited_for(job: TrainingJob, h100: NodeType) -> None:
    """No process, or nothing held ready: reading and preparing follow each other, and training waits for both."""
    each = 256 * 2048 * 20e3
    given_rate = {**HEAVY, "node_read_bytes_per_s": 10e9}
    alone = waits(loaded(job, **given_rate, workers=0), h100)
    assert alone == pytest.approx(each / 50e6 + 2 * each / 10e9)
    assert waits(loaded(job, **given_rate, workers=4, prefetch_batches=0), h100) == pytest.approx(
        each / 200e6 + 2 * each / 10e9
    )


def test_enough_processes_and_bandwidth_end_the_wait(job: TrainingJob, h100: NodeType) -> None:
    """A thousand processes without a limit on threads or reading leave no wait; ten leave what they do not prepare."""
    assert waits(loaded(job, **HEAVY, workers=1024), h100) == 0
    each_s = 256 * 2048 * 20e3 / 50e6 / 10
    ready = 20 / 256
    assert waits(loaded(job, **HEAVY, workers=10), h100) == pytest.approx(each_s - 9.0 - min(1.0, ready * each_s))
    threads = replace(h100, cpu_threads=20)
    assert waits(loaded(job, **HEAVY, workers=1024), threads) == pytest.approx(
        waits(loaded(job, **HEAVY, workers=10), h100)
    )


def test_the_slowest_of_processes_node_and_storage_sets_the_pace(job: TrainingJob, h100: NodeType) -> None:
    """A node with two loading ranks, or all 12 of them from shared storage: each as it is given."""
    each = 256 * 2048 * 20e3
    node = loaded(job, **HEAVY, workers=1024, node_read_bytes_per_s=1e9)
    storage = loaded(job, **HEAVY, workers=1024, shared_read_bytes_per_s=4e9)
    assert waits(node, h100, pause_s=0.0) == pytest.approx(2 * each / 1e9 - 10)
    assert waits(storage, h100, pause_s=0.0) == pytest.approx(12 * each / 4e9 - 10)
    staged = loaded(job, **HEAVY, workers=1024, shared_read_bytes_per_s=4e9, staged=True, local_read_bytes_per_s=50e9)
    assert waits(staged, h100, pause_s=0.0) == 0
    for asked, limit in ((node, "node"), (storage, "storage")):
        assert fed(asked, h100).limited_by == limit


def test_staging_copies_each_part_once(job: TrainingJob, h100: NodeType) -> None:
    """600 GB over 6 data-parallel ranks, 2 to a node: 200 GB for each of 6 loading nodes, 1.2 TB at 4 GB/s."""
    staged = loaded(job, staged=True, shared_read_bytes_per_s=4e9)
    feed = fed(staged, h100)
    assert feed.staged_bytes_per_node == pytest.approx(200e9)
    assert feed.staging_s == pytest.approx(1.2e12 / 4e9)
    assert feed.startup_s == pytest.approx(300.0)
    narrow = loaded(job, staged=True, shared_read_bytes_per_s=4e9, node_read_bytes_per_s=0.1e9)
    slow = fed(narrow, h100)
    assert slow.staging_s == pytest.approx(200e9 / 0.1e9)
    assert feed.shared_s is None
    assert feed.node_s is None
    assert feed.shared_bytes_per_s_needed == 0
    assert fed(loaded(job), h100).shared_bytes_per_s_needed > 0


def test_all_of_the_data_is_the_most_that_is_staged(job: TrainingJob, h100: NodeType) -> None:
    """One data-parallel rank per node, or more ranks on a node than there are parts, never copy more than all."""
    rates = data_loading.rates_of(loaded(job, staged=True), h100)
    for sizes in ({"dp": 1}, {"dp": 2, "tp": 1}, {"dp": 1, "cp": 8}):
        held = data_loading.staged_bytes(rates, layout(**sizes), dataset_bytes=1e12, gpus_per_node=8)
        assert held == pytest.approx(1e12), sizes


def test_restarts_take_longer_where_storage_is_slower_than_planned(job: TrainingJob, h100: NodeType) -> None:
    """2.4 TB at 10 GB/s are 240 s, twice the 120 s that a restart holds; at 20 GB/s nothing is added."""
    whole = replace(NUMBERS, checkpoint_bytes=2.4e12)
    slow, fast = (loaded(job, shared_read_bytes_per_s=rate) for rate in (10e9, 20e9))
    assert fed(slow, h100, reliability=whole).restart_s == pytest.approx(120.0)
    assert fed(fast, h100, reliability=whole).restart_s == 0
    assert fed(job, h100, reliability=whole).restart_s == 0
    memory = replace(whole, strategy="memory")
    assert fed(slow, h100, reliability=memory).restart_s == pytest.approx(12.0)


def test_restarts_copy_the_part_of_a_replaced_node(job: TrainingJob, h100: NodeType) -> None:
    """200 GB at 4 GB/s after 78 % of the interruptions."""
    staged = loaded(job, staged=True, node_read_bytes_per_s=4e9, shared_read_bytes_per_s=40e9)
    assert fed(staged, h100).restart_s == pytest.approx(0.78 * 50)


def test_a_long_first_batch_is_part_of_every_start(job: TrainingJob, h100: NodeType) -> None:
    """A micro-batch of 20.48 GB that one process prepares at 1 GB/s takes 20.48 s, 10 of which a start holds."""
    asked = loaded(job, bytes_per_token=1e7, worker_bytes_per_s=1e9, shared_read_bytes_per_s=1e18)
    feed = fed(asked, h100, step_s=1000)
    assert feed.first_batch_s == pytest.approx(20.48)
    assert feed.startup_s == pytest.approx(10.48)
    assert feed.restart_s == pytest.approx(10.48)


def test_the_search_counts_what_the_plan_tells(job: TrainingJob, h100: NodeType) -> None:
    """Waiting and starts of many layouts are those of each layout's record."""
    whole = replace(NUMBERS, checkpoint_bytes=2.4e12)
    asked = loaded(job, **HEAVY, workers=8, staged=True, local_read_bytes_per_s=5e9, shared_read_bytes_per_s=10e9)
    dp, tp = np.array([1.0, 2.0, 6.0, 24.0]), np.array([8.0, 4.0, 2.0, 1.0])
    several = replace(layout(), dp=dp, tp=tp)
    stall = data_loading.waits_s(asked, h100, several, step_s=10.0, pause_s=1.0)
    starts = data_feed.starts_of(asked, h100, several, step_s=10.0 + stall, reliability=whole)
    for index in range(dp.size):
        feed = fed(asked, h100, reliability=whole, dp=dp[index], tp=tp[index])
        assert feed.stall_s == pytest.approx(np.asarray(stall)[index])
        assert feed.startup_s == pytest.approx(np.asarray(starts.startup_s)[index])
        assert feed.restart_s == pytest.approx(np.asarray(starts.restart_s)[index])
    usual = data_feed.starts_of(job, h100, several, step_s=10.0, reliability=whole)
    assert not np.any(usual.startup_s)
    assert not np.any(usual.restart_s)


@given(
    per_token=st.floats(min_value=1.0, max_value=1e6),
    computing=st.floats(min_value=1e-3, max_value=1e3),
    pause=st.floats(min_value=0.0, max_value=10.0),
    network=st.floats(min_value=1e8, max_value=1e12),
)
def test_what_cannot_wait_does_not(
    *, per_token: float, computing: float, pause: float, network: float, job: TrainingJob, h100: NodeType
) -> None:
    """Where the cheap bound says that no layout can wait, none does."""
    asked = loaded(job, bytes_per_token=per_token, node_read_bytes_per_s=network)
    if data_feed.may_wait(asked, h100, fewest_ranks=2, computing_s=computing):
        return
    for sizes in ({"dp": 2, "tp": 1}, {"dp": 2, "tp": 8, "cp": 2}, {"dp": 48, "tp": 4}):
        assert waits(asked, h100, step_s=computing + pause, pause_s=pause, **sizes) == 0, sizes


def with_drives(node: NodeType, size: float) -> NodeType:
    """Return the node type with local drives of so many bytes."""
    return replace(node, local_nvme_bytes=size)


def test_layouts_without_room_for_their_part_are_not_taken(job: TrainingJob, h100: NodeType) -> None:
    """With drives of 100 GB only layouts are left whose nodes hold at most that of the 600 GB; with none, `DAT002`."""
    staged = replace(loaded(job, staged=True), tensor_parallel=4, pipeline_parallel=8, micro_batch=1, max_nodes=48)
    calibration = load_calibration()
    front = search(job=staged, node=with_drives(h100, 100e9), calibration=calibration)
    assert front.points
    assert all(point.data.staged_bytes_per_node <= 100e9 for point in front.points)
    roomy = search(job=staged, node=with_drives(h100, 30e12), calibration=calibration)
    assert any(point.data.staged_bytes_per_node > 100e9 for point in roomy.points)
    with pytest.raises(RuleError) as caught:
        search(job=staged, node=with_drives(h100, 1e9), calibration=calibration)
    assert [finding.id for finding in caught.value.findings] == ["DAT002"]


def test_a_search_with_slow_loading_takes_the_layout_that_loads_faster(job: TrainingJob, h100: NodeType) -> None:
    """Where loading sets the pace, every point's days are those of the fastest layout on its nodes, waiting included.

    More data-parallel ranks load more, so that what is fastest without waiting is not taken.
    """
    calibration = load_calibration()
    narrow = replace(job, max_nodes=48)
    plain = search(job=narrow, node=h100, calibration=calibration)
    slow = search(job=loaded(narrow, bytes_per_token=20e3, workers=4), node=h100, calibration=calibration)
    best = {point.nodes: point for point in plain.points}
    both = [(point, best[point.nodes]) for point in slow.points if point.nodes in best]
    assert both
    assert all(point.calendar_days >= other.calendar_days * (1 - 1e-9) for point, other in both)
    assert any(point.layout.dp > other.layout.dp for point, other in both)


def timed_of(job: TrainingJob, node: NodeType) -> Timed:
    """Return all layouts that the search times for up to 48 nodes."""
    calibration = load_calibration()
    space = layouts.enumerate_space(job, node, max_nodes=48)
    assert space is not None
    return time_all(
        job,
        node,
        shape_of_job(job),
        device_of(node, precision=job.precision),
        space,
        stacks=stacks_of(calibration, node, job),
        reliability=NUMBERS,
    )


def test_the_days_that_the_search_compares_are_those_of_its_points(job: TrainingJob, h100: NodeType) -> None:
    """Waiting, failures and starts count in the comparison of layouts as in the record of the fastest one."""
    narrow = replace(job, max_nodes=48)
    for asked in (narrow, loaded(narrow, bytes_per_token=20e3, workers=4)):
        timed = timed_of(asked, h100)
        for point in search(job=asked, node=h100, calibration=load_calibration()).points:
            days = timed.days[timed.nodes == point.nodes]
            assert point.calendar_days == pytest.approx(float(days.min()), rel=1e-9)


def test_where_training_can_wait_every_way_of_recomputing_is_timed(job: TrainingJob, h100: NodeType) -> None:
    """More to compute can hide more of the gradient exchange, in whose pause loading stops; else the least is timed."""
    plain, slow = timed_of(job, h100), timed_of(loaded(job, bytes_per_token=20e3, workers=4), h100)
    assert np.unique(plain.row).size == plain.row.size
    assert np.unique(slow.row).size < slow.row.size


SECONDS = st.floats(min_value=1e-3, max_value=1e4)
SHARES = st.floats(min_value=0.0, max_value=1.0)


@given(prepare=SECONDS, running=SECONDS, pause=st.floats(min_value=0, max_value=1e3), ready=SHARES)
def test_the_wait_lies_between_nothing_and_all(prepare: float, running: float, pause: float, ready: float) -> None:
    """With prefetching the wait is never negative, never more than without, and falls with what is held ready."""
    whole = running + pause

    def wait(held: float) -> float:
        return float(data_loading.wait_s(prepare_s=prepare, step_s=whole, pause_s=pause, ready=held, ahead=True))

    assert 0 <= wait(ready) <= prepare
    assert wait(1.0) <= wait(ready) <= wait(0.0)
    assert wait(1.0) == pytest.approx(max(prepare - whole, 0.0), abs=1e-9 * (whole + prepare))
    longest = data_loading.longest_preparation_s(step_s=whole, pause_s=pause, ready=ready)
    at_longest = data_loading.wait_s(prepare_s=longest, step_s=whole, pause_s=pause, ready=ready, ahead=True)
    assert at_longest == pytest.approx(0.0, abs=1e-9 * whole)
    beyond = data_loading.wait_s(prepare_s=1.01 * longest, step_s=whole, pause_s=pause, ready=ready, ahead=True)
    assert beyond > 0


@given(
    one=st.floats(min_value=1e-3, max_value=1e3),
    running=st.floats(min_value=0.1, max_value=1e3),
    pause=st.floats(min_value=0, max_value=100),
    per_process=st.floats(min_value=1e-4, max_value=1.0),
)
def test_the_processes_proposed_are_the_fewest(one: float, running: float, pause: float, per_process: float) -> None:
    """With as many training does not wait; with one fewer it does."""
    whole = running + pause
    count = data_loading.workers_needed(one, step_s=whole, pause_s=pause, per_process=per_process)
    assert count is None or count >= 1

    def wait(processes: int) -> float:
        return float(
            data_loading.wait_s(
                prepare_s=one / processes,
                step_s=whole,
                pause_s=pause,
                ready=min(1.0, per_process * processes),
                ahead=True,
            )
        )

    if count is None:
        assert wait(data_loading.MOST_WORKERS) > 0
        return
    assert wait(count) == pytest.approx(0.0, abs=1e-9 * whole)
    assert count == 1 or wait(count - 1) > 0


@given(
    workers=st.integers(min_value=1, max_value=64),
    prefetch=st.integers(min_value=1, max_value=16),
    rate=st.floats(min_value=1e5, max_value=1e10),
    tp=st.sampled_from([1, 2, 4, 8]),
    factor=st.floats(min_value=1.0, max_value=100.0),
)
def test_more_of_anything_never_makes_training_wait_longer(
    *, workers: int, prefetch: int, rate: float, tp: int, factor: float, job: TrainingJob, h100: NodeType
) -> None:
    """More processes, depth, speed of a process, of a node or of storage: never a longer wait."""
    usual = {
        "bytes_per_token": 1e4,
        "workers": workers,
        "prefetch_batches": prefetch,
        "worker_bytes_per_s": rate,
        "node_read_bytes_per_s": 1e9,
        "shared_read_bytes_per_s": 1e10,
    }
    base = waits(loaded(job, **usual), h100, tp=tp)
    more = {
        "workers": workers + 1,
        "prefetch_batches": prefetch + 1,
        "worker_bytes_per_s": rate * factor,
        "node_read_bytes_per_s": 1e9 * factor,
        "shared_read_bytes_per_s": 1e10 * factor,
    }
    for name, value in more.items():
        assert waits(loaded(job, **(usual | {name: value})), h100, tp=tp) <= base + 1e-9, name
    assert waits(loaded(job, **(usual | {"bytes_per_token": 1e4 * factor})), h100, tp=tp) >= base - 1e-9


def test_columns_and_single_layouts_agree(job: TrainingJob, h100: NodeType) -> None:
    """Many layouts at once wait as each of them alone."""
    asked = loaded(job, **HEAVY, workers=8, node_read_bytes_per_s=2e9)
    sizes = [(tp, pp, dp, cp) for tp in (1, 8, 16) for pp in (1, 4) for dp in (2, 6) for cp in (1, 2)]
    columns = np.array(sizes, dtype=float).T
    several = layout()
    several = replace(several, tp=columns[0], pp=columns[1], dp=columns[2], cp=columns[3])
    found = data_loading.waits_s(asked, h100, several, step_s=10.0, pause_s=1.0)
    for index, (tp, pp, dp, cp) in enumerate(sizes):
        assert np.asarray(found)[index] == pytest.approx(waits(asked, h100, tp=tp, pp=pp, dp=dp, cp=cp))


def test_defaults_have_their_source() -> None:
    """Every row of the file is used, and each names a source of the catalogue or says how it was found."""
    with (assets.root() / "catalog" / "data_loading.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["name"] for row in rows] == [entry.name for entry in fields(LoadingDefaults)]
    known = load_catalogue().sources
    for row in rows:
        assert row["source"] in known if row["method"] == "published" else row["note"], row["name"]
    assert loading_defaults().workers == 2


def test_what_a_node_can_read_is_a_fact_or_unknown() -> None:
    """Threads and drives of nodes as the catalogue has them; what no source gives stays None."""
    catalogue = load_catalogue()
    p5 = node_type_of_instance(catalogue, "p5.48xlarge")
    assert (p5.cpu_threads, p5.local_nvme_bytes, p5.local_nvme_read_bytes_per_s) == (192, 30.4e12, None)
    a3 = node_type_of_instance(catalogue, "a3-highgpu-8g")
    assert a3.local_nvme_read_bytes_per_s == 6.24e9
    azure = node_type_of_instance(catalogue, "Standard_ND96isr_H100_v5")
    assert azure.storage_bytes_per_s_one_way == 10e9
    dgx = node_type_of_system(catalogue, "dgx-h100")
    assert (dgx.cpu_threads, dgx.local_nvme_bytes, dgx.storage_bytes_per_s_one_way) == (224, 30.72e12, None)


def test_two_nodes_read_twice_what_one_reads(job: TrainingJob, h100: NodeType) -> None:
    """16 ranks of 64 images of 150 kB a step of 80 ms: 1.92 GB/s for the whole job, 0.96 GB/s for each node."""
    images = replace(
        job,
        sequence_length=1,
        global_batch_sequences=1024,
        loading=Loading(bytes_per_token=150e3, workers=8, prefetch_batches=2, worker_bytes_per_s=100 * 150e3),
    )
    feed = fed(images, h100, step_s=0.05, tp=1, pp=1, dp=16, micro_batch=64, micro_batches=1)
    assert feed.read_bytes_per_s == pytest.approx(1.92e9)
    assert feed.read_bytes_per_s_per_node == pytest.approx(0.96e9)


def test_no_more_than_1024_processes_are_proposed() -> None:
    """1,024 prepare in a second what one prepares in 1,024; a step that needs one more gets none proposed."""
    usual = {"step_s": 1.0, "pause_s": 0.0, "per_process": 1.0}
    assert data_loading.workers_needed(1024.0, **usual) == 1024
    assert data_loading.workers_needed(1025.0, **usual) is None


def test_the_search_waits_as_long_as_the_plan_tells_in_the_pause_of_the_exchange(
    job: TrainingJob, h100: NodeType
) -> None:
    """Gradient exchange and optimizer of 0.5 and 0.25 s, in which two processes hold only part of a step ready."""
    slow = loaded(job, bytes_per_token=4e3, workers=2, prefetch_batches=1, worker_bytes_per_s=1e8)
    timed: Any = SimpleNamespace(
        total_s=lambda: np.array([10.0]), compute_s=np.array([9.0]), data_parallel_s=0.5, optimizer_s=0.25
    )
    found = layout(micro_batches=256)
    whole_s = float(np.squeeze(_with_waiting(slow, h100, found, timed, correction=1.0)))
    feed = fed(slow, h100, step_s=10.0, pause_s=0.75)
    assert feed.stall_s > 0
    assert whole_s == pytest.approx(10.0 + feed.stall_s, rel=1e-12)
