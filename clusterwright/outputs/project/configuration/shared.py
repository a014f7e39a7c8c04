"""What the layers of every cloud are configured with in the same way."""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from clusterwright.clouds import CLOUDS
from clusterwright.plan.record import Option, Plan
from clusterwright.units import HOURS_PER_MONTH

#: Budgets are set this far above the plan, so that an alert means something unplanned.
_BUDGET_MARGIN = 1.1

#: Characters that Google takes in a label's key or value.
_NOT_IN_LABEL = re.compile(r"[^a-z0-9_-]")

#: The first part of a stack's full name where the state is not in Pulumi Cloud.
_NO_ORGANIZATION = "organization"

#: Where state is kept unless the blueprint says otherwise: `~/.pulumi`, which needs no account.
_LOCAL_STATE = "file://~"

#: Key of the layers whose machines prepare for a kind of job.
JOB_ENVIRONMENT = "jobEnvironment"

_BEFORE: Mapping[str, tuple[str, ...]] = {
    "foundation": (),
    "cluster": ("foundation",),
    "nodes": ("foundation", "cluster"),
}


def project_name(option: Option, layer: str) -> str:
    """Return the name of a layer's Pulumi project, which is also the prefix of its keys."""
    return f"{option.target}-gpu-{layer}"


def stack_name(plan: Plan, option: Option) -> str:
    """Return the name of every layer's stack: clusters of one account differ in it by name or by place."""
    return f"{plan.cluster.name}-{option.deployment.region}"


def stack_of(plan: Plan, option: Option, layer: str) -> str:
    """Return the full name of a layer's stack, as references to it need it."""
    organization = (option.deployment.state.organization if option.deployment.state else "") or _NO_ORGANIZATION
    return f"{organization}/{project_name(option, layer)}/{stack_name(plan, option)}"


def state_url(option: Option) -> str:
    """Return where the layers' state is kept; all layers name it, since they read each other's outputs."""
    return option.deployment.state.url if option.deployment.state else _LOCAL_STATE


def secrets_provider(option: Option) -> str:
    """Return what encrypts the stacks' secrets; empty for the backend's own."""
    return option.deployment.state.secrets_provider if option.deployment.state else ""


def prefixed(option: Option, layer: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a layer's values by full key."""
    return {f"{project_name(option, layer)}:{key}": value for key, value in values.items()}


def shared_values(plan: Plan, option: Option, layer: str) -> dict[str, Any]:
    """Return what every layer has, without prefix: the cluster's name, the stacks of the layers before, the tags."""
    references = {f"{before}Stack": stack_of(plan, option, before) for before in _BEFORE[layer]}
    return {"clusterName": plan.cluster.name, **references, "tags": tags(plan, option.target)}


def job_environment(plan: Plan) -> dict[str, Any]:
    """Return what machines prepare for jobs: the kind of environment, and what was named of it."""
    jobs = plan.cluster.jobs
    named = {"image": jobs.image, "venv": jobs.venv, "modules": list(jobs.modules)}
    return {"kind": jobs.environment} | {key: value for key, value in named.items() if value}


def users(plan: Plan, account: str | None = None) -> dict[str, Any]:
    """Return users and groups of the cluster layer with Slurm, as `gpu_cluster/users.py` of a project reads them.

    Args:
        plan: with the users.
        account: the field of a user that names the account in this cloud's directory.
    """
    return {
        "users": [
            {
                "name": user.name,
                "uid": user.uid,
                "groups": list(user.groups),
                "ssh_keys": [key.strip() for key in user.ssh_keys],
                "administrator": user.administrator,
                **({account: getattr(user, account)} if account and getattr(user, account) else {}),
            }
            for user in plan.cluster.users
        ],
        "groups": [{"name": group.name, "gid": group.gid} for group in plan.cluster.groups],
    }


def directory(plan: Plan) -> dict[str, Any]:
    """Return the directory of the cluster layer, as `gpu_cluster/directory.py` of a project reads it; {} for none."""
    named = plan.cluster.directory
    if named is None:
        return {}
    fields = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(named).items()}
    return {"directory": {key: value for key, value in fields.items() if value not in ("", [])}}


def tags(plan: Plan, cloud: str) -> dict[str, str]:
    """Return the tags; Google's labels are lower-case, with hyphens for what they cannot hold."""
    found = {"workload": plan.name, **dict(plan.cluster.tags)}
    if not CLOUDS[cloud].labels_in_lower_case:
        return found
    return {_NOT_IN_LABEL.sub("-", key.lower()): _NOT_IN_LABEL.sub("-", value.lower()) for key, value in found.items()}


def monthly_budget_usd(option: Option) -> int | None:
    """Return USD for a month of the whole cluster, a tenth above the plan; None if a price is unknown."""
    per_month = {"hourly": HOURS_PER_MONTH, "monthly": 1.0}
    amounts = [
        None if line.usd_per_period is None else line.usd_per_period * per_month[line.line.charge]
        for line in option.money.lines
        if line.line.charge in per_month
    ]
    known = [amount for amount in amounts if amount is not None]
    return math.ceil(sum(known) * _BUDGET_MARGIN) if len(known) == len(amounts) and known else None
