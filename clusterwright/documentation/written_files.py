"""The page of written files: what `clusterwright build` writes, for whom, and what it is for."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby

from clusterwright.documentation.markdown import code, page, prose, table

_INTRODUCTION = """
`clusterwright build BLUEPRINT -o out` writes everything; `--only aws,onprem,report` writes a part. `CLOUD` stands for
`aws`, `azure` or `gcp`. What a plan does not need is not there: Kubernetes files only with `scheduler: kubernetes`,
InfiniBand files only with InfiniBand.

Writing is whole or not at all. A file that you changed is never replaced without `--force`, and values that you set in
a project's configuration survive even that.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Files of one folder for one reader.

    Attributes:
        role: who works with them.
        files: patterns of their paths below the output folder, where `CLOUD` is one of the clouds.
        purpose: what they are for.
    """

    role: str
    files: tuple[str, ...]
    purpose: str


_EVERYBODY, _FINANCE, _PLATFORM = "Everybody", "Finance", "Platform engineer"
_DATA_CENTRE, _TRAINING = "Data-centre engineer", "Whoever runs the job"
GROUPS: tuple[Group, ...] = (
    Group(role=_EVERYBODY, files=("README.md",), purpose="the decision, why, what is not counted, what to do next"),
    Group(role=_EVERYBODY, files=("plan.json",), purpose="every number of the plan, for programs and for `diff`"),
    Group(role=_EVERYBODY, files=(".written.json",), purpose="hashes of what was written, to notice your changes"),
    Group(role=_FINANCE, files=("tco/report.html",), purpose="the cost report: one file, no network requests"),
    Group(role=_FINANCE, files=("tco/tco.xlsx",), purpose="the workbook: every view in live formulas"),
    Group(role=_FINANCE, files=("tco/focus.csv",), purpose="the plan as FOCUS billing rows"),
    Group(role=_FINANCE, files=("tco/*.pdf",), purpose="the report on paper, with `--pdf`"),
    Group(role=_PLATFORM, files=("CLOUD/README.md",), purpose="what to set, how to bring the cluster up and down"),
    Group(
        role=_PLATFORM,
        files=("CLOUD/cluster.sh", "CLOUD/cloud.sh", "CLOUD/login.sh", "CLOUD/reimage.sh", "CLOUD/api_tunnel.sh"),
        purpose="`./cluster.sh` is the one command to preview, bring up, resize, stop and destroy; the others serve it",
    ),
    Group(
        role=_PLATFORM,
        files=("CLOUD/foundation/*", "CLOUD/cluster/*", "CLOUD/nodes/*"),
        purpose="the three Pulumi layers with their configuration: network and storage, head machines, GPU nodes",
    ),
    Group(role=_PLATFORM, files=("CLOUD/gpu_cluster/*",), purpose="the program that the layers are composed of"),
    Group(role=_PLATFORM, files=("CLOUD/policy/*",), purpose="the policy pack, which refuses unsafe changes"),
    Group(role=_PLATFORM, files=("CLOUD/tests/*",), purpose="the project's own tests, which need no cloud"),
    Group(
        role=_PLATFORM, files=("CLOUD/node/*",), purpose="scripts that run on the machines: boot, health checks, users"
    ),
    Group(role=_PLATFORM, files=("CLOUD/examples/*",), purpose="example jobs and the queue of a Kubernetes cluster"),
    Group(
        role=_PLATFORM,
        files=("CLOUD/.github/*", "CLOUD/.gitignore", "CLOUD/pyproject.toml", "CLOUD/*.txt"),
        purpose="the CI workflow, and exact versions of what the project needs",
    ),
    Group(
        role=_DATA_CENTRE,
        files=("onprem/README.md",),
        purpose="what was decided, every document of this cluster, what to check",
    ),
    Group(
        role=_DATA_CENTRE,
        files=("onprem/bill_of_materials.*",),
        purpose="every part with its price, and empty columns for a vendor's quote",
    ),
    Group(
        role=_DATA_CENTRE, files=("onprem/checklist.md",), purpose="what the building must have: pass, fail, unknown"
    ),
    Group(
        role=_DATA_CENTRE,
        files=("onprem/power_and_cooling.md",),
        purpose="load per rack, failures of feeds, breakers, UPS, heat, floor",
    ),
    Group(role=_DATA_CENTRE, files=("onprem/procurement.md",), purpose="spares and lead times"),
    Group(
        role=_DATA_CENTRE,
        files=("onprem/racks.csv", "onprem/racks.svg", "onprem/racks/*", "onprem/floor_plan*.svg"),
        purpose="rack elevations, and the rows of the hall",
    ),
    Group(
        role=_DATA_CENTRE,
        files=("onprem/fabric*", "onprem/storage.ibnetdiscover", "onprem/storage.md"),
        purpose="the networks by tier, the fabrics for InfiniBand tools, shared storage by rule",
    ),
    Group(
        role=_DATA_CENTRE,
        files=("onprem/cables.csv", "onprem/cables.xlsx", "onprem/labels.csv", "onprem/uplinks.csv"),
        purpose="every link from port to port with its length, and labels for both ends",
    ),
    Group(
        role=_DATA_CENTRE,
        files=("onprem/ip-*.csv", "onprem/dhcp-hosts.csv"),
        purpose="networks, VLANs and the address of every interface",
    ),
    Group(role=_DATA_CENTRE, files=("onprem/netbox/*",), purpose="import files for NetBox, numbered in order"),
    Group(
        role=_DATA_CENTRE,
        files=("onprem/provisioning/*", "onprem/runbook.md"),
        purpose="machines, images, firmware, switches, time and alerts from bare metal on, and in which order",
    ),
    Group(role=_DATA_CENTRE, files=("onprem/acceptance.md",), purpose="what to test before you pay, with the numbers"),
    Group(role=_DATA_CENTRE, files=("onprem/drawings.pdf",), purpose="the drawings on A3, with `--pdf`"),
    Group(role=_DATA_CENTRE, files=("onprem/own_parts.md",), purpose="facts of your own that replaced the catalogue's"),
    Group(
        role=_DATA_CENTRE, files=("onprem/software.md",), purpose="driver, CUDA, fabric software: one set of versions"
    ),
    Group(
        role=_DATA_CENTRE,
        files=("onprem/*.conf", "onprem/users.md", "onprem/tenants.md", "onprem/jobs.md", "onprem/node/*"),
        purpose="Slurm's configuration, and what machines and users need",
    ),
    Group(
        role=_DATA_CENTRE,
        files=("onprem/kubernetes/*",),
        purpose="a control plane by kubeadm; operators' values, node labels, queues and jobs",
    ),
    Group(
        role=_TRAINING,
        files=("CLOUD/launch/*", "onprem/launch/*"),
        purpose="the job itself: Slurm script or manifests with the plan's layout, and what submits it",
    ),
    Group(
        role=_TRAINING,
        files=("CLOUD/serving/*", "onprem/serving/*"),
        purpose="a service's replicas, scaling, monitoring and load test",
    ),
)
_CLOUDS = ("aws", "azure", "gcp")


def files_page() -> str:
    """Return the page."""
    parts = [part for role, groups in groupby(GROUPS, key=lambda group: group.role) for part in _part(role, [*groups])]
    return page("Written files", _INTRODUCTION, *parts)


def _part(role: str, groups: list[Group]) -> Iterator[str]:
    yield f"## {role}"
    yield table(
        ("Files", "What they are for"),
        ((", ".join(code(_shown(name)) for name in group.files), prose(group.purpose)) for group in groups),
    )


def _shown(pattern: str) -> str:
    """Return a pattern as people read it: a whole folder by its name."""
    return pattern.removesuffix("*") if pattern.endswith("/*") else pattern


def group_of(path: str) -> Group | None:
    """Return the group of a written file, the first that matches; None where none does."""
    for group in GROUPS:
        for pattern in group.files:
            places = [pattern.replace("CLOUD", cloud) for cloud in _CLOUDS] if "CLOUD" in pattern else [pattern]
            if any(fnmatchcase(path, place) for place in places):
                return group
    return None
