"""Replicas for a service: physics, hand-worked figures, and what must not fall when more is asked."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog import lookup
from clusterwright.catalog.load import load
from clusterwright.catalog.records import NodeType
from clusterwright.sizing.serving.calibration import load_calibration
from clusterwright.sizing.serving.layouts import layouts
from clusterwright.sizing.serving.search import search
from clusterwright.sizing.serving.service import LatencyGoals, Lengths, Load, Service
from clusterwright.sizing.serving.sizes import ReplicaLayout, ServingSize, nodes_of
from clusterwright.workload.inference import inference_model

_CATALOGUE, _CALIBRATION = load(), load_calibration()
_H100 = lookup.node_type_of_system(_CATALOGUE, "dgx-h100")
_GOALS = LatencyGoals(first_token_s=1.0, time_per_token_s=0.05, percentile=0.95, confidence=0.9)


def _service(model: str = "llama-3.1-70b", precision: str = "fp8", load: Load | None = None) -> Service:
    return Service(
        model=inference_model(lookup.model(_CATALOGUE, model)),
        framework="vllm",
        precision=precision,
        cache_precision="",
        speculative="",
        inputs=Lengths(mean=1000.0, p95=3000.0),
        outputs=Lengths(mean=300.0, p95=900.0),
        prefix_share=0.0,
        load=load or Load(requests_per_s=20.0),
        goals=_GOALS,
    )


def _best(service: Service, node: NodeType = _H100) -> ServingSize:
    return search(service, [node], _CALIBRATION)[node.id][0]


def test_the_bound_of_70b_in_16_bits_on_four_h100_is_reading_its_weights() -> None:
    """70.6e9 - 1.05e9 weights (the token table is looked up) of 2 bytes over 4 × 3.35 TB/s take 10.4 ms."""
    size = _best(replace(_service(precision="bf16"), tensor=4))
    assert size.time_per_token_bound_s == pytest.approx((70.55e9 - 1.05e9) * 2 / (4 * 3.35e12), rel=5e-3)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "llama-3.1-70b", "deepseek-v3", "gpt-oss-120b"])
def test_no_layout_is_faster_than_its_bounds(model: str) -> None:
    """Predicted times of every layout lie above what bandwidth and peak allow."""
    for size in search(_service(model), [_H100], _CALIBRATION)[_H100.id]:
        assert size.mean_time_per_token_s > size.time_per_token_bound_s
        assert size.mean_first_token_s > size.first_token_bound_s


def test_replicas_stay_within_nodes_that_reach_no_others() -> None:
    """A model that two nodes of H100 hold has layouts over both with a fabric, and none without."""
    service = _service("llama-3.1-405b", "bf16")
    alone = replace(_H100, network_kind="none", network_bytes_per_s_per_gpu_one_way=0.0)
    assert {layout.gpus for layout in layouts(service, _H100)} > {8, 16}
    assert max(layout.gpus for layout in layouts(service, alone)) == 8
    small = _service("llama-3.1-8b")
    assert list(layouts(small, alone)) == list(layouts(small, _H100))


def test_four_replicas_of_two_accelerators_fill_a_node_and_a_fifth_takes_another() -> None:
    """Five replicas of two accelerators take two nodes of eight; two of sixteen take four."""
    two = ReplicaLayout(gpus=2, tensor=2, pipeline=1, expert=1, spread_attention=False)
    assert (nodes_of(two, 4, 8), nodes_of(two, 5, 8)) == (1, 2)
    assert nodes_of(replace(two, gpus=16, tensor=8, pipeline=2), 2, 8) == 4


def test_a_replica_at_the_peak_does_what_is_asked_of_it() -> None:
    """Replicas times the rate of each are the requests of the peak, and Little's law gives those in flight."""
    size = _best(_service())
    assert size.replicas * size.replica_requests_per_s.value == pytest.approx(20.0, rel=0.02)
    answer = size.mean_first_token_s + 300 * size.mean_time_per_token_s
    assert size.in_flight == pytest.approx(20.0 / size.replicas * answer, rel=0.15)


def test_memory_of_an_accelerator_is_what_it_has() -> None:
    """Weights, pool, reserve and what is left are the 80 GB of an H100; 70.6 GB of fp8 lie on the replica's."""
    size = _best(replace(_service(), tensor=4))
    memory = size.memory
    assert memory.weights + memory.cache_pool + memory.reserved + memory.unused == pytest.approx(
        _H100.hbm_bytes_per_gpu, rel=1e-9
    )
    tables = 2 * 128_256 * 8192
    assert memory.weights * 4 == pytest.approx((70.55e9 - tables) * 1 + tables * 2, rel=2e-3)


@pytest.mark.parametrize("load", [Load(requests_per_s=1.0), Load(users=50.0, think_s=30.0), Load(users=4.0)])
def test_more_users_never_take_fewer_nodes(load: Load) -> None:
    """Nodes do not fall as the load grows a thousandfold, nor do the replicas of one layout."""
    nodes, replicas = [], []
    for factor in np.geomspace(1, 1000, 13):
        more = replace(load, users=load.users * factor)
        if load.requests_per_s is not None:
            more = Load(requests_per_s=load.requests_per_s * factor)
        nodes.append(_best(_service(load=more)).nodes)
        replicas.append(_best(replace(_service(load=more), tensor=4)).replicas)
    assert nodes == sorted(nodes)
    assert replicas == sorted(replicas)
    assert nodes[-1] > 3 * nodes[0]


