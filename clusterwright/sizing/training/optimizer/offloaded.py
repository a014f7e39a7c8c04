"""What lies outside the accelerators of chosen layouts, as the records of a plan."""

from dataclasses import dataclass

import numpy as np

from clusterwright.catalog.records import NodeType
from clusterwright.sizing.columns import Layouts, Shape, Values
from clusterwright.sizing.model.layer_memory import LayerBytes
from clusterwright.sizing.records.job import OffloadNeed
from clusterwright.sizing.records.offload import ACTIVATIONS, OPTIMIZER, PARAMETERS, HostBytes, Offload, OffloadTimes
from clusterwright.sizing.training.optimizer.upkeep import Upkeep, offload_times, outside_bytes, updated_parameters


@dataclass(frozen=True, kw_only=True, slots=True)
class Away:
    """Bytes and seconds of what is offloaded, as columns over layouts."""

    node: NodeType
    upkeep: Upkeep
    outside: HostBytes
    times: OffloadTimes
    owned: Values

    def row(self, index: int, *, scale: float, overlap: float, copies: float) -> OffloadNeed:
        """Return one layout's record.

        Args:
            index: of the layout.
            scale: median of measured over predicted time.
            overlap: share of traffic that computation hides at best, `Tuning.data_overlap`.
            copies: bytes of copies of checkpoints on each node.
        """
        gpus, host, links = self.node.gpus, self.node.host, self.upkeep.links
        away = self.upkeep.offload or Offload()

        def one(values: Values) -> float:
            flat = np.atleast_1d(np.asarray(values, dtype=np.float64))
            return float(flat[index if flat.size > 1 else 0])

        return OffloadNeed(
            what=named(away),
            where="nvme" if away.nvme else "cpu",
            optimizer_bytes_per_node=gpus * one(self.outside.optimizer),
            gradients_bytes_per_node=gpus * one(self.outside.gradients),
            parameters_bytes_per_node=gpus * one(self.outside.parameters),
            activations_bytes_per_node=gpus * one(self.outside.activations),
            checkpoints_bytes_per_node=copies,
            host_memory_bytes_per_node=host.memory_bytes,
            nvme_bytes_per_node=gpus * one(self.outside.nvme),
            nvme_capacity_bytes_per_node=host.nvme_bytes,
            to_host_s=scale * one(self.times.to_host),
            to_device_s=scale * one(self.times.to_device),
            drives_s=scale * one(self.times.drives),
            after_s=scale * one(self.times.after),
            host_bytes_per_s_per_gpu=links.host if links else 0.0,
            update_bytes_per_s_per_gpu=links.update if links else 0.0,
            owned_parameters=one(self.owned),
            overlap_share=overlap,
        )


def named(away: Offload) -> tuple[str, ...]:
    """Return what is offloaded, by the words of the blueprint."""
    chosen = ((OPTIMIZER, away.optimizer), (PARAMETERS, away.parameters), (ACTIVATIONS, away.activations))
    return tuple(name for name, lies_there in chosen if lies_there)


def away_of(shape: Shape, layouts: Layouts, upkeep: Upkeep, *, layer: LayerBytes, node: NodeType) -> Away:
    """Return what lies outside the accelerators of layouts.

    Args:
        shape: the model.
        layouts: the layouts.
        upkeep: optimizer, and what is offloaded.
        layer: what one layer keeps of one micro-batch.
        node: the node type.
    """
    return Away(
        node=node,
        upkeep=upkeep,
        outside=outside_bytes(shape, layouts, upkeep, layer=layer),
        times=offload_times(shape, layouts, upkeep, layer=layer),
        owned=updated_parameters(shape, layouts),
    )
