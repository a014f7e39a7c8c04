"""Composes the records of a Plan from what was chosen; decides nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clusterwright import __version__
from clusterwright.blueprint.rules.hardware import CLOUDS
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sections.clouds import CloudTarget
from clusterwright.blueprint.sections.directory import directory_of
from clusterwright.blueprint.sections.jobs import SHARED_PATH, Jobs
from clusterwright.blueprint.sections.stack_state import StackState
from clusterwright.blueprint.sections.tenants import TenantSection
from clusterwright.blueprint.sections.users import list_of
from clusterwright.blueprint.sizes import Sizes
from clusterwright.clouds import has_service_range
from clusterwright.errors import Finding
from clusterwright.plan.alternatives.recount import not_counted
from clusterwright.plan.candidates.consider import SizedAlternative, days, key_of
from clusterwright.plan.candidates.hardware import rented_shares
from clusterwright.plan.currency import currency_of
from clusterwright.plan.deployment import (
    AwsExistingIds,
    AzureExistingIds,
    ExistingIds,
    GcpExistingIds,
    JobSettings,
    StateBackend,
)
from clusterwright.plan.engine import Engine
from clusterwright.plan.facts import Facts
from clusterwright.plan.finance_terms import finance_terms, own_bands
from clusterwright.plan.findings.near_misses import near_misses
from clusterwright.plan.record import (
    SCHEMA,
    ClusterNames,
    Constraint,
    Deployment,
    Design,
    FrontPoint,
    GoalSummary,
    Hardware,
    Option,
    Plan,
    PlannedCluster,
    PlannedPerformance,
    planned_money,
)
from clusterwright.plan.tenants import Tenant
from clusterwright.sizing.records.point import SizedPoint
from clusterwright.tco.chance.uncertainty import uncertain_inputs
from clusterwright.tco.ledger.engine import Ledger
from clusterwright.tco.terms.records import CandidateCost

_EXISTING: dict[str, Callable[..., ExistingIds]] = {
    "aws": AwsExistingIds,
    "azure": AzureExistingIds,
    "gcp": GcpExistingIds,
}


def existing_ids(target: str, asked: CloudTarget) -> ExistingIds | None:
    """Return what a target's account already holds; None where the blueprint names nothing."""
    section: Any = getattr(asked.network, "existing", None)
    if section is None:
        return None
    given = {name: getattr(section, name) for name in type(section).model_fields}
    return _EXISTING[target](
        **{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    )


def state_backend(section: StackState | None) -> StateBackend | None:
    """Return where the stacks' state is kept; None for a local folder."""
    if section is None:
        return None
    return StateBackend(
        url=section.url,
        organization=section.organization or "",
        secrets_provider=section.secrets_provider or "",
    )


def compose(
    blueprint: Blueprint,
    engine: Engine,
    facts: Facts,
    options: tuple[Option, ...],
    ledger: Ledger,
    *,
    other_options: tuple[Option, ...],
    warnings: tuple[Finding, ...],
) -> Plan:
    """Return the Plan of what was sized, before its ways are ranked.

    Args:
        blueprint: as loaded.
        engine: of the workload.
        facts: catalogue, prices and calibrated constants.
        options: the chosen cluster of each target.
        ledger: cash flow of them and of other capacities.
        other_options: as in `Plan`.
        warnings: as in `Plan`.

    Raises:
        InputError: a band of `tco.uncertainty` does not fit an input.
    """
    cluster = blueprint.cluster
    economics = ledger.economics
    targets = {option.target for option in options}
    users, groups = list_of(cluster.users, cluster.groups)
    uncertain_inputs(
        ledger.parameters, utilisation=economics.utilisation, own=own_bands(blueprint.tco.uncertainty)
    )  # refuses a band that fits no input, before anything is made of the plan
    return engine.plan(
        Plan(
            schema=SCHEMA,
            clusterwright=__version__,
            catalogue=facts.catalogue.version,
            name=blueprint.name,
            description=blueprint.description,
            as_of=ledger.as_of.isoformat(),
            workload=engine.workload(blueprint),
            goals=GoalSummary(
                finish_within_days=days(blueprint.goals.finish_within),
                confidence=blueprint.goals.confidence,
                budget_usd=blueprint.economics.budget,
            ),
            economics=replace(economics, as_of=ledger.as_of),
            cluster=ClusterNames(
                name=cluster.name or blueprint.name,
                partition=cluster.partition,
                host_prefix=cluster.host_prefix,
                tags=tuple(sorted(cluster.tags.items())),
                jobs=_jobs(cluster.jobs, blueprint.name),
                users=tuple(users),
                groups=tuple(groups),
                identity=cluster.identity if cluster.directory is None else "directory",
                directory=None if cluster.directory is None else directory_of(cluster.directory),
                tenants=_tenants(blueprint.tenants),
            ),
            recommended="",
            recommended_horizon="",
            options=options,
            other_options=other_options,
            breakevens=tuple(entry for entry in ledger.breakevens() if {entry.owned_key, entry.rented_key} <= targets),
            parameters=(*engine.assumptions(blueprint, options), *ledger.parameters),
            findings=(),
            warnings=warnings,
            not_counted=not_counted(
                kind=blueprint.workload.kind,
                owned=any(option.design.facility is not None for option in options),
                rented=any(option.design.facility is None for option in options),
                given={parameter.key for parameter in ledger.parameters if parameter.value},
            ),
            finance=finance_terms(blueprint.tco, ledger.as_of),
            currency=currency_of(blueprint.tco.currency, ledger.as_of.isoformat(), ledger.book),
        )
    )


def _tenants(sections: Sequence[TenantSection]) -> tuple[Tenant, ...]:
    return tuple(
        Tenant(
            name=one.name,
            share=one.share,
            borrows=one.when_free == "borrow",
            users=tuple(one.users),
            most_gpus=one.max_gpus,
            most_gpus_per_user=one.max_gpus_per_user,
            longest_job_s=one.longest_job,
            weight=one.share if one.weight is None else one.weight,
        )
        for one in sections
    )


def _jobs(jobs: Jobs, name: str) -> JobSettings:
    return JobSettings(
        environment=jobs.environment,
        image=jobs.image or "",
        venv=jobs.venv or "",
        modules=tuple(jobs.modules or ()),
        megatron=jobs.megatron,
        data=jobs.data or "",
        tokenizer=jobs.tokenizer or "",
        learning_rate=jobs.learning_rate,
        internet=jobs.internet,
        checkpoints=jobs.checkpoints or f"{SHARED_PATH}/checkpoints/{name}",
    )


def option(
    blueprint: Blueprint,
    sized: SizedAlternative,
    cost: CandidateCost,
    front: Sequence[SizedPoint],
    costs: Mapping[str, CandidateCost],
    *,
    engine: Engine,
    considered: tuple[Hardware, ...],
    missing: Sequence[SizedPoint] = (),
) -> Option:
    """Return the record of a target's chosen point.

    Args:
        blueprint: for what was asked of the target.
        sized: the point, with its bill and what its provider charges beside it.
        cost: what it costs beside the other targets' chosen points.
        front: every size of the target that was considered.
        costs: of the sizes that were billed, by key.
        engine: of the workload.
        considered: the hardware that there was to choose from.
        missing: sizes of that hardware that miss the goals.
    """
    target, point = sized.resolved, sized.point
    kept, spot = rented_shares(blueprint, sized, engine)
    common = Option(
        target=target.target,
        cluster=_cluster(sized),
        performance=PlannedPerformance(
            calendar_days=point.calendar_days,
            calendar_days_low=point.calendar_days_low,
            calendar_days_high=point.calendar_days_high,
            goodput=engine.useful_share(point),
            kept_goodput=kept,
            spot_goodput=spot,
            meets_goal=sized.meets_goal,
            limited_by=point.limited_by,
            front=tuple(
                _front_point(sized, other, costs.get(key_of(target, other, sized.term)), engine) for other in front
            ),
            near_misses=near_misses(missing, nodes=point.nodes, goal_days=days(blueprint.goals.finish_within)),
        ),
        money=planned_money(cost, sized.candidate, booked=sized.booked),
        deployment=_deployment(blueprint, target.target),
        design=Design(
            constraints=_constraints(blueprint, target.target, engine),
            considered=considered,
            storage=point.storage,
            file_system=sized.file_system,
            facility=sized.design,
        ),
    )
    return engine.option(target, point, common)


def _cluster(sized: SizedAlternative) -> PlannedCluster:
    node, point = sized.resolved.node, sized.point
    return PlannedCluster(
        instance=node.id,
        accelerator=node.accelerator.id,
        accelerator_name=node.accelerator.name,
        nodes=point.nodes,
        gpus=point.gpus,
        gpus_per_node=node.gpus,
        hbm_bytes_per_gpu=node.hbm_bytes_per_gpu,
        network=node.network,
        power_cap_w=node.power_cap_w,
        it_power_w=sized.candidate.bill.it_power_w,
        unknown_power_items=sized.candidate.bill.unknown_power_items,
        divided_nodes=point.divided_nodes,
    )


def _front_point(sized: SizedAlternative, point: SizedPoint, cost: CandidateCost | None, engine: Engine) -> FrontPoint:
    common = FrontPoint(
        nodes=point.nodes,
        gpus=point.gpus,
        calendar_days=point.calendar_days,
        calendar_days_high=point.calendar_days_high,
        meets_goal=sized.meets_goal,
        run_usd=None if cost is None else cost.run_cash_usd,
        run_share_usd=None if cost is None else cost.run_share_usd,
    )
    return engine.front_point(point, common)


def _deployment(blueprint: Blueprint, target: str) -> Deployment:
    asked = getattr(blueprint.targets, target)
    rented = target in CLOUDS
    return Deployment(
        region=asked.region if rented else "",
        zone=(asked.zone or "") if rented else "",
        capacity=asked.capacity if rented else "",
        reservation=(asked.reservation or "") if rented else "",
        scheduler=asked.scheduler,
        network_cidr=(asked.network.cidr or "") if rented else "",
        service_cidr=(asked.network.service_cidr or "") if has_service_range(target) else "",
        existing_network=existing_ids(target, asked) if rented else None,
        state=state_backend(asked.state) if rented else None,
        time_to_live_hours=_rented_for(blueprint.cluster.time_to_live, target, unit_s=3600),
        stop_when_idle_minutes=_rented_for(blueprint.cluster.stop_when_idle, target, unit_s=60),
    )


def _rented_for(seconds: float | None, target: str, *, unit_s: float) -> float | None:
    """Return a time after which rented nodes stop, in units of a given number of seconds; None for what is owned."""
    return None if seconds is None or target not in CLOUDS else seconds / unit_s


def _constraints(blueprint: Blueprint, target: str, engine: Engine) -> tuple[Constraint, ...]:
    """Return what the blueprint holds of the work and of a target's size, in the order of the schema."""
    asked = getattr(blueprint.targets, target)
    sizes = (
        Constraint(path=f"targets.{target}.{name}", value=str(value))
        for name in Sizes.model_fields
        if (value := getattr(asked, name)) is not None
    )
    return (*engine.constraints(blueprint), *sizes)
