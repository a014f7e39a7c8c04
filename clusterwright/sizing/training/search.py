"""The search: every layout of a node type on every useful cluster size, and the points that no other beats.

Memory first, so that only layouts that fit are timed; layer times once per distinct layer (`layer_tables`); the rest in
chunks that stay in the processor's cache (`timing`).
"""

from dataclasses import replace

import numpy as np

from clusterwright.catalog.records import NodeType
from clusterwright.errors import Finding, RuleError
from clusterwright.sizing.columns import Device, Index, Shape, take
from clusterwright.sizing.feeding import loading as data_loading
from clusterwright.sizing.feeding import starts as data_starts
from clusterwright.sizing.hardware.calibration import Calibration, StackCalibration
from clusterwright.sizing.hardware.devices import device_of
from clusterwright.sizing.hardware.software import stacks_of
from clusterwright.sizing.model import layer_memory
from clusterwright.sizing.model.shapes import shape_of_job
from clusterwright.sizing.records.job import Front, Layout, MemoryPerGpu, TrainingJob
from clusterwright.sizing.records.reliability import Reliability
from clusterwright.sizing.training import layouts, memory, memory_margin, parallel_sizes, points
from clusterwright.sizing.training.constraints import constraints_of, fixed_parallelism, to_blame
from clusterwright.sizing.training.layer_tables import first_level, needed_bytes
from clusterwright.sizing.training.layouts import Space, enumerate_layouts
from clusterwright.sizing.training.optimizer import host_memory
from clusterwright.sizing.training.optimizer.upkeep import upkeep_of
from clusterwright.sizing.training.parallel_sizes import node_limit
from clusterwright.sizing.training.preference import preferred
from clusterwright.sizing.training.timing import Timed, time_all
from clusterwright.units import BYTES, counted, percent, text

_WORKLOAD = ("workload",)


def no_layout(job: TrainingJob, node: NodeType, *, limit: int) -> Finding:
    """Return `LAY001`: no split of up to `limit` nodes divides the model and the batch, and what is in the way."""
    held = [entry for entry in constraints_of(job) if entry.field != "max_nodes"]
    given = f" with {', '.join(entry.words for entry in held)} as given" if held else ""
    blamed = to_blame(job, lambda freer: _has_layouts(freer, node))
    free = " or ".join(".".join(map(str, entry.path)) for entry in blamed)
    beside = f" beside {job.nodes_beside}" if job.nodes_beside else ""
    divisible = f"choose a global batch that is a multiple of {node.gpus}, or fix fewer parallel sizes"
    return Finding(
        id="LAY001",
        path=blamed[0].path if blamed else _WORKLOAD,
        message=(
            f"no layout of {job.model.name} on up to {limit} x {node.id}{beside} divides "
            f"{job.model.layers} layers, {job.model.heads} heads and a batch of {job.global_batch_sequences} sequences "
            f"over {counted(node.gpus, 'GPU')} per node"
            f"{given}{node.alone_text}"
        ),
        help=f"there are layouts without {free}: change or leave it out" if blamed else divisible,
    )


def _has_layouts(job: TrainingJob, node: NodeType) -> bool:
    return enumerate_layouts(job, node, max_nodes=node_limit(job, node)) is not None


def never_finishes(node: NodeType) -> Finding:
    """Return `REL002`: failures come so often that on no number of nodes any work is kept."""
    return Finding(
        id="REL002",
        path=_WORKLOAD,
        message=f"the job never finishes on {node.id}: it is interrupted before it has saved any progress",
        help="check reliability.interruptions_per_1000_node_days, restart and checkpoint; fewer nodes fail less often",
    )


