"""From a plan to Slurm's files for its cluster on premises, with the scripts that look after nodes."""

from dataclasses import replace
from pathlib import Path

from clusterwright import assets
from clusterwright.blueprint.sections.jobs import SHARED_PATH
from clusterwright.catalog.records import Catalogue
from clusterwright.catalog.software import mig
from clusterwright.catalog.software.accelerators import accelerator_software
from clusterwright.catalog.software.node import Software
from clusterwright.errors import MissingFactError
from clusterwright.facility.fabric.hop_groups import hop_groups
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.onprem.slurm.cluster import (
    DividedNodes,
    SharedNodes,
    SlurmCluster,
    host_list,
    slurm_texts,
    topology_of,
)
from clusterwright.outputs.onprem.slurm.tenants import accounts_of, tenant_documents
from clusterwright.outputs.tables import csv_text
from clusterwright.outputs.templates import render
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.training.record import TrainingPlan

#: The first management server, by its name in the racks, runs slurmctld; the second, on the other side, takes over, and
#: keeps the accounting with its database, so that reports do not slow the scheduler down.
CONTROLLER_HOST, BACKUP_HOST = "mgmt-001", "mgmt-002"
ACCOUNTING_HOST = BACKUP_HOST
#: The queue, on the shared file system, for both controllers.
STATE_FOLDER = f"{SHARED_PATH}/slurm/slurmctld"
#: Share of a node's memory that jobs may use; the rest is for the operating system and page tables. An assumption.
JOB_MEMORY_SHARE = 0.95
#: Nightly copies of the accounting that stay. An assumption.
BACKUPS = 30
_COPIED = ("node_check.sh", "health_check.sh")


def slurm_cluster(plan: Plan, option: Option, catalogue: Catalogue) -> SlurmCluster:
    """Return what Slurm has to know of a plan's cluster on premises.

    Args:
        plan: for its names.
        option: the on-premises option, with its design.
        catalogue: for the system's sockets, cores and memory.

    Raises:
        MissingFactError: the catalogue does not know the system's processors or memory.
        ValueError: the option has no on-premises design.
    """
    design = option.design
    if design.facility is None:
        raise ValueError(f"{option.target} has no on-premises design")
    system = catalogue.systems[design.facility.system]
    hosts = design.facility.inventory.hosts_per_node
    sockets, cores, threads = system.cpu_sockets, system.cpu_cores_per_socket, system.cpu_threads_per_core
    if sockets is None or cores is None or threads is None or system.memory_bytes is None:
        raise MissingFactError(
            f"the processors or the memory of {system.name} are unknown, so slurm.conf cannot describe a node",
            help="add them to catalog/systems.csv with their source",
        )
    software = plan.software_of(option.target)
    accelerator = catalogue.accelerators[system.accelerator]
    of_vendor = accelerator_software(accelerator.vendor, accelerator.generation)
    cluster = SlurmCluster(
        cluster_name=plan.cluster.name,
        controller_host=CONTROLLER_HOST,
        backup_host=BACKUP_HOST,
        accounting_host=ACCOUNTING_HOST,
        state_folder=STATE_FOLDER,
        host_prefix=plan.cluster.host_prefix,
        node_count=option.cluster.nodes * hosts,
        sockets=sockets // hosts,
        cores_per_socket=cores,
        threads_per_core=threads,
        memory_mib=int(system.memory_bytes / hosts * JOB_MEMORY_SHARE / 2**20),
        gpus_per_node=system.gpus // hosts,
        gres_type=accelerator.gres_type,
        devices=of_vendor.devices,
        gres_flags=of_vendor.gres_flags,
        partition=plan.cluster.partition,
        divided=_divided(software, option.cluster.nodes * hosts),
        shared=_shared(software, option.cluster.nodes * hosts),
        domain_nodes=hosts,
        version=None if software is None else software.version("slurm"),
        topology=topology_of(hop_groups(design.facility.fabric, hosts_per_node=hosts)),
    )
    return replace(cluster, accounts=accounts_of(plan.cluster.tenants, cluster.counted_gpus))


def _divided(software: Software | None, hosts: int) -> DividedNodes | None:
    """Return the nodes with slices of GPUs; None where there are none."""
    count = 0 if software is None else software.divided_of(hosts)
    if software is None or not count:
        return None
    profiles = software.profiles
    return DividedNodes(
        nodes=count,
        instances=tuple(software.instances.items()),
        shares=tuple((name, mig.share_of(name, profiles)) for name in software.instances),
    )


#: Ways of the blueprint, and what Slurm calls them.
_SHARED = {"mps": "mps", "time-slicing": "shard"}


def _shared(software: Software | None, hosts: int) -> SharedNodes | None:
    """Return the nodes whose GPUs jobs share; None where there are none."""
    count = 0 if software is None else software.shared_of(hosts)
    if software is None or not count:
        return None
    return SharedNodes(nodes=count, kind=_SHARED[software.sharing], parts=software.shared_parts)


def slurm_files(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, File]:
    """Return the files of a plan's cluster on premises; parameters and errors as in `slurm_cluster`."""
    cluster = slurm_cluster(plan, option, catalogue)
    tenants = tenant_documents(
        plan.cluster.name,
        plan.cluster.tenants,
        gpus=cluster.counted_gpus,
        accounting=ACCOUNTING_HOST,
        slices=cluster.slice_partition if cluster.whole_nodes < cluster.node_count else "",
        submits=isinstance(plan, TrainingPlan),
    )
    return {name: text(content) for name, content in slurm_texts(cluster).items()} | tenants | _node_scripts(cluster)


def _template(name: str) -> Path:
    return assets.root() / "templates" / "slurm" / name


def _node_scripts(cluster: SlurmCluster) -> dict[str, File]:
    """Return the scripts, and the NVLink domains that they read where a system is a whole rack.

    Args:
        cluster: as Slurm knows it.
    """
    values = {
        "imex": cluster.features.imex,
        "accounting": cluster.accounting_host,
        "shared": SHARED_PATH,
        "keep": BACKUPS,
    }
    names = ["prolog.sh", "epilog.sh"]
    if cluster.accounting_host is not None:
        names += ["accounting_backup.sh", "accounting_restore.sh"]
    files = {
        f"node/{name}": File(content=text(render("slurm", f"{name}.j2", **values)).content, executable=True)
        for name in names
    }
    files |= {f"node/{name}": File(content=_template(name).read_bytes(), executable=True) for name in _COPIED}
    if cluster.features.imex:
        # The same as on clouds, whose nodes say their domain themselves.
        path = assets.root() / "templates" / "nvlink" / "imex.sh"
        files["node/imex.sh"] = File(content=path.read_bytes(), executable=True)
    if cluster.domains:
        files["node/nvlink_domains.csv"] = text(_domains(cluster))
    return files


def _domains(cluster: SlurmCluster) -> str:
    """Return which host is in which NVLink domain."""
    return csv_text(
        ("host", "domain"),
        (
            (host_list(cluster.host_prefix, [node], digits=cluster.digits), f"nvl{number}")
            for number, nodes in enumerate(cluster.domains, start=1)
            for node in nodes
        ),
    )
