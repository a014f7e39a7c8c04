"""Software of machines on premises: a page, the versions as a table, and the script that compares a machine."""

import csv
import io

from clusterwright import assets
from clusterwright.catalog.software import mig
from clusterwright.catalog.software.node import Software, slice_partition
from clusterwright.catalog.software.solver import Chosen
from clusterwright.catalog.software.table import GIVEN
from clusterwright.catalog.software.table import software as tables
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.kubernetes.cluster import slice_resource
from clusterwright.outputs.markdown import markdown_table
from clusterwright.plan.record import Option, Plan

#: Components without which a node takes no job; others are compared where they are installed.
_NEEDED = frozenset({"driver", "kernel_modules", "fabricmanager", "imex"})
_COLUMNS = ("component", "version", "from", "least", "needed")
_ORIGINS = {"given": "the system", "pinned": "pinned", "image": "the image", "newest": "newest that fits"}


def releases(software: Software) -> tuple[Chosen, ...]:
    """Return what is installed or set on a node, without the facts of the hardware that decided it."""
    known = tables().components
    return tuple(
        part
        for part in software.parts
        if part.version is not None and (known[part.component].needed_when != GIVEN or part.component == "os")
    )


def versions_csv(software: Software) -> str:
    """Return the table that `software_check.sh` reads: the versions, and the least that the rest of the set takes."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for part in releases(software):
        needed = "yes" if part.component in _NEEDED else "no"
        writer.writerow((part.component, part.version, part.origin, part.least or "", needed))
    return lines.getvalue()


def software_page(plan: Plan, option: Option, software: Software, *, nodes: int, checked: bool) -> str:
    """Return `software.md`: what belongs on every node, since when it is decided and until when it is supported.

    Args:
        plan: for its name.
        option: for the price of a GPU's hour, and the scheduler.
        software: of the nodes.
        nodes: hosts that there are.
        checked: `node/software_check.sh` is beside it.
    """
    rows = [
        (part.name, part.version or "", _ORIGINS[part.origin], part.least or "", part.ended or "")
        for part in releases(software)
    ]
    lines = [
        f"# Software of {plan.name}",
        "",
        "One set that fits together, of releases with a source each: `clusterwright software BLUEPRINT` shows the",
        "sources, and `software.pin` and `software.forbid` of the blueprint change it. The least version is what the",
        "rest of the set requires; support ends as the maker says, where that is known.",
        "",
        *markdown_table(("software", "version", "from", "at least", "support ends"), rows, words=5),
        "",
    ]
    if checked:
        lines += [
            "`node/software_check.sh` compares a machine with `node/versions.csv` and says what differs: status 3",
            "where a pinned version is another one, where a version is below the least, or where Fabric Manager or",
            "IMEX is not that of the driver; `--drain` also drains the node with the reason. Run it on every node",
            "before the acceptance test, after every update, and between jobs. With both files in `/opt/gpu-cluster`:",
            "",
            "```sh",
            f"srun --nodes={nodes} --ntasks-per-node=1 bash /opt/gpu-cluster/software_check.sh",
            "```",
        ]
    else:
        lines += [
            "The operators bring what runs in the cluster, in the versions of `kubernetes/README.md` and",
            "`kubernetes/values/`; the operating system of the nodes brings the rest.",
        ]
    lines += _remarks(software, day=plan.as_of)
    partition = plan.cluster.partition
    if software.divided_of(nodes) < nodes:
        partition = slice_partition(partition)
    lines += slice_lines(software, option, nodes=nodes, partition=partition)
    return "\n".join([*lines, *shared_lines(software, option, nodes=nodes, partition=plan.cluster.partition)]) + "\n"


def _remarks(software: Software, *, day: str) -> list[str]:
    """Return what is to be known of single releases: where they come from, and whose support has ended.

    Args:
        software: of the nodes.
        day: of the plan.
    """
    lines = []
    if software.version("nvlink_hosts") == "several":
        lines += [
            "",
            "Nodes are compute trays: IMEX runs on them, and Fabric Manager on an NVLink switch tray of each rack, as",
            "the NMX-Controller of its NVOS.",
        ]
    if software.version("slurm_from") == "source":
        lines += [
            "",
            f"No package of the system has Slurm {software.version('slurm')}: build SchedMD's own packages from its",
            "source (`slurm.schedmd.com/quickstart_admin.html`) and give every machine the same, before Pyxis.",
        ]
    for part in releases(software):
        if part.ended and part.ended < day[: len(part.ended)]:
            lines += ["", f"{part.name} {part.version}: support ended {part.ended}.", *_newer(part)]
    return lines


def _newer(part: Chosen) -> list[str]:
    """Return what is known beyond a release whose support has ended."""
    versions = tables().versions(part.component)
    newer = versions[: versions.index(part.version or "")]
    if not newer:
        return ["No newer release is known here."]
    return [
        f"Known, and not tried with the files beside this page: {', '.join(newer)}; `software.pin.{part.component}`",
        "takes one of them into all files. Read its release notes before users come.",
    ]


#: Ways to share a GPU: how a job asks for a part with Slurm, with Kubernetes, and what keeps jobs apart.
_WAYS = {
    "mps": ("--gres=mps:{part}", "nvidia.com/gpu.shared: 1", "address spaces; one user's processes at a time"),
    "time-slicing": ("--gres=shard:1", "nvidia.com/gpu.shared: 1", "time alone: one may use up all memory"),
    "hami": ("", "nvidia.com/gpu: 1, with nvidia.com/gpumem", "limits that a library keeps, which jobs can avoid"),
    "vgpu": ("", "a virtual machine with a profile of the licence", "the hypervisor: memory of its own"),
}


def shared_lines(software: Software, option: Option, *, nodes: int, partition: str) -> list[str]:
    """Return the part of the page on GPUs that jobs share; empty where they do not.

    Args:
        software: of the nodes.
        option: for the price of a GPU's hour, and the scheduler.
        nodes: hosts of the cluster.
        partition: of Slurm, with whole GPUs.
    """
    shared, parts = software.shared_of(nodes), software.shared_parts
    if not shared:
        return []
    slurm, kubernetes, apart = _WAYS[software.sharing]
    hour = option.money.usd_per_gpu_hour
    price = "unknown" if hour is None else f"{hour / parts:.2f} USD an hour"
    if option.deployment.scheduler != "kubernetes":
        where = slice_partition(partition) if shared < nodes else partition
        ask = f"`srun --partition={where} {slurm.format(part=100 // parts)} …`"
    else:
        ask = f"`{kubernetes}`"
    return [
        "",
        "## Shared GPUs",
        "",
        f"Jobs share the GPUs of {shared:,} nodes, the last, by {software.sharing}: up to {parts} on one. A part is",
        f"1/{parts} of a GPU and is billed so: {price}. A job asks for it by {ask}.",
        f"What keeps jobs apart: {apart}. `MIG` gives parts that do not feel each other.",
    ]


def slice_lines(software: Software, option: Option, *, nodes: int, partition: str) -> list[str]:
    """Return the part of the page on slices of GPUs: what there is, how a job asks for it, and what it is billed with.

    Args:
        software: of the nodes.
        option: for the price of a GPU's hour, and the scheduler.
        nodes: hosts of the cluster.
        partition: of Slurm, with the slices.
    """
    divided = software.divided_of(nodes)
    if not divided:
        return []
    profiles, hour = {profile.name: profile for profile in software.profiles}, option.money.usd_per_gpu_hour
    placed = mig.place(software.profiles, software.geometry) or ()
    rows = []
    for name, count in software.instances.items():
        share = mig.share_of(name, software.profiles)
        price = "unknown" if hour is None else f"{share * hour:.2f}"
        memory = f"{profiles[name].nominal_memory_bytes / 1e9:.0f} GB"
        rows.append((name, str(count), f"{count * divided:,}", memory, f"{share:.3f}", price))
    where = ",".join(str(entry) for entry in sorted(placed, key=lambda entry: entry.start))
    lines = [
        "",
        "## Slices of GPUs",
        "",
        f"MIG divides {software.divided_gpus} GPUs of a node ({divided:,} nodes, the last): `{where}`,",
        "profile and first memory slice. Each slice has memory, caches and compute units of its own. Slices have",
        "no NVLink between them. A slice is billed with the larger of its shares of compute and memory.",
        "",
        *markdown_table(("slice", "of a node", "in all", "memory", "GPUs billed", "USD an hour"), rows),
        "",
    ]
    if option.deployment.scheduler == "kubernetes":
        return [
            *lines,
            f"A pod asks for `{slice_resource(rows[0][0])}: 1`; `kubernetes/slices/mig-config.yaml` divides the nodes.",
        ]
    return [
        *lines,
        "Slurm's packages must have the NVML plugin, by which slurmd finds slices (`gres.conf`). As root on these",
        "nodes, drained; then as an ordinary user:",
        "",
        "```sh",
        f"bash /opt/gpu-cluster/mig.sh --at-boot {where}",
        f"srun --partition={partition} --gres=gpu:{rows[0][0]}:1 nvidia-smi -L",
        "```",
    ]


def software_documents(plan: Plan, option: Option) -> dict[str, File]:
    """Return the page of software, and for Slurm the table and script that check a machine; nothing if unknown."""
    software = plan.software_of(option.target)
    if software is None:
        return {}
    checked = option.deployment.scheduler != "kubernetes"
    hosts = option.cluster.nodes if option.design.facility is None else len(option.design.facility.inventory.hosts())
    files = {"software.md": text(software_page(plan, option, software, nodes=hosts, checked=checked))}
    if checked:
        script = assets.root() / "templates" / "slurm" / "software_check.sh"
        files["node/versions.csv"] = text(versions_csv(software))
        files["node/software_check.sh"] = File(content=script.read_bytes(), executable=True)
        if software.divided_of(hosts):
            files["node/mig.sh"] = File(content=script.with_name("mig.sh").read_bytes(), executable=True)
    return files
