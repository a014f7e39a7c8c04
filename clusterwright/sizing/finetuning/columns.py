"""What the formulas of fine-tuning compute on beside model and accelerator: task and fitted factors, as columns.

Every field is a float or an array; arrays broadcast against each other, so that a formula serves one run or many.
"""

from dataclasses import dataclass, fields

import numpy as np

from clusterwright.sizing.columns import Values

#: How memory is counted: tensors, what the allocator holds, what the device shows.
TENSORS, RESERVED, DEVICE = range(3)


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One fine-tuning run, or an inference whose memory is asked for.

    Attributes:
        gpus, nodes: of the whole run.
        sequences: of one pass through one copy of the model; tokens: of the longest of them; filled: tokens that count,
            over those of sequences as long as the longest (1 where they are packed).
        model_parallel: accelerators that share one pass; shards: accelerators over which weights and states are split
            beyond that (FSDP, ZeRO-3), 1 for a copy on each group.
        global_batch: sequences per update.
        full: 1 where all weights are trained, else 0; adapter_parameters: trained beside frozen weights, on all
            accelerators together; adapter_bytes: of one of them with its gradient and moments.
        weight_bytes: of one weight of the layers' matrices; head_bytes: of one of the output matrix.
        packed: 1 where matrices must be unpacked before they multiply; head_packed: the output matrix too;
            inputs_kept: 1 where a packed matrix keeps its input for the backward pass.
        bits: of the multiplications, 16, 8 or 4; flop_per_joule: dense 16-bit peak over board power, as the generation
            is rated.
        gradient_bytes, optimizer_bytes: per trained weight of the model.
        streamed: 1 where each gradient is used and dropped at once (optimizer in the backward pass).
        host_states: 1 where weights, gradients and moments rest in host memory; host_activations: 1 where what the
            backward pass needs does.
        recomputed: share of the layers that keep their input alone; eager: 1 where no compiler fuses element-wise
            kernels.
        logit_bytes: per logit.
        inference: 1 where nothing is trained.
        memory_counted: of `TENSORS`, `RESERVED`, `DEVICE`: how memory is counted where it is measured.
    """

    gpus: Values
    nodes: Values
    sequences: Values
    tokens: Values
    filled: Values
    model_parallel: Values
    shards: Values
    global_batch: Values
    full: Values
    adapter_parameters: Values
    adapter_bytes: Values
    weight_bytes: Values
    head_bytes: Values
    packed: Values
    head_packed: Values
    inputs_kept: Values
    bits: Values
    flop_per_joule: Values
    gradient_bytes: Values
    optimizer_bytes: Values
    streamed: Values
    host_states: Values
    host_activations: Values
    recomputed: Values
    eager: Values
    logit_bytes: Values
    inference: Values = 0.0
    memory_counted: Values = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Factors:
    """The calibrated numbers.

    Attributes:
        activation_share: kept activations over those of the formula.
        eager_bytes: more that a layer without compiled kernels keeps, per token and unit of width: norms computed in 32
            bits, copies around adapters and rotations.
        copies: bytes that packing the output matrix holds, over those of that matrix in 16 bits.
        logit_share: bytes of logits over those of the formula.
        efficiency_16, efficiency_8, efficiency_4: share of the dense peak that multiplications reach at full clock.
        power_share_16, power_share_8, power_share_4: share of the rated FLOP per joule that the board's power sustains.
        eager_share: rate without compiled kernels over that with them.
        bandwidth_share: share of the memory bandwidth of element-wise kernels; passes: times that each kept
            byte crosses the memory bus.
        link_share: share of the links that collectives reach, more where computation hides a part of them;
            step_s: of an update, for every node beyond the first.
        host_share: rate with states in host memory over that without.
    """

    activation_share: Values = 1.0
    eager_bytes: Values = 16.0
    copies: Values = 2.3
    logit_share: Values = 1.0
    efficiency_16: Values = 0.7
    efficiency_8: Values = 0.6
    efficiency_4: Values = 0.45
    power_share_16: Values = 0.75
    power_share_8: Values = 0.45
    power_share_4: Values = 0.22
    eager_share: Values = 0.8
    bandwidth_share: Values = 0.8
    passes: Values = 3.0
    link_share: Values = 1.0
    step_s: Values = 0.002
    host_share: Values = 0.65


def task_columns(tasks: "list[Task]") -> Task:
    """Return one record whose columns hold the values of all tasks, in their order."""
    return Task(
        **{field.name: np.array([getattr(task, field.name) for task in tasks], dtype=float) for field in fields(Task)}
    )
