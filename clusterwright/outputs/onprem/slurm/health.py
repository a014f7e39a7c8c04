"""Scripts that look after nodes with Slurm: before, between and after jobs, and copies of the accounting."""

from pathlib import Path

from clusterwright import assets
from clusterwright.blueprint.sections.jobs import SHARED_PATH
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.onprem.slurm.cluster import SlurmCluster, host_list
from clusterwright.outputs.tables import csv_text
from clusterwright.outputs.templates import render

#: Nightly copies of the accounting that stay. An assumption.
BACKUPS = 30
_COPIED = ("node_check.sh", "health_check.sh")


def _template(name: str) -> Path:
    return assets.root() / "templates" / "slurm" / name


def health_documents(cluster: SlurmCluster) -> dict[str, File]:
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
