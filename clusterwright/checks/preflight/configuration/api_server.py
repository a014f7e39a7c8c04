"""Can the API server of managed Kubernetes be reached: charts wait for it, a quarter of an hour each, and then fail."""

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network

from clusterwright.checks.preflight.files.project import Setting
from clusterwright.checks.preflight.files.values import flag, text
from clusterwright.checks.preflight.results import Outcome, Place, passed
from clusterwright.checks.preflight.subject import NETWORK_RANGE, Subject

_ANY_PORT = 9
# Of RFC 5737, routed like any other address outside; nothing is sent there.
_SOMEWHERE_OUTSIDE = IPv4Network("203.0.113.0/24")
_FIX = (
    "./cluster.sh set apiFromOutside true, so that charts go by the cloud's own gate; or name the addresses that you "
    "work from: ./cluster.sh set 'operatorCidrs[0]' 203.0.113.7/32 with yours; or bring up inside the network"
)
_COMPARE = "compare with what a service for it, such as https://checkip.amazonaws.com, says of this machine"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Gate:
    """The way that `cluster.sh` and the program take from outside to a cloud's API server.

    Attributes:
        way: what charts go through, and what it needs on this machine.
        switch: setting that makes the gate; none where it is always there.
        left_out_by: setting of an existing network with which the foundation makes no gate.
        doubt, endpoints: what is not known of an existing network, and what to give it.
    """

    way: str
    switch: str | None = None
    left_out_by: str | None = None
    doubt: str | None = None
    endpoints: str | None = None


_GATE: Mapping[str, _Gate] = {
    "aws": _Gate(
        way="charts go through Session Manager and a system node; this machine needs session-manager-plugin",
        doubt="whether machines of the existing network reach Systems Manager is not known",
        endpoints="give the network endpoints of ssm, ssmmessages and ec2messages, or a NAT gateway",
    ),
    # A key or a container of blobs that exists leaves the network, and Bastion, to the foundation.
    "azure": _Gate(
        way="charts go through the foundation's Bastion",
        switch="bastionEnabled",
        left_out_by="existingNetwork.virtualNetworkId",
    ),
    "gcp": _Gate(way="charts go by the API server's name at Google's gate, where IAM is asked first"),
}
#: The program's module that knows that way; projects of earlier releases have none.
_MODULE = "gpu_cluster/kubernetes/api_access.py"


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
    elif operators is not None and isinstance(operators.value, list) and any(map(text, operators.value)):
        yield _by_address(operators, [text(one) for one in operators.value])
    elif _MODULE in project.files and _from_outside(subject) is not False:
        yield _by_gate(subject)
    else:
        yield _from_inside(subject)


def _by_address(operators: Setting, named: list[str]) -> Outcome:
    """Whether this machine's address is among those that may come in; behind a gateway it does not know its own."""
    own, among = own_address(_SOMEWHERE_OUTSIDE), ", ".join(named)
    if own is None or not own.is_global:
        return Outcome(
            status="UNKNOWN",
            message=f"{among} may reach it; under which address this machine comes there is not known",
            fix=_COMPARE,
            place=operators.place,
        )
    if any(own in network for network in map(_network_of, named) if network is not None):
        return passed(f"{among} may reach it, and this machine, {own}, is among them", operators.place)
    return Outcome(
        status="FAIL",
        message=f"{among} may reach the API server, and this machine, {own}, is not among them: every chart would wait "
        "15 minutes and fail",
        fix=f"./cluster.sh set 'operatorCidrs[{len(named)}]' {own}/32",
        place=operators.place,
    )


def _by_gate(subject: Subject) -> Outcome:
    gate, place = _GATE[subject.cloud], _cluster(subject, "apiFromOutside")
    existing = None if gate.left_out_by is None else subject.project.setting(gate.left_out_by)
    switch = None if gate.switch is None else subject.project.setting(gate.switch)
    never = f"{gate.way.replace(' go ', ' would go ')}, and it makes none: `up` would stop before them"
    if existing is not None:
        return Outcome(
            status="FAIL",
            message=never,
            fix="bring up from a machine in the network, with ./cluster.sh set apiFromOutside false",
            place=existing.place,
        )
    if switch is not None and flag(switch.value) is False:
        return Outcome(status="FAIL", message=never, fix=f"./cluster.sh set {gate.switch} true", place=switch.place)
    if gate.doubt is not None and subject.existing_network is not None:
        return Outcome(
            status="UNKNOWN",
            message=f"{gate.way}; {gate.doubt}",
            fix=gate.endpoints or "",
            place=subject.existing_network.place,
        )
    return passed(gate.way, place)


def _from_inside(subject: Subject) -> Outcome:
    place = _cluster(subject, "operatorCidrs")
    if subject.existing_network:
        return Outcome(
            status="UNKNOWN",
            message="the API server answers inside the network only; whether this machine reaches that is not known",
            fix=_FIX,
            place=place,
        )
    setting = subject.project.setting(NETWORK_RANGE[subject.cloud])
    network = _network_of(text(setting.value)) if setting else None
    own = None if network is None else own_address(network)
    if network is not None and own is not None and own in network:
        return passed(f"this machine, {own}, is in the network", place)
    return Outcome(
        status="FAIL",
        message="the API server answers inside the network only, and this machine is outside: every chart would wait "
        "15 minutes and fail",
        fix=_FIX,
        place=place,
    )


def _from_outside(subject: Subject) -> bool | None:
    setting = subject.project.setting("apiFromOutside")
    return None if setting is None else flag(setting.value)


def _network_of(written: str) -> IPv4Network | None:
    try:
        found = ip_network(written, strict=False)
    except ValueError:
        return None
    return found if isinstance(found, IPv4Network) else None


def _cluster(subject: Subject, key: str) -> Place | None:
    given = subject.project.setting(key)
    if given is not None:
        return given.place
    layer = next((one for one in subject.project.layers if one.name == "cluster"), None)
    return None if layer is None else subject.project.place(layer, f"{layer.project}:{key}")
