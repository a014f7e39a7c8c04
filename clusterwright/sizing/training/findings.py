"""What a training job that cannot be laid out or does not fit is told."""

from clusterwright.catalog.records import NodeType
from clusterwright.errors import Finding
from clusterwright.sizing.records.job import Layout, MemoryPerGpu, TrainingJob
from clusterwright.sizing.training.constraints import constraints_of, fixed_parallelism, to_blame
from clusterwright.sizing.training.layouts import enumerate_layouts
from clusterwright.sizing.training.parallel_sizes import node_limit
from clusterwright.units import BYTES, text

_WORKLOAD = ("workload",)


def no_layout(job: TrainingJob, node: NodeType, *, limit: int) -> Finding:
    """Return `LAY001`: no split of up to `limit` nodes divides the model and the batch, and what stands in the way."""
    held = [entry for entry in constraints_of(job) if entry.field != "max_nodes"]
    given = f" with {', '.join(entry.words for entry in held)} as given" if held else ""
    blamed = to_blame(job, lambda freer: _has_layouts(freer, node))
    free = " or ".join(".".join(map(str, entry.path)) for entry in blamed)
    divisible = f"choose a global batch that is a multiple of {node.gpus}, or fix fewer parallel sizes"
    return Finding(
        id="LAY001",
        path=blamed[0].path if blamed else _WORKLOAD,
        message=(
            f"no layout of {job.model.name} on up to {limit} x {node.id} divides "
            f"{job.model.layers} layers, {job.model.heads} heads and a batch of {job.global_batch_sequences} sequences "
            f"over {node.gpus} GPUs per node"
            f"{given}"
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
    over = needed.total - node.hbm_bytes_per_gpu
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
    freer = f"leave {', '.join(fixed)} of workload.parallelism to the search, or " if fixed else ""
    return Finding(
        id="MEM001",
        path=(*_WORKLOAD, "parallelism") if fixed else _WORKLOAD,
        message=(
            f"{job.model.name} does not fit on {node.id}: the best layout "
            f"({split}, ZeRO {layout.zero_stage}, {layout.recompute} recomputation, {gpus} GPUs) needs "
            f"{text(needed.total, BYTES)} per GPU, {text(over, BYTES)} more than the "
            f"{text(node.hbm_bytes_per_gpu, BYTES)} it has ({shown})"
        ),
        help=f"{freer}{wider}choose accelerators with at least {text(needed.total, BYTES, digits=4)} of memory",
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
