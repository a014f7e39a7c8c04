"""The Plan: the contract between deciding and writing. Everything after it reads the Plan, never the blueprint."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, Literal, TypeVar

from clusterwright.catalog.own_facts import OwnFact
from clusterwright.catalog.records import Model, NodeNetwork
from clusterwright.catalog.software.node import Software
from clusterwright.directory_settings import Directory
from clusterwright.errors import Finding, InputError
from clusterwright.facility.bill import Bill
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.storage.file_system import FileSystem
from clusterwright.plan.basis import Basis
from clusterwright.plan.booking import Booked
from clusterwright.plan.currency import Currency
from clusterwright.plan.deployment import ExistingIds, JobSettings, StateBackend
from clusterwright.plan.tenants import Tenant
from clusterwright.pricing.quoted import QuotedPrice
from clusterwright.sizing.records.point import WithDividedNodes
from clusterwright.sizing.records.run import StorageNeed
from clusterwright.tco.finance_terms import FinanceTerms
from clusterwright.tco.renting.mixes import Mix
from clusterwright.tco.terms.contracts import Charge, SupportPlan, Surcharge
from clusterwright.tco.terms.records import (
    Breakeven,
    Candidate,
    CandidateCost,
    CategoryCost,
    Economics,
    MissingPrice,
    Parameter,
    PricedLine,
)
from clusterwright.user_list import Group, User

#: Version of the JSON form of plans.
SCHEMA: Final = 2


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
class GoalSummary:
    """What must be met: calendar days at a confidence (0 to 1), and USD for one run; None where there is no goal."""

    finish_within_days: float | None
    confidence: float
    budget_usd: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterNames:
    """Validated names that reach Slurm, hosts, cloud resources and jobs; tags as (key, value).

    Attributes:
        identity: where accounts come from: `local`, then users and groups are the list, or `directory`, then they are
            those of `directory` too.
        directory: that machines of Slurm are joined to; None for none.
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
    directory: Directory | None = None
    tenants: tuple[Tenant, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class FrontPoint:
    """A cluster size that was looked at: days, cash of one run and share of it as in `Performance` and `Money`.

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
class Hardware:
    """Hardware that a target left to choose, with the size that was best for it.

    Attributes:
        name: instance type or system.
        accelerator: catalogue id; empty where the hardware was not looked at.
        nodes, gpus: counts of that size; calendar_days, calendar_days_high: time of a unit of the work on it, days;
            None where there is no size.
        meets_goal: whether it finishes in time; None where there is no size.
        usd: cost that the choice was made by, USD: of one unit of the work where it is rented; of the horizon's work,
            as many units for all that were compared, where it is owned; None where it is unknown.
        reason: why it was not chosen; empty for the chosen one.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Constraint:
    """What the blueprint holds of size and layout: path and value as text."""

    path: str
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One figure of an option by which plans are compared: its name, its unit (empty for counts) and its value."""

    name: str
    unit: str
    value: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """Hardware of a way to do the work.

    Attributes:
        instance: instance type or system; empty for mixes.
        accelerator: catalogue id; empty for mixes.
        nodes, gpus: counts that are rented or bought, spare nodes included; of a mix those that are bought.
    """

    instance: str
    accelerator: str
    nodes: int
    gpus: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedCluster(Cluster, WithDividedNodes):
    """Hardware of an option.

    Attributes:
        accelerator_name: full name of the accelerator.
        gpus_per_node: count of accelerators in a node.
        hbm_bytes_per_gpu: memory of one accelerator, bytes.
        network: network levels above a node, with what collectives may use.
        power_cap_w: power limit of one accelerator, W; None for none.
        it_power_w: nameplate load of owned hardware, W; None for rented hardware.
        unknown_power_items: parts of the bill without a known load.
        divided_nodes: of the nodes, the last ones, whose GPUs are divided or shared; the work is on the others. Left
            out of the JSON form where there are none.
    """

    accelerator_name: str
    gpus_per_node: int
    hbm_bytes_per_gpu: float
    network: NodeNetwork
    power_cap_w: float | None
    it_power_w: float | None
    unknown_power_items: tuple[str, ...]
    divided_nodes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Performance:
    """Time that one unit of the work takes.

    Attributes:
        calendar_days: median, days.
        calendar_days_low, calendar_days_high: P10 and the quantile of the goal's confidence, days; None for mixes.
        goodput: productive share of calendar time, 0 to 1; None for mixes.
    """

    calendar_days: float
    calendar_days_low: float | None
    calendar_days_high: float | None
    goodput: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedPerformance(Performance):
    """Results of sizing an option; each kind of work adds its own.

    Attributes:
        kept_goodput, spot_goodput: goodput on nodes that are kept until they are given back, and on nodes that the
            cloud takes back; `goodput` is one of the two. None for owned nodes.
        meets_goal: whether the goals are met with their confidence.
        limited_by: names of what takes most of the time.
        front: cluster sizes that no size beats in both nodes and days and that meet the goal, this one included.
        near_misses: smaller sizes that miss the time of the goal by little, the nearest first.
    """

    calendar_days_low: float
    calendar_days_high: float
    goodput: float
    meets_goal: bool
    limited_by: tuple[str, ...]
    front: tuple[FrontPoint, ...]
    kept_goodput: float | None = None
    spot_goodput: float | None = None
    near_misses: tuple[NearMiss, ...] = ()

    @property
    def outlook(self) -> str:
        """Uncertainty about the goals, in words; empty where there is none, and where the kind says nothing."""
        return ""

    @property
    def odds(self) -> str:
        """Probability that the goals are met, in words, where `outlook` has something to say; else empty."""
        return ""

    @property
    def uncertain(self) -> bool:
        """Whether goals that the option is not said to meet may be met."""
        return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Money:
    """Cost of a way to do the work; None where it is unknown. Definitions: `docs/explain/money.md`.

    Attributes:
        term: how the nodes are paid, `purchase` where they are bought.
        run_usd, run_usd_low, run_usd_high: cash of one unit of the work, USD; None where nodes are bought or committed.
        run_share_usd: share of the horizon's cost that one unit takes, USD; None where a unit is paid in cash.
        horizon_usd, horizon_usd_low, horizon_usd_high: cost of the work of the horizon after resale, USD.
        npv_usd, npv_usd_low, npv_usd_high: present value of the horizon's cash flow, USD.
        capex_usd: cash at the start for what is bought, USD; 0 where all is rented.
        usd_per_gpu_hour: cost of one unit of the work over its GPU-hours, USD.
        priced_share, horizon_priced_share: share of the absolute USD of a unit and of the horizon whose prices are
            documented or given, 0 to 1.
        basis: what the dollars rest on; None where no cost is known.
    """

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
    npv_usd_low: float | None
    npv_usd_high: float | None
    usd_per_gpu_hour: float | None
    priced_share: float | None
    horizon_priced_share: float | None
    basis: Basis | None = None

    @property
    def run_cost_usd(self) -> float | None:
        """Cost of one unit of the work, in cash or as its share of the horizon's cost, USD."""
        return self.run_share_usd if self.run_usd is None else self.run_usd


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedMoney(Money):
    """Cost of an option with the bill behind it; a kind of work may add unit prices of its own.

    Attributes:
        runs_in_horizon: units of the work in the horizon, the same number for all options.
        busy_fraction: share of the horizon that these units take on this cluster.
        capex_priced_share: share of the absolute USD of `capex_usd` whose prices are documented or given, 0 to 1.
        missing: lines of the bill without any price; while there are some, totals are None.
        lines: lines of the bill with their prices.
        run_breakdown, horizon_breakdown: cost by category, largest first; empty while the total is None.
        booked: booking that is paid whole for a unit of the work; None where its hours alone are paid.
        charges, support, surcharges: what the provider charges beside the bill; empty and None for owned hardware.
    """

    runs_in_horizon: float
    busy_fraction: float
    capex_priced_share: float | None
    missing: tuple[MissingPrice, ...]
    lines: tuple[PricedLine, ...]
    run_breakdown: tuple[CategoryCost, ...]
    horizon_breakdown: tuple[CategoryCost, ...]
    booked: Booked | None = None
    charges: tuple[Charge, ...] = ()
    support: SupportPlan | None = None
    surcharges: tuple[Surcharge, ...] = ()


def unknown_money(term: str) -> Money:
    """Return the cost of a way that was not counted, or not by itself."""
    unknown: dict[str, Any] = dict.fromkeys((entry.name for entry in fields(Money)), None)
    return Money(**unknown | {"term": term})


def money_of(cost: CandidateCost, *, basis: Basis | None) -> Money:
    """Return what a way to do the work costs, as the plan keeps it."""
    return Money(**_costs(cost), basis=basis)


def planned_money(cost: CandidateCost, candidate: Candidate, *, booked: Booked | None) -> PlannedMoney:
    """Return what an option costs, with the bill behind it and what its provider charges beside it.

    What the dollars rest on is found once every way is counted.
    """
    return PlannedMoney(
        **_costs(cost),
        basis=None,
        runs_in_horizon=cost.runs_in_horizon,
        busy_fraction=cost.busy_fraction,
        capex_priced_share=cost.capex_priced_share,
        missing=cost.missing,
        lines=cost.lines,
        run_breakdown=cost.run_breakdown,
        horizon_breakdown=cost.horizon_breakdown,
        booked=booked,
        charges=candidate.charges,
        support=candidate.support,
        surcharges=candidate.surcharges,
    )


def _costs(cost: CandidateCost) -> dict[str, Any]:
    """Return the fields of `Money`; what is bought or committed has a share of a unit of work, without a band."""
    return {
        "term": cost.term,
        "run_usd": cost.run_cash_usd,
        "run_usd_low": None if cost.shared else cost.run_usd_low,
        "run_usd_high": None if cost.shared else cost.run_usd_high,
        "run_share_usd": cost.run_share_usd,
        "horizon_usd": cost.horizon_usd,
        "horizon_usd_low": cost.horizon_usd_low,
        "horizon_usd_high": cost.horizon_usd_high,
        "capex_usd": cost.capex_usd,
        "npv_usd": cost.npv_usd,
        "npv_usd_low": cost.npv_usd_low,
        "npv_usd_high": cost.npv_usd_high,
        "usd_per_gpu_hour": cost.usd_per_gpu_hour,
        "priced_share": cost.priced_share,
        "horizon_priced_share": cost.horizon_priced_share,
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Deployment:
    """Where an option is brought up, and as what.

    Attributes:
        region, zone: of a cloud; empty on premises and where the blueprint leaves them open.
        capacity: how a cloud's nodes are obtained, such as `on-demand`; empty on premises.
        reservation: identifier of reserved capacity; empty for none.
        scheduler: `slurm` or `kubernetes`.
        network_cidr: address range of the network to create; empty for the stack's own.
        service_cidr: address range of Kubernetes services on Azure; empty for the stack's own.
        existing_network: identifiers of what the account holds already; None for nothing.
        state: where Pulumi keeps the stacks' state; None for a local folder.
        time_to_live_hours: time after which rented nodes stop, hours; None for never.
        stop_when_idle_minutes: time without work after which rented nodes stop, minutes; None for never.
    """

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """What an option was chosen from, and what was designed around its nodes.

    Attributes:
        constraints: size and layout as far as the blueprint fixes them.
        considered: hardware that the blueprint left to choose from, the chosen one first; empty where it named one.
        storage: bytes and bytes per second that the work needs of shared storage.
        file_system: managed file system of a cloud; None on premises.
        facility: design on premises: fabric, storage, racks, power; None for clouds.
    """

    constraints: tuple[Constraint, ...]
    considered: tuple[Hardware, ...]
    storage: StorageNeed
    file_system: FileSystem | None
    facility: OnPremDesign | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One target, sized, billed and costed.

    Attributes:
        target: `aws`, `azure`, `gcp`, `onprem`.
        cluster: its hardware.
        performance: how long the work takes on it, with the results of the kind of work.
        money: what it costs.
        deployment: where and as what it is brought up.
        design: what it was chosen from, storage, and the facility around it.
    """

    target: str
    cluster: PlannedCluster
    performance: PlannedPerformance
    money: PlannedMoney
    deployment: Deployment
    design: Design

    @property
    def key_figures(self) -> tuple[tuple[str, str], ...]:
        """Names and values that the kind of work shows of an option in one line."""
        return ()

    @property
    def own_figures(self) -> tuple[Figure, ...]:
        """Figures that the kind of work adds to those that two plans are compared by."""
        return ()

    @property
    def owned(self) -> bool:
        """Whether the hardware is bought."""
        return self.cluster.it_power_w is not None

    @property
    def key(self) -> str:
        """Its key among the plan's alternatives, but where owned hardware has several places."""
        return self.target if self.owned else f"{self.target}/{self.money.term}"

    @property
    def bill(self) -> Bill:
        """The bill behind the priced lines."""
        return Bill(
            target=self.target,
            lines=tuple(line.line for line in self.money.lines),
            it_power_w=self.cluster.it_power_w,
            unknown_power_items=self.cluster.unknown_power_items,
        )

    @property
    def candidate(self) -> Candidate:
        """The option as cost takes it, by the name of its target."""
        time, money = self.performance, self.money
        whole = money.booked is not None
        return Candidate(
            key=self.target,
            target=self.target,
            bill=self.bill,
            nodes=self.cluster.nodes,
            gpus=self.cluster.gpus,
            calendar_days=time.calendar_days,
            run_time_low=1.0 if whole else time.calendar_days_low / time.calendar_days,
            run_time_high=1.0 if whole else time.calendar_days_high / time.calendar_days,
            term=None if self.owned else money.term,
            charges=money.charges,
            support=money.support,
            surcharges=money.surcharges,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """One way to do the work: billed, then costed and ranked; an option is one that is planned whole.

    Attributes:
        key: its name: target, other hardware after a colon, term or contract, as in `aws/capacity_block`.
        target: where it is done; of a mix `hybrid`, or the target that is owned.
        cluster: hardware in the size of this way.
        performance: time of one unit of the work on it.
        money: what it costs; None throughout until it is counted, and where prices are missing.
        owned: whether nodes are bought.
        ranked: whether it can be the answer: planned under its own limits, in time, assured, with all its costs.
        reason: why it is not ranked, empty where it is; note: what is assumed of it.
        set_values: `path=value` overrides that make it the plan's option; empty where it is one already.
        candidate: bill, terms of payment and contract as the cash flow takes them; None for mixes.
        mix: clusters that share the work, by key, and how their purchase is paid; None where it is done on one.
    """

    key: str
    target: str
    cluster: Cluster
    performance: Performance
    money: Money
    owned: bool
    ranked: bool
    reason: str
    note: str
    set_values: tuple[str, ...]
    candidate: Candidate | None
    mix: Mix | None

    @property
    def mixed(self) -> bool:
        """Whether the work is done on several clusters, or its purchase paid in another way than at once."""
        return self.mix is not None


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
        recommended_key, recommended_horizon_key: these ways in `alternatives`.
        options: one per target, in the blueprint's order of clouds, then on premises.
        other_options: the clouds' other capacities and commitments, each sized for itself under its own limits.
        alternatives: every way to do the work, by target, hardware and term; then contracts, clusters that are only
            parts of mixes, and mixes. `ranking` has them in order.
        breakevens: owning against each rented target, on the horizon view.
        economics: what money is counted with, on the day of the prices, quotes of vendors included.
        parameters: economic values that were used, with reason and source.
        findings: rules that failed; empty when every goal is met.
        warnings: what is allowed and may still go wrong, or has no effect; they change no exit code.
        not_counted: what the dollars leave out, in words.
        own_facts: facts of the user in the place of the catalogue's.
        finance: tax, delivery, financing, chance and carbon, for the views of finance.
        currency: in which people read the money, with its rate; None for USD.
        software: what is on the nodes of each option, in their order; without those that no set is known for.
    """

    schema: Literal[2]
    clusterwright: str
    catalogue: str
    name: str
    description: str
    as_of: str
    workload: WorkloadSummary
    goals: GoalSummary
    economics: Economics
    cluster: ClusterNames
    recommended: str
    recommended_horizon: str
    options: tuple[Option, ...]
    breakevens: tuple[Breakeven, ...]
    parameters: tuple[Parameter, ...]
    findings: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    not_counted: tuple[str, ...]
    finance: FinanceTerms
    currency: Currency | None
    own_facts: tuple[OwnFact, ...] = ()
    other_options: tuple[Option, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    recommended_key: str = ""
    recommended_horizon_key: str = ""
    software: tuple[Software, ...] = ()

    @property
    def quotes(self) -> tuple[QuotedPrice, ...]:
        """Prices of vendors, and of the user's own parts, that parts were priced with."""
        return self.economics.quotes

    @property
    def ranking(self) -> tuple[Alternative, ...]:
        """The ways of which the cost is known, those that can be the answer first, each group by present value.

        An option of which it is unknown is at the end, where nothing on its target can be the answer.
        """
        ranked = {way.target for way in self.alternatives if way.ranked}
        unknown = {
            option.key for option in self.options if option.money.npv_usd is None and option.target not in ranked
        }
        shown = (way for way in self.alternatives if way.money.npv_usd is not None or way.key in unknown)
        return tuple(sorted(shown, key=_rank))

    @property
    def ranked(self) -> tuple[Alternative, ...]:
        """The ways that can be the answer, the cheapest present value first."""
        return tuple(way for way in self.ranking if way.ranked)

    @property
    def contender(self) -> Alternative | None:
        """The ranked way with the least present value after the horizon's answer, if that lies within its band.

        Which of the two costs less is then not certain. None where nothing else is ranked, or all lies above the band.
        """
        answer = self.alternative(self.recommended_horizon_key)
        others = [
            (way.money.npv_usd, way.key, way)
            for way in self.ranked
            if way is not answer and way.money.npv_usd is not None
        ]
        if answer is None or answer.money.npv_usd_high is None or not others:
            return None
        usd, _, near = min(others, key=lambda entry: entry[:2])
        return near if usd <= answer.money.npv_usd_high else None

    def alternative(self, key: str) -> Alternative | None:
        """Return the way of that key, None if there is none."""
        return next((entry for entry in self.ranking if entry.key == key), None)

    def planned(self, key: str) -> Option | None:
        """Return the option, of this plan or of another capacity or commitment, that a way of the ranking is."""
        known = {option.key: option for option in self.other_options}
        known |= {key: option for option in self.options for key in (option.target, option.key)}
        return known.get(key)

    def software_of(self, target: str) -> Software | None:
        """Return what is on the nodes of a target, None where no set is known."""
        return next((found for found in self.software if found.target == target), None)

    def option(self, target: str) -> Option | None:
        """Return the option of a target, None if the blueprint does not have it."""
        return next((option for option in self.options if option.target == target), None)


def _rank(way: Alternative) -> tuple[bool, bool, float, str]:
    usd = way.money.npv_usd
    return not way.ranked, usd is None, usd or 0.0, "" if usd is None else way.key


_PlanT = TypeVar("_PlanT", bound=Plan)
_OptionT = TypeVar("_OptionT", bound=Option)


def parts(record: Any, of: type | None = None) -> dict[str, Any]:  # noqa: ANN401 - a record of any class
    """Return the values of a record by field, for one of a subclass that adds to them, or of a base class of its own.

    >>> point = NearMiss(nodes=2, gpus=16, calendar_days_high=3.0, late_days=0.5)
    >>> parts(point)["late_days"]
    0.5
    """
    return {entry.name: getattr(record, entry.name) for entry in fields(of or record)}


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
