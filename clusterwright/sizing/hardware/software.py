"""The software stacks that a job may run under, with their numbers and bands for its accelerator and model."""

from dataclasses import replace

from clusterwright.catalog.records import Accelerator, NodeType
from clusterwright.sizing.columns import Tuning, under
from clusterwright.sizing.hardware.bands import NEW_SOFTWARE, shape_parts
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
from clusterwright.sizing.hardware.training_software import (
    LINEAGE,
    effects_of_software,
    kin_of,
    software_of,
    software_parts,
)
from clusterwright.sizing.hardware.traits import traits_of
from clusterwright.sizing.records.job import TrainingJob

#: Layouts from this ZeRO stage on are timed with the FSDP stack's numbers.
FSDP_FROM_STAGE = 2


def stacks_of(calibration: Calibration, node: NodeType, job: TrainingJob) -> tuple[StackCalibration, StackCalibration]:
    """Return the numbers of the node's accelerator generation under the Megatron-like stack and under FSDP.

    Their bands are as wide as what is not known of the job makes them, moved by what runs show of its accelerator,
    precision, architecture and software, and widened by what is unsure about a power cap.
    """
    kind, module = EXPERTS if job.model.experts else DENSE, node.accelerator
    levels = (
        *effects_of_job(
            vendor=module.vendor,
            accelerator=module.id,
            precision=job.precision,
            kind=kind,
            architecture=architecture_of(job.model),
        ),
        *effects_of_software(job.framework, kind=kind, accelerator=module.id, generation=module.generation),
    )
    parts = parts_of_job(job, module, calibration)
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
        replace(
            megatron, tuning=_own(megatron.tuning, job, module.generation), residuals=with_cap(megatron.residuals, node)
        ),
        replace(fsdp, tuning=_own(fsdp.tuning, job, module.generation), residuals=with_cap(fsdp.residuals, node)),
    )


def parts_of_job(job: TrainingJob, accelerator: Accelerator, calibration: Calibration) -> tuple[str, ...]:
    """Return the parts of a job's band besides the one of every prediction: hardware, software, shape.

    Software that was measured, but nothing of its lineage on this generation, is as software that was not.
    """
    seen, lineage = calibration.measured(), kin_of(job.framework).lineage
    here = not lineage or (LINEAGE, f"{lineage}|{accelerator.generation}") in calibration.effects
    return (
        *seen.hardware_parts(accelerator=accelerator.id, generation=accelerator.generation, vendor=accelerator.vendor),
        *seen.source_parts(generation=accelerator.generation, kind=EXPERTS if job.model.experts else DENSE),
        *(software_parts(job.framework, seen) if here else NEW_SOFTWARE),
        *shape_parts(experts=bool(job.model.experts), hidden=job.model.hidden, sequence_length=job.sequence_length),
    )


def _own(tuning: Tuning, job: TrainingJob, generation: str) -> Tuning:
    """Return the numbers as a job's software has them."""
    software = software_of(job.framework, job.precision) if job.framework else None
    return under(tuning, traits_of(software, generation=generation))
