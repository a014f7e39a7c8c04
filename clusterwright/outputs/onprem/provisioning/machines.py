"""Machines that are installed: their addresses in the written tables, and what each of them is for."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.facility.cabling.addresses import IN_BAND, OUT_OF_BAND
from clusterwright.facility.inventory import Inventory
from clusterwright.facility.server_roles import server_roles

COMPUTE, CONTROL, LOGIN = "compute", "control", "login"


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A machine that starts from the network.

    Attributes:
        role: `compute`, `control` or `login`; duty: in words.
        address, bmc_address: in-band and of its management controller; empty where it has none.
    """

    name: str
    role: str
    duty: str
    address: str
    bmc_address: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """A network of the site."""

    name: str
    vlan: str
    prefix: str
    netmask: str
    gateway: str


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def networks_of(text: str) -> tuple[Network, ...]:
    """Return the networks of `ip-networks.csv`."""
    return tuple(
        Network(name=row["network"], **{key: row[key] for key in ("vlan", "prefix", "netmask", "gateway")})
        for row in _rows(text)
    )


def network_named(networks: Iterable[Network], name: str) -> Network:
    """Return one of the networks; each site has an in-band and an out-of-band one."""
    return next(network for network in networks if network.name == name)


def machines_of(inventory: Inventory, dhcp: str, *, scheduler: str) -> tuple[Machine, ...]:
    """Return hosts and management servers with their addresses.

    Args:
        inventory: names.
        dhcp: text of `dhcp-hosts.csv`.
        scheduler: `slurm` or `kubernetes`.
    """
    addresses = _addresses(dhcp)
    duties = {
        name: role.role for role in server_roles(inventory.servers(), scheduler=scheduler) for name in role.servers
    }
    named: Sequence[tuple[str, str, str]] = [
        *((host, COMPUTE, "compute node") for host in inventory.hosts()),
        *((name, LOGIN if duty == LOGIN else CONTROL, duty) for name, duty in duties.items()),
    ]
    return tuple(
        Machine(
            name=name,
            role=role,
            duty=duty,
            address=addresses.get((name, IN_BAND), ""),
            bmc_address=addresses.get((name, OUT_OF_BAND), ""),
        )
        for name, role, duty in named
    )


def _addresses(dhcp: str) -> Mapping[tuple[str, str], str]:
    return {(row["device"], row["network"]): row["address"] for row in _rows(dhcp)}
