"""Can the API server of managed Kubernetes be reached: charts wait for it, a quarter of an hour each, and then fail."""

import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network

from clusterwright.checks.results import Outcome, Place, passed
from clusterwright.checks.subject import NETWORK_RANGE, Subject
from clusterwright.checks.values import flag, text

_ANY_PORT = 9
_FIX = (
    "name the addresses that you work from: ./cluster.sh set 'operatorCidrs[0]' 203.0.113.7/32 with yours; or bring up "
    "with ./cluster.sh set installCharts false, and then with true from a machine in the network"
)


def own_address(towards: IPv4Network) -> IPv4Address | None:
    """Return the address that this machine would use towards a network, by its routes; nothing is sent."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            asked.connect((str(towards[1]), _ANY_PORT))
            found = ip_address(asked.getsockname()[0])
    except OSError:
        return None
    return found if isinstance(found, IPv4Address) else None


def api_server(subject: Subject) -> Iterator[Outcome]:
    """Check that what `up` installs inside the cluster can be installed from here."""
    project = subject.project
    if project.scheduler != "kubernetes":
        return
    charts, operators = project.setting("installCharts"), project.setting("operatorCidrs")
    if charts is not None and flag(charts.value) is False:
        yield passed("charts and volume are left to a later `up`, from inside the network", charts.place)
        return
    if operators is not None and isinstance(operators.value, list) and any(map(text, operators.value)):
        named = ", ".join(map(text, operators.value))
        yield passed(f"{named} may reach it; your address has to be among them", operators.place)
        return
    given = charts or operators
    place = given.place if given is not None else _cluster(subject)
    if subject.existing_network:
        yield Outcome(
            status="UNKNOWN",
            message="the API server answers inside the network only; whether this machine reaches that is not known",
            fix=_FIX,
            place=place,
        )
        return
    network = _network(subject)
    own = None if network is None else own_address(network)
    if network is not None and own is not None and own in network:
        yield passed(f"this machine, {own}, is in the network", place)
        return
    yield Outcome(
        status="FAIL",
        message="the API server answers inside the network only, and this machine is outside: every chart would wait "
        "15 minutes and fail",
        fix=_FIX,
        place=place,
    )


def _network(subject: Subject) -> IPv4Network | None:
    setting = subject.project.setting(NETWORK_RANGE[subject.cloud])
    try:
        found = ip_network(text(setting.value)) if setting else None
    except ValueError:
        return None
    return found if isinstance(found, IPv4Network) else None


def _cluster(subject: Subject) -> Place | None:
    layer = next((one for one in subject.project.layers if one.name == "cluster"), None)
    return None if layer is None else subject.project.place(layer, f"{layer.project}:operatorCidrs")
