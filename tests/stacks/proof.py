"""Every check of a case in one place: inputs against the SDK, then the rules of all clouds and of its own."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from clusterwright.catalog.load import load

from . import rules_aws, rules_azure, rules_gcp

try:
    from . import rules_kubernetes
except ImportError:
    rules_kubernetes = None  # type: ignore[assignment]
from clusterwright.checks.preflight.recorder.shapes import Sdk
from clusterwright.checks.preflight.records import Run

from .exposure import exposure_problems, value_problems
from .inputs import input_findings
from .projects import STACK, Case, plan_for, site_packages
from .references import reference_kind_problems
from .rules import Problem, Wanted, common_problems, reference_problems
from .rules_machines import machine_problems
from .rules_places import place_problems

_KEPT: Mapping[str, Mapping[str, int]] = {"aws": rules_aws.KEPT, "azure": rules_azure.KEPT, "gcp": rules_gcp.KEPT}
#: What is not made, and so not kept, where an account has it already.
_NOT_MADE: Mapping[str, Mapping[str, int]] = {
    "existingNetwork.keyArn": {rules_aws.KEY: 1},
    "existingNetwork.bucketName": {rules_aws.BUCKET: 1, rules_gcp.BUCKET: 1},
    "existingNetwork.keyId": {"gcp:kms/keyRing:KeyRing": 1, "gcp:kms/cryptoKey:CryptoKey": 1},
}
#: What is the account's own business where its network is used.
_OF_OWN_NETWORK = ("AWS063", "AWS064")
#: Rules that count nodes in groups of the cloud itself.
_OF_SLURM_NODES = ("AWS040", "AZ012", "GCP029", "GCP030", "GCP090")
#: What a program may warn of: the facts that its configuration cannot settle.
WARNINGS = (
    "not on-demand; Google may refuse the nodes",
    "no budget is made: it needs both billingAccount and budgetUsdPerMonth",
    "a TPU slice takes whichever reservation the project has in the zone",
)


@cache
def sdk() -> Sdk:
    """Return the shapes of the SDKs in the stacks' environment."""
    return Sdk(site_packages=site_packages())


def wanted_of(case: Case, *, layered: bool = True) -> Wanted:
    """Return what a case's run is held against."""
    changes = dict(case.changes)
    tags: dict[str, Any] = dict(plan_for(case.cloud, case.instance).cluster.tags)
    kept = dict(_KEPT[case.cloud])
    if changes.get("sharedStorage.hydrateFromBucket"):
        kept["azure-native:storage:BlobContainer"] = 2
    cluster_tag = "gpu-cluster" if layered else "cluster" if case.cloud == "gcp" else "clusterwright-cluster"
    for key in changes:
        for type_, count in _NOT_MADE.get(key, {}).items():
            kept[type_] = kept.get(type_, count) - count
    return Wanted(
        cloud=case.cloud,
        scheduler=case.scheduler,
        instance=load().instances[case.instance],
        nodes=case.nodes,
        capacity=str(changes.get("capacity", "on-demand")),
        tags={**tags, cluster_tag: "small"},
        kept={type_: count for type_, count in kept.items() if count},
        existing_network=any(key.startswith(("existingNetwork.vpc", "existingNetwork.virtual")) for key in changes),
        own_tags_reach_by_provider=case.cloud != "azure",
    )


def problems(run: Run, case: Case, warnings: Sequence[str] = WARNINGS) -> list[Problem]:
    """Return everything that is wrong in a case's run; schema findings have the id SDK001."""
    layered = "" not in run.layers
    shapes, wanted = sdk(), wanted_of(case, layered=layered)
    found = [
        Problem(id="SDK001", resource=one.urn.rpartition("::")[2], message=f"{one.path}: {one.message}")
        for record in run.layers.values()
        for one in input_findings(record, shapes)
    ]
    for layer, record in run.layers.items():
        found += common_problems(record, shapes, wanted, layer, warnings)
    found += reference_problems(run, STACK)
    found += reference_kind_problems(run.whole)
    found += exposure_problems(run.whole, shapes)
    found += value_problems(run.whole)
    found += machine_problems(run.whole, wanted)
    found += place_problems(run.whole)
    if run.error is None:
        found += _cloud_problems(run, shapes, wanted)
    return found


def _cloud_problems(run: Run, shapes: Sdk, wanted: Wanted) -> list[Problem]:
    """Return what the rules of the cloud say, of its foundation only where Kubernetes brings up the nodes."""
    kubernetes = wanted.scheduler == "kubernetes"
    record = Run(layers={"foundation": run.layers["foundation"]}).whole if kubernetes else run.whole
    match wanted.cloud:
        case "aws":
            found = rules_aws.aws_problems(record, shapes, wanted)
        case "azure":
            found = rules_azure.azure_problems(record, wanted)
        case _:
            found = rules_gcp.gcp_problems(record, wanted)
    if wanted.existing_network:
        found = [one for one in found if one.id not in _OF_OWN_NETWORK]
    if not kubernetes:
        return found
    own = rules_kubernetes.kubernetes_problems(run.whole, shapes, wanted) if rules_kubernetes else []
    return [one for one in found if one.id not in _OF_SLURM_NODES] + own
