"""The parts of deliverables that only serving has, in one record."""

from collections.abc import Sequence

from clusterwright.catalog.records import Catalogue
from clusterwright.facility.design import OnPremDesign
from clusterwright.outputs.kind import KindOutputs, Step
from clusterwright.outputs.serving.launch import cluster_files, contents, launch, start
from clusterwright.outputs.serving.report import TERMS, cluster_charts, cluster_table, elsewhere
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.serving.record import serving_option, serving_plan
from clusterwright.plan.text.serving import banded_text, certainty_text, goal_text, in_flight_text, replicas_text


def _replicas(option: Option) -> str:
    return replicas_text(serving_option(option))


def _reason(plan: Plan, option: Option) -> str:
    chosen = serving_option(option)
    performance = chosen.performance
    return (
        f"{replicas_text(chosen)}; first token {banded_text(performance.first_token_s)}, per token "
        f"{banded_text(performance.time_per_token_s)}; {in_flight_text(performance)}; limited by "
        f"{', '.join(performance.limited_by)}; "
        f"{performance.level_text}; {certainty_text(serving_plan(plan), chosen)}."
    )


def _goal(plan: Plan) -> str:
    goals = goal_text(serving_plan(plan))
    return f"the goals ({goals})" if goals else "no goal for latency"


def _acceptance(plan: Plan, option: Option, design: OnPremDesign, catalogue: Catalogue) -> Sequence[Step]:  # noqa: ARG001 - as of any kind
    """Return the steps with the service: its start, and a load test; none where no file starts it."""
    chosen = serving_option(option)
    if start(plan, option, catalogue) is None:
        return ()
    performance, kubernetes = chosen.performance, option.deployment.scheduler == "kubernetes"
    folder = "kubernetes/serving" if kubernetes else "serving"
    starts = "deploy.sh" if kubernetes else "serve.sh" if performance.prefill_pool is not None else "serve.sbatch"
    return (
        Step(
            do=f"`{folder}/{starts}`, as its README says",
            expect=f"{performance.replicas + performance.spare_replicas:,} replicas ready",
        ),
        Step(
            do=f"`{folder}/loadtest/load.py --url http://ADDRESS --replicas {performance.replicas}`",
            expect=f"first token {banded_text(performance.first_token_s)}, per token "
            f"{banded_text(performance.time_per_token_s)} at the plan's percentile; "
            "`clusterwright actual --serving` compares them",
        ),
    )


SERVING = KindOutputs(
    arrangement=_replicas,
    arrangement_title="replicas",
    reason=_reason,
    goal=_goal,
    useful_hour="one in which the service is kept up",
    terms=TERMS,
    cluster_table=cluster_table,
    cluster_charts=cluster_charts,
    elsewhere=elsewhere,
    launch=launch,
    start=start,
    cluster_files=cluster_files,
    contents=contents,
    acceptance=_acceptance,
)
