"""Tenants of a cluster with Slurm: partitions and priorities for slurm.conf, accounts and QOS for the accounting."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.outputs.folder import File, text
from clusterwright.outputs.markdown import markdown_table
from clusterwright.outputs.templates import render
from clusterwright.plan.tenants import Tenant, gpus_of
from clusterwright.units import percent

SCRIPT, PAGE = "node/tenants.sh", "tenants.md"
#: Fair shares are whole numbers; of a thousand no two shares that differ by a part in a thousand are alike.
_SHARES = 1000
_DAY_S = 86_400


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """What Slurm's accounting keeps of a tenant.

    Attributes:
        name: of account and partition.
        quota: GPUs of its own QOS, which takes them back from others; None where it has no share.
        spare: name of the QOS of jobs that give way; empty where the tenant keeps to its share.
        fair_share: among all accounts.
        most: GPUs at once, in either QOS; each: of one user; longest: time limit in Slurm's form; empty for none.
    """

    name: str
    quota: int | None
    spare: str
    fair_share: int
    most: int | None
    each: int | None
    longest: str
    users: tuple[str, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        """Its QOS, the default first."""
        return tuple(name for name in (self.name if self.quota is not None else "", self.spare) if name)


def duration(seconds: float) -> str:
    """Return a time limit in Slurm's form.

    >>> duration(3 * 86400), duration(5400)
    ('3-00:00:00', '0-01:30:00')
    """
    days, rest = divmod(int(seconds), _DAY_S)
    return f"{days}-{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"


def accounts_of(tenants: Sequence[Tenant], gpus: int) -> tuple[Account, ...]:
    """Return the accounts of a cluster's tenants.

    Args:
        tenants: of the plan.
        gpus: that Slurm counts: whole ones, and each slice of a divided one.
    """
    own, total = gpus_of(tenants, gpus), sum(tenant.weight for tenant in tenants)
    return tuple(
        Account(
            name=tenant.name,
            quota=own[tenant.name] if tenant.share else None,
            spare=f"{tenant.name}-spare" if tenant.borrows else "",
            fair_share=max(1, round(_SHARES * tenant.weight / total)) if total else 1,
            most=tenant.most_gpus,
            each=tenant.most_gpus_per_user,
            longest="" if tenant.longest_job_s is None else duration(tenant.longest_job_s),
            users=tenant.users,
        )
        for tenant in tenants
    )


def partition_lines(accounts: Sequence[Account], nodes: str, whole_nodes: str = "") -> list[str]:
    """Return a partition for each account over the same nodes: its name says who waits, its limits are the account's.

    Args:
        accounts: of the tenants.
        nodes: with whole GPUs, or all, in Slurm's short form.
        whole_nodes: setting that gives jobs whole nodes, with a blank before it; empty where they share nodes.
    """
    return [
        f"PartitionName={one.name} Nodes={nodes} Default=NO AllowAccounts={one.name} "
        f"MaxTime={one.longest or 'INFINITE'}{whole_nodes} State=UP"
        for one in accounts
    ]


def tenant_documents(
    cluster_name: str, tenants: Sequence[Tenant], *, gpus: int, accounting: str, slices: str, submits: bool
) -> dict[str, File]:
    """Return the page and the script that makes accounts and QOS; nothing where there are no tenants.

    Args:
        cluster_name: of Slurm.
        tenants: of the plan.
        gpus: that Slurm counts.
        accounting: server of slurmdbd.
        slices: partition of parts of GPUs, which all tenants use; empty for none.
        submits: whether the folder has a `launch/submit.sh`.
    """
    if not tenants:
        return {}
    accounts = accounts_of(tenants, gpus)
    spare = ",".join(one.spare for one in accounts if one.spare)
    values = {"cluster": cluster_name, "accounts": accounts, "accounting": accounting, "spare": spare}
    rows = [
        (
            one.name,
            percent(tenant.share),
            str(one.quota or 0),
            "no" if not one.spare else "all that is free" if one.most is None else f"up to {one.most:,} in all",
            "none" if one.each is None else f"{one.each:,}",
            one.longest or "none",
            str(one.fair_share),
            str(len(one.users)),
        )
        for one, tenant in zip(accounts, tenants, strict=True)
    ]
    header = ("tenant", "share", "GPUs", "borrows", "GPUs of a user", "longest job", "fair share", "users")
    page = render(
        "slurm",
        "tenants.md.j2",
        table=markdown_table(header, rows),
        gpus=gpus,
        slices=slices,
        submits=submits,
        **values,
    )
    return {
        PAGE: text(page),
        SCRIPT: File(content=text(render("slurm", "tenants.sh.j2", **values)).content, executable=True),
    }
