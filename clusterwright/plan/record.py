"""The Plan: the contract between deciding and writing. Everything after it reads the Plan, never the blueprint."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeVar

from clusterwright.blueprint.reading.user_list import Group, User
from clusterwright.blueprint.rules.node_software import Software
from clusterwright.blueprint.sections.finances import TcoSection
from clusterwright.blueprint.sections.tenants import Tenant
from clusterwright.catalog.own_facts import OwnFact
from clusterwright.catalog.records import Model, NodeNetwork
from clusterwright.errors import Finding, InputError
from clusterwright.facility.bill import Bill
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.storage.file_system import FileSystem
from clusterwright.plan.basis import Basis
from clusterwright.plan.booking import Booked
from clusterwright.plan.deployment import ExistingIds, JobSettings, StateBackend
from clusterwright.pricing.quoted import QuotedPrice
from clusterwright.sizing.records.job import (
    ComputeTime,
    FasterLayout,
    Layout,
    MemoryPerGpu,
    OffloadNeed,
    StageMemory,
    StepTime,
)
from clusterwright.sizing.records.loading import DataFeed
from clusterwright.sizing.records.run import Goodput, StorageNeed
from clusterwright.sizing.training.traffic import Traffic
from clusterwright.tco.terms.records import Breakeven, CategoryCost, MissingPrice, Parameter, PricedLine
from clusterwright.units import percent


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkUnit:
    """What one unit of the work is called, wherever it is printed.

    Attributes:
        name, plural: such as `run` and `runs`.
        this: the unit that is asked for alone, such as `this run`; empty for `this` and its name.
        always_on: work of a given length that never stops: no size ends it sooner, and nothing uses the nodes less.

    >>> unit = WorkUnit(name="image", plural="images")
    >>> unit.each, unit.asked
    ('an image', 'this image')
    """

    name: str
    plural: str
    this: str = ""
    always_on: bool = False

    @property
    def each(self) -> str:
        """One of them, any."""
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name}"

    @property
    def asked(self) -> str:
        """The one that is asked for."""
        return self.this or f"this {self.name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkloadSummary:
    """The workload as it was sized.

    Attributes:
        unit: what one unit of the work is called; each kind has its own. always_on: units follow each other without a
            pause, whatever `economics` says.
        parameters: exact count of the model.
        architecture: the model's dimensions; model_file: name of the configuration file that they come from, empty
            where the catalogue has them.
    """

    unit: ClassVar[WorkUnit] = WorkUnit(name="job", plural="jobs")
    always_on: ClassVar[bool] = False

    kind: str
    model: str
    model_name: str
    parameters: int
    precision: str
    architecture: Model
    model_file: str

    @property
    def amount_text(self) -> str:
        """One unit of the work in words; empty where its kind says nothing of it."""
        return ""

    @property
    def unit_tokens(self) -> float | None:
        """Tokens that one unit of the work takes; None where it is not counted in tokens."""
        return None

    @property
    def unit_flop(self) -> float | None:
        """Model FLOP of one unit of the work; None where nobody counts them."""
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingWorkload(WorkloadSummary):
    """A training run as it was sized.

    Attributes:
        flop_per_token: training FLOPs per token, forward and backward, with full (not causal) attention, the convention
            of `mfu`.
        optimizer: by which weights are updated, see `sizing.optimizers`.
        framework: training software as the blueprint names it, empty where it names none.
    """

    unit: ClassVar[WorkUnit] = WorkUnit(name="run", plural="runs")

    flop_per_token: float
    tokens: float
    sequence_length: int
    global_batch_sequences: int
    optimizer: str = "adam"
    framework: str = ""

    @property
    def amount_text(self) -> str:
        """The tokens of a run, and the software where it is named."""
        under = f" under {self.framework}" if self.framework else ""
        return f"{self.tokens / 1e9:,.0f} B tokens{under}"

    @property
    def unit_tokens(self) -> float:
        """Tokens of a run."""
        return self.tokens

    @property
    def unit_flop(self) -> float:
        """Model FLOP of a run, with full attention."""
        return self.flop_per_token * self.tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class GoalSummary:
    """What must be met: calendar days at a confidence (0 to 1), and USD for one run; None where there is no goal."""

    finish_within_days: float | None
    confidence: float
    budget_usd: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class EconomicsSummary:
    """What money was counted with; see `tco.terms.records.Economics`.

    Attributes:
        runs: of the horizon, as the blueprint gives them; None where they follow from the utilisation.
        utilisation: as the blueprint gives it, or what the runs take of the reference cluster, all of it at most.
        reference_target: whose run sets `reference_days`; empty in plans of versions before it.
        growth_factor: mean work of a month of the horizon over that of its first year.
    """

    horizon_months: float
    utilisation: float
    discount_rate: float
    hours_per_month: float
    power_price_usd_per_kwh: float | None
    pue: float | None
    runs: float | None = None
    reference_days: float | None = None
    reference_target: str = ""
    growth_factor: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterNames:
    """Validated names that reach Slurm, hosts, cloud resources and jobs; tags as (key, value).

    Attributes:
        identity: where accounts come from: `local`, then users and groups are the list, or `directory`.
        tenants: who shares a cluster on premises.
    """

    name: str
    partition: str
    host_prefix: str
    tags: tuple[tuple[str, str], ...]
    jobs: JobSettings
    users: tuple[User, ...] = ()
    groups: tuple[Group, ...] = ()
    identity: str = "local"
    tenants: tuple[Tenant, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class FrontPoint:
    """A cluster size that was looked at: days, cash of one run and share of it as in `Option`.

    Both are None where a price is unknown, and for sizes to own that are too large to win and so were not billed.
    """

    nodes: int
    gpus: int
    calendar_days: float
    calendar_days_high: float
    meets_goal: bool
    run_usd: float | None
    run_share_usd: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NearMiss:
    """A smaller cluster that would do, had the goal a little more time.

    Attributes:
        nodes, gpus: of it, with the spares.
        calendar_days_high: of its run with the confidence of the goal.
        late_days: days by which that misses the goal.
    """

    nodes: int
    gpus: int
    calendar_days_high: float
    late_days: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingFrontPoint(FrontPoint):
    """A cluster size that was looked at for training."""

    mfu: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Hardware:
    """Hardware that a target left to choose, with the size that was best for it.

    Attributes:
        name: instance type or system; accelerator: catalogue id, empty where the hardware was not looked at.
        nodes, gpus, calendar_days, calendar_days_high: of that size; None where there is none.
        meets_goal: whether it finishes in time.
        usd: what the choice was made by: the cost of one run where it is rented, of the horizon's work, as many runs
            for all that were compared, where it is owned; None where it is unknown.
        reason: why it was not chosen; empty for the chosen one.
        bill: of that size; gpus_per_node: of it; goodput, kept_goodput, spot_goodput, booked: as in `Option`. None
            where there is no size, and for the chosen one, which is in the option itself.
    """

    name: str
    accelerator: str
    nodes: int | None
    gpus: int | None
    calendar_days: float | None
    calendar_days_high: float | None
    meets_goal: bool | None
    usd: float | None
    reason: str
    bill: Bill | None = None
    gpus_per_node: int | None = None
    goodput: float | None = None
    kept_goodput: float | None = None
    spot_goodput: float | None = None
    booked: Booked | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Constraint:
    """What the blueprint holds of size and layout: path and value as text."""

    path: str
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One target, sized, billed and costed.

    Attributes:
        target: `aws`, `azure`, `gcp`, `onprem`; instance: instance type or system.
        region, zone, capacity, reservation: of clouds, else empty; scheduler: `slurm` or `kubernetes`.
        network_cidr: addresses of the network to create, service_cidr: of Kubernetes services on Azure, empty for the
            stack's own; existing_network: what the account holds already, None for nothing.
        state: where Pulumi keeps the stacks' state, None for a local folder.
        time_to_live_hours: after which rented nodes are stopped; stop_when_idle_minutes: without work after which they
            are; None for never.
        nodes, gpus: that are rented or bought, with the spares.
        network: levels above a node, and what collectives may use; power_cap_w: of one accelerator, None for none.
        hbm_bytes_per_gpu: memory of one accelerator.
        goodput: productive share of calendar time.
        calendar_days, calendar_days_low, calendar_days_high: P50, P10 and the quantile of the goal's confidence.
        run_usd, run_usd_low, run_usd_high: cash that one run takes; None where it is bought or committed, then
            run_share_usd: share of the horizon's cost that a run takes.
        horizon_usd … priced_share: see `tco.terms.records.CandidateCost`.
        booked: what is booked and paid whole for the run, None where its hours alone are paid.
        it_power_w: nameplate load of owned hardware, None for rented.
        facility: the on-premises design, None for clouds; file_system: of clouds, None on premises.
        front: the cluster sizes that no size beats in both nodes and days and that meet the goal, the chosen one too.
        near_misses: smaller sizes that miss the time of the goal by little, the nearest first.
        considered: the hardware that the blueprint left to choose from, the chosen one first; empty where it named one.
        constraints: what the blueprint holds of this target's size and layout.
        basis: what the dollars rest on; None in plans of versions before it.
        kept_goodput, spot_goodput: goodput on nodes that are kept until they are given back, and on ones that the cloud
            takes back; `goodput` is one of them. None for owned nodes.
        own_figures: what the kind of workload adds to the figures that two plans are compared by, as (field, unit).
    """

    own_figures: ClassVar[tuple[tuple[str, str], ...]] = ()

    target: str
    instance: str
    region: str
    zone: str
    capacity: str
    reservation: str
    scheduler: str
    network_cidr: str
    service_cidr: str
    existing_network: ExistingIds | None
    state: StateBackend | None
    time_to_live_hours: float | None
    stop_when_idle_minutes: float | None
    accelerator: str
    accelerator_name: str
    nodes: int
    gpus: int
    gpus_per_node: int
    hbm_bytes_per_gpu: float
    network: NodeNetwork
    power_cap_w: float | None
    goodput: float
    storage: StorageNeed
    calendar_days: float
    calendar_days_low: float
    calendar_days_high: float
    meets_goal: bool
    limited_by: tuple[str, ...]
    term: str
    run_usd: float | None
    run_usd_low: float | None
    run_usd_high: float | None
    run_share_usd: float | None
    horizon_usd: float | None
    horizon_usd_low: float | None
    horizon_usd_high: float | None
    capex_usd: float | None
    npv_usd: float | None
    usd_per_gpu_hour: float | None
    runs_in_horizon: float
    busy_fraction: float
    priced_share: float | None
    horizon_priced_share: float | None
    capex_priced_share: float | None
    missing: tuple[MissingPrice, ...]
    lines: tuple[PricedLine, ...]
    run_breakdown: tuple[CategoryCost, ...]
    horizon_breakdown: tuple[CategoryCost, ...]
    it_power_w: float | None
    unknown_power_items: tuple[str, ...]
    facility: OnPremDesign | None
    file_system: FileSystem | None
    front: tuple[FrontPoint, ...]
    considered: tuple[Hardware, ...]
    constraints: tuple[Constraint, ...]
    kept_goodput: float | None = None
    spot_goodput: float | None = None
    npv_usd_low: float | None = None
    npv_usd_high: float | None = None
    basis: Basis | None = None
    booked: Booked | None = None
    near_misses: tuple[NearMiss, ...] = ()

    @property
    def key_figures(self) -> tuple[tuple[str, str], ...]:
        """What the kind of workload shows of an option in one line: names and values."""
        return ()

    @property
    def outlook(self) -> str:
        """What is uncertain about the goals, in words; empty where nothing is, and where the kind says nothing."""
        return ""

    @property
    def uncertain(self) -> bool:
        """Whether goals that the option is not said to meet may be met."""
        return False

    @property
    def run_cost_usd(self) -> float | None:
        """What one run costs: in cash, or the share of the horizon's cost."""
        return self.run_share_usd if self.run_usd is None else self.run_usd

    @property
    def bill(self) -> Bill:
        """The bill behind the priced lines."""
        return Bill(
            target=self.target,
            lines=tuple(line.line for line in self.lines),
            it_power_w=self.it_power_w,
            unknown_power_items=self.unknown_power_items,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingOption(Option):
    """One target that trains, sized, billed and costed.

    Attributes:
        fit_probability: that the layout fits, by the residuals of published peaks; None in plans of older versions.
        memory_confidence: the probability asked for, by which memory_margin is left: what the prediction is multiplied
            by before it is compared with `hbm_bytes_per_gpu`.
        memory_bytes_per_gpu: of the fullest GPU, by term; memory_by_stage: of a GPU of every pipeline stage.
        memory_allocated_bytes_per_gpu: of it, what tensors take; memory_reserved_bytes_per_gpu: with what the allocator
            keeps beside them (`torch.cuda.memory_reserved`); the rest belongs to driver and collective library.
        traffic: of each group of the layout, before computation hides any of it.
        mfu: model FLOP/s (full attention) over the dense peak of the precision.
        failures: what is behind `goodput`.
        data: what is read and prepared, and how long training waits for it.
        offload: what lies outside the accelerators, None for nothing.
        compute: what `step.compute_s` is made of, and the dense peak behind `mfu`; None in plans of older versions.
        faster: the fastest layout, where another one is taken; None where the layout is the fastest.
    """

    own_figures: ClassVar[tuple[tuple[str, str], ...]] = (("mfu", "share"),)

    front: tuple[TrainingFrontPoint, ...]
    layout: Layout
    memory_bytes_per_gpu: MemoryPerGpu
    memory_by_stage: tuple[StageMemory, ...]
    memory_allocated_bytes_per_gpu: float
    memory_reserved_bytes_per_gpu: float
    traffic: tuple[Traffic, ...]
    step: StepTime
    mfu: float
    tokens_per_s_per_gpu: float
    failures: Goodput
    data: DataFeed
    offload: OffloadNeed | None = None
    compute: ComputeTime | None = None
    fit_probability: float | None = None
    memory_confidence: float | None = None
    memory_margin: float = 1.0
    faster: FasterLayout | None = None

    @property
    def key_figures(self) -> tuple[tuple[str, str], ...]:
        """Model FLOP/s utilisation."""
        return (("MFU", percent(self.mfu)),)

    @property
    def training_nodes(self) -> int:
        """Nodes that train: all but the spares."""
        return self.nodes - self.failures.spare_nodes


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherOption:
    """A cloud's other capacity or commitment, sized for itself.

    Attributes:
        key: of its way in the ranking.
        option: None where nothing can be had so.
        set_values: overrides of the blueprint that make it the plan's option.
        held: why it cannot be ranked, empty where it can.
    """

    key: str
    option: Option | None
    set_values: tuple[str, ...]
    held: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingOtherOption(OtherOption):
    """Another capacity or commitment of a cloud, sized for training."""

    option: TrainingOption | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """One way to do the work, with what it costs; ranked, or only cheaper on paper.

    Attributes:
        key: names it: target, other hardware after a colon, term or contract, as in `aws/capacity_block`.
        target, instance, accelerator: where and on what; of a mix the target is `hybrid` or what is owned.
        term: how the nodes are paid; owned: bought; mixed: done on several clusters.
        nodes, gpus, calendar_days, calendar_days_low, calendar_days_high: of its own size; the band is None for mixes.
        run_usd, run_usd_low, run_usd_high: cash that one run takes; None where only a share of the horizon's cost falls
            on it: `run_share_usd`.
        horizon_usd, npv_usd, with their bands, and capex_usd: of the work of the horizon.
        usd_per_gpu_hour, priced_share, horizon_priced_share: see `tco.terms.records.CandidateCost`.
        ranked: whether it can be the answer: planned under its own limits, in time, assured, with all its costs.
        reason: why it is not ranked, empty where it is; note: what is assumed of it.
        set_values: `path=value` overrides that make it the plan's option; empty where it is one already.
        basis: what its dollars rest on; None where no cost is known, and in plans of versions before it.
    """

    key: str
    target: str
    instance: str
    accelerator: str
    term: str
    owned: bool
    mixed: bool
    nodes: int
    gpus: int
    calendar_days: float
    calendar_days_low: float | None
    calendar_days_high: float | None
    run_usd: float | None
    run_usd_low: float | None
    run_usd_high: float | None
    run_share_usd: float | None
    horizon_usd: float | None
    horizon_usd_low: float | None
    horizon_usd_high: float | None
    npv_usd: float | None
    npv_usd_low: float | None
    npv_usd_high: float | None
    capex_usd: float | None
    usd_per_gpu_hour: float | None
    priced_share: float | None
    horizon_priced_share: float | None
    ranked: bool
    reason: str
    note: str
    set_values: tuple[str, ...]
    basis: Basis | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The decision, and everything that deliverables are made from.

    Attributes:
        schema: version of this record's JSON form.
        clusterwright, catalogue: versions of the program and of the facts.
        as_of: day whose prices hold, ISO 8601.
        recommended: target of the ranked way on which this run alone takes least cash (renting; buying only where
            nothing can be rented), empty if there is none.
        recommended_horizon: target of the ranked way on which the work of the whole horizon costs least in present
            value, empty if none is known.
        recommended_key, recommended_horizon_key: these ways in `ranking`.
        options: one per target, in the blueprint's order of clouds, then on premises.
        other_options: the clouds' other capacities and commitments, each sized for itself under its own limits.
        ranking: every way to do the work with a known cost, those that are ranked first, each by present value.
        breakevens: owning against each rented target, on the horizon view.
        parameters: economic values that were used, with reason and source.
        findings: rules that failed; empty when every goal is met.
        warnings: what is allowed and may still go wrong, or has no effect; they change no exit code.
        not_counted: what the dollars leave out, in words.
        quotes: prices of vendors, and of the user's own parts, that parts were priced with.
        own_facts: facts of the user in the place of the catalogue's.
        tco: tax, delivery, financing of the blueprint, for the views of finance.
        software: what is on the nodes of each option, in their order; without those that no set is known for.
    """

    schema: Literal[1]
    clusterwright: str
    catalogue: str
    name: str
    description: str
    as_of: str
    workload: WorkloadSummary
    goals: GoalSummary
    economics: EconomicsSummary
    cluster: ClusterNames
    recommended: str
    recommended_horizon: str
    options: tuple[Option, ...]
    breakevens: tuple[Breakeven, ...]
    parameters: tuple[Parameter, ...]
    findings: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    not_counted: tuple[str, ...]
    quotes: tuple[QuotedPrice, ...] = ()
    own_facts: tuple[OwnFact, ...] = ()
    tco: TcoSection = field(default_factory=TcoSection)
    other_options: tuple[OtherOption, ...] = ()
    ranking: tuple[Alternative, ...] = ()
    recommended_key: str = ""
    recommended_horizon_key: str = ""
    software: tuple[Software, ...] = ()

    @property
    def ranked(self) -> tuple[Alternative, ...]:
        """The ways that can be the answer, the cheapest present value first."""
        return tuple(entry for entry in self.ranking if entry.ranked)

    @property
    def contender(self) -> Alternative | None:
        """The ranked way with the least present value after the horizon's answer, if that lies within its band.

        Which of the two costs less is then not certain. None where nothing else is ranked, or all lies above the band.
        """
        answer = self.alternative(self.recommended_horizon_key)
        others = [(way.npv_usd, way.key, way) for way in self.ranked if way is not answer and way.npv_usd is not None]
        if answer is None or answer.npv_usd_high is None or not others:
            return None
        usd, _, near = min(others, key=lambda entry: entry[:2])
        return near if usd <= answer.npv_usd_high else None

    def alternative(self, key: str) -> Alternative | None:
        """Return the way of that key, None if there is none."""
        return next((entry for entry in self.ranking if entry.key == key), None)

    def planned(self, key: str) -> Option | None:
        """Return the option, of this plan or of another capacity or commitment, that a way of the ranking is."""
        known = {entry.key: entry.option for entry in self.other_options if entry.option is not None}
        known |= {key: option for option in self.options for key in (option.target, f"{option.target}/{option.term}")}
        return known.get(key)

    def software_of(self, target: str) -> Software | None:
        """Return what is on the nodes of a target, None where no set is known."""
        return next((found for found in self.software if found.target == target), None)

    def option(self, target: str) -> Option | None:
        """Return the option of a target, None if the blueprint does not have it."""
        return next((option for option in self.options if option.target == target), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingPlan(Plan):
    """The plan of a training run: all its options train."""

    workload: TrainingWorkload
    options: tuple[TrainingOption, ...]
    other_options: tuple[TrainingOtherOption, ...] = ()


_PlanT = TypeVar("_PlanT", bound=Plan)
_OptionT = TypeVar("_OptionT", bound=Option)


def plan_of_kind(plan: Plan, kind: type[_PlanT], does: str) -> _PlanT:
    """Return a plan as that of a kind of workload.

    Args:
        plan: of any kind.
        kind: record of the plans of that kind.
        does: what its clusters do, as a verb.

    Raises:
        InputError: its workload is of another kind.
    """
    if not isinstance(plan, kind):
        raise InputError(f"workloads of kind {plan.workload.kind} do not {does}")
    return plan


def option_of_kind(option: Option, kind: type[_OptionT], does: str) -> _OptionT:
    """Return an option as that of a kind of workload; the arguments are those of `plan_of_kind`.

    Raises:
        InputError: it is of a plan of another kind.
    """
    if not isinstance(option, kind):
        raise InputError(f"the cluster on {option.target} does not {does}")
    return option


def training_plan(plan: Plan) -> TrainingPlan:
    """Return a plan as that of a training run, for what only training has.

    Raises:
        InputError: its workload is of another kind.
    """
    return plan_of_kind(plan, TrainingPlan, "train")


def training_option(option: Option) -> TrainingOption:
    """Return an option of a training plan as such."""
    return option_of_kind(option, TrainingOption, "train")
