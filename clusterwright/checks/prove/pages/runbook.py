"""The runbook: hosts, servers with their roles, versions and room to grow, as inventory and plan have them."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from clusterwright.checks.prove.pages.hall import Hall
from clusterwright.checks.prove.pages.said import Sentence, Table
from clusterwright.facility.server_roles import server_roles
from clusterwright.units import counted

FILE = "runbook.md"
_INVENTORY, _SOFTWARE = "the inventory has them", "plan.json has this set"


def _hosts(hall: Hall) -> Sequence[str]:
    return (counted(len(hall.inventory.hosts()), "host"),)


def _hosts_of_leaf(hall: Hall) -> Sequence[str]:
    hosts: defaultdict[str, set[str]] = defaultdict(set)
    for row, _ in hall.links:
        if (row["network"], row["tier"]) == ("compute", "node-leaf"):
            hosts[row["to_device"]].add(row["from_device"])
    return (counted(max(map(len, hosts.values()), default=0), "host"),)


def _servers(hall: Hall) -> Sequence[str]:
    scheduler = hall.papers.documents.option.deployment.scheduler
    roles = server_roles(hall.inventory.servers(), scheduler=scheduler)
    return ("; ".join(f"{', '.join(role.servers)} ({role.role})" for role in roles),)


def _versions(*components: str, without: Sequence[str] = ()) -> Callable[[Hall], Sequence[str] | None]:
    """Return what gives the versions of some components; None where one is unknown, or another one is known."""

    def values(hall: Hall) -> Sequence[str] | None:
        documents = hall.papers.documents
        software = documents.plan.software_of(documents.option.target)
        if software is None or any(software.version(other) for other in without):
            return None
        found = [software.version(component) for component in components]
        return None if None in found else [str(version) for version in found]

    return values


def _slurm(hall: Hall) -> Sequence[str] | None:
    if hall.papers.documents.option.deployment.scheduler != "slurm":
        return None
    return _versions("slurm")(hall)


#: 24.11 was the first that is upgraded to from three releases before it, of which this is the oldest
#: (https://slurm.schedmd.com/upgrades.html, 2026-11-29); earlier ones were from two.
_THREE_BEFORE = "23.02"


def _releases(hall: Hall) -> Sequence[str] | None:
    documents = hall.papers.documents
    if documents.option.deployment.scheduler != "slurm":
        return None
    software = documents.plan.software_of(documents.option.target)
    version = None if software is None else software.version("slurm")
    return ("three" if version is not None and version >= _THREE_BEFORE else "two",)


def _room(hall: Hall) -> Sequence[str]:
    """Return the hosts that fit; on one switch alone, by the ports that its row of fabric.csv has free."""
    fabric = hall.inventory.fabric
    room = fabric.nodes_that_fit - len(hall.inventory.hosts())
    if fabric.levels == 1:
        leaf = next(
            row for row in hall.papers.rows("fabric.csv") if (row["network"], row["tier"]) == ("compute", "leaf")
        )
        room = int(leaf["ports_free"]) // (fabric.ports_per_node * hall.inventory.planes)
    return (f"{max(0, room):,}",)


SAID: tuple[Sentence | Table, ...] = (
    Sentence(file=FILE, text="\n{}. Everything here is done", values=_hosts, rule=_INVENTORY),
    Sentence(file=FILE, text="| 3 | {} | time and names answer", values=_servers, rule="each server has one role"),
    Sentence(
        file=FILE,
        text="| leaf switch | drain its {} |",
        values=_hosts_of_leaf,
        rule="hosts with a cable to that leaf in cables.csv",
    ),
    Sentence(
        file=FILE,
        text="| driver, now {} with Fabric Manager {} |",
        values=_versions("driver", "fabricmanager"),
        rule=_SOFTWARE,
    ),
    Sentence(file=FILE, text="| driver, now {} with IMEX {} |", values=_versions("driver", "imex"), rule=_SOFTWARE),
    Sentence(
        file=FILE,
        text="| driver, now {} |",
        values=_versions("driver", without=("fabricmanager", "imex")),
        rule=_SOFTWARE,
    ),
    Sentence(
        file=FILE,
        text="| less than 30 days; more than {} off |",
        values=lambda _: ("50 ms",),
        rule="alerts.yml calls then (node_timex_offset_seconds)",
    ),
    Sentence(file=FILE, text="| Slurm, now {} |", values=_slurm, rule=_SOFTWARE),
    Sentence(
        file=FILE,
        text="| at most {} releases forward at a time (`SFT135`)",
        values=_releases,
        rule="slurmdbd converts the database of that many earlier releases",
    ),
    Sentence(
        file=FILE,
        text="| nodes, up to {} in the",
        values=_room,
        rule="switches have as many ports left",
    ),
    Sentence(
        file=FILE,
        text="| scalable units ({} of {} now)",
        values=lambda hall: (str(hall.inventory.fabric.units), str(hall.inventory.fabric.nodes_per_unit)),
        rule=_INVENTORY,
    ),
)
