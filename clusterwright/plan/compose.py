"""Composes the records of a Plan from what was chosen; decides nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from clusterwright import __version__
from clusterwright.blueprint.rules.hardware import CLOUDS
from clusterwright.blueprint.schema import Blueprint
from clusterwright.blueprint.sections.clouds import CloudTarget
from clusterwright.blueprint.sections.jobs import SHARED_PATH, Jobs
from clusterwright.blueprint.sections.stack_state import StackState
from clusterwright.blueprint.sections.tenants import tenants_of
from clusterwright.blueprint.sections.users import list_of
from clusterwright.blueprint.sizes import Sizes
from clusterwright.clouds import has_service_range
from clusterwright.errors import Finding
from clusterwright.plan.alternatives.recount import not_counted
from clusterwright.plan.candidates.consider import Choice, days, key_of
from clusterwright.plan.candidates.hardware import rented_shares
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
from clusterwright.plan.findings.near_misses import near_misses
from clusterwright.plan.own_bands import own_bands
from clusterwright.plan.record import (
    ClusterNames,
    Constraint,
    EconomicsSummary,
    GoalSummary,
    Hardware,
    Option,
    OtherOption,
    Plan,
)
from clusterwright.plan.work import growth_factor, reference
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
    other_options: tuple[OtherOption, ...],
    warnings: tuple[Finding, ...],
) -> Plan:
    """Return the Plan of what was sized, before its ways are ranked.

    Args:
        blueprint: as loaded.
        engine: of the workload.
        facts: catalogue, prices and calibrated constants.
        options: the chosen cluster of each target.
        ledger: their cash flow.
        other_options: as in `Plan`.
        warnings: as in `Plan`.

    Raises:
        InputError: a band of `tco.uncertainty` does not fit an input.
    """
    economics = ledger.economics
    users, groups = list_of(blueprint.cluster.users, blueprint.cluster.groups)
    uncertain_inputs(
        ledger.parameters, utilisation=economics.utilisation, own=own_bands(blueprint.tco.uncertainty)
    )  # refuses a band that fits no input, before anything is made of the plan
    return engine.plan(
        dict[str, Any](
            schema=1,
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
            economics=EconomicsSummary(
                horizon_months=economics.horizon_months,
                utilisation=economics.utilisation,
                discount_rate=economics.discount_rate,
                hours_per_month=economics.hours_per_month,
                power_price_usd_per_kwh=economics.power_price_usd_per_kwh,
                pue=economics.pue,
                runs=economics.runs,
                reference_days=economics.reference_days,
                reference_target=reference(ledger.candidates).target,
                growth_factor=growth_factor(economics),
            ),
            cluster=ClusterNames(
                name=blueprint.cluster.name or blueprint.name,
                partition=blueprint.cluster.partition,
                host_prefix=blueprint.cluster.host_prefix,
                tags=tuple(sorted(blueprint.cluster.tags.items())),
                jobs=_jobs(blueprint.cluster.jobs, blueprint.name),
                users=tuple(users),
                groups=tuple(groups),
                identity=blueprint.cluster.identity,
                tenants=tenants_of(blueprint.tenants),
            ),
            recommended="",
            recommended_horizon="",
            options=options,
            other_options=other_options,
            breakevens=ledger.breakevens(),
            parameters=(*engine.assumptions(blueprint, options), *ledger.parameters),
            findings=(),
            warnings=warnings,
            not_counted=not_counted(
                kind=blueprint.workload.kind,
                owned=any(option.facility is not None for option in options),
                rented=any(option.facility is None for option in options),
                given={parameter.key for parameter in ledger.parameters if parameter.value},
            ),
            quotes=economics.quotes,
            tco=blueprint.tco,
        )
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
    choice: Choice,
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
        choice: the point.
        cost: what it costs beside the other targets' chosen points.
        front: every size of the target that was considered.
        costs: of the sizes that were billed, by key.
        engine: of the workload.
        considered: the hardware that there was to choose from.
        missing: sizes of that hardware that miss the goals.
    """
    target, point = choice.resolved, choice.point
    kept, spot = rented_shares(blueprint, choice, engine)
    asked = getattr(blueprint.targets, target.target)
    shared = {field.name for field in fields(CandidateCost)} & {field.name for field in fields(Option)}
    described = {"target", "nodes", "gpus", "calendar_days", "run_usd", "run_usd_low", "run_usd_high"}
    common = dict[str, Any](
        target=target.target,
        instance=target.node.id,
        region=asked.region if target.target in CLOUDS else "",
        zone=(asked.zone or "") if target.target in CLOUDS else "",
        capacity=asked.capacity if target.target in CLOUDS else "",
        reservation=(asked.reservation or "") if target.target in CLOUDS else "",
        scheduler=asked.scheduler,
        network_cidr=(asked.network.cidr or "") if target.target in CLOUDS else "",
        service_cidr=(asked.network.service_cidr or "") if has_service_range(target.target) else "",
        existing_network=existing_ids(target.target, asked) if target.target in CLOUDS else None,
        state=state_backend(asked.state) if target.target in CLOUDS else None,
        time_to_live_hours=_rented_for(blueprint.cluster.time_to_live, target.target, unit_s=3600),
        stop_when_idle_minutes=_rented_for(blueprint.cluster.stop_when_idle, target.target, unit_s=60),
        accelerator=target.node.accelerator.id,
        accelerator_name=target.node.accelerator.name,
        nodes=point.nodes,
        gpus=point.gpus,
        gpus_per_node=target.node.gpus,
        hbm_bytes_per_gpu=target.node.hbm_bytes_per_gpu,
        network=target.node.network,
        power_cap_w=target.node.power_cap_w,
        goodput=engine.useful_share(point),
        storage=point.storage,
        calendar_days=point.calendar_days,
        calendar_days_low=point.calendar_days_low,
        calendar_days_high=point.calendar_days_high,
        meets_goal=choice.meets_goal,
        limited_by=point.limited_by,
        it_power_w=choice.bill.it_power_w,
        unknown_power_items=choice.bill.unknown_power_items,
        facility=choice.design,
        file_system=choice.file_system,
        front=tuple(
            engine.front_point(
                other,
                {
                    "nodes": other.nodes,
                    "gpus": other.gpus,
                    "calendar_days": other.calendar_days,
                    "calendar_days_high": other.calendar_days_high,
                    "meets_goal": choice.meets_goal,
                    "run_usd": None if costed is None else costed.run_cash_usd,
                    "run_share_usd": None if costed is None else costed.run_share_usd,
                },
            )
            for other in front
            for costed in [costs.get(key_of(target, other, choice.term))]
        ),
        considered=considered,
        near_misses=near_misses(missing, nodes=point.nodes, goal_days=days(blueprint.goals.finish_within)),
        kept_goodput=kept,
        spot_goodput=spot,
        constraints=_constraints(blueprint, target.target, engine),
        booked=choice.booked,
        run_usd=cost.run_cash_usd,
        run_usd_low=None if cost.shared else cost.run_usd_low,
        run_usd_high=None if cost.shared else cost.run_usd_high,
        run_share_usd=cost.run_share_usd,
        **{name: getattr(cost, name) for name in shared - described},
    )
    return engine.option(target, point, common)


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
