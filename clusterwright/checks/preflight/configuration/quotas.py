"""Which quota a cluster uses up, how much of it, and how to ask for it. Only the provider knows what is left."""

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.catalog.clouds.objects import COUNTED_ELSEWHERE
from clusterwright.checks.preflight.results import Outcome, passed
from clusterwright.checks.preflight.subject import Subject

_UNITS = {"vcpus": "vCPUs", "gpus": "GPUs", "chips": "chips"}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ways:
    """How people see a provider's quotas.

    Attributes:
        show: command that shows one; more: how to ask for more.
        show_family: how to see one of a family, whose code has the family beside the name (`NAME (FAMILY)`), where the
            list of a region's quotas leaves those out; None where it has them.
        show_networks: how to see the quota of networks; None where a project makes one network at most.
    """

    show: str
    more: str
    show_family: str | None = None
    show_networks: str | None = None


_WAYS = {
    "aws": _Ways(
        show="aws service-quotas get-service-quota --service-code ec2 --region {region} --quota-code {code}",
        more="aws service-quotas request-service-quota-increase --service-code ec2 --region {region} "
        "--quota-code {code} --desired-value {amount}",
    ),
    "azure": _Ways(
        show="az vm list-usage --location {region} --query \"[?name.value=='{code}']\"",
        more="the portal's Quotas page, Compute, {code}, {amount}",
    ),
    "gcp": _Ways(
        show="gcloud compute regions describe {region} --flatten=quotas --filter=quotas.metric={code}",
        more="IAM & Admin, Quotas, {code} in {region}, {amount}",
        show_family="the console's page IAM & Admin, Quotas, filtered by {code}",
        show_networks="gcloud compute project-info describe --flatten=quotas --filter=quotas.metric=NETWORKS",
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """A quota and how much of it a cluster uses.

    Attributes:
        name: as people read it; code: as the provider's interface has it; verified: whether both were checked.
        amount: what the cluster uses; unit: `vCPUs`, `GPUs` or `chips`.
        show, more: how to see it, and how to ask for more.
    """

    name: str
    code: str
    verified: bool
    amount: int
    unit: str
    show: str
    more: str


def ask(subject: Subject) -> Ask | None:
    """Return the quota that the nodes use; None where none is known or capacity needs none."""
    instance, nodes = subject.instance, subject.node_count
    if instance is None or nodes is None or instance.quota is None:
        return None
    quota = subject.catalogue.quotas[instance.quota]
    counted = quota.counted(subject.capacity)
    each = instance.vcpus if quota.unit == "vcpus" else instance.gpus
    if each is None or counted is None:
        return None
    (name, code), amount = counted, each * nodes
    ways = _WAYS[subject.cloud]
    show = ways.show_family if ways.show_family is not None and " " in code else ways.show
    show, more = (text.format(region=subject.region, code=code, amount=amount) for text in (show, ways.more))
    return Ask(
        name=name,
        code=code,
        verified=quota.verified,
        amount=amount,
        unit=_UNITS[quota.unit],
        show=show,
        more=more,
    )


def networks_needed(subject: Subject) -> int:
    """Return how many networks of a quota of their own the project makes: one, those of GPUs, and one for RDMA."""
    instance = subject.instance
    if instance is None or subject.existing_network is not None or _WAYS[subject.cloud].show_networks is None:
        return 0
    return 1 + (instance.gpu_networks or 0) + (1 if instance.fabric_kind == "roce" else 0)


def quota(subject: Subject) -> Iterator[Outcome]:
    """Say which quota the nodes use and how much; whether there is so much only the provider knows."""
    setting = subject.project.setting("nodeCount")
    place = setting.place if setting else None
    if subject.capacity in COUNTED_ELSEWHERE:
        yield passed(f"capacity {subject.capacity} uses no quota of instances", place)
        return
    needed = ask(subject)
    if needed is None:
        yield Outcome(status="UNKNOWN", message="no quota is known for this type", place=place)
        return
    doubt = "" if needed.verified else " (its name is not verified)"
    yield Outcome(
        status="UNKNOWN",
        message=f"the nodes use {needed.amount:,} {needed.unit} of “{needed.name}”{doubt} in {subject.region}; "
        "new accounts often have 0",
        fix=f"run with --online, or {needed.show}; ask for more: {needed.more}",
        place=place,
    )


def networks(subject: Subject) -> Iterator[Outcome]:
    """Say how many networks are made where a quota counts them."""
    count = networks_needed(subject)
    if count == 0:
        return
    yield Outcome(
        status="UNKNOWN",
        message=f"the project makes {count} VPC network{'' if count == 1 else 's'}; the quota NETWORKS counts them",
        fix=f"run with --online, or {_WAYS[subject.cloud].show_networks}",
    )
