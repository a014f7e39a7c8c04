"""The page of tenants: shares, GPUs, limits and members of the plan, and options by which jobs name their tenant."""

from collections.abc import Iterable, Sequence

from clusterwright.checks.prove.jobs.blocks import counted_gpus
from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.pages.said import Sentence, Table
from clusterwright.plan.tenants import Tenant, gpus_of
from clusterwright.units import percent

FILE = "tenants.md"
_PLAN = "the plan's tenants"
_DAY_S = 86_400


def _tenants(hall: Hall) -> Sequence[Tenant]:
    slurm = hall.papers.documents.option.deployment.scheduler == "slurm"
    return hall.papers.documents.plan.cluster.tenants if slurm else ()


def _limit(seconds: float | None) -> str:
    if seconds is None:
        return "none"
    days, rest = divmod(int(seconds), _DAY_S)
    return f"{days}-{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"


def _rows(hall: Hall) -> Iterable[Sequence[str | None]] | None:
    tenants = _tenants(hall)
    if not tenants:
        return None
    own = gpus_of(tenants, counted_gpus(hall.papers))
    return [
        (
            tenant.name,
            percent(tenant.share),
            str(own[tenant.name] if tenant.share else 0),
            _borrows(tenant),
            "none" if tenant.most_gpus_per_user is None else f"{tenant.most_gpus_per_user:,}",
            _limit(tenant.longest_job_s),
            # Fair shares are compared in the script, where a rounding is allowed.
            None,
            str(len(tenant.users)),
        )
        for tenant in tenants
    ]


def _borrows(tenant: Tenant) -> str:
    if not tenant.borrows:
        return "no"
    return "all that is free" if tenant.most_gpus is None else f"up to {tenant.most_gpus:,} in all"


def _counted(hall: Hall) -> Sequence[str] | None:
    return (f"{counted_gpus(hall.papers):,}",) if _tenants(hall) else None


def _own(hall: Hall) -> Sequence[str] | None:
    """Return partition, account and QOS of the page's example, which is a job of the first tenant."""
    first = next(iter(_tenants(hall)), None)
    if first is None:
        return None
    return (first.name, first.name, first.name if first.share else f"{first.name}-spare")


def _spare(hall: Hall) -> Sequence[str] | None:
    """Return the same of a job that borrows."""
    first = next(iter(_tenants(hall)), None)
    if first is None or not first.borrows or not first.share:
        return None
    return (first.name, first.name, f"{first.name}-spare")


SAID: tuple[Sentence | Table, ...] = (
    Sentence(file=FILE, text="Who shares the {} GPUs that Slurm counts", values=_counted, rule="slurm.conf has them"),
    Table(
        file=FILE,
        head=("tenant", "share", "GPUs", "borrows", "GPUs of a user", "longest job", "fair share", "users"),
        rows=_rows,
        rule=_PLAN,
    ),
    Sentence(
        file=FILE,
        text="sbatch --partition={} --account={} --qos={} job.sh",
        values=_own,
        rule="a level for jobs of the share has this name in node/tenants.sh",
    ),
    Sentence(
        file=FILE,
        text="sbatch --partition={} --account={} --qos={} --requeue",
        values=_spare,
        rule="a level for jobs that give way has this name in node/tenants.sh",
    ),
)
