"""The search against brute force, published runs and limiting cases."""

import csv
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog.load import load as load_catalogue
from clusterwright.catalog.records import Model, NodeType
from clusterwright.errors import InputError, RuleError
from clusterwright.sizing.hardware.calibration import load_calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.hardware.software import stacks_of
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.records.job import Front, TrainingJob, TrainingPoint
from clusterwright.sizing.reliability import goodput
from clusterwright.sizing.training import layouts, step
from clusterwright.sizing.training.parallel_sizes import context_parallel_sizes
from clusterwright.sizing.training.search import search

CALIBRATION = load_calibration()
PUBLISHED = Path(__file__).parents[1] / "published" / "training_runs.csv"


def small(model: Model) -> Model:
    """Return a model with few layers, so that every layout can be evaluated one by one."""
    return replace(
        model,
        id="small",
        layers=6,
        hidden=2048,
        heads=16,
        kv_heads=4,
        ffn_hidden=5632,
        gated=True,
        tied_embeddings=False,
    )


ASKED = {
    "everything": {},
    "one chunk": {"schedule": "1f1b"},
    "interleaved": {"schedule": "interleaved", "pipeline_parallel": 2},
    "zero bubble": {"schedule": "zero-bubble"},
    "both directions": {"schedule": "dualpipe"},
    "groups of four": {"sharding_group": 4},
    "two layers recomputed": {"recompute": "full", "recompute_layers": 2},
    "all layers recomputed": {"recompute": "full"},
}


@pytest.mark.parametrize("gib", [79.6, 15.0, 10.0])
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_the_front_is_what_brute_force_finds(
    job: TrainingJob, h100: NodeType, oracle: ModuleType, asked: dict[str, str | int], gib: float
) -> None:
    """On a small space, every layout evaluated alone by an independent scalar model gives the same points.

    With little memory, layouts recompute: every number of layers is tried.
    """
    tiny = replace(job, model=small(job.model), global_batch_sequences=48, max_nodes=6, **asked)
    node = replace(h100, hbm_bytes_per_gpu=gib * 2**30)
    found = layouts.enumerate_layouts(tiny, node, max_nodes=6)
    assert found is not None
    megatron, fsdp = stacks_of(CALIBRATION, node, tiny)
    best: dict[int, float] = {}
    rejected = 0
    rows = int(np.asarray(found.dp).size)
    assert rows > (1000 if not asked else 50)
    for row in range(rows):
        layout = layouts.layout_at(found, row)
        counts = [*range(1, 9), None] if layout.recompute == "full" and tiny.recompute is None else [None]
        tried = [replace(layout, recompute_layers=layout.recompute_layers or count) for count in counts]
        fitting = [each for each in tried if oracle.memory_bytes(tiny, each) <= node.hbm_bytes_per_gpu]
        if not fitting:
            rejected += 1
            continue
        nodes = layout.tp * layout.cp * layout.pp * layout.dp // 8
        stack = fsdp if layout.zero_stage >= 2 else megatron
        seconds = min(oracle.step_s(tiny, node, each, stack) for each in fitting)
        best[nodes] = min(best.get(nodes, np.inf), seconds)
    steps = tiny.tokens / (2048 * 48)
    days = {
        nodes: steps
        * seconds
        / goodput.goodput(CALIBRATION.reliability(), nodes=nodes, parameters=1.0).fraction
        / 86400
        for nodes, seconds in best.items()
    }
    expected = [
        (nodes, days[nodes])
        for nodes in sorted(days)
        if all(days[nodes] < days[fewer] for fewer in days if fewer < nodes)
    ]
    front = search(job=tiny, node=node, calibration=CALIBRATION)
    assert front.layouts_evaluated == rows
    assert front.layouts_rejected_by_memory == rejected
    for point in front.points:
        assert point.memory.total == pytest.approx(oracle.memory_bytes(tiny, point.layout))
    assert [(point.nodes, pytest.approx(point.calendar_days)) for point in front.points] == expected


