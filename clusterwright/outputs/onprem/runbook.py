"""The runbook of a cluster: bringing it up, what to watch, replacing parts, upgrades, growth."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from clusterwright.catalog.records import Catalogue
from clusterwright.catalog.software.accelerators import accelerator_software
from clusterwright.facility.cabling.cables import Cable
from clusterwright.facility.design import OnPremDesign
from clusterwright.facility.fabric.counts import FULL_UNITS
from clusterwright.facility.fabric.node_ports import ETHERNET
from clusterwright.facility.server_roles import server_roles
from clusterwright.outputs.folder import File, text
from clusterwright.outputs.templates import render
from clusterwright.plan.record import Option, Plan
from clusterwright.units import counted

PAGE = "runbook.md"


def _hosts_of_leaf(cables: Iterable[Cable]) -> int:
    """Return the hosts on the leaf that has most of them."""
    hosts: defaultdict[str, set[str]] = defaultdict(set)
    for cable in cables:
        if (cable.network, cable.tier) == ("compute", "node-leaf"):
            hosts[cable.to_device].add(cable.from_device)
    return max(map(len, hosts.values()), default=0)


def runbook(
    plan: Plan, option: Option, design: OnPremDesign, catalogue: Catalogue, *, cables: Sequence[Cable]
) -> dict[str, File]:
    """Return the page.

    Args:
        plan: for names.
        option: on premises.
        design: of the site.
        catalogue: for the nodes and their accelerators.
        cables: of all networks.
    """
    inventory, fabric = design.inventory, design.fabric
    accelerator = catalogue.accelerators[catalogue.systems[inventory.system].accelerator]
    hosts = len(inventory.hosts())
    software = plan.software_of(option.target)
    roles = server_roles(inventory.servers(), scheduler=option.deployment.scheduler)
    page = render(
        "provisioning",
        "runbook.md.j2",
        cluster=plan.cluster.name,
        slurm=option.deployment.scheduler == "slurm",
        counted=counted,
        hosts=hosts,
        first=inventory.hosts()[0],
        gpus=inventory.gpus // hosts,
        tools=accelerator_software(accelerator.vendor, accelerator.generation),
        nvidia=accelerator.vendor == "NVIDIA",
        servers=[(role.role, role.servers) for role in roles],
        ethernet=inventory.compute_network == ETHERNET,
        rack_scale=inventory.hosts_per_node > 1,
        spares=design.rules.spares,
        room=max(0, fabric.nodes_that_fit - hosts),
        units=fabric.units,
        unit=fabric.nodes_per_unit,
        hosts_of_leaf=_hosts_of_leaf(cables),
        full=fabric.purchase == FULL_UNITS,
        slurm_version=None if software is None else software.version("slurm"),
        driver=None if software is None else software.version("driver"),
        imex=None if software is None else software.version("imex"),
        fabric_manager=None if software is None else software.version("fabricmanager"),
        lustre=inventory.storage.lustre is not None,
        tenants=plan.cluster.tenants,
    )
    return {PAGE: text(page)}
