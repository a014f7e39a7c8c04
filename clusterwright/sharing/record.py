"""What a plan of several workloads holds."""

from dataclasses import dataclass

from clusterwright.errors import Finding


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One workload on a shared cluster.

    Attributes:
        name, kind: as in the blueprint; amount: its work in words; hours: when it works, in words.
        nodes: that it claims at most; run_hours: of one run, at the confidence of its goal, None for a service.
        runs: of the horizon; 1 for a service.
        worked_node_hours: over the horizon; worked_share: of those of all workloads, by which money is split.
        usd: its part of the shared cluster's cost over the horizon.
        lent_share: of its node-hours, that are of nodes kept for a service anyway; None for a service.
        separate_instance, separate_nodes, separate_usd: a cluster of its own, the cheapest that its targets allow.
    """

    name: str
    kind: str
    amount: str
    hours: str
    nodes: int
    run_hours: float | None
    runs: float
    worked_node_hours: float
    worked_share: float
    usd: float | None
    lent_share: float | None
    separate_instance: str
    separate_nodes: int
    separate_usd: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedOption:
    """One target with a cluster for all workloads.

    Attributes:
        instance: instance type or system of all nodes; nodes, gpus: of the cluster.
        owned: it is bought.
        usd: over the horizon; None where a price is unknown. separate_usd: of a cluster for each workload.
        busy_share: of the node-hours, that are worked; separate_busy_share: the same on the separate clusters' nodes,
            None where none is kept.
        anchor: workload that decides on the hardware, which costs most alone.
        nodes_by_hour: claimed in each hour of the fullest months' week, from Monday 00:00.
    """

    target: str
    instance: str
    accelerator_name: str
    nodes: int
    gpus: int
    owned: bool
    usd: float | None
    separate_usd: float | None
    busy_share: float
    anchor: str
    parts: tuple[Part, ...]
    nodes_by_hour: tuple[int, ...]

    @property
    def saved_usd(self) -> float | None:
        """What sharing saves against separate clusters; negative where those cost less, None where one is unknown."""
        return None if self.usd is None or self.separate_usd is None else self.separate_usd - self.usd

    @property
    def saved_share(self) -> float | None:
        """The same as a share of the separate clusters' cost."""
        saved = self.saved_usd
        return None if saved is None or not self.separate_usd else saved / self.separate_usd


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedPlan:
    """Several workloads on one cluster, for every target.

    Attributes:
        as_of: day of the prices.
        left_out: targets on which the workloads do not share a cluster, with the reason.
        findings: failed rules.
    """

    name: str
    description: str
    as_of: str
    horizon_months: float
    options: tuple[SharedOption, ...]
    left_out: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]

    @property
    def recommended(self) -> SharedOption | None:
        """The target on which the shared cluster costs least over the horizon; None where no cost is known."""
        known = [option for option in self.options if option.usd is not None]
        return min(known, key=lambda option: (option.usd, option.target), default=None)
