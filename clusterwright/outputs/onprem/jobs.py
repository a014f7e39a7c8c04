"""What machines on premises need for the jobs of Slurm: Enroot and Pyxis, environments, adapters, versions."""

import csv
from dataclasses import dataclass, replace
from pathlib import Path

from clusterwright import assets
from clusterwright.blueprint.jobs import SHARED_PATH
from clusterwright.catalog.records import Catalogue
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.launch.adapters import adapters_text, fabric_of
from clusterwright.outputs.onprem.slurm import ACCOUNTING_HOST, CONTROLLER_HOST
from clusterwright.outputs.onprem.users import LIST_PATH
from clusterwright.outputs.templates import render
from clusterwright.plan.record import Option, Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Software:
    """A row of `templates/node/software.csv`: what comes from elsewhere, in the version that the cloud's nodes have.

    Attributes:
        source: repository or archive; reference: commit, or fingerprint of the archive's key.
    """

    name: str
    version: str
    source: str
    reference: str


#: Packages of the container toolkit have the revision 1 of their release in NVIDIA's archive.
_TOOLKIT, _REVISION = "nvidia-container-toolkit", "-1"
#: What `job_environment.sh` reads, beside itself.
_SCRIPTS = ("job_environment.sh", "environment.sh", "packages.sh", "software.csv")


def _node_folder() -> Path:
    return assets.root() / "templates" / "node"


def software() -> dict[str, Software]:
    """Return the rows of the table by name."""
    with (_node_folder() / "software.csv").open(encoding="utf-8", newline="") as lines:
        return {
            row["name"]: Software(**{key: row[key] for key in ("name", "version", "source", "reference")})
            for row in csv.DictReader(lines)
        }


def job_documents(plan: Plan, option: Option, catalogue: Catalogue) -> dict[str, File]:
    """Return `jobs.md`, the scripts by which it installs packages in the versions of a table, and their settings.

    Args:
        plan: for the environment of its jobs.
        option: on premises.
        catalogue: for the system's adapters.
    """
    jobs, known = plan.cluster.jobs, software()
    chosen = plan.software_of(option.target)
    pinned = None if chosen is None else chosen.version(_TOOLKIT)
    if pinned is not None and not known[_TOOLKIT].version.startswith(f"{pinned}-"):
        known[_TOOLKIT] = replace(known[_TOOLKIT], version=f"{pinned}{_REVISION}")
    page = render(
        "slurm",
        "jobs.md.j2",
        cluster=plan.cluster.name,
        shared=SHARED_PATH,
        accounting=ACCOUNTING_HOST,
        environment=jobs.environment,
        enroot=known["enroot"],
        pyxis=known["pyxis"],
        toolkit=known[_TOOLKIT],
        venv=jobs.venv,
        modules=", ".join(jobs.modules),
        adapters=adapters_text(option, catalogue),
    )
    files = {"jobs.md": text(page), "node/node.env": text(_node_env(plan, option, catalogue))}
    if jobs.environment == "container":
        files["plugstack.conf"] = text(render("slurm", "plugstack.conf.j2", cluster=plan.cluster.name))
    files |= {f"node/{name}": File(content=(_node_folder() / name).read_bytes()) for name in _SCRIPTS}
    table = files["node/software.csv"].content.decode()
    shipped = software()[_TOOLKIT].version
    files["node/software.csv"] = text(
        table.replace(f"\n{_TOOLKIT},{shipped},", f"\n{_TOOLKIT},{known[_TOOLKIT].version},")
    )
    return files


def _node_env(plan: Plan, option: Option, catalogue: Catalogue) -> str:
    assert option.facility is not None  # noqa: S101 - on premises
    system = catalogue.systems[option.facility.system]
    hosts = option.facility.inventory.hosts_per_node
    return render(
        "slurm",
        "node.env.j2",
        cluster=plan.cluster.name,
        partition=plan.cluster.partition,
        gpus=system.gpus // hosts,
        gpu_type=catalogue.accelerators[system.accelerator].gres_type,
        fabric=fabric_of(option, catalogue) if system.fabric_ports else "none",
        interfaces=(system.fabric_ports or 0) // hosts,
        controller=CONTROLLER_HOST,
        environment=plan.cluster.jobs.environment,
        shared=SHARED_PATH,
        list_path=LIST_PATH,
    )
