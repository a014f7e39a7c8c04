"""The section `tenants`: shares of the cluster by tenant, and their precedence."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic.json_schema import WithJsonSchema

from clusterwright import user_list
from clusterwright.blueprint import names
from clusterwright.blueprint.fields import Section
from clusterwright.blueprint.quantities import Duration, Fraction
from clusterwright.blueprint.reading.problems import Problem
from clusterwright.blueprint.sections.users import UserSection
from clusterwright.units import percent

#: Names that files of the schedulers give a meaning of their own.
RESERVED = frozenset({"all", "default", "gpu", "none", "normal", "root", "slices", "spare", "system", "workload"})
MOST_TENANTS = 50
#: Shares are decimal fractions, whose sum may miss 1 by a rounding of the last bit.
_ROUNDING = 1e-9


def _tenant_name(text: str) -> str:
    names.cluster_name(text)
    if text in RESERVED:
        raise ValueError(f"{text!r} cannot be a tenant's name: the scheduler's files give it a meaning of their own")
    return text


class TenantSection(Section):
    """Who shares the cluster, and with how much of it."""

    name: Annotated[
        str,
        AfterValidator(_tenant_name),
        WithJsonSchema({"type": "string", "pattern": f"^{names.NAME}$"}),
    ] = Field(description="account and partition of Slurm, namespace and queue of Kubernetes, for example research")
    share: Fraction = Field(ge=0, le=1, description="of the GPUs, for example 40 %; all shares come to 100 % at most")
    when_free: Literal["borrow", "keep"] = Field(
        "borrow", description="borrow: it may use what others leave free until they need it; keep: its share alone"
    )
    users: Annotated[list[str], Field(max_length=2000)] = Field(
        default_factory=list,
        description="of cluster.users or the directory, who submit for it (Slurm), for example [ada]",
    )
    max_gpus: Annotated[int, Field(ge=1, le=10_000_000)] | None = Field(
        None, description="GPUs at once, with what is borrowed; no limit by default"
    )
    max_gpus_per_user: Annotated[int, Field(ge=1, le=10_000_000)] | None = Field(
        None, description="GPUs that one user has at once (Slurm); no limit by default"
    )
    longest_job: Annotated[Duration, Field(ge=60, le=366 * 86400)] | None = Field(
        None, description="time after which a job of it ends, for example 3 days; no limit by default"
    )
    weight: Annotated[float, Field(gt=0, le=1000)] | None = Field(
        None, description="of its fair share among those that wait; its share by default"
    )


def tenant_problems(
    sections: Sequence[TenantSection], users: Sequence[UserSection], partition: str, *, joined: bool = False
) -> Iterator[Problem]:
    """Yield what tenants say against each other and against the list of users, each at the key to change.

    `TEN001`: shares over 100 %; `TEN002`: a name twice, or that of the partition; `TEN003`: a user who is not listed,
    or twice; `TEN004`: a limit that excludes another one.

    Args:
        sections: of the blueprint.
        users: of the blueprint.
        partition: of all nodes.
        joined: whether a directory is there, whose users are not known here: any name of a user may be one.
    """
    listed, seen, total = {user.name for user in users}, set[str](), 0.0
    for place, tenant in enumerate(sections):
        where = ("tenants", place)
        before, total = total, total + tenant.share
        if total > 1 + _ROUNDING and tenant.share:
            left = max(0.0, 1 - before)
            yield Problem(
                id="TEN001",
                path=(*where, "share"),
                message=f"shares of the tenants come to {percent(total)} with {tenant.name}, and a cluster has 100 %",
                help=f"{percent(left)} is left for it" if left else "lower the shares before it",
            )
        if tenant.name in seen or tenant.name == partition:
            said = "is the partition of all nodes" if tenant.name == partition else "is listed twice"
            yield Problem(
                id="TEN002",
                path=(*where, "name"),
                message=f"{tenant.name!r} {said}",
                help="give each tenant a name of its own",
            )
        seen.add(tenant.name)
        named = set[str]()
        for index, user in enumerate(tenant.users):
            known = user in listed or (joined and _may_be_of_directory(user))
            if not known or user in named:
                yield Problem(
                    id="TEN003",
                    path=(*where, "users", index),
                    message=f"{user!r} is listed twice" if user in named else f"{user!r} is not one of cluster.users",
                    help="remove it" if user in named else "add it to cluster.users, or correct the name",
                )
            named.add(user)
        most, each = tenant.max_gpus, tenant.max_gpus_per_user
        if most is not None and each is not None and each > most:
            yield Problem(
                id="TEN004",
                path=(*where, "max_gpus_per_user"),
                message=f"one user may have {each:,} GPUs, and {tenant.name} {most:,} in all",
                help=f"at most {most:,}, or raise max_gpus",
            )
        if tenant.when_free == "keep" and not tenant.share:
            yield Problem(
                id="TEN004",
                path=(*where, "share"),
                message=f"{tenant.name} has no share and may not borrow, so no job of it starts",
                help="give it a share, or set when_free: borrow",
            )
        # A listed user of two tenants is fine: the first is the account of jobs that name none.


def _may_be_of_directory(user: str) -> bool:
    """Tell whether Slurm takes a name that is no account of the machines themselves."""
    return re.fullmatch(user_list.NAME, user) is not None and user not in user_list.RESERVED
