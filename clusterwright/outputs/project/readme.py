"""README of a cloud's project in layers: what `templates/project/README.md.j2` prints.

The commands are those of the project's own `cluster.sh`. What holds for a cloud and its scheduler alone is on the
stacks' own pages, which follow after this one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusterwright.outputs.kind import Start
from clusterwright.outputs.kinds import outputs_of
from clusterwright.outputs.project.configuration.shared import secrets_provider, stack_name, state_url
from clusterwright.outputs.project.files import log_in
from clusterwright.outputs.project.fill_ins import FillIn
from clusterwright.outputs.templates import render
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.text.money import MoneyFormat
from clusterwright.plan.text.ranking import days_shown
from clusterwright.plan.text.words import NAME_OF_TARGET, capital, cluster_text, days_band_text
from clusterwright.tco.terms.records import PricedLine
from clusterwright.units import percent

_FOUNDATION = "network, keys, roles, bucket, parallel file system, budget, alerts, logs"
#: What each layer holds, by scheduler.
HOLDS = {
    "slurm": {
        "foundation": _FOUNDATION,
        "cluster": "Slurm controller, login machine, accounting database",
        "nodes": "GPU nodes with their groups, image and capacity",
    },
    "kubernetes": {
        "foundation": _FOUNDATION,
        "cluster": "managed Kubernetes and its add-ons",
        "nodes": "pools of GPU nodes with their image and capacity",
    },
}
#: Once connected, what shows that the nodes are there.
_LOOK = {
    "slurm": "sinfo   # on the machine that you reached: nodes appear as they boot",
    "kubernetes": "./cluster.sh kubectl get nodes   # GPU nodes appear as they boot",
}
#: Programs by which the scripts and whoever operates the cluster reach it, by cloud, and with Kubernetes.
_PROGRAMS = {"aws": "`aws` with `session-manager-plugin`", "azure": "`az`", "gcp": "`gcloud`"}
_KUBERNETES_PROGRAMS = {
    "aws": "`kubectl`",
    "azure": "`kubectl`, `kubelogin`",
    "gcp": "`kubectl`, `gke-gcloud-auth-plugin`",
}
#: How whoever operates the cluster logs in; Pulumi's provider of Google Cloud does not use gcloud's own login.
_LOG_IN = {
    "aws": "`aws sso login` or `aws configure`",
    "azure": "`az login`",
    "gcp": "`gcloud auth login` and, for Pulumi, `gcloud auth application-default login`",
}
#: The configuration's key of the zone, by cloud.
_ZONE_KEYS = {"aws": "availabilityZone", "azure": "zone", "gcp": "zone"}
_SET_IMAGE = "./cluster.sh set nodeType.image IMAGE"
_REIMAGE = "./cluster.sh reimage"
#: Replacing the nodes' system, by scheduler and cloud; AKS and GKE choose the image themselves.
_REPLACE: dict[str, dict[str, tuple[str, ...]]] = {
    "slurm": dict.fromkeys(("aws", "azure", "gcp"), (_SET_IMAGE, "pulumi -C nodes up", _REIMAGE)),
    "kubernetes": {"aws": (_SET_IMAGE, _REIMAGE), "azure": (_REIMAGE,), "gcp": (_REIMAGE,)},
}
#: Emptying the nodes before their system is replaced.
_DRAIN = {
    "slurm": "Running jobs end first: nodes are drained, and come back to Slurm after their health check.",
    "kubernetes": "Pods are evicted from a node before it goes: let long jobs write a checkpoint first.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """A quota of the account that counts the nodes: how much of it each takes, in which unit."""

    name: str
    code: str
    each: int
    unit: str

    def text(self, nodes: int) -> str:
        """Return what to ask for."""
        named = f"`{self.code}`" if self.name == self.code else f"{self.name} (`{self.code}`)"
        return f"{nodes * self.each:,} {self.unit} of {named}"


_EXISTING_TAKEN = "The blueprint names what exists already: it is used by its id, and neither changed nor removed."
_EXISTING_OFFERED = (
    "Where others make networks and keys, give their ids in the section `existingNetwork` of the foundation's\n"
    "configuration before the first `up`: what is given is used, and not created."
)


def project_readme(
    plan: Plan,
    option: Option,
    missing: Sequence[FillIn],
    *,
    money: MoneyFormat,
    zone: str,
    pages: str,
    start: Start | None,
    quota: Quota | None,
) -> str:
    """Return the README's text.

    Args:
        plan: the plan.
        option: its option for a cloud.
        missing: what only the user knows.
        zone: as written in the configuration.
        pages: the stacks' own pages, which are appended one level down.
        start: how the work is started, None where nothing is written for that.
        money: how amounts are written.
        quota: that counts the nodes, None where none does.
    """
    deployment = option.deployment
    directory = plan.cluster.directory if deployment.scheduler == "slurm" else None
    return render(
        "project",
        "README.md.j2",
        title=plan.name,
        start=start,
        cloud=NAME_OF_TARGET[option.target],
        cluster=cluster_text(option),
        region=deployment.region,
        arrangement=capital(outputs_of(plan).arrangement(option)),
        unit=plan.workload.unit.name,
        days="".join(days_shown(plan, days_band_text(option))),
        run_cost=money.text(option.money.run_cost_usd),
        priced=percent(option.money.priced_share),
        as_of=plan.as_of,
        bill=[_bill_row(line, money) for line in option.money.lines],
        nodes=f"{option.cluster.nodes:,} × {option.cluster.instance}",
        programs=_programs(option),
        log_in=_LOG_IN[option.target],
        quota=None if quota is None else quota.text(option.cluster.nodes),
        missing=missing,
        state=_state(option),
        zone=_zone(option, zone),
        layers=[
            {"name": layer, "holds": holds, "configuration": f"{layer}/Pulumi.{stack_name(plan, option)}.yaml"}
            for layer, holds in HOLDS[deployment.scheduler].items()
        ],
        look=_LOOK[deployment.scheduler],
        replace=_REPLACE[deployment.scheduler][option.target],
        drain=_DRAIN[deployment.scheduler],
        slurm=deployment.scheduler == "slurm",
        stack=stack_name(plan, option),
        directory=directory is not None,
        directory_password="" if directory is None else directory.bind_dn,
        existing_network=_EXISTING_TAKEN if deployment.existing_network is not None else _EXISTING_OFFERED,
        variables=log_in(option.target).variables,
        pages=list(_demoted(pages)),
    )


def _programs(option: Option) -> str:
    own = _PROGRAMS[option.target]
    return own if option.deployment.scheduler == "slurm" else f"{own}, {_KUBERNETES_PROGRAMS[option.target]}"


def _bill_row(line: PricedLine, money: MoneyFormat) -> dict[str, str]:
    per = "each" if line.line.unit == "each" else f"per {line.line.unit}"
    price = (
        "unknown"
        if line.unit_usd is None
        else f"{money.amount(line.unit_usd):,.4g} {money.code} {per}, {line.line.charge}"
    )
    return {
        "item": line.line.item,
        "quantity": f"{line.line.quantity:,.0f} {line.line.unit}",
        "price": price,
        "basis": f"{line.basis}, {line.price_date}" if line.price_date else line.basis,
    }


def _state(option: Option) -> str:
    url, provider = state_url(option), secrets_provider(option)
    sentences = [f"Pulumi's state is kept at `{url}` (`backend` in every `Pulumi.yaml`)."]
    if url.startswith("file:"):
        sentences.append("That is a folder of one machine: choose a bucket before a second person works on it.")
    if "://" in provider:
        sentences.append(f"Secrets in it are encrypted by `{provider}`.")
    elif provider == "passphrase" or not url.startswith("https:"):
        sentences.append(
            "Choose a passphrase for its secrets and keep it where it is not lost: `cluster.sh` wants it in\n"
            "`PULUMI_CONFIG_PASSPHRASE`, or the name of its file in `PULUMI_CONFIG_PASSPHRASE_FILE`."
        )
    return "\n".join(sentences)


def _zone(option: Option, zone: str) -> str:
    if option.deployment.zone:
        return f"The zone is {zone}, as the blueprint says."
    key = _ZONE_KEYS[option.target]
    return (
        f"Zone {zone} is a first guess. Before the first `up`, set the one where your capacity is, in every layer that "
        f"names it:\n`./cluster.sh set {key} ZONE`."
    )


def _demoted(pages: str) -> Iterator[str]:
    """Yield the lines of pages one heading deeper; lines of code that start with # stay."""
    code = False
    for line in pages.splitlines():
        code ^= line.startswith("```")
        yield f"#{line}" if line.startswith("#") and not code else line
