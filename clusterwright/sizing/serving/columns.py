"""What the serving formulas compute on: a model, an accelerator, a deployment and the fitted factors, as columns.

Every field is a float or an array; arrays broadcast against each other, so that a formula serves one replica or many.
"""

from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clusterwright.sizing.columns import Values
from clusterwright.workload.inference import ServedModel

_Columns = TypeVar("_Columns", bound="ServedModel | ServingDevice | Deployment | Factors")


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingDevice:
    """One accelerator: dense peaks by number format, memory, links and board power.

    Attributes:
        host_bytes_per_s: between the host's memory and the accelerator, one direction.
    """

    flop_per_s_16: Values
    flop_per_s_8: Values
    flop_per_s_4: Values
    hbm_bytes: Values
    hbm_bytes_per_s: Values
    scale_up_bytes_per_s: Values
    scale_up_gpus: Values
    network_bytes_per_s: Values
    power_w: Values
    host_bytes_per_s: Values = np.inf


@dataclass(frozen=True, kw_only=True, slots=True)
class Deployment:
    """One replica's layout, formats and load; of a disaggregated one, its decode workers, with the prefill beside them.

    Attributes:
        gpus: accelerators of one worker; workers: alike ones that share the load.
        attention_tp: accelerators that attention is split over; gpus / attention_tp ranks take different sequences.
        expert_parallel: accelerators that whole experts are split over; the others of the worker split each expert.
        pipeline: stages.
        prefill_gpus, prefill_workers, prefill_attention_tp, prefill_expert_parallel: of the prefill pool, its GPUs per
            worker; 0 workers where decode workers prefill too.
        attention_bytes, expert_bytes, cache_bytes: per weight of attention and dense MLPs, per weight of experts, per
            element of the cache.
        attention_bits, expert_bits: of the multiplications, 16, 8 or 4.
        prefix_share: of the input, whose keys and values are in memory already.
        input_tokens, output_tokens: mean of a request; reserved_tokens: of the longest request.
        shortest_share: shortest over longest output where lengths are uniform, 1 where all are alike.
        concurrency: requests in the system, infinite for as many as fit; most_sequences: limit of the framework.
        static: 1 where all sequences of a batch start together and none joins.
        draft_tokens: tokens that speculation proposes per step, 0 without.
        waves: requests of the measurement over concurrency; its first wave arrives at once.
        first_token_limit_s, time_per_token_limit_s: that 99 of 100 requests must not exceed where as many as fit are
            asked for, infinite for none.
        paged: 1 where a sequence holds memory for the tokens that it has, 0 where for the longest request.
        accepted_length: tokens that a sequence gains in a step with speculation, its own included; 0 as calibrated.
        draft_step_share: of a decode step, that one drafted token takes; 0 as calibrated.
        host_weight_share: of the weights, kept in the host's memory and read from there in every step.
        adapters: low-rank adapters that requests ask for, alike often, 0 for none; adapter_weights: of one;
            resident_adapters: that memory holds.
        encoder_weights: of an encoder of images; encoded_share: patches that it computes per token of the input.
    """

    gpus: Values
    workers: Values
    attention_tp: Values
    expert_parallel: Values
    attention_bytes: Values
    expert_bytes: Values
    cache_bytes: Values
    attention_bits: Values
    expert_bits: Values
    input_tokens: Values
    output_tokens: Values
    reserved_tokens: Values
    concurrency: Values
    most_sequences: Values = np.inf
    pipeline: Values = 1.0
    prefill_gpus: Values = 0.0
    prefill_workers: Values = 0.0
    prefill_attention_tp: Values = 1.0
    prefill_expert_parallel: Values = 1.0
    shortest_share: Values = 1.0
    static: Values = 0.0
    draft_tokens: Values = 0.0
    waves: Values = 10.0
    prefix_share: Values = 0.0
    first_token_limit_s: Values = np.inf
    time_per_token_limit_s: Values = np.inf
    paged: Values = 1.0
    accepted_length: Values = 0.0
    draft_step_share: Values = 0.0
    host_weight_share: Values = 0.0
    adapters: Values = 0.0
    adapter_weights: Values = 0.0
    resident_adapters: Values = 0.0
    encoder_weights: Values = 0.0
    encoded_share: Values = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Factors:
    """The calibrated numbers.

    Attributes:
        efficiency_16, efficiency_8, efficiency_4: share of the dense peak that large multiplications reach.
        expert_efficiency: of multiplications grouped by expert over that of plain ones.
        expert_rows: tokens of one expert at which its multiplications reach half of that.
        attention_efficiency: share of the 16-bit peak that attention reaches.
        bandwidth_share: share of the memory bandwidth that reading weights reaches; cache_share: reading the cache,
            over that; expert_bandwidth_share: reading experts, over that.
        layer_s: fixed time of a layer in a step; expert_layer_s: more of it in a layer with experts; step_s: of a step;
            sequence_s: of a sequence in a step (sampling, text, scheduling).
        collective_s: fixed time of a collective over two accelerators; link_share: share of the link's bandwidth.
        imbalance: tokens of the fullest rank's experts over the mean, less one, for many ranks.
        first_token_s: fixed time before a first token; transfer_s: more of it where prefill has a pool of its own;
            queue_share: of the wait that a queue of prefills gives.
        prefill_layer_s: launching the kernels of a layer in a step that prefills; admission_steps: decode steps between
            two looks of the scheduler at new requests; burst_share: of a lone prefill, what each request of those that
            arrive at once adds to the wait of the next.
        cache_fraction: share of the memory that weights and cache may take; reserved_bytes: taken of each accelerator.
        accepted_share: share of draft tokens that are accepted; draft_cost: of a step, per draft token.
        step_scale, prefill_scale: decode step and prefill over what the formulas give, for what they lack.
        idle_power, compute_power, memory_power: shares of board power.
        drain_share: throughput over that of the steady state, less one.
    """

    efficiency_16: Values = 0.75
    efficiency_8: Values = 0.5
    efficiency_4: Values = 0.45
    expert_efficiency: Values = 0.6
    expert_rows: Values = 48.0
    attention_efficiency: Values = 0.7
    bandwidth_share: Values = 0.75
    cache_share: Values = 0.65
    expert_bandwidth_share: Values = 0.8
    layer_s: Values = 30e-6
    expert_layer_s: Values = 80e-6
    step_s: Values = 0.65e-3
    sequence_s: Values = 32e-6
    collective_s: Values = 4e-6
    link_share: Values = 0.33
    imbalance: Values = 0.3
    first_token_s: Values = 0.02
    transfer_s: Values = 0.17
    prefill_layer_s: Values = 0.6e-3
    admission_steps: Values = 2.0
    burst_share: Values = 0.65
    queue_share: Values = 1.25
    cache_fraction: Values = 0.9
    reserved_bytes: Values = 4e9
    accepted_share: Values = 0.6
    draft_cost: Values = 0.03
    step_scale: Values = 1.0
    prefill_scale: Values = 1.0
    drain_share: Values = 0.97
    idle_power: Values = 0.32
    compute_power: Values = 0.6
    memory_power: Values = 0.4


def stacked(records: "list[_Columns]") -> _Columns:
    """Return one record whose columns hold the values of all `records`, in their order."""
    first = records[0]
    columns = {
        field.name: np.array([getattr(record, field.name) for record in records], dtype=float)
        for field in fields(first)
    }
    return type(first)(**columns)


def taken(columns: _Columns, index: npt.NDArray[np.intp]) -> _Columns:
    """Return the same record with the rows of an index."""
    picked = {field.name: np.asarray(getattr(columns, field.name))[index] for field in fields(columns)}
    return type(columns)(**picked)
