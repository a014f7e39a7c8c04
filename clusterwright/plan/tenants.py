"""Who shares a cluster on premises, and how many of its GPUs are whose."""

from collections.abc import Sequence
from dataclasses import dataclass

#: Shares are decimal fractions, whose sum may miss a whole number by a rounding of the last bit.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    """A group of users with a share of the cluster.

    Attributes:
        name: account and partition of Slurm, namespace and queue of Kubernetes.
        share: share of the GPUs, 0 to 1, that it gets back from others when it needs them.
        borrows: whether it may use what others leave free; what it borrowed is taken back.
        users: login names that submit for it.
        most_gpus, most_gpus_per_user: most GPUs at once; None for no limit but the cluster.
        longest_job_s: time after which a job of it ends, s; None for no limit.
        weight: weight of its fair share beside the others.
    """

    name: str
    share: float
    borrows: bool
    users: tuple[str, ...]
    most_gpus: int | None
    most_gpus_per_user: int | None
    longest_job_s: float | None
    weight: float


def gpus_of(tenants: Sequence[Tenant], gpus: int) -> dict[str, int]:
    """Return the GPUs of each tenant's share, whole ones, by largest remainder; never more in all than their sum.

    >>> half = dict(borrows=True, users=(), most_gpus=None, most_gpus_per_user=None, longest_job_s=None, weight=1.0)
    >>> gpus_of([Tenant(name=name, share=1 / 3, **half) for name in "abc"], 8)
    {'a': 3, 'b': 3, 'c': 2}

    Args:
        tenants: with their shares.
        gpus: of the cluster.
    """
    exact = {tenant.name: tenant.share * gpus for tenant in tenants}
    whole = {name: int(share + _ROUNDING) for name, share in exact.items()}
    left = int(sum(exact.values()) + _ROUNDING * gpus) - sum(whole.values())
    for name in sorted(exact, key=lambda name: whole[name] - exact[name])[:left]:
        whole[name] += 1
    return whole
