"""What machines on premises need for the jobs of Slurm and for its users: containers, environments, accounts."""

from pathlib import Path

from clusterwright import assets
from clusterwright.blueprint.sections.jobs import SHARED_PATH
from clusterwright.catalog.records import Catalogue
from clusterwright.catalog.software.accelerators import accelerator_software
from clusterwright.directory_settings import settings_text
from clusterwright.facility.fabric.node_ports import ETHERNET
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.launch.adapters import adapters_text, fabric_of
from clusterwright.outputs.launch.software import TOOLKIT, installed, node_table
from clusterwright.outputs.onprem.slurm.configuration import ACCOUNTING_HOST, BACKUP_HOST, CONTROLLER_HOST
from clusterwright.outputs.templates import render
from clusterwright.plan.record import Option, Plan
from clusterwright.plan.training.record import TrainingPlan
from clusterwright.user_list import list_text

#: What `job_environment.sh` reads, beside itself.
_SCRIPTS = ("job_environment.sh", "environment.sh", "packages.sh")


def _node_folder() -> Path:
    return assets.root() / "templates" / "node"


def job_documents(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, File]:
    """Return `jobs.md`, the scripts by which it installs packages in the versions of a table, and their settings.

    Args:
        plan: for the environment of its jobs.
        option: on premises.
        catalogue: for the system's adapters.
    """
    cluster = plan.cluster
    jobs, chosen = cluster.jobs, plan.software_of(option.target)
    known = installed(chosen)
    page = render(
        "slurm",
        "jobs.md.j2",
        cluster=cluster.name,
        shared=SHARED_PATH,
        accounting=ACCOUNTING_HOST,
        environment=jobs.environment,
        enroot=known["enroot"],
        pyxis=known["pyxis"],
        toolkit=known[TOOLKIT],
        venv=jobs.venv,
        modules=", ".join(jobs.modules),
        adapters=adapters_text(option, catalogue),
        submits=isinstance(plan, TrainingPlan),
    )
    files = {"jobs.md": text(page), "node/node.env": text(_node_env(plan, option, catalogue))}
    if jobs.environment == "container":
        files["plugstack.conf"] = text(render("slurm", "plugstack.conf.j2", cluster=cluster.name))
    files |= {f"node/{name}": File(content=(_node_folder() / name).read_bytes()) for name in _SCRIPTS}
    files["node/software.csv"] = text(node_table(chosen))
    return files


#: Where every machine reads the list; the folder belongs to root.
LIST_PATH = f"{SHARED_PATH}/.gpu-cluster/users"
#: Where every machine reads the settings of the directory, and each one the password that root wrote there.
DIRECTORY_PATH, PASSWORD_PATH = f"{SHARED_PATH}/.gpu-cluster/directory", "/etc/gpu-cluster/directory-password"
#: `users.sh` and what it reads.
_DIRECTORY_SCRIPTS = (
    "users_directory.sh",
    "users_directory_local.sh",
    "users_directory_logins.sh",
    "users_directory_password.sh",
)
_USER_SCRIPTS = ("users.sh", "environment.sh", "service.sh", "secret_local.sh")


def user_documents(plan: Plan) -> dict[str, File]:
    """Return `users.md`, the list and its scripts; of a directory also its settings and the script that joins it."""
    cluster = plan.cluster
    directory = cluster.directory
    page = render(
        "slurm",
        "users.md.j2",
        cluster=cluster.name,
        users=len(cluster.users),
        shared=SHARED_PATH,
        list_path=LIST_PATH,
        controller=CONTROLLER_HOST,
        backup=BACKUP_HOST,
        directory=directory,
        directory_path=DIRECTORY_PATH,
        password_path=PASSWORD_PATH,
        first=f"{directory.lowest_id():,}" if directory else "",
        last=f"{directory.last_id:,}" if directory else "",
        ports=", ".join(map(str, directory.ports())) if directory else "",
    )
    joining = {} if directory is None else {"node/directory.conf": text(settings_text(directory))}
    names = (*_USER_SCRIPTS, *(_DIRECTORY_SCRIPTS if directory else ()))
    return {
        "users.md": text(page),
        "node/users.list": text(list_text(cluster.users, cluster.groups)),
        **{f"node/{name}": File(content=(_node_folder() / name).read_bytes()) for name in names},
        **joining,
    }


def _node_env(plan: Plan, option: Option, catalogue: Catalogue) -> str:
    design, cluster = option.design, plan.cluster
    assert design.facility is not None  # noqa: S101 - on premises
    system = catalogue.systems[design.facility.system]
    inventory = design.facility.inventory
    hosts, accelerator = inventory.hosts_per_node, catalogue.accelerators[system.accelerator]
    return render(
        "slurm",
        "node.env.j2",
        cluster=cluster.name,
        partition=cluster.partition,
        gpus=system.gpus // hosts,
        gpu_type=accelerator.gres_type,
        devices=accelerator_software(accelerator.vendor, accelerator.generation).devices,
        fabric=fabric_of(option, catalogue) if system.fabric_ports else "none",
        interfaces=(system.fabric_ports or 0) // hosts,
        gbit_per_s=round(inventory.adapter_bytes_per_s(system) * 8 / 1e9),
        link_layer="Ethernet" if inventory.compute_network == ETHERNET else "InfiniBand",
        controller=CONTROLLER_HOST,
        environment=cluster.jobs.environment,
        shared=SHARED_PATH,
        list_path=LIST_PATH,
        directory_path=DIRECTORY_PATH if cluster.directory else "",
        password_path=PASSWORD_PATH if cluster.directory and cluster.directory.bind_dn else "",
    )
