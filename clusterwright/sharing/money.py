"""What a shared cluster costs, and what each workload pays of it."""

from collections.abc import Mapping, Sequence

from clusterwright.plan.record import Option
from clusterwright.sharing.hours import Claim

#: Costs of an owned cluster that every workload keeps for itself: nothing is known of what data they have in common.
_OWN = ("storage",)
_ENERGY = "energy"
_NODES = "compute"


def _of(option: Option, *categories: str) -> float:
    return sum(cost.usd for cost in option.money.horizon_breakdown if cost.category in categories)


def rented_usd(options: Mapping[str, Option], lent: Mapping[str, float]) -> float | None:
    """Return the cost of a rented cluster over the horizon: `sum_i (cost_i - lent_i * nodes_i)`.

    Nodes are paid by the hour, so a workload costs what it costs alone, less the hours of nodes that are kept and paid
    for a service anyway. Storage, controllers and addresses remain those of each.

    Args:
        options: of every workload on the hardware that is shared, by name.
        lent: share of its node-hours that are of kept nodes, by name; services have none.
    """
    costs = [
        None
        if option.money.horizon_usd is None
        else option.money.horizon_usd - lent.get(name, 0.0) * _of(option, _NODES)
        for name, option in options.items()
    ]
    return None if any(cost is None for cost in costs) else sum(cost for cost in costs if cost is not None)


def owned_usd(cluster: Option, others: Sequence[Option], *, always_on: bool) -> float | None:
    """Return the cost of an owned cluster over the horizon.

    Args:
        cluster: the shared cluster with the work of the workload that decides on it.
        others: the other workloads, each on the same hardware: they keep their storage, and their work takes energy.
        always_on: the cluster is counted as working all the time, so that the others' energy is in it.
    """
    if cluster.money.horizon_usd is None or any(option.money.horizon_usd is None for option in others):
        return None
    kept = _OWN if always_on else (*_OWN, _ENERGY)
    return cluster.money.horizon_usd + sum(_of(option, *kept) for option in others)


def split(usd: float | None, claims: Sequence[Claim]) -> dict[str, float | None]:
    """Return what each workload pays: the cost in proportion to the node-hours that it works.

    >>> def of(name: str, worked: float) -> Claim:
    ...     return Claim(
    ...         name=name, nodes_by_hour=(), kept_nodes=0, from_month=0, until_month=1, worked_node_hours=worked
    ...     )
    >>> split(100.0, [of("chat", 30.0), of("weekly", 10.0)])
    {'chat': 75.0, 'weekly': 25.0}
    """
    worked = sum(claim.worked_node_hours for claim in claims)
    return {
        claim.name: None if usd is None else usd * claim.worked_node_hours / worked if worked else 0.0
        for claim in claims
    }
