"""What a training run needs of its shared file system: capacity, and bandwidth for checkpoints and loading."""

from dataclasses import replace

import numpy as np

from clusterwright.sizing.columns import Values
from clusterwright.sizing.records.job import TrainingJob
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.records.run import StorageNeed
from clusterwright.sizing.reliability import checkpoints
from clusterwright.workload import training


def dataset_bytes(job: TrainingJob) -> float:
    """Return the bytes of the training data: what the user says, else every token once at its stored size."""
    if job.dataset_bytes is not None:
        return job.dataset_bytes
    if job.loading.bytes_per_token is not None:
        return job.tokens * job.loading.bytes_per_token
    return training.dataset_bytes(tokens=job.tokens, vocab=job.model.vocab)


def sized(reliability: Reliability, *, parameters: float) -> Reliability:
    """Return the choices with the checkpoint of a model of a given number of parameters."""
    return replace(
        reliability,
        checkpoint_bytes=training.checkpoint_bytes(
            parameters=parameters, bytes_per_parameter=reliability.numbers.checkpoint_bytes_per_parameter
        ),
    )


def read_bytes_per_s(job: TrainingJob, reliability: Reliability, *, data_read_bytes_per_s: Values) -> Values:
    """Return what shared storage gives: what the user says, else the larger of its two uses, in bytes/s.

    A checkpoint is read within the time planned for it, or training data while training; not both at once.

    Args:
        job: what the user says.
        reliability: with the size of the checkpoint.
        data_read_bytes_per_s: of training data, while training, by all nodes.
    """
    if job.loading.shared_read_bytes_per_s is not None:
        return job.loading.shared_read_bytes_per_s
    return np.maximum(_restart_read(reliability), data_read_bytes_per_s)


def storage_need(
    job: TrainingJob, reliability: Reliability, *, parameters: float, data_read_bytes_per_s: float, run_s: float
) -> StorageNeed:
    """Return the storage need of a run.

    Capacity: the tokenised data set and the retained checkpoints (the latest and the milestones), with headroom. Write:
    a checkpoint in the time that the strategy gives it. Read: see `read_bytes_per_s`.

    Args:
        job: its data set, which tokens and vocabulary size where the user gives no size.
        reliability: strategy, checkpoint size per parameter, retention, write and read time, headroom.
        parameters: of the model.
        data_read_bytes_per_s: of training data, while training, by all nodes.
        run_s: calendar time of the run.
    """
    numbers = reliability.numbers
    dataset = dataset_bytes(job)
    whole = sized(reliability, parameters=parameters)
    kept = checkpoints.kept_bytes(whole, run_s=run_s)
    return StorageNeed(
        dataset_bytes=dataset,
        checkpoint_bytes_kept=kept,
        capacity_bytes=(dataset + kept) * numbers.capacity_headroom,
        read_bytes_per_s=float(read_bytes_per_s(job, whole, data_read_bytes_per_s=data_read_bytes_per_s)),
        write_bytes_per_s=checkpoints.write_bytes_per_s(whole),
        checkpoints_kept=int(numbers.checkpoints_kept),
        milestones=checkpoints.milestones(whole, run_s=run_s),
        milestone_every_s=whole.milestone_every_s,
        restart_read_bytes_per_s=_restart_read(whole),
        data_read_bytes_per_s=data_read_bytes_per_s,
    )


def _restart_read(reliability: Reliability) -> float:
    return checkpoints.restored_bytes(reliability) / reliability.numbers.checkpoint_read_s