def does_not_fit(
    job: TrainingJob, node: NodeType, *, layout: Layout, needed: MemoryPerGpu, nodes_that_fit: int | None
) -> Finding:
    """Return `MEM001`: the layout that came closest, by how much it misses, and what would fit."""
    held = memory_margin.margin(job)
    usable = node.hbm_bytes_per_gpu / held
    over = needed.total - usable
    has, least, surer = f"{text(node.hbm_bytes_per_gpu, BYTES)} it has", needed.total * held, ""
    if held > 1 and job.memory_confidence is not None:
        has = f"{text(usable, BYTES)} that fit with {percent(job.memory_confidence)} probability into the {has}"
        surer = ", or lower goals.memory_confidence"
    terms = {
        "weights": needed.weights,
        "gradients": needed.gradients,
        "optimizer": needed.optimizer,
        "activations": needed.activations + needed.logits,
    }
    shown = ", ".join(f"{name} {text(value, BYTES)}" for name, value in terms.items())
    gpus = layout.tp * layout.cp * layout.pp * layout.dp
    sizes = {"tp": layout.tp, "cp": layout.cp, "pp": layout.pp, "dp": layout.dp, "ep": layout.ep}
    split = ", ".join(f"{name} {size}" for name, size in sizes.items() if size > 1 or name not in ("cp", "ep"))
    fixed = fixed_parallelism(job)
    wider = f"allow at least {nodes_that_fit} nodes, or " if nodes_that_fit is not None else ""
    if not node.reaches_others:
        wider = "choose nodes with a GPU fabric, or "
    freer = f"leave {', '.join(fixed)} of workload.parallelism to the search, or " if fixed else ""
    return Finding(
        id="MEM001",
        path=(*_WORKLOAD, "parallelism") if fixed else _WORKLOAD,
        message=(
            f"{job.model.name} does not fit on {node.id}: the best layout "
            f"({split}, ZeRO {layout.zero_stage}, {layout.recompute} recomputation, {gpus} GPUs) needs "
            f"{text(needed.total, BYTES)} per GPU, {text(over, BYTES)} more than the {has} ({shown})"
            f"{node.alone_text}"
        ),
        help=f"{freer}{wider}choose accelerators with at least {text(least, BYTES, digits=4)} of memory{surer}",
    )


def no_room(node: NodeType, *, least_bytes: float, local_bytes: float) -> Finding:
    """Return `DAT002`: on no number of nodes does the staged data fit on their local drives."""
    return Finding(
        id="DAT002",
        path=("data", "staging"),
        message=(
            f"{node.id}: the data that one node has to hold is at least {text(least_bytes, BYTES)}, its local drives "
            f"hold {text(local_bytes, BYTES)}"
        ),
        help="set data.staging to none, allow more nodes, or store less of each sample",
    )


def search(
    *, job: TrainingJob, node: NodeType, calibration: Calibration, reliability: Reliability | None = None
) -> Front:
    """Return the front of one node type: the points that no other beats in both nodes and calendar days.

    Where offloading is optional, that is the front of both ways together. Arguments and errors are those of `front_of`.
    """
    if job.offload is None or not job.offload_optional:
        return front_of(job=job, node=node, calibration=calibration, reliability=reliability)
    fronts, refused = [], None
    for offload in (job.offload, None):
        try:
            offloading = replace(job, offload=offload)
            fronts.append(front_of(job=offloading, node=node, calibration=calibration, reliability=reliability))
        except RuleError as error:
            refused = refused or error
    if refused is not None and not fronts:
        raise refused
    return points.joined(fronts)


def front_of(
    *, job: TrainingJob, node: NodeType, calibration: Calibration, reliability: Reliability | None = None
) -> Front:
    """Return the front of one node type, with what the job says is offloaded.

    Every layout of `layouts.enumerate_space` is looked at, on all cluster sizes up to the limit that layouts make
    useful: its memory is computed, and its time unless it is proven slower (`time_all`). The fastest point is always on
    the front, so a goal it misses cannot be met with this node type.

    Args:
        job: the training run.
        node: the node type.
        calibration: calibrated numbers.
        reliability: failures and checkpoints of the job; the calibrated ones with default choices if None.

    Raises:
        InputError: the model or precision cannot be sized on this accelerator.
        RuleError: no layout divides the job (`LAY001`), none has room for staged data (`DAT002`), none fits into memory
            (`MEM001`), or of those that do, none leaves the host what it can hold (`MEM002`, `MEM003`); the finding
            says by how much and what would fit.
        MissingFactError: the job offloads, and a link's bandwidth is unknown.
    """
    shape = shape_of_job(job)
    device = device_of(node, precision=job.precision)
    device = replace(device, hbm_bytes=device.hbm_bytes / memory_margin.margin(job))
    limit = parallel_sizes.node_limit(job, node)
    space = layouts.enumerate_space(job, node, max_nodes=limit)
    if space is None:
        raise RuleError((no_layout(job, node, limit=limit),))
    space = _with_room(job, node, space)
    stacks = stacks_of(calibration, node, job)
    reliability = reliability or calibration.reliability()
    timed = time_all(job, node, shape, device, space, stacks=stacks, reliability=reliability)
    if not timed.row.size and timed.outside is not None:
        raise RuleError((host_memory.too_small(job, node, timed.outside),))
    if not timed.row.size:
        raise RuleError((_does_not_fit(job, node, shape, device, space, stack=stacks[0]),))
    chosen = _front_rows(timed)
    if not chosen.size:
        raise RuleError((never_finishes(node),))
    taken = preferred(timed, space, chosen, job=job, shape=shape, stacks=stacks)
    rows = np.concatenate([taken.rows, chosen])
    found = space.at(timed.mode[rows], timed.row[rows])
    found = replace(found, recompute_layers=timed.recompute_layers[rows])
    described = points.describe(job, node, shape, device, found, stacks=stacks, reliability=reliability)
    sizes = zip(described[: chosen.size], described[chosen.size :], taken.faster, strict=True)
    return Front(
        node=node,
        points=tuple(
            replace(point, faster=faster, fastest=None if faster is None else fastest)
            for point, fastest, faster in sizes
        ),
        layouts_evaluated=space.count,
        layouts_rejected_by_memory=space.count - timed.fitting,
    )


