"""What a training run needs of its shared file system: capacity, and bandwidth for checkpoints and loading."""

from clusterwright.sizing.calibration import Reliability
from clusterwright.sizing.records import StorageNeed, TrainingJob
from clusterwright.workload import training


def storage_need(job: TrainingJob, reliability: Reliability, *, parameters: float, tokens_per_s: float) -> StorageNeed:
    """Return the storage need of a run.

    Capacity: the tokenised data set and the retained checkpoints, with headroom. Write: a whole checkpoint within the
    stated write time, during which training waits. Read: the larger of a checkpoint within the stated read time at a
    restart, and the tokens consumed while training.

    Args:
        job: its data set, which tokens and vocabulary size where the user gives no size.
        reliability: checkpoint size per parameter, how many are kept, write and read time, headroom.
        parameters: of the model.
        tokens_per_s: of the whole job.
    """
    token_bytes = training.bytes_per_token_on_disk(vocab=job.model.vocab)
    dataset = job.dataset_bytes
    if dataset is None:
        dataset = training.dataset_bytes(tokens=job.tokens, vocab=job.model.vocab)
    checkpoint = training.checkpoint_bytes(
        parameters=parameters, bytes_per_parameter=reliability.checkpoint_bytes_per_parameter
    )
    kept = checkpoint * reliability.checkpoints_kept
    return StorageNeed(
        dataset_bytes=dataset,
        checkpoint_bytes_kept=kept,
        capacity_bytes=(dataset + kept) * reliability.capacity_headroom,
        read_bytes_per_s=max(checkpoint / reliability.checkpoint_read_s, tokens_per_s * token_bytes),
        write_bytes_per_s=checkpoint / reliability.checkpoint_write_s,
    )
