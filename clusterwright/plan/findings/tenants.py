"""Tenants beside what was planned: shares that are no GPU, limits below them, and where nothing divides a cluster."""

from collections.abc import Iterator, Mapping, Sequence

from clusterwright.errors import Finding
from clusterwright.plan.finetuning.record import FinetuningOption
from clusterwright.plan.record import Option
from clusterwright.plan.tenants import Tenant, gpus_of
from clusterwright.plan.text.words import on_target
from clusterwright.plan.training.record import TrainingOption


def tenant_warnings(tenants: Sequence[Tenant], options: Sequence[Option]) -> Iterator[Finding]:
    """Yield warnings of the targets of a blueprint with tenants.

    `TEN005`: the share of a tenant is less than one GPU; `TEN006`: a limit below the share;
    `TEN007`: nothing of a cloud's project divides the cluster among tenants; `TEN008`: no tenant may run the job.

    Args:
        tenants: of the blueprint.
        options: what was planned.
    """
    if not tenants:
        return
    for option in options:
        if option.design.facility is None:
            yield Finding(
                id="TEN007",
                path=("tenants",),
                message=f"{on_target(option.target)} all users share the cluster alike: the project of a cloud makes "
                "no queues of tenants",
                help="make them after the first `./cluster.sh up`, or plan the tenants on premises",
            )
            continue
        own = gpus_of(tenants, option.cluster.work_gpus)
        yield from _nobody_runs(tenants, own, option)
        for place, tenant in enumerate(tenants):
            if tenant.share and not own[tenant.name]:
                yield Finding(
                    id="TEN005",
                    path=("tenants", place, "share"),
                    message=f"the share of {tenant.name} is less than one of {option.cluster.work_gpus:,} GPUs "
                    f"({on_target(option.target)})",
                    help="give it a larger share, or 0 % and when_free: borrow",
                )
            if tenant.most_gpus is not None and tenant.most_gpus < own[tenant.name]:
                yield Finding(
                    id="TEN006",
                    path=("tenants", place, "max_gpus"),
                    message=f"{tenant.name} may have {tenant.most_gpus:,} GPUs at once, and its share is "
                    f"{own[tenant.name]:,} of {option.cluster.work_gpus:,} ({on_target(option.target)})",
                    help="raise max_gpus, or lower the share: the difference is nobody's",
                )


def _nobody_runs(tenants: Sequence[Tenant], own: Mapping[str, int], option: Option) -> Iterator[Finding]:
    """The planned run takes its GPUs at once: a tenant has to be let use as many, in its share or beyond it."""
    if not isinstance(option, TrainingOption | FinetuningOption):
        return
    asked = option.training_nodes * option.cluster.gpus_per_node
    for tenant in tenants:
        most = [limit for limit in (tenant.most_gpus, tenant.most_gpus_per_user) if limit is not None]
        if (tenant.borrows or own[tenant.name] >= asked) and all(limit >= asked for limit in most):
            return
    yield Finding(
        id="TEN008",
        path=("tenants",),
        message=f"the run takes {asked:,} GPUs at once, and no tenant may use as many ({on_target(option.target)})",
        help="let one borrow (when_free: borrow) without a smaller max_gpus or max_gpus_per_user, or give it the share",
    )