def _with_room(job: TrainingJob, node: NodeType, space: Space) -> Space:
    """Return the layouts whose part of staged data fits on a node's local drives."""
    if not job.loading.staged:
        return space
    rates = data_loading.rates_of(job, node)
    staged = np.broadcast_to(
        np.asarray(data_starts.amounts(rates, job, node, space.rows).staged_bytes), np.shape(space.rows.dp)
    )
    rows = np.flatnonzero(staged <= rates.local_bytes)
    if not rows.size:
        raise RuleError((no_room(node, least_bytes=float(staged.min()), local_bytes=rates.local_bytes),))
    return replace(space, rows=take(space.rows, rows))


def _front_rows(timed: Timed) -> Index:
    """Return the rows that are faster than every row on as many or fewer nodes; ties go to the first of the space."""
    counts = timed.nodes.astype(np.intp)
    least = np.full(counts.max() + 1, np.inf)
    np.minimum.at(least, counts, timed.days)
    best = np.flatnonzero(timed.days == least[counts])
    order = best[np.lexsort((timed.row[best], timed.mode[best], timed.nodes[best]))]
    days = timed.days[order]
    before = np.minimum.accumulate(np.concatenate([[np.inf], days[:-1]]))
    return order[days < before]


def _does_not_fit(
    job: TrainingJob, node: NodeType, shape: Shape, device: Device, space: Space, *, stack: StackCalibration
) -> Finding:
    """Return what came closest to fitting, and the smallest cluster beyond the limit that would fit."""
    upkeep = upkeep_of(job, shape, node)
    least, nearest = np.inf, space.at(0, 0)
    tables = first_level(shape, device, space, stack=stack)
    for chunk, needed in needed_bytes(shape, space, tables, upkeep=upkeep):
        mode, row = divmod(int(np.argmin(needed)), needed.shape[1])
        if needed[mode, row] < least:
            least, nearest = float(needed[mode, row]), space.at(mode, row + chunk.start)
    wider = None
    if node.reaches_others:
        wider = layouts.enumerate_space(job, node, max_nodes=parallel_sizes.DEFAULT_MAX_NODES)
    gpus_that_fit = np.inf
    if wider is not None:
        tables = first_level(shape, device, wider, stack=stack)
        for chunk, needed in needed_bytes(shape, wider, tables, upkeep=upkeep):
            fits = (needed <= device.hbm_bytes).any(axis=0)
            gpus = layouts.gpu_counts(take(wider.rows, chunk))
            gpus_that_fit = min(gpus_that_fit, np.min(gpus, where=fits, initial=np.inf))
    return does_not_fit(
        job,
        node,
        layout=layouts.layout_at(nearest),
        needed=memory.per_gpu(
            shape, nearest, layer=layer_memory.layer_bytes(shape, nearest), practice=upkeep.practice
        ).row(0),
        nodes_that_fit=int(gpus_that_fit / node.gpus) if np.isfinite(gpus_that_fit) else None,
    )
