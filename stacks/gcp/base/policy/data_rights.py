"""Machines do not use the bucket: whoever is root on one, or asks its metadata service, would have all data."""

import re
from collections.abc import Iterator, Sequence

from reading import texts
from rule import Registered, StackRule

ACCOUNT = "gcp:serviceaccount/account:Account"
GRANTS = ("gcp:storage/bucketIAMMember:BucketIAMMember", "gcp:storage/bucketIAMBinding:BucketIAMBinding")
PROJECT_GRANT = "gcp:projects/iAMMember:IAMMember"
# Where a machine names its account.
MACHINES = {
    "gcp:compute/instance:Instance": "serviceAccount",
    "gcp:compute/instanceTemplate:InstanceTemplate": "serviceAccount",
    "gcp:container/nodePool:NodePool": "nodeConfig",
}
# In the URN of what comes from another layer.
LAYER = "::pulumi:pulumi:StackReference::"
# On TPU hosts no script mounts the bucket: their jobs use it as the machine.
TPU = "gcp:tpu/v2Vm:V2Vm"
# An account that somebody made; Google's own agents have `service-NUMBER@` or a domain of Google's.
_MADE = re.compile(r"serviceAccount:(?!service-\d+@)[^@]+@(?!gcp-sa-)[^@]+\.iam\.gserviceaccount\.com")


def no_data_for_machines(resources: Sequence[Registered]) -> Sequence[tuple[str, str]]:
    """No account of machines is granted anything on a bucket; an account of another layer is that of machines."""
    if any(one.type == TPU for one in resources):
        return []
    machines = set(_accounts_of_machines(resources))
    return [
        (one.urn, f"gives {one.inputs.get('role')} to machines: jobs use the folder that the data account mounts")
        for one in resources
        if one.type in GRANTS and _to_machines(one, machines, {one.urn for one in resources if one.type == ACCOUNT})
    ]


def _accounts_of_machines(resources: Sequence[Registered]) -> Iterator[str]:
    """Yield accounts that machines name, or that write logs of the project, which the data account does not."""
    for one in resources:
        yield from one.behind.get(MACHINES.get(one.type, ""), ())
        if one.type == PROJECT_GRANT and str(one.inputs.get("role")).startswith("roles/logging."):
            yield from one.behind.get("member", ())


def _to_machines(grant: Registered, machines: set[str], accounts: set[str]) -> bool:
    behind = {urn for name in ("member", "members") for urn in grant.behind.get(name, ())}
    if behind & accounts:
        return bool(behind & accounts & machines)
    named = [*texts([grant.inputs.get("member")]), *texts(grant.inputs.get("members"))]
    # The accounts that a layer hands on are those of machines.
    handed_on = any(LAYER in urn for urn in behind) and any(one.startswith("serviceAccount:") for one in named)
    return handed_on or any(_MADE.fullmatch(one) for one in named)


STACK_RULES: Sequence[StackRule] = (
    StackRule(name="no-data-for-machines", description="Machines do not use the bucket.", check=no_data_for_machines),
)
