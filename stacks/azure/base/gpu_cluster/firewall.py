"""Network security rules of each subnet, as data. Nothing comes in from the Internet anywhere."""

from ipaddress import IPv4Network

from pulumi_azure_native import network

from gpu_cluster.addresses import AddressPlan

_INBOUND = network.SecurityRuleDirection.INBOUND
_OUTBOUND = network.SecurityRuleDirection.OUTBOUND
_LUSTRE_PORTS = ("988", "1019-1023")


def _rule(
    name: str,
    *,
    priority: int,
    direction: network.SecurityRuleDirection,
    source: str,
    destination: str,
    ports: tuple[str, ...] = ("*",),
    protocol: network.SecurityRuleProtocol = network.SecurityRuleProtocol.ASTERISK,
    access: network.SecurityRuleAccess = network.SecurityRuleAccess.ALLOW,
) -> network.SecurityRuleArgs:
    # Azure has one property for a single port range and another for several.
    one = ports[0] if len(ports) == 1 else None
    return network.SecurityRuleArgs(
        name=name,
        priority=priority,
        direction=direction,
        access=access,
        protocol=protocol,
        source_address_prefix=source,
        source_port_range="*",
        destination_address_prefix=destination,
        destination_port_range=one,
        destination_port_ranges=None if one else list(ports),
    )


def _tcp(
    name: str,
    *,
    priority: int,
    direction: network.SecurityRuleDirection,
    source: str,
    destination: str,
    ports: tuple[str, ...],
) -> network.SecurityRuleArgs:
    return _rule(
        name,
        priority=priority,
        direction=direction,
        source=source,
        destination=destination,
        ports=ports,
        protocol=network.SecurityRuleProtocol.TCP,
    )


def _nothing_else_in() -> network.SecurityRuleArgs:
    # Stronger than Azure's own last rules, which let in the whole virtual network and load balancers.
    return _rule(
        "deny-all-else-inbound",
        priority=4096,
        direction=_INBOUND,
        source="*",
        destination="*",
        access=network.SecurityRuleAccess.DENY,
    )


def nodes_rules(plan: AddressPlan) -> list[network.SecurityRuleArgs]:
    """Let controller and nodes talk among themselves on any port (srun and NCCL need it), to Lustre and to Bastion."""
    nodes = str(plan.nodes)
    return [
        _rule("nodes-among-themselves", priority=100, direction=_INBOUND, source=nodes, destination=nodes),
        _tcp(
            "lustre", priority=110, direction=_INBOUND, source=str(plan.lustre), destination=nodes, ports=_LUSTRE_PORTS
        ),
        _tcp(
            "ssh-from-bastion",
            priority=120,
            direction=_INBOUND,
            source=str(plan.bastion),
            destination=nodes,
            ports=("22",),
        ),
        _nothing_else_in(),
    ]


def endpoints_rules(plan: AddressPlan) -> list[network.SecurityRuleArgs]:
    """Let nodes reach vaults and storage by HTTPS and the accounting database; the file system needs HTTPS alone."""
    endpoints = str(plan.endpoints)
    return [
        _tcp(
            f"services-from-{who}",
            priority=priority,
            direction=_INBOUND,
            source=str(source),
            destination=endpoints,
            ports=ports,
        )
        for who, priority, source, ports in (
            ("nodes", 100, plan.nodes, ("443", "3306")),
            ("lustre", 110, plan.lustre, ("443",)),
        )
    ] + [_nothing_else_in()]


def lustre_rules(plan: AddressPlan, location: str) -> list[network.SecurityRuleArgs]:
    """Let Azure Managed Lustre have what the service itself needs, no more.

    Source: Microsoft, "Configure a network security group for Azure Managed Lustre file systems", 2024-11-08 (service
    tags, ports, time server and telemetry range).
    """
    lustre, nodes = str(plan.lustre), str(plan.nodes)
    services = (
        ("monitor", "AzureMonitor"),
        ("key-vault", f"AzureKeyVault.{location}"),
        ("entra", "AzureActiveDirectory"),
        ("storage", f"Storage.{location}"),
        ("guest-management", "GuestAndHybridManagement"),
        ("api-management", f"ApiManagement.{location}"),
        ("data-lake", "AzureDataLake"),
        ("resource-manager", "AzureResourceManager"),
        ("event-hub", "EventHub"),
        ("telemetry", str(IPv4Network("20.34.120.0/21"))),
        ("endpoints", str(plan.endpoints)),
    )
    return [
        _rule("servers-in", priority=110, direction=_INBOUND, source=lustre, destination=lustre),
        _tcp("clients-in", priority=111, direction=_INBOUND, source=nodes, destination=lustre, ports=_LUSTRE_PORTS),
        _tcp(
            "monitor-in",
            priority=112,
            direction=_INBOUND,
            source="AzureMonitor",
            destination="VirtualNetwork",
            ports=("*",),
        ),
        _nothing_else_in(),
        *(
            _tcp(
                f"{label}-out",
                priority=200 + index,
                direction=_OUTBOUND,
                source="VirtualNetwork",
                destination=to,
                ports=("443",),
            )
            for index, (label, to) in enumerate(services)
        ),
        _tcp("clients-out", priority=300, direction=_OUTBOUND, source=lustre, destination=nodes, ports=_LUSTRE_PORTS),
        _rule("servers-out", priority=301, direction=_OUTBOUND, source=lustre, destination=lustre),
        _rule(
            "time-out",
            priority=302,
            direction=_OUTBOUND,
            source=lustre,
            destination="168.61.215.74",
            ports=("123",),
            protocol=network.SecurityRuleProtocol.UDP,
        ),
        _rule(
            "deny-all-else-outbound",
            priority=4096,
            direction=_OUTBOUND,
            source="*",
            destination="*",
            access=network.SecurityRuleAccess.DENY,
        ),
    ]
