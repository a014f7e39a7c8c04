"""The software stacks that a job may run under, with their numbers and bands for its accelerator and model."""

from dataclasses import replace

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.hardware.bands import UNNAMED, shape_parts
from clusterwright.sizing.hardware.calibration import (
    DENSE,
    EXPERTS,
    FSDP,
    MEGATRON,
    Calibration,
    StackCalibration,
    architecture_of,
    effects_of_job,
)
from clusterwright.sizing.hardware.power_cap import with_cap
from clusterwright.sizing.records.job import TrainingJob

#: Layouts from this ZeRO stage on are timed with the FSDP stack's numbers.
FSDP_FROM_STAGE = 2


def stacks_of(calibration: Calibration, node: NodeType, job: TrainingJob) -> tuple[StackCalibration, StackCalibration]:
    """Return the numbers of the node's accelerator generation under the Megatron-like stack and under FSDP.

    Their bands are as wide as what is not known of the job makes them, moved by what runs show of its accelerator,
    precision and architecture, and widened by what is unsure about a power cap.
    """
    kind = EXPERTS if job.model.experts else DENSE
    levels = effects_of_job(
        vendor=node.accelerator.vendor,
        accelerator=node.accelerator.id,
        precision=job.precision,
        kind=kind,
        architecture=architecture_of(job.model),
    )
    parts = (
        *calibration.measured().hardware_parts(
            accelerator=node.accelerator.id, generation=node.accelerator.generation, vendor=node.accelerator.vendor
        ),
        UNNAMED,
        *shape_parts(experts=bool(job.model.experts), hidden=job.model.hidden, sequence_length=job.sequence_length),
    )
    megatron, fsdp = (
        calibration.of(
            generation=node.accelerator.generation,
            accelerator=node.accelerator.id,
            stack=stack,
            parts=parts,
            levels=levels,
        )
        for stack in (MEGATRON, FSDP)
    )
    return (
        replace(megatron, residuals=with_cap(megatron.residuals, node)),
        replace(fsdp, residuals=with_cap(fsdp.residuals, node)),
    )
