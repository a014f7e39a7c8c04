"""What a training run asks of storage and data: bytes of data, tokens per step, steps, bytes of a checkpoint."""


def tokens_per_step(*, sequence_length: int, global_batch_sequences: int) -> int:
    """Return the tokens of one optimizer step: sequences times their length."""
    return sequence_length * global_batch_sequences


def steps(*, tokens: float, sequence_length: int, global_batch_sequences: int) -> float:
    """Return the optimizer steps of a run; the last one may be partial."""
    return tokens / tokens_per_step(sequence_length=sequence_length, global_batch_sequences=global_batch_sequences)


def bytes_per_token_on_disk(*, vocab: int) -> int:
    """Return bytes per tokenised token: 2 where every id fits in 16 bits, else 4 (Megatron's indexed data sets)."""
    return 2 if vocab <= 2**16 else 4


def dataset_bytes(*, tokens: float, vocab: int) -> float:
    """Return the bytes of the tokenised training data, each token stored once."""
    return tokens * bytes_per_token_on_disk(vocab=vocab)


def checkpoint_bytes(*, parameters: float, bytes_per_parameter: float) -> float:
    """Return the bytes of a checkpoint with optimizer state.

    Published: 105 GB for Llama 3 8B, 920 GB for 70B, 5.2 TB for 405B, which is 12.8 to 13.1 bytes per parameter (NVIDIA
    DGX Cloud benchmarking recipes); bf16 weights, fp32 weights and two fp32 moments together are 14.
    """
    return parameters * bytes_per_parameter
