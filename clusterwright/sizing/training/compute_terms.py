"""The computation of one layout's step, term by term, for people to see what it is made of."""

from clusterwright.catalog.precisions import peaks_flop_per_s
from clusterwright.catalog.records import NodeType
from clusterwright.sizing.hardware.calibration import Calibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.hardware.software import FSDP_FROM_STAGE, stacks_of
from clusterwright.sizing.model import compute
from clusterwright.sizing.model.shapes import shape_of_job
from clusterwright.sizing.records.job import ComputeTime, Layout, TrainingJob
from clusterwright.sizing.training.points import median_factor
from clusterwright.sizing.training.stage_table import columns_of
from clusterwright.sizing.training.step import layer_times, stage_compute


def compute_time(job: TrainingJob, node: NodeType, layout: Layout, calibration: Calibration) -> ComputeTime:
    """Return what the computation of a layout's median step is made of, by the functions that time the step.

    Args:
        job: the training run.
        node: its node type.
        layout: of the run.
        calibration: efficiencies and residuals.
    """
    shape, columns = shape_of_job(job), columns_of(layout)
    device = device_of(node, precision=job.precision)
    stack = stacks_of(calibration, node, job)[1 if layout.zero_stage >= FSDP_FROM_STAGE else 0]
    rows = shape.sequence * columns.micro_batch / columns.cp
    layer = compute.layer_compute(shape, device, stack.tuning, layouts=columns, rows=rows)
    stage = stage_compute(shape, columns, layer_times(shape, device, stack.tuning, columns))
    peak = peaks_flop_per_s(node.accelerator)[job.precision]
    assert peak is not None  # noqa: S101 - `device_of` refuses it
    return ComputeTime(
        peak_flop_per_s=peak,
        speed_share=float(device.speed),
        multiplications_s=float(layer.multiplied_s),
        streaming_s=float(layer.streamed_s),
        attention_s=float(layer.attended_s),
        attention_passes=float(layer.scores_passes),
        experts_s=float(layer.experts_s),
        overhead_s=float(stack.tuning.layer_overhead_s),
        expert_launch_s=float(layer.launch_s),
        layer_s=float(layer.total_s),
        recompute_s=float(layer.again_s),
        layers=float(stage.layers),
        recomputed_layers=float(stage.recomputed),
        head_s=float(stage.head_extra_s),
        micro_batches=layout.micro_batches,
        measured_over_predicted=median_factor(stack.residuals),
    )