@settings(max_examples=40, deadline=None)
@given(data=st.data(), network=st.floats(1e8, 1e12), link=st.floats(1e9, 1e13), hbm=st.floats(1e11, 1e14))
def test_recomputing_more_is_never_faster(
    *, job: TrainingJob, h100: NodeType, data: st.DataObject, network: float, link: float, hbm: float
) -> None:
    """What the search takes as proven: a layout that recomputes more takes longer, on any hardware and either stack."""
    experts = data.draw(st.booleans())
    changed = {"experts": 8, "experts_per_token": 2, "moe_ffn_hidden": 1408} if experts else {}
    model = replace(small(job.model), **changed)
    tiny = replace(job, model=model, global_batch_sequences=48, max_nodes=6)
    node = replace(
        h100,
        accelerator=replace(h100.accelerator, hbm_bytes_per_s=hbm, scale_up_bytes_per_s_per_gpu_one_way=link),
        network_bytes_per_s_per_gpu_one_way=network,
    )
    space = layouts.enumerate_space(tiny, node, max_nodes=6)
    assert space is not None
    row = np.array(data.draw(st.lists(st.integers(0, space.count // 3 - 1), min_size=1, max_size=30)))
    shape, device = shape_of(model, sequence_length=2048), device_of(node, precision="bf16")
    for stack in stacks_of(CALIBRATION, node, tiny):
        assert 0 <= stack.tuning.data_overlap <= 1
        seconds = []
        for mode in range(3):
            chosen = space.at(np.full(row.size, mode), row)
            times = step.layer_times(shape, device, stack.tuning, chosen)
            seconds.append(np.asarray(step.step_columns(shape, device, stack.tuning, chosen, times).total_s()))
        assert (seconds[0] < seconds[1]).all()
        assert (seconds[1] < seconds[2]).all()


def test_a_space_names_every_layout_once(job: TrainingJob, h100: NodeType) -> None:
    """Rows times modes are the layouts one by one, all different, all legal, in the same order."""
    tiny = replace(job, model=small(job.model), global_batch_sequences=48, max_nodes=6)
    space = layouts.enumerate_space(tiny, h100, max_nodes=6)
    found = layouts.enumerate_layouts(tiny, h100, max_nodes=6)
    assert space is not None
    assert found is not None
    records = [layouts.layout_at(found, row) for row in range(space.count)]
    assert len(set(records)) == space.count == 3 * np.size(space.rows.dp)
    assert records[-1] == layouts.layout_at(space.at(2, space.count // 3 - 1))
    for layout in records:
        assert layout.micro_batch * layout.micro_batches * layout.dp == 48
        assert layout.tp * layout.cp * layout.pp * layout.dp % 8 == 0
        assert layout.vpp == 1 or layout.micro_batches % layout.pp == 0
        assert layout.sp == (layout.tp > 1)
        assert layout.zero_stage < 2 or layout.pp == 1
    of_six, of_eight = {(1, 1), (2, 1), (2, 3), (3, 1), (3, 2), (6, 1)}, {(2, 1), (2, 2), (2, 4), (4, 1), (4, 2)}
    assert {(layout.pp, layout.vpp) for layout in records} == of_six | of_eight


@given(st.integers(1, 10**6), st.integers(1, 10**9))
def test_a_whole_quotient_is_divisibility(divisor: int, number: int) -> None:
    """Division of floats tells divisibility of whole numbers exactly, as long as they are exact themselves."""
    assert bool(layouts.divides(float(divisor), float(number))) == (number % divisor == 0)
    assert bool(layouts.divides(float(divisor), float(number * divisor)))


def test_memory_of_every_layout_is_what_the_scalar_model_finds(
    job: TrainingJob, a100: NodeType, oracle: ModuleType
) -> None:
    """The memory of the front's layouts of GPT-3, term by term summed, is the oracle's."""
    for point in search(job=job, node=a100, calibration=CALIBRATION).points:
        assert point.memory.total == pytest.approx(oracle.memory_bytes(job, point.layout))
        assert point.memory.total <= a100.hbm_bytes_per_gpu


def test_points_are_consistent_and_ordered(job: TrainingJob, h100: NodeType) -> None:
    """More nodes are always faster, the band holds the median, and every layout divides the job."""
    front = search(job=job, node=h100, calibration=CALIBRATION)
    days = [point.calendar_days for point in front.points]
    nodes = [point.nodes for point in front.points]
    assert days == sorted(days, reverse=True)
    assert nodes == sorted(set(nodes))
    for point in front.points:
        layout = point.layout
        assert layout.tp * layout.cp * layout.pp * layout.dp == point.gpus == point.nodes * 8
        assert layout.micro_batch * layout.micro_batches * layout.dp == 1536
        assert point.calendar_days_low < point.calendar_days < point.calendar_days_high
        assert 0.2 < point.mfu < 0.65
        assert point.tokens_per_s_per_gpu * point.gpus * point.step.total_s == pytest.approx(1536 * 2048)
        assert point.storage.write_bytes_per_s == pytest.approx(point.goodput.checkpoint_bytes / 60)


def test_gpt3_in_30_days_takes_32_to_64_h100_nodes(job: TrainingJob, h100: NodeType) -> None:
    """At the 450 to 493 tokens/s per GPU that are published, 32 nodes take 29 to 32 days; more micro-batches help.

    The published runs have 64 micro-batches per pipeline, on 32 nodes there are 192.
    """
    front = search(job=job, node=h100, calibration=CALIBRATION)
    enough = [point for point in front.points if point.calendar_days_high <= 30]
    assert 32 <= enough[0].nodes <= 64
    assert 410 < enough[0].tokens_per_s_per_gpu < 530


def test_a_higher_confidence_moves_only_the_upper_end(job: TrainingJob, h100: NodeType) -> None:
    """The low end stays P10; the high end is the asked quantile, P50 at one half."""
    limited = replace(job, max_nodes=48)
    half = search(job=replace(limited, confidence=0.5), node=h100, calibration=CALIBRATION).points[-1]
    high = search(job=replace(limited, confidence=0.95), node=h100, calibration=CALIBRATION).points[-1]
    assert half.calendar_days_high == pytest.approx(half.calendar_days)
    assert (
        high.calendar_days_high > search(job=limited, node=h100, calibration=CALIBRATION).points[-1].calendar_days_high
    )
    assert high.calendar_days_low == half.calendar_days_low


def _published(row: dict[str, str], gpt3: Model) -> tuple[TrainingJob, float]:
    model = replace(
        gpt3,
        layers=int(row["layers"]),
        hidden=int(row["hidden"]),
        heads=int(row["heads"]),
        kv_heads=int(row["kv_heads"]),
        head_dim=int(row["head_dim"]),
        ffn_hidden=int(row["ffn_hidden"]),
        vocab=int(row["vocab"]),
    )
    job = TrainingJob(
        model=model,
        tokens=300e9,
        sequence_length=int(row["seq_len"]),
        global_batch_sequences=int(row["global_batch"]),
        precision=row["precision"],
        finish_within_s=None,
        max_nodes=int(row["n_gpus"]) // 8,
        tensor_parallel=int(row["tp"]),
        pipeline_parallel=int(row["pp"]),
        micro_batch=int(row["micro_batch"] or 1),
        recompute="full" if row["recompute"] == "full" else "selective",
    )
    return job, 300e9 / (float(row["tokens_per_s_per_gpu"]) * int(row["n_gpus"])) / 86400


GPT3_RUNS = [
    row
    for row in csv.DictReader(PUBLISHED.read_text(encoding="utf-8").splitlines())
    if any(name in row["model"] for name in ("175B", "177B")) and row["precision"] in {"bf16", "fp16"}
]


def test_published_gpt3_175b_runs_lie_inside_the_band(gpt3: Model, h100: NodeType, a100: NodeType) -> None:
    """With the published parallel sizes, nine of ten published times lie between the printed low and high days.

    The band promises 80 %. Published times are of training alone, so that they are divided by the plan's goodput first.
    """
    inside = []
    for row in GPT3_RUNS:
        job, days = _published(row, gpt3)
        node = h100 if row["gpu"].startswith("H100") else a100
        point = search(job=job, node=node, calibration=CALIBRATION).points[-1]
        assert point.gpus == int(row["n_gpus"])
        inside.append(point.calendar_days_low <= days / point.goodput.fraction <= point.calendar_days_high)
    assert len(inside) > 20
    assert sum(inside) >= 0.9 * len(inside)


DGXC_RUNS = [row for row in GPT3_RUNS if row["source"].startswith("dgxc")]


@pytest.mark.parametrize("row", DGXC_RUNS, ids=lambda row: row["id"])
def test_the_free_search_predicts_published_h100_runs(row: dict[str, str], gpt3: Model, h100: NodeType) -> None:
    """Even with the layout left open, the fastest layout's band holds what the DGX Cloud recipes measure."""
    job, days = _published(row, gpt3)
    free = replace(job, tensor_parallel=None, pipeline_parallel=None, micro_batch=None, recompute=None)
    point = search(job=free, node=h100, calibration=CALIBRATION).points[-1]
    assert point.gpus == int(row["n_gpus"])
    assert point.calendar_days_low <= days / point.goodput.fraction <= point.calendar_days_high


def _at(front: Front, nodes: int) -> TrainingPoint:
    return min((point for point in front.points if point.nodes <= nodes), key=lambda point: point.calendar_days)


def test_a_slower_network_is_slower(job: TrainingJob, h100: NodeType) -> None:
    """12.5 GB/s per GPU (TCPX) instead of 50 costs time, and more of it in large clusters."""
    slow = search(job=job, node=replace(h100, network_bytes_per_s_per_gpu_one_way=12.5e9), calibration=CALIBRATION)
    fast = search(job=job, node=h100, calibration=CALIBRATION)
    loss = {nodes: _at(slow, nodes).calendar_days / _at(fast, nodes).calendar_days for nodes in (48, 192)}
    assert 1.03 < loss[48] < loss[192]


@settings(max_examples=15, deadline=None)
@given(link=st.floats(1, 4), network=st.floats(1, 8), hbm=st.floats(1, 2), flops=st.floats(1, 3), size=st.floats(1, 2))
def test_better_hardware_is_never_slower(
    *, job: TrainingJob, h100: NodeType, link: float, network: float, hbm: float, flops: float, size: float
) -> None:
    """More bandwidth, memory or FLOP/s never makes the best layout of any cluster size slower."""
    small_job = replace(job, global_batch_sequences=96, max_nodes=24)
    gpu = h100.accelerator
    assert gpu.dense_bf16_flop_per_s
    assert gpu.hbm_bytes_per_s
    assert gpu.scale_up_bytes_per_s_per_gpu_one_way
    better = replace(
        h100,
        accelerator=replace(
            gpu,
            dense_bf16_flop_per_s=gpu.dense_bf16_flop_per_s * flops,
            hbm_bytes_per_s=gpu.hbm_bytes_per_s * hbm,
            scale_up_bytes_per_s_per_gpu_one_way=gpu.scale_up_bytes_per_s_per_gpu_one_way * link,
        ),
        hbm_bytes_per_gpu=h100.hbm_bytes_per_gpu * size,
        network_bytes_per_s_per_gpu_one_way=h100.network_bytes_per_s_per_gpu_one_way * network,
    )
    before = search(job=small_job, node=h100, calibration=CALIBRATION)
    after = search(job=small_job, node=better, calibration=CALIBRATION)
    for point in before.points:
        assert _at(after, point.nodes).step.total_s <= point.step.total_s * (1 + 1e-9)


def test_the_search_is_deterministic(job: TrainingJob, h100: NodeType) -> None:
    """The same question twice gives the same answer to the last bit."""
    limited = replace(job, max_nodes=64)
    assert search(job=limited, node=h100, calibration=CALIBRATION) == search(
        job=limited, node=h100, calibration=CALIBRATION
    )


def test_gpt3_cannot_be_trained_on_40_a100(job: TrainingJob, a100: NodeType) -> None:
    """3,143 GB of states leave no room for activations in 40 x 80 GB; the finding says how much is missing."""
    five = replace(job, max_nodes=5, global_batch_sequences=1920)
    with pytest.raises(RuleError) as caught:
        search(job=five, node=a100, calibration=CALIBRATION)
    (finding,) = caught.value.findings
    assert finding.id == "MEM001"
    assert "does not fit" in finding.message
    assert "allow at least 6 nodes" in finding.help


def test_llama_70b_does_not_fit_eight_h100(job: TrainingJob, h100: NodeType) -> None:
    """States of 70B take 159 GB per GPU over eight, whatever is recomputed."""
    model = replace(
        job.model,
        name="Llama 3 70B",
        layers=80,
        hidden=8192,
        heads=64,
        kv_heads=8,
        ffn_hidden=28672,
        gated=True,
        vocab=128256,
        tied_embeddings=False,
        learned_positions=0,
    )
    with pytest.raises(RuleError, match="MEM001"):
        search(job=replace(job, model=model, max_nodes=1), node=h100, calibration=CALIBRATION)


def test_a_batch_that_no_layout_divides_is_refused(job: TrainingJob, h100: NodeType) -> None:
    """A fixed pipeline size that divides no layers gives LAY001 and names what was fixed."""
    with pytest.raises(RuleError, match=r"LAY001.*pipeline parallel 5"):
        search(job=replace(job, pipeline_parallel=5), node=h100, calibration=CALIBRATION)


def test_what_cannot_be_sized_is_refused_in_words(job: TrainingJob, a100: NodeType) -> None:
    """Impossible architectures and fp8 on an A100 are refused by name."""
    for change, told in (
        ({"layers": 0}, "cannot have layers 0"),
        ({"kv_heads": 5}, "96 heads .* not divisible by its 5"),
        ({"experts": 8, "experts_per_token": 9}, "9 of 8 experts"),
        ({"experts": 8, "experts_per_token": 2, "dense_layers": 96}, "96 dense layers of 96"),
    ):
        with pytest.raises(InputError, match=told):
            search(job=replace(job, model=replace(job.model, **change)), node=a100, calibration=CALIBRATION)
    with pytest.raises(InputError, match="no fp8"):
        search(job=replace(job, precision="fp8"), node=a100, calibration=CALIBRATION)


def test_long_sequences_are_split_over_accelerators(job: TrainingJob, h100: NodeType) -> None:
    """A sequence of 131,072 tokens fits only when context parallelism splits it."""
    model = replace(
        job.model,
        layers=32,
        hidden=4096,
        heads=32,
        kv_heads=8,
        ffn_hidden=14336,
        gated=True,
        tied_embeddings=False,
        vocab=128256,
    )
    long = replace(job, model=model, sequence_length=131072, global_batch_sequences=32, max_nodes=8)
    front = search(job=long, node=h100, calibration=CALIBRATION)
    assert any(point.layout.cp > 1 for point in front.points)


@pytest.mark.parametrize(
    ("tokens", "largest"),
    [(8192, 16), (131_072, 16), (2**19, 16), (2**20, 32), (2**21, 64), (2**24, 64), (2**20 + 2, 1)],
)
def test_very_long_sequences_are_split_further(job: TrainingJob, tokens: int, largest: int) -> None:
    """Beyond 16 parts each keeps 32,768 tokens; a sequence of 16 million fits nowhere with fewer parts."""
    assert max(context_parallel_sizes(replace(job, sequence_length=tokens))) == largest


def test_sixteen_million_tokens_fit(h100: NodeType) -> None:
    """Llama 3.1 8B over one sequence of 2^24 tokens fits in more than 16 parts, which need not be asked for."""
    long = TrainingJob(
        model=load_catalogue().models["llama-3.1-8b"],
        tokens=1e9,
        sequence_length=2**24,
        global_batch_sequences=1,
        precision="bf16",
        finish_within_s=None,
        max_nodes=64,
    )
    found = search(job=long, node=h100, calibration=CALIBRATION)
    assert min(point.layout.cp for point in found.points) > 16
