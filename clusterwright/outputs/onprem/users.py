"""Users of a Slurm cluster on premises: the list, the clouds' script that applies it, and the page that says how."""

from clusterwright import assets
from clusterwright.blueprint.jobs import SHARED_PATH
from clusterwright.blueprint.user_list import list_text
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.onprem.slurm import BACKUP_HOST, CONTROLLER_HOST
from clusterwright.outputs.templates import render
from clusterwright.plan.record import Plan

#: Where every machine reads the list; the folder belongs to root.
LIST_PATH = f"{SHARED_PATH}/.gpu-cluster/users"
#: `users.sh` and what it reads.
_SCRIPTS = ("users.sh", "environment.sh", "service.sh", "secret_local.sh")


def user_documents(plan: Plan) -> dict[str, File]:
    """Return `users.md`, the list and its scripts."""
    page = render(
        "slurm",
        "users.md.j2",
        cluster=plan.cluster.name,
        users=len(plan.cluster.users),
        shared=SHARED_PATH,
        list_path=LIST_PATH,
        controller=CONTROLLER_HOST,
        backup=BACKUP_HOST,
    )
    scripts = assets.root() / "templates" / "node"
    return {
        "users.md": text(page),
        "node/users.list": text(list_text(plan.cluster.users, plan.cluster.groups)),
        **{f"node/{name}": File(content=(scripts / name).read_bytes()) for name in _SCRIPTS},
    }
