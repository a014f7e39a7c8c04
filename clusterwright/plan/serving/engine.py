"""The engine of serving: replicas for a load and goals, sized by `sizing.serving`; one unit of work is a month."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.resolve import Resolved
from clusterwright.blueprint.rules.hardware import ResolvedTarget
from clusterwright.blueprint.schema import Blueprint, serve_of
from clusterwright.blueprint.workloads.training import ModelFile
from clusterwright.catalog.records import Model, NodeType
from clusterwright.errors import Finding, RuleError
from clusterwright.plan.bounds import NodeBounds
from clusterwright.plan.evidence_levels import level_text
from clusterwright.plan.facts import Facts
from clusterwright.plan.record import (
    Constraint,
    FrontPoint,
    Option,
    Plan,
    PlannedMoney,
    PlannedPerformance,
    parts,
)
from clusterwright.plan.serving.day import replica_hours_cost, service_day
from clusterwright.plan.serving.findings import (
    COSTLY,
    LOOSER,
    beyond_context,
    capped_power,
    costly_confidence,
    does_not_fit,
    few_at_most,
    goals_at_the_edge,
    missed,
    no_draft_heads,
    too_few_nodes,
    undivided,
    unknown_framework,
    unmeasured,
)
from clusterwright.plan.serving.hosted import broken_limits, hosted_offers
from clusterwright.plan.serving.job import growth_factor, load_of, requests_of, service_of, storage_of
from clusterwright.plan.serving.managed import managed_offers
from clusterwright.plan.serving.record import (
    HostedOffer,
    ManagedOffer,
    Outcome,
    ServingGoals,
    ServingMoney,
    ServingOption,
    ServingPerformance,
    ServingPlan,
    ServingPoint,
    ServingWorkload,
    TokenPrices,
    serving_option,
)
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.sizing.serving.calibration import Calibration, load_calibration
from clusterwright.sizing.serving.confidence import EVEN_ODDS, FAVOURABLE
from clusterwright.sizing.serving.search import searches
from clusterwright.sizing.serving.service import Service, Task, tokens_asked_per_s
from clusterwright.sizing.serving.sizes import Predicted, Searched, ServingSize
from clusterwright.tco.formulas.unit_cost import usd_per_million_tokens
from clusterwright.tco.terms.records import Parameter
from clusterwright.units import SECONDS_PER_DAY, SECONDS_PER_HOUR, percent
from clusterwright.workload.transformer import parameters

#: Spot nodes that are taken back, per node and day; the same assumption as for training.
_SPOT_INTERRUPTIONS_PER_NODE_DAY = 7.3e-3
#: Requests in flight on a replica, and nodes, from which on the goals are looked at: another may take far fewer.
_LITTLE_LOAD, _MANY = 4.0, 4
#: Orders what misses the goals by its probability of meeting them before anything else.
_PROBABILITY_FIRST = 1e6


def serving_engine(blueprint: Blueprint, resolved: Resolved, facts: Facts) -> "ServingEngine":
    """Return the engine of a blueprint that serves; all its hardware is sized in one pass."""
    service, calibration = service_of(blueprint, resolved), load_calibration()
    nodes = {target.node.id: target.node for target in resolved.targets}
    return ServingEngine(
        facts=facts,
        model=resolved.model,
        service=service,
        calibration=calibration,
        blueprint=blueprint,
        confidence_is_set="confidence" in blueprint.goals.model_fields_set,
        found=searches(service, list(nodes.values()), calibration, (service.goals.confidence, EVEN_ODDS)),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingEngine:
    """A service; the methods are those of `plan.engine.Engine`.

    Attributes:
        service: at the peak of the last day of the horizon.
        confidence_is_set: by the user, and obeyed; else even odds take its place where it costs much.
        blueprint: as it was loaded, for its traffic and the hosted models to compare with.
        found: of the hardware of all targets, with the confidence of the goals and at even odds.
    """

    facts: Facts
    model: Model
    service: Service
    calibration: Calibration
    confidence_is_set: bool
    blueprint: Blueprint
    found: Searched

    def units_of_horizon(self, blueprint: Blueprint) -> float:
        """Return the months of the horizon: a service works all of them."""
        return blueprint.economics.horizon / _month_s(blueprint)

    def front(self, blueprint: Blueprint, target: ResolvedTarget, bounds: NodeBounds) -> tuple[ServingPoint, ...]:
        """Return the fewest nodes of a target's hardware that meet the goals at the peak; the nearest if none do.

        Where no confidence is set, goals are tested with the usual one unless that is costly, then at even odds. Where
        only the favourable end of the band meets them, the size for times at that end is given, as uncertain.
        """
        sure, even = (self._sizes(target.node, one) for one in (self.service.goals.confidence, EVEN_ODDS))
        if not sure:
            raise RuleError((does_not_fit(self.service, target.node, self.calibration),))
        at_goal, at_even = _first_met(sure, bounds), _first_met(even, bounds)
        met = at_goal
        if not self.confidence_is_set and (at_goal is None or _costly(at_goal, at_even)):
            met = at_even
        beside = _Beside(sure=None if at_goal is None else at_goal[1], even=None if at_even is None else at_even[1])
        if met is not None:
            size, nodes = met
            return (_point(blueprint, size, nodes, Outcome.MET, beside, divided=bounds.divided),)
        unbound = [size for size in (sure if self.confidence_is_set else even) if size.shortfall <= 0]
        if unbound:
            total = unbound[0].replicas + self.service.spare(unbound[0].replicas)
            raise RuleError((too_few_nodes(unbound[0].nodes, bounds, target.target, replicas=total),))
        if max(size.best_probability for size in even) < FAVOURABLE:
            nearest, outcome = even[0], Outcome.MISSED
        else:
            # Sized for what meets the goals: replicas with one request each would tell nothing of the service.
            hopeful = even if even[0].shortfall <= 0 else self._sizes(target.node, FAVOURABLE)
            nearest, outcome = hopeful[0], Outcome.UNCERTAIN
        nodes = _allowed(nearest.nodes, bounds) or bounds.most_work or nearest.nodes
        return (_point(blueprint, nearest, nodes, outcome, beside, divided=bounds.divided),)

    def _sizes(self, node: NodeType, confidence: float) -> tuple[ServingSize, ...]:
        known = self.found.sizes.get(confidence, {}).get(node.id)
        if known is not None:
            return known
        return searches(self.service, [node], self.calibration, (confidence,)).sizes[confidence][node.id]

    def meets_goals(self, blueprint: Blueprint, point: SizedPoint) -> bool:  # noqa: ARG002 - of the protocol
        """Tell whether the replicas meet the goals at the peak with the confidence that they are sized with."""
        return _served(point).outcome is Outcome.MET

    def shortfall(self, point: SizedPoint) -> float:
        """Return how improbable it is that the goals are met, by any number of replicas; then by how much they miss."""
        size = _served(point).size
        return (1.0 - size.best_probability) * _PROBABILITY_FIRST + max(size.shortfall, 0.0)

    def goal_findings(self, blueprint: Blueprint, option: Option, target: ResolvedTarget) -> tuple[Finding, ...]:
        """Return which goals the nearest layout misses, and the bound where none can meet them."""
        return tuple(missed(blueprint, serving_option(option), target))

    def findings(self, blueprint: Blueprint, option: Option, target: ResolvedTarget) -> tuple[Finding, ...]:  # noqa: ARG002
        """Return nothing: what fails is a goal."""
        return ()

    def warnings(self, blueprint: Blueprint, options: Sequence[Option]) -> tuple[Finding, ...]:
        """Return what widens the band, what the width of the band costs, and caps that no prediction counts."""
        served = [serving_option(option) for option in options]
        return (
            *unknown_framework(blueprint, self.calibration),
            *unmeasured(self.service),
            *beyond_context(self.service, self.model),
            *undivided(served),
            *no_draft_heads(self.service, self.model),
            *few_at_most(blueprint, served),
            *costly_confidence(served, asked=self.confidence_is_set),
            *(finding for option in served for finding in self._at_the_edge(option)),
            *capped_power(blueprint),
            *broken_limits(self._hosted(served, blueprint.economics.as_of or self.facts.book.newest_day)),
        )

    def _hosted(self, options: Sequence[ServingOption], as_of: dt.date) -> tuple[HostedOffer, ...]:
        asked = self.blueprint.targets.api
        return () if asked is None else hosted_offers(asked, self.model, self.service, options, as_of)

    def _managed(self, options: Sequence[ServingOption], as_of: dt.date) -> tuple[ManagedOffer, ...]:
        if self.blueprint.targets.api is None:
            return ()
        hours = self.blueprint.economics.hours_per_month
        return managed_offers(options, self.facts.book, as_of, hours_per_month=hours)

    def _at_the_edge(self, option: ServingOption) -> Iterator[Finding]:
        """Yield `SRV023` where goals that are a quarter looser take half the nodes: little load goes on a replica."""
        cluster, performance = option.cluster, option.performance
        known = self.found.sizes[EVEN_ODDS].get(cluster.instance, ())
        if (
            performance.outcome is not Outcome.MET
            or performance.in_flight > _LITTLE_LOAD
            or cluster.work_nodes < _MANY
            or not known
        ):
            return
        goals = self.service.goals
        looser = replace(
            goals,
            first_token_s=None if goals.first_token_s is None else goals.first_token_s * LOOSER,
            time_per_token_s=None if goals.time_per_token_s is None else goals.time_per_token_s * LOOSER,
        )
        service = replace(self.service, goals=looser)
        found = searches(service, [known[0].node], self.calibration, (performance.confidence,)).sizes[
            performance.confidence
        ]
        nodes = found[cluster.instance][0].nodes
        if 2 * nodes <= cluster.work_nodes:
            yield goals_at_the_edge(option, nodes)

    def useful_share(self, point: SizedPoint) -> float:  # noqa: ARG002
        """Return the share of the time that the service is up: spare replicas stand in for what fails."""
        return 1.0

    def useful_shares_by_capacity(self, blueprint: Blueprint, point: SizedPoint) -> tuple[float, float]:  # noqa: ARG002
        """Return the same on nodes that are kept, and on ones taken back: what their replicas lose while they start."""
        lost = _SPOT_INTERRUPTIONS_PER_NODE_DAY * blueprint.replicas.start_time / SECONDS_PER_DAY
        return 1.0, 1.0 - min(lost, 0.5)

    def assumptions(self, blueprint: Blueprint, options: Sequence[Option]) -> list[Parameter]:  # noqa: ARG002
        """Return nothing: what is assumed of a service is in its blueprint."""
        return []

    def constraints(self, blueprint: Blueprint) -> tuple[Constraint, ...]:
        """Return what the blueprint holds of the layout."""
        workload, _ = serve_of(blueprint)
        held = [*_said("workload.parallelism", workload.parallelism), *_said("workload.options", workload.options)]
        if blueprint.replicas.autoscaling is not None:
            held += _said("replicas.autoscaling", blueprint.replicas.autoscaling)
        if blueprint.replicas.availability is not None:
            held.append(("replicas.availability", str(blueprint.replicas.availability)))
        return tuple(Constraint(path=path, value=value) for path, value in held)

    def workload(self, blueprint: Blueprint) -> ServingWorkload:
        """Return the service as it was sized."""
        workload, traffic = serve_of(blueprint)
        asked = requests_of(blueprint)
        eight = workload.precision not in ("bf16", "fp16")
        return ServingWorkload(
            kind=workload.kind,
            model=self.model.id,
            model_name=self.model.name,
            parameters=parameters(self.model),
            precision=workload.precision,
            architecture=self.model,
            model_file=PurePath(workload.model.config).name if isinstance(workload.model, ModelFile) else "",
            task=workload.task,
            framework=workload.framework,
            cache_precision=workload.kv_precision or ("8 bits" if eight else "bf16"),
            speculative=workload.options.speculative,
            requests_per_s=asked.requests_per_s,
            users=traffic.users,
            active_share=traffic.active_share,
            think_time_s=traffic.think_time,
            peak_over_mean=traffic.peak,
            growth_factor=growth_factor(blueprint),
            input_tokens=asked.inputs.mean,
            input_tokens_p95=asked.inputs.p95,
            output_tokens=asked.outputs.mean,
            output_tokens_p95=asked.outputs.p95,
            prefix_cache_hit=asked.prefix_share,
            reasoning_tokens=asked.reasoning_tokens,
            turns=traffic.sessions.turns if traffic.sessions else 1.0,
            documents=traffic.documents or 1.0,
            month_s=_month_s(blueprint),
        )

    def option(self, target: ResolvedTarget, point: SizedPoint, common: Option) -> ServingOption:
        """Return a chosen size with its replicas, latencies, memory, and what its tokens cost."""
        performance = self._performance(target, _served(point), common.performance)
        money = self._money(_served(point), performance, common.money)
        return ServingOption(**parts(common) | {"performance": performance, "money": money})

    def _performance(
        self, target: ResolvedTarget, served: ServingPoint, common: PlannedPerformance
    ) -> ServingPerformance:
        size, service = served.size, self.service
        beside = size.prefill.gpus if size.prefill else 0
        whole = size.layout.replicas_on(served.work_gpus - beside)
        # Of a size that misses the goals the target may not have all nodes.
        replicas = min(size.replicas, max(whole, 1))
        spare = min(max(whole - replicas, 0), service.spare(size.replicas))
        answer = size.mean_first_token_s + service.outputs.mean * size.mean_time_per_token_s
        mean = served.mean_load.rate(answer)
        made = size.replica_requests_per_s
        share = size.requests_per_s / (made.value * size.replicas)
        each = _output_tokens(service)
        tokens = tokens_asked_per_s(requests_per_s=size.requests_per_s, tokens=each)
        month_s = served.calendar_days * SECONDS_PER_DAY
        return ServingPerformance(
            **parts(common),
            layout=size.layout,
            outcome=served.outcome,
            confidence=size.confidence,
            probability=size.probability,
            sure_nodes=served.sure_nodes,
            even_odds_nodes=served.even_odds_nodes,
            goal_confidence=service.goals.confidence,
            replicas=replicas,
            spare_replicas=spare,
            idle_gpus=max(served.work_gpus - beside - size.layout.accelerators(replicas + spare), 0),
            peak_requests_per_s=size.requests_per_s,
            mean_requests_per_s=mean,
            capacity_requests_per_s=size.capacity_per_s,
            limit_requests_per_s=size.limit_per_s,
            in_flight=size.in_flight,
            most_in_flight=size.most_in_flight,
            first_token_s=size.first_token_s,
            time_per_token_s=size.time_per_token_s,
            mean_first_token_s=size.mean_first_token_s,
            mean_time_per_token_s=size.mean_time_per_token_s,
            first_token_bound_s=size.first_token_bound_s,
            time_per_token_bound_s=size.time_per_token_bound_s,
            output_tokens_per_s=Predicted(
                value=tokens, low=tokens * made.low / made.value * share, high=tokens * made.high / made.value * share
            ),
            output_tokens_per_s_per_user=1.0 / size.mean_time_per_token_s if each else 0.0,
            output_tokens_per_month=mean * each * month_s,
            input_tokens_per_month=mean * service.inputs.mean * service.running.passes * month_s,
            replica_memory=size.memory,
            decode_step=size.step,
            prefill_s=size.prefill_s,
            prefill_share=prefill_share(size),
            prefill_pool=size.prefill,
            cached_share=size.cached_share,
            host_share=size.host_share,
            gpu_power_w=size.power_w,
            day=service_day(self.blueprint, size, served.storage, replicas=replicas, spare=spare, mean=mean),
            rate_front=self.found.fronts.get(target.node.id, ()),
            level=size.level,
            level_text=level_text(size.level, model=self.model.name, accelerator=target.node.accelerator.name),
        )

    def _money(self, served: ServingPoint, performance: ServingPerformance, common: PlannedMoney) -> ServingMoney:
        size, month_s = served.size, served.calendar_days * SECONDS_PER_DAY
        by_the_hour = common.run_usd is not None and common.term == "on_demand"
        return ServingMoney(
            **parts(common),
            usd_per_million_tokens=_prices(
                common,
                outputs=performance.output_tokens_per_month,
                inputs=performance.input_tokens_per_month,
                at_capacity=size.capacity_per_s * size.replicas * _output_tokens(self.service) * month_s,
                prefill_share=performance.prefill_share,
            ),
            replica_hours=replica_hours_cost(performance.day, common.run_cost_usd, by_the_hour=by_the_hour),
        )

    def front_point(self, point: SizedPoint, common: FrontPoint) -> FrontPoint:  # noqa: ARG002 - of the protocol
        """Return a size that was considered."""
        return common

    def plan(self, common: Plan) -> ServingPlan:
        """Return the plan of a service, with the goals that only services have."""
        asked = self.service.goals
        as_of = dt.date.fromisoformat(common.as_of)
        options = tuple(serving_option(option) for option in common.options)
        return ServingPlan(
            **parts(common)
            | {
                "hosted": self._hosted(options, as_of),
                "managed": self._managed(options, as_of),
                "goals": ServingGoals(
                    **parts(common.goals) | {"finish_within_days": None},
                    first_token_s=asked.first_token_s,
                    time_per_token_s=asked.time_per_token_s,
                    percentile=asked.percentile * 100.0,
                    confidence_is_set=self.confidence_is_set,
                ),
            }
        )


def _said(path: str, section: Section) -> Iterator[tuple[str, str]]:
    """Yield what the blueprint says in a section, each value at its path."""
    for name, value in section:
        if name not in section.model_fields_set or value is None:
            continue
        if isinstance(value, Section):
            yield from _said(f"{path}.{name}", value)
        else:
            yield f"{path}.{name}", str(value)


def _month_s(blueprint: Blueprint) -> float:
    return blueprint.economics.hours_per_month * SECONDS_PER_HOUR


def _served(point: SizedPoint) -> ServingPoint:
    """Return a point that the engine of serving made."""
    assert isinstance(point, ServingPoint)  # noqa: S101 - made by `front`
    return point


def _allowed(needed: int, bounds: NodeBounds) -> int | None:
    """Return the fewest nodes of the work that suffice and may be had; None where none may."""
    nodes = _allowed_of_all(needed + bounds.divided, bounds)
    return None if nodes is None else nodes - bounds.divided


def _allowed_of_all(needed: int, bounds: NodeBounds) -> int | None:
    least = max(needed, bounds.least or 1)
    most = bounds.most
    if bounds.counts is not None:
        numbers = [count for count in bounds.counts if count >= least and (most is None or count <= most)]
        rule = bounds.must_be
        return min((count for count in numbers if rule is None or rule.holds(count)), default=None)
    if bounds.must_be is not None:
        rule = bounds.must_be
        least = -(-least // rule.of) * rule.of
        least = 1 << (least - 1).bit_length() if rule.power_of_two else least
    return None if most is not None and least > most else least


def _first_met(sizes: Sequence[ServingSize], bounds: NodeBounds) -> tuple[ServingSize, int] | None:
    """Return the first size that meets the goals and may be had, with its nodes; None for none."""
    for size in sizes:
        nodes = _allowed(size.nodes, bounds) if size.shortfall <= 0 else None
        if nodes is not None:
            return size, nodes
    return None


def _costly(met: tuple[ServingSize, int], at_even_odds: tuple[ServingSize, int] | None) -> bool:
    """Tell whether a confidence takes half as many nodes more than even odds; one more is within rounding."""
    if at_even_odds is None:
        return False
    nodes, even = met[1], at_even_odds[1]
    return nodes - even > 1 and nodes >= COSTLY * even


@dataclass(frozen=True, kw_only=True, slots=True)
class _Beside:
    """Nodes with the confidence of the goals, and at even odds; None where no layout meets the goals so."""

    sure: int | None
    even: int | None


def _point(
    blueprint: Blueprint, size: ServingSize, nodes: int, outcome: Outcome, beside: _Beside, *, divided: int
) -> ServingPoint:
    """Return a size as billing takes it: a month, always on; the divided nodes stand beside those of the replicas."""
    node, days = size.node, _month_s(blueprint) / SECONDS_PER_DAY
    return ServingPoint(
        node=node,
        nodes=nodes + divided,
        gpus=(nodes + divided) * node.gpus,
        divided_nodes=divided,
        storage=storage_of(blueprint, size, nodes=nodes),
        calendar_days=days,
        calendar_days_low=days,
        calendar_days_high=days,
        limited_by=_limits(size),
        size=size,
        outcome=outcome,
        sure_nodes=None if beside.sure is None else beside.sure + divided,
        even_odds_nodes=None if beside.even is None else beside.even + divided,
        mean_load=load_of(blueprint),
    )


def _limits(size: ServingSize) -> tuple[str, ...]:
    """Return the largest parts of a decode step and the prefills between them, in words."""
    step = size.step
    gaps = max(size.mean_time_per_token_s - step.total, 0.0)
    parts = {
        "reading weights": step.weights,
        "reading keys and values": step.cache,
        "computing": step.compute,
        "collectives": step.network,
        "fixed times of the software": step.overhead,
        "prefills of other requests": gaps,
    }
    total = sum(parts.values())
    named = sorted(parts.items(), key=lambda part: -part[1])[:2]
    return tuple(f"{name} {percent(value / total)}" for name, value in named if value > 0)


def _output_tokens(service: Service) -> float:
    """Return the mean tokens that a request generates; none where one pass over the input answers it."""
    return service.outputs.mean if service.task is Task.GENERATE else 0.0


def prefill_share(size: ServingSize) -> float:
    """Return the share of the accelerators' time that goes to inputs, of what they work."""
    if size.prefill is None:
        return size.busy_share
    before = size.prefill.layout.accelerators(size.prefill.workers)
    return before / (before + size.layout.accelerators(size.replicas))


def _prices(
    money: PlannedMoney, *, outputs: float, inputs: float, at_capacity: float, prefill_share: float
) -> TokenPrices:
    """Return what tokens cost where a month costs what it does: cash where it is rented, its share where owned."""

    def each(dollars: float | None, tokens: float) -> float | None:
        return None if dollars is None or tokens <= 0 else usd_per_million_tokens(usd=dollars, tokens=tokens)

    usd = money.run_cost_usd
    return TokenPrices(
        output=each(usd, outputs),
        output_low=each(money.run_usd_low, outputs),
        output_high=each(money.run_usd_high, outputs),
        blended=each(usd, inputs + outputs),
        output_at_capacity=each(usd, at_capacity),
        input_by_time=each(None if usd is None else usd * prefill_share, inputs),
        output_by_time=each(None if usd is None else usd * (1.0 - prefill_share), outputs),
    )
