"""States and activations outside the accelerator: what leaves its memory, what the host needs, and the time it takes.

- optimizer: gradients go to the host, its processors update the fp32 weights there, and bf16 weights come back
  (ZeRO-Offload, arXiv 2101.06840, sections 3 and 5); on NVMe the states are read and written in every step besides
  (ZeRO-Infinity, arXiv 2104.07857, section 5)
- parameters: each accelerator fetches its part of a layer from the host before the ranks gather the layer, forward and
  backward (ZeRO-3; ZeRO-Infinity, section 6.1)
- activations: what a layer keeps goes to host memory after its forward pass and comes back for its backward pass

Every direction of the link and every drive works beside the others, and beside computation.
"""

from dataclasses import dataclass

import numpy as np

from clusterwright.catalog.host import Host
from clusterwright.errors import MissingFactError
from clusterwright.sizing.columns import Values

OPTIMIZER, PARAMETERS, ACTIVATIONS = "optimizer", "parameters", "activations"
#: Gradients leave in bf16 and are added up in fp32 on the host; weights travel in bf16.
SENT_BYTES, SUMMED_BYTES = 2.0, 4.0
#: Layers of activations on the accelerator: one that computes, one that travels.
BUFFERED_LAYERS = 2.0
#: Of host memory, for states: the rest is left to system, page cache and data loading. An assumption.
USABLE_SHARE = 0.9
#: ZeRO stage from which gradients leave as they are computed, instead of once per step; weights only with the last.
STREAMED_FROM_STAGE, WEIGHTS_FROM_STAGE = 2, 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Offload:
    """What of a job lies outside the accelerator, and where.

    Attributes:
        optimizer, parameters, activations: lie there.
        nvme: optimizer and parameters lie on local drives, else in host memory; activations always in host memory.
    """

    optimizer: bool = False
    parameters: bool = False
    activations: bool = False
    nvme: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Owned:
    """What one accelerator owns of a step, as columns.

    Attributes:
        parameters: that it updates; state_bytes, traffic_bytes: that their optimizer keeps and moves, per parameter.
        activation_bytes: that one micro-batch keeps on it; in_flight: micro-batches that it holds at once.
        micro_batches: of a step; streamed: gradients leave as they are computed, 1 or 0.
    """

    parameters: Values
    state_bytes: float
    traffic_bytes: Values
    activation_bytes: Values
    in_flight: Values
    micro_batches: Values
    streamed: Values


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """Bytes/s that one accelerator has to itself, one direction, as copies reach them.

    Attributes:
        host: to and from host memory; read, write: its share of the local drives, infinite where they are not used.
        update: its share of what the node's processors read and write while they update weights.
    """

    host: float
    update: float
    read: float = np.inf
    write: float = np.inf


@dataclass(frozen=True, kw_only=True, slots=True)
class OffloadTimes:
    """Seconds of one step on one accelerator before anything is hidden, by what they are spent on.

    Attributes:
        to_host, to_device: on the link beside computation; drives: on the drives beside computation.
        after: after the last backward pass: update, and what travels with it.
    """

    to_host: Values
    to_device: Values
    drives: Values
    after: Values


def links_of(host: Host, offload: Offload, *, gpus: int, node: str) -> Links:
    """Return what one accelerator has of a node's links.

    Raises:
        MissingFactError: the catalogue does not know a bandwidth that the time of the job needs.
    """
    needed = {
        "link between host memory and accelerators": host.link_bytes_per_s_per_gpu_one_way,
        "share of that link which copies reach": host.link_fraction,
        "rate at which its processors update weights": host.update_bytes_per_s,
    }
    if offload.nvme:
        needed["rate at which its drives are read"] = host.nvme_read_bytes_per_s
        needed["rate at which its drives are written"] = host.nvme_write_bytes_per_s
    unknown = [name for name, value in needed.items() if value is None]
    if unknown:
        other = "memory.offload_to: cpu, or " if all("drives" in name for name in unknown) else ""
        raise MissingFactError(
            f"{node}: the catalogue does not know the {' and the '.join(unknown)}, which offloading needs",
            help=f"choose {other}another node type, or remove workload.memory",
        )
    link, fraction, update = (value or 0.0 for value in list(needed.values())[:3])
    return Links(
        host=link * fraction,
        update=update / gpus,
        read=(host.nvme_read_bytes_per_s or 0.0) / gpus if offload.nvme else np.inf,
        write=(host.nvme_write_bytes_per_s or 0.0) / gpus if offload.nvme else np.inf,
    )


