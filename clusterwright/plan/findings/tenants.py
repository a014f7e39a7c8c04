"""Tenants beside what was planned: shares that are no GPU, limits below them, and where nothing divides a cluster."""

from collections.abc import Iterator, Sequence

from clusterwright.errors import Finding
from clusterwright.plan.record import Option
from clusterwright.plan.tenants import Tenant, gpus_of
from clusterwright.plan.text.words import on_target


def tenant_warnings(tenants: Sequence[Tenant], options: Sequence[Option]) -> Iterator[Finding]:
    """Yield warnings of the targets of a blueprint with tenants.

    `TEN005`: the share of a tenant is less than one GPU; `TEN006`: a limit below the share;
    `TEN007`: nothing of a cloud's project divides the cluster among tenants.

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
        own = gpus_of(tenants, option.cluster.gpus)
        for place, tenant in enumerate(tenants):
            if tenant.share and not own[tenant.name]:
                yield Finding(
                    id="TEN005",
                    path=("tenants", place, "share"),
                    message=f"the share of {tenant.name} is less than one of {option.cluster.gpus:,} GPUs "
                    f"({on_target(option.target)})",
                    help="give it a larger share, or 0 % and when_free: borrow",
                )
            if tenant.most_gpus is not None and tenant.most_gpus < own[tenant.name]:
                yield Finding(
                    id="TEN006",
                    path=("tenants", place, "max_gpus"),
                    message=f"{tenant.name} may have {tenant.most_gpus:,} GPUs at once, and its share is "
                    f"{own[tenant.name]:,} of {option.cluster.gpus:,} ({on_target(option.target)})",
                    help="raise max_gpus, or lower the share: the difference is nobody's",
                )
