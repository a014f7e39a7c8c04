"""What a sweep asks, one node type at a time, and what it answers."""

from dataclasses import dataclass

from clusterwright.blueprint.schema import Blueprint
from clusterwright.catalog.records import Model, NodeType
from clusterwright.plan.bounds import NodeBounds
from clusterwright.sizing.records.job import Layout

#: How rented nodes are paid in a sweep: what anybody can have without a commitment.
TERM = "on_demand"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One blueprint with one choice of the values that are varied.

    Attributes:
        name: of the blueprint; varied: (path, value) as given, in the order given.
        model: resolved.
    """

    name: str
    varied: tuple[tuple[str, str], ...]
    blueprint: Blueprint
    model: Model

    @property
    def label(self) -> str:
        """The name and the values, as people read them: `train-gpt3-175b, workload.precision=fp8`."""
        return ", ".join([self.name, *(f"{path}={value}" for path, value in self.varied)])


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A node type and where it is had.

    Attributes:
        target: `aws`, `azure`, `gcp` or `onprem`.
        region: that rented nodes are priced in; empty on premises.
    """

    node: NodeType
    target: str
    region: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """The front of one scenario on one node type: everything that a worker needs, wherever it runs.

    Attributes:
        bounds: sizes looked at.
    """

    scenario: Scenario
    place: Place
    bounds: NodeBounds


@dataclass(frozen=True, kw_only=True, slots=True)
class SweptPoint:
    """One point of a node type's front, with what renting it costs.

    Attributes:
        blueprint, varied: the scenario.
        target, region, node_type, accelerator: where.
        calendar_days, calendar_days_low, calendar_days_high: as in `SizedPoint`.
        meets_goal: whether the quantile of the goal's confidence is within `finish_within`; None without a goal.
        run_usd, run_usd_low, run_usd_high: one run; None where a price is unknown. Rented: at the on-demand price, with
            controller, storage and network. Bought: the share of the horizon's cost that the run takes of the hours
            worked. usd_per_gpu_hour: of it.
        capex_usd: cash paid at the start for what is bought; None where nothing is, or a price is unknown.
        priced_share: share of it that is documented, 0 to 1.
        cost_note: why there is no cost, else empty.
        unbeaten: whether no other point of the scenario that is rented, or bought, as this one is as fast or faster for
            less, each with its fastest layout; False without a cost.
        slower_share: calendar time of the layout over that of the fastest one of the size, less one.
    """

    blueprint: str
    varied: tuple[tuple[str, str], ...]
    target: str
    region: str
    node_type: str
    accelerator: str
    nodes: int
    gpus: int
    calendar_days: float
    calendar_days_low: float
    calendar_days_high: float
    meets_goal: bool | None
    tokens_per_s_per_gpu: float
    mfu: float
    goodput: float
    memory_bytes_per_gpu: float
    hbm_bytes_per_gpu: float
    layout: Layout
    run_usd: float | None = None
    run_usd_low: float | None = None
    run_usd_high: float | None = None
    capex_usd: float | None = None
    usd_per_gpu_hour: float | None = None
    priced_share: float | None = None
    cost_note: str = ""
    unbeaten: bool = False
    slower_share: float = 0.0

    @property
    def compared_days(self) -> float:
        """Calendar days with the fastest layout, by which sizes are compared."""
        return self.calendar_days / (1 + self.slower_share)

    @property
    def compared_usd(self) -> float | None:
        """Cost of a run with the fastest layout: it goes with the time."""
        return None if self.run_usd is None else self.run_usd / (1 + self.slower_share)


@dataclass(frozen=True, kw_only=True, slots=True)
class NotSized:
    """A node type, or an accelerator without one, that gives no point, and why."""

    blueprint: str
    varied: tuple[tuple[str, str], ...]
    node_type: str
    accelerator: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What one question gives: points, fewest nodes first, or why there is none.

    Attributes:
        layouts_evaluated: that were looked at.
    """

    points: tuple[SweptPoint, ...]
    not_sized: NotSized | None
    layouts_evaluated: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweep:
    """All answers, in the order of the questions, whoever computed them.

    Attributes:
        as_of: day whose prices were used, for each scenario.
        catalogue: version of the facts.
    """

    scenarios: tuple[Scenario, ...]
    points: tuple[SweptPoint, ...]
    not_sized: tuple[NotSized, ...]
    layouts_evaluated: int
    as_of: tuple[str, ...]
    catalogue: str
