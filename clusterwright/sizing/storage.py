"""What a training run needs of its shared file system: capacity, and bandwidth for checkpoints and loading."""

from dataclasses import replace

from clusterwright.sizing import checkpoints
from clusterwright.sizing.records import StorageNeed, TrainingJob
from clusterwright.sizing.reliability import Reliability
from clusterwright.workload import training


def storage_need(
    job: TrainingJob, reliability: Reliability, *, parameters: float, tokens_per_s: float, run_s: float
) -> StorageNeed:
    """Return the storage need of a run.

    Capacity: the tokenised data set and the retained checkpoints (the latest and the milestones), with headroom. Write:
    a checkpoint in the time that the strategy gives it. Read: the larger of a restart within the stated read time, and
    the tokens consumed while training.

    Args:
        job: its data set, which tokens and vocabulary size where the user gives no size.
        reliability: strategy, checkpoint size per parameter, retention, write and read time, headroom.
        parameters: of the model.
        tokens_per_s: of the whole job.
        run_s: calendar time of the run.
    """
    numbers = reliability.numbers
    token_bytes = training.bytes_per_token_on_disk(vocab=job.model.vocab)
    dataset = job.dataset_bytes
    if dataset is None:
        dataset = training.dataset_bytes(tokens=job.tokens, vocab=job.model.vocab)
    sized = replace(
        reliability,
        checkpoint_bytes=training.checkpoint_bytes(
            parameters=parameters, bytes_per_parameter=numbers.checkpoint_bytes_per_parameter
        ),
    )
    kept = checkpoints.kept_bytes(sized, run_s=run_s)
    restored = checkpoints.restored_bytes(sized)
    return StorageNeed(
        dataset_bytes=dataset,
        checkpoint_bytes_kept=kept,
        capacity_bytes=(dataset + kept) * numbers.capacity_headroom,
        read_bytes_per_s=max(restored / numbers.checkpoint_read_s, tokens_per_s * token_bytes),
        write_bytes_per_s=checkpoints.write_bytes_per_s(sized),
        checkpoints_kept=int(numbers.checkpoints_kept),
        milestones=checkpoints.milestones(sized, run_s=run_s),
        milestone_every_s=sized.milestone_every_s,
    )
