"""What each management server runs: controllers in racks of either side, the others for people to log in."""

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.facility.site import CONTROLLERS

#: Servers of a Kubernetes control plane: etcd keeps its quorum of two when one of three is lost.
CONTROL_PLANE = 3
#: The role of servers that people log in to.
LOGIN = "login"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerRole:
    """A role and the names of the servers that have it."""

    role: str
    servers: tuple[str, ...]


def server_roles(servers: Sequence[str], *, scheduler: str) -> tuple[ServerRole, ...]:
    """Return the roles of the management servers, each server in one.

    Args:
        servers: names in order; they are on the two sides in turn.
        scheduler: `slurm` or `kubernetes`.
    """
    if scheduler == "kubernetes":
        shares = [("Kubernetes control plane and etcd", servers[:CONTROL_PLANE]), (LOGIN, servers[CONTROL_PLANE:])]
    else:
        shares = [
            ("Slurm controller", servers[:1]),
            ("backup controller, and accounting with its database", servers[1:CONTROLLERS]),
            (LOGIN, servers[CONTROLLERS:]),
        ]
    return tuple(ServerRole(role=role, servers=tuple(names)) for role, names in shares if names)