def times(offload: Offload, links: Links, owned: Owned) -> OffloadTimes:
    """Return the seconds of a step's traffic and update, see the module's text.

    With `n` parameters owned, `m` micro-batches and `a` bytes of activations per micro-batch: gradients `2 n m` where
    they are streamed (else `4 n` once, after the last backward pass), weights back `2 n`, update `traffic n`,
    parameters `2 x 2 n m`, activations `a m` each way; on drives states `(state) n` and summed gradients are read and
    written once per step, parameters as often as they are fetched. The update is pipelined with its traffic: chunk by
    chunk, so that the slowest of them counts (ZeRO-Offload, section 5.1).
    """
    count, n = owned.micro_batches, owned.parameters
    to_host: Values = 0.0
    to_device: Values = 0.0
    drives: Values = 0.0
    after: Values = 0.0
    if offload.activations:
        to_host = to_host + owned.activation_bytes * count / links.host
        to_device = to_device + owned.activation_bytes * count / links.host
    if offload.parameters:
        fetched = 2 * SENT_BYTES * n * count
        to_device = to_device + fetched / links.host
        drives = drives + fetched / links.read
    if offload.optimizer:
        streamed = SENT_BYTES * n * count / links.host
        to_host = to_host + owned.streamed * streamed
        once = (1 - owned.streamed) * SUMMED_BYTES * n / links.host
        back = 0.0 if offload.parameters else SENT_BYTES * n / links.host
        kept = owned.state_bytes + SUMMED_BYTES
        stored = kept * n / links.read + (kept + (SENT_BYTES if offload.parameters else 0.0)) * n / links.write
        update = owned.traffic_bytes * n / links.update
        after = np.maximum(np.maximum(once, back), np.maximum(update, stored))
    return OffloadTimes(to_host=to_host, to_device=to_device, drives=drives, after=after)


def exposed_s(found: OffloadTimes, *, window_s: Values, overlap: Values) -> Values:
    """Return the seconds that offloading adds to a step: `t - overlap min(t, window)` of its longest queue, and after.

    Args:
        found: seconds before anything is hidden.
        window_s: of computation in the step.
        overlap: share of traffic that computation hides at best, `Tuning.data_overlap`.
    """
    beside = np.maximum(np.maximum(found.to_host, found.to_device), found.drives)
    return beside - overlap * np.minimum(beside, window_s) + found.after


@dataclass(frozen=True, kw_only=True, slots=True)
class HostBytes:
    """Bytes outside one accelerator, by term, as columns: in host memory but for those of the drives."""

    optimizer: Values = 0.0
    gradients: Values = 0.0
    parameters: Values = 0.0
    activations: Values = 0.0
    nvme: Values = 0.0

    def memory(self) -> Values:
        """Return what lies in host memory."""
        return self.optimizer + self.gradients + self.parameters + self.activations


def host_bytes(offload: Offload, owned: Owned) -> HostBytes:
    """Return what the host holds for one accelerator.

    In host memory 18 bytes per parameter for Adam: states 12, summed gradients 4, bf16 weights 2 (on their way, or
    offloaded; DeepSpeed's estimate for ZeRO-3 counts the same). Drives hold states, gradients and, if they are
    offloaded, the weights; host memory then only what is on its way, which is not counted.
    """
    n = owned.parameters
    activations = owned.activation_bytes * owned.in_flight if offload.activations else 0.0
    states = owned.state_bytes * n if offload.optimizer else 0.0
    gradients = SUMMED_BYTES * n if offload.optimizer else 0.0
    weights = SENT_BYTES * n if offload.optimizer or offload.parameters else 0.0
    if offload.nvme:
        on_drives = states + gradients + (weights if offload.parameters else 0.0)
        return HostBytes(activations=activations, nvme=on_drives)
    return HostBytes(optimizer=states, gradients=gradients, parameters=weights, activations=activations)
