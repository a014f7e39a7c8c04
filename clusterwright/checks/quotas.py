"""Which quota a cluster uses up, how much of it, and how to ask for it. Only the provider knows what is left."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.catalog.records import Instance
from clusterwright.checks.results import Outcome, passed
from clusterwright.checks.subject import Subject

#: Amazon EC2's quotas count vCPUs per group of families: (family, on demand, spot). Amazon EC2 User Guide, "Amazon EC2
#: instance type quotas"; names as Service Quotas lists them.
_AWS = (
    (r"p[2-4]", "Running On-Demand P instances", "All P4, P3, P2 Spot Instance Requests"),
    (r"p5", "Running On-Demand P instances", "All P5 Spot Instance Requests"),
    (r"p\d", "Running On-Demand P instances", "All P Spot Instance Requests"),
    (r"g|vt", "Running On-Demand G and VT instances", "All G and VT Spot Instance Requests"),
    (r"trn", "Running On-Demand Trn instances", "All Trn Spot Instance Requests"),
    (r"inf", "Running On-Demand Inf instances", "All Inf Spot Instance Requests"),
)
#: Google counts GPUs by model and region; models after the H100 only in Cloud Quotas, by family. Google, "GPU quota".
_GCP = {
    "a100-sxm-40gb": ("NVIDIA_A100_GPUS", ""),
    "a100-sxm-80gb": ("NVIDIA_A100_80GB_GPUS", ""),
    "h100-sxm-80gb": ("NVIDIA_H100_GPUS", "NVIDIA_H100"),
    "h200-sxm-141gb": ("", "NVIDIA_H200"),
    "b200-sxm-180gb": ("", "NVIDIA_B200"),
    "gb200-186gb": ("", "NVIDIA_GB200"),
    "gb300-279gb": ("", "NVIDIA_GB300"),
    "l4-24gb": ("NVIDIA_L4_GPUS", ""),
}
_H100_MEGA = ("a3-megagpu-", "NVIDIA_H100_MEGA")
#: Kinds of capacity that use no quota of instances: the reservation was counted when it was made. Flex-start counts as
#: preemptible (Google, release note of 2026-06-03).
_COUNTED_ELSEWHERE = ("capacity-block", "block-reservation")
_PREEMPTIBLE = ("spot", "flex-start")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """A quota and how much of it a cluster uses.

    Attributes:
        name: as the provider lists it; family: Google's GPU family in Cloud Quotas, empty for the older quotas.
        amount: what the cluster uses; unit: vCPUs, GPUs or chips.
        command: shows or raises it.
    """

    name: str
    amount: int
    unit: str
    command: str
    family: str = ""


def ask(subject: Subject) -> Ask | None:
    """Return the quota that the nodes use, None where it cannot be told or capacity needs none."""
    instance, nodes = subject.instance, subject.node_count
    if instance is None or nodes is None or subject.capacity in _COUNTED_ELSEWHERE:
        return None
    return {"aws": _aws, "azure": _azure, "gcp": _gcp}[subject.cloud](subject, instance, nodes)


def _aws(subject: Subject, instance: Instance, nodes: int) -> Ask | None:
    if instance.vcpus is None:
        return None
    family = instance.id.partition(".")[0]
    found = next((entry for entry in _AWS if re.match(entry[0], family)), None)
    if found is None:
        return None
    name = found[2] if subject.capacity == "spot" else found[1]
    amount = instance.vcpus * nodes
    return Ask(
        name=name,
        amount=amount,
        unit="vCPUs",
        command=f"aws service-quotas list-service-quotas --service-code ec2 --region {subject.region} "
        f"--query \"Quotas[?QuotaName=='{name}'].[QuotaCode,Value]\" --output text; "
        f"aws service-quotas request-service-quota-increase --service-code ec2 --region {subject.region} "
        f"--quota-code CODE --desired-value {amount}",
    )


def _azure(subject: Subject, instance: Instance, nodes: int) -> Ask | None:
    if instance.vcpus is None:
        return None
    return Ask(
        name="lowPriorityCores" if subject.capacity == "spot" else f"vCPU family of {instance.id}",
        amount=instance.vcpus * nodes,
        unit="vCPUs",
        command=f"az vm list-usage --location {subject.region} --output table",
    )


def _gcp(subject: Subject, instance: Instance, nodes: int) -> Ask | None:
    metric, family = _GCP.get(instance.accelerator, ("", ""))
    if instance.id.startswith(_H100_MEGA[0]):
        metric, family = "", _H100_MEGA[1]
    if not metric and not family:
        return None
    preemptible = "PREEMPTIBLE_" if subject.capacity in _PREEMPTIBLE else ""
    amount = instance.gpus * nodes
    if family:
        name = f"{'preemptible ' if preemptible else ''}GPUs per GPU family: {family}"
        command = (
            f"gcloud beta quotas info describe {'PREEMPTIBLE-' if preemptible else ''}GPUS-PER-GPU-FAMILY-per-project-"
            "region --service=compute.googleapis.com --project=PROJECT"
        )
        return Ask(name=name, amount=amount, unit="GPUs", command=command, family=family)
    name = f"{preemptible}{metric}"
    command = f"gcloud compute regions describe {subject.region} --flatten=quotas --filter=quotas.metric={name}"
    return Ask(name=name, amount=amount, unit="GPUs", command=command)


def networks_needed(subject: Subject) -> int:
    """Return how many VPC networks the project makes on Google Cloud: one, those of GPUs, and one for RDMA."""
    instance = subject.instance
    existing = subject.project.setting("existingNetwork")
    if instance is None or (existing is not None and existing.value):
        return 0
    return 1 + (instance.gpu_networks or 0) + (1 if instance.fabric_kind == "roce" else 0)


def quota(subject: Subject) -> Iterator[Outcome]:
    """Say which quota the nodes use and how much; whether there is so much only the provider knows."""
    needed = ask(subject)
    setting = subject.project.setting("nodeCount")
    place = setting.place if setting else None
    if needed is None:
        if subject.capacity in _COUNTED_ELSEWHERE:
            yield passed(f"capacity {subject.capacity} uses no quota of instances", place)
        else:
            yield Outcome(status="UNKNOWN", message="no quota is known for this type", place=place)
        return
    yield Outcome(
        status="UNKNOWN",
        message=f"the nodes use {needed.amount:,} {needed.unit} of “{needed.name}” in {subject.region}; 0 is usual in "
        "new accounts",
        fix=f"run with --online, or {needed.command}",
        place=place,
    )


def networks(subject: Subject) -> Iterator[Outcome]:
    """Say how many VPC networks are made on Google Cloud."""
    count = networks_needed(subject)
    if subject.cloud != "gcp" or count == 0:
        return
    yield Outcome(
        status="UNKNOWN",
        message=f"the project makes {count} VPC networks, which count against the quota NETWORKS",
        fix="run with --online, or gcloud compute project-info describe --flatten=quotas "
        "--filter=quotas.metric=NETWORKS",
    )
