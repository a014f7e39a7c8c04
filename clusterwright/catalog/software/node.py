"""The set of software that is on the nodes of one target."""

from collections import Counter
from dataclasses import dataclass

from clusterwright.catalog.software import mig
from clusterwright.catalog.software.solver import Chosen

_SLICES = "slices"
#: Ways to share a whole GPU that node pools of GKE know.
_POOL_WAYS = frozenset({"mps", "time-slicing"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Software:
    """Software of every node of one target.

    Attributes:
        target: `aws`, `azure`, `gcp` or `onprem`.
        parts: facts, releases and settings in the order in which they were chosen.
        geometry: MIG profiles of one GPU; empty where GPUs are not divided.
        divided_gpus: divided GPUs of a node.
        divided_nodes: count of divided nodes, the last of the cluster's; None for all.
        sharing: way in which jobs share whole GPUs: `mps`, `time-slicing`, `hami`, `vgpu`; empty for none.
        shared_parts: most jobs on one GPU.
        shared_nodes: count of nodes with shared GPUs, the last of the cluster's; None for all.
    """

    target: str
    parts: tuple[Chosen, ...]
    geometry: tuple[str, ...] = ()
    divided_gpus: int = 0
    divided_nodes: int | None = None
    sharing: str = ""
    shared_parts: int = 1
    shared_nodes: int | None = None

    def version(self, component: str) -> str | None:
        """Return the version of a component; None where it is unknown or not needed."""
        return next((part.version for part in self.parts if part.component == component), None)

    @property
    def profiles(self) -> tuple[mig.Profile, ...]:
        """The profiles of the divided accelerator; empty where GPUs are not divided."""
        return mig.profiles_by_gpu().get(self.version("accelerator") or "", ()) if self.geometry else ()

    @property
    def instances(self) -> dict[str, int]:
        """Instances of a divided node by profile, the largest first."""
        order = [profile.name for profile in reversed(self.profiles)]
        counts = Counter(self.geometry)
        return {name: counts[name] * self.divided_gpus for name in order if name in counts}

    def pool_parts(self, gpus_per_node: int) -> dict[str, str | int]:
        """Return the parts of GPUs that a node pool of GKE can have; empty where it cannot, or none are asked for.

        Such a pool shares every GPU in turns or by MPS, or divides it into as many slices of one profile as fit. GKE
        has no profile of four compute slices, nor one with media engines.

        Args:
            gpus_per_node: of a node.
        """
        if self.sharing in _POOL_WAYS:
            return {"way": self.sharing, "clients": self.shared_parts}
        names = set(self.geometry)
        fitting = {profile.name: profile.most for profile in self.profiles}
        if len(names) == 1 and self.divided_gpus == gpus_per_node:
            (name,) = names
            if not name.startswith("4g") and "+" not in name and fitting.get(name) == len(self.geometry):
                return {"partition": name}
        return {}

    def divided_of(self, nodes: int) -> int:
        """Return how many of a cluster's nodes are divided, the last ones."""
        if not self.geometry:
            return 0
        return nodes if self.divided_nodes is None else min(nodes, self.divided_nodes)

    def shared_of(self, nodes: int) -> int:
        """Return how many of a cluster's nodes have GPUs that jobs share, the last ones."""
        if not self.sharing:
            return 0
        return nodes if self.shared_nodes is None else min(nodes, self.shared_nodes)

    def whole_nodes(self, nodes: int, *, scheduler: str) -> int:
        """Return the nodes that offer all their GPUs whole: Slurm's shared ones do, beside their parts."""
        return nodes - self.divided_of(nodes) - (self.shared_of(nodes) if scheduler == "kubernetes" else 0)

    def whole_gpus(self, nodes: int, *, gpus: int) -> int:
        """Return the GPUs of a cluster's nodes, `gpus` each, that are neither divided nor shared."""
        return nodes * gpus - self.divided_of(nodes) * self.divided_gpus - self.shared_of(nodes) * gpus


def slice_partition(partition: str) -> str:
    """Return Slurm's partition of nodes with slices: one of their own, so that no job for a whole GPU gets a slice.

    Args:
        partition: of nodes with whole GPUs.
    """
    return _SLICES if partition != _SLICES else f"{_SLICES}2"
