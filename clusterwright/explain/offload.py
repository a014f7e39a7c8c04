"""Explanations of what lies outside the accelerators: host memory, and the time of its traffic and updates."""

from clusterwright.explain.records import Explanation, Input, total
from clusterwright.plan.training.record import TrainingOption, TrainingPlan
from clusterwright.sizing.model.shapes import shape_of
from clusterwright.sizing.records.job import OffloadNeed
from clusterwright.sizing.records.offload import SENT_BYTES, SUMMED_BYTES, USABLE_SHARE
from clusterwright.sizing.training.optimizer.optimizers import OPTIMIZERS, state_bytes, traffic_bytes
from clusterwright.sizing.training.practice import Practice, practice_for
from clusterwright.units import percent

_OFFLOAD = "clusterwright/sizing/records/offload.py"
_SOURCES = ("ZeRO-Offload, arXiv 2101.06840; ZeRO-Infinity, arXiv 2104.07857",)


def offload_numbers(plan: TrainingPlan, option: TrainingOption) -> tuple[Explanation, ...]:
    """Return the explanations of what is offloaded; none where nothing is."""
    need = option.performance.offload
    if need is None:
        return ()
    return (_host_memory(plan, option, need), *_time(plan, option, need))


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.3f} GB"


def _size(size: float | None) -> str:
    return "unknown" if size is None else _gigabytes(size)


def _practice(plan: TrainingPlan) -> Practice:
    return practice_for(plan.workload.framework, plan.workload.precision)


def _host_memory(plan: TrainingPlan, option: TrainingOption, need: OffloadNeed) -> Explanation:
    cluster = option.cluster
    terms = tuple(
        Input(name=name, value=_gigabytes(size), source=_OFFLOAD)
        for name, size in (
            ("optimizer", need.optimizer_bytes_per_node),
            ("gradients", need.gradients_bytes_per_node),
            ("weights", need.parameters_bytes_per_node),
            ("activations", need.activations_bytes_per_node),
            ("copies of checkpoints", need.checkpoints_bytes_per_node),
        )
    )
    shape = shape_of(plan.workload.architecture, sequence_length=plan.workload.sequence_length)
    each = state_bytes(OPTIMIZERS[plan.workload.optimizer], shape, _practice(plan))
    return Explanation(
        number="host_memory",
        title="host memory that each node needs for what is offloaded",
        value=f"{_gigabytes(need.host_bytes_per_node)} of {_size(need.host_memory_bytes_per_node)}",
        equation=(
            " + ".join(term.name for term in terms),
            total(tuple(term.value for term in terms), _gigabytes(need.host_bytes_per_node)),
        ),
        inputs=(
            *terms,
            Input(
                name="per parameter that a node updates",
                value=f"{each:.4g} states, {SUMMED_BYTES:g} gradients, {SENT_BYTES:g} weights",
                source=_OFFLOAD,
            ),
            Input(
                name="parameters that a node updates",
                value=f"{cluster.gpus_per_node} × {need.owned_parameters:,.0f}",
                source="search over layouts",
            ),
            Input(
                name="usable",
                value=f"{percent(USABLE_SHARE)} of {_size(need.host_memory_bytes_per_node)}",
                source=f"facts {cluster.instance}",
            ),
            Input(
                name="on local drives",
                value=f"{_gigabytes(need.nvme_bytes_per_node)} of {_size(need.nvme_capacity_bytes_per_node)}",
                source=f"facts {cluster.instance}",
            ),
        ),
        sources=_SOURCES,
    )


def _window_s(option: TrainingOption) -> float | None:
    """Return the seconds of a step in which layers compute and exchange activations, which hide traffic."""
    made_of = option.performance.compute
    if made_of is None:
        return None
    layers = made_of.layers * made_of.layer_s + made_of.recomputed_layers * made_of.recompute_s
    return made_of.measured_over_predicted * made_of.micro_batches * layers + option.performance.step.tensor_parallel_s


def _time(plan: TrainingPlan, option: TrainingOption, need: OffloadNeed) -> tuple[Explanation, ...]:
    """Return the explanation of the time; none for plans of versions that do not hold what hides traffic."""
    beside = max(need.to_host_s, need.to_device_s, need.drives_s)
    window = _window_s(option)
    overlap = need.overlap_share
    if window is None or overlap is None:
        return ()
    exposed = beside - overlap * min(beside, window) + need.after_s
    shape = shape_of(plan.workload.architecture, sequence_length=plan.workload.sequence_length)
    moved = traffic_bytes(OPTIMIZERS[plan.workload.optimizer], shape, _practice(plan))
    update = moved * need.owned_parameters
    explanation = Explanation(
        number="offload_time",
        title="time of a step that offloading adds",
        value=f"{option.performance.step.offload_s:.3f} s",
        equation=(
            "longest queue - overlap × the shorter of queue and window + after the last backward pass",
            f"{beside:.5f} - {overlap:.5f} × {min(beside, window):.5f} + {need.after_s:.5f} = {exposed:.5f} s",
        ),
        inputs=(
            Input(name="to the host", value=f"{need.to_host_s:.5f} s", source=_OFFLOAD),
            Input(name="to the accelerator", value=f"{need.to_device_s:.5f} s", source=_OFFLOAD),
            Input(name="on local drives", value=f"{need.drives_s:.5f} s", source=_OFFLOAD),
            Input(
                name="window: layers of a step, with their exchange of activations",
                value=f"{window:.5f} s",
                source="clusterwright/sizing/training/step.py; explain compute_s",
            ),
            Input(name="overlap at best", value=f"{overlap:.4g}", source="data_overlap, catalog/calibration.csv"),
            Input(
                name="update after the last backward pass",
                value=f"{moved:.4g} bytes × {need.owned_parameters:,.0f} parameters / "
                f"{need.update_bytes_per_s_per_gpu / 1e9:.2f} GB/s = {update / need.update_bytes_per_s_per_gpu:.5f} s",
                source="facts host-optimizer, measurements lie a factor of 30 apart; before the stack's median factor",
            ),
            Input(
                name="link of one accelerator",
                value=f"{need.host_bytes_per_s_per_gpu / 1e9:.2f} GB/s each way",
                source=f"facts {option.cluster.accelerator}; facts host-copies",
            ),
        ),
        sources=_SOURCES,
    )
    return (explanation,)