@settings(max_examples=25, deadline=None)
@given(
    first=st.floats(0.2, 5.0),
    token=st.floats(0.012, 0.2),
    tighter=st.floats(0.5, 1.0),
    percentile=st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_a_tighter_goal_never_takes_fewer_nodes(first: float, token: float, tighter: float, percentile: float) -> None:
    """Where both goals are met, the looser ones are met with at most as many nodes."""
    goals = LatencyGoals(first_token_s=first, time_per_token_s=token, percentile=percentile, confidence=0.9)
    loose = _best(replace(_service(), goals=goals))
    tight = _best(
        replace(_service(), goals=replace(goals, first_token_s=first * tighter, time_per_token_s=token * tighter))
    )
    if tight.shortfall <= 0:
        assert loose.shortfall <= 0
        assert tight.nodes >= loose.nodes


@pytest.mark.parametrize(("lower", "higher"), [(0.5, 0.9), (0.9, 0.95), (0.95, 0.99)])
def test_a_higher_percentile_is_no_shorter(lower: float, higher: float) -> None:
    """At the same load the time that more requests keep is no shorter."""
    fixed = replace(_service(), tensor=8, goals=replace(_GOALS, first_token_s=None, time_per_token_s=None))
    few = _best(replace(fixed, goals=replace(fixed.goals, percentile=lower)))
    many = _best(replace(fixed, goals=replace(fixed.goals, percentile=higher)))
    assert many.replicas >= few.replicas
    if many.replicas == few.replicas:
        assert many.first_token_s.value >= few.first_token_s.value
        assert many.time_per_token_s.value >= few.time_per_token_s.value


def test_a_prefix_that_is_in_memory_takes_no_replicas_more() -> None:
    """With nine tenths of the input in memory there is less to prefill, so that a replica does more."""
    cold = replace(_service(load=Load(requests_per_s=200.0)), tensor=4)
    warm = _best(replace(cold, prefix_share=0.9))
    assert warm.prefill_s < 0.2 * _best(cold).prefill_s
    assert warm.capacity_per_s > 1.2 * _best(cold).capacity_per_s
    assert warm.replicas < _best(cold).replicas


def test_what_does_not_fit_has_no_size() -> None:
    """70.6 GB do not lie on one H100 with one stage, and do on four."""
    alone = replace(_service(precision="bf16"), tensor=1, pipeline=1)
    assert search(alone, [_H100], _CALIBRATION)[_H100.id] == ()
    assert search(replace(alone, tensor=4), [_H100], _CALIBRATION)[_H100.id]


def test_layouts_divide_heads_experts_and_nodes() -> None:
    """Each of them splits a node evenly, and whole heads and experts lie on every accelerator."""
    service = _service("deepseek-v3")
    found = list(layouts(service, _H100))
    assert {layout.gpus for layout in found} >= {1, 2, 4, 8, 16}
    for layout in found:
        assert 8 % layout.gpus == 0 or layout.gpus % 8 == 0
        assert 128 % layout.tensor == 0
        assert 256 % layout.expert == 0


def test_one_pass_sizes_every_node_as_a_pass_of_its_own_does() -> None:
    """What is sized together is sized alike."""
    nodes = [_H100, lookup.node_type_of_system(_CATALOGUE, "dgx-b200")]
    together = search(_service(), nodes, _CALIBRATION)
    for node in nodes:
        alone = search(_service(), [node], _CALIBRATION)[node.id]
        for one, other in zip(together[node.id], alone, strict=True):
            assert (one.layout, one.replicas, one.nodes) == (other.layout, other.replicas, other.nodes)
            assert one.time_per_token_s.value == pytest.approx(other.time_per_token_s.value, rel=1e-9)


def test_less_that_is_known_makes_a_wider_band() -> None:
    """An unknown framework, and a model under another name, have wider bands of both latencies."""
    known = _best(replace(_service(), tensor=8))
    other = _best(replace(_service(), tensor=8, framework=""))
    renamed = replace(_service(), tensor=8, model=replace(_service().model, name="another"))
    for wider in (other, _best(renamed)):
        for name in ("first_token_s", "time_per_token_s"):
            narrow, wide = getattr(known, name), getattr(wider, name)
            assert wide.high / wide.low > narrow.high / narrow.low
    assert known.level == "known pair"
    assert _best(renamed).level == "unseen model"


@pytest.mark.parametrize(("mean", "p95"), [(100.0, 100.0), (1000.0, 3000.0), (300.0, 1150.0)])
def test_lengths_have_the_mean_and_the_p95_that_were_given(mean: float, p95: float) -> None:
    """A log-normal sample of the distribution gives both back."""
    lengths = Lengths(mean=mean, p95=p95)
    assert lengths.quantile(0.95) == pytest.approx(p95, rel=1e-9)
    quantiles = [lengths.quantile((step + 0.5) / 20_000) for step in range(20_000)]
    assert math.fsum(quantiles) / 20_000 == pytest.approx(mean, rel=0.02)
